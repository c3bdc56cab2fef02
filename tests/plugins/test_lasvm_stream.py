"""LASVM on a stream: the steps of the batch solver, whatever the chunks; bounded memory; every refusal."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from harness_lasvm import LASVM, LASVMStream
from harness_lasvm.stream import StreamModel
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, DataError, KernelOracle, Linear, Poly, Precomputed, UsageError
from tests.plugins.lasvm_problems import noisy, problems
from tests.plugins.naive_lasvm import NaiveLASVM

KERNEL = RBF(gamma=0.3)


class InOrder:
    """Random numbers of a solver that visits the examples as they stand."""

    def permutation(self, n):
        return np.arange(n)


def batch(x, y, C=5.0, kernel=KERNEL, **options):
    """Return the batch solver's last iterate over the examples in their order."""
    problem = CSVC.build(KernelOracle(kernel, x), y, {"C": C})
    *_, last = LASVM(**options).iterates(problem, InOrder())
    return problem, last


def streamed(x, y, sizes, C=5.0, kernel=KERNEL, finish=True, **options):
    stream = LASVMStream(kernel, C, options=LASVM(**options))
    first = 0
    for size in sizes:
        stream.feed(x[first : first + size], y[first : first + size])
        first += size
    assert first == len(y)
    if finish:
        stream.finish()
    return stream


def scores(model, x):
    return model.decision_function(x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [KERNEL, Linear(), Poly(degree=2)], ids=["rbf", "linear", "poly"])
@pytest.mark.parametrize("cache_mb", [None, 0.02])
def test_one_chunk_is_the_batch_solver(dtype, kernel, cache_mb):
    x, y = noisy(500, noise=1.0)
    options = {"dtype": dtype, "cache_mb": cache_mb, "finisher": None}
    problem, last = batch(x, y, kernel=kernel, **options)
    stream = streamed(x, y, [500], kernel=kernel, **options)
    model = stream.model()
    support = np.flatnonzero(last.dual_coef)
    np.testing.assert_array_equal(model.coef, last.dual_coef[support])
    np.testing.assert_array_equal(model.support_vectors, x[support])
    assert model.intercept == last.intercept
    assert stream.kernel_evaluations == problem.kernel.counter.evaluations
    assert (stream.members, stream.delta, stream.visited, stream.seen) == (
        last.info["members"],
        last.info["delta"],
        500,
        500,
    )
    assert (stream.rows_recomputed > 0) == (cache_mb is not None)


def certified(x, y, C, model, kernel=KERNEL):
    """Return the certificate of a stream's model over all the points x, which are all different."""
    coef = np.zeros(len(y))
    for value, point in zip(model.coef, model.support_vectors, strict=True):
        coef[np.flatnonzero((x == point).all(axis=1))] = value
    return CSVC.build(KernelOracle(kernel, x), y, {"C": C}).certify(coef, model.intercept)


def test_every_step_of_small_chunks_is_one_the_paper_allows():
    x, y = noisy(200, noise=1.0)
    twin = NaiveLASVM(KERNEL.block(x, x), y, np.full(200, 5.0))
    stream = LASVMStream(KERNEL, 5.0, options=LASVM(dtype="float64"))
    place = {point.tobytes(): k for k, point in enumerate(x)}
    for k in range(200):
        stream.feed(x[k : k + 1], y[k : k + 1])
        if np.count_nonzero(y[:k] == y[k]) < 5:  # the next seed of its class
            twin.S.add(k)
            twin.g[k] = y[k] - twin.alpha @ twin.K[k]
        model = stream.model()
        alpha = np.zeros(200)
        alpha[[place[point.tobytes()] for point in model.support_vectors]] = model.coef
        outcomes = twin.visit(k)
        misses = [np.abs(outcome.alpha - alpha).max() for outcome in outcomes]
        twin = outcomes[int(np.argmin(misses))]
        assert min(misses) <= 1e-8
        assert stream.members == len(twin.S)
        if len(set(y[:k])) == 2:
            assert model.intercept == pytest.approx(twin.intercept(), abs=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [400, 100, 37])
