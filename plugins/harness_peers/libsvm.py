"""LIBSVM as scikit-learn ships it, and the drop-in replacement of scikit-learn-intelex.

Black boxes: they compute their own kernel values and end with one model. The formulation, the kernel and the
costs C_i are handed over; the coefficients come back in the harness's signs and are certified like any others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from harness import CSVC, RBF, Iterate, Linear, Poly, Precomputed, ReducedHull, Solver, UsageError, parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Kernel, Problem


@dataclass(frozen=True)
class LibSVM(Solver):
    """LIBSVM: SMO with second-order working sets, shrinking and a cache of float32 rows (Chang and Lin 2011)."""

    name = "libsvm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull)
    observable = False

    tol: float = parameter(1e-3, "stop when no pair violates the optimality conditions by more", gt=0)
    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    shrinking: bool = parameter(True, "leave out bound coefficients that are unlikely to move")

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with ``tol`` a tenth of ``gap``, if that is less.

        A guess: what the library knows is gap <= tol / 2 * sum C_i; the certificate says what was reached.
        """
        return self.replaced(tol=min(self.tol, 0.1 * gap))

    def skip(self, problem: Problem) -> str | None:
        """Refuse what the library has no words for."""
        if problem.kernel.ridge != 0.0:
            return f"{self.name} computes its own kernel values and cannot add a ridge to their diagonal."
        if _kernel_arguments(problem.kernel.kernel) is None:
            return (
                f"{self.name} has no kernel '{problem.kernel.kernel.name}'; it has linear, rbf, poly and precomputed."
            )
        if np.ptp(problem.targets) == 0.0:
            return f"{self.name} needs points of both classes; all {problem.n} are of one."
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model, once."""
        reason = self.skip(problem)
        if reason is not None:
            raise UsageError(reason)
        if isinstance(problem, ReducedHull):
            yield self._reduced_hull(problem)
        else:
            assert isinstance(problem, CSVC)
            yield self._svc(problem)

    def _classes(self) -> tuple[Any, Any]:
        from sklearn.svm import SVC, NuSVC

        return SVC, NuSVC

    def _svc(self, problem: CSVC) -> Iterate:
        # one C per point: the library multiplies C by the weight of the sample
        uniform = np.ptp(problem.upper) == 0.0
        cost = float(problem.upper[0]) if uniform else problem.C
        weights = None if uniform else problem.upper / problem.C
        model = self._classes()[0](C=cost, **self._arguments(problem))
        model.fit(_points(problem), problem.targets, sample_weight=weights)
        coef = _signed_coefficients(model, problem.n)
        # a library that works in float32 has float32(C_i) for its bound
        at_bound = np.abs(np.abs(coef) - problem.upper) <= np.finfo(np.float32).eps * problem.upper
        coef[at_bound] = (problem.targets * problem.upper)[at_bound]
        return self._iterate(model, coef, float(np.ravel(model.intercept_)[0]))

    def _reduced_hull(self, problem: ReducedHull) -> Iterate:
        """Solve the nu-SVM of the same caps: nu = 2 / (D n), and coefficients that sum to 1 over a class.

        Crisp and Burges 2000. The library refuses nu above 2 min(n_+, n_-) / n, which rounding must not pass.
        """
        smaller = min(int((problem.targets > 0).sum()), int((problem.targets < 0).sum()))
        nu = min(2.0 / (problem.cap * problem.n), 2.0 * smaller / problem.n, 1.0) * (1.0 - 1e-12)
        model = self._classes()[1](nu=nu, **self._arguments(problem))
        model.fit(_points(problem), problem.targets)
        coef = _signed_coefficients(model, problem.n)
        positive = problem.targets > 0.0
        # negative where the hulls intersect: the library divides by half their distance, rounding has its sign
        scale = float(coef[positive].sum())
        # each class by its own sum: they differ by rounding too
        coef[positive] /= scale
        coef[~positive] /= -float(coef[~positive].sum())
        return self._iterate(model, coef, float(np.ravel(model.intercept_)[0]) / scale)

    def _arguments(self, problem: Problem) -> dict[str, Any]:
        return {
            **(_kernel_arguments(problem.kernel.kernel) or {}),
            "tol": self.tol,
            "cache_size": problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb,
            "shrinking": self.shrinking,
        }

    def _iterate(self, model: Any, coef: Any, intercept: float) -> Iterate:
        steps = getattr(model, "n_iter_", None)
        count = None if steps is None else int(np.max(steps))
        return Iterate(
            coef, intercept, done=True, step=count, info={"iterations": count, "fit_status": int(model.fit_status_)}
        )


@dataclass(frozen=True)
class SklearnEx(LibSVM):
    """oneDAL's SVC (scikit-learn-intelex): working sets of up to 2048 points, kernel blocks by matrix product."""

    name = "sklearnex"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)

    def skip(self, problem: Problem) -> str | None:
        """Refuse what the package hands back to scikit-learn: its figures would be libsvm's."""
        if isinstance(problem.kernel.kernel, Precomputed):
            return "sklearnex leaves precomputed kernels to scikit-learn; take libsvm."
        return super().skip(problem)

    def _classes(self) -> tuple[Any, Any]:
        from sklearnex.svm import SVC, NuSVC

        return SVC, NuSVC


def _points(problem: Problem) -> Any:
    """Return the training points as the library takes them: sparse indices of 32 bits."""
    points = problem.kernel.points
    if isinstance(points, np.ndarray) or points.indices.dtype == np.int32:
        return points
    parts = (points.data, points.indices.astype(np.int32), points.indptr.astype(np.int32))
    return type(points)(parts, shape=points.shape)


def _kernel_arguments(kernel: Kernel) -> dict[str, Any] | None:
    """Return scikit-learn's words for ``kernel``, or None if it has none."""
    match kernel:
        case Linear():
            return {"kernel": "linear"}
        case RBF(gamma=gamma):
            return {"kernel": "rbf", "gamma": gamma}
        case Poly(degree=degree, gamma=gamma, coef0=coef0):
            return {"kernel": "poly", "degree": degree, "gamma": gamma, "coef0": coef0}
        case Precomputed():
            return {"kernel": "precomputed"}
    return None


def _signed_coefficients(model: Any, n: int) -> Any:
    """Return y_i alpha_i for all n points; the classes are sorted, so that +1 is the library's positive class too."""
    support = model.dual_coef_
    values = support.toarray() if hasattr(support, "toarray") else np.asarray(support)
    coef = np.zeros(n)
    coef[model.support_] = values.ravel()
    return coef
