"""The expansion of LASVM: its rows, gradients and extremes in mid-run, its partners, and what it foresees."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm.compiled import rows as pool
from harness_lasvm.compiled import scans, state, steps
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
    members = x.slots["member"][slots]
    alpha, grad = x.alpha, x.grad
    np.testing.assert_allclose(
        grad[slots], found.targets[members] - K[np.ix_(members, members)] @ alpha[slots], atol=1e-10
    )
    able = slots[alpha[slots] < x.slots["upper"][slots]]
    assert x.now["i_max"][0] == able[np.argmax(grad[able])]
    able = slots[alpha[slots] > x.slots["lower"][slots]]
    assert x.now["i_min"][0] == able[np.argmin(grad[able])]
    pool.catch_up(x)
    width = found.now["width"]
    complete = 0
    for s, k in zip(slots, members, strict=True):
        row = x.slots["row"][s]
        if row >= 0 and x.rows["seen"][row] == found.now["clock"]:
            complete += 1
            np.testing.assert_array_equal(x.pool[row * width + slots], K[k, members])
    assert complete == len(slots) if cache_mb == 100.0 else complete >= 1


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 12), st.sampled_from(["float32", "float64"]))
def test_rows_that_catch_up_hold_what_each_would_find_for_itself(seed, blocks, dtype):
    found, K = partway(seed, blocks, dtype=dtype)
    x, now, slots = found.members, found.now, found.live()
    pool.catch_up(x)
    members, width, log = x.slots["member"][slots], int(now["width"]), x.log[: now["clock"]]
    rows = x.slots["row"][slots]
    rng, now["caught"] = np.random.default_rng(seed), len(log)
    for s, row in zip(slots, rows, strict=True):  # as if it had seen only some of those who entered after it
        seen = rng.integers(np.flatnonzero(log == s)[-1] + 1, len(log) + 1)
        unseen = log[seen:]
        x.pool[row * width + unseen[unseen >= 0]] = np.nan
        x.rows["seen"][row] = seen
        now["caught"] = min(now["caught"], seen)
    pool.catch_up(x)
    assert (x.rows["seen"][rows] == len(log)).all()
    for row, k in zip(rows, members, strict=True):
        np.testing.assert_array_equal(x.pool[row * width + slots], K[k, members].astype(dtype))


def most_violating_pairs(K, y, alpha, lower, upper, tau):
    """How many steps along the most violating pair it takes until none violates by more than tau."""
    alpha, steps = alpha.copy(), 0
    g = y - K @ alpha
    while True:
        up, down = np.where(alpha < upper, g, -np.inf), np.where(alpha > lower, g, np.inf)
        i, j = up.argmax(), down.argmin()
        if up[i] - down[j] <= tau:
            return steps
        step = min((up[i] - down[j]) / (K[i, i] + K[j, j] - 2 * K[i, j]), upper[i] - alpha[i], alpha[j] - lower[j])
        alpha[i] += step
        alpha[j] -= step
        g -= step * (K[i] - K[j])
        steps += 1


def test_partners_are_looked_for_where_most_violating_pairs_take_long():
    found, K = partway(2, 30, C=1000.0)
    x, now, slots = found.members, found.now, found.live()
    members, within = x.slots["member"][slots], x.slots[slots]
    known = K[np.ix_(members, members)], found.targets[members], x.alpha[slots], within["lower"], within["upper"]
    plain, before = most_violating_pairs(*known, 1e-2), int(now["operations"])
    now["pause"], now["sweep"] = 10**9, 0
    assert steps.finish(x, 1e-2) == state.DONE
    assert 1000 < int(now["operations"]) - before < 0.5 * plain


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 30))
def test_what_was_gained_is_the_dual(seed, blocks):
    found, K = partway(seed, blocks)
    coef = found.write()
    dual = found.targets @ coef - 0.5 * coef @ K @ coef
    assert found.now["gained"] == pytest.approx(dual, rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 12), st.booleans())
def test_the_partner_is_the_one_that_gains_most(seed, blocks, rising):
    found, K = partway(seed, blocks)
    x, slots = found.members, found.live()
    members = x.slots["member"][slots]
    s = int(x.now["i_max"][0] if rising else x.now["i_min"][0])
    pool.catch_up(x)
    k = x.slots["member"][s]
    able = x.alpha[slots] > x.slots["lower"][slots]
    if not rising:
        able = x.alpha[slots] < x.slots["upper"][slots]
    apart = (x.grad[s] - x.grad[slots]) * (1 if rising else -1)
    gains = np.where(able & (apart > 0), apart**2 / np.maximum(2 - 2 * K[k, members], 1e-6), 0.0)
    base = x.slots["row"][s] * x.now["width"][0]
    own = x.grad[s], x.diagonal[s]
    chosen = scans.partner(x, base, *own, s == x.now["i_max"][0])
    assert gains[slots == chosen] == pytest.approx(gains.max(), rel=1e-4)


def computed(work, K, fresh):
    """The candidates whose values with the others are there, which are those of the kernel."""
    there = np.flatnonzero(~np.isnan(np.diag(work.among)))
    np.testing.assert_array_equal(work.among[:, there], K[np.ix_(fresh, fresh[there])])
    return there.tolist()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.integers(1, 12), st.sampled_from([0.0, 0.3, 10.0]))
def test_who_is_near_is_foreseen_and_the_others_follow_when_they_enter(seed, blocks, near):
    found, K = partway(seed, blocks)
    x, live = found.members, found.live()
    members, alpha = x.slots["member"][live], x.alpha[live]
    candidates = np.random.default_rng(seed).permutation(300)[:40]
    found._foresight.near = near
    work = found.fetch(candidates)
    expected = [k for k in candidates if k not in members]
    assert work.examples.tolist() == candidates.tolist()
    assert work.places.tolist() == [expected.index(k) if k in expected else -1 for k in candidates]
    fresh, slots = np.array(expected, dtype=int), found.live()
    np.testing.assert_array_equal(work.values[:, slots], K[np.ix_(fresh, x.slots["member"][slots])])
    grads = found.targets[fresh] - K[np.ix_(fresh, members)] @ alpha
    low, high = sorted((x.now["g_min"][0], x.now["g_max"][0]))
    apart = np.where(found.targets[fresh] > 0, low - grads, grads - high)
    few = len(fresh) <= 0.03 * found.size
    there = computed(work, K, fresh)
    assert few or set(there) ^ set(np.flatnonzero(apart < near)) <= set(np.flatnonzero(np.abs(apart - near) < 1e-9))
    for place in range(len(fresh)):
        if place not in there:
            found.now["wanted"] = -1 - place
            found.supply()
            near_too = [q for q in range(place, len(fresh)) if apart[q] <= apart[place] + 1e-9]
            assert set(there) | {place} <= set(computed(work, K, fresh)) <= set(there) | set(near_too)
            there = computed(work, K, fresh)
            assert found._foresight.near >= apart[place] - 1e-9
    assert there == list(range(len(fresh)))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.integers(1, 30))
def test_the_columns_follow_the_slots(seed, blocks):
    found, _ = partway(seed, blocks)
    x, top = found.members, int(found.now["top"])
    members = x.slots["member"][:top]
    found._point()
    filled = members >= 0
    np.testing.assert_array_equal(found._columns.index[filled], members[filled])
    assert len(found._columns) == top
