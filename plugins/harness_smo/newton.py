"""Newton steps over the free variables: the best point of the face that they span, with bounds taken in as they are met.

SMO finds out quickly which variables are free, and then takes millions of steps where the free variables' kernel matrix is
badly conditioned: at a large C, or with a wide kernel. Here the free variables move to their common optimum by a Newton step,

    [K_FF  E] [d     ]   [g_F]
    [E'    0] [lambda] = [ 0 ],   E: one column for each fixed sum,

with a Cholesky factor in float64. Where the step leaves the box, the variable that meets its bound stays there, and the
others continue towards their optimum without it: with P = K^-1 - K^-1 E (E' K^-1 E)^-1 E' K^-1, the rest of the step
loses P_k d_k / P_kk, and P itself P_k P_k' / P_kk. No variable becomes free here: that is the part of SMO, which takes
turns with this one. Beyond some hundred variables conjugate gradients come first.

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
from harness.support.jit import compiled, inlined

_RIDGE = {
    4: 3e-6,
    8: 1e-11,
}  # ridge over the largest K_ii, by bytes of a value: the least that has a factor despite rounding
_MORE_RIDGE = 1e3  # factor of the ridge after a failed factorisation
_LEVEL = 0.2  # spread of the gradient, in tau, that ends a minimisation
_CG_VARIABLES = (
    600  # variables beyond which conjugate gradients come first: 1.8 at n = 2000, d = 100, C = 100, wide kernel
)
_CG_RESIDUAL = 0.01  # residual over the gradient that conjugate gradients must reach
_CG_STEPS = 30  # steps of conjugate gradients at most
_INVERTED = 1000  # variables up to which the whole inverse is computed: a third of it takes as long column by column
_AHEAD = 64  # columns of the inverse computed at a time, of the variables nearest to their bounds
_FLAT = 1e-10  # pivot over its entry of the inverse, below which it is rounding
_ROUNDED = 1e-12  # error of a sum over the sum of its absolute terms, below which it is rounding
_OVERSHOT = 0.9  # slope over curvature of a step, below which it went past its optimum, by rounding
_FACTORS = 3  # factorisations of a minimisation at most

# how a walk ended
OPTIMUM, FLAT, UNKNOWN = 0, 1, 2


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


def minimise(face: Face, tau: float) -> int:
    """Move the variables to the best point of their face; return how often its equations were solved.

    Ends when the gradient is level to ``_LEVEL`` tau over the variables still free, with none of them left, or when
    rounding decides.
    """
    for solved in range(_FACTORS):
        inside = np.flatnonzero((face.a > face.lower) & (face.a < face.upper))
        if len(inside) <= face.sums.shape[1] or _uneven(face, inside) <= _LEVEL * tau:
            return solved
        before = face.a[inside]
        if len(inside) > _CG_VARIABLES and _conjugate(face, inside, tau):
            return solved + 1
        if _newton(face, inside):
            return solved + 1
        face.gradient[:] -= face.kernel[:, inside] @ (face.a[inside] - before).astype(face.kernel.dtype)
    return _FACTORS


def _conjugate(face: Face, inside: Index, tau: float) -> bool:
    """Go to the optimum over ``inside`` by conjugate gradients; return False if that takes long, or leads out of the bounds.

    For many variables: what makes their equations badly conditioned is mostly what the fixed sums take out.
    """
    block = _block(face, inside)
    sums = face.sums[inside]
    counts = np.maximum(sums.sum(axis=0), 1.0)

    def projected(x: Vector) -> Vector:
        return np.asarray(x - sums @ (sums.T @ x / counts))

    left = projected(face.gradient[inside])
    step, way, size = np.zeros(len(inside)), left.copy(), float(left @ left)
    enough = max(_LEVEL * tau, _CG_RESIDUAL * float(np.abs(left).max()))
    for _ in range(_CG_STEPS):
        if float(np.abs(left).max()) <= enough:
            break
        curved = projected((block @ way.astype(block.dtype)).astype(np.float64))
        bent = float(way @ curved)
        if not bent > 0.0:
            break
        share = size / bent
        step += share * way
        left -= share * curved
        before, size = size, float(left @ left)
        way = left + (size / before) * way
    else:
        return False
    new = face.a[inside] + step
    if ((new >= face.upper[inside]) | (new <= face.lower[inside])).any():
        return False
    face.a[inside] = new
    return True


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
    sums = face.sums[inside]
    sums = sums[:, sums.any(axis=0)]
    a, lower, upper = face.a[inside], face.lower[inside], face.upper[inside]
    solved, _ = dpotrs(factor, np.column_stack([face.gradient[inside], sums]), lower=1)
    step, across = np.ascontiguousarray(solved[:, 0]), solved[:, 1:]
    shares = np.linalg.inv(sums.T @ across) if sums.shape[1] else np.empty((0, 0))
    step = step - across @ (shares @ (sums.T @ step))
    new = a + step
    if not ((new >= upper) | (new <= lower)).any():
        a, complete = new, True
    else:
        complete = _walk(factor, across, shares, step, a, lower, upper)
    before = face.a[inside]
    if not _mend(a, before, lower, upper, sums):
        return True
    slope, bent = _along(face, inside, a - before)
    if slope <= 0.0:
        return True
    face.a[inside] = a if slope > _OVERSHOT * bent else np.clip(before + slope / bent * (a - before), lower, upper)
    return complete


def _walk(
    factor: Matrix, across: Matrix, shares: Matrix, step: Vector, a: Vector, lower: Vector, upper: Vector
) -> bool:
    """Call :func:`walk` with the columns of the inverse that it needs; ``a`` and ``step`` change."""
    f = len(a)
    columns, place, taken, out = np.empty((0, f)), np.full(f, -1), np.empty((f, f)), np.zeros(f, np.bool_)
    if f <= _INVERTED:
        triangle = np.tril(dpotri(factor, lower=1)[0])
        columns, place = triangle + np.tril(triangle, -1).T, np.arange(f)
    shared = np.ascontiguousarray((across @ shares).T), np.ascontiguousarray(across.T)
    while (outcome := walk(columns, place, *shared, taken, out, step, a, lower, upper)) == UNKNOWN:
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0.0, (upper - a) / step, np.where(step < 0.0, (lower - a) / step, np.inf))
        room[place >= 0] = np.inf
        near = np.argsort(room)[: min(_AHEAD, int(np.isfinite(room).sum()))]
        units = np.zeros((f, len(near)), order="F")
        units[near, np.arange(len(near))] = 1.0
        place[near] = np.arange(len(columns), len(columns) + len(near))
        columns = np.concatenate([columns, dpotrs(factor, units, lower=1, overwrite_b=1)[0].T])
    return bool(outcome == OPTIMUM)


def _along(face: Face, inside: Index, change: Vector) -> tuple[float, float]:
    """Return slope and curvature of the dual along a change of the variables ``inside``."""
    block = _block(face, inside)
    return float(face.gradient[inside] @ change), float(change @ (block @ change.astype(block.dtype)))


def _mend(a: Vector, before: Vector, lower: Vector, upper: Vector, sums: Matrix) -> bool:
    """Give ``a`` the sums of ``before`` in place: free variables take the difference by their room; False if they cannot.

    Where the matrix is singular the step is as long as what was added to the diagonal is small, and its sum is off by
    the rounding of that length.
    """
    for members in sums.T > 0.0:
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
        matrix = np.array(block, dtype=np.float64, order="F")
        matrix.T.flat[:: len(inside) + 1] += ridge
        factor, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return factor
        ridge *= _MORE_RIDGE
    return None


@compiled
def walk(
    columns: Matrix,
    place: Index,
    shares: Matrix,
    across: Matrix,
    taken: Matrix,
    out: Any,
    step: Vector,
    a: Vector,
    lower: Vector,
    upper: Vector,
) -> int:
    """Take ``step``, (f,), leave each variable where it meets its bound, and turn to the optimum of the others.

    Parameters
    ----------
    columns : (k, f) column p of K^-1 is columns[place[p]]; it is missing where place[p] < 0
    shares, across : (q, f), P = K^-1 - shares' across
    taken : (f, f) the columns taken from P so far, each divided by the root of its pivot; changes
    out : (f,) whether a variable has met its bound; changes
    a, step : (f,); change

    Returns
    -------
    OPTIMUM, FLAT if rounding ends the walk before, or UNKNOWN if a column is missing: call again with it.
    """
    f, met = len(a), out.sum()
    column = np.empty(f)
    while True:
        length, first = _room(step, a, lower, upper)
        if first >= 0 and place[first] < 0:
            return UNKNOWN
        for i in range(f):
            if not out[i]:
                a[i] = min(max(a[i] + length * step[i], lower[i]), upper[i])
        if first < 0:
            return OPTIMUM
        a[first] = upper[first] if step[first] > 0.0 else lower[first]
        out[first] = True
        # the column of P that belongs to ``first``, minus what those before it took
        for i in range(f):
            column[i] = columns[place[first], i]
        for k in range(len(shares)):
            _subtract(column, shares[k, first], across[k])
        for k in range(met):
            _subtract(column, taken[k, first], taken[k])
        pivot = column[first]
        if not pivot > _FLAT * columns[place[first], first]:
            return FLAT
        share, root = (1.0 - length) * step[first] / pivot, 1.0 / np.sqrt(pivot)
        for i in range(f):
            step[i] = 0.0 if out[i] else (1.0 - length) * step[i] - share * column[i]
            taken[met, i] = root * column[i]
        met += 1


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
