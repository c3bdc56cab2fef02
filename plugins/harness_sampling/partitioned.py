"""RandSVM-1 on a training set that no machine holds: the passes go to where its parts are read, the sample is solved here.

The algorithm is that of :class:`harness_sampling.rounds.SupportRounds`. Differs in: a pass scores all points anew, as nobody
holds their scores; the violators drawn are those with the smallest keys, see :func:`keys_of`; it ends by the gap of a pass in
float64 over all points, its certificate, so that no round without violators ends it above the gap: tau then becomes smaller.
"""

from __future__ import annotations

import contextlib
import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import (
    CSVC,
    Certificate,
    DataError,
    Kernel,
    KernelOracle,
    Precomputed,
    Problem,
    UsageError,
    as_points,
    fit_clock,
)
from harness.registry.subproblem_oracle import Answer, CertifiedOracle
from harness.support.arrays import Index, Vector
from harness_sampling.oracle import answers, refusal
from harness_sampling.rounds import COARSE, EXACTEST, IDLE
from harness_sampling.scoring import TRIED
from harness_sampling.solvers import DELTA, RandSVM1, support_bound

if TYPE_CHECKING:
    from harness import ChunkedFile, PartitionedData  # which load what reads files

_PIECE = 1 << 14  # points scored at a time
_NOBODY: tuple[Any, Index] = np.empty(0, np.uint64), np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class PartitionedModel:
    """f(x) = sum_i coef_i k(s_i, x) + intercept.

    support_vectors : (s, d) dense or CSR
    rows : (s,) their numbers in the data set, from 0, ascending
    coef : (s,) signed, sum 0
    """

    kernel: Kernel
    support_vectors: Any
    rows: Index
    coef: Vector
    intercept: float

    def decision_function(self, x: Any) -> Vector:
        """Return f of points x, (m, d), as (m,) float64; DataError if they are no such numbers."""
        x = as_points(x, "the points")
        if x.shape[1] != self.support_vectors.shape[1]:
            raise DataError(
                f"the points have {x.shape[1]} features each; expected {self.support_vectors.shape[1]}, as those of training: "
                "give the same columns."
            )
        return KernelOracle(self.kernel, self.support_vectors).expand_new(self.coef, x) + self.intercept


@dataclass(frozen=True)
class PassRecord:
    """What a pass found in one part, or in all.

    violators : how many there are outside the sample
    loss : sum of max(0, 1 - y f) outside the sample
    keys, rows : of the violators with the smallest keys, as many as were asked for
    """

    violators: int
    loss: float
    evaluations: int
    keys: Any
    rows: Index


@dataclass(frozen=True)
class Round:
    """One round: its sample, its model, and what the pass over all points found.

    violators : outside the sample; primal, dual, gap : objectives over all points, and the relative gap
    oracle_evaluations, pass_evaluations : kernel evaluations
    exact : whether the pass was in float64 throughout
    """

    sample: int
    support: int
    violators: int
    primal: float | None
    dual: float | None
    gap: float | None
    exact: bool
    oracle_seconds: float
    pass_seconds: float
    oracle_evaluations: int
    pass_evaluations: int


@dataclass(frozen=True)
class PartitionedFit:
    """What :meth:`PartitionedRandSVM.fit` found.

    certificate : over all points, from a pass in float64; its gap_rounding is not known
    status : 'gap', 'k support vectors', 'max_rounds' or 'stalled'
    kernel_evaluations : of the workers, the oracle and the certificates of the samples
    """

    model: PartitionedModel
    certificate: Certificate
    status: str
    rounds: tuple[Round, ...]
    kernel_evaluations: int
    seconds: float


def keys_of(seed: int, step: int, rows: Index) -> Any:
    """Return a random number for each of the points numbered ``rows``, (m,) uint64, no two alike: splitmix64 of the number.

    They depend on the seed, the step and the number alone, so that the m smallest are the same whoever asks first.
    """
    start, odd = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0], np.uint64(0x9E3779B97F4A7C15)
    z = rows.astype(np.uint64) * odd + start
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def score_part(
    part: ChunkedFile,
    start: int,
    model: PartitionedModel,
    tau: float,
    error: float | None,
    inside: Index,
    draw: tuple[int, int, int],
) -> PassRecord:
    """Score a part and look for violators.

    Parameters
    ----------
    start : number of its first point
    tau : a point violates where 1 - y f is larger
    error : of a score, below it float64 is not needed, which is tried on a few points of each chunk; None: float64
    inside : (m,) numbers of the points of the sample, which are left out
    draw : seed, step and how many
    """
    oracle = KernelOracle(model.kernel, model.support_vectors)
    losses, found, violators = [], _NOBODY, 0
    for x, y in part:
        off = 1.0 - y * (scores_of(oracle, model.coef, x, error) + model.intercept)
        rows = np.arange(start, start + len(y), dtype=np.int64)
        start += len(y)
        off[np.isin(rows, inside, assume_unique=True)] = 0.0
        losses.append(float(np.maximum(0.0, off).sum()))
        rows = rows[off > tau]
        violators += len(rows)
        found = smallest([found, (keys_of(draw[0], draw[1], rows), rows)], draw[2])
    return PassRecord(violators, math.fsum(losses), oracle.counter.evaluations, *found)


