"""ramp-cccp: J_s falls in every round, the end is stationary by the host's certificate, and it says why it stops."""

from dataclasses import replace

import numpy as np
import pytest
from harness_robust.cccp import RampCCCP
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import get_solver
from harness.registry.subproblem_oracle import Oracle
from tests.plugins.common import certified, iterates, last_of, matrix_of
from tests.plugins.robust_problems import flipped, objective_of, stated


def naive_cccp(problem):
    """The procedure written out with the exact solver: objectives and number of rounds."""
    kernel, values = matrix_of(problem), []
    coef = get_solver("qp").solve(problem.hinge).dual_coef
    for _ in range(100):
        values.append(objective_of(problem, coef))
        outliers = problem.targets * (kernel @ coef) < problem.s
        coef = get_solver("qp").solve(problem.subproblem(outliers)).dual_coef
        if (outliers == (problem.targets * (kernel @ coef) < problem.s)).all():
            return coef, values
    raise AssertionError("no fixed point")


@pytest.mark.parametrize("oracle", ["smo-block", "smo", "qp"])
@pytest.mark.parametrize("s", [-1.0, 0.0, 0.5])
def test_it_ends_where_the_procedure_written_out_ends(oracle, s):
    problem = stated(*flipped(), C=5.0, s=s)
    coef, values = naive_cccp(problem)
    last = last_of(RampCCCP(oracle=oracle, tolerance=1e-8), problem)
    assert last.done
    assert last.info["objective"] == pytest.approx(objective_of(problem, coef), rel=1e-6)
    assert last.info["outliers"] == np.sum(problem.targets * (matrix_of(problem) @ last.dual_coef) < s)
    assert len(values) - 1 <= last.info["rounds"] <= len(values) + 1


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([-1.0, 0.0, 0.5]),
    st.sampled_from([0.3, 3.0, 30.0]),
    st.sampled_from([1e-2, 1e-4, 1e-7]),
)
def test_the_objective_falls_and_the_end_is_stationary(seed, s, cost, tolerance):
    problem = stated(*flipped(seed=seed, n=30), C=cost, s=s)
    found = iterates(RampCCCP(tolerance=tolerance), problem)
    last, told = found[-1], [each.info["objective"] for each in found if "objective" in each.info]
    assert last.done
    assert (np.diff(told) <= 0.0).all()
    assert objective_of(problem, last.dual_coef) == pytest.approx(told[-1], rel=1e-12)
    assert all((np.abs(each.dual_coef) <= problem.upper).all() for each in found)
    assert certified(problem, last).relative_gap <= 1.001 * tolerance + 1e-9
    assert last.step == last.info["rounds"]


def test_rounds_that_run_out_and_an_oracle_that_lets_the_objective_rise_are_said(monkeypatch):
    problem = stated(*flipped(n=200, share=0.2, apart=0.7), C=10.0, s=0.0)
    last = last_of(RampCCCP(max_rounds=1), problem)
    assert (last.done, last.info["stopped"].startswith("max_rounds: ")) == (False, True)
    assert "betas changed in round 1" in last.info["stopped"]
    honest, problem = Oracle.iterates, stated(*flipped(), C=5.0)

    def spoiled(self, convex, **asked):
        for found in honest(self, convex, **asked):
            yield replace(found, dual_coef=0.0 * found.dual_coef) if hasattr(convex, "beta") else found

    monkeypatch.setattr(Oracle, "iterates", spoiled)
    last = last_of(RampCCCP(), problem)
    assert (last.done, last.info["stopped"].startswith("rise: the objective rose by ")) == (False, True)
    assert "in round 1 the oracle 'smo-block' left a relative gap of" in last.info["stopped"]
    assert objective_of(problem, last.dual_coef) == pytest.approx(last.info["objective"])
