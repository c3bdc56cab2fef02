"""The oracle of the sampling solvers: every exact solver of the registry, and what is said of one that fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from harness_sampling import OptMargin, OptSoftMargin, RandSVM, RandSVM1
from harness_sampling import oracle as module

from harness import CSVC, Iterate, Solver, UsageError, get_solver
from harness.problems import EpsSVR, HardMargin
from harness.registry.discovery import load_registry
from harness.registry.subproblem_oracle import OracleFailure
from tests.plugins.common import exact, overlapping
from tests.plugins.hull_problems import clouds, finished, hard, reduced, svc, svr, wave

SAMPLING = ("optmargin", "optsoftmargin", "randsvm", "randsvm-1")
ALL = {name: cls for plugin in load_registry().solvers.values() for name, cls in plugin.items()}
EXACT = sorted(name for name, cls in ALL.items() if cls.exact and name not in SAMPLING)
ROUGH = 1e-3  # relative gap that float32 libraries and first-order methods reach
CASES = {
    "hard-margin": (lambda: hard(*clouds(60, 60, 60, 2, 7.0)), OptMargin(r=30, gap=ROUGH)),
    "reduced-hull": (lambda: reduced(*clouds(61, 40, 40, 2, 7.0), 0.25), OptSoftMargin(r=30, gap=ROUGH)),
    "c-svc": (lambda: svc(*overlapping(62, n=120), C=1.0), RandSVM(r=60, gap=ROUGH)),
    "eps-svr, k": (lambda: svr(*wave(120), epsilon=0.3), RandSVM1(k=100, c=1.0, gap=ROUGH)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", EXACT)
def test_every_exact_solver_is_an_oracle(name, case):
    make, solver = CASES[case]
    problem, solver = make(), solver.replace(oracle=name)
    if solver.refusal(problem) is not None:
        assert not ALL[name].takes(type(problem))
        return
    reason = get_solver(name).refusal(module.restated(problem, get_solver(name)))
    if reason is not None:
        pytest.skip(reason)
    last, found = finished(solver, problem)
    assert last.done
    assert last.info["rounds"] > 1
    assert last.info["oracle_calls"] >= last.info["rounds"]
    assert found.relative_gap <= 2.0 * ROUGH
    assert found.dual == pytest.approx(exact(problem).dual, rel=4.0 * ROUGH)


# -- failures ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Faulty(Solver):
    """The interior-point solver until its n-th call, and then what ``fault`` says."""

    name = "faulty"
    solves = (HardMargin, CSVC, EpsSVR)
    fault: str = "raise"
    good: int = 1

    def iterates(self, problem, rng):
        calls.append(problem.n)
        found = get_solver("qp").solve(problem)
        if len(calls) <= self.good:
            yield Iterate(found.dual_coef, found.intercept, done=True)
        elif self.fault == "raise":
            raise ZeroDivisionError("a wheel came off")
        elif self.fault == "usage":
            raise UsageError("no such thing as a kernel here.")
        elif self.fault == "nothing":
            return
        elif self.fault == "infeasible":
            yield Iterate(3.0 * found.dual_coef, found.intercept, done=True)
        elif self.fault == "weights":
            yield Iterate(weights=np.ones(2), done=True)
        else:  # not optimal, and says that it is
            yield Iterate(problem.dual_form().start, found.intercept, done=True)


calls: list[int] = []
SAID = {
    "raise": "Faulty.iterates: ZeroDivisionError: a wheel came off",
    "usage": "failed: no such thing as a kernel here",
    "nothing": "failed: it ended without a model",
    "weights": "failed: it returned no dual coefficients",
    "infeasible": "failed: dual_coef violates the constraints of",
    "lies": "is uncertified: a relative gap of",
}
RUNS = {
    "optmargin": (lambda: hard(*clouds(46, 60, 60, 2, 6.0)), OptMargin(gap=1e-6, r=6)),
    "randsvm-1": (lambda: svc(*overlapping(6, n=200), C=1.0), RandSVM1(k=150, c=1.0)),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("fault", SAID)
@pytest.mark.parametrize("good", [0, 1])
def test_a_failing_oracle_ends_the_run_with_its_round_and_name(fault, good, run, monkeypatch):
    calls.clear()
    monkeypatch.setattr("harness.registry.subproblem_oracle.get_solver", lambda text: Faulty(fault=fault, good=good))
    make, solver = RUNS[run]
    problem = make()
    solver = solver.replace(oracle=f"faulty[fault={fault},good={good}]")
    seen = []
    with pytest.raises(OracleFailure) as raised:
        seen.extend(solver.iterates(problem, np.random.default_rng(0)))
    said, last = str(raised.value), seen[-1]
    assert said.startswith(f"{run}, round {good + 1}: the oracle 'faulty[fault={fault},good={good}]' ")
    assert SAID[fault] in said
    assert (last.done, last.info["status"], last.info["stopped"]) == (False, "oracle failed", f"oracle failed: {said}")
    problem.checked(last.dual_coef, last.intercept)  # the model before the failure


def test_an_oracle_short_of_the_gap_is_asked_again(monkeypatch):
    """libsvm's tolerance is no gap: what falls short is asked for ten times as exactly, and counted."""
    asked = []
    original = type(get_solver("smo")).with_target_gap

    def sloppy(self, gap):
        asked.append(gap)
        return original(self, 1e3 * gap)

    monkeypatch.setattr(type(get_solver("smo")), "with_target_gap", sloppy)
    last, found = finished(OptSoftMargin(oracle="smo", r=200, gap=1e-4), CASES["reduced-hull"][0]())
    assert last.done
    assert last.info["oracle_again"] == len(asked) - 1 > 0
    assert asked == pytest.approx([5e-5 / 10**k for k in range(len(asked))])
    assert found.relative_gap <= 1e-4


def test_a_black_box_makes_the_run_one():
    assert OptSoftMargin(gap=1e-6, oracle="smo").observable
    assert not OptSoftMargin(gap=1e-6, oracle="libsvm").observable
    assert OptSoftMargin(gap=1e-6, oracle="nobody").observable
