"""The checks of every solver.

A check is a method with one line of documentation and a tag of cases; pytest runs it on all of these cases as one test. The
solver is driven once on each case, and the checks share that drive; only checks that compare drives make more.
"""

from __future__ import annotations

from itertools import zip_longest
from time import perf_counter
from typing import Any

import numpy as np

from harness.kernels.functions import RBF, Linear, Precomputed
from harness.measure.drive import drive, outcome_of
from harness.measure.outcome import Limits, Status, StoppedBy
from harness.measure.path_drive import drive_path
from harness.measure.scored import FreeModel
from harness.problems.cases import Case, csr
from harness.problems.certificate import Certificate
from harness.registry.discovery import shared_registry
from harness.run.target_server import only_queried
from harness.solver.path import Grid, SolutionPath
from harness.solver.protocol import Iterate
from harness.support.parameters import values_of
from harness.testing import exact
from harness.testing.checks import LIMIT, ValueChecks, check, naming, require, skip_unless
from harness.testing.running import Run, bits, bytes_of, certified, observed, snapshots
from harness.testing.suite import PATIENT_SECONDS, ROUNDING, Suite, cases_of_formulation

_FEW_ROWS_MB = 2e-3  # cache size in MB: 262 kernel values of 40 * 40
_PATIENCE = 2.0  # longest time to the first yield, and from close() to the end, in seconds
_WHATEVER_THE_STORAGE = ("test_every_iterate_is_feasible", "test_ends_by_itself", "test_leaves_the_problem_unchanged")


def _converges(suite: type[Suite]) -> bool:
    """Return True if the solver claims a gap to the optimum of the problem, so that objectives can be compared."""
    return suite.gap is not None and suite.solver.exact


def _queries_targets(suite: type[Suite]) -> bool:
    return any(formulation.queries_targets for formulation in shared_registry().declared_by(type(suite.solver)))


def _scales(case: Case) -> bool:
    linear = isinstance(case.kernel, Linear) and case.formulation.laws.objective is not None
    return linear or isinstance(case.kernel, RBF)


def _path_over(case: Case, *, cold: bool = False) -> SolutionPath | None:
    """Return a path over a quarter of and the whole C or chi of a case, and two values of gamma of an RBF kernel.

    Return None if the case has neither C nor chi nor an RBF kernel, or queries its targets.
    """
    costs = {
        name: (0.25 * case.values[name], float(case.values[name])) for name in ("chi", "C") if case.values.get(name)
    }
    costs = dict([*costs.items()][-1:])
    gammas = {"gamma": (case.kernel.gamma, 2.0 * case.kernel.gamma)} if isinstance(case.kernel, RBF) else {}
    if case.formulation.queries_targets or not (costs or gammas):
        return None
    fixed = {name: value for name, value in case.values.items() if name not in costs}
    kernel, kernel_values = type(case.kernel), {} if gammas else values_of(case.kernel)
    points, grid = case.x.copy(), Grid(costs, gammas)
    return SolutionPath(grid, case.formulation, kernel, points, case.y, fixed, kernel_values, cache_mb=1.0, cold=cold)


