"""Ways in which a solver deceives, or slips: what the host promises against each is in the tests beside this folder.

All but the last few are ways of one solver, which its warm process carries out one after another.
"""

import contextlib
import ctypes
import inspect
import os
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np

from harness import Certificate, CSVCNoBias, Iterate, Solver, get_solver, hookimpl, parameter
from harness.run.messages import RunResult
from harness.run.record import Claims

WARM_UP_POINTS = 40
BEFORE, AT_END, INSTEAD = (
    {},
    {},
    {},
)  # functions of this file by way: those of (problem), (problem, last), (problem, own)


@dataclass(frozen=True)
class Cheat(Solver):
    """An exact solver's model; what it does before it, at its end or instead, its way says."""

    name = "cheat"
    solves = (CSVCNoBias,)
    way: str = parameter("", "of deceiving; honest, or none, has no deceit")

    def iterates(self, problem, rng):
        yield from INSTEAD.get(self.way, lambda problem, own: own)(problem, self.own(problem, rng))

    def own(self, problem, rng):
        if self.way in BEFORE and problem.n > WARM_UP_POINTS:
            BEFORE[self.way](problem)
        coef = get_solver("smo").solve(problem).dual_coef
        last = Iterate(dual_coef=coef, done=True)
        if self.way in AT_END and problem.n > WARM_UP_POINTS:
            AT_END[self.way](problem, last)
        yield last


# -- before the work ---------------------------------------------------------------------------------------


def doubles_box(problem):
    problem.upper = problem.upper * 2


def flips_target(problem):
    problem.targets.flags.writeable = True
    problem.targets[0] *= -1


def forces_target(problem):
    """By the address of the memory: nothing in Python prevents that."""
    ctypes.c_double.from_address(problem.targets.__array_interface__["data"][0]).value *= -1


def forces_points(problem):
    ctypes.c_double.from_address(problem.kernel.points.__array_interface__["data"][0]).value += 5.0


def patches_clock(problem):
    time.perf_counter = lambda: -6811.0
    time.process_time = lambda: -6811.0
    time.sleep(0.3)


def patches_certificate(problem):
    """Makes every certificate of its process a perfect one."""
    perfect = Certificate(primal=0.0, dual=0.0, gap=0.0, relative_gap=0.0, feasibility_violation=0.0)
    type(problem).certificate = lambda *_: perfect
    type(problem).checked = lambda self, coef, intercept, **_: (np.asarray(coef), float(intercept))


def written(descriptors, text=b"DEBUG: iteration 5 done\n"):
    for fd in descriptors:
        with contextlib.suppress(OSError):
            os.write(fd, text)


def stray_writes(problem):
    """Writes into descriptors it does not own, as a C library with a double close does."""
    written(range(3, 40))


def junk(problem):
    written(sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2))


def certifies(problem):
    """Has the scores of all points computed by the method that the host certifies with, five times."""
    coef = np.where(np.arange(problem.n) < 20, 0.01 * problem.targets, 0.0)
    for _ in range(5):
        problem.certify(coef, 0.0)


def disk_full(problem):
    raise OSError(28, "No space left on device")


def wraps_wrong(problem):
    """Hands its problem to a solver of another formulation and passes on what it says."""
    get_solver("fw").solve(problem)


def emitter():
    """Return the function that sends messages from this process, found on the stack."""
    frame = sys._getframe()
    while "emit" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["emit"]


def forges_result(problem):
    """Sends a result of its own, without a model."""
    emitter()(RunResult(Claims(status="ok", stopped_by="solver", fit_seconds=0.0)))
    time.sleep(60)


def forges_kinds(problem):
    """Sends a message whose parts are none."""
    emitter()(RunResult([1, 2]))
    time.sleep(60)


def execs(problem):
    os.execv("/bin/sleep", ["sleep", "60"])


# -- at the end --------------------------------------------------------------------------------------------


def ends_with(name, field, value):
    """A way whose last iterate has another value in a field; ``value`` makes it of the problem and the iterate."""
    AT_END[name] = lambda problem, last: setattr(last, field, value(problem, last))


ends_with("patches-certificate", "dual_coef", lambda problem, last: np.zeros(problem.n))
ends_with("infeasible-unseen", "dual_coef", lambda problem, last: 5.0 * problem.targets * problem.upper)
ends_with("complex", "dual_coef", lambda problem, last: last.dual_coef * (1 + 0.5j))
ends_with("text", "dual_coef", lambda problem, last: np.array(["0"] * problem.n))
ends_with("working-set-list", "working_set", lambda problem, last: np.flatnonzero(last.dual_coef).tolist())
ends_with("small-core", "working_set", lambda problem, last: 3)
ends_with("step-huge", "step", lambda problem, last: 10**400)
ends_with("long-info", "info", lambda problem, last: {f"text {i}": "x" * 4000 for i in range(20_000)})  # 80 MB
ends_with("info-list", "info", lambda problem, last: [1, 2])


