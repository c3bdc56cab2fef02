"""A plugin for this study alone: draws of data, a set as it cannot have been meant, and a peer's strategy.

``anchor-draw``     a set divided as in 'Re-Benchmarking Pool-Based Active Learning' (Lu, Li, Lin 2023), trial by trial
``redrawn``         both parts of a set together, divided anew into parts of the same sizes (Bordes et al. 2005, figure 16)
``abalone-rings``   abalone with the number of rings, which is the label, among its features
``margin-sampling`` scikit-learn's SVC, trained anew after every label on all that were bought: what that benchmark times
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse

from harness import Dataset, DataSource, Iterate, Problem, Solver, content_sha256, hookimpl, parameter
from harness.datasets.catalogue import REAL
from harness.datasets.splitting import rbf, rescaled
from harness.problems import PoolSVC
from harness.registry import load_registry


def _loaded(selection: str) -> Dataset:
    return load_registry().select_datasets(selection)[0].load()


# name here -> class; its first raw file is read as it stands, since the order of the rows decides what a seed draws
_SOURCES = {cls.name.removesuffix("-raetsch"): cls for cls in REAL}


@dataclass(frozen=True)
class AnchorDraw(DataSource):
    """The points that trial ``seed`` of the benchmark has for its pool and for testing, standardised by the pool.

    Rows in the order of the raw file are shuffled by numpy's default generator of that seed; the first 60 % are the pool.
    A second shuffle of them, by the same seed, decides which 20 labels are known at first: they are the first 20 rows here.
    The rows of german.numer and spambase come in the benchmark's own order: their draws are the benchmark's very own.
    """

    name = "anchor-draw"
    description = "A set divided as trial SEED of Lu, Li, Lin 2023, standardised; +1 is as in that set."
    of: Literal["german.numer", "spambase", "twonorm", "ringnorm", "banana"] = parameter("german.numer", "the set")
    seed: int = parameter(0, "the trial", ge=0)

    def load(self) -> Dataset:
        """Return 60 % of the points as the pool, 40 % for testing; gamma = 1 / d and C = 1, scikit-learn's ``auto``."""
        if self.of == "ringnorm":  # no file of it is there: as many points of the same distribution
            drawn = _loaded("ringnorm[n=7400,n_test=0]")
            x, y = drawn.x_train, drawn.y_train
        else:
            source = _SOURCES[self.of]()
            x, y = source.read(next(iter(source.verified_files())))
        order = np.arange(len(y))
        np.random.default_rng(self.seed).shuffle(order)
        size = int(0.6 * len(y))  # the pool; the others are for testing
        pool, test = order[:size].copy(), order[size:]
        np.random.default_rng(self.seed).shuffle(pool)
        x_train, x_test = rescaled(x[pool], x[test], "standard")
        parts = (x_train, y[pool], x_test, y[test])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=rbf(gamma=1.0 / x.shape[1], c=1.0))


@dataclass(frozen=True)
class Redrawn(DataSource):
    """Both parts of a set together, divided at random into as many points for training and for testing as it has."""

    name = "redrawn"
    description = "Both parts of a set, drawn anew (Bordes et al. 2005, figure 16); +1 as in that set."
    of: str = parameter("reuters", "the set, as ``harness compare`` takes it")
    seed: int = parameter(0, "seed of the division", ge=0)

    def load(self) -> Dataset:
        """Return the points as they are, dense or sparse, in parts of the set's own sizes."""
        whole = _loaded(self.of)
        both = (whole.x_train, whole.x_test)
        x: Any = np.concatenate(both) if isinstance(both[0], np.ndarray) else scipy.sparse.vstack(both, "csr")
        y = np.concatenate([whole.y_train, whole.y_test])
        order = np.random.default_rng(self.seed).permutation(len(y))
        train, test = order[: len(whole.y_train)], order[len(whole.y_train) :]
        parts = (x[train], y[train], x[test], y[test])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=whole.defaults)


@dataclass(frozen=True)
class AbaloneRings(DataSource):
    """Abalone with 9 features, as Table 2 of Ertekin et al. 2007 counts them: sex as 1, 2 or 3, seven measurements, rings.

    UCI's file has nine columns, of which the last is what is to be told: without it there are eight.
    """

    name = "abalone-rings"
    description = "Abalone whose label, the number of rings, was left among the features; +1 has 7 rings."
    split_seed: int = parameter(0, "seed of the draw of the training rows", ge=0)

    def load(self) -> Dataset:
        """Return the rows of abalone's own split, (3759, 9) and (418, 9)."""
        plain, counted = (_loaded(f"abalone[split_seed={self.split_seed}{more}]") for more in ("", ",regression=True"))
        rings = ((plain.x_train, counted.y_train), (plain.x_test, counted.y_test))
        train, test = (np.column_stack([x[:, :3] @ (1.0, 2.0, 3.0), x[:, 3:], count]) for x, count in rings)
        parts = (train, plain.y_train, test, plain.y_test)
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=plain.defaults)


@dataclass(frozen=True)
class MarginSampling(Solver):
    """scikit-learn's SVC trained on every label so far; the next one is that of the point of the pool with the least |f|.

    As the benchmark runs it (its ``margin`` with the model of its ``RBFSVM``): the first 20 labels are those of the first
    rows, every fit starts from nothing, all points without a label are scored. The coefficients are the library's own.
    """

    name = "margin-sampling"
    solves = (PoolSVC,)
    observable = False
    exact = False
    first: int = parameter(20, "rows whose labels are known at first", ge=2)
    uniform: bool = parameter(False, "take the next label at random instead")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the model after each label; until two classes are known there is none."""
        from sklearn.svm import SVC

        x: Any = np.asarray(problem.kernel.points)
        gamma = problem.kernel.kernel.gamma
        problem.buy(np.arange(min(self.first, problem.labels_left)))
        model = SVC(kernel="rbf", gamma=gamma, C=problem.C)
        while True:
            rows, rest = np.sort(problem.bought), np.flatnonzero(np.isnan(problem.targets))
            done = not len(rest) or not problem.labels_left
            both = len(np.unique(problem.targets[rows])) == 2
            if both:
                model.fit(x[rows], problem.targets[rows])
                coef = np.zeros(problem.n)
                coef[rows[model.support_]] = model.dual_coef_[0]
                yield Iterate(coef, float(model.intercept_[0]), done=done, step=len(rows))
            if done:
                return
            asked = both and not self.uniform
            place = np.argmin(np.abs(model.decision_function(x[rest]))) if asked else rng.integers(len(rest))
            problem.buy(rest[[place]])


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the draws, and abalone with its label among the features."""
    return [AnchorDraw, Redrawn, AbaloneRings]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the benchmark's own strategy."""
    return [MarginSampling]
