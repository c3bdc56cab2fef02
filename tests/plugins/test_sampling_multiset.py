"""The multiset of weighted examples: its law against enumeration, its arithmetic against whole numbers written out."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from harness_sampling import multiset
from harness_sampling.multiset import Multiset
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats


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
    weights, rng, draws = raised(exponents), np.random.default_rng(7), 6000
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
    assert weights.exponents().tolist() == exponents
    assert weights.total == sum(2**t for t in exponents)
    assert weights.weight(chosen) == sum(2**t for t, one in zip(exponents, chosen, strict=True) if one)
    r = min(r, weights.total)
    drawn = weights.draw(r, np.random.default_rng(seed))
    assert len(drawn) == r
    assert (np.diff(drawn) >= 0).all()
    for point, count in Counter(drawn.tolist()).items():
        assert count <= 2 ** exponents[point]
    weights.double(chosen)
    assert weights.exponents().tolist() == [t + one for t, one in zip(exponents, chosen, strict=True)]
