"""Block SMO over whole kernel matrices: where its descents end, and matrices that are carried over."""

import numpy as np
import pytest
from harness_smo import whole_loops
from harness_smo.block_level import Settings, WholeLevel
from harness_smo.block_passes import Variables
from harness_smo.block_state import BlockState
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC
from tests.plugins.common import build, matrix_of, overlapping
from tests.plugins.naive_block import naive_directions

KINDS = ("rbf", "narrow", "duplicates")


def drawn_whole(seed, m, copies, groups, kind="rbf", dtype=np.float64, cost=3.0):
    """Points with their whole kernel matrix, some variables at their bounds, and scores to match."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, 3))
    if kind == "duplicates":
        x = x[rng.integers(0, max(1, m // 3), m)]
    kernel = np.exp(-(5.0 if kind == "narrow" else 0.3) * ((x[:, None] - x[None]) ** 2).sum(-1)).astype(dtype)
    y = np.where(rng.random(copies * m) < 0.5, 1.0, -1.0)
    lower, upper = np.minimum(0.0, cost * y), np.maximum(0.0, cost * y)
    a = lower + rng.choice([0.0, 0.4, 1.0], copies * m) * (upper - lower)
    group = rng.integers(0, 2, copies * m).astype(np.int8) if groups == 2 else np.zeros(copies * m, np.int8)
    scores = kernel.astype(np.float64) @ a.reshape(copies, m).sum(axis=0)
    return whole_loops.Whole(kernel, np.diagonal(kernel).copy(), scores, Variables(a, lower, upper, y, group))


def turn(x):
    room = np.empty(len(x.variables.a) ** 2 // 2, x.matrix.dtype)
    return whole_loops.Turn(np.zeros(1, np.bool_), np.zeros(3), room, np.zeros((2, 2)))


def gradient_of(x):
    m, copies = len(x.scores), len(x.variables.a) // len(x.scores)
    scores = x.matrix.astype(np.float64) @ x.variables.a.reshape(copies, m).sum(axis=0)
    return x.variables.linear - np.tile(scores, copies)


def violation(x, groups):
    a, lower, upper, linear, group = x.variables
    scores = (linear - gradient_of(x))[: len(x.scores)]
    ends = naive_directions(a, lower, upper, linear, scores, group, groups)[2]
    return max(ends[0][0], -ends[0][1]) if groups == 0 else max(up - low for up, low in ends)


def descended(x, groups, tau):
    """Descend to the end, and check what must hold of any descent."""
    a, lower, upper, linear, group = x.variables
    before, own = a.copy(), group[None] == np.arange(groups)[:, None]
    outcome, steps, rounds = whole_loops.descend_whole(x, turn(x), (groups,) if groups else (), tau, np.inf, 100_000)
    assert ((a >= lower) & (a <= upper)).all()
    assert own @ a == pytest.approx(own @ before, abs=1e-12 * len(a) * np.abs(a).max())
    scores = (linear - gradient_of(x))[: len(x.scores)]
    assert x.scores == pytest.approx(scores, abs=1e-10 * (1.0 + np.abs(a).sum()))
    return outcome, steps, rounds


DRAWN = given(
    st.integers(0, 10_000), st.integers(2, 60) | st.just(700), st.sampled_from([1, 2]), st.sampled_from([0, 1, 2]),
    st.sampled_from(KINDS), st.sampled_from([0.1, 3.0, 100.0]), st.sampled_from([np.float32, np.float64]),
)  # fmt: skip


@DRAWN
@settings(max_examples=60)
def test_a_descent_ends_where_no_variable_violates(seed, m, copies, groups, kind, cost, dtype):
    many = m == 700  # descended in parts, from 0
    if many:
        seed, m, cost = 1, 700 // copies, 3.0
    x = drawn_whole(seed, m, copies, groups, kind, dtype, cost)
    if many:
        x.variables.a[:], x.scores[:] = 0.0, 0.0
    outcome, _, rounds = descended(x, groups, 1e-3 if many else 1e-2)
    # rounding of float32 values may decide earlier
    assert outcome == whole_loops.DONE or (dtype is np.float32 and outcome == whole_loops.STUCK)
    assert rounds > 1 or not many
    noise = 1e-6 * np.abs(x.variables.a).sum() if dtype is np.float32 else 1e-9
    assert violation(x, groups) <= 1.001 * (1e-3 if many else 1e-2) + noise


def test_a_descent_comes_back_when_a_face_costs_less():
    x = drawn_whole(3, 300, 1, 1, "rbf", cost=1e6)
    kept = turn(x)
    outcome, steps, rounds = whole_loops.descend_whole(x, kept, (1,), 1e-6, 0.0, 100_000)
    assert (outcome, rounds) == (whole_loops.DEAR, 1)
    assert kept.spent[0] == 300.0 * steps > 0.0
    assert whole_loops.descend_whole(x, kept, (1,), 1e-6, 0.0, 100_000) == (whole_loops.DEAR, 0, 0), "a face is due"
    kept.spent[0] = 0.0
    assert whole_loops.descend_whole(x, kept, (1,), 1e-6, np.inf, 1)[1] == 1, "it goes on"


# -- matrices that are carried over ----------------------------------------------------------------------------------


def state_over(problem, cache_mb, dtype=np.float64):
    form = problem.dual_form()
    return BlockState(problem, form, form.start.copy(), problem.kernel.replace(dtype=dtype), Settings(cache_mb))


def test_the_matrix_goes_along_when_as_many_points_come_as_leave():
    problem = build(CSVC, *overlapping(0, 500, d=3), C=10.0)
    state, truth = state_over(problem, 500 * 500 * 4 / 2**20, np.float32), matrix_of(problem)
    state.level._prepare()
    rng, counter = np.random.default_rng(1), problem.kernel.counter
    for size in (300, 299, 40, 180, 470, 469, 469, 2, 260, 260):  # shrinks, grows, both at once, and neither
        before, counted = state.level.where, counter.evaluations
        where = np.sort(rng.choice(500, size, replace=False))
        state.replace(where)
        assert state.level.has_matrix == (size == len(before))
        if not state.level.has_matrix:
            state.level._prepare()
        assert isinstance(state.level, WholeLevel)
        assert (state.level.matrix.dtype, sorted(state.level.where.tolist())) == (np.float32, where.tolist())
        matrix = truth[np.ix_(state.level.where, state.level.where)]
        np.testing.assert_allclose(state.level.matrix, matrix, rtol=0, atol=1e-5)
        stay = len(np.intersect1d(before, where)) if size == len(before) else 0
        assert counter.evaluations - counted <= size**2 - stay**2, "what was there is not computed again"


def test_how_far_w_moves_is_no_less_than_it_does_where_float32_rows_are_the_same():
    # parked points were not looked at again: a certified gap of 0.0017 counted as 1e-3 on a drawn problem of near duplicates
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=(300, 3)), 2, axis=0) + 1e-4 * rng.normal(size=(600, 3))
    problem = build(CSVC, x, np.repeat([1.0, -1.0], 300), C=1e4)
    state, coef = state_over(problem, 10.0, np.float32), np.zeros(600)
    coef[:300:2], coef[1:300:2] = 100.0, -100.0
    state.a[:] = coef
    state.level.scores[:] = problem.kernel.replace(dtype=np.float32).expand(coef)
    truth = np.sqrt(coef @ problem.kernel.expand(coef))
    assert truth <= state.moved() <= 100.0 * truth


@pytest.mark.parametrize("support", [3, 30])
def test_scores_computed_afresh_are_those_of_the_coefficients_and_keep_the_rows_of_many_only(support):
    problem = build(CSVC, *overlapping(0, 40), C=1.0)
    level = state_over(problem, 1.0).level
    coef = np.where(np.arange(40) < support, np.linspace(-1.0, 1.0, 40), 0.0)
    before = problem.kernel.counter.evaluations
    level.compute_scores(coef)
    np.testing.assert_allclose(level.scores, matrix_of(problem) @ coef, rtol=1e-12, atol=1e-12)
    assert np.array_equal(level.missing, (coef == 0.0) | (support == 3))
    assert (level.cache.fetched, problem.kernel.counter.evaluations - before) == (support, 40 * support)
