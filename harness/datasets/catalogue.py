"""Real data sets: from raw files, and the three small ones of scikit-learn.

A data set is an entry in ``catalogue.toml`` with its description, its files and their format, its parameters, and the C and
gamma of its paper. The class of the data set is made from the entry; its base class, which the entry names, divides the rows
into training and test part.

The checksums of raw files are in ``registry.txt``. A file with other content is refused, as it may parse to other points.
The parsed data are cached.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
import tarfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from harness.datasets import cache
from harness.datasets.compression import opened
from harness.datasets.dataset import Dataset, DataSource, Task, is_csr, named
from harness.datasets.raw_files import registry, verified
from harness.datasets.splitting import divided, parts, random_split, stratified_split
from harness.support.errors import DataError
from harness.support.parameters import parameter

if TYPE_CHECKING:
    from harness.support.arrays import Vector


# -- reading a file ----------------------------------------------------------------------------------------


def libsvm_text(path: Path, d: int, dense: bool = False) -> tuple[Any, Vector]:
    """Return the (n, d) points, CSR unless ``dense``, and the labels of LIBSVM text with indices from 1."""
    from harness.datasets.libsvm_text import based, read_libsvm

    with opened(path) as file:
        x, y = read_libsvm(file)
    points = based(x, 1, d, path)
    return points.toarray() if dense else points, y


def matlab(path: Path, points: str = "data", labels: str = "target") -> tuple[Any, Vector]:
    """Return the points and labels of a .mat file as float64."""
    import scipy.io

    with opened(path) as file:
        content = scipy.io.loadmat(cast("Any", file))
    return np.ascontiguousarray(content[points], np.float64), content[labels].ravel().astype(np.float64)


def text_table(path: Path, **how: Any) -> Any:
    """Return a table of text, compressed or not, as ``numpy.loadtxt`` reads it."""
    with opened(path) as file:
        return np.loadtxt(file, **how)


def columns(path: Path, label: int, points: tuple[int, int], divisor: float = 1.0, **how: Any) -> tuple[Any, Any]:
    """Return the points, divided by ``divisor``, and the labels of a table of text.

    label : column of the labels
    points : first column of the points, and the first after them
    how : as ``numpy.loadtxt`` has it
    """
    table = text_table(path, **how)
    return table[:, slice(*points)].astype(np.float64) / divisor, table[:, label]


def table_and_targets(path: Path, targets: str) -> tuple[Any, Any]:
    """Return the points of a table of text, and the targets in another file of its folder."""
    return text_table(path), text_table(path.with_name(targets))


def shells(path: Path) -> tuple[Any, Any]:
    """Return the points of abalone, the sex as three columns M, F and I, and the numbers of rings."""
    table = text_table(path, dtype=str, delimiter=",")
    sex, numbers = table[:, :1] == list("MFI"), table[:, 1:].astype(np.float64)
    return np.hstack([sex, numbers[:, :7]]), numbers[:, 7]


def signs(labels: Any, positive: Any) -> Vector:
    """Return +1 where a label is the positive one, else -1."""
    return np.where(labels == positive, 1.0, -1.0)


_FORMATS: Mapping[str, Callable[..., tuple[Any, Any]]] = {
    "libsvm": libsvm_text, "matlab": matlab, "text": columns, "table-and-targets": table_and_targets, "shells": shells,
}  # fmt: skip


# -- from files to a training and a test part --------------------------------------------------------------


@dataclass(frozen=True)
class RawSource(DataSource):
    """A set of raw files, read alike: the first one has the rows for training, a second one those for testing."""

    facts: ClassVar[Mapping[str, Any]]  # entry in catalogue.toml
    files: ClassVar[Mapping[str, str]]  # name in the registry -> SHA-256 of the content

    @property
    def task(self) -> Task:
        """The task: that of the entry or of a parameter ``regression``; by default classification."""
        return "regression" if getattr(self, "regression", False) else self.facts.get("task", "classification")

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The kernel, gamma, C and epsilon that the set's paper trains with."""
        return cast("Mapping[str, Any]", self.facts.get(f"{self.task}_defaults", self.facts["defaults"]))

    def for_task(self, task: Task) -> Self:
        """Return the set with the targets of ``task``, where it has a parameter ``regression``."""
        changed: dict[str, Any] = {"regression": task == "regression"} if hasattr(self, "regression") else {}
        return dataclasses.replace(self, **changed)

    def verified_files(self) -> dict[Path, str]:
        """Return the paths of :attr:`files`, in their order, each with its SHA-256.

        Raises
        ------
        DataError : a raw file is missing or has the wrong checksum.
        """
        return {verified(name, sha256, needed_by=self.name): sha256 for name, sha256 in self.files.items()}

    def read(self, path: Path) -> tuple[Any, Vector]:
        """Return the (n, d) points and (n,) labels of one file."""
        x, labels = _FORMATS[self.facts["format"]](path, **self.facts.get("reading", {}))
        positive = self.facts.get("positive")  # the name of a parameter, or a label
        if positive is None or self.task == "regression":
            return x, labels
        return x, signs(labels, vars(self).get(positive, positive))

    def rows(self, y: Vector, first: int) -> tuple[Any, Any]:
        """Return the training and the test rows of (n,) labels, of which ``first`` are in the first file."""
        return slice(first), slice(first, None)

    def parse(self, *paths: Path) -> Dataset:
        """Return the training and the test part of the verified files, scaled by the training part."""
        points, labels = zip(*map(self.read, paths), strict=True)
        x, y = points[0], np.concatenate(labels)
        if len(points) > 1:
            import scipy.sparse

            x = scipy.sparse.vstack(points, "csr") if is_csr(x) else np.vstack(points)
        return divided(x, y, self.rows(y, len(labels[0])), self.facts.get("scale", "none"))

    def parsed(self, *paths: Path) -> Dataset:
        """Return what :meth:`parse` does, with the task and the defaults."""
        return dataclasses.replace(self.parse(*paths), task=self.task, defaults=self.defaults)

    def load(self) -> Dataset:
        """Return the data, memory-mapped from the parsed cache.

        Raises
        ------
        DataError : a raw file is missing or has the wrong checksum.
        """
        content = self.verified_files()
        key = {"files": self.files, "parameters": self.clean_parameters()}
        return cache.dataset(self.label, self.name, key, lambda: self.parsed(*content), content)


