"""The messages of the processes of a comparison; :mod:`harness.run` says which process sends which.

They go over a :class:`harness.run.channel.Channel`. A child's frames begin with a secret of its run: what else is written
there, by a solver that writes to a descriptor it does not own, is no message and ends the run. A model is packed by the
process that has it and opened by the certifier alone: between them it is bytes.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
import numpy as np

from harness.measure.outcome import NO_LIMITS, DualBound, Limits, TracePoint
from harness.measure.scored import CosineFeatures, FreeModel, Weights
from harness.run.channel import BrokenStream, Busy, decode, encode
from harness.run.record import CertifiedFigures, Claims, Record
from harness.solver.path import Grid

Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
Finite = Annotated[float, msgspec.Meta(ge=-1e308, le=1e308)]  # NaN is refused too


def data_key(source: str, source_parameters: Mapping[str, Any]) -> str:
    """Return what tells one configured data source from another; two files may have the same label."""
    return json.dumps([source, dict(source_parameters)], sort_keys=True, default=str)


@dataclass(frozen=True)
class RunSpec:
    """One run as plain data: all a worker needs to run it, and all that its result depends on."""

    plugin: str
    solver: str
    parameters: dict[str, Any]  # the solver's
    dataset: str  # label, e.g. checkerboard[n=500]
    source: str  # data source name
    source_parameters: dict[str, Any]
    formulation: str = ""
    problem_parameters: dict[str, Any] = field(default_factory=dict)
    kernel: str = ""
    kernel_parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    repetition: int = 0
    limits: Limits = NO_LIMITS
    threads: int = 1
    cache_mb: float = 256.0
    plugin_paths: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    core_set_oracle: str = ""
    queries_targets: bool = False  # its formulation does
    path: Grid | None = None  # None: one problem
    trusted: tuple[str, ...] = ()  # plugins of its formulation, kernel, data, metrics and oracle: the certifier's
    helpers: tuple[str, ...] = ()  # plugins of the solvers that its parameters name
    data_sha256: str = ""  # of the data the comparison was planned with
    skip_reason: str = ""  # not empty: the run is a row and is not run
    broken_reason: str = ""  # not empty: the plugin could not be loaded
    requires: tuple[str, ...] = ()  # of its solver's class: they say in which environment its worker runs
    # program or file that the solver declares, as `Solver.depends_on` has it -> path, sha256 and version
    depends_on: dict[str, dict[str, str]] = field(default_factory=dict)
    label: str = ""  # of the solver, with the parameters that differ from their defaults
    keep_model: bool = False  # the record comes with the final model, for the store

    @property
    def data_key(self) -> str:
        """Which configured data source the run reads."""
        return data_key(self.source, self.source_parameters)

    def at(self, values: Mapping[str, float]) -> RunSpec:
        """Return the run of one cell of a path, by the values of the path's parameters: a run of one problem."""
        assert self.path is not None
        problem, kernel = dict(self.problem_parameters), dict(self.kernel_parameters)
        for name, value in values.items():
            (kernel if name in self.path.kernel_axes else problem)[name] = value
        return replace(self, path=None, problem_parameters=problem, kernel_parameters=kernel)

    def cell_entries(self, values: Mapping[str, float], index: int | None) -> dict[str, Any]:
        """Return the fields that say which cell of a path a record is of; ``index`` None: the refit of the chosen one."""
        assert self.path is not None
        cell, path = self.at(values), {**self.path.as_dict(), "cell": index}
        return {name: getattr(cell, name) for name in ("problem_parameters", "kernel_parameters")} | {"path": path}

    @property
    def first(self) -> RunSpec:
        """The run itself; of a path that of its first values."""
        return self if self.path is None else self.at({name: values[0] for name, values in self.path.axes.items()})

    @property
    def worker(self) -> str:
        """Key of the worker process of the run: one for a solver, which its configurations share.

        Where targets are queried the worker is another one, which holds none.
        """
        return json.dumps([self.plugin, self.solver, self.threads, self.queries_targets, self.plugin_paths])

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready data, to be read and not changed."""
        return {**vars(self), "limits": asdict(self.limits), "path": self.path and self.path.as_dict()}

    def key(self, surroundings: Mapping[str, Any]) -> str:
        """Return the SHA-256 of the run and what its result depends on: code, versions, data, machine."""
        text = json.dumps([self.as_dict(), dict(surroundings)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


class _Part(msgspec.Struct, frozen=True, tag=True):
    """A part of a message."""


class Model(_Part, frozen=True):
    """A solver's model as it left the solver: what the certificate is computed of, and nothing else.

    support : (m,) the points that have a coefficient; None for a model of ``weights``, (d,)
    dual_coef, free_coef : (m,) the coefficients of ``support``: one of the two, the second of an expansion that is no
        dual solution
    extra_coef : (k,) coefficients of points that are not among those of the problem
    extra_points : these points, (k, d), or the three arrays of a CSR array
    features : directions and offsets of the features that the weights are of; None: they are of those of the data
    """

    intercept: Finite
    support: np.ndarray | None = None
    dual_coef: np.ndarray | None = None
    weights: np.ndarray | None = None
    free_coef: np.ndarray | None = None
    extra_coef: np.ndarray | None = None
    extra_points: tuple[np.ndarray, ...] = ()
    features: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, model: tuple[Any, float] | Weights | FreeModel) -> Model:
        """Return the model of dual coefficients, (n,), and an intercept, of weights, or of an expansion that is no dual solution."""
        if isinstance(model, tuple):
            dual_coef, intercept = model
            support = np.flatnonzero(dual_coef)
            return cls(intercept, support, dual_coef[support])
        if isinstance(model, Weights):
            given = model.features
            features = None if given is None else (given.directions, given.offsets)
            return cls(model.intercept, weights=model.weights, features=features)
        support = np.flatnonzero(model.coef)
        extra: Any = model.own
        points: Any = () if extra is None else (extra,)
        if hasattr(extra, "indptr"):
            points = (extra.data, extra.indices, extra.indptr)
        coef = model.coef[support]
        return cls(model.intercept, support, free_coef=coef, extra_coef=model.own_coef, extra_points=points)

    def packed(self) -> bytes:
        """Return the model as bytes."""
        return encode(self)

    @classmethod
    def unpacked(cls, data: bytes) -> Model:
        """Return the model that :meth:`packed` wrote.

        Raises
        ------
        BrokenStream : the bytes are none.
        """
        return decode(data, Model)  # type: ignore[no-any-return]

    def coefficients(self, n: int) -> Any:
        """Return the coefficients of all ``n`` points.

        Raises
        ------
        BrokenStream : they are of other points.
        """
        given, support = self.dual_coef if self.free_coef is None else self.free_coef, self.support
        coef = np.zeros(n)
        if support is None or given is None or support.shape != given.shape or support.dtype.kind != "i":
            raise BrokenStream("a model names no points that it has coefficients of")
        if np.any((support < 0) | (support >= n)):
            raise BrokenStream(f"a model names points that are not among the {n} of the problem")
        coef[support] = given
        return coef

    def opened(self, kernel: Any) -> Weights | FreeModel:
        """Return the model that :meth:`of` was given, over the points of a kernel.

        Raises
        ------
        InvalidModel, BrokenStream : it is none of these points.
        """
        if self.free_coef is None:
            features = None if self.features is None else CosineFeatures(*self.features)
            return Weights.checked(kernel, self.weights, self.intercept, features)
        coef = self.coefficients(kernel.n)
        points: Any = None
        if self.extra_coef is not None and self.extra_points:
            coef, points = np.concatenate([coef, self.extra_coef]), self.extra_points[0]
            if len(self.extra_points) > 1:
                import scipy.sparse

                try:
                    shape = (len(self.extra_coef), kernel.n_features)
                    points = scipy.sparse.csr_array(self.extra_points, shape=shape)
                except (ValueError, TypeError, IndexError) as error:
                    raise BrokenStream(
                        f"a model's extra points are not of {kernel.n_features} features: {error}"
                    ) from None
        return FreeModel.checked(kernel, coef, points, self.intercept)


class Run(_Part, frozen=True):
    """To a worker: measure this run.

    warm_worker : before it the worker may run the solver's warm-up in its process
    bound : a dual value of the problem, for models that have none
    """

    spec: RunSpec
    warm_worker: bool = True
    bound: DualBound | None = None


class Prepare(_Part, frozen=True):
    """To a worker or the certifier: have at hand what this run needs, machine code too; the run says what is wrong."""

    spec: RunSpec


class Prepared(_Part, frozen=True):
    """The answer: it has, or it could not."""


class Compiling(_Part, frozen=True):
    """``on`` : compilation began, or goes on; else it ended."""

    on: bool


class Warm(_Part, frozen=True):
    """The warm-up is over.

    complete : it raised nothing and left no threads
    sources : of the plugins used so far, for a run that does not end by itself
    """

    seconds: Seconds
    complete: bool = False
    sources: dict[str, str] = {}


class Phase(enum.IntEnum):
    """What a child does, in this order; it says so as each begins but the first two."""

    WARM_UP = enum.auto()
    START = enum.auto()  # imports and ``skip()``
    FIT = enum.auto()  # the clock runs
    END = enum.auto()  # the last model is copied: the host's work, and the closing of the solver's generator
    REPEAT = enum.auto()  # the fit was short, and its problem is fitted again


class PhaseBegan(_Part, frozen=True):
    """A phase begins here."""

    phase: Phase


class Point(_Part, frozen=True):
    """A trace point; ``host_seconds`` of the fit so far were the host's work."""

    figures: TracePoint
    host_seconds: Finite = 0.0
    model: bytes = b""  # empty: it has none
    queried: int = 0  # targets so far, by the worker's ledger, whatever the child says


