"""A plugin for the campaign: a solver that does what the plugins of the tests do not, at a place of its run."""

import contextlib  # noqa: F401  the deeds use it, as they use the other modules
import ctypes  # noqa: F401
import os  # noqa: F401
import signal  # noqa: F401
import sys  # noqa: F401
import time  # noqa: F401
from dataclasses import dataclass

import numpy as np

from harness import CSVC, Iterate, Solver, hookimpl, parameter

HOSTILE = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\udcff\u202e | `;rm -rf ~` {0} %s \r\n[bold]"
WARM_UP_POINTS = 40
PLACES = ("warm-up", "first", "middle", "end")
KEPT = []
_DEAF = (
    "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}); time.sleep(150)"
)
DEEDS = {
    "raise-hostile": "raise RuntimeError(HOSTILE)",
    "raise-huge": "raise RuntimeError('x' * 100_000_000)",
    "raise-base": "raise type('Hostile', (BaseException,), {})('base')",
    "raise-interrupt": "raise KeyboardInterrupt",
    "raise-mute": "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0, '__repr__': lambda self: 1 / 0})",
    "raise-deep": "exec(DEEDS['raise-deep'])",
    "segfault": "ctypes.string_at(0)",
    "sleep": "time.sleep(150)",
    "sleep-in-c": "ctypes.PyDLL(None).sleep(150)",
    "spin-catching": "until = time.monotonic() + 150\nwhile time.monotonic() < until:\n"
    "    with contextlib.suppress(BaseException): time.sleep(0.2)",
    "spin-deaf": _DEAF,
    "kill-itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "kill-parent": "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(5)",
    "print-hostile": "for number in (1, 2): os.write(number, HOSTILE.encode(errors='replace'))",
    "print-much": "for _ in range(1000): sys.stdout.write('spam ' * 20_000)",
    "leave-deaf-daemon": "if not os.fork():\n    os.setsid()\n    if not os.fork():\n        os.closerange(0, 256)\n"
    f"        {_DEAF}\n    os._exit(0)",
    "empty-environment": "os.environ.clear()",
    "close-descriptors": "os.closerange(3, 256)",
    "close-output": "os.closerange(0, 3)",
    "exhaust-descriptors": "with contextlib.suppress(OSError):\n    while True: KEPT.append(os.open('/dev/null', os.O_RDONLY))",
    "change-folder": "os.chdir('/')",
    "change-umask": "os.umask(0o777)",
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
                exec(DEEDS[self.deed], globals())
            if step < 2:
                yield Iterate(dual_coef=np.zeros(problem.n), done=step == 1)


@hookimpl
def harness_solvers():
    return [Bad]
