"""Checks of data sets, kernels, formulations, metrics, report formats, observers and commands."""

from __future__ import annotations

import copy
import functools
import inspect
import unittest
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets import measured_sha256, validate
from harness.kernels.checks import reasons_against
from harness.kernels.oracle import KernelOracle
from harness.measure.outcome import MEASURED, Status, StoppedBy
from harness.measure.scored import FreeModel
from harness.problems.cases import csr, overlapping
from harness.registry.discovery import shared_registry
from harness.registry.executor import Executor
from harness.run.environments import lacking
from harness.run.record import COLUMNS, Record
from harness.support.errors import FilesMissing, HarnessError, InvalidModel, UsageError
from harness.testing import bounds
from harness.testing.apart import imports_of
from harness.testing.checks import (
    Checks,
    FunctionChecks,
    ValueChecks,
    check,
    require,
    require_documentation,
    skip_unless,
)
from harness.testing.conformance import SolverConformance
from harness.testing.running import snapshots
from harness.testing.suite import cases_of_formulation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.datasets.dataset import Dataset
    from harness.problems.cases import Case

_HEAVY = ("cvxpy", "matplotlib", "pandas", "sklearn", "tensorflow", "torch")
_LAWS = (
    "test_permuting_the_points",
    "test_flipping_the_labels",
    "test_doubling_every_point",
    "test_scaling_the_points",
)
_SOLVED = 1e-3  # largest relative gap, and error of a stated optimum, at the last model of an exact solver
_CLOSE = 1e-5  # tolerance of float32 values, as a fraction of the largest value


class PluginChecks(Checks):
    """Checks of a plugin as a whole."""

    kind = "plugin"

    @check(since="0.2")
    def test_its_import_is_light(self) -> None:
        """Importing the plugin imports no large library, so that ``harness --help`` stays quick."""
        heavy = imports_of(str(self.thing.module.__file__), _HEAVY)
        require(not heavy, f"it imports {', '.join(heavy)}; import it inside of the function that needs it.")


def _error(values: Any, expected: Any, block: Any) -> float:
    """Return the largest difference, as a fraction of the largest kernel value of a block."""
    return float(np.abs(np.asarray(values) - expected).max()) / max(float(np.abs(block).max()), 1e-300)


class KernelChecks(ValueChecks):
    """Checks of a kernel with its parameters."""

    kind = "kernel"

    @staticmethod
    def _points() -> Iterable[tuple[str, Any]]:
        x, _ = overlapping(64)
        rng = np.random.default_rng(11)
        yield "normal points", x
        yield "points in twos", np.repeat(x[:32], 2, axis=0)
        yield "points of many features, half of them 0", rng.normal(size=(64, 40)) * (rng.random((64, 40)) < 0.5)
        yield "counts", rng.poisson(2.0, size=(64, 6)).astype(np.float64)
        yield "large points", 30.0 * x

    @check(since="0.2")
    def test_is_a_kernel(self) -> None:
        """On 64 points of five kinds k(x, z) = k(z, x), the diagonal is k(x, x), and no eigenvalue is negative."""
        for points, x in self._points():
            reasons = reasons_against(self.thing, x)
            require(not reasons, f"on {points}: {'; '.join(reasons)}")

    @check(since="0.2")
    def test_same_values_whatever_the_storage(self) -> None:
        """Points in CSR, unless the kernel refuses them, and float32 points have the values of dense float64 points."""
        for points, x in self._points():
            values = np.asarray(self.thing.block(x, x))
            require(values.shape == (64, 64), f"on {points}: block has shape {values.shape}; expected (64, 64).")
            for storage, stored, allowed in (("CSR", csr(x), 1e-10), ("float32", x.astype(np.float32), 100 * _CLOSE)):
                try:
                    error = _error(self.thing.block(stored, stored), values, values)
                except HarnessError:  # the kernel refuses this storage
                    continue
                require(error <= allowed, f"on {points}: {storage} values differ by {error:.2g} of the largest.")

    @check(since="0.2")
    def test_rows_are_those_of_the_block(self) -> None:
        """Kernel rows, and weighted sums of rows, agree with the values of ``block``."""
        for points, x in self._points():
            oracle, values = KernelOracle(self.thing, x), np.asarray(self.thing.block(x, x))
            coef, rows = np.linspace(-1.0, 1.0, len(x)), np.array([oracle.row(i) for i in range(len(x))])
            error = _error(rows, values, values)
            require(error <= _CLOSE, f"on {points}: a row differs from the block by {error:.2g} of the largest value.")
            error = _error(oracle.expand(coef), values @ coef, values) / float(np.abs(coef).sum())
            require(error <= _CLOSE, f"on {points}: a sum of rows differs from that of the block by {error:.2g}.")


