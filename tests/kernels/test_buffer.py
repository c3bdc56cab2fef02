"""The buffer of kernel rows: what is held, who makes way, what is computed and what counts as a hit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import RBF, KernelOracle, RowCache
from harness.support.jit import add_rows
from tests.kernels.oracles import oracle, whole

PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def spent(kernel):
    return kernel.counter.evaluations, kernel.counter.cache_hits


def of_rows(kernel, count, **options):
    return kernel.row_cache(count * kernel.n * kernel.dtype.itemsize / 2**20, **options)


def hold(buffer, points):
    """Bring the rows of ``points``, none of them held, into the buffer."""
    buffer.compute(points, buffer.reserve(points))


def held(buffer):
    return set(np.flatnonzero(buffer.slot_of >= 0).tolist())


def sound(buffer):
    """The slots and the owners say the same, and every held row is the kernel's."""
    for slot, row in enumerate(buffer.owner.tolist()):
        assert row < 0 or buffer.slot_of[row] == slot
    assert len(held(buffer)) == int(np.count_nonzero(buffer.owner >= 0)) <= buffer.capacity
    truth = whole(buffer.kernel)
    for row in held(buffer):
        assert buffer.rows[buffer.slot_of[row]] == pytest.approx(truth[row], abs=1e-6)


@given(st.integers(0, 10_000), st.integers(2, 12))
@settings(max_examples=50)
def test_rows_unused_for_longest_go_first_and_those_at_rest_before_all(seed, capacity):
    rng = np.random.default_rng(seed)
    buffer = RowCache(oracle(20), np.empty(20 * capacity))
    stamp = {}  # when each held row was used last; those at rest long ago
    for now in range(1, 25):
        points = rng.permutation(20)[: rng.integers(1, capacity + 1)]
        here = buffer.slot_of[points] >= 0
        buffer.used(points[here])
        before = held(buffer)
        hold(buffer, points[~here])
        gone = before - held(buffer)
        assert set(points.tolist()) <= held(buffer), "what a round uses stays"
        stay = before - gone - set(points.tolist())
        assert max((stamp[row] for row in gone), default=-np.inf) <= min((stamp[row] for row in stay), default=np.inf)
        full = (buffer.owner >= 0).all()
        assert full or all(stamp[row] < 0 for row in gone), "while there is room, only rows at rest go"
        stamp = {row: now if row in points else stamp[row] for row in held(buffer)}
        resting = points[rng.random(len(points)) < 0.3]
        buffer.at_rest(resting)
        stamp |= dict.fromkeys(resting.tolist(), now - 1e6)
    sound(buffer)


@PRECISIONS
@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=60)
def test_a_moved_buffer_has_the_rows_over_the_new_points(dtype, seed, fresh):
    rng = np.random.default_rng(seed)
    everyone = oracle(40, dtype)
    old = np.sort(rng.permutation(40)[: rng.integers(5, 40)])
    buffer = RowCache(everyone.restrict(old), np.empty(int(rng.integers(90, 700))))
    hold(buffer, rng.permutation(len(old))[: buffer.capacity])
    buffer.used(np.array(sorted(held(buffer)), dtype=np.intp)[::2])
    pool = np.arange(40) if fresh else old
    new = np.sort(rng.permutation(pool)[: rng.integers(1, len(old) + 1)])
    position = np.full(40, -1)
    position[old] = np.arange(len(old))
    place = position[new]
    keep = np.array([k for k in sorted(held(buffer)) if k in place and rng.random() < 0.7], dtype=np.intp)
    counter = everyone.counter.evaluations
    moved = buffer.moved(everyone.restrict(new), place, keep)
    sound(moved)
    assert moved.capacity * len(new) * np.dtype(dtype).itemsize <= moved.memory.nbytes
    carried = {int(old[k]) for k in keep}
    assert {int(new[k]) for k in held(moved)} <= carried
    assert len(held(moved)) == min(len(carried), moved.capacity)
    assert everyone.counter.evaluations - counter == len(held(moved)) * int((place < 0).sum())


@PRECISIONS
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 11, 13])
@pytest.mark.parametrize(("start", "stop"), [(0, 5000), (17, 2100), (2048, 4096), (4999, 5000), (30, 30)])
def test_rows_are_added_to_their_range_and_no_further(dtype, count, start, stop):
    rng = np.random.default_rng(count)
    rows, scores = rng.normal(size=(15, 5000)).astype(dtype), rng.normal(size=5000)
    slots, coef = rng.permutation(15)[:count], rng.normal(size=count) * 100.0
    added, wanted = scores.copy(), scores.copy()
    add_rows(added, rows, slots, coef, start, stop)
    for slot, c in zip(slots, coef, strict=True):
        wanted[start:stop] += c * rows[slot, start:stop].astype(float)
    # the sums are in float64 whatever the rows are
    np.testing.assert_allclose(added, wanted, rtol=1e-12, atol=1e-9)
    assert added[:start].tobytes() == scores[:start].tobytes()
    assert added[stop:].tobytes() == scores[stop:].tobytes()


# -- fetching ----------------------------------------------------------------------------------------------


