"""Data: the container, sources of data, readers of files, and what a data set must satisfy.

Importing it, and the sources by name, loads NumPy at most; SciPy, pandas and scikit-learn wait for a data set to be loaded.
"""

from __future__ import annotations

from harness.datasets.dataset import Dataset, DataSource, content_sha256, measured_sha256
from harness.datasets.files import FileSource
from harness.datasets.validation import validate

__all__ = ["DataSource", "Dataset", "FileSource", "builtin_sources", "content_sha256", "measured_sha256", "validate"]


def builtin_sources() -> list[type[DataSource]]:
    """Return the named sources: the sets of the catalogue, and those that are drawn.

    :class:`FileSource` is not among them: it is chosen by a path, not by a name.
    """
    from harness.datasets.catalogue import CATALOGUE
    from harness.datasets.generators import BananaLike, Checkerboard, Friedman, Ringnorm, Twonorm, WaveformBreiman

    return [*CATALOGUE, Twonorm, Ringnorm, Checkerboard, WaveformBreiman, BananaLike, Friedman]
