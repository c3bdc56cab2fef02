"""LASVM-G, LASVM-NC, LASVM-I and the Full SVM: online kernel machines without a bias, driven by the duality gap.

S is the set of members, with their signed coefficients alpha and gradients g_s = y_s - sum_t alpha_t K_st. Without a bias
one coordinate at a time is feasible. For each example, in random order: PROCESS lets it into S and searches along its
coordinate, then REPROCESS searches along the coordinate with the largest violation until the duality gap over S is at
most max(C, gap target). CLEAN, every so many examples, removes members with alpha = 0.

Cost: an example |S| kernel values and a pass over S for its gradient; each search along a coordinate one pass over S,
which also renews the gap, the gap target and the next violation.

Source: Ertekin, Bottou, Giles, Ignorance is Bliss: Non-Convex Online Support Vector Machines (2011), sections 4-7. Where
the printed pseudo-code cannot be right, this follows the derivation:

* gap, eq. (9). With A_i <= alpha_i <= B_i the primal of (18) is 1/2 |w|^2 + sum max(A_i g_i, B_i g_i), so
  G = sum (max(A_i g_i, B_i g_i) - alpha_i g_i): no term is negative. For beta_i = 0 that is
  sum (C max(0, y_i g_i) - alpha_i g_i); the printed sign binds both terms, and its y_i is missing. The derivation in
  section 4.1 has the two identities |w|^2 = sum alpha_l f_l and h |h|_+ = |h|_+^2 garbled; its last line does not hold.
* gap target, eq. (8): the maximum with 0 stands under the root. The sums run over the l support vectors: over all of
  S, as printed, the argument is no spread of l values and turns negative. h_i = (A_i + B_i) g_i, which is C_i y_i g_i
  for beta_i = 0 and changes its sign, as the loss does, for beta_i = C.
* PROCESS, step 2, else-branch: min(B_i - alpha_i, g_i / K_ii), printed with max. Step 1 is about y_i. In later epochs a
  member is processed with the alpha that it has.
* REPROCESS, steps 4-5: i is the index chosen in step 3, also in the else-branch. Step 2, to bail out if (i, j) is no
  tau-violating pair, is the rule of the SVM with a bias: here a single coordinate violates if g > tau and it may
  rise, or g < -tau and it may fall. If none does, the loop ends whatever the gap is, else it would never.
* REPROCESS works within ``group`` members, half of them the largest g that may rise, half the smallest that may fall,
  as if they were all of S, until their violations are a tenth; then the others' gradients follow in one pass, and the
  gap is looked at again. Memory for fewer than 2 ``group`` rows makes it smaller; ``group=1`` is REPROCESS as printed.
  With a wide kernel and no bias a step along one coordinate moves all gradients alike, and the printed rule zigzags
  between a few members, with a pass over S each time: on adult 130 times an example.
* CLEAN: of the members with alpha = 0 those stay that are nearest to a violation, y_i g_i largest (for beta_i = C:
  -y_i g_i). The printed |g_i|_+ does not depend on the label, and 'highest gradients' would remove the violators.
* K_ii is taken to be at least 1e-12. S is seeded as lasvm's, with the first five examples of each class in the first
  epoch's order, with beta = 0: otherwise, at f = 0 and s > 0, every example would lie on the flat part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from harness import Conformance, CSVCNoBias, Iterate, Problem, Solver, parameter

if TYPE_CHECKING:
    from harness_lasvm.candidate_set import CandidateSet
    from harness_lasvm.compiled.nobias import Ledger
    from harness_lasvm.compiled.state import Candidates

_RAMP = "ramp-svc"  # of the plugin robust
_SEEDS = 5  # of each class
_PAUSE = 1000  # REPROCESS operations between two yields


@dataclass(frozen=True)
class _NoBias(Solver):
    """What the four have in common; ``rule`` says what becomes of an example off the ramp."""

    exact: ClassVar[bool] = False  # examples cleaned away in the last epoch are not looked at again
    rule: ClassVar[Literal["hinge", "ramp", "ignore"]] = "hinge"

    epochs: int = parameter(1, "passes over the examples, each in a fresh random order", ge=1)
    finishing: bool = parameter(False, "after the epochs, REPROCESS until no member violates by more than tau")
    tau: float = parameter(1e-3, "a member violates if its gradient points inside its bounds and is larger", gt=0)
    group: int = parameter(
        8, "members that REPROCESS searches along before the others follow; 1: one, as printed", ge=1
    )
    cache_mb: float | None = parameter(None, "memory for kernel rows, MB of 2^20 bytes; none: the problem's own", gt=0)
    block: int = parameter(192, "most candidates whose kernel values are computed together", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "of the kernel rows; gradients are float64")

    @property
    def cleaning(self) -> tuple[int, int]:
        """Examples between two CLEANs (0: never), and members with alpha = 0 that it leaves."""
        return 0, 0

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with the finishing step, and tau at most ``gap``.

        Over S no violation above tau leaves a gap of at most tau sum C_i over the members off their bounds; over all
        examples it also depends on the epochs. On ramp-svc it bounds the gap of the last convex problem only.
        """
        return self.replace(finishing=True, tau=min(self.tau, gap))

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        from harness_lasvm.candidate_set import CandidateSet

        stated: Any = problem
        hinge: CSVCNoBias = stated.hinge if problem.name == _RAMP else stated
        expansion = CandidateSet(hinge, cache_mb=self.cache_mb, block=self.block, dtype=self.dtype)
        ledger = self._ledger(stated.s if problem.name == _RAMP else -np.inf, hinge)
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(problem.n)
            if epoch == 1:
                _admit(expansion, _firsts(problem.targets, order))
            for visited in self._epoch(expansion, ledger, order):
                yield self._iterate(expansion, ledger, epoch, visited)
        if self.finishing:
            ledger.sums["threshold"] = -np.inf
            work = expansion.finishing_work()
            for _ in self._run(expansion, ledger, work):
                yield self._iterate(expansion, ledger, self.epochs, problem.n)
        if self.cleaning[0]:
            _clean(expansion, ledger, 0)
        yield self._iterate(expansion, ledger, self.epochs, problem.n, done=True)

    def _ledger(self, bend: float, hinge: CSVCNoBias) -> Ledger:
        from harness_lasvm.compiled import nobias as rules
        from harness_lasvm.compiled.state import SUMS

        up, down, slope = np.zeros((3, hinge.n))
        return rules.Ledger(
            up=up,
            down=down,
            slope=slope,
            sums=np.zeros(1, dtype=SUMS),
            rule={"hinge": rules.HINGE, "ramp": rules.RAMP, "ignore": rules.IGNORE}[self.rule],
            price=float(hinge.C),
            bend=float(bend),
            tau=float(self.tau),
            clean_every=self.cleaning[0],
            chosen=np.zeros(self.group, dtype=np.int64),
            bases=np.zeros(self.group, dtype=np.int64),
            steps=np.zeros(self.group),
            grads=np.zeros(self.group),
            square=np.zeros((self.group, self.group)),
        )

    def _epoch(self, expansion: CandidateSet, ledger: Ledger, order: Any) -> Iterator[int]:
        """Run the online iterations over ``order``; pause after all that were fetched together, and after many REPROCESS.

        Yields the number of examples of the epoch that were visited.
        """
        visited = 0
        while visited < len(order):
            if not expansion.size:  # all cleaned away; a request needs a member
                _admit(expansion, order[visited : visited + 1])
            work = expansion.fetch(order[visited:])
            _measure(expansion, ledger)  # the slots may have moved
            for _ in self._run(expansion, ledger, work):
                yield visited + int(expansion.now["at"])
            visited += int(expansion.now["at"])
            yield visited

    def _run(self, expansion: CandidateSet, ledger: Ledger, work: Candidates) -> Iterator[None]:
        """Run the compiled loop and CLEAN; pause after many operations."""
        from harness_lasvm.compiled.nobias import run
        from harness_lasvm.compiled.state import CLEAN_DUE, PAUSED

        while (code := expansion.run(run, ledger, work, pause=max(_PAUSE, 2 * self.block))) in (CLEAN_DUE, PAUSED):
            if code == PAUSED:
                yield
            else:
                _clean(expansion, ledger, self.cleaning[1])

    def _iterate(
        self, expansion: CandidateSet, ledger: Ledger, epoch: int, visited: int, *, done: bool = False
    ) -> Iterate:
        sums = ledger.sums[0]
        info = {
            "gap": float(sums["gap"]),
            "gap_target": float(sums["target"]),
            "members": expansion.size,
            "support": int(sums["support"]),
            "epoch": epoch,
            "visited": (epoch - 1) * expansion.n + visited,
            "rows_recomputed": expansion.rows_recomputed,
        }
        if self.rule == "ramp":
            info["reversed"] = int(sums["reversed"])
        if self.rule == "ignore":
            info["skipped"] = int(sums["skipped"])
        return Iterate(expansion.write(), done=done, step=expansion.operations, working_set=expansion.size, info=info)


