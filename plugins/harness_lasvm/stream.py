"""LASVM on a stream: chunks come and go, the candidate set S stays.

A chunk and the points of S are the examples of a small problem; after the chunk what left S is forgotten, and alpha,
the gradients and the kernel rows of S go on. Memory is bounded by |S|, the chunk and the cache of kernel rows,
whatever the number of points seen; K(S, S) is not computed again while the cache holds it.

A stream fed in one chunk takes the steps of the solver ``lasvm`` over the same order; in several chunks it does so up
to the rounding of kernel values, if the first chunk holds the seeds, five examples of each class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVC, DataError, Kernel, KernelOracle, Linear, Precomputed, UsageError, as_points
from harness_lasvm.solver import LASVM

if TYPE_CHECKING:
    from harness.arrays import Array
    from harness_lasvm.candidate_set import CandidateSet

_CACHE_MB = 256.0


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
        x = _like(_points(x, "the points"), self.support_vectors)
        _check_width(x, self.support_vectors, "the points")
        if not len(self.coef):
            return np.full(x.shape[0], self.intercept)
        return KernelOracle(self.kernel, self.support_vectors).expand_new(self.coef, x) + self.intercept


class LASVMStream:
    """LASVM fed with chunks of examples.

    Parameters
    ----------
    kernel : any kernel of two points (not precomputed)
    C : upper bound of the coefficients, > 0
    class_weight : factors of C, e.g. {-1: 1.0, 1: 10.0}; 1 where nothing is said
    options : parameters of the solver; ``epochs`` and ``max_support`` have no meaning here. With selection other than
        'random' the examples of a chunk are its pool, and an exhausted margin ends the chunk. REPROCESS finishes here,
        whatever ``finisher`` says: more chunks may follow, and they need the gradients
    seed : of the samples of ``options.selection``; without selection examples are visited in their order

    Raises
    ------
    UsageError : C, the seed or an option out of range.

    Attributes
    ----------
    seen, visited : examples fed, and given to PROCESS
    """

    def __init__(
        self,
        kernel: Kernel,
        C: float = 1.0,
        *,
        class_weight: Mapping[int, float] | None = None,
        options: LASVM | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise UsageError(f"the kernel of a stream is {kernel!r}; expected a kernel such as harness.RBF(gamma=0.5).")
        if isinstance(kernel, Precomputed):
            raise UsageError(
                "the precomputed kernel knows the points of one data set only; a stream needs a kernel of two points: "
                "rbf, linear or poly."
            )
        if not isinstance(options, LASVM | None):
            raise UsageError(f"options is {options!r}; expected harness_lasvm.LASVM(...), e.g. LASVM(cache_mb=64.0).")
        if not (isinstance(seed, int) and seed >= 0):
            raise UsageError(f"seed is {seed!r}; expected a whole number, 0 or larger.")
        self.options = LASVM() if options is None else options
        if self.options.epochs != 1 or self.options.max_support is not None:
            raise UsageError(
                f"{self.options.label}: a stream passes once and has no end to come early to; leave out epochs and "
                "max_support, and stop feeding when stream.support is large enough."
            )
        self.kernel = kernel
        self.settings = CSVC.parameter_class(C=C)
        self._costs = {label: self.settings.C * weight for label, weight in _weights(class_weight).items()}
        self._cache_mb = _CACHE_MB if self.options.cache_mb is None else self.options.cache_mb
        self._rng = np.random.default_rng(seed)
        self._problem: CSVC | None = None
        self._online: Any = None
        self._evaluations = 0
        self._classes: set[float] = set()
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
        self._classes |= {float(label) for label in np.unique(labels)}
        self.seen += len(labels)

    def finish(self) -> None:
        """Run the finishing step: REPROCESS until delta <= tau. More chunks may follow.

        Raises
        ------
        DataError : nothing was fed, or one class only.
        """
        expansion = self._expansion()
        self._check_classes()
        for _ in self.options.finish(expansion):
            pass

    # -- what it knows -------------------------------------------------------------------------------

    def model(self) -> StreamModel:
        """Return the model of now, which later chunks do not change; a constant while one class was seen.

        Raises
        ------
        DataError : nothing was fed yet.
        """
        expansion = self._expansion()
        coef = self._coef()
        support = np.flatnonzero(coef)
        points = self._problem.kernel.points  # type: ignore[union-attr]
        return StreamModel(self.kernel, points[support], coef[support], expansion.intercept)

    @property
    def visited(self) -> int:
        """Examples given to PROCESS."""
        return 0 if self._online is None else int(self._online.visited)

    @property
    def members(self) -> int:
        """|S|, those that the finishing step set aside included."""
        return self._expansion().all_members

    @property
    def support(self) -> int:
        """Number of support vectors."""
        return int(np.count_nonzero(self._coef()))

    @property
    def delta(self) -> float:
        """Gradient difference of the most violating pair of S; -inf while there is none."""
        return self._expansion().delta

    @property
    def kernel_evaluations(self) -> int:
        """Kernel values computed, used or not."""
        return 0 if self._problem is None else self._problem.kernel.counter.evaluations

    @property
    def rows_recomputed(self) -> int:
        """Kernel rows of members that the cache did not hold when they were needed."""
        return self._expansion().rows_recomputed

    # -- inside --------------------------------------------------------------------------------------

    def _expansion(self) -> CandidateSet:
        if self._online is None:
            raise DataError("nothing was fed to the stream yet; call feed(x, y) first.")
        expansion: CandidateSet = self._online.expansion
        return expansion

    def _coef(self) -> Array:
        return np.array(self._expansion().write())

    def _enter(self, points: Any, labels: Array) -> Array:
        """State the problem over S and the chunk, S first; return the chunk's places in it."""
        from harness_lasvm.candidate_set import CandidateSet
        from harness_lasvm.online import Online

        if self._problem is None:
            self._problem = self._stated(points, labels)
            options = self.options
            expansion = CandidateSet(self._problem, cache_mb=self._cache_mb, block=options.block, dtype=options.dtype)
            self._online = Online(expansion, options, self._rng)
            return np.arange(len(labels))
        before = self._expansion()
        before.readmit()
        kept = before.examples()
        problem = self._stated(
            _stacked(self._problem.kernel.points[kept], points),
            np.concatenate([self._problem.targets[kept], labels]),
        )
        self._online.expansion = before.moved(problem, cache_mb=self._cache_mb)
        self._online.expansion.now["sweep"] = 1  # the finishing step may have left it off
        self._problem = problem
        return np.arange(len(kept), problem.n)

    def _stated(self, points: Any, labels: Array) -> CSVC:
        counter = None if self._problem is None else self._problem.kernel.counter
        kernel = KernelOracle(self.kernel, points, counter=counter)
        return CSVC(kernel, labels, self.settings, np.where(labels > 0, self._costs[1], self._costs[-1]))

    def _checked(self, x: Any, y: Any) -> tuple[Any, Array]:
        """Return a chunk as the stream's own copy, or refuse it."""
        what = f"the chunk after {self.seen} examples"
        x = _points(x, what)
        labels = np.asarray(y)
        if labels.shape != (x.shape[0],):
            raise DataError(
                f"{what} has {x.shape[0]} points and labels of shape {labels.shape}; expected ({x.shape[0]},), one label "
                "for each point."
            )
        if not len(labels):
            raise DataError(f"{what} is empty; expected one example or more: leave it out.")
        wrong = [label for label in np.unique(labels).tolist() if label not in (-1, 1)]
        if wrong:
            raise DataError(
                f"{what} has the label {wrong[0]!r}; expected -1 or +1: map the two classes, e.g. with "
                "numpy.where(y == positive, 1, -1)."
            )
        if self._problem is not None:
            x = _like(x, self._problem.kernel.points)
            _check_width(x, self._problem.kernel.points, what)
        self._check_magnitude(x, what)
        return x, labels.astype(np.float64)

    def _check_magnitude(self, x: Any, what: str) -> None:
        """Refuse points whose kernel values overflow: a search along NaN never ends."""
        if KernelOracle(self.kernel, x).largest < float(np.finfo(self.options.dtype).max):
            return
        with np.errstate(all="ignore"):
            squares = KernelOracle(Linear(), x).diagonal()
        worst = int(np.argmax(squares))
        raise DataError(
            f"{what} has a point with |x|^2 = {squares[worst]:g} in row {worst} (counted from 0), whose kernel "
            f"values overflow {self.options.dtype}; scale the features to ordinary size."
        )

    def _check_classes(self) -> None:
        if len(self._classes) < 2:
            label = next(iter(self._classes))
            raise DataError(
                f"all {self.seen} examples fed so far have the label {label:+g}; expected both classes: feed examples of "
                "the other one, or mix the order of the source."
            )


