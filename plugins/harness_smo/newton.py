"""Newton steps over the free variables: the best point of the face that they span, with bounds taken in as they are met.

SMO finds out quickly which variables are free, and then takes millions of steps where the free variables' kernel matrix is
badly conditioned: at a large C, or with a wide kernel. Here the free variables move to their common optimum by a Newton step,

    [K_FF  E] [d     ]   [g_F]
    [E'    0] [lambda] = [ 0 ],   E: one column for each fixed sum,

with a Cholesky factor in float64. Where the step leaves the box, the variable that meets its bound stays there, and the
others continue towards their optimum without it: with P = K^-1 - K^-1 E (E' K^-1 E)^-1 E' K^-1, the rest of the step
loses P_k d_k / P_kk, and P itself P_k P_k' / P_kk. No variable becomes free here: that is the part of SMO, which takes
turns with this one.

Without Newton steps: 1.07 / 3.5 times the CPU time (mean, worst of drawn problems); with steps clipped to the box and a line
search in place of the walk along it: 1.13 / 2.5.

Source: More and Toraldo, SIAM J. Optimization 1 (1991), who alternate a search for the face with its minimisation;
Scheinberg, JMLR 7 (2006), for the active set of an SVM. Differs in: SMO in place of gradient projection.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from harness.support.arrays import Block, Index, Matrix, Vector
from harness.support.jit import compiled, inlined, summing

# ridge over the largest K_ii, by bytes of a value: the least that has a factor despite rounding
_RIDGE = {4: 3e-6, 8: 1e-11}
_MORE_RIDGE = 1e3  # factor of the ridge after a failed factorisation
_LEVEL = 0.2  # spread of the gradient, in tau, that ends a minimisation
_FLAT = 1e-10  # pivot over its entry of the inverse, below which it is rounding
_MET = 512  # variables of a walk that meet a bound at most: its cost grows with their square
_ROUNDED = 1e-12  # error of a sum over the sum of its absolute terms, below which it is rounding
_OVERSHOT = 0.9  # slope over curvature of a step, below which it went past its optimum, by rounding
_FACTORS = 3  # factorisations of a minimisation at most
_NO_INVERSE = np.empty((0, 0))


class Face(NamedTuple):
    """The free variables, f of them.

    kernel : (f, f) float32 or float64, their kernel block
    a, lower, upper, gradient : (f,); ``a`` and ``gradient`` change
    sums : (f, q) a column for each sum that is fixed, 1 where a variable takes part
    """

    kernel: Block
    a: Vector
    lower: Vector
    upper: Vector
    gradient: Vector
    sums: Matrix


def minimise(face: Face, tau: float) -> None:
    """Move the variables to the best point of their face.

    Ends when the gradient is level to ``_LEVEL`` tau over the variables still free, with none of them left, or when
    rounding decides.
    """
    for _ in range(_FACTORS):
        inside = np.flatnonzero((face.a > face.lower) & (face.a < face.upper))
        if len(inside) <= face.sums.shape[1] or _uneven(face, inside) <= _LEVEL * tau:
            return
        before = face.a[inside]
        if _newton(face, inside):
            return
        face.gradient[:] -= face.kernel[:, inside] @ (face.a[inside] - before).astype(face.kernel.dtype)


def _block(face: Face, inside: Index) -> Block:
    """Return the kernel block of the variables ``inside``; a copy unless they are all."""
    return face.kernel if len(inside) == len(face.a) else face.kernel[np.ix_(inside, inside)]


def _uneven(face: Face, inside: Index) -> float:
    """Return by how much the gradient varies within the groups, or from 0 where no sum is fixed."""
    gradient = face.gradient[inside]
    if face.sums.shape[1] == 0:
        return float(np.abs(gradient).max())
    return max(float(np.ptp(gradient[members])) for members in face.sums[inside].T > 0.0 if members.any())


def _newton(face: Face, inside: Index) -> bool:
    """Take the step to the optimum over ``inside``, as far as the bounds allow; False if the way ended before it."""
    factor = _factor(face, inside)
    if factor is None:
        return True
    sums = face.sums[inside].T
    sums = sums[sums.any(axis=1)]
    before, lower, upper = face.a[inside], face.lower[inside], face.upper[inside]
    solved, _ = dpotrs(factor, np.column_stack([face.gradient[inside], *sums]), lower=1)
    a, step = before.copy(), solved.T.copy()
    complete = bool(walk(_NO_INVERSE, step[0], step[1:], sums, a, lower, upper))
    if not complete:
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        a = before.copy()
        complete = bool(walk(inverse.T, solved.T[0], solved.T[1:], sums, a, lower, upper))
    if not _mend(a, before, lower, upper, sums):
        return True
    change, block = a - before, _block(face, inside)
    # of the dual along the change, which may be off by the rounding of the factor
    slope, bent = float(face.gradient[inside] @ change), float(change @ (block @ change.astype(block.dtype)))
    if slope <= 0.0:
        return True
    face.a[inside] = a if slope > _OVERSHOT * bent else np.clip(before + slope / bent * change, lower, upper)
    return complete


def _mend(a: Vector, before: Vector, lower: Vector, upper: Vector, sums: Matrix) -> bool:
    """Give ``a`` the sums of ``before`` in place: free variables take the difference by their room; False if they cannot.

    Where the matrix is singular the step is as long as what was added to the diagonal is small, and its sum is off by
    the rounding of that length.
    """
    for members in sums > 0.0:
        off = float((a[members] - before[members]).sum())
        room = np.where(members, np.minimum(a - lower, upper - a), 0.0)
        total = float(room.sum())
        if abs(off) < total:
            a -= off / total * room
        elif abs(off) > _ROUNDED * float(np.abs(a[members]).sum()):
            return False
    return True


def _factor(face: Face, inside: Index) -> Any:
    """Return the Cholesky factor of the block of ``inside``, lower, in Fortran's order; None if rounding leaves none."""
    block = _block(face, inside)
    ridge = _RIDGE[face.kernel.itemsize] * float(block.diagonal().max())
    for _ in range(3):
        matrix = np.array(block, dtype=np.float64).T  # it is symmetric, and LAPACK takes Fortran's order
        matrix.T.flat[:: len(inside) + 1] += ridge
        factor, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return factor
        ridge *= _MORE_RIDGE
    return None


