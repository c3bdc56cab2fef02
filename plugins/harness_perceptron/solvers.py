"""Three perceptrons in a kernel's space: they change f only where it makes a mistake.

Each epoch visits the examples in a fresh random order. Where y_t f(x_t) <= 0 (budget: <= beta) the kernel perceptron
adds y_t k(x_t, .) to f; there is no bias. The averaged perceptron returns the mean of the rules after each iteration,
the budget perceptron removes a member whenever there are more than N.

Cost: |S| kernel values an example in the first epoch. In later ones the kernel and the averaged perceptron need the
mistakes made since the example was last visited only, for a score is kept and brought up to date.

Source: Bordes, Ertekin, Weston, Bottou, JMLR 6 (2005), section 2.2; Freund and Schapire 1998 (averaged); Crammer,
Kandola, Singer 2004 (budget). Differs in:

* a mistake on a member adds y_t to alpha_t, where the printed alpha_t <- y_t would change nothing: only so does the
  algorithm end on separable data, as Novikoff's theorem has it.
* the averaged perceptron returns the average of the decision functions, which is a kernel expansion; the majority vote
  of the rules, as the paper describes it, is none. Freund and Schapire found the two equally accurate.
* "pick a random example" is a random permutation an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from harness import Conformance, Iterate, Problem, ProblemSummary, Solver, parameter
from harness_perceptron.mistake_driven import MistakeDriven

_SHARE = 8  # K between the examples of a batch costs at most 1 / 8 of their values against what is new to them
_LEAST = 64  # examples in a batch, lest a batch costs more than its kernel values


@dataclass(frozen=True)
class _Perceptron(Solver):
    """What the three have in common: visits in batches, and what they say of themselves.

    A step is one example visited. ``info`` holds epoch, mistakes (updates so far) and members (|S|).

    averaged : whether the model is the mean of the rules, which goes on to change after an epoch without a mistake
    """

    solves: ClassVar[tuple[type[Problem], ...]] = (MistakeDriven,)
    exact: ClassVar[bool] = False
    averaged: ClassVar[bool] = False

    epochs: int = parameter(1, "passes over the examples, each in a fresh random order", ge=1)
    block: int = parameter(256, "most examples whose kernel values are computed together", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "of the kernel values; scores are float64")

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
                batch = order[start : start + min(self.block, max(_LEAST, learner.due // _SHARE))]
                learner.visit(batch)
                start += len(batch)
                settled = not self.averaged and learner.mistakes == mistakes
                ended = start == problem.n and (epoch == self.epochs or settled)
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
        # so small that a few points take every path: a second epoch, and a removal
        return (self.replace(epochs=2, block=8),)


@dataclass(frozen=True)
class KernelPerceptron(_Perceptron):
    """Kernel perceptron: every misclassified example joins the expansion (Aizerman et al. 1964).

    Take it as the simplest online baseline. Paper: Aizerman et al. 1964.

    Ends early after an epoch without a mistake.
    """

    name: ClassVar[str] = "kernel-perceptron"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 3})


@dataclass(frozen=True)
class AveragedPerceptron(_Perceptron):
    """Averaged perceptron: the mean of the kernel perceptron's rules after each iteration (Freund, Schapire 1998).

    Take it as an online baseline that approaches an SVM's accuracy. Paper: Freund and Schapire 1998.

    The same mistakes at the same cost as ``kernel-perceptron``; 10 to 30 epochs approach an SVM's accuracy.
    """

    name: ClassVar[str] = "averaged-perceptron"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 3})
    averaged: ClassVar[bool] = True


@dataclass(frozen=True)
class BudgetPerceptron(_Perceptron):
    """Budget perceptron (beta, N): at most N members, the most correctly classified one leaves (Crammer et al. 2004).

    Take it where the model must stay small and the data are clean. Paper: Crammer, Kandola and Singer 2004.

    An example with y f(x) <= beta joins S; if |S| > N then, the member with the largest y_i (f(x_i) - alpha_i K_ii)
    leaves, the newcomer included. Ends early after an epoch without an update. Fit for clean data: among noisy ones the
    examples that are right leave and the mislabelled ones stay.
    """

    name: ClassVar[str] = "budget-perceptron"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 3, "N": 10, "beta": 0.5})

    beta: float = parameter(0.0, "an example with y f(x) <= beta joins the expansion; 0: a misclassified one", ge=0)
    N: int = parameter(500, "most members of the expansion", ge=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        room = min(self.N, problem.n) ** 2 * np.dtype(self.dtype).itemsize / 2**20
        if room <= problem.cache_mb:
            return None
        kept = f"keeps the kernel values between its N={self.N} members, {room:.0f} MB"
        cache = f"the run's cache has {problem.cache_mb:g} MB"
        return f"{self.name} {kept}, and {cache}; take a smaller N or a larger cache."

    def _learner(self, problem: Problem) -> Any:
        from harness_perceptron.learners import Budgeted

        return Budgeted(problem, self.dtype, beta=self.beta, most=self.N)

    def warm_ups(self) -> tuple[Solver, ...]:
        return (self.replace(epochs=2, block=8, N=min(self.N, 2)),)
