"""The command in two processes: one goes on as the driver, the other watches it while plugins' code runs in it.

A plugin that hangs or ends the driver at its import, or where one of its solvers is configured, is broken as any other:
the driver is ended and started anew, from the moment before the first plugin, knowing what not to touch. The process that
the user started is the one that watches: it passes signals on, has no other work, and ends as the driver did.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import select
import signal
import struct
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from harness import guard
from harness.guard import Phase
from harness.plain import plain_line
from harness.run.parenthood import adopt_orphans, at_parents_end

_LIBC = ctypes.CDLL(None, use_errno=True)
_HIGH = 200  # descriptors above those that stray closes hit
_SAMPLE_SECONDS = 0.05
_LONGEST_SAMPLE = 0.25  # counted at most: the machine may have slept, or this process was stopped
_LEAST_SECONDS, _MOST_SECONDS = 3.0, 60.0  # that an import may take
_BUSY_SECONDS = 60.0  # beyond these, on a machine that is busy with other things
_END_SECONDS = 10.0  # that a process may take to end: threads that plugins started are waited for
_CLOSED_SECONDS = 0.5
_SAME_INTERRUPT_SECONDS = 1.0
_PRINTED_CHARACTERS = 200
_FAULT = 70
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_FROM_THE_SYSTEM = 0x80  # si_code SI_KERNEL: of a terminal, whose whole foreground group gets it


def allowed(time_limit: float | None) -> float:
    """Return how many seconds an import may take in a command with this time limit of a run; None: it has none."""
    return max(_LEAST_SECONDS, min(_MOST_SECONDS, _MOST_SECONDS if time_limit is None else time_limit))


def start(limit: float) -> None:
    """Fork; return in the child, which is watched: ``limit`` seconds for each phase. The parent ends as the child does.

    A process that has threads goes on unwatched: a forked one would lack them.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        return
    guard.flush()
    gc.freeze()  # keeps the collector from touching, and so copying, what the two share
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*_PASSED_ON, signal.SIGCHLD))
    parent, found, said = os.getpid(), list[tuple[Phase, str]](), set[str]()
    while True:
        (phases_out, phases_in), (printed_out, printed_in) = _pipe(), _pipe()
        pid = os.fork()
        if pid == 0:
            os.close(phases_out)
            os.close(printed_out)
            _become_driver(parent, before, phases_in, printed_in, found)
            return
        os.close(phases_in)
        os.close(printed_in)
        watch = Watch(pid, phases_out, printed_out, limit, said)
        fault = watch.until_its_end()
        if fault is None or fault[0] in [phase for phase, _ in found]:
            os._exit(watch.code)
        found.append(fault)


def _pipe() -> tuple[int, int]:
    """Return the two ends of a pipe, at high descriptors; reading from it does not wait."""
    low = os.pipe()
    ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in low]
    for fd in low:
        os.close(fd)
    os.set_blocking(ends[0], False)
    return ends[0], ends[1]


def _become_driver(parent: int, mask: Any, phases: int, printed: int, found: list[tuple[Phase, str]]) -> None:
    at_parents_end(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)  # it was killed before this process could learn of it
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt_once())
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    own, pipe = os.getpid(), os.fstat(phases).st_ino

    def tell(message: Phase | int | None) -> None:
        if os.getpid() != own:
            return
        try:
            if os.fstat(phases).st_ino != pipe:
                raise BrokenPipeError
            said = asdict(message) if isinstance(message, Phase) else message
            os.write(phases, json.dumps(said).encode() + b"\n")
        except OSError:  # a plugin closed it: the watcher has seen that and is about to end this process
            signal.pause()

    guard.make_known(found)
    guard.watched(tell, printed)


def _interrupt_once() -> Callable[[int, Any], None]:
    """Return a handler for which an interrupt that comes twice, from the terminal and passed on, is one."""
    last = -_SAME_INTERRUPT_SECONDS

    def interrupt(_number: int, _frame: Any) -> None:
        nonlocal last
        before, last = last, monotonic()
        if last - before >= _SAME_INTERRUPT_SECONDS:
            raise KeyboardInterrupt

    return interrupt


@dataclass
class Clock:
    """How long a process has been at something; it stands still while it waits for a processor or the disk."""

    pid: int
    used: float = 0.0
    began: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        self.last, self.cpu = monotonic(), _stat(self.pid)[1]

    def sample(self) -> float:
        """Return the seconds so far."""
        now, (state, cpu) = monotonic(), _stat(self.pid)
        wall = min(now - self.last, _LONGEST_SAMPLE)
        if state == "R":
            self.used += min(wall, cpu - self.cpu)
        elif state != "D":
            self.used += wall
        self.last, self.cpu = now, cpu
        return self.used


