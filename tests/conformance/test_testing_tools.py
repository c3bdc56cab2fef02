"""The suite's own tools: the zoo's known answers, exclusions, pinned versions, the record of work."""

import importlib
import re
import sys
import time
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from harness_active.pool_svc import PoolSVC
from harness_sampling.tube_svr import TubeSVR

from harness import CSVC, CSVCNoBias, get_solver
from harness.problems import L2SVC, EpsSVR, HardMargin, NuSVC, OneClass, PolytopeDistance, ReducedHull
from harness.testing import Case, SolverConformance, run_checks, zoo
from harness.testing.checks import TookTooLong, limited
from harness.testing.exact import oracle_bounds
from tests.conformance import bad_solvers as bad

ALL = (CSVC, CSVCNoBias, HardMargin, ReducedHull, L2SVC, NuSVC, OneClass, PolytopeDistance, EpsSVR, TubeSVR)


def suite(**attributes) -> type[SolverConformance]:
    return type("Suite", (SolverConformance,), {"solver": bad.Sound(), "gap": 1e-3, **attributes})


@pytest.mark.parametrize("case", [case for case in zoo(ALL) if case.optimum is not None], ids=str)
def test_the_known_answers_are_right(case: Case) -> None:
    low, high = oracle_bounds(case.problem())
    assert low - 1e-5 <= case.optimum <= high + 1e-5


def test_a_check_that_is_excused_may_fail_and_must() -> None:
    reason = "its stopping rule is the user"
    excused = suite(
        solver=bad.StopsEarly(), excused=dict.fromkeys(("certified_to_the_claimed_gap", "ends_by_itself"), reason)
    )
    found = run_checks(excused, "test_certified_to_the_claimed_gap")
    assert {result.status for result in found} == {"passed", "excused"}, "some problems are solved by the first iterate"
    assert all(reason in result.message for result in found if result.status == "excused")
    assert run_checks(excused, "test_ends_by_itself")[-1].status == "failed", "it does not fail: no excuse"


def test_a_check_that_cannot_be_made_is_none_of_the_suite() -> None:
    of_queries = {"test_uses_queried_targets_only"}
    everything = set(SolverConformance.checks()) - of_queries
    assert set(suite().checks()) == everything
    optimum = {"test_objective_agrees_with_the_exact_oracle", "test_permuting_the_points", "test_flipping_the_labels"}
    without_gap = set(suite(gap=None).checks())
    assert everything - without_gap > {*optimum, "test_certified_to_the_claimed_gap"}

    class Inexact(bad.Sound):
        exact = False

    class BlackBox(bad.Sound):
        observable = False

    class Queries(bad.Sound):
        solves = (PoolSVC,)

    assert set(suite(solver=Queries()).checks()) == everything | of_queries
    inexact = set(suite(solver=Inexact()).checks())
    assert everything - without_gap - {"test_certified_to_the_claimed_gap"} == everything - inexact
    assert everything - set(suite(solver=BlackBox()).checks()) == {"test_every_kernel_value_is_counted"}
    again = type("Again", (suite(gap=None),), {"gap": 1e-3})
    assert set(again.checks()) == everything, "a suite made from another one has the checks that it can make itself"


def test_a_case_that_the_solver_does_not_take_is_none_of_the_suite() -> None:
    class Small(bad.Sound):
        def skip(self, problem):
            return "too many points" if problem.n > 16 else None

    small = suite(solver=Small())
    names = [case.name for case in zoo(Small.solves) if len(case.y) <= 16]
    assert [case.name for case in small.cases_for("all")] == names
    assert {result.status for result in run_checks(small, "test_ends_by_itself")} == {"passed"}


def test_a_skip_that_raises_fails_each_check_instead_of_the_collection() -> None:
    class Broken(bad.Sound):
        def skip(self, problem):
            raise RuntimeError("no idea")

    results = run_checks(suite(solver=Broken()), "test_ends_by_itself")
    assert {result.status for result in results} == {"failed"}
    assert all(re.search("test_testing_tools.py:.*RuntimeError: no idea$", result.message) for result in results)


def test_an_intercept_of_the_wrong_sign_is_told_from_a_rule_that_stops_early() -> None:
    smo: Any = type(get_solver("smo"))

    class WrongSign(smo):
        def iterates(self, problem, rng):
            for each in super().iterates(problem, rng):
                yield replace(each, intercept=-each.intercept)

    cases = [case for case in zoo([CSVC]) if case.name == "overlapping"]
    right = smo().with_target_gap(1e-4).solve(cases[0].problem()).intercept
    wrong = f"it is {-right:.3g}, and with {right:.3g}"
    for cls, gap, words in ((WrongSign, 1e-4, wrong), (smo, 0.9, "Stop later")):
        judged = suite(solver=cls().with_target_gap(gap), gap=1e-4, cases=cases)
        (result,) = run_checks(judged, "claimed_gap")
        assert words in result.message


def test_a_solver_is_driven_once_on_a_case_and_every_check_judges_that_drive() -> None:
    class Counting(bad.Sound):
        starts: ClassVar[list[int]] = []

        def start(self, problem, rng):
            self.starts.append(problem.n)
            return super().start(problem, rng)

    case = next(each for each in zoo([HardMargin]) if "protocol" not in each.tags)
    judged = suite(solver=Counting(), cases=[case, case.changed(name="other")])
    for check in ("feasible", "ends", "claimed_gap", "exact_oracle", "unchanged"):
        assert {result.status for result in run_checks(judged, check)} == {"passed"}
    assert Counting.starts == [len(case.y)] * 2


def test_a_time_limit_does_not_interrupt_an_import(tmp_path, monkeypatch) -> None:
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.5)\nready = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TookTooLong):
        _import_and_sleep()
    assert sys.modules.pop("slow_to_import").ready


def _import_and_sleep() -> None:
    with limited(0.2):
        importlib.import_module("slow_to_import")
        time.sleep(10.0)
