"""The host's verdict on a model: certificate and scores, in a process of its own that never ran the solver.

It loads the data itself, states the problem itself, and is told the model's numbers and nothing else. Started as
``python -m harness.run.descendants harness.run.certifier FD``; FD is its end of the driver's socket pair. Of the plugins it
loads those that own the run's formulation, kernel, data source and metrics, and those whose solvers a certificate asks for.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from harness.kernels.checks import check_same_values, reasons_against
from harness.measure.core_set import CoreSetCertificate, core_set_certificate
from harness.measure.metrics import accuracy
from harness.measure.outcome import Status, TracePoint
from harness.measure.scored import FreeModel, Scored, Weights, no_gap
from harness.measure.trace import FIGURES, TracePlan, certificate_of
from harness.problems.problem import Certificate, CertifiedRun, Problem
from harness.registry.discovery import Registry, load_registry, share_registry
from harness.run import allowed
from harness.run.channel import BrokenStream, Channel
from harness.run.messages import (
    Busy,
    Certified,
    Certify,
    FinishedCell,
    Model,
    Point,
    Prepare,
    Prepared,
    ToCertify,
    ToProcess,
)
from harness.run.plan import RunSpec
from harness.run.problem_factory import ProblemFactory
from harness.run.record import CertifiedFigures
from harness.run.target_server import only_queried
from harness.solver.path import GridPoint, SolutionPath
from harness.solver.protocol import DEFAULT_RELATIVE_GAP
from harness.support.errors import InvalidKernel, InvalidModel, PluginError
from harness.support.faults import format_error, is_environment
from harness.support.printable import clean, clipped

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.support.arrays import Vector


_TOLERATED = (
    0.01  # rounding of a cell's gap, as a share of the target gap; less of it costs as much as to solve ten cells
)
_BEAT_SECONDS = 2.0  # between two signs of life
_TOGETHER_VALUES = 1 << 22  # coefficients of cells whose scores are computed at a time: 32 MB


@dataclass(frozen=True)
class _Dual:
    """A dual solution: coefficients, (n,), which satisfy the constraints."""

    coef: Vector
    intercept: float


@dataclass(frozen=True)
class _Fit:
    """A model that is certified.

    fields : of a record; ``status`` and ``reason`` only where the certificate contradicts itself or misses the target gap
    scores : f(x) of new points, (m,)
    run : what a formulation computes its own figures from; None of a model that is no dual solution
    """

    fields: dict[str, Any]
    scores: Callable[[Any], Vector]
    run: CertifiedRun | None = None


class RunCertifier:
    """Certifies and scores the models of one run.

    faults : sentences, of what cost a figure and not the run
    """

    def __init__(self, spec: RunSpec, dataset: Dataset, registry: Registry) -> None:
        self.spec, self.dataset, self.registry = spec, dataset, registry
        self.faults: list[str] = []

    # -- one model -----------------------------------------------------------------------------------

    def model(self, problem: Problem, packed: bytes) -> _Dual | Scored:
        """Return a model of the problem.

        Raises
        ------
        InvalidModel, BrokenStream : it is none.
        """
        model, kernel = Model.unpacked(packed), problem.kernel
        if model.dual_coef is not None:
            return _Dual(*problem.checked(model.coefficients(problem.n), model.intercept))
        if model.free_coef is None:
            return Weights.checked(kernel, model.weights, model.intercept, model.features(kernel.n_features))
        coef: Any = model.coefficients(problem.n)
        own = None if model.own is None else model.own.points(kernel.n_features)
        coef = coef if model.own is None else np.concatenate([coef, model.own.coef])
        return FreeModel.checked(kernel, coef, own, model.intercept)

    def certify(
        self, problem: Problem, model: _Dual | Scored, points: Any, targets: Vector, product: Vector | None = None,
        tolerated_rounding: float = 0.0,
    ) -> _Fit:  # fmt: skip
        """Return the certified model, with its accuracy on the training points.

        points, targets : of the training points
        product : K coef, (n,), of a dual solution; None: it is computed
        tolerated_rounding : see :meth:`Problem.certify`
        """
        kernel, of, run = problem.kernel, "", None
        scores: Callable[[Any], Vector]
        if isinstance(model, _Dual):
            coef, intercept = model.coef, model.intercept
            product = kernel.expand(coef) if product is None else product
            certificate = problem.certify(coef, intercept, product, tolerated_rounding=tolerated_rounding)
            run = CertifiedRun(coef, intercept, product, certificate)
            train = problem.decision_values(product - kernel.ridge * coef, coef, intercept)  # f has no ridge
            sizes = self._sizes(targets, coef)
            scores = partial(problem.scores_new, coef, intercept)
        else:
            scores = partial(model.scores, kernel)
            train = scores(points)
            certificate = model.certificate(problem, train)
            of = no_gap(model.form, type(problem), linear=kernel.is_linear)
            if not of and certificate.primal is None:
                of = f"weights with an intercept for {problem.name}, which has none"
            sizes = {} if isinstance(model, Weights) else self._sizes(targets, model.coef, model.own_coef)
        if sizes:
            sizes["core_set_size"] = sizes["support_vectors"]
        train_accuracy = self._accuracy(targets, train, "train_accuracy")
        return _Fit({**certificate.as_dict(), **sizes, **self._missed(certificate, of), **train_accuracy}, scores, run)

    def _missed(self, certificate: Certificate, of: str) -> dict[str, Any]:
        """Return status and reason where the certificate contradicts itself, or does not show the gap that was asked for.

        of : of what no gap can be certified, where there is a reason to say so
        """
        target, gap = self.spec.limits.target_gap, certificate.relative_gap
        if certificate.contradicts_itself:
            bounds = "its bounds of the margin cross" if gap is None else f"a relative gap of {gap:.2g}"
            reason = (
                f"the certificate contradicts itself: {bounds}, beyond rounding; check the formulation and the kernel."
            )
            return {"status": Status.INVALID, "reason": reason}
        if target is None or certificate.meets(target):
            return {}
        reason = f"no gap can be certified{of and f' of {of}'}"
        reason = reason if gap is None else f"the certified relative gap is {gap:.2g}, above {target:g}"
        return {"status": Status.MISSED, "reason": certificate.undecidable or reason}

    def _invalid(self, error: Exception) -> dict[str, Any]:
        return {"status": Status.INVALID, "reason": f"solver '{self.spec.solver}' returned an invalid model: {error}"}

    def _sizes(self, targets: Vector, coef: Vector, own_coef: Any = ()) -> dict[str, Any]:
        """Return the number of support vectors, and in classification of those whose label is +1.

        own_coef : coefficients of points of the model's own, whose label is the sign of their coefficient
        """
        support = int(np.count_nonzero(coef)) + len(own_coef)
        found = {"support_vectors": support}
        if self.dataset.task == "classification":
            positives = np.count_nonzero(coef[targets > 0.0]) + np.sum(np.asarray(own_coef) > 0.0)
            found["positive_support_vectors"] = int(positives)
        return found

    def _figures(self, problem: Problem, run: CertifiedRun) -> dict[str, Any]:
        """Return the columns of the formulation with their figures; one that fails costs itself alone."""
        columns, figures = {column.name: column.as_dict() for column in problem.columns}, dict[str, Any]()
        if not columns:
            return {}
        try:
            values = dict(problem.figures(run))
        except Exception as error:
            self.faults.append(f"{problem.name} has no figures: {format_error(error)}")
            values = {}
        for name, value in values.items():
            try:
                if name not in columns:
                    raise PluginError(f"{problem.name} declares no such column; its columns: {', '.join(columns)}")
                figure = clean(value() if callable(value) else value)
                if isinstance(figure, list):
                    raise PluginError(f"figures() gave {clipped(repr(figure), 60)}; a figure is one number or text")
                figures[name] = figure
            except Exception as error:
                title = columns[name]["title"] if name in columns else clipped(str(name), 60)
                self.faults.append(f"no {' '.join(title.split())}: {format_error(error)}")
        return {"figures": figures, "columns": columns}

    # -- scores --------------------------------------------------------------------------------------

    def _accuracy(self, targets: Vector, scores: Vector, name: str) -> dict[str, Any]:
        """Return the share of right labels under its name, where there are labels."""
        if self.dataset.task != "classification" or not len(targets):
            return {}
        finite = self._are_finite(scores, name.removesuffix("_accuracy"))
        return {name: accuracy(targets, scores)} if finite else {}

    def _are_finite(self, scores: Vector, of: str) -> bool:
        """Return whether all scores are numbers that can be compared with targets; if not, say so once."""
        wrong = int(np.count_nonzero(~np.isfinite(scores)))
        if wrong:
            self.faults.append(
                f"f(x) is not a finite number at {wrong:,} of {len(scores):,} {of} points, so that no {of} error is given; "
                "scale the data or choose smaller parameters of the kernel."
            )
        return not wrong

    def _validation_error(self, targets: Vector, scores: Vector) -> dict[str, Any]:
        """Return the share of wrong labels, or in regression the mean squared error, where the scores are finite."""
        if not self._are_finite(scores, "validation"):
            return {}
        if self.dataset.task == "classification":
            return {"validation_error": 1.0 - accuracy(targets, scores)}
        return {"validation_error": float(np.mean((scores - targets) ** 2))}

    def _test_scores(self, scores: Any) -> dict[str, Any]:
        """Return test accuracy and metrics; a metric that fails costs its own figure alone."""
        dataset, found = self.dataset, dict[str, Any]()
        for name in self.spec.metrics if self._are_finite(scores, "test") else ():
            try:
                # copies: what a metric does to them is seen by no other
                figure = clean(self.registry.metric(name)(dataset.y_test.copy(), scores.copy()))
                if isinstance(figure, (str, dict, bool)):
                    raise PluginError(f"it returned {clipped(repr(figure), 60)}; a metric returns a number")
                found[name] = figure
            except Exception as error:
                self.faults.append(
                    f"metric '{name}' failed: {format_error(error, self.registry.owner('metric', name))}"
                )
        better = {name: self.registry.metric(name).better for name in found}
        return {"metrics": found, "metrics_better": better, **self._accuracy(dataset.y_test, scores, "test_accuracy")}

    # -- one problem ---------------------------------------------------------------------------------

    def single(self, problem: Problem, solved: ToCertify) -> dict[str, Any]:
        """Return fields of a record: certificate, scores and trace; ``status`` only where the model is refused or misses."""
        trace: list[TracePoint] = []
        try:
            trace.extend(self._trace_point(problem, point, solved.queried) for point in solved.points)
            return self._final(problem, solved, trace) if solved.model else {"trace": trace}
        except InvalidModel as error:
            return {"trace": trace, **self._invalid(error)}

    def _after(self, problem: Problem, queried: Sequence[int]) -> Problem:
        """Return the problem that a model is of: where targets are queried, after these queries and no others."""
        return problem.with_targets(only_queried(self.dataset.y_train, queried)) if problem.queries_targets else problem

    def _trace_point(self, problem: Problem, point: Point, queried: Sequence[int]) -> TracePoint:
        """Return a point with the figures that its process can know as they were claimed, and the others computed."""
        said = point.figures
        claimed = TracePoint(
            said.seconds, said.kernel_evaluations, said.iteration, said.reason, said.support_vectors,
            queried=point.queried if problem.queries_targets else None, cpu_seconds=said.cpu_seconds, info=said.info,
        )  # fmt: skip
        if not point.model:
            return claimed
        model, after = Model.unpacked(point.model), self._after(problem, queried[: point.queried])
        coef, intercept = model.coefficients(problem.n), model.intercept
        if problem.queries_targets:
            after.checked(coef, intercept)  # nothing can be known of a target that is queried later
        certificate = certificate_of(after, coef, intercept)
        known = {name: value for name in FIGURES if (value := getattr(certificate, name)) is not None}
        known |= self._sizes(self.dataset.y_train, coef) | self._trace_scores(problem, coef, intercept)
        known.pop("metrics_better", None)
        return msgspec.structs.replace(claimed, **known)

    def _trace_scores(self, problem: Problem, coef: Any, intercept: float) -> dict[str, Any]:
        """Return the test accuracy of a trace point where it is cheap, and where targets are queried all metrics."""
        dataset, queries = self.dataset, problem.queries_targets
        values = len(dataset.y_test) * int(np.count_nonzero(coef))
        # of one class a model has no support, and is a point of the learning curve all the same
        least = 0 if queries and len(dataset.y_test) else 1
        if dataset.task != "classification" or not least <= values <= TracePlan.certificate_values:
            return {}
        scores = problem.scores_new(coef, intercept, dataset.x_test)
        return self._test_scores(scores) if queries else self._accuracy(dataset.y_test, scores, "test_accuracy")

    def _final(self, stated: Problem, solved: ToCertify, trace: list[TracePoint]) -> dict[str, Any]:
        """Certify and score the last model."""
        problem, dataset, queried = self._after(stated, solved.queried), self.dataset, solved.queried
        fit = self.certify(problem, self.model(problem, solved.model), dataset.x_train, dataset.y_train)
        found = fit.fields
        if len(dataset.y_test):
            found |= self._test_scores(fit.scores(dataset.x_test))
        shown = ("support_vectors", "test_accuracy", *FIGURES)
        end = TracePoint(0.0, None, 0, "end", **{name: found[name] for name in shown if found.get(name) is not None})
        if fit.run is not None:
            found |= self._core_set(problem, fit.run.dual_coef)
            if problem.queries_targets:
                end.positive_support_vectors, end.queried = found["positive_support_vectors"], len(queried)
                end.metrics = found.get("metrics") or {}
            named = self.spec.core_set_oracle if problem.columns else ""
            oracle = self.registry.solver(named) if named else None
            run = replace(
                fit.run,
                planted=dataset.planted,
                solver=oracle,
                trace=[point.as_dict() for point in (*trace, end)],
                queried=queried,
            )
            found |= self._figures(problem, run)
        return {**found, "trace": [*trace, end]}

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

    def cells(self, path: SolutionPath, finished: list[FinishedCell]) -> list[CertifiedFigures]:
        """Return the figures of each cell, ``status`` only where its model is refused or misses.

        path : over the training points of the data set
        """
        found = (each for group in self._groups(path, finished) for each in self._group(path, group))
        return list(map(CertifiedFigures.of, found))

    def _groups(
        self, path: SolutionPath, finished: list[FinishedCell]
    ) -> Iterator[list[tuple[FinishedCell, GridPoint]]]:
        """Yield neighbours with the same kernel: their scores are one product with the same kernel values."""
        most = max(1, _TOGETHER_VALUES // max(1, path.n))
        group: list[tuple[FinishedCell, GridPoint]] = []
        left = set(range(len(path.cells)))
        for each in finished:
            if each.index not in left:
                raise BrokenStream(f"cell {each.index} of a path that has {len(path.cells)}, or had it already")
            left.remove(each.index)
            cell = path.cells[each.index]
            if group and (len(group) == most or not path.same_kernel(cell, group[0][1])):
                yield group
                group = []
            group.append((each, cell))
        if group:
            yield group

    def _group(self, path: SolutionPath, group: list[tuple[FinishedCell, GridPoint]]) -> list[dict[str, Any]]:
        """Return the fields of cells with the same kernel."""
        whole = path.engine(group[0][1])
        for reason in reasons_against(whole.kernel, self.dataset.x_train):
            return [{"status": Status.INVALID, "reason": f"{reason}."} for _ in group]
        found = [{"n_train": len(path.members(cell))} for _, cell in group]
        models, coefs = dict[int, _Dual | Scored](), np.zeros((len(group), path.n))
        for row, (each, cell) in enumerate(group):
            try:
                if not each.model:
                    if each.claims.status is not Status.INVALID:  # and says why
                        raise InvalidModel("the cell ended without one")
                    continue
                models[row] = model = self.model(path.problem(cell), each.model)
                if isinstance(model, _Dual):
                    coefs[row, path.members(cell)] = model.coef
            except (InvalidModel, BrokenStream) as error:
                found[row] |= self._invalid(error)
        support = np.flatnonzero(coefs.any(axis=0))
        sums = whole.expand_models(support, coefs[:, support].T)
        for row, model in models.items():
            found[row] |= self._cell(path, group[row][1], model, sums[row])
        return found

    def _cell(self, path: SolutionPath, cell: GridPoint, model: _Dual | Scored, sums: Vector) -> dict[str, Any]:
        """Return the fields of a cell.

        sums : of a dual solution sum_j coef_j k(x_j, x_i), for all points of the path
        """
        problem, dataset, product, points = path.problem(cell), self.dataset, None, None
        members, left_out = path.members(cell), path.left_out(cell)
        if not isinstance(model, _Dual):
            points = path.rows(members, members)
        elif problem.kernel.z is None:
            product = sums[members] + problem.kernel.ridge * model.coef
        tolerated = _TOLERATED * (self.spec.limits.target_gap or DEFAULT_RELATIVE_GAP)
        fit = self.certify(problem, model, points, path.targets[members], product, tolerated)
        found = fit.fields if fit.run is None else fit.fields | self._figures(problem, fit.run)
        if len(left_out):
            if isinstance(model, _Dual) and type(problem).scores_new is Problem.scores_new:
                scores = problem.decision_values(sums[left_out], model.coef, model.intercept)
            else:  # the model is no plain sum of kernel values
                scores = fit.scores(path.rows(left_out, members))
            return found | self._validation_error(path.targets[left_out], scores)
        if len(dataset.y_test) and dataset.task == "classification":
            found |= self._accuracy(dataset.y_test, fit.scores(dataset.x_test), "test_accuracy")
        return found


class Certifier:
    """Serves the driver until it closes the socket. While it certifies, a thread of its own says that it is alive."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.benches: dict[tuple[str, ...], ProblemFactory] = {}
        self.installed: Registry | None = None
        share_registry(self._installed)
        self._sending, self._is_certifying = threading.Lock(), threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def serve(self) -> None:
        """Answer requests one after another."""
        for request in self.channel:
            if isinstance(request, Prepare):
                with contextlib.suppress(Exception):  # a run will say what is wrong
                    self._bench(request.spec).problem(request.spec.first)
                self.channel.send(Prepared())
            else:
                self._is_certifying.set()
                answer = self._answer(request)
                with self._sending:
                    self._is_certifying.clear()
                    self.channel.send(answer)

    def _beat(self) -> None:
        with contextlib.suppress(OSError):  # the driver is gone
            while self._is_certifying.wait():
                sleep(_BEAT_SECONDS)
                with self._sending:
                    if self._is_certifying.is_set():
                        self.channel.send(Busy(allowed.SILENT_SECONDS))

    def _installed(self) -> Registry:
        """Return the installed plugins, which a certificate may ask for a solver; loaded when one does."""
        self.installed = load_registry()
        return self.installed

    def _bench(self, spec: RunSpec) -> ProblemFactory:
        """Return the workbench over the plugins that the run's certificate needs, and no others."""
        if spec.trusted not in self.benches:
            from threadpoolctl import threadpool_limits

            self.benches.clear()  # their data are those of other runs
            self.benches[spec.trusted] = ProblemFactory(load_registry(spec.plugin_paths, only=spec.trusted))
            threadpool_limits(spec.threads)
        return self.benches[spec.trusted]

    def _answer(self, request: Certify) -> Certified:
        spec, cells = request.spec, list[CertifiedFigures]()
        try:
            bench = self._bench(spec)
            registries = [each for each in (self.installed, bench.registry) if each is not None]
            for registry in registries:
                registry.used.clear()
            solved, run = request.solved, RunCertifier(spec, bench.dataset(spec), bench.registry)
            if solved.model or solved.kernel_sample is not None:  # a run that was killed has neither
                check_same_values(spec.kernel, bench.kernel_sample(spec), solved.kernel_sample)
            if spec.path is None:
                figures = CertifiedFigures.of(run.single(bench.problem(spec), solved))
            else:
                figures, cells = CertifiedFigures(), run.cells(bench.path(spec), solved.cells)
            figures.faults = [*dict.fromkeys(run.faults)]
            figures.sources = {name: sha for each in registries for name, sha in each.sources().items()}
        except InvalidKernel as error:
            figures = CertifiedFigures(status=Status.INVALID, reason=str(error))
        except Exception as error:
            status = Status.ENVIRONMENT if is_environment(error) else Status.ERROR
            figures = CertifiedFigures(status=status, reason=f"the model could not be certified: {format_error(error)}")
        return Certified(figures, cells)


def main() -> None:
    """Serve the driver at the descriptor named on the command line."""
    with contextlib.suppress(ConnectionError):  # the driver is gone
        Certifier(Channel.from_command_line(ToProcess)).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
