"""Wilcoxon's signed ranks, and Holm's correction of several of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

_SAME = 1e-9  # percent: errors over as many points are multiples of one number, and rounding of a tie is no difference


def signed_ranks(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's test of paired values; 1 where fewer than two pairs differ.

    Pairs that do not differ are left out. All 2^n signs are gone through, by how many give each sum of ranks, so that ties do
    not matter.
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    differences = np.round(differences / _SAME) * _SAME  # equal ones have equal ranks
    differences = differences[differences != 0.0]
    if len(differences) < 2:  # of one either sign is as likely
        return 1.0
    twice = np.rint(2.0 * stats.rankdata(np.abs(differences))).astype(int)  # ranks of ties are halves
    chance = np.zeros(twice.sum() + 1)  # of each sum of the ranks with a plus
    chance[0] = 1.0
    for rank in twice:
        chance = 0.5 * (chance + np.concatenate([np.zeros(rank), chance[:-rank]]))
    positive = twice[differences > 0.0].sum()
    return float(min(1.0, 2.0 * min(chance[: positive + 1].sum(), chance[positive:].sum())))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected by Holm's step-down procedure, in their order.

    The i-th smallest of m is multiplied by m - i + 1, and none is less than a smaller one's.
    """
    m, least = len(p_values), 0.0
    corrected = [0.0] * m
    for rank, place in enumerate(sorted(range(m), key=lambda each: p_values[each])):
        least = max(least, min(1.0, (m - rank) * p_values[place]))
        corrected[place] = least
    return corrected
