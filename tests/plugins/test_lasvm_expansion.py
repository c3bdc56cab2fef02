"""The expansion of LASVM: its rows, gradients and extremes in mid-run, its partners, and what it foresees."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm import ahead, pool, scans, state
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.lasvm_problems import partway


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
    base = x.slots[state.ROW_OF, s] * x.counts[state.WIDTH]
    own = x.reals[state.GRAD, s], x.reals[state.DIAGONAL, s]
    chosen = scans.partner(x, base, *own, s == x.counts[state.I_MAX])
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
