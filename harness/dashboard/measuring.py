"""Measure commits with asv: the settings, folders and variables that its ``run`` is called with."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import functools
import json
import logging
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.dashboard.commits import Repository, git
from harness.dashboard.configuration import Configuration, need_asv
from harness.dashboard.records import RecordFile
from harness.errors import UsageError
from harness.run.record import Record, Status

Cell = tuple[str, str]
"""The names of a solver and a data set, as they stand in the grid."""

FIT, RECORD, COMMAND = "solvers.Fit.", "solvers.Record.", "command."
_GRID_BENCHMARK = RECORD + "track_failed"


@dataclass(frozen=True)
class Grid:
    """What ``grid.json`` names, beside the folder of the benchmarks."""

    solvers: list[str]
    datasets: list[str]

    @property
    def cells(self) -> list[Cell]:
        """Every cell, in the order of the file."""
        return [(solver, dataset) for solver in self.solvers for dataset in self.datasets]


@dataclass(frozen=True)
class Measured:
    """The results of one commit.

    values : (benchmark, cell or None) -> value; None: failed, NaN: not applicable
    statistics, samples : of the timed ones
    records : cell -> the record of its run; empty if the commit could not be installed
    """

    commit: str
    values: dict[tuple[str, Cell | None], float | None] = field(default_factory=dict)
    statistics: dict[tuple[str, Cell | None], Any] = field(default_factory=dict)
    samples: dict[tuple[str, Cell | None], list[float]] = field(default_factory=dict)
    records: dict[Cell, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """A repository's configuration, and where the results of this measurement go.

    machine : its name in the results
    results, records : folders
    verbose : asv's own progress on standard error
    """

    configuration: Configuration
    machine: str
    results: Path
    records: Path
    verbose: bool = False

    @classmethod
    def of(cls, configuration: Configuration, machine: str | None = None, *, verbose: bool = False) -> Bench:
        """Return the bench whose results enter the history."""
        name = machine or platform.node() or "machine"
        if "/" in name or name.startswith("."):
            raise UsageError(f"--machine: '{name}' cannot be the name of a folder; name it without / and leading dot.")
        return cls(configuration, name, configuration.results_dir, configuration.records_dir, verbose)

    @functools.cached_property
    def environments(self) -> list[str]:
        """The names of asv's environments, ``overlay-py3.11``."""
        from asv.environment import get_environments

        with _asv(self):
            return [environment.name for environment in get_environments(self.configuration.asv, None, verbose=False)]

    def is_measured(self, commit: str) -> bool:
        """Whether the results of a commit are there, of this machine and these environments."""
        return self.file_of(commit).exists() and self.record_file_of(commit).exists()

    def title(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return git(Path(self.configuration.asv.repo), "show", "-s", "--format=%s", commit).strip()

    def file_of(self, commit: str) -> Path:
        """Return where asv keeps a commit's numbers."""
        from asv.results import get_filename

        return self.results / str(get_filename(self.machine, commit, self.environments[0]))

    def record_file_of(self, commit: str) -> Path:
        """Return where a commit's records are."""
        return self.records / RecordFile(commit, None, self.machine, self.environments[0], "", []).name

    def measure(
        self,
        commits: Sequence[str],
        *,
        benchmarks: Sequence[str] = (),
        cells: Sequence[Cell] | None = None,
        rounds: int | None = None,
        interleaved: bool = False,
    ) -> None:
        """Let asv measure commits.

        benchmarks : regular expressions of asv's names with parameters; none: all
        cells : those fitted for the records; None: the whole grid
        rounds : of timed benchmarks, each in processes of its own; None: as the benchmarks say
        interleaved : the commits take turns, so that a disturbance of the machine falls on all of them

        Raises
        ------
        UsageError : asv cannot measure, in asv's words.
        KeyboardInterrupt : passed on; commits that were finished are saved.
        """
        from asv.commands.run import Run

        variables = {"HARNESS_HISTORY_RECORDS": str(self.records), "HARNESS_HISTORY_MACHINE": self.machine}
        fitted = grid(self.configuration).cells if cells is None else list(cells)
        if cells is not None:
            variables["HARNESS_HISTORY_ONLY"] = json.dumps(fitted)
        conf = self.configuration.asv
        for commit in commits:
            self.record_file_of(commit).unlink(missing_ok=True)  # what is there afterwards was written now
        with _asv(self, variables), _swapped(conf, "results_dir", str(self.results)), locked(self.configuration):
            Run.run(
                conf,
                range_spec=list(commits),
                bench=list(benchmarks) or None,
                attribute=None if rounds is None else {"rounds": rounds},
                machine=self.machine,
                _machine_file=str(_machine_file(self)),
                interleave_rounds=interleaved,
                record_samples=True,
                launch_method=conf.launch_method,
                show_stderr=self.verbose,
            )
        for commit in commits:
            if not self.record_file_of(commit).exists():
                self._record_failure(commit, fitted)

    def _record_failure(self, commit: str, cells: Sequence[Cell]) -> None:
        """Say of a commit without records that none of its cells could be measured: it could not be installed."""
        told = {"status": Status.ERROR, "reason": "the commit could not be installed, or its benchmarks not imported"}
        records = [Record(solver=solver, dataset=dataset, **told, trace=[]) for solver, dataset in cells]
        moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        time = int(git(Path(self.configuration.asv.repo), "show", "-s", "--format=%at", commit)) * 1000
        RecordFile(commit, time, self.machine, self.environments[0], moment, records).write(self.records)

    def measured(self, commit: str) -> Measured:
        """Read what was measured of a commit; a commit that could not be installed has failures only."""
        from asv.results import Results

        found = Measured(commit)
        result = Results.load(str(self.file_of(commit)), self.machine)
        for name in result.get_all_result_keys():
            params = result.get_result_params(name)
            figures = (
                result.get_result_value(name, params),
                result.get_result_stats(name, params),
                result.get_result_samples(name, params),
            )
            for cell, value, statistics, samples in zip(_cells(params), *figures, strict=True):
                found.values[name, cell] = value
                if statistics and samples:
                    found.statistics[name, cell], found.samples[name, cell] = statistics, list(samples)
        with contextlib.suppress(OSError, ValueError):
            for record in json.loads(self.record_file_of(commit).read_text())["records"]:
                found.records[record["solver"], record["dataset"]] = record
        return found


def _cells(params: list[list[str]]) -> list[Cell | None]:
    """Return the cells of asv's parameters, which are written as Python writes them: ``'fw'``."""
    if not params:
        return [None]
    solvers, datasets = ([text.strip("'\"") for text in names] for names in params)
    return [(solver, dataset) for solver in solvers for dataset in datasets]


def grid(configuration: Configuration) -> Grid:
    """Read the grid beside the folder of the benchmarks.

    Raises
    ------
    UsageError : there is none, or it is broken.
    """
    path = Path(configuration.asv.benchmark_dir).parent / "grid.json"
    try:
        read = json.loads(path.read_text())
        return Grid(*([str(entry["name"]) for entry in read[kind]] for kind in ("solvers", "datasets")))
    except FileNotFoundError:
        raise UsageError(f"there is no grid {path}; it belongs beside asv's benchmark_dir.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the grid {path} cannot be read: {type(error).__name__}: {error}.") from None


def commit_of(configuration: Configuration, revision: str, what: str) -> str:
    """Return the hash of a revision such as ``HEAD~2``; ``what`` the user calls it, for the sentence.

    Raises
    ------
    UsageError : the repository has no such commit.
    """
    folder = Repository(configuration.asv.repo).folder
    try:
        return git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
    except UsageError:
        raise UsageError(
            f"{what}: the repository {folder} has no commit '{revision}'; name a commit, a branch or a tag."
        ) from None


def commits_of(configuration: Configuration, text: str) -> list[str]:
    """Return the hashes of a range (``HEAD~5..HEAD``: along first parents) or of one revision, oldest first.

    Raises
    ------
    UsageError : an unknown revision, or a range without commits.
    """
    if ".." not in text:
        return [commit_of(configuration, text, "RANGE")]
    folder = Repository(configuration.asv.repo).folder
    first, _, last = text.partition("...") if "..." in text else text.partition("..")
    for end in (first, last):
        if end:
            commit_of(configuration, end, "RANGE")
    found = git(folder, "rev-list", "--first-parent", "--reverse", "--end-of-options", text, "--").split()
    if not found:
        raise UsageError(f"RANGE: there is no commit in {text}; the older one comes first, as in HEAD~5..HEAD.")
    return found


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


def _machine_file(bench: Bench) -> Path:
    """Write asv's description of this machine inside the project; asv's own file is one for all of a user's projects."""
    from asv.machine import Machine, MachineCollection

    path = bench.configuration.results_dir.parent / "machine.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    MachineCollection.save(bench.machine, {**Machine.get_defaults(), "machine": bench.machine}, _path=str(path))
    return path


@contextlib.contextmanager
def _asv(bench: Bench, variables: Mapping[str, str] | None = None) -> Iterator[None]:
    """Call asv as its command does: in the configuration's folder, plugins loaded, errors as sentences."""
    need_asv()
    from asv import plugin_manager, util  # loads asv's own plugins
    from asv.environment import EnvironmentUnavailable

    import harness.dashboard.environment  # noqa: F401  asv finds the class among those that are imported

    before, folder = dict(os.environ), Path.cwd()
    try:
        os.chdir(bench.configuration.folder)
        os.environ.update(variables or {})
        for name in bench.configuration.asv.plugins:
            plugin_manager.plugin_manager.import_plugin(name)
        with contextlib.redirect_stdout(sys.stderr), _log(bench.verbose):
            yield
    except (util.UserError, util.ProcessError, EnvironmentUnavailable) as error:
        if str(error) == "Interrupted.":
            raise KeyboardInterrupt from None
        raise UsageError(f"asv cannot measure: {' '.join(str(error).split())}") from None
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _log(verbose: bool) -> Iterator[None]:
    """Show asv's log while it runs: everything, or what went wrong."""
    from asv.console import log

    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        log.enable()
        root.setLevel(logging.INFO if verbose else logging.ERROR)
        yield
        log.flush()
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.contextmanager
def _swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
