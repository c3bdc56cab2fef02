"""RandSVM-1 on a training set in parts that no machine can load whole: workers score the parts, this process solves the sample.

The algorithm is that of :class:`harness_sampling.rounds.SupportRounds`. It differs in three points. Scores are not stored, so
every pass computes all of them. The violators that enter the sample are those with the smallest keys (:func:`random_keys`).
The fit ends by the certificate of a pass in float64 over all points; a round without violators but above the gap therefore
makes tau smaller instead of ending the fit.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
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
    ProblemSummary,
    UsageError,
    as_points,
    fit_clock,
)
from harness.registry.subproblem_oracle import Answer, CertifiedOracle
from harness.support.arrays import Index, Vector
from harness_sampling.checkpoints import Checkpoints, identity_of
from harness_sampling.oracle import answers, refusal
from harness_sampling.rounds import COARSE, EXACTEST, IDLE
from harness_sampling.scoring import TRIAL_POINTS
from harness_sampling.solvers import DELTA, RandSVM1, support_bound

if TYPE_CHECKING:
    from harness import ChunkedFile, PartitionedData  # their import loads the readers of files

_PIECE = 1 << 14  # number of points scored at a time
_QUIET_SECONDS = 2.0  # seconds from the start of a fit without a line of progress
_NO_POINTS: tuple[Any, Index] = np.empty(0, np.uint64), np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class PartitionedModel:
    """f(x) = sum_i coef_i k(s_i, x) + intercept.

    support_vectors : (s, d) dense or CSR
    rows : (s,) row numbers of the support vectors in the data set, from 0, ascending
    coef : (s,) signed, sum 0
    """

    kernel: Kernel
    support_vectors: Any
    rows: Index
    coef: Vector
    intercept: float

    def decision_function(self, x: Any) -> Vector:
        """Return f at the points x, (m, d), as (m,) float64; raise DataError if x is not an array of that form."""
        x = as_points(x, "the points")
        if x.shape[1] != self.support_vectors.shape[1]:
            raise DataError(
                f"the points have {x.shape[1]} features each; expected {self.support_vectors.shape[1]}, as in training: "
                "give the same columns."
            )
        return KernelOracle(self.kernel, self.support_vectors).expand_new(self.coef, x) + self.intercept


@dataclass(frozen=True)
class PassRecord:
    """Result of a pass over one part or over all parts.

    violators : number of violators outside the sample
    loss : sum of max(0, 1 - y f) outside the sample
    evaluations : kernel evaluations
    keys, rows : keys and row numbers of the violators with the smallest keys, at most as many as the pass draws
    """

    violators: int
    loss: float
    evaluations: int
    keys: Any
    rows: Index


@dataclass(frozen=True)
class Round:
    """Figures of one round: its sample, its model, and its pass over all points.

    sample, support : number of points in the sample, and of support vectors
    violators : number of violators outside the sample; primal, dual, gap : objectives over all points, and the relative gap
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
    """Result of :meth:`PartitionedRandSVM.fit`.

    certificate : over all points, from a pass in float64; without gap_rounding
    status : 'gap', 'k support vectors', 'max_rounds' or 'stalled'
    kernel_evaluations : number of kernel evaluations by the workers, the oracle and the certificates of the samples
    """

    model: PartitionedModel
    certificate: Certificate
    status: str
    rounds: tuple[Round, ...]
    kernel_evaluations: int
    seconds: float


class ProgressLines:
    """Default progress of a fit: a line on standard error for each part and sample, except in the first two seconds."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def __call__(self, text: str) -> None:
        """Print a line with the seconds since the fit began."""
        seconds = time.perf_counter() - self.began
        if seconds >= _QUIET_SECONDS:
            sys.stderr.write(f"[{seconds:.0f} s] {text}\n")
            sys.stderr.flush()


def random_keys(seed: int, step: int, rows: Index) -> Any:
    """Return a different random key for each row number, (m,) uint64: splitmix64 of the number.

    A key depends only on the seed, the step and the row number, so the m smallest keys do not depend on the workers.
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
    """Compute the scores of a part and return its violators.

    Parameters
    ----------
    start : row number of the part's first point
    tau : a point violates if 1 - y f > tau
    error : float32 is used while its error of a score, measured on a few points of each chunk, is at most this;
        None: float64 throughout
    inside : (m,) row numbers of the sample's points in this part, which are left out
    draw : seed, step and number of violators to return
    """
    oracle = KernelOracle(model.kernel, model.support_vectors)
    losses, drawn, violators = [], _NO_POINTS, 0
    for x, y in part:
        excess = 1.0 - y * (scores_of(oracle, model.coef, x, error) + model.intercept)
        rows = np.arange(start, start + len(y), dtype=np.int64)
        start += len(y)
        excess[np.isin(rows, inside, assume_unique=True)] = 0.0
        losses.append(float(np.maximum(0.0, excess).sum()))
        rows = rows[excess > tau]
        violators += len(rows)
        drawn = smallest([drawn, (random_keys(draw[0], draw[1], rows), rows)], draw[2])
    return PassRecord(violators, math.fsum(losses), oracle.counter.evaluations, *drawn)


