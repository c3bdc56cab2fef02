"""The suite's own tools: the zoo's known answers, exclusions, pinned versions, the record of work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import (
    CSVC,
    L2SVC,
    CSVCNoBias,
    EpsSVR,
    HardMargin,
    Limits,
    NuSVC,
    OneClass,
    PolytopeDistance,
    ReducedHull,
    TubeSVR,
    drive,
)
from harness.testing import Case, SolverConformance, run_checks, zoo
from harness.testing.exact import oracle_bounds
from harness.testing.running import recorded_work
from harness.testing.strategies import cases
from tests.conformance import bad_solvers as bad

ALL = (CSVC, CSVCNoBias, HardMargin, ReducedHull, L2SVC, NuSVC, OneClass, PolytopeDistance, EpsSVR, TubeSVR)


def suite(**attributes) -> type[SolverConformance]:
    return type("Suite", (SolverConformance,), {"solver": bad.Sound(), "gap": 1e-3, **attributes})


@pytest.mark.parametrize("case", [case for case in zoo(ALL) if case.optimum is not None], ids=str)
def test_the_known_answers_are_right(case: Case) -> None:
    low, high = oracle_bounds(case.problem())
    assert low - 1e-5 <= case.optimum <= high + 1e-5


@pytest.mark.parametrize("formulation", ALL)
def test_the_zoo_states_every_problem_afresh(formulation) -> None:
    for case in zoo([formulation]):
        first, second = case.problem(), case.problem()
        assert first.kernel.counter is not second.kernel.counter
        assert first.kernel.points is not second.kernel.points
        assert formulation.task == "regression" or set(np.unique(first.targets)) == {-1.0, 1.0}


def test_the_zoo_has_every_kind_of_data() -> None:
    names = {case.name for case in zoo([CSVC])}
    assert names >= {
        "pair", "three-points", "separable", "constant-feature", "one-point-of-a-class", "duplicates", "xor",
        "overlapping", "float32", "csr", "precomputed", "opposite-labels",
    }  # fmt: skip
    assert "opposite-labels" not in {case.name for case in zoo([HardMargin])}
    storages = {"float32", "csr", "csr-linear", "precomputed", "duplicates"}
    assert {case.name for case in zoo([EpsSVR])} >= {"without-tube", "constant-target", "opposite-targets", *storages}
    assert {case.name for case in zoo([TubeSVR])} >= {"no-tube", "constant-target", "opposite-targets", *storages}
    assert {case.name for case in zoo([OneClass])} >= {"every-point-at-the-cap", "cap-out-of-reach", *storages}


def test_an_excluded_check_is_skipped_with_its_reason() -> None:
    results = run_checks(suite(exclude={"test_ends_by_itself": "an endless stream"}), "test_ends_by_itself")
    assert {(result.status, result.message) for result in results} == {("skipped", "excluded: an endless stream")}


def test_checks_newer_than_the_pin_are_left_out() -> None:
    class Newer(SolverConformance):
        solver = bad.Sound()
        exclude_after = "0.0"

    assert {result.status for result in run_checks(Newer)} == {"skipped"}


def test_every_check_has_one_line_and_a_version() -> None:
    for name in SolverConformance.checks():
        method = getattr(SolverConformance, name)
        assert method.__doc__.count("\n") == 0, name
        assert method.since


def test_own_cases_replace_the_zoo() -> None:
    case = zoo([HardMargin])[0]
    results = run_checks(suite(cases=[case]), "test_every_iterate_is_feasible")
    assert [result.case for result in results] == ["hard-margin:pair"]


def test_the_record_of_work_equals_the_count() -> None:
    problem = next(case for case in zoo([CSVC]) if case.name == "overlapping").problem()
    coef = problem.targets * (np.arange(problem.n) < 5)
    with recorded_work() as work:
        problem.kernel.row(3)
        problem.kernel.row(3)
        problem.kernel.rows([3, 4, 5])
        problem.kernel.block([1, 2], [3, 4, 5])
        problem.kernel.diagonal()
        problem.kernel.expand(coef, [1, 2, 3])
        problem.restrict([1, 2, 3]).kernel.row(0)
    assert work.values == problem.kernel.counter.evaluations == 40 + 80 + 6 + 40 + 15 + 3


@given(st.sampled_from(ALL).flatmap(cases))
def test_drawn_problems_can_be_stated(case: Case) -> None:
    problem = case.problem()
    assert case.formulation.task == "regression" or set(np.unique(problem.targets)) == {-1.0, 1.0}
    assert problem.kernel.block(np.arange(problem.n)).shape == (problem.n, problem.n)


@given(cases(L2SVC))
def test_the_sound_solver_certifies_drawn_problems(case: Case) -> None:
    problem = case.problem()
    outcome = drive(bad.Sound(epsilon=1e-3), problem, np.random.default_rng(0), Limits(seconds=200.0))
    assert problem.certify(outcome.dual_coef, outcome.intercept).relative_gap <= 1.001e-3
