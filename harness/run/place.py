"""Where the runs of a worker take place: a folder of their own, and the processes they start."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.run.descendants import Descendants
from harness.run.folder import TEMPORARY, Quarters, enter


class Place:
    """What a worker keeps from run to run: its folder, its control group."""

    def __init__(self) -> None:
        self._quarters: Quarters | None = None
        self._run: Path | None = None

    def begin(self) -> None:
        """Make what the next run needs.

        Raises
        ------
        OSError : its folder cannot be made.
        """
        if self._quarters is None:
            self._quarters = Quarters()
            self.descendants = Descendants()
        self._run = self._quarters.new()
        self.descendants.begin()

    def enter(self) -> None:
        """Work in the run's folder from now on: in the run's process, before the solver does anything."""
        assert self._quarters is not None
        assert self._run is not None
        os.close(self._quarters.lock)  # else a process that is left behind would keep the folder
        enter(self._run)

    def clear(self) -> None:
        """Remove what the last run left in its folder."""
        if self._quarters is not None:
            self._quarters.empty()

    @contextlib.contextmanager
    def adopted(self) -> Iterator[None]:
        """Have the solver's code run in this process itself, in a folder as a run has it."""
        assert self._quarters is not None
        before = Path.cwd(), {name: os.environ.get(name) for name in TEMPORARY}, tempfile.tempdir
        enter(self._quarters.new())
        try:
            yield
        finally:
            os.chdir(before[0])
            os.environ.update({name: value for name, value in before[1].items() if value is not None})
            for name in [name for name, value in before[1].items() if value is None]:
                os.environ.pop(name, None)
            tempfile.tempdir = before[2]
            self.clear()

    def remove(self) -> None:
        """Remove all folders: the worker ends."""
        if self._quarters is not None:
            self._quarters.remove()
            self.descendants.close()
