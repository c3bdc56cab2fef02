"""Solvers that deceive, or slip, one way each: what the host promises against each is in the tests beside this folder."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from harness import CSVCNoBias, Iterate, Problem, Solver, get_solver, hookimpl
from harness.run.messages import Fitted

WARM_UP_POINTS = 40


@dataclass(frozen=True)
class Honest(Solver):
    """Coordinate ascent, to a small gap; subclasses deceive before it, or at its end."""

    name = "honest"
    solves = (CSVCNoBias,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        if problem.n > WARM_UP_POINTS:
            self.before(problem)
        y, upper, diagonal = problem.targets, problem.upper, problem.kernel.diagonal()
        coef, scores = np.zeros(problem.n), np.zeros(problem.n)
        for _ in range(40):
            for i in rng.permutation(problem.n):
                best = coef[i] + (y[i] - scores[i]) / diagonal[i]
                step = y[i] * np.clip(y[i] * best, 0.0, upper[i]) - coef[i]
                if step != 0.0:
                    scores += step * problem.kernel.row(i)
                    coef[i] += step
        last = Iterate(dual_coef=coef, done=True)
        if problem.n > WARM_UP_POINTS:
            self.end(problem, last)
        yield last

    def before(self, problem: Problem) -> None:
        return None

    def end(self, problem: Problem, last: Iterate) -> None:
        return None


class DoublesBox(Honest):
    name = "doubles-box"

    def before(self, problem: Problem) -> None:
        problem.upper = problem.upper * 2


class FlipsTarget(Honest):
    name = "flips-target"

    def before(self, problem: Problem) -> None:
        problem.targets.flags.writeable = True
        problem.targets[0] *= -1


class FlipsBase(Honest):
    """Through the owner of the memory, if an array owns it."""

    name = "flips-base"

    def before(self, problem: Problem) -> None:
        owner = problem.targets.base
        owner.flags.writeable = True
        owner[0] *= -1


class ForcesTarget(Honest):
    """By the address of the memory: nothing in Python prevents that."""

    name = "forces-target"

    def before(self, problem: Problem) -> None:
        import ctypes

        address = problem.targets.__array_interface__["data"][0]
        ctypes.c_double.from_address(address).value *= -1


class ReplacesDict(Honest):
    name = "replaces-dict"

    def before(self, problem: Problem) -> None:
        vars(problem)["upper"] = problem.upper * 2


class ForcesPoints(Honest):
    name = "forces-points"

    def before(self, problem: Problem) -> None:
        import ctypes

        address = problem.kernel.points.__array_interface__["data"][0]
        ctypes.c_double.from_address(address).value += 5.0


class PatchesClock(Honest):
    name = "patches-clock"

    def before(self, problem: Problem) -> None:
        time.perf_counter = lambda: -6811.0
        time.process_time = lambda: -6811.0
        time.sleep(0.3)


class PatchesDrive(Honest):
    """Patches the host's own names for the clocks."""

    name = "patches-drive"

    def before(self, problem: Problem) -> None:
        import harness.measure.compilation as compilation

        compilation.perf_counter = lambda: -6811.0


class SlowsClock(Honest):
    """Lets the host's clock run at a hundredth of its speed while it works."""

    name = "slows-clock"

    def before(self, problem: Problem) -> None:
        import harness.measure.compilation as compilation

        true, began = time.perf_counter, time.perf_counter()
        compilation.perf_counter = lambda: began + 0.01 * (true() - began)
        while time.process_time() < 2.5 or true() - began < 2.0:
            np.linalg.norm(np.ones(1000))


class PatchesCounter(Honest):
    name = "patches-counter"

    def end(self, problem: Problem, last: Iterate) -> None:
        problem.kernel.counter.__dict__["evaluations"] = -(10**18)


class LowersCounter(Honest):
    name = "lowers-counter"

    def end(self, problem: Problem, last: Iterate) -> None:
        problem.kernel.counter.evaluations = 0


class PatchesCertificate(Honest):
    """Returns the zero model and makes every certificate of its process a perfect one."""

    name = "patches-certificate"

    def before(self, problem: Problem) -> None:
        from harness import Certificate

        perfect = Certificate(primal=0.0, dual=0.0, gap=0.0, relative_gap=0.0, feasibility_violation=0.0)
        type(problem).certificate = lambda *_: perfect
        type(problem).checked = lambda self, coef, intercept, **_: (np.asarray(coef), float(intercept))

    def end(self, problem: Problem, last: Iterate) -> None:
        last.dual_coef = np.zeros(problem.n)


class Infeasible(PatchesCertificate):
    name = "infeasible-unseen"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.dual_coef = 5.0 * problem.targets * problem.upper


class StrayWrites(Honest):
    """Writes into descriptors it does not own, as a C library with a double close does."""

    name = "stray-writes"

    def before(self, problem: Problem) -> None:
        for fd in range(3, 40):
            try:
                os.write(fd, b"DEBUG: iteration 5 done\n")
            except OSError:
                continue


class Junk(Honest):
    """Writes into every descriptor there is."""

    name = "junk"
    text = b"DEBUG: iteration 5 done\n"

    def before(self, problem: Problem) -> None:
        for fd in sorted(int(name) for name in os.listdir("/proc/self/fd")):
            try:
                if fd > 2:
                    os.write(fd, self.text)
            except OSError:
                continue


