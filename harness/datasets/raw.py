"""The base of the data sets that are parsed from raw files and then cached."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from harness import parameters
from harness.datasets.dataset import Dataset, DataSource, Task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.datasets.cache import Entry
    from harness.datasets.dataset import Points, Vector


@dataclass(frozen=True)
class Parsed:
    """The four arrays of a data set before they have a name and a checksum."""

    x_train: Points
    y_train: Vector
    x_test: Points
    y_test: Vector
    task: Task = "classification"
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def entry(self) -> Entry:
        """Return what the cache stores."""
        from harness.datasets.cache import Entry

        arrays = {"x_train": self.x_train, "y_train": self.y_train, "x_test": self.x_test, "y_test": self.y_test}
        return Entry(arrays, {"task": self.task, "defaults": dict(self.defaults)})


def as_dataset(name: str, entry: Entry) -> Dataset:
    """Return a cache entry as a data set."""
    fields: dict[str, Any] = {**entry.arrays, **entry.notes}
    return Dataset(name=name, sha256=entry.sha256, **fields)


def rbf(gamma: float, c: float) -> dict[str, Any]:
    """Return the ``defaults`` of a set that its paper trains with k = exp(-gamma |x - z|^2) and box bound C."""
    return {"kernel": "rbf", "gamma": gamma, "C": c}


@dataclass(frozen=True)
class RawSource(DataSource):
    """A set whose raw files lie under ``HARNESS_DATA``: a subclass names them and parses them, the rest is here."""

    files: ClassVar[tuple[str, ...]]  # relative to the raw folder

    def raw_files(self) -> tuple[str, ...]:
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
        from harness.datasets import cache, checksums

        names = self.raw_files()
        paths = [checksums.verified(name, wanted_by=self.name) for name in names]
        content = {path: checksums.SHA256[name] for path, name in zip(paths, names, strict=True)}
        key = {"files": {name: checksums.SHA256[name] for name in names}, "parameters": parameters.values_of(self)}
        return as_dataset(self.label, cache.fetch(self.name, key, lambda: self.parse(*paths).entry(), content))
