"""Measure commits with asv, read what it gives, and let it make the site."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import functools
import itertools
import json
import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import Record, Status, UsageError
from harness_dashboard import history, processes
from harness_dashboard.commits import Repository
from harness_dashboard.configuration import Configuration
from harness_dashboard.records import NO_RUN, Cell, RecordFile, read_file

Runs = dict[Cell, list[Record]]
"""The runs of one commit by cell."""


def summary(runs: Runs) -> tuple[str, list[str]]:
    """Return ``40 cells, 1 failed, 2 not measured``, and why cells failed or were not measured that the commit has."""
    firsts = [of_cell[0] for of_cell in runs.values()]
    fine, unmeasured = (sum(run["status"] in group for run in firsts) for group in ((Status.OK,), NO_RUN))
    reasons = {
        f"{run['solver']}: {run['reason']}" for run in firsts if run["status"] not in (Status.OK, history.ABSENT)
    }
    return f"{fine} cells, {len(firsts) - fine - unmeasured} failed, {unmeasured} not measured", sorted(reasons)


@dataclass(frozen=True)
class Bench:
    """A repository's configuration, and where the results of this measurement go.

    machine : its name in the results
    results, records : folders
    """

    configuration: Configuration
    machine: str
    results: Path
    records: Path

    @classmethod
    def of(cls, configuration: Configuration, machine: str | None = None) -> Bench:
        """Return the bench whose results enter the history."""
        name = machine or platform.node() or "machine"
        if "/" in name or name.startswith("."):
            raise UsageError(f"--machine: '{name}' cannot be the name of a folder; name it without / and leading dot.")
        return cls(configuration, name, configuration.results_dir, configuration.records_dir)

    @functools.cached_property
    def repository(self) -> Repository:
        """The commits."""
        return Repository(self.configuration.asv.repo)

    @functools.cached_property
    def environment(self) -> str:
        """The name of asv's environment, ``overlay-py3.11``; of several the first."""
        return str(processes.asv("environments", self.configuration)[0])

    def is_measured(self, commit: str) -> bool:
        """Whether the results of a commit are there, of this machine and this environment."""
        return self.file_of(commit).exists() and self.record_file_of(commit).exists()

    def file_of(self, commit: str) -> Path:
        """Return where asv keeps a commit's numbers."""
        from asv.results import get_filename

        return self.results / str(get_filename(self.machine, commit, self.environment))

    def record_file_of(self, commit: str) -> Path:
        """Return where a commit's records are."""
        return history.file_of(self.records, commit, self.environment, self.machine)

    def measure(self, commit: str, *, cells: Sequence[Cell] | None = None) -> None:
        """Let asv measure a commit.

        cells : what is measured; None: the whole grid, and whatever else asv's folder of benchmarks has

        Raises
        ------
        UsageError : asv cannot measure, in asv's words.
        KeyboardInterrupt : passed on; what was measured of the commit is lost.
        """
        variables = {history.RECORDS: str(self.records), history.MACHINE: self.machine}
        if cells is not None:
            variables[history.ONLY] = json.dumps(cells)
        self.record_file_of(commit).unlink(missing_ok=True)  # what is there afterwards was written now
        with locked(self.configuration):
            processes.asv(
                "measure", self.configuration, variables, changed={"results_dir": str(self.results)}, commits=[commit],
                machine=self.machine, bench=None if cells is None else ["solvers"],
                # asv's own file is one for all of a user's projects
                machine_file=str(self.configuration.results_dir.parent / "machine.json"),
            )  # fmt: skip
        if (path := self.record_file_of(commit)).exists():
            file = read_file(path)
        else:
            file = self._failed(commit, grid(self.configuration) if cells is None else cells)
        time = int(processes.git(self.repository.folder, "show", "-s", "--format=%at", commit)) * 1000
        replace(file, commit_time=time).write(self.records)

    def _failed(self, commit: str, cells: Sequence[Cell]) -> RecordFile:
        """Return the records of a commit that left none: no cell could be measured."""
        failed = {"status": Status.ERROR, "reason": "the commit could not be installed, or its benchmarks not imported"}
        records = [Record(solver=solver, dataset=dataset, **failed, trace=[]) for solver, dataset in cells]
        moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return RecordFile(commit, None, self.machine, self.environment, moment, records)

    def measured(self, commit: str) -> Runs:
        """Read what was measured of a commit; a commit that could not be installed has failures only."""
        return read_file(self.record_file_of(commit)).cells()

    def before(self, commit: str) -> str | None:
        """Return the newest of the commit's ancestors that was measured, None if none was."""
        ancestors = processes.git(self.repository.folder, "rev-list", commit).split()[1:]
        return next(filter(self.is_measured, ancestors), None)

    def note_changes(self, commit: str, against: str, changes: list[Any]) -> None:
        """Write what changed since another commit beside the commit's records."""
        file = read_file(self.record_file_of(commit))
        replace(file, changes=changes, against=against).write(self.records)

    def expected_seconds(self) -> float | None:
        """Return how long the measurement of the last commit took; None if none was measured on this machine."""
        from asv.results import Results

        files = (self.results / self.machine).glob(f"*-{self.environment}.json")
        last = max(files, key=lambda path: path.stat().st_mtime, default=None)
        return sum(Results.load(str(last), self.machine).duration.values()) if last else None


def grid(configuration: Configuration) -> list[Cell]:
    """Return the cells of ``grid.json`` beside the folder of the benchmarks, in the order of the file.

    Raises
    ------
    UsageError : there is none, or it is broken.
    """
    path = Path(configuration.asv.benchmark_dir).parent / "grid.json"
    try:
        read: Any = json.loads(path.read_text())
        solvers, datasets = ([str(entry["name"]) for entry in read[kind]] for kind in ("solvers", "datasets"))
        excluded = [(solver, dataset) for solver, dataset, _ in read.get("excluded", ())]
        return [cell for cell in itertools.product(solvers, datasets) if cell not in excluded]
    except FileNotFoundError:
        raise UsageError(f"there is no grid {path}; it belongs beside asv's benchmark_dir.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the grid {path} cannot be read: {type(error).__name__}: {error}.") from None


@contextlib.contextmanager
def locked(configuration: Configuration) -> Iterator[None]:
    """Keep a second measurement away from the environments that this one switches from commit to commit.

    Raises
    ------
    UsageError : another process measures with the same configuration.
    """
    folder = Path(configuration.asv.env_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another harness dashboard run or check measures in {folder}; wait until it has ended."
            ) from None
        yield


def publish(configuration: Configuration) -> Path:
    """Make the site of everything measured and exported aside, put it in the old one's place, and return its folder.

    Raises
    ------
    UsageError : no repository, broken results, or a folder that is no site stands where the site should go.
    """
    target = configuration.html_dir
    if target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / "info.json").exists())):
        raise UsageError(f"{target} is no site made before and will not be replaced; name another folder as html_dir.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
        processes.asv("publish", configuration, changed={"html_dir": str(Path(aside, "site"))})
        if target.exists():
            target.rename(Path(aside, "old"))
        Path(aside, "site").rename(target)
    return target
