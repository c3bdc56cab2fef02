"""A plugin for the campaign: a solver that does what the plugins of the tests do not, at a place of its run."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter

HOSTILE = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\udcff\u202e | `;rm -rf ~` {0} %s \r\n[bold]"
WARM_UP_POINTS = 40
PLACES = ("warm-up", "first", "middle", "end")
KEPT = []


def raised(error):
    raise error


def deep():
    deep()


def exhausted():
    with contextlib.suppress(OSError):
        while True:
            KEPT.append(os.open("/dev/null", os.O_RDONLY))


def printed():
    for number in (1, 2):
        os.write(number, HOSTILE.encode(errors="replace"))


def catching():
    until = time.monotonic() + 150.0
    while time.monotonic() < until:
        with contextlib.suppress(BaseException):
            time.sleep(0.2)


def deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    time.sleep(150.0)


def deaf_daemon():
    if os.fork():
        return
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        deaf()
    os._exit(0)


class Mute(Exception):
    def __str__(self):
        return str(1 / 0)

    __repr__ = __str__


DEEDS = {
    "raise-hostile": lambda: raised(RuntimeError(HOSTILE)),
    "raise-huge": lambda: raised(RuntimeError("x" * 100_000_000)),
    "raise-base": lambda: raised(type("Hostile", (BaseException,), {})("base")),
    "raise-interrupt": lambda: raised(KeyboardInterrupt()),
    "raise-mute": lambda: raised(Mute()),
    "raise-deep": deep,
    "segfault": lambda: ctypes.string_at(0),
    "sleep": lambda: time.sleep(150.0),
    "sleep-in-c": lambda: ctypes.PyDLL(None).sleep(150),
    "spin-catching": catching,
    "spin-deaf": deaf,
    "kill-itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "kill-parent": lambda: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(5.0)),
    "print-hostile": printed,
    "print-much": lambda: [sys.stdout.write("spam " * 20_000) for _ in range(1000)],
    "leave-deaf-daemon": deaf_daemon,
    "empty-environment": os.environ.clear,
    "close-descriptors": lambda: os.closerange(3, 256),
    "close-output": lambda: os.closerange(0, 3),
    "exhaust-descriptors": exhausted,
    "change-folder": lambda: os.chdir("/"),
    "change-umask": lambda: os.umask(0o777),
}


@dataclass(frozen=True)
class Bad(Solver):
    """Does what it should not."""

    name = "bad"
    solves = (CSVC,)
    deed: str = parameter("sleep", "what it does")
    where: str = parameter("first", "in a warm-up, or before, between or after the iterates of a run")

    def iterates(self, problem, rng):
        places = ("warm-up",) * 3 if problem.n <= WARM_UP_POINTS else PLACES[1:]
        for step, place in enumerate(places):
            if place == self.where:
                DEEDS[self.deed]()
            if step < 2:
                yield Iterate(dual_coef=np.zeros(problem.n), done=step == 1)


@hookimpl
def harness_solvers():
    return [Bad]