class DatasetChecks(ValueChecks):
    """Checks of a data source with its parameters."""

    kind = "data set"

    def _loaded(self) -> Dataset:
        try:
            return self.thing.load()  # type: ignore[no-any-return]
        except FilesMissing as error:
            raise unittest.SkipTest(str(error)) from None

    @check(since="0.2")
    def test_loads_what_can_be_used(self) -> None:
        """Training and test points are finite and of the same width; each part has both labels, -1 and +1."""
        dataset = self._loaded()
        validate(dataset)
        for part in (dataset.y_train, dataset.y_test) if dataset.task == "classification" else ():
            require(not len(part) or {*np.unique(part)} == {-1.0, 1.0}, "a part has a single class; split by class.")

    @check(since="0.2")
    def test_loads_the_same_again(self) -> None:
        """Two loads are the same bits, whatever numpy's global generator does."""
        first = measured_sha256(self._loaded())
        np.random.seed(4)  # noqa: NPY002 - a source that uses the global generator is what this check looks for
        second = measured_sha256(self._loaded())
        require(
            first == second, "two loads differ; draw by np.random.default_rng(seed) of a parameter, and read in order."
        )

    @check(since="0.2")
    def test_tests_on_other_points(self) -> None:
        """Less than half of the test points are training points too."""
        data = self._loaded()
        train, test = (np.asarray(x.todense() if hasattr(x, "todense") else x) for x in (data.x_train, data.x_test))
        train_rows = {row.tobytes() for row in train[:50_000]}
        shared = sum(row.tobytes() in train_rows for row in test[:5000])
        require(
            2 * shared <= min(len(test), 5000),
            f"{shared} of {min(len(test), 5000)} test points are training points; keep the parts apart.",
        )

    @check(since="0.2")
    def test_describes_its_points(self) -> None:
        """``description`` names the points, the class that is +1, and the source."""
        description = str(getattr(self.thing, "description", ""))
        require(len(description.split()) >= 3, f"description is {description!r}; describe the points in a sentence.")


def _states_one_problem(suite: type[Checks]) -> bool:
    """Return True if all models of a problem are bounds of one optimum; with queried targets each is of those that it queried."""
    return bool(suite.thing.has_gap) and not suite.thing.queries_targets


def _gives_primal_values(suite: type[Checks]) -> bool:
    """Return True if models without a dual are compared by the formulation's ``primal_of``."""
    from harness.problems.problem import Problem

    return bool(suite.thing.bounded_from) and suite.thing.primal_of is not Problem.primal_of


