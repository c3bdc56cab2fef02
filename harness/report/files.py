"""Runs as files: JSON, CSV and Parquet written record by record, JSON and Parquet read again, run by run.

A CSV is not read again: it has one empty cell for what is unknown and for a text that is empty.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from harness.run.record import COLUMNS, TYPES, Record, validate_record
from harness.run.store import Row, StoreReader, checksum, written
from harness.support.errors import UsageError
from harness.support.printable import clean, clipped, plain

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from harness.run.store import Source

_ROWS_AT_ONCE = 1000  # a group of rows of a Parquet file
_NEEDED = ("key", "status", "measured_at")


# -- writing -----------------------------------------------------------------------------------------------


def _json(records: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write a JSON list, one item a line; what JSON has no word for (NaN, infinity) is null."""
    between = b"[\n"
    for record in records:
        item = {plain(name): clean(value) for name, value in record.items()}
        file.write(between + json.dumps(item, allow_nan=False, ensure_ascii=False).encode())
        between = b",\n"
    file.write(b"[]\n" if between == b"[\n" else b"\n]\n")


def _csv(records: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write one line a record; lists and dicts are JSON in their cell, unknown figures are empty."""
    records, names = _named(records)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        values = _flat(record, names)
        writer.writerow([json.dumps(value) if isinstance(value, bool) else value for value in values])
        file.write(plain(stream.getvalue()).encode())
        stream.seek(0)
        stream.truncate()
    file.write(plain(stream.getvalue()).encode())


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
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pa.array(values, field.type)


def _kind(name: str) -> type:
    return bool if name == "reused" else TYPES.get(name, str)


def _named(records: Iterable[Mapping[str, Any]]) -> tuple[Iterable[Mapping[str, Any]], list[str]]:
    """Return the records and the names of all their fields; those that are not in memory have the fields of every record."""
    own = [name for record in records for name in record] if isinstance(records, Sequence) else []
    return records, [*COLUMNS, *(name for name in dict.fromkeys(own) if name not in TYPES)]


def _flat(record: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return a record's values, what is nested as JSON text."""
    values = [clean(record.get(name)) for name in names]
    return [json.dumps(value) if isinstance(value, (dict, list)) else value for value in values]


WRITERS: dict[str, Callable[[Iterable[Mapping[str, Any]], IO[bytes]], None]]
WRITERS = {"json": _json, "csv": _csv, "parquet": _parquet}
"""Format -> what writes the records of a store of any size; few of them are in memory at a time."""


def content(name: str, records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return what a file of one of the `WRITERS` has in it."""
    stream = io.BytesIO()
    WRITERS[name](records, stream)
    return stream.getvalue()


# -- reading -----------------------------------------------------------------------------------------------


class RunsFile:
    """A JSON or Parquet file of runs that is read as a store is; a context manager.

    damaged : a sentence for each row that could not be read so far
    """

    def __init__(self, path: Path, items: Callable[[Path], Iterator[Any]]) -> None:
        self.path, self._items = path, items
        self.damaged: dict[int, str] = {}

    def rows(self) -> Iterator[Row]:
        """Yield the rows that are whole runs.

        Raises
        ------
        UsageError : the file cannot be read as what it begins like, or holds something else than runs.
        """
        for number, item in enumerate(self._items(self.path), start=1):
            record, wrong = _run(item)
            if wrong:
                self.damaged[number] = f"row {number} of {self.path} is no run ({clipped(wrong, 200)}); it is left out."
            else:
                texts = written(record)
                yield Row(number, texts, checksum(*texts), record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing stays open."""


def _run(item: Any) -> tuple[Record, str]:
    """Return an item of a file as a record, and what is wrong with it."""
    if not isinstance(item, Mapping):
        return Record(), "it is no mapping of names to figures"
    unknown = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in item.items()}
    wrong: list[str] = []
    record = Record({**dict.fromkeys(COLUMNS), **validate_record(unknown)})
    missing = [name for name in _NEEDED if not record[name]]
    if missing:
        wrong.insert(0, f"it has no {' and no '.join(missing)}")
    elif record.status is None:
        wrong.insert(0, f"no run ends as '{record['status']}'")
    return record, "; ".join(wrong)


def opened(path: str | Path) -> AbstractContextManager[Source]:
    """Open a store, or a Parquet or JSON file of runs; which it is its first bytes say.

    Raises
    ------
    UsageError : there is no such file, or it is something else.
    """
    path = Path(path)
    if not path.exists():
        raise UsageError(f"there is no file {path} to merge; name result stores, or Parquet or JSON files of runs.")
    start = b""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start or start.startswith(b"SQLite format 3"):
        return StoreReader(path)  # which says what else is no store: a folder, for one
    if start.startswith(b"PAR1"):
        return RunsFile(path, _parquet_items)
    if start[:1] in b"[{":
        return RunsFile(path, _json_items)
    why = ""
    if start.startswith(b"plugin,solver,"):
        why = " A CSV does not tell an empty text from an unknown figure."
    raise UsageError(
        f"{path} is no result store, and no Parquet or JSON file of runs.{why} "
        "`harness results --output runs.parquet` writes one."
    )


def _json_items(path: Path) -> Iterator[Any]:
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no whole JSON file ({clipped(str(error), 200)}).") from None
    if not isinstance(found, list):
        raise UsageError(f"{path} is no JSON list of runs, as `harness results --format json` writes it.")
    yield from found


def _parquet_items(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet

    nested = {name for name, kind in TYPES.items() if kind in (dict, list)}
    try:
        with pa.parquet.ParquetFile(path) as file:
            missing = [name for name in _NEEDED if name not in file.schema_arrow.names]
            if missing:
                raise UsageError(
                    f"{path} is a Parquet file of something else: it has no column {', no '.join(missing)}; "
                    "`harness results --output runs.parquet` writes one of runs."
                )
            for part in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                for item in part.to_pylist():
                    yield {name: _parsed(value) if name in nested else value for name, value in item.items()}
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{path} cannot be read as Parquet ({clipped(str(error), 200)}).") from None


def _parsed(value: Any) -> Any:
    """Return what a JSON text says; the text itself where it says nothing, which is then refused with its name."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
