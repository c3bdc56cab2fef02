"""Columns as points: which one is the label, what the others hold, all that is wrong with them at once, text as categories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.datasets.dataset import is_csr
from harness.datasets.labels import MISSING, Fault, class_name, learn_classes
from harness.datasets.splitting import rescaled
from harness.datasets.tables import DENSE_FROM, Table, checked
from harness.errors import DataError
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    import pandas as pd

    from harness.arrays import Array, Index, Mask
    from harness.datasets.dataset import Points

LABEL_NAMES = ("label", "target", "class", "y")
_NAME = 100  # characters of a column's name
_LISTED = 5  # columns that a message names of one kind
_DATE = r"\d{4}-\d\d-\d\d([T ].*)?"
_CODES = 20  # values, text and numbers, that are still categories
_CATEGORIES = 1000  # of one column
_APART = 100.0  # times the narrowest range of a column, from which the widest one outweighs it
_MEANS = {
    "categories": "one-hot makes a column of 0 and 1 of each category",
    "missing": "mean fills an empty cell with its column's mean; or missing=median, or drop-rows",
    "dates": "days counts the days since 1970-01-01",
    "drop": "drop leaves columns out",
}


@dataclass(frozen=True, eq=False)
class _Cells:
    """A column of n cells. ``numbers``: (n,), NaN where there is none; ``missing``: (n,), the empty cells."""

    index: int  # in the file, from 0
    name: str
    column: pd.Series[Any]
    numbers: Array
    missing: Mask

    @cached_property
    def words(self) -> Array:
        """The cells as text, (n,)."""
        if self.column.dtype.kind in "fiu":
            return np.array([class_name(value) for value in self.numbers.tolist()], dtype=object)
        words = self.column.astype(str).str.strip()
        return (words.str.lower() if self.column.dtype.kind == "b" else words).to_numpy(dtype=object)

    @cached_property
    def odd(self) -> Index:
        """The rows whose cell is neither a finite number nor empty."""
        return np.flatnonzero(~np.isfinite(self.numbers) & ~self.missing)

    @cached_property
    def distinct(self) -> Array:
        """The different texts of the cells, sorted."""
        return np.unique(np.asarray(self.words[~self.missing], dtype=np.str_))

    @cached_property
    def kind(self) -> Literal["blank", "number", "comma", "text", "dates", "names"]:
        """What most cells are: names are texts that hardly occur twice, as of customers."""
        present = int((~self.missing).sum())
        text = self.words[self.odd[np.isnan(self.numbers[self.odd])]]
        if not present or not len(text):
            return "number" if present else "blank"
        if all(re.fullmatch(r"[+-]?\d+(,\d+)+", cell) for cell in text):
            return "comma"
        found = len(self.distinct)
        if 2 * len(text) <= present and found > min(_CODES, present // 2):
            return "number"
        if found <= _CATEGORIES and (found <= _CODES or 2 * found <= present):
            return "text"
        return "dates" if all(re.fullmatch(_DATE, cell) for cell in self.distinct.tolist()) else "names"

    @property
    def shown(self) -> str:
        """The name as a message has it."""
        return f"'{plain_line(self.name, 40)}'"

    @property
    def reference(self) -> str:
        """How a parameter names the column: by its position where the name would be taken for something else."""
        return self.name if re.fullmatch(r'[^\W\d][^()\[\]",=]*', self.name) else str(self.index)


def _cells(index: int, name: str, column: pd.Series[Any], source: Any) -> _Cells:
    import pandas as pd

    if column.dtype.kind in "fiub":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return _Cells(index, name, column, values, np.isnan(values))
    words: Any = column.astype(str).str.strip()
    missing = (column.isna() | words.str.lower().isin(MISSING)).to_numpy()
    # as text: a time would pass as its nanoseconds, and no cell of a strange kind is a number
    words = words.str.replace(",", ".", regex=False) if source.decimal == "comma" else words
    if source.dates == "days" and words[~missing].str.fullmatch(_DATE).all():
        words = pd.to_datetime(words, errors="coerce", utc=True, format="ISO8601") - pd.Timestamp(0, unit="s", tz="UTC")
        words /= pd.Timedelta(days=1)
    values = pd.to_numeric(words, errors="coerce").to_numpy(dtype=np.float64)
    return _Cells(index, name, column, np.where(missing, np.nan, values), missing)


def from_frame(
    frame: pd.DataFrame,
    path: Path,
    source: Any,
    *,
    named: bool = True,
    lines: Callable[[], Sequence[int]] | None = None,
    like: Table | None = None,
) -> Table:
    """Return a table from columns: the label's and, in their order, all others as features.

    The label is ``source.label_column``, a name or a position (0 the first, -1 the last); else the column named label, target,
    class or y, whatever the case (there must not be two of them), else the last one.

    Parameters
    ----------
    source : a `FileSource`, which says how columns are read
    named : whether the columns have names of their own (messages and ``label_column`` then use them)
    lines : the line of the file that each row begins in; None: rows are counted from 1
    like : the table of the training file, of one with test points: the same columns are text

    Raises
    ------
    DataError : no such column; else one that names all that keeps the rows from being points, and what to write.
    """
    names = [plain_line(str(name).strip(), _NAME) for name in frame.columns]
    if not names:
        raise DataError(f"'{path}' has 0 rows of data; expected points of both classes. Fetch or write it again.")
    kept, position = _kept(names if named else [], len(names), path, source)
    shown = names if named else [f"#{index + 1}" for index in range(len(names))]
    cells = {index: _cells(index, shown[index], frame.iloc[:, index], source) for index in kept}
    label, columns = cells.pop(position), list(cells.values())
    texts = [i for i, each in enumerate(columns) if each.kind == "text"] if like is None else list(like.categories)
    if len(frame) and columns:  # else `checked` says so
        report = _Report(path, source, columns, texts, label, lines, is_test=like is not None)
        if faults := list(report.faults(may_be_names=not named and source.header == "auto")):
            usual = named and source.label_column is None and label.name.lower() not in LABEL_NAMES
            which = "label" if source.kept_name else "label_column"
            whose = f" The label is the last column, {label.shown}; {which}= names another." if usual else ""
            raise refused(source, path, faults, whose)
    rows = np.ones(len(frame), dtype=bool)
    if source.missing == "drop-rows":
        rows = ~np.any([each.missing for each in (*columns, label)], axis=0)
    x = np.empty((int(rows.sum()), len(columns)))
    categories = {i: columns[i].distinct if like is None else like.categories[i] for i in texts}
    for i, each in enumerate(columns):
        x[:, i] = (_codes(each, categories[i]) if i in texts else each.numbers)[rows]
    told = tuple(each.name for each in columns) if named else None
    table = Table(x, _labels(label, source.task)[rows], names=told, categories=categories, label_column=label.name)
    return checked(table, path, gaps=True)


def check_choices(frame: pd.DataFrame, name: str, source: Any) -> None:
    """Refuse names of columns and of a class that a frame in memory lacks, before a run reads it.

    Raises
    ------
    DataError : there is no such column, or no row of such a label.
    """
    names = [str(each).strip() for each in frame.columns]
    _, position = _kept(names, len(names), name, source)
    if source.positive is not None and len(frame):
        label = _cells(position, names[position], frame.iloc[:, position], source)
        found = learn_classes(_labels(label, source.task)[~label.missing], source.positive)
        if isinstance(found, Fault):
            raise refused(source, name, [Fault(f"label column {label.shown}: {found.text}", found.needs)])


def _codes(cells: _Cells, categories: Array) -> Array:
    """Return the place of each cell's text among the categories, (n,), -1 where it is empty or none of them."""
    import pandas as pd

    return pd.Index(categories).get_indexer(pd.Index(np.where(cells.missing, "", cells.words)))


