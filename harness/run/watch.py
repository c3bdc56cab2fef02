"""The worker's watch over a child that carries out one run: the child is forked, limited from outside, and ended.

The limits are enforced by SIGTERM to the child's process group, then SIGKILL to it and to all that it started. The worker
waits for the child's exit, not for the end of its pipes: others may keep them open. The outcome is the child's claims where
they are plausible, else how the process ended.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import math
import os
import re
import select
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from os import getpid  # by name: what a solver patches later is not this function
from time import monotonic  # by name: what a solver patches later is not this clock

import msgspec

from harness.measure.outcome import FAILED, Status, StoppedBy
from harness.run import allowed, messages
from harness.run.channel import SECRET_BYTES, BrokenStream, Channel
from harness.run.descendants import NOTHING_USED, Descendants, Folder, Usage, at_parents_end, trackers_of
from harness.run.messages import Phase, RunSpec
from harness.run.record import MEASURED_AGAIN, Claims
from harness.run.target_server import TargetServer
from harness.support.machine import now
from harness.support.processes import continue_if_stopped, signal_to

_POLL_SECONDS = 0.05  # seconds between two looks at a child that says nothing
_TERM_SECONDS = 0.3  # seconds between SIGTERM and SIGKILL
_EXIT_SECONDS = 1.0  # seconds that a child which has sent its result may take to end
_OUTPUT_CHARACTERS = 4000  # most bytes of a child's output that a record repeats: the last ones
_LINE_CHARACTERS = 300  # most characters of a line of output that a reason repeats
_OUTPUT_LIMIT = 1_000_000  # most bytes that a child may print
_PIPE_BYTES = 1 << 16  # bytes that a pipe holds
_CHANNEL = 200  # descriptor of a child's channel, above those that a solver's stray writes and double closes hit
_AT_LIMIT_SHARE = 0.8  # fraction of the memory limit from which on a run that failed is taken to have been refused more
_OUT_OF_MEMORY = re.compile(
    r"^(?:.*MemoryError\b.*|.*std::bad_alloc.*|(?:.*: )?(?:Cannot allocate memory|[Oo]ut of memory)\.?)$",
    re.MULTILINE,
)  # what a process writes at its end whose allocation was refused
_PHASES: dict[Phase, tuple[Callable[[float | None], float], str]] = {
    Phase.WARM_UP: (allowed.preparation, "running on a few points, before the measured run,"),
    Phase.START: (allowed.preparation, "importing or in skip(), before its first step,"),
    Phase.FIT: (allowed.fit, "running"),
    Phase.END: (allowed.phase, "running after its last model, closing its iterates for example,"),
    Phase.REPEAT: (allowed.fit, "fitting the same problem again"),
}
"""Phase of a run -> its most seconds by the time limit, and what the child is doing meanwhile, in words."""

Failure = tuple[Status, StoppedBy, str]


class DriverGone(Exception):
    """Nobody is left to hear of this run."""


@dataclass
class Child:
    """A forked process: its pid and pidfd, the channel to it, and this end of the pipe that its output goes to."""

    pid: int
    handle: int
    channel: Channel
    output: int


def fork(body: messages.Body, folder: Folder, hidden: Channel, largest: int) -> Child:
    """Fork a child that runs ``body(emit, receive)`` in a run's folder.

    emit, receive : functions that send a message to this process, and wait for one from it
    hidden : the channel to the driver, which the child does not get
    largest : most bytes of a message of the child
    """

    def emit(message: messages.FromChild) -> None:
        if getpid() != child_pid:
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
        ours.setblocking(False)  # a child that does not read its replies does not hold the worker up
        os.set_blocking(output_out, False)
        return Child(pid, os.pidfd_open(pid), Channel(ours, messages.FromChild, secret, largest=largest), output_out)
    status, child_pid = 1, getpid()
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
        channel = Channel(end, messages.TargetReply, secret)
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


@dataclass
class Observed:
    """What the worker observes of a child.

    server : of the targets that the child queries
    take_sample : see `Descendants.sample`; called with a memory limit, or None
    """

    spec: RunSpec
    server: TargetServer = field(default_factory=TargetServer)
    take_sample: Callable[[float | None], Usage] = lambda _: NOTHING_USED
    result: messages.RunResult | None = None
    points: list[messages.Point] = field(default_factory=list)
    cells: list[messages.FinishedCell] = field(default_factory=list)
    warm: messages.Warm | None = None
    host_seconds: float = 0.0  # wall time inside the fit of the host's own work: certificates of trace points
    phase: Phase = Phase.WARM_UP
    phase_began: float = field(default_factory=monotonic)
    usage_began: Usage = NOTHING_USED  # when the phase began
    usage: Usage = NOTHING_USED  # of the last sample
    sampled: float = 0.0  # time of ``monotonic()`` of the last sample
    compiling_since: float | None = None
    compiled_before: float = 0.0  # seconds of compilation in this phase that are over
    fit_seconds: float | None = None  # wall time of the fit, without compilation
    fit_usage: Usage = NOTHING_USED  # during the fit, without compilation
    peak_bytes: int = 0  # of the samples since the fit began
    output_end: bytes = b""  # the last bytes that the child printed
    output_bytes: int = 0
    refusal: str = ""  # the last line of the output on an allocation that was refused
    failure: Failure | None = None  # for which the worker ends the child
    exit_status: int = 0
    largest_process_bytes: int = 0  # most resident memory of a process of its that was waited for; when it has ended
    left_behind: int = 0  # number of processes
    is_sent: bool = False  # whether the driver has the outcome
    faults: list[str] = field(default_factory=list)  # sentences on what cost the run nothing
    disturbance: str = ""  # what was done to the child or to the worker from outside, in words

    @property
    def to_certify(self) -> messages.ToCertify:
        """What is to be certified of the run: of the child's result the model alone, the rest as it was observed."""
        solved = messages.ToCertify() if self.result is None else self.result.solved
        return msgspec.structs.replace(solved, points=self.points, queried=self.server.queried, cells=self.cells)

    @property
    def compiled(self) -> float:
        """The seconds of compilation in this phase, up to now."""
        return self.compiled_before + (monotonic() - self.compiling_since if self.compiling_since else 0.0)

    @property
    def deadline(self) -> float:
        """The time of ``monotonic()`` at which this phase has to be over; infinity if it has no limit.

        Time that other work took from the child is added; it is computed only when the phase would already be over.
        """
        limit, elapsed = self.spec.limits.time_limit, monotonic() - self.phase_began
        most = _PHASES[self.phase][0](limit)
        if self.phase is Phase.WARM_UP:
            most += min(self.compiled, allowed.compilation(limit))
        if self.phase is Phase.FIT and limit is not None:
            most += min(self.server.seconds, limit)
        if elapsed > most:
            usage = self.usage.since(self.usage_began)
            most += allowed.lost(limit, self.spec.threads, usage.delay_seconds, elapsed, usage.cpu_seconds)
        return self.phase_began + most

    def note(self, message: messages.FromChild, channel: Channel) -> None:
        """Take in a message of the child, which came over the ``channel``."""
        match message:
            case messages.Compiling(on=True):
                self.compiling_since = self.compiling_since or monotonic()
            case messages.Compiling():
                self.compiled_before, self.compiling_since = self.compiled, None
            case messages.Warm():
                self.warm = message
                self._enter(Phase.START)
            case messages.PhaseBegan(phase):
                self._enter(phase)
            case messages.Point():
                self.points.append(msgspec.structs.replace(message, queried=len(self.server.queried)))
                self.host_seconds = message.host_seconds
            case messages.FinishedCell():
                self.cells.append(message)
                self.host_seconds = message.host_seconds
            case messages.RunResult():
                self.end_fit()
                self.result = message
            case messages.TargetRequest():
                self.server.serve(message, channel)

    def _enter(self, phase: Phase) -> None:
        if phase <= self.phase:  # no phase begins twice, whatever the child says
            return
        self.end_fit()
        self.sample(memory=phase is Phase.REPEAT)
        if phase is Phase.FIT:
            self.peak_bytes = 0  # what the process took before is no part of the run
        if phase is Phase.REPEAT:
            self.peak_bytes = max(self.peak_bytes, self.usage.high_water_bytes)
        self.phase, self.phase_began, self.compiled_before, self.usage_began = phase, monotonic(), 0.0, self.usage

    def end_fit(self) -> None:
        """Note what the fit took, if it is what ends now."""
        if self.phase is not Phase.FIT or self.fit_seconds is not None:
            return
        self.sample(memory=False)
        compiled, usage = self.compiled, self.usage.since(self.usage_began)
        self.fit_seconds = monotonic() - self.phase_began - compiled
        self.fit_usage = usage._replace(cpu_seconds=max(0.0, usage.cpu_seconds - compiled))

    def sample(self, *, memory: bool = True) -> None:
        """Look at what the child and all that it started take; their memory is what takes longest."""
        limit = math.inf if self.spec.limits.memory_limit is None else self.spec.limits.memory_limit
        self.usage, self.sampled = self.take_sample(limit if memory else None), monotonic()
        if self.phase is not Phase.REPEAT:
            self.peak_bytes = max(self.peak_bytes, self.usage.memory_bytes)

    def read_output(self, output: int) -> bool:
        """Read once what the child printed; return whether there is more to come."""
        try:
            data = os.read(output, _PIPE_BYTES)
        except OSError:  # there is nothing to be read
            return False
        self.output_bytes += len(data)
        self.refusal = _refused_allocation(self.output_end[-_LINE_CHARACTERS:] + data) or self.refusal
        self.output_end = (self.output_end + data)[-_OUTPUT_CHARACTERS:]
        return bool(data)

    def read_messages(self, channel: Channel) -> None:
        """Take in what the child sent."""
        try:
            for message in channel.read():
                self.note(message, channel)
        except BrokenStream as error:
            self.failure = _fault(f"the solver's process wrote to a descriptor that is not its own: {error}; killed")

    def excess(self) -> Failure | None:
        """Return the failure by the limit that is passed; None if none is."""
        if monotonic() - self.sampled >= _POLL_SECONDS:
            self.sample()
            if self.spec.limits.memory_limit is not None and self.usage.memory_bytes > self.spec.limits.memory_limit:
                reason = f"its memory passed the limit of {self.spec.limits.memory_limit / 2**20:g} MB; killed"
                return Status.MEMORY, StoppedBy.MEMORY, reason
        if (wall := monotonic()) <= self.deadline:
            return None
        limit, (seconds, doing) = self.spec.limits.time_limit, _PHASES[self.phase]
        if self.phase in (Phase.WARM_UP, Phase.START):
            stopped_by, reason = StoppedBy.PREPARATION, f"still {doing} after its limit of {seconds(limit):g} s; killed"
        else:
            stopped_by, at = StoppedBy.TIME, f"the time limit of {limit or 60.0:g} s"
            reason = f"still {doing} at {at}; killed after {wall - self.phase_began:.1f} s"
        if self.compiled > 0.1:
            reason += f", {self.compiled:.1f} s of them compiling; compile in warm_ups()"
        return Status.TIMEOUT, stopped_by, reason

    def peak_at_limit(self) -> str:
        """Return a sentence if the run's memory was at its limit, so that an allocation was refused; empty if it was not.

        A library in C may end by a signal then, and a program without a word.
        """
        limit = self.spec.limits.memory_limit or math.inf
        peak = max(self.peak_bytes, self.usage.high_water_bytes, self.largest_process_bytes)
        if peak < _AT_LIMIT_SHARE * limit:
            return ""
        return f"its memory had reached {peak / 2**20:.0f} MB, and the limit is {limit / 2**20:g} MB"


