"""The worker's watch over a child that carries out one run: it is forked, limited from outside, ended and judged.

The limits are enforced by SIGTERM to the child's process group, then SIGKILL to it and to all that it started. Its exit
is waited for, not the end of its pipes: others may keep them open. What became of it is said by what was seen of it: its
claims where they can be true, else how it ended, in words.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import functools
import math
import os
import re
import resource
import select
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from os import getpid  # by name: what a solver patches later is not this function
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import Any

import msgspec

from harness.measure.outcome import FAILED, Limits, Status, StoppedBy
from harness.run import allowed, messages
from harness.run.channel import SECRET_BYTES, BrokenStream, Channel
from harness.run.descendants import NOTHING_USED, Descendants, Usage, at_parents_end, signal_to, trackers_of
from harness.run.folder import Folder
from harness.run.plan import RunSpec
from harness.run.record import Claims
from harness.run.target_server import TargetServer
from harness.support.machine import is_stopped, now
from harness.support.processes import UNSCHEDULED, Scheduling, memory_figures, private_bytes, scheduling

_POLL_SECONDS = 0.05
_TERM_SECONDS = 0.3  # between SIGTERM and SIGKILL
_EXIT_SECONDS = 1.0  # that a child which has said all may take to end
_OUTPUT_KEPT = 4000
_LINE_CHARACTERS = 300  # of a line of output that a reason repeats
_OUTPUT_LIMIT = 1_000_000
_PIECE = 1 << 16  # bytes that a pipe holds
_CHANNEL = 200  # descriptor of a child's channel, above those that a solver's stray writes and double closes hit
_OUT_OF_MEMORY = re.compile(
    r"^(?:[\w.]*MemoryError\b.*|.*std::bad_alloc.*|(?:.*: )?(?:Cannot allocate memory|[Oo]ut of memory)\.?)$",
    re.MULTILINE,
)  # what a process writes at its end whose allocation was refused


class DriverGone(Exception):
    """Nobody is left to hear of this run."""


@dataclass
class Child:
    """A forked process: its pid, the channel to it, and our end of the pipe that its output goes to."""

    pid: int
    channel: Channel
    output: int


def fork(body: messages.Body, folder: Folder, hidden: Channel, largest: int) -> Child:
    """Fork a child that runs ``body(emit, receive)`` in a run's folder.

    emit, receive : functions that send a message to this process, and wait for one from it
    hidden : the channel that it does not get, that which leads to the driver
    largest : most bytes of a message of it
    """

    def emit(message: messages.FromChild) -> None:
        if getpid() != own:
            raise BrokenStream("a process that the solver forked went on with the run; its result is nobody's")
        channel.send(message)

    (output_out, output_in), (ours, theirs) = os.pipe(), socket.socketpair()
    secret = os.urandom(SECRET_BYTES)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        theirs.close()
        os.close(output_in)
        ours.setblocking(False)  # who does not read what it asked for does not hold us up
        os.set_blocking(output_out, False)
        return Child(pid, Channel(ours, messages.FromChild, secret, largest=largest), output_out)
    status, own = 1, getpid()
    try:
        os.setsid()
        at_parents_end(signal.SIGKILL)
        ours.close()
        hidden.close()
        os.close(output_out)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output_in, 1)
        os.dup2(output_in, 2)
        end = socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _CHANNEL))
        channel = Channel(end, messages.ToChild, secret)
        theirs.close()
        os.close(output_in)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        faulthandler.enable(file=2)
        folder.enter()
        body(emit, channel.receive)
        with contextlib.suppress(OSError):
            end.recv(1)  # what it leaves behind can be looked at until the worker lets it end
        status = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(status)


def limit_memory(limit: int | None) -> None:
    """Bound this process's private data so that its memory can grow to ``limit`` bytes; None: lift the bound.

    Private data are anonymous memory, touched or not, and private mappings of files that may be written to.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    bound = hard
    if limit is not None:
        figures = memory_figures()
        bound = figures.get("VmData", 0) + max(0, limit - private_bytes(figures))
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


