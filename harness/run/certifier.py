"""The certifier: certificates and scores of models, in a process that never ran the solver.

It loads the data itself, states the problem itself, and gets the model's numbers and nothing else. Started as
``python -m harness.run.descendants harness.run.certifier FD``; FD is its end of the driver's socket pair. Of the plugins it
loads those that own the run's formulation, kernel, data source and metrics, and those whose solvers a certificate asks for.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from harness.datasets.dataset import Dataset
from harness.kernels.checks import check_same_values, reasons_against
from harness.measure.core_set import CoreSetCertificate, core_set_certificate
from harness.measure.metrics import accuracy
from harness.measure.outcome import DualBound, Status, TracePoint
from harness.measure.scored import Scored, Weights, no_gap
from harness.measure.trace import FIGURES, TracePlan, certificate_of
from harness.problems.problem import Certificate, CertifiedRun, Problem
from harness.registry.discovery import Registry, load_registry, share_registry
from harness.run import messages
from harness.run.channel import BrokenStream, Channel, control_socket
from harness.run.problem_factory import ProblemFactory
from harness.run.record import CertifiedFigures
from harness.run.target_server import only_queried
from harness.solver.path import GridPoint, SolutionPath
from harness.solver.protocol import DEFAULT_RELATIVE_GAP
from harness.support import decimals
from harness.support.arrays import Vector
from harness.support.errors import InvalidKernel, InvalidModel, PluginError
from harness.support.faults import format_error, is_environment
from harness.support.printable import clean, clipped

_TOLERATED = 0.01  # rounding of a cell's gap, as a share of the target gap: less costs as much as to solve ten cells
_TOGETHER_VALUES = 1 << 22  # coefficients of cells whose scores are computed at a time: 32 MB


@dataclass(frozen=True)
class _Dual:
    """A dual solution: coefficients, (n,), which satisfy the constraints."""

    coef: Vector
    intercept: float


_Model = _Dual | Scored


@dataclass(frozen=True)
class _Fit:
    """A model that is certified.

    fields : of a record; ``status`` and ``reason`` only where the certificate contradicts itself or misses the target gap
    scores : f(x) of new points, (m,)
    run : what a formulation computes its figures from; None of a model that is no dual solution
    """

    fields: dict[str, Any]
    scores: Callable[[Any], Vector]
    run: CertifiedRun | None = None


class RunCertifier:
    """Certifies and scores the models of one run.

    bound : a certified dual value of its problem, for models that have none
    faults : sentences, of what cost a figure and not the run
    """

    def __init__(
        self, spec: messages.RunSpec, dataset: Dataset, registry: Registry, bound: DualBound | None = None
    ) -> None:
        self.spec, self.dataset, self.registry, self.bound = spec, dataset, registry, bound
        self.faults: list[str] = []

    @contextlib.contextmanager
    def _reporting(self, what: str, plugin: str = "") -> Iterator[None]:
        """Go on after an exception, which is a fault: ``what`` and how it failed."""
        try:
            yield
        except Exception as error:
            self.faults.append(f"{what}: {format_error(error, plugin)}")

    # -- one model -----------------------------------------------------------------------------------

    def model(self, problem: Problem, packed: bytes) -> _Model:
        """Return a model of the problem.

        Raises
        ------
        InvalidModel, BrokenStream : it is none.
        """
        model = messages.Model.unpacked(packed)
        if model.dual_coef is None:
            return model.opened(problem.kernel)
        return _Dual(*problem.checked(model.coefficients(problem.n), model.intercept))

    def certify(
        self, problem: Problem, model: _Model, points: Any, targets: Vector, product: Vector | None = None,
        tolerated_rounding: float = 0.0,
    ) -> _Fit:  # fmt: skip
        """Return the certified model, with its accuracy on the training points.

        points, targets : of the training points
        product : K coef, (n,), of a dual solution; None: it is computed
        tolerated_rounding : see :meth:`Problem.certify`
        """
        kernel, of, run, distance = problem.kernel, "", None, None
        scores: Callable[[Any], Vector]
        if isinstance(model, _Dual):
            coef, intercept = model.coef, model.intercept
            product = kernel.expand(coef) if product is None else product
            certificate = problem.certify(coef, intercept, product, tolerated_rounding=tolerated_rounding)
            run = CertifiedRun(coef, intercept, product, certificate)
            train = problem.decision_values(product - kernel.ridge * coef, coef, intercept)  # f has no ridge
            sizes, scores = self._sizes(targets, coef), partial(problem.scores_new, coef, intercept)
        else:
            scores = partial(model.scores, kernel)
            train = scores(points)
            certificate = model.certificate(problem, train)
            of = no_gap(model.form, type(problem), linear=kernel.is_linear)
            if not of and certificate.primal is None:
                of = f"weights with an intercept for {problem.name}, which has none"
            sizes = {} if isinstance(model, Weights) else self._sizes(targets, model.coef, model.own_coef)
            distance = None if self.bound is None else self.bound.suboptimality(problem, certificate.primal)
            if certificate.primal is not None and problem.bounded_from and certificate.relative_gap is None:
                of = of and f"{of}, and no dual bound of this problem is known"
        fields = certificate.as_dict() | sizes | self._missed(certificate, distance, of)
        if self.bound is not None and distance is not None:
            fields |= {"suboptimality": distance, "best_dual": self.bound.value, "best_dual_of": self.bound.of}
        fields["core_set_size"] = sizes.get("support_vectors")
        fields["train_accuracy"] = self._accuracy(targets, train, "train")
        return _Fit(fields, scores, run)

    def _missed(self, certificate: Certificate, distance: float | None, of: str) -> dict[str, Any]:
        """Return status and reason where the certificate contradicts itself or a dual, or does not show the requested gap.

        distance : suboptimality of a model that is no dual solution, by the dual of another run
        of : of what no gap can be certified, where there is a reason to say so
        """
        if self.bound is not None and distance is not None and distance < -decimals.UNKNOWN_ROUNDING:
            values = f"its primal value {certificate.primal:.10g} contradicts the certified dual value {self.bound.value:.10g}"
            reason = f"{values} of {self.bound.of}, beyond rounding; check the formulation and the kernel."
            return {"status": Status.INVALID, "reason": reason}
        target, gap = self.spec.limits.target_gap, certificate.relative_gap
        if certificate.contradicts_itself:
            bounds = "its bounds of the margin cross" if gap is None else f"a relative gap of {decimals.gap(gap)}"
            reason = f"{bounds}, beyond rounding; check the formulation and the kernel."
            return {"status": Status.INVALID, "reason": f"the certificate contradicts itself: {reason}"}
        if target is None or certificate.meets(target) or (distance is not None and distance <= target):
            return {}
        reason = f"no gap can be certified{of and f' of {of}'}"
        if gap is not None:
            rounded, limit = gap + (certificate.gap_rounding or 0.0), decimals.target(target)
            reason = f"the certified relative gap is {decimals.above(gap, target)}, above {limit}"
            if gap <= target:
                most = decimals.above(rounded, target)
                reason = (
                    f"the certified relative gap is {decimals.gap(gap)}, but may be {most} by rounding, above {limit}"
                )
        elif self.bound is not None and distance is not None:
            above = f"{decimals.above(distance, target)}, above {decimals.target(target)}"
            reason = f"its suboptimality, with the dual of {self.bound.of}, is {above}"
        return {"status": Status.MISSED, "reason": certificate.undecidable or reason}

    def _invalid(self, error: Exception) -> dict[str, Any]:
        return {"status": Status.INVALID, "reason": f"solver '{self.spec.solver}' returned an invalid model: {error}"}

    def _sizes(self, targets: Vector, coef: Vector, extra_coef: Any = ()) -> dict[str, int]:
        """Return the number of support vectors, and in classification of those whose label is +1.

        extra_coef : coefficients of points that are not training points, whose label is the sign of their coefficient
        """
        sizes = {"support_vectors": int(np.count_nonzero(coef)) + len(extra_coef)}
        if self.dataset.task == "classification":
            positives = np.count_nonzero(coef[targets > 0.0]) + np.sum(np.asarray(extra_coef) > 0.0)
            sizes["positive_support_vectors"] = int(positives)
        return sizes

    def _figures(self, problem: Problem, run: CertifiedRun) -> dict[str, Any]:
        """Return the columns of the formulation with their figures; one that fails costs itself alone."""
        columns = {column.name: column.as_dict() for column in problem.columns}
        values, figures = dict[str, Any](), dict[str, Any]()
        if not columns:
            return {}
        with self._reporting(f"{problem.name} has no figures"):
            values.update(problem.figures(run))
        for name, value in values.items():
            title = columns[name]["title"] if name in columns else clipped(str(name), 60)
            with self._reporting(f"no {' '.join(title.split())}"):
                if name not in columns:
                    raise PluginError(f"{problem.name} declares no such column; its columns: {', '.join(columns)}")
                figure = clean(value() if callable(value) else value)
                if isinstance(figure, list):
                    raise PluginError(f"figures() gave {clipped(repr(figure), 60)}; a figure is one number or text")
                figures[name] = figure
        return {"figures": figures, "columns": columns}

    # -- scores --------------------------------------------------------------------------------------

    def _accuracy(self, targets: Vector, scores: Vector, points: str) -> float | None:
        """Return the share of right labels; None where there are none, and where scores are no numbers.

        points : which ones they are: train, test or validation
        """
        if self.dataset.task != "classification" or not len(targets) or not self._are_finite(scores, points):
            return None
        return accuracy(targets, scores)

    def _are_finite(self, scores: Vector, points: str) -> bool:
        """Return whether all scores are numbers that can be compared with targets; if not, say so once."""
        wrong = int(np.count_nonzero(~np.isfinite(scores)))
        if wrong:
            self.faults.append(
                f"f(x) is not a finite number at {wrong:,} of {len(scores):,} {points} points, so that no {points} error is "
                "given; scale the data or choose smaller parameters of the kernel."
            )
        return not wrong

    def _validation_error(self, targets: Vector, scores: Vector) -> float | None:
        """Return the share of wrong labels, or in regression the mean squared error, where the scores are finite."""
        if self.dataset.task == "classification":
            share = self._accuracy(targets, scores, "validation")
            return None if share is None else 1.0 - share
        return float(np.mean((scores - targets) ** 2)) if self._are_finite(scores, "validation") else None

    def _test_scores(self, scores: Any) -> dict[str, Any]:
        """Return test accuracy and metrics; a metric that fails costs one figure alone."""
        targets, metrics = self.dataset.y_test, dict[str, Any]()
        for name in self.spec.metrics if self._are_finite(scores, "test") else ():
            with self._reporting(f"metric '{name}' failed", self.registry.owner("metric", name)):
                # copies: a metric that changes them changes nothing for the others
                figure = clean(self.registry.metric(name)(targets.copy(), scores.copy()))
                if isinstance(figure, (str, dict, bool)):
                    raise PluginError(f"it returned {clipped(repr(figure), 60)}; a metric returns a number")
                metrics[name] = figure
        better = {name: self.registry.metric(name).better for name in metrics}
        test_accuracy = self._accuracy(targets, scores, "test")
        return {"metrics": metrics, "metrics_better": better, "test_accuracy": test_accuracy}

    # -- one problem ---------------------------------------------------------------------------------

    def single(self, problem: Problem, solved: messages.ToCertify) -> CertifiedFigures:
        """Return certificate, scores and trace; ``status`` only where the model is refused or misses."""
        fields, trace = dict[str, Any](), list[TracePoint]()
        try:
            trace.extend(self._trace_point(problem, point, solved.queried) for point in solved.points)
            fields = self._final(problem, solved, trace) if solved.model else {}
        except InvalidModel as error:
            fields = self._invalid(error)
        return CertifiedFigures.of({"trace": trace, **fields})

    def _after(self, problem: Problem, queried: Sequence[int]) -> Problem:
        """Return the problem that a model is of: where targets are queried, after these queries and no others."""
        return problem.with_targets(only_queried(self.dataset.y_train, queried)) if problem.queries_targets else problem

    def _trace_point(self, problem: Problem, point: messages.Point, queried: Sequence[int]) -> TracePoint:
        """Return a point with the figures that its process can know as they were claimed, and the others computed."""
        claims = point.figures
        claimed = TracePoint(
            claims.seconds, claims.kernel_evaluations, claims.iteration, claims.reason, claims.support_vectors,
            queried=point.queried if problem.queries_targets else None, cpu_seconds=claims.cpu_seconds, info=claims.info,
        )  # fmt: skip
        if not point.model:
            return claimed
        model, after = messages.Model.unpacked(point.model), self._after(problem, queried[: point.queried])
        if model.dual_coef is None:
            scored = model.opened(problem.kernel)
            further = {
                "primal": scored.primal(problem),
                **self._trace_scores(problem, scored.support or 1, partial(scored.scores, problem.kernel)),
            }
            return msgspec.structs.replace(claimed, **further)
        coef, intercept = model.coefficients(problem.n), model.intercept
        if problem.queries_targets:
            after.checked(coef, intercept)  # nothing can be known of a target that is queried later
        certificate = certificate_of(after, coef, intercept)
        computed = {name: value for name in FIGURES if (value := getattr(certificate, name)) is not None}
        computed |= self._sizes(self.dataset.y_train, coef)
        computed |= self._trace_scores(
            problem, int(np.count_nonzero(coef)), partial(problem.scores_new, coef, intercept)
        )
        computed.pop("metrics_better", None)
        return msgspec.structs.replace(claimed, **computed)

    def _trace_scores(self, problem: Problem, support: int, scores_of: Callable[[Any], Vector]) -> dict[str, Any]:
        """Return the test accuracy of a trace point where it is cheap, and where targets are queried all metrics."""
        dataset, queries = self.dataset, problem.queries_targets
        values = len(dataset.y_test) * support
        # of one class a model has no support, and is a point of the learning curve all the same
        least = 0 if queries and len(dataset.y_test) else 1
        if dataset.task != "classification" or not least <= values <= TracePlan.certificate_values:
            return {}
        scores = scores_of(dataset.x_test)
        if queries:
            return self._test_scores(scores)
        return {"test_accuracy": self._accuracy(dataset.y_test, scores, "test")}

    def _final(self, stated: Problem, solved: messages.ToCertify, trace: list[TracePoint]) -> dict[str, Any]:
        """Certify and score the last model, which is a point of the trace too."""
        problem, dataset = self._after(stated, solved.queried), self.dataset
        fit = self.certify(problem, self.model(problem, solved.model), dataset.x_train, dataset.y_train)
        fields = fit.fields
        if len(dataset.y_test):
            fields |= self._test_scores(fit.scores(dataset.x_test))
        shown: Any = {name: fields.get(name) for name in ("support_vectors", "test_accuracy", *FIGURES)}
        trace.append(end := TracePoint(0.0, None, 0, "end", **shown))
        if fit.run is not None:
            if problem.queries_targets:
                end.positive_support_vectors, end.queried = fields["positive_support_vectors"], len(solved.queried)
                end.metrics = fields.get("metrics") or {}
            oracle = self.spec.core_set_oracle
            solver = self.registry.solver(oracle) if oracle and problem.columns else None
            points = [point.as_dict() for point in trace]
            fields |= self._core_set(problem, fit.run.dual_coef) | self._figures(
                problem, replace(fit.run, planted=dataset.planted, solver=solver, trace=points, queried=solved.queried)
            )
        return fields

    def _core_set(self, problem: Problem, coef: Vector) -> dict[str, Any]:
        """Return the certificate of the core set where a solver for it was named; one that fails is its reason."""
        oracle = self.spec.core_set_oracle
        if not oracle or not problem.has_core_set or not coef.any():
            return {}
        try:
            core = core_set_certificate(problem, coef, self.registry.solver(oracle))
        except Exception as error:
            core = CoreSetCertificate(oracle, 0, reason=f"{oracle} failed on the core set: {format_error(error)}")
        return {"core_set": core.as_dict()}

    # -- the cells of a path -------------------------------------------------------------------------

    def cells(self, path: SolutionPath, finished: list[messages.FinishedCell]) -> list[CertifiedFigures]:
        """Return the figures of the cells, ``status`` only where its model is refused or misses.

        Of neighbours with the same kernel the scores are one product with the same kernel values.

        path : over the training points of the data set
        """
        for index, times in Counter(cell.index for cell in finished).items():
            if times > 1 or not 0 <= index < len(path.cells):
                raise BrokenStream(f"cell {index} of a path that has {len(path.cells)}, or had it already")
        most, axes = max(1, _TOGETHER_VALUES // max(1, path.n)), path.grid.kernel_axes
        certified: list[dict[str, Any]] = []
        for _, group in itertools.groupby(
            finished, lambda cell: [path.cells[cell.index].values[name] for name in axes]
        ):
            cells = list(group)
            for first in range(0, len(cells), most):
                certified += self._group(path, cells[first : first + most])
        return [CertifiedFigures.of(fields) for fields in certified]

    def _group(self, path: SolutionPath, cells: list[messages.FinishedCell]) -> list[dict[str, Any]]:
        """Return the fields of cells with the same kernel."""
        points = [path.cells[cell.index] for cell in cells]
        whole = path.engine(points[0])
        for reason in reasons_against(whole.kernel, self.dataset.x_train):
            return [{"status": Status.INVALID, "reason": f"{reason}."} for _ in cells]
        certified: list[dict[str, Any]] = [{"n_train": len(path.members(point))} for point in points]
        models, coefs = dict[int, tuple[Problem, _Model]](), np.zeros((len(cells), path.n))
        for row, (cell, point) in enumerate(zip(cells, points, strict=True)):
            try:
                if cell.model:
                    problem = path.problem(point)
                    models[row] = problem, (model := self.model(problem, cell.model))
                    if isinstance(model, _Dual):
                        coefs[row, path.members(point)] = model.coef
                elif cell.claims.status is not Status.INVALID:  # which says why
                    raise InvalidModel("the cell ended without one")
            except (InvalidModel, BrokenStream) as error:
                certified[row] |= self._invalid(error)
        support = np.flatnonzero(coefs.any(axis=0))
        sums = whole.expand_models(support, coefs[:, support].T)
        for row, (problem, model) in models.items():
            certified[row] |= self._cell(path, points[row], problem, model, sums[row])
        return certified

    def _cell(
        self, path: SolutionPath, cell: GridPoint, problem: Problem, model: _Model, sums: Vector
    ) -> dict[str, Any]:
        """Return the fields of a cell.

        sums : of a dual solution sum_j coef_j k(x_j, x_i), for all points of the path
        """
        dataset, product, points = self.dataset, None, None
        members, left_out = path.members(cell), path.left_out(cell)
        if not isinstance(model, _Dual):
            points = path.rows(members, members)
        elif problem.kernel.z is None:
            product = sums[members] + problem.kernel.ridge * model.coef
        tolerated = _TOLERATED * (self.spec.limits.target_gap or DEFAULT_RELATIVE_GAP)
        fit = self.certify(problem, model, points, path.targets[members], product, tolerated)
        fields = fit.fields if fit.run is None else fit.fields | self._figures(problem, fit.run)
        if len(left_out):
            if isinstance(model, _Dual) and type(problem).scores_new is Problem.scores_new:
                scores = problem.decision_values(sums[left_out], model.coef, model.intercept)
            else:  # the model is no plain sum of kernel values
                scores = fit.scores(path.rows(left_out, members))
            fields["validation_error"] = self._validation_error(path.targets[left_out], scores)
        elif len(dataset.y_test) and dataset.task == "classification":
            fields["test_accuracy"] = self._accuracy(dataset.y_test, fit.scores(dataset.x_test), "test")
        return fields


class Certifier:
    """Serves the driver until it closes the socket."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.factories: dict[tuple[str, ...], ProblemFactory] = {}
        self.installed: Registry | None = None
        share_registry(self._installed)

    def serve(self) -> None:
        """Answer requests one after another."""
        for request in self.channel:
            if isinstance(request, messages.Prepare):
                with contextlib.suppress(Exception):  # a run will say what is wrong
                    self._factory(request.spec).problem(request.spec.first)
                self.channel.send(messages.Prepared())
            else:
                self.channel.send(self._answer(request))

    def _installed(self) -> Registry:
        """Return the installed plugins, which a certificate may need for a solver; they are loaded then."""
        self.installed = load_registry()
        return self.installed

    def _factory(self, spec: messages.RunSpec) -> ProblemFactory:
        """Return the problem factory with the plugins that the run's certificate needs, and no others."""
        if spec.trusted not in self.factories:
            from threadpoolctl import threadpool_limits

            self.factories.clear()  # their data are those of other runs
            self.factories[spec.trusted] = ProblemFactory(load_registry(spec.plugin_paths, only=spec.trusted))
            threadpool_limits(spec.threads)
        return self.factories[spec.trusted]

    def _answer(self, request: messages.Certify) -> messages.Certified:
        spec, solved, cells = request.spec, request.solved, list[CertifiedFigures]()
        try:
            factory = self._factory(spec)
            registries = [registry for registry in (self.installed, factory.registry) if registry is not None]
            for registry in registries:
                registry.used.clear()
            run = RunCertifier(spec, factory.dataset(spec), factory.registry, request.bound)
            if solved.model or solved.kernel_sample is not None:  # a run that was killed has neither
                check_same_values(spec.kernel, factory.kernel_sample(spec), solved.kernel_sample)
            if spec.path is None:
                figures = run.single(factory.problem(spec), solved)
            else:
                figures, cells = CertifiedFigures(), run.cells(factory.path(spec), solved.cells)
            figures.faults = [*dict.fromkeys(run.faults)]
            figures.sources = {name: sha for registry in registries for name, sha in registry.sources().items()}
        except InvalidKernel as error:
            figures = CertifiedFigures(status=Status.INVALID, reason=str(error))
        except Exception as error:
            status = Status.ENVIRONMENT if is_environment(error) else Status.ERROR
            figures = CertifiedFigures(status=status, reason=f"the model could not be certified: {format_error(error)}")
        return messages.Certified(figures, cells)


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    with contextlib.suppress(ConnectionError):  # the driver is gone
        Certifier(Channel(control_socket(), messages.ToProcess)).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
