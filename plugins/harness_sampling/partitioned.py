"""RandSVM-1 on a training set in parts that no machine can load whole: workers score the parts, this process solves the sample.

The algorithm is that of :class:`harness_sampling.rounds.SupportRounds`. Differs in: a pass computes all scores anew, as they are
not stored; the violators that enter the sample are those with the smallest keys, see :func:`random_keys`; the fit ends by the
certificate of a pass in float64 over all points. A round without violators therefore does not end it above the gap: tau
becomes smaller.
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
from harness_sampling.scoring import TRIED
from harness_sampling.solvers import DELTA, RandSVM1, support_bound

if TYPE_CHECKING:
    from harness import ChunkedFile, PartitionedData  # which load what reads files

_PIECE = 1 << 14  # points scored at a time
_QUIET_SECONDS = 2.0  # from the start of a fit, without a line of progress
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
    """Result of a pass over one part, or over all.

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
    """One round: its sample, its model, and the result of the pass over all points.

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


class ProgressLines:
    """Default progress of a fit: a line on standard error for each part and sample, none in the first seconds."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def __call__(self, text: str) -> None:
        """Print a line, with the seconds since the fit began."""
        seconds = time.perf_counter() - self.began
        if seconds >= _QUIET_SECONDS:
            sys.stderr.write(f"[{seconds:.0f} s] {text}\n")
            sys.stderr.flush()


def random_keys(seed: int, step: int, rows: Index) -> Any:
    """Return a random key for each row number, (m,) uint64, all different: splitmix64 of the number.

    A key depends on the seed, the step and the row number alone, so the m smallest keys do not depend on the workers.
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
    error : largest error of a score for which float32 is used, tried on a few points of each chunk; None: float64 throughout
    inside : (m,) row numbers of the sample's points in this part, which are left out
    draw : seed, step and number of violators to return
    """
    oracle = KernelOracle(model.kernel, model.support_vectors)
    losses, found, violators = [], _NO_POINTS, 0
    for x, y in part:
        off = 1.0 - y * (scores_of(oracle, model.coef, x, error) + model.intercept)
        rows = np.arange(start, start + len(y), dtype=np.int64)
        start += len(y)
        off[np.isin(rows, inside, assume_unique=True)] = 0.0
        losses.append(float(np.maximum(0.0, off).sum()))
        rows = rows[off > tau]
        violators += len(rows)
        found = smallest([found, (random_keys(draw[0], draw[1], rows), rows)], draw[2])
    return PassRecord(violators, math.fsum(losses), oracle.counter.evaluations, *found)


def draw_part(part: ChunkedFile, start: int, sign: float, draw: tuple[int, int, int]) -> PassRecord:
    """Return a record in which all points are violators, or those with the label ``sign`` if it is not 0."""
    found, count = _NO_POINTS, 0
    for _, y in part:
        rows = start + np.flatnonzero((y == sign) | (sign == 0.0)).astype(np.int64)
        start, count = start + len(y), count + len(rows)
        found = smallest([found, (random_keys(draw[0], draw[1], rows), rows)], draw[2])
    return PassRecord(count, 0.0, 0, *found)


def fetch_part(part: ChunkedFile, start: int, rows: Index) -> tuple[Any, Vector]:
    """Return the points with the row numbers ``rows``, ascending, and their labels."""
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
    """Return the ``count`` smallest keys, ascending, and their rows; equal keys are ordered by row."""
    keys = np.concatenate([keys for keys, _ in found])
    rows = np.concatenate([rows for _, rows in found])
    order = np.lexsort((rows, keys))[:count]
    return keys[order], rows[order]


def _stacked(points: list[Any]) -> Any:
    if isinstance(points[0], np.ndarray):
        return np.concatenate(points)
    import scipy.sparse

    return scipy.sparse.vstack(points, format="csr")


