"""Base class of a solver's suite: the cases of each check, and one drive of the solver for each case."""

from __future__ import annotations

import functools
import unittest
from typing import TYPE_CHECKING, Any, ClassVar

from harness.measure.outcome import Status, StoppedBy
from harness.problems.cases import Case
from harness.registry.discovery import shared_registry
from harness.testing.checks import Checks, TookTooLong, limited, require, skip_unless
from harness.testing.running import Run, observed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.problems.problem import Certificate, Problem
    from harness.solver.protocol import Solver

PATIENT_SECONDS = 10.0  # time limit of a drive on one case, which takes milliseconds
ROUNDING = 1e-9  # tolerance of objectives and relative gaps
_NO_MARGIN = 1e-6  # tolerance of the dual objective of hulls that meet


def zoo(formulations: Iterable[type[Problem]]) -> list[Case]:
    """Return the test problems of all the formulations, in order."""
    return [case for formulation in formulations for case in cases_of_formulation(formulation)]


def zoo_of(solver: Solver) -> list[Case]:
    """Return the test problems of every registered formulation that a solver solves."""
    return zoo(shared_registry().solved_by(type(solver)))


@functools.cache  # the same objects for every suite, so that the reference solver runs once for each case
def cases_of_formulation(formulation: type[Problem]) -> list[Case]:
    """Return the test problems of a formulation."""
    return formulation.zoo()


class Suite(Checks):
    """Base class of the suite of a solver.

    Subclass with a name that starts with ``Test``, set ``solver`` and ``gap``, and run pytest.

    solver : the configured solver under test
    gap : the relative gap that the final iterates reach, certified by the host; None if the solver claims none
    cases : the problems; None for the test problems of the formulations in the solver's ``solves``
    seed : the seed of the solver's random numbers
    """

    kind = "solver"
    solver: ClassVar[Solver]
    gap: ClassVar[float | None] = None
    cases: ClassVar[Sequence[Case] | None] = None
    seed: ClassVar[int] = 0
    _runs: ClassVar[dict[Case, Run | BaseException]]

    def __init_subclass__(cls, **further: Any) -> None:
        """Create an empty store of drives for the subclass."""
        cls._runs = {}
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
        except (Exception, TookTooLong):  # every check of the case fails with this error and reports it
            return True

    @classmethod
    def cases_for(cls, tag: str) -> list[Case]:
        """Return the cases with a tag that the solver takes, or the first one if none has the tag.

        ``all`` selects all cases, ``first-formulation`` the ``protocol`` cases of the first formulation.
        """
        cases = cls._taken()
        if tag == "all":
            return cases
        if tag == "first-formulation":
            return [case for case in cls.cases_for("protocol") if case.formulation is cases[0].formulation]
        return [case for case in cases if tag in case.tags] or cases[:1]

    @classmethod
    def cases_of(cls, name: str) -> list[Case] | list[None]:
        """Return the cases that a check runs on; ``[None]`` for a check that takes no case."""
        checked = getattr(cls, name)
        if not checked.on:
            return [None]
        return [case for case in cls.cases_for(checked.on) if checked.fits is None or checked.fits(case)]

    @classmethod
    def teardown_class(cls) -> None:
        """Free the drives after the last test of the suite."""
        cls._runs.clear()

    def _run(self, case: Case) -> Run:
        """Return the drive of the solver on a case, the same object for every check."""
        if case not in self._runs:
            reason = self.solver.refusal(case.problem())
            skip_unless(reason is None, str(reason))
            try:
                self._runs[case] = observed(self.solver, case, seed=self.seed, seconds=PATIENT_SECONDS)
            except BaseException as error:
                self._runs[case] = error
        result = self._runs[case]
        if isinstance(result, BaseException):
            raise result
        return result

    def _run_to_repeat(self, case: Case) -> Run:
        """Return the drive of the solver on a case for a check that makes further ones; SkipTest if it took too long."""
        run = self._run(case)
        in_time = run.outcome.stopped_by is not StoppedBy.TIME
        skip_unless(in_time, f"{case} is not run again: it did not end within {PATIENT_SECONDS:g} s.")
        return run

    @staticmethod
    @functools.cache
    def _flipped(case: Case) -> Case:
        """Return the case with opposite targets, the same object for every check."""
        return case.changed(y=-case.y)

    def _finished(self, case: Case) -> Run:
        """Return the drive of the solver; raise AssertionError if the solver did not end by its own rule."""
        run = self._run(case)
        outcome = run.outcome
        ended = outcome.status is Status.OK or ("meets" in case.tags and outcome.status is Status.UNFINISHED)
        how = f"it ended as {outcome.status} after {outcome.yields} iterates: {outcome.reason.rstrip('.')}"
        require(ended, f"{how}; end the generator with a done iterate.")
        return run

    def _certified(self, case: Case) -> Certificate:
        """Return the host's certificate of the solver's last model."""
        certificate = self._finished(case).certificate
        if certificate is None:
            raise unittest.SkipTest("the model has no certificate")
        return certificate

    def _objective(self, case: Case) -> tuple[float, float]:
        """Return the dual objective, and its largest distance from the optimum under the claimed gap."""
        certificate = self._certified(case)
        if "meets" in case.tags:
            return certificate.dual or 0.0, _NO_MARGIN
        require(certificate.dual is not None, f"the host could not certify the model: {certificate}.")
        return self._value(certificate)

    def _value(self, certificate: Certificate) -> tuple[float, float]:
        """Return the dual objective of a certified model, and its largest distance from the optimum under the claimed gap."""
        gap = self.gap or 0.0
        # the objective that the relative gap is a fraction of
        scale = abs(certificate.primal or certificate.dual or 0.0)
        if certificate.gap and certificate.relative_gap:
            scale = certificate.gap / certificate.relative_gap
        return certificate.dual or 0.0, gap * scale + ROUNDING

    def _agrees(self, first: Case, second: Case, factor: float = 1.0) -> None:
        """Assert that two cases have the same optimal objective, up to a factor and both gaps."""
        value, slack = self._objective(first)
        other, other_slack = self._objective(second)
        allowed = slack + other_slack / factor
        require(
            abs(value - other / factor) <= allowed,
            f"objective {value:.9g}, but {other / factor:.9g} for the changed problem; "
            f"they must agree within {allowed:.2g}.",
        )
