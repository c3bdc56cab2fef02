"""A plugin for the benchmark alone: the data source ``drawn``, problems that nobody tuned for, and the solver ``limit``.

A draw is identified by its family, n, d, noise, seed and number; C and gamma, the data's defaults, do not change the points.
``harness compare --plugin-path reports/peers/families.py 'drawn[family=heavy,n=2000,d=3]' smo-block,libsvm`` runs one.

Source: none; the teacher is the one that the first maps were measured with.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from harness import CSVC, Dataset, DataSource, Iterate, Problem, Solver, content_sha256, get_solver, hookimpl, parameter
from harness.problems import EpsSVR

Family = Literal["teacher", "mixture", "binary", "heavy", "imbalance", "duplicates", "scaled", "regression"]
FAMILIES: tuple[Family, ...] = get_args(Family)

BUMPS = 12  # Gaussians whose sum is the teacher
COMPONENTS = 8  # of a class of the mixtures
VALUES = 10  # of a categorical feature of the binary family
COPIES = 4  # of each point of the duplicates
RARE = 30  # negatives per positive of the imbalanced family
EPSILON = 0.1  # half the width of the tube of regression, where the clean targets have unit variance

_CENTRES, _WITHIN = 1.5, 0.5  # standard deviations of the mixtures' centres, and of the points around them
_DEGREES = 3.0  # of freedom of Student's t: the least whole number with a finite variance


class Sample(NamedTuple):
    """What a family draws.

    x : (n, d') points
    value : (n,) what the label is decided by, or the target without noise
    spread : sum of the variances of the features, so half the mean squared distance of two points
    """

    x: Any
    value: Any
    spread: float


def teacher(z: Any, rng: np.random.Generator) -> Any:
    """Return a sum of twelve wide Gaussians with normal centres and weights at the points ``z`` (n, d), which are standardised."""
    d = z.shape[1]
    centres, weights = rng.normal(size=(BUMPS, d)), rng.normal(size=BUMPS)
    bumps = np.stack([np.exp(-((z - centre) ** 2).sum(-1) / (2 * d)) for centre in centres], axis=1)
    return (bumps * weights).sum(axis=1)  # no BLAS: its bits may depend on the number of threads


def _teacher(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Normal points, labelled by the teacher; also ``imbalance`` and ``regression``."""
    x = rng.normal(size=(n, d))
    return Sample(x, teacher(x, rng), float(d))


def _mixture(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Eight normal clouds for each class: they overlap where d is small."""
    label = rng.permutation(np.arange(n) % 2)
    component = rng.integers(COMPONENTS, size=n)
    centres = _CENTRES * rng.normal(size=(2, COMPONENTS, d))
    x = centres[label, component] + _WITHIN * rng.normal(size=(n, d))
    return Sample(x, label.astype(np.float64), float(x.var(axis=0).sum()))


def _binary(n: int, d: int, rng: np.random.Generator) -> Sample:
    """``d`` categorical features of ten values, some of them rare, as 10 d columns of 0 and 1 in CSR."""
    import scipy.sparse

    chance = 1.0 / np.arange(1, VALUES + 1)
    value = np.stack([rng.choice(rng.permutation(VALUES), n, p=chance / chance.sum()) for _ in range(d)], axis=1)
    columns = value + VALUES * np.arange(d)
    x = scipy.sparse.csr_array((np.ones(n * d), columns.ravel(), np.arange(0, n * d + 1, d)), shape=(n, VALUES * d))
    first, second = rng.normal(size=(2, VALUES * d))[:, columns].sum(axis=-1) / np.sqrt(d)
    share = np.bincount(columns.ravel(), minlength=VALUES * d) / n
    return Sample(x, first + first * second, float((share * (1.0 - share)).sum()))


def _heavy(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Student's t with three degrees of freedom, scaled to unit variance."""
    x = rng.standard_t(_DEGREES, size=(n, d)) / np.sqrt(_DEGREES / (_DEGREES - 2.0))
    return Sample(x, teacher(x, rng), float(d))


def _duplicates(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Each point four times: half of them exactly, half moved by 1e-6 to 1e-3; in any order."""
    base = rng.normal(size=(-(-n // COPIES), d))
    which = rng.permutation(np.arange(n) // COPIES)
    value = teacher(base, rng)[which]
    size = 10.0 ** rng.uniform(-6.0, -3.0, n) * (rng.random(n) < 0.5)
    return Sample(base[which] + size[:, None] * rng.normal(size=(n, d)), value, float(d))


def _scaled(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Normal features of scales from 1e-3 to 1e3, a quarter of them (one at least) constant, none scaled by anybody.

    The teacher sees distances as the kernel does.
    """
    scale = 10.0 ** rng.uniform(-3.0, 3.0, d)
    constant = rng.permutation(d) < max(1, d // 4)
    shift = scale * rng.normal(size=d)
    moving = np.where(constant, 0.0, scale)
    offset = moving * rng.normal(size=(n, d))
    spread = float((moving**2).sum())
    return Sample(shift + offset, teacher(offset * np.sqrt(d / spread), rng), spread)


_DRAWN: dict[Family, Callable[[int, int, np.random.Generator], Sample]] = {
    "teacher": _teacher, "mixture": _mixture, "binary": _binary, "heavy": _heavy, "imbalance": _teacher,
    "duplicates": _duplicates, "scaled": _scaled, "regression": _teacher,
}  # fmt: skip


def labels(value: Any, share: float, noise: float, rng: np.random.Generator) -> Any:
    """Return +1 above the quantile that leaves ``share`` of the points to +1, else -1; then as many of each class change sides.

    noise : share of the smaller class that does
    """
    y = np.where(value > np.quantile(value, 1.0 - share), 1.0, -1.0)
    classes = [np.flatnonzero(y == sign) for sign in (-1.0, 1.0)]
    flipped = round(noise * min(map(len, classes)))
    for members in classes:
        y[rng.choice(members, flipped, replace=False)] *= -1.0
    return y


@dataclass(frozen=True)
class Drawn(DataSource):
    """A problem of a family: the same parameters give the same bits.

    gamma is ``width`` over the sum of the features' variances: with ``width`` 1/2 the mean point has a kernel value of 1/e
    with another one.
    """

    name = "drawn"
    description = (
        "Problems of eight families drawn from a seed, for a study; +1 is above a quantile of the family's rule."
    )
    family: Family = parameter("teacher", "what the points and labels are drawn by")  # noqa: RUF009  a Literal
    n: int = parameter(2000, "training points", ge=2)
    d: int = parameter(3, "features, of the binary family ten columns each", ge=1)
    noise: float = parameter(
        0.0, "share of the labels that are wrong; of regression, of the variance that is noise", ge=0, lt=0.5
    )
    cost: float = parameter(1.0, "C", gt=0)
    width: float = parameter(0.2, "gamma times the sum of the variances of the features", gt=0)
    seed: int = parameter(0, "seed of the map", ge=0)
    draw: int = parameter(0, "number of the draw", ge=0)

    def load(self) -> Dataset:
        rng = np.random.default_rng([self.seed, self.draw])
        sample = _DRAWN[self.family](self.n, self.d, rng)
        defaults: dict[str, Any] = {"kernel": "rbf", "gamma": self.width / sample.spread, "C": self.cost}
        if self.family == "regression":
            clean = (sample.value - sample.value.mean()) / sample.value.std()
            y = clean + np.sqrt(self.noise) * rng.normal(size=self.n)
            defaults["epsilon"] = EPSILON
        else:
            share = 1.0 / (1.0 + RARE) if self.family == "imbalance" else 0.5
            y = labels(sample.value, share, self.noise, rng)
        sha256 = content_sha256(sample.x, y, sample.x[:0], y[:0])
        task: Any = "regression" if self.family == "regression" else "classification"
        return Dataset(self.label, sample.x, y, sample.x[:0], y[:0], sha256, task, defaults)


@dataclass(frozen=True)
class Limit(Solver):
    """``oracle``, and the kernel values that any certificate of its model reads: those between support vectors and all points.

    info: ``fit_cpu`` and ``limit_cpu``, CPU seconds of the oracle and of these values in float32, medians of ``turns``.
    The turns share the layout of the points, which is in neither median.
    """

    name = "limit"
    solves = (CSVC, EpsSVR)
    oracle: str = parameter("smo-block", "a solver, by name")
    gap: float = parameter(1e-3, "its target, a relative gap", gt=0)
    turns: int = parameter(3, "fits, each followed by the kernel values", ge=1)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return those of the oracle, and the solver itself."""
        return (*get_solver(self.oracle).warm_ups(), self)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        fits, limits = [], []
        for _ in range(self.turns):
            kernel = problem.kernel.replace(cache_mb=problem.kernel.cache_mb)  # with an empty cache
            again = type(problem)(kernel, problem.targets, problem.settings)
            began = time.process_time()
            *_, last = get_solver(self.oracle).with_target_gap(self.gap).iterates(again, rng.spawn(1)[0])
            fits.append(time.process_time() - began)
            single = problem.kernel.replace(dtype=np.float32)
            began = time.process_time()
            single.expand(last.dual_coef)
            limits.append(time.process_time() - began)
        info = {"fit_cpu": statistics.median(fits), "limit_cpu": statistics.median(limits)}
        yield Iterate(last.dual_coef, last.intercept, done=last.done, step=last.step, info=info)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Limit]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    return [Drawn]
