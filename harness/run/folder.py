"""The folder of its own that each run has, and what it leaves elsewhere.

A worker makes one folder in the user's temporary folder and, in that, one for each run: where the run works and where
its temporary files go. It is emptied when the run is over. What appears meanwhile in places that all programs share is
named; shared memory that is certainly the run's is taken away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import time_ns

_PREFIX = "harness-runs-"
_TRIES = 5
_MOST_ENTRIES = 10_000  # a folder with more is not watched
_NAMED = 5
_LEAST_NUMBER = 100  # of a process that a name may tell; smaller ones are in names by chance
_TICK_NS = 20_000_000  # the system's clock of files stands still for some milliseconds
_SHARED_MEMORY = Path("/dev/shm")  # POSIX shared memory and semaphores are there


class Quarters:
    """A worker's folder. Whoever holds a lock on it is alive: the folders of the dead are removed by the next."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        _sweep(parent)
        self.folder, self.lock = _made(parent)
        self._runs = 0
        self._run: Path | None = None
        self._identity = (0, 0)

    def new(self) -> Path:
        """Return an empty folder for a run: the last one's if nothing is in it, which takes no milliseconds.

        Raises
        ------
        OSError : the system refuses.
        """
        self.empty()
        if self._run is None:
            self._runs += 1
            run = self.folder / f"run-{self._runs}"
            run.mkdir(mode=0o700)
            self._run, self._identity = run, _identity(run)
        return self._run

    def empty(self) -> None:
        """Remove what a run left in its folder, and the folder itself if it left anything or made it another."""
        if self._run is None:
            return
        try:
            untouched = _identity(self._run) == self._identity and not os.listdir(self._run)
        except OSError:
            untouched = False
        if not untouched:
            delete(self._run)
            self._run = None

    def remove(self) -> None:
        """Take the folder away with all that is in it."""
        delete(self.folder)
        with contextlib.suppress(OSError):
            os.close(self.lock)


def _identity(folder: Path) -> tuple[int, int]:
    """Return what tells a folder from another in its place, and whether its permissions are what they were."""
    found = folder.lstat()
    return found.st_ino, found.st_mode


def _made(parent: Path) -> tuple[Path, int]:
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        lock = _locked(folder)
        if lock is not None and folder.exists():
            return folder, lock
        # another process took it for a dead one's before it was locked
    raise OSError(f"no folder can be made and kept in {parent}")


def _locked(folder: Path) -> int | None:
    """Return a descriptor that holds the lock of a folder; None if somebody else holds it."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _sweep(parent: Path) -> None:
    """Remove the folders of this user's workers that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.geteuid():
                continue
            lock = _locked(folder)
            if lock is not None:
                delete(folder)
                os.close(lock)


def delete(folder: Path) -> None:
    """Remove a folder with all that is in it: read-only folders, and those that are nested too deep for Python, too."""
    with contextlib.suppress(OSError):
        folder.rmdir()
        return
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    if folder.exists():
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            with contextlib.suppress(OSError):
                subprocess.run([*command, str(folder)], capture_output=True, check=False)


def enter(folder: Path) -> None:
    """Make a folder the working folder of this process, and the one of its temporary files."""
    sys.path[:] = [str(Path(path).absolute()) if path else path for path in sys.path]
    os.chdir(folder)
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(folder)
    tempfile.tempdir = str(folder)


