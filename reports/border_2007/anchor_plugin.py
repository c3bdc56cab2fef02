"""A plugin for the anchor and for Figure 16 alone: their draws of data, and the protocol of others as they run it.

``anchor-draw``     a set divided as in 'Re-Benchmarking Pool-Based Active Learning' (Lu, Li, Lin 2023), trial by trial
``redrawn``         both parts of a set together, divided anew into parts of the same sizes (Bordes et al. 2005, figure 16)
``margin-sampling`` scikit-learn's SVC, trained anew after every label on all that were bought: what that benchmark times
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness import Dataset, DataSource, Iterate, Problem, Solver, content_sha256, hookimpl, parameter
from harness.datasets.catalogue import (
    Banana,
    GermanNumer,
    RawSource,
    Spambase,
    TwonormRaetsch,
    libsvm_text,
    matlab,
    verified,
)
from harness.datasets.splitting import rbf, rescaled
from harness.problems import PoolSVC
from harness.registry import load_registry

POOL = 0.6  # of the points; the others are for testing


def _loaded(selection: str) -> Dataset:
    return load_registry().select_datasets(selection)[0].load()


# -- the data ---------------------------------------------------------------------------------------------


def _libsvm(path: Path) -> tuple[Any, Any]:
    x, y = libsvm_text(path, 24)
    return x.toarray(), y


def _table(path: Path) -> tuple[Any, Any]:
    table = np.loadtxt(path)
    return table[:, :-1], np.where(table[:, -1] == 1, 1.0, -1.0)


_READ: dict[str, tuple[type[RawSource], str, Callable[[Path], tuple[Any, Any]]]] = {
    "german.numer": (GermanNumer, "german.numer/german.numer.gz", _libsvm),
    "spambase": (Spambase, "spambase/spam.data.gz", _table),
    "twonorm": (TwonormRaetsch, "raetsch/twonorm.mat", matlab),
    "banana": (Banana, "raetsch/banana.mat", matlab),
}
"""The raw file of each set and how to read it: the rows in the file's order, which decides what a seed draws."""

RINGNORM = "ringnorm[n=7400,n_test=0]"  # no file of it is there: as many points of the same distribution


@dataclass(frozen=True)
class AnchorDraw(DataSource):
    """The points that trial ``seed`` of the benchmark has for its pool and for testing, standardised by the pool.

    Rows in the order of the raw file are shuffled by numpy's default generator of that seed; the first 60 % are the pool.
    A second shuffle of them, by the same seed, decides which 20 labels are known at first: they are the first 20 rows here.
    The rows of german.numer and spambase come in the benchmark's own order: their draws are the benchmark's very own.
    """

    name = "anchor-draw"
    description = (
        "A set divided as trial SEED of Lu, Li, Lin 2023 (arXiv 2306.08954), standardised; +1 is as in that set."
    )
    of: Literal["german.numer", "spambase", "twonorm", "ringnorm", "banana"] = parameter("german.numer", "the set")
    seed: int = parameter(0, "the trial", ge=0)

    def load(self) -> Dataset:
        """Return 60 % of the points as the pool, 40 % for testing; gamma = 1 / d and C = 1, scikit-learn's ``auto``."""
        x, y = self._rows()
        order = np.arange(len(y))
        np.random.default_rng(self.seed).shuffle(order)
        size = int(POOL * len(y))
        pool, test = order[:size].copy(), order[size:]
        np.random.default_rng(self.seed).shuffle(pool)
        x_train, x_test = rescaled(x[pool], x[test], "standard")
        parts = (x_train, y[pool], x_test, y[test])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=rbf(gamma=1.0 / x.shape[1], c=1.0))

    def _rows(self) -> tuple[Any, Any]:
        if self.of == "ringnorm":
            drawn = _loaded(RINGNORM)
            return drawn.x_train, drawn.y_train
        source, name, read = _READ[self.of]
        return read(verified(name, source.files[name], wanted_by=self.name))


@dataclass(frozen=True)
class Redrawn(DataSource):
    """Both parts of a set together, divided at random into as many points for training and for testing as it has."""

    name = "redrawn"
    description = (
        "A set whose parts are put together and drawn anew (Bordes et al. 2005, figure 16); +1 as in that set."
    )
    of: str = parameter("reuters", "the set, as ``harness compare`` takes it")
    seed: int = parameter(0, "seed of the division", ge=0)

    def load(self) -> Dataset:
        """Return the points as they are, dense or sparse, in parts of the set's own sizes."""
        import scipy.sparse

        whole = _loaded(self.of)
        both = (whole.x_train, whole.x_test)
        sparse = scipy.sparse.issparse(whole.x_train)
        x: Any = scipy.sparse.csr_array(scipy.sparse.vstack(both)) if sparse else np.concatenate(both)
        y = np.concatenate([whole.y_train, whole.y_test])
        order = np.random.default_rng(self.seed).permutation(len(y))
        train, test = order[: len(whole.y_train)], order[len(whole.y_train) :]
        parts = (x[train], y[train], x[test], y[test])
        arrays = dict(zip(("x_train", "y_train", "x_test", "y_test"), parts, strict=True))
        return replace(whole, name=self.label, sha256=content_sha256(*parts), **arrays)


# -- what others do ---------------------------------------------------------------------------------------


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

        assert isinstance(problem, PoolSVC)
        x: Any = np.asarray(problem.kernel.points)
        gamma = problem.kernel.kernel.gamma  # type: ignore[attr-defined]
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
    """Return the draws."""
    return [AnchorDraw, Redrawn]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the benchmark's own strategy."""
    return [MarginSampling]