class FormulationChecks(Checks):
    """Checks of a formulation on its test problems."""

    kind = "formulation"

    @check(since="0.2")
    def test_has_a_zoo(self) -> None:
        """``zoo()`` has valid small test problems, at least one of them with the tag ``protocol``."""
        zoo = self.thing.zoo()
        require(any("protocol" in case.tags for case in zoo), "zoo() has no case with the tag 'protocol'; add one.")
        for case in zoo:
            case.problem()

    @check(since="0.2")
    def test_says_what_it_is(self) -> None:
        """The class and every parameter are documented, and ``constraints`` describes the feasible set."""
        parts = {parameter.name: parameter.doc for parameter in self.thing.known_parameters()}
        parts |= {column.name: column.meaning for column in self.thing.columns}
        advice = "use harness.parameter(default, doc), Column(name, meaning=doc)"
        require_documentation(self.thing.__name__, vars(self.thing).get("__doc__"), parts, advice)
        require(self.thing.constraints, "constraints is empty; describe the feasible set in words.")

    @check(since="0.2")
    def test_certifies_optima(self) -> None:
        """A solved problem has a gap near 0, and the optimum that its case states: one does where there is no dual form."""
        tried, cases = 0, cases_of_formulation(self.thing)
        require(
            self.thing.has_dual_form()
            or not _states_one_problem(type(self))
            or any(case.optimum is not None for case in cases),
            "no case of zoo() states its optimum; compute one by hand, as there is no dual form to compare with.",
        )
        for case in cases:
            model = self._solved(case)
            if model is None or "meets" in case.tags:
                continue
            problem = case.problem()
            last = problem.certify(*problem.checked(model.dual_coef, model.intercept))
            if last.relative_gap is not None and not last.relative_gap <= _SOLVED:
                reached = f"the relative gap certified at the optimum is {last.relative_gap:.3g}"
                raise AssertionError(f"{case}: {reached}; expected at most {_SOLVED:g}.")
            if case.optimum is not None and last.dual is not None:
                error = abs(last.dual - case.optimum) / max(1.0, abs(case.optimum))
                require(error <= _SOLVED, f"{case}: the optimum is {last.dual:.6g}, not {case.optimum:.6g}.")
            tried += 1
        skip_unless(tried, "no installed solver solves the formulation exactly")

    @check(since="0.2", needs=lambda suite: suite.thing.has_dual_form())
    def test_dual_value_is_that_of_the_dual_form(self) -> None:
        """The dual value of feasible points, vertices among them, is the objective of ``dual_form`` or its negative."""
        for case in cases_of_formulation(self.thing):
            wrong = bounds.wrong_dual(self._points(case)[0])
            require(not wrong, f"{case}: {wrong}")

    @check(since="0.2", needs=_states_one_problem)
    def test_primal_bounds_every_dual(self) -> None:
        """No primal value is beyond a dual value or the stated optimum, on any two models; each gap is their difference."""
        tried = 0
        for case in cases_of_formulation(self.thing):
            points, sign = self._points(case)
            wrong = points and bounds.wrong_bound(points, None if case.optimum is None else sign * case.optimum)
            require(not wrong, f"{case}: {wrong}")
            tried += len(points)
        skip_unless(tried, "no model of the zoo's problems is certified with a gap")

    @check(since="0.2", needs=_gives_primal_values)
    def test_primal_of_is_the_primal_of_the_certificate(self) -> None:
        """``primal_of`` computes with `Bounded` numbers, and gives the primal value that the certificate of a solved problem has."""
        tried = 0
        for case in cases_of_formulation(self.thing):
            model, problem = self._solved(case), case.problem()
            if model is None:
                continue
            coef, intercept = problem.checked(model.dual_coef, model.intercept)
            certified, free = problem.certify(coef, intercept), FreeModel(coef, np.zeros(0), None, intercept)
            try:
                primal = free.certificate(problem, free.scores(problem.kernel, problem.kernel.points)).primal
            except Exception as error:
                raise AssertionError(
                    f"{case}: primal_of raised {type(error).__name__}: {error}. Its arguments are Bounded: compute with +, -, *, /, "
                    "abs(), and the methods positive(), sum(), dot() and sqrt(), not with functions of numpy."
                ) from error
            expected = certified.primal if problem.kernel.ridge == 0.0 else certified.dual
            require(
                expected is None
                or (primal is not None and abs(primal - expected) <= 2.0 * _SOLVED * max(abs(primal), abs(expected))),
                f"{case}: primal_of gives {primal} at the optimum; by the certificate it is {expected}.",
            )
            tried += 1
        skip_unless(tried, "no installed solver solves the formulation exactly")

    @classmethod
    @functools.cache
    def _points(cls, case: Case) -> tuple[list[bounds.Point], float]:
        return bounds.certified_points(case, cls._solved(case))

    @classmethod
    @functools.cache
    def _solved(cls, case: Case) -> Any:
        """Return the last iterate of an exact solver of the formulation; None if there is none, or if it refuses the problem."""
        solver, problem = cls._reference(), case.problem()
        models = () if solver is None or solver.refusal(problem) is not None else snapshots(solver, problem)
        return next((model for model in reversed([*models]) if model.dual_coef is not None), None)

    @check(since="0.2")
    def test_refuses_what_is_infeasible(self) -> None:
        """Coefficients that are NaN, too many, or far outside of the constraints are refused."""
        problem = next(case for case in self.thing.zoo() if "protocol" in case.tags).problem()
        far = 1e6 * np.where(np.arange(problem.n) % 2, 1.0, -1.0) * (1.0 + np.arange(problem.n))
        for kind, coef in (("NaN", far * np.nan), ("n + 1", np.zeros(problem.n + 1)), ("far outside", far)):
            try:
                problem.checked(coef, 0.0)
            except InvalidModel:
                continue
            raise AssertionError(f"coefficients that are {kind} are accepted as a model; see feasibility_violation.")

    @check(since="0.2")
    def test_keeps_its_laws(self) -> None:
        """The optimum changes with the order, labels, copies and scale of the points as declared in ``laws``."""
        solver = self._reference()
        skip_unless(solver, "no installed solver solves the formulation exactly")
        attributes: dict[str, Any] = {"solver": solver, "gap": 1e-3, "cases": self.thing.zoo()}
        suite: type[Checks] = type("Laws", (SolverConformance,), attributes)
        failed = [result.message for name in _LAWS for result in suite.results(name) if result.status == "failed"]
        require(not failed, "; ".join(failed[:1]))

    @classmethod
    def _reference(cls) -> Any:
        """Return an exact solver of the formulation, one that serves as reference if possible; None if there is none."""
        solvers = shared_registry().things("solver").values()
        exact = [
            solver for solver in solvers if solver.takes(cls.thing) and solver.exact and not lacking(solver.requires)
        ]
        serving = sorted(exact, key=lambda solver: "reference" not in solver.serves)
        return serving[0]().with_target_gap(0.1 * _SOLVED) if serving else None