def draw_part(part: ChunkedFile, start: int, sign: float, draw: tuple[int, int, int]) -> PassRecord:
    """Return a record in which all points are violators, or those with the label ``sign`` if it is not 0."""
    found, count = _NOBODY, 0
    for _, y in part:
        rows = start + np.flatnonzero((y == sign) | (sign == 0.0)).astype(np.int64)
        start, count = start + len(y), count + len(rows)
        found = smallest([found, (keys_of(draw[0], draw[1], rows), rows)], draw[2])
    return PassRecord(count, 0.0, 0, *found)


def fetch_part(part: ChunkedFile, start: int, rows: Index) -> tuple[Any, Vector]:
    """Return the points numbered ``rows``, ascending, and their labels."""
    points, labels = [], []
    for x, y in part:
        wanted = rows[(rows >= start) & (rows < start + len(y))] - start
        start += len(y)
        if len(wanted):
            points.append(x[wanted])
            labels.append(y[wanted])
    return _stacked(points), np.concatenate(labels)


def scores_of(oracle: KernelOracle, coef: Vector, x: Any, error: float | None) -> Vector:
    """Return sum_j coef_j k(s_j, x), (m,)."""
    if oracle.is_linear:
        return oracle.expand_new(coef, x)
    s, n = len(coef), int(x.shape[0])

    def scored(points: Any, dtype: Any = np.float64) -> Vector:
        both = oracle.replace(extra_points=points).replace(dtype=dtype)
        return both.expand(np.concatenate([coef, np.zeros(both.n - s)]), np.arange(s, both.n))

    kind: Any = np.float64
    if error is not None:
        tried = x[np.unique(np.linspace(0, n - 1, TRIED).astype(np.intp))]
        with contextlib.suppress(UsageError):  # beyond the range of float32
            kind = np.float32 if np.abs(scored(tried, np.float32) - scored(tried)).max() <= error else kind
    pieces = [x[first : first + _PIECE] for first in range(0, n, _PIECE)]
    try:
        return np.concatenate([scored(piece, kind) for piece in pieces])
    except UsageError:
        return np.concatenate([scored(piece) for piece in pieces])


def smallest(found: list[tuple[Any, Index]], count: int) -> tuple[Any, Index]:
    """Return the ``count`` smallest keys of all, ascending, and their rows; of equal keys those of the first rows."""
    keys = np.concatenate([keys for keys, _ in found])
    rows = np.concatenate([rows for _, rows in found])
    order = np.lexsort((rows, keys))[:count]
    return keys[order], rows[order]


def _stacked(points: list[Any]) -> Any:
    if isinstance(points[0], np.ndarray):
        return np.concatenate(points)
    import scipy.sparse

    return scipy.sparse.vstack(points, format="csr")


def of_parts(kernel: Any, example: str) -> Kernel:
    """Return the kernel if it is one of any two points.

    Raises
    ------
    UsageError : it is not; ``example`` is one that is.
    """
    if not isinstance(kernel, Kernel) or isinstance(kernel, Precomputed):
        raise UsageError(
            f"the kernel of parts is {kernel!r}; expected one of any two points, such as harness.{example}."
        )
    return kernel


class PartitionedRandSVM:
    """c-svc by RandSVM-1 over a :class:`harness.PartitionedData`.

    Parameters
    ----------
    kernel : any kernel of two points (not precomputed)
    C : upper bound of the coefficients, > 0
    options : parameters of the solver ``randsvm-1``; None: those of RandSVM1, with the oracle smo-block
    seed : of the samples

    The model depends on the data and these alone, but for the rounding of scores, which may differ where parts and chunks end
    elsewhere; not on the workers, nor on who ends first.

    Raises
    ------
    UsageError : a kernel, C or options that there are not.
    """

    def __init__(self, kernel: Kernel, C: float = 1.0, *, options: RandSVM1 | None = None, seed: int = 0) -> None:
        self.kernel, self.settings, self.seed = of_parts(kernel, "RBF(gamma=0.5)"), CSVC.parameter_class(C=C), seed
        self.options = RandSVM1(oracle="smo-block") if options is None else options

    def fit(self, data: PartitionedData | str, executor: Executor | None = None) -> PartitionedFit:
        """Solve until the certified relative gap over all points is at most ``options.gap``, or as ``status`` says.

        Parameters
        ----------
        data : the parts, or their folder
        executor : makes the passes, one task a part: a process pool, Dask's ``client.get_executor(pure=False)`` (pure: it may
            hand out what it found before a file was mended); None: this process

        Memory here: a sample of c k points and the oracle's cache; of a worker: a chunk and the support vectors.

        Raises
        ------
        DataError : of the data, as :class:`harness.PartitionedData` raises it; a part that vanishes or changes meanwhile.
        UsageError : an oracle that does not solve c-svc.
        HarnessError : the oracle or the executor failed.
        """
        return _Run(self, data, executor).fit()


