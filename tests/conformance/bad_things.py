"""Tiny kernels, data sets, formulations, metrics, formats, observers and commands with one planted fault each."""

import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import click
import numpy as np

from harness import (
    CSVCNoBias,
    Dataset,
    DataSource,
    Executor,
    Linear,
    Metric,
    Problem,
    UsageError,
    content_sha256,
    parameter,
)
from harness.problems.problem import Certificate
from tests.adversaries.plugins.wrong_winners import Faulty


class Sound(Faulty):
    """A Gaussian kernel without a fault."""


def kernel(fault, description):
    """Return the class of a kernel with a fault."""
    own = {"__doc__": description, "__annotations__": {"fault": str}, "fault": fault}
    return dataclass(frozen=True)(type("Own", (Faulty,), own))


Negated = kernel("negated", "Is the negative of a kernel.")
Asymmetric = kernel("skewed", "k(x, z) is not k(z, x).")
WrongDiagonal = kernel("diagonal", "Its diagonal is not k(x, x).")
Indefinite = kernel("tanh", "tanh of inner products: some eigenvalues are negative.")
OtherOfSparse = kernel("stored", "Has other values for CSR points.")


@dataclass(frozen=True)
class Blobs(DataSource):
    """Two Gaussians, without a fault."""

    name = "blobs"
    description = "two Gaussians in the plane, +1 on the right"
    seed: int = parameter(0, "of the draw")

    def load(self):
        x, y = self.drawn(np.random.default_rng(self.seed))
        parts = x[:40], y[:40], *self.held_out(x, y)
        return Dataset(self.name, *parts, content_sha256(*parts))

    def drawn(self, rng):
        y = np.where(np.arange(60) % 2, 1.0, -1.0)
        return rng.normal(size=(60, 2)) + y[:, None], y

    def held_out(self, x, y):
        return x[40:], y[40:]


class WithNaN(Blobs):
    """Has a point that is not finite."""

    def drawn(self, rng):
        x, y = super().drawn(rng)
        x[3, 0] = np.nan
        return x, y


class OneClassOfTests(Blobs):
    """Tests on points of one class."""

    def held_out(self, x, y):
        return x[y > 0][-10:], y[y > 0][-10:]


class DrawnAnew(Blobs):
    """Draws by numpy's global generator."""

    def drawn(self, rng):
        return super().drawn(np.random.mtrand._rand)


class TestsOnTraining(Blobs):
    """Tests on the training points."""

    def held_out(self, x, y):
        return x[:20], y[:20]


class SaysNothing(Blobs):
    """Has no description."""

    description = ""


class LeastSquares(Problem):
    """min |w|^2 / 2 + sum r^2 / 2, without a fault: the dual has no constraints."""

    name = "least-squares"
    task = "regression"
    constraints = "none but |dual_coef_i| <= 1e4"
    has_bias = False

    @classmethod
    def zoo(cls):
        from harness.testing import problems

        pair = problems.Case.of(cls, "pair", problems.PAIR, [1, -1], Linear(), {}, optimum=1 / 3)
        return [pair, *problems.real_values(cls)]

    def feasibility_violation(self, dual_coef):
        return max(0.0, float(np.abs(dual_coef).max()) - 1e4)

    def certificate(self, dual_coef, intercept, scores):
        half, residual = 0.5 * float(dual_coef @ scores), self.targets - scores
        primal = half + 0.5 * float(residual @ residual)
        dual = float(self.targets @ dual_coef) - half - 0.5 * float(dual_coef @ dual_coef)
        return Certificate.of_objectives(primal, dual, kkt_violation=0.0, feasibility_violation=0.0)


class TakesAll(LeastSquares):
    """Takes any coefficients for feasible."""

    def feasibility_violation(self, dual_coef):
        return 0.0


class NoZoo(LeastSquares):
    """Has no small problems."""

    @classmethod
    def zoo(cls):
        return []


class NoOptimum(LeastSquares):
    """States no optimum, and has no dual form."""

    @classmethod
    def zoo(cls):
        return super().zoo()[1:]


class NoConstraints(LeastSquares):
    """Does not say what is feasible."""

    constraints = ""


def certified(description, objectives):
    """Return a formulation whose certificate has ``objectives(primal, dual, loss)`` of a sound one, loss an array of the points'."""

    def certificate(self, dual_coef, intercept, scores):
        half, loss = 0.5 * float(dual_coef @ scores), self.upper * np.maximum(0.0, 1.0 - self.targets * scores)
        primal, dual = half + float(loss.sum()), float(self.targets @ dual_coef) - half
        violation = self.feasibility_violation(dual_coef)
        return Certificate.of_objectives(
            *objectives(primal, dual, loss), kkt_violation=0.0, feasibility_violation=violation
        )

    own = {"__doc__": description, "name": "own", "certificate": certificate}
    return type("Own", (CSVCNoBias,), own)