def _labels(cells: _Cells, task: str) -> Array:
    is_text = cells.kind in ("text", "names", "dates", "comma") or len(cells.odd)
    is_text = is_text or (cells.column.dtype.kind == "b" and task == "classification")  # true and false, not 1 and 0
    return np.where(cells.missing, "", cells.words).astype(np.str_) if is_text else cells.numbers


def _kept(names: Sequence[str], width: int, path: Path | str, source: Any) -> tuple[list[int], int]:
    """Return the columns that are not left out, and which of them is the label."""
    dropped = {index for each in source.drop for index in _found(each, names, width, path)}
    kept = [index for index in range(width) if index not in dropped]
    return kept, _label_position(names, kept, width, path, source)


def _found(wanted: str, names: Sequence[str], width: int, path: Path | str) -> list[int]:
    """Return the columns of a name, or the one at a position."""
    if found := [index for index, name in enumerate(names) if name == wanted]:
        return found
    if re.fullmatch(r"[+-]?\d+", wanted.strip()) and -width <= int(wanted) < width:
        return [int(wanted) % width]
    columns = ", ".join(names[:30]) if names else "it has no header"
    raise DataError(
        f"'{path}' has no column '{wanted}'{did_you_mean(wanted, names)}; expected one of its {width} columns ({columns}) or "
        f"its position, 0..{width - 1} (-1: the last)."
    )


