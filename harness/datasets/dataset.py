"""The data set that every data source returns, and the protocol of a data source."""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from harness.kernels.points import as_points
from harness.support import parameters
from harness.support.errors import DataError
from harness.support.parameters import parameter

if TYPE_CHECKING:
    import scipy.sparse

    Points = np.ndarray[Any, np.dtype[Any]] | scipy.sparse.csr_array
    from harness.support.arrays import Mask, Vector

Task = Literal["classification", "regression"]

_SEED = "seed of the choice of {}; none: the seed of the draw or the split, else 0"
_PIECE = 1 << 20  # number of values read at a time


@dataclass(frozen=True)
class Dataset:
    """Training and test points with all data that a run needs for its problem.

    ``x_*`` : (n, d), C-contiguous float64 or float32 (perhaps memory-mapped) or ``scipy.sparse.csr_array``; other
        sparse types are converted
    ``y_*`` : (n,) float64; -1 / +1 for classification, any finite real for regression
    ``sha256`` : hash of the content that the source claims, see :func:`content_sha256`; the host computes it anew
        (:func:`measured_sha256`) for plans, runs and records
    ``task`` : ``classification`` or ``regression``
    ``planted`` : (n,) bool, the training points that the source or its noise made outliers: mislabelled, or drawn from
        another distribution; None if there are none. Solvers do not get it
    ``defaults``: the source's (or its paper's) ``kernel``, ``gamma``, ``C``, which options of the user override
    ``notes`` : JSON data for the head of a table: ``label_column``; ``positive``, the class that is +1; ``regression``, why
        the labels are numbers to predict; ``preprocessing``, the steps fitted on the training part; ``unscaled``, if ranges of
        columns differ much: the ``widest`` and the ``narrowest``, each with its range, and the text to ``write``
    """

    name: str
    x_train: Points
    y_train: Vector
    x_test: Points
    y_test: Vector
    sha256: str
    task: Task = "classification"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    planted: Mask | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("x_train", "x_test"):
            if hasattr(x := getattr(self, name), "tocsr") and np.ndim(x) != 1:  # `validate` reports other faults
                object.__setattr__(self, name, as_points(x, f"data set '{self.name}': {name}"))

    @functools.cached_property
    def density(self) -> float:
        """The share of nonzero features of the training points, which are read once."""
        x: Any = self.x_train  # scipy's types lack the result of count_nonzero
        count = x.count_nonzero() if is_csr(x) else sum(np.count_nonzero(piece) for _, piece in pieces(x))
        return float(count / max(1, x.shape[0] * x.shape[1]))

    @functools.cached_property
    def positive_share(self) -> float | None:
        """The share of training points with label +1; None in regression."""
        return float((self.y_train > 0).mean()) if self.task == "classification" else None


@dataclass(frozen=True)
class DataSource(ABC):
    """A named source of data. Its dataclass fields are its parameters (``checkerboard[n=1000,seed=3]``).

    Every source has an imbalance of its classes, ``digits[imbalance=20]``, and label noise, ``breast-cancer[noise=0.15]``.
    Its :meth:`load` returns the whole, clean data, from which the host leaves positives out, and then flips labels. A source
    that declares a parameter ``imbalance`` or ``noise`` handles it.
    """

    name: ClassVar[str]  # name of the source in commands and records
    description: ClassVar[str]  # one sentence on the points, the class that is +1, and the source
    noisy_defaults: ClassVar[Mapping[str, Any]] = {}  # values that replace ``Dataset.defaults`` under noise
    imbalance: float | None = parameter(
        None, "negatives per positive in training, positives left out at random; None: all stay", gt=0, kw_only=True
    )
    imbalance_seed: int | None = parameter(None, _SEED.format("positives that stay"), ge=0, kw_only=True)
    noise: float = parameter(
        0.0, "share of the training labels, after imbalance, that are flipped", ge=0, lt=0.5, kw_only=True
    )
    noise_seed: int | None = parameter(None, _SEED.format("flipped labels"), ge=0, kw_only=True)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if not hasattr(cls.load, "changes_labels"):  # it may be inherited from a class that is no source
            setattr(cls, "load", _with_label_changes(cls.load))  # noqa: B010  mypy takes no assignment to a method

    def __post_init__(self) -> None:
        parameters.check(self, owner=f"data set '{self.name}'")

    @property
    def label(self) -> str:
        """The name with the parameters that differ from their defaults: ``checkerboard[n=500]``."""
        return parameters.label_of(self)

    def clean_parameters(self) -> dict[str, Any]:
        """Return the parameters of the clean data, name -> value: all but imbalance and noise."""
        changes = _label_changes(self)
        return {name: value for name, value in parameters.values_of(self).items() if name not in changes}

    def for_task(self, task: Task) -> Self:
        """Return this source with the targets of ``task``; the source itself if it has no others."""
        return self

    @abstractmethod
    def load(self) -> Dataset:
        """Return the data, from the cache of parsed data if possible; implementations ignore imbalance and noise.

        Raises
        ------
        DataError : a file is missing, has the wrong checksum or does not parse; the message has the remedy.
        """


def _label_changes(source: DataSource) -> dict[str, Any]:
    """Return imbalance, noise and their seeds, name -> default, without those that the source declares itself."""
    declared = type(source).__dataclass_fields__
    return {shared.name: shared.default for shared in fields(DataSource) if declared[shared.name] is shared}


