"""Sentences that users read, those of a room in one file, which a test compares whole; HARNESS_GOLDEN=write writes it anew."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness import HarnessError


def sentence_of(call: Callable[[], Any]) -> str:
    """Return the type and the text of the error that a call raises, or the text that it returns."""
    try:
        found = call()
    except (HarnessError, IndexError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    assert isinstance(found, str), f"expected a refusal, not {found!r}"
    return found


def assert_same(file: Path, text: str) -> None:
    """Assert that a text is that of a file."""
    if os.environ.get("HARNESS_GOLDEN") == "write":
        file.write_text(text)
    assert text.splitlines() == file.read_text().splitlines()


def assert_golden(file: Path, calls: Mapping[str, Callable[[], Any]], folder: str | Path = "/nowhere") -> None:
    """Assert that the sentences of calls, by name, are those of a file, in which FOLDER stands for a folder."""
    found = {name: re.sub(r"\s*\n\s*", " | ", sentence_of(call)) for name, call in calls.items()}
    assert_same(file, "".join(f"{name}: {said.replace(str(folder), 'FOLDER')}\n" for name, said in found.items()))