def _label_position(names: Sequence[str], kept: Sequence[int], width: int, path: Path | str, source: Any) -> int:
    if source.label_column is not None:
        found = _found(source.label_column, names, width, path)
    else:
        found = [index for index in kept if names and names[index].lower() in LABEL_NAMES] or list(kept[-1:])
    if len(found) > 1:
        choice = names[found[0]] if names.count(names[found[0]]) == 1 else found[0]  # of one name: the position tells
        told = f"the columns {' and '.join(repr(names[index]) for index in found)}, each of which could be the label"
        raise refused(source, path, [Fault(f"it has {told}; expected one", {"label_column": str(choice)})])
    if not set(found) & set(kept):
        raise DataError(f"'{path}': drop={','.join(source.drop)} leaves out the label. Name other columns.")
    return found[0]


# -- what is wrong -----------------------------------------------------------------------------------------


def refused(source: Any, path: Path | str, faults: Iterable[Fault], further: str = "") -> DataError:
    """Return the error that names all faults of a file, and what to write where parameters mend them."""
    told = {fault.text: fault.needs for fault in faults}
    needs = {name: value for each in told.values() for name, value in each.items()}
    meant = "; ".join(_MEANS[name] for name in needs if name in _MEANS)
    verb = "Write" if all(told.values()) else "With that done, write"
    line = f" {verb} {source.typed(**needs)}{f' ({meant})' if meant else ''}" if needs else ""
    return DataError(f"'{path}': {'; '.join(told)}.{line}{line and '.'}{further}")


@dataclass(frozen=True)
class _Report:
    """All that keeps the rows of a file from being points."""

    path: Path
    source: Any
    columns: Sequence[_Cells]
    texts: Sequence[int]  # the columns of categories
    label: _Cells
    lines: Callable[[], Sequence[int]] | None
    is_test: bool

    def faults(self, *, may_be_names: bool) -> Iterator[Fault]:
        source, columns = self.source, self.columns
        odd = [each for i, each in enumerate(columns) if i not in self.texts and len(each.odd)]
        commas = [each for each in odd if each.kind == "comma"]
        names = [each for each in odd if each.kind == "names" and not self.is_test]
        dates = [each for each in odd if each.kind == "dates" and not self.is_test]
        odd = [each for each in odd if each not in (*commas, *names, *dates)]
        if odd and may_be_names and all(each.odd.tolist() == [0] for each in odd):
            told = f"{self.place(odd[0].odd)} holds {odd[0].words[0]!r} above numbers: correct it, or say that these are names"
            yield Fault(told, {"header": "yes"})
            return  # all that follows would count that row
        if odd:
            yield Fault(self.listed("not a finite number in", odd, self.sample) + ": correct or empty these cells")
        if commas:
            told, parted = self.listed("numbers with a comma in", commas, self.sample), r"[+-]?\d{1,3}(,\d{3})+"
            if all(re.fullmatch(parted, each.words[row]) for each in commas for row in each.odd):
                yield Fault(f"{told}: write 1,000 as 1000, or say decimal=comma if it is 1.000")
            else:
                yield Fault(told, {"decimal": "comma"})
        if dates:
            yield Fault(self.listed("dates in", dates, self.values), {"dates": "days"})
        blank = [each for each in columns if each.kind == "blank" and not self.is_test]
        drop = {"drop": (*source.drop, *(each.reference for each in (*names, *blank)))}
        if names:
            yield Fault(self.listed("too many texts for categories in", names, self.values), drop)
        if blank:
            yield Fault(self.listed("not one value in", blank), drop)
        if self.texts and source.categories == "none":
            texts = [columns[i] for i in self.texts]
            yield Fault(self.listed("text in", texts, self.values), {"categories": "one-hot"})
        empty = [each for each in columns if each.missing.any() and each not in blank and each not in names]
        if empty and source.missing == "none":
            yield Fault(self.listed("empty cells in", empty, self.empty), {"missing": "mean"})
        yield from self.of_the_label()

    def of_the_label(self) -> Iterator[Fault]:
        label, source = self.label, self.source
        if label.missing.any() and source.missing != "drop-rows":
            told = f"empty cells in the label {label.shown} ({self.empty(label)})"
            yield Fault(f"{told}; a class called none, NA or nan needs another name", {"missing": "drop-rows"})
        labels = _labels(label, source.task)[~label.missing]
        if not self.is_test and source.task == "classification" and len(labels):
            found = learn_classes(labels, source.positive)
            if isinstance(found, Fault):
                yield Fault(f"label column {label.shown}: {found.text}", found.needs)

    def listed(self, what: str, columns: Sequence[_Cells], told: Callable[[_Cells], str] | None = None) -> str:
        shown = [each.shown + (f" ({told(each)})" if told else "") for each in columns[:_LISTED]]
        more = len(columns) - _LISTED
        return f"{what} {', '.join(shown)}" + (f" and {more:,} more columns" if more > 0 else "")

    def values(self, cells: _Cells) -> str:
        found = len(cells.distinct)
        return f"{found:,} value{'s' * (found > 1)}, '{plain_line(str(cells.distinct[0]), 30)}'{' ...' * (found > 1)}"

    def empty(self, cells: _Cells) -> str:
        return f"{cells.missing.sum():,}: {self.place(np.flatnonzero(cells.missing))}"

    def sample(self, cells: _Cells) -> str:
        return f"{len(cells.odd):,}: {plain_line(str(cells.words[cells.odd[0]]), 40)!r} in {self.place(cells.odd)}"

    def place(self, rows: Index) -> str:
        at = [self.lines()[row] if self.lines else row + 1 for row in rows[:3].tolist()]
        word = ("line" if self.lines else "row") + "s" * (len(rows) > 1)
        return f"{word} {', '.join(map(str, at))}{', ...' * (len(rows) > 3)}"


