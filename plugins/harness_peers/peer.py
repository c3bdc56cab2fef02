"""What the libraries have in common: one call that trains, data in the library's own format, coefficients in ours.

A peer is a black box: it computes its own kernel values and ends with one model. The formulation, the kernel and the
costs C_i are handed over; the coefficients come back in the harness's signs and are certified like any others.
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

_SHARE, _SHARE_OF_TUBES = 0.1, 0.01  # of the gap aimed at: the tolerance; for eps-svr


@dataclass(frozen=True)
class Peer(Solver):
    """Another library's trainer.

    package : what is imported
    kernels : the harness's kernels that the library has
    class_costs : True if the library takes one C for each class, but none for each point

    ``info`` says what the model's own data format cost: ``conversion_seconds`` and ``conversion_cpu_seconds`` are part
    of the run's time, and whoever compares training calls alone subtracts them.
    """

    observable = False
    package: ClassVar[str]
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly, Precomputed)
    class_costs: ClassVar[bool] = False

    tol: float = parameter(
        DEFAULT_RELATIVE_GAP,
        "stop when no pair violates the optimality conditions by more; on reduced-hull and nu-svc: the relative gap aimed at",
        gt=0,
    )
    gap: float | None = parameter(
        None,
        "relative duality gap aimed at: tol is then no more than a share of it; on reduced-hull and nu-svc in place of tol",
        gt=0,
    )

    def tolerance(self, problem: Problem) -> float:
        """Return the tolerance to hand over, measured on problems of many kinds.

        A guess: what the library knows is gap <= tol / 2 * sum C_i; the certificate says what was reached.
        """
        if self.gap is None:
            return self.tol
        # with a wide tube and a large C the objective is small beside what violations cost
        return min(self.tol, (_SHARE_OF_TUBES if isinstance(problem, EpsSVR) else _SHARE) * self.gap)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse what the library has no words for, and everything if it cannot be loaded."""
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
            return None  # it is there, and the memory limit is too low: the run says so
        except Exception as error:  # a library of another machine or version may raise anything
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return f"{name} needs the package {self.package}, which cannot be loaded: {lines[0]}; reinstall it."
        return None

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model, once."""
        reason = self.refusal(problem)
        if reason is not None:
            raise UsageError(reason)
        wall, cpu = fit_clock(), fit_cpu_clock()
        handed = self.converted(problem)
        conversion = {
            "conversion_seconds": fit_clock() - wall,
            "conversion_cpu_seconds": fit_cpu_clock() - cpu,
        }
        try:
            found = self.trained(problem, handed)
        except (ValueError, ArithmeticError) as error:
            raise PluginError(
                f"{self.package} failed ({type(error).__name__}), with values k(x, x) up to {problem.largest_diagonal():.2g}: "
                "scale the features (--datasets 'NAME[scale=standard]'), or take another solver."
            ) from error
        found.info = {**found.info, **conversion}
        yield found

    @abstractmethod
    def converted(self, problem: Problem) -> Any:
        """Return the training points in the library's format; timed by itself."""

    @abstractmethod
    def trained(self, problem: Problem, handed: Any) -> Iterate:
        """Train on what :meth:`converted` returned; the one call whose time is the library's."""


def class_cost(problem: CSVC, label: float) -> float:
    """Return C_i of the class ``label``, the same for all of its points."""
    return float(problem.upper[problem.targets == label][0])


def at_bounds(coef: Any, lower: Any, upper: Any) -> Any:
    """Return ``coef`` with what a float32 library has at its bound put there: its bound is float32(C_i)."""
    for bound in (lower, upper):
        bound = np.broadcast_to(bound, coef.shape)
        close = (np.abs(coef - bound) <= np.finfo(np.float32).eps * np.abs(bound)) & (bound != 0.0)
        coef[close] = bound[close]
    return coef


def with_int32_indices(points: Any, dtype: Any = None) -> Any:
    """Return the points as the libraries take them: sparse indices of 32 bits, values of ``dtype`` (None: as they are)."""
    if isinstance(points, np.ndarray):
        return points if dtype is None else np.ascontiguousarray(points, dtype=dtype)
    if points.indices.dtype == np.int32 and dtype in (None, points.dtype):
        return points
    data = points.data if dtype is None else points.data.astype(dtype)
    parts = (data, points.indices.astype(np.int32), points.indptr.astype(np.int32))
    return type(points)(parts, shape=points.shape)
