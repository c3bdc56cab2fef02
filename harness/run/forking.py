"""Fork a child that carries out one run: its pipes, its folder, its memory limit, and whose child it stays."""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from os import getpid  # by name: what a solver patches later is not this function

from harness.machine import status_bytes
from harness.run.messages import SECRET_BYTES, BrokenStream, Message, Reader, send
from harness.run.parenthood import at_parents_end
from harness.run.place import Place

_PIPE = 200  # a descriptor above those that a solver's stray writes and double closes hit


@dataclass
class Child:
    """A forked process: its pid, our ends of its pipes, the secret that messages begin with, and where it works."""

    pid: int
    messages: int
    output: int
    answers: int
    secret: bytes
    place: Place

    def release(self) -> None:
        """Let it end: when it has said all it waits for this, so that what it leaves behind can be looked at."""
        if self.answers >= 0:
            os.close(self.answers)
            self.answers = -1

    def close(self) -> None:
        """Close our ends of its pipes."""
        self.release()
        for fd in (self.messages, self.output):
            os.close(fd)


def fork(
    body: Callable[[Callable[[Message], None], Callable[[], Message]], None],
    place: Place,
    *,
    hidden: tuple[int, ...] = (),
) -> Child:
    """Fork a child that runs ``body(emit, receive)``.

    emit, receive : send a message to this process, and wait for one from it
    place : begun for this run
    hidden : descriptors it does not get, those that lead to the driver
    """

    def emit(message: Message) -> None:
        if getpid() != own:
            raise BrokenStream("a process that the solver forked went on with the run; its result is nobody's")
        send(pipe, message, secret)

    def receive() -> Message:
        while not answers.closed:
            for message in answers.read():
                return message
        raise BrokenStream("the worker ended before it answered")

    messages_out, messages_in = os.pipe()
    output_out, output_in = os.pipe()
    answers_out, answers_in = os.pipe()
    secret = os.urandom(SECRET_BYTES)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(messages_in)
        os.close(output_in)
        os.close(answers_out)
        os.set_blocking(answers_in, False)  # who does not read what it asked for does not hold us up
        return Child(pid, messages_out, output_out, answers_in, secret, place)
    status, own = 1, getpid()
    try:
        os.setsid()
        at_parents_end(signal.SIGKILL)
        for fd in (messages_out, output_out, answers_in, *hidden):
            os.close(fd)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output_in, 1)
        os.dup2(output_in, 2)
        os.close(output_in)
        pipe = fcntl.fcntl(messages_in, fcntl.F_DUPFD_CLOEXEC, _PIPE)
        os.close(messages_in)
        answers = Reader(fcntl.fcntl(answers_out, fcntl.F_DUPFD_CLOEXEC, _PIPE), secret)
        os.close(answers_out)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        faulthandler.enable(file=2)
        place.enter()
        body(emit, receive)
        with contextlib.suppress(OSError):
            os.read(answers.fd, 1)
        status = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(status)


def limit_memory(limit: int | None) -> None:
    """Bound this process's private data so that its resident memory can grow to ``limit`` bytes; None: lift the bound."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if limit is None:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return
    reserved, resident = status_bytes("VmData") or 0, status_bytes("VmRSS") or 0
    bound = reserved + max(0, limit - resident)
    resource.setrlimit(resource.RLIMIT_DATA, (bound if hard == resource.RLIM_INFINITY else min(bound, hard), hard))
