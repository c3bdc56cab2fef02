"""What every formulation has in common: its data, its kernel, its feasible set and its certificate."""

from __future__ import annotations

import copy
import zlib
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from harness import parameters
from harness.errors import InvalidModel
from harness.kernels.oracle import KernelOracle
from harness.parameters import Parameter, parameter
from harness.problems import cases
from harness.problems.certificate import Certificate, undecided
from harness.problems.expansion import Expansion, expansions, of_weights
from harness.problems.rounding import Bounded

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.problems.dual import DualForm

# all that a formulation is written with
__all__ = [
    "AT_BOUND",
    "FEASIBLE",
    "Bounded",
    "Certificate",
    "Expansion",
    "Laws",
    "NoParameters",
    "Parameters",
    "Problem",
    "cases",
    "immutable",
    "parameter",
    "setting",
]  # fmt: skip

FEASIBLE = 1e-6  # violation of the constraints, relative to their scale, up to which a model is accepted
AT_BOUND = 1e-9  # a coefficient this close to its bound, relative to its range, counts as at the bound
_IN_DOUBT = 1e-15  # |w|^2 below this part of the largest k(x, x), of scores of unknown making, may be rounding of w = 0


@dataclass(frozen=True)
class NoParameters:
    """The ``parameter_class`` of a formulation without parameters."""


@dataclass(frozen=True)
class Parameters:
    """What the parameters of a formulation extend: their values are checked as they are given."""

    formulation: ClassVar[str]

    def __post_init__(self) -> None:
        parameters.check(self, owner=f"formulation '{self.formulation}'")


@dataclass(frozen=True)
class Laws:
    """How the optimum answers to a change of the data: what the conformance suite asks of every solver.

    symmetric : whether exchanging the classes, or the sign of the targets, leaves the objective
    doubled : factors of the parameters under which every point twice is the same problem; None: there is no such law
    scaled : powers of s that the parameters take where the kernel is s times as large ...
    objective : ... and the power of s that the objective is then multiplied by; None: there is no such law
    """

    symmetric: bool = True
    doubled: Mapping[str, float] | None = None
    scaled: Mapping[str, int] = field(default_factory=dict)
    objective: int | None = None


def setting(name: str, meaning: str) -> float:
    """Return a property of a formulation that reads the number ``name`` of its settings."""
    return property(lambda self: float(getattr(self.settings, name)), doc=meaning)  # type: ignore[return-value]


def immutable(values: Any) -> Vector:
    """Return the values, (n,) float64, as an array over memory that no flag makes writable."""
    return np.frombuffer(np.ascontiguousarray(values, dtype=np.float64).tobytes())