def watch(child: Child, observed: Observed, control: Channel, busy: Callable[[float], None]) -> None:
    """Wait until a child has sent its result, ends or passes a limit. It is ended by :func:`finish`.

    control : the channel to the driver
    busy : called with the time of ``monotonic()`` at which the phase that a run is in has to be over

    Raises
    ------
    DriverGone : nobody is left to hear of this run.
    """
    with selectors.DefaultSelector() as selector:
        for fd in (child.channel.fileno(), child.output, control.fileno(), child.handle):
            selector.register(fd, selectors.EVENT_READ)
        while not (child.channel.closed or observed.failure or observed.result):
            busy(observed.deadline)
            ready = {key.fd for key, _ in selector.select(_POLL_SECONDS)}
            if child.channel.fileno() in ready:
                observed.read_messages(child.channel)
            if child.output in ready and not observed.read_output(child.output):
                selector.unregister(child.output)
            if child.handle in ready:
                break
            if control.fileno() in ready:
                with contextlib.suppress(BlockingIOError):
                    if control.end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
                        raise DriverGone
                selector.unregister(control)  # the next request waits until this run is over
            if not observed.disturbance and continue_if_stopped(child.pid):
                observed.disturbance = "its process was stopped"
                observed.faults.append("its process was stopped from outside, and continued by the host")
            if not observed.failure and observed.result is None:
                observed.failure = observed.excess()
    observed.end_fit()
    observed.sample()
    if observed.result is not None:  # the child waits
        observed.read_output(child.output)
        others = observed.usage.others
        observed.left_behind = len(others) - len(trackers_of(others))


