"""lasvm-g, lasvm-nc, lasvm-i and full-svm: where they end, what they cost and claim, and the edges."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from harness_lasvm import expansion, nobias
from harness_lasvm.nobias import LASVMG, LASVMI, LASVMNC, FullSVM

from harness import RBF, CSVCNoBias, Linear, UsageError, drive, get_solver
from harness.kernels.oracle import uncounted
from tests.plugins.lasvm_problems import edge
from tests.plugins.nobias_problems import ALL, assert_feasible, iterates, noisy, stated

# -- where they end ----------------------------------------------------------------------------------------------------


@functools.cache
def exact_dual(n, d, C, gamma):
    problem = stated(FullSVM, *noisy(n, d=d), C=C, kernel=RBF(gamma=gamma))
    return problem.certify(get_solver("qp").solve(problem).dual_coef, 0.0).dual


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"cache_mb": 0.2}, {"dtype": "float64"}, {"block": 16}])
@pytest.mark.parametrize("cls", [LASVMG, FullSVM])
def test_epochs_and_finishing_reach_the_optimum(cls, parameters):
    solver = cls(epochs=5, **parameters).with_target_gap(1e-4)
    problem = stated(solver, *noisy(900, d=3), C=10.0, kernel=RBF(gamma=0.5))
    found = iterates(solver, problem)
    certificate = problem.certify(found[-1].dual_coef, 0.0)
    assert certificate.relative_gap <= 1e-3
    assert certificate.dual == pytest.approx(exact_dual(900, 3, 10.0, 0.5), rel=1e-4)
    for iterate in found:
        assert_feasible(problem, iterate.dual_coef)


@pytest.mark.parametrize("cls", [LASVMG, FullSVM])
def test_more_epochs_alone_come_nearer(cls):
    gaps = []
    for epochs in (1, 4, 30):
        solver = cls(epochs=epochs)
        problem = stated(solver, *noisy(300), C=1.0)
        gaps.append(problem.certify(iterates(solver, problem)[-1].dual_coef, 0.0).relative_gap)
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 0.01


def test_a_ramp_far_to_the_left_is_the_hinge():
    plain = stated(LASVMG, *noisy(400), C=10.0)
    bent = stated(LASVMNC, *noisy(400), C=10.0, s=-1e9)
    for one, two in zip(iterates(LASVMG(), plain), iterates(LASVMNC(), bent), strict=True):
        np.testing.assert_array_equal(one.dual_coef, two.dual_coef)
        assert one.info["gap"] == two.info["gap"]
        assert two.info["reversed"] == 0
    assert plain.kernel.counter.evaluations == bent.kernel.counter.evaluations


def test_the_ramp_leaves_out_what_the_noise_put_in():
    x, y = noisy(1500, flipped=0.15)
    counts, models = {}, {}
    clean = noisy(1500, flipped=0.0)[1]
    for cls in ALL:
        problem = stated(cls, x, y, C=10.0)
        last = iterates(cls(), problem)[-1]
        models[cls] = last.dual_coef
        with uncounted(problem.kernel):
            right = np.mean(np.sign(problem.kernel.expand(last.dual_coef)) == clean)
        counts[cls] = (np.count_nonzero(last.dual_coef), problem.kernel.counter.evaluations, right)
    support, evaluations, right = (
        dict(zip(counts, column, strict=True)) for column in zip(*counts.values(), strict=True)
    )
    assert max(support[LASVMNC], support[LASVMI]) < 0.7 * min(support[LASVMG], support[FullSVM])
    assert evaluations[LASVMI] <= evaluations[LASVMNC] <= evaluations[LASVMG] <= evaluations[FullSVM]
    assert min(right[LASVMNC], right[LASVMI]) >= right[FullSVM] - 0.01
    outliers = y != clean
    assert np.count_nonzero(models[LASVMNC][outliers]) < 0.5 * np.count_nonzero(models[FullSVM][outliers])


def test_beta_ends_with_the_membership():
    problem = stated(LASVMNC, *noisy(600, flipped=0.2), C=10.0)
    solver, order = LASVMNC(clean_every=50, max_inactive=0), np.random.default_rng(0).permutation(problem.n)
    members = expansion.Expansion(problem.hinge, cache_mb=16.0, block=64, dtype="float64")
    ledger = solver._ledger(problem, problem.C)
    nobias._admit(members, nobias._firsts(problem.targets, order))
    for _ in solver._epoch(members, ledger, order):
        pass
    assert ledger.sums["reversed"][0] > 0
    np.testing.assert_array_equal(members.members.examples["lower"], problem.hinge.lower_bounds)
    np.testing.assert_array_equal(members.members.examples["upper"], problem.hinge.upper_bounds)


def test_clean_keeps_the_expansion_small():
    problem = stated(LASVMG, *noisy(2000, d=2, noise=0.1, flipped=0.0), C=10.0)
    solver = LASVMG(max_inactive=20, clean_every=50, block=32)
    found = iterates(solver, problem)
    assert all(i.info["members"] <= i.info["support"] + 20 + 50 for i in found)
    assert max(i.info["members"] for i in found) > found[-1].info["support"] + 20
    assert found[-1].info["members"] == found[-1].info["support"] == np.count_nonzero(found[-1].dual_coef)
    everything = iterates(FullSVM(), stated(FullSVM, *noisy(200)))
    assert everything[-1].info["members"] == 200


# -- costs and claims --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"cache_mb": 0.001}])
@pytest.mark.parametrize("cls", ALL)
def test_a_full_row_each_and_no_kernel_value_uncounted(cls, parameters):
    from harness.testing.running import recorded_work

    solver = cls(epochs=2, **parameters)
    problem = stated(solver, *noisy(400), C=10.0)
    with recorded_work() as work:
        iterates(solver, problem)
    assert problem.kernel.counter.evaluations == work.values > problem.n


def test_prefetching_computes_hardly_more_than_a_row_at_a_time():
    counts = {}
    for block in (1, 256):
        problem = stated(LASVMG, *noisy(2000))
        iterates(LASVMG(block=block), problem)
        counts[block] = problem.kernel.counter.evaluations
    assert counts[256] <= 1.1 * counts[1]


@pytest.mark.parametrize("cls", ALL)
def test_the_iterates_say_what_they_are(cls):
    solver = cls(epochs=2, finishing=True)
    problem = stated(solver, *noisy(300))
    outcome = drive(solver, problem, np.random.default_rng(0))
    assert outcome.status == "ok"
    assert outcome.claimed_done
    found = iterates(solver, problem)
    assert [i.done for i in found] == [False] * (len(found) - 1) + [True]
    assert [i.step for i in found] == sorted(i.step for i in found)
    assert {i.info["epoch"] for i in found} == {1, 2}
    assert all(i.working_set == i.info["members"] >= i.info["support"] for i in found)
    assert all(i.intercept == 0.0 for i in found)
    extra = {LASVMNC: {"reversed"}, LASVMI: {"skipped"}}.get(cls, set())
    assert (
        set(outcome.info) == {"gap", "gap_target", "members", "support", "epoch", "rows_recomputed", "visited"} | extra
    )
    assert outcome.info["visited"] == 2 * problem.n
    assert [i.info["visited"] for i in found] == sorted(i.info["visited"] for i in found)
    if cls is LASVMI:
        assert 0 < outcome.info["skipped"] < 2 * problem.n


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LASVMG(max_inactive=-1), r"solver 'lasvm-g': parameter max_inactive=-1 is not valid .*\[0, inf\)"),
        (lambda: LASVMNC(clean_every=0), r"solver 'lasvm-nc': parameter clean_every=0 is not valid"),
        (lambda: LASVMI(epochs=0), r"solver 'lasvm-i': parameter epochs=0 is not valid"),
        (lambda: LASVMG(group=0), r"solver 'lasvm-g': parameter group=0 is not valid"),
        (lambda: FullSVM(tau=0.0), r"solver 'full-svm': parameter tau=0.0 is not valid"),
        (lambda: stated(LASVMNC, *noisy(9), s=1.0), r"formulation 'ramp-svc': parameter s=1.0 is not valid"),
        (lambda: stated(LASVMI, *noisy(9), s=1.5), r"formulation 'ramp-svc': parameter s=1.5 is not valid"),
        (lambda: stated(LASVMG, *noisy(9), C=0.0), r"parameter C=0.0 is not valid .*greater than 0"),
        (lambda: stated(LASVMNC, *noisy(9), C=-1.0), r"parameter C=-1.0 is not valid .*greater than 0"),
    ],
)
def test_wrong_parameters_are_refused_in_words(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_full_svm_has_no_parameters_of_clean():
    with pytest.raises(TypeError, match="max_inactive"):
        FullSVM(max_inactive=3)


@pytest.mark.parametrize("cls", ALL)
def test_a_target_gap_asks_for_finishing(cls):
    assert cls().with_target_gap(1e-5) == cls(finishing=True, tau=1e-5)
    assert cls(tau=1e-6).with_target_gap(1e-2) == cls(finishing=True, tau=1e-6)


def test_both_formulations_are_those_the_paper_gives_each():
    assert {cls.name: [problem.name for problem in cls.solves] for cls in ALL} == {
        "lasvm-g": ["c-svc-nobias"], "lasvm-nc": ["ramp-svc"], "lasvm-i": ["ramp-svc"], "full-svm": ["c-svc-nobias"],
    }  # fmt: skip
    assert isinstance(stated(LASVMG, *noisy(9)), CSVCNoBias)


@pytest.mark.parametrize(
    "name",
    [
        "two points",
        "two equal points",
        "one point",
        "one class",
        "constant features",
        "contradictions",
        "float32",
        "sparse",
    ],
)
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()], ids=["rbf", "linear"])
@pytest.mark.parametrize("cls", ALL)
def test_edges(cls, kernel, name):
    tight = {"dtype": "float64", "cache_mb": 0.0001, "block": 3, "finishing": True}
    if cls is not FullSVM:
        tight |= {"clean_every": 1, "max_inactive": 0}  # every member with alpha = 0 goes at once
    for parameters in ({}, tight):
        solver = cls(epochs=3, **parameters)
        problem = stated(solver, *edge(name, *noisy(60)), C=2.0, kernel=kernel, s=0.3)
        found = iterates(solver, problem)
        for iterate in found:
            problem.checked(iterate.dual_coef, iterate.intercept, tolerance=0.0)
        assert found[-1].done
        if cls is FullSVM and parameters:
            assert problem.certify(found[-1].dual_coef, 0.0).relative_gap <= 1e-2
