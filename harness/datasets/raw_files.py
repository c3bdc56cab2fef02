"""The raw files of the catalogue: what each must hold, by ``registry.txt``, where they are looked for, and fetching them."""

from __future__ import annotations

import functools
import os
import re
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.datasets import cache
from harness.datasets.compression import SUFFIXES, streamed
from harness.datasets.fetching import WAIT, download, http, reason
from harness.errors import DataError, FilesMissing
from harness.files import locked_scratch, writable_folder


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
            wrong[path] = f"cannot be unpacked or read ({reason(error)})"
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
    remedy = f"`harness data fetch {wanted_by}`, or set HARNESS_DATA to a folder that holds it."
    for each, why in wrong.items():
        raise DataError(f"data set '{wanted_by}': the raw file {each} {why}, expected {sha256}. Fetch it: {remedy}")
    where = " or ".join(map(str, roots()))
    raise FilesMissing(
        f"data set '{wanted_by}' needs the raw file '{name}', which is not under {where}. Fetch it: {remedy}"
    )


def fetch(file: RawFile, base: str = "", *, wait: float = WAIT, progress: bool = False) -> Path:
    """Return a right copy of a raw file, fetched from the first address that has it where there is none.

    Parameters
    ----------
    base : an address or a folder that has the files under their names, compressed or not; it replaces the registry's addresses
    wait : seconds without a byte after which a request fails

    Raises
    ------
    DataError : no address has it; the sentence gives the reason for each.
    UsageError : the cache folder cannot be written.
    """
    if right := look(file.name, file.sha256)[0]:
        return right
    base = base.rstrip("/")
    addresses = [f"{base}/{file.name}{suffix}" for suffix in ("", *SUFFIXES)] if base else file.urls
    target = fetched_root() / file.name
    writable_folder(target.parent)
    faults = []
    with locked_scratch(target) as scratch:
        if right := look(file.name, file.sha256)[0]:  # another process has fetched it meanwhile
            return right

        def get(url: str, made: Path) -> None:
            _make(url, made, scratch, wait, progress)

        for address in addresses:
            try:
                return download(address, scratch / target.name, file.sha256, get).replace(target)
            except Exception as error:
                faults.append(f"{address}: {reason(error)}")
    raise DataError(
        f"'{file.name}' could not be fetched: {'; '.join(faults)}. Try again later; else try --from URL_OR_FOLDER of a copy, "
        "or set HARNESS_DATA to a folder that holds it."
    )


def _make(address: str, made: Path, scratch: Path, wait: float, progress: bool) -> None:
    """Write the file that an address of the registry stands for: unpacked, packed with others, or converted."""
    came = []
    for url in _expanded(address.removesuffix("#libsvm")):
        came.append(scratch / Path(url).name if "://" in url else Path(url).expanduser())
        if "://" in url:
            http(url, came[-1], wait, progress)
    if len(came) > 1:
        folder = scratch.name.split(".")[1].split("-")[0]  # of .banana.asc.tar.part, .reuters21578-sgm.tar.part
        with tarfile.open(made, "w", format=tarfile.USTAR_FORMAT) as tar:
            for path in came:
                member = tarfile.TarInfo(f"{folder}/{path.name}")  # of fixed owner, mode and time, as the SHA-256 is
                member.size = path.stat().st_size
                with path.open("rb") as content:
                    tar.addfile(member, content)
        return
    with streamed(came[0]) as content, made.open("wb") as file:
        if not address.endswith("#libsvm"):
            shutil.copyfileobj(content, file)
            return
        for row in content:
            *cells, label = row.strip().split(b",")
            values = b" ".join(b"%d:%s" % cell for cell in enumerate(cells, 1) if cell[1] != b"0")
            file.write(b"%d %s\n" % (2 if label == b"2" else 1, values))


def _expanded(url: str) -> list[str]:
    """Return the URLs that braces stand for, the last ones changing last: ``{a,b}_{1..2}`` a_1, b_1, a_2, b_2."""
    if (braces := re.fullmatch(r"(.*)\{(.*?)\}(.*)", url)) is None:
        return [url]
    first, _, last = braces[2].partition("..")
    numbers = [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)] if last else []
    return [
        f"{start}{choice}{braces[3]}" for choice in numbers or braces[2].split(",") for start in _expanded(braces[1])
    ]
