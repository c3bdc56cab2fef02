"""Interface of an online solver that another solver trains example by example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.solver.protocol import Iterate
    from harness.support.arrays import Vector


class Learner(ABC):
    """A model of one problem that an online solver trains on given examples only.

    An online solver offers it by a method ``learner(self, problem, rng) -> Learner``, which
    ``harness.Oracle(name).learner(problem, rng)`` calls. Kernel values count to the run.
    """

    @abstractmethod
    def learn(self, indices: Any) -> None:
        """Visit the examples ``indices``, (m,), once each and in this order; their targets must be known."""

    @abstractmethod
    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        """Return f, with the intercept, of the points ``indices``, (m,) float64.

        keep : True: use cached scores of all points, updated by the kernel rows of the coefficients that have changed; False:
            compute the scores; None: whichever takes fewer kernel values. A learner may have no cache
        """

    def learn_chosen(self, count: int, choose: Callable[[Vector, float, int, float], int]) -> int:
        """Learn up to ``count`` examples that are chosen one by one, by their scores; return their number.

        The default returns 0, as do learners whose scores of all points are not up to date.

        Parameters
        ----------
        choose : function of ``scores``, the intercept, the number of support vectors and the margin of now that returns the next
            example, whose target must be known then, or -1 if there is none. f = ``scores`` + intercept of all points, (n,)
        """
        return 0

    @abstractmethod
    def finish(self) -> None:
        """Optimise over the stored examples to the tolerance of the solver; more examples may follow."""

    @abstractmethod
    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        """Return the current model, with the claims of the learner and ``info``."""

    @property
    @abstractmethod
    def support(self) -> int:
        """Number of support vectors."""

    @property
    @abstractmethod
    def margin(self) -> float:
        """|f| from which on a point lies outside the margin."""
