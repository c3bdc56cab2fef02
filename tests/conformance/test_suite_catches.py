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
from tests.run.test_dual_bounds import FALSE_DUALS, OTHER_PROBLEMS

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
SOLVERS = {
    "interleaved_runs_do_not_disturb_each_other": (bad.SharedBuffer,),
    "leaves_the_problem_unchanged": (bad.WritesIntoRow,),
    "storing_the_points_otherwise": (bad.WritesIntoSparsePoints,),
    "every_iterate_is_feasible": (bad.LosesMass, bad.FreeOfNaN, bad.WrongWidth),
    "same_seed_same_iterates": (bad.FreePointsOfChance, bad.HiddenRandomness),
    "certified_to_the_claimed_gap": (bad.StopsEarly, bad.WrongProblem, bad.OneCost, bad.FarFromTheOptimum),
    "objective_agrees_with_the_exact_oracle": (bad.StopsEarly,),
    "keeping_a_few_rows": (bad.NeedsTheMatrix,),
    "every_kernel_value_is_counted": (bad.Uncounted, bad.BehindTheCounter),
    "says_what_it_is": (bad.Silent,),
    "is_an_immutable_value": (bad.EqualsNothing,),
    "a_path_solves_every_cell": (bad.LosesACell, bad.KeepsTheFirst),
    "yields_before_the_end_of_a_budget": (bad.Slow, bad.EndsSlowly),
    "ends_by_itself": (bad.NeverEnds,),
    "yields_nothing_after_done": (bad.GoesOn,),
    "counts_what_there_is": (bad.HugeWorkingSet, bad.CountsDown),
    "takes_problems_of_all_that_it_solves": (bad.RefusesAll,),
    "yields_a_model_in_time": (bad.YieldsNothingAtAll,),
    "a_target_gap_keeps_its_class": (bad.ForgetsItself,),
}
ENDS = {"yields_a_model_in_time": (bad.EndsTheProcess, bad.LoopsInC)}
METRIC = things.METRICS
THINGS = {
    ("kernel", "is_a_kernel"): (things.Negated, things.Asymmetric, things.WrongDiagonal, things.Indefinite),
    ("kernel", "same_values_whatever_the_storage"): (things.OtherOfSparse,),
    ("data set", "loads_what_can_be_used"): (things.WithNaN, things.OneClassOfTests),
    ("data set", "loads_the_same_again"): (things.DrawnAnew,),
    ("data set", "tests_on_other_points"): (things.TestsOnTraining,),
    ("data set", "describes_its_points"): (things.SaysNothing,),
    ("formulation", "refuses_what_is_infeasible"): (things.TakesAll,),
    ("formulation", "has_a_zoo"): (things.NoZoo,),
    ("formulation", "certifies_optima"): (things.DoublesBoth, things.NoOptimum),
    ("formulation", "dual_value_is_that_of_the_dual_form"): (things.DoublesBoth, things.ShiftsTheDual),
    ("formulation", "primal_bounds_every_dual"): (
        things.PrimalIsDual,
        things.HalvesEveryGap,
        things.ShrinksTheGap,
        things.LeavesOutALoss,
    ),
    ("formulation", "primal_of_is_the_primal_of_the_certificate"): (things.UsesNumpyOnBounds, things.TriplesTheLoss),
    ("formulation", "says_what_it_is"): (things.NoConstraints,),
    ("report format", "leaves_no_run_out"): (things.without_failures,),
    ("report format", "is_text_whatever_the_records"): (things.as_bytes, things.first_only),
    ("report format", "leaves_the_records_unchanged"): (things.marks,),
    ("metric", "better_is_better"): (METRIC["reversed"],),
    ("metric", "is_a_number_in_its_range"): (METRIC["beyond"], METRIC["undefined"]),
    ("metric", "depends_on_its_arguments_alone"): (METRIC["scribbles"], METRIC["of-the-first"]),
    ("metric", "says_what_it_is"): (METRIC["without-a-word"],),
    ("executor", "says_what_it_is"): (things.silent_nodes,),
    ("executor", "meets_a_wrong_place_with_a_sentence"): (things.any_error, things.any_option, things.no_executor),
}


def pairs(table: dict[Any, tuple[Any, ...]]) -> list[tuple[Any, Any]]:
    return [(thing, check) for check, things_of_it in table.items() for thing in things_of_it]


