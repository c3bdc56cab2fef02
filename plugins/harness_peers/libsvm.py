"""LIBSVM as scikit-learn ships it, and the drop-in replacement of scikit-learn-intelex."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from harness import (
    CSVC,
    RBF,
    EpsSVR,
    Iterate,
    Linear,
    OneClass,
    Poly,
    Precomputed,
    ReducedHull,
    UsageError,
    parameter,
)
from harness_peers.peer import Peer, at_bounds, with_int32_indices

if TYPE_CHECKING:
    from harness import Kernel, Problem

_ONE_CLASS = 0.1  # of the tolerance, for one-class


@dataclass(frozen=True)
class LibSVM(Peer):
    """LIBSVM: SMO with second-order working sets, shrinking and a cache of float32 rows (Chang and Lin 2011)."""

    name = "libsvm"
    package = "sklearn.svm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull, EpsSVR, OneClass)

    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    shrinking: bool = parameter(True, "leave out bound coefficients that are unlikely to move")

    def skip(self, problem: Problem) -> str | None:
        if isinstance(problem, OneClass) and problem.nu == 1.0:
            return f"{self.name} finds no intercept where nu = 1 puts every coefficient at its bound; take nu < 1."
        return super().skip(problem)

    def converted(self, problem: Problem) -> Any:
        return with_int32_indices(problem.kernel.points)

    def trained(self, problem: Problem, handed: Any) -> Iterate:
        if isinstance(problem, ReducedHull):
            return self._reduced_hull(problem, handed)
        if isinstance(problem, EpsSVR):
            return self._svr(problem, handed)
        if isinstance(problem, OneClass):
            return self._one_class(problem, handed)
        assert isinstance(problem, CSVC)
        return self._svc(problem, handed)

    def _model(self, estimator: str, problem: Problem, **values: Any) -> Any:
        """Return the library's unfitted model; ``estimator`` is its class name, the same in both packages."""
        own = {
            "tol": self.tol,
            "cache_size": problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb,
            "shrinking": self.shrinking,
        }
        return getattr(importlib.import_module(self.package), estimator)(
            **{**_kernel_arguments(problem.kernel.kernel), **own, **values}
        )

    def _svc(self, problem: CSVC, handed: Any) -> Iterate:
        # one C per point: the library multiplies C by the weight of the sample
        uniform = np.ptp(problem.upper) == 0.0
        cost = float(problem.upper[0]) if uniform else problem.C
        weights = None if uniform else problem.upper / problem.C
        model = self._model("SVC", problem, C=cost)
        model.fit(handed, problem.targets, sample_weight=weights)
        coef = at_bounds(_signed_coefficients(model, problem.n), problem.lower_bounds, problem.upper_bounds)
        return self._iterate(model, coef)

    def _svr(self, problem: EpsSVR, handed: Any) -> Iterate:
        model = self._model("SVR", problem, C=problem.C, epsilon=problem.epsilon)
        model.fit(handed, problem.targets)
        return self._iterate(model, at_bounds(_signed_coefficients(model, problem.n), -problem.C, problem.C))

    def _one_class(self, problem: OneClass, handed: Any) -> Iterate:
        """The library's coefficients are at most 1 and sum to nu n: the problem times nu n."""
        scale = problem.nu * problem.n
        # the scores shrink with the scale, and the relative gap is over 1/2 |w|^2, small where points are near each other
        model = self._model("OneClassSVM", problem, nu=problem.nu, tol=_ONE_CLASS * self.tol * min(1.0, scale))
        model.fit(handed)
        coef = at_bounds(_signed_coefficients(model, problem.n), 0.0, 1.0)
        return self._iterate(model, coef / scale, scale)

    def _reduced_hull(self, problem: ReducedHull, handed: Any) -> Iterate:
        """Solve the nu-SVM of the same caps: nu = 2 / (D n), and coefficients that sum to 1 over a class.

        Crisp and Burges 2000. The library refuses nu above 2 min(n_+, n_-) / n, which rounding must not pass.
        """
        smaller = min(int((problem.targets > 0).sum()), int((problem.targets < 0).sum()))
        nu = min(2.0 / (problem.cap * problem.n), 2.0 * smaller / problem.n, 1.0) * (1.0 - 1e-12)
        # the library's f is 1 / D times ours, and a violation of v leaves a relative gap of 4 v / |w|^2 at most; how short
        # w is nobody knows before it is there
        tol = self.tol
        for _ in range(_TRAININGS):
            model = self._model("NuSVC", problem, nu=nu, tol=tol)
            model.fit(handed, problem.targets)
            coef = _signed_coefficients(model, problem.n)
            # negative where the hulls intersect: the library divides by half their distance, rounding has its sign
            scale = float(coef[problem.targets > 0.0].sum())
            enough = self.tol * _CAREFUL / (2.0 * problem.cap * abs(scale)) if scale else 0.0
            if tol <= enough or tol <= _FINEST:
                break
            tol = max(_FINEST, 0.5 * enough)
        positive = problem.targets > 0.0
        # each class by its own sum: they differ by rounding too
        coef[positive] /= scale
        coef[~positive] /= -float(coef[~positive].sum())
        return self._iterate(model, coef, scale)

    def _iterate(self, model: Any, coef: Any, scale: float = 1.0) -> Iterate:
        if not np.size(model.intercept_):
            raise UsageError(f"{self.name} returned no intercept: it found no support vector; take libsvm.")
        steps = getattr(model, "n_iter_", None)
        count = None if steps is None else int(np.max(steps))
        return Iterate(
            coef,
            float(np.ravel(model.intercept_)[0]) / scale,
            done=True,
            step=count,
            info={"iterations": count, "fit_status": int(model.fit_status_)},
        )


