"""CSV and related formats: the encoding, the separator, and whether the first row is a header.

Every cell is read as text, which `harness.datasets.columns` interprets. Whether the first row is a header is decided by its
cells, each of which is a number, missing or text, and by the cells below it:

* a row with a cell ``label``, ``target`` or ``class`` is a header;
* a row without text is a point; but if its numbers count the columns (``0,1,2``), or if its label does not occur among the few
  labels below, it may be a header;
* text above a column of numbers is a name, or a mistake;
* a row of texts is a header, unless one of them occurs below, as a category does: then it may be a point;
* a row of texts and numbers is a point if one of its texts occurs below; else it may be a header.

If both are possible, the data are refused until ``header`` is given.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import re
from collections.abc import Iterator
from typing import Any

from harness.datasets.columns import Table, clean_names, refuse_empty
from harness.datasets.labels import MISSING, Fault, is_number, short
from harness.support.errors import DataError
from harness.support.printable import plain_line

_CLASSES = 20  # largest number of distinct cells of a column of labels
_BLOCK = (1 << 31) - 2  # largest number of bytes that pyarrow parses at a time
_PREAMBLE = re.compile(r"[^\S\n]*(?:\n|[#%](?P<comment>.*)(?:\n|$)|sep=(?P<separator>.)\s*(?:\n|$))")
_NO_DATA = (
    (rb"version https://git-lfs", "is a pointer of Git LFS, not the file itself. Fetch it: git lfs pull"),
    (rb"(?i)\s*<(!doctype|html|head|\?xml)", "is HTML or XML, perhaps an error page. Fetch it again, or convert it"),
    (rb"PK\x03\x04|%PDF-", "is a spreadsheet, an archive or a PDF. Save its table as CSV, or give harness.data(frame)"),
    (rb"\s*[\[{]\s*[\[{\"]", "is JSON. Convert it to CSV: pandas.read_json(path).to_csv('data.csv', index=False)"),
)


def refuse_no_data(start: bytes, where: str, suffix: str) -> None:
    """Raise DataError if the start of a file shows that it has no data, whatever its suffix."""
    start = b"PK\x03\x04" if suffix in (".xlsx", ".xls", ".ods") else start
    for pattern, what in _NO_DATA:
        if re.match(pattern, start) and (suffix, start[:2]) != (".npz", b"PK"):
            raise DataError(f"'{where}' {what}.")


def decode(content: bytes, where: str) -> str:
    """Return text in UTF-8, or in UTF-16 with a byte order mark.

    Raises
    ------
    DataError : the text has another encoding; the message has the line and a command that converts it.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    start, line, encoding = content[:1000], 1, "WINDOWS-1252"
    if start.count(0) > len(start) // 3:
        encoding = "UTF-16LE" if start[1::2].count(0) >= start[::2].count(0) else "UTF-16BE"
    else:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
    name = re.split(r"[\\/]", where)[-1]
    convert = f"iconv -f {encoding} -t UTF-8 {name} > utf8-{name}"
    raise DataError(f"'{where}': line {line} is not UTF-8, perhaps {encoding}. Convert it: {convert}.")


def read_csv(content: bytes, where: str, options: Any) -> Table:
    """Return a table of text. Its cells are separated by commas, semicolons, tabs, bars or blanks.

    Leading lines that are blank or begin with # or % are skipped; such a line after # with as many names as the first row has
    cells is the header. A line ``sep=;`` gives the separator.

    options : a `FileSource` with the parameters of the format

    Raises
    ------
    DataError : no rows, rows of different lengths, or another encoding.
    """
    text = decode(content, where)
    start, comment, separator = 0, "", ""
    while match := _PREAMBLE.match(text, start):
        comment, separator, start = match["comment"] or comment, match["separator"] or separator, match.end()
    skipped, body = text.count("\n", 0, start), text[start:]
    separator = separator or _separator(body)
    if separator == " ":
        body = re.sub(r"(?m)^ +| +(?=\r?$)", "", re.sub(r"[ \t]+", " ", body))
    cells = _first_row(body, separator)
    refuse_empty(len(cells), 1, where)
    header = _first_row(comment if separator != " " else " ".join(comment.split()), separator)
    is_header = options.header == "auto" and len(header) == len(cells) and not any(map(is_number, header))
    lines = functools.cache(lambda: list(_lines(body, separator, skipped + 1, where)))
    if '"' in body:
        for _ in _lines(body, separator, skipped + 1, where):  # raises if quotes do not pair
            pass
    frame, ragged = _parse(body, separator, len(cells))
    if ragged:
        listed = ", ".join(f"line {lines()[row.number - 1]} has {row.actual_columns}" for row in ragged[:3])
        listed += ", ..." * (len(ragged) > 3)
        what = f"rows with other than {len(cells)} cells, the number of the first ({len(ragged):,}: {listed})"
        raise DataError(f"'{where}': {what}. Name each column; cells with {separator!r} need double quotes.")
    if is_header:
        return Table(frame.set_axis(clean_names(header), axis=1), where, lines)
    named, doubt = _read_header([cell.strip() for cell in cells], frame, options)
    if not named:
        return Table(frame, where, lines, doubt)
    below = frame.iloc[1:].reset_index(drop=True)
    return Table(below.set_axis(clean_names(cells), axis=1), where, lambda: lines()[1:], doubt)


