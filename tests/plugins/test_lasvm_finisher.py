"""The finisher of lasvm: when it is asked, what it is asked for, and what becomes of its answer."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm import LASVM, finishing, solver

from harness import RBF, get_solver
from tests.plugins.common import certified, noisy, precomputed
from tests.plugins.lasvm_problems import assert_feasible, iterates, stated, violation


@pytest.fixture
def hard():
    """A problem whose finishing step takes some tens of REPROCESS a member."""
    return precomputed(stated(*noisy(400, d=2, noise=0.5), C=300.0, kernel=RBF(gamma=1.0)))[0]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(finishing, "LONG", 5)


@pytest.mark.parametrize("name", ["smo-block", "qp"])
def test_a_long_finishing_step_ends_at_the_optimum_of_S_at_tau(hard, monkeypatch, name):
    asked = []
    hand_over = solver.hand_over

    def noting(problem, expansion, *given, **closing):
        asked.append((expansion.every_member(), expansion.write().copy()))
        return hand_over(problem, expansion, *given, **closing)

    monkeypatch.setattr(solver, "hand_over", noting)
    found = iterates(hard, finisher=name)
    last, plain = found[-1], iterates(hard, finisher=None)[-1]
    [(members, start)] = asked
    assert (last.done, last.info["phase"]) == (True, "finisher")
    assert {*np.flatnonzero(last.dual_coef), *np.flatnonzero(start)} <= set(members)
    assert last.info["members"] == last.working_set == len(members)
    exact = violation(hard, precomputed(hard)[1], last.dual_coef, members)
    assert exact <= 1e-3
    assert last.info["delta"] == pytest.approx(exact, abs=1e-8)
    for iterate in found:
        assert_feasible(hard, np.clip(iterate.dual_coef, hard.lower_bounds, hard.upper_bounds))
    # S was larger when it was handed over than at the end of the paper's step: the optimum over it is no lower
    assert certified(hard, last).dual >= certified(hard, plain).dual * (1.0 - 1e-4)
    assert last.info["online_support"] == plain.info["online_support"]


@pytest.mark.parametrize(
    ("given", "long"), [({}, 10**6), ({"cache_mb": 0.05}, 5), ({"finishing": False}, 5), ({"tau": 1.0}, 5)]
)
def test_what_is_short_or_does_not_fit_is_not_handed_over(hard, monkeypatch, given, long):
    monkeypatch.setattr(finishing, "LONG", long)
    phases = {iterate.info["phase"] for iterate in iterates(hard, **given)}
    assert "finisher" not in phases
    assert hard.kernel.counter.oracle_calls == 0


def test_reprocess_goes_on_where_the_finisher_gives_up(hard):
    found = iterates(hard, finisher="smo-block[tau=1e-300]")
    plain = iterates(hard, finisher=None)[-1]
    assert "finisher" in {iterate.info["phase"] for iterate in found}
    assert hard.kernel.counter.oracle_calls == 1
    assert (found[-1].done, found[-1].info["phase"]) == (True, "finishing")
    np.testing.assert_array_equal(found[-1].dual_coef, plain.dual_coef)


def test_it_is_warm_when_the_clock_starts():
    itself, block = LASVM().warm_ups()
    assert itself == LASVM()
    [found] = block.iterates(stated(*noisy(40)), None)  # done at once, at no kernel value
    assert found.done
    assert LASVM(finisher="qp").warm_ups() == (LASVM(finisher="qp"), *get_solver("qp").warm_ups())
    for alone in (LASVM(finisher=None), LASVM(finishing=False)):
        assert alone.warm_ups() == (alone,)
    assert LASVM().observable
    assert not LASVM(finisher="libsvm").observable
