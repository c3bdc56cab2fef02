"""The checks: what every solver must hold to, whatever its algorithm.

A check is a method with one line of documentation, the version it came with, and the cases it runs on.
"""

from __future__ import annotations

import dataclasses
import functools
import pickle
import unittest
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness import parameters
from harness.kernels.functions import RBF, Linear
from harness.kernels.oracle import engine_of, uncounted
from harness.measure.drive import Outcome, drive
from harness.run.record import Limits, Status
from harness.testing import exact
from harness.testing.problems import Case, zoo_of
from harness.testing.running import bytes_of, recorded_work, snapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.problems.problem import Certificate, Problem
    from harness.solver import Solver

_SECONDS = 10.0  # a case of the zoo takes milliseconds; a solver that is not done by then never ends
_PATIENCE = 2.0  # seconds: the host can stop a run only at a yield
_ROUNDING = 1e-9
_NO_MARGIN = 1e-6  # dual objective of hulls that meet


def check(*, since: str, on: str = "") -> Callable[[Callable[..., None]], Any]:
    """Mark a method as a check.

    Parameters
    ----------
    since : version of the harness it came with; authors leave out newer ones by ``exclude_after``
    on : ``all`` cases, those with a tag, or empty for a check that takes no case
    """

    def decorate(function: Callable[..., None]) -> Any:
        @functools.wraps(function)
        def applied(self: SolverConformance, *args: Any, **kwargs: Any) -> None:
            self._left_out(function.__name__, since)
            function(self, *args, **kwargs)

        marked: Any = applied
        marked.since, marked.on = since, on
        return marked

    return decorate