def draw_part(part: ChunkedFile, start: int, sign: float, draw: tuple[int, int, int]) -> PassRecord:
    """Return a record in which all points are violators, or those with the label ``sign`` if it is not 0."""
    drawn, count = _NO_POINTS, 0
    for _, y in part:
        rows = start + np.flatnonzero((y == sign) | (sign == 0.0)).astype(np.int64)
        start, count = start + len(y), count + len(rows)
        drawn = smallest([drawn, (random_keys(draw[0], draw[1], rows), rows)], draw[2])
    return PassRecord(count, 0.0, 0, *drawn)


def fetch_part(part: ChunkedFile, start: int, rows: Index) -> tuple[Any, Vector]:
    """Return the points with the row numbers ``rows``, ascending, and their labels."""
    points, labels = [], []
    for x, y in part:
        indices = rows[(rows >= start) & (rows < start + len(y))] - start
        start += len(y)
        if len(indices):
            points.append(x[indices])
            labels.append(y[indices])
    return _concatenate(points), np.concatenate(labels)


def scores_of(oracle: KernelOracle, coef: Vector, x: Any, error: float | None) -> Vector:
    """Return sum_j coef_j k(s_j, x), (m,)."""
    if oracle.is_linear:
        return oracle.expand_new(coef, x)
    s, n = len(coef), int(x.shape[0])

    def scores(points: Any, dtype: Any = np.float64) -> Vector:
        extended = oracle.replace(extra_points=points).replace(dtype=dtype)
        return extended.expand(np.concatenate([coef, np.zeros(extended.n - s)]), np.arange(s, extended.n))

    dtype: Any = np.float64
    if error is not None:
        trial = x[np.unique(np.linspace(0, n - 1, TRIAL_POINTS).astype(np.intp))]
        with contextlib.suppress(UsageError):  # values beyond the range of float32
            dtype = np.float32 if np.abs(scores(trial, np.float32) - scores(trial)).max() <= error else dtype
    pieces = [x[first : first + _PIECE] for first in range(0, n, _PIECE)]
    try:
        return np.concatenate([scores(piece, dtype) for piece in pieces])
    except UsageError:
        return np.concatenate([scores(piece) for piece in pieces])


def smallest(drawn: list[tuple[Any, Index]], count: int) -> tuple[Any, Index]:
    """Return the ``count`` smallest keys, ascending, and their rows; equal keys are ordered by row."""
    keys = np.concatenate([keys for keys, _ in drawn])
    rows = np.concatenate([rows for _, rows in drawn])
    order = np.lexsort((rows, keys))[:count]
    return keys[order], rows[order]


def _concatenate(points: list[Any]) -> Any:
    if isinstance(points[0], np.ndarray):
        return np.concatenate(points)
    import scipy.sparse

    return scipy.sparse.vstack(points, format="csr")


def check_kernel(kernel: Any, example: str) -> Kernel:
    """Return the kernel if it can be computed for any two points.

    Raises
    ------
    UsageError : the kernel is precomputed or not a kernel; the message names ``example``.
    """
    if not isinstance(kernel, Kernel) or isinstance(kernel, Precomputed):
        raise UsageError(
            f"the kernel is {kernel!r}; a fit over parts needs one that can be computed for any two points: "
            f"give harness.{example}, for example."
        )
    return kernel


