"""The raw files of the catalogue: their hashes in ``registry.txt``, the folders to search, and fetching."""

from __future__ import annotations

import functools
import io
import itertools
import os
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.datasets import cache
from harness.datasets.compression import SUFFIXES, streamed
from harness.datasets.fetching import WAIT, download, reason, retrieve
from harness.support.errors import DataError, FilesMissing


@dataclass(frozen=True)
class RawFile:
    """One line of the registry.

    name : path in a folder of raw files, where the file may be compressed: ``adult/a9a`` or ``adult/a9a.gz``
    sha256 : hash of the unpacked content
    """

    name: str
    sha256: str
    licence: str
    urls: tuple[str, ...]


@functools.cache
def registry() -> Mapping[str, RawFile]:
    """Return the lines of ``registry.txt`` by name."""
    lines = Path(__file__).with_name("registry.txt").read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines if not line.startswith("#")]
    return {name: RawFile(name, sha256, licence, tuple(urls)) for name, sha256, licence, *urls in fields}


def fetched_root() -> Path:
    """Return the folder of fetched files: ``raw`` in the cache folder."""
    return cache.cache_root() / "raw"


def roots() -> list[Path]:
    """Return the folders to search for raw files, ``HARNESS_DATA`` first."""
    given = os.environ.get("HARNESS_DATA")
    return [*([Path(given).expanduser()] if given else []), fetched_root()]


def copies(name: str) -> list[Path]:
    """Return the files of that name, whatever their content."""
    named = [root / f"{name}{suffix}" for root in roots() for suffix in ("", *SUFFIXES)]
    return [path for path in named if path.is_file()]


def look(name: str, sha256: str) -> tuple[Path | None, dict[Path, str]]:
    """Return the first file of that name with the right content, or None, and the faults of the files before it."""
    wrong: dict[Path, str] = {}
    for path in copies(name):
        try:
            content = f"has SHA-256 {cache.unpacked_sha256(path)}"
        except Exception as error:  # each compression library has other exceptions
            content = f"cannot be unpacked or read ({reason(error)})"
        if content == f"has SHA-256 {sha256}":
            return path, wrong
        wrong[path] = content
    return None, wrong


def verified(name: str, sha256: str, *, needed_by: str, fetched_as: str = "") -> Path:
    """Return the path of a raw file with the expected SHA-256; copies with other content are ignored if there is one.

    Parameters
    ----------
    name : as in the registry, e.g. ``adult/a9a``
    needed_by : name of the data set, for messages
    fetched_as : argument of ``harness data fetch``, if it is not the data set

    Raises
    ------
    FilesMissing : there is no file of that name.
    DataError : all files of that name have other content, or cannot be read.
    """
    path, wrong = look(name, sha256)
    if path is not None:
        return path
    faults = "; ".join(f"{copy} {fault}" for copy, fault in wrong.items())
    why = f"but {faults}, expected {sha256}" if wrong else f"which is not under {' or '.join(map(str, roots()))}"
    raise (DataError if wrong else FilesMissing)(
        f"data set '{needed_by}' needs the raw file '{name}', {why}. Fetch it: `harness data fetch {fetched_as or needed_by}`, "
        "or set HARNESS_DATA to a folder that has it."
    )


def fetch(file: RawFile, base: str = "", *, wait: float = WAIT, progress: bool = False) -> Path:
    """Return a correct copy of a raw file, fetched from the first address that has it if there is none.

    Parameters
    ----------
    base : an address or a folder with the files under their names, compressed or not, instead of the registry's addresses
    wait : seconds without a byte after which a request fails

    Raises
    ------
    DataError : no address has the file; the message has the reason for each.
    UsageError : the cache folder cannot be written.
    """
    if right := look(file.name, file.sha256)[0]:
        return right
    base = base.rstrip("/")
    addresses = [f"{base}/{file.name}{suffix}" for suffix in ("", *SUFFIXES)] if base else file.urls
    target = fetched_root() / file.name

    def get(address: str, made: str, _pooch: object) -> None:
        """Write the file of an address: unpacked, packed with others, or converted."""
        urls = _expanded(address.removesuffix("#libsvm"))
        came = [download(url, Path(made).with_name(Path(url).name), wait, progress) for url in urls]
        if len(came) > 1:
            folder = re.split(r"\W", target.name)[0]
            with tarfile.open(made, "w", format=tarfile.USTAR_FORMAT) as tar:
                for path in came:  # fixed owner, mode and time, for a fixed SHA-256
                    member = tarfile.TarInfo(f"{folder}/{path.name}")
                    member.size = path.stat().st_size
                    tar.addfile(member, io.BytesIO(path.read_bytes()))
            return
        with streamed(came[0]) as content, open(made, "wb") as file:
            file.writelines(map(_as_libsvm, content) if address.endswith("#libsvm") else content)

    remedy = "Try again later; else try --from URL_OR_FOLDER of a copy, or set HARNESS_DATA to a folder that has it."
    return retrieve(addresses, target, file.sha256, get, remedy)


def _expanded(url: str) -> list[str]:
    """Return the expansion of braces in an address, the first varying fastest: ``{a,b}_{1,2}`` is a_1, b_1, a_2, b_2."""
    parts = [part.split(",") if number % 2 else [part] for number, part in enumerate(re.split("[{}]", url))]
    return ["".join(reversed(choice)) for choice in itertools.product(*reversed(parts))]


def _as_libsvm(row: bytes) -> bytes:
    """Return a line of UCI's covtype as LIBSVM text: class 2 against the others."""
    *cells, label = row.strip().split(b",")
    values = b" ".join(b"%d:%s" % cell for cell in enumerate(cells, 1) if cell[1] != b"0")
    return b"%d %s\n" % (2 if label == b"2" else 1, values)
