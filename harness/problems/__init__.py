"""The formulations: one module each family, with its feasible set and its certificate."""

from harness.problems.csvc import CSVC as CSVC
from harness.problems.csvc import CSVCNoBias as CSVCNoBias
from harness.problems.giving_up import GivingUp as GivingUp
from harness.problems.hulls import L2SVC as L2SVC
from harness.problems.hulls import HardMargin as HardMargin
from harness.problems.hulls import ReducedHull as ReducedHull
from harness.problems.nu_svc import NuSVC as NuSVC
from harness.problems.one_class import OneClass as OneClass
from harness.problems.outlier_margin import OutlierMargin as OutlierMargin
from harness.problems.polytope_distance import PolytopeDistance as PolytopeDistance
from harness.problems.pool_svc import PoolSVC as PoolSVC
from harness.problems.problem import Problem
from harness.problems.svr import EpsSVR as EpsSVR


def formulations() -> list[type[Problem]]:
    """Return the host's own formulations: those that are imported here."""
    known = [each for each in globals().values() if isinstance(each, type) and issubclass(each, Problem)]
    return [each for each in known if each is not Problem]
