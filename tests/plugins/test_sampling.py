"""optmargin, optsoftmargin, randsvm: the optimum whatever the sample, the rounds as the paper has them, the edges."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from harness_sampling import OptMargin, OptSoftMargin, RandSVM
from harness_sampling.rounds import WeightedRounds

from harness import RBF, Linear, Poly
from tests.plugins.common import exact, overlapping
from tests.plugins.hull_problems import HARD, SOFT, TUBES, clouds, finished, hard, per_class, reduced, svc, svr, wave

# -- the optimum, whatever the sample ----------------------------------------------------------------


OPTIMA = {
    **{name: (HARD[name], OptMargin) for name in ("nearly touching", "rbf, many points", "quadratic", "one negative")},
    **{name: (make, OptSoftMargin) for name, make in {**SOFT, **TUBES}.items()},
    "a cap for each class": (lambda: per_class(*clouds(5, 8, 9, 2, 4.0), 2.0, 3.0), OptSoftMargin),
    "c-svc": (lambda: svc(*overlapping(4, n=90), C=1.0, class_weight="balanced"), RandSVM),
    "eps-svr": (lambda: svr(*wave(120), C=1.0, epsilon=0.3), RandSVM),
}


@pytest.mark.parametrize(("r", "seed"), [(None, 0), (25, 1), pytest.param(5, 3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OPTIMA)
def test_the_optimum_is_reached_for_any_sample_size_and_seed(name, r, seed):
    make, solver = OPTIMA[name]
    problem = make()
    last, found = finished(solver(gap=1e-6, r=r), problem, seed)
    assert (last.done, last.info["status"]) == (True, "done")
    assert found.relative_gap <= 1e-6 + 1e-12
    assert last.info["own_evaluations"] + last.info["oracle_evaluations"] == problem.kernel.counter.evaluations


# -- the rounds --------------------------------------------------------------------------------------


def test_the_rounds_of_a_known_dimension_are_within_the_theorem():
    """Theorem 2.2: 6 delta ln m on average; delta = 3 for the nearest points of two polygons."""
    runs = []
    for seed in range(12):
        last, _ = finished(OptMargin(gap=1e-6, delta=3), hard(*clouds(50 + seed, 400, 400, 2, 9.0)), seed)
        assert (last.done, last.info["r"]) == (True, 54)
        assert last.info["rounds_bound"] == pytest.approx(18.0 * math.log(800))
        runs.append([last.info[name] for name in ("rounds", "lemma_share", "lemma_bound")])
    rounds, share, bound = np.mean(runs, axis=0)
    assert 1.0 < rounds <= 18.0 * math.log(800)
    assert 0.0 < share <= bound  # Lemma 2.1: the mean share of the weight is at most (u - r) delta / (r + 1) over u


def test_only_a_successful_round_doubles_the_weights_of_its_violators():
    problem = hard(*clouds(41, 200, 200, 2, 9.0))
    solver = OptMargin(gap=1e-6, oracle="smo", r=12, delta=3, max_rounds=40)
    run = WeightedRounds(solver, problem, np.random.default_rng(0))
    totals, log = [], run.log
    for _ in run.iterates():
        if len(log["successful"]) > len(totals):  # the first iterate after a round was judged
            totals.append(run.weights.total)
    assert {True, False} <= set(log["successful"])
    steps = zip(log["successful"], log["share"], log["violators"], itertools.pairwise([400, *totals]), strict=True)
    for successful, share, violating, (total, after) in steps:
        assert successful == (3 * 3 * share <= 1.0)
        assert after - total == (round(share * total) if successful else 0)
        assert share * total >= violating
    assert run.successful == sum(log["successful"])


def test_adaptive_doubles_delta_and_r_until_the_dimension_is_reached():
    problem = svc(*overlapping(6, n=300), C=1.0)
    last, _ = finished(RandSVM(), problem)
    deltas, r = last.info["log_delta"], last.info["log_r"]
    assert (last.done, last.info["doublings"] >= 1, r[-1] > r[0]) == (True, True, True)
    assert (deltas, r) == (sorted(deltas), [6 * delta**2 for delta in deltas])


@pytest.mark.parametrize(
    ("problem", "delta"),
    [
        (lambda: hard(*clouds(42, 40, 40, 2, 9.0)), 3),
        (lambda: reduced(*clouds(42, 40, 40, 2, 3.0), 0.2, Linear()), 5 * 3),
        (lambda: reduced(*clouds(42, 40, 40, 2, 3.0), 0.5, Poly(degree=2)), 2 * 7),
        (lambda: reduced(*clouds(42, 40, 40, 2, 3.0), 0.2, RBF()), 80),
        (TUBES["hard, linear"], 2 + 1 + 1),  # Theorem 5.1: the target counts as an attribute
    ],
)
def test_the_bound_of_the_paper_is_k_times_the_dimension_plus_one(problem, delta):
    last, _ = finished(OptSoftMargin(delta="bound", gap=1e-6, oracle="qp"), problem())
    assert last.info["delta"] == delta
    assert last.info["r"] >= 6 * delta**2
    if last.info["solved_at_once"]:
        assert (last.info["rounds"], last.info["oracle_calls"]) == (1, 1)


# -- counting ----------------------------------------------------------------------------------------


def test_a_pass_costs_the_points_times_the_support():
    problem = hard(*clouds(45, 200, 200, 2, 9.0))
    last, _ = finished(OptMargin(gap=1e-6, oracle="qp", r=20, max_rounds=1, delta=3), problem)
    support, sample = np.count_nonzero(last.dual_coef), last.info["log_sample"][0]
    assert last.info["own_evaluations"] == support * (400 + sample)
    assert last.info["oracle_evaluations"] == sample**2 + sample  # qp asks for the diagonal to judge by


# -- the edges ---------------------------------------------------------------------------------------


def test_violators_for_ever_end_with_a_status():
    """delta = 1 and r = 2 are far too small: hundreds of rounds, and no end of its own but this."""
    problem = hard(*clouds(46, 60, 60, 2, 4.0), RBF(gamma=2.0))
    last, _ = finished(OptMargin(gap=1e-6, delta=1, r=2), problem)
    rounds = math.ceil(60.0 * math.log(120))
    assert (last.done, last.info["status"], last.info["rounds"]) == (False, "delta too small", rounds)
    assert "29 were expected if delta held" in last.info["stopped"]
    last, _ = finished(OptMargin(gap=1e-6, r=2, max_rounds=3), problem)
    assert (last.done, last.info["status"], last.info["rounds"]) == (False, "max_rounds", 3)


def test_a_sample_of_one_class_is_drawn_again_and_the_missing_class_put_in():
    x, y = clouds(47, 3, 400, 2, 9.0)
    last, found = finished(OptMargin(gap=1e-6, r=4), hard(x, y))
    assert last.done
    assert min(last.info["resampled"], last.info["filled"]) > 0
    assert found.relative_gap <= 1e-6 + 1e-12


def test_hulls_that_meet_end_the_run_with_w_of_zero():
    x, y = clouds(48, 60, 60, 2, 0.5)
    for problem, solver in (
        (hard(x, y), OptMargin(gap=1e-6, r=40)),
        (reduced(x, y, 0.5, Linear()), OptSoftMargin(gap=1e-6, r=40)),
    ):
        last, _ = finished(solver, problem)
        assert (last.done, last.info["status"]) == (False, "w may be 0")
        assert "in round 1 |w| is rounding: the hulls of" in last.info["stopped"]


def test_k_doubles_in_the_loop_until_w_is_not_zero():
    x, y = clouds(49, 80, 80, 2, 2.0)
    problem = reduced(x, y, 0.5, Linear())
    last, _ = finished(OptSoftMargin(r=60, gap=1e-6, doubles_k=True), problem)
    # the model is exact, but of another problem than the one that was stated
    assert (last.done, last.info["status"]) == (False, "k doubled")
    k = last.info["k_plus"]
    assert f"the model is that of k = {k:g}, where they are apart" in last.info["stopped"]
    assert f"state reduced-hull with D = {1 / k:g} to" in last.info["stopped"]
    assert last.info["k_minus"] == k == 2.0 * 2 ** last.info["k_doublings"]
    assert k > 2.0
    again = reduced(x, y, 1.0 / k, Linear())
    assert again.certify(last.dual_coef, last.intercept).relative_gap <= 1e-6 + 1e-12
    assert exact(reduced(x, y, 2.0 / k, Linear())).margin_upper < 1e-3 * exact(again).margin_upper
