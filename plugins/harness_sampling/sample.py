"""A sample that defines a subproblem: drawn again while a class is short of examples, and filled up at last."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness_sampling.rules import Rule

    Index = np.ndarray[Any, np.dtype[np.int64]]

_TRIES = 10  # samples drawn before what a class lacks is put in


class Sampler:
    """Draws samples for one rule and says how often it had to.

    resampled : samples thrown away for want of a class; filled : samples that a class was put into, drawn uniformly
    """

    def __init__(self, rule: Rule, rng: np.random.Generator) -> None:
        self.rule, self.rng = rule, rng
        self.resampled = self.filled = 0

    def usable(self, draw: Callable[[], Index]) -> Index:
        """Return the points, ascending, of a ``draw`` that holds what the rule needs."""
        needs = self.rule.needs()
        sample = draw()
        for _ in range(_TRIES - 1):
            if all(np.count_nonzero(members[sample]) >= count for members, count in needs):
                return sample
            self.resampled += 1
            sample = draw()
        for members, count in needs:
            short = count - int(np.count_nonzero(members[sample]))
            if short > 0:
                self.filled += 1
                outside = np.setdiff1d(np.flatnonzero(members), sample, assume_unique=True)
                sample = np.union1d(sample, self.rng.choice(outside, short, replace=False))
        return sample
