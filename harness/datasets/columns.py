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
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_COMMA_NUMBER = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?([eE][+-]?\d+)?$"  # a dot separates thousands


@dataclass(frozen=True)
class Table:
    """A table as it was read. Columns have different names, which are positions from 0 where ``named`` is False.

    ``where``: what messages call the table. ``lines``: returns the line in which each row begins; None: rows count from 1.
    ``doubt``: why the first row may or may not hold names.
    """

    frame: pd.DataFrame
    where: str
    named: bool = True
    lines: Callable[[], Sequence[int]] | None = None
    doubt: Fault | None = None

    def shown(self, name: str) -> str:
        """Return a column's name as a message has it."""
        if self.named and name:
            return f"'{plain_line(name, 40)}'"
        return f"'#{list(self.frame.columns).index(name) + 1}'"


@dataclass(frozen=True)
class Schema:
    """What a training part decides for a test part. ``kinds``: of each feature, by name, in order."""

    where: str
    named: bool
    label: str
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Columns:
    """The rows of a table: (n, d) features, float64 or text, NaN or None where a cell is empty; (n,) labels."""

    x: pd.DataFrame
    labels: Array
    schema: Schema


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
    schema = _choose(table, options) if like is None else align(table, like)
    frame = table.frame
    if not schema.kinds or frame.empty:
        lacks = "no features, only labels" if len(frame) else "0 rows of data"
        raise Refusal(table.where, [Fault(f"it has {lacks}; expected points of both classes")], len(frame))
    cells = {name: _Cells(name, frame[name], options) for name in (*schema.kinds, schema.label)}
    label = cells.pop(schema.label)
    if like is None:
        kinds: dict[str, Kind] = {name: each.kind for name, each in cells.items()}
        schema = Schema(table.where, table.named, schema.label, kinds, schema.dropped)
    if faults := list(_Faults(table, options, schema, list(cells.values()), label, is_test=like is not None).all()):
        raise Refusal(table.where, faults, len(frame))
    rows = np.ones(len(frame), dtype=bool)
    if options.missing == "drop-rows":
        rows = ~np.any([each.missing for each in (*cells.values(), label)], axis=0)
    import pandas as pd

    x = {
        name: each.words[rows] if schema.kinds[name] == "text" else each.points()[rows] for name, each in cells.items()
    }
    return Columns(pd.DataFrame(x, copy=False), label.labels(options.task)[rows], schema)


def check_choices(table: Table, options: Any) -> Schema:
    """Return which columns are chosen; refuse names of columns and of a class that a frame in memory lacks, before a run reads it.

    Errors as of :func:`read_columns`.
    """
    schema = _choose(table, options)
    label = _Cells(schema.label, table.frame[schema.label], options)
    if options.positive is not None and len(table.frame):
        found = learn_classes(label.labels("classification")[~label.missing], options.positive)
        if isinstance(found, Fault):
            raise Refusal(
                table.where, [Fault(f"label column {table.shown(label.name)}: {found.text}")], len(table.frame)
            )
    return schema


# -- which columns -----------------------------------------------------------------------------------------


def _choose(table: Table, options: Any) -> Schema:
    """Return the schema of a training part, its kinds not yet known: the columns that are not dropped, and the label.

    The label is ``label_column``, a name or a position (0 the first, -1 the last); else the column named label, target,
    class or y, whatever the case (there must not be two of them), else the last one.
    """
    names = list(table.frame.columns)
    refuse_twice(table)
    dropped = {_find(table, each) for each in options.drop}
    kept = [name for name in names if name not in dropped]
    if options.label_column is not None:
        found = [_find(table, options.label_column)]
    else:
        found = [name for name in kept if table.named and name.lower() in LABEL_NAMES] or kept[-1:]
    if len(found) > 1:
        several = " and ".join(map(table.shown, found))
        fault = Fault(f"the columns {several} could each be the label; expected one", {"label_column": found[0]})
        raise Refusal(table.where, [fault], len(table.frame))
    if not names:
        raise DataError(f"'{table.where}' has no columns and 0 rows of data. Fetch or write it again.")
    if not found or found[0] in dropped:
        raise DataError(f"'{table.where}': drop={','.join(options.drop)} leaves out the label. Name other columns.")
    kinds: dict[str, Kind] = {name: "number" for name in kept if name != found[0]}
    return Schema(table.where, table.named, found[0], kinds, frozenset(dropped))


def refuse_twice(table: Table) -> None:
    """Raise DataError if two columns have the same name."""
    names = list(table.frame.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"'{table.where}' has {names.count(twice)} columns called {table.shown(twice)}; expected different names. Rename them."
        )


