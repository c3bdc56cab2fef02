"""lasvm-g, lasvm-nc, lasvm-i and full-svm: against their naive twin, exact optima, each other, and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from harness_lasvm import expansion, nobias, nobias_ledger
from harness_lasvm.nobias import LASVMG, LASVMI, LASVMNC, FullSVM
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, CSVCNoBias, KernelOracle, Linear, Precomputed, RampSVC, UsageError, drive, get_solver
from tests.plugins.naive_lasvm_nobias import NaiveNoBias

ALL = (LASVMG, LASVMNC, LASVMI, FullSVM)


def noisy(n=160, d=4, noise=0.6, seed=0, flipped=0.1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.where(2.0 * x[:, 0] + noise * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return x, np.where(rng.random(n) < flipped, -y, y)


def stated(solver, x, y, C=1.0, kernel=None, **values):
    return solver.solves[0].build(KernelOracle(kernel or RBF(gamma=0.3), x), y, {"C": C, **values})


def precomputed(problem):
    with problem.kernel.uncounted():
        values = np.array(problem.kernel.block(np.arange(problem.n)))
    values = (values + values.T) / 2  # symmetric to the last bit
    return type(problem).build(KernelOracle(Precomputed(), values), problem.targets, problem.parameters), values


def iterates(solver, problem, seed=1):
    """The iterates with their arrays copied."""
    found = []
    for iterate in solver.iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        found.append(iterate)
    return found


def bounds(problem):
    """The box of the coefficients for any beta."""
    if isinstance(problem, RampSVC):
        return -problem.upper, problem.upper
    return problem.lower_bounds, problem.upper_bounds


def assert_feasible(problem, coef):
    lower, upper = bounds(problem)
    assert (coef >= lower).all()
    assert (coef <= upper).all()


# -- the paper's steps -------------------------------------------------------------------------------------------------

CASES = {
    "noisy": (noisy, {"C": 1.0}, RBF(gamma=0.3)),
    "large-C": (lambda: noisy(120, seed=3), {"C": 100.0}, RBF(gamma=1.0)),
    "small-C": (lambda: noisy(100, seed=4), {"C": 0.02}, RBF(gamma=0.3)),
    "linear": (lambda: noisy(100, noise=0.1, seed=5), {"C": 2.0}, Linear()),
    "weighted": (lambda: noisy(100, seed=6, noise=1.0), {"C": 3.0, "class_weight": "balanced"}, RBF(gamma=0.5)),
}


def follow(cls, case, epochs=2, s=-1.0, **parameters):
    """Run the solver one example at a time beside the twin; return both after the last online iteration."""
    data, values, kernel = CASES[case]
    solver = cls(block=1, epochs=epochs, dtype="float64", **parameters)
    problem, matrix = precomputed(stated(solver, *data(), kernel=kernel, s=s, **values))
    clean_every, max_inactive = solver.cleaning
    upper = problem.upper
    twin = NaiveNoBias(
        matrix, problem.targets, upper, problem.C, rule=solver.rule, s=s, tau=solver.tau,
        clean_every=clean_every, max_inactive=max_inactive, group=solver.group,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    steps = solver.iterates(problem, np.random.default_rng(1))
    for epoch in range(epochs):
        order = [int(k) for k in rng.permutation(problem.n)]
        if epoch == 0:
            twin.seed(order)
        for k in order:
            iterate = next(steps)
            twin.visit(k)
            expected = np.zeros(problem.n)
            expected[twin.S] = twin.alpha[twin.S]
            assert iterate.dual_coef == pytest.approx(expected, abs=1e-8 * problem.C)
            assert iterate.info["members"] == len(twin.S)
            assert iterate.info["gap"] == pytest.approx(twin.gap(), rel=1e-7, abs=1e-9)
            assert iterate.info["support"] == np.count_nonzero(iterate.dual_coef)
            assert iterate.step == twin.steps
            assert_feasible(problem, iterate.dual_coef)
    assert (
        iterate.info["gap_target"] == pytest.approx(max(twin.threshold, 0.0), rel=1e-7) or twin.threshold == problem.C
    )
    return problem, twin, steps, iterate


@pytest.mark.parametrize("group", [1, 6])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("cls", ALL)
def test_every_step_is_the_twins(cls, case, group):
    often = {"clean_every": 7, "max_inactive": 5} if cls is not FullSVM else {}
    problem, twin, steps, last = follow(cls, case, group=group, **often)  # asserts at every step
    if cls is LASVMI:
        assert last.info["skipped"] == twin.skipped
        assert twin.skipped > 0 or case == "small-C"
    if cls is LASVMNC:
        assert last.info["reversed"] == twin.reversed
    if cls is FullSVM:
        assert len(twin.S) == problem.n
    else:
        assert len(twin.S) < problem.n or case == "small-C"  # there all are support vectors
        twin.clean(0)
    *_, last = steps
    assert last.done
    assert last.info["members"] == len(twin.S)


@pytest.mark.parametrize("s", [0.4, 0.0, -0.2])
@pytest.mark.parametrize("cls", [LASVMNC, LASVMI])
def test_every_step_is_the_twins_whatever_s(cls, s):
    _, twin, _, last = follow(cls, "noisy", s=s, clean_every=11, max_inactive=3)
    assert last.info["support"] > 10
    assert (twin.reversed if cls is LASVMNC else twin.skipped) > 0


@pytest.mark.parametrize("cls", [LASVMG, FullSVM])
def test_finishing_ends_where_the_twin_ends(cls):
    problem, twin, steps, _ = follow(cls, "large-C", tau=1e-6, finishing=True)
    *_, last = steps
    twin.finished()
    twin.clean(0 if cls is LASVMG else problem.n)
    assert last.info["members"] == len(twin.S)
    expected = np.zeros(problem.n)
    expected[twin.S] = twin.alpha[twin.S]
    np.testing.assert_allclose(twin.K @ last.dual_coef, twin.K @ expected, atol=1e-4)
    gradient = problem.targets - twin.K @ last.dual_coef
    rise, fall = last.dual_coef < twin.B, last.dual_coef > twin.A
    assert max(gradient[twin.S][rise[twin.S]].max(), -gradient[twin.S][fall[twin.S]].min()) <= 1e-6 + 1e-9


# -- the loops ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 1200), st.sampled_from([np.float32, np.float64]))
def test_a_pass_is_its_formulas(seed, n, dtype):
    rng = np.random.default_rng(seed)
    lower = rng.choice([-2.0, 0.0], size=n)
    upper = lower + 2.0
    alpha = np.clip(rng.choice([0.0, 2.0, -2.0, 0.7, -0.7], size=n), lower, upper)
    grad = rng.choice([-1.0, 0.5, 0.0], size=n) * rng.random(n)
    row, step = rng.random(n).astype(dtype), rng.normal()
    moved = grad.copy()
    room = np.array([upper - alpha, alpha - lower])
    ways = np.array([np.where(room[0] > 0.0, 0.0, -np.inf), np.where(room[1] > 0.0, 0.0, np.inf)], dtype=np.float32)
    found = nobias_ledger._move(moved, room, ways, row, step)
    expected = grad - step * row.astype(np.float64)
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-15)
    rise, fall = alpha < upper, alpha > lower
    gap = sum(max(a * g, b * g) - c * g for a, b, c, g in zip(lower, upper, alpha, moved, strict=True))
    assert found[0] == moved[rise].max(initial=-np.inf)
    assert found[1] == moved[fall].min(initial=np.inf)
    assert found[2] == pytest.approx(gap, rel=1e-10, abs=1e-12)
    slope = rng.choice([-2.0, 0.0, 2.0], size=n)
    h = slope * moved
    assert nobias_ledger._spread(moved, slope) == pytest.approx((h.sum(), (h * h).sum()), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("cls", [FullSVM, LASVMG])
def test_the_gap_is_the_certificates(cls):
    solver = cls(dtype="float64")
    problem = stated(solver, *noisy(300), C=5.0)
    *_, last = iterates(solver, problem)
    members = np.arange(problem.n) if cls is FullSVM else np.flatnonzero(last.dual_coef)
    assert last.info["members"] == len(members)
    gap = problem.restrict(members).certify(last.dual_coef[members], 0.0).gap
    assert last.info["gap"] == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize("cls", [FullSVM, LASVMG, LASVMI])
def test_reprocess_ends_at_the_threshold(cls):
    solver = cls(block=1)
    problem = stated(solver, *noisy(200), C=10.0)
    found = iterates(solver, problem)[:-1]
    assert all(i.info["gap"] <= max(problem.C, i.info["gap_target"]) * (1 + 1e-9) for i in found)
    assert any(i.info["gap_target"] > problem.C for i in found)


# -- where they end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"cache_mb": 0.2}, {"dtype": "float64"}, {"block": 16}])
@pytest.mark.parametrize("cls", [LASVMG, FullSVM])
def test_epochs_and_finishing_reach_the_optimum(cls, parameters):
    solver = cls(epochs=5, **parameters).with_target_gap(1e-4)
    problem = stated(solver, *noisy(900, d=3), C=10.0, kernel=RBF(gamma=0.5))
    found = iterates(solver, problem)
    certificate = problem.certify(found[-1].dual_coef, 0.0)
    assert certificate.relative_gap <= 1e-3
    exact = problem.certify(get_solver("qp").solve(problem).dual_coef, 0.0)
    assert certificate.dual == pytest.approx(exact.dual, rel=1e-4)
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
        with problem.kernel.uncounted():
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
    assert ledger.counts[nobias_ledger.REVERSED] > 0
    np.testing.assert_array_equal(members.box.lower, problem.hinge.lower_bounds)
    np.testing.assert_array_equal(members.box.upper, problem.hinge.upper_bounds)


def test_clean_keeps_the_expansion_small():
    problem = stated(LASVMG, *noisy(2000, d=2, noise=0.1, flipped=0.0), C=10.0)
    solver = LASVMG(max_inactive=20, clean_every=50, block=32)
    found = iterates(solver, problem)
    assert all(i.info["members"] <= i.info["support"] + 20 + 50 for i in found)
    assert max(i.info["members"] for i in found) > found[-1].info["support"] + 20
    assert found[-1].info["members"] == found[-1].info["support"] == np.count_nonzero(found[-1].dual_coef)
    everything = iterates(FullSVM(), stated(FullSVM, *noisy(200)))
    assert everything[-1].info["members"] == 200


# -- what must not matter ----------------------------------------------------------------------------------------------


class Given:
    """Stands for a random generator: the next permutations."""

    def __init__(self, *orders):
        self.orders = list(orders)

    def permutation(self, n):
        order = self.orders.pop(0)
        assert sorted(order) == list(range(n))
        return np.array(order)


def random_problem(seed, n, distinct, C):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(distinct, 2))[rng.integers(0, distinct, n)]
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return points, y, C


problems = st.builds(
    random_problem,
    st.integers(0, 10_000),
    st.integers(2, 60),
    st.integers(1, 60),
    st.sampled_from([0.01, 1.0, 100.0]),
)


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(ALL), st.sampled_from([-1.0, 0.5]))
def test_flipped_labels_negate_the_model(drawn, cls, s):
    x, y, C = drawn
    solver = cls(epochs=2, dtype="float64")
    model, flipped = (
        iterates(solver, stated(solver, x, labels, C=C, kernel=RBF(gamma=1.0), s=s))[-1] for labels in (y, -y)
    )
    np.testing.assert_array_equal(flipped.dual_coef, -model.dual_coef)
    assert flipped.info == model.info


@settings(deadline=None, max_examples=30)
@given(problems, st.sampled_from(ALL), st.integers(0, 1000))
def test_the_order_of_the_visits_alone_counts(drawn, cls, seed):
    x, y, C = drawn
    solver = cls(dtype="float64")
    rng = np.random.default_rng(seed)
    moved = rng.permutation(len(y))  # example k stands at moved[k]
    order = rng.permutation(len(y))
    there, labels = np.empty_like(x), np.empty_like(y)
    there[moved], labels[moved] = x, y
    problem, values = precomputed(stated(solver, x, y, C=C, kernel=RBF(gamma=1.0)))
    other = np.empty_like(values)
    other[np.ix_(moved, moved)] = values
    elsewhere = type(problem).build(KernelOracle(Precomputed(), other), labels, problem.parameters)
    *_, first = solver.iterates(problem, Given(order))
    *_, second = solver.iterates(elsewhere, Given(moved[order]))
    np.testing.assert_array_equal(second.dual_coef[moved], first.dual_coef)


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(ALL), st.sampled_from([-1.0, 0.5]))
def test_duplicates_keep_every_iterate_feasible(drawn, cls, s):
    x, y, C = drawn
    solver = cls(
        epochs=2, finishing=True, dtype="float64", **({} if cls is FullSVM else {"clean_every": 5, "max_inactive": 0})
    )
    problem = stated(solver, x, y, C=C, kernel=RBF(gamma=1.0), s=s)
    found = iterates(solver, problem)
    for iterate in found:
        problem.checked(iterate.dual_coef, iterate.intercept, tolerance=0.0)
        assert_feasible(problem, iterate.dual_coef)
    assert found[-1].done


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([0.25, 4.0, 64.0]))
def test_scaled_points_with_the_price_scaled_back_are_the_same_problem(seed, scale):
    x, y = noisy(60, seed=seed)
    plain = iterates(LASVMG(dtype="float64"), stated(LASVMG, x, y, C=scale, kernel=Linear()))[-1]
    scaled = iterates(LASVMG(dtype="float64"), stated(LASVMG, np.sqrt(scale) * x, y, C=1.0, kernel=Linear()))[-1]
    # powers of four: the roots are exact, and so is every step, down to the thresholds max(C, target)
    assert scaled.dual_coef == pytest.approx(plain.dual_coef / scale, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "parameters", [{"block": 7}, {"block": 256}, {"cache_mb": 0.001}, {"cache_mb": 0.05, "block": 9}]
)
@pytest.mark.parametrize("cls", ALL)
def test_block_and_memory_change_the_cost_only(cls, parameters):
    plain = cls(dtype="float64", epochs=2, block=1, group=2)  # the rows of twice a group must fit into memory
    problem, _ = precomputed(stated(plain, *noisy(400), C=5.0))
    expected = iterates(plain, problem)[-1]
    found = iterates(plain.replaced(**parameters), problem)[-1]
    assert expected.info["rows_recomputed"] == 0
    assert (found.info["rows_recomputed"] > 0) == ("cache_mb" in parameters)
    np.testing.assert_allclose(found.dual_coef, expected.dual_coef, rtol=1e-9, atol=1e-9)
    assert found.step == expected.step


@pytest.mark.parametrize("cls", ALL)
def test_the_same_seed_gives_the_same_iterates(cls):
    problem = stated(cls, *noisy(400), C=10.0)
    first, second, other = (iterates(cls(epochs=2), problem, seed) for seed in (1, 1, 2))
    assert len(first) == len(second)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.dual_coef, two.dual_coef)
        assert one.info == two.info
    assert (first[-1].dual_coef != other[-1].dual_coef).any()


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
    assert all(i.core_set == i.info["members"] >= i.info["support"] for i in found)
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


def edge(name):
    x, y = noisy(60)
    if name == "two points":
        return np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    if name == "two equal points":
        return np.zeros((2, 1)), np.array([1.0, -1.0])
    if name == "one point":
        return np.ones((1, 2)), np.array([1.0])
    if name == "one class":
        return x, np.ones(60)
    if name == "constant features":
        return np.full((60, 3), 2.5), y
    if name == "contradictions":
        return np.repeat(x[:30], 2, axis=0), np.tile([1.0, -1.0], 30)
    if name == "float32":
        return x.astype(np.float32), y
    return scipy.sparse.csr_array(np.where(np.abs(x) > 0.5, x, 0.0)), y


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
        problem = stated(solver, *edge(name), C=2.0, kernel=kernel, s=0.3)
        found = iterates(solver, problem)
        for iterate in found:
            problem.checked(iterate.dual_coef, iterate.intercept, tolerance=0.0)
        assert found[-1].done
        if cls is FullSVM and parameters:
            assert problem.certify(found[-1].dual_coef, 0.0).relative_gap <= 1e-2
