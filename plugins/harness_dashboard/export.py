"""The result store of `harness compare`, written as asv results and as the records that our pages show."""

from __future__ import annotations

import contextlib
import heapq
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import Record, StoreReader, UsageError, is_number, write_whole
from harness_dashboard import cells as naming
from harness_dashboard import configuration, numbers, traces, untrusted
from harness_dashboard.commits import Commit, Repository, States, configuration_text
from harness_dashboard.history import ENVIRONMENT, FIELDS, file_of
from harness_dashboard.records import RecordFile, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness_dashboard.configuration import Configuration
    from harness_dashboard.records import Cell

LONGEST_REASON = 2000


def many(number: int, what: str) -> str:
    """Return ``1 run``, ``2 runs``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


@dataclass
class Summary:
    """What an export did.

    runs : those written; ``cells`` at ``commits``
    problems : data sets with problem and kernel, as the cells are called
    changed : runs that were measured with changed files in the tree
    older : measurements of cells that were measured anew at the same commit
    homeless : runs without a commit, or of one that the repository does not have
    of_paths : rows of paths and their cells, which are no runs of one problem
    off_branch : runs at commits that none of the dashboard's branches has
    unread : a sentence for each row of a store that cannot be read
    """

    folder: Path
    runs: int = 0
    cells: int = 0
    commits: int = 0
    solvers: set[str] = field(default_factory=set)
    datasets: set[str] = field(default_factory=set)
    problems: set[str] = field(default_factory=set)
    changed: int = 0
    older: int = 0
    homeless: int = 0
    of_paths: int = 0
    off_branch: int = 0
    unread: list[str] = field(default_factory=list)

    def what(self) -> str:
        """Return how many solvers and data sets the runs are of; problems where there are more of them."""
        solvers, datasets, problems = map(len, (self.solvers, self.datasets, self.problems))
        more = f" ({problems} problems)" if problems > datasets else ""
        return f"{many(solvers, 'solver')} on {many(datasets, 'data set')}{more}"

    def told(self, place: str = "") -> list[str]:
        """Return what was exported, and what was not and why; ``place`` says where to, if not to the folder."""
        at = f"{many(self.commits, 'commit')} to {place or self.folder}"
        notes = {
            "were measured in a changed tree; they stand at the commit it came from": self.changed,
            "name no commit of the repository and were left out; --commit REV says where they belong": self.homeless,
            "were measured anew later at the same commit and were left out": self.older,
            "are of paths and were left out; `harness results` shows them": self.of_paths,
            "are of commits that are not on the dashboard's branches: no graph shows them": self.off_branch,
        }
        return [
            f"exported {many(self.runs, 'run')} of {self.what()} at {at}",
            *(f"note: {number} runs {note}" for note, number in notes.items() if number),
        ]


@dataclass(frozen=True)
class Place:
    """Where a run stands: one file of records and one of asv's."""

    commit: Commit
    machine: str
    python: str

    @property
    def environment(self) -> str:
        """What the environment of such results is called."""
        return f"{ENVIRONMENT}{self.python}"


class Collection:
    """The runs of a store by place and cell; only the newest runs of a cell keep their traces.

    A store may hold hundreds of thousands of runs: they pass by one at a time, and what is not shown is dropped at once.
    """

    def __init__(self) -> None:
        self.places: dict[Place, dict[Cell, list[Record]]] = {}
        self.machines: dict[str, dict[str, Any]] = {}
        self._newest: dict[tuple[str, str, Cell], tuple[int, list[Record]]] = {}

    def add(self, record: Record, commit: Commit) -> None:
        """Take a run that was measured at a commit; one of the same cell at a newer commit takes its trace."""
        machine = self._machine(record.get("machine") or {})
        python = untrusted.python_version((record.get("versions") or {}).get("python"))
        cell = untrusted.name(naming.solver_name(record)), untrusted.name(naming.dataset_name(record))
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
        kept = _slim(record, cell)
        kept["group"] = naming.identity(record)
        runs.append(kept)

    def settle(self) -> None:
        """Give the runs that ended before their problem was known a place among those of their data set."""
        for found in self.places.values():
            whole = list(dict.fromkeys(dataset for _, dataset in found))
            for cell in [cell for cell, runs in found.items() if not any(run.get("kernel") for run in runs)]:
                home = (cell[0], naming.settle(whole, cell[1]))
                if home == cell:
                    continue
                runs = found.pop(cell)
                if home in found:
                    continue  # the solver was measured there: what it could not do elsewhere is no news
                for run in runs:
                    run["dataset"] = home[1]
                found[home] = runs

    def _machine(self, machine: dict[str, Any]) -> str:
        processor, cores = (untrusted.word(machine.get(what), "unknown") for what in ("processor", "cores"))
        name = f"{processor}-{cores}c-{untrusted.word(machine.get('id'), 'unknown', 6)}"
        self.machines.setdefault(name, machine)
        return name


