"""How a run may end: its statuses, what stopped it, its limits, and the points of its trace.

No code decides by reading a reason: reasons are sentences for people. Decisions go by `Status` and `StoppedBy`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

INFO = (1000, 100_000)  # entries and characters of what a solver says of itself


class Status(StrEnum):
    """How a run ended.

    ok : the solver's own rule held, or the host stopped it at the target; a target that was given is certified
    budget : a limit stopped it, or it was done beyond one
    unfinished : it ended without claiming to be done
    missed : the target that was given is not certified, whatever the solver claims
    timeout, memory : killed for a limit
    crashed : the process ended without a result
    error : an exception, or a breach of the protocol
    invalid : a model, a figure or a problem that cannot be what it is said to be
    environment : the machine's fault (disk full, no file descriptors), never reused
    skipped : not carried out, and why
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
    """What ended a run that the solver's process saw the end of, or that was ended from outside."""

    SOLVER = "solver"  # its own rule: done
    EXHAUSTED = "exhausted"  # its iterates ended without done
    TARGET = "target"  # the host, at the relative gap that was asked for
    TIME = "time"  # the time limit
    PREPARATION = "preparation"  # the limit of imports, skip() and warm-up, before the clock of the time limit
    KERNEL_EVALUATIONS = "kernel-evaluations"  # the limit of kernel evaluations
    ITERATIONS = "iterations"  # the limit of iterations
    MEMORY = "memory"  # the memory limit
    FAULT = "fault"  # an exception, an exit, a signal of its own
    KILLED = "killed"  # SIGKILL that the host did not send, or the end of the host's own process


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None means no limit.

    time_limit : wall seconds inside the solver
    memory_limit : bytes of resident memory of the run's process and of all that it started; in isolated runs only
    kernel_evaluation_limit : counted kernel values
    iteration_limit : yields
    target_gap : relative gap: each solver's own stopping parameter is set for it, the host stops at it, and certifies it
    """

    time_limit: float | None = None
    memory_limit: int | None = None
    kernel_evaluation_limit: int | None = None
    iteration_limit: int | None = None
    target_gap: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True)
class TracePoint:
    """One point of the trace; figures that would cost too much in mid-run are None.

    seconds, cpu_seconds : inside the solver so far; certificates are outside the clocks
    kernel_evaluations, iteration : of the solver so far
    reason : which series made the point due, ``seconds``, ``kernel_evaluations`` or ``queried`` (``end``: the last iterate)
    support_vectors : points with a coefficient
    primal, dual, relative_gap, kkt_violation, margin_lower, margin_upper, epsilon : of the certificate; in isolated runs
    test_accuracy : share of the test points with the right sign; in isolated runs
    queried : targets queried so far, where the formulation queries them
    positive_support_vectors : those of the support vectors whose label is +1; in isolated runs
    metrics : test metrics of the run by name, where targets are queried; in isolated runs
    info : what the solver says of itself at this point
    model : (coefficients, intercept) of a dual solution, copied: what is to be certified
    """

    seconds: float
    kernel_evaluations: int | None
    iteration: int
    reason: str
    support_vectors: int | None = None
    primal: float | None = None
    dual: float | None = None
    relative_gap: float | None = None
    kkt_violation: float | None = None
    margin_lower: float | None = None
    margin_upper: float | None = None
    epsilon: float | None = None
    test_accuracy: float | None = None
    queried: int | None = None
    positive_support_vectors: int | None = None
    cpu_seconds: float | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    model: tuple[Any, float] | None = field(default=None, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the point as a record has it: without its empty figures and its model."""
        shown = (each.name for each in fields(self) if each.name != "model")
        return {name: value for name in shown if (value := getattr(self, name)) is not None and value != {}}
