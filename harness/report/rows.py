"""From records to the rows of a report: one row each data set, problem and solver configuration.

A row stands for the repetitions and seeds of one configuration; its figures are medians over the runs
that ended with a model (`MEASURED`). Failed runs are counted, never left out.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from harness.measure.outcome import MEASURED, Status
from harness.measure.repetition import times
from harness.report import figures, timing
from harness.run import dual_bounds
from harness.run.record import Record
from harness.support import selection

if TYPE_CHECKING:
    from harness.problems.problem import Problem
    from harness.run.store import Row as StoreRow

OVERSPENT = 1.5  # kernel values over the budget from which a run is not one of an equal budget
_OF_A_ROW = (
    "plugin", "solver", "label", "parameters", "dataset", "formulation", "problem_parameters", "kernel",
    "kernel_parameters", "code_sha256", "versions", "data_sha256", *figures.SETTINGS,
)  # fmt: skip
with_suboptimality = dual_bounds.with_suboptimality  # for pages too, which import nothing below this room
_NAME = 32  # characters of a data set's name that a line of text has room for


@dataclass(frozen=True)
class Row:
    """The runs of one solver configuration on one problem of one data set.

    setting : the limits and resources in which it differs from another row of its group: ``cache 1 MB, 2 threads``
    """

    records: tuple[Record, ...]
    setting: str = ""

    @property
    def first(self) -> Record:
        """The record the row's names are read from."""
        return self.records[0]

    @property
    def label(self) -> str:
        """The solver with its changed parameters."""
        return str(self.first.get("label") or self.first.get("solver") or self.first.get("plugin") or "?")

    @property
    def name(self) -> str:
        """The label, and behind it what tells the row from its twins: ``smo (iterations <= 1)``."""
        place = place_text(self.first)
        place = place.removesuffix("path").strip() if is_path(self.first) else place
        parts = ", ".join(filter(None, (place, self.setting)))
        return f"{self.label} ({parts})" if parts else self.label

    @property
    def formulation(self) -> str:
        """The formulation's id; empty for a run that did not get that far."""
        return str(self.first.get("formulation") or "")

    @property
    def problem(self) -> str:
        """The formulation with its parameters: ``c-svc C=10``."""
        return problem_text(self.formulation, self.first.get("problem_parameters"))

    @property
    def begun(self) -> bool:
        """False if no run got as far as a kernel: a broken plugin, a solver of other formulations."""
        return bool(self.first.get("kernel"))

    @functools.cached_property
    def measured(self) -> list[Record]:
        """The runs that ended with a model."""
        return [record for record in self.records if record.get("status") in MEASURED]

    @property
    def complete(self) -> bool:
        """True if every run is ok, or used up its budget where there is no target: only such a row can be the best."""
        return not self.overspent and all(map(_budgeted, self.astray))

    @functools.cached_property
    def overspent(self) -> bool:
        """True if a run computed many more kernel values than its budget has, as a solver that yields too seldom does."""
        names = "kernel_evaluations", "kernel_evaluation_limit"
        spent = [[record.get(name) for name in names] for record in self.astray if _budgeted(record)]
        return any((used or 0) > OVERSPENT * (limit or math.inf) for used, limit in spent)

    @functools.cached_property
    def astray(self) -> list[Record]:
        """The runs that are not ``ok``: each has its reason."""
        return [record for record in self.records if record.get("status") != Status.OK]

    @property
    def borrows_dual(self) -> bool:
        """True if its models have no gap, but a suboptimality by the dual of another run."""
        return bool(self.values("suboptimality")) and not self.values("relative_gap")

    @functools.cached_property
    def _values(self) -> dict[str, list[float]]:
        return {}

    @functools.cached_property
    def differing(self) -> str:
        """A sentence if runs of one seed differ in their counts; empty if none do."""
        return timing.differing(self.measured)

    def entries(self, name: str) -> list[Any]:
        """Return the values of a field that is no figure, such as a sentence; empty ones are left out."""
        return [record[name] for record in self.measured if record.get(name)]

    def values(self, name: str) -> list[float]:
        """Return a figure of every measured run that has it; ``metrics.f1`` looks into the dict ``metrics``."""
        if name not in self._values:
            outer, _, inner = name.partition(".")
            runs = [run.get(outer) or {} for run in self.measured] if inner else self.measured
            self._values[name] = times(runs, inner or name)
        return self._values[name]

    def median(self, name: str) -> float | None:
        """Return the median of a figure, None if no run has it."""
        values = self.values(name)
        return median(values) if values else None

    @property
    def status(self) -> str:
        """``ok``, ``timeout``, ``timeout 1/3`` (some), ``not ok 2/3`` (of several kinds)."""
        counts = Counter(str(record.get("status")) for record in self.records)
        others = [status for status in counts if status != Status.OK]
        if len(counts) == 1:
            return next(iter(counts))
        return f"{others[0] if len(others) == 1 else 'not ok'} {len(self.astray)}/{len(self.records)}"


