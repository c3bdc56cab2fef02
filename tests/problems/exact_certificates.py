"""Certificates in exact arithmetic, for small problems: in fractions, with RBF kernels in 80 digits.

Written from the formulations' definitions, over the model's float64 coefficients as the real numbers they are.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from harness_sampling.tube_svr import TubeSVR

from harness import RBF, Linear, Poly
from harness.problems import HardMargin, PolytopeDistance

DIGITS = 80


def points_of(problem):
    """Return the training points as a dense array."""
    points = problem.kernel.points
    return points if isinstance(points, np.ndarray) else points.toarray()


def scores_and_square(problem, coef, number):
    """Return (f(x_i) without intercept, |w|^2) of a model, ``number`` being Fraction or Decimal."""
    x = [[number(float(v)) for v in row] for row in points_of(problem)]
    a = [number(float(c)) for c in coef]
    kernel = problem.kernel.kernel
    if isinstance(kernel, RBF):
        gamma = number(float(kernel.gamma))
        values = [[(-gamma * sum((p - q) ** 2 for p, q in zip(r, s, strict=True))).exp() for s in x] for r in x]
    elif isinstance(kernel, Poly):
        gamma, coef0 = number(float(kernel.gamma)), number(float(kernel.coef0))
        products = [[sum(p * q for p, q in zip(r, s, strict=True)) for s in x] for r in x]
        values = [[(gamma * v + coef0) ** kernel.degree for v in row] for row in products]
    else:
        values = x  # precomputed
    if not isinstance(kernel, Linear):
        scores = [sum((c * v for c, v in zip(a, row, strict=True)), number(0)) for row in values]
    else:
        w = [sum((c * row[f] for c, row in zip(a, x, strict=True)), number(0)) for f in range(len(x[0]))]
        scores = [sum((v * u for v, u in zip(row, w, strict=True)), number(0)) for row in x]
    scores = [s + number(problem.kernel.ridge) * c for s, c in zip(scores, a, strict=True)]
    if isinstance(problem, TubeSVR):
        z = [number(float(v)) for v in problem.shifts]
        along = sum((c * v for c, v in zip(a, z, strict=True)), number(0))
        scores = [s + v * along for s, v in zip(scores, z, strict=True)]
    return scores, sum((c * s for c, s in zip(a, scores, strict=True)), number(0))


def greedy(values, cap):
    """Return the least <values, u> over u on the simplex with u_i <= cap, exactly."""
    total, left, last = 0, 1, None
    for last in sorted(values):
        share = min(cap, left)
        total, left = total + share * last, left - share
    return total + left * last


def reach_of(problem, coef, number):
    """Return (the least <w, z> over the difference of the hulls, |w|^2) of a hull formulation."""
    scores, squared = scores_and_square(problem, coef, number)
    if problem.name == "polytope-distance":
        return min(scores), squared
    if isinstance(problem, TubeSVR):
        eps, z = number(problem.epsilon), [number(float(v)) for v in problem.shifts]
        sigma = sum((number(float(c)) * v for c, v in zip(coef, z, strict=True)), number(0)) + 2 * eps
        middle = [s + 2 * eps * v for s, v in zip(scores, z, strict=True)]
        squared += 4 * eps * (sigma - 2 * eps) + 4 * eps**2
        up, down = [m + eps * sigma for m in middle], [m - eps * sigma for m in middle]
    else:
        up = [s for s, y in zip(scores, problem.targets, strict=True) if y > 0]
        down = [s for s, y in zip(scores, problem.targets, strict=True) if y < 0]
    cap_up, cap_down = (number(float(cap)) for cap in problem.caps)
    return greedy(up, cap_up) + greedy([-s for s in down], cap_down), squared


def objectives(problem, coef, intercept, number):
    """Return (primal, dual) of c-svc, c-svc-nobias, eps-svr, nu-svc and one-class."""
    scores, squared = scores_and_square(problem, coef, number)
    zero, b = number(0), number(float(intercept))
    a, y = [number(float(c)) for c in coef], [number(float(t)) for t in problem.targets]
    if problem.name == "one-class":
        cap = 1 / (number(problem.nu) * problem.n)
        return squared / 2 + b + cap * sum((max(zero, -b - s) for s in scores), zero), -squared / 2
    if problem.name == "eps-svr":
        eps = number(problem.epsilon)
        loss = sum((max(zero, abs(t - s - b) - eps) for t, s in zip(y, scores, strict=True)), zero)
        linear = sum((t * c - eps * abs(c) for t, c in zip(y, a, strict=True)), zero)
        return squared / 2 + number(problem.C) * loss, linear - squared / 2
    if problem.name == "nu-svc":
        margins, nu = sorted(t * (s + b) for t, s in zip(y, scores, strict=True)), number(float(problem.nu))
        primal = min(sum((max(zero, rho - m) for m in margins), zero) / problem.n - nu * rho for rho in margins)
        return squared / 2 + primal, -squared / 2
    prices = [number(float(p)) for p in problem.upper]
    loss = sum((p * max(zero, 1 - t * (s + b)) for p, t, s in zip(prices, y, scores, strict=True)), zero)
    return squared / 2 + loss, sum((t * c for t, c in zip(y, a, strict=True)), zero) - squared / 2


def shortest(problem, coef):
    """Return 16 x 2^-53 x the spread of a model, the length at which w counts as 0."""
    x = points_of(problem).astype(np.longdouble)
    used = np.asarray(coef) != 0.0
    apart = x[used] - x[used].mean(axis=0)
    size = np.abs(np.asarray(coef))
    spread = size[used] @ np.sqrt((apart**2).sum(axis=1))
    if isinstance(problem, TubeSVR):
        spread += size @ np.abs(problem.shifts) + 2.0 * problem.epsilon
    return float(16.0 * 2.0**-53 * spread)


def falsehoods(problem, coef, intercept, found):
    """Return what in a certificate is not true in exact arithmetic, in words; nothing if all is."""
    exact_kernel = not isinstance(problem.kernel.kernel, RBF)
    with localcontext() as context:
        context.prec = DIGITS
        number = Fraction if exact_kernel else Decimal
        if found.undecidable:
            figures = (found.gap, found.relative_gap, found.epsilon, found.margin_lower, found.margin_upper)
            return [] if figures == (None,) * 5 else ["figures beside 'undecidable'"]
        if has_margin(problem):
            return _of_margin(problem, coef, found, number)
        primal, dual = objectives(problem, coef, intercept, number)
        scale = max(number(problem.dual_form().gap_scale(0.0)), abs(primal))
        if problem.name in ("one-class", "nu-svc"):
            vanishes = exact_kernel and -2 * dual <= number(shortest(problem, coef)) ** 2
            total = problem.nu if problem.name == "nu-svc" else 1.0
            scale = number(total**2 * (problem.largest_diagonal() or 1.0) / 2) if vanishes else -dual
        return _outside(found, (primal - dual) / scale)


def has_margin(problem):
    """Return whether the certificate is one of a margin."""
    return isinstance(problem, (HardMargin, TubeSVR, PolytopeDistance))


def _of_margin(problem, coef, found, number):
    reach, squared = reach_of(problem, coef, number)
    wrong = []
    if number(found.margin_upper) ** 2 < squared:
        wrong.append(f"margin_upper {found.margin_upper} < |w| = {float(squared) ** 0.5}")
    if found.touching:
        if squared > number(shortest(problem, coef) * 1.01) ** 2:
            wrong.append(f"called touching at |w|^2 = {float(squared)}")
        return wrong
    if squared == 0:
        return ["w = 0, and a relative gap all the same"]
    low, ratio = number(found.margin_lower), max(number(0), reach / squared)
    if low * abs(low) * squared > reach * abs(reach):
        wrong.append(f"margin_lower {found.margin_lower} > {float(reach) / float(squared) ** 0.5}")
    if found.epsilon is not None and 1 - reach / squared > number(found.epsilon):
        wrong.append(f"epsilon {found.epsilon} < {float(1 - reach / squared)}")
    return wrong + _outside(found, 1 - ratio**2)


def _outside(found, exact):
    number = type(exact)
    off = abs(exact - number(found.relative_gap))
    if off <= number(found.gap_rounding):
        return []
    return [f"relative gap {found.relative_gap} +- {found.gap_rounding}, exactly {float(exact)}"]
