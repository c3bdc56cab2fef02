"""The answer of a comparison in sentences: who failed, which solver to take for each formulation, or what is missing to say it.

Terminal, page, Python and notebook show these sentences.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import geometric_mean, median

from harness.measure.outcome import Status, StoppedBy
from harness.measure.repetition import Interval
from harness.report import figures, measures
from harness.report.measures import ACCURACY, FIT, GAP, SUBOPTIMALITY, Measure
from harness.report.rows import Group, Row, grouped, is_cell, is_path, machines, short_name, solver_names
from harness.run.record import Record
from harness.support.printable import plain_line

_NAMED = 3  # solvers that a sentence lists
_NO_RIVALS = "No winner: each formulation has one solver, and solvers of different formulations are not compared."
_SAME_GAP = "To compare at the same certified gap:"
_MORE_RUNS = "More runs make this surer:"
_AGAIN = " Repeat the command: disturbed runs are measured again."
_FAILURES = {
    Status.CRASHED: "crashed", Status.ERROR: "raised an error", Status.INVALID: "returned an invalid model",
    Status.TIMEOUT: "ran out of time", Status.MEMORY: "ran out of memory", Status.UNFINISHED: "ended without being done",
    Status.MISSED: "missed the target", Status.ENVIRONMENT: "was disturbed by the machine",
}  # fmt: skip

_NEAR = "as near to the optimum as {} by "
_AT_EQUAL_BUDGETS = (
    (GAP, "certified gaps", f"{_NEAR}certified gap"),
    (SUBOPTIMALITY, "suboptimalities", f"{_NEAR}suboptimality"),
    (ACCURACY, "test accuracies", "more accurate than {}"),
)
"""The figures that rank solvers of the same budget, and their words in a sentence."""


@dataclass(frozen=True)
class Verdict:
    """The sentences that answer a comparison.

    hint : what further runs would say, followed by what to type; empty if there is nothing to add
    lacking : options of such runs, by the name that they have in Python
    """

    sentences: list[str] = field(default_factory=list)
    hint: str = ""
    lacking: Mapping[str, str] = field(default_factory=dict)

    def further(self, command: str) -> list[str]:
        """Return the hint and, in a line of its own, ``command`` with what it lacks; arguments of Python if it is empty."""
        if not self.hint:
            return []
        if not command:
            return [f"{self.hint} {', '.join(f'{name}={value}' for name, value in self.lacking.items())}"]
        options = (f"--{name.replace('_', '-')} {value}" for name, value in self.lacking.items())
        return [self.hint, f"  {plain_line(' '.join([command, *options]))}"]


@dataclass(frozen=True)
class Place:
    """The rows of different solvers on one problem or data set, by the name of the solver; the group says by which clock."""

    rows: dict[str, Row]
    group: Group

    @classmethod
    def of(cls, unit: Group) -> Place:
        """Return the place of a unit; of several rows of a solver, as of lost machines, one that failed counts."""
        failed = {row.name: row for row in unit.rows if not row.complete}
        return cls({row.name: row for row in unit.rows} | failed, unit)


@dataclass(frozen=True)
class Comparison:
    """What one figure says of several solvers, over the same places.

    measures : for each place the measure as it is ranked there
    values : for each solver that is ranked everywhere the figures of its runs on each place
    """

    places: Sequence[Place]
    measures: list[Measure]
    values: dict[str, list[list[float]]]
    middle: dict[str, float]  # geometric means of the medians

    @classmethod
    def of(cls, measure: Measure, places: Sequence[Place], names: Iterable[str]) -> Comparison:
        """Return the comparison of the solvers that have the figure everywhere; a time is above 0, a gap above rounding."""
        honest = [measure.honest(place.group) for place in places]
        least = figures.ROUNDING if measure in (GAP, SUBOPTIMALITY) else figures.TINY
        values = dict[str, list[list[float]]]()
        for name in names:
            found = [each.ranked(place.rows[name]) for each, place in zip(honest, places, strict=True)]
            if all(found) and not (measure.timed and min(map(min, found)) <= 0.0):
                values[name] = [[max(value, least) for value in of] for of in found]
        middle = {name: geometric_mean([median(of) for of in found]) for name, found in values.items()}
        return cls(places, honest, values, middle)

    def ratios(self, a: str, b: str) -> list[Interval]:
        """Return for each place between which values the median of ``b`` over that of ``a`` lies; a tie holds 1."""
        found = []
        for measure, of_a, of_b in zip(self.measures, self.values[a], self.values[b], strict=True):
            low, high = measures.ratio(measure, of_a, of_b)
            tie = not measures.separated(measure, of_a, of_b)
            found.append((min(low, 1.0), max(high, 1.0)) if tie else (low, high))
        return found

    def ahead(self, a: str, b: str) -> int:
        """Return on how many places ``a`` has clearly the better figure."""
        low = self.measures[0].best == "low"
        return sum(least > 1.0 if low else most < 1.0 for least, most in self.ratios(a, b))

    def range(self, a: str, b: str) -> str:
        """Return between which values a ratio lies on all places, and where the figures could not be distinguished.

        Of times with two runs and more: their 95 % intervals, see `harness.measure.repetition`.
        """
        lows, highs = zip(*self.ratios(a, b), strict=True)
        repeated = all(len(runs) > 1 for name in (a, b) for runs in self.values[name])
        name = f"95 % interval{'s' * (len(lows) > 1)}" if repeated and self.measures[0].timed else "range"
        ahead = self.ahead(a, b)
        ties = f"; clearly on {ahead} of {len(lows)}, a tie on the others" if ahead < len(lows) else ""
        return f"({name} {_ratio_text(min(lows))} to {_ratio_text(max(highs))}{ties})"

    @property
    def clock(self) -> str:
        """The clock that ranks: ``CPU time``, ``wall time``, or ``time`` if it differs from place to place."""
        clocks = {measure.figure for measure in self.measures}
        return "time" if len(clocks) > 1 else "wall time" if FIT.figure in clocks else "CPU time"


def contests(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Return the units of each formulation, its problems on the data sets: costs compare within a formulation only."""
    found: dict[str, list[Group]] = {}
    for unit in (unit for group in groups for unit in group.units):
        found.setdefault(unit.rows[0].formulation, []).append(unit)
    return found


