"""What every formulation has in common: its data, its kernel, its feasible set and its certificate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from harness import parameters
from harness.errors import InvalidModel
from harness.kernels.oracle import KernelOracle

if TYPE_CHECKING:
    from harness.problems.dual import DualForm

    Vector = np.ndarray[Any, np.dtype[np.float64]]

AT_BOUND = 1e-9  # a coefficient this close to its bound, relative to its range, counts as at the bound
TOUCHING = 1e-15  # |w|^2 below this part of the largest k(x, x) is rounding of w = 0


@dataclass(frozen=True)
class Certificate:
    """What the harness itself found out about a model; None where the formulation has no such figure.

    primal, dual : objective values of the model's primal and dual points, in the formulation's own units
    gap : the duality gap, >= 0 up to rounding; an upper bound on the distance of either from the optimum
    relative_gap : the gap over the formulation's scale (see each problem)
    kkt_violation : largest violation of the optimality conditions, in units of f(x)
    feasibility_violation : largest violation of the dual's constraints, relative to their scale
    epsilon : 1 - lower / upper margin bound; the margin is at least (1 - epsilon) times the optimal one
    margin_lower, margin_upper : bounds of the optimal margin (hull formulations)
    """

    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    relative_gap: float | None = None
    kkt_violation: float | None = None
    feasibility_violation: float | None = None
    epsilon: float | None = None
    epsilon_plus: float | None = None
    epsilon_minus: float | None = None
    margin_lower: float | None = None
    margin_upper: float | None = None

    @classmethod
    def of_objectives(
        cls,
        primal: float,
        dual: float,
        *,
        kkt_violation: float,
        feasibility_violation: float,
        scale: float | None = None,
    ) -> Certificate:
        """Return the certificate of a minimised primal and its dual; the gap is relative to ``scale``, or max(1, |P|)."""
        gap = primal - dual
        return cls(
            primal=primal,
            dual=dual,
            gap=gap,
            relative_gap=gap / (max(1.0, abs(primal)) if scale is None else scale),
            kkt_violation=kkt_violation,
            feasibility_violation=feasibility_violation,
        )

    def as_dict(self) -> dict[str, float | None]:
        """Return the figures by name."""
        return asdict(self)


@dataclass(frozen=True)
class NoParameters:
    """The ``parameter_class`` of a formulation without parameters."""


class Problem(ABC):
    """One training problem: points behind a counted kernel, targets, and a formulation.

    Attributes
    ----------
    kernel : the counted oracle of the *dual's* kernel matrix (l2-svc: with its ridge)
    targets : (n,) float64; labels -1 / +1, or real targets in regression; read-only

    A formulation subclasses this with its own parameters and implements the two methods of its feasible
    set and its certificate. It never sees how a solver got there.
    """

    name: ClassVar[str]  # the formulation's id
    task: ClassVar[str] = "classification"
    metrics: ClassVar[tuple[str, ...]] = ()  # test metrics that every run records, besides the accuracy of labels
    parameter_class: ClassVar[type]  # frozen dataclass: the formulation's parameters (C, chi, D ...)
    # of a problem that no user states: the formulation whose dual form it has, but for bounds. Solvers of that one which
    # look at nothing but dual_form() solve it
    same_form: ClassVar[type[Problem] | None] = None

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        self.kernel = kernel
        self.targets: Vector = np.array(targets, dtype=np.float64)
        self.targets.flags.writeable = False
        if self.targets.shape != (kernel.n,):
            raise ValueError(f"targets of shape {self.targets.shape} for a kernel over {kernel.n} points")
        self.settings = settings

    @classmethod
    def build(cls, kernel: KernelOracle, targets: Any, values: Mapping[str, Any] | None = None) -> Self:
        """State the problem over ``kernel`` and ``targets`` with the formulation's parameters by name."""
        known = {parameter.name for parameter in parameters.parameters_of(cls.parameter_class)}
        own = {name: value for name, value in (values or {}).items() if name in known}
        return cls(kernel, targets, cls.parameter_class(**own))

    @property
    def n(self) -> int:
        """Number of training points."""
        return self.kernel.n

    @property
    def parameters(self) -> dict[str, Any]:
        """The formulation's parameters by name."""
        return parameters.values_of(self.settings)

    def restrict(self, indices: Any) -> Problem:
        """Return the same formulation over the points ``indices``; its evaluations count to the same run.

        A formulation with more of its own for each point overrides this.
        """
        indices = np.asarray(indices, dtype=np.intp)
        return type(self)(self.kernel.restrict(indices), self.targets[indices], self.settings)

    def dual_form(self) -> DualForm:
        """Return the box-constrained dual that a solver for every formulation works on.

        Raises
        ------
        NotImplementedError : the formulation has none.
        """
        raise NotImplementedError(f"formulation '{self.name}' has no dual form; override dual_form() to give it one.")

    @abstractmethod
    def feasibility_violation(self, dual_coef: Vector) -> float:
        """Return the largest violation of the dual's constraints, relative to their scale; 0 if feasible."""

    @abstractmethod
    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return the certificate from the coefficients and ``scores`` = K dual_coef, all (n,)."""

    def certify(self, dual_coef: Any, intercept: float) -> Certificate:
        """Compute the scores of all n points, uncounted, and return the certificate."""
        coef = np.asarray(dual_coef, dtype=np.float64)
        with self.kernel.uncounted():
            scores = self.kernel.expand(coef)
        return self.certificate(coef, float(intercept), scores)

    def certificate_cost(self, support: int) -> int:
        """Return about how many kernel values the certificate of a model with ``support`` support vectors takes."""
        return self.n * max(1, support)

    def largest_diagonal(self) -> float:
        """Return the largest k(x_i, x_i), uncounted, from the solver's own diagonal where it has asked for one."""
        with self.kernel.uncounted():
            return float(self.kernel.diagonal().max())

    def checked(self, dual_coef: Any, intercept: Any, *, tolerance: float = 1e-6) -> tuple[Vector, float]:
        """Return the model as float64, or refuse it.

        Raises
        ------
        InvalidModel : wrong shape or type, NaN or infinity, or constraints violated by more than ``tolerance``.
        """
        try:
            coef = np.array(dual_coef, dtype=np.float64)
            offset = float(intercept)
        except (TypeError, ValueError):
            kinds = f"{type(dual_coef).__name__} and {type(intercept).__name__}"
            raise InvalidModel(f"dual_coef and intercept must be numbers, got {kinds}.") from None
        if coef.shape != (self.n,):
            raise InvalidModel(f"dual_coef has shape {coef.shape}; {self.name} over {self.n} points needs ({self.n},).")
        if not np.isfinite(coef).all():
            first = int(np.flatnonzero(~np.isfinite(coef))[0])
            raise InvalidModel(f"dual_coef[{first}] is {coef[first]}; coefficients must be finite.")
        if not np.isfinite(offset):
            raise InvalidModel(f"the intercept is {offset}; it must be finite.")
        violation = self.feasibility_violation(coef)
        if not violation <= tolerance:
            raise InvalidModel(
                f"dual_coef violates the constraints of {self.name} by {violation:.3g} relative to their scale; "
                f"at most {tolerance:g} is allowed: {self.constraints}."
            )
        return coef, offset

    constraints: ClassVar[str] = ""  # the feasible set in words, for messages

    def scores_new(self, dual_coef: Vector, intercept: float, points: Any) -> Vector:
        """Return f(z) for new points z, uncounted: what the metrics see."""
        with self.kernel.uncounted():
            return self.kernel.expand_new(dual_coef, points) + intercept
