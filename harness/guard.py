"""A plugin's code in a process that is not its own: what it does to the process is undone, and who watches is told.

A plugin is imported, its hooks are called and its solvers are configured in the command, the worker and the certifier.
There it may raise anything, change the working directory, the signals' handlers or the settings of the harness, close or
write to standard output, and fork. What it may not is hang or end the process: that is for a watcher outside of it, who
is told what is under way and whose findings are known to all processes that the command starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import getpid  # by name: what a plugin patches later is not this function
from types import TracebackType
from typing import Any, Self

from harness.errors import PluginError, UsageError
from harness.plain import plain_line

KNOWN = "HARNESS_BROKEN_PLUGINS"  # what a watcher found, in the environment, so that workers know it too
_REASON_CHARACTERS = 500
_HIGH = 200  # descriptors above those that stray closes hit
_SIGNALS = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGPIPE,
    signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN,
    signal.SIGTTOU, signal.SIGWINCH,
)  # fmt: skip
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


@dataclass(frozen=True)
class Phase:
    """What of a plugin's code is under way.

    origin : the plugin's name, or its path if it came from one
    solver : the one that is configured; empty: the plugin itself
    doing : the beginning of a sentence about it: ``its import``
    """

    origin: str
    solver: str = ""
    doing: str = "its import"


class _State:
    """Of this process: who is told, where standard output goes meanwhile, and the phases that are under way."""

    prepare: Callable[[], None] | None = None
    tell: Callable[[Phase | int | None], None] | None = None
    aside: int | None = None
    under_way: list[Phase] = []


def before_plugins(prepare: Callable[[], None]) -> None:
    """Have ``prepare`` called once, before any plugin's code runs in this process."""
    _State.prepare = prepare


def prepared() -> None:
    """Do now what is to be done before plugins, if it was not."""
    prepare, _State.prepare = _State.prepare, None
    if prepare is not None:
        prepare()


def watched(tell: Callable[[Phase | int | None], None] | None, aside: int | None = None) -> None:
    """Tell of phases from now on (None: none is under way) and of the exit code that is meant; None: tell nobody.

    aside : the descriptor that takes standard output in phases; None: it stays where it is
    """
    _State.tell, _State.aside = tell, aside


def ending(code: int) -> None:
    """Tell how this process means to end, whatever a plugin left to happen at its end; what that prints goes nowhere."""
    if _State.tell is not None:
        flush()
        _State.tell(code)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nowhere, number)


def flush() -> None:
    """Write out what standard output and error hold back, as far as they can be written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def known(phase: Phase) -> str:
    """Return why that is broken, as a watcher found it; empty: nothing is known of it."""
    return _known().get((phase.origin, phase.solver), "")


def _known() -> dict[tuple[str, str], str]:
    with contextlib.suppress(ValueError, TypeError):
        return {(origin, solver): reason for origin, solver, reason in json.loads(os.environ.get(KNOWN, "[]"))}
    return {}


def make_known(found: Iterable[tuple[Phase, str]]) -> None:
    """Let this process and those that it starts know what is broken, and why."""
    everything = {**_known(), **{(phase.origin, phase.solver): reason for phase, reason in found}}
    os.environ[KNOWN] = json.dumps([[*key, reason] for key, reason in everything.items()])


def last_line(error: BaseException) -> str:
    """Return why a plugin could not be loaded: the last line of what it raised."""
    try:
        text = str(error).strip() or type(error).__name__
    except BaseException as second:  # its text is the plugin's code too
        text = f"its text raised {type(second).__name__}"
    if "cannot inherit non-frozen dataclass" in text:  # Python names neither the class nor the way out
        text += ": solvers, data sets and kernels are frozen; put @dataclass(frozen=True) above the class"
    if not isinstance(error, (PluginError, UsageError)):
        text = f"{type(error).__name__}: {text.splitlines()[-1]}"
    return plain_line(text, _REASON_CHARACTERS)


class guarded:  # noqa: N801 (reads as what it does: with guarded(phase))
    """Context in which a plugin's code runs.

    Raises
    ------
    PluginError : the code raised what is no ``Exception``, its own ``KeyboardInterrupt`` included.
    KeyboardInterrupt : the user interrupted meanwhile, whatever the code made of it.
    """

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.interrupted = False

    def __enter__(self) -> Self:
        prepared()
        self.pid = getpid()
        _State.under_way.append(self.phase)
        self._tell()
        self.folder = -1
        with contextlib.suppress(OSError):
            self.folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.settings = {name: value for name, value in os.environ.items() if name.startswith("HARNESS_")}
        self.streams = _Streams(_State.aside)
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
            self.handlers = {number: signal.getsignal(number) for number in _SIGNALS}
            if callable(self.handlers[signal.SIGINT]):
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if getpid() != self.pid:
            os._exit(0)  # a copy that the plugin forked does not go on with the command
        if self.main:
            self._heed_signals()
        self.streams.restore(self.phase.origin)
        if self.folder >= 0:
            with contextlib.suppress(OSError):
                os.fchdir(self.folder)
                os.close(self.folder)
        for name in [name for name in os.environ if name.startswith("HARNESS_") and name not in self.settings]:
            del os.environ[name]
        os.environ.update(self.settings)
        _State.under_way.pop()
        self._tell()
        if self.interrupted:
            raise KeyboardInterrupt from None
        if error is not None and not isinstance(error, Exception):
            raise PluginError(last_line(error)) from error

    def _note(self, number: int, frame: Any) -> None:
        self.interrupted = True
        before = self.handlers[signal.SIGINT]
        assert callable(before)
        before(number, frame)

    def _heed_signals(self) -> None:
        """Set handlers, timers and blocked signals to what they were."""
        for timer in _TIMERS:
            signal.setitimer(timer, 0.0)
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def _tell(self) -> None:
        if _State.tell is not None:
            _State.tell(_State.under_way[-1] if _State.under_way else None)


class _Streams:
    """The standard streams as they were, also where they are closed or replaced meanwhile.

    aside : the descriptor that takes what goes to standard output meanwhile
    """

    def __init__(self, aside: int | None) -> None:
        self.aside, self.objects = aside, (sys.stdout, sys.stderr)
        self.kept: dict[int, int] = {}
        for number in (0, 1, 2):
            with contextlib.suppress(OSError):
                self.kept[number] = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        if aside is not None:
            flush()
            os.dup2(aside, 1)
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", errors="replace")

    def restore(self, origin: str) -> None:
        """Put them back; what went aside ends with whose it is."""
        if self.aside is not None:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            with contextlib.suppress(OSError):
                os.write(self.aside, b"\0" + os.fsencode(origin) + b"\0")
            if 1 not in self.kept:
                os.close(1)
            sys.stdout = self.objects[0]
        for number, kept in self.kept.items():
            with contextlib.suppress(OSError):
                if not _same(kept, number):
                    os.dup2(kept, number)
                os.close(kept)
        sys.stdout, sys.stderr = (_open(each, fd) for fd, each in enumerate(self.objects, 1))


def _same(first: int, second: int) -> bool:
    with contextlib.suppress(OSError):
        return os.path.sameopenfile(first, second)
    return False


def _open(stream: Any, descriptor: int) -> Any:
    """Return a standard stream, a new one if it was closed."""
    if stream is None or not stream.closed:
        return stream
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
