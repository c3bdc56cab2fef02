"""Plant a fault in a sound solver: the suite must name it. A suite that cannot fail proves nothing."""

import pytest

from harness.testing import Result, SolverConformance, run_checks
from tests.conformance import bad_solvers as bad


def failures(solver: type[bad.Sound], only: str = "") -> list[Result]:
    suite = type("Suite", (SolverConformance,), {"solver": solver(), "gap": 1e-3})
    return [result for result in run_checks(suite, only) if result.status == "failed"]


class TestSound(SolverConformance):
    solver = bad.Sound(epsilon=1e-4)
    gap = 1e-4


class TestFreeModel(SolverConformance):
    solver = bad.FreeModel(epsilon=1e-4)


@pytest.mark.parametrize(
    ("solver", "check"),
    [
        (bad.SharedBuffer, "test_interleaved_runs_do_not_disturb_each_other"),
        (bad.WritesIntoRow, "test_leaves_the_problem_unchanged"),
        (bad.WritesIntoSparsePoints, "test_storing_the_points_otherwise"),
        (bad.LosesMass, "test_every_iterate_is_feasible"),
        (bad.FreeOfNaN, "test_every_iterate_is_feasible"),
        (bad.FreePointsOfChance, "test_same_seed_same_iterates"),
        (bad.StopsEarly, "test_certified_to_the_claimed_gap"),
        (bad.StopsEarly, "test_objective_agrees_with_the_exact_oracle"),
        (bad.WrongProblem, "test_certified_to_the_claimed_gap"),
        (bad.HiddenRandomness, "test_same_seed_same_iterates"),
        (bad.Uncounted, "test_every_kernel_value_is_counted"),
        (bad.BehindTheCounter, "test_every_kernel_value_is_counted"),
        (bad.Silent, "test_says_what_it_is"),
        (bad.LosesACell, "test_a_path_solves_every_cell"),
        (bad.KeepsTheFirst, "test_a_path_solves_every_cell"),
        (bad.Slow, "test_yields_before_the_end_of_a_budget"),
    ],
)
def test_the_fault_is_caught_by_its_check(solver: type[bad.Sound], check: str, monkeypatch) -> None:
    monkeypatch.setattr("harness.testing.suite.PATIENT_SECONDS", 0.3)
    monkeypatch.setattr("harness.testing.conformance._PATIENCE", 0.01)
    found = failures(solver, check)
    assert found, f"{check} passed {solver.__name__}"
    print(found[0].message)


def test_a_solver_that_never_ends_is_stopped(monkeypatch) -> None:
    monkeypatch.setattr("harness.testing.suite.PATIENT_SECONDS", 0.05)
    assert "not at its end" in failures(bad.NeverEnds, "test_ends_by_itself")[0].message
