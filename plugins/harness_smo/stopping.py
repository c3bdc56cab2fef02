"""When SMO is done: at a violation of tau, and where the scale of the optimum is unknown at a relative duality gap.

The optimum of a hull formulation is a length |w| of any size, so that no violation tells how good a model is: what
stops there is the relative gap, known from the gradient at no kernel evaluation. tau only says when to look: as a
violation of v leaves a gap of 4 v / |w|^2 at most, and about v / |w|^2 as a rule, it goes down to ``gap`` |w|^2 and
halves from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness import DualForm, Problem
    from harness.arrays import Vector

_TIGHTEN = 0.1  # of tau, at least, and where the form has a scale, when the gap asks for more
_HALVE = 0.5  # the same at most
_START = 0.95  # of the gap: a start that is that good stays so when its scores are computed otherwise
_FIRST = 1e-2  # of |w|^2: the first tau at least
_ABOVE = 1.01  # times the violation of such a start
_MEET = 1e-4  # |w| below this part of the data's extent along the first w: hulls that meet take for ever from there


class Goal:
    """What a run aims at.

    tau : violation at which to look whether it is done; changes
    gap : relative gap at which it is; None: at tau, whatever the gap
    ended : why the run ends, ``done`` or ``meet`` (w is 0 as far as this solver goes); set when it does
    """

    def __init__(self, problem: Problem, form: DualForm, tau: float, gap: float | None) -> None:
        self.problem, self.form = problem, form
        self.tau = tau * form.unit
        self.gap = tau if gap is None and form.relative else gap
        self.ended = "done"
        self.least = 0.0  # 1/2 |w|^2 below which the hulls meet

    def begin(self, a: Vector, scores: Vector, noise: float = 0.0) -> None:
        """Set tau where it is relative: by the length of the first w, or so that a start that is good enough ends at once.

        a : (V,) variables, scores : (n,) K coef, each off by up to ``noise``
        """
        if not self.form.relative or self.gap is None:
            return
        found = self.problem.certificate(self.form.coef(a), 0.0, scores)
        if found.dual:
            extent = float(np.ptp(scores)) / float(np.sqrt(2.0 * found.dual))
            self.least = 0.5 * (_MEET * extent) ** 2
        if found.relative_gap is not None and found.relative_gap <= _START * self.gap:
            self.tau = _ABOVE * self.form.violation(self.form.ends(a, self.form.gradient(scores))) + 2.0 * noise
        elif found.dual:
            self.tau = 2.0 * max(self.gap, _FIRST) * found.dual

    def reached(self, coef: Vector, intercept: float, scores: Vector, share: float = 1.0) -> bool:
        """Whether a model whose violation is tau at most is the last; if it is not, tighten tau.

        share : of the gap that counts as reaching it
        """
        if self.gap is None:
            return True
        found = self.problem.certificate(coef, intercept, scores)
        if found.relative_gap is not None and found.relative_gap <= share * self.gap:
            return True
        if found.relative_gap is None or (self.form.relative and (found.dual or 0.0) <= self.least):
            self.ended = "meet"
            return True
        wanted = 2.0 * self.gap * found.dual if self.form.relative and found.dual else 0.0
        # not by more at once: hulls that meet are found to by looking, long before such a tau
        self.tau = max(_TIGHTEN * self.tau, min(_HALVE * self.tau, wanted))
        return False


def why_stopped(reason: str, violation: float, tau: float, steps: int) -> str:
    """Return in words why a run that is not done ended: for ``meet``, ``stalled`` or ``max_iterations``."""
    if reason == "meet":
        return f"the hulls meet: after {steps} steps |w| is 0, or less than {_MEET:g} of the data's extent: no margin"
    if reason == "stalled":
        return f"stalled: the next step is lost in rounding at a violation of {violation:.2g}, above {tau:.2g}"
    return f"max_iterations={steps}: the violation is {violation:.2g} still, above {tau:.2g}"