class PartitionedRandSVM:
    """c-svc by RandSVM-1 over a :class:`harness.PartitionedData`.

    Parameters
    ----------
    kernel : any kernel of two points (not precomputed)
    C : upper bound of the coefficients, > 0
    options : parameters of the solver ``randsvm-1``; None: the defaults of RandSVM1, with the oracle smo-block
    seed : seed of the samples

    The model depends only on the data and these parameters, not on the workers or the order in which they end. Other parts or
    chunks of the same data may round the scores differently.

    Raises
    ------
    UsageError : the kernel or an option is unknown, or C <= 0.
    """

    def __init__(self, kernel: Kernel, C: float = 1.0, *, options: RandSVM1 | None = None, seed: int = 0) -> None:
        self.kernel, self.settings, self.seed = check_kernel(kernel, "RBF(gamma=0.5)"), CSVC.parameter_class(C=C), seed
        self.options = RandSVM1(oracle="smo-block") if options is None else options

    def fit(
        self,
        data: PartitionedData | str,
        executor: Executor | None = None,
        *,
        folder: str | None = None,
        progress: Callable[[str], object] | None = None,
    ) -> PartitionedFit:
        """Solve until the certified relative gap over all points is at most ``options.gap``, or another ``status`` ends the fit.

        Parameters
        ----------
        data : the parts, or their folder
        executor : runs the passes, one task a part: a process pool, or Dask's ``client.get_executor(pure=False)`` (a pure one
            may return an old result after a file has changed); None: this process
        folder : folder in which the result of each part and sample is stored as soon as it is computed. After a crash the same
            call resumes from these results and returns the same model bit for bit. Results for other data (compared by
            the content of the parts), parameters or seeds are never used. One folder may serve many fits and may be
            removed after them. None: nothing is stored
        progress : function that receives a sentence when a sample is solved and when a part is scored; ``lambda text: None``
            for silence. None: print lines on standard error after two seconds

        This process needs memory for a sample of c k points and the oracle's cache, a worker for a chunk and the support vectors.

        Raises
        ------
        DataError : the data are invalid, see :class:`harness.PartitionedData`, or a part vanishes or changes during the fit.
        UsageError : the oracle does not solve c-svc, or the folder cannot be written.
        HarnessError : the oracle or the executor failed.
        """
        return _Run(self, data, executor, folder, progress).fit()


