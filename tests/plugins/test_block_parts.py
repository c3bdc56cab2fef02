"""The parts of block SMO by themselves: compiled loops against their slow twins, row cache, choice of the working set."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from harness_smo import block_cache, block_loops, block_passes, working_set
from harness_smo.block_cache import RowCache
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, Kernel, KernelOracle
from tests.kernels.oracles import oracle, whole
from tests.plugins.naive_block import naive_box, naive_directions, naive_joint, naive_pairs, naive_violation

PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def block_problem(seed, w, cut, kind="rbf", dtype=np.float64):
    """A kernel block with variables inside their bounds and at them, and a gradient."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(w, 2 if kind == "low-rank" else 3))
    if kind == "duplicates":
        x = x[rng.integers(0, min(w, max(2, w // 3)), w)]
    kernel = (x @ x.T if kind == "low-rank" else np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(-1))).astype(dtype)
    lower = np.where(rng.random(w) < 0.5, -rng.uniform(0.5, 3.0, w), 0.0)
    upper = np.where(lower < 0.0, 0.0, rng.uniform(0.5, 3.0, w))
    where = rng.choice([0.0, 0.3, 1.0], w)
    a = lower + where * (upper - lower)
    a[where == 1.0] = upper[where == 1.0]
    return kernel, np.diagonal(kernel).copy(), a, lower, upper, rng.normal(size=w), cut


# -- descent inside a working set ------------------------------------------------------------------------------------

SHAPES = [(6, 6), (40, 40), (40, 13), (40, 0), (300, 300), (300, 270), (520, 257)]


@pytest.mark.parametrize(("w", "cut"), SHAPES)
@pytest.mark.parametrize("kind", ["rbf", "low-rank", "duplicates"])
def test_every_step_of_the_pair_descent_is_the_twins(w, cut, kind):
    kernel, diagonal, a, *rest = block_problem(1, w, cut, kind)
    for limit in (1, 2, 3, 5, 8, 13):
        moved = a.copy()
        *bounds, cut = rest
        taken = block_loops.pair_descent(block_loops.WorkingSet(kernel, diagonal, moved, *bounds), cut, 1e-3, limit)
        wanted, _, steps = naive_pairs(kernel, diagonal, a, *rest, 1e-3, limit)
        assert taken == steps
        assert (wanted != a).any()
        assert moved == pytest.approx(wanted, abs=1e-9)


@PRECISIONS
@given(st.integers(0, 1000), st.integers(2, 60), st.sampled_from(["rbf", "low-rank", "duplicates"]), st.data())
@settings(max_examples=40)
def test_the_pair_descent_ends_where_no_pair_violates(dtype, seed, w, kind, data):
    cut = data.draw(st.sampled_from([w, w // 2, 1]), label="cut")
    kernel, diagonal, a, lower, upper, gradient, _ = block_problem(seed, w, cut, kind, dtype)
    tau, moved = (1e-2 if dtype is np.float32 else 1e-6), a.copy()
    work = block_loops.WorkingSet(kernel, diagonal, moved, lower, upper, gradient)
    taken = block_loops.pair_descent(work, cut, tau, 100_000)
    assert taken < 100_000
    assert ((moved >= lower) & (moved <= upper)).all()
    for group in (slice(0, cut), slice(cut, w)):
        assert moved[group].sum() == pytest.approx(a[group].sum(), abs=1e-9)
    change = moved - a
    left = gradient - kernel.astype(np.float64) @ change
    assert naive_violation(moved, lower, upper, left, cut) <= 1.01 * tau
    wanted, _, _ = naive_pairs(kernel, diagonal, a, lower, upper, gradient, cut, tau, 100_000)
    other = wanted - a
    reached, best = (gradient @ d - 0.5 * d @ kernel.astype(np.float64) @ d for d in (change, other))
    # the objective is concave: no point of the box is better by more than the violation times half the way there
    assert abs(reached - best) <= 0.51 * tau * np.abs(change - other).sum() + 1e-12
    assert reached >= -1e-9


def test_the_pair_descent_stops_at_its_limit_and_leaves_the_gradient():
    kernel, diagonal, a, lower, upper, gradient, cut = block_problem(3, 50, 50)
    before = gradient.copy()
    assert (
        block_loops.pair_descent(block_loops.WorkingSet(kernel, diagonal, a, lower, upper, gradient), cut, 1e-9, 7) == 7
    )
    assert gradient.tobytes() == before.tobytes()


@pytest.mark.parametrize("w", [1, 2, 40, 300])
@pytest.mark.parametrize("kind", ["rbf", "low-rank", "duplicates"])
def test_every_step_of_the_joint_descent_is_the_twins(w, kind):
    kernel, diagonal, a, lower, upper, gradient, _ = block_problem(4, w, w, kind)
    for limit in (1, 2, 3, 5, 8):
        moved = a.copy()
        work = block_loops.WorkingSet(kernel, diagonal, moved, lower, upper, gradient)
        taken = block_loops.joint_descent(work, 1e-6, limit)
        wanted, _, steps = naive_joint(kernel, diagonal, a, lower, upper, gradient, 1e-6, limit)
        assert taken == steps
        assert moved == pytest.approx(wanted, abs=1e-7)


@PRECISIONS
@given(st.integers(0, 1000), st.integers(1, 60), st.sampled_from(["rbf", "low-rank", "duplicates"]), st.booleans())
@settings(max_examples=40)
def test_the_joint_descent_ends_at_the_optimum(dtype, seed, w, kind, open_above):
    kernel, diagonal, a, lower, upper, gradient, _ = block_problem(seed, w, w, kind, dtype)
    if open_above and kind == "rbf":  # the bounds of l2-svc
        lower, upper = np.where(lower < 0.0, -np.inf, 0.0), np.where(upper > 0.0, np.inf, 0.0)
    tau, moved = (1e-2 if dtype is np.float32 else 1e-6), a.copy()
    work = block_loops.WorkingSet(kernel, diagonal, moved, lower, upper, gradient)
    taken = block_loops.joint_descent(work, tau, 100_000)
    assert taken < 100_000
    assert ((moved >= lower) & (moved <= upper)).all()
    left = gradient - kernel.astype(np.float64) @ (moved - a)
    assert max(left[moved < upper].max(initial=0.0), -left[moved > lower].min(initial=0.0)) <= 1.01 * tau


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=2),
    st.sampled_from([0.0, 0.3, -0.9, 0.999, 1.0]),
    st.lists(st.sampled_from([0.0, 0.1, 1.0, 50.0, np.inf]), min_size=4, max_size=4),
)
def test_two_variables_step_to_their_common_optimum(g, k_ij, rooms):
    kernel, g = np.array([[1.0, k_ij], [k_ij, 1.0]]), np.array(g)
    low, high = -np.array(rooms[:2]), np.array(rooms[2:])
    d = np.array(block_loops.joint_step(tuple(g), (1.0, 1.0, k_ij), (low[0], high[0]), (low[1], high[1])))
    assert ((d >= low) & (d <= high)).all()
    if k_ij < 1.0 or np.isfinite(rooms).all():  # else there may be no optimum
        wanted = naive_box(kernel, g, low, high)
        assert g @ d - 0.5 * d @ kernel @ d >= g @ wanted - 0.5 * wanted @ kernel @ wanted - 1e-9


def test_a_wide_kernel_takes_few_joint_steps():
    """One variable at a time takes thousands: whatever one step adds to all gradients the next takes off again."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 5)), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    kernel = np.exp(-1e-3 * ((x[:, None] - x[None]) ** 2).sum(-1))
    lower, upper, a = np.minimum(0.0, 100.0 * y), np.maximum(0.0, 100.0 * y), np.zeros(200)
    work = block_loops.WorkingSet(kernel, np.ones(200), a, lower, upper, y)
    assert block_loops.joint_descent(work, 1e-3, 100_000) < 1000
    left = y - kernel @ a
    assert max(left[a < upper].max(), -left[a > lower].min()) <= 1.01e-3


# -- the other loops -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 300), st.sampled_from([3, 10_000]))
def test_seek_finds_the_first(seed, length, different):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, different, length)
    for wanted in rng.choice(values, 10):
        assert block_loops._seek(values.astype(np.float32), np.float32(wanted)) == values.tolist().index(wanted)


@given(st.integers(1, 2000), st.data())
def test_segments_cover_both_groups_and_no_segment_has_points_of_both(n, data):
    cut = data.draw(st.sampled_from([0, 1, n // 2, n - 1, n]) | st.integers(0, n))
    starts, ends, first = block_loops._segments(n, cut)
    covered = [k for s, e in zip(starts, ends, strict=True) for k in range(s, e)]
    assert covered == list(range(n))
    assert all(e <= cut for e in ends[:first])
    assert all(s >= cut for s in starts[first:])
    assert all(0 < e - s <= block_loops._SEGMENT for s, e in zip(starts, ends, strict=True))


@given(st.integers(0, 10_000), st.sampled_from([0, 1, 2]), st.sampled_from([1, 2]))
def test_directions_are_the_gradient_of_what_may_move(seed, groups, copies):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 20))
    _, _, a, lower, upper, linear, _ = block_problem(seed, copies * m, 0)
    scores = rng.normal(size=m)
    group = rng.integers(0, max(1, groups), copies * m).astype(np.int8)
    rise, fall = np.empty(copies * m), np.empty(copies * m)
    ends = np.full((max(1, groups), 2), [0.0, 0.0] if groups == 0 else [-np.inf, np.inf])
    block_passes.directions(block_passes.Variables(a, lower, upper, linear, group), scores, ends, rise, fall)
    wanted = naive_directions(a, lower, upper, linear, scores, group, groups)
    assert rise.tolist() == wanted[0]
    assert fall.tolist() == wanted[1]
    assert [tuple(pair) for pair in ends.tolist()] == wanted[2]


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(-3.0, 3.0), st.sampled_from([0.1, 1.0, 1e6]))
def test_largest_takes_as_many_as_it_should_from_the_top(seed, count, floor, spread):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=int(rng.integers(1, 100))) * rng.choice([1.0, spread], 1)
    values[rng.random(len(values)) < 0.2] = -np.inf
    group, sign = (rng.random(len(values)) < 0.5).astype(np.int8) * (count % 2), rng.choice([1.0, -1.0])
    chosen = working_set.largest(sign * values, sign, group, 0, floor, count)
    above = np.sort(values[(values > floor) & (group == 0)])[::-1]
    assert (group[chosen] == 0).all()
    assert len(chosen) == min(count, len(above)) == len(set(chosen.tolist()))
    assert (values[chosen] > floor).all()
    if len(above) > count:
        resolution = (above[0] - floor) / working_set._BINS
        assert values[chosen].min() >= above[count - 1] - 1.01 * resolution


# -- kernel rows -----------------------------------------------------------------------------------------------------


def hold(cache, points):
    """Bring the rows of ``points``, none of them held, into the cache."""
    slots = cache.reserve(points)
    cache.kernel.fill(points, cache.rows, slots)
    return slots


def held(cache):
    return set(np.flatnonzero(cache.slot_of >= 0).tolist())


@PRECISIONS
@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_a_block_is_the_kernel_and_computes_only_what_is_not_at_hand(dtype, seed):
    rng = np.random.default_rng(seed)
    kernel = oracle(40, dtype)
    cache, truth = RowCache(kernel, np.empty(40 * 12)), whole(kernel)
    last = set()
    for _ in range(5):
        cache.used(np.empty(0, dtype=np.intp))
        hold(cache, np.setdiff1d(rng.permutation(40)[:5], sorted(held(cache))))
        cache.rows[cache.owner < 0] = np.nan
        points = rng.permutation(40)[: rng.integers(1, 20)]
        before = kernel.counter.evaluations
        block = cache.block(points)
        assert block == pytest.approx(truth[np.ix_(points, points)], abs=1e-6)
        out = set(points.tolist()) - held(cache)
        new = out - last
        assert kernel.counter.evaluations - before == len(new) * len(out), "each value is computed and counted once"
        last = set(points.tolist())


@PRECISIONS
@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_a_block_computed_anew_is_the_kernel_and_is_counted(dtype, seed):
    rng = np.random.default_rng(seed)
    kernel = oracle(40, dtype).with_threads(1 + seed % 3)
    cache, truth = RowCache(kernel, np.empty(40 * 12)), whole(kernel)
    asked = []
    cache.cheaper_anew = lambda values, reads: asked.append(bool(rng.random() < 0.7)) or asked[-1]
    last = set()
    for _ in range(5):
        cache.used(np.empty(0, dtype=np.intp))
        hold(cache, np.setdiff1d(rng.permutation(40)[:5], sorted(held(cache))))
        points = rng.integers(0, 40, rng.integers(1, 45))
        asked.clear()
        before = kernel.counter.evaluations
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(block_cache, "_THREAD_VALUES", 100)
            block = cache.block(points)
        assert block == pytest.approx(truth[np.ix_(points, points)], abs=1e-6)
        out, new = [p for p in points if cache.slot_of[p] < 0], [p for p in points if p not in last]
        missing = len([p for p in new if cache.slot_of[p] < 0]) * len(out)
        assert kernel.counter.evaluations - before == (len(new) * len(points) if asked[0] else missing)
        last = set(points.tolist())


@given(st.integers(1, 5), st.integers(0, 50), st.integers(0, 30))
def test_what_is_shared_is_done_once_each(threads, count, values):
    kernel, done = oracle(4).with_threads(threads), []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(block_cache, "_THREAD_VALUES", 100)
        block_cache.shared(kernel, count, values, lambda start, stop: done.append((start, stop)))
    assert sorted(k for start, stop in done for k in range(start, stop)) == list(range(count))
    assert len(done) == max(1, min(threads, count * values // 100))


def test_reading_rows_far_away_costs_more_than_computing_what_is_cheap():
    @dataclass(frozen=True)
    class Wide(Kernel):
        """No form that the engine knows: no telling what a value costs."""

        name = "wide"

        def block(self, x, z):
            return np.ones((len(x), len(z)))

        def diagonal(self, x):
            return np.ones(len(x))

    def anew(kernel, x, rows, values, reads):
        cache = RowCache(KernelOracle(kernel, x).astype(np.float32), np.empty(600_000))
        cache.reserve(np.arange(rows))
        return cache.cheaper_anew(values, reads)

    x = np.random.default_rng(0).normal(size=(4000, 20))
    wide = np.random.default_rng(0).normal(size=(4000, 2000))
    assert anew(RBF(0.1), x, 200, 100_000, 50_000)
    assert not anew(RBF(0.1), x, 100, 100_000, 50_000), "1.6 MB are at hand"
    assert not anew(RBF(0.1), x, 200, 1000, 500), "asking takes its time"
    assert not anew(RBF(0.1), x, 200, 2_000_000, 50_000)
    assert not anew(RBF(0.1), wide, 200, 100_000, 50_000), "of 2,000 multiply-adds each"
    assert anew(RBF(0.1), scipy.sparse.csr_array(wide * (np.arange(2000) < 20)), 200, 100_000, 50_000)
    assert not anew(Wide(), x, 200, 100_000, 50_000)


def test_a_block_takes_a_point_twice():
    kernel = oracle(10)
    cache, truth = RowCache(kernel, np.empty(50)), whole(oracle(10))
    hold(cache, np.array([3, 4]))
    for points in ([3, 5, 3, 5, 6], [5, 3, 7, 7, 4], [7, 7]):  # eps-svr: both variables of a point
        assert cache.block(np.array(points)) == pytest.approx(truth[np.ix_(points, points)], abs=1e-12)


def chosen_from(rise, fall, ends, group, groups, previous, size):
    stay = working_set.kept(previous, rise, fall, ends, group, size // 2)
    return working_set.choose(rise, fall, ends, group, groups, stay, size)


# -- the working set -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from([0, 1, 2]), st.sampled_from([8, 16, 64]))
@settings(max_examples=200)
def test_a_working_set_has_the_violating_and_half_of_the_last_one(seed, groups, size):
    rng = np.random.default_rng(seed)
    w = int(rng.integers(4, 120))
    _, _, a, lower, upper, gradient, _ = block_problem(seed, w, 0)
    group = rng.integers(0, max(1, groups), w).astype(np.int8)
    rise, fall, ends = naive_directions(a, lower, upper, gradient, np.zeros(w), group, groups)
    rise, fall = np.array(rise), np.array(fall)
    free = (a > lower) & (a < upper)
    previous = rng.permutation(w)[: rng.integers(0, size + 1)]
    chosen, cut = chosen_from(rise.copy(), fall.copy(), np.array(ends), group, groups, previous, size)
    assert len(chosen) <= size
    assert len(set(chosen.tolist())) == len(chosen)
    assert cut == (int((group[chosen] == 0).sum()) if groups == 2 else len(chosen))
    assert (np.diff(group[chosen]) >= 0).all() or groups < 2
    kept = np.intersect1d(chosen, previous)
    assert len(kept) >= min(len(previous), size // 2)
    ups, lows = np.array([end[0] for end in ends])[group], np.array([end[1] for end in ends])[group]
    violating = (rise > lows) | (fall < ups) if groups else np.maximum(rise, -fall) > 0.0
    assert violating[np.setdiff1d(chosen, previous)].all()
    if groups and len(previous) == 0:
        worst = max(range(groups), key=lambda k: ends[k][0] - ends[k][1])
        if ends[worst][0] > ends[worst][1]:
            assert np.isin(np.flatnonzero(rise == ends[worst][0]), chosen).all(), "the worst pair is in it"
    if len(previous) > size // 2 and groups:
        share = min(int(free[previous].sum()), size // 2)
        assert int(free[kept].sum()) >= share, "the free ones are kept first"
