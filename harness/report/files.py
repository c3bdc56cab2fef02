"""Runs as files: JSON, CSV and Parquet, written record by record."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any

import msgspec

from harness.run.record import COLUMNS, TYPES
from harness.support.printable import clean, plain

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
    names = _names(records)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for values in itertools.chain([names], (map(record.get, names) for record in records)):
        writer.writerow([_no_formula(_flat(value)) for value in values])
        file.write(plain(stream.getvalue()).encode())
        stream.seek(0)
        stream.truncate()


def _no_formula(value: Any) -> Any:
    """Return a text that a spreadsheet would run with an apostrophe before it, which makes it a text there."""
    return f"'{value}" if isinstance(value, str) and value.strip().startswith(_FORMULA) else value


def _parquet(records: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write a Parquet file, one row a record; lists and dicts are JSON text, unknown figures are null."""
    import pyarrow as pa
    import pyarrow.parquet

    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    types = {**TYPES, "reused": bool}
    schema = pa.schema([(name, kinds.get(types.get(name, str), pa.string())) for name in _names(records)])
    rows = iter(records)
    with pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while part := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            columns = {field.name: [row.get(field.name) for row in part] for field in schema}
            for field in filter(lambda field: pa.types.is_string(field.type), schema):
                columns[field.name] = list(map(_text, columns[field.name]))
            writer.write_table(pa.table(columns, schema=schema))


def _names(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of all fields; records that are not in memory have those of every record."""
    further = [name for record in records for name in record] if isinstance(records, Sequence) else []
    return [*COLUMNS, *(name for name in dict.fromkeys(further) if name not in TYPES)]


def _flat(value: Any) -> Any:
    """Return a value, as JSON text if it is nested or a truth value."""
    return _encoded(value) if isinstance(value, (dict, list, bool)) else value


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _encoded(value)


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