def of_records(records: Sequence[Record]) -> Verdict:
    """Return the verdict on the runs of single problems among the records of a comparison."""
    return verdict(grouped([record for record in records if not is_path(record)]))


def verdict(groups: Sequence[Group]) -> Verdict:
    """Return the failures, and a sentence for each formulation that has something to choose from.

    Costs without a common target are not ranked, so that test accuracies alone are compared; so are solvers of different
    formulations, with their times.

    Cells of paths have no verdict.
    """
    rows = [row for group in groups for row in group.rows]
    if any(is_cell(row.first) for row in rows):
        return Verdict()
    found = contests(groups)
    loose = [name for name, units in found.items() if any(unit.loose for unit in units)]
    # a run that was not begun may have no formulation: where there is one only, its solver is a rival
    strays = [row for row in rows if not row.begun] if len(found) == 1 else []
    lines = _failures(rows)
    if over := list(dict.fromkeys(row.name for row in rows if row.overspent)):
        lines.append(f"{_names(over, 'and')} went over the budget of kernel evaluations by more than half: not ranked.")
    several_of = {name: f" for {name}" * (len(found) > 1) for name in found}
    results = [_budget(units, several_of[name]) if name in loose else _winner(units, strays, several_of[name])
            for name, units in found.items()]  # fmt: skip
    answers, single = [line for line, _ in results if line], any(once for _, once in results)
    answers += _borrowed(rows) if answers else []
    several = len({row.name for row in rows if row.begun}) > 1
    if several and not answers:
        answers = _accuracies(groups) if loose else _across_formulations(groups)
    sentences = list(map(plain_line, (*lines, *answers)))
    if any((record.get("data_notes") or {}).get("unscaled") for row in rows for record in row.records):
        return Verdict(sentences)  # the note on the scales has a command
    if several and any(row.first.get("target_gap") is None for row in rows if row.begun):
        return Verdict(sentences, _SAME_GAP, {"target_gap": "1e-3"})
    return Verdict(sentences, _MORE_RUNS, {"repeat": "3"}) if single else Verdict(sentences)


