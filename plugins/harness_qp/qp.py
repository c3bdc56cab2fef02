"""The exact optimum of any convex formulation: ground truth for small problems, and an oracle.

    min 1/2 x'Kx - c'x    s.t.  lower <= x <= upper,  sum of x over each group = its total

x are the variables of the common dual form: the signed coefficients, or two for each point, whose sum K sees. A solver of
quadratic programs (Clarabel 2024 or another one, by cvxpy) ends near its bounds, seldom on them; the polish puts the
variables onto their bounds and solves for the free ones, which the certificate of a reference needs.

It needs the whole kernel matrix: n^2 kernel evaluations and O(n^2) memory, O(n^3) time (O(n r^2) for a kernel
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

_ACCURACY = 1e-10  # of the interior-point method
_FIRST_ORDER = 1e-8  # accuracy of OSQP and SCS: a higher one is seldom reached
# solver -> (package, options for the accuracy)
_SOLVERS: dict[str, tuple[str, dict[str, float]]] = {
    "clarabel": ("clarabel", {"tol_gap_abs": _ACCURACY, "tol_gap_rel": _ACCURACY, "tol_feas": _ACCURACY}),
    "osqp": ("osqp", {"eps_abs": _FIRST_ORDER, "eps_rel": _FIRST_ORDER, "max_iter": 200_000}),
    "scs": ("scs", {"eps_abs": _FIRST_ORDER, "eps_rel": _FIRST_ORDER, "max_iters": 200_000}),
    "piqp": ("piqp", {}),
    "daqp": ("daqp", {}),
    "proxqp": ("proxsuite", {}),
}
_ROUNDING = 1e-13  # |w|^2 below this part of the largest k(x, x): rounding hides the direction of w
_AT_BOUND = 1e-7  # nearer to its bound than this part of its range, a coefficient belongs on it
_LANDED = 1e-13  # the same, where a step of the polish ended there up to rounding
_POLISH_ROUNDS = 200  # of O(free points^3) each
_MANY_ROUNDS, _SMALL = 2000, 1000  # up to that many variables rounds are cheap, and some hulls need many
_TINY = 1e-11  # of the largest k(x, x): the weight that picks the shortest of the polish's steps
_RIGHT = 1e-12  # of the largest price or linear term: a multiplier that is wrong by no more is rounding


@dataclass(frozen=True)
class QP(Solver):
    """The dual as a quadratic program, solved by an interior-point method and polished by an active-set method.

    Take it as ground truth for small problems. No paper.

    It works as exactly as it can, and is done if ``gap`` is reached.
    """

    name = "qp"
    conformance = Conformance(gap=1e-5)
    solves = (CSVC,)
    solves_dual_forms = True
    serves = ("reference",)

    gap: float = parameter(1e-5, "relative duality gap up to which the answer counts as the optimum", gt=0)
    solver: Literal["clarabel", "osqp", "scs", "piqp", "daqp", "proxqp"] = parameter(
        "clarabel", "program behind it; OSQP and SCS are of first order, and less accurate before the polish"
    )
    max_points: int = parameter(5000, "skip larger problems: the kernel matrix and its factor are n x n", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the optimum, once."""
        kernel, ridge = problem.kernel.block(np.arange(problem.n)).astype(np.float64), problem.kernel.ridge
        kernel.flat[:: problem.n + 1] -= ridge
        form = problem.dual_form()
        largest = float(np.diagonal(kernel).max()) + ridge
        program = BoxQP(form, kernel, ridge, self.solver)
        if form.linear.any():
            scale = float((form.upper - form.lower).max() * np.abs(form.linear).max())
            x, status = program.interior(scale)
            if form.copies > 1:  # what a point has of both signs cancels
                x = program.feasible(form.variables(form.coef(x)))
            x = program.polished(x)
        else:
            x, status = self._nearest(program, largest)
        gradient = program.gradient(x)
        intercept = form.intercept(form.levels(form.ends(x, gradient)))
        coef = form.coef(x)
        if form.relative or not form.linear.any():
            problem.kernel.diagonal()  # what tells the certificate whether w is zero: asked for here, so that it counts
        found = problem.certificate(coef, intercept, form.scores(gradient))
        if found.relative_gap is None:  # not decided by scores alone
            found = problem.certify(coef, intercept)
        done = found.relative_gap is not None and found.relative_gap <= self.gap
        if not form.linear.any() and float(coef @ form.scores(gradient)) <= _ROUNDING * largest:
            status = "w may be 0"
        info = {"status": status, "kkt_violation": program.violation(x)}
        if not done:
            reached = "unknown" if found.relative_gap is None else f"{found.relative_gap:.2g}, above {self.gap:g}"
            info["stopped"] = f"{self.solver} ended '{status}', the polish at a relative gap of {reached}"
        yield Iterate(coef, intercept, done=done, info=info)

    def skip(self, problem: ProblemSummary) -> str | None:
        if self.solver != "clarabel":  # which the harness requires
            import cvxpy as cp

            if self.solver.upper() not in cp.installed_solvers():
                package = _SOLVERS[self.solver][0]
                return f"cvxpy finds no solver={self.solver}; pip install {package}, or take solver=clarabel."
        return super().skip(problem)

    def _nearest(self, program: BoxQP, largest: float) -> tuple[Vector, str]:
        """Solve a program without a linear part: the shortest w, whose length is not known beforehand."""
        scale = largest if largest > 0.0 else 1.0
        x, status = program.interior(scale)
        squared = program.squared_norm(x)
        for _ in range(3):
            if squared >= 1e-2 * scale or squared <= _ROUNDING * largest:
                break
            # a short w is an optimum that the solver's absolute tolerance hides: ask again in its own units
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
    """The program above: a common dual form over a kernel matrix that is at hand.

    kernel : (n, n), K without ``ridge`` on its diagonal
    solver : name of the program for :meth:`interior`
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
        """Solve by cvxpy's ``solver``; return x, on its bounds where it is near them, and the solver's status.

        scale : the objective is divided by it, the coefficients by the widest bound: tolerances are absolute in part

        Raises
        ------
        PluginError : the solver gave up without a point.
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
        # the library's errors name options of its own
        with warnings.catch_warnings(), suppress(cp.SolverError, ValueError):
            # 'may be inaccurate' is for the certificate to say
            warnings.simplefilter("ignore")
            program.solve(solver=self.solver.upper(), **_SOLVERS[self.solver][1])
        if t.value is None or not np.isfinite(t.value).all():
            raise PluginError(
                f"the QP solver {self.solver} found no solution: the largest k(x, x) is "
                f"{float(np.diagonal(self.kernel).max()):.2g}, and coefficients may be {unit:.2g}. Expected are a positive "
                "semi-definite kernel matrix and a product of the two between 1e-300 and 1e8: scale the features "
                "(--datasets 'NAME[scale=standard]'), or take another C."
            )
        return self.feasible(unit * np.asarray(t.value, dtype=np.float64)), str(program.status)

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
        least = max(_RIGHT * float(np.abs(self.form.linear).max()), 2.0**-53 * float(np.diagonal(self.kernel).max()))
        lower, upper = self.form.lower, self.form.upper
        free = (x > lower) & (x < upper)
        x = x.copy()
        for _ in range(_MANY_ROUNDS if len(x) <= _SMALL else _POLISH_ROUNDS):
            step, prices = self._newton(x, np.flatnonzero(free))
            room = np.where(step > 0.0, upper - x, x - lower)
            ratio = np.divide(room, np.abs(step), out=np.full(len(x), np.inf), where=step != 0.0)
            nearest = int(np.argmin(ratio))
            x, landed = self._snapped(x + min(1.0, float(ratio[nearest])) * step, free, _LANDED)
            free[landed] = False
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
            if wrong[worst] <= max(least, _RIGHT * float(np.abs(prices).max())):
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
        weight = _TINY * (float(np.diagonal(self.kernel).max()) or 1.0)
        system[np.arange(q), np.arange(q)] += weight
        for position, k in enumerate(filled):
            system[q + position, :q] = system[:q, q + position] = form.group[free] == k
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            right = np.concatenate([gradient[free], np.zeros(m)])
            solution = scipy.linalg.solve(system, right, assume_a="sym", check_finite=False)
        if not np.isfinite(solution).all():  # values at the ends of float64: the polish has no step then
            return step, prices
        step[free] = solution[:q]
        for position, k in enumerate(filled):
            prices[form.group == k] = solution[q + position]
        return step, prices


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
    # an indefinite matrix stops the factorisation early: leave it to Clarabel to refuse
    return factor if np.abs(kernel - factor @ factor.T).max() <= 1e-10 * scale else None
