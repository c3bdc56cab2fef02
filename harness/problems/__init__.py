"""The formulations: one module each family, with its feasible set and its certificate."""

from harness.problems.csvc import CSVC as CSVC
from harness.problems.csvc import CSVCNoBias as CSVCNoBias
from harness.problems.hulls import L2SVC as L2SVC
from harness.problems.hulls import HardMargin as HardMargin
from harness.problems.hulls import ReducedHull as ReducedHull
from harness.problems.nu_svc import NuSVC as NuSVC
from harness.problems.one_class import OneClass as OneClass
from harness.problems.polytope_distance import PolytopeDistance as PolytopeDistance
from harness.problems.problem import Problem
from harness.problems.svr import EpsSVR as EpsSVR


def formulations() -> list[type[Problem]]:
    """Return the formulations of the host, which this module imports."""
    classes = [value for value in globals().values() if isinstance(value, type) and issubclass(value, Problem)]
    return [cls for cls in classes if cls is not Problem]
