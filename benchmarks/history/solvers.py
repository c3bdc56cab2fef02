"""What asv measures of each cell: time and memory of a fit, and what its one certified run counted.

A commit without the solver or the data set is n/a. A fit that fails is ``track_failed`` = 1 and n/a everywhere else.
"""

from __future__ import annotations

import contextlib
import math
import time
from pathlib import Path
from typing import Any

from . import cells, records, shared


def _start_peak_memory_anew() -> None:
    """What the process held before the fit, loading of machine code for one, is none of the fit's."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


class Fit:
    """Fits measured over and over; asv calls ``setup`` before each, and counts neither it nor the warm-up.

    The time is CPU time of the process, which runs one thread: on a machine shared with other work, wall time is
    mostly theirs. A solver that waits or sleeps shows in ``Record.track_wall_seconds``.
    """

    params, param_names, version = cells.PARAMS, ["solver", "dataset"], cells.VERSION
    timer = time.process_time
    warmup_time = 1e-9  # exactly one fit that is not counted: first touches of pages shared with the server
    repeat, rounds, number = (4, 10, 0.3), 2, 1
    timeout = 6.0 * cells.TIME_LIMIT

    def setup(self, solver: str, dataset: str) -> None:
        try:
            spec, _, self.solver, self.problem = cells.bench().stated(solver, dataset)
        except cells.Absent as error:
            raise NotImplementedError(str(error)) from error
        if (reason := self.solver.refusal(self.problem)) is not None:
            raise NotImplementedError(reason)
        import numpy as np

        self.outcome, self.rng = None, np.random.default_rng(spec.seed)

    def _fit(self) -> None:
        from harness import drive

        self.outcome = drive(self.solver, self.problem, self.rng, cells.limits(cells.TIME_LIMIT))

    def time_fit(self, solver: str, dataset: str) -> None:
        self._fit()

    def peakmem_fit(self, solver: str, dataset: str) -> None:
        _start_peak_memory_anew()
        self._fit()

    def peakmem_baseline(self, solver: str, dataset: str) -> None:
        """The same process just before the fit: libraries, machine code, data. Subtract it from peakmem_fit."""
        _start_peak_memory_anew()

    def teardown(self, solver: str, dataset: str) -> None:
        """Refuse the time of a fit that gave no model: a solver that fails at once is not fast."""
        outcome, self.outcome = getattr(self, "outcome", None), None
        if outcome is None:
            return
        if outcome.status != cells.statuses().OK:
            raise RuntimeError(f"the fit ended with status {outcome.status}: {outcome.reason}")
        if outcome.dual_coef is not None:
            self.problem.checked(outcome.dual_coef, outcome.intercept)


class Record:
    """The figures of one run of each cell, made by ``setup_cache``."""

    params, param_names, version = cells.PARAMS, ["solver", "dataset"], cells.VERSION

    def setup_cache(self) -> records.Fitted:
        # without the traces: each number is read by a process of its own
        return {cell: {**record, "trace": []} for cell, record in records.measured().items()}

    setup_cache.timeout = 1500.0  # all cells together, a time limit each

    def setup(self, cache: records.Fitted, solver: str, dataset: str) -> None:
        record = cache.get((solver, dataset))
        if record is None or record["status"] in (shared.ABSENT, cells.statuses().SKIPPED):
            raise NotImplementedError
        self.record = record
        self.failed = (
            record["status"] != cells.statuses().OK
        )  # the only limits of the grid are those of time and memory

    def _known(self, name: str) -> Any:
        return None if self.failed else self.record[name]

    def _figure(self, name: str) -> float:
        value = self._known(name)
        return math.nan if value is None else float(value)

    def track_wall_seconds(self, cache: Any, solver: str, dataset: str) -> float:
        return self._figure("fit_seconds")

    track_wall_seconds.unit = "seconds"

    def track_cpu_seconds(self, cache: Any, solver: str, dataset: str) -> float:
        return self._figure("cpu_seconds")

    track_cpu_seconds.unit = "seconds"

    def track_failed(self, cache: Any, solver: str, dataset: str) -> float:
        return float(self.failed)

    def track_kernel_evaluations(self, cache: Any, solver: str, dataset: str) -> float:
        return self._figure("kernel_evaluations")

    track_kernel_evaluations.unit = "kernel evaluations"

    def track_core_set_size(self, cache: Any, solver: str, dataset: str) -> float:
        return self._figure("core_set_size")

    track_core_set_size.unit = "points"

    def track_support_vectors(self, cache: Any, solver: str, dataset: str) -> float:
        return self._figure("support_vectors")

    track_support_vectors.unit = "points"

    def track_test_error_pct(self, cache: Any, solver: str, dataset: str) -> float:
        return round(100.0 * (1.0 - self._figure("test_accuracy")), 10)

    track_test_error_pct.unit = "%"

    def track_digits(self, cache: Any, solver: str, dataset: str) -> float:
        return math.nan if (digits := shared.digits(self._known("relative_gap"))) is None else float(digits)

    track_digits.unit = "digits"
    track_failed.unit = "0 or 1"
