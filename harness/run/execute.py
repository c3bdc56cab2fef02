"""Carry out one run in this process: state the problem, warm up, drive, certify, score."""

from __future__ import annotations

import resource
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import InvalidModel
from harness.kernels.checks import check_finite
from harness.kernels.engine import Engine
from harness.kernels.oracle import KernelOracle
from harness.kernels.ways import is_mapped
from harness.measure.budget import Budget
from harness.measure.compilation import CompilationWatch
from harness.measure.core_set import CoreSetCertificate, core_set_certificate
from harness.measure.drive import Outcome, drive
from harness.measure.machine import load_average, now, reset_peak_memory, status_bytes
from harness.measure.metrics import accuracy
from harness.measure.trace import FIGURES, TracePlan, TracePoint
from harness.problems import FORMULATIONS
from harness.problems.problem import Problem

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.registry import Registry
    from harness.run.study import Record, RunSpec
    from harness.solver import Solver

    Emit = Callable[[dict[str, Any]], None]
    MetricFunction = Callable[[Any, Any], float]

_READ_INTO_MEMORY_BYTES = 2 << 30
_WARM_UP_POINTS = 32
_WARM_UP_YIELDS = 50
_TRACEBACK_CHARACTERS = 2000


class Workbench:
    """What a process keeps between runs: loaded data and the kernel engines over them."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._datasets: dict[str, Dataset] = {}
        self._engines: dict[tuple[str, str], Engine] = {}

    def dataset(self, spec: RunSpec) -> Dataset:
        """Return the run's data; the last set is kept."""
        if spec.data_key not in self._datasets:
            cls = self.registry.datasets.get(spec.source)
            if cls is None:
                from harness.datasets import FileSource

                cls = FileSource
            self._engines.clear()  # they are over the last set
            self._datasets = {spec.data_key: in_memory(cls(**spec.source_parameters).load())}
        return self._datasets[spec.data_key]

    def problem(self, spec: RunSpec) -> Problem:
        """Return the run's problem with a fresh counter and an empty cache, sharing data and norms."""
        dataset = self.dataset(spec)
        kernel = self.registry.kernel_class(spec.kernel)(**spec.kernel_parameters)
        key = (spec.kernel, repr(spec.kernel_parameters))
        if key not in self._engines:
            checked = KernelOracle(kernel, dataset.x_train)
            check_finite(checked)
            self._engines[key] = checked.engine
        oracle = KernelOracle(
            kernel, dataset.x_train, cache_mb=spec.cache_mb, engine=self._engines[key], threads=spec.threads
        )
        return FORMULATIONS[spec.formulation].build(oracle, dataset.y_train, spec.problem_parameters)

    def solver(self, spec: RunSpec) -> Solver:
        """Return the configured solver, with the target gap as its own stopping parameter."""
        cls = self.registry.solver_class(f"{spec.plugin}/{spec.solver}")
        solver = cls(**spec.parameters)
        return solver if spec.target_gap is None else solver.with_target_gap(spec.target_gap)


def in_memory(dataset: Dataset) -> Dataset:
    """Return the data with mapped arrays of moderate size read into memory: kernels are faster on plain arrays."""

    def read(x: Any) -> Any:
        return np.array(x) if is_mapped(x) and x.nbytes <= _READ_INTO_MEMORY_BYTES else x

    return replace(dataset, x_train=read(dataset.x_train), x_test=read(dataset.x_test))


def layout(problem: Problem) -> str:
    """Return what decides which machine code a solver needs: formulation, kernel, dtype, sparse or dense."""
    points = problem.kernel.points
    kind = "dense" if isinstance(points, np.ndarray) else "sparse"
    return f"{problem.name} {problem.kernel.kernel.name} {points.dtype} {kind}"


