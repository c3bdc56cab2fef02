"""The host's verdict on a path: a certificate for each cell, by the points it was trained on, and its validation error.

In the certifier's process, which never ran the solver: it makes the folds itself, from the run's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import InvalidModel
from harness.kernels.oracle import engine_of
from harness.measure.metrics import accuracy
from harness.measure.scored import Scored
from harness.path import Cell, SolutionPath
from harness.problems.problem import Problem
from harness.run import allowed
from harness.run.messages import BrokenStream, Certify, Model, Point
from harness.run.models import missed, without_certificate
from harness.run.path_run import path_of
from harness.run.record import Status

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Dataset
    from harness.run.execute import Workbench
    from harness.run.study import RunSpec

_Known = tuple[Any, float] | Scored | str | None

_TOGETHER_VALUES = 1 << 22  # coefficients of cells whose scores are computed at a time: 32 MB


class PathJudge:
    """Certifies the cells of one path after another."""

    def __init__(
        self, spec: RunSpec, path: SolutionPath, dataset: Dataset, busy: Callable[[str, float], None] = lambda *_: None
    ) -> None:
        """``path`` : over the training points of ``dataset``; ``busy`` : called with what is done next, and for how long."""
        self.spec, self.path, self.dataset, self._busy = spec, path, dataset, busy

    @classmethod
    def of(cls, spec: RunSpec, bench: Workbench, busy: Callable[[str, float], None]) -> PathJudge:
        """Return the judge of a run, by its own copy of the data."""
        dataset = bench.dataset(spec)
        return cls(spec, path_of(spec, dataset, bench.registry, cold=False), dataset, busy)

    def verdict(self, asked: Certify) -> dict[str, Any]:
        """Return ``cells``: for each point fields of a record, ``status`` only where its model is refused."""
        limit = self.spec.limits.seconds
        found: list[dict[str, Any]] = []
        for group in self._together(asked.points):
            self._busy("certifying the cells of a path", allowed.certifying(limit, of_plugins=False))
            found += self._judged(group)
        return {"cells": found, "faults": []}

    def _together(self, points: list[Point]) -> Iterator[list[tuple[Point, Cell]]]:
        """Yield neighbours with the same kernel: their scores are one product with the same kernel values."""
        most = max(1, _TOGETHER_VALUES // max(1, self.path.n))
        group: list[tuple[Point, Cell]] = []
        left = set(range(len(self.path.cells)))
        for point in points:
            index = point.figures.get("cell")
            if index not in left:
                raise BrokenStream(f"cell {index!r} of a path that has {len(self.path.cells)}, or had it already")
            left.remove(index)
            cell = self.path.cells[index]
            if group and (len(group) == most or not self.path.same_kernel(cell, group[0][1])):
                yield group
                group = []
            group.append((point, cell))
        if group:
            yield group

    def _judged(self, group: list[tuple[Point, Cell]]) -> list[dict[str, Any]]:
        """Return the figures of cells with the same kernel."""
        coefs = np.zeros((len(group), self.path.n))
        models = [self._model(point.model, cell) for point, cell in group]
        for row, (_, cell), model in zip(coefs, group, models, strict=True):
            if isinstance(model, tuple):
                row[self.path.members(cell)] = model[0]
        support = np.flatnonzero(coefs.any(axis=0))
        scores = engine_of(self.path.whole(group[0][1])).expand(support, coefs[:, support].T, None)
        return [
            self._figures(point, cell, model, f) for (point, cell), model, f in zip(group, models, scores, strict=True)
        ]

    def _figures(self, point: Point, cell: Cell, model: _Known, plain: Vector) -> dict[str, Any]:
        """Return the figures of one cell; ``plain`` as of :meth:`_certified`."""
        found: dict[str, Any] = {"n_train": len(self.path.members(cell))}
        if isinstance(model, tuple):
            return found | self._certified(cell, *model, plain)
        if isinstance(model, str):
            return found | {
                "status": Status.INVALID,
                "reason": f"solver '{self.spec.solver}' returned an invalid model: {model}",
            }
        if model is None:
            claimed = point.figures.get("status") == Status.INVALID  # and says why
            return found if claimed else found | {"status": Status.INVALID, "reason": "the cell ended without a model"}
        return found | self._scored(cell, model)

    def _model(self, model: Model | None, cell: Cell) -> _Known:
        """Return coefficients and intercept, a model that is no dual solution, why it is refused, or None: there is none."""
        if model is None:
            return None
        problem = self.path.problem(cell)
        try:
            if model.dual_coef is None:
                return without_certificate(problem, model)
            return problem.checked(model.coefficients(problem.n), model.intercept)
        except InvalidModel as error:
            return str(error)

    def _scored(self, cell: Cell, stated: Scored) -> dict[str, Any]:
        """Return what is known of a model that is no dual solution: its error on the fold left out."""
        found: dict[str, Any] = {}
        if self.spec.limits.target_gap is not None:
            found = {"status": Status.MISSED, "reason": "no gap can be certified of a model that is no dual solution"}
        path, problem, left_out = self.path, self.path.problem(cell), self.path.left_out(cell)
        if len(left_out):
            scores = stated.scores(problem.kernel, path.rows(left_out, path.members(cell)))
            found["validation_error"] = self._error(path.targets[left_out], scores)
        return found

    def _certified(self, cell: Cell, coef: Vector, intercept: float, plain: Vector) -> dict[str, Any]:
        """Return certificate and errors of a cell's model; ``plain`` : sum_j coef_j k(x_j, x_i) for all points of the path."""
        path, problem = self.path, self.path.problem(cell)
        members, left_out = path.members(cell), path.left_out(cell)
        scores = None
        if problem.kernel.z is None:
            scores = plain[members] + problem.kernel.ridge * coef
        certificate = problem.certify(coef, intercept, scores)
        support = int(np.count_nonzero(coef))
        found = {**certificate.as_dict(), "support_vectors": support, "core_set_size": support}
        found |= missed(certificate, self.spec.limits.target_gap)
        if self.dataset.task == "classification":
            found["train_accuracy"] = accuracy(path.targets[members], plain[members] + intercept)
        if len(left_out):
            own = type(problem).scores_new is not Problem.scores_new  # its model is no plain sum of kernel values
            rows = path.rows(left_out, members) if own else None
            scores = problem.scores_new(coef, intercept, rows) if own else plain[left_out] + intercept
            found["validation_error"] = self._error(path.targets[left_out], scores)
        return found | ({} if len(left_out) else self._tested(problem, coef, intercept))

    def _error(self, targets: Vector, scores: Vector) -> float:
        """Return the share of wrong labels, or in regression the mean squared error."""
        if self.dataset.task == "classification":
            return 1.0 - accuracy(targets, scores)
        return float(np.mean((scores - targets) ** 2))

    def _tested(self, problem: Problem, coef: Vector, intercept: float) -> dict[str, Any]:
        """Return the test accuracy of a model of all training points, where there are test points and labels."""
        dataset = self.dataset
        if not len(dataset.y_test) or dataset.task != "classification":
            return {}
        return {"test_accuracy": accuracy(dataset.y_test, problem.scores_new(coef, intercept, dataset.x_test))}
