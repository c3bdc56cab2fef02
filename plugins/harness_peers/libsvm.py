"""LIBSVM as scikit-learn ships it, the drop-in replacement of scikit-learn-intelex, and LIBSVM as its authors ship it."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from harness import (
    CSVC,
    RBF,
    Iterate,
    Kernel,
    Linear,
    Poly,
    Precomputed,
    Problem,
    ProblemSummary,
    UsageError,
    parameter,
)
from harness.problems import EpsSVR, NuSVC, OneClass, ReducedHull
from harness_peers.peer import Peer, at_bounds, class_cost, with_int32_indices

_ONE_CLASS = 0.1  # of the tolerance, for one-class
_TRAININGS = 3  # on reduced-hull, at most, each with a tighter tolerance
_FINEST = 1e-7  # tolerance that it is asked for then, at least: its rows are float32
_PESSIMISM = 10.0  # of that bound, at least, where many points share the weight
_STEPS, _TIMES = 100_000, 20  # of it then, and as many more for each of the first: rounding may keep it from ending


@dataclass(frozen=True)
class LibSVM(Peer):
    """LIBSVM: SMO with second-order working sets, shrinking and a cache of float32 rows (Chang and Lin 2011).

    Take it as the reference that everybody knows. Paper: Chang and Lin 2011.
    """

    name = "libsvm"
    package = "sklearn.svm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull, NuSVC, EpsSVR, OneClass)

    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    shrinking: bool = parameter(True, "leave out bound coefficients that are unlikely to move")

    def skip(self, problem: ProblemSummary) -> str | None:
        if issubclass(problem.formulation, OneClass) and problem.settings.nu == 1.0:
            return f"{self.name} finds no intercept where nu = 1 puts every coefficient at its bound; take nu < 1."
        hulls = problem.settings if issubclass(problem.formulation, ReducedHull) else None
        if hulls is not None and hulls.D_minus not in (None, hulls.D):
            caps = f"D={hulls.D:g} and D_minus={hulls.D_minus:g}"
            return (
                f"{self.name}'s nu-SVM has one cap for both classes, and this problem has {caps}; take qp or smo-block."
            )
        return super().skip(problem)

    def converted(self, problem: Problem) -> Any:
        return with_int32_indices(problem.kernel.points)

    def trained(self, problem: Problem, handed: Any) -> Iterate:
        if isinstance(problem, (ReducedHull, NuSVC)):
            return self._nu_svc(problem, handed)
        if isinstance(problem, EpsSVR):
            return self._svr(problem, handed)
        if isinstance(problem, OneClass):
            return self._one_class(problem, handed)
        assert isinstance(problem, CSVC)
        return self._svc(problem, handed)

    def _model(self, estimator: str, problem: Problem, **values: Any) -> Any:
        """Return the library's unfitted model; ``estimator`` is its class name, the same in both packages."""
        own = {
            "tol": self.tolerance(problem),
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
        model = self._model(
            "OneClassSVM", problem, nu=problem.nu, tol=_ONE_CLASS * self.tolerance(problem) * min(1.0, scale)
        )
        model.fit(handed)
        coef = at_bounds(_signed_coefficients(model, problem.n), 0.0, 1.0)
        return self._iterate(model, coef / scale, scale)

    def _nu_svc(self, problem: ReducedHull | NuSVC, handed: Any) -> Iterate:
        """Solve the nu-SVM of the same caps: nu = 2 / (D n), and coefficients that sum to 1 over a class, or to nu / 2.

        Crisp and Burges 2000. The library refuses nu above 2 min(n_+, n_-) / n, which rounding must not pass.

        ``tol`` (``gap``) is the relative gap here: the library's f is 1 / D times ours, and a violation of v in ours leaves a gap of
        4 v / |w|^2 at most. How short w is shows when it has trained: where its tolerance was too wide it trains again.
        """
        smaller = min(int((problem.targets > 0).sum()), int((problem.targets < 0).sum()))
        total, cap = (
            (0.5 * problem.nu, 2.0 / (problem.nu * problem.n)) if isinstance(problem, NuSVC) else (1.0, problem.cap)
        )
        nu = min(2.0 / (cap * problem.n), 2.0 * smaller / problem.n, 1.0) * (1.0 - 1e-12)
        positive = problem.targets > 0.0
        aim = self.tol if self.gap is None else self.gap
        tol, trainings, enough, limit = aim, 0, 0.0, -1
        while trainings < _TRAININGS and tol > enough:
            tol = max(_FINEST, 0.5 * enough) if enough else tol
            model = self._model("NuSVC", problem, nu=nu, tol=tol, max_iter=limit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it was stopped: fit_status_ says so
                model.fit(handed, problem.targets)
            trainings, limit = trainings + 1, _STEPS + _TIMES * int(np.max(getattr(model, "n_iter_", 0)))
            coef = _signed_coefficients(model, problem.n)
            # 2 / |w|^2; negative where the hulls intersect: the library divides by half their distance, rounding has its sign
            scale = float(coef[positive].sum())
            enough = aim / (2.0 * cap * abs(scale))
            if scale < 0.0 or tol <= _FINEST or model.fit_status_:
                break
        # each class by its own sum: they differ by rounding too
        coef[positive] *= total / scale
        coef[~positive] *= -total / float(coef[~positive].sum())
        found = self._iterate(model, coef, scale / total)
        if found.done and (scale < 0.0 or tol > _PESSIMISM * enough):
            found.done = False
            found.info = {
                **found.info,
                "stopped": f"a tolerance of {tol:.2g} shows no relative gap of {aim:g}: |w|^2 = {2.0 / scale:.2g}",
            }
        return found

    def _iterate(self, model: Any, coef: Any, scale: float = 1.0) -> Iterate:
        if not np.size(model.intercept_):
            raise UsageError(f"{self.name} returned no intercept: it found no support vector; take libsvm.")
        steps = getattr(model, "n_iter_", None)
        count = None if steps is None else int(np.max(steps))
        status = int(model.fit_status_)
        info: dict[str, Any] = {"iterations": count, "fit_status": status}
        if status:
            info["stopped"] = f"the library says that it did not fit: fit_status_ = {status}"
        return Iterate(coef, float(np.ravel(model.intercept_)[0]) / scale, done=not status, step=count, info=info)


@dataclass(frozen=True)
class LibSVR(LibSVM):
    """LIBSVM's epsilon-SVR (Chang and Lin 2011): what ``libsvm`` is for eps-svr, by a name of its own.

    Take it where a study of regression needs a name of its own; else take ``libsvm``. Paper: Chang and Lin 2011.
    """

    name = "libsvm-svr"
    solves: ClassVar[tuple[type[Problem], ...]] = (EpsSVR,)


@dataclass(frozen=True)
class SklearnEx(LibSVM):
    """oneDAL's SVC (scikit-learn-intelex): working sets of up to 2048 points, kernel blocks by matrix product.

    Take it to measure scikit-learn-intelex. No paper.

    With ``dtype=float32`` everything is float32, the gradient included: the library then stops short of its ``tol``.
    Two kinds of problems are refused, as the library is wrong on them without a word (2026.2): c-svc with three points,
    where its working set of two does not change and it gives up, with models up to a relative gap of 1; and eps-svr
    whose targets all lie in one tube, where it has no intercept.
    """

    name = "sklearnex"
    package = "sklearnex.svm"
    requires: ClassVar[tuple[str, ...]] = ("scikit-learn-intelex>=2025",)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull, EpsSVR)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)

    dtype: Literal["float64", "float32"] = parameter("float64", "precision of the points and of all that follows")

    def skip(self, problem: ProblemSummary) -> str | None:
        if issubclass(problem.formulation, CSVC) and problem.n == 3:
            return f"{self.name} stops before it is done on c-svc with three points, and does not say so; take libsvm."
        least, largest = problem.target_range
        if issubclass(problem.formulation, EpsSVR) and largest - least <= 2.0 * problem.settings.epsilon:
            tube = f"one tube of epsilon={problem.settings.epsilon:g}"
            return f"{self.name} finds no intercept where {tube} holds all targets; take libsvm."
        return super().skip(problem)

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


