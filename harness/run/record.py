"""The fields of a record: what was requested, what the run's process claims, and what the certifier computed.

Each field has its kind, its range, its unit in brackets and a sentence; unknown is None. The reference of the documentation
is made from these lines. A message with a value that its field cannot have is refused where it arrives.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated as A  # noqa: N817  a field is one line
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from harness.measure.outcome import (
    FAILED,
    MEASURED,
    Count,
    Entries,
    Flag,
    Number,
    Seconds,
    Share,
    Status,
    StoppedBy,
    Text,
    Texts,
    TracePoint,
)  # fmt: skip
from harness.support.printable import clean

MODEL = "model"
"""Entry of a record on its way to the driver: the encoded `harness.run.messages.ToCertify` of its final model, bytes."""
MEASURED_AGAIN = "such a run is measured again when the command is repeated"


class Request(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was requested, over which data, with which code and on which machine: the driver knows it before the run."""

    plugin: A[Text, "the plugin that brings the solver"] = None
    solver: A[Text, "the solver's name"] = None
    label: A[Text, "the solver with those of its parameters that differ from their defaults: `lasvm[epochs=2]`"] = None
    parameters: A[Entries, "all parameters of the solver, by name"] = None
    dataset: A[Text, "the data set's label"] = None
    formulation: A[Text, "the name of the formulation"] = None
    problem_parameters: A[Entries, "all parameters of the formulation, by name: C, nu and so on"] = None
    kernel: A[Text, "the kernel's name"] = None
    kernel_parameters: A[Entries, "all parameters of the kernel, by name: gamma and so on"] = None
    seed: A[Count, "[number] all randomness of the run comes from it"] = None
    repetition: A[Count, "[number] which of the repetitions of the same run, from 0"] = None
    path: A[Entries, "axes of a path, and choice or cell, see `harness.run.path_rows`; None: one problem"] = None
    fold: A[Count, "[number] the fold left out of the training points of a cell; None: it has all"] = None
    threads: A[Count, "[threads] threads of BLAS, OpenMP and compiled loops"] = None
    time_limit: A[Number, "[s] most time that the solver could use, see `Limits`; None: no limit"] = None
    memory_limit: A[Count, "[bytes] most anonymous and shared memory; None: no limit"] = None
    kernel_evaluation_limit: A[Count, "[kernel values] most kernel evaluations; None: no limit"] = None
    iteration_limit: A[Count, "[yields] most yields of the solver; None: no limit"] = None
    target_gap: A[Number, "[ratio] requested relative gap; None: no target"] = None
    cache_mb: A[Number, "[2^20 bytes] memory for kernel rows"] = None
    n_features: A[Count, "[features] number of features of a point"] = None
    n_test: A[Count, "[points] number of test points"] = None
    density: A[Share, "[share] features of the training points that are not zero"] = None
    positive_share: A[Share, "[share] training points whose label is +1; None in regression"] = None
    data_notes: A[Entries, "of a file: column of the label, class that is +1, preprocessing, unscaled columns"] = None
    data_plugin: A[Entries, "plugin that has the data set -> fingerprint of its source; None: a file"] = None
    versions: A[Entries, "the versions of the libraries, by name"] = None
    machine: A[Entries, "processor, cores, system, python, blas, declared, id (their hash); memory_bytes"] = None
    git_commit: A[Text, "commit of the harness's own clone, with + if it has changes; None: it is installed"] = None
    code_sha256: A[Text, "SHA-256 of the plugin's source"] = None
    depends_on: A[Entries, "what the solver declares: program or file -> its path, sha256 and version text"] = None
    data_sha256: A[Text, "SHA-256 of the data's content, as the host read it"] = None
    study: A[Text, "SHA-256 of the study that it was measured for, see `harness.run.plan.Study.sha256`"] = None
    key: A[Text, "SHA-256 of the run and of all that its result depends on: rows of one key are the same run"] = None


