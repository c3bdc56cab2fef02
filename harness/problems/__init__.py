"""The formulations: one module each family, with its feasible set and its certificate."""

from harness.problems.csvc import CSVC, CSVCNoBias
from harness.problems.hulls import L2SVC, HardMargin, ReducedHull
from harness.problems.problem import Certificate, Problem

FORMULATIONS: dict[str, type[Problem]] = {cls.name: cls for cls in (CSVC, CSVCNoBias, L2SVC, HardMargin, ReducedHull)}

__all__ = ["CSVC", "FORMULATIONS", "L2SVC", "CSVCNoBias", "Certificate", "HardMargin", "Problem", "ReducedHull"]
