"""One quadratic program for every formulation: interior point by cvxpy, then an active-set polish.

    min 1/2 x'Kx - c'x    s.t.  lower <= x <= upper,  sum of x over each group = its total

x are the variables of the common dual form: the signed coefficients, or two for each point, whose sum K sees.
An interior-point method ends near its bounds, never on them; the polish puts the variables onto their bounds and
solves for the free ones, which the certificate of a reference needs.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness import DualForm
    from harness.arrays import Index, Mask, Matrix, Vector

_AT_BOUND = 1e-7  # nearer to its bound than this part of its range, a coefficient belongs on it
_LANDED = 1e-13  # the same, where a step of the polish ended there up to rounding
_POLISH_ROUNDS = 200  # of O(free points^3) each
_MANY_ROUNDS, _SMALL = 2000, 1000  # up to that many variables rounds are cheap, and some hulls need many
_ACCURACY = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "OSQP": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 200_000},
    "SCS": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 200_000},
}


@dataclass(frozen=True)
class BoxQP:
    """The program above: a common dual form over a kernel matrix that is at hand.

    kernel : (n, n), K without ``ridge`` on its diagonal
    """

    form: DualForm
    kernel: Matrix
    ridge: float

    def scores(self, x: Vector) -> Vector:
        """Return K coef with the ridge, (n,)."""
        coef = self.form.coef(x)
        return np.asarray(self.kernel @ coef + self.ridge * coef)

    def gradient(self, x: Vector) -> Vector:
        """Return the gradient of every variable, (V,)."""
        return self.form.gradient(self.scores(x))

    def squared_norm(self, x: Vector) -> float:
        """Return |w|^2."""
        return float(self.form.coef(x) @ self.scores(x))

    def interior(self, backend: str, scale: float) -> tuple[Vector, str]:
        """Solve by ``backend``; return x and the backend's status.

        scale : the objective is divided by it, the coefficients by the widest bound: the backends' tolerances are
            absolute in part

        Raises
        ------
        ArithmeticError : the backend gave up without a point.
        """
        import cvxpy as cp

        form, n = self.form, len(self.kernel)
        unit = float(np.max(form.upper - form.lower))
        t = cp.Variable(len(form.linear))
        coef = t if form.copies == 1 else t[:n] + t[n:]
        weight = unit * unit / scale
        factor = _low_rank_factor(self.kernel)
        constraints = [t >= form.lower / unit, t <= form.upper / unit]
        members = [np.flatnonzero(form.group == k) for k in range(form.groups)]
        constraints += [cp.sum(t[group]) == float(form.start[group].sum()) / unit for group in members]
        if factor is None:
            full = weight * (self.kernel + self.ridge * np.eye(n))
            quadratic = 0.5 * cp.quad_form(coef, cp.psd_wrap(full))
        else:
            z = cp.Variable(factor.shape[1])
            constraints.append(z == np.sqrt(weight) * factor.T @ coef)
            quadratic = 0.5 * cp.sum_squares(z)
            if self.ridge:
                quadratic += 0.5 * weight * self.ridge * cp.sum_squares(coef)
        program = cp.Problem(cp.Minimize(quadratic - (unit / scale) * form.linear @ t), constraints)
        with warnings.catch_warnings():
            # 'may be inaccurate' is for the certificate to say
            warnings.simplefilter("ignore")
            try:
                program.solve(solver=backend, **_ACCURACY.get(backend, {}))
            except cp.SolverError as error:
                raise ArithmeticError(f"the backend {backend} failed: {error}") from error
        if t.value is None:
            raise ArithmeticError(f"the backend {backend} found no solution: its status is '{program.status}'.")
        return unit * np.asarray(t.value, dtype=np.float64), str(program.status)

    def feasible(self, x: Vector) -> Vector:
        """Return ``x`` on its bounds where it is near them, and with the groups' totals exact up to rounding."""
        return self.form.feasible(self._snapped(x, np.ones(len(x), dtype=bool), _AT_BOUND)[0])

    def _snapped(self, x: Vector, where: Mask, share: float) -> tuple[Vector, Mask]:
        """Return ``x`` with what is nearer to its bound than ``share`` of its range put onto it, and which these are."""
        lower, upper = self.form.lower, self.form.upper
        width = share * (upper - lower)
        down, up = where & (x - lower <= width), where & (upper - x <= width)
        return np.where(down, lower, np.where(up, upper, x)), down | up

    def violation(self, x: Vector) -> float:
        """Return the largest violation of the optimality conditions, in units of the gradient."""
        return self.form.violation(self.form.ends(x, self.gradient(x)))

    def polished(self, x: Vector) -> Vector:
        """Return the end of a primal active-set method started at the feasible ``x``, if it violates less than ``x``.

        Each round solves for the free coefficients and goes as far as the bounds allow; after a full step the
        bound coefficient with the most wrong multiplier is set free.
        """
        best, best_violation = x, self.violation(x)
        lower, upper = self.form.lower, self.form.upper
        free = (x > lower) & (x < upper)
        x = x.copy()
        for _ in range(_MANY_ROUNDS if len(x) <= _SMALL else _POLISH_ROUNDS):
            step, prices = self._newton(x, np.flatnonzero(free))
            length, blocked = self._longest_step(x, step)
            x = x + length * step
            x, landed = self._snapped(x, free, _LANDED)
            if blocked is not None:
                x[blocked] = lower[blocked] if step[blocked] < 0.0 else upper[blocked]
                free[blocked] = False
            free[landed] = False
            if blocked is not None:
                continue
            violation = self.violation(x)
            if violation < best_violation:
                best, best_violation = x.copy(), violation
            reduced = self.gradient(x) - prices
            wrong = np.where(x <= lower, reduced, np.where(x >= upper, -reduced, 0.0))
            wrong[free] = 0.0
            worst = int(np.argmax(wrong))
            if wrong[worst] <= 1e-12 * max(1.0, float(np.abs(prices).max())):
                break
            free[worst] = True
        return self.form.feasible(best)

    def _newton(self, x: Vector, free: Index) -> tuple[Vector, Vector]:
        """Return the step of the free coefficients to their optimum and each point's price of its group's total."""
        import scipy.linalg

        form, gradient = self.form, self.gradient(x)
        step, prices = np.zeros_like(x), np.zeros_like(x)
        # of a group without free coefficients: the middle of the prices that hold its bound ones where they are
        for k, price in enumerate(form.levels(form.ends(x, gradient))):
            prices[form.group == k] = price
        filled = np.unique(form.group[free])[: form.groups]
        q, m = len(free), len(filled)
        if q == 0:
            return step, prices
        system = np.zeros((q + m, q + m))
        points = free % len(self.kernel)
        system[:q, :q] = self.kernel[np.ix_(points, points)]
        # free points that depend on each other leave the step open; the tiny weight picks the shortest one
        if self.ridge:
            system[:q, :q] += self.ridge * (points[:, None] == points)
        weight = 1e-11 * (float(np.diagonal(self.kernel).max()) or 1.0)
        system[np.arange(q), np.arange(q)] += weight
        for position, k in enumerate(filled):
            system[q + position, :q] = system[:q, q + position] = form.group[free] == k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            solution = scipy.linalg.solve(system, np.concatenate([gradient[free], np.zeros(m)]), assume_a="sym")
        step[free] = solution[:q]
        for position, k in enumerate(filled):
            prices[form.group == k] = solution[q + position]
        return step, prices

    def _longest_step(self, x: Vector, step: Vector) -> tuple[float, int | None]:
        """Return the longest feasible part of ``step``, at most 1, and the coefficient that blocks it."""
        room = np.where(step > 0.0, self.form.upper - x, np.where(step < 0.0, x - self.form.lower, np.inf))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(step != 0.0, room / np.abs(step), np.inf)
        worst = int(np.argmin(ratio))
        return (1.0, None) if ratio[worst] >= 1.0 else (float(ratio[worst]), worst)


def _low_rank_factor(kernel: Matrix) -> Matrix | None:
    """Return L, (n, r) with kernel = L L' up to rounding, if r is at most n / 2: it shortens the solver's work."""
    from scipy.linalg.lapack import dpstrf

    scale = float(np.diagonal(kernel).max())
    if scale <= 0.0:
        return None
    packed, pivots, rank, _ = dpstrf(kernel, lower=1, tol=1e-13 * scale)
    if rank > len(kernel) // 2:
        return None
    factor = np.empty((len(kernel), rank))
    factor[pivots - 1] = np.tril(packed)[:, :rank]
    error = float(np.abs(kernel - factor @ factor.T).max())
    # an indefinite matrix stops the factorisation early: leave it to the backend to refuse
    return factor if error <= 1e-10 * scale else None
