"""A bundle: one zip file with records, the models that they came of, and the studies, for verification on another machine.

``records.jsonl`` has a record a line, ``models/SHA256`` the encoded final models, ``studies/SHA256.json`` what was compared, and
``bundle.json`` the versions and the hashes of code and data. The same runs make the same bytes. It has no data.

Who reads a bundle did not write it. Members are read by their fixed names and never extracted, nothing in them is executed or
unpickled, and their sizes are limited.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Self

import msgspec

import harness
from harness.run.record import Record, validate_record
from harness.support.errors import UsageError
from harness.support.printable import plain_line

FORMAT = 1  # increased when an older harness cannot read a new bundle
_MOST_BYTES = 1 << 30  # bytes of a member
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may take memory without bound
_README = """\
Results of svm-harness: {rows:,} runs, {models:,} with their final models.

To verify them on another machine:

    pip install svm-harness    # {versions}; with the plugins {plugins}
    harness verify BUNDLE.zip

Data are identified by their SHA-256, and not in the bundle: `harness data fetch NAME` fetches data sets of papers, --data
FOLDER names the folder of other files. Times, kernel evaluations and memory are not verified.
"""


def write(file: IO[bytes], records: Iterable[Record], content: Callable[[str], bytes | None]) -> tuple[int, int]:
    """Write a bundle into an open file; return the number of its rows and of its models.

    content : the content of a SHA-256, see `harness.run.store.StoreReader.content`
    """
    rows, models, studies = 0, set[str](), set[str]()
    facts: dict[str, dict[str, set[str]]] = {"versions": {}, "sources": {}, "data": {}}
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open(_member("records.jsonl"), "w") as lines:
            for record in records:
                rows += 1
                lines.write(record.text().encode() + b"\n")
                models.update(filter(None, [record.get("model_sha256")]))
                studies.update(filter(None, [record.get("study")]))
                data = {str(record.get("dataset")): record.get("data_sha256")}
                about = {**record, "sources": record.fingerprints, "data": data}
                for fact, known in facts.items():
                    for name, value in (about.get(fact) or {}).items():
                        known.setdefault(name, set()).add(str(value))
        kept = [*(("models/" + sha256, sha256) for sha256 in sorted(models)),
                *((f"studies/{sha256}.json", sha256) for sha256 in sorted(studies))]  # fmt: skip
        written = 0
        for name, sha256 in kept:
            if (stored := content(sha256)) is not None:
                archive.writestr(_member(name), stored)
                written += name.startswith("models/")
        listed = {fact: {name: sorted(values) for name, values in of.items()} for fact, of in facts.items()}
        about_all = {"format": FORMAT, "harness": harness.__version__, "rows": rows, "models": written, **listed}
        archive.writestr(_member("bundle.json"), json.dumps(about_all, indent=1, sort_keys=True))
        versions = " or ".join(listed["versions"].get("svm-harness", [harness.__version__]))
        plugins = ", ".join(sorted(listed["sources"].keys() - {"harness"}))
        readme = _README.format(rows=rows, models=written, versions=f"version {versions}", plugins=plugins)
        archive.writestr(_member("README.txt"), readme)
    return rows, written


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member without the time and the rights that its file would have."""
    member = zipfile.ZipInfo(name)
    member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return member


class Bundle:
    """A bundle that is open for reading; a context manager.

    Raises
    ------
    UsageError : the file cannot be read, is no bundle, or was written by a newer harness; of all methods.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._archive = zipfile.ZipFile(self.path)
        except Exception as error:  # zipfile raises various exceptions on damaged files
            raise self._refusal(error) from None
        try:
            about = self._decoded(self._read("bundle.json"), "bundle.json")
            if about.get("format") != FORMAT:
                raise UsageError(
                    f"{self.path} is a bundle of format {plain_line(str(about.get('format')), 40)}, and this harness reads "
                    f"{FORMAT}; update svm-harness."
                )
        except BaseException:
            self._archive.close()
            raise

    def records(self) -> Iterator[Record]:
        """Yield the records, as far as their fields can have the values."""
        for number, line in enumerate(self._read("records.jsonl").splitlines(), 1):
            yield validate_record(self._decoded(line, f"line {number} of records.jsonl"))

    def model(self, sha256: str) -> bytes | None:
        """Return the encoded model of a record, which may have another SHA-256 by now; None if there is none."""
        return self._content(f"models/{sha256}")

    def study(self, sha256: str) -> bytes | None:
        """Return what was compared, JSON, by the hash that a record has of it; None if there is none."""
        return self._content(f"studies/{sha256}.json")

    def _content(self, name: str) -> bytes | None:
        return self._read(name) if name in self._archive.NameToInfo else None

    def _decoded(self, data: bytes, what: str) -> dict[str, Any]:
        try:
            return msgspec.json.decode(data, type=dict[str, Any])
        except Exception as error:  # no UTF-8, no JSON, too deep
            raise self._refusal(error, f"{what}: ") from None

    def _read(self, name: str) -> bytes:
        try:
            info = self._archive.getinfo(name)
            if info.compress_type not in _METHODS:
                raise ValueError(f"{name} is compressed by method {info.compress_type}")
            with self._archive.open(info) as member:
                data = member.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise ValueError(f"{name} has more than {_MOST_BYTES:,} bytes")
        except Exception as error:
            raise self._refusal(error) from None
        return data

    def _refusal(self, error: Exception, where: str = "") -> UsageError:
        why = plain_line(str(getattr(error, "strerror", None) or error or type(error).__name__).rstrip("."), 200)
        return UsageError(
            f"{self.path} cannot be read as a bundle ({where}{why}); name a file that `harness results export --bundle` wrote."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._archive.close()
