"""The optimum of the common dual form, from an interior-point solver."""

import cvxpy as cp
import numpy as np

NEAR = 3e-6  # of a coefficient's range: an interior point ends that near to a bound and never on it
ACCURATE = {"solver": "CLARABEL", "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def features(matrix):
    """Z with Z Z' = K: explicit points with the same inner products."""
    values, vectors = np.linalg.eigh(matrix)
    keep = values > 1e-12 * values.max()
    return vectors[:, keep] * np.sqrt(values[keep])


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
