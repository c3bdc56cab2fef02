"""Programs and files of code that a solver uses and no package brings: those that it declares, and those that its runs use.

The content of what `Solver.depends_on` declares is part of the key of a run. What a run used and nobody declared is named in its
record. Four things are looked at: processes and libraries that a plugin's code starts and loads, by Python's audit events; the
programs among the run's processes, by samples; and at the end the modules and the libraries in the solver's process.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import currentframe
from pathlib import Path
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

from harness.support.errors import PluginError
from harness.support.files import file_sha256
from harness.support.printable import plain_line
from harness.support.selection import is_file

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.solver.protocol import Solver

Facts = dict[str, dict[str, str]]  # what is declared -> its path, sha256 and version

_VERSION_SECONDS = 10.0  # seconds in which a program prints its version
_VERSION_CHARACTERS = 200  # most characters of the version that a record repeats
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_SYSTEM = ("/lib", "/usr/lib")  # how the names of folders begin whose libraries other libraries load
_HOST, _STANDARD = f"{Path(__file__).parents[1]}/", f"{os.path.realpath(Path(os.__file__).parent)}/"
_MAPPED = re.compile(r"^\S+ \S\Sx\S .*? (/(?!dev/|memfd:).*)$", re.MULTILINE)  # a line of /proc/self/maps
_INSTALLED = ("/site-packages/", "/dist-packages/")


# -- what is declared -------------------------------------------------------------------------------------


def declared(solver: Solver) -> list[str]:
    """Return the command that stands for each program and file that a solver declares: its name or path, quoted.

    Raises
    ------
    PluginError : the plugin's own code failed, or ``depends_on`` is no tuple of names and paths.
    """
    try:
        entries = solver.depends_on
    except Exception as error:
        raise PluginError(f"solver '{solver.name}' failed in depends_on: {type(error).__name__}: {error}") from error
    commands = [_command(each) for each in entries] if isinstance(entries, (tuple, list)) else [""]
    if not all(commands):
        raise PluginError(
            f"solver '{solver.name}' has depends_on = {plain_line(repr(entries), 80)}; it must be a tuple of programs' names and "
            "files' paths: depends_on = ('svm-train', Path(__file__).parent / 'fit.sh')"
        )
    return commands


def _command(entry: Any) -> str:
    """Return an entry of ``depends_on`` as text for `shlex.split`; empty if it is none."""
    with contextlib.suppress(ValueError):  # of a quotation mark that is not closed
        text = shlex.quote(str(entry.absolute())) if isinstance(entry, Path) else entry
        return text if isinstance(text, str) and shlex.split(text) else ""
    return ""


def look_up(commands: Iterable[str]) -> Facts:
    """Return the path, the SHA-256 and the version text of programs and files, by their commands; those not found are left out.

    commands : a name that is looked up on PATH, or a path, and the arguments with which the program prints its version; it is
        run only if there are any
    """
    facts = Facts()
    for command in commands:
        name, *arguments = shlex.split(command)
        file = shutil.which(name) or os.path.realpath(name) * (os.sep in name)
        if Path(file).is_file():
            status = Path(file).stat()
            facts[command] = _facts(os.path.realpath(file), tuple(arguments), status.st_mtime_ns, status.st_size)
    return facts


@functools.lru_cache(maxsize=256)
def _facts(file: str, arguments: Sequence[str], _modified: int, _size: int) -> dict[str, str]:
    lines = list[str]()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = arguments and subprocess.run(
            [file, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=_VERSION_SECONDS, check=False,
        )  # fmt: skip
        lines = done.stdout.strip().splitlines() if done else []
    version = plain_line(lines[0], _VERSION_CHARACTERS) if lines else ""
    return {"path": file, "sha256": file_sha256(Path(file)), "version": version}


# -- what a run uses --------------------------------------------------------------------------------------


class CodeWatch:
    """What code the plugins in this process, and in its forked children, start and load.

    used : paths of programs, scripts and libraries; a library without a path by its name
    folder : of the worker's runs: what is there they made themselves
    """

    def __init__(self) -> None:
        self.used = set[str]()
        self.folder = os.devnull
        self._known = set[str]()  # files of code that are not the plugins', or that are declared

    def install(self) -> None:
        """Listen to what Python audits from now on; once a process."""
        self._known = mapped_libraries()
        # a function, and not a method, which Python calls in 0.9 us instead of 0.2 at each event, id() among them
        sys.addaudithook(
            lambda event, arguments: self._hear(event, arguments, currentframe()) if event in _EVENTS else None
        )

    def _hear(self, event: str, arguments: tuple[Any, ...], frame: Any) -> None:
        with contextlib.suppress(Exception):  # what the hook raises would be raised in the plugin's code
            if _is_plugins(frame.f_back):
                self.used.update(_EVENTS[event](*arguments))

    @contextlib.contextmanager
    def ignored(self) -> Iterator[None]:
        """Take the code that is used inside for known: a run of the same configuration showed that it is declared."""
        used, before = {*self.used}, _modules() | mapped_libraries()
        yield
        self.used = used
        self._known |= (_modules() | mapped_libraries()) - before

    def undeclared(self, declared: Facts, registry: Registry, used: Iterable[str] | None = None) -> list[str]:
        """Return the paths of code that a run used, and that neither a package nor a loaded plugin has, nor anybody declared.

        declared : as :func:`look_up` returns it
        used : further paths; None: what this process, the run's own, has of modules and libraries
        """
        files, mapped = {*self.used, *(used or ())}, mapped_libraries()
        if used is None:
            others_load = (*_SYSTEM, f"{sys.prefix}/lib", f"{sys.base_prefix}/lib")
            files |= _modules() | {file for file in mapped if not file.startswith(others_load)}
        by_name = [f"/{name.partition('.so')[0]}.so" for name in files if name and os.sep not in name]
        files |= {file for file in mapped if any(name in file for name in by_name)}
        files = {os.path.realpath(file) for file in files if not self._is_known(file)}
        if files:
            files -= {each["path"] for each in declared.values()} | {os.path.realpath(sys.executable)} | self._known
            files -= {str(file) for plugin in registry.plugins.values() for file in plugin.files}
        return sorted(file for file in files if not self._is_known(file) and Path(file).is_file())

    def _is_known(self, file: str) -> bool:
        """Return whether a file is Python's, the host's, a package's, or was made in a run."""
        return file.startswith((_HOST, _STANDARD, self.folder)) or _is_installed(file)


