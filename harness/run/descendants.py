"""What a run leaves behind: the processes that it starts are measured and ended, and its folder is emptied.

The worker is the parent of whatever its children leave behind, daemons included: what a run started is what is below the
worker in the tree of processes, and was not there before. A worker makes one folder in the user's temporary folder and, in
that, one for each run: where the run works and where its temporary files go.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from harness.support import processes

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_SECONDS = 0.5  # seconds in which processes are killed again and again
_TRACKER_SECONDS = 1.0  # seconds that Python's resource trackers have to unlink what a run left, and to end
_ROUND_SECONDS = 0.001  # seconds between two looks at processes that are to end
_PREFIX = "harness-runs-"  # how the names of workers' folders begin
_prctl = ctypes.CDLL(None).prctl


def at_parents_end(number: signal.Signals) -> None:
    """Have this process get the signal ``number`` when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


class Usage(NamedTuple):
    """What a run's processes took up to now, and take.

    cpu_seconds : CPU time of all of them, those included that have ended
    unseen_cpu_seconds : part of it that the run's own process cannot know: of those that it did not start, or that nobody
        waited for, to their last sample
    delay_seconds : sum over the processes' main threads: they were ready to run, and other work had the core
    memory_bytes : anonymous and shared memory of all, mapped or not; see `harness.support.processes`
    high_water_bytes : least peak of the run's own process, by the system's high-water mark
    others : the processes that are alive, without the run's own
    """

    cpu_seconds: float = 0.0
    unseen_cpu_seconds: float = 0.0
    delay_seconds: float = 0.0
    memory_bytes: int = 0
    high_water_bytes: int = 0
    others: tuple[int, ...] = ()

    def since(self, before: Usage) -> Usage:
        """Return the times that were taken since ``before``."""
        cpu_seconds, unseen, delay = (max(0.0, now - then) for now, then in zip(self[:3], before[:3], strict=True))
        return Usage(cpu_seconds, unseen, delay)


NOTHING_USED = Usage()