class FinishedCell(_Part, frozen=True):
    """A cell of a path that was solved, and what its problem alone cost.

    index : its place on the path
    shared_seconds, shared_cpu_seconds : of the path so far, in what several cells have in common
    host_seconds : of the fit so far, the host's work
    """

    index: int
    claims: Claims
    shared_seconds: Seconds = 0.0
    shared_cpu_seconds: Seconds = 0.0
    host_seconds: Finite = 0.0
    model: bytes = b""  # empty: it has none


class TargetRequest(_Part, frozen=True):
    """The child queries the targets of the points ``indices``, (m,) int64; its queries before took it ``waited`` seconds."""

    indices: np.ndarray
    waited: Seconds = 0.0


class TargetReply(_Part, frozen=True):
    """To a child: the targets that it queried, (m,); None: they are refused, and why."""

    targets: np.ndarray | None
    refusal: str = ""


class ToCertify(_Part, frozen=True):
    """What is to be certified of a run.

    points : the trace of a run of one problem
    cells : the finished cells of a path
    queried : points in the order in which their targets were queried; empty where the targets are given
    kernel_sample : kernel values between a few points, as the solver's process computed them
    seed : of the run, where the model is stored
    """

    model: bytes = b""
    points: list[Point] = []
    queried: list[int] = []
    cells: list[FinishedCell] = []
    kernel_sample: np.ndarray | None = None
    seed: int | None = None


