"""A file of a user as a data set."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from harness.datasets import cache
from harness.datasets.dataset import Dataset, DataSource, Task
from harness.datasets.labels import Fault, Refusal, is_regression, learn_classes, short
from harness.datasets.splitting import parts, random_split, rbf, stratified_split
from harness.kernels.points import scale_gamma
from harness.support import parameters
from harness.support.arrays import Array, Vector
from harness.support.errors import DataError
from harness.support.parameters import as_text, parameter
from harness.support.selection import Item, text_of

IN_MEMORY = "arrays"
"""The folder of the cache for data given in memory, see `harness.call.data`; messages name such a file by its stem."""

_SHORT = 40  # largest length of a path in a heading, in characters
_TRIES = 4  # largest number of times that parameters are added to a remedy
_MOST_ROWS = 0.9  # smallest share of the rows that a remedy must load


@dataclass(frozen=True)
class FileSource(DataSource):
    """Points and labels from a LIBSVM, CSV, NPZ, NPY, Parquet or ARFF file, plain or compressed.

    A plain ``.npy`` file larger than memory is mapped if no rows are drawn from it and nothing is scaled:
    give ``test`` or ``test_fraction=0``, and leave ``scale`` at ``none``.
    """

    name = "file"
    description = "Your file: LIBSVM text, CSV, NPZ, NPY, Parquet or ARFF; of two classes the greater label is +1."
    path: str = parameter(MISSING, "the file, its URL, or openml:ID; .gz, .bz2 and .xz are unpacked")
    positive: str | None = parameter(None, "the class that is +1, all others being -1; of more than two one is needed")
    label_column: str | None = parameter(None, "tables: the label's column, by name or position (0 first, -1 last)")
    header: Literal["auto", "yes", "no"] = parameter("auto", "CSV: whether row 1 is a header; auto: by its cells")
    categories: Literal["none", "one-hot"] = parameter("none", "tables: one-hot: each category as a 0/1 column")
    missing: Literal["none", "mean", "median", "drop-rows"] = parameter(
        "none", "tables: what empty cells become, the training part's mean or median; or their rows are left out"
    )
    drop: tuple[str, ...] = parameter((), "tables: columns that are left out, by name or position")
    decimal: Literal["point", "comma"] = parameter("point", "tables: comma reads 1,5 as 1.5 and 1.250 as 1250")
    dates: Literal["none", "days"] = parameter("none", "tables: days reads 2024-05-01 as days since 1970-01-01")
    index_base: Literal["auto", "0", "1"] = parameter("auto", "LIBSVM text: first index; auto: 0 if it occurs, else 1")
    test: str | None = parameter(None, "a second file with the test points")
    test_fraction: float = parameter(0.25, "share of the rows for testing if there is no test file", ge=0, lt=1)
    split_seed: int = parameter(0, "seed of that split", ge=0)
    scale: Literal["none", "standard", "minmax"] = parameter("none", "by the training part; sparse: by largest values")
    task: Literal["auto", "classification", "regression"] = parameter(
        "auto", "auto: regression if more than two labels are numbers and one of them is not whole"
    )

    def __post_init__(self) -> None:
        # a pathlib.Path and a numeric class are accepted as text
        for name in ("path", "test", "positive", "label_column", "index_base"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, str(getattr(self, name)))
        if not isinstance(self.drop, str):
            object.__setattr__(self, "drop", tuple(map(str, np.atleast_1d(self.drop).tolist())))
        if isinstance(self.header, bool):
            object.__setattr__(self, "header", "yes" if self.header else "no")
        parameters.check(self, owner=f"data file '{self.path}'")

    def for_task(self, task: Task) -> Self:
        """Return the file with its labels read for ``task``."""
        return dataclasses.replace(self, task=task)

    @property
    def label(self) -> str:
        """The path if it is short, else the file's name, and the parameters that differ: ``heart.csv[positive=2]``.

        A stem alone could be that of ``a/d.csv`` and of ``b/d.csv``, or of ``d.npz``.
        """
        usual = {"test": self.test, "label_column": "-1"} if self.memory_name else {}  # set by `harness.data`
        changed = {
            name: [_shorten(value) if name == "test" else as_text(value)]
            for name, value in parameters.changed(self).items()
            if name != "path" and value != usual.get(name)
        }
        return text_of(Item(self.memory_name or _shorten(self.path), changed))

    def typed(self, **further: Any) -> str:
        """Return the text to type for this file with further parameters: for a shell, or for Python if it was in memory."""
        values = {**parameters.changed(vars(self).get("_requested", self)), **further}
        del values["path"]
        if not self.memory_name:
            item = Item(self.path, {name: [as_text(value)] for name, value in values.items()})
            return f"--datasets {shlex.quote(text_of(item))}"
        # `harness.data` gets these by other arguments
        in_memory = {"test": self.test, "label_column": self.label_column}
        changes = [f"{name}={value!r}" for name, value in values.items() if value != in_memory.get(name)]
        return f"harness.data(..., {', '.join(changes)})"

    @property
    def memory_name(self) -> str:
        """The name of data given in memory; empty for a file of a user."""
        return "" if (name := display_name(self.path)) == self.path else name

    @property
    def _files(self) -> list[tuple[str, str]]:
        """The path and the display name of the file and of the test file."""
        return [(path, display_name(path)) for path in (self.path, *([self.test] if self.test else []))]

    def load(self) -> Dataset:
        """Return the file's points; parsed and split once, then mapped from the cache until the file changes.

        Raises
        ------
        DataError : the file cannot be read as this problem; the message has the parameters that would help, if any.
        """
        from harness.datasets.bounds import refuse_beyond
        from harness.datasets.compression import existing_file, in_a_sentence

        with in_a_sentence(display_name(self.path)):
            paths = [existing_file(path) for path, _ in self._files]
            for path in paths:
                if path.suffix != ".npy":  # .npy files are mapped
                    refuse_beyond(path.stat().st_size, display_name(path), "its content", "or convert it to .npy")
            content = {path: cache.file_sha256(path) for path in paths}
            values = {name: value for name, value in self.clean_parameters().items() if name not in ("path", "test")}
            # The key has the content instead of the path, and the suffix, which decides how to read the file.
            key = {"files": [[path.suffixes, content[path]] for path in paths], "parameters": values}
            data = cache.dataset(self.label, "file", key, self._parse_or_advise, content)
        if "unscaled" not in data.notes:
            return data
        # added here, as another file with the same content may use the cache entry
        unscaled = {**data.notes["unscaled"], "write": self.typed(scale="standard")}
        return dataclasses.replace(data, notes={**data.notes, "unscaled": unscaled})

    def _parse_or_advise(self) -> Dataset:
        """Return the parsed data; if they have faults, raise DataError, with parameters to type if these help."""
        try:
            return self._parse()
        except Refusal as refusal:
            needs = self._remedy(refusal)
            docs = {known.name: known.doc.removeprefix("tables: ") for known in parameters.parameters_of(FileSource)}
            meanings = "; ".join(docs[name] for name in needs)
            line = f" Write `{self.typed(**needs)}` ({meanings})." if needs else ""
            raise DataError(f"{refusal}{line}{refusal.label}") from None

    def _remedy(self, refusal: Refusal) -> dict[str, Any]:
        """Return parameters with which nearly all rows can be loaded; empty if there are none."""
        needs: dict[str, Any] = {}
        for _ in range(_TRIES):
            if not refusal.is_mendable:
                return {}
            needs |= refusal.needs
            try:
                data = dataclasses.replace(self, **needs)._parse()  # noqa: SLF001 - a source of the same class
            except Refusal as further:
                refusal = further
            except Exception:  # other errors, which these parameters do not avoid
                return {}
            else:
                return needs if data.x_train.shape[0] + data.x_test.shape[0] >= _MOST_ROWS * refusal.n else {}
        return {}

    def _parse(self) -> Dataset:
        from harness.datasets.preprocessing import preprocess, spread
        from harness.datasets.readers import read_parts

        train, *tests = read_parts(self._files, self)
        kinds = train.schema.kinds
        is_pair = self.memory_name and self.label_column == "-1"  # the label has no name
        notes: dict[str, Any] = {"label_column": "" if is_pair else train.schema.label}
        task, y, *y_test = self._targets([part.labels for part in (train, *tests)], notes)
        rows, test_rows = self._split(task, y, has_test=bool(tests))
        x_test: Any = tests[0].x if tests else _rows(train.x, test_rows)
        try:
            with np.errstate(over="raise"):
                x, x_test, done = preprocess(_rows(train.x, rows), x_test, kinds, self)
                gamma = scale_gamma(x)
        except FloatingPointError:
            remedy = "Divide the columns with the largest ones by a constant first, or give the parameter scale=minmax"
            raise DataError(f"'{display_name(self.path)}': squares of its numbers overflow. {remedy}.") from None
        left_out = sum(part.left_out for part in (train, *tests))
        notes["preprocessing"] = "; ".join([f"{left_out:,} rows with empty cells left out"] * bool(left_out) + done)
        if self.scale == "none":
            notes["unscaled"] = spread(x, kinds)
        return parts(
            x, y[rows], x_test, y_test[0] if tests else y[test_rows],
            task=task, defaults={**rbf(gamma, 1.0), **train.defaults}, notes={name: note for name, note in notes.items() if note},
        )  # fmt: skip

    def _targets(self, labels: Sequence[Array], notes: dict[str, Any]) -> tuple[Any, ...]:
        """Return the task and the labels of each part as targets, by the classes of the training part."""
        places = [display_name(self.path), display_name(self.test or self.path)]
        if is_regression(labels[0], self):
            notes["regression"] = "labels that are not whole numbers" if self.task == "auto" else ""
            return "regression", *map(_numbers, labels, places)
        classes = learn_classes(labels[0], self.positive)
        if isinstance(classes, Fault):
            raise Refusal(places[0], [classes], len(labels[0]))
        notes["positive"] = short(classes.positive)
        return "classification", *map(classes.signs, labels, places)

    def _split(self, task: str, y: Vector, has_test: bool) -> tuple[Any, Any]:
        """Return the rows for training and for testing of the same file; slices, which need no copy, if no rows are drawn."""
        if has_test or self.test_fraction == 0:
            return slice(None), slice(0)
        if task == "classification":
            return stratified_split(y, self.test_fraction, self.split_seed)
        return random_split(len(y), max(1, len(y) - round(self.test_fraction * len(y))), self.split_seed)


def _rows(x: Any, rows: Any) -> Any:
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def display_name(path: str | Path) -> str:
    """Return the name of a file in messages: its path, or its stem if it was given in memory."""
    path = str(path)
    folder = (file := Path(path)).parent.parent
    return file.stem if folder.name == IN_MEMORY and folder.parent == cache.cache_root().resolve() else path


def _shorten(path: str) -> str:
    name = Path(path.partition("#")[0] if "://" in path else path).name  # without the pinned hash of an address
    return path if len(path) <= _SHORT else name


def _numbers(labels: Array, where: str) -> Vector:
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        numbers = np.array([np.nan])
    if len(bad := np.flatnonzero(~np.isfinite(numbers))):
        wrong = f"the label '{labels[bad[0]]}' is no finite number"
        raise DataError(f"'{where}': {wrong}; a regression expects numbers. Correct it, or give task=classification.")
    return numbers
