"""Store the results of a fit over parts in a folder, so that the same fit can resume after it was killed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness import UsageError

_UNREADABLE = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile)  # errors that a damaged file raises


def part_sha256(part: Any, _start: int) -> str:
    """Return the SHA-256 of a part's content."""
    with Path(part.path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Checkpoints:
    """Results of one fit by name, each a file of arrays.

    Parameters
    ----------
    folder : folder of one or more fits; None: nothing is stored
    identity : everything that the results depend on; results with another identity are never read

    Raises
    ------
    UsageError : the folder cannot be written.
    """

    def __init__(self, folder: str | None, identity: Mapping[str, Any]) -> None:
        self.folder: Path | None = None
        if folder is None:
            return
        text = json.dumps(identity, indent=1, sort_keys=True, default=str)
        self.folder = Path(folder).expanduser() / hashlib.sha256(text.encode()).hexdigest()[:32]
        self._write("fit.json", text.encode())

    def load(self, name: str) -> dict[str, Any] | None:
        """Return the arrays stored under ``name``; None if there are none, or the file is damaged."""
        if self.folder is None:
            return None
        try:
            content = io.BytesIO((self.folder / f"{name}.npz").read_bytes())
            with np.load(content, allow_pickle=False) as file:
                return {key: file[key] for key in file.files}
        except _UNREADABLE:
            return None

    def save(self, name: str, **arrays: Any) -> None:
        """Store arrays under ``name``, atomically."""
        if self.folder is not None:
            content = io.BytesIO()
            np.savez(content, **arrays)
            self._write(f"{name}.npz", content.getvalue())

    def _write(self, name: str, content: bytes) -> None:
        assert self.folder is not None
        unfinished = self.folder / f".{name}-{os.getpid()}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(content)
            unfinished.replace(self.folder / name)  # atomic: a reader gets the whole file or none
        except OSError as error:
            raise UsageError(
                f"the folder '{self.folder.parent}' cannot be written: {error.strerror}; name another, or leave folder out."
            ) from None


def identity_of(data: Any, executor: Any, **settings: Any) -> dict[str, Any]:
    """Return everything that the results over ``data`` depend on: content of the parts, options of reading, ``settings``."""
    import harness

    hashes = dict(data.passes(part_sha256, dict.fromkeys(range(len(data)), ()), executor))
    read = {
        "n": data.n,
        "d": data.d,
        "classes": repr(data.classes),
        "first_index": data.parts[0].index_base,
        "rows": data.parts[0].rows,
    }
    versions = {"harness": harness.__version__, "numpy": np.__version__}
    return {"parts": [hashes[number] for number in range(len(data))], **read, **versions, **settings}
