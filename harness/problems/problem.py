"""Base class of the formulations: data, kernel, feasible set and certificate."""

from __future__ import annotations

import copy
import functools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from harness.kernels.counter import Counter
from harness.kernels.engine import Engine
from harness.kernels.oracle import KernelOracle
from harness.problems import cases
from harness.problems.certificate import Certificate, CertifiedRun, undecided
from harness.problems.expansion import Expansion, expansions, of_weights
from harness.problems.rounding import Bounded
from harness.support import parameters
from harness.support.errors import InvalidModel, PluginError
from harness.support.parameters import Parameter, parameter

if TYPE_CHECKING:
    from harness.problems.dual import DualForm
    from harness.support.arrays import Index, Vector
    from harness.support.column import Column

# all names that a module of a formulation needs
__all__ = [
    "AT_BOUND",
    "FEASIBLE",
    "Bounded",
    "Certificate",
    "CertifiedRun",
    "Expansion",
    "Laws",
    "NoParameters",
    "Parameters",
    "Problem",
    "cases",
    "parameter",
    "read_only",
    "setting",
]  # fmt: skip

FEASIBLE = 1e-6  # largest accepted violation of the constraints, relative to their scale
AT_BOUND = 1e-9  # distance from a bound, relative to the range, up to which a coefficient counts as at the bound
_ROUNDING_OF_ZERO = 16 * 2.0**-52  # |f(x)| up to this fraction of the sum of its terms' sizes may be rounding of 0
_IN_DOUBT = 1e-15  # |w|^2 below this fraction of max k(x, x) may be rounding of 0 if the error of the scores is unknown


@dataclass(frozen=True)
class NoParameters:
    """The ``parameter_class`` of a formulation without parameters."""


@dataclass(frozen=True)
class Parameters:
    """Base class of the parameters of a formulation, which validates their values."""

    formulation: ClassVar[str]  # name of the formulation

    def __post_init__(self) -> None:
        parameters.check(self, owner=f"formulation '{self.formulation}'")


@dataclass(frozen=True)
class Laws:
    """Invariances of the optimum under changes of the data, which the conformance suite checks for every solver.

    symmetric : whether exchanging the classes, or the sign of the targets, preserves the objective
    doubled : factors of the parameters that make the problem with every point duplicated equivalent; None if unknown
    scaled : powers of s by which the parameters change if the kernel is multiplied by s ...
    objective : ... and the power of s by which the objective then changes; None if unknown
    """

    symmetric: bool = True
    doubled: Mapping[str, float] | None = None
    scaled: Mapping[str, int] = field(default_factory=dict)
    objective: int | None = None


def setting(name: str, meaning: str) -> float:
    """Return a property of a formulation that reads the number ``name`` of its settings."""
    return property(lambda self: float(getattr(self.settings, name)), doc=meaning)  # type: ignore[return-value]


