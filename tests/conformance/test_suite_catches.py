"""Plant a fault in a sound thing: the check of its name must fail. The table of them is a page of the documentation."""

from pathlib import Path
from typing import Any

import pytest

from harness.testing import Result, SolverConformance, run_checks
from harness.testing.apart import made_apart
from harness.testing.checks import Checks
from harness.testing.plugin import suite_of_thing
from harness.testing.things import CommandChecks, ObserverChecks
from tests.conformance import bad_solvers as bad
from tests.conformance import bad_things as things

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
SOLVERS = [
    (bad.SharedBuffer, "interleaved_runs_do_not_disturb_each_other"),
    (bad.WritesIntoRow, "leaves_the_problem_unchanged"),
    (bad.WritesIntoSparsePoints, "storing_the_points_otherwise"),
    (bad.LosesMass, "every_iterate_is_feasible"),
    (bad.FreeOfNaN, "every_iterate_is_feasible"),
    (bad.WrongWidth, "every_iterate_is_feasible"),
    (bad.FreePointsOfChance, "same_seed_same_iterates"),
    (bad.HiddenRandomness, "same_seed_same_iterates"),
    (bad.StopsEarly, "certified_to_the_claimed_gap"),
    (bad.StopsEarly, "objective_agrees_with_the_exact_oracle"),
    (bad.WrongProblem, "certified_to_the_claimed_gap"),
    (bad.OneCost, "certified_to_the_claimed_gap"),
    (bad.NeedsTheMatrix, "keeping_a_few_rows"),
    (bad.Uncounted, "every_kernel_value_is_counted"),
    (bad.BehindTheCounter, "every_kernel_value_is_counted"),
    (bad.Silent, "says_what_it_is"),
    (bad.EqualsNothing, "is_an_immutable_value"),
    (bad.LosesACell, "a_path_solves_every_cell"),
    (bad.KeepsTheFirst, "a_path_solves_every_cell"),
    (bad.Slow, "yields_before_the_end_of_a_budget"),
    (bad.EndsSlowly, "yields_before_the_end_of_a_budget"),
    (bad.NeverEnds, "ends_by_itself"),
    (bad.GoesOn, "yields_nothing_after_done"),
    (bad.HugeWorkingSet, "counts_what_there_is"),
    (bad.CountsDown, "counts_what_there_is"),
    (bad.RefusesAll, "takes_problems_of_all_that_it_solves"),
    (bad.YieldsNothingAtAll, "yields_a_model_in_time"),
    (bad.ForgetsItself, "a_target_gap_keeps_its_class"),
]
ENDS = [(bad.EndsTheProcess, "yields_a_model_in_time"), (bad.LoopsInC, "yields_a_model_in_time")]
CLASSES = [
    ("kernel", things.Negated, "is_a_kernel"),
    ("kernel", things.Asymmetric, "is_a_kernel"),
    ("kernel", things.WrongDiagonal, "is_a_kernel"),
    ("kernel", things.Indefinite, "is_a_kernel"),
    ("kernel", things.OtherOfSparse, "same_values_whatever_the_storage"),
    ("data set", things.WithNaN, "loads_what_can_be_used"),
    ("data set", things.OneClassOfTests, "loads_what_can_be_used"),
    ("data set", things.DrawnAnew, "loads_the_same_again"),
    ("data set", things.TestsOnTraining, "tests_on_other_points"),
    ("data set", things.SaysNothing, "describes_its_points"),
    ("formulation", things.TakesAll, "refuses_what_is_infeasible"),
    ("formulation", things.NoZoo, "has_a_zoo"),
    ("formulation", things.PrimalIsDual, "certifies_optima_and_bounds_the_rest"),
    ("formulation", things.NoConstraints, "says_what_it_is"),
    ("report format", things.without_failures, "leaves_no_run_out"),
    ("report format", things.as_bytes, "is_text_whatever_the_records"),
    ("report format", things.first_only, "is_text_whatever_the_records"),
    ("report format", things.marks, "leaves_the_records_unchanged"),
    ("metric", things.METRICS["reversed"], "better_is_better"),
    ("metric", things.METRICS["beyond"], "is_a_number_in_its_range"),
    ("metric", things.METRICS["undefined"], "is_a_number_in_its_range"),
    ("metric", things.METRICS["scribbles"], "depends_on_its_arguments_alone"),
    ("metric", things.METRICS["of-the-first"], "depends_on_its_arguments_alone"),
    ("metric", things.METRICS["without-a-word"], "says_what_it_is"),
]
OTHERS: list[tuple[str, str, type[Checks], dict[str, Any], str]] = [
    *(("observer", told, ObserverChecks, {"thing": module}, "hears_of_every_run") for told, module in things.OBSERVERS.items()),
    ("command", "says nothing of itself", CommandChecks, {"thing": things.silent}, "has_help"),
    ("command", "takes any option", CommandChecks, {"thing": things.forgiving}, "meets_a_wrong_option_with_a_sentence"),
]  # fmt: skip


