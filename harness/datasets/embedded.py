"""Three small real sets that come with scikit-learn: nothing to fetch, nothing to cache."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.datasets.dataset import Dataset, DataSource
from harness.datasets.splitting import divided, named, random_split, rbf, stratified_split
from harness.parameters import parameter


@dataclass(frozen=True)
class Digits(DataSource):
    """1,797 images of 8 x 8 pixels, 0..16 scaled to [0, 1] (Alpaydin, Kaynak 1998: UCI Optical Digits, test part)."""

    name = "digits"
    description = "Digits of 8 x 8 pixels (scikit-learn, UCI Optical Digits); +1 is the 8. C, gamma chosen here."
    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    test_fraction: float = parameter(1 / 3, "share of each class that is held out for testing", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of the split", ge=0)

    def load(self) -> Dataset:
        """Return the split images: (1198, 64) and (599, 64) by default."""
        images, digits = _columns("digits.csv.gz", delimiter=",")
        y = np.where(digits == self.digit, 1.0, -1.0)
        rows = stratified_split(y, self.test_fraction, self.split_seed)
        return named(divided(images / 16.0, y, rows, defaults=rbf(gamma=0.05, c=10.0)), self.label)


@dataclass(frozen=True)
class BreastCancer(DataSource):
    """569 x 30 measurements of cell nuclei (Street, Wolberg, Mangasarian 1993), standardised by the training part."""

    name = "breast-cancer"
    description = "Wisconsin breast cancer (scikit-learn), standardised; +1 benign, -1 malignant. C, gamma chosen here."
    test_fraction: float = parameter(1 / 3, "share of each class that is held out for testing", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of the split", ge=0)

    def load(self) -> Dataset:
        """Return the split points: (379, 30) and (190, 30) by default."""
        x, target = _columns("breast_cancer.csv", delimiter=",", skiprows=1)
        y = np.where(target == 1, 1.0, -1.0)
        rows = stratified_split(y, self.test_fraction, self.split_seed)
        return named(divided(x, y, rows, "standard", defaults=rbf(gamma=0.03, c=10.0)), self.label)


@dataclass(frozen=True)
class Diabetes(DataSource):
    """442 x 10 measurements of patients (Efron, Hastie, Johnstone, Tibshirani 2004), standardised by the training part.

    The target is the progression of the disease after a year, 25 to 346, as it is: epsilon and C are in its units.
    """

    name = "diabetes"
    description = "Progression of diabetes (scikit-learn), standardised; regression. C, gamma chosen here."
    test_fraction: float = parameter(1 / 3, "share of the points that is held out for testing", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of the split", ge=0)

    def load(self) -> Dataset:
        """Return the split points: (295, 10) and (147, 10) by default."""
        x, y = _numbers("diabetes_data_raw.csv.gz"), _numbers("diabetes_target.csv.gz")
        rows = random_split(len(y), len(y) - round(self.test_fraction * len(y)), self.split_seed)
        defaults = {**rbf(gamma=0.02, c=100.0), "epsilon": 10.0}
        return named(divided(x, y, rows, "standard", task="regression", defaults=defaults), self.label)


def _columns(file: str, **how: Any) -> tuple[Any, Any]:
    """Return the columns of a file but the last, and the last."""
    values = _numbers(file, **how)
    return values[:, :-1], values[:, -1]


def _numbers(file: str, **how: Any) -> Any:
    """Return the numbers of a file that comes with scikit-learn, which is not imported: that takes seconds."""
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("scikit-learn is not installed, and the data come with it")
    return np.loadtxt(Path(found.origin).parent / "datasets" / "data" / file, **how)