def warm_up(solver: Solver, problem: Problem) -> float:
    """Run the solver on a few points of the same kind, so that compilation is off the clock; return the seconds.

    A fault of the solver shows in the measured run, not here.
    """
    began = time.perf_counter()
    half = _WARM_UP_POINTS // 2
    members = [np.flatnonzero(problem.targets == label)[:half] for label in np.unique(problem.targets)[:2]]
    if problem.task != "classification":
        members = [np.arange(min(problem.n, _WARM_UP_POINTS))]
    try:
        with problem.kernel.uncounted():
            small = problem.restrict(np.sort(np.concatenate(members)))
            for each in solver.warm_ups():
                if each.skip(small) is None:
                    drive(each, small, np.random.default_rng(0), Budget(seconds=5.0, iterations=_WARM_UP_YIELDS))
    except BaseException:  # whatever it is, sys.exit() included, it is reported where it is measured
        return time.perf_counter() - began
    return time.perf_counter() - began


def measure(
    spec: RunSpec,
    solver: Solver,
    problem: Problem,
    dataset: Dataset,
    emit: Emit,
    *,
    compilation: CompilationWatch,
    metrics: Mapping[str, MetricFunction],
) -> Record:
    """Carry out the run and return what was measured; never raises for a fault of the solver.

    metrics : those of the registry by name; ``spec.metrics`` says which are wanted
    emit : called with ``{"event": "fit" | "point" | "fitted", ...}`` as the run goes on, outside the clock
    """
    reason = solver.skip(problem)
    if reason is not None:
        return {"status": "skipped", "reason": reason, **now()}
    rng = np.random.default_rng(spec.seed)
    budget = Budget(spec.time_limit, spec.kernel_evaluation_limit, spec.iteration_limit, spec.target_gap)

    def test_accuracy(coef: Any, intercept: float) -> float | None:
        support = int(np.count_nonzero(coef))
        if dataset.task != "classification" or len(dataset.y_test) * support > TracePlan.certificate_values:
            return None
        return (
            accuracy(dataset.y_test, problem.scores_new(coef, intercept, dataset.x_test))
            if len(dataset.y_test)
            else None
        )

    record: Record = {"load_average": load_average()}
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    reset_peak_memory()
    emit({"event": "fit"})
    began, compiled = time.monotonic(), compilation.seconds
    try:
        outcome = drive(
            solver,
            problem,
            rng,
            budget,
            TracePlan(),
            observer=lambda point: emit(
                {"event": "point", "point": point.as_dict(), "host_seconds": time.monotonic() - began - point.seconds}
            ),
            metric=test_accuracy,
            clock=compilation.clock,
            cpu_clock=compilation.cpu_clock,
        )
    except MemoryError as error:
        record.update(status="memory", reason=f"out of memory: {str(error) or 'an allocation was refused'}")
    except InvalidModel as error:
        record.update(status="invalid", reason=str(error))
    except SystemExit as error:
        record.update(status="crashed", reason=f"the solver called sys.exit({error.code!r})")
    except (Exception, KeyboardInterrupt) as error:
        record.update(status="error", reason=_sentence(error), output=_tail(error))
    else:
        record.update(_costs(outcome, problem, solver))
        record["trace"] = [point.as_dict() for point in outcome.trace]
    record["compile_seconds"] = compilation.seconds - compiled
    record["involuntary_switches"] = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - switches
    record["peak_rss_bytes"] = status_bytes("VmHWM")
    record.update(now())
    emit({"event": "fitted", "record": record})
    if record["status"] in ("ok", "budget"):
        record.update(_certified(outcome, solver, problem, dataset, {name: metrics[name] for name in spec.metrics}))
        if spec.core_set_oracle and record.get("support_vectors"):
            record["core_set"] = _core_set(outcome, problem, spec.core_set_oracle)
    return record


def _costs(outcome: Outcome, problem: Problem, solver: Solver) -> Record:
    counter = problem.kernel.counter
    return {
        "status": outcome.status,
        "reason": outcome.reason,
        "fit_seconds": outcome.seconds,
        "cpu_seconds": outcome.cpu_seconds,
        "iterations": outcome.iterations,
        "kernel_evaluations": counter.evaluations if solver.observable else None,
        "cache_hits": counter.cache_hits if solver.observable else None,
        "oracle_calls": counter.oracle_calls,
        "oracle_kernel_evaluations": counter.oracle_evaluations,
        "claimed_done": outcome.claimed_done,
        "info": outcome.info,
    }


