"""The formulations: one module each family, with its feasible set and its certificate."""

from harness.problems.csvc import CSVC, CSVCNoBias
from harness.problems.dual import DualForm
from harness.problems.hulls import L2SVC, HardMargin, ReducedHull
from harness.problems.mistake_driven import MistakeDriven
from harness.problems.one_class import OneClass
from harness.problems.polytope_distance import PolytopeDistance
from harness.problems.problem import Certificate, Problem
from harness.problems.ramp import RampSVC
from harness.problems.svr import EpsSVR
from harness.problems.tube_svr import TubeSVR

FORMULATIONS: dict[str, type[Problem]] = {
    cls.name: cls
    for cls in (
        CSVC,
        CSVCNoBias,
        L2SVC,
        HardMargin,
        ReducedHull,
        EpsSVR,
        TubeSVR,
        OneClass,
        PolytopeDistance,
        RampSVC,
        MistakeDriven,
    )
}

__all__ = [
    "CSVC",
    "FORMULATIONS",
    "L2SVC",
    "CSVCNoBias",
    "Certificate",
    "DualForm",
    "EpsSVR",
    "HardMargin",
    "MistakeDriven",
    "OneClass",
    "PolytopeDistance",
    "Problem",
    "RampSVC",
    "ReducedHull",
    "TubeSVR",
]
