"""The checks of all that is no solver: data sets, kernels, formulations, metrics, report formats, observers, commands."""

from __future__ import annotations

import copy
import unittest
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets import measured_sha256, validate
from harness.kernels.checks import reasons_against
from harness.kernels.oracle import KernelOracle
from harness.measure.outcome import MEASURED, Status, StoppedBy
from harness.problems.cases import csr, overlapping
from harness.registry.discovery import shared_registry
from harness.run.record import COLUMNS, Record
from harness.support.errors import FilesMissing, HarnessError, InvalidModel
from harness.testing.apart import imports_of
from harness.testing.checks import Checks, ValueChecks, check
from harness.testing.conformance import SolverConformance
from harness.testing.running import snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.datasets.dataset import Dataset
    from harness.problems.cases import Case
    from harness.problems.problem import Certificate, Problem

_HEAVY = ("cvxpy", "matplotlib", "pandas", "sklearn", "tensorflow", "torch")
_LAWS = (
    "test_permuting_the_points",
    "test_flipping_the_labels",
    "test_doubling_every_point",
    "test_scaling_the_points",
)
_CLOSE = 1e-5  # of float32 values, relative to the largest


class PluginChecks(Checks):
    """A plugin as a whole."""

    kind = "plugin"

    @check(since="0.2")
    def test_its_import_is_light(self) -> None:
        """Importing the plugin imports no large library, so that ``harness --help`` stays quick."""
        found = imports_of(str(self.thing.module.__file__), _HEAVY)
        assert not found, f"it imports {', '.join(found)}; import it inside of the function that needs it."


class KernelChecks(ValueChecks):
    """A kernel, with its parameters."""

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
        for told, x in self._points():
            found = reasons_against(self.thing, x)
            assert not found, f"on {told}: {'; '.join(found)}"

    @check(since="0.2")
    def test_same_values_whatever_the_storage(self) -> None:
        """Points in CSR, unless a sentence refuses them, and float32 points have the values of dense float64 ones."""
        for told, x in self._points():
            values = np.asarray(self.thing.block(x, x))
            assert values.shape == (64, 64), f"on {told}: block has shape {values.shape}; expected (64, 64)."
            scale = max(float(np.abs(values).max()), 1e-300)
            for storage, other, allowed in (("CSR", csr(x), 1e-10), ("float32", x.astype(np.float32), 100 * _CLOSE)):
                try:
                    apart = float(np.abs(np.asarray(self.thing.block(other, other)) - values).max()) / scale
                except HarnessError:  # its sentence refuses the storage
                    continue
                assert apart <= allowed, f"on {told}: values of {storage} points are {apart:.2g} of the largest apart."

    @check(since="0.2")
    def test_rows_are_those_of_the_block(self) -> None:
        """What a solver gets row by row, and as sums over rows, is what ``block`` says."""
        for told, x in self._points():
            oracle, values = KernelOracle(self.thing, x), np.asarray(self.thing.block(x, x))
            coef, scale = np.linspace(-1.0, 1.0, len(x)), max(float(np.abs(values).max()), 1e-300)
            apart = max(float(np.abs(oracle.row(i) - values[i]).max()) for i in (0, 31, 63)) / scale
            assert apart <= _CLOSE, f"on {told}: a row is {apart:.2g} of the largest value apart from the block's."
            apart = float(np.abs(oracle.expand(coef) - values @ coef).max()) / (scale * float(np.abs(coef).sum()))
            assert apart <= _CLOSE, f"on {told}: a sum of rows is {apart:.2g} apart from that of the block's."


