"""Compiled passes of Newton's method over margins: the bias, the step length, slacks."""

from __future__ import annotations

import numpy as np

from harness.support.arrays import Vector
from harness.support.jit import compiled

_FLAT = 1e-12  # of the slope at the beginning: a slope that is as good as 0
_ROUNDS = 60  # halvings or better of an interval


@compiled
def slacks(targets: Vector, products: Vector, bias: float, out: Vector) -> None:
    """Set out to max(0, 1 - y (<w, x> + bias)); all (n,)."""
    for i in range(len(out)):
        slack = 1.0 - targets[i] * (products[i] + bias)
        out[i] = slack if slack > 0.0 else 0.0


@compiled
def best_bias(targets: Vector, products: Vector, bias: float) -> float:
    """Return the b at which the slacks of both classes have the same sum: the least sum of squares.

    sum y slack falls with b, in straight pieces: Newton's method on it ends in a piece, within an interval that
    contains the root.
    """
    low, high = -np.inf, np.inf
    for _ in range(_ROUNDS):
        total, count, size = 0.0, 0, 0.0
        for i in range(len(targets)):
            slack = 1.0 - targets[i] * (products[i] + bias)
            if slack > 0.0:
                total += targets[i] * slack
                size += slack
                count += 1
        if abs(total) <= _FLAT * size:
            break
        if total > 0.0:
            low = bias
        else:
            high = bias
        if count > 0:
            bias += total / count
        if not low < bias < high:
            if high - low == np.inf:
                break  # a change that rounding swallows
            bias = 0.5 * (low + high)
    return bias


@compiled
def slope_at(
    step: float, straight: float, bent: float, chi: float, targets: Vector, now: Vector, change: Vector
) -> float:
    """Return the derivative of 1/2 |w|^2 + chi/2 sum slack^2 after ``step`` of a direction, along it.

    straight, bent : <w, direction> and |direction|^2
    now, change : (n,) f(x) and what a step of 1 adds to it
    """
    total = 0.0
    for i in range(len(now)):
        slack = 1.0 - targets[i] * (now[i] + step * change[i])
        if slack > 0.0:
            total += slack * targets[i] * change[i]
    return straight + step * bent - chi * total


@compiled
def best_step(straight: float, bent: float, chi: float, targets: Vector, now: Vector, change: Vector) -> float:
    """Return the step in (0, 1] at which the derivative vanishes, or 1 if it is not positive there.

    Regula falsi, with halved values at an end that stays (the Illinois method).
    """
    start = slope_at(0.0, straight, bent, chi, targets, now, change)
    end = slope_at(1.0, straight, bent, chi, targets, now, change)
    if end <= -_FLAT * start or not start < 0.0:
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, start, end
    step = 1.0
    for _ in range(_ROUNDS):
        step = low + (high - low) * at_low / (at_low - at_high)
        slope = slope_at(step, straight, bent, chi, targets, now, change)
        if abs(slope) <= -1e-6 * start:
            break
        if slope < 0.0:
            low, at_low = step, slope
            at_high *= 0.5
        else:
            high, at_high = step, slope
            at_low *= 0.5
    return step