class Sample:
    """The points of a sample, ascending in their numbers, and the coefficients of its model, which an oracle finds.

    rows : (r,) their numbers; points : (r, d); labels, coef : (r,)
    """

    def __init__(self, data: PartitionedData | str, executor: Executor | None, oracle: Any) -> None:
        from harness import PartitionedData

        self.data = data if isinstance(data, PartitionedData) else PartitionedData(data, executor=executor)
        self.executor, self.oracle = executor, CertifiedOracle(oracle)
        self.rounds: list[Round] = []
        self.rows: Index = np.empty(0, dtype=np.int64)
        self.points: Any = None
        self.labels: Vector = np.empty(0)
        self.coef: Vector = np.empty(0)
        self.evaluations = 0

    def take(self, fresh: Index, kept: Index) -> None:
        """Make the points numbered ``fresh`` and those at the places ``kept`` of the sample the next sample."""
        fresh = np.sort(fresh)
        points, labels = self.fetched(fresh)
        coef = np.zeros(len(fresh))
        if len(kept):
            fresh = np.concatenate([self.rows[kept], fresh])
            points, labels = _stacked([self.points[kept], points]), np.concatenate([self.labels[kept], labels])
            coef = np.concatenate([self.coef[kept], coef])
        order = np.argsort(fresh)
        self.rows, self.points, self.labels, self.coef = fresh[order], points[order], labels[order], coef[order]

    def fetched(self, rows: Index) -> tuple[Any, Vector]:
        if not len(rows):
            return self.points[:0], self.labels[:0]
        inside = {part: (own,) for part, own in self.by_part(rows).items() if len(own)}
        found = dict(self.data.passes(fetch_part, inside, self.executor))
        points, labels = zip(*(found[part] for part in inside), strict=True)
        return _stacked(list(points)), np.concatenate(labels)

    def by_part(self, rows: Index) -> dict[int, Index]:
        """Return the numbers, ascending, that each part has of ``rows``."""
        ends = np.searchsorted(rows, self.data.starts)
        return dict(enumerate(np.split(rows, ends[1:])))

    def all_parts(self, function: Any, arguments: Any) -> list[Any]:
        """Return what ``function`` finds in each part, in the order of the parts.

        arguments : of every part, or by part
        """
        each = arguments if isinstance(arguments, dict) else dict.fromkeys(range(len(self.data)), arguments)
        return [found for _, found in sorted(self.data.passes(function, each, self.executor), key=lambda pair: pair[0])]

    def solved(self, problem: Problem, owner: str, gap: float) -> Answer:
        """Solve ``problem``, which is over the sample, starting from the coefficients there are.

        Raises
        ------
        UsageError : the oracle does not solve its kind; ``owner`` asks for it.
        """
        if not self.rounds and (refused := refusal(owner, self.oracle.name, problem)):
            raise UsageError(refused)
        self.spent = self.oracle.seconds, self.evaluations
        start, where = self.coef if self.rounds else None, f"round {len(self.rounds) + 1}"
        *_, found = answers(self.oracle, problem, where, gap, start)
        assert isinstance(found, Answer)
        self.evaluations += problem.kernel.counter.evaluations
        self.coef = found.coef
        return found

    def model(self, kernel: Kernel, intercept: float) -> PartitionedModel:
        """Return the model of the coefficients."""
        support = np.flatnonzero(self.coef)
        return PartitionedModel(kernel, self.points[support], self.rows[support], self.coef[support], intercept)


