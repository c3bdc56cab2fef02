"""Which solver to take for a formulation, in one sentence that is as sure as the runs are; or what is missing to say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean, median

from harness.measure.outcome import Status
from harness.report import figures
from harness.report.measures import FIT, GAP
from harness.report.noise import Interval
from harness.report.rows import Group, Row, is_cell, machines, short_name

_NAMED = 3  # solvers that a sentence lists
_OPTIONS = "Rank them with --target-gap 1e-3 --repeat 3 (in Python: target_gap=1e-3, repeat=3)."
_NO_RIVALS = "No winner: each formulation has one solver, and solvers of different formulations are not compared."


def contests(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Return the units of each formulation, its problems on the data sets: solvers compare within a formulation only."""
    found: dict[str, list[Group]] = {}
    for unit in (unit for group in groups for unit in group.units):
        found.setdefault(unit.rows[0].formulation, []).append(unit)
    return found


def verdict(groups: Sequence[Group], command: str | None) -> tuple[list[str], bool]:
    """Return a sentence for each formulation that has something to choose from, and whether to show ``command`` below.

    command : the line of a comparison that ranks, or ranks surer; empty: there is none; None: the runs are no comparison,
        of which no solver is named
    """
    found, rows = contests(groups), [row for group in groups for row in group.rows]
    loose = {name: rivals for name, units in found.items() if (rivals := [row for unit in units for row in unit.loose])}
    lines, hint = list[str](), ""
    if command is not None and not any(is_cell(row.first) for row in rows):
        # a run that was not begun may have no formulation: where there is one only, its solver is a rival
        strays = [row for row in rows if not row.begun] if len(found) == 1 else []
        for name in (name for name in found if name not in loose):
            line, single = _winner(found[name], strays, f" for {name}" if len(found) > 1 else "")
            lines += [line] if line else []
            hint = "More runs make this surer:" if single and command else hint
        if not lines and not loose and len({row.name for row in rows if row.begun}) > 1:
            lines = [_NO_RIVALS]
    if loose:
        gaps = sorted(median(gaps) for rivals in loose.values() for row in rivals if (gaps := GAP.ranked(row)))
        none = f"No winner yet for {' and '.join(loose)}. " if len(loose) < len(found) else "No winner yet. "
        lines.append(f"{'' if command is None else none}Costs are not ranked: {_ends(gaps)}.")
        lines[-1] += f" {_OPTIONS}" if gaps and not command else ""
        hint = "To rank them:" if gaps and command else hint
    if hint:
        lines = [f"{lines[0]} {hint}"] if len(lines) == 1 else [*lines, hint]
    return lines, bool(hint)


def _ends(gaps: Sequence[float]) -> str:
    """Return where runs without a common target stopped."""
    if not gaps:
        return "each solver stops by its own rule"
    return f"the runs stopped at gaps {figures.span(figures.gap(gaps[0]), figures.gap(gaps[-1]))}"


def _winner(units: Sequence[Group], strays: Sequence[Row], of: str) -> tuple[str, bool]:
    """Return which solver of a formulation to take by time, and whether more runs may say more.

    One is ahead of another if it is faster beyond the noise of the runs in some unit, and slower in none. Their ratio is
    the geometric mean over the units; its interval holds that of each unit, and says nothing of others. Only who did what
    was asked in every unit is named.

    strays : rows of solvers that were begun nowhere
    of : `` for c-svc`` if there are several formulations
    """
    rows = [*(row for unit in units for row in unit.rows), *strays]
    every = dict.fromkeys(row.name for row in rows)
    if len(every) < 2:
        return "", False
    done = [{row.name: row for row in unit.rows if row.complete} for unit in units]
    able = [name for name in every if all(name in each for each in done)]
    kind = "problem" if len(units) > len({row.first.get("dataset") for row in rows}) else "data set"
    gap, (place, runs) = _gap(rows), _where(units, rows, kind)
    asked = f"reached a certified gap of {gap}" if gap else "did what was asked"
    if len(able) < 2:
        disturbed = [name for name in every if name not in able and _disturbed(rows, name)]
        if disturbed:
            what = f"the machine disturbed runs of {_names(disturbed, 'and')}"
            return f"No winner yet{of}: {what}. Repeat the command: they are measured again.", False
        partly = _partly(rows, [name for name in every if name not in able], "reached it" if gap else "did")
    if not able:
        return f"No winner{of}: no solver {asked} on {place if len(units) == 1 else f'every {kind}'}{partly}.", False
    if len(able) == 1:
        in_all = " in every run" if partly else ""
        return f"Take {able[0]}{of}: it alone {asked}{in_all} on {place}, {runs}{partly}.", False
    times = [_times(unit, each) for unit, each in zip(units, done, strict=True)]
    timed = [name for name in able if all(name in found for found in times)]
    if len(timed) < 2:
        unranked = _names([name for name in able if name not in timed], "and")
        return f"No winner{of}: the times of {unranked} are not ranked.", False
    middle = {name: geometric_mean([median(found[name]) for found in times]) for name in timed}
    first, *others = sorted(timed, key=lambda name: middle[name])
    ratios = {name: [_ratio(found[name], found[first]) for found in times] for name in others}
    split = {name for name in others if any(high < 1.0 for _, high in ratios[name])}
    behind = [name for name in others if name not in split and any(low > 1.0 for low, _ in ratios[name])]
    level = [name for name in others if name not in behind]
    after = f"{f'at a certified gap of {gap} ' if gap else ''}on {place}, {runs}"
    slower, time = "", "CPU time" if all(FIT.honest(unit).figure != FIT.figure for unit in units) else "time"
    if behind:
        lows, highs = zip(*ratios[behind[0]], strict=True)
        ahead, within = sum(low > 1.0 for low in lows), f"{_ratio_text(min(lows))} to {_ratio_text(max(highs))}"
        within += f"; faster on {ahead} of {len(lows)}, a tie on the others" if ahead < len(lows) else ""
        slower = f"{_ratio_text(middle[behind[0]] / middle[first])} times ({within}) as fast as {behind[0]}"
        slower += f" in {time}" if time != "time" else ""
    single = not split and all(len(row.records) == 1 for row in rows)
    if not level:
        return f"Take {first}{of}: {slower} {after}.", single
    why = f"their {time}s could not be distinguished{' from the shortest' if len(level) > 1 else ''}"
    why = f"which of them is faster depends on the {kind}" if split else why
    return f"Take {_names([first, *level])}{of}: {why} {after}.{f' {first} is {slower}.' if behind else ''}", single