def test_several_chunks_come_close_to_one(dtype, size):
    # which of two equal gradients is taken is left to rounding, so the steps may differ
    x, y = noisy(1200, noise=1.0)
    problem, last = batch(x, y, dtype=dtype)
    expected = problem.certify(last.dual_coef, last.intercept)
    stream = streamed(x, y, [size] * (1200 // size) + [1200 % size] * (1200 % size > 0), dtype=dtype)
    model = stream.model()
    found = certified(x, y, 5.0, model)
    assert found.dual == pytest.approx(expected.dual, rel=5e-3)
    assert found.primal == pytest.approx(expected.primal, rel=2e-2)
    assert len(model.coef) == pytest.approx(np.count_nonzero(last.dual_coef), rel=0.03)
    errors = [
        np.mean(np.sign(f) != y)
        for f in (model.decision_function(x), problem.kernel.expand(last.dual_coef) + last.intercept)
    ]
    assert errors[0] == pytest.approx(errors[1], abs=0.01)


def test_rows_that_are_held_are_not_computed_again():
    x, y = noisy(3000, noise=1.0)
    counts = {}
    for sizes in ([3000], [100] * 30):
        counts[len(sizes)] = streamed(x, y, sizes, finish=False).kernel_evaluations
    # the diagonal of S in every chunk, and the candidates of a chunk's last block among themselves
    assert counts[30] <= 1.05 * counts[1]


def assert_gradients(stream):
    """g_s = y_s - sum_t alpha_t K_st over the points that the stream holds, and sum alpha = 0."""
    expansion, problem = stream._expansion(), stream._problem
    live = expansion.live()
    members = expansion.members
    examples = members.slots["member"][live]
    points = problem.kernel.points[examples]
    alpha = members.alpha[live]
    expected = problem.targets[examples] - stream.kernel.block(points, points) @ alpha
    np.testing.assert_allclose(members.grad[live], expected, atol=1e-8)
    assert abs(alpha.sum()) <= 1e-12 * np.abs(alpha).sum()


@pytest.mark.parametrize("cache_mb", [None, 0.1])
def test_the_gradients_of_S_go_on(cache_mb):
    x, y = noisy(900, noise=1.2)
    stream = LASVMStream(KERNEL, 3.0, options=LASVM(dtype="float64", cache_mb=cache_mb))
    for first in range(0, 900, 60):
        stream.feed(x[first : first + 60], y[first : first + 60])
        assert_gradients(stream)


def test_the_model_of_any_moment_stays_as_it_was():
    x, y = noisy(600)
    stream = LASVMStream(KERNEL, 5.0)
    models, values = [], []
    for first in range(0, 600, 100):
        stream.feed(x[first : first + 100], y[first : first + 100])
        models.append(stream.model())
        values.append(models[-1].decision_function(x))
    assert len({model.coef.tobytes() for model in models}) == 6
    for model, value in zip(models, values, strict=True):
        np.testing.assert_array_equal(model.decision_function(x), value)
    assert len(models[-1].coef) == stream.support


def test_the_decision_function_is_the_expansion():
    x, y = noisy(200)
    model = streamed(x, y, [100, 100]).model()
    slow = [
        model.intercept
        + sum(c * np.exp(-0.3 * np.sum((s - z) ** 2)) for c, s in zip(model.coef, model.support_vectors))  # noqa: B905
        for z in x[:20]
    ]
    np.testing.assert_allclose(model.decision_function(x[:20]), slow, rtol=1e-10)


@pytest.mark.parametrize("shrinking", [False, True])
def test_chunks_after_finishing_go_on(monkeypatch, shrinking):
    from harness_lasvm import solver

    monkeypatch.setattr(solver, "_PAUSE", 20)
    monkeypatch.setattr(solver, "_WORTHWHILE", 0.001)
    x, y = noisy(1200, noise=1.5)
    options = LASVM(dtype="float64", tau=1e-5, shrinking=shrinking)
    stream = LASVMStream(KERNEL, 20.0, options=options)
    set_aside = 0
    for first in range(0, 1200, 200):
        stream.feed(x[first : first + 200], y[first : first + 200])
        assert_gradients(stream)
        assert stream._expansion().now["sweep"] == 1  # non support vectors leave, as before the finishing step
        stream.finish()
        assert stream.delta <= 1e-5
        aside = sum(len(group.members) for group in stream._expansion().aside)
        assert stream.members == stream._expansion().size + aside >= stream.support
        set_aside += aside
    assert (set_aside > 0) == shrinking
    found = certified(x, y, 20.0, stream.model())
    assert found.feasibility_violation <= 1e-12
    # what a finished model has no use for is dropped, and not seen again
    assert found.dual >= 0.85 * certified(x, y, 20.0, streamed(x, y, [1200], C=20.0).model()).dual


@pytest.mark.parametrize("criterion", ["gradient", "active", "autoactive"])
def test_selection_in_chunks(criterion):
    x, y = noisy(1500, noise=0.0, seed=4)
    x[:, 0] += 0.2 * y
    options = {"selection": criterion, "stop_at_margin": True}
    stream = LASVMStream(KERNEL, 50.0, options=LASVM(**options))
    for first in range(0, 1500, 300):
        stream.feed(x[first : first + 300], y[first : first + 300])
    assert stream.seen == 1500
    assert 50 < stream.visited < 900
    stream.finish()
    assert np.mean(np.sign(stream.model().decision_function(x)) != y) <= 0.02


def test_class_weights_are_factors_of_C():
    x, y = noisy(600, noise=1.0)
    y[np.arange(600) % 4 > 0] = -1.0
    stream = LASVMStream(KERNEL, 0.5, class_weight={1: 4.0})
    for first in range(0, 600, 150):
        stream.feed(x[first : first + 150], y[first : first + 150])
    stream.finish()
    coef = stream.model().coef
    assert coef.max() == 2.0
    assert coef.min() == -0.5


@pytest.mark.parametrize("kernel", [KERNEL, Linear()], ids=["rbf", "linear"])
def test_sparse_chunks_are_dense_ones(kernel):
    x, y = noisy(400, d=6)
    x[np.abs(x) < 0.5] = 0.0
    dense = streamed(x, y, [100] * 4, kernel=kernel, dtype="float64").model()
    sparse = streamed(scipy.sparse.csr_array(x), y, [100] * 4, kernel=kernel, dtype="float64").model()
    assert isinstance(sparse.support_vectors, scipy.sparse.csr_array)
    mixed = LASVMStream(kernel, 5.0, options=LASVM(dtype="float64"))
    mixed.feed(scipy.sparse.coo_array(x[:200]), y[:200])
    mixed.feed(x[200:], y[200:].astype(int))
    mixed.finish()
    np.testing.assert_allclose(dense.decision_function(scipy.sparse.csr_array(x)), dense.decision_function(x))
    duals = [certified(x, y, 5.0, dense, kernel).dual]
    for model in (sparse, mixed.model()):
        as_dense = StreamModel(kernel, model.support_vectors.toarray(), model.coef, model.intercept)
        np.testing.assert_allclose(model.decision_function(x), as_dense.decision_function(x))
        duals.append(certified(x, y, 5.0, as_dense, kernel).dual)
    assert duals == pytest.approx([duals[0]] * 3, rel=2e-2)


@settings(deadline=None, max_examples=40)
@given(problems, st.lists(st.integers(1, 20), min_size=1, max_size=8), st.booleans())
def test_any_chunks_keep_the_model_feasible_and_flip_with_the_labels(drawn, sizes, finishing):
    x, y, C = drawn
    edges = np.unique(np.minimum(np.cumsum(sizes), len(y)))
    parts = np.split(np.arange(len(y)), edges[edges < len(y)])
    models = []
    for labels in (y, -y):
        stream = LASVMStream(RBF(gamma=1.0), C, options=LASVM(dtype="float64", shrinking=False))
        for position, part in enumerate(parts):
            stream.feed(x[part], labels[part])
            if finishing and len(set(y[: part[-1] + 1])) == 2 and position % 2:
                stream.finish()
        models.append(stream.model())
    model, flipped = models
    assert (np.abs(model.coef) <= C).all()
    assert abs(model.coef.sum()) <= 1e-12 * max(1.0, np.abs(model.coef).sum())
    np.testing.assert_array_equal(flipped.coef, -model.coef)
    assert flipped.intercept == -model.intercept


def test_before_the_second_class_the_model_is_a_constant():
    x, y = noisy(200)
    stream = LASVMStream(KERNEL, 5.0)
    stream.feed(x[y > 0], y[y > 0])
    np.testing.assert_array_equal(stream.model().decision_function(x[:3]), np.ones(3))
    assert stream.support == 0
    stream.feed(x[y < 0], y[y < 0])
    assert stream.support > 10


def test_memory_does_not_grow_with_the_stream():
    rng = np.random.default_rng(0)

    def chunk():
        x = rng.normal(size=(500, 3))
        return x, np.where(x[:, 0] + 0.3 * rng.normal(size=500) > 0.0, 1.0, -1.0)

    stream = LASVMStream(KERNEL, 0.05, options=LASVM(cache_mb=4.0))
    stream.feed_from(chunk() for _ in range(40))
    tracemalloc.start()
    stream.feed_from(chunk() for _ in range(20))
    first = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    members = stream.members
    stream.feed_from(chunk() for _ in range(100))
    later = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert later <= 1.3 * first * stream.members / members
    assert stream.seen == 80_000
    # the log of entries: those of S, and of the last chunk
    assert stream._expansion().now["clock"] <= stream.members + 500


def test_the_chunk_is_the_callers_own():
    x, y = noisy(200)
    kept, labels = x.copy(), y.copy()
    stream = LASVMStream(KERNEL, 5.0)
    stream.feed(x[:100], y[:100])
    x[:100], y[:100] = 1e6, 1.0
    stream.feed(x[100:], y[100:])
    again = streamed(kept, labels, [100, 100], finish=False)
    np.testing.assert_array_equal(stream.model().coef, again.model().coef)


# -- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        (np.empty((0, 4)), np.empty(0), "is empty; expected one example or more"),
        (np.zeros((3, 2)), np.ones(3), "came with 2 features each; expected 4"),
        (np.zeros((3, 4)), np.ones(2), r"3 points and labels of shape \(2,\)"),
        (np.zeros((3, 4)), np.array([0, 1, 1]), "has the label 0; expected -1 or"),
        (np.zeros((3, 4)), np.array(["a", "b", "a"]), "has the label 'a'; expected -1 or"),
        (np.zeros((3, 4)), np.array([1.0, np.nan, 1.0]), "has the label nan; expected -1 or"),
        (np.full((3, 4), np.nan), np.ones(3), "holds nan in row 0, column 0"),
        (scipy.sparse.csr_array([[0, 0, 0, 1.0], [0, np.inf, 0, 0]]), np.ones(2), "holds inf in row 1, column 1"),
        (np.zeros(4), np.ones(1), r"of shape \(4,\); expected numbers of shape \(n, d\)"),
        (np.array([["a", "b", "c", "d"]]), np.ones(1), "expected numbers of shape"),
        (np.empty((3, 0)), np.ones(3), "has no features"),
        (np.full((3, 4), 1e200), np.ones(3), r"\|x\|\^2 = inf in row 0 .* overflow float32; scale the features"),
        (scipy.sparse.csr_array([[0, 0, 0, 1.0], [0, 1e25, 0, 0]]), np.ones(2), r"\|x\|\^2 = 1e\+50 in row 1"),
        ([[1.0, 2.0, 3.0, 4.0], [1.0]], np.ones(2), "rows of different lengths"),
    ],
)
def test_a_wrong_chunk_is_refused_and_changes_nothing(x, y, sentence):
    good_x, good_y = noisy(100)
    stream = LASVMStream(KERNEL, 5.0)
    stream.feed(good_x, good_y)
    before = stream.model()
    with pytest.raises(DataError, match=sentence) as caught:
        stream.feed(x, y)
    assert str(caught.value).startswith("the chunk after 100 examples")
    after = stream.model()
    np.testing.assert_array_equal(after.coef, before.coef)
    assert stream.seen == 100
    stream.feed(good_x, good_y)
    assert stream.seen == 200