class Descendants:
    """The processes below this one that a run started; this process adopts those whose parent has ended."""

    def __init__(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self.begin()

    def begin(self) -> None:
        """A run begins: processes that exist already, for example from a plugin's import, do not belong to it."""
        self._before = frozenset(processes.living(os.getpid()))
        self._accounts = dict[int, processes.Account]()  # of the last sample
        self._delays = dict[int, float]()  # seconds, by pid
        self._lost_seconds = 0.0  # CPU time of processes that ended and that nobody waited for
        self._memory_files = set[str]()  # names of files in memory that a process of the run had open
        # process and its program -> its command, and the folder that it runs in
        self.commands = dict[tuple[int, str], tuple[list[str], str]]()
        self._worker_command = processes.command_of(os.getpid())[:2]
        self._most_mapped = 0  # most bytes of file pages in the run's own process
        self.least_mapped = 0  # least bytes of file pages in a process of the run, of the samples; 0: unknown

    def sample(self, child: int, memory_limit: float | None = None) -> Usage:
        """Return what the run's processes take now.

        child : the run's own process
        memory_limit : bytes; a page that several processes share is counted once where the memory may be above; None: only
            CPU time is looked at
        """
        before = self._accounts
        now = self._accounts = {each.pid: each for each in processes.below(os.getpid()) if each.pid not in self._before}
        gone = sum(each.cpu_seconds for pid, each in before.items() if pid not in now)
        if gone:  # their parents have their CPU time, if they waited for them
            waited = sum(now[pid].waited_seconds - before[pid].waited_seconds for pid in now.keys() & before.keys())
            self._lost_seconds += max(0.0, gone - waited)
        unseen = self._lost_seconds
        if now.keys() != {child}:
            known = {child, *(each.pid for each in processes.below(child))}
            unseen += sum(each.cpu_seconds for pid, each in now.items() if pid not in known)
        alive = [pid for pid, each in now.items() if not each.ended]
        self._delays.update((pid, processes.delay_seconds(pid)) for pid in alive)
        others = tuple(pid for pid in alive if pid != child)
        for pid in others:
            program, arguments, folder = processes.command_of(pid)
            if (program, arguments) != self._worker_command:  # else it is forked, and has begun no other program
                self.commands.setdefault((pid, program), ([program, *arguments[1:]], folder))
        usage = Usage(
            self._lost_seconds + sum(each.cpu_seconds for each in now.values()),
            unseen,
            sum(self._delays.values()),
            others=others,
        )
        if memory_limit is None:
            return usage
        figures = {pid: processes.memory_figures(pid) for pid in alive}
        peak = figures.get(child, {})
        self._most_mapped = max(self._most_mapped, peak.get("RssFile", 0))
        mapped = (each["RssFile"] for each in figures.values() if "RssFile" in each)
        self.least_mapped = min(mapped, default=self.least_mapped)
        return usage._replace(
            memory_bytes=self._memory_bytes(figures, memory_limit),
            high_water_bytes=max(0, peak.get("VmHWM", 0) - self._most_mapped),
        )

    def _memory_bytes(self, figures: Mapping[int, Mapping[str, int]], limit: float) -> int:
        """Return the memory of processes and of the files in memory that they made, at least: files may be mapped or not.

        Above the limit the private memory is what they share among them, and no less than the largest has: the worker has a
        share, too.
        """
        private = [processes.private_bytes(each) for each in figures.values()]
        files = processes.bytes_of_memory_files(figures, self._memory_files)
        shared = max([files, *(each.get("RssShmem", 0) for each in figures.values())])
        if len(private) > 1 and sum(private) + shared > limit:
            shares = (processes.memory_figures(pid, "smaps_rollup").get("Pss_Anon", 0) for pid in figures)
            return max(*private, sum(shares)) + shared
        return sum(private) + shared

    def end(self) -> int:
        """End and reap all that is left when a run's process is gone; return how many were alive, resource trackers not."""
        left = self._left()
        trackers = trackers_of(left)
        if trackers:
            self._kill(spared=trackers)
            until = monotonic() + _TRACKER_SECONDS
            while any(map(processes.is_alive, trackers)) and monotonic() < until:
                sleep(_ROUND_SECONDS)
                _reap()
        self._kill()
        return len(left) - len(trackers)

    def _left(self) -> set[int]:
        """Return the pids alive. That there are none is believed after a second look: processes move within their tree."""
        _reap()
        return set(processes.living(os.getpid())) - self._before or set(processes.living(os.getpid())) - self._before

    def _kill(self, spared: Collection[int] = ()) -> None:
        """Kill all but the spared, after all are stopped: who waits for the end of another cannot start it anew."""
        until, stopped = monotonic() + _KILL_SECONDS, set[int]()
        while (left := self._left().difference(spared)) and monotonic() < until:
            running = left - stopped
            for pid in running or left:
                processes.signal_to(pid, signal.SIGSTOP if running else signal.SIGKILL)
            stopped |= running
            if not running:
                sleep(_ROUND_SECONDS)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def trackers_of(pids: Iterable[int]) -> set[int]:
    """Return those of the processes that are resource trackers of Python's: no workers of a run's."""
    return {pid for pid in pids if "resource_tracker" in " ".join(processes.command_of(pid)[1])}


class Folder:
    """A worker's folder. Whoever holds a lock on it is alive: the folders of the dead are removed by the next."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(os.path.realpath(parent or tempfile.gettempdir()))
        sweep(parent)
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=parent))  # under a name that nobody sweeps
        lock = _locked(made)
        if lock is None:
            raise OSError(f"no folder can be locked in {parent}")
        self.path, self._lock = made.rename(made.with_name(made.name[1:])), lock
        self.run = self.path / "run"

    def new(self) -> None:
        """Make the folder of a run, with nothing in it; OSError if the system refuses."""
        self.empty()
        self.run.mkdir(mode=0o700)

    def empty(self) -> None:
        """Remove what a run left in its folder, and the folder."""
        delete(self.run)

    def enter(self) -> None:
        """Work in the run's folder from now on: in the run's process, before the solver does anything."""
        os.close(self._lock)  # else a process that is left behind would keep the folder
        # what a plugin imports later is looked for where it was
        sys.path[:] = [str(Path(path).absolute()) if path else path for path in sys.path]
        os.chdir(self.run)
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.run)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Have the solver's code run in this process itself, in a folder as a run has it."""
        environment, default = os.environ.copy(), tempfile.tempdir
        self.new()
        try:
            with contextlib.chdir(self.run):
                os.environ["TMPDIR"] = tempfile.tempdir = str(self.run)
                yield
        finally:
            os.environ.pop("TMPDIR")
            os.environ.update(environment)
            tempfile.tempdir = default
            self.empty()

    def remove(self) -> None:
        """Take the folder away with all that is in it."""
        delete(self.path)
        os.close(self._lock)


def _locked(folder: Path) -> int | None:
    """Return a descriptor that holds the lock of a folder; None if somebody else holds it."""
    with contextlib.suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            os.close(lock)
    return None


def sweep(parent: Path) -> None:
    """Remove the folders of this user's workers that were killed, below the folder that temporary files are in."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and (lock := _locked(folder)) is not None:
                delete(folder)
                os.close(lock)


def delete(folder: Path) -> None:
    """Remove a folder with all that is in it: read-only folders, and those that are nested too deep for Python, too."""
    with contextlib.suppress(OSError, RecursionError):
        if os.path.lexists(folder):
            shutil.rmtree(folder)
        return
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*command, str(folder)], capture_output=True, check=False)


def main() -> None:
    """Start a process of the host's: ``python -m harness.run.descendants harness.run.worker FD``.

    That it ends when its driver does is settled before it imports what takes a second.
    """
    at_parents_end(signal.SIGCONT)  # a stopped process goes on when its driver ends, sees that it is alone, and ends
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