@compiled
def walk(inverse: Matrix, step: Vector, across: Matrix, sums: Matrix, a: Vector, lower: Vector, upper: Vector) -> bool:
    """Go to the optimum of the variables ``a`` under the sums; each stays where it meets its bound, the others turn.

    With P = K^-1, each sum that is fixed and each variable that stays takes P e e' P / e' P e from P: e is 1 at the
    variables of the sum, or at the one that stays.

    Parameters
    ----------
    inverse : (f, f), the upper triangle of K^-1; (0, 0) to end where the first variable meets a bound
    step : (f,), K^-1 gradient; changes
    across : (q, f), K^-1 sums; changes
    sums : (q, f), 1 where a variable takes part
    a : (f,); changes

    Returns
    -------
    Whether the optimum was reached; False if rounding, or the number of variables that meet a bound, ends the walk before.
    """
    f, q, met = len(a), len(sums), 0
    # the columns taken from P so far, each divided by the root of its pivot
    taken = np.empty((q + min(len(inverse), _MET), f))
    out = np.zeros(f, np.bool_)
    column = np.empty(f)
    for k in range(q):
        for m in range(met):
            _subtract(across[k], _dot(taken[m], sums[k]), taken[m])
        pivot = _dot(across[k], sums[k])
        _subtract(step, _dot(step, sums[k]) / pivot, across[k])
        for i in range(f):
            taken[met, i] = across[k, i] / np.sqrt(pivot)
        met += 1
    while True:
        length, first = _room(step, a, lower, upper)
        for i in range(f):
            if not out[i]:
                a[i] = min(max(a[i] + length * step[i], lower[i]), upper[i])
        if first < 0 or met == len(taken):
            return bool(first < 0)
        a[first] = upper[first] if step[first] > 0.0 else lower[first]
        out[first] = True
        for i in range(f):
            column[i] = inverse[i, first] if i < first else inverse[first, i]
        least = _FLAT * column[first]
        for m in range(met):
            _subtract(column, taken[m, first], taken[m])
        pivot = column[first]
        if not pivot > least:
            return False
        share, root = (1.0 - length) * step[first] / pivot, 1.0 / np.sqrt(pivot)
        for i in range(f):
            step[i] = 0.0 if out[i] else (1.0 - length) * step[i] - share * column[i]
            taken[met, i] = root * column[i]
        met += 1


@summing
def _dot(x: Vector, y: Vector) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@inlined
def _room(step: Vector, a: Vector, lower: Vector, upper: Vector) -> tuple[float, int]:
    """Return how far the step can be taken, at most 1, and which variable meets its bound there, -1 if none does."""
    length, first = 1.0, -1
    for i in range(len(a)):
        room = 1.0
        if step[i] > 0.0:
            room = (upper[i] - a[i]) / step[i]
        elif step[i] < 0.0:
            room = (lower[i] - a[i]) / step[i]
        if room < length:
            length, first = room, i
    return max(length, 0.0), first


@inlined
def _subtract(column: Vector, weight: float, row: Vector) -> None:
    for i in range(len(column)):
        column[i] -= weight * row[i]