class Sample:
    """Sample of the points, ascending in their row numbers, and the coefficients of its model, which an oracle computes.

    rows : (r,) row numbers; points : (r, d); labels, coef : (r,)
    """

    def __init__(
        self,
        data: PartitionedData | str,
        executor: Executor | None,
        oracle: Any,
        progress: Callable[[str], object] | None,
    ) -> None:
        from harness import PartitionedData

        self.progress = ProgressLines() if progress is None else progress
        self.progress(f"reading {data}" if isinstance(data, str) else f"{data.n:,} points in {len(data)} parts")

        self.data = data if isinstance(data, PartitionedData) else PartitionedData(data, executor=executor)
        self.executor, self.oracle = executor, CertifiedOracle(oracle)
        self.rounds: list[Round] = []
        self.rows: Index = np.empty(0, dtype=np.int64)
        self.points: Any = None
        self.labels: Vector = np.empty(0)
        self.coef: Vector = np.empty(0)
        self.evaluations = 0

    def change_sample(self, new_rows: Index, retained: Index) -> None:
        """Replace the sample by the points ``new_rows`` of the data and the points of the sample at the indices ``retained``."""
        rows = np.sort(new_rows)
        points, labels = self.load_points(rows)
        coef = np.zeros(len(rows))
        if len(retained):
            rows = np.concatenate([self.rows[retained], rows])
            points = _concatenate([self.points[retained], points])
            labels = np.concatenate([self.labels[retained], labels])
            coef = np.concatenate([self.coef[retained], coef])
        order = np.argsort(rows)
        self.rows, self.points, self.labels, self.coef = rows[order], points[order], labels[order], coef[order]

    def load_points(self, rows: Index) -> tuple[Any, Vector]:
        if not len(rows):
            return self.points[:0], self.labels[:0]
        arguments = {part: (inside,) for part, inside in self.split_by_part(rows).items() if len(inside)}
        loaded = dict(self.data.passes(fetch_part, arguments, self.executor))
        points, labels = zip(*(loaded[part] for part in arguments), strict=True)
        return _concatenate(list(points)), np.concatenate(labels)

    def split_by_part(self, rows: Index) -> dict[int, Index]:
        """Return the row numbers of ``rows`` in each part, ascending."""
        ends = np.searchsorted(rows, self.data.starts)
        return dict(enumerate(np.split(rows, ends[1:])))

    def map_parts(self, function: Any, arguments: Any) -> list[Any]:
        """Return the result of ``function`` for each part, in the order of the parts.

        arguments : the same for every part, or a dict by part
        """
        by_part = arguments if isinstance(arguments, dict) else dict.fromkeys(range(len(self.data)), arguments)
        return [result for _, result in sorted(self.pass_over(function, by_part), key=lambda pair: pair[0])]

    def pass_over(self, function: Any, arguments: dict[int, Any]) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each part as it ends, and report the progress."""
        for count, (part, result) in enumerate(self.data.passes(function, arguments, self.executor), start=1):
            where = f"round {len(self.rounds) + 1}" if self.rows.size else "first sample"
            self.progress(f"{where}: part {part + 1} is done, {count} of {len(arguments)}")
            yield part, result

    def solve(self, problem: Problem, owner: str, gap: float) -> Answer:
        """Solve ``problem`` over the sample, from the current coefficients.

        Raises
        ------
        UsageError : the oracle does not solve this formulation; the message names ``owner``.
        """
        if not self.rounds and (reason := refusal(owner, self.oracle.name, ProblemSummary.of(problem))):
            raise UsageError(reason)
        self.spent = self.oracle.seconds, self.evaluations
        start, where = self.coef if self.rounds else None, f"round {len(self.rounds) + 1}"
        self.progress(f"{where}: {self.oracle.name} solves a sample of {problem.n:,} points")
        *_, answer = answers(self.oracle, problem, where, gap, start)
        assert isinstance(answer, Answer)
        self.evaluations += problem.kernel.counter.evaluations
        self.coef = answer.coef
        return answer

    def model(self, kernel: Kernel, intercept: float) -> PartitionedModel:
        """Return the model with the current coefficients."""
        support = np.flatnonzero(self.coef)
        return PartitionedModel(kernel, self.points[support], self.rows[support], self.coef[support], intercept)


class _Run(Sample):
    """One fit of RandSVM-1."""

    def __init__(
        self,
        owner: PartitionedRandSVM,
        data: PartitionedData | str,
        executor: Executor | None,
        folder: str | None,
        progress: Callable[[str], object] | None,
    ) -> None:
        super().__init__(data, executor, owner.options.oracle, progress)
        self.owner, self.options = owner, owner.options
        identity: dict[str, Any] = {}
        if folder is not None:
            settings = {"kernel": repr(owner.kernel), "C": repr(owner.settings), "options": repr(owner.options)}
            identity = identity_of(self.data, executor, seed=owner.seed, **settings)
        self.checkpoints = Checkpoints(folder, identity)
        options, self.C = owner.options, float(owner.settings.C)
        self.k = options.k or support_bound(
            self.data.n, options.eps, options.delta or DELTA, separable=options.separable
        )
        self.r = min(self.data.n, max(2, math.ceil(options.c * self.k)))
        self.oracle_gap = 0.5 * options.gap
        self.tau = options.tau if options.tau is not None else options.gap
        self.exact = min(options.gap, self.tau) < COARSE
        self.passes = self.idle = 0
        self.best = -np.inf

    def fit(self) -> PartitionedFit:
        began = fit_clock()
        self.change_sample(self._first_sample(), np.empty(0, dtype=np.intp))
        while True:
            problem = CSVC(KernelOracle(self.owner.kernel, self.points), self.labels, self.owner.settings)
            answer = self._stored_answer(problem)
            status, record, certificate = self._score_and_decide(answer)
            if status:
                break
            self.change_sample(record.rows, np.flatnonzero(self.coef))
        seconds = fit_clock() - began
        model = self.model(self.owner.kernel, answer.intercept)
        return PartitionedFit(model, certificate, status, tuple(self.rounds), self.evaluations, seconds)

    def _stored_answer(self, problem: CSVC) -> Answer:
        """Return the stored answer of an earlier call of the same fit, or solve the sample and store the answer."""
        name = f"sample-{len(self.rounds) + 1:05}"
        stored = self.checkpoints.load(name)
        if stored is not None:
            self.spent = self.oracle.seconds, self.evaluations
            self.oracle.seconds += float(stored["seconds"])
            self.evaluations += int(stored["evaluations"])
            self.coef = stored["coef"]
            primal, dual = map(float, stored["objectives"])
            return Answer(
                self.coef, float(stored["intercept"]), stored["scores"], Certificate(primal=primal, dual=dual)
            )
        answer = self.solve(problem, "randsvm-1", self.oracle_gap)
        objectives = [answer.certificate.primal or 0.0, answer.certificate.dual or 0.0]
        seconds, evaluations = self.oracle.seconds - self.spent[0], self.evaluations - self.spent[1]
        self.checkpoints.save(
            name, coef=answer.coef, intercept=answer.intercept, scores=answer.scores, objectives=objectives, seconds=seconds,
            evaluations=evaluations,
        )  # fmt: skip
        return answer

    # -- the sample ----------------------------------------------------------------------------------

    def _first_sample(self) -> Index:
        """Return r random row numbers; if a class is missing, one of its points replaces the last."""
        sample = self._pass(draw_part, 0.0, self._draw(self.r)).rows
        _, labels = self.load_points(np.sort(sample))
        for sign in {-1.0, 1.0} - set(labels.tolist()):
            sample[-1:] = self._pass(draw_part, sign, self._draw(1)).rows
        return sample

    # -- passes --------------------------------------------------------------------------------------

    def _draw(self, count: int) -> tuple[int, int, int]:
        """Return the seed, the step and the number of points of the next pass; the step is the number of the pass."""
        self.passes += 1
        return self.owner.seed, self.passes, count

    def _pass(self, function: Any, *arguments: Any, sample: Index | None = None) -> PassRecord:
        """Return the merged record of all parts; it does not depend on the order in which they end."""
        draw, by_part = arguments[-1], dict.fromkeys(range(len(self.data)), arguments)
        if sample is not None:
            by_part = {part: (*arguments[:-1], inside, draw) for part, inside in self.split_by_part(sample).items()}
        records = {part: record for part in by_part if (record := self._stored_record(draw[1], part)) is not None}
        remaining = {part: values for part, values in by_part.items() if part not in records}
        losses, drawn, violators = [], _NO_POINTS, 0
        for record in itertools.chain(records.values(), self._new_records(draw[1], function, remaining)):
            losses.append(record.loss)  # fsum is exact in any order
            violators += record.violators
            self.evaluations += record.evaluations
            drawn = smallest([drawn, (record.keys, record.rows)], draw[2])
        return PassRecord(violators, math.fsum(losses), 0, *drawn)

    def _stored_record(self, step: int, part: int) -> PassRecord | None:
        """Return the stored record of an earlier call of the same fit, or None."""
        stored = self.checkpoints.load(f"pass-{step:05}-part-{part:05}")
        if stored is None:
            return None
        counts = int(stored["violators"]), float(stored["loss"]), int(stored["evaluations"])
        return PassRecord(*counts, stored["keys"], stored["rows"])

    def _new_records(self, step: int, function: Any, arguments: dict[int, Any]) -> Iterator[PassRecord]:
        """Yield the record of each part as it ends, after storing it."""
        for part, record in self.pass_over(function, arguments):
            self.checkpoints.save(f"pass-{step:05}-part-{part:05}", **vars(record))
            yield record

    def _score_all(self, answer: Answer) -> tuple[PassRecord, Certificate]:
        """Score all points; return the record and the certificate over all points, which is exact if the pass is in float64."""
        error = None if self.exact else 0.5 * min(self.options.gap, self.tau)
        draw = self._draw(max(1, self.r - int(np.count_nonzero(self.coef))))
        record = self._pass(
            score_part, self.model(self.owner.kernel, answer.intercept), self.tau, error, draw, sample=self.rows
        )
        primal, dual = answer.certificate.primal or 0.0, answer.certificate.dual or 0.0
        return record, Certificate.of_objectives(primal + self.C * record.loss, dual)

    # -- one round -----------------------------------------------------------------------------------

    def _score_and_decide(self, answer: Answer) -> tuple[str, PassRecord, Certificate]:
        """Make the passes of a round; return why the fit ends or '', and the record and the certificate of the last pass."""
        options, support = self.options, int(np.count_nonzero(self.coef))
        full = support >= self.k and len(self.rows) < self.data.n  # line 4: the fit ends, even with violators
        last = full or len(self.rounds) + 1 == options.max_rounds
        self.exact = self.exact or last
        began, before = fit_clock(), self.evaluations
        while True:
            record, certificate = self._score_all(answer)
            done = certificate.meets(options.gap)
            smallest_tau = 0.5 * options.gap * abs(certificate.primal or 0.0) / (self.C * self.data.n)
            if (done and self.exact) or last or (not done and (record.violators or self.tau <= smallest_tau)):
                break
            # the gap needs a pass in float64; or no point violates by tau, but the losses together exceed the gap
            self.exact, self.tau = True, self.tau if done else smallest_tau
        self.rounds.append(
            Round(
                len(self.rows), support, record.violators, certificate.primal, certificate.dual, certificate.relative_gap,
                self.exact, self.oracle.seconds - self.spent[0], fit_clock() - began, before - self.spent[1],
                self.evaluations - before,
            )
        )  # fmt: skip
        if done:
            return "gap", record, certificate
        if last:
            return "k support vectors" if full else "max_rounds", record, certificate
        dual = certificate.dual or 0.0
        self.idle = 0 if dual > self.best + EXACTEST * abs(dual) else self.idle + 1
        self.best = max(self.best, dual)
        if self.idle >= IDLE or not record.violators:
            # a violator whose coefficient the oracle sets to 0 violates again each round until the oracle's gap is smaller
            if self.oracle_gap <= EXACTEST:
                return "stalled", record, certificate
            self.idle, self.oracle_gap = 0, 0.1 * self.oracle_gap
        return "", record, certificate
