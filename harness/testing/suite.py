"""What a suite of checks is made of: which checks, on which cases, judging which drives."""

from __future__ import annotations

import functools
import unittest
from typing import TYPE_CHECKING, Any, ClassVar

from harness.kernels.functions import RBF
from harness.measure.outcome import Limits, Status, StoppedBy
from harness.measure.path_drive import drive_path
from harness.problems.cases import Case
from harness.registry.discovery import shared_registry
from harness.solver.path import Grid, SolutionPath
from harness.support.parameters import values_of
from harness.testing.checks import Checks, TookTooLong, limited
from harness.testing.running import Run, observed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.problems.problem import Certificate, Problem
    from harness.solver.protocol import Solver

PATIENT_SECONDS = 10.0  # a case of the zoo takes milliseconds; a solver that is not done by then never ends
ROUNDING = 1e-9
_NO_MARGIN = 1e-6  # dual objective of hulls that meet


def claims_a_gap(suite: type[Suite]) -> bool:
    """True if the last model is claimed to be within a relative gap."""
    return suite.gap is not None


def converges(suite: type[Suite]) -> bool:
    """True if that gap is to the optimum of the problem, so that its objective can be compared."""
    return suite.gap is not None and suite.solver.exact


def is_observable(suite: type[Suite]) -> bool:
    """True if the host can count the solver's kernel evaluations."""
    return suite.solver.observable


def queries_targets(suite: type[Suite]) -> bool:
    """True if the solver solves a formulation whose targets must be queried."""
    return any(formulation.queries_targets for formulation in shared_registry().declared_by(type(suite.solver)))


def zoo(formulations: Iterable[type[Problem]]) -> list[Case]:
    """Return the cases of every formulation in turn."""
    return [case for formulation in formulations for case in cases_of_formulation(formulation)]


def zoo_of(solver: Solver) -> list[Case]:
    """Return the cases of every formulation that a solver solves, of those that are registered."""
    return zoo(shared_registry().solved_by(type(solver)))


@functools.cache  # the same objects for every suite, so that the exact oracle is asked once for each
def cases_of_formulation(formulation: type[Problem]) -> list[Case]:
    """Return the zoo of a formulation."""
    return formulation.zoo()


def path_over(case: Case, *, cold: bool) -> SolutionPath | None:
    """Return a path over a case: a quarter of its price of a violation and all of it, for two widths of an RBF kernel.

    None where it has neither.
    """
    costs = {
        name: (0.25 * case.values[name], float(case.values[name])) for name in ("C", "chi") if case.values.get(name)
    }
    values = {name: value for name, value in case.values.items() if name not in costs}
    gamma = getattr(case.kernel, "gamma", None) if isinstance(case.kernel, RBF) else None
    widths = {} if gamma is None else {"gamma": (float(gamma), 2.0 * gamma)}
    if not costs and not widths:
        return None
    kernel, own = type(case.kernel), {} if widths else values_of(case.kernel)
    grid = Grid(dict([*costs.items()][:1]), widths)
    others = {**dict([*costs.items()][1:]), **values}
    formulation: Any = case.formulation
    return SolutionPath(grid, formulation, kernel, case.x.copy(), case.y, others, own, cache_mb=1.0, cold=cold)


