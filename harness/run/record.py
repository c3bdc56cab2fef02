"""What a run is held to, how it ended, and what is written down of it: the one place that knows.

Nobody decides by reading a reason: reasons are sentences for people. Decisions go by `Status` and `StoppedBy`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import UnionType
from typing import Any, TypedDict, get_args, get_type_hints

from harness.plain import LARGEST, clean, clipped, shown

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
    TARGET = "target"
    TIME = "time"
    KERNEL_EVALUATIONS = "kernel-evaluations"
    ITERATIONS = "iterations"
    MEMORY = "memory"
    FAULT = "fault"  # an exception, an exit, a signal of its own
    KILLED = "killed"  # SIGKILL that the host did not send, or the end of the host's own process


@dataclass(frozen=True)
class Limits:
    """How long a run may go on; None means no limit.

    seconds : wall seconds inside the solver
    kernel_evaluations : counted kernel values
    iterations : yields
    target_gap : relative gap: each solver's own stopping parameter is set for it, the host stops at it, and certifies it
    memory_bytes : resident memory of the run's process and of all that it started; enforced from outside, so in isolated runs only
    """

    seconds: float | None = None
    kernel_evaluations: int | None = None
    iterations: int | None = None
    target_gap: float | None = None
    memory_bytes: int | None = None

    def as_columns(self) -> dict[str, Any]:
        """Return the limits by the names they have in a record and on the command line."""
        return {column: getattr(self, name) for column, name in LIMIT_COLUMNS.items()}

    @classmethod
    def from_columns(cls, given: Mapping[str, Any]) -> Limits:
        """Read what :meth:`as_columns` names; others are ignored, missing ones are None."""
        return cls(**{name: given.get(column) for column, name in LIMIT_COLUMNS.items()})


NO_LIMITS = Limits()
LIMIT_COLUMNS = {
    "time_limit": "seconds",
    "memory_limit": "memory_bytes",
    "kernel_evaluation_limit": "kernel_evaluations",
    "iteration_limit": "iterations",
    "target_gap": "target_gap",
}


@dataclass(frozen=True)
class TracePoint:
    """One point of the trace; figures that would cost too much in mid-run are None.

    seconds, cpu_seconds : inside the solver so far; certificates are outside the clocks
    reason : which series made the point due, ``seconds``, ``kernel_evaluations`` or ``labels`` (``end``: the last iterate)
    labels_used : bought so far, where they are sold
    positive_support_vectors : those of the support vectors whose label is +1; in isolated runs
    metrics : test metrics of the run by name, where labels are sold; in isolated runs
    model : (coefficients, intercept), copied, where somebody else is to certify it, see `harness.measure.trace.TracePlan`
    reached : the target, by the certificate
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
    labels_used: int | None = None
    positive_support_vectors: int | None = None
    cpu_seconds: float | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    model: tuple[Any, float] | None = field(default=None, repr=False, compare=False)
    reached: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the point as a record has it: without its empty figures, its model, and whether it reached the target."""
        return {name: value for name in _POINT if (value := getattr(self, name)) is not None and value != {}}


class Fields(TypedDict):
    """The fields of every record, in the order reports show them, with what each may hold; unknown is None."""

    plugin: str
    solver: str
    label: str
    parameters: dict[str, Any]
    dataset: str
    formulation: str
    problem_parameters: dict[str, Any]
    kernel: str
    kernel_parameters: dict[str, Any]
    seed: int
    repetition: int
    path: dict[str, Any]  # of a path and of its cells, see `harness.run.pool`; None: a run of one problem
    fold: int  # left out of the training points of a cell; None: it has all
    status: str
    stopped_by: str
    reason: str
    fit_seconds: float
    cpu_seconds: float
    killed_cpu_seconds: float  # of a run that ended inside the solver without a result: its main thread's, until then
    shared_seconds: float  # of fit_seconds: a cell's part of what all cells of its path share
    compile_seconds: float
    peak_rss_bytes: int  # of the run's process; with what it started, of samples 0.05 s apart
    kernel_evaluations: int
    evaluations_at_least: bool  # values were computed behind the counter
    cache_hits: int
    labels_used: int  # bought, where they are sold; None where the problem came with them
    iterations: int
    support_vectors: int
    positive_support_vectors: int  # those whose label is +1
    core_set_size: int
    working_set_size: int
    core_set: dict[str, Any]
    primal: float
    dual: float
    gap: float
    relative_gap: float
    gap_rounding: float
    undecidable: str
    kkt_violation: float
    feasibility_violation: float
    epsilon: float
    epsilon_plus: float
    epsilon_minus: float
    margin_lower: float
    margin_upper: float
    given_up: int
    inlier_margin: dict[str, Any]
    train_accuracy: float
    validation_error: float  # on the fold that is left out: share of wrong labels, in regression the mean squared error
    test_accuracy: float
    metrics: dict[str, Any]
    metrics_better: dict[str, Any]  # metric -> which end is better, low or high; None: nobody is ranked by it
    aubc: dict[str, Any]  # metric -> area under its curve over the labels bought, see `harness.measure.learning_curve`
    claimed_done: bool
    oracle_calls: int
    oracle_kernel_evaluations: int
    n_train: int
    n_features: int
    n_test: int
    density: float  # share of the features of the training points that are not zero
    positive_share: float  # of the training points, those whose label is +1; None in regression
    data_notes: dict[
        str, Any
    ]  # of a file: label_column, positive (the class that is +1), unscaled: see `Dataset.notes`
    threads: int
    time_limit: float
    memory_limit: int
    kernel_evaluation_limit: int
    iteration_limit: int
    target_gap: float
    cache_mb: float
    load_average: float
    involuntary_switches: int
    waited_seconds: float  # of fit_seconds, in one thread: neither CPU time nor time in which other work had the core
    output: str
    faults: list[str]  # of metrics, skip() and the like: sentences; each cost its own figure alone
    measured_at: str
    versions: dict[str, Any]
    machine: dict[str, Any]
    git_commit: str
    code_sha256: str
    sources: dict[str, Any]  # plugin -> fingerprint of its source, of every plugin the run really used
    data_sha256: str
    study: str  # SHA-256 of the study that it was measured for, see `harness.run.plan.Study.sha256`
    info: dict[str, Any]
    trace: list[dict[str, Any]]  # `TracePoint.as_dict` of each
    key: str


def _kinds(fields: type) -> dict[str, type]:
    """Return the kind of each field's value: ``int`` of ``int | None``, ``dict`` of ``dict[str, Any]``."""
    hints = get_type_hints(fields).items()
    sure = {name: get_args(hint)[0] if isinstance(hint, UnionType) else hint for name, hint in hints}
    return {name: getattr(hint, "__origin__", hint) for name, hint in sure.items()}