def read_only(values: Any) -> Vector:
    """Return a copy of the values, (n,) float64, that is not writeable."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


class Problem(ABC):
    """One training problem: a counted kernel over points, targets, and a formulation; solvers must not change it.

    Attributes
    ----------
    kernel : the counted oracle of the *dual's* kernel matrix (l2-svc: with its ridge)
    settings : the formulation's parameters; defaults that a restricted problem inherits are resolved
    targets : (n,) float64; labels -1 / +1, or real targets in regression; read-only

    A formulation is a subclass with its parameters, from which options, selections, descriptions and footnotes are made;
    the methods of its feasible set and its certificate; and ``laws`` and ``zoo``, with which solvers are tested. A plugin
    registers one by the hook ``harness_formulations``. It is independent of solvers.
    """

    name: ClassVar[str]  # the formulation's id
    task: ClassVar[str] = "classification"  # or "regression"
    metrics: ClassVar[tuple[str, ...]] = ()  # test metrics of every run, in addition to the accuracy of labels
    columns: ClassVar[tuple[Column, ...]] = ()  # columns that it adds to records and tables, see figures()
    parameter_class: ClassVar[type] = NoParameters  # frozen dataclass of the formulation's parameters (C, chi, D ...)
    constraints: ClassVar[str] = ""  # description of the feasible set for messages
    laws: ClassVar[Laws] = Laws()  # invariances of the optimum under changes of the data
    queries_targets: ClassVar[bool] = False  # True if targets are NaN until queried, see harness/run/target_server.py
    has_bias: ClassVar[bool] = True  # False: the intercept must be 0
    checks_zero_norm: ClassVar[bool] = True  # whether the certificate must decide if w = 0 despite rounding
    per_point: ClassVar[tuple[str, ...]] = ()  # further per-point arguments of the constructor, (n,)
    has_gap: ClassVar[bool] = True  # False if there is no optimum, or no bound of it
    bounded_from: ClassVar[Literal["", "below", "above"]] = ""  # the side of the primal's optimum with all dual values
    bounds_weights: ClassVar[bool] = False  # whether a linear model of weights has a gap too, see dual_point()
    has_core_set: ClassVar[bool] = False  # True for hulls: their certificate is a margin, see measure/core_set.py

    def __init_subclass__(cls) -> None:
        """Replace an inherited ``bounded_certificate`` in a subclass that overrides ``certificate`` only."""
        if "certificate" in cls.__dict__ and "bounded_certificate" not in cls.__dict__:
            cls.bounded_certificate = _of_scores_alone  # type: ignore[method-assign, assignment]

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        self.kernel = kernel
        self.targets: Vector = read_only(targets)
        if np.shape(targets) != (kernel.n,):
            raise ValueError(f"targets of shape {np.shape(targets)} for a kernel over {kernel.n} points")
        self.settings = settings

    def contents(self) -> dict[str, str]:
        """Return checksums by name, which are equal for equal problems."""
        checksums = {"kernel": f"{self.kernel.kernel!r} ridge={self.kernel.ridge!r}", "settings": repr(self.settings)}
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray):
                checksums[name] = f"{value.dtype.str}{value.shape} {zlib.crc32(np.ascontiguousarray(value).data):08x}"
        return checksums

    @classmethod
    def build(cls, kernel: KernelOracle, targets: Any, values: Mapping[str, Any] | None = None) -> Self:
        """Return the problem over ``kernel`` and ``targets`` with the formulation's parameters by name."""
        return cls(kernel, targets, cls.settings_of(values or {}))

    @classmethod
    def settings_of(cls, values: Mapping[str, Any]) -> Any:
        """Return the validated parameters of the formulation, selected by name from ``values``."""
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
        """Return the effective parameters: all but substitutes of parameters that are given."""
        replaced = {name for name, other in cls.stand_ins().items() if values.get(other) is not None}
        return {name: value for name, value in values.items() if name not in replaced}

    @classmethod
    def stand_ins(cls) -> dict[str, str]:
        """Return the parameters that substitute another one that is not given: name -> name of the other."""
        return {parameter.name: parameter.stands_for for parameter in cls.known_parameters() if parameter.stands_for}

    @classmethod
    def known_parameters(cls) -> tuple[Parameter, ...]:
        """Return the formulation's parameters with type, range, default and meaning."""
        declared: Any = cls.parameter_class  # as Any: the cache requires a Hashable, which a type is
        return parameters.parameters_of(declared)

    @classmethod
    def has_dual_form(cls) -> bool:
        """Return whether the formulation has a dual form, so that solvers of dual forms solve it."""
        return cls.dual_form is not Problem.dual_form

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        """Return small test problems of the formulation, with their optimum if it is known analytically.

        The default is the usual data for the task, with default parameters.
        """
        usual = cases.two_classes if cls.task == "classification" else cases.real_values
        return usual(cls)

    def counted(self, cache_mb: float = 256.0) -> Self:
        """Return the problem with a counted kernel, for a solver; the problem itself if its kernel is counted."""
        if isinstance(self.kernel, KernelOracle):
            return self
        counter = Counter()

        @functools.cache  # problems that share a kernel share its oracle
        def counting(engine: Any) -> Any:
            return KernelOracle(engine.kernel, None, engine=engine, cache_mb=cache_mb, counter=counter)

        return self._over(counting)

    def _over(self, replace_kernel: Callable[[Any], Any]) -> Self:
        """Return a copy with ``replace_kernel`` applied to its kernel, and to those of problems among its attributes."""
        problem = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Engine):
                problem.__dict__[name] = replace_kernel(value)
            elif isinstance(value, Problem):
                problem.__dict__[name] = value._over(replace_kernel)  # noqa: SLF001 - of the same class
        return problem

    def restrict(self, indices: Any) -> Problem:
        """Return the problem over the points ``indices``; its evaluations count to the same run."""
        indices = np.asarray(indices, dtype=np.intp)
        per_point = {name: getattr(self, name)[indices] for name in self.per_point}
        return type(self)(self.kernel.restrict(indices), self.targets[indices], self.settings, **per_point)

    def with_targets(self, targets: Any) -> Self:
        """Return the problem with other targets, (n,): NaN if unknown.

        For a formulation that queries targets, ``targets`` may be a callable, points -> targets, that answers the queries.
        """
        return type(self)(self.kernel, targets, self.settings, **{name: getattr(self, name) for name in self.per_point})

    @property
    def queried(self) -> Index:
        """Points whose targets were queried, (m,), in the order of their queries; empty unless :attr:`queries_targets`."""
        return np.zeros(0, dtype=np.intp)

    def dual_form(self) -> DualForm:
        """Return the box-constrained dual, for solvers of every formulation.

        Raises
        ------
        NotImplementedError : the formulation has no dual form.
        """
        raise NotImplementedError(f"formulation '{self.name}' has no dual form; override dual_form() to give it one.")

    def figures(self, run: CertifiedRun) -> Mapping[str, Any]:
        """Return the values of :attr:`columns` for a certified model, by name; missing names are unknown.

        A value may be a function without arguments, which the certifier calls; its exception becomes a sentence in the
        record's ``faults``, and the figure is unknown.
        """
        return {}

    def kkt_violation(self, dual_coef: Vector, scores: Vector) -> float:
        """Return the largest violation of the dual form's optimality conditions, in units of f(x); both (n,).

        With one fixed sum and ``linear`` = y, this is the tau of LASVM's tau-violating pairs.
        """
        form = self.dual_form()
        return form.violation(form.ends(form.split(dual_coef), form.gradient(scores), AT_BOUND))

    @abstractmethod
    def feasibility_violation(self, dual_coef: Vector) -> float:
        """Return the largest violation of the dual's constraints, relative to their scale; 0 if feasible."""

    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return the certificate from the coefficients and ``scores`` = K dual_coef, all (n,).

        K has the kernel's ridge: the model's f is ``scores`` - kernel.ridge * ``dual_coef`` + ``intercept``.
        """
        return self.bounded_certificate(dual_coef, intercept, self.expansion_of(dual_coef, scores))

    def bounded_certificate(self, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
        """Return the certificate from scores with bounds of their rounding.

        A formulation that cannot bound the rounding of its figures overrides only :meth:`certificate`; gap_rounding is
        None then.
        """
        raise NotImplementedError(f"formulation '{self.name}' has no certificate; override certificate().")

    def certify(
        self, dual_coef: Any, intercept: float, scores: Vector | None = None, *, tolerated_rounding: float = 0.0
    ) -> Certificate:
        """Compute the scores of all n points and return the certificate; counted like any other kernel values.

        The certificate is that of a feasible point, see :meth:`feasible`. If rounding makes the relative gap uncertain, the
        scores are computed again in higher precision, provided that this is affordable.

        scores : K dual_coef, (n,), as computed by ``kernel.expand``, to save its cost; None to compute it
        tolerated_rounding : rounding of the relative gap up to which the scores are not computed again
        """
        given = np.asarray(dual_coef, dtype=np.float64)
        coef = self.feasible(given)
        certificates = (
            self.bounded_certificate(coef, float(intercept), model)
            for model in expansions(self.kernel, coef, scores, given)
        )
        best = self._closest(certificates, tolerated_rounding)
        return best if coef is given else replace(best, feasibility_violation=self.feasibility_violation(given))

    def feasible(self, dual_coef: Vector) -> Vector:
        """Return feasible coefficients, (n,), near accepted ones; the same array if these are feasible.

        A small coefficient of the wrong sign on a far point can make a dual value that no feasible point has. Coefficients
        beyond the tolerance, which :meth:`checked` refuses, are returned unchanged.
        """
        if not self.has_dual_form() or not self.feasibility_violation(dual_coef) <= FEASIBLE:
            return dual_coef
        return self.dual_form().repaired(dual_coef)

    def gap_scale(self, primal: Bounded) -> Bounded:
        """Return the scale of the relative gap: |primal|, so that the gap does not depend on the units of the data.

        If the optimum is 0, the scale is a small fraction of the extent of the dual form, see :meth:`DualForm.gap_scale`.
        """
        least = self.dual_form().gap_scale(0.0) if self.has_dual_form() else 0.0
        return abs(primal).at_least(least)

    def _closest(self, certificates: Iterator[Certificate], tolerated_rounding: float = 0.0) -> Certificate:
        """Return the most precise of ``certificates``, which are ordered by cost; stop at the first that is precise enough."""
        best = Certificate(undecidable="not computed.")
        with np.errstate(all="ignore"):
            for latest in certificates:
                if not isinstance(latest, Certificate):
                    kind = type(latest).__name__
                    raise PluginError(f"formulation '{self.name}' certified a {kind}; return a harness.Certificate.")
                best = latest if latest.is_closer_than(best) else best
                if best.settled or (np.inf if best.gap_rounding is None else best.gap_rounding) <= tolerated_rounding:
                    break
        return best

    # -- models that are no dual solution --------------------------------------------------------------

    def primal_of(self, squared: Bounded, scores: Bounded, intercept: float) -> Bounded | None:
        """Return the primal value of f(x_i) = scores_i + intercept, (n,), with |w|^2 = ``squared``; None if there is none.

        Both are without the kernel's ridge, whose part of the primal follows from the scores.
        """
        return None

    @classmethod
    def suboptimality(cls, primal: float, dual: float) -> float | None:
        """Return how far a primal value is from the optimum at most, by the dual value of any feasible point of the problem.

        It is (P - D) / |P| of a minimised primal, and (D - P) / D of a maximised one: the relative gap of a model with both
        values. None if :attr:`bounded_from` is empty, as where the problem is not convex and a dual value bounds no other model, or
        if the scale is 0 and the values differ.
        """
        distance = dual - primal if cls.bounded_from == "above" else primal - dual
        scale = abs(dual if cls.bounded_from == "above" else primal)
        if not cls.bounded_from or not scale:
            return 0.0 if cls.bounded_from and not distance else None
        return distance / scale

    def dual_of(self, dual_coef: Vector, model: Expansion) -> Bounded:
        """Return the dual value of coefficients."""
        raise NotImplementedError(f"formulation '{self.name}' has no bounds of weights; override dual_of().")

    def dual_point(self, model: Expansion, intercept: float) -> Vector:
        """Return coefficients, (n,), feasible up to rounding, with a dual value near the optimum if the model is near it."""
        from harness.problems.dual_point import dual_point

        primal = self.primal_of(model.squared, model.scores, intercept)
        assert primal is not None
        points, scores = self.kernel.points, model.scores.value
        return dual_point(self.dual_form(), points, scores, intercept, float(primal.value))

    def certificate_with_dual(self, primal: Bounded, dual_coef: Vector, model: Expansion) -> Certificate:
        """Return the certificate of a primal value and a dual point, whose expansion is ``model``."""
        return Certificate.of_objectives(primal, self.dual_of(dual_coef, model), scale=self.gap_scale(primal))

    def certify_weights(self, weights: Vector, intercept: float) -> Certificate:
        """Return the certificate of f(x) = <weights, x> + intercept: its primal, and a gap if :attr:`bounds_weights`.

        It is empty if the kernel is not linear, or if the model has an intercept and the problem no bias. The gap is that to
        a dual point that the host computes; violations by coefficients are not reported.
        """
        if not self.kernel.is_linear or (intercept and not self.has_bias):
            return Certificate()

        def primal(dtype: Any) -> Bounded | None:
            model = of_weights(self.kernel, weights, dtype)
            return self.primal_of(model.squared, model.scores, intercept)

        with np.errstate(all="ignore"):
            if not self.bounds_weights:
                return Certificate.of_primal(primal(np.float64))
            coef = self.feasible(self.dual_point(of_weights(self.kernel, weights, np.float64), intercept))
        return self._closest(
            self.certificate_with_dual(primal(model.scores.value.dtype), coef, model)  # type: ignore[arg-type]
            for model in expansions(self.kernel, coef)
        )

    def certificate_cost(self, support: int) -> int:
        """Return the approximate number of kernel values for the certificate of a model with ``support`` support vectors."""
        return self.n * max(1, support)

    def largest_diagonal(self) -> float:
        """Return the largest k(x_i, x_i); costs n kernel evaluations unless the diagonal is cached."""
        return float(self.kernel.diagonal().max())

    def checked(self, dual_coef: Any, intercept: Any, *, tolerance: float = FEASIBLE) -> tuple[Vector, float]:
        """Return the model as float64; raise InvalidModel if it is invalid.

        Raises
        ------
        InvalidModel : wrong shape or type, NaN or infinity, or constraints violated by more than ``tolerance``.
        """
        try:
            given = np.asarray(dual_coef)
            numbers = given.dtype.kind == "O" and all(isinstance(value, (int, float)) for value in given.flat)
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
        """Return a sentence for the coefficient farthest beyond its bounds, and one for each wrong sum."""
        if not self.has_dual_form():
            return ""
        form, message = self.dual_form(), ""
        a = form.split(coef)
        beyond = np.maximum(form.lower - a, a - form.upper)
        v = int(np.argmax(beyond))
        if beyond[v] > tolerance * (form.upper[v] - form.lower[v]):
            i, bounds = v % self.n, f"[{form.lower[v]:g}, {form.upper[v]:g}]"
            message = f" dual_coef[{i}] = {a[v]:.3g}, where y = {self.targets[i]:g}, must be in {bounds}."
        # if two groups share their points, coefficients do not determine the sum of each
        for k in range(form.groups if form.groups < 2 or form.copies == 1 else 0):
            total, expected = (float(values[form.group == k].sum()) for values in (a, form.start))
            if abs(total - expected) > tolerance * max(abs(expected), float(np.abs(a).sum())):
                of = f" of class {1 - 2 * k:+}" if form.groups == 2 else ""
                message += f" sum dual_coef{of} = {total:.3g}, not {expected:g}."
        return message

    def refuse_intercept(self, intercept: float) -> None:
        """Raise InvalidModel if the formulation has no bias and the intercept is not 0."""
        if intercept != 0.0 and not self.has_bias:
            raise InvalidModel(f"the intercept is {intercept}; {self.name} has none: it must be 0.")

    def scores_new(self, dual_coef: Vector, intercept: float, points: Any) -> Vector:
        """Return f(z) for new points z, for the metrics; counted like any other kernel values."""
        return self.decision_values(self.kernel.expand_new(dual_coef, points), dual_coef, intercept)

    def decision_values(self, sums: Vector, dual_coef: Vector, intercept: float) -> Vector:
        """Return f = ``sums`` + intercept, where ``sums`` are sum_j dual_coef_j k(x_j, x) without the ridge.

        A value that may be rounding of 0 is 0, so that its label does not depend on the order of a sum.
        """
        values = sums + intercept
        # a linear kernel sums w, with other rounding than sums of k(x_j, x)
        largest = 0.0 if self.kernel.is_linear else self.largest_diagonal() - self.kernel.ridge
        size = abs(intercept) + largest * float(np.abs(dual_coef).sum())
        return np.where(np.abs(values) <= _ROUNDING_OF_ZERO * size, 0.0, values)

    def of_objectives(
        self, dual_coef: Vector, model: Expansion, primal: Bounded, dual: Bounded, **further: Any
    ) -> Certificate:
        """Return the certificate of a model with these objectives; ``further`` may have the scale of the gap."""
        further.setdefault("scale", self.gap_scale(primal))
        return Certificate.of_objectives(
            primal,
            dual,
            kkt_violation=self.kkt_violation(dual_coef, model.scores.value),
            feasibility_violation=self.feasibility_violation(dual_coef),
            rounding_known=model.known,
            **further,
        )

    def of_objectives_of_length(
        self, dual_coef: Vector, model: Expansion, primal: Bounded, total: float
    ) -> Certificate:
        """Return the certificate for the dual -1/2 |w|^2, which is the scale of the gap.

        If w = 0 is the optimum, the scale is the largest k(x, x) / 2, times ``total``^2, sum |coef| squared.
        """
        if not model.has_direction and not model.vanishes:
            return Certificate(
                undecidable=undecided(model),
                kkt_violation=self.kkt_violation(dual_coef, model.scores.value),
                feasibility_violation=self.feasibility_violation(dual_coef),
            )
        half = model.squared * 0.5
        scale = half if model.has_direction else 0.5 * total**2 * (self.largest_diagonal() or 1.0)
        return self.of_objectives(dual_coef, model, primal, -half, scale=scale)

    def expansion_of(self, dual_coef: Vector, scores: Vector, largest: float | None = None) -> Expansion:
        """Return the expansion for a certificate from ``scores`` only, whose error is unknown.

        The largest k(x, x) decides whether w may be 0 up to rounding; with a ridge w is never 0.

        largest : the largest k(x, x), if known, to save computing the diagonal
        """
        if self.kernel.ridge or not self.checks_zero_norm:
            return Expansion.of_scores(dual_coef, scores)
        largest = self.largest_diagonal() if largest is None else largest
        return Expansion.of_scores(dual_coef, scores, _IN_DOUBT * largest)


def _of_scores_alone(problem: Problem, dual_coef: Vector, intercept: float, model: Expansion) -> Certificate:
    return problem.certificate(dual_coef, intercept, model.scores.value)