class RunResult(_Part, frozen=True):
    """From a child: the fit ended; what its process says of it, and its model. From a worker: what became of the run."""

    claims: Claims
    solved: ToCertify = ToCertify()


class Certify(_Part, frozen=True):
    """To the certifier: certify and score what came of this run; ``bound`` : a dual value of the problem."""

    spec: RunSpec
    solved: ToCertify
    bound: DualBound | None = None


class Certified(_Part, frozen=True):
    """From the certifier: what it computed of a run, and of the finished cells of a path."""

    figures: CertifiedFigures
    cells: list[CertifiedFigures] = []


FromChild = Compiling | Warm | PhaseBegan | Point | FinishedCell | TargetRequest | RunResult
ToProcess = Prepare | Run | Certify
FromProcess = Prepared | Busy | RunResult | Certified
Emit = Callable[[FromChild], None]
Receive = Callable[[], TargetReply]
Body = Callable[[Emit, Receive], None]  # what a child does


# -- from a runner to the driver, in one process ------------------------------------------------------------


class RunStarted(NamedTuple):
    """A run, by its index, begins on this machine, or is sent to a node."""

    run: int


class Progress(NamedTuple):
    """A text on what goes on, which replaces the one before."""

    text: str


class RunsEnded(NamedTuple):
    """Runs that ended together, by index, and the machine that they were on."""

    records: Mapping[int, Record]
    machine: Mapping[str, Any]


Event = RunStarted | Progress | RunsEnded
Stored = Callable[[str], Mapping[int, Record]]
"""Return the records that the store has of runs on a class of machines, named by its ``id``, by index."""


class Runner(Protocol):
    """Carries out runs of a study, which are named by their index in the plan."""

    def reusable(self, stored: Stored) -> Mapping[int, Record]:
        """Return the records that stand for runs; those of one block are of one class of machines. Called once, first.

        Raises
        ------
        UsageError : a node cannot run the harness.
        """

    def extend(self, specs: Sequence[RunSpec], places: Sequence[str]) -> None:
        """Append runs, each to be carried out on a class of machines, named by its ``id``."""

    def run(self, groups: Sequence[Sequence[int]]) -> Iterator[Event]:
        """Carry out runs, those of a group in turns, and yield what happens; called again for runs that are appended.

        Raises
        ------
        EngineLost : the engine is gone; everything that had come back was yielded.
        UsageError : no node is left.
        """

    def close(self) -> list[RunsEnded]:
        """End what goes on, and return what had ended and was not yielded."""
