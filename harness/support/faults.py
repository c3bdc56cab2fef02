"""What a plugin's code raised, in one line: which plugin, which file and line, in which function, and what."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

from harness.support.errors import DataChanged, HarnessError
from harness.support.printable import plain_line

_CHARACTERS = 500  # most characters of an error's text
_OUTPUT_CHARACTERS = 2000  # most characters of a traceback, and of what a failed program wrote
_ENVIRONMENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE})
_HOST, _STANDARD = Path(__file__).parents[1], Path(os.__file__).parent
_homes: dict[Path, str] = {}  # file of a plugin, or the folder of its package -> its name


def know(plugin: str, module: ModuleType) -> None:
    """Remember where the files of a plugin are."""
    file = Path(module.__file__ or "")
    in_package = hasattr(module, "__path__") or "." in module.__name__
    _homes[_home(file) if in_package else file] = plugin


def format_error(error: BaseException, plugin: str = "") -> str:
    """Return ``plugin 'own', own.py:12, in Own.iterates: ValueError: no luck``.

    The place is the innermost frame of the traceback in the plugin's files, or else where it was raised.

    plugin : whose code ran, where the files do not say it
    """
    owner, place = _place(error)
    name = f"plugin '{plain_line(owner or plugin)}'" if owner or plugin else ""
    return ": ".join(filter(None, [", ".join(filter(None, [name, place])), text(error)]))


def reason(error: BaseException) -> str:
    """Return the same without the plugin's name, where a sentence has it already."""
    return ": ".join(filter(None, [_place(error)[1], text(error)]))


def text(error: BaseException) -> str:
    """Return the type and the message of what was raised, in one line; of the host's errors the sentence alone."""
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error).strip()
    except BaseException as second:  # its text is the plugin's code too
        message = f"its text raised {type(second).__name__}"
    missing = str(error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing and missing not in sys.modules and importlib.util.find_spec(missing) is None:
        known = packages_distributions().get(missing, ())  # a module need not have the name of its package
        remedy = f"pip install {known[0]}" if known else "install the package that provides it"
        return f"the module '{missing}' could not be imported; {remedy}"
    if "cannot inherit non-frozen dataclass" in message:  # Python names neither the class nor the way out
        message += ": solvers, data sets and kernels are frozen; put @dataclass(frozen=True) above the class"
    if not isinstance(error, HarnessError):
        message = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return plain_line(" ".join(message[: 4 * _CHARACTERS].split()), _CHARACTERS)


def _place(error: BaseException) -> tuple[str, str]:
    """Return the plugin whose code raised, and ``file:line, in function``; each is empty where it is unknown."""
    if isinstance(error, SyntaxError) and Path(error.filename or "").is_file():
        return _named(Path(error.filename or ""), f":{error.lineno}")
    frames = [(Path(frame.f_code.co_filename), frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    of_plugins = [file for file, _, _ in frames if not _is_of_host(file)]
    if not of_plugins:
        unplaced = isinstance(error, (HarnessError, ImportError, SyntaxError))
        return "", "".join(f"{file.parent.name}/{file.name}:{line}" for file, _, line in frames[-1:] if not unplaced)
    known = [file for file in of_plugins if _home(file) in _homes]
    home = _home(known[-1] if known else of_plugins[0])
    file, frame, line = [item for item in frames if not _is_of_host(item[0]) and _is_of(home, item[0])][-1]
    function = frame.f_code.co_qualname.replace("<locals>.", "")
    return _named(file, f":{line}" + (f", in {function}" if function != "<module>" else ""), home)


def _named(file: Path, rest: str, home: Path | None = None) -> tuple[str, str]:
    home = home or _home(file)
    return _homes.get(home, ""), f"{file.relative_to(home.parent)}{rest}"


def _is_of_host(file: Path) -> bool:
    """Return whether a file is the host's, or of what Python and the host call plugins with."""
    standard = file.is_relative_to(_STANDARD) and not _in_common(file)
    calling = file.name.startswith("<") or file.parent.name in ("click", "pluggy")
    return standard or calling or file.is_relative_to(_HOST)


def _home(file: Path) -> Path:
    """Return the folder of the outermost package that a file is in; the file itself if it is in none."""
    while file not in _homes and (file.parent / "__init__.py").is_file():
        file = file.parent
    return file


def _is_of(home: Path, file: Path) -> bool:
    """Return whether a file belongs to a plugin: for a plugin of one file its neighbours too, unless all install there."""
    around = home.parent if home.suffix == ".py" and not _in_common(home) else home
    return file.is_relative_to(around) and not _in_common(file.relative_to(around))


def _in_common(file: Path) -> bool:
    """Return whether a file is where all distributions are installed."""
    return not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it came from."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def is_environment(error: BaseException) -> bool:
    """Return whether an exception, or one it came from, tells of the machine: disk full, too many open files."""
    return any(
        isinstance(each, DataChanged) or (isinstance(each, OSError) and each.errno in _ENVIRONMENT)
        for each in chain(error)
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception, or one it came from, tells of an allocation that was refused."""
    return any(isinstance(each, MemoryError) or getattr(each, "errno", None) == errno.ENOMEM for each in chain(error))


def output_of(error: BaseException) -> str:
    """Return the end of an exception's traceback, and of what a failed program wrote that the exception has."""
    parts = list[str]()
    with contextlib.suppress(BaseException):  # the text of an exception is the plugin's code
        frames = traceback.format_tb(error.__traceback__)
        last = f"{type(error).__name__}: {str(error)[:_OUTPUT_CHARACTERS]}"
        parts.append("".join(["Traceback (most recent call last):\n", *frames, last]))
        written = next(filter(None, (getattr(each, "stderr", None) for each in chain(error))), "")
        parts.append(written.decode(errors="replace") if isinstance(written, bytes) else str(written))
    return "\n".join(part[-_OUTPUT_CHARACTERS:] for part in parts if part)
