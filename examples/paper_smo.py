"""The solver of docs/start/tutorial.md: SMO with the maximal violating pair."""

from dataclasses import dataclass

import numpy as np

from harness import CSVC, Conformance, Iterate, Solver, hookimpl, parameter


@dataclass(frozen=True)
class PaperSMO(Solver):
    """SMO with the maximal violating pair (Keerthi et al. 2001)."""

    name = "paper-smo"
    solves = (CSVC,)
    conformance = Conformance({"tau": 1e-3}, gap=1e-2)  # checked with tau = 1e-3
    tau: float = parameter(1e-3, "tolerance on (b_low - b_up) / 2", gt=0)

    def with_target_gap(self, gap):
        return self.replace(tau=min(self.tau, gap / 10))

    def iterates(self, problem, rng):
        y, C, kernel = problem.targets, problem.upper, problem.kernel
        alpha, F = np.zeros(problem.n), -y
        while True:
            can_increase = np.where(y > 0, alpha < C, alpha > 0)
            can_decrease = np.where(y > 0, alpha > 0, alpha < C)
            up = np.argmin(np.where(can_increase, F, np.inf))
            low = np.argmax(np.where(can_decrease, F, -np.inf))
            done = F[low] - F[up] <= 2 * self.tau
            b = -(F[low] + F[up]) / 2
            yield Iterate(dual_coef=y * alpha, intercept=b, done=done)
            if done:
                return
            row_up, row_low = kernel.row(up), kernel.row(low)  # counted by the harness
            curvature = row_up[up] + row_low[low] - 2 * row_up[low]
            room_up = C[up] - alpha[up] if y[up] > 0 else alpha[up]
            room_low = alpha[low] if y[low] > 0 else C[low] - alpha[low]
            step = min((F[low] - F[up]) / max(curvature, 1e-12), room_up, room_low)
            alpha[up] += y[up] * step
            alpha[low] -= y[low] * step
            F += step * (row_up - row_low)


@hookimpl
def harness_solvers():
    """Return the solvers of this file."""
    return [PaperSMO]
