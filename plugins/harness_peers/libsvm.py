"""Solvers that call LIBSVM in scikit-learn, its replacement in scikit-learn-intelex, and LIBSVM as its authors ship it."""

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

_ONE_CLASS_FACTOR = 0.1  # factor of the tolerance for one-class
_MAX_TRAININGS = 3  # largest number of trainings on reduced-hull and nu-svc, each with a smaller tolerance
_MIN_TOLERANCE = 1e-7  # smallest tolerance of these; the library's kernel rows are float32
_PESSIMISM = 10.0  # factor by which the bound of the gap usually exceeds the gap if many points share the weight
# largest number of iterations of a further training, as rounding may prevent its end: a constant, and a multiple of the first's
_MAX_ITERATIONS, _ITERATIONS_FACTOR = 100_000, 20


@dataclass(frozen=True)
class LibSVM(Peer):
    """LIBSVM: SMO with second-order working sets, shrinking and a cache of float32 rows (Chang and Lin 2011).

    Use it as the best known reference. Paper: Chang and Lin 2011.
    """

    name = "libsvm"
    package = "sklearn.svm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull, NuSVC, EpsSVR, OneClass)

    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    shrinking: bool = parameter(True, "leave out coefficients at a bound that are unlikely to change")

    def skip(self, problem: ProblemSummary) -> str | None:
        if issubclass(problem.formulation, OneClass) and problem.settings.nu == 1.0:
            return f"{self.name} finds no intercept with nu = 1, where every coefficient is at its bound; take nu < 1."
        hulls = problem.settings if issubclass(problem.formulation, ReducedHull) else None
        if hulls is not None and hulls.D_minus not in (None, hulls.D):
            caps = f"D={hulls.D:g} and D_minus={hulls.D_minus:g}"
            return (
                f"{self.name}'s nu-SVM has one cap for both classes, and this problem has {caps}; take qp or smo-block."
            )
        return super().skip(problem)

    def convert(self, problem: Problem) -> Any:
        return with_int32_indices(problem.kernel.points)

    def train(self, problem: Problem, data: Any) -> Iterate:
        if isinstance(problem, (ReducedHull, NuSVC)):
            return self._nu_svc(problem, data)
        if isinstance(problem, EpsSVR):
            return self._svr(problem, data)
        if isinstance(problem, OneClass):
            return self._one_class(problem, data)
        assert isinstance(problem, CSVC)
        return self._svc(problem, data)

    def _model(self, estimator: str, problem: Problem, **values: Any) -> Any:
        """Return the library's unfitted model; ``estimator`` is its class name, the same in both packages."""
        options = {
            "tol": self.tolerance(problem),
            "cache_size": problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb,
            "shrinking": self.shrinking,
        }
        return getattr(importlib.import_module(self.package), estimator)(
            **{**_kernel_arguments(problem.kernel.kernel), **options, **values}
        )

    def _svc(self, problem: CSVC, data: Any) -> Iterate:
        # one C per point: the library multiplies C by the weight of the sample
        uniform = np.ptp(problem.upper) == 0.0
        cost = float(problem.upper[0]) if uniform else problem.C
        weights = None if uniform else problem.upper / problem.C
        model = self._model("SVC", problem, C=cost)
        model.fit(data, problem.targets, sample_weight=weights)
        coef = at_bounds(_signed_coefficients(model, problem.n), problem.lower_bounds, problem.upper_bounds)
        return self._iterate(model, coef)

    def _svr(self, problem: EpsSVR, data: Any) -> Iterate:
        model = self._model("SVR", problem, C=problem.C, epsilon=problem.epsilon)
        model.fit(data, problem.targets)
        return self._iterate(model, at_bounds(_signed_coefficients(model, problem.n), -problem.C, problem.C))

    def _one_class(self, problem: OneClass, data: Any) -> Iterate:
        """Solve the problem times nu n, as the library's coefficients are at most 1 and sum to nu n."""
        scale = problem.nu * problem.n
        # the library's scores are ours times the scale; the gap is relative to 1/2 |w|^2, which may be small
        model = self._model(
            "OneClassSVM", problem, nu=problem.nu, tol=_ONE_CLASS_FACTOR * self.tolerance(problem) * min(1.0, scale)
        )
        model.fit(data)
        coef = at_bounds(_signed_coefficients(model, problem.n), 0.0, 1.0)
        return self._iterate(model, coef / scale, scale)

    def _nu_svc(self, problem: ReducedHull | NuSVC, data: Any) -> Iterate:
        """Solve the nu-SVM with the same caps: nu = 2 / (D n), and coefficients with sum 1 over a class, or nu / 2.

        See Crisp and Burges 2000. The library refuses nu above 2 min(n_+, n_-) / n, so rounding must not exceed it.

        ``tol`` (``gap``) is the relative gap here. The library's f is 1 / D times ours, and a violation of v in our units is a gap of
        at most 4 v / |w|^2. As |w| is known only after training, a training with too large a tolerance is repeated.
        """
        smaller = min(int((problem.targets > 0).sum()), int((problem.targets < 0).sum()))
        total, cap = (
            (0.5 * problem.nu, 2.0 / (problem.nu * problem.n)) if isinstance(problem, NuSVC) else (1.0, problem.cap)
        )
        nu = min(2.0 / (cap * problem.n), 2.0 * smaller / problem.n, 1.0) * (1.0 - 1e-12)
        positive = problem.targets > 0.0
        target_gap = self.tol if self.gap is None else self.gap
        tol, trainings, needed, limit = target_gap, 0, 0.0, -1
        while trainings < _MAX_TRAININGS and tol > needed:
            tol = max(_MIN_TOLERANCE, 0.5 * needed) if needed else tol
            model = self._model("NuSVC", problem, nu=nu, tol=tol, max_iter=limit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a stop at max_iter, which fit_status_ shows too
                model.fit(data, problem.targets)
            iterations = int(np.max(getattr(model, "n_iter_", 0)))
            trainings, limit = trainings + 1, _MAX_ITERATIONS + _ITERATIONS_FACTOR * iterations
            coef = _signed_coefficients(model, problem.n)
            # 2 / |w|^2; may be negative if the hulls intersect, as the library divides by half of their rounded distance
            scale = float(coef[positive].sum())
            needed = target_gap / (2.0 * cap * abs(scale))
            if scale < 0.0 or tol <= _MIN_TOLERANCE or model.fit_status_:
                break
        # the sums of the classes differ by rounding
        coef[positive] *= total / scale
        coef[~positive] *= -total / float(coef[~positive].sum())
        iterate = self._iterate(model, coef, scale / total)
        if iterate.done and (scale < 0.0 or tol > _PESSIMISM * needed):
            iterate.done = False
            iterate.info = {
                **iterate.info,
                "stopped": f"a tolerance of {tol:.2g} does not ensure a relative gap of {target_gap:g}: |w|^2 = {2.0 / scale:.2g}",
            }
        return iterate

    def _iterate(self, model: Any, coef: Any, scale: float = 1.0) -> Iterate:
        if not np.size(model.intercept_):
            raise UsageError(f"{self.name} returned no support vector and no intercept; take libsvm.")
        steps = getattr(model, "n_iter_", None)
        count = None if steps is None else int(np.max(steps))
        status = int(model.fit_status_)
        info: dict[str, Any] = {"iterations": count, "fit_status": status}
        if status:
            info["stopped"] = f"the library did not fit: fit_status_ = {status}"
        return Iterate(coef, float(np.ravel(model.intercept_)[0]) / scale, done=not status, step=count, info=info)


@dataclass(frozen=True)
class LibSVR(LibSVM):
    """LIBSVM's epsilon-SVR (Chang and Lin 2011): ``libsvm`` for eps-svr under another name.

    Use it in a study of regression that needs another name than ``libsvm``. Paper: Chang and Lin 2011.
    """

    name = "libsvm-svr"
    solves: ClassVar[tuple[type[Problem], ...]] = (EpsSVR,)


@dataclass(frozen=True)
class SklearnEx(LibSVM):
    """oneDAL's SVC (scikit-learn-intelex): working sets of up to 2048 points, kernel blocks by matrix product.

    Use it to measure scikit-learn-intelex. No paper.

    With ``dtype=float32`` everything is float32, including the gradient, and the library stops before its ``tol`` is reached.
    Two kinds of problems are refused, as the library (2026.2) returns wrong models without a warning: c-svc with three points,
    where its working set of two does not change and relative gaps are up to 1; and eps-svr with all targets in one tube, where it
    returns no intercept.
    """

    name = "sklearnex"
    package = "sklearnex.svm"
    requires: ClassVar[tuple[str, ...]] = ("scikit-learn-intelex>=2025",)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, ReducedHull, EpsSVR)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)

    dtype: Literal["float64", "float32"] = parameter("float64", "precision of the points and of the training")

    def skip(self, problem: ProblemSummary) -> str | None:
        if issubclass(problem.formulation, CSVC) and problem.n == 3:
            return f"{self.name} returns wrong models of c-svc with three points, without a warning; take libsvm."
        least, largest = problem.target_range
        if issubclass(problem.formulation, EpsSVR) and largest - least <= 2.0 * problem.settings.epsilon:
            tube = f"one tube of epsilon={problem.settings.epsilon:g}"
            return f"{self.name} finds no intercept if {tube} contains all targets; take libsvm."
        return super().skip(problem)

    def convert(self, problem: Problem) -> Any:
        # oneDAL uses threads of TBB, which OMP_NUM_THREADS does not limit
        importlib.import_module("daal4py").daalinit(problem.kernel.threads)
        return with_int32_indices(problem.kernel.points, np.dtype(self.dtype))

    def _model(self, estimator: str, problem: Problem, **values: Any) -> Any:
        return _OneDALOnly(super()._model(estimator, problem, **values))