class _Sealed(ABCMeta):
    """Seals each instance when its constructors are done."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        made.__dict__["_sealed"] = True
        return made


class Problem(metaclass=_Sealed):
    """One training problem: points behind a counted kernel, targets, and a formulation. It cannot be changed.

    Attributes
    ----------
    kernel : the counted oracle of the *dual's* kernel matrix (l2-svc: with its ridge)
    settings : the formulation's parameters; those that were left open and that a part keeps, as the problem settled them
    targets : (n,) float64; labels -1 / +1, or real targets in regression; read-only

    A formulation subclasses this and owns all that is known of it: its parameters, from which options, selections,
    descriptions and footnotes follow; the two methods of its feasible set and its certificate; its laws and its zoo,
    by which solvers are tested. A plugin brings one through the hook ``harness_formulations``. It never sees how a
    solver got there.
    """

    name: ClassVar[str]  # the formulation's id
    task: ClassVar[str] = "classification"  # or regression: what the targets are
    metrics: ClassVar[tuple[str, ...]] = ()  # test metrics that every run records, besides the accuracy of labels
    parameter_class: ClassVar[type] = NoParameters  # frozen dataclass: the formulation's parameters (C, chi, D ...)
    constraints: ClassVar[str] = ""  # the feasible set in words, for messages
    laws: ClassVar[Laws] = Laws()  # how the optimum answers to a change of the data
    sells_labels: ClassVar[bool] = False  # True: targets are NaN until they are bought, see pool_svc.py
    has_bias: ClassVar[bool] = True  # False: the intercept must be 0
    tells_zero: ClassVar[bool] = True  # whether the certificate asks if w = 0, which rounding hides
    looks: ClassVar[int | None] = None  # expansions that a certificate takes at most, each finer than the one before
    _enough: float = 0.0  # rounding of the relative gap that is no reason to take another, whatever the gap
    per_point: ClassVar[tuple[str, ...]] = ()  # further arguments of the constructor, (n,); a part has its part
    has_gap: ClassVar[bool] = True  # False: there is no optimum, or none is bounded
    bounds_weights: ClassVar[bool] = False  # whether a linear model of weights has a gap too, see dual_point()
    has_core_set: ClassVar[bool] = False  # True for hulls: their certificate is a margin, see measure/core_set.py

    def __init_subclass__(cls) -> None:
        """A subclass that computes its certificate from scores alone knows of no bounds, whatever it extends."""
        if "certificate" in cls.__dict__ and "bounded_certificate" not in cls.__dict__:
            cls.bounded_certificate = _of_scores_alone  # type: ignore[method-assign, assignment]

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        self.kernel = kernel
        self.targets: Vector = immutable(targets)
        if np.shape(targets) != (kernel.n,):
            raise ValueError(f"targets of shape {np.shape(targets)} for a kernel over {kernel.n} points")
        self.settings = settings

    def __setattr__(self, name: str, value: Any) -> None:
        if "_sealed" in self.__dict__:
            raise AttributeError(
                f"a problem cannot be changed, and '{name}' was set; keep what you need in a variable of your own, "
                "or state another problem."
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a problem cannot be changed, and '{name}' was deleted; leave it as it is.")

    def contents(self) -> dict[str, str]:
        """Return a checksum of all that makes this the problem it is, by name: two that agree state the same problem."""
        found = {"kernel": f"{self.kernel.kernel!r} ridge={self.kernel.ridge!r}", "settings": repr(self.settings)}
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray):
                found[name] = f"{value.dtype.str}{value.shape} {zlib.crc32(np.ascontiguousarray(value).data):08x}"
        return found

    @classmethod
    def build(cls, kernel: KernelOracle, targets: Any, values: Mapping[str, Any] | None = None) -> Self:
        """State the problem over ``kernel`` and ``targets`` with the formulation's parameters by name."""
        return cls(kernel, targets, cls.settings_of(values or {}))

    @classmethod
    def settings_of(cls, values: Mapping[str, Any]) -> Any:
        """Return the formulation's parameters from those of ``values`` that it knows by name, checked."""
        known = {parameter.name for parameter in cls.known_parameters()}
        return cls.parameter_class(**{name: value for name, value in values.items() if name in known})

    @property
    def n(self) -> int:
        """Number of training points."""
        return self.kernel.n

    @property
    def parameters(self) -> dict[str, Any]:
        """The formulation's parameters by name."""
        return parameters.values_of(self.settings)

    @classmethod
    def counting(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that count: all but those that stand for one that is given."""
        replaced = {name for name, other in cls.stand_ins().items() if values.get(other) is not None}
        return {name: value for name, value in values.items() if name not in replaced}

    @classmethod
    def stand_ins(cls) -> dict[str, str]:
        """Return the parameters that stand for another where that is none: name -> the other's name."""
        return {known.name: known.stands_for for known in cls.known_parameters() if known.stands_for}

    @classmethod
    def known_parameters(cls) -> tuple[Parameter, ...]:
        """Return the formulation's parameters with type, range, default and meaning."""
        declared: Any = cls.parameter_class  # as Any: the cache asks for a Hashable, which a type is
        return parameters.parameters_of(declared)

    @classmethod
    def has_dual_form(cls) -> bool:
        """Whether the formulation has a dual form, and so is solved by every solver that works on nothing else."""
        return cls.dual_form is not Problem.dual_form

    @classmethod
    def gives_up_points(cls) -> bool:
        """Whether some of the points need not be separated, so that it says what its problem over the others is."""
        return cls.inliers is not Problem.inliers

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        """Return small problems of the formulation on which solvers are tested, with their answers where known by hand.

        The default is the usual data for its task, under its own defaults.
        """
        usual = cases.two_classes if cls.task == "classification" else cases.real_values
        return usual(cls)

    def counted(self, cache_mb: float = 256.0) -> Self:
        """Return the same problem whose kernel counts, what a solver is given; this one if its kernel does."""
        if isinstance(self.kernel, KernelOracle):
            return self
        return self._over(KernelOracle(self.kernel.kernel, None, engine=self.kernel, cache_mb=cache_mb))

    def _over(self, kernel: KernelOracle) -> Self:
        """Return the same problem over another kernel with the same values."""
        found = copy.copy(self)
        found.__dict__["kernel"] = kernel
        return found

    def restrict(self, indices: Any) -> Problem:
        """Return the same formulation over the points ``indices``; its evaluations count to the same run."""
        indices = np.asarray(indices, dtype=np.intp)
        own = {name: getattr(self, name)[indices] for name in self.per_point}
        return type(self)(self.kernel.restrict(indices), self.targets[indices], self.settings, **own)

    def rehearsal(self, indices: Any) -> Problem:
        """Return the formulation over the points ``indices`` with labels that are made up, for a warm-up.

        Only where labels are sold: there nothing is known of the true ones, and nobody is asked.
        """
        raise NotImplementedError(f"formulation '{self.name}' sells labels; override rehearsal() to make some up.")

    def after_buying(self, indices: Any) -> Problem:
        """Return the problem as it is when the labels of ``indices``, and no others, were bought in this order.

        Only where labels are sold: a model is certified by what its solver had bought.
        """
        raise NotImplementedError(f"formulation '{self.name}' sells labels; override after_buying().")

    def optimum(self) -> tuple[float, float] | None:
        """Return bounds of the optimal dual objective where the formulation finds it by itself, else None.

        Where it does, the conformance suite asks no solver for it.
        """
        return None

    def inliers(self, indices: Any) -> Problem | None:
        """Return the convex problem whose certified margin is that of the points ``indices`` and no others.

        None unless the formulation is one that gives points up: it is what would be solved if it were known who.
        """
        return None

    def dual_form(self) -> DualForm:
        """Return the box-constrained dual that a solver for every formulation works on.

        Raises
        ------
        NotImplementedError : the formulation has none.
        """
        raise NotImplementedError(f"formulation '{self.name}' has no dual form; override dual_form() to give it one.")

    def kkt_violation(self, dual_coef: Vector, scores: Vector) -> float:
        """Return the largest violation of the dual form's optimality conditions, in units of f(x); both (n,).

        With one sum that is fixed, and ``linear`` = y, it is the tau of LASVM's tau-violating pairs.
        """
        form = self.dual_form()
        return form.violation(form.ends(form.split(dual_coef), form.gradient(scores), AT_BOUND))

    @abstractmethod
    def feasibility_violation(self, dual_coef: Vector) -> float:
        """Return the largest violation of the dual's constraints, relative to their scale; 0 if feasible."""

    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return the certificate from the coefficients and ``scores`` = K dual_coef, all (n,)."""
        return self.bounded_certificate(dual_coef, intercept, self.expansion_of(dual_coef, scores))

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return the certificate from scores with bounds of their rounding.

        A formulation that cannot bound the rounding of its figures overrides :meth:`certificate` alone: gap_rounding is
        None then.
        """
        raise NotImplementedError(f"formulation '{self.name}' certifies nothing; override certificate().")

    def certify(self, dual_coef: Any, intercept: float, scores: Vector | None = None) -> Certificate:
        """Compute the scores of all n points and return the certificate; counted like any other kernel values.

        Where rounding leaves the relative gap in doubt, they are computed once more in higher precision, if what that
        costs is bearable.

        scores : K dual_coef, (n,), as ``kernel.expand`` has just computed it, if it has: saves doing so again
        """
        coef = np.asarray(dual_coef, dtype=np.float64)
        return self._closest(
            self.bounded_certificate(coef, float(intercept), model) for model in expansions(self.kernel, coef, scores)
        )

    def _closest(self, certificates: Iterator[Certificate]) -> Certificate:
        """Return the one that knows most, of as many, each dearer than the one before, as it takes."""
        best = Certificate(undecidable="not looked at.")
        with np.errstate(all="ignore"):
            for latest in islice(certificates, self.looks):
                best = latest if latest.is_closer_than(best) else best
                if best.settled or (best.gap_rounding is not None and best.gap_rounding <= self._enough):
                    break
        return best

    # -- models that are no dual solution --------------------------------------------------------------

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float) -> Bounded | None:
        """Return the primal value of any f(x_i) = scores_i + intercept, (n,), with |w|^2 = ``squared``; None: there is none.

        Both without the kernel's ridge: what that stands for follows from the scores.
        """
        return None

    def dual_of(self, dual_coef: Vector, model: Expansion) -> tuple[Bounded, Any]:
        """Return the dual value of coefficients, and what making their sum exact may take off it."""
        raise NotImplementedError(f"formulation '{self.name}' bounds no weights; override dual_of().")

    def dual_point(self, model: Expansion, intercept: float) -> Vector:
        """Return coefficients, (n,), feasible up to rounding, whose dual value is near the optimum if a linear model is."""
        from harness.problems.dual_point import dual_point

        primal = self.primal_of(model.squared, model.scores, intercept)
        assert primal is not None
        points, scores = self.kernel.points, model.scores.value
        return dual_point(self.dual_form(), points, scores, intercept, float(primal.value))

    def certificate_beside(self, primal: Bounded, dual_coef: Vector, model: Expansion) -> Certificate:
        """Return the certificate of a primal value beside a dual point, of which ``model`` is the expansion."""
        dual, slack = self.dual_of(dual_coef, model)
        return Certificate.of_objectives(primal, dual, slack=slack)

    def certify_weights(self, weights: Vector, intercept: float) -> Certificate:
        """Return the certificate of f(x) = <weights, x> + intercept: its primal, and a gap if :attr:`bounds_weights`.

        Neither where f is no model of the problem: the kernel is not linear, or there is no bias and it has one. The gap
        is that to a dual point of the host's own making; what the formulation asks of a model's coefficients is not said.
        """
        if not self.kernel.is_linear or (intercept and not self.has_bias):
            return Certificate()

        def stated(dtype: Any) -> Bounded | None:
            model = of_weights(self.kernel, weights, dtype)
            return self.primal_of(model.squared, model.scores, intercept)

        with np.errstate(all="ignore"):
            if not self.bounds_weights:
                return Certificate.of_primal(stated(np.float64))
            coef = self.dual_point(of_weights(self.kernel, weights, np.float64), intercept)
        return self._closest(
            self.certificate_beside(stated(model.scores.value.dtype), coef, model)  # type: ignore[arg-type]
            for model in expansions(self.kernel, coef)
        )

    def certificate_cost(self, support: int) -> int:
        """Return about how many kernel values the certificate of a model with ``support`` support vectors takes."""
        return self.n * max(1, support)

    def largest_diagonal(self) -> float:
        """Return the largest k(x_i, x_i); n kernel evaluations where the diagonal was not asked for before."""
        return float(self.kernel.diagonal().max())

    def checked(self, dual_coef: Any, intercept: Any, *, tolerance: float = FEASIBLE) -> tuple[Vector, float]:
        """Return the model as float64, or refuse it.

        Raises
        ------
        InvalidModel : wrong shape or type, NaN or infinity, or constraints violated by more than ``tolerance``.
        """
        try:
            given = np.asarray(dual_coef)
            numbers = given.dtype.kind == "O" and all(isinstance(each, (int, float)) for each in given.flat)
            if not (numbers or given.dtype.kind in "biuf") or isinstance(intercept, (str, bytes)):
                raise TypeError
            coef = given.astype(np.float64)
            offset = float(intercept)
        except (TypeError, ValueError, OverflowError):
            kind = getattr(dual_coef, "dtype", type(dual_coef).__name__)
            raise InvalidModel(
                f"dual_coef and intercept must be real numbers, got {kind} and {type(intercept).__name__}."
            ) from None
        if coef.shape != (self.n,):
            raise InvalidModel(f"dual_coef has shape {coef.shape}; {self.name} over {self.n} points needs ({self.n},).")
        if not np.isfinite(coef).all():
            first = int(np.flatnonzero(~np.isfinite(coef))[0])
            raise InvalidModel(f"dual_coef[{first}] is {coef[first]}; coefficients must be finite.")
        if not np.isfinite(offset):
            raise InvalidModel(f"the intercept is {offset}; it must be finite.")
        self.refuse_intercept(offset)
        violation = self.feasibility_violation(coef)
        if not violation <= tolerance:
            raise InvalidModel(
                f"dual_coef violates the constraints of {self.name} by {violation:.3g} relative to their scale; "
                f"at most {tolerance:g} is allowed: {self.constraints}.{self._violated(coef, tolerance)}"
            )
        return coef, offset

    def _violated(self, coef: Vector, tolerance: float) -> str:
        """Return a sentence for the coefficient that is farthest beyond its bounds, and for each sum that is wrong."""
        if not self.has_dual_form():
            return ""
        form, told = self.dual_form(), ""
        a = form.split(coef)
        beyond = np.maximum(form.lower - a, a - form.upper)
        v = int(np.argmax(beyond))
        if beyond[v] > tolerance * (form.upper[v] - form.lower[v]):
            i, bounds = v % self.n, f"[{form.lower[v]:g}, {form.upper[v]:g}]"
            told = f" dual_coef[{i}] = {a[v]:.3g}, where y = {self.targets[i]:g}, must be in {bounds}."
        # where two groups share their points, coefficients do not tell what each sums to
        for k in range(form.groups if form.groups < 2 or form.copies == 1 else 0):
            found, wanted = (float(values[form.group == k].sum()) for values in (a, form.start))
            if abs(found - wanted) > tolerance * max(abs(wanted), float(np.abs(a).sum())):
                of = f" of class {1 - 2 * k:+}" if form.groups == 2 else ""
                told += f" sum dual_coef{of} = {found:.3g}, not {wanted:g}."
        return told

    def refuse_intercept(self, intercept: float) -> None:
        """Raise InvalidModel if the formulation has no bias and the intercept is not 0."""
        if intercept != 0.0 and not self.has_bias:
            raise InvalidModel(f"the intercept is {intercept}; {self.name} has none: it must be 0.")

    def scores_new(self, dual_coef: Vector, intercept: float, points: Any) -> Vector:
        """Return f(z) for new points z, what the metrics see; counted like any other kernel values."""
        return self.kernel.expand_new(dual_coef, points) + intercept

    def of_objectives(
        self, dual_coef: Vector, model: Expansion, primal: Bounded, dual: Bounded, **further: Any
    ) -> Certificate:
        """Return the certificate of a model with these objectives; ``further``: the scale of the gap, the slack."""
        return Certificate.of_objectives(
            primal,
            dual,
            kkt_violation=self.kkt_violation(dual_coef, model.scores.value),
            feasibility_violation=self.feasibility_violation(dual_coef),
            rounding_known=model.known,
            **further,
        )

    def of_objectives_of_length(
        self, dual_coef: Vector, model: Expansion, primal: Bounded, total: float, slack: Any
    ) -> Certificate:
        """Return the certificate where the dual is -1/2 |w|^2, and the gap relative to it.

        Where w = 0 is the optimum the gap is relative to the largest k(x, x) / 2, times ``total``^2, sum |coef| squared.
        """
        if not model.has_direction and not model.vanishes:
            return Certificate(
                undecidable=undecided(model),
                kkt_violation=self.kkt_violation(dual_coef, model.scores.value),
                feasibility_violation=self.feasibility_violation(dual_coef),
            )
        half = model.squared * 0.5
        scale = half if model.has_direction else 0.5 * total**2 * (self.largest_diagonal() or 1.0)
        return self.of_objectives(dual_coef, model, primal, -half, scale=scale, slack=slack)

    def expansion_of(self, dual_coef: Vector, scores: Vector, largest: float | None = None) -> Expansion:
        """Return what a certificate is computed from where it is given ``scores`` alone, which may be inexact.

        Rounding of w = 0 is told from the rest by the largest k(x, x); with a ridge w is never 0.

        largest : the largest k(x, x), where it is known already: saves asking for the diagonal
        """
        if self.kernel.ridge or not self.tells_zero:
            return Expansion.of_scores(dual_coef, scores)
        return Expansion.of_scores(
            dual_coef, scores, _IN_DOUBT * (self.largest_diagonal() if largest is None else largest)
        )


def _of_scores_alone(problem: Problem, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
    return problem.certificate(dual_coef, intercept, model.scores.value)
