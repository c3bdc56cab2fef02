"""Export result stores of `harness compare` as records of a dashboard."""

from __future__ import annotations

import contextlib
import heapq
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Record, StoreReader, UsageError
from harness_dashboard import names, numbers
from harness_dashboard.commits import Commit, Repository
from harness_dashboard.history import ENVIRONMENT, FIELDS, record_file_path
from harness_dashboard.records import RecordFile, read_file
from harness_dashboard.tables import thinned, upward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness_dashboard.configuration import Configuration
    from harness_dashboard.records import Cell


@dataclass
class Summary:
    """The result of an export.

    runs : number of exported runs
    solvers, problems : names; a problem is a data set with problem and kernel
    omitted : reason -> number of rows of the stores that were left out for it
    unread : a sentence for each row of a store that could not be read
    """

    runs: int = 0
    solvers: set[str] = field(default_factory=set)
    problems: set[str] = field(default_factory=set)
    omitted: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)

    def what(self) -> str:
        """Return the numbers of runs, solvers and problems as text."""
        return f"runs: {self.runs}, solvers: {len(self.solvers)}, data sets and problems: {len(self.problems)}"

    def notes(self) -> list[str]:
        """Return a sentence for each reason why rows were left out."""
        return [*(f"{number} runs {why}" for why, number in (+self.omitted).items()), *self.unread]


@dataclass(frozen=True)
class Place:
    """The commit, machine and Python version of a file of records."""

    commit: Commit
    machine: str
    python: str

    @property
    def environment(self) -> str:
        """Name of the environment of exported results."""
        return f"{ENVIRONMENT}{self.python}"


class Collection:
    """The runs of stores by place and cell, with the traces of the newest runs of each cell.

    A store may have hundreds of thousands of runs, so they are read one at a time, and traces that no page needs are dropped.
    """

    def __init__(self) -> None:
        self.places: dict[Place, dict[Cell, list[Record]]] = {}
        self._newest: dict[tuple[str, str, Cell], tuple[int, list[Record]]] = {}

    def add(self, record: Record, commit: Commit) -> None:
        """Add a run that was measured at a commit, and drop the traces of its cell at older commits."""
        machine = self._machine(record.get("machine") or {})
        python = names.python_version((record.get("versions") or {}).get("python"))
        cell = names.solver_name(record), names.dataset_name(record)
        place = Place(commit, machine, python)
        runs = self.places.setdefault(place, {}).setdefault(cell, [])
        key = (machine, python, cell)
        time, newest = self._newest.get(key, (commit.time, runs))
        if commit.time < time:
            record.pop("trace", None)
        else:
            self._newest[key] = (commit.time, runs)
            for older in newest if newest is not runs else ():
                older.pop("trace", None)
        selected = _select_fields(record, cell)
        selected["group"] = names.identity(record)
        runs.append(selected)

    def assign_problems(self) -> None:
        """Assign the runs that ended before their problem was known to a problem of their data set."""
        for cells in self.places.values():
            problems = list(dict.fromkeys(dataset for _, dataset in cells))
            for cell in [cell for cell, runs in cells.items() if not any(run.get("kernel") for run in runs)]:
                target = (cell[0], next((name for name in problems if name.startswith(f"{cell[1]}, ")), cell[1]))
                if target == cell:
                    continue
                runs = cells.pop(cell)
                if target in cells:
                    continue  # the solver has runs of this problem, which say more
                for run in runs:
                    run["dataset"] = target[1]
                cells[target] = runs

    def _machine(self, machine: dict[str, Any]) -> str:
        processor, cores = (names.file_name_part(machine.get(what)) for what in ("processor", "cores"))
        return f"{processor}-{cores}c-{names.file_name_part(machine.get('id'), 6)}"


