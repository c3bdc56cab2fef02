"""Measure commits with asv, read the results, and make the site."""

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

Runs = dict[Cell, list[Record]]  # the runs of a commit by cell


def summary(runs: Runs) -> tuple[str, list[str]]:
    """Return ``40 cells, 1 failed, 2 not measured``, and the reasons of cells that failed or were not measured."""
    firsts = [of_cell[0] for of_cell in runs.values()]
    fine, unmeasured = (sum(run["status"] in group for run in firsts) for group in ((Status.OK,), NO_RUN))
    reasons = {
        f"{run['solver']}: {run['reason']}" for run in firsts if run["status"] not in (Status.OK, history.ABSENT)
    }
    return f"{fine} cells, {len(firsts) - fine - unmeasured} failed, {unmeasured} not measured", sorted(reasons)


@dataclass(frozen=True)
class Bench:
    """The configuration of a repository, and the folders of the results.

    machine : name of the machine in the results
    results, records : folder of asv's results, and of the records
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
            raise UsageError(
                f"--machine: '{name}' cannot be the name of a folder; give a name without / and leading dot."
            )
        return cls(configuration, name, configuration.results_dir, configuration.records_dir)

    @functools.cached_property
    def repository(self) -> Repository:
        """The commits of the repository."""
        return Repository(self.configuration.asv.repo)

    @functools.cached_property
    def environment(self) -> str:
        """Name of asv's first environment, such as ``overlay-py3.11``."""
        return str(processes.asv("environments", self.configuration)[0])

    def is_measured(self, commit: str) -> bool:
        """Return whether there are results of a commit on this machine and in this environment."""
        return self.result_file(commit).exists() and self.record_file(commit).exists()

    def result_file(self, commit: str) -> Path:
        """Return the path of asv's results of a commit."""
        from asv.results import get_filename

        return self.results / str(get_filename(self.machine, commit, self.environment))

    def record_file(self, commit: str) -> Path:
        """Return the path of the records of a commit."""
        return history.record_file_path(self.records, commit, self.environment, self.machine)

    def measure(self, commit: str, *, cells: Sequence[Cell] | None = None) -> None:
        """Measure a commit by asv.

        cells : the cells to measure; None: the whole grid and the other benchmarks in asv's folder

        Raises
        ------
        UsageError : asv cannot measure; the message has its reason.
        KeyboardInterrupt : asv was interrupted; the results of this commit are lost.
        """
        variables = {history.RECORDS: str(self.records), history.MACHINE: self.machine}
        if cells is not None:
            variables[history.ONLY] = json.dumps(cells)
        self.record_file(commit).unlink(missing_ok=True)  # so that a file after the measurement is new
        with locked(self.configuration):
            processes.asv(
                "measure", self.configuration, variables, changed={"results_dir": str(self.results)}, commits=[commit],
                machine=self.machine, bench=None if cells is None else ["solvers"],
                # by default asv has one file for all projects of a user
                machine_file=str(self.configuration.results_dir.parent / "machine.json"),
            )  # fmt: skip
        if (path := self.record_file(commit)).exists():
            file = read_file(path)
        else:
            file = self._failed(commit, grid(self.configuration) if cells is None else cells)
        time = int(processes.git(self.repository.folder, "show", "-s", "--format=%at", commit)) * 1000
        replace(file, commit_time=time).write(self.records)

    def _failed(self, commit: str, cells: Sequence[Cell]) -> RecordFile:
        """Return the records of a commit without any, as none of its cells could be measured."""
        failed = {"status": Status.ERROR, "reason": "the commit could not be installed, or its benchmarks not imported"}
        records = [Record(solver=solver, dataset=dataset, **failed, trace=[]) for solver, dataset in cells]
        moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return RecordFile(commit, None, self.machine, self.environment, moment, records)

    def measured(self, commit: str) -> Runs:
        """Return the runs of a commit; if it could not be installed, all of them failed."""
        return read_file(self.record_file(commit)).cells()

    def measured_ancestor(self, commit: str) -> str | None:
        """Return the newest measured ancestor of the commit, or None."""
        ancestors = processes.git(self.repository.folder, "rev-list", commit).split()[1:]
        return next(filter(self.is_measured, ancestors), None)

    def save_changes(self, commit: str, against: str, changes: list[Any]) -> None:
        """Add the changes since the commit ``against`` to the records of a commit."""
        file = read_file(self.record_file(commit))
        replace(file, changes=changes, against=against).write(self.records)

    def expected_seconds(self) -> float | None:
        """Return the seconds of the last measurement of a commit on this machine; None if there was none."""
        from asv.results import Results

        files = (self.results / self.machine).glob(f"*-{self.environment}.json")
        last = max(files, key=lambda path: path.stat().st_mtime, default=None)
        return sum(Results.load(str(last), self.machine).duration.values()) if last else None


def grid(configuration: Configuration) -> list[Cell]:
    """Return the cells of ``grid.json`` next to the folder of the benchmarks, in the order of the file.

    Raises
    ------
    UsageError : the file is missing or invalid.
    """
    path = Path(configuration.asv.benchmark_dir).parent / "grid.json"
    try:
        content: Any = json.loads(path.read_text())
        solvers, datasets = ([str(entry["name"]) for entry in content[kind]] for kind in ("solvers", "datasets"))
        excluded = [(solver, dataset) for solver, dataset, _ in content.get("excluded", ())]
        return [cell for cell in itertools.product(solvers, datasets) if cell not in excluded]
    except FileNotFoundError:
        raise UsageError(f"there is no grid {path}; create it next to asv's benchmark_dir.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the grid {path} cannot be read: {type(error).__name__}: {error}.") from None


@contextlib.contextmanager
def locked(configuration: Configuration) -> Iterator[None]:
    """Lock the environments, which a measurement switches from commit to commit.

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
    """Make the site of all measurements and exports in a temporary folder, replace the old site, and return its folder.

    Raises
    ------
    UsageError : there is no repository, the results are invalid, or the folder of the site has other content.
    """
    target = configuration.html_dir
    if target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / "info.json").exists())):
        raise UsageError(f"{target} is not a site of asv and will not be replaced; name another folder as html_dir.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as temporary:
        processes.asv("publish", configuration, changed={"html_dir": str(Path(temporary, "site"))})
        if target.exists():
            target.rename(Path(temporary, "old"))
        Path(temporary, "site").rename(target)
    return target
