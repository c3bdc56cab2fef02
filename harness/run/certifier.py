"""The host's verdict on a model: certificate and scores, in a process of its own that never ran the solver.

It loads the data itself, states the problem itself, and is told the model's numbers and nothing else. Started as
``python -m harness.run.descendants harness.run.certifier FD``; FD is its end of the driver's socket pair. Of the plugins it
loads those that own the run's formulation, kernel, data source and metrics, and those whose solvers a certificate asks for.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import InvalidKernel, InvalidModel, PluginError
from harness.faults import told
from harness.kernels.checks import reasons_against
from harness.measure.core_set import CoreSetCertificate, core_set_certificate
from harness.measure.inlier_margin import InlierMargin, inlier_margin
from harness.measure.learning_curve import areas
from harness.measure.metrics import accuracy
from harness.measure.scored import FreeExpansion, Scored, Weights, no_gap
from harness.measure.trace import FIGURES, TracePlan, certified_figures
from harness.path import Cell, SolutionPath
from harness.plain import clean, clipped
from harness.problems.problem import Certificate, Problem
from harness.registry import Registry, load_registry, share_registry
from harness.run.child import Workbench, is_environment
from harness.run.messages import BrokenStream, Certified, Certify, Model, Point, Prepare, Prepared, Reader, Solved, send
from harness.run.plan import RunSpec
from harness.run.record import Status
from harness.solver import DEFAULT_RELATIVE_GAP

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Dataset


_OURS = frozenset({*FIGURES, "positive_support_vectors", "test_accuracy", "metrics"})
"""The figures of a trace point that only the certifier has."""


class _Judge:
    """What is said of every model, of one problem or of a cell of a path."""

    def __init__(self, spec: RunSpec, dataset: Dataset) -> None:
        self.spec, self.dataset = spec, dataset

    def certified(self, problem: Problem, coef: Vector, intercept: float, scores: Vector | None) -> dict[str, Any]:
        """Return the certificate of a dual solution, and the sizes of its support.

        scores : sum_j coef_j k(x_j, x_i) of the problem's own kernel; None: they are computed
        """
        certificate, support = problem.certify(coef, intercept, scores), int(np.count_nonzero(coef))
        sizes = {"support_vectors": support, "core_set_size": support}
        return {**certificate.as_dict(), **sizes, **self._missed(certificate, "")}

    def _missed(self, certificate: Certificate, of: str) -> dict[str, Any]:
        """Return status and reason where a gap was asked for that the certificate does not show.

        of : of what no gap can be certified, where there is a reason to say so
        """
        target, gap = self.spec.limits.target_gap, certificate.relative_gap
        if target is None or certificate.meets(target):
            return {}
        told = f"no gap can be certified{of and f' of {of}'}"
        told = told if gap is None else f"the certified relative gap is {gap:.2g}, above {target:g}"
        return {"status": Status.MISSED, "reason": certificate.undecidable or told}

    def otherwise(self, problem: Problem, model: Model) -> Scored:
        """Return a model that is no dual solution.

        Raises
        ------
        InvalidModel, BrokenStream : it is no model of the problem.
        """
        kernel = problem.kernel
        if model.free_coef is None:
            return Weights.checked(kernel, model.weights, model.intercept, model.features(kernel.n_features))
        coef: Any = model.coefficients(problem.n)
        own = None if model.own is None else model.own.points(kernel.n_features)
        coef = coef if model.own is None else np.concatenate([coef, model.own.coef])
        return FreeExpansion.checked(kernel, coef, own, model.intercept)

    def scored(self, problem: Problem, stated: Scored, train: Vector) -> dict[str, Any]:
        """Return what is certified of a model that is no dual solution; ``train`` : its scores of the training points."""
        certificate = stated.certificate(problem, train)
        of = no_gap(stated.form, type(problem), linear=problem.kernel.is_linear)
        if not of and certificate.primal is None:
            of = f"weights with an intercept for {problem.name}, which has none"
        return {**certificate.as_dict(), **self._missed(certificate, of)}

    def invalid(self, error: Exception) -> dict[str, Any]:
        """Return status and reason of what is no model."""
        return {"status": Status.INVALID, "reason": f"solver '{self.spec.solver}' returned an invalid model: {error}"}

    def accuracy(self, targets: Vector, scores: Vector, name: str) -> dict[str, Any]:
        """Return the share of right labels under its name, where there are labels."""
        there = self.dataset.task == "classification" and len(targets)
        return {name: accuracy(targets, scores)} if there else {}


class Judge(_Judge):
    """Certifies the run of one problem."""

    def __init__(self, spec: RunSpec, bench: Workbench) -> None:
        super().__init__(spec, bench.dataset(spec))
        self.registry = bench.registry
        self.problem: Problem = bench.problem(spec)
        self.bought: Any = np.zeros(0, dtype=np.int64)  # in the order of purchase, where labels are sold
        self.faults: list[str] = []

    def verdict(self, solved: Solved) -> dict[str, Any]:
        """Return fields of a record: the certificate, the scores, the trace. ``status`` only where the model is refused."""
        if solved.bought is not None:
            self.bought = solved.bought
        trace: list[dict[str, Any]] = []
        figures: dict[str, Any] = {"trace": trace}
        try:
            trace.extend(self._point(point) for point in solved.points)
            if solved.model:
                figures = self._end(Model.unpacked(solved.model), trace)
        except InvalidModel as error:
            figures = {"trace": trace, **self.invalid(error)}
        return {**figures, "faults": [*dict.fromkeys(self.faults)]}

    def _problem_after(self, labels: int | None) -> Problem:
        """Return the problem that a model is of: where labels are sold, after the first so many purchases."""
        return self.problem.after_buying(self.bought[:labels]) if self.problem.sells_labels else self.problem

    def _point(self, point: Point) -> dict[str, Any]:
        claimed = {name: value for name, value in point.figures.items() if name not in _OURS}
        if not point.model:
            return claimed
        model, problem = Model.unpacked(point.model), self._problem_after(claimed.get("labels_used") or 0)
        coef, intercept = model.coefficients(problem.n), model.intercept
        if problem.sells_labels:
            problem.checked(coef, intercept)  # of a label that is bought later nothing can be known
        figures, _ = certified_figures(problem, coef, intercept)
        known = {name: value for name, value in figures.items() if value is not None}
        return {**claimed, **known, **self._counts(coef), **self._trace_scores(coef, intercept)}

    def _counts(self, coef: Any, own_coef: Any = ()) -> dict[str, Any]:
        """Return the number of support vectors, and in classification of those whose label is +1.

        own_coef : coefficients of points that are not the problem's, whose label is that of their coefficient
        """
        found = {"support_vectors": int(np.count_nonzero(coef)) + len(own_coef)}
        if self.dataset.task == "classification":
            positives = np.count_nonzero(coef[self.dataset.y_train > 0.0]) + np.sum(np.asarray(own_coef) > 0.0)
            found["positive_support_vectors"] = int(positives)
        return found

    def _trace_scores(self, coef: Any, intercept: float) -> dict[str, Any]:
        """Return the test accuracy of a trace point where it is cheap, and where labels are sold all metrics."""
        dataset, sells = self.dataset, self.problem.sells_labels
        values = len(dataset.y_test) * int(np.count_nonzero(coef))
        # of one class a model has no support, and is a point of the learning curve all the same
        least = 0 if sells and len(dataset.y_test) else 1
        if dataset.task != "classification" or not least <= values <= TracePlan.certificate_values:
            return {}
        scores = self.problem.scores_new(coef, intercept, dataset.x_test)
        return self._scores(scores) if sells else self.accuracy(dataset.y_test, scores, "test_accuracy")

    def _end(self, model: Model, trace: list[dict[str, Any]]) -> dict[str, Any]:
        """Check, certify and score the last model."""
        problem, dataset = self._problem_after(None), self.dataset
        if model.dual_coef is None:
            stated = self.otherwise(problem, model)
            train = stated.scores(problem.kernel, dataset.x_train)
            found = self.scored(problem, stated, train)
            if isinstance(stated, FreeExpansion):
                found |= {"core_set_size": stated.support, **self._counts(stated.coef, stated.own_coef)}
            test = stated.scores(problem.kernel, dataset.x_test) if len(dataset.y_test) else None
        else:
            coef, intercept = problem.checked(model.coefficients(problem.n), model.intercept)
            scores = problem.kernel.expand(coef)
            found = {**self.certified(problem, coef, intercept, scores), **self._counts(coef)}
            train = scores - problem.kernel.ridge * coef + intercept  # the model's f has no ridge
            test = problem.scores_new(coef, intercept, dataset.x_test) if len(dataset.y_test) else None
            found |= self._oracles(problem, coef, found)
        found |= self.accuracy(dataset.y_train, train, "train_accuracy")
        found |= {} if test is None else self._scores(test)
        shown = ("support_vectors", "test_accuracy", *FIGURES)
        end = {"reason": "end", **{name: found[name] for name in shown if found.get(name) is not None}}
        if problem.sells_labels and model.dual_coef is not None:
            end |= {**self._counts(coef), "labels_used": len(self.bought), "metrics": found.get("metrics") or {}}
            found["aubc"] = areas([*trace, end])
        return {**found, "trace": [*trace, end]}

    def _scores(self, scores: Any) -> dict[str, Any]:
        """Return test accuracy and metrics; a metric that fails costs its own figure alone."""
        dataset, found = self.dataset, dict[str, Any]()
        for name in self.spec.metrics:
            try:
                # copies: what a metric does to them is seen by no other
                figure = clean(self.registry.metric(name)(dataset.y_test.copy(), scores.copy()))
                if isinstance(figure, (str, dict, bool)):
                    raise PluginError(f"it returned {clipped(repr(figure), 60)}; a metric returns a number")
                found[name] = figure
            except Exception as error:
                self.faults.append(f"metric '{name}' failed: {told(error, self.registry.owner('metric', name))}")
        better = {name: self.registry.metric(name).better for name in found}
        return {"metrics": found, "metrics_better": better, **self.accuracy(dataset.y_test, scores, "test_accuracy")}

    def _oracles(self, problem: Problem, coef: Vector, known: dict[str, Any]) -> dict[str, Any]:
        """Return what solvers are asked for: one that fails is its reason, never the run's end."""
        oracle, planted, found = self.spec.core_set_oracle, self.dataset.planted, dict[str, Any]()
        if oracle and known["support_vectors"] and problem.has_core_set:
            try:
                core = core_set_certificate(problem, coef, self.registry.solver(oracle))
            except Exception as error:
                core = CoreSetCertificate(oracle, 0, reason=f"{oracle} failed on the core set: {told(error)}")
            found["core_set"] = core.as_dict()
        if planted is not None and problem.gives_up_points():
            try:
                inliers = inlier_margin(problem, planted, self.registry.solver(oracle) if oracle else None)
            except Exception as error:
                reason = f"{oracle or 'the solver that serves for certificates'} failed on the inliers: {told(error)}"
                inliers = InlierMargin(oracle, int((~planted).sum()), reason=reason)
            found["inlier_margin"] = None if inliers is None else inliers.as_dict()
            margin = known.get("margin_lower")
            if inliers is not None and inliers.upper and not inliers.meets and margin is not None:
                found["inlier_margin"]["ratio"] = margin / inliers.upper
        return found