# -- numbers -----------------------------------------------------------------------------------------------


def filled(table: Table, x_train: Points, x_test: Points, source: Any) -> tuple[Points, Points]:
    """Return both parts as finite numbers, scaled: what is filled in, counted and divided by is the training part's.

    Columns of numbers come first, then those of 0 and 1, which are never scaled. Sparse where most of them are 0.
    """
    if not table.categories and source.missing not in ("mean", "median"):
        return rescaled(x_train, x_test, source.scale)
    import scipy.sparse
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    parts: Any = (x_train, x_test)
    n, whole = x_train.shape[0], np.vstack(parts)
    texts = list(table.categories)
    numbers = np.delete(whole, texts, axis=1)
    if numbers.shape[1] and source.missing in ("mean", "median"):
        imputer = SimpleImputer(strategy=source.missing, keep_empty_features=True)
        numbers = imputer.fit(numbers[:n]).transform(numbers)
    parts = rescaled(numbers[:n], numbers[n:], source.scale)
    seen = {i: found for i in texts if len(found := np.setdiff1d(whole[:n, i], [-1.0]))}
    if not seen:
        return parts[0], parts[1]
    encoder = OneHotEncoder(categories=list(seen.values()), handle_unknown="ignore")
    words = scipy.sparse.csr_array(encoder.fit(whole[:n, list(seen)]).transform(whole[:, list(seen)]))
    points: Any = scipy.sparse.hstack([scipy.sparse.csr_array(np.vstack(parts)), words], format="csr")
    points = points if points.nnz < DENSE_FROM * np.prod(points.shape) else points.toarray()
    return points[:n], points[n:]


def unscaled(x: Any, table: Table) -> dict[str, Any]:
    """Return the widest and the narrowest column of (n, d) points, each with its range, if they lie far apart; else nothing.

    Columns of a constant have no range; those of 0 and 1 have 1. Sparse points are not looked at, but for their columns of numbers.
    """
    if is_csr(x) and not table.categories:
        return {}
    names = table.names or tuple(str(i + 1) for i in range(table.x.shape[1]))
    numbers = [name for i, name in enumerate(names) if i not in table.categories]
    x = x[:, : len(numbers)].toarray() if is_csr(x) else x[:, : len(numbers)]
    found = [
        (float(most - least), name) for least, most, name in zip(x.min(axis=0), x.max(axis=0), numbers, strict=True)
    ]
    found += [(1.0, names[i]) for i in table.categories]
    ranges = sorted(each for each in found if each[0] > 0)
    if not ranges or ranges[-1][0] <= _APART * ranges[0][0]:
        return {}
    return {"widest": list(ranges[-1][::-1]), "narrowest": list(ranges[0][::-1])}