class DatasetChecks(ValueChecks):
    """A data source, with its parameters."""

    kind = "data set"

    def _loaded(self) -> Dataset:
        try:
            found: Dataset = self.thing.load()
        except FilesMissing as error:
            raise unittest.SkipTest(str(error)) from None
        return found

    @check(since="0.2")
    def test_loads_what_can_be_used(self) -> None:
        """Training and test points are finite and as wide as each other, labels -1 and +1, both in each part."""
        found = self._loaded()
        validate(found)
        for part in (found.y_train, found.y_test) if found.task == "classification" else ():
            assert not len(part) or {*np.unique(part)} == {-1.0, 1.0}, "a part has one class alone; split by class."

    @check(since="0.2")
    def test_loads_the_same_again(self) -> None:
        """Two loads are the same bits, whatever numpy's global generator does."""
        first = measured_sha256(self._loaded())
        np.random.seed(4)  # noqa: NPY002 - a source that uses the global generator is what this check looks for
        again = measured_sha256(self._loaded())
        assert first == again, (
            "two loads differ; draw by np.random.default_rng(seed) of a parameter, and read in order."
        )

    @check(since="0.2")
    def test_tests_on_other_points(self) -> None:
        """Less than half of the test points are training points too."""
        found = self._loaded()
        train, test = (np.asarray(x.todense() if hasattr(x, "todense") else x) for x in (found.x_train, found.x_test))
        known = {row.tobytes() for row in train[:50_000]}
        shared = sum(row.tobytes() in known for row in test[:5000])
        assert 2 * shared <= min(len(test), 5000), (
            f"{shared} of {min(len(test), 5000)} test points are training points; keep the parts apart."
        )

    @check(since="0.2")
    def test_describes_its_points(self) -> None:
        """``description`` says what the points are, which class is +1, and where they come from."""
        told = str(getattr(self.thing, "description", ""))
        assert len(told.split()) >= 3, f"description is {told!r}; say what the points are in a sentence."


class FormulationChecks(Checks):
    """A formulation, by its own zoo."""

    kind = "formulation"

    @check(since="0.2")
    def test_has_a_zoo(self) -> None:
        """It has small problems with which solvers are checked, a ``protocol`` one among them, and states each."""
        zoo = self.thing.zoo()
        assert any("protocol" in case.tags for case in zoo), "zoo() has no case with the tag 'protocol'; add one."
        for case in zoo:
            case.problem()

    @check(since="0.2")
    def test_says_what_it_is(self) -> None:
        """The class, and every parameter, is documented, and ``constraints`` says what is feasible."""
        silent = [known.name for known in self.thing.known_parameters() if not known.doc]
        silent += [column.name for column in self.thing.columns if not column.meaning]
        assert not silent, (
            f"no documentation for {', '.join(silent)}; use harness.parameter(default, doc), harness.Column(name, meaning=doc)."
        )
        assert (vars(self.thing).get("__doc__") or "").strip(), "the class has no docstring."
        assert self.thing.constraints, "constraints is empty; say in words what is feasible."

    @check(since="0.2")
    def test_certifies_optima_and_bounds_the_rest(self) -> None:
        """The gap of each iterate is not negative, its bounds enclose the optimum, and a solved problem has a gap near 0."""
        solver, tried = self._reference(), 0
        for case in self.thing.zoo():
            problem = case.problem()
            if solver.refusal(problem) is not None or "meets" in case.tags:
                continue
            found = [snapshot for snapshot in snapshots(solver, problem) if snapshot.dual_coef is not None]
            sure = [problem.certify(*problem.checked(each.dual_coef, each.intercept)) for each in found]
            for each in sure:
                rounding = 1e-9 * max(1.0, abs(each.dual or 0.0)) + (each.gap_rounding or 0.0)
                assert each.gap is None or each.gap >= -rounding, (
                    f"{case}: a feasible model has a gap of {each.gap:.3g}."
                )
            self._bounds_of_all_models_hold(case, problem, found[-1], sure)
            last = sure[-1].relative_gap
            assert last is None or last <= 1e-3, (
                f"{case}: the optimum is certified to a relative gap of {last:.3g} only."
            )
            if case.optimum is not None and sure[-1].dual is not None:
                apart = abs(sure[-1].dual - case.optimum) / max(1.0, abs(case.optimum))
                assert apart <= 1e-3, f"{case}: the optimum is {sure[-1].dual:.6g}; the zoo says {case.optimum:.6g}."
            tried += 1
        if not tried:
            raise unittest.SkipTest("no installed solver solves it")

    def _bounds_of_all_models_hold(self, case: Case, problem: Problem, last: Any, sure: Sequence[Certificate]) -> None:
        """Raise AssertionError if the optimum cannot be between primal and dual of every model on the way to the last one."""
        if not self.thing.has_dual_form():
            return
        form = problem.dual_form()
        start, end = form.coef(form.start), np.asarray(last.dual_coef, dtype=np.float64)
        between = (start + share * (end - start) for share in (0.0, 0.5, 0.9))  # the feasible set is convex
        certificates = [*sure, *(problem.certify(coef, float(last.intercept)) for coef in between)]
        known = [
            (p, d) for p, d in ((each.primal, each.dual) for each in certificates) if p is not None and d is not None
        ]
        low, high = max(map(min, known), default=0.0), min(map(max, known), default=0.0)
        assert low - high <= 1e-6 * max(abs(low), abs(high)), (
            f"{case}: no optimum is between primal and dual of all models: of one both are at least {low:.6g}, of another both "
            f"are at most {high:.6g}. Are scores taken with the ridge where f has none?"
        )

    @check(since="0.2")
    def test_refuses_what_is_infeasible(self) -> None:
        """Coefficients that are NaN, too many, or far outside of the constraints are no model."""
        problem = next(case for case in self.thing.zoo() if "protocol" in case.tags).problem()
        far = 1e6 * np.where(np.arange(problem.n) % 2, 1.0, -1.0) * (1.0 + np.arange(problem.n))
        for told, coef in (("NaN", far * np.nan), ("n + 1", np.zeros(problem.n + 1)), ("far outside", far)):
            try:
                problem.checked(coef, 0.0)
            except InvalidModel:
                continue
            raise AssertionError(f"coefficients that are {told} are accepted as a model; see feasibility_violation.")

    @check(since="0.2")
    def test_keeps_its_laws(self) -> None:
        """The optimum changes with the order, labels, copies and scale of the points as ``laws`` says."""
        own: dict[str, Any] = {"solver": self._reference(), "gap": 1e-3, "cases": self.thing.zoo()}
        suite: type[Checks] = type("Laws", (SolverConformance,), own)
        failed = [each.message for name in _LAWS for each in suite.results(name) if each.status == "failed"]
        assert not failed, failed[0]

    def _reference(self) -> Any:
        registry = shared_registry()
        known = [
            cls for own in registry.solvers.values() for cls in own.values() if cls.takes(self.thing) and cls.exact
        ]
        serving = sorted(known, key=lambda cls: "reference" not in cls.serves)
        if not serving:
            raise unittest.SkipTest("no installed solver solves it exactly")
        return serving[0]().with_target_gap(1e-4)