_ENOUGH = 0.01  # of the gap asked for: rounding of a cell's gap; a closer look at one takes as long as to solve ten
_TOGETHER_VALUES = 1 << 22  # coefficients of cells whose scores are computed at a time: 32 MB


class PathJudge(_Judge):
    """Certifies the cells of a path."""

    def __init__(self, spec: RunSpec, path: SolutionPath, dataset: Dataset) -> None:
        """``path`` : over the training points of ``dataset``."""
        super().__init__(spec, dataset)
        self.path = path

    def verdict(self, solved: Solved) -> dict[str, Any]:
        """Return ``cells``: for each point fields of a record, ``status`` only where its model is refused."""
        judged = [self._judged(group) for group in self._together(solved.points)]
        return {"cells": [cell for group in judged for cell in group], "faults": []}

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
        for reason in reasons_against(self.path.engine(group[0][1]).kernel, self.dataset.x_train):
            return [{"status": Status.INVALID, "reason": f"{reason}."} for _ in group]
        coefs = np.zeros((len(group), self.path.n))
        found: list[dict[str, Any]] = []
        duals: list[tuple[int, Vector, float]] = []
        for row, (point, cell) in enumerate(group):
            found.append({"n_train": len(self.path.members(cell))})
            problem = self.path.problem(cell)
            try:
                if not point.model:
                    if point.figures.get("status") != Status.INVALID:  # and says why
                        raise InvalidModel("the cell ended without one")
                    continue
                model = Model.unpacked(point.model)
                if model.dual_coef is None:
                    found[row] |= self._otherwise(problem, cell, model)
                    continue
                coef, intercept = problem.checked(model.coefficients(problem.n), model.intercept)
                coefs[row, self.path.members(cell)] = coef
                duals.append((row, coef, intercept))
            except (InvalidModel, BrokenStream) as error:
                found[row] |= self.invalid(error)
        support = np.flatnonzero(coefs.any(axis=0))
        scores = self.path.engine(group[0][1]).expand_models(support, coefs[:, support].T)
        for row, coef, intercept in duals:
            found[row] |= self._dual(group[row][1], coef, intercept, scores[row])
        return found

    def _otherwise(self, problem: Problem, cell: Cell, model: Model) -> dict[str, Any]:
        """Return what is known of a model that is no dual solution, and its errors."""
        path, dataset, stated = self.path, self.dataset, self.otherwise(problem, model)
        members, left_out = path.members(cell), path.left_out(cell)
        train = stated.scores(problem.kernel, path.rows(members, members))
        found = self.scored(problem, stated, train) | self.accuracy(path.targets[members], train, "train_accuracy")
        if len(left_out):
            scores = stated.scores(problem.kernel, path.rows(left_out, members))
            return {**found, "validation_error": self._error(path.targets[left_out], scores)}
        if len(dataset.y_test):
            found |= self.accuracy(dataset.y_test, stated.scores(problem.kernel, dataset.x_test), "test_accuracy")
        return found

    def _dual(self, cell: Cell, coef: Vector, intercept: float, plain: Vector) -> dict[str, Any]:
        """Return certificate and errors of a cell's model; ``plain`` : sum_j coef_j k(x_j, x_i) for all points of the path."""
        path, problem, dataset = self.path, self.path.problem(cell), self.dataset
        members, left_out = path.members(cell), path.left_out(cell)
        scores = plain[members] + problem.kernel.ridge * coef if problem.kernel.z is None else None
        gap = self.spec.limits.target_gap or DEFAULT_RELATIVE_GAP
        vars(problem)["_enough"] = _ENOUGH * gap  # which nobody else may change
        found = self.certified(problem, coef, intercept, scores)
        found |= self.accuracy(path.targets[members], plain[members] + intercept, "train_accuracy")
        if len(left_out):
            own = type(problem).scores_new is not Problem.scores_new  # its model is no plain sum of kernel values
            rows = path.rows(left_out, members) if own else None
            scores = problem.scores_new(coef, intercept, rows) if own else plain[left_out] + intercept
            return {**found, "validation_error": self._error(path.targets[left_out], scores)}
        if len(dataset.y_test) and dataset.task == "classification":
            test = problem.scores_new(coef, intercept, dataset.x_test)
            found |= self.accuracy(dataset.y_test, test, "test_accuracy")
        return found

    def _error(self, targets: Vector, scores: Vector) -> float:
        """Return the share of wrong labels, or in regression the mean squared error."""
        if self.dataset.task == "classification":
            return 1.0 - accuracy(targets, scores)
        return float(np.mean((scores - targets) ** 2))


