"""scikit-learn's SVC as a solver: a black box whose model the harness certifies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from harness import CSVC, RBF, Iterate, Linear, ProblemSummary, Solver, hookimpl, parameter

SHARE = 0.1  # of the gap that is asked for: the tolerance on the optimality conditions which gives it in practice


@dataclass(frozen=True)
class WrappedSVC(Solver):
    """scikit-learn's SVC, which is LIBSVM: SMO with second-order working sets and shrinking."""

    name = "wrapped-svc"
    solves = (CSVC,)
    observable = False  # it computes kernel values by itself, and nobody counts them
    tol: float = parameter(1e-4, "largest violation of the optimality conditions at which it stops", gt=0)
    shrinking: bool = parameter(True, "leave out coefficients that are unlikely to leave their bound")

    def with_target_gap(self, gap: float) -> Self:
        """Return the solver whose own tolerance aims at a relative gap; the certificate says what was reached."""
        return self.replace(tol=SHARE * gap)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why it cannot take a problem, a sentence; None if it can."""
        if not isinstance(problem.kernel, (RBF, Linear)):
            return f"{self.name} wraps the kernels rbf and linear, and not '{problem.kernel.name}'; take libsvm."
        if problem.ridge:
            return f"{self.name} computes its own kernel values, and cannot add a ridge to their diagonal."
        if problem.one_class:
            return f"{self.name} needs points of both classes; all {problem.n} are of one."
        return None

    def iterates(self, problem: Any, rng: np.random.Generator) -> Iterator[Iterate]:
        from sklearn.svm import SVC  # here: the harness lists solvers without importing their libraries

        kernel = problem.kernel.kernel
        words = {"kernel": "rbf", "gamma": kernel.gamma} if isinstance(kernel, RBF) else {"kernel": "linear"}
        cost = float(problem.upper.max())
        model = SVC(C=cost, tol=self.tol, shrinking=self.shrinking, cache_size=problem.kernel.cache_mb, **words)
        # one C for each point: the library multiplies C by the weight of the point
        model.fit(problem.kernel.points, problem.targets, sample_weight=problem.upper / cost)
        dual_coef = np.zeros(problem.n)
        coef: Any = model.dual_coef_  # y_i alpha_i of the support vectors, sparse where the points are
        dual_coef[model.support_] = np.ravel(coef.toarray() if hasattr(coef, "toarray") else coef)
        yield Iterate(dual_coef, float(model.intercept_[0]), done=True, step=int(model.n_iter_[0]))


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [WrappedSVC]
