"""The three large sets that come as LIBSVM text: Adult, Reuters money-fx, Forest CoverType."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from harness.datasets.dataset import Task
from harness.datasets.raw import Parsed, Published, RawSource, rbf
from harness.errors import DataError
from harness.parameters import parameter

if TYPE_CHECKING:
    import scipy.sparse

    from harness.arrays import Vector
    from harness.datasets.cache import Entry


def libsvm_text(path: Path, d: int) -> tuple[scipy.sparse.csr_array, Vector]:
    """Return the (n, d) points and the labels of LIBSVM text with indices from 1."""
    from harness.datasets.compression import opened_text
    from harness.datasets.libsvm_files import based, read_libsvm

    with opened_text(path) as file:
        x, y = read_libsvm(file, path)
    return based(x, 1, d), y


@dataclass(frozen=True)
class _LibsvmPair(Published):
    features: ClassVar[int]

    def read(self, path: Path) -> tuple[scipy.sparse.csr_array, Vector]:
        return libsvm_text(path, self.features)


@dataclass(frozen=True)
class Adult(_LibsvmPair):
    """32,561 and 16,281 people, 14 attributes in Platt's 123 binary features (1998); LIBSVM's a9a and a9a.t.

    C and gamma: Bordes et al. 2005, Figure 7 (which counts one row more in each part).
    """

    name = "adult"
    description = (
        "UCI Adult in Platt's 123 binary features (LIBSVM a9a, a9a.t); +1 earns more than 50,000 dollars a year."
    )
    files = {
        "adult/a9a.gz": "82d347cf414924a79e7972829fdeb99ff23346742c49a3bc76b89ff8736a485e",
        "adult/a9a.t.gz": "d52d0c91c3f108f1bf34e4af73003a01ce19c3fcf099f319f084ebb349b8d16c",
    }
    defaults = rbf(gamma=0.005, c=100.0)
    features = 123


@dataclass(frozen=True)
class Reuters(_LibsvmPair):
    """7,770 and 3,299 newswire articles, 8,315 word weights of unit length; the LASVM paper's own file.

    C and gamma: Bordes et al. 2005, Figure 7.
    """

    name = "reuters"
    description = "Reuters-21578 articles as 8,315 word weights (Bordes et al. 2005); +1 is the topic money-fx. Sparse."
    files = {
        "reuters/reuters.trn.bz2": "e77a3368662c02caebe0d9cbcc97d856019bcfb33a8e9b7c48e0b51ee4cdfb60",
        "reuters/reuters.tst.bz2": "3d699b9644a38160bf3228059d18fbfc07474057d8e82d512576a2b82d72e211",
    }
    defaults = rbf(gamma=1.0, c=1.0)
    features = 8315


@dataclass(frozen=True)
class Covtype(RawSource):
    """Up to 531,012 forest patches with 54 features, each scaled to [0, 1] by its range over all 581,012.

    C and gamma: Bordes et al. 2005, Figure 7, 'Forest', with 100,000 training and 50,000 test points. It does not say how
    the features are scaled: ``scale=standard`` gives the support vectors and the error that it has, [0, 1] twice the error
    (part ``settings`` of the study lasvm-2005). As regression the targets are the two signs, epsilon = 0.1 (RandSVM paper,
    section 5.2.2 (b)); its (a) predicts seven class numbers, which the file at hand does not have.
    """

    name = "covtype"
    description = (
        "UCI Forest CoverType, 54 features in [0, 1]; +1 is class 2, Lodgepole pine (Collobert et al. 2002). The LASVM "
        "paper's Forest is covtype[scale=standard]."
    )
    files = {"covtype/covtype.libsvm.binary.xz": "9a467ad865f5875c23f8218da5cfca689031a1830563ca1302af1daf488a6402"}
    defaults = rbf(gamma=1.0, c=3.0)
    n: int | None = parameter(
        100_000, "training points drawn at random; None: all that are not for testing", ge=2, le=581_012
    )
    n_test: int = parameter(50_000, "test points drawn at random", ge=0, le=500_000)
    seed: int = parameter(0, "seed of the draw; a smaller n gives a prefix of a larger one, the test points stay", ge=0)
    dtype: Literal["float64", "float32"] = parameter("float64", "precision of the points")
    scale: Literal["range", "standard"] = parameter(
        "range", "each feature over all points: in [0, 1], or of mean 0 and standard deviation 1"
    )
    regression: bool = parameter(False, "predict the sign as a number, by a linear function")

    def for_task(self, task: Task) -> Self:
        """Return the set with +1 and -1 as numbers, or as classes."""
        return dataclasses.replace(self, regression=task == "regression")

    def parse(self, *paths: Path) -> Parsed:
        """Return (n, 54) and (n_test, 54), dense. The text is parsed once, whatever the parameters."""
        from harness.datasets import cache

        (path,), (sha256,) = paths, self.files.values()
        whole = cache.fetch("covtype-integers", {"sha256": sha256}, lambda: _integers(path), {path: sha256}).arrays
        total = len(whole["y"])
        n = total - self.n_test if self.n is None else self.n
        if n + self.n_test > total:
            raise DataError(
                f"covtype has {total} points; n={n} and n_test={self.n_test} are more together. "
                f"Choose n <= {total - self.n_test}."
            )
        order = np.random.default_rng(self.seed).permutation(total)
        shift, spread = self._scaling(whole)
        parts: list[Any] = []
        for rows in (order[:n], order[total - self.n_test :]):
            x = whole["x"][rows].astype(self.dtype)
            x -= shift
            x /= spread
            parts += [x, whole["y"][rows].astype(np.float64)]
        data = Parsed(*parts)
        linear = {"kernel": "linear", "C": 1.0, "epsilon": 0.1}
        return dataclasses.replace(data, task="regression", defaults=linear) if self.regression else data

    def _scaling(self, whole: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return (54,) shifts and divisors of the integers, in the precision of the points."""
        if self.scale == "range":
            low, high = whole["range"]
            return low.astype(self.dtype), (high - low).astype(self.dtype)
        # column by column: all 581,012 rows as float64 would take 251 MB
        moments = np.array([(column.mean(dtype=np.float64), column.std(dtype=np.float64)) for column in whole["x"].T])
        return moments[:, 0].astype(self.dtype), moments[:, 1].astype(self.dtype)


def _integers(path: Path) -> Entry:
    """Return all points as int16 (61 MB, parsed once for all draws), each feature's range, the signs."""
    from harness.datasets.cache import Entry

    sparse, labels = libsvm_text(path, 54)
    # The values are integers below 2^15; row by row, because the dense float64 array alone would take 251 MB.
    x = np.empty(sparse.shape, dtype=np.int16)
    for start in range(0, len(labels), 50_000):
        x[start : start + 50_000] = sparse[start : start + 50_000].toarray()
    return Entry(
        {"x": x, "y": np.where(labels == 2, 1, -1).astype(np.int8), "range": np.array([x.min(axis=0), x.max(axis=0)])}
    )
