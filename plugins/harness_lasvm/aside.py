"""Members at a bound that the finishing step leaves out of the search for a while, and lets back in at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.arrays import Array
    from harness_lasvm.expansion import Expansion

_KERNEL_VALUES = 4_000_000  # held at a time while gradients are renewed


@dataclass
class Aside:
    """Members set aside together: their gradient belongs to the coefficients ``then``."""

    members: Array
    alpha: Array
    grad: Array
    then: Array


def shrink(expansion: Expansion, least: float) -> None:
    """Put the members at a bound that cannot be in a violating pair out of the search.

    Those with alpha = 0 leave S for good (step 4 of REPROCESS). Nothing happens if fewer than the
    share ``least`` of the active members would go: packing costs more than it saves then.
    """
    x, now, live = expansion.members, expansion.now, expansion.live()
    alpha, grad, slots = x.alpha[live], x.grad[live], x.slots[live]
    idle = ((alpha == slots["lower"]) & (grad <= now["g_min"])) | ((alpha == slots["upper"]) & (grad >= now["g_max"]))
    if np.count_nonzero(idle) < max(1.0, least * len(live)):
        if now["rows"] <= len(live):
            expansion.narrow()  # so that more rows fit
        return
    coef = expansion.write()
    away = idle & (alpha != 0.0)
    coef[slots["member"][idle & (alpha == 0.0)]] = 0.0
    if away.any():
        expansion.aside.append(Aside(slots["member"][away], alpha[away], grad[away], coef.copy()))
    expansion.keep(live[~idle])


def unshrink(expansion: Expansion, tau: float) -> None:
    """Renew the gradients of those set aside, some, and let those back in that the violating pairs of all S may need."""
    now, coef = expansion.now, expansion.write()
    for group in expansion.aside:
        _renew(expansion, group)
    members = np.concatenate([group.members for group in expansion.aside])
    alpha = np.concatenate([group.alpha for group in expansion.aside])
    grad = np.concatenate([group.grad for group in expansion.aside])
    expansion.aside = []
    # at a bound: one direction is open
    rising = alpha == expansion.members.examples["lower"][members]
    g_max = max(float(now["g_max"]), float(np.max(grad[rising], initial=-np.inf)))
    g_min = min(float(now["g_min"]), float(np.min(grad[~rising], initial=np.inf)))
    back = np.where(rising, grad > g_min, grad < g_max) & (g_max - g_min > tau)
    stay = ~back
    if stay.any():
        expansion.aside.append(Aside(members[stay], alpha[stay], grad[stay], coef.copy()))
    expansion.admit(members[back], alpha[back], grad[back])
    if not back.any():
        now["g_max"], now["g_min"] = g_max, g_min


def readmit(expansion: Expansion) -> None:
    """Let all who were set aside back into the search; their rows are computed anew."""
    groups, expansion.aside = expansion.aside, []
    for group in groups:
        expansion.admit(group.members, group.alpha, group.grad)


def _renew(expansion: Expansion, group: Aside) -> None:
    change = expansion.members.coef - group.then
    moved = np.flatnonzero(change)
    step = max(1, _KERNEL_VALUES // len(group.members))
    for start in range(0, len(moved), step):
        part = moved[start : start + step]
        group.grad -= change[part] @ expansion.kernel.block(part, group.members)
