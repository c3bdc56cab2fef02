"""Newton steps over the free variables: the walk against its slow twin, and what each step keeps and gains."""

import copy

import numpy as np
import pytest
from harness_smo import face
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plugins.naive_face import naive_walk

TAU = 1e-3
KINDS = ("rbf", "wide", "duplicates")


def drawn_face(seed, f, q, kind="rbf", dtype=np.float64, reach=1.0):
    """A face of f free variables under q sums, and the kernel in float64.

    reach : the width of the box over the spread of what a step would like to move
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(f, 3))
    if kind == "duplicates":  # each point about three times, with either sign of the gradient
        x = x[rng.integers(0, max(1, f // 3), f)]
    distance = ((x[:, None] - x[None]) ** 2).sum(-1)
    kernel = np.exp(-(0.01 if kind == "wide" else 2.0) * distance).astype(dtype)
    lower = np.where(rng.random(f) < 0.5, -reach * rng.uniform(0.5, 3.0, f), 0.0)
    upper = np.where(lower < 0.0, 0.0, reach * rng.uniform(0.5, 3.0, f))
    a = lower + rng.uniform(0.1, 0.9, f) * (upper - lower)
    group = rng.integers(0, max(1, q), f)
    sums = (group[:, None] == np.arange(q)).astype(np.float64)
    return face.Face(kernel, a, lower, upper, rng.normal(size=f), sums)


def gained(before, after):
    """What the dual gained from one face to the other, and the gradient there, in float64 from the whole kernel block."""
    change, kernel = after.a - before.a, before.kernel.astype(np.float64)
    return before.gradient @ change - 0.5 * change @ kernel @ change, before.gradient - kernel @ change


def unevenness(gradient, own):
    """By how much the gradient varies over the variables that are free still, in each group; from 0 without a sum."""
    free = (own.a > own.lower) & (own.a < own.upper)
    if not own.sums.shape[1]:
        return np.abs(gradient[free]).max(initial=0.0)
    groups = [gradient[free & (column > 0)] for column in own.sums.T]
    return max((float(np.ptp(one)) for one in groups if len(one)), default=0.0)


def walked(own, ridge):
    """Call the compiled walk as the solver does."""
    f = len(own.a)
    kernel = own.kernel + ridge * np.eye(f)
    sums = own.sums[:, own.sums.any(axis=0)]
    inverse = np.linalg.inv(kernel)
    across = inverse @ sums
    shares = np.linalg.inv(sums.T @ across) if sums.shape[1] else np.empty((0, 0))
    step = inverse @ own.gradient
    step -= across @ (shares @ (sums.T @ step))
    # of the whole inverse one triangle is there
    columns, a = np.where(np.tri(f, k=-1) > 0, np.nan, inverse), own.a.copy()
    way = face.Way(np.arange(f), np.empty((f, f)), np.zeros(f, bool))
    shared = np.ascontiguousarray((across @ shares).T), np.ascontiguousarray(across.T)
    return a, face.walk(columns, way, *shared, step, a, own.lower, own.upper) == face.OPTIMUM, kernel


# -- the walk against its twin ---------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([0, 1, 2]), st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=60)
def test_the_walk_is_the_twins(seed, f, q, reach):
    own = drawn_face(seed, f, q, reach=reach)
    a, complete, kernel = walked(own, 0.1)
    wanted, optimal = naive_walk(kernel, own.sums, own.a, own.lower, own.upper, own.gradient)
    assert complete == optimal
    assert a == pytest.approx(wanted, abs=1e-9)
    assert ((a == own.lower) == (wanted == own.lower)).all(), "at a bound to the last bit, or not"
    assert ((a == own.upper) == (wanted == own.upper)).all()


# -- what descend keeps and gains ------------------------------------------------------------------------------------


def descended(own):
    before = copy.deepcopy(own)
    solved = face.descend(own, TAU)
    gain, gradient = gained(before, own)
    scale = np.abs(own.sums.T @ np.abs(before.a)).max(initial=1.0)
    assert own.sums.T @ own.a == pytest.approx(own.sums.T @ before.a, abs=1e-9 * scale), "sums are kept"
    assert ((own.a >= own.lower) & (own.a <= own.upper)).all()
    return solved, gain, gradient


@given(
    st.integers(0, 10_000), st.integers(1, 150), st.sampled_from([0, 1, 2]), st.sampled_from(KINDS),
    st.sampled_from([0.01, 1.0, 1e3, 1e6]),
)  # fmt: skip
@settings(max_examples=60)
def test_after_a_descent_the_gradient_is_level(seed, f, q, kind, reach):
    own = drawn_face(seed, f, q, kind, reach=reach)
    _, gain, gradient = descended(own)
    size = float(np.abs(own.a).sum())
    assert gain >= -1e-12 * max(1.0, size)
    level = unevenness(gradient, own)
    singular = kind == "duplicates" or (kind == "wide" and q == 2)  # there rounding decides, and SMO goes on
    # what is added to the diagonal, and the rounding of the scores, in units of the gradient
    assert level <= 0.2 * TAU + 1e-8 * size or f <= q or singular


# -- columns of the inverse one by one, and conjugate gradients ------------------------------------------------------


@pytest.mark.parametrize("q", [0, 1, 2])
@pytest.mark.parametrize("reach", [0.3, 30.0])
def test_columns_as_they_are_needed_lead_where_the_whole_inverse_does(monkeypatch, q, reach):
    one, other = drawn_face(4, 200, q, reach=reach), drawn_face(4, 200, q, reach=reach)
    descended(one)
    monkeypatch.setattr(face, "_INVERTED", 0)
    monkeypatch.setattr(face, "_AHEAD", 3)  # a few at a time, and little room for those taken
    assert descended(other)[1] > 0.0
    assert other.a == pytest.approx(one.a, abs=1e-6)


def well_conditioned(seed, f, q, reach):
    own = drawn_face(seed, f, q, reach=reach)
    own.kernel[np.diag_indices(f)] += 1.0
    return own


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("q", [0, 1, 2])
def test_conjugate_gradients_lead_where_a_factor_does(monkeypatch, dtype, q):
    one = well_conditioned(5, 200, q, 100.0)
    one = one._replace(kernel=one.kernel.astype(dtype))
    other = copy.deepcopy(one)
    _, best, _ = descended(one)
    monkeypatch.setattr(face, "_DIRECT", 0)
    monkeypatch.setattr(face, "_newton", None)
    solved, near, _ = descended(other)
    assert solved == 1
    assert ((other.a > other.lower) & (other.a < other.upper)).all(), "no bound is met"
    assert best * (1.0 - 1e-3) <= near <= best * (1.0 + 1e-9)


@given(st.integers(0, 10_000), st.integers(3, 80), st.sampled_from([0, 1, 2]), st.sampled_from([0.03, 0.3, 3.0]))
@settings(max_examples=40)
def test_conjugate_gradients_that_meet_bounds_keep_the_sums_and_gain(seed, f, q, reach):
    own = well_conditioned(seed, f, q, reach)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(face, "_DIRECT", 0)
        _, gain, _ = descended(own)
    assert gain >= 0.0
    width = own.upper - own.lower
    for bound in (own.lower, own.upper):
        close = (np.abs(own.a - bound) < 1e-12 * width) & (own.a != bound)
        assert not close.any(), "one rounding error away from its bound a variable counts as free"