class _Run(Sample):
    """One fit: the sample, its solution, the passes made so far."""

    def __init__(self, owner: PartitionedRandSVM, data: PartitionedData | str, executor: Executor | None) -> None:
        super().__init__(data, executor, owner.options.oracle)
        self.owner, self.options = owner, owner.options
        options, self.price = owner.options, float(owner.settings.C)
        self.k = options.k or support_bound(
            self.data.n, options.eps, options.delta or DELTA, separable=options.separable
        )
        self.r = min(self.data.n, max(2, math.ceil(options.c * self.k)))
        self.oracle_gap = 0.5 * options.gap
        self.tau = options.tau if options.tau is not None else options.gap
        self.exact = min(options.gap, self.tau) < COARSE
        self.steps = self.idle = 0
        self.best = -np.inf

    def fit(self) -> PartitionedFit:
        began = fit_clock()
        self.take(self._first_sample(), np.empty(0, dtype=np.intp))
        while True:
            problem = CSVC(KernelOracle(self.owner.kernel, self.points), self.labels, self.owner.settings)
            answer = self.solved(problem, "randsvm-1", self.oracle_gap)
            status, record, certificate = self._judged(answer)
            if status:
                break
            self.take(record.rows, np.flatnonzero(self.coef))
        seconds = fit_clock() - began
        model = self.model(self.owner.kernel, answer.intercept)
        return PartitionedFit(model, certificate, status, tuple(self.rounds), self.evaluations, seconds)

    # -- the sample ----------------------------------------------------------------------------------

    def _first_sample(self) -> Index:
        """Return r random points, with one of each class in place of the last if they lack one."""
        sample = self._pass(draw_part, 0.0, self._draw(self.r)).rows
        _, labels = self.fetched(np.sort(sample))
        for sign in {-1.0, 1.0} - set(labels.tolist()):
            sample[-1:] = self._pass(draw_part, sign, self._draw(1)).rows
        return sample

    # -- passes --------------------------------------------------------------------------------------

    def _draw(self, count: int) -> tuple[int, int, int]:
        """Return what a pass draws violators by; each pass has a step of its own."""
        self.steps += 1
        return self.owner.seed, self.steps, count

    def _pass(self, function: Any, *arguments: Any, sample: Index | None = None) -> PassRecord:
        """Return the record of all parts: the same in whatever order they end."""
        draw, each = arguments[-1], dict.fromkeys(range(len(self.data)), arguments)
        if sample is not None:
            each = {part: (*arguments[:-1], own, draw) for part, own in self.by_part(sample).items()}
        losses, found, violators = [], _NOBODY, 0
        for _, record in self.data.passes(function, each, self.executor):
            losses.append(record.loss)  # whose exact sum knows no order
            violators += record.violators
            self.evaluations += record.evaluations
            found = smallest([found, (record.keys, record.rows)], draw[2])
        return PassRecord(violators, math.fsum(losses), 0, *found)

    def _scored(self, answer: Answer) -> tuple[PassRecord, Certificate]:
        """Return what a pass finds, and the certificate over all points, as far as the pass is exact."""
        error = None if self.exact else 0.5 * min(self.options.gap, self.tau)
        draw = self._draw(max(1, self.r - int(np.count_nonzero(self.coef))))
        record = self._pass(
            score_part, self.model(self.owner.kernel, answer.intercept), self.tau, error, draw, sample=self.rows
        )
        found = answer.certificate
        return record, Certificate.of_objectives((found.primal or 0.0) + self.price * record.loss, found.dual or 0.0)

    # -- one round -----------------------------------------------------------------------------------

    def _judged(self, answer: Answer) -> tuple[str, PassRecord, Certificate]:
        """Make the passes of a round; return why it is the last one, or '', and what the last pass found."""
        options, support = self.options, int(np.count_nonzero(self.coef))
        full = support >= self.k and len(self.rows) < self.data.n  # line 4: it ends, whatever violates
        last = full or len(self.rounds) + 1 == options.max_rounds
        self.exact = self.exact or last
        began, before = fit_clock(), self.evaluations
        while True:
            record, found = self._scored(answer)
            done = found.meets(options.gap)
            least = 0.5 * options.gap * abs(found.primal or 0.0) / (self.price * self.data.n)
            if (done and self.exact) or last or (not done and (record.violators or self.tau <= least)):
                break
            # what float32 says is not certain; and where no point is off by tau, all together are off by too much
            self.exact, self.tau = True, self.tau if done else least
        figures = found.primal, found.dual, found.relative_gap, self.exact, self.oracle.seconds - self.spent[0]
        self.rounds.append(
            Round(
                len(self.rows), support, record.violators, *figures, fit_clock() - began, before - self.spent[1],
                self.evaluations - before,
            )
        )  # fmt: skip
        if done:
            return "gap", record, found
        if last:
            return "k support vectors" if full else "max_rounds", record, found
        dual = found.dual or 0.0
        self.idle = 0 if dual > self.best + EXACTEST * abs(dual) else self.idle + 1
        self.best = max(self.best, dual)
        if self.idle >= IDLE or not record.violators:
            # a violator that the oracle puts back at zero is seen anew each round, until it is solved more exactly
            if self.oracle_gap <= EXACTEST:
                return "stalled", record, found
            self.idle, self.oracle_gap = 0, 0.1 * self.oracle_gap
        return "", record, found
