"""How long the host lets a solver go on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Limits the host checks at every yield; None means no limit.

    seconds : wall seconds inside the solver
    kernel_evaluations : counted kernel values
    iterations : yields
    target_gap : relative gap, by the host's certificate at trace points
    """

    seconds: float | None = None
    kernel_evaluations: int | None = None
    iterations: int | None = None
    target_gap: float | None = None
