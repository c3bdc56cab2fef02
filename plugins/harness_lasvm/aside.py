"""Members at a bound that the finishing step leaves out of the search for a while, and lets back in at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness_lasvm.expansion import Expansion

    Vector = np.ndarray[Any, np.dtype[Any]]

_KERNEL_VALUES = 4_000_000  # held at a time while gradients are renewed


@dataclass
class _Group:
    """Members set aside together: their gradient belongs to the coefficients ``then``."""

    members: Vector
    alpha: Vector
    grad: Vector
    then: Vector


class Aside:
    """Those that ``expansion`` has set aside; its slots are the other members of S."""

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.groups: list[_Group] = []

    @property
    def size(self) -> int:
        """How many they are."""
        return sum(len(group.members) for group in self.groups)

    def shrink(self, least: float) -> None:
        """Put the members at a bound that cannot be in a violating pair out of the search.

        Those with alpha = 0 leave S for good (step 4 of REPROCESS). Nothing happens if fewer than the
        share ``least`` of the active members would go: packing costs more than it saves then.
        """
        expansion, now, live = self.expansion, self.expansion.now, self.expansion.live()
        x = expansion.members
        alpha, grad, slots = x.alpha[live], x.grad[live], x.slots[live]
        idle = ((alpha == slots["lower"]) & (grad <= now.g_min)) | ((alpha == slots["upper"]) & (grad >= now.g_max))
        if np.count_nonzero(idle) < max(1.0, least * len(live)):
            if now.rows <= len(live):
                expansion.narrow()  # so that more rows fit
            return
        coef = expansion.write()
        away = idle & (alpha != 0.0)
        coef[slots["member"][idle & (alpha == 0.0)]] = 0.0
        if away.any():
            self.groups.append(_Group(slots["member"][away], alpha[away], grad[away], coef.copy()))
        expansion.keep(live[~idle])

    def unshrink(self, tau: float) -> None:
        """Renew their gradients and let those back in that the violating pairs of all S may need; there are some."""
        expansion, now = self.expansion, self.expansion.now
        coef = expansion.write()
        for group in self.groups:
            self._renew(group)
        members = np.concatenate([group.members for group in self.groups])
        alpha = np.concatenate([group.alpha for group in self.groups])
        grad = np.concatenate([group.grad for group in self.groups])
        self.groups = []
        # at a bound: one direction is open
        rising = alpha == expansion.members.examples["lower"][members]
        g_max = max(float(now.g_max), float(np.max(grad[rising], initial=-np.inf)))
        g_min = min(float(now.g_min), float(np.min(grad[~rising], initial=np.inf)))
        back = np.where(rising, grad > g_min, grad < g_max) & (g_max - g_min > tau)
        stay = ~back
        if stay.any():
            self.groups.append(_Group(members[stay], alpha[stay], grad[stay], coef.copy()))
        expansion.admit(members[back], alpha[back], grad[back])
        if not back.any():
            now.g_max, now.g_min = g_max, g_min

    def readmit(self) -> None:
        """Let all of them back into the search; their rows are computed anew."""
        groups, self.groups = self.groups, []
        for group in groups:
            self.expansion.admit(group.members, group.alpha, group.grad)

    def _renew(self, group: _Group) -> None:
        change = self.expansion.members.coef - group.then
        moved = np.flatnonzero(change)
        step = max(1, _KERNEL_VALUES // len(group.members))
        for start in range(0, len(moved), step):
            part = moved[start : start + step]
            group.grad -= change[part] @ self.expansion.kernel.block(part, group.members)