def finish(child: Child, observed: Observed, descendants: Descendants) -> None:
    """End a child and all that it started, and read what it had to say."""
    child.channel.shutdown(socket.SHUT_WR)  # lets it end
    if observed.failure:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGTERM)
    if not select.select([child.handle], [], [], _TERM_SECONDS if observed.failure else _EXIT_SECONDS)[0]:
        signal_to(child.pid, signal.SIGKILL)
        if observed.result is None and not observed.failure:
            what = "closed a descriptor that is not its own, or became another program, and went on"
            observed.failure = _fault(f"the solver's process {what}; killed")
    _, status, used = os.wait4(child.pid, 0)
    observed.exit_status = os.waitstatus_to_exitcode(status)
    observed.largest_process_bytes = 1024 * used.ru_maxrss - descendants.least_mapped
    observed.left_behind = max(observed.left_behind, descendants.end())
    # what is in the pipes now; what comes later is not the child's
    observed.read_output(child.output)
    received = -1
    while received < child.channel.received and not (observed.result or observed.failure):
        received = child.channel.received
        observed.read_messages(child.channel)
    child.channel.close()
    os.close(child.output)
    os.close(child.handle)


def outcome_claims(observed: Observed) -> Claims:
    """Return the outcome of a child: its claims where they are plausible, else how its process ended."""
    result, usage, output = observed.result, observed.fit_usage, observed.output_end.decode(errors="replace")
    claims = Claims(measured_at=now()) if result is None else result.claims
    claims.sources = claims.sources or (observed.warm.sources if observed.warm else {})
    failure = _failure(observed)
    if failure is not None:
        claims.status, claims.stopped_by, claims.reason = failure
    claims.faults = [*(claims.faults or []), *observed.faults]
    if output.strip():
        claims.output = "\n".join(filter(None, [claims.output, output]))
    is_fault = claims.status in (Status.ERROR, Status.CRASHED) and claims.stopped_by is StoppedBy.FAULT
    refused = observed.refusal or _refused_allocation((claims.output or "").encode(errors="replace"))
    evidence = refused or observed.peak_at_limit()
    if is_fault and evidence and not observed.failure and (failure is None or result is None):
        claims.status, claims.stopped_by = Status.MEMORY, StoppedBy.MEMORY
        claims.reason = f"out of memory: {evidence}; {claims.reason}"
    if claims.stopped_by is StoppedBy.TIME and (reason := _disturbed(observed)):
        claims.status, claims.reason = Status.ENVIRONMENT, reason
    if claims.status in FAILED and observed.disturbance:
        claims.blame_environment(observed.disturbance)
    high_water = observed.usage.high_water_bytes if observed.phase in (Phase.FIT, Phase.END) else 0
    claims.peak_rss_bytes = max(observed.peak_bytes, high_water) or None
    if result is None and observed.phase is Phase.FIT:
        claims.killed_cpu_seconds = max(0.0, usage.cpu_seconds - observed.host_seconds)
    if claims.cpu_seconds is not None:
        claims.cpu_seconds += usage.unseen_cpu_seconds
        if claims.fit_seconds is not None and observed.spec.threads == 1 and observed.usage.delay_seconds:
            claims.waited_seconds = max(0.0, claims.fit_seconds - claims.cpu_seconds - usage.delay_seconds)
    return claims