def _budgeted(record: Record) -> bool:
    """Return whether a run without a target used up its budget."""
    return record.get("status") == Status.BUDGET and record.get("target_gap") is None and not record.failed


def short_name(dataset: str) -> str:
    """Return a data set's name as a line has room for it: of a file without its folder and brackets, no long brackets."""
    path, _, options = dataset.partition("[")
    return Path(path).name + options.rpartition("]")[2] if selection.is_path(path) or len(dataset) > _NAME else dataset


@dataclass
class Group:
    """The rows of one data set under one kernel: test figures compare among all, costs only within one of `units`.

    comparisons : most problems of one formulation in the report on which there are several solvers
    """

    dataset: str
    kernel: str
    rows: list[Row] = field(default_factory=list)
    comparisons: int = 1

    def known(self, name: str) -> Any:
        """Return a fact of the data set from the first record that has it."""
        values = (record.get(name) for row in self.rows for record in row.records)
        return next((value for value in values if value is not None), None)

    @property
    def heading(self) -> str:
        """``digits: 1198 x 64, rbf gamma=0.05, 599 test points``, with the problem where all rows share it."""
        n, d, n_test, notes = (self.known(name) for name in ("n_train", "n_features", "n_test", "data_notes"))
        size, tested = f"{n} x {d}" * (None not in (n, d)), f"{n_test} test points" * bool(n_test)
        data = [size, label_text(notes, self.known("positive_share")), str((notes or {}).get("preprocessing", ""))]
        parts = [*data, self.kernel, tested, *self.problems[: len(self.problems) == 1]]
        known = ", ".join(filter(None, parts))
        return f"{self.dataset}: {known}" if known else self.dataset

    @property
    def remark(self) -> str:
        """A warning on the data, above the figures of the rows."""
        return scale_text(self.known("data_notes"), self.kernel)

    @property
    def loose(self) -> list[Row]:
        """The rows that compete, if they had no common target gap: their costs do not compare."""
        rivals = [row for row in self.rows if row.complete]
        targets = {record.get("target_gap") for row in rivals for record in row.records}
        return rivals if len(rivals) > 1 and (len(targets) > 1 or None in targets) else []

    @property
    def units(self) -> list[Group]:
        """The begun rows of each problem, a formulation with its parameters; the group itself if none was begun.

        Which problem is easier says nothing about solvers, so costs compare only within a unit.
        """
        rows: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.begun:
                rows.setdefault(row.problem, []).append(row)
        names = {problem: f"{self.dataset} {problem}" if len(rows) > 1 else self.dataset for problem in rows}
        units = [Group(names[problem], self.kernel, members, self.comparisons) for problem, members in rows.items()]
        return units or [self]

    @property
    def problems(self) -> list[str]:
        """The different problems of the rows, in their order."""
        return list(dict.fromkeys(row.problem for row in self.rows if row.problem))


def formulation_of(name: str | None) -> type[Problem]:
    """Return a formulation by its name in a record; where no plugin brings it any more, what all have in common."""
    from harness.problems.problem import Problem
    from harness.registry.discovery import shared_registry

    return shared_registry().formulations.get(name or "", Problem)


def problem_text(formulation: str | None, values: Mapping[str, Any] | None) -> str:
    """Return ``c-svc C=10``, without settings of ``none``, words at their default, and substitutes of a parameter that is given."""
    given = {name: value for name, value in (values or {}).items() if value not in (None, "none")}
    if len(given) > 1:  # one alone is no substitute; no plugin is loaded for it
        known = formulation_of(formulation)
        usual = {each.name: each.default for each in known.known_parameters() if isinstance(each.default, str)}
        given = {name: value for name, value in known.counting(given).items() if value != usual.get(name)}
    return f"{formulation or ''} {figures.assignments(given)}".strip()


def kernel_text(kernel: str | None, values: Mapping[str, Any] | None) -> str:
    """Return ``rbf gamma=0.05``; empty for a run that did not get as far as a kernel."""
    return f"{kernel} {figures.assignments(values or {})}".strip() if kernel else ""


def label_text(notes: Mapping[str, Any] | None, share: float | None) -> str:
    """Return ``label column 'churned' (+1 = yes: 20 %)``, as far as the notes on the data have it; of a class 1 they need not.

    share : of the training points that are +1
    """
    notes = notes or {}
    column, positive = notes.get("label_column"), notes.get("positive")
    text = f"+1 = {positive}" if positive else ""
    if text and share is not None:
        text += f": {100.0 * share:.{0 if share >= 0.01 else 1}f} %"
    text = f"regression: {notes['regression']}" if "regression" in notes else text
    if column:
        return f"label column '{column}'{f' ({text})' * bool(text)}"
    return text if positive not in ("1", "+1") else ""


