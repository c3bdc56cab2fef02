"""Three kernel perceptrons, which change f only if it misclassifies an example.

Each epoch visits the examples in a new random order. If y_t f(x_t) <= 0 (budget: <= beta) the kernel perceptron
adds y_t k(x_t, .) to f; there is no bias. The averaged perceptron returns the mean of f after each visit,
the budget perceptron removes a member whenever there are more than N.

An example costs |S| kernel values in the first epoch. In later epochs the kernel and the averaged perceptron store the scores, so
that an example costs one kernel value for each mistake since its last visit.

Source: Bordes, Ertekin, Weston, Bottou, JMLR 6 (2005), section 2.2; Freund and Schapire 1998 (averaged); Crammer,
Kandola, Singer 2004 (budget). This code differs in three points:

* A mistake on a member adds y_t to alpha_t. The printed alpha_t <- y_t would not change f, and the algorithm would not end on
  separable data, as it does by Novikoff's theorem.
* The averaged perceptron returns the average of the decision functions, which is a kernel expansion, instead of the majority vote
  of their signs, which is not. Freund and Schapire report equal accuracy of the two.
* "Pick a random example" is a random permutation in each epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from harness import Conformance, Iterate, Problem, ProblemSummary, Solver, parameter
from harness_perceptron.mistake_driven import MistakeDriven

_BATCH_SHARE = 8  # kernel values for new mistakes or members per kernel value between the examples of a batch, at least
_MIN_BATCH = 64  # smallest number of examples in a batch, so that its overhead is small


@dataclass(frozen=True)
class _Perceptron(Solver):
    """Base class of the perceptrons, which visit the examples in batches.

    A step is a visit of an example. ``info``: epoch, mistakes (updates so far) and members (|S|).

    averaged : whether the model is the mean of f over the visits, which changes even after an epoch without a mistake
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (MistakeDriven,)
    exact: ClassVar[bool] = False
    averaged: ClassVar[bool] = False

    epochs: int = parameter(1, "number of passes over the examples, each in a new random order", ge=1)
    block: int = parameter(256, "largest number of examples whose kernel values are computed together", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "precision of the kernel values; scores are float64")

    def _learner(self, problem: Problem) -> Any:
        """Return the learner of one run."""
        from harness_perceptron.learners import Mistakes

        return Mistakes(problem, self.dtype, averaged=self.averaged)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        learner = self._learner(problem)
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(problem.n)
            learner.start_epoch()
            start, mistakes = 0, learner.mistakes
            while start < problem.n:
                batch = order[start : start + min(self.block, max(_MIN_BATCH, learner.due // _BATCH_SHARE))]
                learner.visit(batch)
                start += len(batch)
                converged = not self.averaged and learner.mistakes == mistakes
                ended = start == problem.n and (epoch == self.epochs or converged)
                yield Iterate(
                    dual_coef=learner.coef(),
                    done=ended,
                    step=learner.visited,
                    working_set=learner.members,
                    info={"epoch": epoch, "mistakes": learner.mistakes, "members": learner.members},
                )
                if ended:
                    return

    def warm_ups(self) -> tuple[Solver, ...]:
        # so that a few points execute every branch: a second epoch, and the removal of a member
        return (self.replace(epochs=2, block=8),)


@dataclass(frozen=True)
class KernelPerceptron(_Perceptron):
    """Kernel perceptron: every misclassified example joins the expansion (Aizerman et al. 1964).

    Use it as the simplest online baseline. Paper: Aizerman, Braverman and Rozonoer 1964.

    The run ends early after an epoch without a mistake.
    """

    name: ClassVar[str] = "kernel-perceptron"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 3})


@dataclass(frozen=True)
class AveragedPerceptron(_Perceptron):
    """Averaged perceptron: the mean of the kernel perceptron's f after each visit (Freund, Schapire 1998).

    Use it as an online baseline that approaches an SVM's accuracy. Paper: Freund and Schapire 1998.

    It makes the same mistakes at the same cost as ``kernel-perceptron``; 10 to 30 epochs approach an SVM's accuracy.
    """

    name: ClassVar[str] = "averaged-perceptron"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 3})
    averaged: ClassVar[bool] = True


@dataclass(frozen=True)
class BudgetPerceptron(_Perceptron):
    """Budget perceptron (beta, N): at most N members, the most correctly classified one leaves (Crammer et al. 2004).

    Use it if the model must be small and the data are clean. Paper: Crammer, Kandola and Singer 2004.

    An example with y f(x) <= beta joins S. If then |S| > N, the member with the largest y_i (f(x_i) - alpha_i K_ii), possibly the
    new one, leaves. The run ends early after an epoch without an update. With noisy data correctly classified members leave, and
    mislabelled ones stay.
    """

    name: ClassVar[str] = "budget-perceptron"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 3, "N": 10, "beta": 0.5})

    beta: float = parameter(0.0, "an example with y f(x) <= beta joins the expansion; 0: a misclassified one", ge=0)
    N: int = parameter(500, "largest number of members of the expansion", ge=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        needed_mb = min(self.N, problem.n) ** 2 * np.dtype(self.dtype).itemsize / 2**20
        if needed_mb <= problem.cache_mb:
            return None
        stored = f"stores the kernel values between its N={self.N} members, {needed_mb:.0f} MB"
        cache = f"the run's cache has {problem.cache_mb:g} MB"
        return f"{self.name} {stored}, and {cache}; take a smaller N or a larger cache."

    def _learner(self, problem: Problem) -> Any:
        from harness_perceptron.learners import Budgeted

        return Budgeted(problem, self.dtype, beta=self.beta, budget=self.N)

    def warm_ups(self) -> tuple[Solver, ...]:
        return (self.replace(epochs=2, block=8, N=min(self.N, 2)),)
