"""A plugin for this study alone: an iteration of the hull solvers on a linear kernel, beside one X @ w of numpy.

With w kept explicitly an iteration reads the points once; so does the product, which memory bounds. Both take their turn
in every round, in CPU time, so that a disturbance of the machine hits both alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness import Iterate, Problem, Solver, UsageError, get_solver, hookimpl, parameter
from harness.problems import L2SVC

_ENOUGH = 0.01  # seconds that a measurement takes at least
_FIRST = 8  # iterations before the first measurement


@dataclass(frozen=True)
class BesideProduct(Solver):
    """``oracle`` with w explicit, its iterations and products X @ w timed in turns.

    info: ``product`` and ``iteration``, medians in CPU seconds; ``ratio``, the first quartile, the median and the third
    quartile of iteration over product, a round each.
    """

    name = "beside-product"
    solves = (L2SVC,)
    exact = False
    oracle: str = parameter("fw", "a solver of hulls that can keep w explicitly")
    rounds: int = parameter(25, "times that each takes its turn", ge=2)

    def skip(self, problem: Problem) -> str | None:
        """Refuse other kernels."""
        return None if problem.kernel.is_linear else "beside-product needs a linear kernel: it works on weights."

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return those of the solver with w explicit."""
        return get_solver(self.oracle).replaced(explicit_w=True).warm_ups()

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the last iterate of all rounds."""
        x = problem.kernel.points
        w = np.random.default_rng(1).normal(size=x.shape[1]).astype(x.dtype)
        iterates = get_solver(self.oracle).replaced(explicit_w=True, epsilon=1e-12).iterates(problem, rng)
        last = _next(iterates)
        while (last.step or 0) < _FIRST:
            last = _next(iterates)
        products, iterations = [], []
        for _ in range(self.rounds):
            products.append(seconds_a_product(x, w))
            seconds, last = seconds_an_iteration(iterates, last)
            iterations.append(seconds)
        ratios = [mine / its for mine, its in zip(iterations, products, strict=True)]
        info = {
            "product": statistics.median(products),
            "iteration": statistics.median(iterations),
            "ratio": statistics.quantiles(ratios, n=4),
        }
        yield replace(last, done=True, info=info)


def seconds_a_product(x: Any, w: Any) -> float:
    """Return the CPU seconds of X @ w, a mean over a hundredth of a second or more."""
    began, count = time.process_time(), 0
    while time.process_time() - began < _ENOUGH:
        x @ w
        count += 1
    return (time.process_time() - began) / count


def seconds_an_iteration(iterates: Iterator[Iterate], before: Iterate) -> tuple[float, Iterate]:
    """Return the CPU seconds of an iteration, a mean as above, and the last iterate."""
    step = before.step or 0
    began, last = time.process_time(), before
    while last.step == step or time.process_time() - began < _ENOUGH:
        last = _next(iterates)
    return (time.process_time() - began) / ((last.step or 0) - step), last


def _next(iterates: Iterator[Iterate]) -> Iterate:
    found = next(iterates, None)
    if found is None:
        raise UsageError("beside-product: the solver ended before all rounds were over; expected more or other points.")
    return found


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solver."""
    return [BesideProduct]