@dataclass(frozen=True)
class FullSVM(_NoBias):
    """LASVM-G without CLEAN: every example stays in the expansion.

    Use it as the baseline of ``lasvm-g``. Paper: Ertekin, Bottou and Giles 2011.

    A step is one PROCESS or REPROCESS, those that bail out included. ``info``: gap (over S, in units of the
    objective), gap_target (of the last example), members (|S|), support (members with alpha != 0), epoch,
    visited (examples so far), rows_recomputed (kernel rows of members that memory did not hold).
    """

    name: ClassVar[str] = "full-svm"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 5, "tau": 1e-5}, gap=1e-3)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVCNoBias,)


@dataclass(frozen=True)
class _Cleaned(_NoBias):
    """Those with CLEAN."""

    max_inactive: int = parameter(1000, "members with alpha = 0 that CLEAN leaves; the last one leaves none", ge=0)
    clean_every: int = parameter(300, "examples between two CLEANs", ge=1)

    @property
    def cleaning(self) -> tuple[int, int]:
        """The two parameters."""
        return self.clean_every, self.max_inactive


@dataclass(frozen=True)
class LASVMG(_Cleaned):
    """Online, the number of REPROCESS steps set by the duality gap; converges to the SVM without a bias.

    Use it for online training without a bias. Paper: Ertekin, Bottou and Giles 2011.

    Steps and ``info`` are those of full-svm.
    """

    name: ClassVar[str] = "lasvm-g"
    conformance: ClassVar[Conformance] = Conformance({"epochs": 5, "tau": 1e-5}, gap=1e-3)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVCNoBias,)