def _with_label_changes(load: Callable[[Any], Dataset]) -> Callable[[Any], Dataset]:
    """Return a ``load`` that applies imbalance and noise to the data of the given ``load``."""

    @functools.wraps(load)
    def changed(source: DataSource) -> Dataset:
        changes = _label_changes(source)
        imbalance, noise = (name in changes and getattr(source, name) for name in ("imbalance", "noise"))
        if not (imbalance or noise):
            return load(source)
        # load without them, so that a load() that calls its parent's is changed once, and cached data are clean
        clean = replace(source, **changes)
        object.__setattr__(clean, "_requested", source)  # for messages with text to type
        data = replace(load(clean), name=source.label)
        if data.task == "regression":
            raise DataError(
                f"data set '{source.label}': imbalance and noise concern labels of classes, and these data are for "
                "regression. Leave them out."
            )
        if imbalance:
            data = with_imbalance(data, imbalance, _seed(source, "imbalance_seed"))
        if noise:
            data = with_noise(data, noise, _seed(source, "noise_seed"))
            data = replace(data, defaults={**data.defaults, **source.noisy_defaults})
        return named(data, source.label)

    vars(changed)["changes_labels"] = True
    return changed


def _seed(source: DataSource, name: str) -> int:
    seeds = (getattr(source, parameter, None) for parameter in (name, "seed", "split_seed"))
    return next((seed for seed in seeds if seed is not None), 0)


def with_imbalance(whole: Dataset, ratio: float, seed: int) -> Dataset:
    """Return the data set with ``ratio`` negatives per positive in training, or the nearest possible ratio.

    Negatives are never left out, so that all ratios have the same negatives. With the same seed, the positives of a larger
    ratio are a subset of those of a smaller one. Remaining points preserve their order and their mark in ``planted``. They
    are copied once, unless all of them remain.

    Raises
    ------
    DataError : there are too few positives, or none would remain.
    """
    positives = np.flatnonzero(whole.y_train > 0)
    present, negatives = len(positives), len(whole.y_train) - len(positives)
    fewer = max(1, int(min(negatives / ratio, present)))
    # of two equally near counts the greater one, which may be too large
    count = min(fewer + 1, fewer, key=lambda count: abs(negatives / count - ratio))
    if ratio > negatives or count > present:
        raise DataError(
            f"data set '{whole.name}': imbalance={ratio:g} cannot be reached by leaving positives out: {negatives} negatives to "
            f"{present} positives allow {negatives / max(1, present):.6g} to {negatives}. Choose an imbalance between these, or none."
        )
    if count == present:
        return whole
    rng = np.random.default_rng([seed, 2])  # a separate stream, as for noise
    rows = np.delete(np.arange(len(whole.y_train)), rng.permutation(positives)[count:])
    x: Any = whole.x_train
    # the rows of a mapped array are read from the disk in order
    planted = None if whole.planted is None else whole.planted[rows]
    return replace(whole, x_train=x[rows], y_train=whole.y_train[rows], planted=planted)


def flipped(y: Vector, share: float, seed: int) -> Vector:
    """Return a copy of (n,) labels with exactly round(share * n) of them, drawn at random, negated."""
    # a separate stream: default_rng(seed).permutation(n) is also the order in which an online solver with the same
    # seed visits the points, so that the first of them would be exactly those with a wrong label
    rng = np.random.default_rng([seed, 1])
    y = np.array(y)
    y[rng.permutation(len(y))[: round(share * len(y))]] *= -1.0
    return y


def with_noise(clean: Dataset, share: float, seed: int) -> Dataset:
    """Return the data set with a share of the training labels negated; the points are not copied.

    ``planted`` marks these points in addition to those that the source planted. If all labels are then the same, ``validate``
    raises.
    """
    y = flipped(clean.y_train, share, seed)
    wrong: Mask = y != clean.y_train
    return replace(clean, y_train=y, planted=wrong if clean.planted is None else wrong | clean.planted)


def measured_sha256(dataset: Dataset) -> str:
    """Return the SHA-256 of the content of a loaded data set, computed from its arrays.

    It covers points and targets of both parts (values, shapes, dtypes, sparse structure) and the task. The same content
    has the same hash in memory and on disk, in every process, and for classification it is
    ``content_sha256(x_train, y_train, x_test, y_test)``.

    Parameters
    ----------
    dataset : a data set that passes :func:`harness.datasets.validate`; read once, 1 to 2 GB a second; not copied
    """
    content = content_sha256(dataset.x_train, dataset.y_train, dataset.x_test, dataset.y_test)
    if dataset.task == "classification":
        return content
    return hashlib.sha256(f"{content} {dataset.task}".encode()).hexdigest()


def named(data: Dataset, label: str) -> Dataset:
    """Return the data set with its name and the checksum of its content."""
    return replace(data, name=label, sha256=content_sha256(data.x_train, data.y_train, data.x_test, data.y_test))


def is_csr(x: Any) -> bool:
    """Return whether points are sparse; all others are dense."""
    if isinstance(x, np.ndarray):  # without the import of SciPy, which takes as long as a small comparison's planning
        return False
    import scipy.sparse

    return isinstance(x, scipy.sparse.csr_array | scipy.sparse.csr_matrix)


def pieces(x: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row, rows) of a dense array, some MB at a time, as it may be mapped and larger than memory."""
    step = max(1, _PIECE // max(1, x[:1].size))
    for start in range(0, len(x), step):
        yield start, x[start : start + step]


def content_sha256(*arrays: Any) -> str:
    """Return the SHA-256 of dense or CSR arrays: shapes, dtypes and bytes, in order, without copying an array as a whole."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        for part in map(np.atleast_1d, (array.indptr, array.indices, array.data) if is_csr(array) else (array,)):
            digest.update(part.dtype.str.encode())
            for _, piece in pieces(part):
                digest.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