def test_what_a_stream_cannot_do_is_refused_in_a_sentence():
    x, y = noisy(50)
    with pytest.raises(UsageError, match=r"parameter C=0.0 is not valid"):
        LASVMStream(KERNEL, 0.0)
    with pytest.raises(UsageError, match="precomputed kernel knows the points of one data set"):
        LASVMStream(Precomputed(), 1.0)
    with pytest.raises(UsageError, match=r"lasvm\[epochs=2\]: a stream passes once"):
        LASVMStream(KERNEL, 1.0, options=LASVM(epochs=2))
    with pytest.raises(UsageError, match="a stream passes once"):
        LASVMStream(KERNEL, 1.0, options=LASVM(max_support=10))
    with pytest.raises(UsageError, match="names the class 2"):
        LASVMStream(KERNEL, 1.0, class_weight={2: 1.0})
    with pytest.raises(UsageError, match=r"class_weight of class \+1 is 0"):
        LASVMStream(KERNEL, 1.0, class_weight={1: 0.0})
    with pytest.raises(UsageError, match=r"class_weight of class \+1 is 'a'"):
        LASVMStream(KERNEL, 1.0, class_weight={1: "a"})
    LASVMStream(KERNEL, 1.0, class_weight={1: np.float32(2.0), -1: np.int64(1)})
    with pytest.raises(UsageError, match=r"the kernel of a stream is 'rbf'; expected a kernel such as harness.RBF"):
        LASVMStream("rbf", 1.0)
    with pytest.raises(UsageError, match=r"class_weight is 'balanced'; expected factors of C"):
        LASVMStream(KERNEL, 1.0, class_weight="balanced")
    with pytest.raises(UsageError, match=r"options is \{'cache_mb': 8\}; expected harness_lasvm.LASVM"):
        LASVMStream(KERNEL, 1.0, options={"cache_mb": 8})
    with pytest.raises(UsageError, match=r"seed is -1; expected a whole number, 0 or larger"):
        LASVMStream(KERNEL, 1.0, seed=-1)
    stream = LASVMStream(KERNEL, 1.0)
    with pytest.raises(DataError, match=r"chunks is None; expected an iterable of pairs"):
        stream.feed_from(None)
    for wrong in (1, (x,), (x, np.ones(50), 3)):
        with pytest.raises(DataError, match=r"expected a pair \(x, y\)"):
            stream.feed_from([wrong])
    with pytest.raises(DataError, match=r"the chunk after 0 examples .* overflow float32"):
        LASVMStream(Poly(degree=1000, gamma=100.0), 1.0).feed(x, y)
    for ask in (stream.model, stream.finish, lambda: stream.delta):
        with pytest.raises(DataError, match="nothing was fed to the stream yet"):
            ask()
    with pytest.raises(DataError, match="there was no chunk to feed"):
        stream.feed_from([])
    with pytest.raises(DataError, match=r"all 50 examples fed so far have the label \+1"):
        stream.feed_from([(x, np.ones(50))])
    with pytest.raises(DataError, match="expected both classes"):
        stream.finish()
    stream.feed(x, y)
    stream.finish()
    with pytest.raises(DataError, match="the points came with 3 features each; expected 4"):
        stream.model().decision_function(x[:, :3])
