"""A small zoo of problems: each formulation with the data that break solvers.

The sizes are 2 to 60 points, so that a whole suite takes seconds and the exact oracle milliseconds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.functions import RBF, Kernel, Linear
from harness.kernels.oracle import KernelOracle
from harness.problems.hulls import HardMargin
from harness.problems.one_class import OneClass
from harness.problems.polytope_distance import PolytopeDistance
from harness.problems.ramp import RampSVC
from harness.problems.tube_svr import TubeSVR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.problems.problem import Problem

    Vector = np.ndarray[Any, np.dtype[np.float64]]

_PRICES = ("C", "chi", "D")  # parameters that are shared out when points are duplicated


@dataclass(frozen=True, eq=False)
class Case:
    """One problem of the zoo, as a recipe: :meth:`problem` states it afresh, with its own counter and cache.

    x : (n, d) dense or CSR points, (n, n) kernel values for ``precomputed``
    optimum : the dual objective at the solution where it is known by hand, else None
    tags : what the case is about, e.g. ``opposite`` (one point, two labels), ``protocol`` (used by the cheap checks),
        ``meets`` (hulls that meet: w = 0, which a solver may call done or not, and no gap tells)
    """

    name: str
    formulation: type[Problem]
    x: Any
    y: Vector
    kernel: Kernel
    values: Mapping[str, Any] = field(default_factory=dict)
    optimum: float | None = None
    tags: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.formulation.name}:{self.name}"

    def problem(self) -> Problem:
        """State the problem over a copy of the data: a solver that writes into them spoils no other check."""
        return self.formulation.build(KernelOracle(self.kernel, self.x.copy(), cache_mb=1.0), self.y, self.values)

    @property
    def linear(self) -> bool:
        """True if the kernel is the inner product of the points."""
        return isinstance(self.kernel, Linear)

    @property
    def cost(self) -> str:
        """The parameter that bounds or penalises a violation: C, chi or D; empty if there is none."""
        known = self.formulation.parameter_class.__dataclass_fields__  # type: ignore[attr-defined]
        return next((name for name in reversed(_PRICES) if name in known), "")

    def price(self) -> float | None:
        """The value of :attr:`cost` as the formulation settled it, None if there is none."""
        if not self.cost:
            return None
        problem: Any = self.problem()
        return float(problem.cap if self.cost == "D" else getattr(problem, self.cost))

    def changed(self, **changes: Any) -> Case:
        """Return the case with other data, kernel or values; a known optimum is forgotten."""
        return replace(self, optimum=None, **changes)


def zoo(formulations: Iterable[type[Problem]]) -> list[Case]:
    """Return the cases of every formulation in turn."""
    return [case for formulation in formulations for case in _cases(formulation)]


@functools.cache  # the same objects for every suite, so that the exact oracle is asked once for each
def _cases(formulation: type[Problem]) -> list[Case]:
    if formulation is TubeSVR:
        return _tube_cases()
    if formulation.task == "regression":
        return _regression_cases(formulation)
    if formulation is OneClass:
        return _one_class_cases()
    if formulation is PolytopeDistance:
        return _polytope_cases()
    return _two_class_cases(formulation)


def _two_class_cases(formulation: type[Problem]) -> list[Case]:
    known = {"c-svc": 0.5, "c-svc-nobias": 0.5, "hard-margin": 2.0, "reduced-hull": 2.0, "l2-svc": 2.1}
    has_cost = "C" in formulation.parameter_class.__dataclass_fields__  # type: ignore[attr-defined]
    hard: dict[str, Any] = {"C": 10.0} if has_cost else {}
    soft: dict[str, Any] = {"C": 1.0} if has_cost else {}
    linear, rbf = Linear(), RBF(gamma=0.5)

    def case(
        name: str, x: Any, y: Any, kernel: Kernel, values: Mapping[str, Any], *tags: str, optimum: float | None = None
    ) -> Case:
        return Case(name, formulation, x, np.asarray(y, dtype=np.float64), kernel, values, optimum, frozenset(tags))

    pair = np.array([[0.0, 1.0], [0.0, -1.0]])
    three = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, -1.0]])
    x, y = separable(16)
    overlap, mixed = overlapping(40)
    xor = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    constant = np.column_stack([x, np.full(len(x), 3.0)])
    doubled = np.concatenate([overlap[:12], overlap[:12]])
    alone = np.concatenate([[0], np.flatnonzero(mixed < 0)])
    found = [
        case("pair", pair, [1, -1], linear, hard, "protocol", optimum=known.get(formulation.name)),
        case(
            "three-points",
            three,
            [1, 1, -1],
            linear,
            hard,
            optimum=None if formulation.name == "l2-svc" else known.get(formulation.name),
        ),
        case("separable", x, y, linear, hard, "protocol"),
        case("constant-feature", constant, y, linear, hard),
        case("one-point-of-a-class", overlap[alone], np.where(np.arange(len(alone)) == 0, 1, -1), rbf, soft),
        case("duplicates", doubled, np.concatenate([mixed[:12], mixed[:12]]), rbf, soft),
        case("xor", xor, [1, 1, -1, -1], rbf, soft),
        case("overlapping", overlap, mixed, rbf, soft, "protocol"),
    ]
    if formulation is RampSVC:  # far on the wrong side: beyond s
        wrong = np.where(np.arange(16) < 4, -y, y)
        found.append(case("outliers", 2.0 * x, wrong, rbf, soft, "protocol", "outliers"))
    if formulation is not HardMargin:  # the hulls would touch: w = 0, and no direction to certify
        both = np.concatenate([overlap[:12], overlap[:3]])  # three points in both classes: reduced hulls stay apart
        found.append(case("opposite-labels", both, np.concatenate([mixed[:12], -mixed[:3]]), rbf, soft, "opposite"))
    return found


def _real_valued(
    formulation: type[Problem],
    name: str,
    x: Any,
    y: Any,
    kernel: Kernel,
    values: Mapping[str, Any],
    *tags: str,
    optimum: float | None = None,
) -> Case:
    return Case(name, formulation, x, np.asarray(y, dtype=np.float64), kernel, values, optimum, frozenset(tags))


def _regression_cases(formulation: type[Problem]) -> list[Case]:
    case = functools.partial(_real_valued, formulation)
    linear, rbf = Linear(), RBF(gamma=0.5)
    hard, soft = {"C": 10.0, "epsilon": 0.1}, {"C": 1.0, "epsilon": 0.1}

    pair = np.array([[0.0, 1.0], [0.0, -1.0]])
    plane, _ = separable(16)
    x, y = curve(40)
    steep = 2.0 * plane[:, 0] - plane[:, 1] + 3.0
    return [
        case("pair", pair, [1.0, -1.0], linear, hard, "protocol", optimum=0.405),  # w = 0.9: inside the tube
        case("plane", plane, steep, linear, hard, "protocol"),
        case("constant-feature", np.column_stack([plane, np.full(16, 3.0)]), steep, linear, hard),
        case("constant-target", x, np.full(40, 5.0), rbf, soft, optimum=0.0),
        case("inside-the-tube", x, y, rbf, {"C": 1.0, "epsilon": 100.0}, optimum=0.0),
        case("without-tube", x, y, rbf, {"C": 1.0, "epsilon": 0.0}),
        case("one-outlier", x, np.where(np.arange(40) == 3, 50.0, y), rbf, soft),
        case("duplicates", np.concatenate([x[:12], x[:12]]), np.concatenate([y[:12], y[:12]]), rbf, soft),
        case("opposite-targets", np.concatenate([x[:12], x[:3]]), [*y[:12], *(y[:3] + 2.0)], rbf, soft, "opposite"),
        case("curve", x, y, rbf, soft, "protocol"),
    ]


def _tube_cases() -> list[Case]:
    case = functools.partial(_real_valued, TubeSVR)
    linear, rbf = Linear(), RBF(gamma=0.5)
    hard, soft = {"epsilon": 2.0, "D": 1.0}, {"epsilon": 0.5, "D": 0.1}

    pair = np.array([[0.0, 1.0], [0.0, -1.0]])
    plane, _ = separable(16)
    x, y = curve(40)
    steep = 2.0 * plane[:, 0] - plane[:, 1] + 3.0 + 0.3 * np.cos(np.arange(16))
    return [
        # the shifted points lie on y = x + 1/2 and y = x - 1/2, which are 1 / sqrt(2) apart
        case("pair", pair, [1.0, -1.0], linear, {"epsilon": 0.5, "D": 1.0}, "protocol", optimum=0.25),
        case("hard-plane", plane, steep, linear, hard, "protocol"),
        case("soft-plane", plane, steep, linear, {"epsilon": 1.0, "D": 0.25}),
        case("a-cap-for-each-side", plane, steep, linear, {"epsilon": 1.0, "D": 0.5, "D_minus": 0.125}),
        case("constant-feature", np.column_stack([plane, np.full(16, 3.0)]), steep, linear, hard),
        case("constant-target", x, np.full(40, 5.0), rbf, soft, optimum=0.5),  # w = 0, sigma = 2 epsilon
        case("every-point-at-the-cap", x, y, rbf, {"epsilon": 0.5, "D": 1.0 / 40.0}, optimum=0.5),
        case("no-tube", plane, steep, linear, {"epsilon": 0.01, "D": 1.0}, "meets", optimum=0.0),
        case("one-outlier", x, np.where(np.arange(40) == 3, 5.0, y), rbf, soft),
        case("duplicates", np.concatenate([x[:12], x[:12]]), np.concatenate([y[:12], y[:12]]), rbf, soft),
        case("opposite-targets", np.concatenate([x[:12], x[:3]]), [*y[:12], *(y[:3] + 2.0)], rbf, hard, "opposite"),
        case("hard-curve", x, y, rbf, hard),
        case("soft-curve", x, y, rbf, soft, "protocol"),
    ]


def _one_class_cases() -> list[Case]:
    linear, rbf = Linear(), RBF(gamma=0.5)

    def case(name: str, x: Any, y: Any, kernel: Kernel, nu: float, *tags: str, optimum: float | None = None) -> Case:
        return Case(name, OneClass, x, np.asarray(y, dtype=np.float64), kernel, {"nu": nu}, optimum, frozenset(tags))

    away = np.array([3.0, 0.0])  # with the linear kernel points around the origin have w = 0
    x, y = separable(16)
    x = x + away
    overlap, mixed = overlapping(40)
    return [
        case("pair", np.array([[1.0, 1.0], [1.0, -1.0]]), [1, -1], linear, 0.5, "protocol", optimum=-0.5),  # w = (1, 0)
        case("three-points", np.array([[1.0, 1.0], [1.0, -1.0], [4.0, 0.0]]), [1, 1, -1], linear, 0.3, optimum=-0.5),
        case("half-plane", x, y, linear, 0.3, "protocol"),
        case("constant-feature", np.column_stack([x, np.full(len(x), 3.0)]), y, linear, 0.3),
        case("every-point-at-the-cap", overlap, mixed, rbf, 1.0),
        case("cap-out-of-reach", overlap, mixed, rbf, 0.01),
        case("duplicates", np.concatenate([overlap[:12], overlap[:12]]), [*mixed[:12], *mixed[:12]], rbf, 0.5),
        case("cloud", overlap, mixed, rbf, 0.3, "protocol"),
    ]


def _polytope_cases() -> list[Case]:
    linear, rbf = Linear(), RBF(gamma=0.5)

    def case(name: str, x: Any, kernel: Kernel, *tags: str, optimum: float | None = None) -> Case:
        y = np.where(np.arange(x.shape[0]) % 2 == 0, 1.0, -1.0)
        return Case(name, PolytopeDistance, x, y, kernel, {}, optimum, frozenset(tags))

    away = np.array([3.0, 0.0])  # with the linear kernel points around the origin have w = 0
    x, cloud = separable(16)[0] + away, overlapping(40)[0]
    line = np.outer(np.arange(1.0, 6.0), [1.0, 1.0])
    return [
        case("pair", np.array([[1.0, 1.0], [1.0, -1.0]]), linear, "protocol", optimum=0.5),  # w = (1, 0)
        case("three-points", np.array([[1.0, 1.0], [1.0, -1.0], [4.0, 0.0]]), linear, optimum=0.5),
        case("line-through-the-origin", line, linear, optimum=1.0),
        case("half-plane", x, linear, "protocol"),
        case("constant-feature", np.column_stack([x, np.full(len(x), 3.0)]), linear),
        case("duplicates", np.concatenate([cloud[:12], cloud[:12]]), rbf),
        case("cloud", cloud, rbf, "protocol"),
    ]


def curve(n: int, seed: int = 7) -> tuple[Vector, Vector]:
    """Return n points in the plane and a noisy function of them that no tube of 0.1 holds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] + 0.2 * rng.normal(size=n)


def separable(n: int, seed: int = 3) -> tuple[Vector, Vector]:
    """Return n points of two classes in the plane, at least 1 apart along the first axis."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    x = rng.normal(size=(n, 2)) * 0.5
    x[:, 0] = y * (0.5 + np.abs(x[:, 0]))
    return x, y


def overlapping(n: int, seed: int = 5) -> tuple[Vector, Vector]:
    """Return n points of two overlapping Gaussians in three dimensions."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, 3)) + 0.6 * y[:, None], y


def csr(x: Any) -> Any:
    """Return dense points as a CSR array."""
    import scipy.sparse

    return scipy.sparse.csr_array(x)
