"""Fetching files from the network with pooch, and data sets of OpenML with scikit-learn.

A file is written to a scratch folder, checked and renamed, under a lock, so that only one process fetches it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from harness.support.errors import DataError, UsageError
from harness.support.files import file_sha256, locked_scratch, user_cache, writable_folder
from harness.support.printable import plain_line

Get: TypeAlias = Callable[[str, str, object], object]
WAIT = 30.0
"""Seconds without a byte after which a request for a URL fails."""
OPENML = "openml:"
_PIN = "#sha256="


def is_address(text: str) -> bool:
    """Return whether the name of a data file is an address in the network."""
    return text.startswith((OPENML, "https://", "http://"))


def local(
    address: str, *, wait: float = WAIT, progress: bool = False, tell: Callable[[str], object] | None = None
) -> Path:
    """Return the local copy of a file in the network, fetched once.

    Parameters
    ----------
    address : a URL, where ``#sha256=...`` pins the content: another copy is fetched again, and other content refused;
        or ``openml:61``, which becomes a Parquet file with the target in the last column
    wait : seconds without a byte after which a request for a URL fails
    tell : called with a sentence on the SHA-256 of a newly fetched file, if the address has no pin

    Raises
    ------
    DataError : the file cannot be fetched, or its SHA-256 is not the expected one.
    UsageError : the cache folder cannot be written.
    """
    url, _, pin = address.partition(_PIN)
    folder = user_cache("HARNESS_CACHE") / "fetched" / hashlib.sha256(url.encode()).hexdigest()[:16]
    name = Path(urlsplit(url).path).name.strip(".") or "data"
    target = folder / (f"{url.replace(':', '-')}.parquet" if url.startswith(OPENML) else name)

    def get(url: str, made: str, _pooch: object) -> None:
        sha256 = file_sha256(download(url, Path(made), wait, progress))
        if tell is not None and not pin:
            tell(f"{url} has SHA-256 {sha256}; {url}{_PIN}{sha256} accepts nothing else.")

    return retrieve([url], target, pin.lower(), get, "Check the address and its pin.")


def retrieve(addresses: Iterable[str], target: Path, sha256: str, get: Get, remedy: str) -> Path:
    """Return ``target``, fetched by ``get`` from the first address that works unless it exists with the right content.

    One process fetches, and others wait for it.

    Parameters
    ----------
    sha256 : hash of the content; empty to accept any content
    get : a downloader of pooch, which writes the content of an address to a file
    remedy : advice if no address has the file, a sentence

    Raises
    ------
    DataError : no address has the file; the message has the reason for each.
    UsageError : pooch is not installed, or the cache folder cannot be written.
    """

    def is_there() -> bool:
        return target.is_file() and (not sha256 or file_sha256(target) == sha256)

    if is_there():
        return target
    writable_folder(target.parent)
    try:
        import pooch
    except ImportError:
        raise UsageError("pooch is not installed; run `pip install 'svm-harness[data]'`") from None
    pooch.get_logger().setLevel("ERROR")
    faults = []
    with locked_scratch(target) as scratch:
        if is_there():  # fetched by another process
            return target
        for address in addresses:
            try:
                pooch.retrieve(address, sha256 or None, target.name, scratch, downloader=get)
                return (scratch / target.name).replace(target)
            except Exception as error:
                faults.append(f"{address}: {reason(error)}")
    raise DataError(f"'{target.name}' could not be fetched: {'; '.join(faults)}. {remedy}")


def reason(error: Exception) -> str:
    """Return why something could not be fetched, for a sentence."""
    return plain_line(str(error).rstrip("."), 300) or type(error).__name__


def download(address: str, file: Path, wait: float, progress: bool) -> Path:
    """Copy an address or a local path to a file, and return the file."""
    if address.startswith(OPENML):
        _openml(address, file)
    elif "://" not in address:
        shutil.copyfile(Path(address).expanduser(), file)
    else:
        import pooch

        # without transfer compression, which would change the SHA-256
        headers = {"Accept-Encoding": "identity"}
        pooch.HTTPDownloader(progress, 1 << 16, timeout=wait, headers=headers)(address, str(file), None)
    return file


def _openml(name: str, file: Path) -> None:
    """Write a data set of OpenML as a Parquet file, the target in the last column; scikit-learn checks the MD5."""
    from sklearn.datasets import fetch_openml

    dataset = fetch_openml(data_id=int(name.removeprefix(OPENML)), as_frame=True, cache=False, parser="auto")
    if len(dataset.target_names) != 1:
        raise DataError(f"it has {len(dataset.target_names)} targets ({', '.join(dataset.target_names)}), expected one")
    frame = dataset.frame[[*dataset.frame.columns.drop(dataset.target_names), *dataset.target_names]]
    kinds = frame.dtypes.astype(str)
    frame.astype(dict.fromkeys(kinds.index[kinds == "category"], object)).to_parquet(file, index=False)