@dataclass(frozen=True)
class LASVMNC(_Cleaned):
    """LASVM-G with the ramp loss: an example that arrives with y f < s gets beta = C for as long as it is a member.

    Use it for online training where labels are wrong. Paper: Ertekin, Bottou and Giles 2011.

    Steps and ``info`` are those of full-svm, and ``info`` has reversed: the examples that got beta = C so far. As
    beta is not renewed while an example is a member, the model need not be a stationary point of ramp-svc.
    """

    name: ClassVar[str] = "lasvm-nc"
    solves: ClassVar[tuple[str | type[Problem], ...]] = (_RAMP,)
    rule: ClassVar[Literal["hinge", "ramp", "ignore"]] = "ramp"


@dataclass(frozen=True)
class LASVMI(_Cleaned):
    """LASVM-G that skips an example which arrives off the ramp: y f > 1 or y f < s.

    Use it as the simpler alternative to ``lasvm-nc``. Paper: Ertekin, Bottou and Giles 2011.

    Steps and ``info`` are those of full-svm, and ``info`` has skipped: the examples ignored so far. The steps are
    those of the hinge loss over the examples taken.
    """

    name: ClassVar[str] = "lasvm-i"
    solves: ClassVar[tuple[str | type[Problem], ...]] = (_RAMP,)
    rule: ClassVar[Literal["hinge", "ramp", "ignore"]] = "ignore"


def _admit(expansion: CandidateSet, examples: Any) -> None:
    """Let ``examples`` into S with alpha = 0 and beta = 0; right while f = 0."""
    expansion.admit(examples, np.zeros(len(examples)), expansion.targets[examples])


def _firsts(targets: Any, order: Any) -> Any:
    """Return the first few examples of each class in ``order``."""
    firsts = [np.flatnonzero(targets[order] == label)[:_SEEDS] for label in (1.0, -1.0)]
    return order[np.sort(np.concatenate(firsts))]


def _clean(expansion: CandidateSet, ledger: Ledger, max_inactive: int) -> None:
    """CLEAN: of the members with alpha = 0 leave the ``max_inactive`` nearest to a violation."""
    x, live = expansion.members, expansion.live()
    idle = live[x.alpha[live] == 0.0]
    violation = np.where(x.slots["upper"][idle] > 0.0, x.grad[idle], -x.grad[idle])
    if len(idle) > max_inactive:
        expansion.remove(idle[np.argsort(violation, kind="stable")[: len(idle) - max_inactive]])
        _measure(expansion, ledger)


def _measure(expansion: CandidateSet, ledger: Ledger) -> None:
    """Renew the ledger from the slots."""
    from harness_lasvm.candidate_set import greatest

    x, sums = expansion.members, ledger.sums[0]
    now = slice(int(expansion.now["top"]))
    alpha, grad, lower, upper = x.alpha[now], x.grad[now], x.slots["lower"][now], x.slots["upper"][now]
    ledger.up[now], ledger.down[now] = upper - alpha, alpha - lower
    ledger.slope[now] = np.where(alpha != 0.0, lower + upper, 0.0)
    sums["support"] = np.count_nonzero(alpha)
    sums["gap"] = np.maximum(ledger.up[now] * grad, -ledger.down[now] * grad).sum()
    sums["high"], sums["i_high"] = greatest(grad + x.rise[now])
    low, sums["i_low"] = greatest(-grad - x.fall[now])
    sums["low"] = -low
