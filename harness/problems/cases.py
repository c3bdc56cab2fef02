"""What the formulations' zoos are made of: a case, the data that break solvers, and the usual cases over them.

The sizes are 2 to 60 points, so that a whole suite takes seconds and the exact oracle milliseconds. Each formulation
has its own zoo, :meth:`harness.Problem.zoo`; a plugin's is made of the same things.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.functions import RBF, Kernel, Linear
from harness.kernels.oracle import KernelOracle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.support.arrays import Vector

    Maker = Callable[..., "Case"]


@dataclass(frozen=True, eq=False)
class Case:
    """One problem of the zoo, as a recipe: :meth:`problem` states it afresh, with its own counter and cache.

    x : (n, d) dense or CSR points, (n, n) kernel values for ``precomputed``
    optimum : the dual objective at the solution where it is known by hand, else None
    tags : what the case is about, e.g. ``opposite`` (one point, two labels), ``protocol`` (used by the cheap checks),
        ``meets`` (hulls that meet: w = 0, which a solver may call done or not, and no gap tells)
    cache_mb : memory for kernel rows, MB of 2^20 bytes
    """

    name: str
    formulation: type[Any]
    x: Any
    y: Vector
    kernel: Kernel
    values: Mapping[str, Any] = field(default_factory=dict)
    optimum: float | None = None
    tags: frozenset[str] = frozenset()
    cache_mb: float = 1.0

    @classmethod
    def of(
        cls,
        formulation: type[Any],
        name: str,
        x: Any,
        y: Any,
        kernel: Kernel,
        values: Mapping[str, Any],
        *tags: str,
        optimum: float | None = None,
    ) -> Case:
        """Return the case of that name; ``partial(Case.of, MyFormulation)`` makes the cases of a zoo."""
        return cls(name, formulation, x, np.asarray(y, dtype=np.float64), kernel, values, optimum, frozenset(tags))

    def __str__(self) -> str:
        return f"{self.formulation.name}:{self.name}"

    def problem(self) -> Any:
        """State the problem over a copy of the data: a solver that writes into them spoils no other check."""
        kernel = KernelOracle(self.kernel, self.x.copy(), cache_mb=self.cache_mb)
        targets = self.y.__getitem__ if self.formulation.queries_targets else self.y
        return self.formulation.build(kernel, targets, self.values)

    @property
    def linear(self) -> bool:
        """True if the kernel is the inner product of the points."""
        return isinstance(self.kernel, Linear)

    def multiplied(self, factors: Mapping[str, float]) -> dict[str, Any]:
        """Return the parameters, those of ``factors`` multiplied; what the problem settles by itself is set here."""
        settled = self.problem().parameters
        found = {name: settled[name] * factor for name, factor in factors.items() if settled[name] is not None}
        return {**self.values, **found}

    def changed(self, **changes: Any) -> Case:
        """Return the case with other data, kernel or values; a known optimum is forgotten."""
        return replace(self, optimum=None, **changes)


def two_classes(
    formulation: type[Any],
    hard: Mapping[str, Any] | None = None,
    soft: Mapping[str, Any] | None = None,
    *,
    pair: float | None = None,
    three: float | None = None,
    opposite: bool = True,
) -> list[Case]:
    """Return the usual cases of two classes.

    Parameters
    ----------
    hard, soft : parameters for data that can be separated, and for those that cannot
    pair, three : the optimum of (0, 1), labelled +1, and (0, -1), labelled -1; and with (0, 3), labelled +1, beside them
    opposite : whether points that have both labels make a problem
    """
    hard, soft = hard or {}, soft or {}
    case: Maker = functools.partial(Case.of, formulation)
    linear, rbf = Linear(), RBF(gamma=0.5)
    x, y = separable(16)
    overlap, mixed = overlapping(40)
    xor = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    few, labels = overlap[:12], mixed[:12]
    alone = np.concatenate([[0], np.flatnonzero(mixed < 0)])
    found = [
        case("pair", PAIR, [1, -1], linear, hard, "protocol", optimum=pair),
        case("three-points", np.array([[0.0, 1.0], [0.0, 3.0], [0.0, -1.0]]), [1, 1, -1], linear, hard, optimum=three),
        case("separable", x, y, linear, hard, "protocol"),
        case("constant-feature", with_constant(x), y, linear, hard),
        case("one-point-of-a-class", overlap[alone], np.where(np.arange(len(alone)) == 0, 1, -1), rbf, soft),
        case("duplicates", np.concatenate([few, few]), [*labels, *labels], rbf, soft),
        case("xor", xor, [1, 1, -1, -1], rbf, soft),
        case("overlapping", overlap, mixed, rbf, soft, "protocol"),
    ]
    if opposite:  # three points in both classes: reduced hulls stay apart
        found.append(
            case("opposite-labels", np.concatenate([few, few[:3]]), [*labels, *-labels[:3]], rbf, soft, "opposite")
        )
    return found


def real_values(
    formulation: type[Any], hard: Mapping[str, Any] | None = None, soft: Mapping[str, Any] | None = None
) -> list[Case]:
    """Return the usual cases of regression: ``hard`` are the parameters for data on a plane, ``soft`` for a noisy curve."""
    hard, soft = hard or {}, soft or {}
    case: Maker = functools.partial(Case.of, formulation)
    rbf = RBF(gamma=0.5)
    plane, _ = separable(16)
    x, y = curve(40)
    steep = 2.0 * plane[:, 0] - plane[:, 1] + 3.0
    few, values = x[:12], y[:12]
    return [
        case("plane", plane, steep, Linear(), hard, "protocol"),
        case("constant-feature", with_constant(plane), steep, Linear(), hard),
        case("duplicates", np.concatenate([few, few]), [*values, *values], rbf, soft),
        case("opposite-targets", np.concatenate([few, few[:3]]), [*values, *(values[:3] + 2.0)], rbf, soft, "opposite"),
        case("curve", x, y, rbf, soft, "protocol"),
    ]


def away_from_the_origin(formulation: type[Any], values: Mapping[str, Any], *, optimum: float) -> list[Case]:
    """Return the usual cases of one class; ``optimum`` is that of a pair, and of three points, whose w is (1, 0).

    With the linear kernel points around the origin would have w = 0.
    """
    case: Maker = functools.partial(Case.of, formulation)
    linear, rbf = Linear(), RBF(gamma=0.5)
    x, y = separable(16)
    x = x + np.array([3.0, 0.0])
    cloud, labels = overlapping(40)
    few = cloud[:12]
    three = np.array([[1.0, 1.0], [1.0, -1.0], [4.0, 0.0]])
    return [
        case("pair", three[:2], [1, -1], linear, values, "protocol", optimum=optimum),
        case("three-points", three, [1, 1, -1], linear, values, optimum=optimum),
        case("half-plane", x, y, linear, values, "protocol"),
        case("constant-feature", with_constant(x), y, linear, values),
        case("duplicates", np.concatenate([few, few]), [*labels[:12], *labels[:12]], rbf, values),
        case("cloud", cloud, labels, rbf, values, "protocol"),
    ]


PAIR = np.array([[0.0, 1.0], [0.0, -1.0]])


def with_constant(x: Vector) -> Vector:
    """Return the points with a further feature that is 3 everywhere."""
    return np.column_stack([x, np.full(len(x), 3.0)])


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