def scale_text(notes: Mapping[str, Any] | None, kernel: str) -> str:
    """Return a warning on columns that are not scaled and lie far apart, and in a line of its own the remedy.

    Empty if they do not, or no kernel uses them.
    """
    unscaled = (notes or {}).get("unscaled")
    if not unscaled or kernel.startswith("precomputed"):
        return ""
    columns = [unscaled[which] for which in ("farthest", "widest", "narrowest") if which in unscaled]
    sizes = [figures.count(size) if abs(size) >= 1000 else f"{size:.3g}" for _, size in columns]
    first, *others = [f"'{name}'" for name, _ in columns]
    why = f"{first} lies around {sizes[0]}, far from other columns: gamma = 'scale' is too small."
    if others:
        why = f"{first} ranges over {sizes[0]}, {others[0]} over {sizes[1]}, so the wide columns outweigh the others."
    return f"not scaled: {why} Write\n  {unscaled['write']}"


def is_path(record: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a whole path."""
    return bool(record.get("path")) and "cell" not in record["path"]


def is_cell(record: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a cell of a path."""
    return "cell" in (record.get("path") or {})


def without_paths(records: Iterable[Record]) -> list[Record]:
    """Return the records of single problems, the cells of paths among them."""
    return [record for record in records if not is_path(record)]


def is_share(record: Mapping[str, Any]) -> bool:
    """Return whether the validation error of a record is a share of wrong labels, as it is but in regression."""
    return formulation_of(record.get("formulation")).task != "regression"


def place_text(record: Mapping[str, Any]) -> str:
    """Return what of a path a record is: ``path``, ``cold path``, ``refit of path``; empty for a run of one problem."""
    path = record.get("path") or {}
    if not path:
        return ""
    name = "cold path" if path.get("start") == "cold" else "path"
    return f"refit of {name}" if path.get("cell", 0) is None else name


def axes(record: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the values of each parameter in the grid of a path."""
    return {**record["path"].get("costs", {}), **record["path"].get("widths", {})}


def _grid_text(record: Mapping[str, Any]) -> str:
    """Return ``path of 2 C x 3 gamma, 5 folds``; empty for a run of one problem."""
    grid = " x ".join(f"{len(values)} {name}" for name, values in axes(record).items()) if is_path(record) else ""
    folds = f", {record['path']['folds']} folds" if grid and record["path"].get("folds") else ""
    return f"path of {grid}{folds}" if grid else ""


def newest(rows: Iterable[StoreRow], fits: Callable[[Record], bool], *, every: bool = False) -> tuple[list[int], int]:
    """Return the numbers of a store's rows that fit, newest first, and how many older measurements were left out.

    Of the rows of one run only the one counts that was measured last, if that fits. Two rows are of the same run if they
    belong to the same row of a report and have the same seed and repetition. No record stays in memory.

    every : the older measurements too
    """
    last: dict[int, tuple[str, int, bool]] = {}
    total = 0
    for row in rows:
        total += 1
        record = row.record
        run = _row_key(record), record.get("seed"), record.get("repetition"), record.get("fold")
        key = row.number if every else hash(run)
        entry = (str(record.get("measured_at")), row.number, fits(record))
        last[key] = max(entry, last.get(key, entry))
    fitting = sorted((entry for entry in last.values() if entry[2]), reverse=True)
    return [number for _, number, _ in fitting], total - len(last)


def machines(records: Iterable[Record]) -> list[str]:
    """Return the classes of machines, by ``id``, on which there are runs."""
    lost = (Status.SKIPPED, Status.ENVIRONMENT)
    return list(dict.fromkeys(_machine(record) for record in records if record.get("status") not in lost))


def _machine(record: Record) -> str:
    return str((record.get("machine") or {}).get("id") or "")


def grouped(records: Sequence[Record]) -> list[Group]:
    """Return the groups of a report, and in each the rows, in the order of their first record.

    A group is of one class of machines; where there are several, the data set's name says which.
    """
    members: dict[bytes, list[Record]] = {}
    for record in with_suboptimality(records):
        members.setdefault(_row_key(record), []).append(record)
    several = len(machines(records)) > 1
    groups: dict[tuple[str, str, str], Group] = {}
    homeless: list[Row] = []  # without a kernel or machine: broken plugins, skipped formulations
    for row in (Row(tuple(of_row)) for of_row in members.values()):
        dataset, kernel = _home(row)
        if kernel and (on := machines(row.records) if several else [""]):
            groups.setdefault((dataset, kernel, on[0]), Group(dataset, kernel)).rows.append(row)
        else:
            homeless.append(row)
    for row in homeless:
        dataset, kernel = _home(row)
        homes = [group for group in groups.values() if group.dataset == dataset]
        home = next((group for group in homes if group.kernel == kernel), homes[0] if homes and not kernel else None)
        (home or groups.setdefault((dataset, kernel, ""), Group(dataset, kernel))).rows.append(row)
    codes = {_code(row) for group in groups.values() for row in group.rows}
    mixed = {solver for solver, count in Counter(code[:2] for code in codes).items() if count > 1}
    for group in groups.values():
        order = list(dict.fromkeys(row.problem for row in group.rows))
        group.rows = _distinguished(sorted(group.rows, key=lambda row: order.index(row.problem)), mixed)
    count_comparisons(groups.values())
    # data sets in their first order, the kernels of one data set together
    datasets = list(dict.fromkeys(group.dataset for group in groups.values()))
    in_order = sorted(groups.items(), key=lambda item: datasets.index(item[1].dataset))
    for (dataset, _, on_machine), group in in_order:
        group.dataset = f"{dataset} on machine {on_machine[:6]}" if on_machine else dataset
    return [group for _, group in in_order]


def count_comparisons(groups: Collection[Group]) -> None:
    """Set the ``comparisons`` of the groups of a report."""
    units = (unit for group in groups for unit in group.units)
    rivals = Counter(unit.rows[0].formulation for unit in units if len(unit.rows) > 1)
    for group in groups:
        group.comparisons = max(rivals.values(), default=1)


def solver_names(groups: Iterable[Group]) -> dict[tuple[str, str], str]:
    """Return for a row's name and its formulation the name of a solver, with the formulation if it solves several."""
    every = dict.fromkeys((row.name, row.formulation) for group in groups for row in group.rows if row.begun)
    several = Counter(name for name, _ in every)
    return {(name, of): f"{name} ({of})" if several[name] > 1 else name for name, of in every}


def _home(row: Row) -> tuple[str, str]:
    """Return data set and kernel of a row, of a path with its grid."""
    kernel = kernel_text(row.first.get("kernel"), row.first.get("kernel_parameters"))
    return str(row.first.get("dataset") or "?"), ", ".join(filter(None, (kernel, _grid_text(row.first))))


def _distinguished(rows: Sequence[Row], mixed: Collection[tuple[str, ...]]) -> list[Row]:
    """Return the rows with what differs from others of the same solver on the same problem: settings, code, versions, data.

    mixed : plugin and name of each solver of whose code the report has several versions; each of its rows has its own
    """
    twins: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        twins.setdefault((row.name, row.problem), []).append(row)
    texts = {id(row): _setting(row, members, mixed) for members in twins.values() for row in members}
    return [replace(row, setting=texts[id(row)]) for row in rows]


def _setting(row: Row, twins: Sequence[Row], mixed: Collection[tuple[str, ...]]) -> str:
    """Return the settings, the code, two versions and the data in which a row differs from one of its twins."""
    names = [name for name in figures.SETTINGS if len({twin.first.get(name) for twin in twins}) > 1]
    *solver, code = _code(row)
    parts = [settings_text(row.first, names), f"code {code[:6]}" * (bool(code) and tuple(solver) in mixed)]
    known = [twin.first.get("versions") or {} for twin in twins]
    libraries = [name for name in dict.fromkeys(itertools.chain(*known)) if len({of.get(name) for of in known}) > 1]
    parts += [f"{name} {(row.first.get('versions') or {}).get(name, '(none)')}" for name in libraries[:2]]
    if len({twin.first.get("data_sha256") for twin in twins}) > 1:
        parts.append(f"data {str(row.first.get('data_sha256') or '?')[:6]}")
    return ", ".join(filter(None, parts))


def _code(row: Row) -> tuple[str, ...]:
    """Return plugin, name and the hash of the code of a row's solver; the latter is empty if it is not known."""
    return tuple(str(row.first.get(name) or "") for name in ("plugin", "solver", "code_sha256"))


def settings_text(record: Record, names: Iterable[str]) -> str:
    """Return these settings of a record, names of `figures.SETTINGS`; one that is not set says nothing."""
    return ", ".join(figures.SETTINGS[name](value) for name in names if figures.is_number(value := record.get(name)))


def _row_key(record: Record) -> bytes:
    """Return what the runs of a row have in common.

    Versions, data and machine belong to it: old and new code are two rows, and no median mixes two machines.
    """
    machine, path = _machine(record), record.get("path") or {}
    of_path = [path.get(name) for name in ("costs", "widths", "folds", "start")]
    what = ["refit" if path["cell"] is None else "cell"] if "cell" in path else []  # its folds are runs of one row
    return msgspec.json.encode([machine, of_path, what, *map(record.get, _OF_A_ROW)], enc_hook=str, order="sorted")
