"""The solver lasvm: against its naive twin step by step, against exact optima, and at the edges."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from harness_lasvm import LASVM, ahead, expansion, hot, pool, scans, solver, state
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, KernelOracle, Linear, Poly, Precomputed, UsageError, drive
from tests.plugins.naive_lasvm import NaiveLASVM


def noisy(n=160, d=4, noise=0.6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.where(x[:, 0] + noise * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return x, y


def stated(x, y, C=1.0, kernel=None, **settings_):
    return CSVC.build(KernelOracle(kernel or RBF(gamma=0.3), x), y, {"C": C, **settings_})


def precomputed(problem):
    with problem.kernel.uncounted():
        values = np.array(problem.kernel.block(np.arange(problem.n)))
    values = (values + values.T) / 2  # symmetric to the last bit
    return CSVC.build(KernelOracle(Precomputed(), values), problem.targets, problem.parameters), values


def iterates(problem, seed=1, **parameters):
    """The iterates with their arrays copied."""
    found = []
    for iterate in LASVM(**parameters).iterates(problem, np.random.default_rng(seed)):
        iterate.dual_coef = iterate.dual_coef.copy()
        found.append(iterate)
    return found


def assert_feasible(problem, coef):
    assert (coef >= problem.lower_bounds).all()
    assert (coef <= problem.upper_bounds).all()
    assert abs(coef.sum()) <= 1e-12 * max(1.0, np.abs(coef).sum())


CASES = {
    "noisy": (noisy, 1.0, RBF(gamma=0.3)),
    "large-C": (lambda: noisy(120, seed=3), 100.0, RBF(gamma=1.0)),
    "small-C": (lambda: noisy(100, seed=4), 0.01, RBF(gamma=0.3)),
    "separable": (lambda: noisy(150, noise=0.0, seed=5), 10.0, Linear()),
    "poly": (lambda: noisy(100, d=2, seed=6), 0.5, Poly(degree=2)),
}


def follow(case, epochs=1, tau=1e-3, **parameters):
    """Run the solver one example at a time beside the twin; return both at the end of the online iterations."""
    data, C, kernel = CASES[case]
    problem, values = precomputed(stated(*data(), C=C, kernel=kernel))
    twin = NaiveLASVM(values, problem.targets, problem.upper, tau)
    rng = np.random.default_rng(1)
    steps = LASVM(block=1, epochs=epochs, tau=tau, dtype="float64", **parameters).iterates(
        problem, np.random.default_rng(1)
    )
    for epoch in range(epochs):
        order = [int(k) for k in rng.permutation(problem.n)]
        if epoch == 0:
            twin.seed(order)
        for k in order:
            iterate = next(steps)
            outcomes = twin.visit(k)
            misses = [np.abs(outcome.alpha - iterate.dual_coef).max() for outcome in outcomes]
            best = int(np.argmin(misses))
            assert misses[best] <= 1e-9 * C
            twin = outcomes[best]
            assert iterate.info["members"] == len(twin.S)
            assert_feasible(problem, iterate.dual_coef)
    assert iterate.intercept == pytest.approx(twin.intercept(), abs=1e-8 * C)
    return problem, twin, steps


@pytest.mark.parametrize("case", CASES)
def test_every_online_step_is_one_the_paper_allows(case):
    problem, twin, _ = follow(case, epochs=2)  # asserts at every step
    assert 0 < len(twin.S) <= problem.n


@pytest.mark.parametrize("case", ["noisy", "large-C", "poly"])
@pytest.mark.parametrize("shrinking", [False, True])
def test_finishing_ends_where_the_twin_ends(case, shrinking):
    problem, twin, steps = follow(case, epochs=2, tau=1e-8, shrinking=shrinking)
    *_, last = steps
    expected = twin.finished()
    assert last.done
    assert last.info["delta"] <= 1e-8
    K, y = twin.K, problem.targets

    def dual(alpha):
        return y @ alpha - 0.5 * alpha @ K @ alpha

    assert dual(last.dual_coef) == pytest.approx(dual(expected.alpha), rel=1e-6)
    np.testing.assert_allclose(K @ last.dual_coef, K @ expected.alpha, atol=1e-3)


@pytest.mark.parametrize("block", [7, 256])
def test_the_block_changes_the_cost_only(monkeypatch, block):
    monkeypatch.setattr(expansion, "_HOLES", 10**6)  # packing changes the order of sums, and that decides ties
    problem, _ = precomputed(stated(*noisy(400), C=5.0))
    common = {"dtype": "float64", "epochs": 2, "shrinking": False}
    plain = iterates(problem, block=1, **common)[-1]
    other = iterates(problem, block=block, **common)[-1]
    assert plain.info["rows_recomputed"] == other.info["rows_recomputed"] == 0
    np.testing.assert_array_equal(other.dual_coef, plain.dual_coef)
    assert other.intercept == plain.intercept
    assert other.step == plain.step


@pytest.mark.parametrize(
    "parameters", [{}, {"cache_mb": 0.3}, {"dtype": "float64"}, {"shrinking": False}, {"delta_max": 0.5}]
)
def test_five_epochs_reach_the_optimum(parameters):
    problem = stated(*noisy(1500, d=3), C=10.0, kernel=RBF(gamma=0.5))
    found = iterates(problem, epochs=5, **parameters)
    last = found[-1]
    certificate = problem.certify(last.dual_coef, last.intercept)
    assert certificate.relative_gap <= 1e-3
    assert certificate.kkt_violation <= 0.1
    for iterate in found:
        assert_feasible(problem, iterate.dual_coef)
        assert np.isfinite(iterate.intercept)


@pytest.mark.parametrize(("cache_mb", "gap"), [(None, 1e-3), (0.05, 5e-3)])
def test_shrinking_to_and_fro(monkeypatch, cache_mb, gap):
    monkeypatch.setattr(solver, "_PAUSE", 20)
    monkeypatch.setattr(solver, "_WORTHWHILE", 0.001)
    calls = []
    unshrink = expansion.Expansion.unshrink
    monkeypatch.setattr(expansion.Expansion, "unshrink", lambda self, tau: (calls.append(1), unshrink(self, tau)))
    problem = stated(*noisy(600, noise=1.5), C=50.0)
    last = iterates(problem, epochs=4, tau=1e-4, dtype="float64", cache_mb=cache_mb)[-1]
    assert len(calls) > 1
    certificate = problem.certify(last.dual_coef, last.intercept)
    assert (
        certificate.relative_gap <= gap
    )  # points dropped online, other ones with little memory, are not looked at again
    assert_feasible(problem, last.dual_coef)
    grad = problem.targets - problem.kernel.expand(last.dual_coef)
    inside = last.dual_coef != 0
    rises = inside & (last.dual_coef < problem.upper_bounds)
    falls = inside & (last.dual_coef > problem.lower_bounds)
    assert grad[rises].max() - grad[falls].min() <= 1e-4 + 1e-10


def test_the_iterates_say_what_they_are():
    problem = stated(*noisy(300))
    found = iterates(problem)
    phases = [iterate.info["phase"] for iterate in found]
    assert phases == sorted(phases, reverse=True)  # online before finishing
    assert [iterate.done for iterate in found] == [False] * (len(found) - 1) + [True]
    assert [iterate.step for iterate in found] == sorted(iterate.step for iterate in found)
    last = found[-1]
    assert last.info["delta"] <= 1e-3
    assert last.core_set == last.info["members"] >= np.count_nonzero(last.dual_coef)
    online = [iterate for iterate in found if iterate.info["phase"] == "online"][-1]
    assert last.info["online_steps"] == online.step == 2 * problem.n
    assert last.info["online_support"] == np.count_nonzero(online.dual_coef)
    assert 0 < last.info["online_kernel_evaluations"] <= problem.kernel.counter.evaluations


def test_without_finishing_the_online_iterations_end_it():
    problem = stated(*noisy(300))
    found = iterates(problem, finishing=False)
    assert found[-1].done
    assert {iterate.info["phase"] for iterate in found} == {"online"}
    assert found[-1].step == 2 * problem.n


def test_delta_max_bounds_delta_after_every_example():
    problem = stated(*noisy(200, noise=1.5), C=10.0)
    bounded = iterates(problem, block=1, delta_max=0.3, finishing=False)
    assert max(iterate.info["delta"] for iterate in bounded) < 0.3
    free = iterates(problem, block=1, finishing=False)
    assert max(iterate.info["delta"] for iterate in free) > 0.3
    assert bounded[-1].step > free[-1].step


def test_the_same_seed_gives_the_same_iterates():
    problem = stated(*noisy(500), C=10.0)
    first, second, other = iterates(problem, epochs=2), iterates(problem, epochs=2), iterates(problem, seed=2, epochs=2)
    assert len(first) == len(second)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.dual_coef, two.dual_coef)
        assert one.intercept == two.intercept
    assert (first[-1].dual_coef != other[-1].dual_coef).any()


def test_an_easy_problem_keeps_few_members():
    x, y = noisy(1000)
    x[:, 0] += 20 * y
    found = iterates(stated(x, y))
    assert max(iterate.info["members"] for iterate in found) < 100


@pytest.mark.parametrize("parameters", [{}, {"cache_mb": 0.001}])
def test_every_kernel_value_is_counted(monkeypatch, parameters):
    problem = stated(*noisy(400, noise=1.5), C=10.0)
    computed = []
    engine = type(problem.kernel.engine)
    fill = engine.fill

    def counting(self, rows, out, slots, columns, after):
        computed.append(len(rows) * (self.n if columns is None else len(columns)))
        fill(self, rows, out, slots, columns, after)

    monkeypatch.setattr(engine, "fill", counting)
    iterates(problem, **parameters)
    assert problem.kernel.counter.evaluations == sum(computed) + problem.n  # and the diagonal


def test_prefetching_computes_hardly_more_than_a_row_at_a_time():
    problem = stated(*noisy(3000, noise=1.0))
    counts = {}
    for block in (1, 256):
        before = problem.kernel.counter.evaluations
        iterates(problem, block=block)
        counts[block] = problem.kernel.counter.evaluations - before
    assert counts[256] <= 1.1 * counts[1]


def edge(name):
    x, y = noisy(60)
    if name == "two points":
        return np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    if name == "two equal points":
        return np.zeros((2, 1)), np.array([1.0, -1.0])
    if name == "one positive":
        return x, np.where(np.arange(60) == 7, 1.0, -1.0)
    if name == "one class":
        return x, np.ones(60)
    if name == "constant features":
        return np.full((60, 3), 2.5), y
    if name == "duplicates":
        return np.repeat(x[:15], 4, axis=0), np.repeat(y[:15], 4)
    if name == "contradictions":
        return np.repeat(x[:30], 2, axis=0), np.tile([1.0, -1.0], 30)
    if name == "float32":
        return x.astype(np.float32), y
    return scipy.sparse.csr_array(np.where(np.abs(x) > 0.5, x, 0.0)), y


EDGES = ["two points", "two equal points", "one positive", "one class", "constant features", "duplicates"]
EDGES += ["contradictions", "float32", "sparse"]


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("parameters", [{}, {"dtype": "float64", "cache_mb": 0.0001, "block": 3}])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear()], ids=["rbf", "linear"])
def test_edges(name, parameters, kernel):
    problem = stated(*edge(name), C=2.0, kernel=kernel)
    found = iterates(problem, epochs=3, **parameters)
    for iterate in found:
        problem.checked(iterate.dual_coef, iterate.intercept, tolerance=1e-12)
        assert_feasible(problem, iterate.dual_coef)
    assert found[-1].done
    assert problem.certify(found[-1].dual_coef, found[-1].intercept).relative_gap <= 1e-2


def test_class_weights_go_into_the_bounds():
    x, y = noisy(400, noise=1.0)
    y[np.arange(400) % 5 > 0] = -1.0
    problem = stated(x, y, C=0.5, class_weight="balanced")
    last = iterates(problem, epochs=5)[-1]
    assert_feasible(problem, last.dual_coef)
    assert set(np.unique(problem.upper)) <= set(np.abs(last.dual_coef))  # both bounds are met, exactly
    assert problem.certify(last.dual_coef, last.intercept).relative_gap <= 1e-3


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
@given(problems)
def test_duplicates_keep_every_iterate_feasible(drawn):
    x, y, C = drawn
    problem = stated(x, y, C=C, kernel=RBF(gamma=1.0))
    found = iterates(problem, epochs=2, dtype="float64")
    for iterate in found:
        assert_feasible(problem, iterate.dual_coef)
    assert found[-1].info["delta"] <= 1e-3


@settings(deadline=None, max_examples=40)
@given(problems)
def test_flipped_labels_negate_the_model(drawn):
    x, y, C = drawn
    model, flipped = (
        iterates(stated(x, labels, C=C, kernel=RBF(gamma=1.0)), epochs=2, shrinking=False)[-1] for labels in (y, -y)
    )
    np.testing.assert_array_equal(flipped.dual_coef, -model.dual_coef)
    assert flipped.intercept == -model.intercept


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.integers(1, 20))
def test_rows_move_in_place(seed, n_rows, old_width, width):
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(n_rows) < 0.6)
    columns = np.flatnonzero(rng.random(old_width) < 0.6)[:width]
    values = rng.random(n_rows * max(width, old_width))
    expected = values[: n_rows * old_width].reshape(n_rows, old_width)[np.ix_(rows, columns)]
    pool.move_rows(values, rows, columns, old_width, width)
    moved = values[: n_rows * width].reshape(n_rows, width)[: len(rows), : len(columns)]
    np.testing.assert_array_equal(moved, expected)


def partway(seed, blocks, **parameters):
    """An expansion in the middle of its first epoch, and its full kernel matrix."""
    x, y = noisy(300, noise=1.5, seed=seed)
    problem, values = precomputed(stated(x, y, C=5.0))
    given_ = {"cache_mb": 100.0, "block": 64, "dtype": "float64", **parameters}
    found = expansion.Expansion(problem, **given_)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(300), rng.permutation(300)])
    seeds = np.concatenate([order[:300][y[order[:300]] == label][:5] for label in (1.0, -1.0)])
    found.admit(seeds, np.zeros(10), y[seeds])
    done = 0
    while blocks and done < 600:
        blocks -= 1
        work = found.fetch(order[done:])
        found.counts[state.PAUSE] = 10**9
        while hot.online(found.members, found.box, *work, 1e-3, np.inf) == state.NEED_ROW:
            found.supply()
        done += int(found.counts[state.AT])
    return found, values


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 30), st.sampled_from([100.0, 0.05, 0.0001]))
def test_rows_gradients_and_extremes_are_what_they_should_be(seed, blocks, cache_mb):
    found, K = partway(seed, blocks, cache_mb=cache_mb)
    x, slots = found.members, found.live()
    members = x.slots[state.MEMBER, slots]
    alpha, grad = x.reals[state.ALPHA], x.reals[state.GRAD]
    np.testing.assert_allclose(
        grad[slots], found.box.targets[members] - K[np.ix_(members, members)] @ alpha[slots], atol=1e-10
    )
    able = slots[alpha[slots] < x.reals[state.UPPER, slots]]
    assert x.counts[state.I_MAX] == able[np.argmax(grad[able])]
    able = slots[alpha[slots] > x.reals[state.LOWER, slots]]
    assert x.counts[state.I_MIN] == able[np.argmin(grad[able])]
    pool.catch_up(x)
    width = found.counts[state.WIDTH]
    complete = 0
    for s, k in zip(slots, members, strict=True):
        row = x.slots[state.ROW_OF, s]
        if row >= 0 and x.rows[state.SEEN, row] == found.counts[state.CLOCK]:
            complete += 1
            np.testing.assert_array_equal(x.pool[row * width + slots], K[k, members])
    assert complete == len(slots) if cache_mb == 100.0 else complete >= 1


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 12), st.booleans())
def test_the_partner_is_the_one_that_gains_most(seed, blocks, rising):
    found, K = partway(seed, blocks)
    x, slots = found.members, found.live()
    members = x.slots[state.MEMBER, slots]
    s = int(x.counts[state.I_MAX if rising else state.I_MIN])
    pool.catch_up(x)
    k = x.slots[state.MEMBER, s]
    able = x.reals[state.ALPHA, slots] > x.reals[state.LOWER, slots]
    if not rising:
        able = x.reals[state.ALPHA, slots] < x.reals[state.UPPER, slots]
    apart = (x.reals[state.GRAD, s] - x.reals[state.GRAD, slots]) * (1 if rising else -1)
    gains = np.where(able & (apart > 0), apart**2 / np.maximum(2 - 2 * K[k, members], 1e-6), 0.0)
    chosen = scans.partner(x, s, s == x.counts[state.I_MAX])
    assert gains[slots == chosen] == pytest.approx(gains.max(), rel=1e-4)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.integers(1, 12), st.sampled_from([0.0, 0.3, 10.0]))
def test_who_is_near_is_foreseen(seed, blocks, near):
    found, K = partway(seed, blocks)
    x, live = found.members, found.live()
    members, alpha = x.slots[state.MEMBER, live], x.reals[state.ALPHA, live]
    candidates = np.random.default_rng(seed).permutation(300)[:40]
    places, fresh, entering = np.empty((3, 40), dtype=np.int64)
    count = ahead.outside(x, candidates, places, fresh)
    expected = [k for k in candidates if k not in members]
    assert fresh[:count].tolist() == expected
    assert places.tolist() == [expected.index(k) if k in expected else -1 for k in candidates]
    fresh, slots = fresh[:count], x.slots[state.MEMBER, : found.counts[state.TOP]]
    distances = np.empty(count)
    likely = ahead.foresee(x, found.box.targets, fresh, K[np.ix_(fresh, slots)], near, distances, entering)
    grads = found.box.targets[fresh] - K[np.ix_(fresh, members)] @ alpha
    low, high = sorted(x.extremes)
    apart = np.where(found.box.targets[fresh] > 0, low - grads, grads - high)
    np.testing.assert_allclose(distances, apart, atol=1e-10)
    assert entering[:likely].tolist() == np.flatnonzero(distances < near).tolist()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_columns_between_candidates_are_those_asked_for(seed, size):
    rng = np.random.default_rng(seed)
    among, values = rng.random((2, size, size))
    distances = rng.integers(0, 5, size).astype(float)  # equal ones, too
    chosen = np.flatnonzero(rng.random(size) < 0.5)
    ahead.forget(among)
    ahead.spread(np.ascontiguousarray(values[:, chosen]), chosen, among)
    np.testing.assert_array_equal(among[:, chosen], values[:, chosen])
    without = [q for q in range(size) if q not in chosen]
    assert np.flatnonzero(np.isnan(np.diag(among))).tolist() == without
    entering = np.empty(size, dtype=np.int64)
    for place in without:
        count = ahead.drifted(among, distances, place, entering)
        near = [q for q in without if q >= place and distances[q] <= distances[place]]
        assert entering[:count].tolist() == near


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.integers(1, 30))
def test_the_columns_follow_the_slots(seed, blocks):
    found, _ = partway(seed, blocks)
    x, top = found.members, int(found.counts[state.TOP])
    members = x.slots[state.MEMBER, :top]
    found._point()
    filled = members >= 0
    np.testing.assert_array_equal(found._columns.index[filled], members[filled])
    assert len(found._columns) == top


def test_a_pause_comes_after_a_block_of_examples():
    problem = stated(*noisy(900))
    for block in (1, 100, 256):
        visited = [iterate.info["visited"] for iterate in iterates(problem, block=block, finishing=False)]
        steps = np.diff([0, *visited])
        assert (steps[: len(visited) - 2] >= block).all()
        assert steps.max() < 2 * block
        assert visited[-1] == 900


def test_parameters_are_checked():
    with pytest.raises(UsageError, match="epochs"):
        LASVM(epochs=0)
    with pytest.raises(UsageError, match="tau"):
        LASVM(tau=0.0)
    with pytest.raises(UsageError, match="dtype"):
        LASVM(dtype="float16")


def test_a_target_gap_bounds_tau():
    assert LASVM().with_target_gap(1e-5).tau == 1e-5
    assert LASVM(epochs=2).with_target_gap(0.1) == LASVM(epochs=2)


def test_the_host_drives_it():
    problem = stated(*noisy(300))
    outcome = drive(LASVM(), problem, np.random.default_rng(0))
    assert outcome.status == "ok"
    assert outcome.claimed_done
    assert outcome.info["phase"] == "finishing"


def test_importing_the_plugin_does_not_compile():
    code = "import sys, harness_lasvm; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