class MetricChecks(Checks):
    """A test metric."""

    kind = "metric"

    def _figure(self, targets: Any, scores: Any) -> float:
        found = self.thing(targets.copy(), scores.copy())
        assert np.isscalar(found) or np.ndim(found) == 0, f"it returned {found!r}; a metric returns a number."
        return float(found)

    def _drawn(self) -> Iterable[tuple[Any, Any]]:
        rng = np.random.default_rng(2)
        for noise in (0.1, 1.0, 10.0):
            y = rng.normal(size=60) if self.thing.task == "regression" else np.where(rng.random(60) < 0.3, 1.0, -1.0)
            yield y, y + noise * rng.normal(size=60)

    @check(since="0.2")
    def test_is_a_number_in_its_range(self) -> None:
        """It is a finite number within ``low`` and ``high`` for good scores and noise; NaN is for equal scores alone."""
        drawn = [*self._drawn()]
        for targets, scores in (*drawn, (drawn[0][0], -drawn[0][0])):
            assert np.isfinite(self._figure(targets, scores)), "it is not finite."
        assert not np.isinf(self._figure(drawn[0][0], np.zeros(60))), "it is infinite where all scores are equal."

    @check(since="0.2", needs=lambda suite: suite.thing.better is not None)
    def test_better_is_better(self) -> None:
        """The targets themselves as scores are better than their opposites: ``better`` names the right end."""
        for targets, _ in self._drawn():
            best, worst = self._figure(targets, targets), self._figure(targets, -targets)
            right = best < worst if self.thing.better == "low" else best > worst
            assert right, (
                f"better is '{self.thing.better}', and it is {best:g} of the best scores, {worst:g} of the worst."
            )

    @check(since="0.2")
    def test_depends_on_its_arguments_alone(self) -> None:
        """A second call gives the same number, so does another order of the points, and the arguments do not change."""
        for targets, scores in self._drawn():
            kept = targets.copy(), scores.copy()
            first = float(self.thing(targets, scores))
            assert np.array_equal(kept, (targets, scores)), "it wrote into its arguments; copy before writing."
            order = np.random.default_rng(3).permutation(60)
            for other in (self._figure(targets, scores), self._figure(targets[order], scores[order])):
                assert np.isclose(first, other, rtol=1e-9, atol=1e-12), (
                    f"it is {first:g}, and {other:g} of the same points."
                )

    @check(since="0.2")
    def test_says_what_it_is(self) -> None:
        """Its function has a docstring, which ``harness describe`` shows."""
        assert (self.thing.__doc__ or "").strip(), f"metric '{self.called}' has no docstring."


