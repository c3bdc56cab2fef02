"""The compiled rules against their naive twins, and the parts that they are made of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness_fw import MDM, FrankWolfe, Gilbert, NearestPoint, PairwiseFrankWolfe
from harness_fw import rules as names
from harness_fw.hot import least, put_row
from harness_fw.hulls import extreme, face_extreme
from harness_fw.rules import best_in_rectangle, best_in_triangle
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import KernelOracle, Precomputed
from harness.problems import HardMargin, PolytopeDistance, ReducedHull
from tests.plugins.hull_problems import clouds, hard, l2, matrix_of, rng0
from tests.plugins.naive_pairs import STEPS, hulls_of, naive_start

PAIRS = [PairwiseFrankWolfe, MDM, NearestPoint]
EVERY = [FrankWolfe, Gilbert, *PAIRS]

MAKE = {
    "overlapping": lambda: l2(*clouds(0, 40, 60, 3, 1.0)),
    "large chi": lambda: l2(*clouds(1, 30, 30, 2, 1.0), chi=1000.0),
    "separable": lambda: hard(*clouds(6, 50, 40, 5, 5.0)),
    "several blocks": lambda: l2(*clouds(3, 700, 900, 4, 1.0), chi=100.0),
    "one positive": lambda: l2(*clouds(10, 1, 40, 3, 2.0)),
}


def follow(solver_class, problem, u, cap=np.inf, one=False):
    """Return how far each of the first steps, then one here and there, is from the twin's from the same weights."""
    signs, hulls = hulls_of(problem.targets, one)
    signed = matrix_of(problem) * np.outer(signs, signs)
    apart = []
    for k in range(1, 101):
        if k > 25 and k % 20 > 1:
            continue
        *_, last = solver_class(epsilon=1e-9, max_iterations=k).iterates(problem, rng0())
        if last.step < k:
            break
        found = signs * last.dual_coef
        if k <= 25 or k % 20 == 1:
            steps = STEPS[solver_class.name](signed, hulls, u, cap)
            apart.append(min(np.abs(step - found).max() for step in steps))
        u = found
    return apart


@pytest.mark.parametrize("solver_class", PAIRS)
@pytest.mark.parametrize("name", MAKE)
def test_every_iterate_is_that_of_the_twin(solver_class, name):
    problem = MAKE[name]()
    matrix, targets = matrix_of(problem), problem.targets
    problem = HardMargin.build(KernelOracle(Precomputed(), matrix), targets)  # the same values to the bit
    apart = follow(solver_class, problem, naive_start(matrix, targets))
    assert len(apart) > 3
    assert max(apart) < 1e-9


@pytest.mark.parametrize("solver_class", PAIRS)
def test_every_iterate_on_one_hull_is_that_of_the_twin(solver_class):
    matrix = matrix_of(l2(*clouds(0, 40, 60, 3, 1.0)))
    problem = PolytopeDistance.build(KernelOracle(Precomputed(), matrix), np.ones(100))
    apart = follow(solver_class, problem, naive_start(matrix, np.ones(100), one=True), one=True)
    assert len(apart) > 3
    assert max(apart) < 1e-9


@pytest.mark.parametrize("solver_class", [MDM, NearestPoint])
@pytest.mark.parametrize("cap", [0.3, 0.07])
def test_every_iterate_within_caps_is_that_of_the_twin(solver_class, cap):
    matrix = matrix_of(l2(*clouds(0, 40, 60, 3, 1.0)))
    targets = clouds(0, 40, 60, 3, 1.0)[1]
    problem = ReducedHull.build(KernelOracle(Precomputed(), matrix), targets, {"D": cap})
    first = next(iter(solver_class().iterates(problem, rng0())))
    assert problem.feasibility_violation(first.dual_coef) < 1e-15
    apart = follow(solver_class, problem, targets * first.dual_coef, cap)
    assert len(apart) > 3
    assert max(apart) < 1e-9


@pytest.mark.parametrize("solver_class", EVERY)
@pytest.mark.parametrize("cap", [1.0, 0.1])
def test_a_step_never_lengthens_w_and_the_kinds_add_up(solver_class, cap):
    x, y = clouds(1, 30, 30, 2, 1.0)
    problem = ReducedHull.build(KernelOracle(Precomputed(), matrix_of(l2(x, y, chi=100.0))), y, {"D": cap})
    norm = np.inf
    for found in solver_class(epsilon=1e-4, max_iterations=300).iterates(problem, rng0()):
        assert found.info["norm"] <= norm * (1 + 1e-12)
        norm = found.info["norm"]
        assert sum(found.info[kind] for kind in names.KINDS[1:]) == found.step
        assert found.working_set == np.count_nonzero(found.dual_coef)
        if found.step:
            assert found.info[found.info["kind"]] > 0
        assert problem.feasibility_violation(found.dual_coef) < 1e-13
        certificate = problem.certify(found.dual_coef, 0.0)
        assert found.info["epsilon_plus"] == pytest.approx(certificate.epsilon_plus, abs=1e-8)
        if solver_class is not Gilbert:
            assert found.info["epsilon_minus"] == pytest.approx(certificate.epsilon_minus, abs=1e-8)
    own = {FrankWolfe: {"add", "decrease", "drop"}, Gilbert: {"add"}, NearestPoint: set(names.KINDS) - {""}}
    taken = {kind for kind in names.KINDS[1:] if found.info[kind]}
    assert taken <= own.get(solver_class, {"pair", "swap"})