def _borrowed(rows: Sequence[Row]) -> list[str]:
    """Return whose dual certifies the models that have none and reached the target."""
    users: dict[str, dict[str, None]] = {}
    for row in (row for row in rows if row.complete and row.borrows_dual):
        for of in row.entries("best_dual_of"):
            users.setdefault(of.partition(",")[0], {})[row.name] = None
    return [f"{_names(list(names), 'and')}: certified with the dual of {of}." for of, names in users.items()]


def _failures(rows: Sequence[Row]) -> list[str]:
    """Return one line on the runs that failed or did not do what was asked; none if all did."""
    runs, failed = Counter[str](), dict[str, Counter[str]]()
    for row in rows:
        runs[row.name] += len(row.records)
        for record in row.records:
            if record.failed:
                cut = record.status is Status.UNFINISHED and record.get("stopped_by") == StoppedBy.TIME
                failed.setdefault(row.name, Counter())[Status.TIMEOUT if cut else record["status"]] += 1
    if not failed:
        return []
    counts = {name: [f"{_FAILURES[Status(status)]} in {n}" for status, n in of.items()] for name, of in failed.items()}
    parts = [f"{name} {' and '.join(of)} of {runs[name]}" for name, of in counts.items()]
    parts[_NAMED:] = [f"and {len(parts) - _NAMED} more solvers"] * (len(parts) > _NAMED)
    again = _AGAIN * any(Status.ENVIRONMENT in of for of in failed.values())
    return [f"{sum(map(Counter.total, failed.values()))} of {runs.total()} runs failed: {', '.join(parts)}.{again}"]


def able_in(places: Sequence[Place], every: Iterable[str]) -> list[str]:
    """Return the solvers whose every run did what was asked, in every place."""
    return [name for name in every if all(name in place.rows and place.rows[name].complete for place in places)]


def _winner(units: Sequence[Group], strays: Sequence[Row], of: str) -> tuple[str, bool]:
    """Return which solver of a formulation to take by time, and whether more runs may say more.

    One is ahead of another if it is faster beyond the noise of the runs in some unit, and slower in none. Their ratio is
    the geometric mean over the units; its range holds that of each unit, and says nothing of others. Only who did what
    was asked in every unit is named.

    strays : rows of solvers that were begun nowhere
    of : `` for c-svc`` if there are several formulations
    """
    rows = [*(row for unit in units for row in unit.rows), *strays]
    every = dict.fromkeys(row.name for row in rows)
    if len(every) < 2:
        return "", False
    places = list(map(Place.of, units))
    able = able_in(places, every)
    gap, where = _gap(rows), _where(places, rows)
    reached = f"reached a certified gap of {gap}" if gap else "did what was asked"
    if len(able) < 2 and (disturbed := [name for name in every if name not in able and _disturbed(rows, name)]):
        return f"No winner yet{of}: the machine disturbed runs of {_names(disturbed, 'and')}.", False
    if not able:
        place = where.partition(",")[0] if len(units) == 1 else f"every {_kind(places)}"
        return f"No winner{of}: no solver {reached} on {place}.", False
    if len(able) == 1:
        return f"Take {able[0]}{of}: it alone {reached} in every run on {where}.", False
    times = Comparison.of(FIT, places, able)
    if len(times.middle) < 2:
        unranked = _names([name for name in able if name not in times.middle], "and")
        return f"No winner{of}: the times of {unranked} are not ranked.", False
    after = f"{f'at a certified gap of {gap} ' if gap else ''}on {where}"
    single = all(len(row.records) == 1 for row in rows)
    return _take(times, of, f"{times.clock}s", f"as fast as {{}} in {times.clock}", after, single=single)


