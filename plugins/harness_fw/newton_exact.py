"""Newton's method on w where no few coordinates hold it: w as an expansion of points.

Where pivots (pivots.py) do not span the points, w = sum_i c_i phi(x_i) is kept by its coefficients and its products with
all points, and the optimum over a core set S, all weights free, is a linear system of |S| unknowns (O. Chapelle,
"Training a support vector machine in the primal", Neural Computation 19, 2007):

    (K_SS + I / chi) c + 1 b = y,    1'c = 0

by a Cholesky factor while K_SS fits the memory for kernel rows, else by conjugate gradients whose products are computed
from kernel values anew each time. A round costs |S|^2 + 2 n |S| kernel evaluations, or |S|^2 for each product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness_fw.conjugate import conjugate_gradients
from harness_fw.newton import Rounds

if TYPE_CHECKING:
    from harness import KernelOracle
    from harness.arrays import Vector

_SHARE = 1e-4  # of the slacks times epsilon: the residual that they leave


class ExactRounds(Rounds):
    """Rounds on an expansion over the points of ``kernel``, whose ridge is the formulation's; exact scores each round.

    Parameters
    ----------
    cache_mb : memory for the core set's matrix and its factor
    """

    def __init__(self, kernel: KernelOracle, targets: Vector, cache_mb: float) -> None:
        super().__init__(_Points(kernel), targets)
        self.kernel = kernel
        self._most = int((cache_mb * 2**20 / 16) ** 0.5)

    def _length(self) -> float:
        return float(self.w @ self.products)

    def _signed(self) -> Vector:
        self.scores = self.targets * self.kernel.expand(self.coef)
        return self.scores

    def _goal(self) -> tuple[Vector, Vector]:
        solved = self._solved(np.column_stack([self.targets[self.support], np.ones(len(self.support))]))
        goal = np.zeros(self.features.n)
        goal[self.support] = solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
        return goal, self.features.scores(goal)

    def _along(self, goal: Vector, products: Vector) -> tuple[float, float]:
        direction, change = goal - self.w, products - self.products
        return float(self.w @ change), float(direction @ change)

    def _solved(self, right: Any) -> Any:
        """Return (K_SS + I / chi)^-1 ``right``, (|S|, 2)."""
        import scipy.linalg

        support = self.support
        if len(support) <= self._most:
            matrix = np.array(self.kernel.block(support, support), dtype=np.float64)
            self.systems += 1
            try:
                return scipy.linalg.solve(matrix, right, assume_a="pos", overwrite_a=True, check_finite=False)
            except scipy.linalg.LinAlgError:
                pass  # singular up to rounding: as far as gradients get
        part = self.kernel.restrict(support)
        return np.column_stack([self._conjugated(part, np.ascontiguousarray(each)) for each in right.T])

    def _conjugated(self, part: KernelOracle, right: Vector) -> Vector:
        solution = np.zeros_like(right)
        # what is left of the residual is an error of the slacks, of which the weights are made
        slack = self.slack[self.support]
        enough = float(slack @ slack) * (_SHARE * min(1.0, self.epsilon)) ** 2
        self.gradients += conjugate_gradients(part.expand, solution, right.copy(), enough)
        return solution


class _Points:
    """What the rounds ask of their features, where w is given by its coefficients, (n,)."""

    def __init__(self, kernel: KernelOracle) -> None:
        self.kernel, self.ridge = kernel.with_ridge(0.0), kernel.ridge
        self.n = self.d = kernel.n

    def scores(self, weights: Vector) -> Vector:
        """Return <w, phi(x_i)> of all points, (n,); n evaluations for each coefficient."""
        return self.kernel.expand(weights)
