"""Fetching: raw files of the catalogue, files of any address, data sets of OpenML; each is checked before it is there.

What comes is written to a folder beside its target, checked and renamed, under a lock: of several processes one fetches, the others
find what it brought. A process that is killed leaves that folder, which the next one empties.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import itertools
import re
import shutil
import socket
import tarfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from harness.datasets import cache
from harness.datasets.compression import SUFFIXES, compression_of, streamed
from harness.datasets.raw_files import RawFile, fetched_root, look
from harness.errors import DataError, UsageError
from harness.files import writable_folder, write_whole
from harness.plain import plain_line

WAIT = 30.0
"""Seconds without a byte after which an address is given up."""
OPENML = "openml:"
_RETRIES = 2
_CHUNK = 1 << 16  # bytes
_PIN = "#sha256="


class _NotThere(DataError):
    """An address has no file; another form of it may have one."""


def fetch(file: RawFile, base: str = "", *, wait: float = WAIT, progress: Any = None) -> Path:
    """Return a right copy of a raw file, fetched where there is none.

    Parameters
    ----------
    base : an address or a folder that has the files under their names, compressed or not; it stands for all of the registry's
    wait : seconds without a byte after which an address is given up
    progress : what pooch takes as a progress bar

    Raises
    ------
    DataError : no address has it; the sentence says why of each.
    UsageError : the cache folder cannot be written.
    """
    if base and not urlsplit(base).scheme:
        base = Path(base).expanduser().resolve().as_uri()
    forms = [f"{base.rstrip('/')}/{file.name}{suffix}" for suffix in ("", *SUFFIXES)] if base else []
    target = fetched_root() / file.name

    def there() -> Path | None:
        return look(file.name, file.sha256)[0]

    def keep(came: Path) -> Path:
        _expect(file.sha256, cache.unpacked_sha256(came))
        # compressed or not by what it is, whatever the address calls it
        return came.replace(target.with_name(target.name + (compression_of(came) or "")))

    remedy = "try --from URL_OR_FOLDER of a copy, or set HARNESS_DATA to a folder that holds it"
    return there() or _brought(target, forms or file.urls, there, keep, remedy, wait, progress, one=bool(forms))


def is_address(text: str) -> bool:
    """Return whether the name of a data file is one of the network."""
    return text.startswith((OPENML, "https://", "http://"))


def local(
    address: str, *, wait: float = WAIT, progress: Any = None, tell: Callable[[str], object] | None = None
) -> Path:
    """Return the copy of what an address has, fetched once and kept with its SHA-256.

    Parameters
    ----------
    address : a URL, ``#sha256=...`` behind it pins its content; ``openml:61``, which comes as a Parquet file, its target last
    tell : told the SHA-256 of what was fetched just now

    Raises
    ------
    DataError : it cannot be fetched, or the copy or what comes is not what was fetched first or is pinned.
    """
    plain, _, pin = address.partition(_PIN)
    folder = cache.cache_root() / "fetched" / hashlib.sha256(plain.encode()).hexdigest()[:16]
    name = f"{plain.replace(':', '-')}.parquet" if plain.startswith(OPENML) else _name(plain)
    target, note = folder / name, folder / f"{name}.sha256"

    def there() -> Path | None:
        return target if note.is_file() else None

    def keep(came: Path) -> Path:
        found = cache.file_sha256(came)
        _expect(pin or found, found)
        came.replace(target)
        write_whole(note, found.encode())
        return target

    if there() is None:
        _brought(target, [plain], there, keep, "check the address" + (" and the pin" if pin else ""), wait, progress)
        if tell is not None:
            tell(f"{plain} holds SHA-256 {note.read_text()}; {plain}{_PIN}{note.read_text()} accepts nothing else.")
    if not target.is_file() or (found := cache.file_sha256(target)) != note.read_text():
        raise DataError(
            f"the copy {target} of {plain} is not what was fetched, which has SHA-256 {note.read_text()}. Delete the folder "
            f"{folder}; it is fetched again then."
        )
    if pin not in ("", found):
        raise DataError(
            f"{plain} was fetched with SHA-256 {found}, expected {pin} as pinned. Check the pin; if the address has other "
            f"content now, delete the folder {folder} to fetch it again."
        )
    return target


def _name(url: str) -> str:
    name = Path(urlsplit(url).path).name
    return name if name.strip(".") else "data"  # of a URL that ends with / or ..


def _expect(sha256: str, found: str) -> None:
    if found != sha256:
        raise DataError(f"it holds SHA-256 {found}, expected {sha256}")


def _brought(
    target: Path,
    addresses: Sequence[str],
    there: Callable[[], Path | None],
    keep: Callable[[Path], Path],
    remedy: str,
    wait: float,
    progress: Any,
    *,
    one: bool = False,
) -> Path:
    """Return the file that the first address brings which has it.

    Parameters
    ----------
    there : looks for it once more when the lock is held
    keep : checks what came and puts it in its place
    one : the addresses are forms of one place, which is given up with the first fault other than that it has not this form
    """
    if any(address.startswith("http") for address in addresses) and importlib.util.find_spec("pooch") is None:
        raise UsageError("fetching needs pooch, which is not installed; run `pip install 'svm-harness[data]'`.")
    writable_folder(target.parent)
    scratch = target.with_name(f".{target.name}.part")
    missing: dict[str, str] = {}
    faults: dict[str, str] = {}
    with target.with_name(f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time
        if (found := there()) is not None:
            return found
        for address in addresses:
            shutil.rmtree(scratch, ignore_errors=True)  # also what a killed process left
            scratch.mkdir()
            try:
                return keep(_made(address, target, scratch, wait, progress))
            except _NotThere as error:
                missing[address] = str(error)
            except Exception as error:
                faults[address] = plain_line(str(error).rstrip("."), 300) or type(error).__name__
                if one:
                    break
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    told = faults if one and faults else {**missing, **faults}
    each = "; ".join(f"{address}: {why}" for address, why in told.items())
    raise DataError(f"'{target.name}' could not be fetched: {each}. Try again later; else {remedy}.")


# -- what addresses mean: one file, several that are packed, a part of one -----------------------------------


def _made(address: str, target: Path, scratch: Path, wait: float, progress: Any) -> Path:
    """Return the file that an address of the registry means, made in ``scratch``."""
    if address.startswith(OPENML):
        return _openml(address.removeprefix(OPENML), scratch, wait)
    plain, _, form = address.partition("#")
    came = [_single(each, scratch / _name(each), wait, progress) for each in _expanded(plain)]
    made = scratch / "made"
    if len(came) > 1:
        folder = re.split(r"\W", target.name)[0]
        with tarfile.open(
            made, "w", format=tarfile.USTAR_FORMAT
        ) as tar:  # of fixed owner, mode and time, as its SHA-256 is
            for path in came:
                member = tarfile.TarInfo(f"{folder}/{path.name}")
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    tar.addfile(member, file)
    elif form.startswith("line="):
        first, last = map(int, form.removeprefix("line=").split(","))
        made.write_bytes(b"".join(came[0].read_bytes().splitlines(keepends=True)[first:last]))
    elif form == "libsvm":
        with streamed(came[0]) as rows, made.open("w") as lines:
            for row in rows:
                *cells, label = row.decode().strip().split(",")
                values = " ".join(f"{i}:{cell}" for i, cell in enumerate(cells, 1) if cell != "0")
                lines.write(f"{2 if label == '2' else 1} {values}\n")
    else:
        return came[0]
    return made


def _expanded(address: str) -> Iterator[str]:
    """Yield the addresses that braces stand for, the last ones changing last: ``{a,b}_{1..2}`` a_1, b_1, a_2, b_2."""
    texts = re.split(r"\{(.*?)\}", address)
    choices = []
    for braces in texts[1::2]:
        first, _, last = braces.partition("..")
        numbers = range(int(first), int(last) + 1) if last else ()
        choices.append([f"{number:0{len(first)}}" for number in numbers] or braces.split(","))
    for chosen in itertools.product(*reversed(choices)):
        texts[1::2] = reversed(chosen)
        yield "".join(texts)


def _single(url: str, target: Path, wait: float, progress: Any) -> Path:
    """Return the file that one address has, brought to ``target``.

    Raises
    ------
    DataError : why it has none; on a fault that may pass it has been asked again.
    """
    if urlsplit(url).scheme == "file":
        source = Path(url2pathname(urlsplit(url).path))
        if not source.is_file():
            raise _NotThere("there is no such file")
        return Path(shutil.copyfile(source, target))
    import pooch
    import requests

    def download(url: str, file: Any, caller: Any) -> None:
        # as it is: what a server compresses on its way would arrive unpacked, and a bar would not know its end
        headers = {"Accept-Encoding": "identity"}
        get = pooch.HTTPDownloader(progressbar=progress or False, chunk_size=_CHUNK, timeout=wait, headers=headers)
        try:
            get(url, file, caller)
        except requests.HTTPError as error:
            if "Client Error" in str(error):
                raise _NotThere(_http(error)) from None
            raise
        except requests.RequestException as error:
            if "timed out" in str(error):
                raise DataError(f"not a byte for {wait:g} s") from None
            raise

    pooch.get_logger().setLevel("ERROR")
    names = {target.name: None}, {target.name: url}
    try:
        pooch.Pooch(target.parent, "", *names, retry_if_failed=_RETRIES).fetch(target.name, downloader=download)
    except requests.HTTPError as error:
        raise DataError(_http(error)) from None
    except requests.exceptions.ChunkedEncodingError:
        raise DataError(f"it breaks off, {_RETRIES + 1} times") from None
    except requests.ConnectionError:
        raise DataError("its host cannot be reached") from None
    return target


def _http(error: Exception) -> str:
    return f"HTTP {str(error).partition(' for url')[0]}"


def _openml(number: str, scratch: Path, wait: float) -> Path:
    """Return a data set of OpenML as a Parquet file, the target in the last column; scikit-learn checks OpenML's own sum."""
    if not number.isdecimal():
        raise DataError(f"{number!r} is no number of a data set of OpenML; write for example openml:61")
    from sklearn.datasets import fetch_openml

    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(wait)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "A network error|.*redownloading"
            )  # it tries again; the last fault is told
            found = fetch_openml(data_id=int(number), as_frame=True, cache=False, parser="auto", n_retries=_RETRIES)
    finally:
        socket.setdefaulttimeout(usual)
    frame = found.frame
    if len(found.target_names) != 1:
        raise DataError(f"it has {len(found.target_names)} targets ({', '.join(found.target_names)}), expected one")
    frame = frame[[*frame.columns.drop(found.target_names), *found.target_names]]
    for name in frame.columns[[str(kind) == "category" for kind in frame.dtypes]]:
        frame[name] = frame[name].astype(object)
    made = scratch / "made"
    frame.to_parquet(made, index=False)
    return made
