"""An online solver at work for another one, which teaches it example by example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.solver.protocol import Iterate
    from harness.support.arrays import Vector


class Learner(ABC):
    """What an online solver is to another: a model of one problem that learns the examples it is told, and no others.

    A solver that can be taught declares ``learner(self, problem, rng) -> Learner``, as one that can start from
    coefficients declares ``iterates_from``; ``harness.Oracle(name).learner(problem, rng)`` asks for it. Kernel values
    are counted to the run, as everywhere.
    """

    @abstractmethod
    def learn(self, indices: Any) -> None:
        """Visit the examples ``indices``, (m,), once each and in this order; their targets must be known."""

    @abstractmethod
    def scores(self, indices: Any, *, keep: bool | None = False) -> Vector:
        """Return f, with the intercept, of the points ``indices``, (m,) float64.

        keep : True: from scores of all points that are kept, and renewed by the kernel rows of the coefficients that have
            changed; None: whichever takes fewer kernel values. A learner may keep none, and computes them afresh
        """

    @abstractmethod
    def finish(self) -> None:
        """Optimise over what it has kept, as far as the solver's own tolerance; more examples may follow."""

    @abstractmethod
    def iterate(self, *, done: bool = False, **info: Any) -> Iterate:
        """Return the model of now, with the learner's own claims and ``info``."""

    @property
    @abstractmethod
    def support(self) -> int:
        """Number of support vectors."""

    @property
    @abstractmethod
    def margin(self) -> float:
        """|f| from which on a point lies outside the margin."""
