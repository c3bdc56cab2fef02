"""From records to the rows of a report: one row each data set, problem and solver configuration.

A row stands for the repetitions and seeds of one configuration; its figures are medians over the runs
that ended with a model (`MEASURED`). Failed runs are counted, never left out.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

from harness.measure.outcome import MEASURED, Status
from harness.measure.repetition import seconds
from harness.report import figures, timing
from harness.run.record import Record
from harness.support import selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.problems.problem import Problem
    from harness.report.layout import Cell, Column
    from harness.run.store import Row as StoreRow

OVERSPENT = 1.5  # kernel values over the budget from which a run is not one of an equal budget
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
        told = ", ".join(text for text in (place_text(self.first) if is_cell(self.first) else "", self.setting) if text)
        return f"{self.label} ({told})" if told else self.label

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
        """False if no run got as far as a kernel: a broken plugin, a solver of other formulations than those asked for."""
        return bool(self.first.get("kernel"))

    @functools.cached_property
    def measured(self) -> list[Record]:
        """The runs that ended with a model."""
        return [record for record in self.records if record.get("status") in MEASURED]

    @property
    def complete(self) -> bool:
        """True if every run did what was asked, or used up its budget if no target was: only such a row can be the best."""
        return not self.overspent and all(map(_budgeted, self.astray))

    @functools.cached_property
    def overspent(self) -> bool:
        """True if a run computed many more kernel values than its budget has, as a solver that yields too seldom does."""
        return any(
            (record.get("kernel_evaluations") or 0) > OVERSPENT * (record.get("kernel_evaluation_limit") or math.inf)
            for record in filter(_budgeted, self.astray)
        )

    @functools.cached_property
    def astray(self) -> list[Record]:
        """The runs that are not ``ok``: each has its reason."""
        return [record for record in self.records if record.get("status") != Status.OK]

    @functools.cached_property
    def _values(self) -> dict[str, list[float]]:
        return {}

    @functools.cached_property
    def differing(self) -> str:
        """A sentence if the counts of its runs cannot all be the solver's own; empty if they can."""
        return timing.differing(self.measured)

    def said(self, name: str) -> list[Any]:
        """Return what the measured runs have in a field that is no figure: sentences, truth values; what is empty not."""
        return [record[name] for record in self.measured if record.get(name)]

    def values(self, name: str) -> list[float]:
        """Return a figure of every measured run that has it; ``metrics.f1`` looks into the dict ``metrics``."""
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def _read(self, name: str) -> list[float]:
        outer, _, inner = name.partition(".")
        found = [(run.get(outer) or {}).get(inner) if inner else seconds(run, name) for run in self.measured]
        return [float(value) for value in found if figures.is_number(value)]

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
    """The rows of one data set under one kernel: what is predicted compares among all, costs only within one of `units`.

    comparisons : most problems of one formulation in the report on which there are several solvers
    """

    dataset: str
    kernel: str
    rows: list[Row] = field(default_factory=list)
    comparisons: int = 1

    def known(self, name: str) -> Any:
        """Return a fact of the data set from the first record that has it."""
        found = (record.get(name) for row in self.rows for record in row.records)
        return next((value for value in found if value is not None), None)

    @property
    def heading(self) -> str:
        """``digits: 1198 x 64, rbf gamma=0.05, 599 test points``, with the problem where all rows share it."""
        n, d, n_test = (self.known(name) for name in ("n_train", "n_features", "n_test"))
        size = f"{int(n)} x {int(d)}" if n is not None and d is not None else ""
        problem = self.problems[0] if len(self.problems) == 1 else ""
        parts = [
            size,
            label_text(self.known("data_notes"), self.known("positive_share")),
            str((self.known("data_notes") or {}).get("preprocessing", "")),
            self.kernel,
            f"{int(n_test)} test points" if n_test else "",
            problem,
        ]
        known = ", ".join(part for part in parts if part)
        return f"{self.dataset}: {known}" if known else self.dataset

    @property
    def remark(self) -> str:
        """What is to be said of the data before the figures of its rows."""
        return scale_text(self.known("data_notes"), self.kernel)

    @property
    def loose(self) -> list[Row]:
        """The rows that compete, if they were not all asked for the same relative gap: their costs do not compare."""
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
        units = [Group(names[problem], self.kernel, each, self.comparisons) for problem, each in rows.items()]
        return units or [self]

    @property
    def problems(self) -> list[str]:
        """The different problems of the rows, in their order."""
        return list(dict.fromkeys(row.problem for row in self.rows if row.problem))


@dataclass(frozen=True)
class Section:
    """The rows of a table under one heading, each a list of cells; ``remark``: what is said between the two."""

    heading: str
    rows: list[list[Cell]]
    remark: str = ""


