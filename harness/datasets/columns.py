"""Columns of a table as features and a label: what their cells hold, and all that is wrong with them at once.

The training part decides which column is the label, which columns are text and which are numbers. A test part is aligned
with it by the names of the columns, and its cells are read as those of the training part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.datasets.labels import MISSING, Fault, Refusal, are_decimals, class_name, learn_classes, shown
from harness.errors import DataError
from harness.parameters import did_you_mean
from harness.plain import plain_line

if TYPE_CHECKING:
    import pandas as pd

    from harness.arrays import Array, Index, Mask

    Kind = Literal["number", "boolean", "text"]

LABEL_NAMES = ("label", "target", "class", "y")
TABLE_OPTIONS = ("label_column", "categories", "missing", "drop", "decimal", "dates")
"""Parameters of data whose columns may have names, text and empty cells."""

_LISTED = 5  # columns that a message names of one kind
_DATE = r"\d{4}-\d\d(-\d\d)?([T ].*)?"
_MIXED = 20  # distinct cells of a column of text and numbers that are still categories
_CATEGORIES = 1000  # categories of one column
_ROWS_OF_EACH = 5  # rows that each of many categories has on average
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DECORATED = (
    r"\W*(\d{1,3}([.,'\s]\d{3})*|\d+)([.,]\d+)?\W*"  # a number with signs around it or groups: 45 %, $1,250, 1 250
)
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"  # or a number with three decimals
_ROW_NUMBER = r"#1|Unnamed: \d+|(?i:id|index|row)|.*([ _-]id|[a-z]Id|ID)"  # names of columns
_COMMA_NUMBER = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?([eE][+-]?\d+)?$"  # a dot separates thousands


@dataclass(frozen=True)
class Table:
    """A table as it was read; a column without a name is called by its position, ``#1``.

    ``where``: what messages call the table. ``lines``: returns the line in which each row begins; None: rows count from 1.
    ``doubt``: why the first row may or may not hold names.
    """

    frame: pd.DataFrame
    where: str
    lines: Callable[[], Sequence[int]] | None = None
    doubt: Fault | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)


@dataclass(frozen=True)
class Schema:
    """What a training part decides for a test part. ``kinds``: of each feature, by name, in order."""

    where: str
    label: str
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Columns:
    """The rows of a table: (n, d) features, float64 or text, NaN or None where a cell is empty; (n,) labels.

    ``left_out``: how many rows with empty cells are not among them.
    """

    x: pd.DataFrame
    labels: Array
    schema: Schema
    left_out: int


def read_columns(table: Table, options: Any, like: Schema | None = None) -> Columns:
    """Return the features and the labels of a table.

    Parameters
    ----------
    options : a `FileSource`, whose parameters say how columns are read
    like : what the training part decided, if this is the test part

    Raises
    ------
    Refusal : all that keeps the rows from being points.
    DataError : no such column; columns that the other part does not have.
    """
    import pandas as pd

    schema = choose(table, options) if like is None else align(table, like)
    frame = table.frame
    if not schema.kinds or frame.empty:
        lacks = "no features, only labels" if len(frame) else "0 rows of data"
        raise Refusal(table.where, [Fault(f"it has {lacks}; expected points of both classes")], len(frame))
    cells = {name: _Cells(name, frame[name], options, like.kinds[name] if like else None) for name in schema.kinds}
    label = _Cells(schema.label, frame[schema.label], options)
    if like is None:
        kinds: dict[str, Kind] = {name: column.kind for name, column in cells.items()}
        schema = Schema(table.where, schema.label, kinds, schema.dropped)
    if faults := list(_faults(table, options, schema, list(cells.values()), label, is_test=like is not None)):
        is_default = like is None and options.label_column is None
        raise Refusal(table.where, faults, len(frame), schema.label if is_default else "")
    rows = np.ones(len(frame), dtype=bool)
    if options.missing == "drop-rows":
        rows = ~np.any([column.missing for column in (*cells.values(), label)], axis=0)
    x = {
        name: (column.words if schema.kinds[name] == "text" else column.points())[rows]
        for name, column in cells.items()
    }
    return Columns(pd.DataFrame(x, copy=False), label.labels(options.task)[rows], schema, int((~rows).sum()))


# -- which columns -----------------------------------------------------------------------------------------


def choose(table: Table, options: Any) -> Schema:
    """Return the schema of a training part, its kinds not yet known: the columns that are not dropped, and the label.

    The label is ``label_column``, a name or a position (0 the first, -1 the last); else the column named label, target,
    class or y, whatever the case (there must not be two of them), else the last one that is not empty. Errors as of
    :func:`read_columns`.
    """
    refuse_twice(table)
    dropped = {_find(table, wanted) for wanted in options.drop}
    remaining = [name for name in table.names if name not in dropped]
    if options.label_column is not None:
        found = [_find(table, options.label_column)]
    else:
        filled = (name for name in reversed(remaining) if _Cells(name, table.frame[name], options).holds != "nothing")
        found = [name for name in remaining if name.lower() in LABEL_NAMES] or [next(filled, *remaining[-1:])]
    if len(found) > 1:
        what = f"the columns {_listing(found)} could each be the label; expected one"
        raise Refusal(table.where, [Fault(what, {"label_column": found[0]})], len(table.frame))
    if not table.names:
        raise DataError(f"'{table.where}' has no columns and 0 rows of data. Fetch or write it again.")
    if not found or found[0] in dropped:
        raise DataError(f"'{table.where}': drop={','.join(options.drop)} leaves out the label. Name other columns.")
    kinds: dict[str, Kind] = {name: "number" for name in remaining if name != found[0]}
    return Schema(table.where, found[0], kinds, frozenset(dropped))


def refuse_twice(table: Table) -> None:
    """Raise DataError if two columns have the same name."""
    names = table.names
    if twice := next((name for name in names if names.count(name) > 1), None):
        point = "; if its first row is a point, give header=no" if table.lines else ""
        raise DataError(
            f"'{table.where}' has {names.count(twice)} columns called '{shown(twice)}'; expected different names. Rename them{point}."
        )


def _find(table: Table, wanted: str) -> str:
    """Return the name of the column with a name or at a position."""
    names = table.names
    if wanted in names:
        return wanted
    if re.fullmatch(r"[+-]?\d+", wanted.strip()) and -len(names) <= int(wanted) < len(names):
        return names[int(wanted)]
    raise DataError(
        f"'{table.where}' has no column '{wanted}'{did_you_mean(wanted, names)}; expected one of its {len(names)} columns "
        f"({plain_line(', '.join(names[:30]), 500)}) or its position, 0..{len(names) - 1} (-1: the last)."
    )


def align(table: Table, like: Schema) -> Schema:
    """Return the schema of a test part: that of the training part, if it has the same columns; else raise DataError."""
    refuse_twice(table)
    expected = {*like.kinds, like.label}
    lacking = [name for name in (*like.kinds, like.label) if name not in table.names]
    more = [name for name in table.names if name not in expected | like.dropped]
    if not lacking and not more:
        return like
    differences = [f"no {_listing(lacking)}"] * bool(lacking) + [f"{_listing(more)} besides"] * bool(more)
    raise DataError(
        f"'{table.where}' has other columns than '{like.where}': {', and '.join(differences)}; expected the same names, the label's "
        "too, in any order. Give both the same columns, and both a header or none."
    )


# -- what cells hold ---------------------------------------------------------------------------------------


class _Cells:
    """A column of n cells. ``numbers``: (n,), NaN where a cell is empty or no number; ``missing``: (n,), the empty cells.

    kind : how the training part's cells are read, if these are the test part's
    """

    def __init__(self, name: str, column: Any, options: Any, kind: str | None = None) -> None:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.compute as pc

        self.name, self.column, self.decimal = name, column, options.decimal
        self.is_category = isinstance(column.dtype, pd.CategoricalDtype)
        self.is_boolean = column.dtype.kind == "b"
        if column.dtype.kind in "fiub":
            self.missing: Mask = column.isna().to_numpy()
            self.numbers: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
            return
        if not isinstance(column.dtype, pd.StringDtype):
            column = column.astype(object).map(str, na_action="ignore")
        words = pc.utf8_trim_whitespace(pa.array(column, type=pa.large_string(), from_pandas=True))
        missing = pc.is_in(pc.utf8_lower(words), value_set=pa.array(MISSING, type=pa.large_string()))
        self._text = pc.if_else(pc.or_(missing, pc.is_null(words)), None, words)
        self.missing = pc.is_null(self._text).to_numpy(zero_copy_only=False)
        truth = pc.index_in(pc.utf8_lower(self._text), value_set=pa.array(["false", "true"], type=pa.large_string()))
        are_words = len(truth) > truth.null_count == self._text.null_count  # there is a cell, and each is true or false
        self.is_boolean = are_words and kind in (None, "boolean")
        if self.is_boolean:
            numbers: Any = pc.cast(truth, pa.float64())
        elif options.dates == "days" and self.are_dates:
            when = pd.to_datetime(pd.Series(self._text.to_pylist()), utc=True, format="ISO8601", errors="coerce")
            numbers = (when - pd.Timestamp(0, unit="s", tz="UTC")) / pd.Timedelta(days=1)
        else:
            pattern, text = _NUMBER, self._text
            if self.decimal == "comma":
                pattern, text = _COMMA_NUMBER, pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
            numbers = pc.cast(pc.if_else(pc.match_substring_regex(self._text, pattern), text, None), pa.float64())
        self.numbers = np.array(numbers, dtype=np.float64)  # a copy: that of Arrow is read-only

    @cached_property
    def words(self) -> Array:
        """The cells as text, (n,) objects, None where a cell is empty."""
        if self.column.dtype.kind in "fiub":
            words = self.column.astype(object).map(class_name, na_action="ignore")
            return np.array(words.where(~self.missing, None), dtype=object)
        return np.array(self._text.to_numpy(zero_copy_only=False), dtype=object)

    @cached_property
    def distinct(self) -> list[str]:
        """The distinct cells as text, sorted."""
        return sorted(set(self.words[~self.missing].tolist()))

    @cached_property
    def odd(self) -> Index:
        """The rows whose cell is neither a finite number nor empty."""
        return np.flatnonzero(~np.isfinite(self.numbers) & ~self.missing)

    @cached_property
    def are_dates(self) -> bool:
        """Whether all cells are dates that pandas reads."""
        import pandas as pd

        if not self.distinct or not all(re.fullmatch(_DATE, word) for word in self.distinct):
            return False
        return bool(pd.to_datetime(pd.Series(self.distinct), errors="coerce", utc=True, format="ISO8601").notna().all())

    @cached_property
    def holds(self) -> Literal["nothing", "numbers", "thousands", "categories", "commas", "signs", "dates", "names"]:
        """What most cells are; names are texts that hardly occur twice, as of customers."""
        present = int((~self.missing).sum())
        text = self.odd[np.isnan(self.numbers[self.odd])]
        if not present:
            return "nothing"
        if not len(text) and not self.is_category:
            return "thousands" if self.may_be_thousands else "numbers"
        if len(text) and all(re.fullmatch(r"[+-]?\d+(,\d+)+", word) for word in self.words[text]):
            return "commas"
        found = len(self.distinct)
        if found > _MIXED and all(re.fullmatch(_DECORATED, word) for word in self.words[text]):
            return "signs"
        if 2 * len(text) <= present and found > min(_MIXED, present // 2) and not self.is_category:
            return "numbers"
        if self.are_dates:
            return "dates"
        return (
            "categories" if found <= _CATEGORIES and (found <= _MIXED or _ROWS_OF_EACH * found <= present) else "names"
        )

    @property
    def may_be_thousands(self) -> bool:
        """Whether dots may separate thousands: 900 beside 1.350, but neither 0.9 nor 1.35 nor 1200."""
        found = self.numbers[~self.missing]
        if self.column.dtype.kind in "fiub" or self.decimal == "comma" or not (1e3 * found % 1 < 1e-9).all():
            return False
        short = [word for word in self.distinct if not re.match(_THOUSANDS, word)]
        return bool(short) and len(short) < len(self.distinct) and max(map(len, short)) < 4

    @property
    def kind(self) -> Kind:
        """How the cells of a feature are read."""
        return "text" if self.holds == "categories" else "boolean" if self.is_boolean else "number"

    def points(self) -> Array:
        """Return the cells as numbers, float32 where they are stored so."""
        return self.numbers.astype(np.float32) if self.column.dtype == np.float32 else self.numbers

    def labels(self, task: str) -> Array:
        """Return the cells as (n,) labels: numbers where they are stored as such, or for regression; else text."""
        stored = self.column.dtype.kind
        if stored in "iu":
            return np.asarray(self.column.to_numpy(dtype=np.uint64 if stored == "u" else np.int64, na_value=0))
        if stored == "f" or (task == "regression" and not len(self.odd)):
            return self.numbers
        words = np.where(self.missing, "", self.words).astype(np.str_)
        if self.decimal == "comma" and not len(self.odd):
            words = np.char.replace(np.char.replace(words, ".", ""), ",", ".")
        return words


# -- what is wrong -----------------------------------------------------------------------------------------


def _faults(
    table: Table, options: Any, schema: Schema, columns: Sequence[_Cells], label: _Cells, is_test: bool
) -> Iterator[Fault]:
    """Yield all that keeps the rows of a table from being points."""
    if table.doubt:
        yield table.doubt

    def holding(kind: str) -> list[_Cells]:  # in a test part, whatever the training part does not have is a mistake
        among = [*numbers, label] if kind in ("commas", "thousands", "signs") else numbers
        return [column for column in among if column.holds == kind and not is_test]

    numbers = [column for column in columns if schema.kinds[column.name] != "text"]
    texts = [column for column in columns if schema.kinds[column.name] == "text" and options.categories == "none"]
    commas, thousands, signs, dates, names, blank = map(
        holding, ("commas", "thousands", "signs", "dates", "names", "nothing")
    )
    odd = [column for column in numbers if len(column.odd) and column not in (*commas, *signs, *names, *dates)]
    ids = [column for column in numbers if _are_row_numbers(table, column) and not is_test]
    gaps = [column for column in columns if column.missing.any() and column not in (*blank, *names)]
    gaps *= options.missing == "none"
    if label.holds == "nothing" and not is_test:
        blank.append(label)
    grouped = all(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", word) for each in commas for word in each.words[each.odd])
    drop = {"drop": (*options.drop, *(_reference(table, column.name) for column in (*names, *blank, *ids)))}
    found: list[tuple[str, Sequence[_Cells], Callable[[Table, _Cells], str] | None, str, Mapping[str, Any]]] = [
        ("not a finite number in", odd, _sample, ": correct these cells, empty them, or delete their rows", {}),
        ("numbers with signs or blanks in", signs, _sample, ": write plain numbers, 1250.5", {}),
        ("900 beside 1.350 in", thousands, None, ": write 1350 or 1.35, or give decimal=comma if it is 1350", {}),
        ("numbers with a comma in", commas, _sample, ": write 1,000 as 1000, or give decimal=comma if it is 1.000", {})
        if grouped
        else ("numbers with a comma in", commas, _sample, "", {"decimal": "comma"}),
        ("dates in", dates, _values, "", {"dates": "days"}),
        ("too many texts for categories in", names, _values, "", drop),
        ("no value at all in", blank, None, "", drop),
        ("row numbers or ids in", ids, None, "", drop),
        ("text in", texts, _values, "", {"categories": "one-hot"}),
        ("empty cells in", gaps, _empty, "", {"missing": "mean"}),
    ]
    for what, which, say, end, needs in found:
        if which:
            details = [f" ({say(table, column)})" if say else "" for column in which[:_LISTED]]
            yield Fault(f"{what} {_listing([column.name for column in which], details)}{end}", needs)
    if label not in (*blank, *commas, *thousands, *signs):
        yield from _label_faults(table, options, label, is_test)


def _label_faults(table: Table, options: Any, label: _Cells, is_test: bool) -> Iterator[Fault]:
    name = f"'{shown(label.name)}'"
    if label.missing.any() and options.missing != "drop-rows":
        text = f"empty cells in the label {name} ({_empty(table, label)}; none, NA, nan and ? count as empty)"
        yield Fault(text, {"missing": "drop-rows"})
    present = label.labels(options.task)[~label.missing]
    if len(label.odd) and label.column.dtype.kind == "f":
        yield Fault(f"not a finite number in the label {name} ({_sample(table, label)}): correct or empty these cells")
    elif is_test or not len(present) or (options.task == "auto" and not options.positive and are_decimals(present)):
        return
    elif options.task == "regression":
        if len(label.odd):
            yield Fault(f"task=regression expects numbers as labels, and {name} has {_sample(table, label)}")
    elif isinstance(classes := learn_classes(present, options.positive), Fault):
        yield Fault(f"label column {name}: {classes.text}", classes.needs)


def _are_row_numbers(table: Table, column: _Cells) -> bool:
    """Return whether a column that is called like an index, or not at all, holds different whole numbers."""
    if not re.fullmatch(_ROW_NUMBER, column.name) or "#2" in table.names:
        return False
    return len(np.unique(column.numbers)) == len(column.numbers) > 2 and bool((column.numbers % 1 == 0).all())


def _reference(table: Table, name: str) -> str:
    """Return how a parameter names a column: by its position where the name would be taken for something else."""
    return name if re.fullmatch(r'[^\W\d][^()\[\]",=]*', name) else str(table.names.index(name))


def _sample(table: Table, column: _Cells) -> str:
    return f"{len(column.odd):,}: '{shown(column.words[column.odd[0]])}' in {_place(table, column.odd)}"


def _values(_: Table, column: _Cells) -> str:
    count = len(column.distinct)
    return f"{count:,} value{'s' * (count > 1)}, '{shown(column.distinct[0])}'{' ...' * (count > 1)}"


def _empty(table: Table, column: _Cells) -> str:
    return f"{column.missing.sum():,}: {_place(table, np.flatnonzero(column.missing))}"


def _place(table: Table, rows: Index) -> str:
    numbers = [table.lines()[row] if table.lines else row + 1 for row in rows[:3].tolist()]
    word = ("line" if table.lines else "row") + "s" * (len(rows) > 1)
    return f"{word} {', '.join(map(str, numbers))}{', ...' * (len(rows) > 3)}"


def _listing(names: Sequence[str], details: Sequence[str] = ("",) * _LISTED) -> str:
    texts = [f"'{shown(name)}'{detail}" for name, detail in zip(names, details, strict=False)]
    more = len(names) - _LISTED
    return ", ".join(texts) + (f" and {more:,} more columns" if more > 0 else "")


def clean_names(names: Iterable[Any]) -> list[str]:
    """Return names of columns as text in one line each, without blanks around them; ``#4`` of the fourth if it has none."""
    return [plain_line(str(name).strip(), 100) or f"#{place}" for place, name in enumerate(names, 1)]