class ForgesRow(Junk):
    name = "forges-row"
    text = b'{"event": "record", "record": {"status": "ok", "relative_gap": 0.0, "test_accuracy": 1.0}}\n'


class EndsQuietly(Honest):
    name = "ends-quietly"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.done = False
        last.info = {"stopped": "stalled: no pair is left"}


class CoreList(Honest):
    """The indices instead of their number."""

    name = "working-set-list"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.working_set = np.flatnonzero(last.dual_coef).tolist()


class StepText(Honest):
    name = "step-text"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.step = "epoch 3"


class StepHuge(Honest):
    name = "step-huge"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.step = 10**400


class Surrogate(Honest):
    name = "surrogate"

    def end(self, problem: Problem, last: Iterate) -> None:
        raise ValueError(f"no model in {os.fsdecode(b'/data/m' + bytes([255]) + b'.bin')} \x1b[31mred\x1b[0m")


class Complex(Honest):
    name = "complex"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.dual_coef = last.dual_coef * (1 + 0.5j)


class Text(Honest):
    name = "text"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.dual_coef = np.array(["0"] * problem.n)


class StrangeInfo(Honest):
    name = "strange-info"

    def end(self, problem: Problem, last: Iterate) -> None:
        own: list = []
        own.append(own)
        last.info = {"\udcff\x00": "b\udcff", "huge": 10**5000, "own": own, "nan": float("nan"), "class": object}


class SkipRaises(Honest):
    name = "skip-raises"

    def skip(self, problem: Problem) -> str | None:
        return str(1 / 0)


class SkipTrue(Honest):
    name = "skip-true"

    def skip(self, problem: Problem) -> str | None:
        return True


class DiskFull(Honest):
    name = "disk-full"

    def before(self, problem: Problem) -> None:
        raise OSError(28, "No space left on device")


class InitRaises(Honest):
    name = "init-raises"

    def __post_init__(self) -> None:
        raise ValueError("epochs and passes exclude each other")


class LabelRaises(Honest):
    name = "label-raises"

    @property
    def label(self) -> str:
        return str(1 / 0)


class WrapsWrong(Honest):
    """Hands its problem to a solver of another formulation and passes on what it says."""

    name = "wraps-wrong"

    def before(self, problem: Problem) -> None:
        get_solver("fw").solve(problem)


class ClaimsGap(Honest):
    """A model of weights has no gap; the host's own function in this process says that it has one, and of other data."""

    name = "claims-gap"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        import harness.run.execute as execute

        if problem.n > WARM_UP_POINTS:
            said = {"relative_gap": 0.0, "train_accuracy": 1.0, "dataset": "elsewhere", "key": "of another run"}
            execute.now = lambda: said
        yield Iterate(weights=np.zeros(problem.kernel.n_features), done=True)


def emitter():
    """Return the function that sends messages from this process, found on the stack."""
    frame = sys._getframe()
    while "emit" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["emit"]


class ForgesResult(Honest):
    """Sends a result of its own, without a model."""

    name = "forges-result"

    def before(self, problem: Problem) -> None:
        emitter()(Fitted({"status": "ok", "stopped_by": "solver", "fit_seconds": 0.0, "relative_gap": 0.0}))
        time.sleep(60)


class ForgesKinds(Honest):
    """Sends a message whose parts are none."""

    name = "forges-kinds"

    def before(self, problem: Problem) -> None:
        forged = Fitted({})
        vars(forged)["claims"] = [1, 2]
        emitter()(forged)
        time.sleep(60)


class ForksOn(Honest):
    """Goes on in a process of its own making."""

    name = "forks-on"

    def before(self, problem: Problem) -> None:
        if os.fork():
            os._exit(0)


class Execs(Honest):
    name = "execs"

    def before(self, problem: Problem) -> None:
        os.execv("/bin/sleep", ["sleep", "60"])


class Segfaults(Honest):
    name = "segfaults"

    def before(self, problem: Problem) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class ClosesSlowly(Honest):
    """Takes its time when its generator is closed: on no clock, and no lie."""

    name = "closes-slowly"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        try:
            yield from super().iterates(problem, rng)
        finally:
            time.sleep(1.5 if problem.n > WARM_UP_POINTS else 0.0)


class WideInfo(Honest):
    """Says much with every yield, more than a record holds of all its points."""

    name = "wide-info"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        info = {f"figure {i}": i for i in range(30_000)}
        if problem.n > WARM_UP_POINTS:
            for size in range(problem.n):
                problem.kernel.block(np.arange(size))
                yield Iterate(dual_coef=np.zeros(problem.n), info=info)
        yield from super().iterates(problem, rng)


class LongInfo(Honest):
    """Says 80 MB at its end."""

    name = "long-info"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.info = {f"text {i}": "x" * 4000 for i in range(20_000)}


class InfoList(Honest):
    name = "info-list"

    def end(self, problem: Problem, last: Iterate) -> None:
        last.info = [1, 2]


class InterceptText(Honest):
    """A model of weights whose intercept is a text that could be a number."""

    name = "intercept-text"

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield Iterate(weights=np.zeros(problem.kernel.n_features), intercept="0", done=True)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Honest, *_all(Honest)]


def _all(cls: type) -> list[type]:
    return [each for child in cls.__subclasses__() for each in (child, *_all(child))]
