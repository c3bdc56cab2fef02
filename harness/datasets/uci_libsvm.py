"""Small UCI sets in LIBSVM's form: australian, german.numer, svmguide1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.datasets.raw import Parsed, RawSource, rbf
from harness.datasets.sparse import libsvm_text
from harness.datasets.splitting import stratified_split
from harness.parameters import parameter

if TYPE_CHECKING:
    from pathlib import Path

    from harness.datasets.dataset import Vector
    from harness.datasets.generators import Dense


def _to_unit_box(x_train: Dense, x_test: Dense) -> tuple[Dense, Dense]:
    """Return both parts scaled so that the training values fill [-1, 1], as LIBSVM's svm-scale does."""
    import numpy as np

    low, high = x_train.min(axis=0), x_train.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return 2.0 * (x_train - low) / spread - 1.0, 2.0 * (x_test - low) / spread - 1.0


def _divided(path: Path, d: int, test_fraction: float, seed: int) -> tuple[Dense, Vector, Dense, Vector]:
    x, y = libsvm_text(path, d)
    train, test = stratified_split(y, test_fraction, seed)
    dense = x.toarray()
    x_train, x_test = _to_unit_box(dense[train], dense[test])
    return x_train, y[train], x_test, y[test]


@dataclass(frozen=True)
class _Statlog(RawSource):
    """A set in one file of LIBSVM's, divided here; C and gamma chosen here."""

    features: ClassVar[int]
    test_fraction: float = parameter(0.25, "share of each class that is held out for testing", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of the split", ge=0)

    def parse(self, *paths: Path) -> Parsed:
        """Return the training and the test points, in [-1, 1] by the training part."""
        arrays = _divided(paths[0], self.features, self.test_fraction, self.split_seed)
        return Parsed(*arrays, defaults=rbf(gamma=0.05, c=1.0))


@dataclass(frozen=True)
class Australian(_Statlog):
    """690 x 14 credit applications (Statlog; LIBSVM's file), scaled to [-1, 1]."""

    name = "australian"
    description = (
        "UCI Statlog Australian credit, 14 features in [-1, 1]; labels as in LIBSVM's file. C, gamma chosen here."
    )
    files = ("australian/australian",)
    features = 14


@dataclass(frozen=True)
class GermanNumer(_Statlog):
    """1,000 x 24 credit applications (Statlog german.data-numeric; LIBSVM's file), scaled to [-1, 1]."""

    name = "german.numer"
    description = "UCI Statlog German credit, 24 features in [-1, 1]; +1 are the 300 bad risks. C, gamma chosen here."
    files = ("german.numer/german.numer.gz",)
    features = 24


@dataclass(frozen=True)
class Svmguide1(RawSource):
    """3,089 and 4,000 x 4 measurements from astroparticle physics (Hsu, Chang, Lin, A Practical Guide to SVC).

    Scaled to [-1, 1] by the training part; C = 2, gamma = 2 as the guide finds by its grid search.
    """

    name = "svmguide1"
    description = (
        "The astroparticle data of Hsu, Chang and Lin's guide, 4 features scaled to [-1, 1]; +1 is the file's class 1."
    )
    files = ("svmguide1/svmguide1.gz", "svmguide1/svmguide1.t.gz")

    def parse(self, *paths: Path) -> Parsed:
        """Return (3089, 4) and (4000, 4)."""
        import numpy as np

        (x, y), (x_test, y_test) = (libsvm_text(path, 4) for path in paths)
        x_train, x_scaled = _to_unit_box(x.toarray(), x_test.toarray())
        return Parsed(
            x_train,
            np.where(y == 1, 1.0, -1.0),
            x_scaled,
            np.where(y_test == 1, 1.0, -1.0),
            defaults=rbf(gamma=2.0, c=2.0),
        )
