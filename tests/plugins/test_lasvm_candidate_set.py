"""The expansion of LASVM: its rows, gradients and extremes in mid-run, its partners, and what it foresees."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm.compiled import rows, scans, steps
from harness_lasvm.compiled import rows as pool
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.lasvm_problems import assert_feasible, iterates, noisy, partway, precomputed, stated


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


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(1, 12), st.integers(-1, 20))
def test_the_stale_slots_are_those_that_entered_since_and_are_not_known(seed, blocks, since):
    found, _ = partway(seed, blocks)
    x, clock, top = found.members, int(found.now["clock"]), int(found.now["top"])
    members, since = x.slots["member"], min(since, clock)
    known = members[:top].astype(np.int64)
    known[::2] = -1
    entered = range(top) if since < 0 else x.log[since:clock]
    expected = [s for s in entered if s >= 0 and members[s] >= 0 and known[s] != members[s]]
    places, points = np.empty((2, clock + top), np.int64)
    count = rows.stale(x, since, known, places, points)
    assert places[:count].tolist() == expected
    assert points[:count].tolist() == members[expected].tolist()


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


drawn = given(st.integers(0, 999), st.integers(1, 12), st.sampled_from([0.2, 0.05, 0.02]))
TAU = 1e-3


def seen(found):
    """Of an expansion: the members, their slots, gradients, whether alpha may rise, may fall, and whether a row is held."""
    x, slots = found.members, found.live()
    alpha, grad = x.alpha[slots], x.grad[slots]
    rises, falls = alpha < x.slots["upper"][slots], alpha > x.slots["lower"][slots]
    return x.slots["member"][slots], slots, grad, rises, falls, x.slots["row"][slots] >= 0


def best(slots, values):
    """The first slot of the greatest value, and that; -1 and -inf if nothing is eligible."""
    place = int(np.argmax(values))
    return (int(slots[place]), values[place]) if values[place] > -np.inf else (-1, -np.inf)


@settings(deadline=None, max_examples=40)
@drawn
def test_the_pair_at_hand_is_the_extremes_or_nearly(seed, blocks, cache_mb):
    found, _ = partway(seed, blocks, cache_mb=cache_mb)
    x, (_, slots, grad, rises, falls, held) = found.members, seen(found)
    i, j = int(x.now["i_max"][0]), int(x.now["i_min"][0])
    near_i, high = best(slots, np.where(held & rises, grad, -np.inf))
    near_j, low = best(slots, np.where(held & falls, -grad, -np.inf))
    assert steps.held_extremes(x) == (near_i, near_j)
    greatest = x.now["g_max"][0] - x.now["g_min"][0]
    near = high + low > max(TAU, steps.NEARLY * greatest)
    both = {i, j} <= set(slots[held])
    assert steps.pair_at_hand(x, i, j, TAU) == ((near_i, near_j) if near and not both else (i, j))


@settings(deadline=None, max_examples=40)
@drawn
def test_the_partner_at_hand_gains_most(seed, blocks, cache_mb):
    found, K = partway(seed, blocks, cache_mb=cache_mb)
    x = found.members
    found.now["wanted"], found.now["gaps"] = x.now["i_max"][0], 0
    if x.slots["row"][x.now["i_max"][0]] < 0:
        found.supply()
    members, slots, grad, rises, falls, held = seen(found)
    for rising in (True, False):
        own = slots == steps.held_extremes(x)[0 if rising else 1]
        row = x.slots["row"][slots[own]]
        if not own.any() or x.rows["seen"][row] < found.now["clock"]:
            continue  # its row lacks values
        sign = 1.0 if rising else -1.0
        apart = np.where(held & (falls if rising else rises), sign * (grad[own] - grad), 0.0)
        gains = np.maximum(apart, 0.0) ** 2 / np.maximum(2 - 2 * K[members[own][0], members], 1e-6)
        known = int(row[0] * x.now["width"][0]), float(grad[own][0]), 1.0, rising
        chosen = steps.held_partner(x, *known)
        assert chosen == -1 if gains.max() == 0.0 else gains[slots == chosen] == pytest.approx(gains.max(), rel=1e-4)
        best = scans.partner(x, *known)
        assert steps.best_partner(x, *known, False) == best
        assert steps.best_partner(x, *known, True) == (best if best in slots[held] else chosen)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 999), st.integers(1, 12), st.sampled_from([0.2, 0.05, 0.02]), st.integers(1, 9))
def test_the_rows_of_those_that_violate_most_are_computed_together(seed, blocks, cache_mb, together):
    found, _ = partway(seed, blocks, cache_mb=cache_mb)
    x, (_, slots, grad, rises, falls, held) = found.members, seen(found)
    if held.all():
        assert cache_mb == 0.2
        return
    wanted = slots[~held][0]
    middle = 0.5 * (x.now["g_max"][0] + x.now["g_min"][0])
    violation = np.maximum(np.where(rises, grad - middle, -np.inf), np.where(falls, middle - grad, -np.inf))
    violation[held | (slots == wanted)] = -np.inf
    size = max(1, min(together, int(found.now["rows"]) // 8))
    expected = sorted(violation[violation > -np.inf], reverse=True)[: size - 1]
    taken = np.empty((2, size), dtype=np.int64)
    count = rows.take_rows(x, wanted, x.slots["member"][: found.now["top"]].copy(), *taken)
    assert taken[0, 0] == wanted
    assert violation[np.searchsorted(slots, taken[0, 1:count])].tolist() == expected
    assert (x.slots["row"][taken[0, :count]] == taken[1, :count]).all()
    assert (x.rows["slot"][taken[1, :count]] == taken[0, :count]).all()
    assert len(set(taken[1, :count])) == count


@pytest.mark.parametrize("parameters", [{"cache_mb": 0.001}, {"cache_mb": 0.05, "block": 9}])
@pytest.mark.parametrize("epochs", [1, 3])
def test_little_memory_ends_at_tau_and_about_as_good(parameters, epochs):
    problem, K = precomputed(stated(*noisy(400), C=5.0))
    common = {"dtype": "float64", "epochs": epochs, "tau": 1e-4}
    plain, tightly = (iterates(problem, **common, **changed)[-1] for changed in ({}, parameters))
    assert plain.info["rows_recomputed"] == 0
    assert tightly.info["rows_recomputed"] > 0
    assert tightly.info["delta"] <= 1e-4
    assert_feasible(problem, tightly.dual_coef)
    inside = np.flatnonzero(tightly.dual_coef)
    grad = problem.targets - K @ tightly.dual_coef
    rises, falls = tightly.dual_coef < problem.upper_bounds, tightly.dual_coef > problem.lower_bounds
    of_support = np.isin(np.arange(problem.n), inside)
    assert grad[rises & of_support].max() - grad[falls & of_support].min() <= 1e-4 + 1e-10
    objectives = [problem.certify(found.dual_coef, found.intercept).dual for found in (plain, tightly)]
    assert objectives[1] == pytest.approx(objectives[0], rel=2e-2 if epochs == 1 else 1e-3)