def _parse(body: str, separator: str, width: int) -> tuple[Any, list[Any]]:
    """Return the cells of all rows as text, and pyarrow's reports on the rows without exactly ``width`` cells."""
    import pyarrow as pa
    import pyarrow.csv

    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    names, content = clean_names([""] * width), body.encode()
    read = pyarrow.csv.ReadOptions(block_size=min(len(content) + 1, _BLOCK), column_names=names)
    read.use_threads = False  # pyarrow then reports the numbers of ragged rows
    parse = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=skip)
    convert = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    return pyarrow.csv.read_csv(io.BytesIO(content), read, parse, convert).to_pandas(), ragged


def _lines(body: str, separator: str, first: int, where: str) -> Iterator[int]:
    """Yield the line in which each row begins; the first line of the body is ``first``, and lines within quotes count.

    Raises
    ------
    DataError : double quotes in a row do not pair.
    """
    start = first
    rows = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        for row in rows:
            if row:
                yield start
            start = first + rows.line_num
    except csv.Error:
        why = f"double quotes in the row that begins in line {start} do not pair"
        raise DataError(f"'{where}': {why}. Correct them.") from None


def _separator(body: str) -> str:
    """Return the separator of the cells of the first line."""
    first = re.sub(r'"[^"]*"', "", body.partition("\n")[0])
    marks = (";", "\t", ",") if not re.search(r",(?!\d)", first) else (",", ";", "\t")  # 1,5;2,5 are two numbers
    separator = next((mark for mark in marks if mark in first), " ")
    return "|" if first.count("|") > first.count(separator) or ("|" in first and separator == " ") else separator


def _first_row(text: str, separator: str) -> list[str]:
    """Return the cells of the first line that is not blank."""
    rows = csv.reader(io.StringIO(text[: 1 << 20], newline=None), delimiter=separator, skipinitialspace=True)
    return next(filter(None, rows), [])


def _read_header(cells: list[str], frame: Any, options: Any) -> tuple[bool, Fault | None]:
    """Return whether the first row of the frame is a header, by the rules at the top of this file, and a fault in case of doubt.

    The fault's remedy is the more likely choice.
    """
    if options.header != "auto":
        return options.header == "yes", None
    filled = [place for place, cell in enumerate(cells) if cell.lower() not in MISSING]
    texts = {place: cells[place] for place in filled if not is_number(cells[place])}
    below = {place: frame.iloc[1:, place].str.strip() for place in texts}
    repeated = sum(bool((below[place] == text).any()) for place, text in texts.items())
    counted = [cell for place, cell in enumerate(cells) if cell or place]  # pandas leaves the first one empty
    named, why = True, "none of its words occurs below it"
    if any(text.lower() in ("label", "target", "class") or text == options.label_column for text in texts.values()):
        return True, None
    if len(counted) > 1 and counted in ([str(first + place) for place in range(len(counted))] for first in (0, 1)):
        why = "its numbers count the columns"
    elif not texts:
        labels = frame.iloc[1:, -1]
        few = 0 < 2 * labels.nunique() < len(labels) and labels.nunique() <= _CLASSES
        if options.label_column is not None or not few or (labels == cells[-1]).any():
            return False, None
        why = f"its last cell does not occur among the {labels.nunique()} different ones below it"
    elif repeated and len(texts) == len(filled):
        named, why = 2 * repeated <= len(texts), f"{repeated} of its words occur below it"
    elif repeated or len(texts) == len(filled):
        return not repeated, None
    elif numeric := [text for place, text in texts.items() if _are_numbers(below[place])]:
        why = f"it has '{short(numeric[0])}' above numbers"
    line = f"the first row, {plain_line(','.join(cells), 60)}, may be names or a point: {why}. Give header=yes or header=no"
    return named, Fault(line, {"header": "yes" if named else "no"})


def _are_numbers(column: Any) -> bool:
    present = column[~column.str.lower().isin(MISSING)][:1000]
    return bool(len(present)) and all(map(is_number, present))
