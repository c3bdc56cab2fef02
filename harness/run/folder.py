"""The folder of its own that each run has, and what it leaves elsewhere.

A worker makes one folder in the user's temporary folder and, in that, one for each run: where the run works and where
its temporary files go. It is emptied when the run is over. What the run was seen to write elsewhere is named; shared
memory that is certainly its is taken away.
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

TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""The variables that name the folder of temporary files."""

_PREFIX = "harness-runs-"
_TRIES = 5
_NAMED = 5
_LEAST_NUMBER = 100  # of a process that a name may tell; smaller ones are in names by chance
_TICK_NS = 20_000_000  # the system's clock of files stands still for some milliseconds
_SHARED_MEMORY = Path("/dev/shm")  # POSIX shared memory and semaphores are there


class Quarters:
    """A worker's folder. Whoever holds a lock on it is alive: the folders of the dead are removed by the next."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(os.path.realpath(tempfile.gettempdir() if parent is None else parent))
        sweep(parent)
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


def sweep(parent: Path) -> None:
    """Remove the folders of this user's workers that were killed, below the folder that temporary files are in."""
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
    for name in TEMPORARY:
        os.environ[name] = str(folder)
    tempfile.tempdir = str(folder)


class Elsewhere:
    """What a run's processes were seen to write outside its folder: all else there may be another program's.

    Seen is what they have open for writing and, where shared memory was made meanwhile, mapped so; shared memory is a
    run's too if the number of one of its processes is in the name, as libraries put it there so that no two collide.
    """

    def __init__(self, shared_memory: Path = _SHARED_MEMORY) -> None:
        self._shared = Path(os.path.realpath(shared_memory))

    def begin(self, own: Path) -> None:
        """Forget the last run: one begins whose folder is ``own``, without symbolic links in its path."""
        self._own, self._began = own, time_ns() - _TICK_NS
        self._before = _names(self._shared)
        self._written: set[str] = set()
        self._numbers: set[str] = set()

    def look(self, pids: Iterable[int]) -> None:
        """Note what processes of the run write, while they are alive."""
        for pid in pids:
            if pid >= _LEAST_NUMBER:
                self._numbers.add(str(pid))
            self._written |= _open_for_writing(pid)
            if not self._before.issuperset(_names(self._shared)):
                self._written |= _mapped_for_writing(pid)

    def end(self, but: int = 0) -> list[str]:
        """Return sentences on what the run left outside its folder; take away shared memory that only it has, or ``but``."""
        written = {Path(path) for path in self._written}
        names = {path.relative_to(self._shared).parts[0] for path in written if self._shared in path.parents}
        shared = [
            self._shared / name
            for name in sorted(_names(self._shared) - self._before)
            if name in names or self._numbers.intersection(re.split(r"[\W_]+", name))
        ]
        used = _in_use(self._shared, but) if shared else set()
        sizes = {file: _sized(file) for file in shared if file.name not in used}
        gone = [size for file, size in sizes.items() if _removed(file)]
        outside = [file for file in sorted(written) if self._own not in file.parents and self._is_new(file)]
        told = [f"{_some(gone)} was left in {self._shared}; the host deleted it"] if gone else []
        if outside:
            told.append(
                f"it wrote {_some([_sized(file, str(file)) for file in outside])}, which is left there; a run's own folder "
                "is its working folder, and that of tempfile"
            )
        return told

    def _is_new(self, file: Path) -> bool:
        """Return whether this is a file that was written since the beginning, no device and no pipe."""
        try:
            found = file.lstat()
        except OSError:
            return False
        return stat.S_ISREG(found.st_mode) and found.st_ctime_ns >= self._began


def _names(folder: Path) -> set[str]:
    with contextlib.suppress(OSError):
        return set(os.listdir(folder))
    return set()


def _sized(file: Path, name: str = "") -> str:
    with contextlib.suppress(OSError):
        return f"{name or file.name} ({file.lstat().st_size / 1e6:.1f} MB)"
    return name or file.name


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


def _open_for_writing(pid: int) -> set[str]:
    """Return the paths that a process has open for writing, without what has none."""
    found = set()
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for each in descriptors:
            with contextlib.suppress(OSError):  # it is closed
                if os.lstat(each.path).st_mode & stat.S_IWUSR:  # of the link: how it was opened
                    found.add(str(Path(each.path).readlink()))
    return {path for path in found if path.startswith("/")}


def _mapped_for_writing(pid: int) -> set[str]:
    """Return the paths of the files that a process shares its memory with."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", errors="surrogateescape") as maps:
        rows = [line.rstrip("\n").split(maxsplit=5) for line in maps]
        return {row[5] for row in rows if len(row) == 6 and row[1].startswith("rw") and row[1].endswith("s")}
    return set()


def _in_use(folder: Path, but: int) -> set[str]:
    """Return the names in a folder that any process writes, ``but`` excepted."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != but]
    paths = {Path(path) for pid in pids for path in _open_for_writing(pid) | _mapped_for_writing(pid)}
    return {path.relative_to(folder).parts[0] for path in paths if folder in path.parents}