def _find(table: Table, wanted: str) -> str:
    """Return the name of the column with a name or at a position."""
    names = list(table.frame.columns)
    if table.named and wanted in names:
        return wanted
    width = len(names)
    if re.fullmatch(r"[+-]?\d+", wanted.strip()) and -width <= int(wanted) < width:
        return str(names[int(wanted)])
    listed = ", ".join(names[:30]) if table.named else "it has no header"
    raise DataError(
        f"'{table.where}' has no column '{wanted}'{did_you_mean(wanted, names if table.named else [])}; expected one of its "
        f"{width} columns ({plain_line(listed, 500)}) or its position, 0..{width - 1} (-1: the last)."
    )


def align(table: Table, like: Schema) -> Schema:
    """Return the schema of a test part: that of the training part, if it has the same columns; else raise DataError."""
    refuse_twice(table)
    names, expected = list(table.frame.columns), [*like.kinds, like.label]
    lacking = [name for name in expected if name not in names]
    more = [name for name in names if name not in expected and name not in like.dropped]
    if table.named != like.named:
        with_names, without = (table, like) if table.named else (like, table)
        why = (
            f"the first row of '{with_names.where}' holds names, that of '{without.where}' does not. Give both a header"
        )
    elif lacking and lacking[0] == like.label:
        why = f"it has no column {table.shown(like.label)}, the label in '{like.where}'. Test points need labels"
    elif lacking or more:
        whose = f"has no column {table.shown(lacking[0])}" if lacking else f"has a column {table.shown(more[0])}"
        other = "has" if lacking else "does not have"
        why = f"it {whose}, which '{like.where}' {other} ({len(names)} and {len(expected)} columns). Give both the same columns"
    else:
        return like
    raise DataError(f"'{table.where}': {why}.")


# -- what cells hold ---------------------------------------------------------------------------------------


