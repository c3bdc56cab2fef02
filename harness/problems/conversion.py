"""c-svc and reduced-hull solutions of one data set are the same up to scale.

Bennett & Bredensteiner 2000; Crisp & Burges 2000: a c-svc dual optimum with S = sum of alpha over one
class gives the reduced-hull optimum coef / S at D = C / S; back, S = 2 / (theta_+ - theta_-) and C = D S.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.errors import UsageError
from harness.problems.csvc import CSVC, CSVCParameters
from harness.problems.hulls import ReducedHull, ReducedHullParameters, reduced_minimum

if TYPE_CHECKING:
    from harness.arrays import Vector


def to_reduced_hull(problem: CSVC, dual_coef: Vector, intercept: float) -> tuple[ReducedHull, Vector, float]:
    """Return the reduced-hull problem and model that a c-svc model stands for.

    Raises
    ------
    UsageError : all coefficients are zero (no hull), or C differs between points of one problem.
    """
    if np.ptp(problem.upper) > 0.0:
        raise UsageError("the conversion to reduced-hull needs one C for all points; this problem weights its classes.")
    coef = np.asarray(dual_coef, dtype=np.float64)
    scale = float(np.abs(coef).sum()) / 2.0
    if scale <= 0.0:
        raise UsageError(
            "the conversion to reduced-hull needs a model with support vectors; all coefficients are zero."
        )
    hull = ReducedHull(problem.kernel, problem.targets, ReducedHullParameters(D=min(1.0, problem.C / scale)))
    return hull, coef / scale, intercept / scale


def to_c_svc(problem: ReducedHull, dual_coef: Vector) -> tuple[CSVC, Vector, float]:
    """Return the c-svc problem and model that a reduced-hull model stands for; n kernel evaluations a support vector.

    Raises
    ------
    UsageError : the reduced hulls are not separated along w, so that no finite C corresponds, or have a cap each.
    """
    if problem.caps[0] != problem.caps[1]:
        raise UsageError(
            f"the conversion to c-svc needs one cap for both classes; this problem has D={problem.caps[0]:g} and "
            f"D_minus={problem.caps[1]:g}, which are two prices of a violation."
        )
    coef = np.asarray(dual_coef, dtype=np.float64)
    theta_positive, theta_negative = thresholds(problem, coef, problem.kernel.expand(coef))
    if theta_positive <= theta_negative:
        raise UsageError(
            "the conversion to c-svc needs theta_+ > theta_-; these reduced hulls intersect, take a smaller D."
        )
    scale = 2.0 / (theta_positive - theta_negative)
    svc = CSVC(problem.kernel, problem.targets, CSVCParameters(C=problem.cap * scale))
    return svc, coef * scale, -0.5 * (theta_positive + theta_negative) * scale


def thresholds(problem: ReducedHull, coef: Vector, scores: Vector) -> tuple[float, float]:
    """Return theta_+ and theta_-: the projections where the free weights of each class sit.

    At the optimum every weight strictly between 0 and its cap has projection theta exactly; without a free
    weight any value between the neighbours will do and the middle is taken.
    """
    result = []
    for sign, cap in zip((1.0, -1.0), problem.caps, strict=True):
        members = problem.targets == sign
        weights, projections = (problem.targets * coef)[members], sign * scores[members]
        free = (weights > 1e-9 * cap) & (weights < cap * (1.0 - 1e-6))
        if free.any():
            theta = float(np.average(projections[free], weights=np.minimum(weights, cap - weights)[free]))
        else:
            capped, unused = projections[weights > 0.5 * cap], projections[weights <= 0.5 * cap]
            low = float(capped.max()) if len(capped) else reduced_minimum(projections, cap)
            theta = 0.5 * (low + float(unused.min())) if len(unused) else low
        result.append(sign * theta)
    return result[0], result[1]
