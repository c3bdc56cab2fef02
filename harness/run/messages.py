"""The messages of the processes of a comparison; :mod:`harness.run` says which process sends which.

They go over a :class:`harness.run.channel.Channel`. A child's frames begin with a secret of its run: what else is written
there, by a solver that writes to a descriptor it does not own, is no message and ends the run. A model is packed by the
process that has it and opened by the certifier alone: between them it is bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
import numpy as np

from harness.measure.outcome import TracePoint
from harness.measure.scored import CosineFeatures, FreeModel, Weights
from harness.run.channel import BrokenStream, decode, encode
from harness.run.plan import RunSpec
from harness.run.record import CertifiedFigures, Claims, Record

Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
Finite = Annotated[float, msgspec.Meta(ge=-1e308, le=1e308)]  # NaN is refused too


class _Part(msgspec.Struct, frozen=True, tag=True):
    """A part of a message."""


class OwnPoints(_Part, frozen=True):
    """A model's own points, not among those of the problem.

    coef : (m,) their coefficients
    values, indices, indptr : (m, d) numbers row by row, or the three arrays of a CSR array
    """

    coef: np.ndarray
    values: np.ndarray
    indices: np.ndarray | None = None
    indptr: np.ndarray | None = None

    @classmethod
    def of(cls, free: FreeModel) -> OwnPoints:
        """Return what is sent of a model's own points, dense or CSR."""
        points: Any = free.own
        if hasattr(points, "indptr"):
            return cls(free.own_coef, points.data, points.indices, points.indptr)
        return cls(free.own_coef, points.reshape(-1))

    def points(self, n_features: int) -> Any:
        """Return the points, (m, n_features).

        Raises
        ------
        BrokenStream : the arrays are no such points.
        """
        try:
            if self.indptr is None:
                return self.values.reshape(len(self.coef), n_features)
            import scipy.sparse

            arrays: Any = (self.values, self.indices, self.indptr)
            return scipy.sparse.csr_array(arrays, shape=(len(self.coef), n_features))
        except (ValueError, TypeError, IndexError) as error:
            raise BrokenStream(
                f"a model's {len(self.coef)} own points are not of {n_features} features: {error}"
            ) from None


class Model(_Part, frozen=True):
    """A solver's model as it left the solver: what the certificate is computed of, and nothing else.

    support : (m,) the points that have a coefficient; None for a model of ``weights``, (d,)
    directions, offsets : (d m,) row by row and (m,), where the weights are those of features of the solver's own
    dual_coef, free_coef : (m,) the coefficients of ``support``: one of the two, the second of an expansion that is no
        dual solution, which may have ``own`` points
    """

    intercept: Finite
    support: np.ndarray | None = None
    dual_coef: np.ndarray | None = None
    weights: np.ndarray | None = None
    free_coef: np.ndarray | None = None
    own: OwnPoints | None = None
    directions: np.ndarray | None = None
    offsets: np.ndarray | None = None

    @classmethod
    def of(cls, dual_coef: Any, intercept: float) -> Model:
        """Return the model of coefficients over all points, (n,) float64."""
        support = np.flatnonzero(dual_coef)
        return cls(intercept, support, dual_coef[support])

    @classmethod
    def free(cls, given: FreeModel) -> Model:
        """Return the model of an expansion that is no dual solution."""
        support = np.flatnonzero(given.coef)
        own = None if given.own is None else OwnPoints.of(given)
        return cls(given.intercept, support, free_coef=given.coef[support], own=own)

    @classmethod
    def linear(cls, given: Weights) -> Model:
        """Return the model of weights."""
        own = given.features
        if own is None:
            return cls(given.intercept, weights=given.weights)
        return cls(given.intercept, weights=given.weights, directions=own.directions.reshape(-1), offsets=own.offsets)

    def features(self, n_features: int) -> CosineFeatures | None:
        """Return the features that the weights are of; None for those of the data.

        Raises
        ------
        BrokenStream : the arrays are none of points with ``n_features``.
        """
        if self.offsets is None or self.directions is None:
            return None
        if self.directions.size != n_features * len(self.offsets):
            raise BrokenStream(f"a model's {len(self.offsets)} features are not of points with {n_features}")
        return CosineFeatures(self.directions.reshape(n_features, len(self.offsets)), self.offsets)

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


