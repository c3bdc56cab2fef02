"""Files that are written whole or not at all, their checksums, and the cache folders of a user."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.support.errors import UsageError


def write_whole(target: Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Put a new file in the place of ``target`` in one step, making its folder: readers find the old or the whole new one.

    A device or a pipe is written to and stays; of a link, what it leads to is replaced.

    content : what is in it, or what writes it into the open file
    """
    write = content if callable(content) else lambda file: file.write(content)
    if target.exists() and not target.is_file():  # before a link is followed: /dev/stdout leads to no path
        with target.open("wb") as device:
            write(device)
        return
    target = target.resolve() if target.is_symlink() else target
    target.parent.mkdir(parents=True, exist_ok=True)
    start = target.name[:60]  # 255 bytes are the longest name, and a letter may have four
    unfinished = target.with_name(f".{start}-{os.urandom(4).hex()}")
    try:
        with unfinished.open("xb") as file:  # not mkstemp, whose files are private
            write(file)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def locked_scratch(target: Path) -> Iterator[Path]:
    """Yield an empty folder next to ``target``, in which one process at a time makes it; it is removed at the end.

    Other processes wait. A killed process releases the lock; its folder is emptied by the next one.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.part")
    with target.with_name(f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()  # not mkdtemp, whose folders are private
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 by which a store and a bundle name a content."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256. It is computed each time (1 to 2 GB a second): size and times do not tell the content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def user_cache(variable: str) -> Path:
    """Return the folder that an environment variable names, else the user's cache folder of ``svm-harness``."""
    configured = os.environ.get(variable)
    if configured:
        return Path(configured).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("svm-harness")


def writable_folder(folder: Path) -> Path:
    """Return a folder below that of caches, made where it is not there.

    Raises
    ------
    UsageError : it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"the cache folder {folder} cannot be written ({error.strerror}); set HARNESS_CACHE to a folder that can."
        ) from None
    return folder
