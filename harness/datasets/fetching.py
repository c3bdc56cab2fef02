"""Fetching from the network with pooch: files of any address, and data sets of OpenML by scikit-learn.

What comes is written beside its target, checked and renamed, under a lock: one process fetches, the others find the file.
"""

from __future__ import annotations

import hashlib
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from harness.errors import DataError, UsageError
from harness.files import file_sha256, locked_scratch, user_cache, writable_folder, write_whole
from harness.plain import plain_line

WAIT = 30.0
"""Seconds without a byte after which a request fails."""
OPENML = "openml:"
_PIN = "#sha256="


def is_address(text: str) -> bool:
    """Return whether the name of a data file is one of the network."""
    return text.startswith((OPENML, "https://", "http://"))


def local(
    address: str, *, wait: float = WAIT, progress: bool = False, tell: Callable[[str], object] | None = None
) -> Path:
    """Return the copy of what an address has, fetched once and kept with its SHA-256.

    A copy that has another SHA-256 is fetched again; what comes must then be the content of the first time.

    Parameters
    ----------
    address : a URL, ``#sha256=...`` behind it pins its content; ``openml:61``, which comes as a Parquet file, its target last
    wait : seconds without a byte after which a request fails
    tell : called with a sentence on the SHA-256 of what was fetched just now

    Raises
    ------
    DataError : the file cannot be fetched, or its SHA-256 is not the expected one.
    UsageError : the cache folder cannot be written.
    """
    url, _, pin = address.partition(_PIN)
    folder = user_cache("HARNESS_CACHE") / "fetched" / hashlib.sha256(url.encode()).hexdigest()[:16]
    name = Path(urlsplit(url).path).name.strip(".") or "data"
    target = folder / (f"{url.replace(':', '-')}.parquet" if url.startswith(OPENML) else name)
    note = folder / "sha256"

    def expected() -> str:
        return pin or (note.read_text() if note.is_file() else "")

    def is_right() -> bool:
        return target.is_file() and file_sha256(target) == expected()

    if is_right():
        return target
    writable_folder(folder)
    with locked_scratch(target) as scratch:
        if is_right():  # another process has fetched it meanwhile
            return target
        if target.is_file():
            warnings.warn(f"{target} is not the expected content of {url}; it is fetched again.", stacklevel=2)

        def get(url: str, file: Path) -> None:
            _openml(url, file, wait) if url.startswith(OPENML) else http(url, file, wait, progress)

        try:
            came = download(url, scratch / target.name, expected(), get)
        except Exception as error:
            raise DataError(
                f"{url} could not be fetched: {reason(error)}. Check the address and its pin; if it has other content now, "
                f"delete the folder {folder} to take that."
            ) from None
        sha256 = file_sha256(came)
        write_whole(note, sha256.encode())
        came.replace(target)
    if tell is not None:
        tell(f"{url} holds SHA-256 {sha256}; {url}{_PIN}{sha256} accepts nothing else.")
    return target


def reason(error: Exception) -> str:
    """Return why something could not be fetched, for a sentence."""
    return plain_line(str(error).rstrip("."), 300) or type(error).__name__


def download(url: str, target: Path, sha256: str, get: Callable[[str, Path], object]) -> Path:
    """Return ``target``, which pooch fetches by ``get(url, file)``, checks and puts there.

    Raises
    ------
    UsageError : pooch is not installed.
    ValueError : the SHA-256 is not ``sha256``.
    Exception : what ``get`` raises; pooch has tried three times if it is a ValueError or one of requests.
    """
    try:
        import pooch
    except ImportError:
        raise UsageError("pooch is not installed; run `pip install 'svm-harness[data]'`") from None
    pooch.get_logger().setLevel("ERROR")
    registry, urls = {target.name: sha256 or None}, {target.name: url}
    box = pooch.create(target.parent, "", registry=registry, urls=urls, retry_if_failed=2)
    return Path(box.fetch(target.name, downloader=lambda url, file, _box: get(url, Path(file))))


def http(url: str, file: Path, wait: float, progress: bool) -> None:
    """Download a URL to a file; an answer 4xx, which asking again will not change, is a DataError."""
    import pooch
    import requests

    # as it is: what a server compresses on its way would arrive unpacked, under another SHA-256
    headers = {"Accept-Encoding": "identity"}
    try:
        pooch.HTTPDownloader(progress, 1 << 16, timeout=wait, headers=headers)(url, str(file), None)
    except requests.HTTPError as error:
        if "Client Error" in str(error):
            raise DataError(str(error)) from None
        raise


def _openml(name: str, file: Path, wait: float) -> None:
    """Write a data set of OpenML as a Parquet file, the target in the last column; scikit-learn checks OpenML's own sum."""
    from sklearn.datasets import fetch_openml

    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(wait)
    try:
        found = fetch_openml(data_id=int(name.removeprefix(OPENML)), as_frame=True, cache=False, parser="auto")
    finally:
        socket.setdefaulttimeout(usual)
    if len(found.target_names) != 1:
        raise DataError(f"it has {len(found.target_names)} targets ({', '.join(found.target_names)}), expected one")
    frame = found.frame[[*found.frame.columns.drop(found.target_names), *found.target_names]]
    kinds = frame.dtypes.astype(str)
    frame.astype(dict.fromkeys(kinds.index[kinds == "category"], object)).to_parquet(file, index=False)
