"""Base class of solvers that call another SVM library: convert the data, train in one call, return the coefficients.

A peer is a black box that computes its kernel values itself and returns one model. It receives the formulation, the kernel and
the costs C_i. Its coefficients are converted to the signs of the harness and certified like those of other solvers.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness import (
    CSVC,
    DEFAULT_RELATIVE_GAP,
    RBF,
    Iterate,
    Kernel,
    Linear,
    PluginError,
    Poly,
    Precomputed,
    Problem,
    ProblemSummary,
    Solver,
    UsageError,
    fit_clock,
    fit_cpu_clock,
    parameter,
)
from harness.problems import EpsSVR, OneClass

_TOLERANCE_FACTOR = 0.1  # tolerance over the target gap
_TOLERANCE_FACTOR_SVR = 0.01  # the same for eps-svr


@dataclass(frozen=True)
class Peer(Solver):
    """A solver that calls another library.

    package : module that is imported
    kernels : kernels of the harness that the library has
    class_costs : whether the library takes one C for each class, but not one for each point

    ``info`` has the time of the conversion to the library's data format, ``conversion_seconds`` and ``conversion_cpu_seconds``.
    It is part of the run's time; subtract it to compare only the training calls.
    """

    observable = False
    package: ClassVar[str]
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly, Precomputed)
    class_costs: ClassVar[bool] = False

    tol: float = parameter(
        DEFAULT_RELATIVE_GAP,
        "largest violation of the optimality conditions by a pair; on reduced-hull and nu-svc: the relative target gap",
        gt=0,
    )
    gap: float | None = parameter(
        None,
        "relative target gap: tol is at most a tenth of it (eps-svr: a hundredth); on reduced-hull and nu-svc it replaces tol",
        gt=0,
    )

    def tolerance(self, problem: Problem) -> float:
        """Return the tolerance of the library for the target gap.

        It is a heuristic from measurements on many problems, as the library guarantees only gap <= tol / 2 * sum C_i. The
        certificate has the gap that is reached.
        """
        if self.gap is None:
            return self.tol
        # with a wide tube and a large C the objective is small compared to the cost of violations
        return min(self.tol, (_TOLERANCE_FACTOR_SVR if isinstance(problem, EpsSVR) else _TOLERANCE_FACTOR) * self.gap)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the library cannot solve the problem or cannot be imported, or None."""
        name, kernel = self.name, problem.kernel
        if problem.ridge != 0.0:
            return f"{name} computes its own kernel values and cannot add a ridge to their diagonal."
        if not isinstance(kernel, self.kernels):
            known = ", ".join(cls.name for cls in self.kernels)
            return f"{name} has no kernel '{kernel.name}'; it has {known}."
        if problem.one_class and not issubclass(problem.formulation, (EpsSVR, OneClass)):
            return f"{name} needs points of both classes; all {problem.n} are of one."
        if self.class_costs and issubclass(problem.formulation, CSVC) and "upper" in problem.uneven:
            return f"{name} takes one C for each class, not one for each point; take libsvm."
        try:
            importlib.import_module(self.package)
        except MemoryError:
            return None  # the memory limit is too low for the import: the run reports it
        except Exception as error:  # a library for another machine or version may raise any exception
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return f"{name} needs the package {self.package}, which cannot be loaded: {lines[0]}; reinstall it."
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model."""
        reason = self.refusal(problem)
        if reason is not None:
            raise UsageError(reason)
        wall, cpu = fit_clock(), fit_cpu_clock()
        data = self.convert(problem)
        conversion = {
            "conversion_seconds": fit_clock() - wall,
            "conversion_cpu_seconds": fit_cpu_clock() - cpu,
        }
        try:
            iterate = self.train(problem, data)
        except (ValueError, ArithmeticError) as error:
            raise PluginError(
                f"{self.package} failed ({type(error).__name__}), with values k(x, x) up to {problem.largest_diagonal():.2g}: "
                "scale the features (--datasets 'NAME[scale=standard]'), or take another solver."
            ) from error
        iterate.info = {**iterate.info, **conversion}
        yield iterate

    @abstractmethod
    def convert(self, problem: Problem) -> Any:
        """Return the training points in the library's format; this call is timed separately."""

    @abstractmethod
    def train(self, problem: Problem, data: Any) -> Iterate:
        """Return the library's model of ``data``, the result of :meth:`convert`."""


def class_cost(problem: CSVC, label: float) -> float:
    """Return C_i of the class ``label``, the same for all of its points."""
    return float(problem.upper[problem.targets == label][0])


def at_bounds(coef: Any, lower: Any, upper: Any) -> Any:
    """Move coefficients that equal a bound in float32 onto the bound, in place, and return ``coef``."""
    for bound in (lower, upper):
        bound = np.broadcast_to(bound, coef.shape)
        close = (np.abs(coef - bound) <= np.finfo(np.float32).eps * np.abs(bound)) & (bound != 0.0)
        coef[close] = bound[close]
    return coef


def with_int32_indices(points: Any, dtype: Any = None) -> Any:
    """Return the points with 32-bit sparse indices and values of ``dtype`` (None: unchanged), as the libraries need them."""
    if isinstance(points, np.ndarray):
        return points if dtype is None else np.ascontiguousarray(points, dtype=dtype)
    if points.indices.dtype == np.int32 and dtype in (None, points.dtype):
        return points
    data = points.data if dtype is None else points.data.astype(dtype)
    parts = (data, points.indices.astype(np.int32), points.indptr.astype(np.int32))
    return type(points)(parts, shape=points.shape)
