"""Three of Raetsch's benchmarks (Raetsch, Onoda, Mueller 2001, Machine Learning 42)."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.datasets.raw import Parsed, RawSource, divided, rbf
from harness.datasets.splitting import random_split
from harness.parameters import parameter


def _drawn(path: Path, n_train: int, seed: int) -> Parsed:
    """Return a .mat file's points and labels, divided at random."""
    import scipy.io

    content = scipy.io.loadmat(path)
    x, y = content["data"].astype(np.float64), content["target"].ravel().astype(np.float64)
    return divided(x, y, random_split(len(y), n_train, seed))


def _realisation(path: Path, name: str, number: int) -> Parsed:
    """Return one of the published splits from the archive of ``<name>_{train,test}_{data,labels}_<k>.asc``."""
    arrays: list[Any] = []
    with tarfile.open(path) as archive:
        for part in ("train_data", "train_labels", "test_data", "test_labels"):
            member = archive.extractfile(f"{name}/{name}_{part}_{number}.asc")
            assert member is not None, "a folder or a link of that name; the checksum says that it is a file"
            arrays.append(np.loadtxt(member, dtype=np.float64))
    return Parsed(*arrays)


@dataclass(frozen=True)
class _LasvmSplit(RawSource):
    """A set of which the LASVM paper trains on 4,000 points, or one of Raetsch's own splits."""

    split_seed: int = parameter(0, "seed of the draw of 4,000 training points; the others are for testing", ge=0)
    realisation: int | None = parameter(None, "instead, one of Raetsch's own splits, 400 for training", ge=1, le=10)

    def raw_files(self) -> Mapping[str, str]:
        """Return the whole set or the archive of splits."""
        suffix = ".mat" if self.realisation is None else ".asc.tar.xz"
        return {name: sha256 for name, sha256 in self.files.items() if name.endswith(suffix)}

    def parse(self, *paths: Path) -> Parsed:
        """Return 4,000 points and the others, or the 400 and the others of a split."""
        if self.realisation is None:
            return _drawn(paths[0], 4000, self.split_seed)
        return _realisation(paths[0], self.name, self.realisation)


@dataclass(frozen=True)
class Banana(_LasvmSplit):
    """5,300 points in the plane, 4,900 of them for testing in Raetsch's splits.

    The LASVM paper trains on 4,000 of them; which ones is not published.
    """

    name = "banana"
    description = (
        "Raetsch's banana, 2 features, labels as published; 4,000 train, C and gamma as in Bordes et al. 2005."
    )
    files = {
        "raetsch/banana.mat": "05c98ccd67268c5940cb69c047a8a60840bf8fa624af142dda0c1d659bad9e2f",
        "raetsch/banana.asc.tar.xz": "4f8ced5ac155949f2db086d0642f335f7c116e11549e0db392b788d8e2eba25c",
    }
    defaults = rbf(gamma=0.5, c=316.0)


@dataclass(frozen=True)
class Waveform(_LasvmSplit):
    """5,000 of Breiman's waveforms, as in Raetsch's collection, 4,600 of them for testing in his splits."""

    name = "waveform"
    description = (
        "Raetsch's waveform, 21 features, labels as published; 4,000 train, C and gamma as in Bordes et al. 2005."
    )
    files = {
        "raetsch/waveform.mat": "f783135eb00109cb241f65481be36c011cc1fc13df6180d512d2a2a3488e9db3",
        "raetsch/waveform.asc.tar.xz": "55d3ea1a8ce69533eafe3c1148585b927d204d4c6f5a2776dfb26204fcf6984d",
    }
    defaults = rbf(gamma=0.05, c=1.0)


@dataclass(frozen=True)
class TwonormRaetsch(RawSource):
    """7,400 of Breiman's twonorm points; Raetsch trains on 400 of them. C and gamma chosen here."""

    name = "twonorm-raetsch"
    description = "Raetsch's twonorm, 20 features, labels as published; 400 training points. C, gamma chosen here."
    files = {"raetsch/twonorm.mat": "4ad7de2918058533181ee5ac86dafab8f29002f684afe3058ec70f81ece7e2aa"}
    defaults = rbf(gamma=0.05, c=1.0)
    n: int = parameter(400, "training points drawn; all others are for testing", ge=2, le=7398)
    split_seed: int = parameter(0, "seed of the draw", ge=0)

    def parse(self, *paths: Path) -> Parsed:
        """Return (n, 20) and (7400 - n, 20)."""
        return _drawn(paths[0], self.n, self.split_seed)
