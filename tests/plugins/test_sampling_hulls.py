"""k = 1 / D of reduced hulls by Theorem 6.1, and the multiset of weighted examples."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from harness_sampling import multiset, smallest_separating_k
from harness_sampling.hulls import with_doubled_k
from harness_sampling.multiset import Multiset
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness import Linear
from tests.plugins.common import exact
from tests.plugins.hull_problems import clouds, hard, per_class, reduced


def composed_separate(x, y, k_plus, k_minus):
    """Say whether the means of all k_+ positives and all k_- negatives are separable, written out (Theorem 6.1)."""
    means = [
        np.array([x[list(chosen)].mean(axis=0) for chosen in itertools.combinations(np.flatnonzero(y == sign), k)])
        for sign, k in ((1.0, k_plus), (-1.0, k_minus))
    ]
    points = np.concatenate(means)
    found = exact(hard(points, np.repeat([1.0, -1.0], [len(each) for each in means])))
    return (found.dual or 0.0) > 1e-9  # None: w may be 0


# -- the smallest k ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("oracle", ["qp", "smo-block"])
def test_the_smallest_k_is_that_of_the_composed_examples_written_out(seed, oracle):
    x, y = clouds(seed, 7, 6, 2, 1.5)
    written = [k for k in range(1, 7) if composed_separate(x, y, k, k)]
    assert written == list(range(written[0], 7))
    for problem in (hard(x, y), hard(x, -y)):
        assert smallest_separating_k(problem, oracle) == (written[0], written[0])
    assert smallest_separating_k(hard(np.concatenate([x, x]), np.repeat([1.0, -1.0], 13)), oracle) is None


def test_doubling_stops_at_the_examples_of_a_class():
    x, y = clouds(5, 8, 30, 2, 1.0)
    doubled = with_doubled_k(per_class(x, y, 6.0, 3.0))
    assert doubled.caps == pytest.approx((1 / 8, 1 / 6))
    assert with_doubled_k(per_class(x, y, 8.0, 30.0)) is None
    assert with_doubled_k(reduced(x, y, 1 / 5, Linear())).caps == pytest.approx((1 / 8, 1 / 8))
    assert with_doubled_k(reduced(x, y, 1 / 8, Linear())) is None


# -- weighted examples ------------------------------------------------------------------------------


def raised(exponents):
    """Return the multiset in which point i was doubled ``exponents[i]`` times."""
    found = Multiset(len(exponents))
    for level in range(max(exponents)):
        found.double(np.array(exponents) > level)
    return found


def law(exponents, r):
    """Return the probability of each drawn tuple of points, by writing out all copies."""
    copies = [point for point, t in enumerate(exponents) for _ in range(2**t)]
    sets = list(itertools.combinations(range(len(copies)), r))
    counts = Counter(tuple(sorted(copies[c] for c in chosen)) for chosen in sets)
    return {points: count / len(sets) for points, count in counts.items()}


@pytest.mark.parametrize("machine", [1 << 62, 0], ids=["machine integers", "python integers"])
@pytest.mark.parametrize(("exponents", "r"), [((0, 1, 3, 0), 3), ((2, 0, 0, 2, 1), 2), ((1, 1, 0), 4), ((0,) * 6, 5)])
def test_the_draws_follow_the_law_of_all_sets_of_copies(exponents, r, machine, monkeypatch):
    monkeypatch.setattr(multiset, "_MACHINE", machine)
    weights, rng, draws = raised(exponents), np.random.default_rng(7), 2000
    expected = law(exponents, r)
    seen = Counter(tuple(weights.draw(r, rng).tolist()) for _ in range(draws))
    assert set(seen) <= set(expected)
    found = stats.chisquare([seen[p] for p in expected], [draws * share for share in expected.values()])
    assert found.pvalue > 1e-3


@settings(max_examples=60, deadline=None)
@given(
    exponents=st.lists(st.sampled_from([0, 0, 0, 1, 2, 5, 70, 400]), min_size=1, max_size=12),
    members=st.lists(st.booleans(), min_size=12, max_size=12),
    r=st.integers(0, 30),
    seed=st.integers(0, 1000),
)
def test_weights_are_exact_at_any_size(exponents, members, r, seed):
    weights, chosen = raised(exponents), np.array(members[: len(exponents)])
    assert weights.total == sum(2**t for t in exponents)
    assert weights.weight(chosen) == sum(2**t for t, one in zip(exponents, chosen, strict=True) if one)
    r = min(r, weights.total)
    drawn = weights.draw(r, np.random.default_rng(seed))
    assert (len(drawn), drawn.tolist()) == (r, sorted(drawn))
    assert all(count <= 2 ** exponents[point] for point, count in Counter(drawn.tolist()).items())
    weights.double(chosen)
    copies = [weights.weight(point) for point in np.eye(len(exponents), dtype=bool)]
    assert copies == [2 ** (t + one) for t, one in zip(exponents, chosen.tolist(), strict=True)]