def _failure(observed: Observed) -> Failure | None:
    """Return the failure of a child that did not end as it should have; None if it did."""
    if observed.failure:
        return observed.failure
    if observed.result is None:
        code = observed.exit_status
        lines = [line.strip() for line in observed.output_end.decode(errors="replace").splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith("Fatal Python error")]
        reason = f"ended by signal {-code} ({exit_words(code)})"
        if code >= 0:
            reason = f"exited with code {code} without a result"
        who = StoppedBy.KILLED if code == -signal.SIGKILL else StoppedBy.FAULT
        return Status.CRASHED, who, ": ".join([reason, *(line[:_LINE_CHARACTERS] for line in (fatal or lines)[-1:])])
    if observed.left_behind:
        return _fault(f"left {observed.left_behind} child process{'es' * (observed.left_behind > 1)} behind")
    if observed.output_bytes > _OUTPUT_LIMIT:
        size = f"{observed.output_bytes / 1e6:.1f} MB"
        return _fault(f"printed {size}; a solver must not print (at most 1 MB is tolerated)")
    return None


def _disturbed(observed: Observed) -> str:
    """Return the sentence on a run that was cut at its time limit and could not use it; empty if it could."""
    limit, seconds, usage = observed.spec.limits.time_limit or 0.0, observed.fit_seconds or 0.0, observed.fit_usage
    delayed = allowed.delayed(observed.spec.threads, usage.delay_seconds, seconds, usage.cpu_seconds)
    if not allowed.was_disturbed(limit, seconds, delayed):
        return ""
    cut = f"cut at the time limit of {limit:g} s after {usage.cpu_seconds:.2g} s of CPU time in {seconds:.2g} s"
    return f"{cut}: the machine was busy; {MEASURED_AGAIN}"


def exit_words(code: int) -> str:
    """Return the name of the signal that ended a process, or its exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    return signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"


def _fault(reason: str) -> Failure:
    return Status.ERROR, StoppedBy.FAULT, reason


def _refused_allocation(output: bytes) -> str:
    """Return the last line of an output that says that an allocation was refused; empty if none does."""
    lines = _OUT_OF_MEMORY.findall(output.decode(errors="replace"))
    return lines[-1][:_LINE_CHARACTERS] if lines else ""
