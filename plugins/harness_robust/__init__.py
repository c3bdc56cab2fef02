"""Plugin `robust`: training with wrong labels by the ramp loss (CCCP, homotopy, branch and bound) or by filtering outliers."""

from __future__ import annotations

from harness import Problem, Solver, hookimpl
from harness_robust.cccp import RampCCCP
from harness_robust.filtered import Filtered
from harness_robust.path import OutlierPath
from harness_robust.ramp import RampSVC
from harness_robust.ramp_exact import RampExact


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulations of this plugin."""
    return [RampSVC]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [RampCCCP, Filtered, OutlierPath, RampExact]