def check_kernel(kernel: Any, example: str) -> Kernel:
    """Return the kernel if it can be computed for any two points.

    Raises
    ------
    UsageError : it cannot; the message names ``example``.
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

    The model depends on the data and these parameters alone, not on the workers or the order in which they end. Scores may be
    rounded otherwise where the data are cut into other parts or chunks.

    Raises
    ------
    UsageError : an unknown kernel or option, or C <= 0.
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
        """Solve until the certified relative gap over all points is at most ``options.gap``, or as ``status`` says.

        Parameters
        ----------
        data : the parts, or their folder
        executor : runs the passes, one task a part: a process pool, or Dask's ``client.get_executor(pure=False)`` (a pure one
            may return an old result after a file has changed); None: this process
        folder : where the result of each part and sample is stored as soon as it is there. After a crash the same call goes on
            from them, to the same model bit for bit. Results of other data (the content of the parts counts), parameters
            or seeds are never used. One folder may serve many fits, and may be removed after them. None: nothing is stored
        progress : receives a sentence when a sample is solved and when a part was scored; ``lambda text: None`` for silence.
            None: after two seconds, lines on standard error

        Memory: in this process a sample of c k points and the oracle's cache; in a worker a chunk and the support vectors.

        Raises
        ------
        DataError : of the data, as :class:`harness.PartitionedData` raises it; a part that vanishes or changes meanwhile.
        UsageError : an oracle that does not solve c-svc; a folder that cannot be written.
        HarnessError : the oracle or the executor failed.
        """
        return _Run(self, data, executor, folder, progress).fit()


class Sample:
    """The points of a sample, ascending in their row numbers, and the coefficients of its model, which an oracle computes.

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

    def change_sample(self, fresh: Index, staying: Index) -> None:
        """Replace the sample by the points numbered ``fresh`` and by its own points at the places ``staying``."""
        fresh = np.sort(fresh)
        points, labels = self.load_points(fresh)
        coef = np.zeros(len(fresh))
        if len(staying):
            fresh = np.concatenate([self.rows[staying], fresh])
            points, labels = _stacked([self.points[staying], points]), np.concatenate([self.labels[staying], labels])
            coef = np.concatenate([self.coef[staying], coef])
        order = np.argsort(fresh)
        self.rows, self.points, self.labels, self.coef = fresh[order], points[order], labels[order], coef[order]

    def load_points(self, rows: Index) -> tuple[Any, Vector]:
        if not len(rows):
            return self.points[:0], self.labels[:0]
        inside = {part: (own,) for part, own in self.split_by_part(rows).items() if len(own)}
        found = dict(self.data.passes(fetch_part, inside, self.executor))
        points, labels = zip(*(found[part] for part in inside), strict=True)
        return _stacked(list(points)), np.concatenate(labels)

    def split_by_part(self, rows: Index) -> dict[int, Index]:
        """Return the row numbers of ``rows`` in each part, ascending."""
        ends = np.searchsorted(rows, self.data.starts)
        return dict(enumerate(np.split(rows, ends[1:])))

    def map_parts(self, function: Any, arguments: Any) -> list[Any]:
        """Return the result of ``function`` for each part, in the order of the parts.

        arguments : the same for every part, or a dict by part
        """
        each = arguments if isinstance(arguments, dict) else dict.fromkeys(range(len(self.data)), arguments)
        return [found for _, found in sorted(self.pass_over(function, each), key=lambda pair: pair[0])]

    def pass_over(self, function: Any, arguments: dict[int, Any]) -> Iterator[tuple[int, Any]]:
        """Yield each part's number and result as it ends, and tell the progress."""
        for count, (part, found) in enumerate(self.data.passes(function, arguments, self.executor), start=1):
            where = f"round {len(self.rounds) + 1}" if self.rows.size else "first sample"
            self.progress(f"{where}: part {part + 1} is done, {count} of {len(arguments)}")
            yield part, found

    def solve(self, problem: Problem, owner: str, gap: float) -> Answer:
        """Solve ``problem``, which is over the sample, from the present coefficients.

        Raises
        ------
        UsageError : the oracle does not solve this formulation; the message names ``owner``.
        """
        if not self.rounds and (refused := refusal(owner, self.oracle.name, ProblemSummary.of(problem))):
            raise UsageError(refused)
        self.spent = self.oracle.seconds, self.evaluations
        start, where = self.coef if self.rounds else None, f"round {len(self.rounds) + 1}"
        self.progress(f"{where}: {self.oracle.name} solves a sample of {problem.n:,} points")
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
        """Return the answer of an earlier call of the same fit, else solve the sample and store the answer."""
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
        """Return seed, step and number of points for the next pass; each pass has another step."""
        self.steps += 1
        return self.owner.seed, self.steps, count

    def _pass(self, function: Any, *arguments: Any, sample: Index | None = None) -> PassRecord:
        """Return the record of all parts; it does not depend on the order in which they end."""
        draw, each = arguments[-1], dict.fromkeys(range(len(self.data)), arguments)
        if sample is not None:
            each = {part: (*arguments[:-1], own, draw) for part, own in self.split_by_part(sample).items()}
        records = {part: record for part in each if (record := self._stored_record(draw[1], part)) is not None}
        rest = {part: own for part, own in each.items() if part not in records}
        losses, found, violators = [], _NO_POINTS, 0
        for record in itertools.chain(records.values(), self._new_records(draw[1], function, rest)):
            losses.append(record.loss)  # fsum is exact in any order
            violators += record.violators
            self.evaluations += record.evaluations
            found = smallest([found, (record.keys, record.rows)], draw[2])
        return PassRecord(violators, math.fsum(losses), 0, *found)

    def _stored_record(self, step: int, part: int) -> PassRecord | None:
        """Return the record of an earlier call of the same fit; None if there is none."""
        stored = self.checkpoints.load(f"pass-{step:05}-part-{part:05}")
        if stored is None:
            return None
        counts = int(stored["violators"]), float(stored["loss"]), int(stored["evaluations"])
        return PassRecord(*counts, stored["keys"], stored["rows"])

    def _new_records(self, step: int, function: Any, arguments: dict[int, Any]) -> Iterator[PassRecord]:
        """Yield the records of parts as they end, each already stored."""
        for part, record in self.pass_over(function, arguments):
            self.checkpoints.save(f"pass-{step:05}-part-{part:05}", **vars(record))
            yield record

    def _score_all(self, answer: Answer) -> tuple[PassRecord, Certificate]:
        """Score all points; return the record and the certificate over all points, which is exact if the pass was."""
        error = None if self.exact else 0.5 * min(self.options.gap, self.tau)
        draw = self._draw(max(1, self.r - int(np.count_nonzero(self.coef))))
        record = self._pass(
            score_part, self.model(self.owner.kernel, answer.intercept), self.tau, error, draw, sample=self.rows
        )
        found = answer.certificate
        return record, Certificate.of_objectives((found.primal or 0.0) + self.price * record.loss, found.dual or 0.0)

    # -- one round -----------------------------------------------------------------------------------

    def _score_and_decide(self, answer: Answer) -> tuple[str, PassRecord, Certificate]:
        """Make the passes of a round; return its status (empty: another round follows) and the last pass's record and certificate."""
        options, support = self.options, int(np.count_nonzero(self.coef))
        full = support >= self.k and len(self.rows) < self.data.n  # line 4: the end, whatever the violators
        last = full or len(self.rounds) + 1 == options.max_rounds
        self.exact = self.exact or last
        began, before = fit_clock(), self.evaluations
        while True:
            record, found = self._score_all(answer)
            done = found.meets(options.gap)
            least = 0.5 * options.gap * abs(found.primal or 0.0) / (self.price * self.data.n)
            if (done and self.exact) or last or (not done and (record.violators or self.tau <= least)):
                break
            # float32 is not certain enough; or no point violates by tau, but all together by too much
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
            # a violator whose coefficient the oracle sets to 0 returns each round, until the sample is solved more exactly
            if self.oracle_gap <= EXACTEST:
                return "stalled", record, found
            self.idle, self.oracle_gap = 0, 0.1 * self.oracle_gap
        return "", record, found
