"""reports/random_sampling_2008 beyond the rounds: bases, tubes, the choice of k, kernels, against slow twins and made-up rows."""

from itertools import combinations

import numpy as np
import pytest

from harness import KernelOracle, Linear, ReducedHull, TubeSVR, get_solver
from reports.kit.results import Published, Results
from reports.random_sampling_2008 import claims, parts
from reports.random_sampling_2008.plan import PLAN, Clouds, Small, Tube
from reports.random_sampling_2008.plugin import ChosenK, Corners, Figure4, LargestBasis, TubeClouds, largest_basis
from tests.reports.fabricated import row


def results(*rows):
    return Results(rows, Published({}), PLAN)


def hulls(data, k):
    return ReducedHull.build(KernelOracle(Linear(), data.x_train), data.y_train, {"D": 1.0 / k})


def last_of(solver, problem, seed=0):
    return list(solver.iterates(problem, np.random.default_rng(seed)))[-1]


# -- the points --------------------------------------------------------------------------------------------


def test_a_tube_has_its_width_and_its_outliers():
    data = TubeClouds(n=400, n_test=50, d=3, half=0.5, outliers=4, seed=1).load()
    off = data.y_train - data.x_train.sum(axis=1) / np.sqrt(3.0)
    assert np.abs(off[4:]).max() <= 0.5
    assert np.sign(off[:4]).tolist() == [1.0, -1.0, 1.0, -1.0]
    assert np.abs(off[:4]).min() > 2.4
    assert data.task == "regression"


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_corners_rest_on_as_many_points_as_the_count_allows(d, k):
    data = Corners(d=d, k=k).load()
    assert len(data.y_train) == Clouds(0, d, 0, k).counted == d + 2 * k - 1
    coef = get_solver("qp").solve(hulls(data, k)).dual_coef
    assert np.abs(coef).min() > 1e-4  # every point takes part
    assert (coef @ data.x_train)[:-1] == pytest.approx(np.zeros(d - 1), abs=1e-4)  # the negatives' centre is above


# -- the combinatorial dimension -----------------------------------------------------------------------------


def test_the_counterexample_needs_more_than_n_1_k_examples():
    data = Figure4().load()
    info = last_of(LargestBasis(), hulls(data, 3)).info
    assert info["largest"] == 8 == Small("figure-4", 3, 3).counted
    assert info["distance"][6] > info["distance"][7] * 1.005
    assert info["distance"][7] == pytest.approx(info["distance"][9], rel=1e-6) == pytest.approx(1.0, rel=1e-6)
    assert info["distance"][:5] == [0.0] * 5  # three of each class are needed
    # by another solver: no 4 of the 7 positives with the negatives come as near
    best = min(
        get_solver("qp").solve(hulls(data, 3).restrict(np.array([*four, 7, 8, 9]))).dual_coef @ data.x_train[[*four, 7, 8, 9]]
        @ np.array([0.0, 0.0, -1.0])
        for four in combinations(range(7), 4)
    )  # fmt: skip
    assert best > 1.0 - 1e-6


def test_the_largest_basis_by_hand():
    # squares of |w|: two points are enough, a third changes nothing; 0b111 is no basis, 0b011 and 0b101 are
    squared = {0b011: 4.0, 0b101: 5.0, 0b111: 4.0}
    assert largest_basis(squared, 3) == 2
    assert largest_basis({**squared, 0b111: 3.0}, 3) == 3
    assert largest_basis({}, 3) == 0


@pytest.mark.parametrize("k", [1, 2])
def test_of_a_tube_every_subset_of_shifted_points_is_solved(k):
    data = TubeClouds(n=3, n_test=0, d=1, seed=2).load()
    problem = TubeSVR.build(KernelOracle(Linear(), data.x_train), data.y_train, {"epsilon": 1.0, "D": 1.0 / k})
    last = last_of(LargestBasis(oracle="qp"), problem)
    assert last.info["largest"] <= 1 + 2 * k
    assert last.info["subsets"] == sum(
        1 for up in range(1, 8) for down in range(1, 8) if up.bit_count() >= k and down.bit_count() >= k
    )
    assert last.dual_coef.shape == (3,)
    assert "at most 14" in LargestBasis().skip(
        TubeSVR.build(KernelOracle(Linear(), np.ones((8, 1))), np.arange(8.0), {"epsilon": 9.0, "D": 1.0})
    )


def test_bases_are_judged_by_the_bounds():
    def run(largest, distance=1.0):
        each = PLAN.small[4]  # clouds, n = 2, k = 2
        dataset = each.grid().datasets[0]
        info = {"largest": largest, "distance": [0.0] * 9 + [distance]}
        return row(each.name, each.grid().solvers[0], dataset=dataset, info=info)

    assert "| clouds | 2 | 2 | 10 | 1 of 5 | 5 | 5 | 5 | 6 |" in claims.bases(results(run(5)))
    assert "in 1 problems (met); 1 reach it" in claims.bases_seen(results(run(5)))
    assert "(**missed**)" in claims.bases_seen(results(run(6)))
    assert claims.bases_seen(results(run(6, distance=0.0))) == claims.NOT_MEASURED  # not separable


