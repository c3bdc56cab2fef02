"""Training where labels lie: the ramp loss by CCCP and by homotopy, filters, and exact answers for small problems."""

from __future__ import annotations

from harness import Problem, Solver, hookimpl
from harness_robust.cccp import RampCCCP
from harness_robust.filtered import Filtered
from harness_robust.outlier_exact import OutlierExact
from harness_robust.path import OutlierPath
from harness_robust.ramp import RampSVC
from harness_robust.ramp_exact import RampExact


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulation that this plugin brings."""
    return [RampSVC]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [RampCCCP, Filtered, OutlierExact, OutlierPath, RampExact]
