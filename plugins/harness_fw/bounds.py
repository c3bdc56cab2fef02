"""Figures of the paper: delta of (19), Lemma 3.1's decrease, Theorem 3.1's iterations, Theorem 3.3's core set.

P. Kumar and E. A. Yildirim, "A linearly convergent linear-time first-order algorithm for support vector
classification with a core set result" (2009).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness import KernelOracle
from harness.support.arrays import Mask, Vector

_BLOCK_VALUES = 2_000_000


def iteration_bound(delta: float, psi_star: float, epsilon: float) -> float:
    """Return the iterations after which Algorithm 1 has a (1 - epsilon)-approximate solution, (29).

    delta : (19) or more
    psi_star : half the squared optimal margin, or less; 0 or less gives infinity

    The bound grows with delta / psi_star, so that a bound of either still gives a valid one. It holds
    without away steps too: each iteration is then an add-iteration of Lemma 3.1.
    """
    if psi_star <= 0.0:
        return math.inf
    ratio = delta / psi_star
    start = 10.0 * ratio * math.log(ratio)
    return 2.0 + start if epsilon >= 0.5 else 6.0 + start + 32.0 * ratio / epsilon


def core_set_bound(delta: float, psi_star: float, epsilon: float) -> float:
    """Return the size of the core set that Theorem 3.3's proof allows: two vertices, and two more an iteration."""
    return 2.0 + 2.0 * iteration_bound(delta, psi_star, epsilon)


def decrease_bound(psi: float, epsilon: float, delta: float, psi_star: float) -> float:
    """Return what psi = 1/2 |w|^2 is after an add- or decrease-iteration at most, (21) of Lemma 3.1.

    epsilon : of the iterate with ``psi``
    delta : (19) or more
    psi_star : the optimum, half the squared margin, or less; above 0
    """
    return psi * delta / (epsilon * epsilon * psi_star + delta)


def paper_bounds(delta: float, info: dict[str, Any], epsilon: float) -> dict[str, float]:
    """Return the paper's bounds for a run to ``epsilon`` by name, to compare with what was measured.

    info : of the last iterate: (1 - epsilon_plus) |w| is a lower bound of the optimal margin, so that delta / Psi* and both
        bounds are no less than the exact ones

    ``delta_over_psi`` is the delta / Psi* that they depend on; infinite, all three, where no margin is known.
    """
    psi_star = 0.5 * max(0.0, (1.0 - info["epsilon_plus"]) * info["norm"]) ** 2
    return {
        "delta_over_psi": delta / psi_star if psi_star > 0.0 else math.inf,
        "iteration_bound": iteration_bound(delta, psi_star, epsilon),
        "core_set_bound": core_set_bound(delta, psi_star, epsilon),
    }


def delta_of(kernel: KernelOracle, positive: Mask) -> float:
    """Return delta = 1/2 max |phi(p) - phi(q)|^2 over P x Q, (19), from all m r kernel values, in blocks.

    positive : (n,) bool, the points of P

    The evaluations are counted.
    """
    rows, columns = np.flatnonzero(positive), np.flatnonzero(~positive)
    diagonal = kernel.diagonal()
    largest = 0.0
    step = max(1, _BLOCK_VALUES // len(columns))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        squared = diagonal[part, None] + diagonal[None, columns] - 2.0 * kernel.block(part, columns)
        largest = max(largest, float(squared.max()))
    return 0.5 * largest


def delta_bound(diagonal: Vector, positive: Mask) -> float:
    """Return 1/2 (max |phi(p)| + max |phi(q)|)^2 >= delta, from the diagonal alone.

    One hull, all ``positive``, is the pair of it and the origin.
    """
    longest = np.sqrt(diagonal[positive].max()) + np.sqrt(diagonal[~positive].max(initial=0.0))
    return 0.5 * float(longest) ** 2