def sample_records() -> list[Record]:
    """Return records of every status: what a format and an observer must be able to take."""
    shared: dict[str, Any] = {
        **dict.fromkeys(COLUMNS), "plugin": "smo", "solver": "smo", "dataset": "digits", "formulation": "c-svc",
        "kernel": "rbf", "seed": 0, "repetition": 0, "threads": 1, "n_train": 60, "n_test": 20, "n_features": 3,
        "problem_parameters": {"C": 1.0}, "trace": [], "info": {}, "metrics": {},
    }  # fmt: skip
    measured = {
        "fit_seconds": 0.01, "cpu_seconds": 0.01, "kernel_evaluations": 1200, "relative_gap": 1e-4, "test_accuracy": 0.9,
    }  # fmt: skip
    found = []
    for status in Status:
        own: dict[str, Any] = measured if status in MEASURED else {"reason": "a | b"}
        stopped = StoppedBy.SOLVER if status is Status.OK else StoppedBy.FAULT
        told = {"label": f"smo-{status}", "status": str(status), "stopped_by": str(stopped), "key": str(status)}
        found.append(Record({**shared, **own, **told}))
    return found


class FormatChecks(Checks):
    """A report format."""

    kind = "report format"

    @check(since="0.2")
    def test_is_text_whatever_the_records(self) -> None:
        """No records, one, and some of every status become text that UTF-8 can hold."""
        for records in ([], sample_records()[:1], sample_records()):
            found = self.subject()(records)
            assert isinstance(found, str), f"of {len(records)} records it returned {type(found).__name__}; return text."
            found.encode()

    @check(since="0.2")
    def test_leaves_no_run_out(self) -> None:
        """Every run is named, those that failed too."""
        text = self.subject()(sample_records())
        missing = [record["label"] for record in sample_records() if record["label"] not in text]
        assert not missing, f"the text does not name {', '.join(missing)}; a failed run is a row too."

    @check(since="0.2")
    def test_leaves_the_records_unchanged(self) -> None:
        """The records are what they were, and the same records give the same text."""
        records, kept = sample_records(), sample_records()
        first, second = self.subject()(records), self.subject()(copy.deepcopy(kept))
        assert records == kept, "it changed the records; copy before writing."
        assert first == second, "the same records gave another text."


class ObserverChecks(Checks):
    """What a plugin does when a run starts or ends."""

    kind = "observer"

    def _hears(self, hook: str, argument: str) -> None:
        hear: Any = getattr(self.thing, hook, None)
        for record in sample_records() if hear else ():
            given = dict(record)
            hear(**{argument: given})
            assert given == record, (
                f"{hook} changed its {argument} of a run that is {record['status']}; copy before writing."
            )

    @check(since="0.2", seconds=5.0)
    def test_hears_of_every_run(self) -> None:
        """It handles the start and the end of runs of every status within 5 s in all, and does not change its arguments."""
        self._hears("harness_run_started", "spec")
        self._hears("harness_run_finished", "record")


class CommandChecks(Checks):
    """A command that a plugin adds."""

    kind = "command"

    @check(since="0.2")
    def test_has_help(self) -> None:
        """``--help`` ends with 0 and says what it does."""
        code, text, _ = self._invoked("--help")
        assert code == 0, f"--help ended with {code}."
        assert self.thing.get_short_help_str(), f"'{self.thing.name}' has no help; give its function a docstring."
        assert "Usage" in text, "--help shows no usage."

    @check(since="0.2")
    def test_meets_a_wrong_option_with_a_sentence(self) -> None:
        """An option that it does not have ends with 2, and no traceback."""
        code, text, error = self._invoked("--no-such-option-here")
        assert code == 2, f"an unknown option ended with {code} ({error!r}); let click refuse it: {text[-200:]}"

    def _invoked(self, *arguments: str) -> tuple[int, str, Any]:
        from click.testing import CliRunner

        done = CliRunner().invoke(self.thing, arguments)
        return done.exit_code, done.output, done.exception
