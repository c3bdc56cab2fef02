"""The second-order phase: the best point of the face that the free variables span, bounds taken in as they are met.

SMO finds out quickly who is free, and then takes millions of steps where the free variables' kernel matrix is badly
conditioned: at a large C, or with a wide kernel. Here the free variables move to their common optimum by a Newton step,

    [K_FF  E] [d     ]   [g_F]
    [E'    0] [lambda] = [ 0 ],   E: one column for each sum that is fixed,

with a Cholesky factor in float64. Where the way leaves the box, the variable that meets its bound stays there, and the
others go on toward the optimum without it: with P = K^-1 - K^-1 E (E' K^-1 E)^-1 E' K^-1, what is left of the step
loses P_k d_k / P_kk, and P itself P_k P_k' / P_kk, of which only the columns that are asked for are computed. No
variable comes free here: that is SMO's part, in turns with this one.

Source: More and Toraldo, SIAM J. Optimization 1 (1991), who alternate a search for the face with its minimisation;
Scheinberg, JMLR 7 (2006), for the active set of an SVM. Differs in: SMO in place of gradient projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.jit import compiled

if TYPE_CHECKING:
    from harness.arrays import Index, Matrix, Vector

_RIDGE = {4: 3e-6, 8: 1e-11}  # of the largest K_ii, by the itemsize of the rows
_MORE = 1e3  # times that, where rounding leaves none
_LEVEL = 0.2
_NEAR = 3.0
_INVERTED = 1000
_FACTORS = 3


class Face(NamedTuple):
    """The free variables, f of them.

    kernel : (f, f) float64, their kernel block
    a, lower, upper, gradient : (f,); ``a`` and ``gradient`` change
    sums : (f, q) a column for each sum that is fixed, 1 where a variable takes part
    """

    kernel: Matrix
    a: Vector
    lower: Vector
    upper: Vector
    gradient: Vector
    sums: Matrix
    itemsize: int = 8


def descend(face: Face, tau: float) -> int:
    """Move the variables to the best point of their face; return how often a factor was computed.

    Ends when the gradient is level to ``_LEVEL`` tau over the variables still free, with none of them left, or when
    rounding decides.
    """
    for factors in range(_FACTORS):
        inside = np.flatnonzero((face.a > face.lower) & (face.a < face.upper))
        if len(inside) <= face.sums.shape[1] or _uneven(face, inside) <= _LEVEL * tau:
            return factors
        before = face.a[inside]
        complete = _newton(face, inside)
        face.gradient[:] -= face.kernel[:, inside] @ (face.a[inside] - before)
        if complete:
            return factors + 1
    return _FACTORS


def _uneven(face: Face, inside: Index) -> float:
    """Return by how much the gradient varies within the groups, or from 0 where no sum is fixed."""
    gradient = face.gradient[inside]
    if face.sums.shape[1] == 0:
        return float(np.abs(gradient).max())
    return max(float(np.ptp(gradient[own])) for own in face.sums[inside].T > 0.0 if own.any())


def _newton(face: Face, inside: Index) -> bool:
    """Take the step to the optimum over ``inside``, as far as the bounds allow; False where there is no factor."""
    from scipy.linalg.lapack import dpotri, dpotrs

    factor = _factor(face, inside)
    if factor is None:
        return True
    sums = face.sums[inside]
    sums = sums[:, sums.any(axis=0)]
    a, lower, upper = face.a[inside], face.lower[inside], face.upper[inside]
    solved, _ = dpotrs(factor, np.column_stack([face.gradient[inside], sums]), lower=1)
    step, across = np.ascontiguousarray(solved[:, 0]), solved[:, 1:]
    shares = np.linalg.inv(sums.T @ across) if sums.shape[1] else np.empty((0, 0))
    step = step - across @ (shares @ (sums.T @ step))
    new = a + step
    if not ((new >= upper) | (new <= lower)).any():
        face.a[inside] = new
        return True
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0.0, (upper - a) / step, np.where(step < 0.0, (lower - a) / step, np.inf))
    if len(a) <= _INVERTED:
        columns, _ = dpotri(factor, lower=1, overwrite_c=1)
        near = np.arange(len(a))
    else:
        near = np.flatnonzero(room < _NEAR)
        columns = np.zeros((len(a), len(near)), order="F")
        columns[near, np.arange(len(near))] = 1.0
        columns, _ = dpotrs(factor, columns, lower=1, overwrite_b=1)
    place = np.full(len(a), -1)
    place[near] = np.arange(len(near))
    shared = np.ascontiguousarray((across @ shares).T), np.ascontiguousarray(across.T)
    complete = walk(columns.T, place, *shared, step, a, lower, upper)
    face.a[inside] = a
    return bool(complete)


def _factor(face: Face, inside: Index) -> Any:
    """Return the Cholesky factor of the block of ``inside``, lower, in Fortran's order; None if rounding leaves none."""
    from scipy.linalg.lapack import dpotrf

    block = face.kernel if len(inside) == len(face.a) else face.kernel[np.ix_(inside, inside)]
    ridge = _RIDGE[face.itemsize] * float(block.diagonal().max())
    for _ in range(3):
        matrix = np.array(block, order="F")
        matrix.T.flat[:: len(inside) + 1] += ridge
        factor, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return factor
        ridge *= _MORE
    return None


@compiled
def walk(
    columns: Matrix,
    place: Index,
    shares: Matrix,
    across: Matrix,
    step: Vector,
    a: Vector,
    lower: Vector,
    upper: Vector,
) -> bool:
    """Take ``step``, (f,), leave each variable where it meets its bound, and turn to the optimum of the others.

    columns, place : column p of K^-1 is columns[place[p]], not known where place[p] < 0: the way ends there
    shares, across : (q, f), P = K^-1 - shares' across
    a, step : (f,); change

    Returns
    -------
    Whether the optimum was reached.
    """
    f = len(a)
    held = np.empty((16, f))  # the columns taken from P, each divided by the root of its pivot
    column = np.empty(f)
    out = np.zeros(f, np.bool_)
    met, whole = 0, len(columns) == f
    while True:
        length, first = 1.0, -1
        for i in range(f):
            if step[i] > 0.0:
                room = (upper[i] - a[i]) / step[i]
            elif step[i] < 0.0:
                room = (lower[i] - a[i]) / step[i]
            else:
                continue
            if room < length:
                length, first = room, i
        length = max(length, 0.0)
        for i in range(f):
            if not out[i]:
                a[i] = min(max(a[i] + length * step[i], lower[i]), upper[i])
        if first < 0:
            return True
        a[first] = upper[first] if step[first] > 0.0 else lower[first]
        out[first] = True
        if place[first] < 0:
            return False
        known = columns[place[first]]
        for i in range(f):
            # of a whole inverse there is one triangle only: row p from p on
            column[i] = columns[i, first] if whole and i < first else known[i]
        for k in range(len(shares)):
            weight = shares[k, first]
            row = across[k]
            for i in range(f):
                column[i] -= weight * row[i]
        for k in range(met):
            weight = held[k, first]
            row = held[k]
            for i in range(f):
                column[i] -= weight * row[i]
        pivot = column[first]
        if not pivot > 1e-10 * known[first]:
            return False
        share = (1.0 - length) * step[first] / pivot
        root = 1.0 / np.sqrt(pivot)
        if met == len(held):
            grown = np.empty((2 * met, f))
            grown[:met] = held
            held = grown
        for i in range(f):
            step[i] = 0.0 if out[i] else (1.0 - length) * step[i] - share * column[i]
            held[met, i] = root * column[i]
        met += 1