def _take(
    comparison: Comparison, of: str, what: str, than: str, after: str, *, single: bool = False, is_advice: bool = True
) -> tuple[str, bool]:
    """Return the sentence that names the best by one figure, and whether it may change with more runs."""
    less = comparison.measures[0].best == "low"
    first, *others = sorted(comparison.middle, key=lambda name: comparison.middle[name], reverse=not less)
    split = [name for name in others if comparison.ahead(name, first)]
    behind = [name for name in others if name not in split and comparison.ahead(first, name)]
    level = [name for name in others if name not in behind]
    better = ""
    if behind:
        ratio = comparison.middle[behind[0]] / comparison.middle[first]
        better = f"{_ratio_text(ratio)} times {than.format(behind[0])} {comparison.range(first, behind[0])}"
        if not less:
            ends = (figures.percent(comparison.middle[name]) for name in (first, behind[0]))
            better = f"{than.format(behind[0])} ({' % against '.join(ends)} %)"
    if not level:
        return f"{f'Take {first}{of}:' if is_advice else f'{first} is'} {better} {after}.", False
    end = " from the least" if less else " from the best"
    why = f"their {what} could not be distinguished{end * (len(level) > 1)}"
    ahead = "ahead" if less else "more accurate"
    why = f"which of them is {ahead} depends on the {_kind(comparison.places)}" if split else why
    also = f" {first} is {better}." if behind else ""
    best = f"Take {_names([first, *level])}{of}" if is_advice else _names([first, *level], "and")
    return f"{best}: {why} {after}.{also}", single and not split


def _budget(units: Sequence[Group], of: str) -> tuple[str, bool]:
    """Return who came nearest to the optimum within the same budget; empty if the runs had none."""
    rows = [row for unit in units for row in unit.rows]
    names = ["kernel_evaluation_limit", "iteration_limit"]
    if any(record.get("stopped_by") == StoppedBy.TIME for row in rows for record in row.records):
        names.append("time_limit")
    limits = {name: {row.first.get(name) for row in rows} for name in names}
    same = [figures.SETTINGS[name](value).removeprefix("limit ") for name, of_all in limits.items()
            if len(of_all) == 1 and figures.is_number(value := next(iter(of_all)))]  # fmt: skip
    if not same or not any(record.get("status") == Status.BUDGET for row in rows for record in row.records):
        return "", False
    places = list(map(Place.of, units))
    able = able_in(places, dict.fromkeys(row.name for row in rows))
    after = f"within {' and '.join(same)} on {_where(places, rows)}"
    every = [(Comparison.of(measure, places, able), what, than) for measure, what, than in _AT_EQUAL_BUDGETS]
    # of the figures that most solvers have, the first one
    most, what, than = max(every, key=lambda each: len(each[0].middle))
    return _take(most, of, what, than, after) if len(most.middle) > 1 else ("", False)


def _accuracies(groups: Sequence[Group]) -> list[str]:
    """Return who is the most accurate where costs are not ranked; nothing without test figures."""
    places = _places(groups)
    scores = Comparison.of(ACCURACY, places, _able(places))
    if len(scores.middle) < 2:
        return []
    where = f"on {_where(places, [row for place in places for row in place.rows.values()])}"
    return [_take(scores, "", "test accuracies", "more accurate than {}", where, is_advice=False)[0]]