class _Cells:
    """A column of n cells. ``numbers``: (n,), NaN where a cell is empty or no number; ``missing``: (n,), the empty cells."""

    def __init__(self, name: str, column: Any, options: Any) -> None:
        import pandas as pd

        self.name = name
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.sparse.to_dense()
        self.column, self.decimal, self.dates = column, options.decimal, options.dates
        self.is_numeric = column.dtype.kind in "fiu"
        self.is_category = isinstance(column.dtype, pd.CategoricalDtype)
        if column.dtype.kind in "fiub":
            self.missing: Mask = column.isna().to_numpy()
            self.numbers: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
            self.is_boolean = column.dtype.kind == "b"
        else:
            self._parse()

    def _parse(self) -> None:
        """Read text: words for missing values, true and false, numbers, dates."""
        import pandas as pd
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.column
        if not isinstance(column.dtype, pd.StringDtype):
            column = column.astype(object).map(str, na_action="ignore")
        words = pc.utf8_trim_whitespace(pa.array(column, type=pa.large_string(), from_pandas=True))
        lower = pc.utf8_lower(words)
        missing = pc.is_in(lower, value_set=pa.array(MISSING, type=pa.large_string()), skip_nulls=True)
        missing = pc.or_(missing, pc.is_null(words))
        self._text = pc.if_else(missing, None, words)
        self.missing = missing.to_numpy(zero_copy_only=False)
        truth = pa.array(["false", "true"], type=pa.large_string())
        distinct = pc.unique(pc.if_else(missing, None, lower)).drop_null()
        self.is_boolean = bool(len(distinct)) and pc.all(pc.is_in(distinct, value_set=truth)).as_py()
        if self.is_boolean:
            numbers: Any = pc.cast(pc.index_in(pc.if_else(missing, None, lower), value_set=truth), pa.float64())
        elif self.dates == "days" and self.are_dates:
            when = pd.to_datetime(pd.Series(self._text.to_pylist()), utc=True, format="ISO8601", errors="coerce")
            numbers = (when - pd.Timestamp(0, unit="s", tz="UTC")) / pd.Timedelta(days=1)
        else:
            numbers = self._numbers()
        self.numbers = np.array(numbers, dtype=np.float64)  # a copy: that of Arrow is read-only

    def _numbers(self) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = self._text
        if self.decimal == "comma":
            is_number = pc.match_substring_regex(text, _COMMA_NUMBER)
            without = pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
            text = pc.if_else(is_number, without, None)
        try:
            return pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            is_number = pc.match_substring_regex(text, _NUMBER)
            return pc.cast(pc.if_else(is_number, text, None), pa.float64()).to_numpy(zero_copy_only=False)

    @cached_property
    def words(self) -> Array:
        """The cells as text, (n,) objects, None where a cell is empty."""
        if self.column.dtype.kind in "fiub":
            values = self.column.astype(object).map(class_name, na_action="ignore")
            words: Array = values.to_numpy(dtype=object, copy=True)
            words[self.missing] = None
            return words
        return np.array(self._text.to_numpy(zero_copy_only=False), dtype=object)

    @cached_property
    def distinct(self) -> list[str]:
        """The distinct cells as text, sorted."""
        return sorted(set(self.words[~self.missing].tolist()))

    @cached_property
    def odd(self) -> Index:
        """The rows whose cell is neither a finite number nor empty."""
        return np.flatnonzero(~np.isfinite(self.numbers) & ~self.missing)

    @property
    def is_text_truth(self) -> bool:
        """Whether the cells are the words true and false."""
        return bool(self.is_boolean and self.column.dtype.kind != "b")

    @cached_property
    def are_dates(self) -> bool:
        """Whether all cells are dates that pandas reads."""
        import pandas as pd

        distinct = self._text.unique().drop_null().to_pylist()
        if not distinct or not all(re.fullmatch(_DATE, word) for word in distinct):
            return False
        return bool(pd.to_datetime(pd.Series(distinct), errors="coerce", utc=True, format="ISO8601").notna().all())

    @cached_property
    def holds(self) -> Literal["nothing", "numbers", "categories", "commas", "dates", "names"]:
        """What most cells are; names are texts that hardly occur twice, as of customers."""
        present = int((~self.missing).sum())
        text = self.odd[np.isnan(self.numbers[self.odd])]
        if not present:
            return "nothing"
        if not len(text) and not self.is_category:
            return "numbers"
        if len(text) and all(re.fullmatch(r"[+-]?\d+(,\d+)+", word) for word in self.words[text]):
            return "commas"
        found = len(self.distinct)
        if 2 * len(text) <= present and found > min(_MIXED, present // 2) and not self.is_category:
            return "numbers"
        if found <= _CATEGORIES and (found <= _MIXED or 2 * found <= present):
            return "categories"
        return "dates" if self.are_dates else "names"

    @property
    def kind(self) -> Kind:
        """How the cells of a feature are read."""
        return "text" if self.holds == "categories" else "boolean" if self.is_boolean else "number"

    def points(self) -> Array:
        """Return the cells as numbers, float32 where they are stored so."""
        return self.numbers.astype(np.float32) if self.column.dtype == np.float32 else self.numbers

    def labels(self, task: str) -> Array:
        """Return the cells as (n,) labels: numbers where they are stored as such, or for regression; else text."""
        if self.is_numeric and self.column.dtype.kind != "f":
            kind = np.uint64 if self.column.dtype.kind == "u" else np.int64
            return np.asarray(self.column.to_numpy(dtype=kind, na_value=0))
        if self.is_numeric or (task == "regression" and not len(self.odd)):
            return self.numbers
        words = np.where(self.missing, "", self.words).astype(np.str_)
        if self.decimal == "comma" and not len(self.odd):
            words = np.char.replace(np.char.replace(words, ".", ""), ",", ".")
        return words


# -- what is wrong -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Faults:
    """All that keeps the rows of a table from being points."""

    table: Table
    options: Any
    schema: Schema
    columns: Sequence[_Cells]
    label: _Cells
    is_test: bool

    def all(self) -> Iterator[Fault]:
        """Yield the faults; of columns that are read as numbers or as text, and of the label."""
        if self.table.doubt:
            yield self.table.doubt
        numbers = [each for each in self.columns if self.schema.kinds[each.name] != "text"]
        odd = [each for each in numbers if len(each.odd)]
        # of a test part, whose training part holds numbers there, every other cell is a mistake
        by_kind = {
            kind: [each for each in odd if each.holds == kind and not self.is_test]
            for kind in ("commas", "names", "dates")
        }
        if rest := [each for each in odd if not any(each in columns for columns in by_kind.values())]:
            yield Fault(self.listed("not a finite number in", rest, self.sample) + ": correct or empty these cells")
        kinds = self.schema.kinds
        if mixed := [each for each in numbers if self.is_test and each.is_text_truth and kinds[each.name] != "boolean"]:
            yield Fault(self.listed("true and false, where the training part has numbers, in", mixed))
        if commas := by_kind["commas"]:
            yield self.of_commas(commas)
        if dates := by_kind["dates"]:
            yield Fault(self.listed("dates in", dates, self.values), {"dates": "days"})
        yield from self.of_columns(numbers, by_kind["names"])

    def of_columns(self, numbers: Sequence[_Cells], names: Sequence[_Cells]) -> Iterator[Fault]:
        """Yield the faults that leaving columns out, encoding them or filling their cells mends, and those of the label."""
        blank = [each for each in (*self.columns, self.label) if each.holds == "nothing" and not self.is_test]
        drop = {"drop": (*self.options.drop, *(self.reference(each) for each in (*names, *blank)))}
        if names:
            yield Fault(self.listed("too many texts for categories in", names, self.values), drop)
        if blank:
            yield Fault(self.listed("not one value in", blank), drop)
        if index := [each for each in numbers if self.counts_rows(each) and not self.is_test]:
            references = (self.reference(each) for each in index)
            drop["drop"] = (*drop["drop"], *references)
            yield Fault(
                self.listed("a column without a name that counts the rows, as pandas writes its index:", index), drop
            )
        texts = [each for each in self.columns if self.schema.kinds[each.name] == "text"]
        if texts and self.options.categories == "none":
            yield Fault(self.listed("text in", texts, self.values), {"categories": "one-hot"})
        empty = [each for each in self.columns if each.missing.any() and each not in (*blank, *names)]
        if empty and self.options.missing == "none":
            yield Fault(self.listed("empty cells in", empty, self.empty), {"missing": "mean"})
        if self.label not in blank:
            yield from self.of_the_label()

    def counts_rows(self, cells: _Cells) -> bool:
        """Return whether a column without a name holds 0, 1, ... or 1, 2, ..."""
        is_named = self.table.named and cells.name and not cells.name.startswith("Unnamed: ")
        steps = np.diff(cells.numbers)
        return not is_named and self.table.named and cells.numbers[0] in (0, 1) and bool((steps == 1).all())

    def of_commas(self, columns: Sequence[_Cells]) -> Fault:
        text = self.listed("numbers with a comma in", columns, self.sample)
        words = [each.words[row] for each in columns for row in each.odd]
        if all(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", word) for word in words):
            return Fault(f"{text}: write 1,000 as 1000, or give decimal=comma if it is 1.000")
        return Fault(text, {"decimal": "comma"})

    def of_the_label(self) -> Iterator[Fault]:
        label, options = self.label, self.options
        name = self.table.shown(label.name)
        if label.missing.any() and options.missing != "drop-rows":
            text = f"empty cells in the label {name} ({self.empty(label)})"
            yield Fault(f"{text}; a class called none, NA or nan needs another name", {"missing": "drop-rows"})
        present = ~label.missing
        if label.is_numeric and len(label.odd):
            yield Fault(f"not a finite number in the label {name} ({self.sample(label)}): correct or empty these cells")
        elif options.task == "regression":
            if len(label.odd) and not self.is_test:
                yield Fault(f"task=regression expects numbers as labels, and {name} has {self.sample(label)}")
        elif not self.is_test and present.any():
            labels = label.labels(options.task)[present]
            if options.task == "auto" and options.positive is None and are_decimals(labels):
                return
            found = learn_classes(labels, options.positive)
            if isinstance(found, Fault):
                is_default = self.table.named and options.label_column is None and label.name.lower() not in LABEL_NAMES
                which = " (the last one; label_column=NAME chooses another)" if is_default else ""
                yield Fault(f"label column {name}{which}: {found.text}", found.needs)

    def listed(self, what: str, columns: Sequence[_Cells], say: Callable[[_Cells], str] | None = None) -> str:
        texts = [self.table.shown(each.name) + (f" ({say(each)})" if say else "") for each in columns[:_LISTED]]
        more = len(columns) - _LISTED
        return f"{what} {', '.join(texts)}" + (f" and {more:,} more columns" if more > 0 else "")

    def values(self, cells: _Cells) -> str:
        count = len(cells.distinct)
        return f"{count:,} value{'s' * (count > 1)}, '{shown(cells.distinct[0])}'{' ...' * (count > 1)}"

    def empty(self, cells: _Cells) -> str:
        return f"{cells.missing.sum():,}: {self.place(np.flatnonzero(cells.missing))}"

    def sample(self, cells: _Cells) -> str:
        word = cells.words[cells.odd[0]]
        return f"{len(cells.odd):,}: '{shown(word)}' in {self.place(cells.odd)}"

    def place(self, rows: Index) -> str:
        lines = self.table.lines
        numbers = [lines()[row] if lines else row + 1 for row in rows[:3].tolist()]
        word = ("line" if lines else "row") + "s" * (len(rows) > 1)
        return f"{word} {', '.join(map(str, numbers))}{', ...' * (len(rows) > 3)}"

    def reference(self, cells: _Cells) -> str:
        """Return how a parameter names a column: by its position where the name would be taken for something else."""
        if self.table.named and re.fullmatch(r'[^\W\d][^()\[\]",=]*', cells.name):
            return cells.name
        return str(list(self.table.frame.columns).index(cells.name))


def clean_names(names: Iterable[Any]) -> list[str]:
    """Return names of columns as text in one line each, without blanks around them."""
    return [plain_line(str(name).strip(), 100) for name in names]