def _disturbed(rows: Sequence[Row], name: str) -> bool:
    """Return whether all runs of a solver that did not do what was asked failed by the machine's fault."""
    return {record.get("status") for row in rows if row.name == name for record in row.astray} == {Status.ENVIRONMENT}


def _partly(rows: Sequence[Row], names: Sequence[str], did: str) -> str:
    """Return how many runs did what was asked, of the solvers whose other runs did not; empty: none did."""
    counts = {name: [row for row in rows if row.name == name] for name in names}
    done = {
        name: (sum(len(row.records) - len(row.astray) for row in some), sum(len(row.records) for row in some))
        for name, some in counts.items()
    }
    some = [f"{name} {did} in {count} of {most} runs" for name, (count, most) in done.items() if count]
    more = f", {len(some) - _NAMED} more solvers in some" if len(some) > _NAMED else ""
    return f"; {', '.join(some[:_NAMED])}{more}" if some else ""


def _times(unit: Group, rows: Mapping[str, Row]) -> dict[str, list[float]]:
    """Return the seconds of rows, by the clock by which their unit is ranked; of a row that is not ranked none."""
    clock = FIT.honest(unit)
    return {name: found for name, row in rows.items() if (found := clock.ranked(row)) and min(found) > 0.0}


def _ratio(slower: Sequence[float], faster: Sequence[float]) -> Interval:
    """Return between which values the ratio of two medians lies."""
    (low, high), (least, most) = FIT.interval(slower), FIT.interval(faster)
    return low / most, high / least


def _names(some: Sequence[str], word: str = "or") -> str:
    """Return ``a, b or c``."""
    names = [*some[:_NAMED], *([f"{len(some) - _NAMED} more"] if len(some) > _NAMED else [])]
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]


def _gap(rows: Sequence[Row]) -> str:
    """Return the target of the runs as text, ``1e-3``; empty if they had none in common."""
    targets = {record.get("target_gap") for row in rows for record in row.records}
    target = targets.pop()
    if targets or not figures.is_number(target):
        return ""
    short = figures.power(target, 0)
    return short if float(short) == target else f"{target:g}"


def _where(units: Sequence[Group], rows: Sequence[Row], kind: str) -> tuple[str, str]:
    """Return ``2 data sets``, or the name of the only one, and ``3 runs each``."""
    counts, classes = sorted({len(row.records) for row in rows}), len(machines(r for row in rows for r in row.records))
    runs = f"{figures.span(str(counts[0]), str(counts[-1]))} run{'' if counts[-1] == 1 else 's'} each"
    if len(units) == 1:
        return short_name(str(rows[0].first.get("dataset"))), runs
    return f"{len(units)} {kind}s{f' ({classes} classes of machines)' if classes > 1 else ''}", runs


def _ratio_text(ratio: float) -> str:
    """Two digits: ``0.95``, ``1.0``, ``2.1``, ``35``, ``120``."""
    return f"{ratio:.0f}" if ratio >= 99.5 else f"{ratio:#.2g}".rstrip(".")
