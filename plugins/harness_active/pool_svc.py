"""Formulation pool-svc: the C-SVM over a pool of points whose labels must be queried.

    min_{w,b}  1/2 |w|^2 + C sum_{i queried} max(0, 1 - y_i (f_i + b))
    max        sum_i y_i coef_i - 1/2 coef' K coef    s.t.  sum coef = 0,  0 <= y_i coef_i <= C,  coef_i = 0 if not queried

It is c-svc over the points whose labels the solver has queried; active learning selects these points (Ertekin,
Huang, Bottou, Giles 2007, section 3.2). The certificate is that of c-svc over these points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import CSVC, RBF, CertifiedRun, Column, InvalidModel, KernelOracle, UsageError
from harness.problems.problem import Bounded, Certificate, Parameters, Problem, cases, parameter, read_only, setting
from harness_active.learning_curve import areas

if TYPE_CHECKING:
    from harness.support.arrays import Index, Vector


@dataclass(frozen=True)
class PoolSVCParameters(Parameters):
    """Parameters of pool-svc."""

    formulation = "pool-svc"

    C: float = parameter(1.0, "upper bound of the coefficients: the price of a margin violation", gt=0)
    budget: int | None = parameter(None, "largest number of labels that may be queried; none: all", ge=1)


class _Ledger:
    """The queried labels: ``known``, (n,), NaN for labels not queried, and their points in order, ``order[:count]``."""

    def __init__(self, n: int) -> None:
        self._known, self._order = np.full(n, np.nan), np.zeros(n, dtype=np.intp)
        self.known, self.order = self._known.view(), self._order.view()
        self.known.flags.writeable = self.order.flags.writeable = False
        self.count = 0

    def enter(self, indices: Index, labels: Any) -> None:
        self._known[indices] = labels
        self._order[self.count : self.count + len(indices)] = indices
        self.count += len(indices)


class PoolSVC(Problem):
    """The C-SVM with a bias over the points whose labels were queried.

    Attributes
    ----------
    targets : (n,) read-only: -1 or +1 if the label was queried, else NaN; it changes with each query
    upper : (n,) C; read-only
    """

    name = "pool-svc"
    metrics = ("g-means", "roc-auc", "prbep")
    columns = (
        Column("labels_used", "labels", None, "number of labels that the solver queried.", "queried"),
        Column("aubc", "", None, "area under the curve of test accuracy over labels, divided by their range.", "AUBC"),
        Column("aubc_of_metrics", "", None, "the same for each test metric, by its name; in records only."),
    )
    parameter_class = PoolSVCParameters
    constraints = "0 <= y_i dual_coef_i <= C, sum dual_coef = 0 and dual_coef_i = 0 if label i was not queried"
    queries_targets = True
    C = setting("C", "The price of a margin violation.")

    def __init__(self, kernel: KernelOracle, targets: Any, settings: Any) -> None:
        """Initialise with ``targets``: (n,), NaN for unknown labels, or a function from (m,) points to their labels."""
        known = np.full(kernel.n, np.nan) if callable(targets) else targets
        super().__init__(kernel, known, settings)
        self._answer: Callable[[Index], Vector] | None = targets if callable(targets) else None
        self._ledger = _Ledger(kernel.n)
        given = np.flatnonzero(~np.isnan(self.targets))
        self._ledger.enter(given, self.targets[given])
        self.targets = self._ledger.known
        self.upper: Vector = read_only(np.full(kernel.n, self.C))

    @classmethod
    def zoo(cls) -> list[cases.Case]:
        x, y = cases.overlapping(40)
        limited = [
            cases.Case.of(cls, name, x, y, RBF(gamma=0.5), {"C": 1.0, "budget": budget}, "protocol")
            for name, budget in (("one-label", 1), ("few-labels", 12))
        ]
        return [*cases.two_classes(cls, {"C": 10.0}, {"C": 1.0}), *limited]

    def contents(self) -> dict[str, str]:
        """Return the checksums of the contents that queries do not change."""
        return {name: value for name, value in super().contents().items() if name != "targets"}

    def figures(self, run: CertifiedRun) -> Mapping[str, Any]:
        values = areas(run.trace)
        return {"labels_used": len(run.queried), "aubc": values.pop("accuracy", None), "aubc_of_metrics": values}

    # -- labels --------------------------------------------------------------------------------------

    @property
    def queried(self) -> Index:
        return self._ledger.order[: self._ledger.count]

    @property
    def target_budget(self) -> int:
        """Largest number of labels that may be queried, including those that were."""
        most = self._ledger.count if self._answer is None else self.n
        return most if self.settings.budget is None else min(most, self.settings.budget)

    @property
    def queries_left(self) -> int:
        """Number of further labels that may be queried."""
        left = self.target_budget - self._ledger.count
        return min(left, self._answer.whole.queries_left) if isinstance(self._answer, _OfWhole) else left

    def query(self, indices: Any) -> Vector:
        """Return the labels of the points ``indices``, (m,); labels that were queried before do not count again.

        Raises
        ------
        UsageError : an index is out of range, or more labels are new than may be queried; then no label is queried.
        """
        points = np.array(indices, dtype=np.intp).reshape(-1)
        if points.size and points.view(np.uintp).max() >= self.n:  # negative numbers are large as unsigned ones
            wrong = int(points[(points < 0) | (points >= self.n)][0])
            raise UsageError(f"the label of point {wrong} was queried; the points run from 0 to {self.n - 1}.")
        new = points[np.isnan(self.targets[points])]
        if len(new) > 1:
            new = np.array(list(dict.fromkeys(new.tolist())), dtype=np.intp)
        if len(new) > self.queries_left and not isinstance(self._answer, _OfWhole):  # whose whole pool checks this
            raise UsageError(
                f"{len(new)} labels were queried, and {self.queries_left} are left of a budget of {self.target_budget}; "
                "check problem.queries_left before a query."
            )
        if len(new) and self._answer is not None:
            self._ledger.enter(new, self._answer(new))
        return self.targets[points]

    def query_one(self, point: int) -> None:
        """Query the label of a point as :meth:`query` does, in less time."""
        ledger, answer = self._ledger, self._answer
        if answer is None or not (0 <= point < self.n and self.queries_left and math.isnan(ledger.known[point])):
            self.query(point)
        else:
            index = np.array([point])
            ledger.enter(index, answer(index))

    def labelled(self) -> CSVC:
        """Return c-svc over the queried points, at least one, in the order of the queries, with the same counter."""
        return CSVC.build(self.kernel.restrict(self.queried), self.targets[self.queried], {"C": self.C})

    # -- the problem ---------------------------------------------------------------------------------

    @property
    def lower_bounds(self) -> Vector:
        """min(0, C y_i), (n,), or 0 if the label is unknown."""
        return np.where(self.targets < 0.0, -self.upper, 0.0)

    @property
    def upper_bounds(self) -> Vector:
        """max(0, C y_i), (n,), or 0 if the label is unknown."""
        return np.where(self.targets > 0.0, self.upper, 0.0)

    def restrict(self, indices: Any) -> PoolSVC:
        """Return the pool of the points ``indices``; its queries are queries of this pool too."""
        indices = np.asarray(indices, dtype=np.intp)
        part = type(self)(self.kernel.restrict(indices), _OfWhole(self, indices), self.settings)
        part.query(np.flatnonzero(~np.isnan(self.targets[indices])))  # known labels do not count again
        return part

    def feasibility_violation(self, dual_coef: Vector) -> float:
        """Return the violation of c-svc over the queried points, or the largest coefficient of another point over C."""
        unknown = np.isnan(self.targets)
        unlabelled = float(np.max(np.abs(dual_coef), where=unknown, initial=0.0)) / self.C
        if not len(self.queried):
            return unlabelled
        return max(unlabelled, self.labelled().feasibility_violation(dual_coef[self.queried]))

    def checked(self, dual_coef: Any, intercept: Any, *, tolerance: float = 1e-6) -> tuple[Vector, float]:
        given = np.asarray(dual_coef)
        if given.shape == (self.n,) and given.dtype.kind in "biuf":
            unlabelled = np.flatnonzero((given != 0.0) & np.isnan(self.targets))
            if len(unlabelled):
                raise InvalidModel(
                    f"dual_coef[{unlabelled[0]}] is {given[unlabelled[0]]:g}, but the label of that point was not queried; "
                    "call problem.query for each point with a nonzero coefficient."
                )
        return super().checked(dual_coef, intercept, tolerance=tolerance)

    def certificate_cost(self, support: int) -> int:
        return len(self.queried) * max(1, support)

    def certify(
        self, dual_coef: Any, intercept: float, scores: Vector | None = None, *, tolerated_rounding: float = 0.0
    ) -> Certificate:
        queried, coef = self.queried, np.asarray(dual_coef, dtype=np.float64)
        if not len(queried):
            return _certificate_without_labels(self.feasibility_violation(coef))
        scores = None if scores is None else scores[queried]
        return self.labelled().certify(coef[queried], intercept, scores, tolerated_rounding=tolerated_rounding)

    def certificate(self, dual_coef: Vector, intercept: float, scores: Vector) -> Certificate:
        """Return the certificate of c-svc over the queried points."""
        if not len(self.queried):
            return _certificate_without_labels(self.feasibility_violation(dual_coef))
        return self.labelled().certificate(dual_coef[self.queried], intercept, scores[self.queried])


@dataclass(frozen=True, eq=False)
class _OfWhole:
    """Labels of a part of a pool, which are queried from the whole pool."""

    whole: PoolSVC
    indices: Index

    def __call__(self, indices: Index) -> Vector:
        return self.whole.query(self.indices[indices])


def _certificate_without_labels(violation: float) -> Certificate:
    """Return the certificate of the problem without labels, whose optimum is w = 0."""
    zero = Bounded.exact(0.0)
    return Certificate.of_objectives(zero, zero, kkt_violation=0.0, feasibility_violation=violation)