@dataclass(frozen=True)
class Marked(RawSource):
    """A set in one file, with another one that has 1 for each test row and 0 for each training row."""

    def parse(self, *paths: Path) -> Dataset:
        """Return the training and the test part as published, scaled by the training part."""
        x, y = self.read(paths[0])
        for_test = text_table(paths[1]) == 1
        return divided(x, y, (~for_test, for_test), self.facts["scale"])


@dataclass(frozen=True)
class Stratified(RawSource):
    """A set that is divided here, each class in the same proportion."""

    test_fraction: float = parameter(1 / 3, "share of each class for testing", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of the split", ge=0)

    def rows(self, y: Vector, first: int) -> tuple[Any, Any]:
        """Return the training and the test rows, drawn at random."""
        if self.task == "regression":
            return random_split(first, first - round(self.test_fraction * first), self.split_seed)
        return stratified_split(y, self.test_fraction, self.split_seed)


@dataclass(frozen=True)
class Embedded(Stratified):
    """A set that comes with scikit-learn: nothing to fetch, nothing to cache."""

    def load(self) -> Dataset:
        """Return the data."""
        scikit_learn = importlib.metadata.distribution("scikit-learn")  # not imported: that takes seconds
        file = Path(str(scikit_learn.locate_file("sklearn/datasets/data")), self.facts["embedded"])
        return named(self.parsed(file), self.label)


@dataclass(frozen=True)
class Drawn(RawSource):
    """A set of which a number of rows is drawn for training."""

    n: int | None = parameter(None, "training rows, drawn at random; all others are for testing", ge=2)
    split_seed: int = parameter(0, "seed of the draw", ge=0)

    def rows(self, y: Vector, first: int) -> tuple[Any, Any]:
        """Return the training and the test rows: drawn at random, or the first ones for training as published."""
        if self.n is None:
            return super().rows(y, self.facts["first"])
        return random_split(first, self.n, self.split_seed)


@dataclass(frozen=True)
class Raetsch(Drawn):
    """A set of Raetsch's collection: all rows, and an archive with his splits."""

    realisation: int | None = parameter(None, "instead, one of Raetsch's splits, 400 for training", ge=1, le=10)

    def parse(self, *paths: Path) -> Dataset:
        """Return the rows drawn and the others, or the 400 and the others of a split."""
        if self.realisation is None:
            return super().parse(paths[0])
        part = f"{self.name}/{self.name}_{{}}_{self.realisation}.asc"
        names = map(part.format, ("train_data", "train_labels", "test_data", "test_labels"))
        with tarfile.open(paths[1]) as archive:
            return parts(*(np.loadtxt(cast("Any", archive.extractfile(name))) for name in names))


@dataclass(frozen=True)
class ForestPatches(RawSource):
    """The set ``covtype``: drawn rows, scaled by what all rows say."""

    n: int | None = parameter(100_000, "training points drawn; None: all that are not for testing", ge=2, le=581_012)
    n_test: int = parameter(50_000, "test points drawn at random", ge=0, le=500_000)
    seed: int = parameter(0, "seed of the draw; a smaller n gives a prefix of a larger one, the test points stay", ge=0)
    scale: Literal["range", "standard"] = parameter("range", "each feature over all points: in [0, 1], or standardised")
    regression: bool = parameter(False, "predict the sign as a number, by a linear function")

    def parse(self, *paths: Path) -> Dataset:
        """Return (n, 54) and (n_test, 54) dense points."""
        sparse, labels = self.read(paths[0])
        x = sparse.toarray(order="F")
        y = signs(labels, 2)
        shift, spread = x.min(axis=0), np.ptp(x, axis=0)
        if self.scale == "standard":
            shift, spread = x.mean(axis=0), x.std(axis=0)
        order = np.random.default_rng(self.seed).permutation(len(y))
        others = len(y) - self.n_test
        if self.n is not None and self.n > others:
            raise DataError(
                f"data set '{self.label}': n_test={self.n_test} leaves {others} points. Choose n <= {others}."
            )
        train, test = order[:others][: self.n], order[others:]
        x_train, x_test = ((x[rows] - shift) / spread for rows in (train, test))
        return parts(x_train, y[train], x_test, y[test])


@dataclass(frozen=True)
class DigitImages(RawSource):
    """The set ``mnist``: four files of bytes."""

    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    n: int | None = parameter(None, "training images; None: all 60,000", ge=2, le=60_000)
    seed: int | None = parameter(None, "None: the first n images; a number: n drawn at random with that seed", ge=0)
    dtype: Literal["float64", "float32"] = parameter("float64", "precision of the points")
    regression: bool = parameter(False, "predict the digit as a number, by a linear function")

    def parse(self, *paths: Path) -> Dataset:
        """Return (60000, 784) and (10000, 784) pixels, and the digits as targets."""
        # An IDX file of bytes: a header of 16 bytes for images, of 8 for labels, then the values.
        images, labels, test_images, test_labels = map(_bytes, paths, (16, 8, 16, 8))
        # One division by 255 in the target precision, as everybody does it: pixel 255 is exactly 1.
        scale = np.dtype(self.dtype).type(255)
        x, x_test = (pixels.reshape(-1, 784) / scale for pixels in (images, test_images))
        return parts(x, labels.astype(np.float64), x_test, test_labels.astype(np.float64))

    def load(self) -> Dataset:
        """Return (n, 784) and (10000, 784) pixels; the parsed cache has all of them once, for every digit."""
        content = self.verified_files()
        key = {"files": self.files, "dtype": self.dtype}
        whole = cache.dataset(self.label, self.name, key, lambda: self.parse(*content), content)
        rows: Any = slice(self.n)
        if self.seed is not None:
            rows = np.random.default_rng(self.seed).permutation(len(whole.y_train))[: self.n]
        y, y_test = whole.y_train[rows], whole.y_test
        if not self.regression:
            y, y_test = signs(y, self.digit), signs(y_test, self.digit)
        data = parts(whole.x_train[rows], y, whole.x_test, y_test, task=self.task, defaults=self.defaults)
        return named(data, self.label)


def _bytes(path: Path, offset: int) -> Any:
    with opened(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


@dataclass(frozen=True)
class PostalImages(RawSource):
    """The set ``usps``: divided as published or at random, the images smoothed or not."""

    noisy_defaults: ClassVar[Mapping[str, Any]] = {"C": 10.0}
    digit: int = parameter(0, "the digit that is +1", ge=0, le=9)
    split_seed: int | None = parameter(None, "seed of a draw of 7,329 training images; none: as published", ge=0)
    smooth: float = parameter(0.0, "width in pixels of the Gaussian that smooths each image; 0: none does", ge=0, le=8)

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The kernel, gamma and C: another gamma for images that are drawn and not smoothed."""
        is_other = self.split_seed is not None and not self.smooth
        return {**super().defaults, "gamma": 2 / 1024} if is_other else super().defaults

    def read(self, path: Path) -> tuple[Any, Vector]:
        """Return the images of one file, smoothed, and their signs."""
        x, y = super().read(path)
        return smoothed(x, self.smooth) if self.smooth else x, y

    def rows(self, y: Vector, first: int) -> tuple[Any, Any]:
        """Return 7,291 and 2,007 rows as published, or 7,329 and 1,969 drawn ones."""
        return super().rows(y, first) if self.split_seed is None else random_split(len(y), 7329, self.split_seed)


def smoothed(x: Any, width: float) -> Any:
    """Return (n, 256) images of 16 x 16 pixels in [-1, 1], each convolved with a Gaussian; around it the background, -1.

    width : standard deviation of the Gaussian, in pixels
    """
    from scipy.ndimage import gaussian_filter

    images = np.asarray(x).reshape(-1, 16, 16)
    return np.asarray(gaussian_filter(images, (0.0, width, width), mode="constant", cval=-1.0)).reshape(-1, 256)


# -- the classes of all sets -------------------------------------------------------------------------------

_KINDS = {
    kind.__name__: kind
    for kind in (RawSource, Marked, Stratified, Embedded, Drawn, Raetsch, ForestPatches, DigitImages, PostalImages)
}


def _class_of(name: str, facts: Mapping[str, Any]) -> type[RawSource]:
    """Return the class of a set, made from its entry."""
    fields = [_field(parameter_name, **how) for parameter_name, how in facts.get("parameters", {}).items()]
    files = {file: registry()[file].sha256 for file in facts.get("files", ())}
    described = {"name": name, "description": facts["description"], "__doc__": facts["about"]}
    namespace = {**described, "facts": facts, "files": files, "__module__": __name__}
    title, bases = re.sub(r"\W", "", name.title()), (_KINDS[facts["kind"]],)
    return dataclasses.make_dataclass(title, fields, bases=bases, namespace=namespace, frozen=True)


def _field(name: str, default: Any = None, **how: Any) -> tuple[str, Any, Any]:
    """Return a parameter of an entry as ``make_dataclass`` has it."""
    return name, int | None if default is None else type(default), parameter(default, **how)


_ENTRIES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CATALOGUE = tuple(_class_of(name, facts) for name, facts in _ENTRIES.items())
"""The sets that come with scikit-learn, then those of raw files, the papers' first."""
globals().update({cls.__name__: cls for cls in CATALOGUE})  # so that instances can be pickled
