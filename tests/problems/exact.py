"""Optima from an interior-point solver, stated in the primal where the harness states the dual."""

import warnings

import cvxpy as cp
import numpy as np

NEAR = 3e-6  # of a coefficient's range: an interior point ends that near to a bound and never on it
ACCURATE = {"solver": "CLARABEL", "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def features(matrix):
    """Z with Z Z' = K: explicit points with the same inner products."""
    values, vectors = np.linalg.eigh(matrix)
    keep = values > 1e-12 * values.max()
    return vectors[:, keep] * np.sqrt(values[keep])


def _solve(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 'may be inaccurate': the comparisons tell whether it is
        program.solve(**ACCURATE)


def svm_primal(matrix, y, costs, *, has_bias, squared=False):
    """min 1/2 |w|^2 + sum C_i xi_i (or C_i / 2 xi_i^2): the optimal value, the scores <w, x_i> and b."""
    z = features(matrix)
    w, b = cp.Variable(z.shape[1]), cp.Variable()
    violation = cp.pos(1 - cp.multiply(y, z @ w + (b if has_bias else 0.0)))
    loss = 0.5 * costs @ cp.square(violation) if squared else costs @ violation
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + loss))
    _solve(program)
    return float(program.value), z @ w.value, float(b.value) if has_bias else 0.0


def svm_dual(matrix, y, costs, *, has_bias):
    """The signed coefficients of the optimum, 0 <= y_i coef_i <= C_i."""
    z = features(matrix)
    alpha = cp.Variable(len(y))
    constraints = [alpha >= 0, alpha <= costs]
    if has_bias:
        constraints.append(y @ alpha == 0)
    cp.Problem(cp.Maximize(cp.sum(alpha) - 0.5 * cp.sum_squares(z.T @ cp.multiply(y, alpha))), constraints).solve(
        **ACCURATE
    )
    coef = y * np.clip(alpha.value, 0.0, costs)
    near = NEAR * costs
    coef = np.where(np.abs(coef) < near, 0.0, np.where(costs - np.abs(coef) < near, y * costs, coef))
    free = (coef != 0.0) & (np.abs(coef) < costs)
    if has_bias and free.any():
        coef[free] -= coef.sum() / free.sum()
    return coef


def nearest_points(matrix, y, cap=1.0):
    """min 1/2 |Pu - Qv|^2 over the hulls reduced to weights <= cap, a number or (n,): the optimal value and the signed weights."""
    z = features(matrix)
    u = cp.Variable(len(y))
    constraints = [u >= 0, u <= cap, cp.sum(u[y > 0]) == 1, cp.sum(u[y < 0]) == 1]
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(z.T @ cp.multiply(y, u))), constraints)
    _solve(program)
    weights = np.clip(u.value, 0.0, cap)
    weights[weights < NEAR * np.asarray(cap)] = 0.0
    for members in (y > 0, y < 0):
        free = members & (weights > 0.0) & (weights < np.asarray(cap) * (1.0 - NEAR))
        if free.any():
            weights[free] += (1.0 - weights[members].sum()) / free.sum()
        else:
            weights[members] /= weights[members].sum()
    return float(program.value), y * weights


def svr_primal(matrix, targets, cost, epsilon):
    """min 1/2 |w|^2 + C sum max(0, |y - <w, x> - b| - epsilon): the optimal value, the scores <w, x_i> and b."""
    z = features(matrix)
    w, b = cp.Variable(z.shape[1]), cp.Variable()
    beyond = cp.pos(cp.abs(targets - z @ w - b) - epsilon)
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cost * cp.sum(beyond)))
    _solve(program)
    return float(program.value), z @ w.value, float(b.value)


def one_class_primal(matrix, nu):
    """min 1/2 |w|^2 - rho + 1 / (nu n) sum max(0, rho - <w, x>): the optimal value, the scores <w, x_i> and rho."""
    z = features(matrix)
    w, rho = cp.Variable(z.shape[1]), cp.Variable()
    outside = cp.pos(rho - z @ w)
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) - rho + cp.sum(outside) / (nu * len(z))))
    _solve(program)
    return float(program.value), z @ w.value, float(rho.value)


def box_dual(matrix, form):
    """The optimum of the common dual form, on its bounds where it is near them, its sums exact."""
    z = features(matrix)
    a = cp.Variable(len(form.linear))
    members = [form.group == k for k in range(form.groups)]
    constraints = [a >= form.lower, a <= form.upper]
    constraints += [cp.sum(a[member]) == form.start[member].sum() for member in members]
    coef = sum(a[form.n * k : form.n * (k + 1)] for k in range(form.copies))
    cp.Problem(cp.Maximize(form.linear @ a - 0.5 * cp.sum_squares(z.T @ coef)), constraints).solve(**ACCURATE)
    near = NEAR * (form.upper - form.lower)
    found = np.where(
        a.value - form.lower < near, form.lower, np.where(form.upper - a.value < near, form.upper, a.value)
    )
    for member in members:
        free = member & (found > form.lower) & (found < form.upper)
        if free.any():
            found[free] -= (found[member].sum() - form.start[member].sum()) / free.sum()
    return found
