"""Which solver to take, in one sentence that is as sure as the runs are; or what is missing to say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import geometric_mean, median

from harness.report import figures
from harness.report.measures import FIT, GAP
from harness.report.noise import Interval
from harness.report.rows import Group, Row, is_cell, machines, short_name

Who = tuple[str, str]
"""A solver's name, and the formulation that it solved."""

_NAMED = 3  # solvers that a sentence lists
_OPTIONS = "Rank them with --target-gap 1e-3 --repeat 3 (in Python: target_gap=1e-3, repeat=3)."


def parts(group: Group) -> list[Group]:
    """Return a group a problem where a formulation has several (``C=[1, 10]``): which is easier says nothing of solvers."""
    if not group.swept:
        return [group]
    rows = {problem: [row for row in group.rows if row.problem == problem] for problem in group.problems}
    return [Group(f"{group.dataset} {problem}", group.kernel, each) for problem, each in rows.items()]


def verdict(groups: Sequence[Group], command: str | None) -> tuple[str, bool]:
    """Return a sentence, empty where there is nothing to choose from, and whether ``command`` is to be shown behind it.

    command : the line of a comparison that ranks, or ranks surer; empty: there is none; None: the runs are no comparison,
        of which no solver is named
    """
    loose = [row for group in groups for row in group.loose]
    if not loose:
        return ("", False) if command is None else _winner([part for group in groups for part in parts(group)], command)
    told = "Costs are not ranked:" if command is None else "No winner yet. Costs are not ranked:"
    gaps = sorted(median(found) for row in loose if (found := GAP.ranked(row)))
    if not gaps:
        return f"{told} each solver stops by its own rule.", False
    ends = figures.span(figures.gap(gaps[0]), figures.gap(gaps[-1]))
    return f"{told} the runs stopped at gaps {ends}. {'To rank them:' if command else _OPTIONS}", bool(command)


def _winner(units: Sequence[Group], command: str) -> tuple[str, bool]:
    """Return which solver to take by time.

    One is ahead of another if it is faster beyond the noise of the runs on some data set, and slower on none. Their ratio is
    the geometric mean over the data sets; its interval holds that of each data set, and says nothing of others. Only who did
    what was asked on every data set is named.
    """
    rows = [row for unit in units for row in unit.rows]
    every = dict.fromkeys(map(_who, rows))
    if len(every) < 2 or any(is_cell(row.first) for row in rows):
        return "", False
    times = [_times(unit) for unit in units]
    able = [who for who in every if all(who in found for found in times)]
    gap, where = _gap(rows), _where(units, rows)
    asked = f"reached a certified gap of {gap}" if gap else "did what was asked"
    if len(able) < 2:
        everywhere = f"on {short_name(units[0].dataset)}" if len(units) == 1 else "on every data set"
        none = f"No winner: no solver {asked} {everywhere}."
        return f"Take {_names(able, every)}: it alone {asked} {where}." if able else none, False
    middle = {who: geometric_mean([median(found[who]) for found in times]) for who in able}
    first, *others = sorted(able, key=lambda who: middle[who])
    ratios = {who: [_ratio(found[who], found[first]) for found in times] for who in others}
    split = {who for who in others if any(high < 1.0 for _, high in ratios[who])}
    behind = [who for who in others if who not in split and any(low > 1.0 for low, _ in ratios[who])]
    level = [who for who in others if who not in behind]
    after = f"at a certified gap of {gap} {where}" if gap else where
    slower, time = "", _time(units)
    if behind:
        of = ratios[behind[0]]
        ahead, least, most = sum(low > 1.0 for low, _ in of), min(low for low, _ in of), max(high for _, high in of)
        within = f"{_ratio_text(least)} to {_ratio_text(most)}"
        within += f", faster on {ahead} of {len(of)} and not told apart on the others" if ahead < len(of) else ""
        ratio = _ratio_text(middle[behind[0]] / middle[first])
        slower = (
            f"{ratio} times ({within}) as fast as {_names(behind[:1], every)}{f' in {time}' if time != 'time' else ''}"
        )
    single = bool(command) and not split and all(len(row.records) == 1 for row in rows)
    if not level:
        surer = " More runs make this surer:" if single else ""
        return f"Take {_names([first], every)}: {slower} {after}.{surer}", single
    why = "which of them is faster depends on the data set" if split else f"their {time}s are not told apart"
    told = f"Take {_names([first, *level], every)}: {why} {after}."
    told += f" {_names([first], every)} is {slower}." if behind else ""
    return f"{told} More runs may tell them apart:" if single else told, single


def _who(row: Row) -> Who:
    return row.name, row.formulation


def _times(unit: Group) -> dict[Who, list[float]]:
    """Return the seconds of the rows whose every run did what was asked, by the clock by which their group is ranked."""
    clock = FIT.honest(unit)
    return {_who(row): found for row in unit.rows if row.complete and (found := clock.ranked(row)) and min(found) > 0.0}


def _time(units: Sequence[Group]) -> str:
    """Return by which time the solvers are ranked, where the table shows another one."""
    return "CPU time" if all(FIT.honest(unit).figure != FIT.figure for unit in units) else "time"


def _ratio(slower: Sequence[float], faster: Sequence[float]) -> Interval:
    """Return between which values the ratio of two medians lies."""
    (low, high), (least, most) = FIT.interval(slower), FIT.interval(faster)
    return low / most, high / least


def _names(some: Sequence[Who], every: Iterable[Who]) -> str:
    """Return ``a, b or c``, with the formulations where there are several."""
    several = len({formulation for _, formulation in every}) > 1
    names = [f"{name} ({formulation})" if several else name for name, formulation in some[:_NAMED]]
    names += [f"{len(some) - _NAMED} more"] if len(some) > _NAMED else []
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _gap(rows: Sequence[Row]) -> str:
    """Return the target of the runs as text, ``1e-3``; empty if they had none in common."""
    targets = {record.get("target_gap") for row in rows for record in row.records}
    target = targets.pop()
    if targets or not figures.is_number(target):
        return ""
    short = figures.power(target, 0)
    return short if float(short) == target else f"{target:g}"


def _where(units: Sequence[Group], rows: Sequence[Row]) -> str:
    """Return ``on 2 data sets, 3 runs each``."""
    sets, counts = {row.first.get("dataset") for row in rows}, sorted({len(row.records) for row in rows})
    on = f"{len(units)} problems" if len(units) > len(sets) else f"{len(sets)} data sets"
    classes = len(machines(record for row in rows for record in row.records))
    on += f" ({classes} classes of machines)" if classes > 1 else ""
    runs = figures.span(str(counts[0]), str(counts[-1]))
    return (
        f"on {short_name(units[0].dataset) if len(units) == 1 else on}, {runs} run{'' if counts[-1] == 1 else 's'} each"
    )


def _ratio_text(ratio: float) -> str:
    """Two digits: ``0.95``, ``1.0``, ``2.1``, ``35``, ``120``."""
    return f"{ratio:.0f}" if ratio >= 99.5 else f"{ratio:#.2g}".rstrip(".")
