"""Solver ``qp``: the exact optimum of any convex formulation, as ground truth for small problems and as an oracle.

    min 1/2 x'Kx - c'x    s.t.  lower <= x <= upper,  sum of x over each group = its total

x are the variables of the common dual form: the signed coefficients, or two variables for each point, whose sum is its
coefficient. The result of a QP solver (Clarabel 2024 or another one, by cvxpy) is near the bounds, but seldom on them. An
active-set method then polishes it: it moves variables onto their bounds and solves for the free ones.

It needs the full kernel matrix: n^2 kernel evaluations, O(n^2) memory and O(n^3) time (O(n r^2) for a kernel
matrix of rank r).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness import CSVC, Conformance, DualForm, Iterate, PluginError, Problem, ProblemSummary, Solver, parameter
from harness.support.arrays import Index, Mask, Matrix, Vector

_ACCURACY = 1e-10  # tolerance of the interior-point method
_FIRST_ORDER = 1e-8  # tolerance of OSQP and SCS, which seldom reach a smaller one
# solver -> (package, options for the accuracy)
_SOLVERS: dict[str, tuple[str, dict[str, float]]] = {
    "clarabel": ("clarabel", {"tol_gap_abs": _ACCURACY, "tol_gap_rel": _ACCURACY, "tol_feas": _ACCURACY}),
    "osqp": ("osqp", {"eps_abs": _FIRST_ORDER, "eps_rel": _FIRST_ORDER, "max_iter": 200_000}),
    "scs": ("scs", {"eps_abs": _FIRST_ORDER, "eps_rel": _FIRST_ORDER, "max_iters": 200_000}),
    "piqp": ("piqp", {}),
    "daqp": ("daqp", {}),
    "proxqp": ("proxsuite", {}),
}
_ROUNDING = 1e-13  # |w|^2 below this fraction of max k(x, x) may be rounding noise of w = 0
_AT_BOUND = 1e-7  # distance from a bound, relative to the range, below which a QP solver's coefficient is moved onto it
_STEP_AT_BOUND = 1e-13  # the same after a step of the polish
_POLISH_ROUNDS = 200  # largest number of rounds of the polish; each takes O(free points^3)
_SMALL_ROUNDS = 2000  # the same for small programs, as some hulls need many rounds
_SMALL = 1000  # largest number of variables of a small program
_REGULARISATION = 1e-11  # weight, relative to max k(x, x), that selects the shortest step of the polish
_NOISE = 1e-12  # violation of a multiplier, relative to the largest price or linear term, that is rounding noise


@dataclass(frozen=True)
class QP(Solver):
    """The dual as a quadratic program, solved by an interior-point method and polished by an active-set method.

    Use it as ground truth for small problems. No paper.

    The accuracy does not depend on ``gap``; the run is done if the gap is at most ``gap``.
    """

    name = "qp"
    conformance = Conformance(gap=1e-5)
    solves = (CSVC,)
    solves_dual_forms = True
    serves = ("reference",)

    gap: float = parameter(1e-5, "relative duality gap up to which the answer counts as the optimum", gt=0)
    solver: Literal["clarabel", "osqp", "scs", "piqp", "daqp", "proxqp"] = parameter(
        "clarabel", "QP solver; OSQP and SCS are first-order methods, and less accurate before the polish"
    )
    max_points: int = parameter(5000, "skip larger problems: the kernel matrix and its factor are n x n", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the optimum."""
        kernel, ridge = problem.kernel.block(np.arange(problem.n)).astype(np.float64), problem.kernel.ridge
        kernel.flat[:: problem.n + 1] -= ridge
        form = problem.dual_form()
        largest = float(np.diagonal(kernel).max()) + ridge
        program = BoxQP(form, kernel, ridge, self.solver)
        if form.linear.any():
            scale = float((form.upper - form.lower).max() * np.abs(form.linear).max())
            x, status = program.interior(scale)
            if form.copies > 1:  # reduce the two variables of a point to their sum
                x = program.feasible(form.variables(form.coef(x)))
            x = program.polished(x)
        else:
            x, status = self._nearest(program, largest)
        gradient = program.gradient(x)
        intercept = form.intercept(form.levels(form.ends(x, gradient)))
        coef = form.coef(x)
        if form.relative or not form.linear.any():
            problem.kernel.diagonal()  # the certificate needs it to decide whether w = 0; here the run counts it
        certificate = problem.certificate(coef, intercept, form.scores(gradient))
        if certificate.relative_gap is None:  # the scores do not suffice
            certificate = problem.certify(coef, intercept)
        done = certificate.relative_gap is not None and certificate.relative_gap <= self.gap
        if not form.linear.any() and float(coef @ form.scores(gradient)) <= _ROUNDING * largest:
            status = "w may be 0"
        info = {"status": status, "kkt_violation": program.violation(x)}
        if not done:
            gap = certificate.relative_gap
            reached = "unknown" if gap is None else f"{gap:.2g}, above {self.gap:g}"
            info["stopped"] = f"{self.solver} ended '{status}', the polish at a relative gap of {reached}"
        yield Iterate(coef, intercept, done=done, info=info)

    def skip(self, problem: ProblemSummary) -> str | None:
        if self.solver != "clarabel":  # clarabel is a dependency of the harness
            import cvxpy as cp

            if self.solver.upper() not in cp.installed_solvers():
                package = _SOLVERS[self.solver][0]
                return f"cvxpy finds no solver={self.solver}; pip install {package}, or take solver=clarabel."
        return super().skip(problem)

    def _nearest(self, program: BoxQP, largest: float) -> tuple[Vector, str]:
        """Solve a program without a linear term, which minimises |w|, in units of |w|^2, which is not known in advance."""
        scale = largest if largest > 0.0 else 1.0
        x, status = program.interior(scale)
        squared = program.squared_norm(x)
        for _ in range(3):
            if squared >= 1e-2 * scale or squared <= _ROUNDING * largest:
                break
            # with a small |w| the solver's absolute tolerance is too coarse: solve again in units of |w|^2
            scale = squared
            try:
                candidate, new_status = program.interior(scale)
            except PluginError:
                break
            squared = program.squared_norm(candidate)
            if squared < scale:
                x, status = candidate, new_status
        return program.polished(x), status