@dataclass
class Observed:
    """What the worker saw of a child."""

    fitted: messages.FitResult | None = None
    fit_seconds: float = 0.0  # from the message before the fit to the one after it, compilation taken off
    fit_cpu_seconds: float = 0.0  # the same of the main thread's CPU time, which no busy machine stretches
    fit_usage: Usage = NOTHING_USED  # CPU time within the fit, without compilation, of the child and all it started
    delay_seconds: float = 0.0  # within the fit, in which the processes of the run were ready to run and did not
    pid: int = 0  # of the child
    threads: int = 1  # that the run may have
    look: Callable[[float | None], Usage] = lambda _: NOTHING_USED  # see `Descendants.sample`
    points: list[messages.Point] = field(default_factory=list)
    cells: list[messages.FinishedCell] = field(default_factory=list)
    host_seconds: float = 0.0  # wall time inside the fit that was the host's own: certificates of trace points
    phase: str = "warm-up"  # then "start", "fit", "end"
    phase_began: float = field(default_factory=monotonic)
    scheduled: Scheduling = UNSCHEDULED  # of the child's main thread when the phase began
    usage_began: Usage = NOTHING_USED  # of the child and all that it started when the fit began
    compiling_since: float | None = None
    compile_spent: float = 0.0  # in this phase
    warm_up_seconds: float | None = None
    sources: dict[str, Any] = field(default_factory=dict)
    output_end: bytes = b""  # what the child printed, at the end
    output_bytes: int = 0
    refusal: str = ""  # the last line that a process of the run wrote on an allocation that was refused
    usage: Usage = NOTHING_USED  # the last sample of the child and all that it started
    sampled: float = 0.0  # time of ``monotonic()`` of that sample
    peak_bytes: int = 0  # of the samples since the fit began, and of the child by its own high-water mark
    killed_for: StoppedBy | None = None  # TIME, MEMORY; FAULT: it wrote what is no message
    broken: str = ""  # what it did to the host's pipe
    exit_status: int = 0
    left_behind: int = 0
    survivors: list[int] = field(default_factory=list)  # processes that could not be killed
    server: TargetServer = field(default_factory=TargetServer)  # of the targets that the child queries
    faults: list[str] = field(default_factory=list)  # sentences, of what cost the run nothing
    was_stopped: bool = False  # the child was stopped from outside, and continued by the host
    constraints: str = ""  # what the child may do and the host did not set, in words

    @property
    def output(self) -> str:
        """The end of what the child printed."""
        return self.output_end.decode(errors="replace")

    @property
    def solved(self) -> messages.ToCertify:
        """What is to be certified of the run."""
        if self.fitted is None:
            return messages.ToCertify(points=self.points, cells=self.cells, queried=self.server.queried)
        sample = self.fitted.kernel_sample
        return messages.ToCertify(self.fitted.model, self.points, self.server.queried, self.cells, sample)

    @property
    def compiled(self) -> float:
        """The seconds of compilation in this phase, up to now."""
        return self.compile_spent + (monotonic() - self.compiling_since if self.compiling_since else 0.0)

    def deadline(self, limits: Limits) -> float:
        """Return the time of ``monotonic()`` at which this phase has to be over; infinity: it has no limit.

        It is later by what other work takes from the child, which is looked at once it would be over otherwise.
        """
        undisturbed = self._undisturbed_deadline(limits)
        if (seconds := monotonic() - self.phase_began) + self.phase_began <= undisturbed:
            return undisturbed
        ran, delay = (now - then for now, then in zip(scheduling(self.pid), self.scheduled, strict=True))
        cpu_seconds = max(ran, self.usage.cpu_seconds - self.usage_began.cpu_seconds)
        delay += self.usage.delay_seconds - self.usage_began.delay_seconds
        return undisturbed + allowed.lost(limits.time_limit, self.threads, delay, seconds, cpu_seconds)

    def _undisturbed_deadline(self, limits: Limits) -> float:
        if self.phase == "fit":
            if limits.time_limit is None:
                return math.inf
            host = max(0.0, self.host_seconds - self.server.seconds)  # what the host did contains the queries
            return self.phase_began + allowed.fit(limits.time_limit, host + self.compiled, self.server.seconds)
        most = allowed.compilation(limits.time_limit)
        if self.phase == "warm-up" and self.compiling_since is not None:
            return self.compiling_since + most - self.compile_spent
        if self.phase == "end":
            return self.phase_began + allowed.phase(limits.time_limit)
        spared = min(self.compile_spent, most) if self.phase == "warm-up" else 0.0
        return self.phase_began + allowed.preparation(limits.time_limit) + spared

    def note(self, message: messages.FromChild, child: Child) -> None:
        """Take in what a child says."""
        if isinstance(message, messages.Compiling):
            if not message.on:
                self.compile_spent, self.compiling_since = self.compiled, None
            elif self.compiling_since is None:
                self.compiling_since = monotonic()
        elif isinstance(message, messages.Warm):
            self.warm_up_seconds, self.sources = message.seconds, message.sources
            self._enter("start")
        elif isinstance(message, messages.ClockStarted):
            self._sample_cpu()
            self.peak_bytes = 0  # what it took before is none of the run's
            self._enter("fit")
        elif isinstance(message, messages.Point):
            self.points.append(msgspec.structs.replace(message, queried=len(self.server.queried)))
            self._note_host(message.host_seconds)
        elif isinstance(message, messages.FinishedCell):
            self.cells.append(message)
            self._note_host(message.host_seconds)
        elif isinstance(message, messages.ModelCopied):
            self.end_fit()
            self._enter("end")
        elif isinstance(message, messages.FitResult):
            if self.phase == "fit":
                self.end_fit()
            self.fitted = message
        elif isinstance(message, messages.TargetRequest):
            self.server.serve(message, child.channel)

    def _note_host(self, seconds: float) -> None:
        self.host_seconds = min(max(0.0, seconds), monotonic() - self.phase_began)

    def _enter(self, phase: str) -> None:
        self.phase, self.phase_began, self.compile_spent = phase, monotonic(), 0.0
        self.scheduled, self.usage_began = scheduling(self.pid), self.usage

    def sample(self) -> None:
        """Look at what the child and all that it started take now; exactly, where that is a new peak."""
        self.usage, self.sampled = self.look(self.peak_bytes), monotonic()
        self.peak_bytes = max(self.peak_bytes, self.usage.memory_bytes)

    def _sample_cpu(self) -> None:
        self.usage = self.look(None)

    def end_fit(self) -> None:
        """Note what the fit took."""
        self._sample_cpu()
        now, compiled = scheduling(self.pid), self.compiled
        self.fit_seconds = monotonic() - self.phase_began - compiled
        self.fit_cpu_seconds = now.cpu_seconds - self.scheduled.cpu_seconds - compiled
        spent, before = self.usage, self.usage_began
        self.delay_seconds = (
            now.delay_seconds - self.scheduled.delay_seconds + spent.delay_seconds - before.delay_seconds
        )
        unseen = max(0.0, spent.unseen_cpu_seconds - before.unseen_cpu_seconds)
        self.fit_usage = Usage(max(0.0, spent.cpu_seconds - before.cpu_seconds - compiled), unseen)

    def drain(self, output: int) -> bool:
        """Read once what a child printed; return whether there is more to come."""
        try:
            data = os.read(output, _PIECE)
        except OSError:  # there is nothing to be read
            return False
        self.output_bytes += len(data)
        self.refusal = (
            refused_allocation((self.output_end[-_LINE_CHARACTERS:] + data).decode(errors="replace")) or self.refusal
        )
        self.output_end = (self.output_end + data)[-_OUTPUT_KEPT:]
        return bool(data)