def _stat(pid: int) -> tuple[str, float]:
    """Return a process's state and its CPU seconds."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return "Z", 0.0
    return fields[0].decode(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """One driver, from the outside."""

    def __init__(self, pid: int, phases: int, printed: int, limit: float, said: set[str]) -> None:
        self.pid, self.phases, self.printed, self.limit, self.said = pid, phases, printed, limit, said
        self.phase: Phase | None = None
        self.clock: Clock | None = None
        self.told: int | None = None  # the code it means to end with
        self.status: int | None = None
        self.asked: int | None = None  # the last signal that asks it to end
        self.closed: float | None = None
        self.text = b""
        self.line = b""
        self.code = 0
        adopt_orphans()  # what it leaves behind is found
        mask = ctypes.c_uint64(sum(1 << (number - 1) for number in (*_PASSED_ON, signal.SIGCHLD)))
        self.signals = _LIBC.signalfd(-1, (ctypes.c_uint64 * 16)(mask.value), os.O_NONBLOCK | os.O_CLOEXEC)

    def until_its_end(self) -> tuple[Phase, str] | None:
        """Wait for the end of the driver; return the phase that ended it and why, None: it ended of itself."""
        idle, busy = select.poll(), select.poll()
        busy.register(self.signals, select.POLLIN)
        for fd in (self.signals, self.phases, self.printed):
            idle.register(fd, select.POLLIN)
        fault = ""
        while self.status is None:
            # while something is under way, what is said of it is read with each sample: no waking for each message
            if self.clock is not None:
                busy.poll(1000 * _SAMPLE_SECONDS)
            for fd, event in idle.poll(None if self.clock is None else 0):
                if event & (select.POLLHUP | select.POLLERR) and not event & select.POLLIN:
                    idle.unregister(fd)
            self._read()
            self._pass_signals_on()
            self._reap()
            if self.status is None and self.clock is not None:
                fault = self._overdue(self.clock)
                if fault or (self.told is not None and self.clock.used > _END_SECONDS):
                    self._kill_everything()
        self._read()
        for fd in (self.signals, self.phases, self.printed):
            os.close(fd)
        return self._verdict(fault)

    def _verdict(self, fault: str) -> tuple[Phase, str] | None:
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        self.code = 128 - code if code < 0 else code
        if self.told is not None:
            self.code = self.told if code < 0 else self.told or code
            return None
        if self.asked is not None:
            self.code = 128 + self.asked if fault else self.code
            return None
        if self.phase is None:
            if code == 0:  # it tells of each end that it means
                _say("harness: something that a plugin left running ended the command.")
                self.code = _FAULT
            return None
        if not fault:
            fault = f"ended the process (exit code {code})" if code >= 0 else f"crashed the process ({_name(-code)})"
            self._kill_everything()
        self._tell_printed(self.text, self.phase.origin)
        return self.phase, f"{self.phase.doing} {fault}"

    def _overdue(self, clock: Clock) -> str:
        if self.phase is None:
            clock.sample()
            return ""
        if self.closed is not None and monotonic() - self.closed > _CLOSED_SECONDS:
            return "replaced the process, or closed files that are not its own"
        if clock.sample() > self.limit or monotonic() - clock.began > self.limit + _BUSY_SECONDS:
            return f"was still running after {self.limit:g} s"
        return ""

    def _read(self) -> None:
        """Learn what is under way."""
        piece = _all_of(self.phases)
        if piece is None and self.closed is None:
            self.closed = monotonic()
        *lines, self.line = (self.line + (piece or b"")).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if isinstance(message, int):
                self.told, self.phase, self.clock = message, None, Clock(self.pid)
                continue
            self.phase = None if message is None else Phase(**message)
            self.clock = None if self.phase is None else Clock(self.pid)
        self.text += _all_of(self.printed) or b""
        while self.text.count(b"\0") > 1:
            text, origin, self.text = self.text.split(b"\0", 2)
            self._tell_printed(text, os.fsdecode(origin))
        if b"\0" not in self.text:
            self.text = self.text[: 8 * _PRINTED_CHARACTERS]

    def _tell_printed(self, printed: bytes, origin: str) -> None:
        """Say once what a plugin printed where nothing must be printed, in one line on standard error."""
        text = " ".join(printed.decode(errors="replace").split())
        who = Path(origin).parent.name if Path(origin).name == "__init__.py" else Path(origin).name.removesuffix(".py")
        note = f"note: plugin '{plain_line(who)}' printed at its import: {plain_line(text, _PRINTED_CHARACTERS)}"
        if text and note not in self.said:
            self.said.add(note)
            _say(note)

    def _pass_signals_on(self) -> None:
        """Pass on what only this process got."""
        while True:
            try:
                info = os.read(self.signals, 128)
            except OSError:
                return
            number, _, origin = struct.unpack_from("Iii", info)
            if number == signal.SIGCHLD:
                continue
            self.asked = number
            if origin != _FROM_THE_SYSTEM or number != signal.SIGINT:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, number)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.pid:
                    self.status = status

    def _kill_everything(self) -> None:
        """End the driver and what it started."""
        until = monotonic() + _END_SECONDS
        while (left := _descendants(os.getpid())) and monotonic() < until:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            self._reap()
            sleep(0.002)
        self._reap()


def _all_of(fd: int) -> bytes | None:
    """Return what there is to read; None: nothing, and nobody writes any more."""
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(fd, 1 << 16)
        except OSError:
            return b"".join(pieces)
        if not piece:
            return b"".join(pieces) or None
        pieces.append(piece)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{line}\n".encode(errors="replace"))


def _name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _descendants(of: int) -> list[int]:
    """Return the processes that a process started, and those that these did."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found, todo = [], [of]
    while todo:
        own = children.get(todo.pop(), [])
        found += own
        todo += own
    return found