@dataclass(frozen=True)
class BoxQP:
    """The quadratic program of a common dual form over a computed kernel matrix.

    kernel : (n, n), K without ``ridge`` on its diagonal
    solver : name of the QP solver of :meth:`interior`
    """

    form: DualForm
    kernel: Matrix
    ridge: float
    solver: str = "clarabel"

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

    def interior(self, scale: float) -> tuple[Vector, str]:
        """Solve by cvxpy's ``solver``; return x, moved onto bounds that are near, and the status of the solver.

        scale : divisor of the objective, as some tolerances of the solvers are absolute; coefficients are divided by the widest
            range

        Raises
        ------
        PluginError : the solver returned no point.
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
            quadratic = 0.5 * cp.quad_form(coef, cp.psd_wrap(weight * (self.kernel + self.ridge * np.eye(n))))
        else:
            z = cp.Variable(factor.shape[1])
            constraints.append(z == np.sqrt(weight) * factor.T @ coef)
            quadratic = 0.5 * cp.sum_squares(z)
            if self.ridge:
                quadratic += 0.5 * weight * self.ridge * cp.sum_squares(coef)
        program = cp.Problem(cp.Minimize(quadratic - (unit / scale) * form.linear @ t), constraints)
        # the library's errors name its options, which users of the harness cannot set
        with warnings.catch_warnings(), suppress(cp.SolverError, ValueError):
            # of 'may be inaccurate'; the certificate has the accuracy
            warnings.simplefilter("ignore")
            program.solve(solver=self.solver.upper(), **_SOLVERS[self.solver][1])
        if t.value is None or not np.isfinite(t.value).all():
            raise PluginError(
                f"the QP solver {self.solver} found no solution: the largest k(x, x) is "
                f"{float(np.diagonal(self.kernel).max()):.2g}, the largest coefficient {unit:.2g}. Expected are a positive "
                "semi-definite kernel matrix and a product of the two between 1e-300 and 1e8: scale the features "
                "(--datasets 'NAME[scale=standard]'), or take another C."
            )
        return self.feasible(unit * np.asarray(t.value, dtype=np.float64)), str(program.status)

    def feasible(self, x: Vector) -> Vector:
        """Return ``x`` moved onto bounds that are near, with the totals of the groups exact up to rounding."""
        return self.form.feasible(self._snapped(x, np.ones(len(x), dtype=bool), _AT_BOUND)[0])

    def _snapped(self, x: Vector, where: Mask, tolerance: float) -> tuple[Vector, Mask]:
        """Return ``x`` with variables moved onto bounds within ``tolerance`` of their range, and a mask of these variables."""
        lower, upper = self.form.lower, self.form.upper
        width = tolerance * (upper - lower)
        down, up = where & (x - lower <= width), where & (upper - x <= width)
        return np.where(down, lower, np.where(up, upper, x)), down | up

    def violation(self, x: Vector) -> float:
        """Return the largest violation of the optimality conditions, in units of the gradient."""
        return self.form.violation(self.form.ends(x, self.gradient(x)))

    def polished(self, x: Vector) -> Vector:
        """Return the result of a primal active-set method from the feasible ``x``, or ``x`` if it violates less.

        Each round solves for the free coefficients and steps toward the solution as far as the bounds allow. After a full step the
        coefficient at a bound whose multiplier has the wrong sign and the largest size becomes free.
        """
        best, best_violation = x, self.violation(x)
        noise = max(_NOISE * float(np.abs(self.form.linear).max()), 2.0**-53 * float(np.diagonal(self.kernel).max()))
        lower, upper = self.form.lower, self.form.upper
        free = (x > lower) & (x < upper)
        x = x.copy()
        for _ in range(_SMALL_ROUNDS if len(x) <= _SMALL else _POLISH_ROUNDS):
            step, prices = self._newton(x, np.flatnonzero(free))
            room = np.where(step > 0.0, upper - x, x - lower)
            ratio = np.divide(room, np.abs(step), out=np.full(len(x), np.inf), where=step != 0.0)
            nearest = int(np.argmin(ratio))
            x, at_bound = self._snapped(x + min(1.0, float(ratio[nearest])) * step, free, _STEP_AT_BOUND)
            free[at_bound] = False
            if ratio[nearest] < 1.0:
                x[nearest] = lower[nearest] if step[nearest] < 0.0 else upper[nearest]
                free[nearest] = False
                continue
            violation = self.violation(x)
            if violation < best_violation:
                best, best_violation = x.copy(), violation
            reduced = self.gradient(x) - prices
            wrong = np.where(x <= lower, reduced, np.where(x >= upper, -reduced, 0.0))
            wrong[free] = 0.0
            worst = int(np.argmax(wrong))
            if wrong[worst] <= max(noise, _NOISE * float(np.abs(prices).max())):
                break
            free[worst] = True
        return self.form.feasible(best)

    def _newton(self, x: Vector, free: Index) -> tuple[Vector, Vector]:
        """Return the step of the free coefficients to their optimum, and for each variable the price of its group's total."""
        import scipy.linalg

        form, gradient = self.form, self.gradient(x)
        step, prices = np.zeros_like(x), np.zeros_like(x)
        # for a group without free coefficients: the middle of the prices with which its coefficients stay at their bounds
        for k, price in enumerate(form.levels(form.ends(x, gradient))):
            prices[form.group == k] = price
        filled = np.unique(form.group[free])[: form.groups]
        q, m = len(free), len(filled)
        if q == 0:
            return step, prices
        system = np.zeros((q + m, q + m))
        points = free % len(self.kernel)
        system[:q, :q] = self.kernel[np.ix_(points, points)]
        # with linearly dependent free points the step is not unique; the regularisation selects the shortest
        if self.ridge:
            system[:q, :q] += self.ridge * (points[:, None] == points)
        weight = _REGULARISATION * (float(np.diagonal(self.kernel).max()) or 1.0)
        system[np.arange(q), np.arange(q)] += weight
        for position, k in enumerate(filled):
            system[q + position, :q] = system[:q, q + position] = form.group[free] == k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            right = np.concatenate([gradient[free], np.zeros(m)])
            solution = scipy.linalg.solve(system, right, assume_a="sym", check_finite=False)
        if not np.isfinite(solution).all():  # values near the limits of float64
            return step, prices
        step[free] = solution[:q]
        for position, k in enumerate(filled):
            prices[form.group == k] = solution[q + position]
        return step, prices


def _low_rank_factor(kernel: Matrix) -> Matrix | None:
    """Return L, (n, r), with kernel = L L' up to rounding, which makes the QP solver faster; None if r is above n / 2."""
    from scipy.linalg.lapack import dpstrf

    scale = float(np.diagonal(kernel).max())
    if scale <= 0.0:
        return None
    packed, pivots, rank, _ = dpstrf(kernel, lower=1, tol=1e-13 * scale)
    if rank > len(kernel) // 2:
        return None
    factor = np.empty((len(kernel), rank))
    factor[pivots - 1] = np.tril(packed)[:, :rank]
    # an indefinite matrix ends the factorisation early; the QP solver then refuses it
    return factor if np.abs(kernel - factor @ factor.T).max() <= 1e-10 * scale else None
