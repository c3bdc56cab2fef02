"""LASVM on a stream: chunks come and go, the candidate set S stays.

A chunk and the points of S are the examples of a small problem. The next chunk takes its place, and alpha, the gradients and
the kernel rows of S go on. K(S, S) is not computed again while the cache has it.

When a chunk arrives, members of weight zero leave S: all but the :data:`IDLE` that violate most and, up to the size of the
chunk, those in a tau-violating pair. REPROCESS removes none between the extremes, and copies of points on the margin always
are.

Memory is bounded whatever the number of examples seen. S has the support vectors, at most as many members of weight zero as
the larger of the chunk and :data:`IDLE`, and what entered from the last chunk. Kernel values take ``cache_mb`` (or four rows,
if these are longer) and :data:`CANDIDATE_VALUES` values of candidates.

A stream fed in one chunk takes the steps of the solver ``lasvm`` over the same order; in several chunks it does so up
to the rounding of kernel values, if the first chunk has the seeds, five examples of each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVC, DataError, Kernel, KernelOracle, Precomputed, UsageError, as_points
from harness.support.arrays import Array
from harness_lasvm.finishing import finish
from harness_lasvm.solver import LASVM

if TYPE_CHECKING:
    from harness_lasvm.candidate_set import CandidateSet


IDLE = 256  # members of weight zero that stay in S, whether they violate or not
CANDIDATE_VALUES = 4 << 20  # room for the kernel values of candidates with S


@dataclass(frozen=True, eq=False)
class StreamModel:
    """A model apart from the stream it came from: f(x) = sum_i coef_i k(s_i, x) + intercept.

    support_vectors : (s, d) dense or CSR
    coef : (s,) signed, sum 0
    """

    kernel: Kernel
    support_vectors: Any
    coef: Array
    intercept: float

    def decision_function(self, x: Any) -> Array:
        """Return f of new points x, (m, d), as (m,) float64.

        Raises
        ------
        DataError : x is not (m, d) with the d of the support vectors, or not finite.
        """
        x = _points(x, "the points", self.support_vectors)
        return KernelOracle(self.kernel, self.support_vectors).expand_new(self.coef, x) + self.intercept


class LASVMStream:
    """LASVM fed with chunks of examples.

    Parameters
    ----------
    kernel : any kernel of two points (not precomputed)
    C : upper bound of the coefficients, > 0
    options : parameters of the solver; ``epochs`` and ``max_support`` have no meaning here. With selection other than
        'random' the examples of a chunk are its pool, and an exhausted margin ends the chunk. REPROCESS finishes here,
        whatever ``finisher`` says: more chunks may follow, and they need the gradients
    seed : of the samples of ``options.selection``; without selection examples are visited in their order

    Raises
    ------
    UsageError : a kernel, C or options that no stream has.

    Attributes
    ----------
    seen : examples fed
    """

    def __init__(self, kernel: Kernel, C: float = 1.0, *, options: LASVM | None = None, seed: int = 0) -> None:
        if not isinstance(kernel, Kernel) or isinstance(kernel, Precomputed):
            raise UsageError(
                f"the kernel of a stream is {kernel!r}; expected one of any two points, such as harness.RBF(gamma=0.5)."
            )
        self.options = LASVM() if options is None else options
        if self.options.epochs != 1 or self.options.max_support is not None:
            raise UsageError(
                f"{self.options.label}: a stream passes once and has no end to come early to; leave out epochs and "
                "max_support, and stop feeding when stream.support is large enough."
            )
        self.kernel = kernel
        self.settings = CSVC.parameter_class(C=C)
        self._rng = np.random.default_rng(seed)
        self._problem: CSVC | None = None
        self._online: Any = None
        self.seen = 0

    # -- feeding ------------------------------------------------------------------------------------

    def feed(self, x: Any, y: Any) -> None:
        """Visit the examples of a chunk.

        Parameters
        ----------
        x : (m, d) numbers, a dense array (in memory or mapped) or a sparse matrix; copied, m at least 1
        y : (m,) labels -1 or +1; a chunk may hold one class

        Raises
        ------
        DataError : an empty chunk, another d than before, lengths that differ, NaN or infinity, other labels, points
            so large that kernel values overflow. The stream stays as it was.
        """
        points, labels = self._checked(x, y)
        examples = self._enter(points, labels)
        online = self._online
        online.seed(examples)
        online.learn(examples)
        self.seen += len(labels)

    def finish(self) -> None:
        """Run the finishing step: REPROCESS until delta <= tau. More chunks may follow.

        Raises
        ------
        DataError : nothing was fed yet.
        """
        for _ in finish(self._expansion(), self.options):
            pass

    # -- what it knows -------------------------------------------------------------------------------

    def model(self) -> StreamModel:
        """Return the model of now, which later chunks do not change; a constant after one class only.

        Raises
        ------
        DataError : nothing was fed yet.
        """
        expansion = self._expansion()
        coef = np.array(expansion.write())
        support = np.flatnonzero(coef)
        points = self._problem.kernel.points  # type: ignore[union-attr]
        return StreamModel(self.kernel, points[support], coef[support], expansion.intercept)

    @property
    def members(self) -> int:
        """|S|, those that the finishing step set aside included."""
        return self._expansion().all_members

    @property
    def support(self) -> int:
        """Number of support vectors."""
        return int(np.count_nonzero(self._expansion().write()))

    @property
    def delta(self) -> float:
        """Gradient difference of the most violating pair of S; -inf while there is none."""
        return self._expansion().delta

    @property
    def kernel_evaluations(self) -> int:
        """Kernel values computed, used or not."""
        return 0 if self._problem is None else self._problem.kernel.counter.evaluations

    # -- inside --------------------------------------------------------------------------------------

    def _expansion(self) -> CandidateSet:
        if self._online is None:
            raise DataError("nothing was fed to the stream yet; call feed(x, y) first.")
        expansion: CandidateSet = self._online.expansion
        return expansion

    def _enter(self, points: Any, labels: Array) -> Array:
        """State the problem over S and the chunk, S first; return the numbers of the chunk's examples in it."""
        from harness_lasvm.candidate_set import CandidateSet
        from harness_lasvm.online import Online

        if self._problem is None:
            self._problem = self._stated(points, labels)
            options = self.options
            expansion = CandidateSet(self._problem, cache_mb=options.cache_mb, block=options.block, dtype=options.dtype)
            expansion.most_values = CANDIDATE_VALUES
            self._online = Online(expansion, options, self._rng)
            return np.arange(len(labels))
        before = self._expansion()
        before.readmit()
        slots = before.useful(self.options.tau, IDLE, max(IDLE, len(labels)))
        staying = before.members.slots["member"][slots]
        problem = self._stated(
            _stacked(self._problem.kernel.points[staying], points),
            np.concatenate([self._problem.targets[staying], labels]),
        )
        self._online.expansion = before.moved(problem, slots)
        self._problem = problem
        return np.arange(len(slots), problem.n)

    def _stated(self, points: Any, labels: Array) -> CSVC:
        counter = None if self._problem is None else self._problem.kernel.counter
        kernel = KernelOracle(self.kernel, points, counter=counter)
        return CSVC(kernel, labels, self.settings)

    def _checked(self, x: Any, y: Any) -> tuple[Any, Array]:
        """Return a copy of a chunk, or refuse it."""
        what = f"the chunk after {self.seen} examples"
        x = _points(x, what, None if self._problem is None else self._problem.kernel.points)
        labels = np.asarray(y)
        if labels.shape != (x.shape[0],) or not len(labels) or not np.isin(labels, (-1, 1)).all():
            raise DataError(
                f"{what} has {x.shape[0]} points and labels of shape {labels.shape}, such as {labels.ravel()[:3].tolist()}; expected "
                "a point or more and for each of them -1 or +1: map the two classes, e.g. with numpy.where(y == positive, 1, -1)."
            )
        # a search along NaN never ends
        if not KernelOracle(self.kernel, x).largest < float(np.finfo(self.options.dtype).max):
            raise DataError(f"{what} has kernel values that overflow {self.options.dtype}; scale the features.")
        return x, labels.astype(np.float64)


def _points(x: Any, what: str, known: Any) -> Any:
    """Return a copy of (m, d) points, dense or CSR and as wide as those ``known`` (None: as they are).

    Raises
    ------
    DataError : no numbers of this shape, or not finite.
    """
    import scipy.sparse

    points: Any = as_points(x, what)
    if known is not None:
        if points.shape[1] != known.shape[1]:
            raise DataError(
                f"{what} came with {points.shape[1]} features each; expected {known.shape[1]}, as the points before: give all "
                "the same columns."
            )
        if isinstance(known, np.ndarray) != isinstance(points, np.ndarray):
            points = points.toarray() if isinstance(known, np.ndarray) else scipy.sparse.csr_array(points)
    points = np.array(points, order="C") if isinstance(points, np.ndarray) else points.copy()
    if not np.isfinite(points if isinstance(points, np.ndarray) else points.data).all():
        raise DataError(f"{what} has NaN or infinity; expected finite numbers.")
    return points


def _stacked(first: Any, second: Any) -> Any:
    import scipy.sparse

    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    return scipy.sparse.vstack([first, second], format="csr")
