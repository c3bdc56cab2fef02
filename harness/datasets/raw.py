"""The sets that are parsed from raw files and then cached: where the files lie, their check, and how a set is divided.

A file that hashes to something else than what its parser was tested against may parse, but to other points; so it is
refused instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from harness.arrays import Index
from harness.datasets.dataset import Dataset, DataSource, Task, content_sha256
from harness.datasets.splitting import Scale, rescaled, stratified_split
from harness.errors import DataError
from harness.files import user_cache
from harness.parameters import parameter

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.cache import Entry
    from harness.datasets.dataset import Points


@dataclass(frozen=True)
class Parsed:
    """The four arrays of a data set before they have a name and a checksum.

    ``task`` and ``defaults`` are said where they are not those of the source's class.
    """

    x_train: Points
    y_train: Vector
    x_test: Points
    y_test: Vector
    task: Task = "classification"
    defaults: Mapping[str, Any] | None = None

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays by name, in the order of their checksum."""
        return {"x_train": self.x_train, "y_train": self.y_train, "x_test": self.x_test, "y_test": self.y_test}

    def entry(self, defaults: Mapping[str, Any] | None = None) -> Entry:
        """Return what the cache stores, with the source's ``defaults`` where the data have none of their own."""
        from harness.datasets.cache import Entry

        return Entry(self.arrays, {"task": self.task, "defaults": dict(self.defaults or defaults or {})})

    def dataset(self, name: str, defaults: Mapping[str, Any]) -> Dataset:
        """Return the data set as it is, not cached."""
        sha256 = content_sha256(*self.arrays.values())
        return Dataset(
            name=name, sha256=sha256, task=self.task, defaults=dict(self.defaults or defaults), **self.arrays
        )


def divided(
    x: Points, y: Vector, rows: tuple[Index, Index], scale: Scale = "none", task: Task = "classification"
) -> Parsed:
    """Return the training and the test rows of (n, d) points and (n,) targets, scaled by the training part."""
    train, test = rows
    x_train, x_test = rescaled(x[train], x[test], scale)
    return Parsed(x_train, y[train], x_test, y[test], task)


def as_dataset(name: str, entry: Entry) -> Dataset:
    """Return a cache entry as a data set."""
    fields: dict[str, Any] = {**entry.arrays, **entry.notes}
    return Dataset(name=name, sha256=entry.sha256, **fields)


def raw_root() -> Path:
    """Return the folder of the raw files: ``HARNESS_DATA``, else ``raw`` in the user's cache of ``svm-harness``."""
    return user_cache("HARNESS_DATA", "raw")


def verified(name: str, sha256: str, *, wanted_by: str) -> Path:
    """Return the path of a raw file after comparing its SHA-256 with the expected one.

    Parameters
    ----------
    name : relative to :func:`raw_root`, e.g. ``adult/a9a.gz``
    wanted_by : the data set, for the message

    Raises
    ------
    DataError : the file is missing, cannot be read, or has another checksum.
    """
    from harness.datasets.cache import file_sha256

    path = raw_root() / name
    if not path.is_file():
        raise DataError(
            f"data set '{wanted_by}' needs the raw file '{name}', which is not under {raw_root()}. "
            f"Set HARNESS_DATA to the folder that holds it, or copy it to {path}."
        )
    found = file_sha256(path)
    if found != sha256:
        raise DataError(
            f"data set '{wanted_by}': the raw file {path} has SHA-256 {found}, expected {sha256}. "
            "It is damaged or another version; replace it by the original."
        )
    return path


def rbf(gamma: float, c: float) -> dict[str, Any]:
    """Return the ``defaults`` of a set that its paper trains with k = exp(-gamma |x - z|^2) and box bound C."""
    return {"kernel": "rbf", "gamma": gamma, "C": c}


@dataclass(frozen=True)
class RawSource(DataSource):
    """A set whose raw files lie under ``HARNESS_DATA``: a subclass names them and parses them, the rest is here."""

    files: ClassVar[
        Mapping[str, str]
    ]  # path relative to the raw folder -> SHA-256 of what the parser was tested against
    defaults: ClassVar[Mapping[str, Any]]

    def raw_files(self) -> Mapping[str, str]:
        """Return the files that :meth:`parse` reads: ``files``, unless the parameters decide."""
        return self.files

    @abstractmethod
    def parse(self, *paths: Path) -> Parsed:
        """Return the data from the files, which have been verified and come in the order of :meth:`raw_files`."""

    def load(self) -> Dataset:
        """Return the data, memory-mapped from the parsed cache.

        Raises
        ------
        DataError : a raw file is missing or has the wrong checksum.
        """
        from harness.datasets import cache

        files = self.raw_files()
        content = {verified(name, files[name], wanted_by=self.name): files[name] for name in files}
        key = {"files": dict(files), "parameters": self.clean_parameters()}
        entry = cache.fetch(self.name, key, lambda: self.parse(*content).entry(self.defaults), content)
        return as_dataset(self.label, entry)


@dataclass(frozen=True)
class Published(RawSource):
    """A set that was published with a file for training and one for testing, which are read alike."""

    @abstractmethod
    def read(self, path: Path) -> tuple[Points, Vector]:
        """Return the (n, d) points and (n,) labels of one file."""

    def parse(self, *paths: Path) -> Parsed:
        """Return the training and the test part as published."""
        (x, y), (x_test, y_test) = map(self.read, paths)
        return Parsed(x, y, x_test, y_test)


@dataclass(frozen=True)
class Divided(RawSource):
    """A set in one file, which is divided here, each class in the same proportion."""

    scale: ClassVar[Scale] = "none"
    test_fraction: float = parameter(1 / 3, "share of each class that is held out for testing", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of the split", ge=0)

    @abstractmethod
    def read(self, path: Path) -> tuple[Points, Vector]:
        """Return the (n, d) points and (n,) labels of the file."""

    def parse(self, *paths: Path) -> Parsed:
        """Return the training and the test part, scaled by the training part."""
        x, y = self.read(*paths)
        return divided(x, y, stratified_split(y, self.test_fraction, self.split_seed), self.scale)
