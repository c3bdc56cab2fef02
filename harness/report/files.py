"""Runs as files: JSON, CSV and Parquet, written record by record."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import msgspec

from harness.run.record import COLUMNS, TYPES
from harness.support.printable import clean, plain

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA = ("=", "+", "-", "@")  # first letters of a formula in a spreadsheet
_ROWS_AT_ONCE = 1000  # a group of rows of a Parquet file


def _json(records: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write a JSON list, one item a line; NaN and infinity are null."""
    between = b"[\n"
    for record in records:
        file.write(between + plain(_encoded(record)).encode())
        between = b",\n"
    file.write(b"[]\n" if between == b"[\n" else b"\n]\n")


def _csv(records: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write one line a record; lists and dicts are JSON in their cell, unknown figures are empty, and no text is a formula."""
    records, names = _named(records)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(_no_formula, names))
    for record in records:
        values = _flat(record, names)
        writer.writerow([_encoded(value) if isinstance(value, bool) else _no_formula(value) for value in values])
        file.write(plain(stream.getvalue()).encode())
        stream.seek(0)
        stream.truncate()
    file.write(plain(stream.getvalue()).encode())


def _no_formula(value: Any) -> Any:
    """Return a text that a spreadsheet would run with an apostrophe before it, which makes it a text there."""
    return f"'{value}" if isinstance(value, str) and value.lstrip()[:1] in _FORMULA and value.strip() else value


def _parquet(records: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write a Parquet file, one row a record; lists and dicts are JSON text, unknown figures are null."""
    import pyarrow as pa
    import pyarrow.parquet

    records, names = _named(records)
    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, kinds.get(_kind(name), pa.string())) for name in names])
    waiting = iter(records)
    with pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while part := list(itertools.islice(waiting, _ROWS_AT_ONCE)):
            lines = [_flat(record, names) for record in part]
            columns = [_column([line[i] for line in lines], field) for i, field in enumerate(schema)]
            writer.write_table(pa.table(columns, schema=schema))


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_string(field.type):
        values = [value if value is None or isinstance(value, str) else _encoded(value) for value in values]
    return pa.array(values, field.type)


def _kind(name: str) -> type:
    return bool if name == "reused" else TYPES.get(name, str)


def _named(records: Iterable[Mapping[str, Any]]) -> tuple[Iterable[Mapping[str, Any]], list[str]]:
    """Return the records and the names of all their fields; those that are not in memory have the fields of every record."""
    own = [name for record in records for name in record] if isinstance(records, Sequence) else []
    return records, [*COLUMNS, *(name for name in dict.fromkeys(own) if name not in TYPES)]


def _flat(record: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return a record's values, what is nested as JSON text."""
    values = map(record.get, names)
    return [_encoded(value) if isinstance(value, (dict, list)) else value for value in values]


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


WRITERS: dict[str, Callable[[Iterable[Mapping[str, Any]], IO[bytes]], None]]
WRITERS = {"json": _json, "csv": _csv, "parquet": _parquet}
"""Format -> what writes the records of a store, which are clean, of any size; few of them are in memory at a time."""


def content(name: str, records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return what a file of one of the `WRITERS` has in it."""
    stream = io.BytesIO()
    cleaned = [{plain(field): clean(value) for field, value in record.items()} for record in records]
    WRITERS[name](cleaned, stream)
    return stream.getvalue()
