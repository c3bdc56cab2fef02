"""The end of a run: its status, its cause, its limits, and the points of its trace.

Reasons are sentences for users, which no code interprets; code uses `Status` and `StoppedBy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from typing import Annotated as A  # noqa: N817  a field is one line

import msgspec
from msgspec import Meta

from harness.support.printable import LARGEST, clean

if TYPE_CHECKING:
    from harness.problems.problem import Problem

Number = float | None
Seconds = A[float, Meta(ge=0.0)] | None
Share = A[float, Meta(ge=0.0, le=1.0)] | None
Count = A[int, Meta(ge=0, le=LARGEST)] | None
Flag = bool | None
Text = str | None
Texts = list[str] | None
Entries = dict[str, Any] | None

INFO = (1000, 100_000)  # largest number of entries and characters of the info of a solver


class Status(StrEnum):
    """How a run ended.

    ok : the solver's stopping rule was satisfied, or the host stopped it at the target; a given target is certified
    budget : a limit stopped it, or it finished beyond one
    unfinished : it ended without claiming to be done, or the time limit stopped it and nobody had set one
    missed : the given target is not certified, whatever the solver claims
    timeout, memory : killed for a limit
    crashed : the process ended without a result
    error : an exception, or a breach of the protocol
    invalid : a model, a figure or a problem that is not valid
    environment : a fault of the machine (disk full, too busy, a process stopped or limited from outside), never reused
    skipped : not run, with a reason
    """

    OK = "ok"
    BUDGET = "budget"
    UNFINISHED = "unfinished"
    MISSED = "missed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    ERROR = "error"
    INVALID = "invalid"
    ENVIRONMENT = "environment"
    SKIPPED = "skipped"


MEASURED = frozenset({Status.OK, Status.BUDGET, Status.UNFINISHED, Status.MISSED})
"""Statuses of runs that ended with a model, which is certified and scored. Only `ok` competes for best."""

FAILED = frozenset({Status.TIMEOUT, Status.MEMORY, Status.CRASHED, Status.ERROR, Status.INVALID, Status.ENVIRONMENT})
"""Statuses of runs without a result, or with one that is refused."""


class StoppedBy(StrEnum):
    """Cause of the end of a run."""

    SOLVER = "solver"  # the solver's stopping rule
    EXHAUSTED = "exhausted"  # the iterates ended without done
    TARGET = "target"  # the host, at the target relative gap
    TIME = "time"  # the time limit
    PREPARATION = "preparation"  # the limit of imports, skip() and warm-up, before the clock of the time limit
    KERNEL_EVALUATIONS = "kernel-evaluations"  # the limit of kernel evaluations
    ITERATIONS = "iterations"  # the limit of iterations
    MEMORY = "memory"  # the memory limit
    FAULT = "fault"  # an exception, an exit, or a signal from within the process
    KILLED = "killed"  # a signal or limit from outside, or the end of the host's process


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None means no limit.

    time_limit : seconds inside the solver. In an isolated run of one thread, seconds in which other work had the core while
        the solver was ready to run do not count, up to four times the limit
    memory_limit : bytes of anonymous and shared memory of the run's process and its descendants, without mapped files; in
        isolated runs only
    kernel_evaluation_limit : number of counted kernel values
    iteration_limit : number of yields
    target_gap : relative gap for which the stopping parameter of each solver is set, and at which the host stops a run
    """

    time_limit: float | None = None
    memory_limit: int | None = None
    kernel_evaluation_limit: int | None = None
    iteration_limit: int | None = None
    target_gap: float | None = None


NO_LIMITS = Limits()


class DualBound(msgspec.Struct, frozen=True):
    """A certified dual value of a problem, which bounds the optimum for the models of other solvers too.

    value : in the units of the formulation, without what rounding may have added
    of : whose it is: ``smo-block, run of 2026-11-29``
    """

    value: A[float, Meta(ge=-1e308, le=1e308)]
    of: str

    def suboptimality(self, problem: type[Problem] | Problem, primal: float | None) -> float | None:
        """Return how far a model with a primal value is from the optimum at most, see `Problem.suboptimality`."""
        return None if primal is None else problem.suboptimality(primal, self.value)


class TracePoint(msgspec.Struct, omit_defaults=True):
    """One point of the trace; figures that would cost too much during a run are None."""

    seconds: A[float, "[s] inside the solver so far; certificates are outside the clocks"]
    kernel_evaluations: A[Count, "[kernel values] of the solver so far"]
    iteration: A[int, "[iterations] of the solver so far"]
    reason: A[str, "the series that made it due: `seconds`, `kernel_evaluations`, `queried`; `end`: the last iterate"]
    support_vectors: A[Count, "[points] points with a coefficient"] = None
    primal: A[Number, "[objective] of the certificate; in isolated runs"] = None
    dual: A[Number, "[objective] of the certificate; in isolated runs"] = None
    relative_gap: A[Number, "[ratio] of the certificate; in isolated runs"] = None
    kkt_violation: A[Number, "[f(x)] of the certificate; in isolated runs"] = None
    margin_lower: A[Number, "[margin] of the certificate; in isolated runs"] = None
    margin_upper: A[Number, "[margin] of the certificate; in isolated runs"] = None
    epsilon: A[Number, "[ratio] of the certificate; in isolated runs"] = None
    test_accuracy: A[Share, "[share] test points with the right sign; in isolated runs"] = None
    queried: A[Count, "[points] targets queried so far, where the formulation queries them"] = None
    positive_support_vectors: A[Count, "[points] support vectors whose label is +1; in isolated runs"] = None
    cpu_seconds: A[Seconds, "[s] CPU time inside the solver so far"] = None
    metrics: A[dict[str, Any], "test metrics of the run by name, where targets are queried; in isolated runs"] = {}
    info: A[dict[str, Any], "claims of the solver at this point"] = {}

    def as_dict(self) -> dict[str, Any]:
        """Return the point as a dict for a record, without empty figures."""
        figures = msgspec.structs.asdict(self).items()
        known = {name: value for name, value in figures if value not in (None, {}, math.inf)}
        return {name: value if type(value) is int else clean(value) for name, value in known.items()}
