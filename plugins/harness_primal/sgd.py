"""Stochastic subgradient methods in a kernel's space, of 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)), without a bias.

With lambda = 1 / (n C) this is n C times the papers' lambda / 2 |w|^2 + 1/n sum_i max(0, 1 - y_i f(x_i)). Step t multiplies w
by 1 - 1 / t and adds y k(x, .) / (lambda t) if y f(x) < 1. Both differ from their papers in:

* an epoch visits the examples in a random order, each once, where the papers draw every example anew.
* per-class costs C_i scale the subgradient of an example.
* there is no projection onto the ball of radius 1 / sqrt(lambda), which Pegasos has as an option.

The models are no dual solutions: they are scored, and their gap is that to the dual of another run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from harness import RBF, Conformance, CSVCNoBias, Iterate, PluginError, Problem, ProblemSummary, Solver, parameter

_CELLS = 100  # of the table of merges, along each side


@dataclass(frozen=True)
class _StochasticGradient(Solver):
    """What both have in common. ``step`` is the number of examples visited."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVCNoBias,)
    exact: ClassVar[bool] = False
    model_form: ClassVar[Any] = "free_coef"

    epochs: int = parameter(10, "passes over the examples, each in a new random order", ge=1)
    block: int = parameter(256, "examples between two models", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "of the kernel values; sums are float64")

    def _batches(self, problem: Problem, rng: np.random.Generator) -> Iterator[Any]:
        """Return the examples in the order of their visits, in pieces."""
        for _ in range(self.epochs):
            order = rng.permutation(problem.n)
            yield from (order[start : start + self.block] for start in range(0, problem.n, self.block))

    def warm_ups(self) -> tuple[Solver, ...]:
        return (self.replace(epochs=2),)


@dataclass(frozen=True)
class Pegasos(_StochasticGradient):
    """Kernel Pegasos: stochastic subgradients of the primal, steps of 1 / (lambda t) (Shalev-Shwartz et al. 2011).

    Take it as the simplest method for the primal with a kernel. Paper: Shalev-Shwartz, Singer, Srebro and Cotter 2011.

    Every example with y f(x) < 1 costs a kernel row, if that is not in the cache. The scores of all examples are stored, so
    that no score is computed anew. Source: Mathematical Programming 127 (2011), Figure 3.
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

    Take it where the model must stay small. Paper: Wang, Crammer and Vucetic 2012.

    Whenever there is one more, the support vector with the smallest weight is removed, or merged with the one of its class
    for which the change of w is smallest: z = h x + (1 - h) y, h from a table for the choice of the pair (Glasmachers and
    Qaadan 2018), and by golden section for the pair. The model is an expansion over
    these points. Source: JMLR 13 (2012), removal and merging of support vectors. Differs in: where no other support vector
    is of the class, the one with the smallest weight is removed.
    """

    name: ClassVar[str] = "bsgd"
    conformance: ClassVar[Conformance] = Conformance(
        {"epochs": 20, "budget": 10}, variants=({"budget": 5, "maintenance": "removal"},)
    )

    budget: int = parameter(200, "largest number of support vectors", ge=2)
    maintenance: Literal["merging", "removal"] = parameter("merging", "what happens to one too many")

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
