"""Where results go: standard output, or a file that is replaced in one step."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

from harness.errors import UsageError
from harness.report.layout import PIPE_WIDTH


def checked(output: str | None) -> Path | None:
    """Return the output file's path, checked before anything is measured.

    Raises
    ------
    UsageError : its folder does not exist or cannot be written, or it is a folder itself.
    """
    if output is None:
        return None
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"--output: {output} is a folder; name a file in it, for example {path / 'results.json'}.")
    if not path.parent.is_dir():
        raise UsageError(
            f"--output: the folder {path.parent} of {output} does not exist; make it first or name another."
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"--output: the folder {path.parent} of {output} cannot be written; name another.")
    return path


def deliver(text: str, output: Path | None, *, quiet: bool = False) -> None:
    """Print the text, or write it to ``output``: a reader finds the old file or the whole new one."""
    if output is None:
        click.echo(text, nl=False)
        return
    descriptor, temporary = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # mkstemp's files are private; this one is a result
        Path(temporary).replace(output)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if not quiet:
        click.echo(f"written to {output}", err=True)


def width() -> int:
    """Return the columns of the terminal; a pipe has 100, so that what reads it sees the same table everywhere."""
    return max(80, shutil.get_terminal_size().columns) if sys.stdout.isatty() else PIPE_WIDTH


def styled() -> bool:
    """Return whether bold marks may be written: to a terminal that knows them, unless NO_COLOR forbids it."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
