"""Solvers ``pegasos`` and ``bsgd``: kernel subgradient methods for 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)), without a bias.

With lambda = 1 / (n C) this is n C times the papers' lambda / 2 |w|^2 + 1/n sum_i max(0, 1 - y_i f(x_i)). Step t multiplies w
by 1 - 1 / t and adds y k(x, .) / (lambda t) if y f(x) < 1. This code differs from the papers in three points:

* An epoch visits every example once, in a random order; the papers draw examples with replacement.
* Costs C_i of the classes scale the subgradient of an example.
* There is no projection onto the ball of radius 1 / sqrt(lambda), which is optional in Pegasos.

The models are no dual solutions: their gap is measured from the dual objective of another run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from harness import RBF, Conformance, CSVCNoBias, Iterate, PluginError, Problem, ProblemSummary, Solver, parameter

_CELLS = 100  # number of cells of the table merging_shares() along each side


@dataclass(frozen=True)
class _StochasticGradient(Solver):
    """Base class of the stochastic methods. ``step`` is the number of visited examples."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVCNoBias,)
    exact: ClassVar[bool] = False
    model_form: ClassVar[Any] = "free_coef"

    epochs: int = parameter(10, "number of passes over the examples, each in a new random order", ge=1)
    block: int = parameter(256, "number of examples between two models", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "precision of the kernel values; sums are float64")

    def _batches(self, problem: Problem, rng: np.random.Generator) -> Iterator[Any]:
        """Yield the examples in the order of their visits, in batches."""
        for _ in range(self.epochs):
            order = rng.permutation(problem.n)
            yield from (order[start : start + self.block] for start in range(0, problem.n, self.block))

    def warm_ups(self) -> tuple[Solver, ...]:
        return (self.replace(epochs=2),)


@dataclass(frozen=True)
class Pegasos(_StochasticGradient):
    """Kernel Pegasos: stochastic subgradients of the primal, steps of 1 / (lambda t) (Shalev-Shwartz et al. 2011).

    Use it as the simplest kernel method on the primal. Paper: Shalev-Shwartz, Singer, Srebro and Cotter 2011.

    An example with y f(x) < 1 costs a kernel row, unless that is in the cache. The scores of all examples are stored and
    updated. Source: Mathematical Programming 127 (2011), Figure 3.
    """

    name: ClassVar[str] = "pegasos"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 20, "block": 16})

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        from harness_primal import hot

        assert isinstance(problem, CSVCNoBias)
        n, scale, costs = problem.n, problem.n * problem.C, problem.upper / problem.C
        kernel = problem.kernel.replace(dtype=self.dtype)
        rows = kernel.row_cache(least=self.block)
        alpha, scores, t = np.zeros(n), np.zeros(n), 1
        for batch in self._batches(problem, rng):
            added, at = np.empty(len(batch)), scores[batch]
            t = hot.pegasos(
                at, kernel.block(batch, batch), problem.targets[batch], costs[batch], t, float(scale), added
            )
            violators = batch[added != 0.0]
            alpha[violators] += added[added != 0.0]
            rows.clock += 1
            rows.fetch(violators)
            rows.read(len(violators))
            rows.add_part(scores, rows.slot_of[violators], added[added != 0.0], 0, n)
            yield Iterate(free_coef=scale / (t - 1) * alpha, done=t > self.epochs * n, step=t - 1)


@dataclass(frozen=True)
class BudgetedSGD(_StochasticGradient):
    """Budgeted SGD (BSGD): Pegasos with at most ``budget`` support vectors, merged or removed (Wang et al. 2012).

    Use it if the model must be small. Paper: Wang, Crammer and Vucetic 2012.

    If there is one support vector too many, that with the smallest weight is removed, or merged with another one of its class into
    z = h x + (1 - h) y such that w changes least. h is from a table to select the pair (Glasmachers and Qaadan 2018), and by
    golden section to merge it. The model is an expansion over these points. Source: JMLR 13 (2012), removal and merging of support
    vectors. If the class has no other support vector, the one with the smallest weight is removed.
    """

    name: ClassVar[str] = "bsgd"
    conformance: ClassVar[Conformance] = Conformance(
        {"epochs": 20, "budget": 10}, variants=({"budget": 5, "maintenance": "removal"},)
    )

    budget: int = parameter(200, "largest number of support vectors", ge=2)
    maintenance: Literal["merging", "removal"] = parameter("merging", "how the number of support vectors is reduced")

    def skip(self, problem: ProblemSummary) -> str | None:
        if isinstance(problem.kernel, RBF):
            return None
        return f"{self.name} merges points for the rbf kernel, not for '{problem.kernel.name}'; take pegasos."

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        from harness.kernels.loops import blank
        from harness_primal import hot

        assert isinstance(problem, CSVCNoBias)
        n, scale, costs = problem.n, float(problem.n * problem.C), problem.upper / problem.C
        layout = problem.kernel.replace(dtype=self.dtype).layout()
        if layout is None:
            raise PluginError(f"{self.name} needs the points in memory, not in a mapped file; take fewer.")
        room = min(self.budget, n) + 1
        extra, alpha, values = blank(layout, room), np.zeros(room), np.empty(room, self.dtype)
        size, t, shares = 0, 1, np.empty((0, 0))
        if self.maintenance == "merging":
            shares = hot.merging_shares(_CELLS)
        for batch in self._batches(problem, rng):
            state = alpha, size, t, scale, shares, values
            size, t = hot.budgeted(layout, extra, batch, problem.targets, costs, *state)
            coef = np.concatenate([np.zeros(n), scale / (t - 1) * alpha])
            yield Iterate(
                free_coef=coef, extra_points=extra, done=t > self.epochs * n, step=t - 1, info={"support": size}
            )

    def warm_ups(self) -> tuple[Solver, ...]:
        return (self.replace(epochs=2, budget=3),)
