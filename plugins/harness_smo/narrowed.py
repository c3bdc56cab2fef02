"""Bounds narrower than the problem's, and wider step by step: at a large C, SMO finds its way from the optima of small ones.

At C_0, where one step takes a variable from one bound to the other, the optimum is found in about as many steps as there
are points. From there the variables are stretched along the ray from 0, those at a bound to the new bound, and a few
steps mend what that has put wrong. With the bounds far apart from the start SMO leaves most variables free, a little
above 0, and the free variables' equations are badly conditioned.

Source: the warm starts along C of DeCoste and Wagstaff (KDD 2000), and of Hastie, Rosset, Tibshirani, Zhu, JMLR 5 (2004),
whose path this follows loosely.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from harness import DualForm
    from harness.arrays import Vector

_LOOSE = 0.3  # of the mean |linear|: the violation at which the bounds are widened
WIDER = 4.0  # times
_LAST = 0.9  # of the problem's bounds: whoever is that near goes all the way
_LOST = 20.0  # times the loose violation: wider apart than that the scores only swing


class Stretched(NamedTuple):
    """What :meth:`Narrowed.widen` did: ``form`` has the new bounds, and scores grow by ``factor``."""

    form: DualForm
    factor: float


class Narrowed:
    """The problem's form with bounds ``cap`` times as wide.

    Attributes
    ----------
    cap : above 0, at most 1
    loose : the violation that is good enough while ``cap`` is below 1
    """

    def __init__(self, form: DualForm, largest: float, cap: float = 1.0) -> None:
        """``largest`` is the largest K_ii, and ``cap`` says how wide the bounds are that the variables come from."""
        self.whole, self.cap = form, cap
        size = float(np.abs(form.linear).mean())
        self.loose, self.lost = _LOOSE * size, _LOST * _LOOSE * size
        widest = float(form.upper.max() - form.lower.min()) * largest
        # a sum that is not 0, or a bound that is none, is no multiple of narrower ones
        sound = not form.relative and not form.start.any() and 0.0 < widest < np.inf
        self._first = size / widest if sound else 1.0

    def begin(self) -> DualForm | None:
        """Return the form with the first bounds, None if it has none that are much narrower, or had them before."""
        first, self._first = self._first, 1.0
        if first * WIDER >= 1.0 or first <= 0.0:
            return None
        return self._form(first)

    def _form(self, cap: float) -> DualForm:
        self.cap, whole = cap, self.whole
        return whole if cap == 1.0 else replace(whole, lower=cap * whole.lower, upper=cap * whole.upper)

    def widen(self, form: DualForm, a: Vector, scores: Vector, at_once: bool) -> Stretched:
        """Stretch the variables ``a``, (V,), in place along the ray from 0, as far as that gains, into wider bounds.

        Parameters
        ----------
        form : with the bounds so far
        scores : (n,) K coef
        at_once : go to the problem's own bounds now; so it is if no variable is at a bound
        """
        at_top, at_bottom = (a >= form.upper) & (form.upper > 0.0), (a <= form.lower) & (form.lower < 0.0)
        wider = min(1.0 / self.cap, WIDER)
        if at_once or self.cap * wider > _LAST or not (at_top.any() or at_bottom.any()):
            wider = 1.0 / self.cap
        curvature, slope = float(form.coef(a) @ scores), float(form.linear @ a)
        factor = min(max(1.0, slope / curvature if curvature > 0.0 else 1.0), wider)
        new = self._form(1.0 if wider == 1.0 / self.cap else self.cap * wider)
        a *= factor
        if factor == wider:  # at its bound to the last bit: one rounding error away it would count as free
            a[at_top], a[at_bottom] = new.upper[at_top], new.lower[at_bottom]
        return Stretched(new, factor)