def _across_formulations(groups: Sequence[Group]) -> list[str]:
    """Return how the fastest solver compares with the others, of other formulations, in time and test accuracy."""
    places = _places(groups)
    times, scores = (Comparison.of(measure, places, _able(places)) for measure in (FIT, ACCURACY))
    names = sorted((name for name in times.middle if name in scores.middle), key=lambda name: times.middle[name])
    first, sentences = names[0] if names else "", list[str]()
    where = f" on {_where(places, [row for place in places for row in place.rows.values()])}"
    for name in names[1 : 1 + _NAMED]:
        ratio = _ratio_text(times.middle[name] / times.middle[first])
        faster = f"{first} is {ratio} times as fast as {name} in {times.clock} {times.range(first, name)}"
        if not times.ahead(first, name) or times.ahead(name, first):
            faster = f"{first} and {name} do not clearly differ in {times.clock}"
        accuracy = {
            (False, False): "their test accuracies could not be distinguished",
            (True, False): f"{first} is more accurate",
            (False, True): f"{name} is more accurate",
            (True, True): f"which of them is more accurate depends on the {_kind(places)}",
        }[scores.ahead(first, name) > 0, scores.ahead(name, first) > 0]
        sentences.append(f"{faster}{where}; {accuracy}.")
    return sentences or [_NO_RIVALS]


def _able(places: Sequence[Place]) -> list[str]:
    return able_in(places, dict.fromkeys(name for place in places for name in place.rows))


def _places(groups: Sequence[Group]) -> list[Place]:
    """Return the rows of all formulations that compare in time and test figures: those of the same parameters on a data set."""
    names, found = solver_names(groups), list[Place]()
    for group in groups:
        rows = [row for row in group.rows if row.begun]
        values = [row.first.get("problem_parameters") or {} for row in rows]
        shared = [name for name in (values[0] if values else {}) if all(name in each for each in values)]
        by_key: dict[str, dict[str, Row]] = {}
        for row, own in zip(rows, values, strict=True):
            key = json.dumps([own[each] for each in shared], default=str)
            by_key.setdefault(key, {})[names[row.name, row.formulation]] = row
        found += [Place(of, replace(group, rows=list(of.values()))) for of in by_key.values()]
    return found


def _disturbed(rows: Sequence[Row], name: str) -> bool:
    """Return whether all runs of a solver that did not do what was asked failed by the machine's fault."""
    return {record.get("status") for row in rows if row.name == name for record in row.astray} == {Status.ENVIRONMENT}


def _names(some: Sequence[str], word: str = "or") -> str:
    """Return ``a, b or c``."""
    names = [*some[:_NAMED], *([f"{len(some) - _NAMED} more"] if len(some) > _NAMED else [])]
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]


def _gap(rows: Sequence[Row]) -> str:
    """Return the target of the runs as text, ``1e-3``; empty if they had none in common."""
    targets = {record.get("target_gap") for row in rows for record in row.records}
    target = targets.pop()
    return figures.target(target) if not targets and figures.is_number(target) else ""


def _kind(places: Sequence[Place]) -> str:
    """Return ``problem`` if there are several on a data set, else ``data set``."""
    sets = {row.first.get("dataset") for place in places for row in place.rows.values()}
    return "problem" if len(places) > len(sets) else "data set"


def _where(places: Sequence[Place], rows: Sequence[Row]) -> str:
    """Return ``2 data sets, 3 runs each``, or the name of the only one."""
    counts, classes = sorted({len(row.records) for row in rows}), len(machines(r for row in rows for r in row.records))
    runs = f"{figures.span(str(counts[0]), str(counts[-1]))} run{'' if counts[-1] == 1 else 's'} each"
    if len(places) == 1:
        return f"{short_name(str(rows[0].first.get('dataset')))}, {runs}"
    return f"{len(places)} {_kind(places)}s{f' ({classes} classes of machines)' if classes > 1 else ''}, {runs}"


def _ratio_text(ratio: float) -> str:
    """Two digits: ``0.95``, ``1.0``, ``2.1``, ``35``, ``120``."""
    return f"{ratio:.0f}" if ratio >= 99.5 else f"{ratio:#.2g}".rstrip(".")
