"""The parent's watch over a forked child that carries out one run.

The parent (the warm worker) enforces the limits from outside: SIGTERM to the child's process group, then SIGKILL to the
child and to all that it started. It waits for the child's exit: its pipes may be kept open by others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import selectors
import signal
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import TYPE_CHECKING, Any

from harness.machine import thread_cpu_seconds
from harness.run import allowed
from harness.run.descendants import trackers_of
from harness.run.forking import Child
from harness.run.messages import (
    BrokenStream,
    Buy,
    Compiling,
    Fitted,
    Fitting,
    Message,
    Point,
    Reader,
    Sold,
    Stopped,
    Warm,
    packed,
)
from harness.run.record import Limits, StoppedBy

if TYPE_CHECKING:
    from harness.run.seller import Seller

_POLL_SECONDS = 0.05
_TERM_SECONDS = 0.3  # between SIGTERM and SIGKILL
_OUTPUT_KEPT = 4000
_PIECE = 1 << 16
OUTPUT_LIMIT = 1_000_000


@dataclass
class Watch:
    """What the parent saw of a child."""

    fitted: Fitted | None = None
    fit_seconds: float = 0.0  # from the message before the fit to the one after it, compilation taken off
    fit_cpu_seconds: float = 0.0  # the same of the main thread's CPU time, which no busy machine stretches
    cpu_seconds: float = 0.0  # of the whole child and what it started, as far as the system accounts for it
    points: list[Point] = field(default_factory=list)
    host_seconds: float = 0.0  # wall time inside the fit that was the host's own: certificates of trace points
    phase: str = "warm-up"  # then "start", "fit", "end"
    phase_began: float = 0.0
    compiling: bool = False
    compile_began: float = 0.0
    compile_heard: float = 0.0  # when the compiler was last done with something
    compile_spent: float = 0.0  # in this phase
    warm_up_seconds: float | None = None
    sources: dict[str, Any] = field(default_factory=dict)
    output_head: bytes = b""
    output_tail: bytes = b""
    output_bytes: int = 0
    peak_rss: int = 0
    killed_for: StoppedBy | None = None  # TIME, MEMORY; FAULT: it wrote what is no message
    broken: str = ""  # what it did to the host's pipe
    exit_status: int = 0
    left_behind: int = 0
    survivors: tuple[int, ...] = ()  # processes that could not be killed
    seller: Seller | None = None  # of labels; None: the problem came with them
    buying_seconds: float = 0.0  # that purchases since the last trace point took, as far as that can be
    bought_seconds: float = 0.0  # that all purchases took
    miscount: str = ""  # what it said of the labels it bought, where that is not so

    @property
    def output(self) -> str:
        """What the child printed: its beginning and its end."""
        cut = "\n...\n" if self.output_bytes > len(self.output_head) + len(self.output_tail) else ""
        return self.output_head.decode(errors="replace") + cut + self.output_tail.decode(errors="replace")


def watch(
    child: Child,
    limits: Limits,
    *,
    control: int,
    largest: int,
    seller: Seller | None = None,
    told: Callable[[Watch], None] = lambda _: None,
    ending: Callable[[Watch], None] = lambda _: None,
) -> Watch:
    """Wait for a child, enforcing its limits; kill it and what it left behind; return what was seen.

    control : descriptor of the driver's socket; the child dies when the driver is gone
    largest : bytes of arrays a message of it may have
    seller : of the labels that it may buy
    told : called whenever something was seen, while the child goes on
    ending : called when it does not go on, before it and what it left behind are killed
    """
    pid, output = child.pid, child.output
    seen = Watch(phase_began=monotonic(), seller=seller)
    reader = Reader(child.messages, child.secret, largest=largest)
    handle = os.pidfd_open(pid)
    with selectors.DefaultSelector() as selector:
        for fd in (child.messages, output, control, handle):
            selector.register(fd, selectors.EVENT_READ)
        ended = False
        while not ended and not reader.closed and not seen.killed_for and seen.fitted is None:
            for ready, _ in selector.select(_POLL_SECONDS):
                if ready.fd == child.messages:
                    _take(seen, reader, child)
                elif ready.fd == output:
                    if not _drain(seen, output):
                        selector.unregister(output)
                elif ready.fd == handle:
                    ended = True
                else:
                    _exit_if_alone(control, child)
                    selector.unregister(control)  # the next request waits until this run is over
            if not seen.killed_for and seen.fitted is None:
                told(seen)
                seen.killed_for = allowed.excess(seen, limits) or _beyond_memory(seen, child, limits)
    os.close(handle)
    if seen.phase == "fit" and seen.fitted is None:  # of a process that has ended the system tells nothing more
        seen.fit_cpu_seconds += thread_cpu_seconds(pid) - seen.compile_spent
    ending(seen)
    _finish(seen, child, reader)
    return seen


def _finish(seen: Watch, child: Child, reader: Reader) -> None:
    """End a child and all that it started, and read what it had to say."""
    descendants = child.place.descendants
    if seen.fitted is not None:  # it waits
        others = descendants.others(child.pid)
        seen.left_behind = len(others) - len(trackers_of(others))
    child.release()
    killed = _end(seen, child.pid, gently=bool(seen.killed_for), finished=not seen.killed_for)
    if killed and seen.fitted is None and not seen.killed_for:
        seen.killed_for = StoppedBy.FAULT
        seen.broken = "closed a descriptor that is not its own, or became another program, and went on"
    seen.cpu_seconds = max(seen.cpu_seconds, descendants.cpu_seconds())
    left = descendants.end()
    seen.left_behind = max(seen.left_behind, left.count)
    seen.survivors = left.alive
    # what is in the pipes now; what comes later is not the child's
    for _ in range(-(-_waiting(child.output) // _PIECE)):
        _drain(seen, child.output)
    until = reader.received + _waiting(child.messages)
    while reader.received < until and seen.fitted is None and not seen.broken:
        _take(seen, reader, child)
    child.close()


def _waiting(pipe: int) -> int:
    """Return how many bytes can be read from a pipe."""
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0])


def _take(seen: Watch, reader: Reader, child: Child) -> None:
    try:
        for message in reader.read():
            if isinstance(message, Buy):
                _sell(seen, message, child)
            else:
                _note(seen, message, child.pid)
    except BrokenStream as error:
        seen.killed_for, seen.broken = StoppedBy.FAULT, f"wrote to a descriptor that is not its own: {error}"


def _exit_if_alone(control: int, child: Child) -> None:
    """End everything if the driver is gone: nobody is left to hear of this run."""
    if _driver_gone(control):
        _end(Watch(), child.pid)
        child.place.descendants.end()
        child.place.remove()
        os._exit(1)


def _note(seen: Watch, message: Message, pid: int) -> None:
    if isinstance(message, Compiling):
        seen.compile_heard = monotonic()
        if message.on and not seen.compiling:
            seen.compile_began = seen.compile_heard
        elif seen.compiling and not message.on:
            seen.compile_spent += seen.compile_heard - seen.compile_began
        seen.compiling = message.on
    elif isinstance(message, Warm):
        seen.warm_up_seconds, seen.sources = message.seconds, message.sources
        seen.phase, seen.phase_began, seen.compile_spent = "start", monotonic(), 0.0
    elif isinstance(message, Fitting):
        seen.phase, seen.phase_began, seen.compile_spent = "fit", monotonic(), 0.0
        seen.fit_cpu_seconds = -thread_cpu_seconds(pid)
    elif isinstance(message, Point):
        seen.points.append(_counted(seen, message))
        seen.buying_seconds = 0.0  # in what follows
        seen.host_seconds = min(max(0.0, message.host_seconds), monotonic() - seen.phase_began)
    elif isinstance(message, Stopped):
        seen.fit_seconds = monotonic() - seen.phase_began - seen.compile_spent
        seen.fit_cpu_seconds += thread_cpu_seconds(pid) - seen.compile_spent
        seen.phase, seen.phase_began = "end", monotonic()
    elif isinstance(message, Fitted):
        seen.fit_seconds = seen.fit_seconds or monotonic() - seen.phase_began - seen.compile_spent
        seen.fitted = message


def _sell(seen: Watch, wanted: Buy, child: Child) -> None:
    """Answer a purchase of labels, and note what the one before it may have taken of the solver's time.

    Raises
    ------
    BrokenStream : nobody reads the answer, or nothing is sold.
    """
    from harness.run.seller import WAKING_SECONDS

    if seen.seller is None:
        raise BrokenStream("a purchase of labels where none are sold")
    began = monotonic()
    waited = min(max(0.0, wanted.waited), WAKING_SECONDS)
    seen.buying_seconds += waited
    seen.bought_seconds += waited
    labels = seen.seller.sell(wanted.indices)
    found = None if labels is None else labels.astype("int8")
    seen.bought_seconds += monotonic() - began
    answer = packed(Sold(found, monotonic() - began, seen.seller.refused), child.secret)
    try:
        whole = os.write(child.answers, answer) == len(answer)
    except OSError:
        whole = False
    if not whole:
        raise BrokenStream("a purchase of labels, and nobody read what was answered")


def _counted(seen: Watch, point: Point) -> Point:
    """Return a trace point with this process's count of the labels bought in the place of the child's own."""
    figures = dict(point.figures)
    claimed = figures.pop("labels_used", None)
    if seen.seller is None:
        return replace(point, figures=figures) if claimed is not None else point
    known = len(seen.seller.bought)
    if claimed != known:
        seen.miscount = f"it counts {claimed} labels where {known} were bought"
    return replace(point, figures={**figures, "labels_used": known})


def _beyond_memory(seen: Watch, child: Child, limits: Limits) -> StoppedBy | None:
    """Return the limit of memory if it is passed."""
    if limits.memory_bytes is None:
        return None
    resident = child.place.descendants.memory_bytes(child.pid, limits.memory_bytes)
    seen.peak_rss = max(seen.peak_rss, resident)
    return StoppedBy.MEMORY if resident > limits.memory_bytes else None


def _drain(seen: Watch, output: int) -> bool:
    try:
        data = os.read(output, _PIECE)
    except BlockingIOError:
        return False
    except OSError:
        data = b""
    seen.output_bytes += len(data)
    room = _OUTPUT_KEPT - len(seen.output_head)
    seen.output_head += data[:room]
    seen.output_tail = (seen.output_tail + data[room:])[-_OUTPUT_KEPT:]
    return bool(data)


def _driver_gone(control: int) -> bool:
    import socket

    with socket.socket(fileno=os.dup(control)) as peer:
        try:
            return peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False


def _end(seen: Watch, pid: int, *, gently: bool = False, finished: bool = False) -> bool:
    """End a child, note its wait status and CPU seconds; return whether it had to be killed.

    gently : SIGTERM to its group first
    finished : it is exiting
    """
    if gently:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGTERM)
    patience = _TERM_SECONDS if gently else 1.0 if finished else 0.0
    handle = os.pidfd_open(pid)
    try:
        alive = not select.select([handle], [], [], patience)[0]
        if alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    finally:
        os.close(handle)
    _, seen.exit_status, usage = os.wait4(pid, 0)
    seen.cpu_seconds = usage.ru_utime + usage.ru_stime
    return alive