def _slim(record: Record, cell: Cell) -> Record:
    """Return what is kept of a record of the store."""
    kept = Record({name: value for name in FIELDS if (value := record.get(name)) not in (None, "", {}, [])})
    for name, value in kept.items():
        if isinstance(value, float):
            kept[name] = traces.upward(value, 6) if name == "relative_gap" else numbers.rounded(value)
    if "reason" in kept:
        kept["reason"] = str(kept["reason"])[:LONGEST_REASON]
    kept["solver"], kept["dataset"] = cell
    kept["measured_at"] = untrusted.time_text(record.get("measured_at"))
    kept["data"] = str(record.get("data_sha256") or "")[:12]
    return kept


def export(stores: Sequence[Path], into: Configuration, revision: str | None = None) -> Summary:
    """Add the runs of the stores to a dashboard; what it holds already stays.

    Parameters
    ----------
    revision : the commit that runs belong to which name none, or one that the repository does not have

    Raises
    ------
    UsageError : no store, no repository, no such commit, or nothing in the stores that could be exported.
    """
    check(stores)
    repository = Repository(into.asv.repo)
    stand_in = repository.named(revision, "--commit") if revision else None
    summary = Summary(into.folder)
    collection = collected(stores, lambda record: repository.of(record) or stand_in, summary)
    if not collection.places:
        raise UsageError(nothing(stores, summary))
    on_branches = repository.on_branches(into.asv.branches)
    _write(collection, into, summary, {place.commit.name: place.commit.name for place in collection.places})
    summary.off_branch = sum(
        len(runs)
        for place, found in collection.places.items()
        if place.commit.name not in on_branches
        for runs in found.values()
    )
    return summary


def standalone(stores: Sequence[Path], folder: Path, project: str = "svm-harness") -> Summary:
    """Make a dashboard of stores alone: configuration, a repository with one commit a state of code, results.

    In a folder that an earlier call made, the runs of the stores that it exported are exported again beside these, and
    only files of ours are replaced.

    Raises
    ------
    UsageError : no store, an empty one, a former one that is gone, or the folder holds something else.
    """
    configuration.need_asv()
    check(stores)
    known, file = folder / ".standalone", folder / configuration.FILE_NAME
    stores = list(dict.fromkeys(path.absolute() for path in (*_former_stores(folder, known), *stores)))
    states, summary = States(), Summary(folder)
    collection = collected(stores, states.of, summary)
    if not collection.places:
        raise UsageError(nothing(stores, summary))
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(known, (json.dumps({"stores": [str(path) for path in stores]}) + "\n").encode())
    if not file.exists():
        file.write_text(configuration_text(project))
    conf = configuration.load(file)
    for path in (*conf.results_dir.glob(f"*/*-{ENVIRONMENT}*.json"), *conf.records_dir.glob(f"*-{ENVIRONMENT}*.json")):
        path.unlink()
    shutil.rmtree(folder / "code" / ".git", ignore_errors=True)
    hashes = states.commit_all(folder / "code")
    _write(collection, configuration.load(file), summary, hashes)
    return summary