def patches_counter(problem, last):
    problem.kernel.counter.__dict__["evaluations"] = -(10**18)


def ends_quietly(problem, last):
    last.done = False
    last.info = {"stopped": "stalled: no pair is left"}


def surrogate(problem, last):
    raise ValueError(f"no model in {os.fsdecode(b'/data/m' + bytes([255]) + b'.bin')} \x1b[31mred\x1b[0m")


def strange_info(problem, last):
    own = []
    own.append(own)
    last.info = {"\udcff\x00": "b\udcff", "huge": 10**5000, "own": own, "nan": float("nan"), "class": object}


# -- instead of the work -----------------------------------------------------------------------------------


def closes_slowly(problem, own):
    """Takes its time when its generator is closed: on no clock, and no lie."""
    try:
        yield from own
    finally:
        time.sleep(1.5 if problem.n > WARM_UP_POINTS else 0.0)


def wide_info(problem, own):
    """Says much with every yield, more than a record holds of all its points."""
    info = {f"figure {i}": i for i in range(30_000)}
    if problem.n > WARM_UP_POINTS:
        for size in range(problem.n):
            problem.kernel.block(np.arange(size))
            yield Iterate(dual_coef=np.zeros(problem.n), info=info)
    yield from own


def intercept_text(problem, own):
    """A model of weights whose intercept is a text that could be a number."""
    yield Iterate(weights=np.zeros(problem.kernel.n_features), intercept="0", done=True)


# -- off the clock -----------------------------------------------------------------------------------------


class Lazy:
    """An array that is computed when it is looked at."""

    def __init__(self, coef):
        self.coef = coef

    def __array__(self, dtype=None, copy=None):
        time.sleep(0.3)
        return self.coef


ends_with("lazy", "dual_coef", lambda problem, last: Lazy(last.dual_coef))
ends_with("listed", "dual_coef", lambda problem, last: last.dual_coef.tolist())
ends_with("objects", "dual_coef", lambda problem, last: last.dual_coef.astype(object))


class LateIterate(Iterate):
    """What it holds could be code."""


def subclass(problem, own):
    for last in own:
        yield LateIterate(dual_coef=last.dual_coef, done=True)


def pool_at_yield(problem, own):
    """An honest mistake: processes that are waited for when all is over, when no clock counts what they did."""
    from multiprocessing import get_context

    pool = get_context("fork").Pool(1)
    try:
        if problem.n > WARM_UP_POINTS:
            pool.apply(spin, (0.4,))
        yield from own
    finally:
        pool.terminate()
        pool.join()


def spin(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def thread_at_end(problem):
    """A thread that goes on for a while after the last model: it changes nothing."""
    threading.Thread(target=spin, args=(1.0,)).start()


def compiles_late(problem):
    from numba.core.event import end_event, start_event

    start_event("numba:compiler_lock")
    time.sleep(0.3)
    end_event("numba:compiler_lock")


# -- before the host calls it ------------------------------------------------------------------------------


class SkipSolves(Cheat):
    name = "skip-solves"

    def skip(self, problem):
        (*_, last) = self.own(problem, np.random.default_rng(0))
        return None if last.done else "no"


class SkipRaises(Cheat):
    name = "skip-raises"

    def skip(self, problem):
        return str(1 / 0)


class SkipTrue(Cheat):
    name = "skip-true"

    def skip(self, problem):
        return True


class InitRaises(Cheat):
    name = "init-raises"

    def __post_init__(self):
        raise ValueError("epochs and passes exclude each other")


class LabelRaises(Cheat):
    name = "label-raises"

    @property
    def label(self):
        return str(1 / 0)


for name, function in list(vars().items()):
    if inspect.isfunction(function):
        parameters = tuple(inspect.signature(function).parameters)
        table = {("problem",): BEFORE, ("problem", "last"): AT_END, ("problem", "own"): INSTEAD}.get(parameters, {})
        table[name.replace("_", "-")] = function
BEFORE["infeasible-unseen"] = patches_certificate


@hookimpl
def harness_solvers():
    return [Cheat, SkipSolves, SkipRaises, SkipTrue, InitRaises, LabelRaises]