def test_rounds_with_the_smaller_delta():
    each = PLAN.soft[1]  # m = 10,000, n = 2, k = 10
    info = {"rounds": 12, "successful_rounds": 12, "r": 2646, "lemma_share": 0.002, "lemma_bound": 0.005}
    rows = [row(each.name, each.smaller, info=info), row(each.name, each.theorem, info={**info, "rounds": 9})]
    line = claims.counted(results(*rows)).splitlines()[-1]
    assert line.startswith(
        "| 10,000 | 2 | 10 | 30 | 5,400 | 9.0 (9 - 9) | 21 | 2,646 | 12.0 (12 - 12) | 1,161 | 100 % |"
    )
    assert claims.counted_seen(results(*rows)).count("(met)") == 2
    rows[0]["info"] = {**info, "rounds": 1200, "lemma_share": 0.006}
    assert claims.counted_seen(results(*rows)).count("(**missed**)") == 2


# -- tubes -------------------------------------------------------------------------------------------------


def test_tubes_stand_beside_the_theorems():
    each = Tube(1_000, 2)
    assert (each.delta, each.counted, Tube(10_000, 5, 4, 10).delta) == (4, 4, 27)
    info = {"rounds": 10, "successful_rounds": 9, "r": 96, "lemma_share": 0.02, "lemma_bound": 0.04}
    rows = [row(each.name, each.theorem, info=info), row(each.name, each.whole, support_vectors=4)]
    line = claims.tubes(results(*rows)).splitlines()[-1]
    assert line == "| 1,000 | 2 | 0 | 1 | 4 | 96 | 166 | 10.0 (10 - 10) | 90 % | 0.02 | 0.04 | 4 | 4 | 4 |"
    said = claims.tubes_seen(results(*rows))
    assert said.count("(met)") == 4
    rows[0]["info"] = {**info, "rounds": 400, "successful_rounds": 1, "lemma_share": 0.05}
    rows[1]["support_vectors"] = 9
    assert claims.tubes_seen(results(*rows)).count("(**missed**)") == 4


# -- the choice of k ---------------------------------------------------------------------------------------


def test_both_ways_to_a_k_agree():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    y = np.where(np.arange(120) % 2, -1.0, 1.0)
    x[:, 0] += 1.5 * y
    problem = ReducedHull.build(KernelOracle(Linear(), x), y, {"D": 1.0})
    least = last_of(ChosenK(oracle="qp"), problem).info["k"]
    doubled = last_of(ChosenK(how="doubling"), problem).info["k"]
    assert least > 1
    assert least <= doubled < 2 * least
    for k, apart in ((least - 1, False), (least, True)):
        w = x.T @ get_solver("qp").solve(ReducedHull.build(KernelOracle(Linear(), x), y, {"D": 1.0 / k})).dual_coef
        assert (np.linalg.norm(w) > 1e-4) == apart


def test_the_criterion_is_held_against_the_ladder():
    each = PLAN.choosing[0]
    ladder = each.ladder(3, 9, 2.0)
    rows = [
        row(each.name, parts.BISECTION, error=3.0, info={"k": 3}),
        row(each.name, parts.DOUBLING, info={"k": 4, "rounds": 20, "r": 96}),
        row(each.name, ladder[6], error=2.0),
        row(each.name, ladder[9], error=2.0),
    ]
    line = claims.choosing(results(*rows)).splitlines()[-1]
    assert line.endswith("| 2 | 3 | 4 | 20.0 (20 - 20) | 96 | 1 | 1 | 3.00 | 2.00 | 6 |")
    said = claims.choosing_seen(results(*rows))
    assert "in 1 of 1 runs" in said
    assert (
        "on 0 of 1 sets with errors the one at the least k is within half a point of the best k of the ladder;" in said
    )
    assert said.endswith(f"points lost on the others: {each.name} 1.0.")
    for each_row in rows:
        each_row["error"] = 0.0
    assert "criterion" not in claims.choosing_seen(results(*rows))


# -- kernels -----------------------------------------------------------------------------------------------


def test_extremes_of_real_points_are_the_lemma_turned_round():
    each = PLAN.kernels[0]
    whole = row(each.called, each.whole, n_train=1000, support_vectors=60)
    one = row(
        each.called, each.one_round(1000, 0.5), n_train=1000, status="unfinished", support_vectors=50,
        info={"status": "max_rounds", "r": 500, "log_share": [0.02]},
    )  # fmt: skip
    assert claims.extremes_of(one) == pytest.approx(20 * 501 / 500)
    adaptive = row(each.called, each.adaptive, kernel_evaluations=5e6, info={"rounds": 9, "r": 1500})
    found = results(whole, one, adaptive)
    assert "| digits | 1,000 | 1 | 60 | 21.6 | 50 % | 0.02 | 20 | 50 | 9.0 (9 - 9) | 100 % | 5 |" in claims.kernels(
        found
    )
    said = claims.kernels_seen(found)
    assert "on 1 of 1 problems" in said
    assert "holds, within two standard errors (met): mean extremes are 40 to 40 % of the support" in said
    more = {**one, "info": {**one["info"], "log_share": [0.06]}}
    assert "within two standard errors (**missed**)" in claims.kernels_seen(results(whole, more))
    assert "on 1 of 1 problems, after 5 to 5 times the kernel values" in said
