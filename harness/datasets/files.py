"""A user's own file as a data set."""

from __future__ import annotations

import dataclasses
import math
import shlex
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from harness import parameters
from harness.datasets import cache
from harness.datasets.dataset import Dataset, DataSource, Task, is_csr, pieces
from harness.datasets.splitting import divided, parts, random_split, rbf, stratified_split
from harness.errors import DataError
from harness.parameters import as_text, parameter
from harness.selection import Item, text_of

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Points

KEPT = "arrays"
"""The folder of the cache with what was given in memory, see `harness.call.data`: such a file is called by its name alone."""

TABLE_OPTIONS = ("label_column", "categories", "missing", "drop", "decimal", "dates")
"""Parameters of a file whose columns may have names, text and empty cells."""

_SHORT = 40  # characters of a path that a heading has room for


@dataclass(frozen=True)
class FileSource(DataSource):
    """Points and labels from a LIBSVM, CSV, NPZ, NPY, Parquet or ARFF file, plain or compressed.

    A plain ``.npy`` larger than memory is served from the disk as long as no rows are drawn from it and nothing
    is scaled: give ``test`` or ``test_fraction=0``, and leave ``scale`` at ``none``.
    """

    name = "file"
    description = "Your file: LIBSVM text, CSV, NPZ, NPY, Parquet or ARFF; of two classes the greater label is +1."
    path: str = parameter(MISSING, "the file, its URL, or openml:ID; .gz, .bz2 and .xz are unpacked")
    positive: str | None = parameter(None, "the class that is +1, all others being -1; of more than two one is needed")
    label_column: str | None = parameter(None, "tables: the label's column, by name or position (0 first, -1 last)")
    header: Literal["auto", "yes", "no"] = parameter(
        "auto", "CSV: whether the first row holds names; auto: by its cells"
    )
    categories: Literal["none", "one-hot"] = parameter(
        "none", "tables: one-hot: a column of 0 and 1 for each category of a column of text in training"
    )
    missing: Literal["none", "mean", "median", "drop-rows"] = parameter(
        "none", "tables: what empty cells become, the training part's mean or median; or their rows are left out"
    )
    drop: tuple[str, ...] = parameter((), "tables: columns that are left out, by name or position")
    decimal: Literal["point", "comma"] = parameter("point", "tables: comma reads 1,5 as 1.5")
    dates: Literal["none", "days"] = parameter("none", "tables: days reads 2024-05-01 as days since 1970-01-01")
    index_base: Literal["auto", "0", "1"] = parameter(
        "auto", "LIBSVM text: the first index; auto: 0 if it occurs, else 1"
    )
    test: str | None = parameter(None, "a second file with the test points")
    test_fraction: float = parameter(0.25, "share of the rows held out for testing without a test file", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of that split", ge=0)
    scale: Literal["none", "standard", "minmax"] = parameter("none", "by the training part; sparse: by largest values")
    task: Literal["classification", "regression"] = parameter("classification", "regression keeps labels as numbers")

    def __post_init__(self) -> None:
        # a pathlib.Path is as good as text, and so is the class 1
        for name in ("path", "test", "positive", "label_column", "index_base"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, str(getattr(self, name)))
        if not isinstance(self.drop, str):
            object.__setattr__(self, "drop", tuple(map(str, np.atleast_1d(self.drop).tolist())))
        if isinstance(self.header, bool):
            object.__setattr__(self, "header", "yes" if self.header else "no")
        parameters.check(self, owner=f"data file '{self.path}'")

    def for_task(self, task: Task) -> Self:
        """Return the file with its labels read as ``task`` wants them."""
        return dataclasses.replace(self, task=task)

    @property
    def label(self) -> str:
        """The path if it is short, else the file's name, and the parameters that differ: ``heart.csv[positive=2]``.

        As short as a stem it would not tell ``a/d.csv`` from ``b/d.csv``, or from ``d.npz``.
        """
        changed = {
            name: parameters.as_text(value) for name, value in parameters.changed(self).items() if name != "path"
        }
        shown = {name: [_shown(value, name == "test")] for name, value in changed.items()}
        return text_of(Item(self.kept_name or _shown(self.path), shown))

    def typed(self, **further: Any) -> str:
        """Return what to type for this file with further parameters: for a shell, or, of what was in memory, for Python."""
        values = {**parameters.changed(vars(self).get("_asked", self)), **further}
        del values["path"]
        if not self.kept_name:
            item = Item(self.path, {name: [as_text(value)] for name, value in values.items()})
            return f"--datasets {shlex.quote(text_of(item))}"
        joined = values.pop("label_column", None)  # -1: of points and labels that `harness.data` put side by side
        pair = joined == "-1" or self.path.endswith(".npz")
        given = ["X", "y"] if pair else ["frame", *([f"label={joined!r}"] if joined else [])]
        if values.pop("test", None):
            given += ["X_test=X_test", "y_test=y_test"] if pair else ["X_test=test"]
        return f"harness.data({', '.join([*given, *(f'{name}={value!r}' for name, value in values.items())])})"

    @property
    def kept_name(self) -> str:
        """What data that were given in memory are called; empty of a file of a user's."""
        return "" if (name := called(self.path)) == self.path else name

    def load(self) -> Dataset:
        """Return the file's points; parsed and split once, then mapped from the cache until the file changes.

        Raises
        ------
        DataError : the file cannot be read as this problem.
        """
        from harness.datasets.bounds import refuse_beyond
        from harness.datasets.compression import existing_file, in_a_sentence

        with in_a_sentence(called(self.path)):
            paths = [existing_file(path) for path in (self.path, self.test) if path]
            for path in paths:
                if path.suffix != ".npy":  # which is mapped
                    refuse_beyond(path.stat().st_size, called(path), "its content", "or convert it to .npy")
            content = {path: cache.file_sha256(path) for path in paths}
            parameters = {
                name: value for name, value in self.clean_parameters().items() if name not in ("path", "test")
            }
            # Not the path but the content is part of the key; the suffix is, because it decides how to read it.
            key = {"files": [[path.suffixes, content[path]] for path in paths], "parameters": parameters}
            data = cache.dataset(self.label, "file", key, self._parse, content)
        if "unscaled" not in data.notes:
            return data
        # not in the cache, which knows no paths: another file of the same content may be meant next time
        told = {**data.notes["unscaled"], "write": self.typed(scale="standard")}
        return dataclasses.replace(data, notes={**data.notes, "unscaled": told})

    def _parse(self) -> Dataset:
        from harness.datasets.columns import filled, refused, unscaled
        from harness.datasets.labels import Fault, class_name, learn_classes
        from harness.datasets.readers import read_table

        table, shown = read_table(self), called(self.path)
        x, labels, test = table.x, table.labels, table.test
        classes = learn_classes(labels, self.positive) if self.task == "classification" else None
        if isinstance(classes, Fault):
            raise refused(self, shown, [classes])
        to_targets = classes.signs if classes else _numbers
        y = to_targets(labels, shown)
        if test is not None:
            data = parts(x, y, test[0], to_targets(test[1], called(self.test or self.path)))
        elif self.test_fraction == 0:
            data = parts(x, y, x[:0], y[:0])
        elif classes:
            data = divided(x, y, stratified_split(y, self.test_fraction, self.split_seed))
        else:
            n_train = max(1, len(y) - round(self.test_fraction * len(y)))
            data = divided(x, y, random_split(len(y), n_train, self.split_seed))
        try:
            with np.errstate(over="raise"):
                x_train, x_test = filled(table, data.x_train, data.x_test, self)
                gamma = _gamma_scale(x_train)
        except FloatingPointError:
            raise DataError(
                f"'{shown}': squares of its numbers overflow. Divide the columns with the largest ones by a constant first, or "
                "give the parameter scale=minmax."
            ) from None
        defaults = {**rbf(gamma=gamma, c=1.0), **table.defaults}
        notes = {
            "label_column": table.label_column,
            "positive": class_name(classes.positive) if classes else "",
            "unscaled": unscaled(x_train, table) if self.scale == "none" else {},
        }
        told = {name: note for name, note in notes.items() if note}
        return dataclasses.replace(data, x_train=x_train, x_test=x_test, task=self.task, defaults=defaults, notes=told)


def called(path: str | Path) -> str:
    """Return what messages call a file: its path, and what was given in memory by its name alone."""
    path = str(path)
    is_kept = (file := Path(path)).parent.parent.name == KEPT and file.parents[2] == cache.cache_root().resolve()
    return file.stem if is_kept else path


def _shown(text: str, is_path: bool = True) -> str:
    if not is_path or len(text) <= _SHORT:
        return text
    return Path(text.partition("#")[0] if "://" in text else text).name  # of an address without its pin


def _numbers(labels: Vector, path: str) -> Vector:
    if labels.dtype.kind != "f":
        raise DataError(
            f"'{path}': the label '{labels[0]}' is text; task=regression expects numbers. Leave the parameter out."
        )
    return labels


def _gamma_scale(x: Points) -> float:
    """Return 1 / (d var(x)), the usual first guess for the RBF width; 1 / d for constant points."""
    n, d = x.shape
    values: Any = x
    if is_csr(values):
        mean, square = values.sum() / (n * d), values.power(2).sum() / (n * d)
    else:
        parts = [np.asarray(rows, dtype=np.float64) for _, rows in pieces(values)]
        mean, square = (sum(float((part**power).sum()) for part in parts) / (n * d) for power in (1, 2))
    variance = float(square - mean**2)
    gamma = 1.0 / (d * variance) if variance > 1e-12 * float(square) else 1.0 / d
    return gamma if math.isfinite(gamma) else 1.0 / d