class Certifier:
    """Serves the driver until it closes the socket."""

    def __init__(self, control: int) -> None:
        self.control = control
        self.benches: dict[tuple[str, ...], Workbench] = {}
        self.installed: Registry | None = None
        share_registry(self._installed)

    def serve(self) -> None:
        """Answer requests one after another."""
        reader = Reader(self.control)
        while not reader.closed:
            for request in reader.read():
                if isinstance(request, Prepare):
                    with contextlib.suppress(Exception):  # a run will say what is wrong
                        self._bench(request.spec).problem(request.spec.first)
                    send(self.control, Prepared())
                    continue
                assert isinstance(request, Certify)
                send(self.control, Certified(self._answer(request)))

    def _installed(self) -> Registry:
        """Return the installed plugins, which a certificate may ask for an oracle (ramp-svc); loaded when one does."""
        self.installed = load_registry()
        return self.installed

    def _bench(self, spec: RunSpec) -> Workbench:
        """Return the workbench over the plugins that the run's certificate needs, and no others."""
        if spec.trusted not in self.benches:
            from threadpoolctl import threadpool_limits

            self.benches.clear()  # their data are those of other runs
            self.benches[spec.trusted] = Workbench(load_registry(spec.plugin_paths, only=spec.trusted))
            threadpool_limits(spec.threads)
        return self.benches[spec.trusted]

    def _answer(self, request: Certify) -> dict[str, Any]:
        spec = request.spec
        try:
            bench = self._bench(spec)
            registries = [each for each in (self.installed, bench.registry) if each is not None]
            for registry in registries:
                registry.used.clear()
            judge: Judge | PathJudge = (
                PathJudge(spec, bench.path(spec), bench.dataset(spec)) if spec.path else Judge(spec, bench)
            )
            found = judge.verdict(request.solved)
            return {**found, "sources": {name: sha for each in registries for name, sha in each.sources().items()}}
        except InvalidKernel as error:
            return {"status": Status.INVALID, "reason": str(error)}
        except Exception as error:
            status = Status.ENVIRONMENT if is_environment(error) else Status.ERROR
            return {"status": status, "reason": f"the model could not be certified: {told(error)}"}


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    try:
        Certifier(control).serve()
    except BrokenPipeError:
        os._exit(0)  # the driver is gone
    os._exit(0)


if __name__ == "__main__":
    main()