def test_a_buffer_has_the_oracle_s_memory_unless_it_is_given_its_own():
    kernel = KernelOracle(RBF(0.5), np.zeros((100, 2)), cache_mb=10 * 100 * 8 / 2**20)
    assert [of_rows(kernel, count).capacity for count in (25, 1000, 0)] == [25, 100, 2]
    assert (kernel.row_cache().capacity, of_rows(kernel, 0, least=4).capacity) == (10, 4)
    assert kernel.restrict([1, 2, 3]).row_cache(0.0, least=4).capacity == 3
    assert kernel.replace(dtype=np.float32).row_cache(10 * 100 * 8 / 2**20).capacity == 20


def test_what_must_stay_stays_and_what_goes_last_goes_last():
    kernel = oracle()
    buffer = of_rows(kernel, 4)
    for point in (0, 1, 2, 3):
        buffer.used(np.empty(0, dtype=np.intp))
        buffer.fetch(np.array([point]))
    last = np.zeros(40, dtype=bool)
    last[[0, 1]] = True
    buffer.fetch(np.array([10]), last=lambda: last)
    assert held(buffer) == {0, 1, 3, 10}, "2 was the oldest of the others"
    buffer.fetch(np.array([11, 12, 13]), keep=np.array([0, 1, 30]))
    assert {0, 1} <= held(buffer)
    assert len(held(buffer) & {11, 12, 13}) == 2, "one found no place"
    buffer.fetch(np.array([20, 21, 22, 23]), last=lambda: last)
    assert held(buffer) == {20, 21, 22, 23}
    sound(buffer)


def test_an_interrupted_fetch_leaves_no_row_behind_that_was_not_written(monkeypatch):
    kernel = oracle()

    def compute(points, rows, slots, after):
        if 5 in points:
            raise KeyboardInterrupt
        kernel.fill(points, rows, slots, None, after)

    buffer = of_rows(kernel, 4, compute=compute)
    buffer.fetch(np.array([1, 2]))
    with pytest.raises(KeyboardInterrupt):
        buffer.fetch(np.array([5, 1]))
    assert held(buffer) == {1, 2}
    for point in range(6, 12):
        buffer.fetch(np.array([point]))
    assert len(held(buffer)) == 4
    sound(buffer)


# -- counts and sums -----------------------------------------------------------------------------------------


def test_what_loops_read_is_a_hit_but_for_the_first_reading_of_what_was_computed_for_them():
    kernel = oracle()
    buffer = kernel.row_cache()
    buffer.fetch(np.array([1]))
    buffer.read(0)
    buffer.fetch(np.array([2]))
    buffer.read(2)
    assert spent(kernel) == (80, 0)
    buffer.read(6)
    buffer.fetch(np.array([1, 3]))
    buffer.read(10)
    assert spent(kernel) == (120, 6 + 9)


@PRECISIONS
def test_sums_read_the_rows_held_and_compute_only_the_others(dtype):
    kernel = oracle(dtype=dtype)
    buffer, truth = kernel.row_cache(), whole(kernel)
    coef = np.zeros(40)
    coef[[3, 5, 8]] = [1.0, -2.0, 0.5]
    buffer.fetch(np.array([8, 3, 11]))
    before, wanted = kernel.counter.evaluations, np.array([0, 1, 2, 17])
    assert buffer.expand(coef, wanted) == pytest.approx((truth @ coef)[wanted], abs=1e-6)
    assert spent(kernel) == (before + len(wanted), 2), "one row is missing"
    assert buffer.expand(coef) == pytest.approx(truth @ coef, abs=1e-6)
    assert spent(kernel) == (before + len(wanted) + 40, 4)
    total = np.ones(40)
    buffer.add(total, np.array([11, 3]), np.array([2.0, 1.0]))
    assert total == pytest.approx(1.0 + 2.0 * truth[11] + truth[3], abs=1e-6)
    assert spent(kernel) == (before + len(wanted) + 40, 6)


# -- rows computed again -------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=50)
def test_misses_are_the_rows_computed_again_and_the_memory_that_would_have_held_all(seed, capacity, dtype):
    rng = np.random.default_rng(seed)
    kernel = oracle(20).replace(dtype=dtype)
    buffer = of_rows(kernel, capacity)
    asked, again = set(), 0
    for _ in range(30):
        points = rng.permutation(20)[: rng.integers(1, min(capacity, 4) + 1)]
        missing = {int(point) for point in points if buffer.slot_of[point] < 0}
        again += len(missing & asked)
        asked |= missing
        needed = len(asked) * 20 * kernel.dtype.itemsize if len(asked) > buffer.capacity else 0
        buffer.clock += 1
        buffer.fetch(points)
    assert (kernel.counter.cache_misses, kernel.counter.cache_needed_bytes) == (again, needed)
    if needed:
        roomy = of_rows(oracle(20).replace(dtype=dtype), needed / 20 / kernel.dtype.itemsize)
        for point in sorted(asked) * 2:
            roomy.fetch(np.array([point]))
        assert roomy.kernel.counter.cache_misses == 0


def test_a_row_dropped_before_the_points_changed_is_computed_again():
    kernel = oracle(20)
    buffer = of_rows(kernel, 3)
    for point in range(6):
        buffer.fetch(np.array([point]))
    place = np.arange(10)
    after = buffer.moved(kernel.restrict(place), place, np.array([4, 5]))
    after.fetch(np.array([0]))
    assert kernel.counter.cache_misses == 1
    after.fetch(np.array([8]))
    assert kernel.counter.cache_misses == 1
