"""The host's verdict on a model: certificate and scores, in a process of its own that never ran the solver.

It loads the data itself, states the problem itself, and is told the model's numbers and nothing else. Started as
``python -m harness.run.descendants harness.run.certifier FD``; FD is its end of the driver's socket pair. Of the plugins it
loads those that own the run's formulation, kernel, data source and metrics, and those whose solvers a certificate asks for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import HarnessError, InvalidModel
from harness.kernels.oracle import engine_of
from harness.measure.core_set import CoreSetCertificate, core_set_certificate
from harness.measure.inlier_margin import InlierMargin, inlier_margin
from harness.measure.learning_curve import areas
from harness.measure.metrics import accuracy
from harness.measure.scored import FreeExpansion, Scored, Weights
from harness.measure.trace import FIGURES, TracePlan, certified_figures
from harness.path import Cell, SolutionPath
from harness.plain import clean, clipped
from harness.problems.problem import Problem
from harness.registry import Registry, load_registry, share_registry
from harness.run import allowed
from harness.run.child import Workbench, is_environment, sentence
from harness.run.messages import METRIC, BrokenStream, Busy, Certified, Certify, Model, Point, Reader, Solved, send
from harness.run.plan import RunSpec
from harness.run.record import Status

if TYPE_CHECKING:
    from harness.arrays import Vector
    from harness.datasets.dataset import Dataset
    from harness.problems.certificate import Certificate


_OURS = frozenset({*FIGURES, "positive_support_vectors", "test_accuracy", "metrics"})
"""The figures of a trace point that only the certifier has."""


class Judge:
    """Certifies the runs of one problem after another."""

    def __init__(self, spec: RunSpec, bench: Workbench, busy: Callable[[str, float], None] = lambda *_: None) -> None:
        """``busy`` : called with what is done next, and how many seconds it may take."""
        self.spec, self.registry, self._busy = spec, bench.registry, busy
        self.dataset: Dataset = bench.dataset(spec)
        self.problem: Problem = bench.problem(spec)
        self.bought: Any = np.zeros(0, dtype=np.int64)  # in the order of purchase, where labels are sold
        self.faults: list[str] = []

    def verdict(self, solved: Solved) -> dict[str, Any]:
        """Return fields of a record: the certificate, the scores, the trace. ``status`` only where the model is refused."""
        if solved.bought is not None:
            self.bought = solved.bought
        trace: list[dict[str, Any]] = []
        figures: dict[str, Any] = {"trace": trace}
        self._certify_next()
        try:
            trace.extend(self._point(point) for point in solved.points)
            if solved.model:
                figures = self._end(Model.unpacked(solved.model), trace)
        except InvalidModel as error:
            reason = f"solver '{self.spec.solver}' returned an invalid model: {error}"
            figures = {"trace": trace, "status": Status.INVALID, "reason": reason}
        return {**figures, "faults": [*dict.fromkeys(self.faults)]}

    def _certify_next(self) -> None:
        kinds = (("formulation", self.spec.formulation), ("kernel", self.spec.kernel))
        of_plugins = any(self.registry.owner(*kind) != "harness" for kind in kinds)
        self._busy("certifying the model", allowed.certifying(self.spec.limits.seconds, of_plugins=of_plugins))

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
        positives = int(np.count_nonzero(coef[self.dataset.y_train > 0.0])) + int(np.sum(np.asarray(own_coef) > 0.0))
        positive, counted = (
            {"positive_support_vectors": positives},
            {"support_vectors": int(np.count_nonzero(coef)) + len(own_coef)},
        )
        return counted | positive if self.dataset.task == "classification" else counted

    def _trace_scores(self, coef: Any, intercept: float) -> dict[str, Any]:
        """Return the test accuracy of a trace point where it is cheap, and where labels are sold all metrics."""
        dataset, sells = self.dataset, self.problem.sells_labels
        values = len(dataset.y_test) * int(np.count_nonzero(coef))
        # of one class a model has no support, and is a point of the learning curve all the same
        least = 0 if sells and len(dataset.y_test) else 1
        if dataset.task != "classification" or not least <= values <= TracePlan.certificate_values:
            return {}
        scores = self.problem.scores_new(coef, intercept, dataset.x_test)
        return self._scores(scores) if sells else {"test_accuracy": accuracy(dataset.y_test, scores)}

    def _end(self, model: Model, trace: list[dict[str, Any]]) -> dict[str, Any]:
        """Check, certify and score the last model."""
        if model.dual_coef is None:
            return self._scored(model, trace)
        problem, dataset = self._problem_after(None), self.dataset
        coef, intercept = problem.checked(model.coefficients(problem.n), model.intercept)
        scores = problem.kernel.expand(coef)
        certificate = problem.certify(coef, intercept, scores)
        counts = self._counts(coef)
        support = counts["support_vectors"]
        found: dict[str, Any] = {**certificate.as_dict(), **counts, "core_set_size": support}
        found |= missed(certificate, self.spec.limits.target_gap)
        if dataset.task == "classification":
            plain_scores = scores - problem.kernel.ridge * coef  # the model's f has no ridge
            found["train_accuracy"] = accuracy(dataset.y_train, plain_scores + intercept)
        if len(dataset.y_test):
            found.update(self._scores(problem.scores_new(coef, intercept, dataset.x_test)))
        if self.spec.core_set_oracle and support and problem.has_core_set:
            found["core_set"] = self._core_set(coef)
        if dataset.planted is not None and problem.gives_up_points():
            found["inlier_margin"] = self._inlier_margin(dataset.planted, certificate.margin_lower)
        shown = {name: found[name] for name in (*FIGURES, "test_accuracy") if found.get(name) is not None}
        end = {"reason": "end", "support_vectors": support, **shown}
        if problem.sells_labels:
            end |= {**counts, "labels_used": len(self.bought), "metrics": found.get("metrics") or {}}
            found["aubc"] = areas([*trace, end])
        return {**found, "trace": [*trace, end]}

    def _scores(self, scores: Any) -> dict[str, Any]:
        """Return test accuracy and metrics; a metric that fails costs its own figure alone."""
        dataset, found = self.dataset, dict[str, Any]()
        for name in self.spec.metrics:
            of_plugin = self.registry.owner("metric", name) != "harness"
            if of_plugin:
                self._busy(f"{METRIC} '{name}'", allowed.scoring(self.spec.limits.seconds))
            try:
                # copies: what a metric does to them is seen by no other
                figure = clean(self.registry.metric(name)(dataset.y_test.copy(), scores.copy()))
                if isinstance(figure, (str, dict, bool)):
                    raise TypeError(f"it returned {clipped(repr(figure), 60)}; a metric returns a number")
                found[name] = figure
            except Exception as error:
                self.faults.append(f"metric '{name}' raised {sentence(error)}")
            if of_plugin:
                self._certify_next()
        known = {"metrics": found}
        return (
            {**known, "test_accuracy": accuracy(dataset.y_test, scores)} if dataset.task == "classification" else known
        )

    def _core_set(self, coef: Any) -> dict[str, Any]:
        """Return the core-set certificate; an oracle that fails is its reason, never the run's end."""
        oracle = self.spec.core_set_oracle
        try:
            return core_set_certificate(self.problem, coef, self.registry.solver(oracle)).as_dict()
        except Exception as error:
            return CoreSetCertificate(oracle, 0, reason=f"{oracle} failed on the core set: {sentence(error)}").as_dict()

    def _inlier_margin(self, planted: Any, margin: float | None) -> dict[str, Any] | None:
        """Return the margin of the inliers, and the model's over it; a solver that fails is its reason, no more."""
        name = self.spec.core_set_oracle
        try:
            found = inlier_margin(self.problem, planted, self.registry.solver(name) if name else None)
        except Exception as error:
            told = f"{name or 'the solver that serves for certificates'} failed on the inliers: {sentence(error)}"
            return InlierMargin(name, int((~planted).sum()), reason=told).as_dict()
        if found is None or not found.upper or found.meets or margin is None:
            return None if found is None else found.as_dict()
        return {**found.as_dict(), "ratio": margin / found.upper}

    def _scored(self, model: Model, trace: list[dict[str, Any]]) -> dict[str, Any]:
        """A model that is no dual solution: scores and its size; the certificate is absent."""
        dataset, kernel = self.dataset, self.problem.kernel
        found: dict[str, Any] = {}
        if self.spec.limits.target_gap is not None:
            which = (
                "without dual coefficients" if model.free_coef is None else "that is no dual solution of the problem"
            )
            found |= {"status": Status.MISSED, "reason": f"no gap can be certified of a model {which}"}
        stated = without_certificate(self.problem, model)
        if isinstance(stated, FreeExpansion):
            found |= {"core_set_size": stated.support, **self._counts(stated.coef, stated.own_coef)}
        if dataset.task == "classification":
            found["train_accuracy"] = accuracy(dataset.y_train, stated.scores(kernel, dataset.x_train))
        if len(dataset.y_test):
            found.update(self._scores(stated.scores(kernel, dataset.x_test)))
        end = {name: found[name] for name in ("support_vectors", "test_accuracy") if name in found}
        return {**found, "trace": [*trace, {"reason": "end", **end}]}