class MetricChecks(FunctionChecks):
    """Checks of a test metric."""

    kind = "metric"

    def _figure(self, targets: Any, scores: Any) -> float:
        value = self.thing(targets.copy(), scores.copy())
        require(np.isscalar(value) or np.ndim(value) == 0, f"it returned {value!r}; a metric returns a number.")
        return float(value)

    def _drawn(self) -> Iterable[tuple[Any, Any]]:
        rng = np.random.default_rng(2)
        for noise in (0.1, 1.0, 10.0):
            y = rng.normal(size=60) if self.thing.task == "regression" else np.where(rng.random(60) < 0.3, 1.0, -1.0)
            yield y, y + noise * rng.normal(size=60)

    @check(since="0.2")
    def test_is_a_number_in_its_range(self) -> None:
        """The value is finite for good scores and for noise; NaN is allowed for equal scores only."""
        drawn = [*self._drawn()]
        for targets, scores in (*drawn, (drawn[0][0], -drawn[0][0])):
            require(np.isfinite(self._figure(targets, scores)), "it is not finite.")
        require(not np.isinf(self._figure(drawn[0][0], np.zeros(60))), "it is infinite where all scores are equal.")

    @check(since="0.2", needs=lambda suite: suite.thing.better is not None)
    def test_better_is_better(self) -> None:
        """By ``better``, the targets as scores are better than their opposites."""
        for targets, _ in self._drawn():
            best, worst = self._figure(targets, targets), self._figure(targets, -targets)
            right = best < worst if self.thing.better == "low" else best > worst
            require(
                right,
                f"better is '{self.thing.better}', but the metric is {best:g} for the best scores, {worst:g} for the worst.",
            )

    @check(since="0.2")
    def test_depends_on_its_arguments_alone(self) -> None:
        """A second call, or another order of the points, gives the same value, and the arguments do not change."""
        for targets, scores in self._drawn():
            before = targets.copy(), scores.copy()
            first = float(self.thing(targets, scores))
            require(np.array_equal(before, (targets, scores)), "it wrote into its arguments; copy before writing.")
            order = np.random.default_rng(3).permutation(60)
            for value in (self._figure(targets, scores), self._figure(targets[order], scores[order])):
                require(
                    np.isclose(first, value, rtol=1e-9, atol=1e-12),
                    f"it is {first:g}, then {value:g} for the same points.",
                )


def sample_records() -> list[Record]:
    """Return one record of each status, for the checks of report formats and observers."""
    shared: dict[str, Any] = {
        **dict.fromkeys(COLUMNS), "plugin": "smo", "solver": "smo", "dataset": "digits", "formulation": "c-svc",
        "kernel": "rbf", "seed": 0, "repetition": 0, "threads": 1, "n_train": 60, "n_test": 20, "n_features": 3,
        "problem_parameters": {"C": 1.0}, "trace": [], "info": {}, "metrics": {},
    }  # fmt: skip
    measured = {
        "fit_seconds": 0.01, "cpu_seconds": 0.01, "kernel_evaluations": 1200, "relative_gap": 1e-4, "test_accuracy": 0.9,
    }  # fmt: skip
    records = []
    for status in Status:
        figures: dict[str, Any] = measured if status in MEASURED else {"reason": "a | b"}
        stopped = StoppedBy.SOLVER if status is Status.OK else StoppedBy.FAULT
        state = {"label": f"smo-{status}", "status": str(status), "stopped_by": str(stopped), "key": str(status)}
        records.append(Record({**shared, **figures, **state}))
    return records


