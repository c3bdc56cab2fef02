"""What the harness itself costs: its help, and a yield of a solver that does nothing."""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_YIELDS, _REPETITIONS = 5_000, 60  # short ones: one of them is undisturbed even on a busy machine


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_help() -> None:
    """CPU time of ``harness --help``: what every TAB of the shell completion costs."""
    subprocess.run([sys.executable, "-m", "harness.cli.main", "--help"], check=True, capture_output=True)


def _has_command() -> None:
    if importlib.util.find_spec("harness.cli.main") is None:
        raise NotImplementedError


time_help.setup = _has_command  # type: ignore[attr-defined]
time_help.timer = _cpu_of_children  # type: ignore[attr-defined]
time_help.version = "1"  # type: ignore[attr-defined]
time_help.repeat, time_help.rounds, time_help.number, time_help.warmup_time = (4, 6, 2.0), 2, 1, 1e-9  # type: ignore[attr-defined]


def track_harness_overhead() -> float:
    """CPU microseconds a yield costs when nothing is due; the least of several repetitions."""
    try:
        from harness import CSVC, RBF, Iterate, KernelOracle, Limits, Solver, drive
    except ImportError as error:
        raise NotImplementedError(str(error)) from error
    import numpy as np

    @dataclass(frozen=True)
    class Nothing(Solver):  # type: ignore[misc, unused-ignore]
        """Yields the zero model."""

        name = "nothing"
        solves = (CSVC,)

        def iterates(self, problem: Any, rng: Any) -> Iterator[Any]:
            dual_coef = np.zeros(problem.n)
            for step in range(_YIELDS):
                yield Iterate(dual_coef=dual_coef, done=step == _YIELDS - 1)

    points = np.random.default_rng(0).normal(size=(200, 2))
    problem = CSVC.build(KernelOracle(RBF(gamma=0.5), points), np.repeat([-1.0, 1.0], 100), {"C": 1.0})

    def once() -> float:
        began = time.process_time()
        drive(Nothing(), problem, np.random.default_rng(0), Limits(time_limit=60.0))
        return (time.process_time() - began) / _YIELDS

    return 1e6 * min(once() for _ in range(_REPETITIONS))


track_harness_overhead.unit = "microseconds"  # type: ignore[attr-defined]
track_harness_overhead.version = "1"  # type: ignore[attr-defined]