Certified = certified("A certificate without a fault.", lambda primal, dual, _: (primal, dual))
PrimalIsDual = certified(
    "Gives the dual value for the primal one, so that every gap is 0.", lambda _p, dual, _l: (dual, dual)
)
HalvesEveryGap = certified(
    "Takes the middle of primal and dual value for the primal one.", lambda p, d, _: ((p + d) / 2, d)
)
DoublesBoth = certified("Doubles the primal and the dual value.", lambda primal, dual, _: (2 * primal, 2 * dual))
ShiftsTheDual = certified("Its dual value is too small by a constant.", lambda primal, dual, _: (primal, dual - 0.01))
LeavesOutALoss = certified(
    "Leaves out the largest loss where many points have one.",
    lambda primal, dual, loss: (primal - loss.max() * (np.count_nonzero(loss) > 30), dual),
)


class ShrinksTheGap(CSVCNoBias):
    """Its gap is half the difference of its primal and dual value."""

    def bounded_certificate(self, dual_coef, intercept, model):
        sound = super().bounded_certificate(dual_coef, intercept, model)
        return replace(sound, gap=0.5 * sound.gap, relative_gap=0.5 * sound.relative_gap)


class UsesNumpyOnBounds(CSVCNoBias):
    """Its primal_of calls a function of numpy, which knows no Bounded numbers."""

    def bounded_certificate(self, dual_coef, intercept, model):
        return CSVCNoBias(self.kernel, self.targets, self.settings, self.upper).bounded_certificate(
            dual_coef, intercept, model
        )

    def primal_of(self, squared, scores, intercept):
        return squared * 0.5 + np.maximum(0.0, 1.0 - self.targets * scores) @ self.upper


class TriplesTheLoss(UsesNumpyOnBounds):
    """Its primal_of is another objective than that of its certificate."""

    def primal_of(self, squared, scores, intercept):
        return squared * 0.5 + (1.0 - scores * self.targets).positive().dot(3.0 * self.upper)


def share_of_errors(targets, scores):
    """The share of wrong labels, without a fault."""
    return float((targets * scores <= 0).mean())


def reversed_errors(targets, scores):
    """Says that many errors are better."""
    return share_of_errors(targets, scores)


def beyond(targets, scores):
    """Leaves its range."""
    return 2.0 * float((targets * scores).mean())


def undefined(targets, scores):
    """Is infinite where all scores are equal."""
    return float(np.corrcoef(targets, scores)[0, 1]) if np.ptp(scores) else float("inf")


def scribbles(targets, scores):
    """Sorts the scores that it is given."""
    scores.sort()
    return float(scores.mean())


def of_the_first(targets, scores):
    """Depends on which point comes first."""
    return float(scores[0])


def without_a_word(targets, scores):
    return share_of_errors(targets, scores)


METRICS = {
    "reversed": Metric(reversed_errors, better="high", low=0.0, high=1.0),
    "beyond": Metric(beyond, better="high", low=-1.0, high=1.0),
    "undefined": Metric(undefined, better="high"),
    "scribbles": Metric(scribbles),
    "of-the-first": Metric(of_the_first),
    "without-a-word": Metric(without_a_word, better="low", low=0.0),
}


def labels(records):
    """A line a run, without a fault."""
    return "\n".join(str(record["label"]) for record in records)


def without_failures(records):
    """Leaves out the runs that failed."""
    return labels([record for record in records if record["status"] == "ok"])


def as_bytes(records):
    """Returns bytes."""
    return labels(records).encode()


def first_only(records):
    """Takes for granted that there is a record."""
    return str(records[0]["label"]) + labels(records)


def marks(records):
    """Writes into the records."""
    for record in records:
        record["shown"] = True
    return labels(records)


def nodes(place):
    """Threads, without a fault."""
    if place != "local":
        raise UsageError(f"{place} is no place")
    return Executor(ThreadPoolExecutor(1), 1)


def silent_nodes(place):
    return nodes(place)


def any_error(place):
    """Raises the error of its engine for a wrong place."""
    raise ConnectionRefusedError(place)


def any_option(place, slots="1"):
    """Takes for granted that an option is a number."""
    return Executor(ThreadPoolExecutor(int(slots)), int(slots))


def no_executor(place):
    """Returns the engine itself."""
    return ThreadPoolExecutor(1)


def _module(name, finished):
    module = types.ModuleType(name)
    module.harness_run_finished = finished
    return module


def _needs_seconds(record):
    float(record["fit_seconds"])


def _renames(record):
    record["solver"] = "mine"


OBSERVERS = {
    "takes for granted that every run has seconds": _module("needs_seconds", _needs_seconds),
    "writes into the record": _module("renames", _renames),
}


@click.command("silent")
def silent():
    click.echo("nothing")


@click.command("forgiving", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1)
def forgiving(words):
    """Takes any option."""
    click.echo(words)
