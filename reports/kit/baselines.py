"""A plugin of what practitioners use beside kernel solvers, from scikit-learn; only studies meet them.

``liblinear``  LIBLINEAR's Newton method on the squared hinge, scikit-learn's own choice: a linear model, its bias penalised
``sgd``        stochastic subgradients on the hinge: a linear model
``nystroem``   the kernel's Nystroem features of some training points, and LIBLINEAR on them: an expansion over these points
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl, parameter


@dataclass(frozen=True)
class LibLinear(Solver):
    """LIBLINEAR's trust-region Newton method (Lin et al. 2008), as scikit-learn ships it."""

    name = "liblinear"
    solves = (CSVC,)
    observable = False
    exact = False
    tol: float = parameter(1e-3, "LIBLINEAR's own stopping tolerance", gt=0)

    def skip(self, problem: Problem) -> str | None:
        """Refuse other kernels."""
        return None if problem.kernel.is_linear else f"{self.name} needs a linear kernel; take --kernel linear."

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model, once."""
        model = self.model(problem, int(rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not converge: done says so
            model.fit(problem.kernel.points, problem.targets)
        steps = int(np.max(model.n_iter_))
        yield Iterate(
            weights=model.coef_[0], intercept=float(model.intercept_[0]), step=steps, done=steps < model.max_iter
        )

    def model(self, problem: Problem, seed: int) -> Any:
        """Return the library's model, not fitted."""
        from sklearn.svm import LinearSVC

        cost = float(problem.upper[0])
        return LinearSVC(C=cost, dual=False, tol=self.tol, max_iter=10_000, random_state=seed)


@dataclass(frozen=True)
class SGD(LibLinear):
    """Stochastic subgradients on the hinge with averaged weights (Bottou 2010), as scikit-learn ships them."""

    name = "sgd"

    def model(self, problem: Problem, seed: int) -> Any:
        """Return the library's model, not fitted; alpha = 1 / (n C)."""
        from sklearn.linear_model import SGDClassifier

        alpha = 1.0 / (problem.n * float(problem.upper[0]))
        return SGDClassifier(loss="hinge", alpha=alpha, tol=self.tol, average=True, max_iter=1000, random_state=seed)


@dataclass(frozen=True)
class Nystroem(Solver):
    """LIBLINEAR on Nystroem features (Williams and Seeger 2001): f is an expansion over ``landmarks`` training points."""

    name = "nystroem"
    solves = (CSVC,)
    exact = False
    landmarks: int = parameter(300, "training points whose kernel columns are the features, at most all", ge=1)
    tol: float = parameter(1e-3, "LIBLINEAR's own stopping tolerance", gt=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the model, once; the kernel values of the columns are counted."""
        from sklearn.svm import LinearSVC

        chosen = np.sort(rng.permutation(problem.n)[: self.landmarks])
        columns = problem.kernel.block(np.arange(problem.n), chosen)
        values, vectors = np.linalg.eigh(columns[chosen])
        root = vectors / np.sqrt(np.maximum(values, 1e-10 * values[-1]))
        cost, seed = float(problem.upper[0]), int(rng.integers(2**31))
        model = LinearSVC(C=cost, dual=False, tol=self.tol, max_iter=10_000, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not converge: done says so
            model.fit(columns @ root, problem.targets)
        coef = np.zeros(problem.n)
        coef[chosen] = root @ model.coef_[0]
        steps = int(np.max(model.n_iter_))
        yield Iterate(free_coef=coef, intercept=float(model.intercept_[0]), step=steps, done=steps < model.max_iter)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the baselines."""
    return [LibLinear, SGD, Nystroem]
