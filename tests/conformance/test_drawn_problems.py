"""Solvers with a convergence proof on drawn problems: duplicates, flat kernels, one point of a class, touching hulls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import Limits, drive, get_solver
from harness.problems import NuSVC, OneClass
from harness.registry.discovery import shared_registry
from harness.testing import Case
from tests.conformance.strategies import cases

GAP = 1e-3
SECONDS = 200.0  # the first call's compilation included, on a loaded machine


@pytest.mark.parametrize("name", ["smo", "fw", "qp"])
@settings(max_examples=30)
@given(data=st.data())
def test_a_drawn_problem_is_solved_to_the_gap(name: str, data: st.DataObject) -> None:
    solver = get_solver(name).with_target_gap(GAP)
    solved = sorted(shared_registry().solved_by(type(solver)), key=lambda each: each.name)
    formulation = data.draw(st.sampled_from(solved), label="formulation")
    case: Case = data.draw(cases(formulation))
    problem = case.problem()
    outcome = drive(solver, problem, np.random.default_rng(0), Limits(time_limit=SECONDS))
    assert outcome.status == ("unfinished" if "stopped" in outcome.info else "ok")
    found = problem.certify(*problem.checked(outcome.dual_coef, outcome.intercept))
    if found.undecidable:  # only hulls may touch so nearly that float64 cannot tell whether w = 0, or the gap
        hulls = "hard-margin", "reduced-hull", "polytope-distance", "tube-svr", "one-class", "nu-svc"
        assert formulation.name in hulls
        assert found.undecidable.startswith(("w may be 0", "the relative gap is computed as"))
        return
    assert found.gap is not None
    scale = float(np.abs(problem.kernel.diagonal()).max())
    squared = -2.0 * found.dual if formulation is OneClass else found.margin_upper and found.margin_upper**2
    if isinstance(problem, NuSVC):  # of the hulls, whose weights sum to 1
        squared = -2.0 * found.dual * (2.0 / problem.nu) ** 2
    touching = squared is not None and squared <= 1e-5 * scale  # w = 0: no direction to certify
    assert touching or outcome.status == "ok", outcome.reason
    assert touching or found.relative_gap <= GAP * 1.001 + 1e-9
