"""Where the runs of a worker take place: a folder of their own, what they write elsewhere, and the processes they start."""

from __future__ import annotations

import os
from pathlib import Path

from harness.run.descendants import Descendants
from harness.run.folder import Elsewhere, Quarters, enter


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
            self.elsewhere = Elsewhere()
            self.descendants = Descendants()
        self._run = self._quarters.new()
        self.elsewhere.begin(self._run)
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

    def remove(self) -> None:
        """Remove all folders: the worker ends."""
        if self._quarters is not None:
            self._quarters.remove()
            self.descendants.close()