class _OneDALOnly:
    """An estimator that raises UsageError if the package passes the problem on to scikit-learn, which it does silently."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(self, *data: Any, **options: Any) -> None:
        self._estimator.fit(*data, **options)
        if not hasattr(self._estimator, "_onedal_estimator"):
            raise UsageError(
                "sklearnex passes this problem on to scikit-learn, so that libsvm would be measured; take libsvm."
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._estimator, name)


def _kernel_arguments(kernel: Kernel) -> dict[str, Any]:
    """Return scikit-learn's arguments for ``kernel``."""
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
    """Return y_i alpha_i for all n points; the library sorts the classes, so that its positive class is +1 too."""
    support = model.dual_coef_
    values = support.toarray() if hasattr(support, "toarray") else np.asarray(support)
    coef = np.zeros(n)
    coef[model.support_] = values.ravel()
    return coef


# -- LIBSVM as its authors ship it (the wheel ``libsvm-official``), built with OpenMP ----------------------------------
# The Python layer of the package copies the model's arrays into tuples, which may take longer than the training; here they are
# read through ctypes.


@dataclass(frozen=True)
class LibSVMOfficial(Peer):
    """LIBSVM 3 from its authors: all points as sparse nodes, kernel rows on all cores (Chang and Lin 2011).

    Use it to measure LIBSVM without scikit-learn. Paper: Chang and Lin 2011.
    """

    name = "libsvm-official"
    package = "libsvm.svm"
    requires: ClassVar[tuple[str, ...]] = ("libsvm-official>=3.35",)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)
    class_costs = True

    def convert(self, problem: Problem) -> Any:
        """Return an ``svm_problem``: 16 bytes for each non-zero value."""
        import scipy.sparse

        # the package accepts sparse matrices, but not sparse arrays
        points = scipy.sparse.csr_matrix(with_int32_indices(problem.kernel.points))
        return importlib.import_module(self.package).svm_problem(problem.targets, points)

    def train(self, problem: Problem, data: Any) -> Iterate:
        from threadpoolctl import threadpool_limits

        assert isinstance(problem, CSVC)
        library = importlib.import_module(self.package)
        cost = {label: class_cost(problem, label) for label in (-1.0, 1.0)}
        options = library.svm_parameter(self._options(problem, cost[-1.0], cost[1.0] / cost[-1.0]))
        refusal = library.libsvm.svm_check_parameter(data, options)
        if refusal:
            raise UsageError(f"libsvm-official refuses the problem: {refusal.decode()}.")
        with threadpool_limits(problem.kernel.threads, user_api="openmp"):
            pointer = library.libsvm.svm_train(data, options)
        model = library.toPyModel(pointer)  # frees the memory when it is garbage collected
        coef = np.zeros(problem.n)
        if model.l:
            members = np.ctypeslib.as_array(model.sv_indices, (model.l,)) - 1
            coef[members] = np.ctypeslib.as_array(model.sv_coef[0], (model.l,))
        # the library's first class is +1, whichever label comes first in the data
        coef = at_bounds(coef, problem.lower_bounds, problem.upper_bounds)
        return Iterate(coef, -float(model.rho[0]), done=True, info={"free_support_vectors": int(model.free_sv)})

    def _options(self, problem: CSVC, cost: float, weight: float) -> str:
        """Return the library's options: the negative class has the C ``cost``, the positive one ``weight`` times as much."""
        kernel = problem.kernel.kernel
        match kernel:
            case RBF(gamma=gamma):
                kernel_options = f"-t 2 -g {gamma!r}"
            case Poly(degree=degree, gamma=gamma, coef0=coef0):
                kernel_options = f"-t 1 -d {degree} -g {gamma!r} -r {coef0!r}"
            case _:
                assert isinstance(kernel, Linear)
                kernel_options = "-t 0"
        tolerance, cache = self.tolerance(problem), problem.kernel.cache_mb
        return f"-q -s 0 {kernel_options} -c {cost!r} -w1 {weight!r} -e {tolerance!r} -m {cache!r}"