def of_solver(solver: type[Any]) -> type[SolverConformance]:
    return type("Suite", (SolverConformance,), {"solver": solver(), "gap": 1e-3})


def failures(suite: type[Checks], check: str) -> list[Result]:
    return [result for result in run_checks(suite, check) if result.status == "failed"]


class TestSound(SolverConformance):
    solver = bad.Sound(epsilon=1e-4)
    gap = 1e-4


class TestCoordinate(SolverConformance):
    solver = bad.Coordinate()
    gap = 1e-3


class TestFreeModel(SolverConformance):
    solver = bad.FreeModel(epsilon=1e-4)


@pytest.mark.parametrize(("solver", "check"), SOLVERS)
def test_a_fault_of_a_solver_is_caught_by_its_check(solver: type[Any], check: str, monkeypatch) -> None:
    monkeypatch.setattr("harness.testing.suite.PATIENT_SECONDS", 0.3)
    monkeypatch.setattr("harness.testing.conformance._PATIENCE", 0.01)
    monkeypatch.setattr(getattr(SolverConformance, f"test_{check}"), "seconds", 1.0)
    found = failures(of_solver(solver), f"test_{check}")
    assert found, f"{check} passed {solver.__name__}"
    assert found[0].message
    assert "bad_solvers.py:" in found[0].where


@pytest.mark.parametrize(("solver", "check"), ENDS)
def test_what_ends_or_holds_the_process_is_a_result_too(solver: type[Any], check: str, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("harness.testing.apart._GRACE", 0.2)
    monkeypatch.setattr(SolverConformance.test_yields_a_model_in_time, "seconds", 0.2)
    made = made_apart(of_solver(solver), ["test_says_what_it_is", f"test_{check}"], "bad", tmp_path)
    assert [(name, [result.status for result in found]) for name, found in made] == [
        ("test_says_what_it_is", ["passed"]),
        (f"test_{check}", ["failed"]),
    ]


@pytest.mark.parametrize(("kind", "thing", "check"), CLASSES)
def test_a_fault_of_a_thing_is_caught_by_its_check(kind: str, thing: Any, check: str) -> None:
    suite = suite_of_thing(kind, "bad", thing)
    assert failures(suite, f"test_{check}"), f"{check} passed {thing}"


@pytest.mark.parametrize(
    ("kind", "thing"),
    [
        ("kernel", things.Laplace), ("data set", things.Blobs), ("formulation", things.LeastSquares),
        ("report format", things.labels), ("metric", things.Metric(things.share_of_errors, "low", 0.0, 1.0)),
    ],
)  # fmt: skip
def test_a_thing_without_a_fault_passes(kind: str, thing: Any) -> None:
    results = run_checks(suite_of_thing(kind, "sound", thing))
    assert not [result.message for result in results if result.status == "failed"]
    assert any(result.status == "passed" for result in results)


@pytest.mark.parametrize(("kind", "told", "base", "own", "check"), OTHERS)
def test_a_fault_of_an_observer_or_a_command_is_caught(kind, told, base, own, check) -> None:
    assert failures(type("Suite", (base,), {**own, "called": kind}), f"test_{check}"), told


def test_the_page_of_faults_is_this_table() -> None:
    """``python -m tests.conformance.test_suite_catches`` writes it."""
    assert PAGE.read_text() == page()


def page() -> str:
    rows = [("solver", solver.__doc__, check) for solver, check in (*SOLVERS, *ENDS)]
    rows += [(kind, thing.__doc__ or "Has no docstring.", check) for kind, thing, check in CLASSES]
    rows += [(kind, f"{told[0].upper()}{told[1:]}.", check) for kind, told, _, _, check in OTHERS]
    lines = [f"| {kind} | {' '.join(told.split())} | `{check}` |" for kind, told, check in rows]
    head = f"""# Faults that `harness check` finds

Each of these {len(rows)} things was made with one fault. The tests of the harness make the check beside it, and it fails.
`harness check --only NAME` makes one check, `--only NAME,NAME` several.

| kind | the fault | the check that fails |
| --- | --- | --- |
"""
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