class Ending(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How a run ended."""

    status: A[Status | None, "how it ended, one of the statuses"] = None
    stopped_by: A[StoppedBy | None, "what ended the solver; None of a run that was not begun"] = None
    reason: A[Text, "a sentence for people, empty where all went well; nothing decides by it"] = None
    faults: A[Texts, "what failed in metrics, skip() and the like, a sentence each; it cost one figure alone"] = None
    sources: A[Entries, "plugin -> fingerprint of its source, of every plugin the run really used"] = None


class Claims(Ending, kw_only=True, omit_defaults=True):
    """What the solver's process says of its run, and the worker that watched it."""

    fit_seconds: A[Seconds, "[s] wall clock inside the solver alone: no compilation, certificate or test points"] = None
    cpu_seconds: A[Seconds, "[s] CPU time inside the solver, of the run's process and all that it started"] = None
    fits: A[Count, "[fits] of the problem in the run's process: the first, and those of the steady times"] = None
    steady_fit_seconds: A[Seconds, "[s] fit_seconds of the later fits, median; None: the first was not short"] = None
    steady_cpu_seconds: A[Seconds, "[s] cpu_seconds of the later fits, median"] = None
    killed_cpu_seconds: A[Seconds, "[s] CPU time inside the solver, all processes, of a run without a result"] = None
    compile_seconds: A[Seconds, "[s] compilation before and during the run; in none of the other times"] = None
    waited_seconds: A[Seconds, "[s] of fit_seconds, in one thread: no CPU time, and nobody else had the core"] = None
    peak_rss_bytes: A[Count, "[bytes] most anonymous and shared memory of all processes; no mapped files"] = None
    kernel_evaluations: A[Count, "[kernel values] computed for the solver, used or not; None: not observable"] = None
    evaluations_at_least: A[Flag, "values were computed behind the counter"] = None
    cache_hits: A[Count, "[rows] kernel rows read from memory that would have been computed otherwise"] = None
    cache_misses: A[Count, "[rows] kernel rows computed again, as the row cache had given their place to others"] = None
    cache_needed_mb: A[Number, "[MB] cache_mb that holds all rows of the run; None: none was computed again"] = None
    iterations: A[Count, "[iterations] steps as the algorithm's paper counts them, else yields"] = None
    working_set_size: A[Count, "[points] points that the last model was optimised over, as the solver says"] = None
    claimed_done: A[Flag, "whether the solver said that its own stopping rule holds"] = None
    oracle_calls: A[Count, "[calls] how often other solvers were called for subproblems"] = None
    oracle_kernel_evaluations: A[Count, "[kernel values] part of kernel_evaluations: those of oracles"] = None
    load_average: A[Number, "[processes] processes ready to run as the run began, mean of a minute"] = None
    involuntary_switches: A[Count, "[switches] how often the system took the core from the run's process"] = None
    output: A[Text, "the last lines that the solver wrote"] = None
    measured_at: A[Text, "when the run ended, UTC, ISO 8601"] = None
    unexplained_cpu_seconds: A[Seconds, "[s] CPU time of the solver's threads while its clock stood still"] = None
    undeclared: A[Texts, "paths of code that the run started or loaded and that nobody declared in depends_on"] = None
    info: A[Entries, "what the solver says of itself; its description says what"] = None

    def blame_environment(self, what: str) -> None:
        """Make a failed run the machine's fault, after ``what`` was done to it from outside."""
        self.status, self.stopped_by = Status.ENVIRONMENT, StoppedBy.KILLED
        self.reason = f"{what}, not by the host; {self.reason}; {MEASURED_AGAIN}"


class CertifiedFigures(Ending, kw_only=True, omit_defaults=True):
    """What the certifier computed from a model; of the ending only what differs from the claims."""

    n_train: A[Count, "[points] number of training points"] = None
    shared_seconds: A[Seconds, "[s] part of fit_seconds: a share of what the cells of a path have in common"] = None
    support_vectors: A[Count, "[points] points with a coefficient that is not 0"] = None
    positive_support_vectors: A[Count, "[points] support vectors whose label is +1"] = None
    core_set_size: A[Count, "[points] points that the certified model rests on"] = None
    core_set: A[Entries, "the certificate of the core set, by --core-set-oracle: see `harness.measure.core_set`"] = None
    primal: A[Number, "[objective] value of the model's primal point, in the formulation's own units"] = None
    dual: A[Number, "[objective] value of the model's dual point"] = None
    gap: A[Number, "[objective] primal less dual value: a bound on the distance of either from the optimum"] = None
    relative_gap: A[Number, "[ratio] the gap over the formulation's scale"] = None
    gap_rounding: A[Number, "[ratio] how much rounding may have moved relative_gap; None: unknown"] = None
    undecidable: A[Text, "why rounding leaves no gap to speak of, a sentence; empty: it leaves one"] = None
    suboptimality: A[Number, "[ratio] bound of the distance to the optimum, by best_dual; of models without dual"] = (
        None
    )
    best_dual: A[Number, "[objective] certified dual value of another run of the problem, at certification"] = None
    best_dual_of: A[Text, "the run that best_dual is of: its solver and day"] = None
    kkt_violation: A[Number, "[f(x)] largest violation of the optimality conditions"] = None
    feasibility_violation: A[Number, "[ratio] largest violation of the dual's constraints, over their scale"] = None
    epsilon: A[Number, "[ratio] the margin is at least (1 - epsilon) times the optimal one (hull formulations)"] = None
    epsilon_plus: A[Number, "[ratio] 1 - <w, z> / |w|^2, z between the farthest points (K. & Y. 2009, (10))"] = None
    epsilon_minus: A[Number, "[ratio] of a support vector beyond its hyperplane, in |w| (K. & Y. 2009, (11))"] = None
    margin_lower: A[Number, "[margin] lower bound of the optimal margin (hulls)"] = None
    margin_upper: A[Number, "[margin] upper bound of the optimal margin"] = None
    train_accuracy: A[Share, "[share] training points with the right sign; None in regression"] = None
    validation_error: A[Number, "[share] wrong labels on the left-out fold; in regression mean squared error"] = None
    test_accuracy: A[Share, "[share] test points with the right sign; None in regression, without test points"] = None
    metrics: A[Entries, "metric -> its figure on the test points"] = None
    metrics_better: A[Entries, "metric -> which end is better, low or high; None: nobody is ranked by it"] = None
    figures: A[Entries, "column of the formulation -> its figure, see `harness.Column`"] = None
    columns: A[Entries, "column of the formulation -> its title, unit, meaning, and which end is better"] = None
    trace: A[list[TracePoint] | None, "the run's course: the points of the trace"] = None
    model_sha256: A[Text, "SHA-256 of the final model, which the store has with --keep-models; None: not kept"] = None

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> CertifiedFigures:
        """Return the figures by name as a structure; one that is no finite number of its range is unknown."""
        return cls(**_valid(figures, hints(cls)))


@functools.cache
def hints(*structs: type) -> dict[str, Any]:
    """Return the annotations of the fields of structures, by name."""
    return {name: hint for struct in structs for name, hint in get_type_hints(struct, include_extras=True).items()}


def _kind(hint: Any) -> Any:
    """Return the kind of value that an annotation allows beside None: ``dict`` of ``dict[str, Any] | None``."""
    while get_origin(hint) not in (None, dict, list):
        hint = get_args(hint)[0]
    kind = get_origin(hint) or hint
    return str if issubclass(kind, StrEnum) else kind


FIELDS = hints(Request, Claims, CertifiedFigures)
TYPES: dict[str, type] = {name: _kind(hint) for name, hint in FIELDS.items()}
COLUMNS = tuple(TYPES)


def meaning(hint: Any) -> tuple[str, str]:
    """Return the unit of a field, empty where it has none, and the sentence beside it."""
    _, unit, sentence = re.split(r"^(?:\[(.*?)\] )?", get_args(hint)[-1], maxsplit=1)
    return unit or "", sentence


class Record(dict[str, Any]):
    """One run as names and JSON-ready values: the fields of its structures. A row of an older harness may lack some.

    cells : of a path, the rows of its cells
    """

    cells: tuple[Record, ...] = ()

    @classmethod
    def of(cls, *parts: msgspec.Struct) -> Record:
        """Return what is known of some structures by name, a later one's figures in the place of an earlier one's."""
        figures = [item for part in parts for item in msgspec.structs.asdict(part).items()]
        return cls({name: _printable(value) for name, value in figures if value is not None})

    @property
    def status(self) -> Status | None:
        """How the run ended; None if the row says nothing this harness knows."""
        status = self.get("status")
        return Status(status) if status in _STATUSES else None

    @property
    def measured(self) -> bool:
        """It ended with a model, which was certified and scored."""
        return self.status in MEASURED

    @property
    def failed(self) -> bool:
        """No result, a refused one, one that ended without being done, or one that missed its target."""
        return self.status in FAILED or self.status in (Status.UNFINISHED, Status.MISSED)

    @property
    def reusable(self) -> bool:
        """Whether the same run need not be measured again: False if the machine or somebody outside caused its ending."""
        return self.status not in (None, Status.SKIPPED, Status.ENVIRONMENT) and self.get("stopped_by") not in (
            None, StoppedBy.KILLED, StoppedBy.PREPARATION
        )  # fmt: skip

    @property
    def fingerprints(self) -> dict[str, str]:
        """Plugin -> fingerprint of its source, of those that the run used and of that which has the data set."""
        return {**(self.get("sources") or {}), **(self.get("data_plugin") or {})}

    def text(self) -> str:
        """Return the record as one line of strict JSON, every column there."""
        return msgspec.json.encode({name: self.get(name) for name in COLUMNS}).decode()


_STATUSES = frozenset(Status)
_PLAIN = (int, float, bool, type(None))


def _printable(value: Any) -> Any:
    """Return a field's value as a record has it: clean text, finite numbers, points of a trace as mappings."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, list) and value and isinstance(value[0], TracePoint):
        return [point.as_dict() for point in value]
    return clean(value)


def validate_record(given: Mapping[str, Any]) -> Record:
    """Return what of a stored row may stand in a record: numbers finite and in range, counts whole, texts clean and bounded.

    A figure that its field cannot have is left out: the row may be an older harness's, or damaged.
    """
    return Record({name: _printable(value) for name, value in _valid(given, FIELDS).items()})


def _valid(given: Mapping[str, Any], hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the fields of ``hints`` can have, by name."""
    valid: dict[str, Any] = {}
    for name, value in given.items():
        kind = TYPES.get(name)
        if value is None or name not in hints:
            continue
        if kind is list:
            items = value if isinstance(value, list) else []
            points = (_converted(item, TracePoint) for item in items)
            texts = (str(clean(item)) for item in items)
            valid[name] = list(filter(None, points)) if name == "trace" else list(texts)
        elif type(value) is kind and kind in (str, dict):
            valid[name] = value
        elif (converted := _converted(value, hints[name])) is not None:
            valid[name] = converted
    return valid


def _converted(value: Any, hint: Any) -> Any:
    """Return a value as its field has it; None if that cannot be."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    with contextlib.suppress(msgspec.ValidationError, OverflowError):
        return msgspec.convert(value, hint, strict=not isinstance(value, float))
    return None