def _select_fields(record: Record, cell: Cell) -> Record:
    """Return the fields of a record of the store that a dashboard needs."""
    selected = Record({name: value for name in FIELDS if (value := record.get(name)) not in (None, "", {}, [])})
    for name, value in selected.items():
        if isinstance(value, float):
            selected[name] = upward(value, 6) if name in ("relative_gap", "suboptimality") else numbers.rounded(value)
    selected["solver"], selected["dataset"] = cell
    selected["measured_at"] = names.parse_time(record.get("measured_at")).isoformat(timespec="milliseconds")
    selected["data"] = str(record.get("data_sha256") or "")[:12]
    return selected


def export(stores: Sequence[Path], into: Configuration, revision: str | None = None) -> Summary:
    """Add the runs of the stores to a dashboard.

    Parameters
    ----------
    revision : the commit of runs without one, or with one that the repository lacks

    Raises
    ------
    UsageError : a store, the repository or the commit does not exist, or no run in the stores can be exported.
    """
    repository = Repository(into.asv.repo)
    default = repository.find(revision, "--commit") if revision else None
    collection, summary = read_stores(stores, lambda record: repository.commit_of(record) or default)
    if not collection.places:
        raise UsageError(
            f"no runs in {', '.join(map(str, stores))} have a commit of the repository; give it with --commit REV, or "
            "make a page without a repository with --single-file page.html."
        )
    for place, cells in collection.places.items():
        merged = {cell: list(runs) for cell, runs in cells.items()}
        path = record_file_path(into.records_dir, place.commit.name, place.environment, place.machine)
        for cell, runs in read_file(path).cells().items() if path.exists() else ():
            merged.setdefault(cell, []).extend(runs)
        file = record_file(place, merged, summary)
        file.write(into.records_dir)
    return summary


def read_stores(stores: Sequence[Path], commit_of: Callable[[Record], Commit | None]) -> tuple[Collection, Summary]:
    """Return the runs of all stores, read in the order of time, and a summary.

    Raises
    ------
    UsageError : a store does not exist.
    """
    collection, summary = Collection(), Summary()
    for store in stores:
        if not store.is_file():
            raise UsageError(f"there is no result store at {store}; run `harness compare` or name one with --store.")
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(StoreReader(path)) for path in stores]
        records = heapq.merge(*(reader.records() for reader in readers), key=lambda record: str(record["measured_at"]))
        for record in records:
            if record.get("path"):
                summary.omitted["are of paths and were left out; `harness results` shows them"] += 1
            elif (commit := commit_of(record)) is None:
                summary.omitted["have no commit of the repository and were left out; --commit REV sets it"] += 1
            else:
                collection.add(record, commit)
        summary.unread = [sentence for reader in readers for sentence in reader.damaged.values()]
    collection.assign_problems()
    return collection, summary


def record_file(place: Place, cells: Mapping[Cell, Iterable[Record]], summary: Summary) -> RecordFile:
    """Return the latest runs of a place, with thinned traces, and add them to the summary."""
    records: list[Record] = []
    for (solver, problem), runs in cells.items():
        unique = _unique(runs)
        latest = names.latest_records(unique)
        records += latest
        older, omitted = sum(run.get("group") != latest[0].get("group") for run in unique), summary.omitted
        omitted["have older code, other versions or other limits than the newest runs and were left out"] += older
        omitted["were measured again later at the same commit and were left out"] += len(unique) - len(latest) - older
        summary.solvers.add(solver)
        summary.problems.add(problem)
    for record in records:
        if "trace" in record:
            record["trace"] = thinned(record["trace"])
    summary.runs += len(records)
    newest = max(str(record.get("measured_at")) for record in records)
    return RecordFile(place.commit.name, place.commit.time, place.machine, place.environment, newest, records)


def _unique(runs: Iterable[Record]) -> list[Record]:
    """Return the runs without duplicates from earlier exports."""
    return list(
        {(run.get("measured_at"), run.get("seed"), run.get("repetition")): run for run in reversed([*runs])}.values()
    )
