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

_PREFIX = "harness-runs-"


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
        variable, default = os.environ.get("TMPDIR"), tempfile.tempdir
        self.new()
        try:
            with contextlib.chdir(self.run):
                os.environ["TMPDIR"] = tempfile.tempdir = str(self.run)
                yield
        finally:
            os.environ.pop("TMPDIR")
            if variable is not None:
                os.environ["TMPDIR"] = variable
            tempfile.tempdir = default
            self.empty()

    def remove(self) -> None:
        """Take the folder away with all that is in it."""
        delete(self.path)
        os.close(self._lock)


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
    if not os.path.lexists(folder):
        return
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*command, str(folder)], capture_output=True, check=False)
