"""Where text goes: standard error, standard output, or a file that is replaced in one step; controls of a terminal never pass."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TextIO

import click

from harness.support.errors import UsageError
from harness.support.files import write_whole
from harness.support.printable import plain

BOLD, RED, UNSTYLED = "\x1b[1m", "\x1b[38;5;1m", "\x1b[0m"
STYLES = re.compile(r"(\x1b\[(?:[01]|[34]8;5;\d{1,3})m)")  # these and the colours of pictures pass to a terminal
NARROWEST_TERMINAL = 60  # columns
PIPE_WIDTH = 100  # columns of a table that goes into a pipe
MESSAGE_WIDTH = 80  # columns of messages, and of what else is no table, that go into a pipe
_COMMAND = re.compile(r"`[^`\n]*`")


_results: TextIO | None = None  # standard output, while what others print goes to standard error


@contextlib.contextmanager
def results_alone() -> Iterator[None]:
    """Context in which `show` alone writes to standard output.

    What plugins print goes to standard error, and so does what their libraries and processes write to descriptor 1.
    """
    global _results
    before, theirs = _results, sys.stdout
    theirs.flush()
    try:
        _results = os.fdopen(os.dup(theirs.fileno()), "w", encoding=theirs.encoding, errors=theirs.errors)
        os.dup2(2, theirs.fileno())
    except OSError:  # no descriptor: tests and notebooks
        _results = theirs
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if _results is not theirs:
            ctypes.CDLL(None).fflush(None)  # what a library in C printed
            os.dup2(_results.fileno(), theirs.fileno())
            with contextlib.suppress(OSError):  # it takes no more
                _results.close()
        _results = before


def _output() -> TextIO:
    return _results or sys.stdout


def give_up(stream: IO[str]) -> None:
    """Send what is still to be written to a stream that takes no more to the null device; Python would fail with it at exit."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), stream.fileno())


def say(text: str, *, clipped: bool = False) -> None:
    """Write to standard error: notes, progress, errors; text of plugins, stores and file names may be in it.

    If nobody can read it, what is being measured goes on.

    clipped : in one line, cut at its end
    """
    columns, text = _columns(sys.stderr, MESSAGE_WIDTH), plain(text)
    cut = textwrap.TextWrapper(columns, max_lines=1, placeholder=" ...", break_on_hyphens=False)
    try:
        click.echo(cut.fill(text) if clipped else folded(text, columns), err=True)
    except OSError:
        give_up(sys.stderr)


def folded(text: str, columns: int) -> str:
    """Return text in lines of at most so many columns, the further lines of each indented.

    Words stay whole, and so does a command in backticks. A line that begins with four blanks is one to copy: it stays as it is.
    """
    return "\n".join(_folded(line, columns) for line in text.split("\n"))


def _folded(line: str, columns: int) -> str:
    if len(line) <= columns or line.startswith(" " * 4):
        return line
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", "\0"), line)
    indent = " " * (2 + len(line) - len(line.lstrip()))
    wrapper = textwrap.TextWrapper(columns, "", indent, break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(whole).replace("\0", " ")


def checked_output(output: str | None, option: str = "--output") -> Path | None:
    """Return the output file's path, checked before anything is measured; ``option`` names it.

    Raises
    ------
    UsageError : its folder does not exist or cannot be written, or it is a folder itself.
    """
    path = None if output is None else checked_file(output, option, "results.json")
    if path is not None and not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{option}: the folder {path.parent} of {output} cannot be written; name another.")
    return path


def checked_file(given: str, option: str, example: str) -> Path:
    """Return the path of a file that may exist or not, in a folder that exists: no hours of runs for a misspelt one.

    Raises
    ------
    UsageError : its folder does not exist, or it is a folder itself.
    """
    path = Path(given)
    if path.is_dir():
        raise UsageError(f"{option}: {given} is a folder; name a file in it, for example {path / example}.")
    if not path.parent.is_dir():
        missing = f"the folder {path.parent} of {given} does not exist"
        raise UsageError(f"{option}: {missing}; make it first or name another.")
    return path


def deliver(content: str | bytes | Callable[[IO[bytes]], object], output: Path | None, *, quiet: bool = False) -> None:
    """Print the text, or write the content to ``output``: a reader finds the old file or the whole new one.

    content : text, the content of a file, or what writes it: what is too large to be in memory at once

    Raises
    ------
    UsageError : the file cannot be written.
    """
    if output is None:
        show(content)
        return
    data = content.encode() if isinstance(content, str) else content
    try:
        write_whole(output, data)
    except OSError as error:
        raise UsageError(f"--output: the file {output} cannot be written: {error.strerror or error}.") from error
    if not quiet:
        say(f"written to {output}")


def show(content: str | bytes | Callable[[IO[bytes]], object]) -> None:
    """Write to standard output; of control characters only the marks of bold pass, and where they are wanted."""
    if isinstance(content, str):
        parts = STYLES.split(content) if styled() else [content]
        content = "".join(part if STYLES.fullmatch(part) else plain(part) for part in parts)
    try:
        if isinstance(content, (str, bytes)):
            click.echo(content, file=_output(), nl=False)
        else:
            content(_output().buffer)
            _output().flush()
    except OSError as error:
        give_up(_output())
        error.filename = error.filename or "standard output"  # which the system does not name
        raise


def width() -> int:
    """Return the columns of the terminal, at least 60.

    A pipe has 100, so that what reads it sees the same table everywhere, unless COLUMNS asks for others.
    """
    return _columns(_output(), PIPE_WIDTH)


def _columns(stream: IO[str], of_pipe: int) -> int:
    if stream.isatty():
        return max(NARROWEST_TERMINAL, shutil.get_terminal_size().columns)
    columns = os.environ.get("COLUMNS", "")
    return max(NARROWEST_TERMINAL, int(columns)) if columns.isascii() and columns.isdigit() else of_pipe


def styled() -> bool:
    """Return whether bold marks may be written: to a terminal that knows them, unless NO_COLOR forbids it."""
    return _output().isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
