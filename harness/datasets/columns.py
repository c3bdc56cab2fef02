"""Columns of a table as features and a label: the content of their cells, and a list of all their faults.

The training part decides which column is the label, which columns are text and which are numbers. A test part is aligned
with it by the names of the columns, and its cells are read like those of the training part.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from harness.datasets.labels import MISSING, NUMBER, Fault, Refusal, class_name, is_regression, learn_classes, listing
from harness.support.arrays import Array, Index, Mask
from harness.support.errors import DataError
from harness.support.parameters import did_you_mean
from harness.support.printable import plain_line

Kind = Literal["number", "boolean", "text"]

LABEL_NAMES = ("label", "target", "class", "y")
TABLE_OPTIONS = ("label_column", "categories", "missing", "drop", "decimal", "dates")
"""Names of the parameters of tables, whose columns may have names, text and empty cells."""

_DATE = r"\d{4}-\d\d(-\d\d)?([T ].*)?"
_MIXED = 20  # largest number of distinct cells of a column of text and numbers that are categories
_CATEGORIES = 1000  # largest number of categories of one column
_ROWS_OF_EACH = 5  # smallest mean number of rows of a category, if there are more than _MIXED
_DECORATED = r"\W*(\d{1,3}([.,'\s]\d{3})*|\d+)([.,]\d+)?\W*"  # a number with signs around it or groups: 45 %, $1,250
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"  # dots between thousands, or a number with three decimals
_ROW_NUMBER = r"#1|Unnamed: \d+|(?i:id|index|row)|.*([ _-]id|[a-z]Id|ID)"  # names of columns of row numbers
_COMMAS = r"[+-]?\d+(,\d+)+"
_GROUPS = r"[+-]?\d{1,3}(,\d{3})+"
_COMMA_NUMBER = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?([eE][+-]?\d+)?$"  # a dot separates thousands


@dataclass(frozen=True)
class Table:
    """A pandas frame as read from a file; a column without a name is named by its position, ``#1``.

    ``where``: name of the table in messages. ``lines``: returns the line in which each row begins; None: rows count from 1.
    ``doubt``: why the first row may or may not be names. Raise DataError if two columns have the same name.
    """

    frame: Any
    where: str
    lines: Callable[[], Sequence[int]] | None = None
    doubt: Fault | None = None

    def __post_init__(self) -> None:
        if len(twice := self.frame.columns[self.frame.columns.duplicated()]):
            point = "; if its first row is a point, give header=no" if self.lines else ""
            raise DataError(f"'{self.where}' has more than one column called {listing(twice[:1])}. Rename them{point}.")


@dataclass(frozen=True)
class Schema:
    """Schema of the training part, for the test part. ``kinds``: feature -> kind, in order; empty for arrays."""

    where: str = ""
    label: str = ""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Part:
    """Points and labels of one part as read from a file.

    ``x``: (n, d), dense or CSR; a frame of float64 or text for a table, with NaN or None for empty cells. ``labels``: (n,) numbers
    or text. ``defaults``: those of a stored data set, see :class:`harness.datasets.Dataset`. ``left_out``: number of dropped rows
    with empty cells.
    """

    x: Any
    labels: Array
    schema: Schema = Schema()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    left_out: int = 0


def read_columns(table: Table, options: Any, like: Schema | None = None) -> Part:
    """Return the features and the labels of a table.

    Parameters
    ----------
    options : a `FileSource` with the parameters of columns
    like : schema of the training part, if this is the test part

    Raises
    ------
    Refusal : the table has faults; lists all of them.
    DataError : no such column, columns that the other part does not have, no rows, or no features.
    """
    import pandas as pd

    schema = choose(table, options) if like is None else align(table, like)
    refuse_empty(len(table.frame), len(schema.kinds), table.where)
    columns = [_Column(table, name, options, like.kinds[name] if like else None) for name in schema.kinds]
    label = _Column(table, schema.label, options)
    if like is None:
        kinds = {column.name: column.kind for column in columns}
        schema = Schema(table.where, schema.label, kinds, schema.dropped)
    if faults := list(_faults(table, options, columns, label)):
        is_default = like is None and options.label_column is None
        raise Refusal(table.where, faults, len(table.frame), schema.label if is_default else "")
    rows = np.ones(len(table.frame), dtype=bool)
    if options.missing == "drop-rows":
        rows = ~np.any([column.missing for column in (*columns, label)], axis=0)
    x = {column.name: (column.words if column.kind == "text" else column.numbers)[rows] for column in columns}
    return Part(pd.DataFrame(x, copy=False), label.labels[rows], schema, left_out=int((~rows).sum()))


def refuse_empty(n: int, d: int, where: str) -> None:
    """Raise DataError if data have no rows or no features."""
    if n == 0 or d == 0:
        lacks = "no features, only labels" if n else "0 rows of data"
        raise DataError(f"'{where}' has {lacks}; expected points, each with its label. Fetch or write it again.")


# -- which columns -----------------------------------------------------------------------------------------


def choose(table: Table, options: Any) -> Schema:
    """Return the schema of a training part without kinds: the columns that are not dropped, and the label.

    The label is ``label_column``, a name or a position (0 the first, -1 last); else the column named label, target,
    class or y in any case (there must not be two of them), else the last one that is not empty. Raise the errors of
    :func:`read_columns`.
    """
    dropped = {_find(table, reference) for reference in options.drop}
    remaining = [name for name in table.frame if name not in dropped]
    filled = (name for name in reversed(remaining) if _Column(table, name, options).cells != "nothing")
    if options.label_column is not None:
        label = [_find(table, options.label_column)]
    else:
        label = [name for name in remaining if name.lower() in LABEL_NAMES]
        label = label or list(itertools.islice(filled, 1)) or remaining[-1:]
    if len(label) > 1:
        fault = f"the columns {listing(label)} could each be the label; expected one"
        raise Refusal(table.where, [Fault(fault, {"label_column": label[0]})], len(table.frame))
    if not label or label[0] in dropped:
        raise DataError(f"'{table.where}' has no column for the label, or drop leaves it out. Drop fewer columns.")
    return Schema(table.where, label[0], {name: "number" for name in remaining if name != label[0]}, frozenset(dropped))


def _find(table: Table, column: str) -> str:
    """Return the name of the column with a name or at a position."""
    names: list[str] = list(table.frame)
    if column in names:
        return column
    if re.fullmatch(r"[+-]?\d+", column.strip()) and -len(names) <= int(column) < len(names):
        return names[int(column)]
    expected = f"one of its {len(names)} columns ({listing(names)}) or its position, 0..{len(names) - 1} (-1: the last)"
    raise DataError(f"'{table.where}' has no column '{column}'{did_you_mean(column, names)}; expected {expected}.")


def align(table: Table, like: Schema) -> Schema:
    """Return the schema of the training part if a test part has the same columns; else raise DataError."""
    expected = [*like.kinds, like.label]
    lacking = [name for name in expected if name not in table.frame]
    more = [name for name in table.frame if name not in expected and name not in like.dropped]
    if lacking or more:
        differences = [f"no {listing(lacking)}"] * bool(lacking) + [f"also {listing(more)}"] * bool(more)
        raise unlike(table.where, ", and ".join(differences), like.where)
    return like


def unlike(where: str, has: str, like: str) -> DataError:
    """Return the error for a file that ``has`` something inconsistent with the first file, ``like``."""
    expected = "one format and the same columns, the label's too, in tables all with a header or all without"
    return DataError(f"'{where}' has {has}, unlike '{like}'; expected {expected}. Write one of them again.")


# -- the content of cells ----------------------------------------------------------------------------------


class _Column:
    """A column of n cells. ``numbers``: (n,), NaN if a cell is empty or no number; ``missing``: (n,), whether a cell is empty.

    kind : kind of the column in the training part, if this is the test part
    """

    def __init__(self, table: Table, name: str, options: Any, kind: Kind | None = None) -> None:
        self.table, self.name, self.options, self.is_test = table, name, options, kind is not None
        self.column: Any = table.frame[name]
        kind_of_dtype = self.column.dtype.kind
        self.stored = kind_of_dtype if kind_of_dtype in "fiub" else ""  # kind of a dtype of numbers or booleans
        self.is_boolean = self.stored == "b"
        if self.stored:
            self.missing: Mask = self.column.isna().to_numpy()
            dtype = np.float32 if self.column.dtype == np.float32 else np.float64
            self.numbers: Array = self.column.to_numpy(dtype=dtype, na_value=np.nan)
        else:
            self._read_text(kind)
        self.odd: Index = np.flatnonzero(~np.isfinite(self.numbers) & ~self.missing)
        self.kind: Kind = kind or ("text" if self.cells == "categories" else "boolean" if self.is_boolean else "number")

    def _read_text(self, kind: Kind | None) -> None:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.column
        if not isinstance(column.dtype, pd.StringDtype):
            column = column.astype(object).map(class_name, na_action="ignore")
        words = pc.utf8_trim_whitespace(pa.array(column, type=pa.large_string(), from_pandas=True))
        missing = pc.is_in(pc.utf8_lower(words), value_set=pa.array(MISSING, type=pa.large_string()))
        self._text = text = pc.if_else(pc.or_(missing, pc.is_null(words)), None, words)
        self.missing = pc.is_null(text).to_numpy(zero_copy_only=False)
        truth = pc.index_in(pc.utf8_lower(text), value_set=pa.array(["false", "true"], type=pa.large_string()))
        are_words = len(truth) > truth.null_count == text.null_count  # at least one cell, and each is true or false
        self.is_boolean = are_words and kind in (None, "boolean")
        if self.is_boolean:
            numbers: Any = pc.cast(truth, pa.float64())
        elif self.options.dates == "days" and self.are_dates:
            numbers = _days(text.to_pylist())
        else:
            pattern = f"^{NUMBER}$"
            if self.options.decimal == "comma":
                pattern, text = _COMMA_NUMBER, pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
            numbers = pc.cast(pc.if_else(pc.match_substring_regex(self._text, pattern), text, None), pa.float64())
        self.numbers = np.array(numbers, dtype=np.float64)  # a copy, as the array of Arrow is read-only

    @cached_property
    def words(self) -> Array:
        """The cells as text, (n,) objects, None for empty cells."""
        if self.stored:
            words = self.column.astype(object).map(class_name, na_action="ignore")
            return np.array(words.where(~self.missing, None), dtype=object)
        return np.array(self._text.to_numpy(zero_copy_only=False), dtype=object)

    @cached_property
    def distinct(self) -> list[str]:
        """The distinct cells as text, sorted."""
        return sorted(set(self.words[~self.missing].tolist()))

    @cached_property
    def are_dates(self) -> bool:
        """Whether all cells are dates that pandas reads."""
        return _match(_DATE, self.distinct) and not np.isnan(_days(self.distinct)).any()

    @cached_property
    def cells(self) -> str:
        """The kind of most cells: ``numbers``, ``categories`` or a key of :data:`_FAULTS`; names hardly occur twice."""
        present = int((~self.missing).sum())
        if not present:
            return "nothing"
        text = self.words[self.odd[np.isnan(self.numbers[self.odd])]] if len(self.odd) else self.odd
        is_category = self.column.dtype.name == "category"
        if not len(text) and not is_category:
            return "thousands" if self.may_be_thousands else "numbers"
        count = len(self.distinct)
        if _match(_COMMAS, text):
            return "groups" if _match(_GROUPS, text) else "commas"
        if count > _MIXED and _match(_DECORATED, text):
            return "signs"
        if 2 * len(text) <= present and count > min(_MIXED, present // 2) and not is_category:
            return "numbers"
        if self.are_dates:
            return "dates"
        are_few = count <= _MIXED or (count <= _CATEGORIES and _ROWS_OF_EACH * count <= present)
        return "categories" if are_few else "names"

    @property
    def may_be_thousands(self) -> bool:
        """Whether dots may separate thousands: 900 and 1.350, but neither 0.9 nor 1.35 nor 1200."""
        values = self.numbers[~self.missing]
        if self.stored or len(self.odd) or self.options.decimal == "comma" or not (1e3 * values % 1 < 1e-9).all():
            return False
        short = [word for word in self.distinct if not re.match(_THOUSANDS, word)]
        return bool(short) and len(short) < len(self.distinct) and max(map(len, short)) < 4

    @property
    def are_row_numbers(self) -> bool:
        """Whether a column without a name, or with that of an index, has distinct whole numbers."""
        if not re.fullmatch(_ROW_NUMBER, self.name) or "#2" in self.table.frame:
            return False
        return len(np.unique(self.numbers)) == len(self.numbers) > 2 and bool((self.numbers % 1 == 0).all())

    @property
    def reference(self) -> str:
        """The name of the column in parameters, or its position if the name would be ambiguous."""
        is_plain = re.fullmatch(r'[^\W\d][^()\[\]",=]*', self.name)
        return self.name if is_plain else str(self.table.frame.columns.get_loc(self.name))

    @property
    def labels(self) -> Array:
        """The cells as (n,) labels: numbers if they are stored as such, or for regression; else text."""
        if self.stored in ("i", "u"):
            return np.asarray(self.column.to_numpy(dtype=f"{self.stored}8", na_value=0))
        if self.stored == "f" or (self.options.task == "regression" and not len(self.odd)):
            return self.numbers
        words = np.where(self.missing, "", self.words).astype(np.str_)
        if self.options.decimal == "comma" and not len(self.odd):
            words = np.char.replace(np.char.replace(words, ".", ""), ",", ".")
        return words

    @cached_property
    def faults(self) -> list[str]:
        """The keys of :data:`_FAULTS` that apply to a feature. In a test part, other content than in training is ``odd``."""
        content = "numbers" if self.is_test else self.cells
        is_known = content in _FAULTS and (content, self.options.categories) != ("categories", "one-hot")
        is_odd = content not in _FAULTS and self.kind != "text" and len(self.odd)
        has_gaps = self.options.missing == "none" and self.missing.any() and content not in ("nothing", "names")
        is_index = not self.is_test and self.are_row_numbers
        return [content] * is_known + ["odd"] * bool(is_odd) + ["ids"] * is_index + ["gaps"] * bool(has_gaps)

    def detail(self, fault: str) -> str:
        """Return the number of cells with a fault, the first value and their rows, or the number of distinct cells, as text."""
        if fault in ("thousands", "nothing", "ids"):
            return ""
        if fault in ("dates", "names", "categories"):
            n = len(self.distinct)
            return f" ({n:,} value{'s' * (n > 1)}, {listing(self.distinct[:1])}{' ...' * (n > 1)})"
        rows, lines = np.flatnonzero(self.missing) if fault == "gaps" else self.odd, self.table.lines
        value = "" if fault == "gaps" else f"{listing([self.words[rows[0]]])} in "
        places = ", ".join(str(lines()[row] if lines else row + 1) for row in rows[:3].tolist())
        return f" ({len(rows):,}: {value}{'line' if lines else 'row'}{'s' * (len(rows) > 1)} {places}{', ...' * (len(rows) > 3)})"


def _days(words: list[Any]) -> Array:
    """Return dates as days since 1970, NaN for other texts."""
    import pandas as pd

    when = pd.to_datetime(pd.Series(words), utc=True, format="ISO8601", errors="coerce")
    return np.array((when - pd.Timestamp(0, unit="s", tz="UTC")) / pd.Timedelta(days=1), dtype=np.float64)


def _match(pattern: str, words: Sequence[str] | Array) -> bool:
    """Return whether there are words, and all of them match."""
    return len(words) > 0 and all(re.fullmatch(pattern, word) for word in words)


# -- faults ------------------------------------------------------------------------------------------------

_FAULTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    # fault -> (clause with {} for the columns, parameters with which they can be read; ``drop`` gets the columns)
    "odd": ("not a finite number in {}: correct these cells, empty them, or delete their rows", {}),
    "signs": ("numbers with signs or blanks in {}: write plain numbers, 1250.5", {}),
    "thousands": ("both 900 and 1.350 in {}: write 1350 or 1.35, or give decimal=comma if it is 1350", {}),
    "groups": ("numbers with a comma in {}: write 1,000 as 1000, or give decimal=comma if it is 1.000", {}),
    "commas": ("numbers with a comma in {}", {"decimal": "comma"}),
    "dates": ("dates in {}", {"dates": "days"}),
    "names": ("too many texts for categories in {}", {"drop": ()}),
    "nothing": ("no value at all in {}", {"drop": ()}),
    "ids": ("row numbers or ids in {}", {"drop": ()}),
    "categories": ("text in {}", {"categories": "one-hot"}),
    "gaps": ("empty cells in {}", {"missing": "mean"}),
}


def _faults(table: Table, options: Any, columns: Sequence[_Column], label: _Column) -> Iterator[Fault]:
    """Yield all faults of a table."""
    if table.doubt:
        yield table.doubt
    is_test = columns[0].is_test
    having = {fault: [column for column in columns if fault in column.faults] for fault in _FAULTS}
    is_unclear = not is_test and label.cells in ("nothing", "commas", "groups", "thousands", "signs")
    if is_unclear:
        having[label.cells].append(label)
    if having["commas"]:
        having["commas"] += having.pop("groups")
    dropped = [column.reference for fault, (_, needs) in _FAULTS.items() if "drop" in needs for column in having[fault]]
    for fault, which in having.items():
        clause, needs = _FAULTS[fault]
        listed = listing([column.name for column in which], [column.detail(fault) for column in which])
        if which:
            yield Fault(clause.format(listed), {"drop": (*options.drop, *dropped)} if "drop" in needs else needs)
    if not is_unclear:
        yield from _label_faults(options, label, is_test)


def _label_faults(options: Any, label: _Column, is_test: bool) -> Iterator[Fault]:
    name, task = listing([label.name]), options.task
    if label.missing.any() and options.missing != "drop-rows":
        words = "; none, NA, nan and ? count as empty"
        yield Fault(f"empty cells in the label {name}{label.detail('gaps')}{words}", {"missing": "drop-rows"})
    present = label.labels[~label.missing]
    if len(label.odd) and (task == "regression" or label.stored == "f"):
        why = "task=regression expects numbers" if task == "regression" else "correct or empty these cells"
        yield Fault(f"not a finite number in the label {name}{label.detail('odd')}: {why}")
    elif is_test or not len(present) or is_regression(present, options):
        return
    elif isinstance(classes := learn_classes(present, options.positive), Fault):
        yield Fault(f"label column {name}: {classes.text}", classes.needs)


def clean_names(names: Iterable[Any]) -> list[str]:
    """Return names of columns as text in one line each, without surrounding blanks; ``#4`` if the fourth has none."""
    return [plain_line(str(name).strip(), 100) or f"#{place}" for place, name in enumerate(names, 1)]