# -- LIBSVM as its authors ship it (the wheel ``libsvm-official``), built with OpenMP ----------------------------------
# The Python layer of the package is gone round where it would cost more than the training: the model's arrays are read
# through ctypes, not copied into tuples.


@dataclass(frozen=True)
class LibSVMOfficial(Peer):
    """LIBSVM 3 from its authors: all points as sparse nodes, kernel rows on all cores (Chang and Lin 2011).

    Take it to measure LIBSVM without scikit-learn. Paper: Chang and Lin 2011.
    """

    name = "libsvm-official"
    package = "libsvm.svm"
    requires: ClassVar[tuple[str, ...]] = ("libsvm-official>=3.35",)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)
    class_costs = True

    def converted(self, problem: Problem) -> Any:
        """Return an ``svm_problem``: 16 bytes for each non-zero value."""
        import scipy.sparse

        # the package knows the older sparse matrices only, not sparse arrays
        points = scipy.sparse.csr_matrix(with_int32_indices(problem.kernel.points))
        return importlib.import_module(self.package).svm_problem(problem.targets, points)

    def trained(self, problem: Problem, handed: Any) -> Iterate:
        from threadpoolctl import threadpool_limits

        assert isinstance(problem, CSVC)
        library = importlib.import_module(self.package)
        cost = {label: class_cost(problem, label) for label in (-1.0, 1.0)}
        options = library.svm_parameter(self._options(problem, cost[-1.0], cost[1.0] / cost[-1.0]))
        refusal = library.libsvm.svm_check_parameter(handed, options)
        if refusal:
            raise UsageError(f"libsvm-official refuses the problem: {refusal.decode()}.")
        with threadpool_limits(problem.kernel.threads, user_api="openmp"):
            pointer = library.libsvm.svm_train(handed, options)
        model = library.toPyModel(pointer)  # freed when it goes
        coef = np.zeros(problem.n)
        if model.l:
            members = np.ctypeslib.as_array(model.sv_indices, (model.l,)) - 1
            coef[members] = np.ctypeslib.as_array(model.sv_coef[0], (model.l,))
        # of the labels -1 and +1 the library makes +1 its first class, whichever comes first in the data
        coef = at_bounds(coef, problem.lower_bounds, problem.upper_bounds)
        return Iterate(coef, -float(model.rho[0]), done=True, info={"free_support_vectors": int(model.free_sv)})

    def _options(self, problem: CSVC, cost: float, weight: float) -> str:
        """Return the library's command line: ``cost`` of the negative class, that of the positive one ``weight`` times it."""
        kernel = problem.kernel.kernel
        match kernel:
            case RBF(gamma=gamma):
                words = f"-t 2 -g {gamma!r}"
            case Poly(degree=degree, gamma=gamma, coef0=coef0):
                words = f"-t 1 -d {degree} -g {gamma!r} -r {coef0!r}"
            case _:
                assert isinstance(kernel, Linear)
                words = "-t 0"
        return (
            f"-q -s 0 {words} -c {cost!r} -w1 {weight!r} -e {self.tolerance(problem)!r} -m {problem.kernel.cache_mb!r}"
        )