@dataclass(frozen=True)
class LibSVR(LibSVM):
    """LIBSVM's epsilon-SVR: what ``libsvm`` is for eps-svr, by a name that means nothing else."""

    name = "libsvm-svr"
    solves: ClassVar[tuple[type[Problem], ...]] = (EpsSVR,)


@dataclass(frozen=True)
class SklearnEx(LibSVM):
    """oneDAL's SVC (scikit-learn-intelex): working sets of up to 2048 points, kernel blocks by matrix product.

    With ``dtype=float32`` everything is float32, the gradient included: the library then stops short of its ``tol``.
    """

    name = "sklearnex"
    package = "sklearnex.svm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull, EpsSVR)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)

    dtype: Literal["float64", "float32"] = parameter("float64", "precision of the points and of all that follows")

    def converted(self, problem: Problem) -> Any:
        # oneDAL's threads are TBB's: OMP_NUM_THREADS does not reach them
        importlib.import_module("daal4py").daalinit(problem.kernel.threads)
        return with_int32_indices(problem.kernel.points, np.dtype(self.dtype))

    def _model(self, estimator: str, problem: Problem, **values: Any) -> Any:
        return _OneDALOnly(super()._model(estimator, problem, **values))


class _OneDALOnly:
    """An estimator that refuses to be scikit-learn's: the package hands back what oneDAL cannot do without a word."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(self, *data: Any, **options: Any) -> None:
        self._estimator.fit(*data, **options)
        if not hasattr(self._estimator, "_onedal_estimator"):
            raise UsageError(
                "sklearnex handed this problem back to scikit-learn: its figures are libsvm's; take libsvm."
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._estimator, name)


def _kernel_arguments(kernel: Kernel) -> dict[str, Any]:
    """Return scikit-learn's words for ``kernel``."""
    match kernel:
        case RBF(gamma=gamma):
            return {"kernel": "rbf", "gamma": gamma}
        case Poly(degree=degree, gamma=gamma, coef0=coef0):
            return {"kernel": "poly", "degree": degree, "gamma": gamma, "coef0": coef0}
        case Precomputed():
            return {"kernel": "precomputed"}
    assert isinstance(kernel, Linear)
    return {"kernel": "linear"}


def _signed_coefficients(model: Any, n: int) -> Any:
    """Return y_i alpha_i for all n points; the classes are sorted, so that +1 is the library's positive class too."""
    support = model.dual_coef_
    values = support.toarray() if hasattr(support, "toarray") else np.asarray(support)
    coef = np.zeros(n)
    coef[model.support_] = values.ravel()
    return coef