class Suite(Checks):
    """Subclass with a name that starts with ``Test``, set ``solver`` and ``gap``, run pytest.

    solver : the configured solver under test
    gap : the relative gap its final iterates reach, certified by the host; None: it claims none
    cases : the problems; None: the zoo of the solver's ``solves``
    seed : of the solver's random numbers
    """

    kind = "solver"
    solver: ClassVar[Solver]
    gap: ClassVar[float | None] = None
    cases: ClassVar[Sequence[Case] | None] = None
    seed: ClassVar[int] = 0
    _runs: ClassVar[dict[int, Run | BaseException]]
    _flips: ClassVar[dict[int, tuple[Case, Case]]]
    _kept: ClassVar[list[Case]]

    def __init_subclass__(cls, **further: Any) -> None:
        """Give the suite drives of its own."""
        cls._runs, cls._flips, cls._kept = {}, {}, []
        super().__init_subclass__(**further)

    @classmethod
    def subject(cls) -> Any:
        return getattr(cls, "solver", None)

    @classmethod
    @functools.cache
    def _taken(cls) -> list[Case]:
        cases = zoo_of(cls.solver) if cls.cases is None else cls.cases
        return [case for case in cases if cls._takes(case)]

    @classmethod
    def _takes(cls, case: Case) -> bool:
        try:
            with limited(PATIENT_SECONDS):
                return cls.solver.refusal(case.problem()) is None
        except (Exception, TookTooLong):  # every check of the case fails with it, and says so
            return True

    @classmethod
    def cases_for(cls, wanted: str) -> list[Case]:
        """Return the cases that the solver takes, all or those with the tag ``wanted``; if none has it, the first.

        ``first-formulation`` means the cases of the protocol in the formulation that comes first.
        """
        everything = cls._taken()
        if wanted == "all":
            return everything
        if wanted == "first-formulation":
            return [case for case in cls.cases_for("protocol") if case.formulation is everything[0].formulation]
        return [case for case in everything if wanted in case.tags] or everything[:1]

    @classmethod
    def cases_of(cls, name: str) -> list[Case] | list[None]:
        """Return the cases that a check is made on; of one that takes no case, None alone."""
        made = getattr(cls, name)
        if not made.on:
            return [None]
        return [case for case in cls.cases_for(made.on) if made.fits is None or made.fits(case)]

    @classmethod
    def teardown_class(cls) -> None:
        """Let go of the drives: pytest is done with the suite."""
        cls._runs.clear()
        cls._kept.clear()

    def _stated(self, case: Case) -> Problem:
        problem: Problem = case.problem()
        reason = self.solver.refusal(problem)
        if reason is not None:
            raise unittest.SkipTest(reason)
        return problem

    def _run(self, case: Case) -> Run:
        """Return the drive of the solver on a case: the same one to every check that asks."""
        if id(case) not in self._runs:
            self._stated(case)
            self._kept.append(case)  # so that its id stays its own
            try:
                run = observed(self.solver, case, seed=self.seed, seconds=PATIENT_SECONDS)
            except BaseException as error:
                self._runs[id(case)] = error
            else:
                self._runs[id(case)] = run
                self.note_hang(run.outcome.stopped_by is StoppedBy.TIME)
        found = self._runs[id(case)]
        if isinstance(found, BaseException):
            raise found
        return found

    def _flipped(self, case: Case) -> Case:
        """Return the case with the opposite targets, the same object to every check that asks."""
        return self._flips.setdefault(id(case), (case, case.changed(y=-case.y)))[1]

    def _finished(self, case: Case) -> Run:
        """Return the drive of the solver, which must have come to its own end."""
        run = self._run(case)
        outcome = run.outcome
        ended = outcome.status is Status.OK or ("meets" in case.tags and outcome.status is Status.UNFINISHED)
        assert ended, (
            f"{case}: it ended as {outcome.status} after {outcome.yields} iterates: {outcome.reason.rstrip('.')}; "
            "end the generator with a done iterate."
        )
        return run

    def _certified(self, case: Case) -> Certificate:
        """Return the host's certificate of the solver's last model."""
        found = self._finished(case).certificate
        if found is None:
            raise unittest.SkipTest("nothing can be certified of its model")
        return found

    def _objective(self, case: Case) -> tuple[float, float]:
        """Return the dual objective and how far from the optimum the claimed gap lets it be."""
        found = self._certified(case)
        if "meets" in case.tags:
            return found.dual or 0.0, _NO_MARGIN
        assert found.dual is not None, f"{case}: the host could not certify the model: {found}."
        return found.dual, (self.gap or 0.0) * _scale(found) + ROUNDING

    def _along(self, case: Case, *, cold: bool) -> dict[int, Certificate | None]:
        """Return the certificate of each cell of a path over a case; None of a model that has no dual coefficients."""
        path = path_over(case, cold=cold)
        assert path is not None
        refused = self.solver.refusal(path.problem(path.cells[0]))
        if refused is not None:
            raise unittest.SkipTest(refused)
        found: dict[int, Certificate | None] = {}
        limit = PATIENT_SECONDS * len(path.cells)
        for each in drive_path(self.solver, path, self.seed, Limits(time_limit=limit)):
            assert not isinstance(each, StoppedBy), f"{case}: its path did not end within {limit:g} s."
            outcome, problem = each.outcome, path.problem(each.cell)
            ended = outcome.status is Status.OK or "meets" in case.tags
            assert ended, f"{case}: cell {each.cell.index} of its path is {outcome.status}: {outcome.reason}."
            model = None if outcome.dual_coef is None else problem.checked(outcome.dual_coef, outcome.intercept)
            found[each.cell.index] = None if model is None else problem.certify(*model)
        return found

    def _same_objective(self, what: str, one: Certificate, other: Certificate | None) -> None:
        """Assert that two certified models of one problem have the same dual objective, within the claimed gap of each."""
        assert other is not None
        allowed = (self.gap or 0.0) * (_scale(one) + _scale(other)) + ROUNDING
        apart = abs((one.dual or 0.0) - (other.dual or 0.0))
        assert apart <= allowed, f"{what}: objective {one.dual}, and {other.dual} as a run of its own."

    def _agrees(self, first: Case, second: Case, factor: float = 1.0) -> None:
        """Assert that two cases have the same optimal objective, up to a factor and both gaps."""
        value, slack = self._objective(first)
        other, other_slack = self._objective(second)
        allowed = slack + other_slack / factor
        assert abs(value - other / factor) <= allowed, (
            f"{first}: objective {value:.9g}, but {other / factor:.9g} for the changed problem; "
            f"they must agree within {allowed:.2g}."
        )


def _scale(found: Certificate) -> float:
    """Return what the relative gap is relative to."""
    if found.gap and found.relative_gap:
        return found.gap / found.relative_gap
    return abs(found.primal or found.dual or 0.0)