class SolverConformance:
    """Subclass with a name that starts with ``Test``, set ``solver`` and ``gap``, run pytest.

    solver : the configured solver under test
    gap : the relative gap its final iterates reach, certified by the host; None: it claims none
    cases : the problems; None: the zoo of the solver's ``solves``
    exclude : check name -> reason why it does not apply
    exclude_after : a version; checks that came later are left out
    seed : of the solver's random numbers
    """

    solver: ClassVar[Solver]
    gap: ClassVar[float | None] = None
    cases: ClassVar[Sequence[Case] | None] = None
    exclude: ClassVar[Mapping[str, str]] = {}
    exclude_after: ClassVar[str] = ""
    seed: ClassVar[int] = 0

    # -- the machinery -------------------------------------------------------------------------------

    @classmethod
    def checks(cls) -> list[str]:
        """Names of all checks, in the order of the class body."""
        names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base) if name.startswith("test_"))
        return [name for name in names if hasattr(getattr(cls, name), "since")]

    @classmethod
    def cases_for(cls, wanted: str) -> list[Case]:
        """Return all cases, or those with the tag ``wanted``; if none has it, the first."""
        everything = zoo_of(cls.solver) if cls.cases is None else list(cls.cases)
        if wanted == "all":
            return everything
        return [case for case in everything if wanted in case.tags] or everything[:1]

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Give pytest one test for each check and case."""
        wanted = getattr(metafunc.function, "on", "")
        if wanted:
            metafunc.parametrize("case", type(self).cases_for(wanted), ids=str)

    def _left_out(self, name: str, since: str) -> None:
        if name in self.exclude:
            raise unittest.SkipTest(f"excluded: {self.exclude[name]}")
        if self.exclude_after and _version(since) > _version(self.exclude_after):
            raise unittest.SkipTest(f"came with version {since}; the suite is pinned to {self.exclude_after}")

    def _stated(self, case: Case) -> Problem:
        problem = case.problem()
        reason = self.solver.skip(problem)
        if reason is not None:
            raise unittest.SkipTest(reason)
        return problem

    def _finished(self, case: Case, seed: int | None = None) -> tuple[Problem, Outcome]:
        """Drive the solver to its own end."""
        problem = self._stated(case)
        rng = np.random.default_rng(self.seed if seed is None else seed)
        outcome = drive(self.solver, problem, rng, Limits(seconds=_SECONDS))
        ended = outcome.status is Status.OK or ("meets" in case.tags and outcome.status is Status.UNFINISHED)
        assert ended, (
            f"{case}: not at its end but {outcome.status} after {outcome.yields} iterates: {outcome.reason}; "
            "end the generator with a done iterate."
        )
        return problem, outcome

    def _certified(self, case: Case, seed: int | None = None) -> Certificate:
        """Drive the solver to its end and let the host certify its model."""
        problem, outcome = self._finished(case, seed)
        if outcome.dual_coef is None:
            raise unittest.SkipTest("the solver gives weights without dual coefficients: nothing to certify")
        coef, intercept = problem.checked(outcome.dual_coef, outcome.intercept)
        return problem.certify(coef, intercept)

    def _objective(self, case: Case, seed: int | None = None) -> tuple[float, float]:
        """Return the dual objective and how far from the optimum the claimed gap lets it be."""
        if self.gap is None or not self.solver.exact:
            raise unittest.SkipTest("the solver claims no gap")
        found = self._certified(case, seed)
        if "meets" in case.tags:
            return found.dual or 0.0, _NO_MARGIN
        assert found.dual is not None, f"{case}: the host could not certify the model: {found}."
        return found.dual, self.gap * _scale(found) + _ROUNDING

    def _agrees(self, first: Case, second: Case, factor: float = 1.0) -> None:
        """Assert that two cases have the same optimal objective, up to a factor and both gaps."""
        value, slack = self._objective(first)
        other, other_slack = self._objective(second)
        allowed = slack + other_slack / factor
        assert abs(value - other / factor) <= allowed, (
            f"{first}: objective {value:.9g}, but {other / factor:.9g} for the changed problem; "
            f"they must agree within {allowed:.2g}."
        )

    # -- the model is right --------------------------------------------------------------------------

    @check(since="0.1", on="all")
    def test_every_iterate_is_feasible(self, case: Case) -> None:
        """Every yielded model is finite, of the right shape, and within the constraints."""
        problem = self._stated(case)
        for position, snapshot in enumerate(snapshots(self.solver, problem, seed=self.seed)):
            if snapshot.dual_coef is None:
                assert snapshot.weights is not None, f"{case}: iterate {position} has neither dual_coef nor weights."
                assert np.isfinite(snapshot.weights).all(), f"{case}: the weights of iterate {position} are not finite."
                continue
            try:
                problem.checked(snapshot.dual_coef, snapshot.intercept)
            except Exception as error:
                raise AssertionError(f"{case}: iterate {position}: {error}") from None

    @check(since="0.1", on="all")
    def test_ends_by_itself(self, case: Case) -> None:
        """The generator ends, or yields a done iterate, without the host's help."""
        self._finished(case)

    @check(since="0.1", on="all")
    def test_certified_to_the_claimed_gap(self, case: Case) -> None:
        """The host's certificate of the last model is within the claimed relative gap."""
        if self.gap is None:
            raise unittest.SkipTest("the solver claims no gap")
        found = self._certified(case)
        if "meets" in case.tags:
            assert (found.margin_lower or 0.0) <= 0.0, f"{case}: the hulls meet, and a margin was certified: {found}."
            return
        reached = found.relative_gap
        assert reached is not None, f"{case}: the host could not certify the model: {found}."
        assert reached <= self.gap * (1.0 + 1e-6) + _ROUNDING, (
            f"{case}: certified to a relative gap of {reached:.3g}; the suite claims {self.gap:g}. "
            "Stop later, or claim what the stopping rule reaches."
        )

    @check(since="0.1", on="all")
    def test_objective_agrees_with_the_exact_oracle(self, case: Case) -> None:
        """The dual objective is the exact oracle's, within the claimed gap."""
        value, slack = self._objective(case)
        low, high = exact.bounds(case)
        assert low - slack <= value <= high + slack, (
            f"{case}: dual objective {value:.9g}; the optimum lies in [{low:.9g}, {high:.9g}] "
            f"(allowed: {slack:.2g} beside it)."
        )

    @check(since="0.1", on="protocol")
    def test_serves_as_an_oracle(self, case: Case) -> None:
        """``solve`` on a restricted problem returns a feasible model and its cost."""
        problem = self._stated(case)
        part = problem.restrict(np.arange(problem.n))
        first = next(iter(snapshots(self.solver, part, seed=self.seed, limit=1)), None)
        if first is None or first.dual_coef is None:
            raise unittest.SkipTest("the solver gives weights without dual coefficients: no oracle")
        before = problem.kernel.counter.evaluations
        solution = self.solver.solve(part)
        part.checked(solution.dual_coef, solution.intercept)
        if self.solver.observable:
            spent = problem.kernel.counter.evaluations - before
            assert solution.kernel_evaluations == spent, (
                f"{case}: {solution.kernel_evaluations} evaluations said, {spent} counted."
            )

    # -- the protocol --------------------------------------------------------------------------------

    @check(since="0.1", on="all")
    def test_leaves_the_problem_unchanged(self, case: Case) -> None:
        """Points, targets, diagonal and kernel rows are what they were before the run."""
        problem = self._stated(case)
        everything = np.arange(problem.n)
        with uncounted(problem.kernel):
            before = (
                bytes_of(engine_of(problem.kernel).source),
                problem.targets.tobytes(),
                np.array(problem.kernel.block(everything)),
            )
            diagonal = np.array(problem.kernel.diagonal())
        for _ in snapshots(self.solver, problem, seed=self.seed):
            pass
        with uncounted(problem.kernel):
            assert bytes_of(engine_of(problem.kernel).source) == before[0], (
                f"{case}: the solver changed the points; copy before writing."
            )
            assert problem.targets.tobytes() == before[1], (
                f"{case}: the solver changed the targets; copy before writing."
            )
            fresh = problem.kernel.block(everything)
            rows = np.array([problem.kernel.row(int(i)) for i in everything])
            same_diagonal = np.array_equal(problem.kernel.diagonal(), diagonal)
        # rows and blocks come from different matrix products: equal up to rounding, and far closer than any change
        assert np.allclose(fresh, before[2], rtol=1e-12, atol=1e-12), f"{case}: the solver changed the kernel's data."
        assert np.allclose(rows, before[2], rtol=1e-4, atol=1e-4), f"{case}: the solver wrote into a cached kernel row."
        assert same_diagonal, f"{case}: the solver wrote into the kernel's diagonal."

    @check(since="0.1", on="protocol")
    def test_same_seed_same_iterates(self, case: Case) -> None:
        """Two runs with one seed give the same iterates bit for bit, whatever numpy's global generator does."""
        first = list(snapshots(self.solver, self._stated(case), seed=self.seed))
        np.random.seed(12345)  # noqa: NPY002 - a solver that uses the global generator is what this check looks for
        second = list(snapshots(self.solver, case.problem(), seed=self.seed))
        assert len(first) == len(second), f"{case}: {len(first)} iterates, then {len(second)} with the same seed."
        for position, (one, other) in enumerate(zip(first, second, strict=True)):
            assert one.same_bits(other), (
                f"{case}: iterate {position} differs between two runs with the same seed; use only ``rng``."
            )

    @check(since="0.1", on="protocol")
    def test_another_seed_same_optimum(self, case: Case) -> None:
        """Another seed leads to the same objective within the claimed gap."""
        value, slack = self._objective(case)
        other, other_slack = self._objective(case, self.seed + 1)
        assert abs(value - other) <= slack + other_slack, (
            f"{case}: objective {value:.9g}, with another seed {other:.9g}."
        )

    @check(since="0.1", on="protocol")
    def test_interleaved_runs_do_not_disturb_each_other(self, case: Case) -> None:
        """Two runs of one solver, advanced in turn, equal two separate runs: no state outside the generator."""
        other_case = case.changed(y=-case.y)
        alone = [
            list(snapshots(self.solver, each, seed=self.seed)) for each in (self._stated(case), other_case.problem())
        ]
        runs = [snapshots(self.solver, each.problem(), seed=self.seed) for each in (case, other_case)]
        together: list[list[Any]] = [[], []]
        live = [0, 1]
        while live:
            for which in list(live):
                snapshot = next(runs[which], None)
                if snapshot is None:
                    live.remove(which)
                else:
                    together[which].append(snapshot)
        for which in (0, 1):
            same = len(alone[which]) == len(together[which])
            same = same and all(a.same_bits(b) for a, b in zip(alone[which], together[which], strict=True))
            assert same, f"{case}: a run differs when another one goes on beside it; keep all state in the generator."

    @check(since="0.1", on="protocol")
    def test_yields_before_the_end_of_a_budget(self, case: Case) -> None:
        """An iteration limit of one stops the run after its first yield with a feasible model."""
        problem = self._stated(case)
        next(snapshots(self.solver, case.problem(), seed=self.seed, limit=1), None)  # compiles what is to be compiled
        outcome = drive(self.solver, problem, np.random.default_rng(self.seed), Limits(iterations=1))
        assert outcome.yields == 1, f"{case}: {outcome.yields} yields under a limit of one."
        assert outcome.seconds < _PATIENCE, f"{case}: {outcome.seconds:.1f} s before the first yield; yield more often."
        if outcome.dual_coef is not None:
            problem.checked(outcome.dual_coef, outcome.intercept)

    @check(since="0.1", on="protocol")
    def test_every_kernel_value_is_counted(self, case: Case) -> None:
        """The counted kernel evaluations are those the engine really computed: no way around ``problem.kernel``."""
        if not self.solver.observable:
            raise unittest.SkipTest("a black box: its kernel evaluations are recorded as null")
        problem = self._stated(case)
        with recorded_work() as work:
            for _ in snapshots(self.solver, problem, seed=self.seed):
                pass
        assert not problem.kernel.counter.evaluations_at_least, (
            f"{case}: it took the kernel's points or engine, whose values nobody counts; ask problem.kernel for them."
        )
        counted = problem.kernel.counter.evaluations
        # with the linear kernel a solver may keep w, and count inner products with it that no engine computes
        honest = counted >= work.values if case.linear else counted == work.values
        assert honest, (
            f"{case}: {counted} kernel evaluations counted, {work.values} computed; ask problem.kernel, not its engine."
        )

    @check(since="0.1")
    def test_is_an_immutable_value(self) -> None:
        """The solver pickles, compares equal to its copy, hashes, and refuses changes."""
        copy = pickle.loads(pickle.dumps(self.solver))
        assert copy == self.solver, "the unpickled solver differs from the original"
        assert hash(copy) == hash(self.solver), "equal solvers must have equal hashes"
        for known in parameters.parameters_of(type(self.solver)):
            try:
                setattr(self.solver, known.name, getattr(self.solver, known.name))
            except dataclasses.FrozenInstanceError:
                continue
            raise AssertionError(
                f"parameter '{known.name}' can be changed; declare the class with @dataclass(frozen=True)."
            )

    @check(since="0.1")
    def test_says_what_it_is(self) -> None:
        """The class, and every parameter, is documented; a target gap gives a solver of the same class."""
        cls = type(self.solver)
        assert (vars(cls).get("__doc__") or "").strip(), (
            f"{cls.__name__} has no docstring; `harness describe` shows it."
        )
        silent = [known.name for known in parameters.parameters_of(cls) if not known.doc]
        assert not silent, (
            f"{cls.__name__}: no documentation for {', '.join(silent)}; use harness.parameter(default, doc)."
        )
        assert type(self.solver.with_target_gap(1e-3)) is cls, "with_target_gap must return a solver of the same class"

    # -- the answer does not depend on what does not matter ------------------------------------------

    @check(since="0.1", on="protocol")
    def test_permuting_the_points(self, case: Case) -> None:
        """The objective does not depend on the order of the points."""
        order = np.random.default_rng(7).permutation(len(case.y))
        self._agrees(case, case.changed(x=case.x[order], y=case.y[order]))

    @check(since="0.1", on="protocol")
    def test_flipping_the_labels(self, case: Case) -> None:
        """Exchanging the classes, or the sign of the targets, leaves the objective."""
        if not case.formulation.laws.symmetric:
            raise unittest.SkipTest("the formulation takes one class, or sign of the targets, for another")
        self._agrees(case, case.changed(y=-case.y))

    @check(since="0.1", on="protocol")
    def test_doubling_every_point(self, case: Case) -> None:
        """Every point twice at half the price, as the formulation has it, has the same objective."""
        doubled = case.formulation.laws.doubled
        if doubled is None:
            raise unittest.SkipTest("the formulation has no law of doubling")
        twice = np.repeat(np.arange(len(case.y)), 2)
        self._agrees(case, case.changed(x=case.x[twice], y=case.y[twice], values=case.multiplied(doubled)))

    @check(since="0.1", on="protocol")
    def test_scaling_the_points(self, case: Case) -> None:
        """Points 8 times as large: the rbf problem at gamma / 64 is the same, the linear one scales with it."""
        if isinstance(case.kernel, RBF):
            self._agrees(case, case.changed(x=case.x * 8.0, kernel=RBF(gamma=case.kernel.gamma / 64.0)))
            return
        laws = case.formulation.laws
        if not isinstance(case.kernel, Linear) or laws.objective is None:
            raise unittest.SkipTest("no law of scaling for this kernel and formulation")
        # to the larger objective, which makes the relative gap the same demand
        size = 8.0 if laws.objective > 0 else 1.0 / 8.0
        values = case.multiplied({name: size ** (2 * power) for name, power in laws.scaled.items()})
        self._agrees(case, case.changed(x=case.x * size, values=values), size ** (2 * laws.objective))


def _scale(found: Certificate) -> float:
    """Return what the relative gap is relative to."""
    if found.gap and found.relative_gap:
        return found.gap / found.relative_gap
    return max(1.0, abs(found.dual or 0.0))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
