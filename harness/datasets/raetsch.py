"""Three of Raetsch's benchmarks (Raetsch, Onoda, Mueller 2001, Machine Learning 42)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from harness.datasets.raw import Parsed, RawSource, rbf
from harness.datasets.splitting import random_split
from harness.parameters import parameter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.datasets.dataset import Vector
    from harness.datasets.generators import Dense


def _whole(path: Path, n_train: int, seed: int) -> tuple[Dense, Vector, Dense, Vector]:
    """Return a .mat file's points and labels, divided at random."""
    import numpy as np
    import scipy.io

    content = scipy.io.loadmat(path)
    x, y = content["data"].astype(np.float64), content["target"].ravel().astype(np.float64)
    train, test = random_split(len(y), n_train, seed)
    return x[train], y[train], x[test], y[test]


def _realisation(path: Path, name: str, number: int) -> tuple[Dense, Vector, Dense, Vector]:
    """Return one of the published splits from the archive of ``<name>_{train,test}_{data,labels}_<k>.asc``."""
    import tarfile

    import numpy as np

    arrays = []
    with tarfile.open(path) as archive:
        for part in ("train_data", "train_labels", "test_data", "test_labels"):
            member = archive.extractfile(f"{name}/{name}_{part}_{number}.asc")
            if member is None:  # only for a folder or a link of that name; the checksum says it is a file
                raise RuntimeError(f"{path} holds no file for {part} of realisation {number}.")
            arrays.append(np.loadtxt(member, dtype=np.float64))
    x_train, y_train, x_test, y_test = arrays
    return x_train, y_train, x_test, y_test


@dataclass(frozen=True)
class _LasvmSplit(RawSource):
    """A set of which the LASVM paper trains on 4,000 points, or one of Raetsch's own splits."""

    defaults: ClassVar[Mapping[str, Any]]
    split_seed: int = parameter(0, "seed of the draw of 4,000 training points; the others are for testing", ge=0)
    realisation: int | None = parameter(None, "instead, one of Raetsch's own splits, 400 for training", ge=1, le=10)

    def raw_files(self) -> tuple[str, ...]:
        """Return the whole set or the archive of splits."""
        return (f"raetsch/{self.name}.mat" if self.realisation is None else f"raetsch/{self.name}.asc.tar.xz",)

    def parse(self, *paths: Path) -> Parsed:
        """Return 4,000 points and the others, or the 400 and the others of a split."""
        if self.realisation is None:
            arrays = _whole(paths[0], 4000, self.split_seed)
        else:
            arrays = _realisation(paths[0], self.name, self.realisation)
        return Parsed(*arrays, defaults=self.defaults)


@dataclass(frozen=True)
class Banana(_LasvmSplit):
    """5,300 points in the plane, 4,900 of them for testing in Raetsch's splits.

    The LASVM paper trains on 4,000 of them; which ones is not published.
    """

    name = "banana"
    description = (
        "Raetsch's banana, 2 features, labels as published; 4,000 train, C and gamma as in Bordes et al. 2005."
    )
    defaults = rbf(gamma=0.5, c=316.0)


@dataclass(frozen=True)
class Waveform(_LasvmSplit):
    """5,000 of Breiman's waveforms, as in Raetsch's collection, 4,600 of them for testing in his splits."""

    name = "waveform"
    description = (
        "Raetsch's waveform, 21 features, labels as published; 4,000 train, C and gamma as in Bordes et al. 2005."
    )
    defaults = rbf(gamma=0.05, c=1.0)


@dataclass(frozen=True)
class TwonormRaetsch(RawSource):
    """7,400 of Breiman's twonorm points; Raetsch trains on 400 of them. C and gamma chosen here."""

    name = "twonorm-raetsch"
    description = "Raetsch's twonorm, 20 features, labels as published; 400 training points. C, gamma chosen here."
    files = ("raetsch/twonorm.mat",)
    n: int = parameter(400, "training points drawn; all others are for testing", ge=2, le=7398)
    split_seed: int = parameter(0, "seed of the draw", ge=0)

    def parse(self, *paths: Path) -> Parsed:
        """Return (n, 20) and (7400 - n, 20)."""
        return Parsed(*_whole(paths[0], self.n, self.split_seed), defaults=rbf(gamma=0.05, c=1.0))