def _former_stores(folder: Path, known: Path) -> list[Path]:
    """Return the stores that a folder was made of; none of a new or an empty one."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return []
    try:
        found = [Path(name) for name in json.loads(known.read_bytes())["stores"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"--standalone: {folder} exists and is no dashboard made by this command; name a new folder."
        ) from None
    gone = [path for path in found if not path.is_file()]
    if gone:
        raise UsageError(
            f"--standalone: {folder} shows the runs of {gone[0]}, which is gone; put it back, or name a new folder."
        )
    return found


def check(stores: Sequence[Path]) -> None:
    """Raise a ``UsageError`` where a store is not there."""
    for store in stores:
        if not store.is_file():
            raise UsageError(
                f"there is no result store at {store}; run `harness compare` first or name one with --store."
            )


def nothing(stores: Sequence[Path], summary: Summary) -> str:
    """Return why nothing of the stores could be exported."""
    names = ", ".join(map(str, stores))
    if not summary.homeless:
        named = f"the result store {names} holds" if len(stores) == 1 else f"the result stores {names} hold"
        return f"{named} no runs; run `harness compare` first or name another with --store."
    return (
        f"none of the {summary.homeless} runs in {names} is of a commit that the repository has; say which commit they "
        "belong to with --commit REV, or make a dashboard without a repository with --standalone FOLDER."
    )


def collected(stores: Sequence[Path], commit_of: Callable[[Record], Commit | None], summary: Summary) -> Collection:
    """Read the stores, all of them in the order of time."""
    collection = Collection()
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(StoreReader(path)) for path in stores]
        for record in heapq.merge(*(each.records() for each in opened), key=lambda record: str(record["measured_at"])):
            if record.get("path"):
                summary.of_paths += 1
                continue
            commit = commit_of(record)
            if commit is None:
                summary.homeless += 1
                continue
            summary.changed += str(record.get("git_commit") or "").endswith("+")
            collection.add(record, commit)
        summary.unread = [sentence for each in opened for sentence in each.damaged.values()]
    collection.settle()
    return collection


def _write(collection: Collection, into: Configuration, summary: Summary, hashes: dict[str, str]) -> None:
    """Write the records and asv's results of every place, merged with what is there."""
    files: list[RecordFile] = []
    for place, found in collection.places.items():
        commit = hashes[place.commit.name]
        path = untrusted.below(into.folder, file_of(into.records_dir, commit, place.environment, place.machine))
        merged = {cell: list(runs) for cell, runs in found.items()}
        for cell, runs in read_file(path).cells().items() if path.exists() else ():
            merged.setdefault(cell, []).extend(runs)
        file = record_file(place, merged, summary, commit)
        file.write(into.records_dir)
        files.append(file)
        _write_results(file, file.cells(), into.results_dir)
    summary.commits = len({file.commit for file in files})
    for name, machine in collection.machines.items():
        _write_machine(into.results_dir, name, machine)
    traces.prune(into.records_dir, ENVIRONMENT)
    numbers.merge(into.results_dir)


def record_file(place: Place, found: Mapping[Cell, Iterable[Record]], summary: Summary, commit: str) -> RecordFile:
    """Return the runs of a place that count, their traces thinned, and add them to what the summary tells."""
    records: list[Record] = []
    for cell, runs in found.items():
        kept, older = naming.counting(_unique(runs))
        records += kept
        summary.older += older
        summary.datasets.add(naming.bare(cell[1], kept))
    for record in records:
        if "trace" in record:
            record["trace"] = traces.thinned(record["trace"])
    summary.runs += len(records)
    summary.cells += len(found)
    summary.solvers.update(cell[0] for cell in found)
    summary.problems.update(cell[1] for cell in found)
    newest = max(str(record.get("measured_at")) for record in records)
    return RecordFile(commit, place.commit.time, place.machine, place.environment, newest, records)


def _unique(runs: Iterable[Record]) -> list[Record]:
    """Return runs without those that an earlier export has written already."""
    return list(
        {(run.get("measured_at"), run.get("seed"), run.get("repetition")): run for run in reversed([*runs])}.values()
    )


def _write_results(file: RecordFile, cells: dict[Cell, list[Record]], folder: Path) -> None:
    from asv.results import Results, get_filename

    python = file.environment.removeprefix(ENVIRONMENT)
    params = {"machine": file.machine, "python": python, "os": "", "arch": "", "cpu": "", "num_cpu": "", "ram": ""}
    results = Results(params, {}, file.commit, file.commit_time, python, file.environment, {})
    numbers.add_results(results, cells, untrusted.moment(file.measured_at))
    untrusted.below(folder, folder / get_filename(file.machine, file.commit, file.environment))
    results.save(str(folder))


def _write_machine(folder: Path, name: str, machine: dict[str, Any]) -> None:
    from asv.machine import Machine

    memory = machine.get("memory_bytes")
    told = Machine()
    vars(told).update(
        machine=name,
        os=untrusted.fact(machine.get("system")),
        arch="",
        cpu=untrusted.fact(machine.get("processor")),
        num_cpu=untrusted.fact(machine.get("cores")),
        ram=f"{memory / 2**30:.0f} GiB" if is_number(memory) else "",
    )
    untrusted.below(folder, folder / name / "machine.json")
    told.save(str(folder))