def _is_installed(file: str) -> bool:
    """Return whether a file is one of an installed package, whose version is on record."""
    in_environment = sys.prefix != sys.base_prefix and file.startswith(f"{sys.prefix}/bin/")
    return in_environment or any(part in file for part in _INSTALLED)


def _is_plugins(frame: Any) -> bool:
    """Return whether what happens in a frame is a plugin's doing, and neither the host's nor that of an installed package.

    A library may ask the system for its processors. What it starts and lets work for long is among the run's processes.
    """
    files = [each.f_code.co_filename for each, _ in walk_stack(frame)]
    caller = next((file for file in files if not file.startswith(("<", _STANDARD)) or _is_installed(file)), _HOST)
    return not (caller.startswith(_HOST) or _is_installed(caller))


def code_of(command: Sequence[Any], folder: Any = None) -> list[str]:
    """Return the paths of the program that a command runs, of its interpreter, and of the files among its arguments.

    Files that the run made itself are in its folder. Of another file nobody can tell whether it is a script or data: the row
    depends on it either way.

    folder : in which it runs; None: this process's
    """
    words = [os.fsdecode(word) for word in command]
    if not words:
        return []
    folder = Path.cwd() if folder is None else Path(os.fsdecode(folder))
    program = folder / (shutil.which(words[0]) or words[0])
    with contextlib.suppress(OSError, ValueError), program.open("rb") as file:
        first = file.readline(256)
        if first.startswith(b"#!"):
            interpreter = first[2:].decode().split()
            words = [*interpreter[interpreter[0].endswith("/env") :], str(program)]
            program = Path(shutil.which(words[0]) or words[0])
    if program.name in _SHELLS and "-c" in words[1:-1]:
        text = words[words.index("-c") + 1]
        return [str(program), *code_of(shlex.split(text, comments=True)[:1], folder)]
    files = [folder / word.rpartition("=")[2] for word in words[1:]]
    return [str(program), *(str(file) for file in files if not file.is_relative_to("/proc") and is_file(file))]


def _of_program(executable: Any, arguments: Any, folder: Any, *_: Any) -> list[str]:
    words = [arguments] if isinstance(arguments, (str, bytes, os.PathLike)) else [*arguments]
    return code_of([executable or words[0], *words[1:]], folder)


_EVENTS: dict[str, Callable[..., Iterable[str]]] = {
    "subprocess.Popen": _of_program,
    "os.posix_spawn": lambda path, arguments, _: _of_program(path, arguments, None),
    "os.system": lambda text: code_of(["/bin/sh", "-c", text]),
    "ctypes.dlopen": lambda name: [os.fsdecode(name)] if name else [],
}
"""Event that Python audits -> the paths of the code that it starts or loads, from the event's arguments."""


def _modules() -> set[str]:
    """Return the paths of the modules that this process has imported."""
    return {str(getattr(module, "__file__", None) or "") for module in [*sys.modules.values()]}


def mapped_libraries() -> set[str]:
    """Return the paths of files whose code this process has mapped."""
    return set(_MAPPED.findall(Path("/proc/self/maps").read_text(errors="replace")))
