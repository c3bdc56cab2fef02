"""The compiled rules against their naive twins, and the parts that they are made of."""

from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest
from harness_fw import MDM, NearestPoint, PairwiseFrankWolfe
from harness_fw.hot import least
from harness_fw.hulls import extreme, face_extreme
from harness_fw.rules import best_in_rectangle, best_in_triangle
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from harness import Precomputed
from tests.plugins.common import matrix_of
from tests.plugins.hull_problems import clouds, hard, l2, one_hull, reduced, rng0
from tests.plugins.naive_pairs import STEPS, hulls_of, naive_start

PAIRS = [PairwiseFrankWolfe, MDM, NearestPoint]

MAKE = {
    "overlapping": lambda: l2(*clouds(0, 40, 60, 3, 1.0)),
    "large chi": lambda: l2(*clouds(1, 30, 30, 2, 1.0), chi=1000.0),
    "separable": lambda: hard(*clouds(6, 50, 40, 5, 5.0)),
    "several blocks": lambda: l2(*clouds(3, 700, 900, 4, 1.0), chi=100.0),
    "one positive": lambda: l2(*clouds(10, 1, 40, 3, 2.0)),
}


def assert_follows(solver_class, problem, u, cap=np.inf, one=False):
    """Assert that each of the first steps, then one here and there, is the twin's from the same weights."""
    signs, hulls = hulls_of(problem.targets, one)
    signed = matrix_of(problem) * np.outer(signs, signs)
    apart = []
    iterates = solver_class(epsilon=1e-9, stride=1).iterates(problem, rng0())
    for last in islice(iterates, 101):
        found = signs * last.dual_coef
        if last.step and (last.step <= 25 or last.step % 20 == 1):
            steps = STEPS[solver_class.name](signed, hulls, u, cap)
            apart.append(min(np.abs(step - found).max() for step in steps))
        u = found
    assert len(apart) > 3
    assert max(apart) < 1e-9


@pytest.mark.parametrize("solver_class", PAIRS)
@pytest.mark.parametrize("name", MAKE)
def test_every_iterate_is_that_of_the_twin(solver_class, name):
    problem = MAKE[name]()
    matrix, targets = matrix_of(problem), problem.targets
    assert_follows(solver_class, hard(matrix, targets, Precomputed()), naive_start(matrix, targets))


@pytest.mark.parametrize(("solver_class", "cap"), [*((each, None) for each in PAIRS), *product(PAIRS[1:], [0.3, 0.07])])
def test_every_iterate_on_one_hull_or_within_caps_is_that_of_the_twin(solver_class, cap):
    stated = l2(*clouds(0, 40, 60, 3, 1.0))
    matrix, targets = matrix_of(stated), stated.targets
    if cap is None:
        start = naive_start(matrix, np.ones(100), one=True)
        assert_follows(solver_class, one_hull(matrix, Precomputed()), start, one=True)
        return
    problem = reduced(matrix, targets, cap, Precomputed())
    first = next(iter(solver_class().iterates(problem, rng0())))
    assert problem.feasibility_violation(first.dual_coef) < 1e-15
    assert_follows(solver_class, problem, targets * first.dual_coef, cap)


# -- the parts -------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    *[st.floats(-3, 3) for _ in range(2)],
    *[st.lists(st.floats(-2, 2), min_size=2, max_size=2) for _ in range(2)],
    *[st.floats(0.01, 2) for _ in range(2)],
)
def test_the_best_point_of_a_triangle_and_a_rectangle(p, q, one, other, width, height):
    aa, bb, ab = np.dot(one, one), np.dot(other, other), np.dot(one, other)
    s, t = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21))

    def value(a, b):
        return p * a + q * b - 0.5 * (aa * a * a + 2 * ab * a * b + bb * b * b)

    a, b = best_in_triangle(p, q, aa, bb, ab)
    assert min(a, b) >= 0
    assert a + b <= 1 + 1e-15
    assert value(a, b) >= value(s, t * (1 - s)).max() - 1e-9
    a, b = best_in_rectangle(p, q, aa, bb, ab, width, height)
    assert 0 <= a <= width
    assert 0 <= b <= height
    assert value(a, b) >= value(width * s, height * t).max() - 1e-9


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(1.0, 12.0))
def test_the_best_vertex_of_a_reduced_hull_and_of_a_face_are_those_of_a_linear_program(seed, n, room):
    rng, cap = np.random.default_rng(seed), min(1.0, room / n)
    values = rng.integers(-3, 4, size=n).astype(float)

    def least(values, bounds):
        return linprog(values, A_eq=np.ones((1, len(values))), b_eq=[1.0], bounds=bounds).fun

    points, chosen = extreme(values, cap)
    assert chosen @ values[points] == pytest.approx(least(values, [(0, cap)] * n), abs=1e-9)
    weights = np.zeros(n)
    for other in rng.normal(size=(2, n)):  # a point of some face
        at, share = extreme(other, cap)
        weights[at] += 0.5 * share
    used = weights > 0
    values, weights = values[used], weights[used]
    points, share = face_extreme(values, weights, cap)
    face = [(cap if weight >= cap else 0, cap) for weight in weights]
    assert share @ values[points] == pytest.approx(least(values, face), abs=1e-9)
    for found in (chosen, share):
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert found.max() <= cap * (1 + 1e-12)
    np.testing.assert_allclose(share[np.isin(points, np.flatnonzero(weights >= cap))], cap)


@pytest.mark.parametrize("size", [5, 512])
def test_the_least_score_is_found_at_every_place(size):
    for place, part in enumerate(-np.eye(size)):
        assert least(part, np.empty(768)) == -1.0, place