def watch(
    child: Child,
    descendants: Descendants,
    limits: Limits,
    *,
    threads: int,
    control: Channel,
    server: TargetServer,
    busy: Callable[[float], None] = lambda _: None,
) -> Observed:
    """Wait until a child has said all, ends or passes a limit; return what was seen. It is ended by :func:`finish`.

    threads : that the run may have
    control : the channel to the driver
    server : of the targets that it queries
    busy : called with the time of ``monotonic()`` at which the phase that a run is in has to be over

    Raises
    ------
    DriverGone : nobody is left to hear of this run.
    """
    look, handle = functools.partial(descendants.sample, child.pid), os.pidfd_open(child.pid)
    seen = Observed(server=server, pid=child.pid, threads=threads, look=look)
    with selectors.DefaultSelector() as selector:
        for fd in (child.channel.fileno(), child.output, control.fileno(), handle):
            selector.register(fd, selectors.EVENT_READ)
        while not child.channel.closed and not seen.killed_for and seen.fitted is None:
            busy(seen.deadline(limits))
            ready = {key.fd for key, _ in selector.select(_POLL_SECONDS)}
            if child.channel.fileno() in ready:
                _take(seen, child)
            if child.output in ready and not seen.drain(child.output):
                selector.unregister(child.output)
            if handle in ready:
                break
            if control.fileno() in ready:
                _raise_if_driver_gone(control)
                selector.unregister(control)  # the next request waits until this run is over
            if not seen.was_stopped and is_stopped(child.pid):
                seen.was_stopped = True
                seen.faults.append("its process was stopped from outside, and continued by the host")
                signal_to(child.pid, signal.SIGCONT)
            if not seen.killed_for and seen.fitted is None:
                seen.killed_for = _excess(seen, limits)
    os.close(handle)
    if seen.phase == "fit" and seen.fitted is None:
        seen.end_fit()
    seen.sample()
    if seen.fitted is not None:  # it waits
        seen.drain(child.output)
        others = seen.usage.others
        seen.left_behind = len(others) - len(trackers_of(others))
    return seen


