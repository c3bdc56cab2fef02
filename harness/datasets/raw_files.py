"""The raw files of the catalogue: what each must hold, by ``registry.txt``, and where they are looked for."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.datasets import cache
from harness.datasets.compression import SUFFIXES
from harness.errors import DataError, FilesMissing
from harness.plain import plain_line


@dataclass(frozen=True)
class RawFile:
    """One line of the registry.

    name : below a folder of raw files, where it may be compressed and have the suffix of that: ``adult/a9a``, ``adult/a9a.gz``
    sha256 : of the content, unpacked
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
    """Return the folder that fetched files go to: ``raw`` in the cache folder."""
    return cache.cache_root() / "raw"


def roots() -> list[Path]:
    """Return the folders in which raw files are looked for, ``HARNESS_DATA`` first."""
    given = os.environ.get("HARNESS_DATA")
    return [*([Path(given).expanduser()] if given else []), fetched_root()]


def copies(name: str) -> list[Path]:
    """Return the files of that name, whatever they hold."""
    named = [root / f"{name}{suffix}" for root in roots() for suffix in ("", *SUFFIXES)]
    return [path for path in named if path.is_file()]


def look(name: str, sha256: str) -> tuple[Path | None, dict[Path, str]]:
    """Return the first file of that name with the right content, if there is one, and what those before it hold."""
    wrong: dict[Path, str] = {}
    for path in copies(name):
        try:
            found = cache.unpacked_sha256(path)
        except Exception as error:  # each library of compression has its own
            wrong[path] = f"cannot be unpacked or read ({plain_line(str(error), 200) or type(error).__name__})"
            continue
        if found == sha256:
            return path, wrong
        wrong[path] = f"holds SHA-256 {found}"
    return None, wrong


def verified(name: str, sha256: str, *, wanted_by: str) -> Path:
    """Return the path of a raw file whose content has the expected SHA-256; a wrong copy is passed over where there is a right one.

    Parameters
    ----------
    name : as in the registry, e.g. ``adult/a9a``
    wanted_by : the data set, for the message

    Raises
    ------
    FilesMissing : there is no file of that name.
    DataError : each one has another content, or cannot be read.
    """
    path, wrong = look(name, sha256)
    if path is not None:
        return path
    fetch = f"`harness data fetch {wanted_by}`"
    for each, why in wrong.items():
        raise DataError(
            f"data set '{wanted_by}': the raw file {each} {why}, expected {sha256}. It is damaged or another version; "
            f"replace it by the original, or fetch one: {fetch}."
        )
    raise FilesMissing(
        f"data set '{wanted_by}' needs the raw file '{name}', which is not under {' or '.join(map(str, roots()))}. "
        f"Fetch it: {fetch}. Or set HARNESS_DATA to a folder that holds it."
    )