def _certified(
    outcome: Outcome, solver: Solver, problem: Problem, dataset: Dataset, metrics: Mapping[str, MetricFunction]
) -> Record:
    """Check, certify and score the last model; outside the clock, uncounted."""
    if outcome.dual_coef is None:
        return _scored_weights(outcome, problem, dataset, metrics)
    try:
        coef, intercept = problem.checked(outcome.dual_coef, outcome.intercept)
    except InvalidModel as error:
        return {"status": "invalid", "reason": f"solver '{solver.name}' returned an invalid model: {error}"}
    with problem.kernel.uncounted():
        scores = problem.kernel.expand(coef)
    if not np.isfinite(scores).all():
        return {"status": "invalid", "reason": "f(x) is not finite at every training point; no certificate holds"}
    certificate = problem.certify(coef, intercept, scores)
    support = int(np.count_nonzero(coef))
    record: Record = {**certificate.as_dict(), "support_vectors": support}
    record["core_set_size"] = outcome.core_set if outcome.core_set is not None else support
    if dataset.task == "classification":
        plain_scores = scores - problem.kernel.ridge * coef  # the model's f has no ridge
        record["train_accuracy"] = accuracy(dataset.y_train, plain_scores + intercept)
    if len(dataset.y_test):
        try:
            test_scores = problem.scores_new(coef, intercept, dataset.x_test)
        except InvalidModel as error:  # certified, and yet no function: tube-svr with sigma = 0
            return {**record, "status": "invalid", "reason": str(error)}
        if dataset.task == "classification":
            record["test_accuracy"] = accuracy(dataset.y_test, test_scores)
        record["metrics"] = {name: of(dataset.y_test, test_scores) for name, of in metrics.items()}
    end = TracePoint(
        outcome.seconds,
        problem.kernel.counter.evaluations if solver.observable else None,
        outcome.iterations,
        "end",
        support,
        **{name: getattr(certificate, name) for name in FIGURES},
        test_accuracy=record.get("test_accuracy"),
    )
    return {**record, "trace": [point.as_dict() for point in (*outcome.trace, end)]}


def _core_set(outcome: Outcome, problem: Problem, oracle: str) -> Record:
    """Return the core-set certificate; an oracle that fails is its reason, never the run's end."""
    try:
        return core_set_certificate(problem, outcome.dual_coef, oracle).as_dict()
    except Exception as error:
        return CoreSetCertificate(oracle, 0, reason=f"{oracle} failed on the core set: {_sentence(error)}").as_dict()


def _scored_weights(
    outcome: Outcome, problem: Problem, dataset: Dataset, metrics: Mapping[str, MetricFunction]
) -> Record:
    """A linear model without dual coefficients: scores only, the dual side of the certificate is absent."""
    weights = np.asarray(outcome.weights, dtype=np.float64)
    shape = (problem.kernel.points.shape[1],)
    if weights.shape != shape or not np.isfinite(weights).all() or not np.isfinite(outcome.intercept):
        reason = f"weights have shape {weights.shape} or are not finite; the data have {shape[0]} features"
        return {"status": "invalid", "reason": reason}
    train = np.asarray(dataset.x_train @ weights) + outcome.intercept
    test = np.asarray(dataset.x_test @ weights) + outcome.intercept
    record: Record = {}
    if dataset.task == "classification":
        record["train_accuracy"] = accuracy(dataset.y_train, train)
    if len(dataset.y_test):
        if dataset.task == "classification":
            record["test_accuracy"] = accuracy(dataset.y_test, test)
        record["metrics"] = {name: of(dataset.y_test, test) for name, of in metrics.items()}
    return record


def _sentence(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}{where}"


def _tail(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-_TRACEBACK_CHARACTERS:]