class Run(_Part, frozen=True):
    """To a worker: measure this run; ``warm_worker`` : before it the worker may run the solver's warm-up in its own process."""

    spec: RunSpec
    warm_worker: bool = True


class Prepare(_Part, frozen=True):
    """To a worker or the certifier: have at hand what this run needs, machine code too; what is wrong is told of the run."""

    spec: RunSpec


class Prepared(_Part, frozen=True):
    """The answer: it has, or it could not."""


class Compiling(_Part, frozen=True):
    """The compiler's lock was taken, or released; taken again: it is held, and something of it is done."""

    on: bool


class Warm(_Part, frozen=True):
    """The warm-up is over; ``sources`` : of the plugins used so far, for a run that does not end by itself."""

    seconds: Seconds
    sources: dict[str, str] = {}


class ClockStarted(_Part, frozen=True):
    """The clock runs from here."""


class ModelCopied(_Part, frozen=True):
    """The model is copied; what follows is the host's own work, however much, and the closing of the solver's generator."""


class Point(_Part, frozen=True):
    """A trace point; ``host_seconds`` of the fit so far were the host's own work."""

    figures: TracePoint
    host_seconds: Finite = 0.0
    model: bytes = b""  # empty: it has none
    queried: int = 0  # targets so far, by the worker's ledger, whatever the child says


class FinishedCell(_Part, frozen=True):
    """A cell of a path that was solved, and what its problem alone cost.

    index : its place on the path
    shared_seconds, shared_cpu_seconds : of the path so far, in what several cells have in common
    host_seconds : of the fit so far, the host's own work
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


class FitResult(_Part, frozen=True):
    """The fit ended; ``claims`` are what the solver's process says of it.

    kernel_sample : kernel values between a few points, as this process computes them
    """

    claims: Claims
    model: bytes = b""
    kernel_sample: np.ndarray | None = None


class Busy(_Part, frozen=True):
    """To the driver: the next message comes in so many seconds.

    running : the run has begun
    compiling : a warm-up is under way whose machine code was not kept yet
    """

    seconds: Annotated[float, msgspec.Meta(ge=0.0)]
    running: bool = True
    compiling: bool = False


class ToCertify(_Part, frozen=True):
    """What is to be certified of a run.

    points : the trace of a run of one problem
    cells : the finished cells of a path
    queried : points in the order in which their targets were queried; empty where the targets are given
    kernel_sample : kernel values between a few points, as the solver's process computed them
    """

    model: bytes = b""
    points: list[Point] = []
    queried: list[int] = []
    cells: list[FinishedCell] = []
    kernel_sample: np.ndarray | None = None


class RunResult(_Part, frozen=True):
    """From a worker: the outcome of a run, and what is to be certified of it."""

    claims: Claims
    solved: ToCertify = ToCertify()


class Certify(_Part, frozen=True):
    """To the certifier: certify and score what came of this run."""

    spec: RunSpec
    solved: ToCertify


class Certified(_Part, frozen=True):
    """From the certifier: what it computed of a run, and of each finished cell of a path."""

    figures: CertifiedFigures
    cells: list[CertifiedFigures] = []


ToChild = TargetReply
FromChild = Compiling | Warm | ClockStarted | Point | FinishedCell | ModelCopied | TargetRequest | FitResult
ToProcess = Prepare | Run | Certify
FromProcess = Prepared | Busy | RunResult | Certified
Emit = Callable[[FromChild], None]
Receive = Callable[[], ToChild]
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

    def run(self, indices: Sequence[int]) -> Iterator[Event]:
        """Carry out runs and yield what happens as it happens; called once.

        Raises
        ------
        EngineLost : the engine is gone; everything that had come back was yielded.
        UsageError : no node is left.
        """

    def close(self) -> list[RunsEnded]:
        """End what goes on, and return what had ended and was not yielded."""