OTHERS: list[tuple[str, str, type[Checks], dict[str, Any], str]] = [
    *(("observer", fault, ObserverChecks, {"thing": module}, "hears_of_every_run") for fault, module in things.OBSERVERS.items()),
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


class TestFreeCoordinate(TestCoordinate):
    solver = bad.FreeCoordinate()


class TestFreeModel(SolverConformance):
    solver = bad.FreeModel(epsilon=1e-4)


@pytest.mark.parametrize(("solver", "check"), pairs(SOLVERS))
def test_a_fault_of_a_solver_is_caught_by_its_check(solver: type[Any], check: str, monkeypatch) -> None:
    # a solver without an end uses all of them on each of some 30 cases
    monkeypatch.setattr("harness.testing.suite.PATIENT_SECONDS", 0.05 if solver is bad.NeverEnds else 0.3)
    monkeypatch.setattr("harness.testing.conformance._PATIENCE", 0.01)
    monkeypatch.setattr(getattr(SolverConformance, f"test_{check}"), "seconds", 1.0)
    found = failures(of_solver(solver), f"test_{check}")
    assert found, f"{check} passed {solver.__name__}"
    assert found[0].message
    assert "bad_solvers.py:" in found[0].where


@pytest.mark.parametrize(("solver", "check"), pairs(ENDS))
def test_what_ends_or_holds_the_process_is_a_result_too(solver: type[Any], check: str, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("harness.testing.apart._GRACE", 4.0)
    monkeypatch.setattr(SolverConformance.test_yields_a_model_in_time, "seconds", 1.0)
    made = made_apart(of_solver(solver), ["test_says_what_it_is", f"test_{check}"], "bad", tmp_path)
    statuses = {name: {result.case: result.status for result in found} for name, found in made}
    cases = [str(case) for case in of_solver(solver).cases_of(f"test_{check}")]
    assert statuses == {"test_says_what_it_is": {"": "passed"}, f"test_{check}": dict.fromkeys(cases, "failed")}


@pytest.mark.parametrize(("thing", "kind_and_check"), pairs(THINGS))
def test_a_fault_of_a_thing_is_caught_by_its_check(thing: Any, kind_and_check: tuple[str, str]) -> None:
    kind, check = kind_and_check
    assert failures(suite_of_thing(kind, "bad", thing), f"test_{check}"), f"{check} passed {thing}"


@pytest.mark.parametrize(
    ("kind", "thing"),
    [
        ("kernel", things.Sound), ("data set", things.Blobs), ("formulation", things.LeastSquares), ("formulation", things.Certified),
        ("report format", things.labels), ("executor", things.nodes),
        ("metric", things.Metric(things.share_of_errors, "low", 0.0, 1.0)),
    ],
)  # fmt: skip
def test_a_thing_without_a_fault_passes(kind: str, thing: Any) -> None:
    results = run_checks(suite_of_thing(kind, "sound", thing))
    assert not [result.message for result in results if result.status == "failed"]
    assert any(result.status == "passed" for result in results)


@pytest.mark.parametrize(("kind", "fault", "base", "own", "check"), OTHERS)
def test_a_fault_of_an_observer_or_a_command_is_caught(kind, fault, base, own, check) -> None:
    assert failures(type("Suite", (base,), {**own, "called": kind}), f"test_{check}"), fault


def test_the_page_of_faults_is_this_table() -> None:
    """``python -m tests.conformance.test_suite_catches`` writes it."""
    assert PAGE.read_text() == page()


def page() -> str:
    rows = [("solver", solver.__doc__, check) for solver, check in (*pairs(SOLVERS), *pairs(ENDS))]
    rows += [(kind, thing.__doc__ or "Has no docstring.", check) for thing, (kind, check) in pairs(THINGS)]
    rows += [(kind, f"{fault[0].upper()}{fault[1:]}.", check) for kind, fault, _, _, check in OTHERS]
    lines = [f"| {kind} | {' '.join(fault.split())} | `{check}` |" for kind, fault, check in rows]
    head = f"""# Faults that `harness check` finds

Each of these {len(rows)} things was made with one fault. The tests of the harness make the check beside it, and it fails.
`harness check --only NAME` makes one check, `--only NAME,NAME` several.

| kind | the fault | the check that fails |
| --- | --- | --- |
"""
    return head + "\n".join(lines) + "\n" + of_bounds()


def of_bounds() -> str:
    """Return the faults of dual bounds, each with the test that catches it."""
    tests = {"a_dual_of_another_problem_is_no_bound": OTHER_PROBLEMS, "a_false_dual_is_no_bound": FALSE_DUALS}
    lines = [f"| {fault} | `test_{test}` |" for test, faults in tests.items() for fault in faults]
    head = """
## Duals that are no bound

A [suboptimality](../explanation/certificates.md#suboptimality-with-the-dual-of-another-run) rests on the dual of another run.
A harness with one of these faults would use a dual that bounds nothing here. `tests/run/test_dual_bounds.py` has the tests.

| the fault | the test that fails |
| --- | --- |
"""
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