def _weights(class_weight: Mapping[int, float] | None) -> dict[int, float]:
    """Return the factor of C of either class."""
    if not isinstance(class_weight, Mapping | None):
        raise UsageError(f"class_weight is {class_weight!r}; expected factors of C, e.g. {{-1: 1.0, 1: 10.0}}.")
    weights = {-1: 1.0, 1: 1.0, **(class_weight or {})}
    for label, weight in weights.items():
        if label not in (-1, 1):
            raise UsageError(f"class_weight names the class {label!r}; expected -1 or 1.")
        if not isinstance(weight, Real) or not 0.0 < weight < float("inf"):
            raise UsageError(f"class_weight of class {label:+d} is {weight!r}; expected a factor of C greater than 0.")
    return {label: float(weight) for label, weight in weights.items()}


def _points(x: Any, what: str) -> Any:
    """Return a copy of (m, d) points, dense or CSR, float32 or float64.

    Raises
    ------
    DataError : no numbers of this shape, or not finite.
    """
    points: Any = as_points(x, what)
    sparse = not isinstance(points, np.ndarray)
    if points.shape[1] == 0:
        raise DataError(f"{what} has no features; expected points of shape (m, d) with d at least 1.")
    points = points.copy() if sparse else np.array(points, order="C")
    if not np.isfinite(points.data if sparse else points).all():
        raise DataError(f"{what} holds NaN or infinity; expected finite numbers.")
    return points


def _like(x: Any, known: Any) -> Any:
    """Return ``x`` as CSR or dense, whichever ``known`` is."""
    import scipy.sparse

    if isinstance(known, np.ndarray):
        return x if isinstance(x, np.ndarray) else x.toarray()
    return scipy.sparse.csr_array(x) if isinstance(x, np.ndarray) else x


def _stacked(first: Any, second: Any) -> Any:
    import scipy.sparse

    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    return scipy.sparse.vstack([first, second], format="csr")


def _check_width(x: Any, known: Any, what: str) -> None:
    if x.shape[1] != known.shape[1]:
        raise DataError(
            f"{what} came with {x.shape[1]} features each; expected {known.shape[1]}, as the points before: give all the same "
            "columns."
        )