class FormatChecks(Checks):
    """Checks of a report format."""

    kind = "report format"

    @check(since="0.2")
    def test_is_text_whatever_the_records(self) -> None:
        """No records, one record, and records of every status become text that can be encoded as UTF-8."""
        for records in ([], sample_records()[:1], sample_records()):
            text = self.subject()(records)
            require(
                isinstance(text, str), f"for {len(records)} records it returned {type(text).__name__}; return text."
            )
            text.encode()

    @check(since="0.2")
    def test_leaves_no_run_out(self) -> None:
        """Every run is named, failed runs too."""
        text = self.subject()(sample_records())
        missing = [record["label"] for record in sample_records() if record["label"] not in text]
        require(not missing, f"the text does not name {', '.join(missing)}; a failed run is a row too.")

    @check(since="0.2")
    def test_leaves_the_records_unchanged(self) -> None:
        """The records are not changed, and equal records give equal text."""
        records, original = sample_records(), sample_records()
        first, second = self.subject()(records), self.subject()(copy.deepcopy(original))
        require(records == original, "it changed the records; copy before writing.")
        require(first == second, "the same records gave another text.")


class ObserverChecks(Checks):
    """Checks of the hooks that a plugin runs when a run starts or ends."""

    kind = "observer"

    def _call_hook(self, hook: str, argument: str) -> None:
        function: Any = getattr(self.thing, hook, None)
        for record in sample_records() if function else ():
            given = dict(record)
            function(**{argument: given})
            require(
                given == record,
                f"{hook} changed the {argument} of a run with status {record['status']}; copy before writing.",
            )

    @check(since="0.2", seconds=5.0)
    def test_hears_of_every_run(self) -> None:
        """The hooks handle the start and the end of runs of every status within 5 s, and do not change their arguments."""
        self._call_hook("harness_run_started", "spec")
        self._call_hook("harness_run_finished", "record")


class ExecutorChecks(FunctionChecks):
    """Checks of the function that makes an executor."""

    kind = "executor"

    @check(since="0.2", seconds=10.0)
    def test_meets_a_wrong_place_with_a_sentence(self) -> None:
        """For a wrong place or option it makes an executor, or raises UsageError, or ImportError if its engine is missing."""
        function = self.subject()
        options = [*inspect.signature(function).parameters][1:]
        wrong = [("no-such-place", ""), *((place, name) for name in options for place in ("no-such-place", "local"))]
        for place, name in wrong:
            called = f"{self.called}://{place}" + f"?{name}=no-such-value" * bool(name)
            try:
                made = function(place, **({name: "no-such-value"} if name else {}))
            except (UsageError, ImportError):
                continue
            except Exception as error:
                raise AssertionError(
                    f"{called} raised {type(error).__name__}: {error}. A wrong place or option is the user's mistake: "
                    f'raise harness.UsageError("{called} is wrong; write ..."), with what is right.'
                ) from error
            require(isinstance(made, Executor), f"{called} gave {made!r:.80}; return a harness.Executor.")
            made.close()


class CommandChecks(Checks):
    """Checks of a command that a plugin adds."""

    kind = "command"

    @check(since="0.2")
    def test_has_help(self) -> None:
        """``--help`` exits with 0 and describes the command."""
        code, text, _ = self._invoke("--help")
        require(code == 0, f"--help ended with {code}.")
        require(self.thing.get_short_help_str(), f"'{self.thing.name}' has no help; give its function a docstring.")
        require("Usage" in text, "--help shows no usage.")

    @check(since="0.2")
    def test_meets_a_wrong_option_with_a_sentence(self) -> None:
        """An unknown option exits with 2 and a message, without a traceback."""
        code, text, error = self._invoke("--no-such-option-here")
        require(code == 2, f"an unknown option ended with {code} ({error!r}); let click refuse it: {text[-200:]}")

    def _invoke(self, *arguments: str) -> tuple[int, str, Any]:
        from click.testing import CliRunner

        done = CliRunner().invoke(self.thing, arguments)
        return done.exit_code, done.output, done.exception