_Known = tuple[Any, float] | Scored | str | None

_TOGETHER_VALUES = 1 << 22  # coefficients of cells whose scores are computed at a time: 32 MB


class PathJudge:
    """Certifies the cells of one path after another."""

    def __init__(
        self, spec: RunSpec, path: SolutionPath, dataset: Dataset, busy: Callable[[str, float], None] = lambda *_: None
    ) -> None:
        """``path`` : over the training points of ``dataset``; ``busy`` : called with what is done next, and for how long."""
        self.spec, self.path, self.dataset, self._busy = spec, path, dataset, busy

    def verdict(self, solved: Solved) -> dict[str, Any]:
        """Return ``cells``: for each point fields of a record, ``status`` only where its model is refused."""
        limit = self.spec.limits.seconds
        found: list[dict[str, Any]] = []
        for group in self._together(solved.points):
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

    def _model(self, packed: bytes, cell: Cell) -> _Known:
        """Return coefficients and intercept, a model that is no dual solution, why it is refused, or None: there is none."""
        if not packed:
            return None
        problem = self.path.problem(cell)
        try:
            model = Model.unpacked(packed)
            if model.dual_coef is None:
                return without_certificate(problem, model)
            return problem.checked(model.coefficients(problem.n), model.intercept)
        except (InvalidModel, BrokenStream) as error:
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


