"""The parts of block SMO by themselves: compiled loops against their slow twins, row cache, choice of the working set."""

import numpy as np
import pytest
from harness_smo import block_loops, block_passes
from harness_smo.block_cache import BlockRowCache
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.oracles import oracle, whole
from tests.plugins.naive_block import naive_directions, naive_joint, naive_pairs

KINDS = pytest.mark.parametrize("kind", ["rbf", "low-rank", "duplicates"])


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


@pytest.mark.parametrize(("w", "cut"), [*SHAPES, *((w, None) for w in (1, 2, 40, 300))])
@KINDS
def test_every_step_of_the_pair_and_of_the_joint_descent_is_the_twins(w, cut, kind):
    """A cut parts the variables of two groups; None: one variable at a time moves, under no sum."""
    kernel, diagonal, a, lower, upper, gradient, _ = block_problem(1 if cut is not None else 4, w, w, kind)
    for limit in (1, 2, 3, 5, 8, 13):
        moved = a.copy()
        work = block_loops.WorkingSet(kernel, diagonal, moved, lower, upper, gradient)
        if cut is None:
            taken = block_loops.joint_descent(work, 1e-6, limit)
            wanted, _, steps = naive_joint(kernel, diagonal, a, lower, upper, gradient, 1e-6, limit)
        else:
            taken = block_loops.pair_descent(work, cut, 1e-3, limit)
            wanted, _, steps = naive_pairs(kernel, diagonal, a, lower, upper, gradient, cut, 1e-3, limit)
            assert (wanted != a).any()
        assert taken == steps
        assert moved == pytest.approx(wanted, abs=1e-9 if cut is not None else 1e-7)


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


# -- kernel rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_a_block_computed_anew_is_the_kernel_and_is_counted(dtype, seed):
    rng = np.random.default_rng(seed)
    kernel = oracle(40, dtype).replace(threads=1 + seed % 3)
    cache, truth = BlockRowCache(kernel, np.empty(40 * 12)), whole(kernel)
    asked = []
    cache.cheaper_anew = lambda values, reads: asked.append(bool(rng.random() < 0.7)) or asked[-1]
    last = set()
    for _ in range(5):
        cache.used(np.empty(0, dtype=np.intp))
        fetched = np.setdiff1d(rng.permutation(40)[:5], np.flatnonzero(cache.slot_of >= 0))
        cache.kernel.fill(fetched, cache.rows, cache.reserve(fetched))
        points = rng.integers(0, 40, rng.integers(1, 45))
        asked.clear()
        before = kernel.counter.evaluations
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("harness.kernels.crew.WORTH", 100)
            block = cache.block(points)
        assert block == pytest.approx(truth[np.ix_(points, points)], abs=1e-6)
        out, new = [p for p in points if cache.slot_of[p] < 0], [p for p in points if p not in last]
        missing = len([p for p in new if cache.slot_of[p] < 0]) * len(out)
        assert kernel.counter.evaluations - before == (len(new) * len(points) if asked[0] else missing)
        last = set(points.tolist())


@pytest.mark.parametrize("groups", [0, 1, 2])
@pytest.mark.parametrize("copies", [1, 2])
def test_how_far_points_are_from_a_violation_is_the_twins(groups, copies):
    rng = np.random.default_rng(groups)
    m = 50
    v = copies * m
    lower, upper = -rng.uniform(0.5, 2.0, v), rng.uniform(0.5, 2.0, v)
    a = np.choose(rng.integers(3, size=v), [lower, 0.0, upper])
    group, linear, scores = rng.integers(0, max(1, groups), v), rng.normal(size=v), rng.normal(size=m)
    ends = np.sort(rng.normal(size=(max(1, groups), 2)))
    found = block_passes.distances(block_passes.Variables(a, lower, upper, linear, group), scores, ends)
    g = linear - np.tile(scores, copies)
    rise = np.where(a < upper, ends[group, 0] - g, np.inf)
    fall = np.where(a > lower, g - ends[group, 1], np.inf)
    assert found.tolist() == np.minimum(rise, fall).reshape(copies, m).min(axis=0).tolist()


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
    given_ = rise.copy(), fall.copy(), np.array(ends), group
    stay = block_passes.kept(previous, *given_, size // 2)
    chosen, cut = block_passes.choose(*given_, groups, stay, size)
    assert len(set(chosen.tolist())) == len(chosen) <= size
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