@dataclass(frozen=True)
class Sheet:
    """A report before it is set: columns that all sections share, and the sentences under them.

    notes : what every reader must know
    explained : what columns and marks mean, for those who ask
    groups : whose rows it shows, of paths none
    """

    columns: list[Column]
    sections: list[Section]
    notes: list[str]
    explained: list[str]
    groups: Sequence[Group] = ()

    @property
    def rows(self) -> list[list[Cell]]:
        """Those of all sections."""
        return [row for section in self.sections for row in section.rows]

    @property
    def titles(self) -> list[str]:
        """Of the columns, in one line each."""
        return [column.title.replace("\n", " ") for column in self.columns]

    @property
    def marked(self) -> bool:
        """Whether any cell is the best of its column."""
        return any(cell.best for row in self.rows for cell in row)


def formulation_of(name: str | None) -> type[Problem]:
    """Return a formulation by its name in a record; where no plugin brings it any more, what all have in common."""
    from harness.problems.problem import Problem
    from harness.registry.discovery import shared_registry

    return shared_registry().formulations.get(name or "", Problem)


def problem_text(formulation: str | None, values: Mapping[str, Any] | None) -> str:
    """Return ``c-svc C=10``; settings of ``none`` say nothing, nor words at their default, nor what stands for one given."""
    told = {name: value for name, value in (values or {}).items() if value not in (None, "none")}
    if len(told) > 1:  # one alone stands for none that is given; no plugin is loaded for it
        known = formulation_of(formulation)
        usual = {each.name: each.default for each in known.known_parameters() if isinstance(each.default, str)}
        told = {name: value for name, value in known.counting(told).items() if value != usual.get(name)}
    return f"{formulation or ''} {figures.assignments(told)}".strip()


def kernel_text(kernel: str | None, values: Mapping[str, Any] | None) -> str:
    """Return ``rbf gamma=0.05``; empty for a run that did not get as far as a kernel."""
    return f"{kernel} {figures.assignments(values or {})}".strip() if kernel else ""


def label_text(notes: Mapping[str, Any] | None, share: float | None) -> str:
    """Return ``label column 'churned' (+1 = yes: 20 %)``, as far as the notes on the data say so; of a class 1 they need not.

    share : of the training points that are +1
    """
    column, positive = ((notes or {}).get(name) for name in ("label_column", "positive"))
    told = f"+1 = {positive}" if positive else ""
    told += f": {100.0 * share:.{0 if share >= 0.01 else 1}f} %" if told and share is not None else ""
    told = f"regression: {notes['regression']}" if notes and "regression" in notes else told
    if column:
        return f"label column '{column}'{f' ({told})' if told else ''}"
    return told if positive not in ("1", "+1") else ""


def scale_text(notes: Mapping[str, Any] | None, kernel: str) -> str:
    """Return the sentence on columns that are not scaled and lie far apart, and in a line of its own what to write.

    Empty if they do not, or no kernel sees them.
    """
    found = (notes or {}).get("unscaled") or {}
    if not found or kernel.startswith("precomputed"):
        return ""
    ranges = [
        (name, figures.count(size) if size >= 1000 else f"{size:.3g}")
        for name, size in (found["widest"], found["narrowest"])
    ]
    (wide, most), (narrow, least) = ranges
    told = f"not scaled: '{wide}' ranges over {most}, '{narrow}' over {least}, so the wide columns outweigh the others"
    return f"{told}. Write\n  {found['write']}"


