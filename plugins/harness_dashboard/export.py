"""The result store of `harness compare`, written as the records of a dashboard."""

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
from harness_dashboard.history import ENVIRONMENT, FIELDS, file_of
from harness_dashboard.records import RecordFile, read_file
from harness_dashboard.tables import thinned, upward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness_dashboard.configuration import Configuration
    from harness_dashboard.records import Cell


@dataclass
class Summary:
    """The result of an export.

    runs : number of runs written
    solvers, problems : names; a problem is a data set with problem and kernel
    omitted : why rows of the stores were left out -> how many
    unread : a sentence for each row of a store that cannot be read
    """

    runs: int = 0
    solvers: set[str] = field(default_factory=set)
    problems: set[str] = field(default_factory=set)
    omitted: Counter[str] = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)

    def what(self) -> str:
        """Return how many runs, solvers and problems there are."""
        return f"runs: {self.runs}, solvers: {len(self.solvers)}, data sets and problems: {len(self.problems)}"

    def notes(self) -> list[str]:
        """Return a sentence for each reason why runs were left out."""
        return [*(f"{number} runs {why}" for why, number in (+self.omitted).items()), *self.unread]


@dataclass(frozen=True)
class Place:
    """The file of records that a run belongs to."""

    commit: Commit
    machine: str
    python: str

    @property
    def environment(self) -> str:
        """The name of the environment of such results."""
        return f"{ENVIRONMENT}{self.python}"


class Collection:
    """The runs of a store by place and cell; only the newest runs of a cell keep their traces.

    A store may hold hundreds of thousands of runs: they pass by one at a time, and traces that no page needs are dropped at once.
    """

    def __init__(self) -> None:
        self.places: dict[Place, dict[Cell, list[Record]]] = {}
        self._newest: dict[tuple[str, str, Cell], tuple[int, list[Record]]] = {}

    def add(self, record: Record, commit: Commit) -> None:
        """Take a run that was measured at a commit; one of the same cell at a newer commit takes its trace."""
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
            for each in newest if newest is not runs else ():
                each.pop("trace", None)
        slim = _slim(record, cell)
        slim["group"] = names.identity(record)
        runs.append(slim)

    def settle(self) -> None:
        """Give the runs that ended before their problem was known a place among those of their data set."""
        for cells in self.places.values():
            whole = list(dict.fromkeys(dataset for _, dataset in cells))
            for cell in [each for each, runs in cells.items() if not any(run.get("kernel") for run in runs)]:
                home = (cell[0], next((name for name in whole if name.startswith(f"{cell[1]}, ")), cell[1]))
                if home == cell:
                    continue
                runs = cells.pop(cell)
                if home in cells:
                    continue  # the solver was measured there: its failure elsewhere is no news
                for run in runs:
                    run["dataset"] = home[1]
                cells[home] = runs

    def _machine(self, machine: dict[str, Any]) -> str:
        processor, cores = (names.word(machine.get(what)) for what in ("processor", "cores"))
        return f"{processor}-{cores}c-{names.word(machine.get('id'), 6)}"


def _slim(record: Record, cell: Cell) -> Record:
    """Return the fields of a record of the store that a dashboard needs."""
    slim = Record({name: value for name in FIELDS if (value := record.get(name)) not in (None, "", {}, [])})
    for name, value in slim.items():
        if isinstance(value, float):
            slim[name] = upward(value, 6) if name in ("relative_gap", "suboptimality") else numbers.rounded(value)
    slim["solver"], slim["dataset"] = cell
    slim["measured_at"] = names.moment(record.get("measured_at")).isoformat(timespec="milliseconds")
    slim["data"] = str(record.get("data_sha256") or "")[:12]
    return slim


def export(stores: Sequence[Path], into: Configuration, revision: str | None = None) -> Summary:
    """Add the runs of the stores to a dashboard; its other runs stay.

    Parameters
    ----------
    revision : the commit that runs belong to which name none, or one that the repository does not have

    Raises
    ------
    UsageError : no store, no repository, no such commit, or nothing in the stores that could be exported.
    """
    repository = Repository(into.asv.repo)
    stand_in = repository.named(revision, "--commit") if revision else None
    collection, summary = collected(stores, lambda record: repository.of(record) or stand_in)
    if not collection.places:
        raise UsageError(
            f"no runs in {', '.join(map(str, stores))} that are of a commit of the repository; say which commit they belong "
            "to with --commit REV, or make a page without a repository with --single-file page.html."
        )
    for place, cells in collection.places.items():
        merged = {cell: list(runs) for cell, runs in cells.items()}
        path = file_of(into.records_dir, place.commit.name, place.environment, place.machine)
        for cell, runs in read_file(path).cells().items() if path.exists() else ():
            merged.setdefault(cell, []).extend(runs)
        file = record_file(place, merged, summary)
        file.write(into.records_dir)
    return summary


def collected(stores: Sequence[Path], commit_of: Callable[[Record], Commit | None]) -> tuple[Collection, Summary]:
    """Read the stores, all of them in the order of time.

    Raises
    ------
    UsageError : there is no such store.
    """
    collection, summary = Collection(), Summary()
    for store in stores:
        if not store.is_file():
            raise UsageError(f"there is no result store at {store}; run `harness compare` or name one with --store.")
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(StoreReader(path)) for path in stores]
        for record in heapq.merge(*(each.records() for each in opened), key=lambda record: str(record["measured_at"])):
            if record.get("path"):
                summary.omitted["are of paths and were left out; `harness results` shows them"] += 1
            elif (commit := commit_of(record)) is None:
                summary.omitted[
                    "name no commit of the repository and were left out; --commit REV says where they belong"
                ] += 1
            else:
                collection.add(record, commit)
        summary.unread = [sentence for each in opened for sentence in each.damaged.values()]
    collection.settle()
    return collection, summary


def record_file(place: Place, cells: Mapping[Cell, Iterable[Record]], summary: Summary) -> RecordFile:
    """Return the runs of a place that count, their traces thinned, and add them to the summary."""
    records: list[Record] = []
    for (solver, problem), runs in cells.items():
        unique = _unique(runs)
        counted = names.counting(unique)
        records += counted
        older = sum(run.get("group") != counted[0].get("group") for run in unique)
        summary.omitted[
            "are of older code, or of other versions or limits than the newest ones, and were left out"
        ] += older
        summary.omitted["were measured anew later at the same commit and were left out"] += (
            len(unique) - len(counted) - older
        )
        summary.solvers.add(solver)
        summary.problems.add(problem)
    for record in records:
        if "trace" in record:
            record["trace"] = thinned(record["trace"])
    summary.runs += len(records)
    newest = max(str(record.get("measured_at")) for record in records)
    return RecordFile(place.commit.name, place.commit.time, place.machine, place.environment, newest, records)


def _unique(runs: Iterable[Record]) -> list[Record]:
    """Return runs without those that an earlier export has written already."""
    return list(
        {(run.get("measured_at"), run.get("seed"), run.get("repetition")): run for run in reversed([*runs])}.values()
    )