def finish(seen: Observed, child: Child, descendants: Descendants) -> None:
    """End a child and all that it started, and read what it had to say."""
    child.channel.shutdown(socket.SHUT_WR)  # lets it end
    if seen.killed_for:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGTERM)
    handle = os.pidfd_open(child.pid)
    alive = not select.select([handle], [], [], _TERM_SECONDS if seen.killed_for else _EXIT_SECONDS)[0]
    os.close(handle)
    if alive:
        os.kill(child.pid, signal.SIGKILL)
    seen.exit_status = os.waitpid(child.pid, 0)[1]
    if alive and seen.fitted is None and not seen.killed_for:
        seen.killed_for = StoppedBy.FAULT
        seen.broken = "closed a descriptor that is not its own, or became another program, and went on"
    left, seen.survivors = descendants.end()
    seen.left_behind = max(seen.left_behind, left)
    # what is in the pipes now; what comes later is not the child's
    seen.drain(child.output)
    received = -1
    while received < child.channel.received and seen.fitted is None and not seen.broken:
        received = child.channel.received
        _take(seen, child)
    child.channel.close()
    os.close(child.output)


def _take(seen: Observed, child: Child) -> None:
    try:
        for message in child.channel.read():
            seen.note(message, child)
    except BrokenStream as error:
        seen.killed_for, seen.broken = StoppedBy.FAULT, f"wrote to a descriptor that is not its own: {error}"


def _raise_if_driver_gone(control: Channel) -> None:
    with contextlib.suppress(BlockingIOError):
        if control.end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
            raise DriverGone


def _excess(seen: Observed, limits: Limits) -> StoppedBy | None:
    """Return the limit that is passed, if one is."""
    most = math.inf if limits.memory_limit is None else limits.memory_limit
    if monotonic() - seen.sampled >= _POLL_SECONDS:
        seen.sample()
        if seen.usage.memory_bytes > most:
            return StoppedBy.MEMORY
    return StoppedBy.TIME if monotonic() > seen.deadline(limits) else None


# -- what became of it ---------------------------------------------------------------------------------


def verdict(seen: Observed, spec: RunSpec) -> Claims:
    """Return the outcome of a child: its claims where they can be true, else how its process ended."""
    claims = Claims(measured_at=now(), sources=seen.sources) if seen.fitted is None else seen.fitted.claims
    trouble = _trouble(seen, spec)
    if trouble is not None:
        claims.status, claims.stopped_by, claims.reason = trouble
    if claims.status in FAILED and (seen.was_stopped or seen.constraints):
        claims.blame_environment(seen.constraints or "its process was stopped")
    if seen.output.strip():
        claims.output = "\n".join(part for part in (claims.output, seen.output) if part)
    if claims.status in (Status.ERROR, Status.CRASHED) and claims.stopped_by == StoppedBy.FAULT:
        refused = seen.refusal or refused_allocation(claims.output or "")
        if refused and not seen.killed_for and (trouble is None or seen.fitted is None):
            claims.status, claims.stopped_by = Status.MEMORY, StoppedBy.MEMORY
            claims.reason = f"out of memory: {refused}; {claims.reason}"
    if claims.stopped_by == StoppedBy.TIME and (reason := _disturbed(seen, spec.limits.time_limit or 0.0)):
        claims.status, claims.reason = Status.ENVIRONMENT, reason
    began = seen.phase in ("fit", "end")
    claims.peak_rss_bytes = (max(seen.peak_bytes, seen.usage.high_water_bytes) if began else seen.peak_bytes) or None
    killed = seen.fitted is None and seen.phase == "fit"
    claims.killed_cpu_seconds = max(0.0, seen.fit_usage.cpu_seconds - seen.host_seconds) if killed else None
    if claims.cpu_seconds is not None:
        claims.cpu_seconds += seen.fit_usage.unseen_cpu_seconds
    if claims.cpu_seconds is not None and claims.fit_seconds is not None and seen.threads == 1:
        known = seen.scheduled != UNSCHEDULED
        busy = claims.cpu_seconds + seen.delay_seconds
        claims.waited_seconds = max(0.0, claims.fit_seconds - busy) if known else None
    return claims


def refused_allocation(output: str) -> str:
    """Return the last line of an output that says that an allocation was refused; empty: none does."""
    lines = _OUT_OF_MEMORY.findall(output)
    return lines[-1][:_LINE_CHARACTERS] if lines else ""


