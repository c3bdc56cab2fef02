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
from pathlib import Path

TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""The variables that name the folder of temporary files."""

_PREFIX = "harness-runs-"
_TRIES = 5


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