def without_certificate(problem: Problem, model: Model) -> Scored:
    """Return a model that is no dual solution of its problem.

    Raises
    ------
    InvalidModel, BrokenStream : it is none.
    """
    kernel = problem.kernel
    if model.free_coef is None:
        return Weights.checked(kernel, model.weights, model.intercept)
    coef: Any = model.coefficients(problem.n)
    if model.own is None:
        return FreeExpansion.checked(kernel, coef, None, model.intercept)
    coef = np.concatenate([coef, model.own.coef])
    return FreeExpansion.checked(kernel, coef, model.own.points(kernel.n_features), model.intercept)


def missed(certificate: Certificate, target_gap: float | None) -> dict[str, Any]:
    """Return status and reason of a model whose certificate does not meet the gap that was asked for; nothing if it does."""
    if target_gap is None or certificate.meets(target_gap):
        return {}
    gap = certificate.relative_gap
    told = (
        "no gap can be certified" if gap is None else f"the certified relative gap is {gap:.2g}, above {target_gap:g}"
    )
    return {"status": Status.MISSED, "reason": certificate.undecidable or told}


class Certifier:
    """Serves the driver until it closes the socket."""

    def __init__(self, control: int) -> None:
        self.control = control
        self.benches: dict[tuple[str, ...], Workbench] = {}
        self.installed: Registry | None = None
        self._read: tuple[str, ...] = ()  # which data and kernel were last read
        share_registry(self._installed)

    def serve(self) -> None:
        """Answer requests one after another."""
        reader = Reader(self.control)
        while not reader.closed:
            for request in reader.read():
                assert isinstance(request, Certify)
                send(self.control, Certified(self._answer(request)))

    def _busy(self, what: str, seconds: float) -> None:
        send(self.control, Busy(what, seconds))

    def _installed(self) -> Registry:
        """Return the installed plugins, which a certificate may ask for an oracle (ramp-svc); loaded when one does."""
        self.installed = load_registry()
        return self.installed

    def _bench(self, spec: RunSpec) -> Workbench:
        """Return the workbench over the plugins that the run's certificate needs, and no others."""
        if spec.trusted not in self.benches:
            self._busy("loading plugins", allowed.starting(spec.limits.seconds))
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
            if self._read != (read := (spec.data_key, spec.kernel, repr(spec.kernel_parameters))):
                self._busy("reading the data", request.reading)
            self._read = read
            judge: Judge | PathJudge = (
                PathJudge(spec, bench.path(spec), bench.dataset(spec), self._busy)
                if spec.path
                else Judge(spec, bench, self._busy)
            )
            found = judge.verdict(request.solved)
            return {**found, "sources": {name: sha for each in registries for name, sha in each.sources().items()}}
        except Exception as error:
            status = Status.ENVIRONMENT if is_environment(error) else Status.ERROR
            said = str(error) if isinstance(error, HarnessError) else sentence(error)
            return {"status": status, "reason": f"the model could not be certified: {said}"}


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