TYPES = _kinds(Fields)
_POINT = {name: kind for name, kind in _kinds(TracePoint).items() if name not in ("model", "reached")}
COLUMNS = tuple(TYPES)
WHOLE = tuple(name for name, kind in TYPES.items() if kind is int)
CLAIMED = frozenset({
    "status", "stopped_by", "reason", "fit_seconds", "cpu_seconds", "killed_cpu_seconds", "compile_seconds",
    "peak_rss_bytes", "iterations", "kernel_evaluations", "evaluations_at_least", "cache_hits", "labels_used",
    "working_set_size", "claimed_done", "oracle_calls", "oracle_kernel_evaluations", "load_average",
    "involuntary_switches", "waited_seconds", "output", "faults", "measured_at", "sources", "info",
})  # fmt: skip
"""The fields that only the solver's process can know. What else it says of a run is not listened to."""


class Record(dict[str, Any]):
    """One run as names and JSON-ready values; see `Fields`. A row of an older harness may lack some.

    cells : of a path, the rows of its cells
    """

    cells: tuple[Record, ...] = ()

    @property
    def status(self) -> Status | None:
        """How the run ended; None if the row says nothing this harness knows."""
        found = self.get("status")
        return Status(found) if found in _STATUSES else None

    @property
    def measured(self) -> bool:
        """It ended with a model, which was certified and scored."""
        return self.status in MEASURED

    @property
    def failed(self) -> bool:
        """No result, a refused one, one that ran into its time limit, or one that did not do what was asked."""
        stopped = self.status is Status.BUDGET and self.get("stopped_by") == StoppedBy.TIME
        return stopped or self.status in FAILED or self.status in (Status.UNFINISHED, Status.MISSED)

    @property
    def reusable(self) -> bool:
        """Whether the same run need not be measured again: not what the machine or somebody outside was the cause of."""
        return self.status not in (None, Status.SKIPPED, Status.ENVIRONMENT) and self.get("stopped_by") not in (
            None, StoppedBy.KILLED
        )  # fmt: skip

    def text(self) -> str:
        """Return the record as one line of strict JSON, every column there."""
        return json.dumps({name: clean(self.get(name)) for name in COLUMNS}, allow_nan=False)


_STATUSES = frozenset(Status)


def checked(given: Mapping[str, Any]) -> tuple[Record, list[str]]:
    """Return what may enter a record of what a process says, and a sentence for each figure that cannot be.

    Numbers are finite and in range, counts whole and not negative, texts valid UTF-8 without control characters, sizes
    bounded. A figure that is none of its field's kind is left out.
    """
    found, wrong = Record(), []
    for name, value in given.items():
        kind = TYPES.get(name)
        if value is None or kind is None:
            continue
        kept = _fitting(value, kind)
        if name == "trace" and kept is not None:
            kept = [point for each in kept if (point := _point(each))]
        elif kind is list and kept is not None:
            kept = [shown(each) for each in kept]
        if kept is None and not (kind is float and _is_number(value)):  # NaN and infinity are unknown, not wrong
            wrong.append(f"{name} is {clipped(shown(value), 80)}; it must be {_KINDS[kind]}")
        found[name] = kept
    return found, wrong


def _point(entry: Any) -> dict[str, Any]:
    """Return what may stand in a point of a trace; empty of what is none, like the text that ends a list which was cut."""
    given = entry if isinstance(entry, dict) else {}
    fitting = {name: _fitting(value, _POINT[name]) for name, value in given.items() if name in _POINT}
    return {name: value for name, value in fitting.items() if value is not None}


_KINDS = {
    int: "a whole number from 0 to 2^63 - 1", float: "a finite number", bool: "true or false", str: "text",
    dict: "a mapping", list: "a list",
}  # fmt: skip


def _fitting(value: Any, kind: type) -> Any:
    if kind is float and type(value) is float:  # most figures
        return value if math.isfinite(value) else None
    if kind in (int, float):
        if not _is_number(value) or not math.isfinite(value):
            return None
        whole = kind is float or (value == int(value) and 0 <= value <= LARGEST)
        return kind(value) if whole else None
    return clean(value) if isinstance(value, kind) else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, float) or abs(value) <= LARGEST