class Elsewhere:
    """The folders that all programs share: what appears in them while a run is on."""

    def __init__(self, folders: Iterable[Path] | None = None, shared_memory: Path = _SHARED_MEMORY) -> None:
        if folders is None:
            folders = (Path(tempfile.gettempdir()), Path.cwd())
        self._shared = _Names(shared_memory)
        self._folders = [_Names(folder) for folder in dict.fromkeys(folders) if folder != shared_memory]
        self._used: set[str] = set()

    def begin(self) -> None:
        """Note what is there: a run begins."""
        self._used = set()
        for folder in (self._shared, *self._folders):
            folder.begin()

    def look(self, pids: Iterable[int]) -> None:
        """Note which new shared memory processes of the run have open or mapped, while they are alive.

        What is named after such a process is its, too: libraries put its number into a name so that no two collide.
        """
        if self._shared.changed() and (fresh := self._shared.fresh() - self._used):
            pids = list(pids)
            numbers = {str(pid) for pid in pids if pid >= _LEAST_NUMBER}
            self._used |= fresh & _in_use(self._shared.folder, pids)
            self._used |= {name for name in fresh if numbers.intersection(re.split(r"\D+", name))}

    def end(self) -> list[str]:
        """Return a sentence for each folder in which the run left something; take away what is certainly its."""
        sentences = []
        if self._shared.changed() and (fresh := self._shared.fresh()):
            free = fresh - _in_use(self._shared.folder, _processes())
            shown = {name: self._shared.named({name}) for name in free & self._used}
            gone = {name for name in shown if _removed(self._shared.folder / name)}
            if gone:
                sentences.append(
                    f"{_some([shown[name] for name in sorted(gone)])} was left in {self._shared.folder}; the host deleted it"
                )
            self._shared.tell(free - gone, sentences)
        for folder in self._folders:
            if folder.changed() and (fresh := folder.fresh()):
                folder.tell(fresh - _in_use(folder.folder, _processes()), sentences)
        return sentences


class _Names:
    """The names in a folder at the beginning of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: set[str] | None = None  # None: too many, or they cannot be read
        self._modified, self._certain = -1, False

    def begin(self) -> None:
        if self.changed():
            self._modified = self._time()
            self._certain = time_ns() - self._modified > _TICK_NS
            self._names = self._read()

    def changed(self) -> bool:
        """Return whether names may have come since the beginning."""
        return not self._certain or self._time() != self._modified

    def fresh(self) -> set[str]:
        """Return the names that have come since the beginning, of this user's files."""
        if self._names is None or (now := self._read()) is None:
            return set()
        return {name for name in now - self._names if not name.startswith(_PREFIX) and self._is_ours(name)}

    def tell(self, names: set[str], sentences: list[str]) -> None:
        """Add the sentence on files that are left where they are."""
        if names:
            sentences.append(
                f"{self.named(names)} appeared in {self.folder} while it ran and is left there; a run's own folder is "
                "its working folder, and that of tempfile"
            )

    def named(self, names: set[str]) -> str:
        """Return some of the names, with sizes."""
        return _some([f"{name} ({self._size(name) / 1e6:.1f} MB)" for name in sorted(names)])

    def _time(self) -> int:
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return -1

    def _read(self) -> set[str] | None:
        found = set()
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    found.add(entry.name)
                    if len(found) > _MOST_ENTRIES:
                        return None
        except OSError:
            return None
        return found

    def _is_ours(self, name: str) -> bool:
        try:
            return os.lstat(self.folder / name).st_uid == os.geteuid()
        except OSError:
            return False

    def _size(self, name: str) -> int:
        try:
            return os.lstat(self.folder / name).st_size
        except OSError:
            return 0


def _some(names: list[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join(names[:_NAMED] + more)


def _removed(file: Path) -> bool:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(file.lstat().st_mode):
            delete(file)
        else:
            file.unlink()
    return not os.path.lexists(file)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _in_use(folder: Path, pids: Iterable[int]) -> set[str]:
    """Return the names in a folder that processes have open or mapped."""
    start, found = f"{folder}".rstrip("/") + "/", set()
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for each in descriptors:
                with contextlib.suppress(OSError):
                    found.add(str(Path(each.path).readlink()))
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", errors="surrogateescape") as maps:
            found.update(line.rstrip("\n").split(maxsplit=5)[-1] for line in maps if start in line)
    return {path[len(start) :].partition("/")[0] for path in found if path.startswith(start)}
