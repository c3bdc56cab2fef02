"""What a run is held to, how it ended, and what is written down of it: the one place that knows.

Nobody decides by reading a reason: reasons are sentences for people. Decisions go by `Status` and `StoppedBy`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import UnionType
from typing import Any, TypedDict, get_args, get_type_hints

from harness.measure.outcome import FAILED, MEASURED, Status, StoppedBy, TracePoint
from harness.support.printable import LARGEST, clean, clipped, shown


class Fields(TypedDict):
    """The fields of every record, in the order reports show them, with what each may hold; unknown is None.

    Beside a field stand its unit in brackets and what it means: the reference of the documentation is made from these lines.
    """

    # What was asked for
    plugin: str  # the plugin that brings the solver
    solver: str  # the solver's name
    label: str  # the solver with those of its parameters that differ from their defaults: `lasvm[epochs=2]`
    parameters: dict[str, Any]  # all parameters of the solver, by name
    dataset: str  # the data set's label
    formulation: str  # the name of what was solved
    problem_parameters: dict[str, Any]  # all parameters of the formulation, by name: C, nu and so on
    kernel: str  # the kernel's name
    kernel_parameters: dict[str, Any]  # all parameters of the kernel, by name: gamma and so on
    seed: int  # [number] all randomness of the run comes from it
    repetition: int  # [number] which of the repetitions of the same run, from 0
    path: dict[str, Any]  # axes of a path, and choice or cell, see `harness.run.path_rows`; None: one problem
    fold: int  # [number] the fold left out of the training points of a cell; None: it has all
    # How it ended
    status: str  # how it ended, one of the statuses
    stopped_by: str  # what ended the solver; None of a run that was not begun
    reason: str  # a sentence for people, empty where all went well; nothing decides by it
    # Time and memory
    fit_seconds: float  # [s] wall clock inside the solver alone: no compilation, no certificate, no test points
    cpu_seconds: float  # [s] CPU time of the run's process inside the solver, all threads together
    killed_cpu_seconds: float  # [s] CPU time of the main thread of a run that ended without a result
    shared_seconds: float  # [s] part of fit_seconds: a cell's share of what all cells of its path have in common
    compile_seconds: float  # [s] compilation before and during the run; in none of the other times
    peak_rss_bytes: int  # [bytes] most resident memory of the run's process or, sampled, with what it started
    # Counts
    kernel_evaluations: int  # [kernel values] values computed for the solver, used or not; None: not observable
    evaluations_at_least: bool  # values were computed behind the counter
    cache_hits: int  # [rows] kernel rows read from memory that would have been computed otherwise
    iterations: int  # [iterations] steps as the algorithm's paper counts them, else yields
    support_vectors: int  # [points] points with a coefficient that is not 0
    positive_support_vectors: int  # [points] support vectors whose label is +1
    core_set_size: int  # [points] points that the certified model rests on
    working_set_size: int  # [points] points that the last model was optimised over, as the solver says
    # The certificate
    core_set: dict[str, Any]  # the certificate of the core set, by --core-set-oracle: see `harness.measure.core_set`
    primal: float  # [objective] value of the model's primal point, in the formulation's own units
    dual: float  # [objective] value of the model's dual point
    gap: float  # [objective] primal less dual value: a bound on the distance of either from the optimum
    relative_gap: float  # [ratio] the gap over the formulation's scale
    gap_rounding: float  # [ratio] how much rounding may have moved relative_gap; None: unknown
    undecidable: str  # why rounding leaves no gap to speak of, a sentence; empty: it leaves one
    kkt_violation: float  # [f(x)] largest violation of the optimality conditions
    feasibility_violation: float  # [ratio] largest violation of the dual's constraints, relative to their scale
    epsilon: float  # [ratio] the margin is at least (1 - epsilon) times the optimal one (hull formulations)
    epsilon_plus: float  # [ratio] 1 - <w, z> / |w|^2, z between the hulls' farthest points along w (K. & Y. 2009, (10))
    epsilon_minus: float  # [ratio] how far a support vector lies beyond its hyperplane, in |w| (K. & Y. 2009, (11))
    margin_lower: float  # [margin] lower bound of the optimal margin (hulls)
    margin_upper: float  # [margin] upper bound of the optimal margin
    # Scores
    train_accuracy: float  # [share] training points with the right sign; None in regression
    validation_error: float  # [share] wrong labels on the fold that is left out; in regression the mean squared error
    test_accuracy: float  # [share] test points with the right sign; None in regression and without test points
    metrics: dict[str, Any]  # metric -> its figure on the test points
    metrics_better: dict[str, Any]  # metric -> which end is better, low or high; None: nobody is ranked by it
    figures: dict[str, Any]  # column of the formulation -> its figure, see `harness.Column`
    columns: dict[str, Any]  # column of the formulation -> its title, unit, meaning, and which end is better
    # Claims and oracles
    claimed_done: bool  # whether the solver said that its own stopping rule holds
    oracle_calls: int  # [calls] how often other solvers were asked for subproblems
    oracle_kernel_evaluations: int  # [kernel values] part of kernel_evaluations: those that oracles asked for
    # The data
    n_train: int  # [points] number of training points
    n_features: int  # [features] number of features of a point
    n_test: int  # [points] number of test points
    density: float  # [share] features of the training points that are not zero
    positive_share: float  # [share] training points whose label is +1; None in regression
    data_notes: dict[str, Any]  # of a file: the label's column, the class that is +1, preprocessing, unscaled columns
    # What it was held to
    threads: int  # [threads] threads of BLAS, OpenMP and compiled loops
    time_limit: float  # [s] most wall clock inside the solver; None: no limit
    memory_limit: int  # [bytes] most resident memory; None: no limit
    kernel_evaluation_limit: int  # [kernel values] most kernel evaluations; None: no limit
    iteration_limit: int  # [yields] most yields of the solver; None: no limit
    target_gap: float  # [ratio] relative gap that was asked for; None: none was
    cache_mb: float  # [2^20 bytes] memory for kernel rows
    # How disturbed it was
    load_average: float  # [processes] processes ready to run as the run began, mean of a minute
    involuntary_switches: int  # [switches] how often the system took the core from the run's process
    waited_seconds: float  # [s] part of fit_seconds, in one thread: no CPU time, and no other work had the core
    output: str  # the last lines that the solver wrote
    faults: list[str]  # what failed in metrics, skip() and the like, a sentence each; it cost its own figure alone
    # Where it comes from
    measured_at: str  # when the run ended, UTC, ISO 8601
    versions: dict[str, Any]  # the versions of the libraries, by name
    machine: dict[str, Any]  # processor, cores, system, python, blas, declared, id (their hash); memory_bytes
    git_commit: str  # the commit of the harness's own clone, with + if it has changes; None of an installed harness
    code_sha256: str  # SHA-256 of the plugin's source
    sources: dict[str, Any]  # plugin -> fingerprint of its source, of every plugin the run really used
    data_sha256: str  # SHA-256 of the data's content, as the host read it
    study: str  # SHA-256 of the study that it was measured for, see `harness.run.plan.Study.sha256`
    info: dict[str, Any]  # what the solver says of itself; its description says what
    trace: list[dict[str, Any]]  # the run's course: `TracePoint.as_dict` of each point
    key: str  # SHA-256 of the run and of all that its result depends on: two rows of one key are the same run


def _kinds(fields: type) -> dict[str, type]:
    """Return the kind of each field's value: ``int`` of ``int | None``, ``dict`` of ``dict[str, Any]``."""
    hints = get_type_hints(fields).items()
    sure = {name: get_args(hint)[0] if isinstance(hint, UnionType) else hint for name, hint in hints}
    return {name: getattr(hint, "__origin__", hint) for name, hint in sure.items()}


TYPES = _kinds(Fields)
_POINT = {name: kind for name, kind in _kinds(TracePoint).items() if name != "model"}
COLUMNS = tuple(TYPES)
WHOLE = tuple(name for name, kind in TYPES.items() if kind is int)
CLAIMED = frozenset({
    "status", "stopped_by", "reason", "fit_seconds", "cpu_seconds", "killed_cpu_seconds", "compile_seconds",
    "peak_rss_bytes", "iterations", "kernel_evaluations", "evaluations_at_least", "cache_hits",
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
            None, StoppedBy.KILLED, StoppedBy.PREPARATION
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