def _disturbed(seen: Observed, limit: float) -> str:
    """Return the sentence on a run that was cut at its time limit and could not use it; empty: it could."""
    seconds, cpu_seconds = max(0.0, seen.fit_seconds - seen.host_seconds), seen.fit_usage.cpu_seconds
    delayed = allowed.delayed(seen.threads, seen.delay_seconds, seconds, cpu_seconds)
    if (seen.fitted is None and seen.phase != "fit") or not allowed.was_disturbed(limit, seconds, delayed):
        return ""
    cut = f"cut at the time limit of {limit:g} s after {cpu_seconds:.2g} s of CPU time in {seconds:.2g} s"
    return f"{cut}: the machine was busy; such a run is measured again when the command is repeated"


def _trouble(seen: Observed, spec: RunSpec) -> tuple[Status, StoppedBy, str] | None:
    """Return status, cause and reason where a child did not end as it should have, or claims what cannot be."""
    if seen.fitted is None or seen.killed_for:
        return _cause(seen, spec.limits)
    if seen.left_behind:
        many = "es" if seen.left_behind > 1 else ""
        alive = ", ".join(map(str, seen.survivors))
        ending = f"the host could not kill all, alive are {alive}" if alive else "the host killed them"
        reason = f"left {seen.left_behind} child process{many} behind; {ending}"
        return Status.ERROR, StoppedBy.FAULT, reason
    if seen.output_bytes > _OUTPUT_LIMIT:
        size = f"{seen.output_bytes / 1e6:.1f} MB"
        reason = f"printed {size}; a solver must not print (at most 1 MB is tolerated)"
        return Status.ERROR, StoppedBy.FAULT, reason
    return None


def _cause(seen: Observed, limits: Limits) -> tuple[Status, StoppedBy, str]:
    """Return status, cause and reason of a child that ended without a result."""
    if seen.killed_for is StoppedBy.TIME:
        stopped = StoppedBy.PREPARATION if seen.phase in ("warm-up", "start") else StoppedBy.TIME
        return Status.TIMEOUT, stopped, _late(seen, limits.time_limit)
    if seen.killed_for is StoppedBy.MEMORY:
        reason = f"its memory passed the limit of {(limits.memory_limit or 0) / 2**20:g} MB; killed"
        return Status.MEMORY, StoppedBy.MEMORY, reason
    if seen.killed_for is StoppedBy.FAULT:
        return Status.ERROR, StoppedBy.FAULT, f"the solver's process {seen.broken}; killed"
    code, last = os.waitstatus_to_exitcode(seen.exit_status), _last_line(seen.output)
    how = f"ended by signal {-code} ({_signal(-code)})" if code < 0 else f"exited with code {code} without a result"
    who = StoppedBy.KILLED if code == -signal.SIGKILL else StoppedBy.FAULT
    return Status.CRASHED, who, f"{how}{': ' + last if last else ''}"


def why_lost(seen: Observed) -> str:
    """Return in a few words why a child ended, or was ended, in its warm-up."""
    if seen.killed_for is StoppedBy.TIME:
        return f"not over after {monotonic() - seen.phase_began:.0f} s"
    code = os.waitstatus_to_exitcode(seen.exit_status)
    how = _signal(-code) if code < 0 else f"exit code {code}"
    return "above the memory limit" if seen.killed_for is StoppedBy.MEMORY else how


def _signal(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _late(seen: Observed, limit: float | None) -> str:
    """Return the sentence on a child that was killed for time."""
    wall = monotonic() - seen.phase_began
    if seen.phase == "start":
        most = f"the {allowed.preparation(limit):g} s that preparing a run may take"
        return (
            f"still importing or in skip(), before its first step, after {most}; killed. It is measured again next time"
        )
    most = f"the time limit of {limit or 60.0:g} s"
    if seen.phase == "warm-up":
        most = (
            f"the limit of {(allowed.preparation if seen.compiling_since is None else allowed.compilation)(limit):g} s"
        )
    ended = f"at {most}; killed after {wall:.1f} s"
    compiling = f", {seen.compiled:.1f} s of them compiling; compile in warm_ups()" if seen.compiled > 0.1 else ""
    where = {
        "warm-up": " on a few points, before the measured run,",
        "fit": "",
        "end": " after its last model, closing its iterates for example,",
    }[seen.phase]
    return f"still running{where} {ended}{compiling}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("Fatal Python error")]
    return (fatal or lines or [""])[-1][:_LINE_CHARACTERS]