class SolverConformance(ValueChecks, Suite):
    """All checks of a solver: subclass with a name that starts with ``Test``, set ``solver`` and ``gap``, and run pytest."""

    # -- basic function -----------------------------------------------------------------------------

    @check(since="0.2")
    def test_takes_problems_of_all_that_it_solves(self) -> None:
        """``skip`` accepts at least one test problem of each formulation in the solver's ``solves``."""
        registry, solver = shared_registry(), type(self.solver)
        require(registry.solved_by(solver), f"{registry.why_unsolvable(solver)}.")
        for formulation in registry.declared_by(solver) if self.cases is None else ():
            cases = cases_of_formulation(formulation)
            refused = [self.solver.refusal(case.problem()) for case in cases]
            if cases and None not in refused:
                raise AssertionError(
                    f"it solves {formulation.name}, but skip refuses all {len(cases)} problems of its zoo(): {refused[0]}"
                )

    @check(on="first-formulation", since="0.2", seconds=PATIENT_SECONDS)
    def test_yields_a_model_in_time(self, case: Case) -> None:
        """The first model is yielded within 10 s on a few points."""
        first = next(snapshots(self.solver, case.problem(), seed=self.seed), None)
        require(first is not None, "it ended without yielding a model; yield at least one harness.Iterate.")

    # -- the model --------------------------------------------------------------------------

    @check(on="all")
    def test_every_iterate_is_feasible(self, case: Case) -> None:
        """Every yielded model is finite, of the right shape, and within the constraints."""
        run = self._run(case)
        # the drive has already checked a last model of another kind
        coef = run.outcome.dual_coef
        last = [] if coef is None else [Iterate(coef, run.outcome.intercept)]
        for position, iterate in enumerate((*run.snapshots, *last)):
            try:
                model = outcome_of(self.solver, run.problem, iterate, 0.0, 0.0, 0)
                if model.dual_coef is not None:
                    run.problem.checked(model.dual_coef, model.intercept)
            except Exception as error:
                raise AssertionError(f"iterate {position}: {error}") from None

    @check(on="all")
    def test_ends_by_itself(self, case: Case) -> None:
        """The generator ends, or yields a done iterate, before a limit stops it."""
        self._finished(case)

    @check(on="protocol", since="0.2")
    def test_yields_nothing_after_done(self, case: Case) -> None:
        """The generator ends after its ``done`` iterate."""
        self._run_to_repeat(case)
        iterates = iter(self.solver.iterates(case.problem(), np.random.default_rng(self.seed)))
        done = any(iterate.done for iterate in iterates)  # any() stops at the first one
        require(not done or next(iterates, None) is None, "it yields again after a done iterate; return there.")

    @check(on="all", since="0.2")
    def test_counts_what_there_is(self, case: Case) -> None:
        """``step`` never falls, and ``working_set`` is not larger than the number of points."""
        run, before = self._run(case), 0
        model = run.outcome.model
        extra = len(model.own_coef) if isinstance(model, FreeModel) else 0
        most = 2 * run.problem.n + extra  # regression has two coefficients a point
        for position, snapshot in enumerate(run.snapshots):
            step, size = before if snapshot.step is None else snapshot.step, snapshot.working_set
            require(before <= step, f"iterate {position} has step {step} after {before}; step must not fall.")
            before = step
            require(
                size is None or 0 <= size <= most,
                f"iterate {position} has working_set={size}, and the problem has {run.problem.n} points.",
            )

    @check(on="all", needs=lambda suite: suite.gap is not None)
    def test_certified_to_the_claimed_gap(self, case: Case) -> None:
        """The certified relative gap of the last model, or the suboptimality of one without a dual, is within the claimed gap."""
        run = self._finished(case)
        model = run.certificate or self._suboptimal(run, case)
        if "meets" in case.tags:
            require((model.margin_lower or 0.0) <= 0.0, f"the hulls meet, but a margin was certified: {model}.")
        else:
            self._reaches_its_gap(model, case)

    @staticmethod
    def _suboptimal(run: Run, case: Case) -> Certificate:
        """Return the primal value of a model without a dual, and its distance from the optimum by a reference solver."""
        primal = getattr(run.outcome.model, "primal", lambda _: None)(run.problem)
        skip_unless(primal is not None, "the model has neither a gap nor a primal value")
        optimum = exact.bounds(case)[case.formulation.bounded_from != "above"]  # the value in favour of the solver
        distance = case.formulation.suboptimality(primal, optimum)
        skip_unless(distance is not None, "the formulation bounds no primal value by dual values of other models")
        return Certificate(primal=primal, relative_gap=distance)

    def _reaches_its_gap(self, model: Certificate, case: Case | None = None) -> None:
        """Raise AssertionError if a certified model does not reach the claimed gap; with advice if it is that of a case."""
        reached, gap = model.relative_gap, self.gap or 0.0
        if reached is None:
            raise AssertionError(f"the host could not certify the model: {model}.")
        if not reached <= gap * (1.0 + 1e-6) + ROUNDING:
            advice = "" if case is None else f" {self._advice(case, reached)}"
            raise AssertionError(
                f"certified to a relative gap of {reached:.3g}; its conformance claims {gap:g}.{advice}"
            )

    def _advice(self, case: Case, reached: float) -> str:
        """Return advice on a gap that is too large, which tells a wrong intercept from coefficients far from the optimum."""
        problem, outcome = case.problem(), self._run(case).outcome
        if outcome.dual_coef is not None and problem.has_bias and problem.has_dual_form():
            form, (coef, offset) = problem.dual_form(), problem.checked(outcome.dual_coef, outcome.intercept)
            best = form.intercept(form.levels(form.ends(form.split(coef), form.gradient(problem.kernel.expand(coef)))))
            gap = problem.certify(coef, best).relative_gap
            if gap is not None and gap < 0.1 * reached:
                return f"The intercept is wrong: it is {offset:.3g}, and with {best:.3g} the relative gap is {gap:.3g}."
        return "Stop later, or claim what the stopping rule reaches."

    @check(on="all", needs=_converges)
    def test_objective_agrees_with_the_exact_oracle(self, case: Case) -> None:
        """The dual objective agrees with that of the reference solver, within the claimed gap."""
        value, slack = self._objective(case)
        low, high = exact.bounds(case)
        require(
            low - slack <= value <= high + slack,
            f"dual objective {value:.9g}; the optimum lies in [{low:.9g}, {high:.9g}] (tolerance {slack:.2g}).",
        )

    @check(on="protocol")
    def test_serves_as_an_oracle(self, case: Case) -> None:
        """``solve`` on a restricted problem returns a feasible model and its cost."""
        dual_coef = self._run_to_repeat(case).outcome.dual_coef
        skip_unless(dual_coef is not None, "the solver returns no dual coefficients, so it is no sub-solver")
        problem = case.problem()
        part = problem.restrict(np.arange(problem.n))
        before = problem.kernel.counter.evaluations
        solution = self.solver.solve(part)
        part.checked(solution.dual_coef, solution.intercept)
        if self.solver.observable:
            spent = problem.kernel.counter.evaluations - before
            require(
                solution.kernel_evaluations == spent,
                f"{solution.kernel_evaluations} evaluations in its Solution, {spent} counted by the harness.",
            )

    # -- the protocol --------------------------------------------------------------------------------

    @check(on="all")
    def test_leaves_the_problem_unchanged(self, case: Case) -> None:
        """The run does not change points, targets, the diagonal or cached kernel rows."""
        before, after = case.problem(), self._run(case).problem
        if before.queries_targets:
            before = before.with_targets(only_queried(case.y, self._run(case).queried))
        everything = np.arange(after.n)
        rows = np.array(after.kernel.rows(everything))  # cached by the run, if any
        values, recomputed = (problem.kernel.block(everything) for problem in (before, after))
        same = {
            "changed the points; copy before writing": bytes_of(after.kernel.points) == bytes_of(before.kernel.points),
            "changed the targets; copy before writing": after.targets.tobytes() == before.targets.tobytes(),
            "changed the kernel's data": np.allclose(recomputed, values, rtol=1e-12, atol=1e-12),
            # the tolerance covers the rounding of stored rows only
            "wrote into a cached kernel row": np.allclose(rows, values, rtol=1e-4, atol=1e-4),
            "wrote into the kernel's diagonal": np.array_equal(after.kernel.diagonal(), before.kernel.diagonal()),
        }
        for fault, unchanged in same.items():
            require(unchanged, f"the solver {fault}.")

    @check(on="protocol")
    def test_same_seed_same_iterates(self, case: Case) -> None:
        """Two runs with one seed give the same iterates bit for bit, whatever numpy's global generator does."""
        first = self._run_to_repeat(case).snapshots
        np.random.seed(12345)  # noqa: NPY002 - a solver that uses the global generator is what this check looks for
        second = list(snapshots(self.solver, case.problem(), seed=self.seed))
        require(len(first) == len(second), f"{len(first)} iterates, then {len(second)} with the same seed.")
        for position, models in enumerate(zip(first, second, strict=True)):
            same = len(set(map(bits, models))) == 1
            require(same, f"iterate {position} differs between two runs with the same seed; use only ``rng``.")

    @check(on="protocol")
    def test_interleaved_runs_do_not_disturb_each_other(self, case: Case) -> None:
        """Two runs of one solver, advanced in turns, equal two separate runs: all state is in the generator."""
        both = case, self._flipped(case)
        separate = [[*map(bits, self._run_to_repeat(each).snapshots)] for each in both]
        turns = [*zip_longest(*(snapshots(self.solver, each.problem(), seed=self.seed) for each in both))]
        together = [[bits(models[run]) for models in turns if models[run] is not None] for run in (0, 1)]
        same = together == separate
        require(same, "a run differs when it is interleaved with another; keep all state in the generator.")

    @check(on="protocol")
    def test_yields_before_the_end_of_a_budget(self, case: Case) -> None:
        """An iteration limit of one stops the run promptly after the first yield, with a feasible model."""
        self._run(case)  # compilation happens here
        problem, began = case.problem(), perf_counter()
        outcome = drive(self.solver, problem, np.random.default_rng(self.seed), Limits(iteration_limit=1))
        closing = perf_counter() - began - outcome.seconds
        require(outcome.yields == 1, f"{outcome.yields} yields under a limit of one.")
        require(outcome.seconds < _PATIENCE, f"{outcome.seconds:.1f} s before the first yield; yield more often.")
        require(
            closing < _PATIENCE,
            f"{closing:.1f} s until the generator ended after the host closed it; end at once.",
        )
        if outcome.dual_coef is not None:
            problem.checked(outcome.dual_coef, outcome.intercept)

    @check(on="protocol", needs=lambda suite: suite.solver.observable)
    def test_every_kernel_value_is_counted(self, case: Case) -> None:
        """All kernel values that the engine computes are requested from ``problem.kernel``, which counts them."""
        run = self._run(case)
        bound = "its count is a lower bound: it took the points, or computed with a copy; use problem.kernel."
        require(not run.is_lower_bound, bound)
        counted, computed = run.evaluations, run.computed
        # with the linear kernel a solver may store w, and count inner products with it that no engine computes
        complete = counted >= computed if case.linear else counted == computed
        require(
            complete, f"{counted} kernel evaluations counted, {computed} computed; use problem.kernel, not its engine."
        )

    @check(on="all", needs=_queries_targets, fits=lambda case: case.formulation.queries_targets)
    def test_uses_queried_targets_only(self, case: Case) -> None:
        """Models use queried targets only, every query goes through ``problem.query``, and other targets change nothing."""
        run = self._run_to_repeat(case)
        for position, (snapshot, count) in enumerate(zip(run.snapshots, run.counts, strict=True)):
            unknown = np.setdiff1d(np.arange(len(case.y)), run.queried[:count])
            strange = [] if snapshot.dual_coef is None else unknown[snapshot.dual_coef[unknown] != 0.0]
            require(
                not len(strange),
                f"iterate {position} has coefficients at the points {strange}, whose targets were not queried by then; "
                "call problem.query for each point that a model uses.",
            )
        require(
            run.problem.queried.tolist() == run.queried,
            f"the problem has {len(run.problem.queried)} queried targets, {len(run.queried)} were queried; use "
            "only problem.query.",
        )
        # the targets that were not queried are negated, which must change nothing
        opposite = case.changed(y=np.where(np.isin(np.arange(len(case.y)), run.queried), case.y, -case.y))
        other = observed(self.solver, opposite, seed=self.seed, seconds=PATIENT_SECONDS)
        same = run.queried == other.queried and [*map(bits, run.snapshots)] == [*map(bits, other.snapshots)]
        require(
            same,
            "the targets that it did not query were changed, and it queried other points or returned other models; "
            "use only problem.query for targets and only ``rng`` for random numbers.",
        )

    @check()
    def test_a_target_gap_keeps_its_class(self) -> None:
        """``with_target_gap`` returns a solver of the same class."""
        returned, expected = type(self.solver.with_target_gap(1e-3)), type(self.solver)
        require(
            returned is expected,
            f"with_target_gap returned {returned.__name__}; it must return {expected.__name__}: return self.replace(...).",
        )

    # -- a path ----------------------------------------------------------------------------------------

    @check(on="protocol", fits=_path_over, seconds=2 * LIMIT)
    def test_a_path_solves_every_cell(self, case: Case) -> None:
        """Each cell of a path agrees with a separate run: feasible, certified to the claimed gap, the same objective."""
        self._run_to_repeat(case)
        along, alone = (self._certify_path(case, cold=cold) for cold in (False, True))
        require(
            along.keys() == alone.keys(),
            f"cells {sorted(alone.keys() - along.keys())} of its path were not solved; solve_path ends each cell of "
            "path.cells with a done iterate.",
        )
        for index, cell in along.items():
            other = alone[index]
            with naming(f"cell {index} of its path"):
                require((cell is None) == (other is None), "it has another kind of model.")
                if cell is None or other is None or self.gap is None or "meets" in case.tags:
                    continue
                self._reaches_its_gap(cell)
                (value, slack), (expected, other_slack) = self._value(cell), self._value(other)
                same = not self.solver.exact or abs(value - expected) <= slack + other_slack
                require(same, f"objective {value}, and {expected} in a separate run.")

    def _certify_path(self, case: Case, *, cold: bool) -> dict[int, Certificate | None]:
        """Return the certificate of each cell of a path over a case; None for models without dual coefficients."""
        path: Any = _path_over(case, cold=cold)
        refusal = self.solver.refusal(path.problem(path.cells[0]))
        skip_unless(refusal is None, str(refusal))
        certificates: dict[int, Certificate | None] = {}
        limit = PATIENT_SECONDS * len(path.cells)
        for cell_outcome in drive_path(self.solver, path, self.seed, Limits(time_limit=limit)):
            if isinstance(cell_outcome, StoppedBy):
                raise AssertionError(f"its path did not end within {limit:g} s.")
            outcome, index = cell_outcome.outcome, cell_outcome.cell.index
            ended = outcome.status is Status.OK or "meets" in case.tags
            require(ended, f"cell {index} of its path is {outcome.status}: {outcome.reason}.")
            certificates[index] = certified(path.problem(cell_outcome.cell), outcome)
        return certificates

    # -- invariances ---------------------------------------------------------------------------------

    @check(on="protocol", needs=_converges)
    def test_permuting_the_points(self, case: Case) -> None:
        """The objective does not depend on the order of the points."""
        order = np.random.default_rng(7).permutation(len(case.y))
        self._agrees(case, case.changed(x=case.x[order], y=case.y[order]))

    @check(on="protocol", needs=_converges, fits=lambda case: case.formulation.laws.symmetric)
    def test_flipping_the_labels(self, case: Case) -> None:
        """Exchanging the classes, or the sign of the targets, does not change the objective."""
        self._agrees(case, self._flipped(case))

    @check(on="protocol", needs=_converges, fits=lambda case: case.formulation.laws.doubled is not None)
    def test_doubling_every_point(self, case: Case) -> None:
        """Duplicating every point, with C changed as in ``laws.doubled``, does not change the objective."""
        doubled = case.formulation.laws.doubled or {}
        twice = np.repeat(np.arange(len(case.y)), 2)
        self._agrees(case, case.changed(x=case.x[twice], y=case.y[twice], values=case.multiplied(doubled)))

    @check(on="first-formulation")
    def test_storing_the_points_otherwise(self, case: Case) -> None:
        """Points in float32, in CSR, and as kernel values satisfy the checks of dense float64 points."""
        stored = {
            "float32": case.changed(x=case.x.astype(np.float32)),
            "CSR": case.changed(x=csr(case.x)),
            "kernel values": case.changed(x=case.kernel.block(case.x, case.x), kernel=Precomputed()),
        }
        for storage, other in stored.items():
            if self._takes(other):
                self._check_variant(case, other, f"with points in {storage}")

    @check(on="first-formulation", since="0.2")
    def test_keeping_a_few_rows(self, case: Case) -> None:
        """With a cache of a few kernel rows, where ``kernel.matrix()`` is None, the objective is the same."""
        self._check_variant(case, case.changed(cache_mb=_FEW_ROWS_MB), "with a cache of a few rows")

    def _check_variant(self, case: Case, other: Case, how: str) -> None:
        """Run the checks of `_WHATEVER_THE_STORAGE` on another form of a case, and compare its objective with the case's."""
        with naming(how):
            for name in _WHATEVER_THE_STORAGE:
                if self.excuse(name) is None:
                    getattr(SolverConformance, name).once(self, other)
            if _converges(type(self)):
                self._agrees(case, other)

    @check(on="protocol", needs=_converges, fits=_scales)
    def test_scaling_the_points(self, case: Case) -> None:
        """With points 8 times as large, the rbf problem at gamma / 64 is the same, and the linear objective scales."""
        if isinstance(case.kernel, RBF):
            self._agrees(case, case.changed(x=case.x * 8.0, kernel=RBF(gamma=case.kernel.gamma / 64.0)))
            return
        laws = case.formulation.laws
        power = laws.objective or 0
        # scale towards the larger objective, where the relative gap is as strict
        size = 8.0 if power > 0 else 1.0 / 8.0
        values = case.multiplied({name: size ** (2 * exponent) for name, exponent in laws.scaled.items()})
        self._agrees(case, case.changed(x=case.x * size, values=values), size ** (2 * power))
