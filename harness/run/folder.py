"""The folder of its own that each run has.

A worker makes one folder in the user's temporary folder and, in that, one for each run: where the run works and where
its temporary files go. It is emptied when the run is over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")  # the variables that name the folder of temporary files
_PREFIX = "harness-runs-"
_TRIES = 5


class Folder:
    """A worker's folder. Whoever holds a lock on it is alive: the folders of the dead are removed by the next."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = Path(os.path.realpath(tempfile.gettempdir() if parent is None else parent))
        sweep(parent)
        for _ in range(_TRIES):
            self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
            lock = _locked(self.path)
            if lock is not None and self.path.exists():
                self._lock, self._run, self._runs, self._identity = lock, self.path, 0, (0, 0)
                return
            # another process took it for a dead one's before it was locked
        raise OSError(f"no folder can be made and kept in {parent}")

    def new(self) -> Path:
        """Return an empty folder for a run: the last one's if nothing is in it, which takes no milliseconds.

        Raises
        ------
        OSError : the system refuses.
        """
        self.empty()
        if self._run == self.path:
            self._runs += 1
            self._run = self.path / f"run-{self._runs}"
            self._run.mkdir(mode=0o700)
            self._identity = _identity(self._run)
        return self._run

    def empty(self) -> None:
        """Remove what a run left in its folder, and the folder itself if it left anything or made it another."""
        if self._run == self.path:
            return
        try:
            untouched = _identity(self._run) == self._identity and not os.listdir(self._run)
        except OSError:
            untouched = False
        if not untouched:
            delete(self._run)
            self._run = self.path

    def enter(self) -> None:
        """Work in the run's folder from now on: in the run's process, before the solver does anything."""
        os.close(self._lock)  # else a process that is left behind would keep the folder
        _enter(self._run)

    @contextlib.contextmanager
    def adopted(self) -> Iterator[None]:
        """Have the solver's code run in this process itself, in a folder as a run has it."""
        cwd, variables, default = Path.cwd(), {name: os.environ.get(name) for name in _TEMPORARY}, tempfile.tempdir
        _enter(self.new())
        try:
            yield
        finally:
            os.chdir(cwd)
            for name, value in variables.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            tempfile.tempdir = default
            self.empty()

    def remove(self) -> None:
        """Take the folder away with all that is in it."""
        delete(self.path)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def _identity(folder: Path) -> tuple[int, int]:
    """Return what tells a folder from another in its place, and whether its permissions are what they were."""
    found = folder.lstat()
    return found.st_ino, found.st_mode


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
            if folder.lstat().st_uid == os.geteuid() and (lock := _locked(folder)) is not None:
                delete(folder)
                os.close(lock)


def delete(folder: Path) -> None:
    """Remove a folder with all that is in it: read-only folders, and those that are nested too deep for Python, too."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    if folder.exists():
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            with contextlib.suppress(OSError):
                subprocess.run([*command, str(folder)], capture_output=True, check=False)


def _enter(folder: Path) -> None:
    """Make a folder the working folder of this process, and the one of its temporary files."""
    sys.path[:] = [str(Path(path).absolute()) if path else path for path in sys.path]
    os.chdir(folder)
    for name in _TEMPORARY:
        os.environ[name] = str(folder)
    tempfile.tempdir = str(folder)
