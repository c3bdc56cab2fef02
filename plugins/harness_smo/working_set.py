"""Which variables a round of block SMO works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Index, Vector


def choose(
    rise: Vector,
    fall: Vector,
    ends: list[tuple[float, float]],
    group: Any,
    groups: int,
    previous: Index,
    free: Any,
    size: int,
) -> tuple[Index, int]:
    """Return up to ``size`` variables (at least two of a group), first group first, and where the second one starts.

    Half of them are kept from the previous working set, free ones first, then by violation; the others violate
    most: in each group half from the top of those that may rise, half from the bottom of those that may fall.

    Parameters
    ----------
    rise, fall : (V,) the gradient where a variable may rise (fall), else -inf (inf); changed in place
    ends : of each group, the largest entry of ``rise`` and the smallest of ``fall``
    free : of variables: whether each is strictly between its bounds
    """
    from harness_smo.block_passes import largest

    kept = _kept(rise, fall, ends, group, previous, free, size // 2)
    rise[kept], fall[kept] = -np.inf, np.inf
    chosen = [kept]
    if groups == 0:
        chosen.append(largest(np.maximum(rise, -fall), 0.0, size - len(kept)))
    for k in range(groups):
        share = max(1, (size - len(kept)) // (2 * groups))
        members = np.flatnonzero(group == k) if groups > 1 else None
        up, low = ends[k]
        top = largest(rise if members is None else rise[members], low, share)
        top = top if members is None else members[top]
        fall[top] = np.inf
        bottom = largest(-fall if members is None else -fall[members], -up, share)
        chosen += [top, bottom if members is None else members[bottom]]
    together = np.concatenate(chosen)
    if groups < 2:
        return together, len(together)
    second = group[together] == 1
    return np.concatenate([together[~second], together[second]]), int(np.count_nonzero(~second))


def _kept(
    rise: Vector, fall: Vector, ends: list[tuple[float, float]], group: Any, previous: Index, free: Any, count: int
) -> Index:
    if len(previous) <= count:
        return previous
    ups, lows = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    own = group[previous]
    violation = np.maximum(rise[previous] - lows[own], ups[own] - fall[previous])
    order = np.lexsort((-violation, ~free(previous)))
    return np.sort(previous[order[:count]])  # rows are read at ascending places