def is_path(record: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a whole path."""
    return bool(record.get("path")) and "cell" not in record["path"]


def is_cell(record: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a cell of a path."""
    return "cell" in (record.get("path") or {})


def place_text(record: Mapping[str, Any]) -> str:
    """Return what of a path a record is: ``path``, ``cold path``, ``refit of path``; empty for a run of one problem."""
    path = record.get("path") or {}
    if not path:
        return ""
    name = "cold path" if path.get("start") == "cold" else "path"
    return f"refit of {name}" if path.get("cell", 0) is None else name


def newest(rows: Iterable[StoreRow], fits: Callable[[Record], bool], *, every: bool = False) -> tuple[list[int], int]:
    """Return the numbers of a store's rows that fit, newest first, and how many older measurements were left out.

    Of the rows of one run only the one counts that was measured last, if that fits. Two rows are of the same run if they
    belong to the same row of a report and have the same seed and repetition. No record is held in memory.

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
    found = sorted((entry for entry in last.values() if entry[2]), reverse=True)
    return [number for _, number, _ in found], total - len(last)


def machines(records: Iterable[Record]) -> list[str]:
    """Return the classes of machines, by ``id``, that runs were carried out on."""
    found = (record for record in records if record.get("status") not in (Status.SKIPPED, Status.ENVIRONMENT))
    return list(dict.fromkeys(_machine(record) for record in found))


def _machine(record: Record) -> str:
    return str((record.get("machine") or {}).get("id") or "")


def grouped(records: Sequence[Record]) -> list[Group]:
    """Return the groups of a report, and in each the rows, in the order of their first record.

    A group is of one class of machines; where there are several, the data set's name says which.
    """
    cells: dict[bytes, list[Record]] = {}
    for record in records:
        cells.setdefault(_row_key(record), []).append(record)
    groups: dict[tuple[str, str, str], Group] = {}
    homeless: list[
        Row
    ] = []  # runs that ended before their kernel or machine was known: broken plugins, skipped formulations
    several = len(machines(records)) > 1
    for members in cells.values():
        row = Row(tuple(members))
        dataset, kernel = _home(row)
        if kernel and (on := machines(members) if several else [""]):
            groups.setdefault((dataset, kernel, on[0]), Group(dataset, kernel)).rows.append(row)
        else:
            homeless.append(row)
    for row in homeless:
        dataset, kernel = _home(row)
        homes = [group for group in groups.values() if group.dataset == dataset]
        home = next((group for group in homes if group.kernel == kernel), homes[0] if homes and not kernel else None)
        (home or groups.setdefault((dataset, kernel, ""), Group(dataset, kernel))).rows.append(row)
    for group in groups.values():
        order = {problem: place for place, problem in enumerate(dict.fromkeys(row.problem for row in group.rows))}
        group.rows.sort(key=lambda row: order[row.problem])  # rows of one problem stand together
        group.rows = _told_apart(group.rows)
    rivals = Counter(
        unit.rows[0].formulation for group in groups.values() for unit in group.units if len(unit.rows) > 1
    )
    # Data sets in their first order, the kernels of one data set together.
    place = {name: i for i, name in enumerate(dict.fromkeys(group.dataset for group in groups.values()))}
    found = sorted(groups.items(), key=lambda item: place[item[1].dataset])
    for (dataset, _, of), group in found:
        group.dataset = f"{dataset} on machine {of[:6]}" if of else dataset
        group.comparisons = max(rivals.values(), default=1)
    return [group for _, group in found]


def _home(row: Row) -> tuple[str, str]:
    """Return data set and kernel of a row."""
    kernel = kernel_text(row.first.get("kernel"), row.first.get("kernel_parameters"))
    return str(row.first.get("dataset") or "?"), kernel


def _told_apart(rows: list[Row]) -> list[Row]:
    """Return the rows, those of the same solver on the same problem with what they differ in: settings, else their code."""
    twins: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        twins.setdefault((row.label, row.problem), []).append(row)
    differing = {
        who: [name for name in figures.SETTINGS if len({row.first.get(name) for row in members}) > 1]
        for who, members in twins.items()
    }
    rows = [replace(row, setting=settings_text(row.first, differing[row.label, row.problem])) for row in rows]
    codes: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        codes.setdefault((row.name, row.problem), set()).add(_code(row))
    return [
        replace(row, setting=", ".join(filter(None, (row.setting, _code(row)))))
        if len(codes[row.name, row.problem]) > 1
        else row
        for row in rows
    ]


def _code(row: Row) -> str:
    """Return what tells one version of a row's code from another; empty if it is not known."""
    known = row.first.get("code_sha256")
    return f"code {known[:6]}" if known else ""


def settings_text(record: Record, names: Iterable[str]) -> str:
    """Return these settings of a record, names of `figures.SETTINGS`; one that is not set says nothing."""
    return ", ".join(figures.SETTINGS[name](value) for name in names if figures.is_number(value := record.get(name)))


def _row_key(record: Record) -> bytes:
    """Return what the runs of a row have in common.

    Versions, data and machine belong to it: old and new code are two rows, and no median mixes two machines.
    """
    names = (
        "plugin", "solver", "label", "parameters", "dataset", "formulation", "problem_parameters", "kernel",
        "kernel_parameters", "code_sha256", "versions", "data_sha256", *figures.SETTINGS,
    )  # fmt: skip
    machine, path = _machine(record), record.get("path") or {}
    of_path = [path.get(name) for name in ("costs", "widths", "folds", "start")]
    what = ["refit" if path["cell"] is None else "cell"] if "cell" in path else []  # its folds are runs of one row
    return msgspec.json.encode([machine, of_path, what, *map(record.get, names)], enc_hook=str, order="sorted")
