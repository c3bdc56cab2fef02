"""A plugin for the studies of papers alone: draws of data that only they use, and their metrics.

``adult-split``  both parts of adult together, divided anew
``division``     a set divided anew for training and testing
``digits-in-order``  the embedded digits, the same test images whichever digit is asked for
``gap-clouds``   two halves of a normal cloud, a gap between them, some of the training labels exchanged
``mnist-noise``  MNIST with some of the training labels flipped
``mushrooms-like``  one-hot attributes of mushrooms that a line divides, made up
``simplices``    two regular simplices that face each other: the least core set of every accuracy is known
``noisy-split``  a set divided into training, validation and test points, labels of the first two flipped
``rescaled``     a set whose features are scaled in another way
``subset``       some of a set's training points, and all of its test points
``with-constant``  a set with a constant column, which is the bias of a kernel machine without one
``validation-error``, ``held-out-error``  of such a split's validation points, and of its test points, as metrics
``same-sign``    share of the test points whose prediction has the target's sign: the accuracy of a regression on +-1
``test-scores``  the scores of the test points themselves, for what several classifiers decide together
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from harness import DataError, Dataset, DataSource, content_sha256, hookimpl, parameter
from harness.datasets.dataset import flipped, is_csr
from harness.datasets.splitting import random_split, rescaled
from harness.measure.metrics import accuracy
from harness.registry.discovery import load_registry


def _loaded(selection: str) -> Dataset:
    return load_registry([__file__]).select_datasets(selection)[0].load()  # one of this file may be drawn from another


def _all_rows(data: Dataset) -> tuple[Any, Any]:
    """Return the points, an array or a CSR array, and the labels of both parts of a set."""
    import scipy.sparse

    parts = [data.x_train, data.x_test]
    x: Any = scipy.sparse.csr_array(scipy.sparse.vstack(parts)) if is_csr(data.x_train) else np.concatenate(parts)
    return x, np.concatenate([data.y_train, data.y_test])


@dataclass(frozen=True)
class AdultSplit(DataSource):
    """All 48,842 rows of adult, divided at random into as many for training and testing as the file has."""

    name = "adult-split"
    description = "Adult, both parts divided anew (Bordes et al. 2005, section 4.4: 65 random splits)."
    seed: int = parameter(0, "seed of the division", ge=0)
    n: int = parameter(32_561, "training rows; all others are for testing", ge=2, le=48_840)

    def load(self) -> Dataset:
        whole = _loaded("adult")
        x, y = _all_rows(whole)
        order = np.random.default_rng(self.seed).permutation(len(y))
        train, test = np.sort(order[: self.n]), np.sort(order[self.n :])
        parts = (x[train], y[train], x[test], y[test])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=whole.defaults)


@dataclass(frozen=True)
class DigitsInOrder(DataSource):
    """The embedded ``digits``, the first 1,198 images for training: several classifiers can decide together on the others."""

    name = "digits-in-order"
    description = "Digits of 8 x 8 pixels (scikit-learn), in the file's order; stands in for MNIST."
    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    noise: float = parameter(0.0, "share of the training labels that are flipped", ge=0, lt=0.5)
    noise_seed: int = parameter(0, "seed of the choice of flipped labels", ge=0)

    def load(self) -> Dataset:
        from sklearn.datasets import load_digits

        images, digits = load_digits(return_X_y=True)
        x, y, n = images / 16.0, np.where(digits == self.digit, 1.0, -1.0), 1198
        parts = (x[:n], flipped(y[:n], self.noise, self.noise_seed), x[n:], y[n:])
        defaults = {"kernel": "rbf", "gamma": 0.05, "C": 10.0}
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=defaults)


@dataclass(frozen=True)
class GapClouds(DataSource):
    """Normal points in d dimensions; the first coordinate is drawn away from 0 by gap / 2, and its sign is the class.

    The classes of the first ``outliers`` training points are exchanged: as many of each class, up to one.
    """

    name = "gap-clouds"
    description = (
        "A normal cloud cut in two by a gap; +1 is the side of positive first coordinates, outliers exchanged."
    )
    n: int = parameter(1000, "training points", ge=2)
    n_test: int = parameter(1000, "test points, none of them an outlier", ge=0)
    d: int = parameter(5, "dimensions", ge=1)
    gap: float = parameter(0.5, "distance of the two sides", gt=0)
    outliers: int = parameter(0, "training points with the other class", ge=0)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        """Return the points; the test points do not change with n."""
        parts: list[Any] = []
        for n, rng in zip((self.n, self.n_test), np.random.default_rng(self.seed).spawn(2), strict=True):
            x, side = rng.standard_normal((n, self.d)), np.where(np.arange(n) % 2, -1.0, 1.0)
            x[:, 0] = side * (np.abs(x[:, 0]) + 0.5 * self.gap)
            parts += [x, side]
        parts[1] = np.where(np.arange(self.n) < self.outliers, -parts[1], parts[1])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults={"kernel": "linear", "C": 1.0})


@dataclass(frozen=True)
class MnistNoise(DataSource):
    """MNIST, one digit against the rest, with exactly ``noise`` of the training labels negated; clean test labels."""

    name = "mnist-noise"
    description = "MNIST with flipped training labels (Bordes et al. 2005, section 4.4, figures 14 and 15)."
    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    n: int = parameter(60_000, "the first n training images", ge=2, le=60_000)
    noise: float = parameter(0.1, "share of the training labels that are flipped", ge=0, lt=0.5)
    noise_seed: int = parameter(0, "seed of the choice of flipped labels", ge=0)

    def load(self) -> Dataset:
        clean = _loaded(f"mnist[digit={self.digit}]" if self.n == 60_000 else f"mnist[digit={self.digit},n={self.n}]")
        y = flipped(clean.y_train, self.noise, self.noise_seed)
        # the clean data's checksum stands for the images: they are most of the bytes, and the same
        sha256 = hashlib.sha256(clean.sha256.encode() + y.tobytes()).hexdigest()
        return replace(clean, name=self.label, y_train=y, sha256=sha256)


@dataclass(frozen=True)
class MushroomsLike(DataSource):
    """22 attributes of up to 9 values, one-hot; a hidden rule of a few of them is +1 where it is above a margin."""

    name = "mushrooms-like"
    description = (
        "Generated in the style of UCI Mushroom: 22 attributes, one-hot, separable by a line; +1 is poisonous."
    )
    n: int = parameter(2000, "training points; as many for testing", ge=2)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        sizes = rng.integers(2, 10, 22)
        chances = [rng.dirichlet(np.ones(size)) for size in sizes]
        rule = rng.normal(size=int(sizes[:8].sum()))  # of the first attributes; the others are noise
        points: list[Any] = []
        while len(points) < 2 * self.n:
            drawn = [rng.choice(size, 4 * self.n, p=chance) for size, chance in zip(sizes, chances, strict=True)]
            x = np.hstack([np.eye(size)[column] for size, column in zip(sizes, drawn, strict=True)])
            values = x[:, : len(rule)] @ rule
            far = np.abs(values - np.median(values)) > 0.25
            points += list(zip(x[far], np.where(values[far] > np.median(values), 1.0, -1.0), strict=True))
        x, y = np.array([each for each, _ in points]), np.array([label for _, label in points])
        parts = (x[: self.n], y[: self.n], x[self.n : 2 * self.n], y[self.n : 2 * self.n])
        defaults = {"kernel": "linear", "C": 1.0}
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=defaults)


@dataclass(frozen=True)
class Simplices(DataSource):
    """P = (h/2, e_i, 0) and Q = (-h/2, 0, e_j), i, j = 1 .. m: k of each class are h^2 + 2/k apart, squared.

    By symmetry and convexity no choice of so many points is nearer to the optimum h^2 + 2/m: the least epsilon-core set
    is known. All |p - q|^2 are h^2 + 2.
    """

    name = "simplices"
    description = "Two regular simplices that face each other; the least core set of every accuracy is known."
    m: int = parameter(500, "corners of each", ge=2)
    height: float = parameter(0.5, "h, distance of the planes they lie in", gt=0)

    def load(self) -> Dataset:
        side = np.repeat([1.0, -1.0], self.m)
        x = np.column_stack([0.5 * self.height * side, np.eye(2 * self.m)])
        parts = (x, side, x[[0, self.m]], side[[0, self.m]])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults={"kernel": "linear", "C": 1.0})


def least_core_set(m: int, height: float, epsilon: float) -> int:
    """Return the size of the least epsilon-core set of :class:`Simplices`: (1 - epsilon) margin(X) <= margin(all).

    With k and l points of the classes margin(X)^2 = h^2 + 1/k + 1/l.
    """
    optimum = height**2 + 2.0 / m
    for size in range(2, 2 * m + 1):
        k = size // 2
        if (1.0 - epsilon) ** 2 * (height**2 + 1.0 / k + 1.0 / (size - k)) <= optimum * (1.0 + 1e-12):
            return size
    return 2 * m


@dataclass(frozen=True)
class NoisySplit(DataSource):
    """A set divided at random: 40 % for training, 30 % for validation, 30 % for testing; labels of the first two flipped.

    The set's own parts are put together first. Features are standardised by the training part, with a constant column
    last: of a kernel machine without a bias it is the bias, and it changes nothing where there is one. The split's test
    part holds the validation points and then as many test points, for ``validation-error`` and ``held-out-error``: one
    run gives both, and the accuracy of the two together means nothing. ``planted`` are the flipped training labels.
    """

    name = "noisy-split"
    description = (
        "A set drawn anew as training, validation and test points, labels flipped (Ding & Xu 2015, section 4)."
    )
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")
    rows: Literal["all", "train"] = parameter("all", "the rows that are divided: all, or its training part's")
    drawn: int | None = parameter(None, "so many of these rows, drawn at random first; none: all of them", ge=10)
    noise: float = parameter(0.15, "share of the labels of training and validation part that are flipped", ge=0, lt=0.5)
    n: int | None = parameter(None, "training points that are kept; none: all of them", ge=2)
    seed: int = parameter(0, "seed of the division and of the flips", ge=0)

    def load(self) -> Dataset:
        whole = _loaded(self.of)
        x, y = _all_rows(whole) if self.rows == "all" else (whole.x_train, np.asarray(whole.y_train))
        if self.drawn is not None:
            some = random_split(len(y), self.drawn, self.seed)[0]
            x, y = x[some], y[some]
        x = x.toarray() if is_csr(x) else x
        held = int(0.3 * len(y))
        train, others = random_split(len(y), len(y) - 2 * held, self.seed)
        train, validation, test = train[: self.n], others[:held], others[held:]
        if len(np.unique(y[train])) < 2:
            raise DataError(
                f"data set '{self.label}': all {len(train)} training points are of one class; expected two. "
                "Choose a larger n, or another seed."
            )
        y_train, y_validation = (flipped(y[part], self.noise, self.seed) for part in (train, validation))
        scaled = rescaled(x[train], x[np.concatenate([validation, test])], "standard")
        x_train, x_held = (np.column_stack([each, np.ones(len(each))]) for each in scaled)
        parts = (x_train, y_train, x_held, np.concatenate([y_validation, y[test]]))
        return Dataset(self.label, *parts, content_sha256(*parts), planted=y_train != y[train])


@dataclass(frozen=True)
class Division(DataSource):
    """All rows of a set, divided anew: n for training, or two thirds where it has fewer, and at most ``n_test`` for testing.

    Dense features are standardised by the training part unless ``scale`` says otherwise, sparse ones stay as they are.
    """

    name = "division"
    description = "All rows of a set divided at random for training and testing, standardised; +1 is as in that set."
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")
    n: int = parameter(1000, "training points, at most two thirds of all rows", ge=2)
    n_test: int = parameter(3000, "test points, at most", ge=1)
    scale: bool = parameter(True, "standardise dense features")
    seed: int = parameter(0, "seed of the division", ge=0)

    def load(self) -> Dataset:
        whole = _loaded(self.of)
        x, y = _all_rows(whole)
        train, test = random_split(len(y), min(self.n, 2 * len(y) // 3), self.seed)
        test = test[: self.n_test]
        x_train, x_test = (
            (x[train], x[test]) if is_csr(x) or not self.scale else rescaled(x[train], x[test], "standard")
        )
        parts = (x_train, y[train], x_test, y[test])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=whole.defaults)


@dataclass(frozen=True)
class WithConstant(DataSource):
    """A set of dense points with a column of ones behind the others.

    A linear machine without a bias has it there, and pays for it as for any weight; of one with a bias nothing changes.
    """

    name = "with-constant"
    description = "A set of dense points with a constant last column; +1 is as in that set."
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")

    def load(self) -> Dataset:
        whole = _loaded(self.of)
        _refuse_sparse(self, whole)
        x_train, x_test = (np.column_stack([x, np.ones(len(x))]) for x in (whole.x_train, whole.x_test))
        sha256 = content_sha256(x_train, whole.y_train, x_test, whole.y_test)
        return replace(whole, name=self.label, x_train=x_train, x_test=x_test, sha256=sha256)


@dataclass(frozen=True)
class Subset(DataSource):
    """Training points of a set drawn at random, of one seed fewer are some of more; all of its test points."""

    name = "subset"
    description = "Some of a set's training points, drawn at random; its test points, +1 and the rest are that set's."
    of: str = parameter("breast-cancer", "the set, as ``harness compare`` takes it")
    n: int = parameter(100, "training points", ge=2)
    seed: int = parameter(0, "seed of the draw", ge=0)

    def load(self) -> Dataset:
        whole = _loaded(self.of)
        if self.n > len(whole.y_train):
            raise DataError(
                f"data set '{self.label}': {self.of} has {len(whole.y_train)} training points; expected n up to that. "
                "Choose a smaller n."
            )
        rows = np.random.default_rng(self.seed).permutation(len(whole.y_train))[: self.n]
        x, y = whole.x_train[rows], np.asarray(whole.y_train)[rows]
        sha256 = content_sha256(x, y, whole.x_test, whole.y_test)
        return replace(whole, name=self.label, x_train=x, y_train=y, sha256=sha256, planted=None)


@dataclass(frozen=True)
class Rescaled(DataSource):
    """A set of dense points whose features are scaled in another way, by what the training part shows.

    ``standard``: each column has mean 0 and standard deviation 1. ``numeric``: so do those with more than two values, the
    others stay 0 and 1. ``unit``: each point is divided by its length, a point at the origin stays there.
    """

    name = "rescaled"
    description = "A set of dense points with its features scaled in another way; +1 is as in that set."
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")
    how: Literal["standard", "numeric", "unit"] = parameter("standard", "what becomes of the features")

    def load(self) -> Dataset:
        whole = _loaded(self.of)
        _refuse_sparse(self, whole)
        x_train, x_test = np.asarray(whole.x_train), np.asarray(whole.x_test)
        if self.how == "unit":
            x_train, x_test = (
                x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) for x in (x_train, x_test)
            )
        else:
            scaled = rescaled(x_train, x_test, "standard")
            two = np.array([self.how == "numeric" and len(np.unique(column)) <= 2 for column in x_train.T])
            x_train, x_test = np.where(two, x_train, scaled[0]), np.where(two, x_test, scaled[1])
        sha256 = content_sha256(x_train, whole.y_train, x_test, whole.y_test)
        return replace(whole, name=self.label, x_train=x_train, x_test=x_test, sha256=sha256)


def _refuse_sparse(source: Rescaled | WithConstant, whole: Dataset) -> None:
    if is_csr(whole.x_train):
        raise DataError(
            f"data set '{source.label}': the points of {source.of} are sparse, and would be filled; expected a set of "
            "dense points, such as wdbc."
        )


def validation_error(targets: Any, scores: Any) -> float:
    """Return the percentage of wrong labels in the first half: of ``noisy-split`` the validation points."""
    half = len(targets) // 2
    return 100.0 * (1.0 - accuracy(targets[:half], scores[:half]))


def held_out_error(targets: Any, scores: Any) -> float:
    """Return the percentage of wrong labels in the second half: of ``noisy-split`` the test points."""
    half = len(targets) // 2
    return 100.0 * (1.0 - accuracy(targets[half:], scores[half:]))


def same_sign(targets: Any, scores: Any) -> float:
    """Return the share of the points whose score has the sign of its target, 0 counted as positive."""
    return float(np.mean((np.asarray(targets) >= 0.0) == (np.asarray(scores) >= 0.0)))


def listed(targets: Any, scores: Any) -> list[float]:
    """Return the (n_test,) scores of the test points, to nine digits: a record holds lists, no arrays and no long texts."""
    return [float(f"{score:.9g}") for score in scores]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the studies."""
    return [
        AdultSplit,
        DigitsInOrder,
        Division,
        GapClouds,
        MnistNoise,
        MushroomsLike,
        NoisySplit,
        Rescaled,
        Simplices,
        Subset,
        WithConstant,
    ]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the scores as a metric, the share of right signs, and the errors of the halves of ``noisy-split``."""
    return {
        "test-scores": listed,
        "same-sign": same_sign,
        "validation-error": validation_error,
        "held-out-error": held_out_error,
    }
