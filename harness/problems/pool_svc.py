"""pool-svc: the C-SVM over a pool of points whose labels must be bought, one by one.

    min_{w,b}  1/2 |w|^2 + C sum_{i bought} max(0, 1 - y_i (f_i + b))
    max        sum_i y_i coef_i - 1/2 coef' K coef    s.t.  sum coef = 0,  0 <= y_i coef_i <= C,  coef_i = 0 if not bought

It is c-svc over the points whose labels the solver chose to buy: which ones is what active learning is about (Ertekin,
Huang, Bottou, Giles 2007, section 3.2). The certificate is that of c-svc over these points, and says nothing of the others.

In a measured run the process of the solver holds no labels: another one sells them, and the record has its count
(harness/run/seller.py). What that cannot catch is a solver that reads the data where the harness did, the file or the
source's ``load()``; the conformance suite asks that no label matters that was not bought.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import InvalidModel, LabelsSpent, UsageError
from harness.kernels.functions import RBF
from harness.kernels.oracle import KernelOracle
from harness.problems.csvc import CSVC, CSVCParameters
from harness.problems.problem import Bounded, Certificate, Parameters, Problem, cases, immutable, parameter, setting

if TYPE_CHECKING:
    from harness.arrays import Vector

    Indices = np.ndarray[Any, np.dtype[np.intp]]
    Seller = Callable[[Indices], Vector]


@dataclass(frozen=True)
class PoolSVCParameters(Parameters):
    """Parameters of pool-svc."""

    formulation = "pool-svc"

    C: float = parameter(1.0, "upper bound of the coefficients: the price of a margin violation", gt=0)
    budget: int | None = parameter(None, "most labels that may be bought; none: those of all points", ge=1)


class _Ledger:
    """What was bought: ``known``, (n,) labels with NaN where they are not, and ``order``, the points as they were bought."""

    def __init__(self, n: int) -> None:
        memory = bytearray(8 * n)
        self._written = np.frombuffer(memory, dtype=np.float64)
        self._written[:] = np.nan
        # over memory that no flag makes writable
        self.known: Vector = np.frombuffer(memoryview(memory).toreadonly(), dtype=np.float64)
        self.order: list[int] = []

    def enter(self, indices: Indices, labels: Vector) -> None:
        self._written[indices] = labels
        self.order.extend(indices.tolist())


class PoolSVC(Problem):
    """The C-SVM with a bias over the points whose labels were bought.

    Attributes
    ----------
    targets : (n,) read-only: -1 or +1 where the label was bought, NaN elsewhere; it changes as labels are bought
    upper : (n,) C; read-only
    """

    name = "pool-svc"
    metrics = ("g-means", "roc-auc", "prbep")
    parameter_class = PoolSVCParameters
    constraints = "0 <= y_i dual_coef_i <= C, sum dual_coef = 0 and dual_coef_i = 0 where no label was bought"
    sells_labels = True
    C = setting("C", "The price of a margin violation.")

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        """State the problem over ``targets``: (n,) labels, or who sells them, called with (m,) points."""
        super().__init__(kernel, np.full(kernel.n, np.nan), settings)
        if not callable(targets) and np.shape(targets) != (kernel.n,):
            raise ValueError(f"targets of shape {np.shape(targets)} for a kernel over {kernel.n} points")
        self._seller: Seller = targets if callable(targets) else immutable(targets).__getitem__
        self._ledger = _Ledger(kernel.n)
        self.targets = self._ledger.known
        self.upper: Vector = immutable(np.full(kernel.n, self.C))

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        x, y = cases.overlapping(40)
        budgets = {"one-label": 1, "few-labels": 12}
        limited = [
            cases.Case.of(cls, name, x, y, RBF(gamma=0.5), {"C": 1.0, "budget": budget}, "protocol")
            for name, budget in budgets.items()
        ]
        return [*cases.two_classes(cls, {"C": 10.0}, {"C": 1.0}), *limited]

    def contents(self) -> dict[str, str]:
        """Return the checksums of what does not change as labels are bought."""
        return {name: value for name, value in super().contents().items() if name != "targets"}

    # -- labels --------------------------------------------------------------------------------------

    @property
    def bought(self) -> Indices:
        """The points whose labels were bought, (labels_used,), in the order of purchase."""
        return np.array(self._ledger.order, dtype=np.intp)

    @property
    def labels_used(self) -> int:
        """Number of labels that were bought."""
        return len(self._ledger.order)

    @property
    def labels_left(self) -> int:
        """Number of labels that may still be bought."""
        unknown = self.n - self.labels_used
        if isinstance(self._seller, _PartSeller):
            return min(unknown, self._seller.whole.labels_left)
        return unknown if self.settings.budget is None else min(unknown, self.settings.budget - self.labels_used)

    def buy(self, indices: Any) -> Vector:
        """Return the labels of the points ``indices``, (m,); those that were not bought before are bought and counted.

        Raises
        ------
        LabelsSpent : they are more than may still be bought; none of them is.
        UsageError : an index that is no point's.
        """
        asked = np.asarray(indices, dtype=np.intp).reshape(-1)
        if asked.size and not 0 <= asked.min() <= asked.max() < self.n:
            wrong = int(asked[(asked < 0) | (asked >= self.n)][0])
            raise UsageError(f"the label of point {wrong} was asked for; the points run from 0 to {self.n - 1}.")
        distinct = np.array(list(dict.fromkeys(asked.tolist())), dtype=np.intp)
        fresh = distinct[np.isnan(self.targets[distinct])]
        if len(fresh) > self.labels_left and not isinstance(self._seller, _PartSeller):
            raise LabelsSpent(
                f"{len(fresh)} labels were asked for, and {self.labels_left} are left of a budget of "
                f"{self.settings.budget}; look at problem.labels_left before buying."
            )
        if len(fresh):
            self._ledger.enter(fresh, np.asarray(self._seller(fresh), dtype=np.float64))
            if not isinstance(self._seller, _PartSeller):  # the whole counts for its parts
                self.kernel.count(labels=len(fresh))
        return np.array(self.targets[asked])

    def after_buying(self, indices: Any) -> PoolSVC:
        """Return the problem as it is when the labels of ``indices``, and no others, were bought in this order."""
        stated = type(self)(self.kernel, self._seller, self.settings)
        stated.buy(indices)
        return stated

    def rehearsal(self, indices: Any) -> PoolSVC:
        """Return the pool of the points ``indices``, (m,), whose labels are made up: +1 and -1 in turns."""
        kernel = self.kernel.restrict(np.asarray(indices, dtype=np.intp))
        return type(self)(kernel, np.where(np.arange(kernel.n) % 2 == 0, 1.0, -1.0), self.settings)

    def labelled(self) -> CSVC:
        """Return c-svc over the points that were bought, in the order of purchase; its evaluations count to the same run.

        At least one label must have been bought.
        """
        bought = self.bought
        return CSVC(self.kernel.restrict(bought), self.targets[bought], CSVCParameters(C=self.C))

    # -- the problem ---------------------------------------------------------------------------------

    @property
    def lower_bounds(self) -> Vector:
        """min(0, C y_i), (n,), and 0 where the label is unknown."""
        return np.where(self.targets < 0.0, -self.upper, 0.0)

    @property
    def upper_bounds(self) -> Vector:
        """max(0, C y_i), (n,), and 0 where the label is unknown."""
        return np.where(self.targets > 0.0, self.upper, 0.0)

    def restrict(self, indices: Any) -> PoolSVC:
        """Return the pool of the points ``indices`` alone: what is bought of it is bought of this one, and known there."""
        indices = np.asarray(indices, dtype=np.intp)
        part = type(self)(self.kernel.restrict(indices), _PartSeller(self, indices), self.settings)
        part.buy(np.flatnonzero(~np.isnan(self.targets[indices])))  # once more: free
        return part

    def feasibility_violation(self, dual_coef: Vector) -> float:
        """Return the violation of c-svc over what was bought, or by how much, relative to C, another point has one."""
        unknown = np.isnan(self.targets)
        beyond = float(np.max(np.abs(dual_coef), where=unknown, initial=0.0)) / self.C
        return (
            max(beyond, self.labelled().feasibility_violation(dual_coef[self.bought])) if self.labels_used else beyond
        )

    def checked(self, dual_coef: Any, intercept: Any, *, tolerance: float = 1e-6) -> tuple[Vector, float]:
        given = np.asarray(dual_coef)
        if given.shape == (self.n,) and given.dtype.kind in "biuf":
            strange = np.flatnonzero((given != 0.0) & np.isnan(self.targets))
            if len(strange):
                raise InvalidModel(
                    f"dual_coef[{strange[0]}] is {given[strange[0]]:g}, and the label of that point was not bought; a model "
                    "may rest on bought labels only: call problem.buy for each point that it uses."
                )
        return super().checked(dual_coef, intercept, tolerance=tolerance)

    def certificate_cost(self, support: int) -> int:
        return self.labels_used * max(1, support)

    def certify(self, dual_coef: Any, intercept: float, scores: Vector | None = None) -> Certificate:
        bought, coef = self.bought, np.asarray(dual_coef, dtype=np.float64)
        if not len(bought):
            return _of_nothing(self.feasibility_violation(coef))
        return self.labelled().certify(coef[bought], intercept, None if scores is None else scores[bought])

    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return the certificate of c-svc over what was bought."""
        bought = self.bought
        if not len(bought):
            return _of_nothing(self.feasibility_violation(dual_coef))
        return self.labelled().certificate(dual_coef[bought], intercept, scores[bought])


@dataclass(frozen=True, eq=False)
class _PartSeller:
    """The seller of a part of a pool, which buys of the whole."""

    whole: PoolSVC
    indices: Indices

    def __call__(self, indices: Indices) -> Vector:
        return self.whole.buy(self.indices[indices])


def _of_nothing(violation: float) -> Certificate:
    """Return the certificate of the problem without a label: w = 0 is its optimum."""
    nothing = Bounded.exact(0.0)
    return Certificate.of_objectives(nothing, nothing, kkt_violation=0.0, feasibility_violation=violation)