# -- the parts -------------------------------------------------------------------------------------------------------


def shortest_on_a_grid(p, q, aa, bb, ab, points):
    return max(p * a + q * b - 0.5 * (aa * a * a + 2 * ab * a * b + bb * b * b) for a, b in points)


@settings(max_examples=200, deadline=None)
@given(
    *[st.floats(-3, 3) for _ in range(2)],
    *[st.lists(st.floats(-2, 2), min_size=2, max_size=2) for _ in range(2)],
    *[st.floats(0.01, 2) for _ in range(2)],
)
def test_the_best_point_of_a_triangle_and_a_rectangle(p, q, one, other, width, height):
    aa, bb, ab = np.dot(one, one), np.dot(other, other), np.dot(one, other)
    share = np.linspace(0, 1, 21)
    value = lambda a, b: p * a + q * b - 0.5 * (aa * a * a + 2 * ab * a * b + bb * b * b)  # noqa: E731
    a, b = best_in_triangle(p, q, aa, bb, ab)
    assert a >= 0
    assert b >= 0
    assert a + b <= 1 + 1e-15
    grid = [(s, t * (1 - s)) for s in share for t in share]
    assert value(a, b) >= shortest_on_a_grid(p, q, aa, bb, ab, grid) - 1e-9
    a, b = best_in_rectangle(p, q, aa, bb, ab, width, height)
    assert 0 <= a <= width
    assert 0 <= b <= height
    grid = [(width * s, height * t) for s in share for t in share]
    assert value(a, b) >= shortest_on_a_grid(p, q, aa, bb, ab, grid) - 1e-9


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.data())
def test_the_greedy_sum_is_the_least_over_all_vertices(seed, n, data):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, size=n).astype(float)
    cap = data.draw(st.sampled_from([1.0 / k for k in range(1, n + 1)] + [min(1.0, 1.7 / n), 1.0]))
    points, weights = extreme(values, cap)
    assert len(set(points.tolist())) == len(points)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights.max() <= cap + 1e-12
    whole = int(np.floor(1.0 / cap + 1e-9))
    rest = max(0.0, 1.0 - whole * cap)
    totals = []
    for order in itertools.permutations(range(n)):  # every vertex: whole points at the cap, one with the rest
        u = np.zeros(n)
        u[list(order[:whole])] = cap
        if rest > 1e-12:
            u[order[whole]] = rest
        totals.append(values @ u)
    assert weights @ values[points] == pytest.approx(min(totals), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12))
def test_the_face_keeps_what_is_at_the_cap_and_lets_nothing_in(seed, n):
    rng = np.random.default_rng(seed)
    cap = 1.5 / n
    weights = np.minimum(rng.dirichlet(np.full(n, 0.5)), cap)
    free = weights < cap
    weights[free] += (1 - weights.sum()) * (cap - weights[free]) / (cap - weights[free]).sum()
    values = rng.normal(size=n)
    points, chosen = face_extreme(values, weights, cap)
    assert chosen.sum() == pytest.approx(1.0, abs=1e-12)
    assert chosen.max() <= cap * (1 + 1e-12)
    at_cap = np.flatnonzero(weights >= cap)
    assert set(at_cap) <= set(points.tolist())
    np.testing.assert_allclose(chosen[np.isin(points, at_cap)], cap)
    assert chosen @ values[points] <= weights @ values + 1e-12


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 1100), st.integers(0, 10**6))
def test_rows_are_placed_and_searched_as_numpy_does(n, seed):
    rng = np.random.default_rng(seed)
    rows, out = rng.normal(size=(2, n)), rng.normal(size=n)
    order, signs = rng.permutation(n).astype(np.int64), rng.choice([-1.0, 1.0], size=n)
    put_row(out, rows[0], order, signs, -1.0)
    np.testing.assert_array_equal(out, -signs * rows[0][order])
    part = rows[1][:512]
    assert least(part, np.empty(768)) == part.min()


@pytest.mark.parametrize("size", [5, 512])
def test_the_least_score_is_found_at_every_place(size):
    for place, part in enumerate(-np.eye(size)):
        assert least(part, np.empty(768)) == -1.0, place
