"""LASVM on a stream: the steps of the batch solver, whatever the chunks; bounded memory; every refusal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from harness_lasvm import LASVM, LASVMStream, finishing
from harness_lasvm import stream as stream_module
from harness_lasvm.stream import StreamModel

from harness import RBF, DataError, KernelOracle, Linear
from tests.plugins.common import certified, noisy
from tests.plugins.lasvm_problems import KERNEL, svc
from tests.plugins.naive_lasvm import NaiveLASVM


class InOrder:
    """Random numbers of a solver that visits the examples as they stand."""

    def permutation(self, n):
        return np.arange(n)


def exact(n, noise):
    """Points whose linear kernel float32 keeps without rounding."""
    x, y = noisy(n, noise=noise)
    return np.round(x * 64) / 64, y


def batch(x, y, C=5.0, kernel=KERNEL, **options):
    """Return the problem and the batch solver's last iterate over the examples in their order."""
    problem = svc(x, y, kernel, C=C)
    *_, last = LASVM(**options).iterates(problem, InOrder())
    return problem, last


def streamed(x, y, chunks, C=5.0, kernel=KERNEL, **options):
    stream = LASVMStream(kernel, C, options=LASVM(**options))
    for part in np.array_split(np.arange(len(y)), chunks):
        stream.feed(x[part], y[part])
    stream.finish()
    return stream


@pytest.mark.parametrize("kernel", [KERNEL, Linear()], ids=["rbf", "linear"])
@pytest.mark.parametrize("cache_mb", [None, 0.02])
def test_one_chunk_is_the_batch_solver(kernel, cache_mb):
    x, y = noisy(500, noise=1.0)
    options = {"cache_mb": cache_mb, "finisher": None}
    problem, last = batch(x, y, kernel=kernel, **options)
    stream = streamed(x, y, 1, kernel=kernel, **options)
    model = stream.model()
    support = np.flatnonzero(last.dual_coef)
    np.testing.assert_array_equal(model.coef, last.dual_coef[support])
    np.testing.assert_array_equal(model.support_vectors, x[support])
    assert (model.intercept, stream.members, stream.delta) == (last.intercept, last.info["members"], last.info["delta"])
    assert (stream.kernel_evaluations, stream.seen) == (problem.kernel.counter.evaluations, 500)


def certificate(x, y, C, model, kernel=KERNEL):
    """Return the certificate of a stream's model over all the points x, which are all different."""
    coef = np.zeros(len(y))
    for value, point in zip(model.coef, model.support_vectors, strict=True):
        coef[np.flatnonzero((x == point).all(axis=1))] = value
    return svc(x, y, kernel, C=C).certify(coef, model.intercept)


def test_every_step_of_small_chunks_is_one_the_paper_allows():
    x, y = exact(200, 1.0)
    twin = NaiveLASVM(x @ x.T, y, np.full(200, 5.0))
    stream = LASVMStream(Linear(), 5.0)
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


@pytest.mark.parametrize("shrinking", [False, True])
def test_chunks_after_finishing_go_on(monkeypatch, shrinking):
    monkeypatch.setattr(finishing, "_PAUSE", 20)
    monkeypatch.setattr(finishing, "_WORTHWHILE", 0.001)
    x, y = exact(600, 1.5)
    stream = LASVMStream(Linear(), 0.2, options=LASVM(tau=1e-5, shrinking=shrinking))
    set_aside = 0
    for first in range(0, 600, 100):
        stream.feed(x[first : first + 100], y[first : first + 100])
        assert_gradients(stream)
        assert stream._expansion().now["sweep"] == 1  # non support vectors leave, as before the finishing step
        stream.finish()
        assert stream.delta <= 1e-5
        aside = sum(len(group.members) for group in stream._expansion().aside)
        assert stream.members == stream._expansion().size + aside >= stream.support
        set_aside += aside
    assert (set_aside > 0) == shrinking
    found, whole = (certificate(x, y, 0.2, s.model(), Linear()) for s in (stream, streamed(x, y, 1, 0.2, Linear())))
    assert found.feasibility_violation <= 1e-12
    assert found.dual >= 0.85 * whole.dual  # what a finished model has no use for is dropped, and not seen again


def test_sparse_chunks_are_dense_ones():
    x, y = noisy(400, d=6)
    x[np.abs(x) < 0.5] = 0.0
    dense, sparse = (streamed(points, y, 4).model() for points in (x, scipy.sparse.csr_array(x)))
    assert isinstance(sparse.support_vectors, scipy.sparse.csr_array)
    mixed = LASVMStream(KERNEL, 5.0)
    mixed.feed(scipy.sparse.coo_array(x[:200]), y[:200])
    mixed.feed(x[200:], y[200:].astype(int))
    mixed.finish()
    np.testing.assert_allclose(dense.decision_function(scipy.sparse.csr_array(x)), dense.decision_function(x))
    duals = [certificate(x, y, 5.0, dense).dual]
    for model in (sparse, mixed.model()):
        as_dense = StreamModel(KERNEL, model.support_vectors.toarray(), model.coef, model.intercept)
        np.testing.assert_allclose(model.decision_function(x), as_dense.decision_function(x))
        duals.append(certificate(x, y, 5.0, as_dense).dual)
    assert duals == pytest.approx([duals[0]] * 3, rel=2e-2)


def checkerboard(x):
    return np.where(np.floor(x).sum(axis=1) % 2 == 0, 1, -1)


def chunk_of(kind, rng, base, chunk):
    """Return the 100 examples of a chunk of a stream that keeps members for long, of one kind or another."""
    k, signs = rng.integers(0, len(base), 100), np.where(rng.random(100) < 0.5, 1, -1)
    if kind == "separable":
        return rng.normal(size=(100, 2)) + np.outer(signs, [1.5, 1.5]), signs
    if kind == "drifting":
        x = rng.normal(size=(100, 2))
        return x, np.where(x @ [np.cos(0.1 * chunk), np.sin(0.1 * chunk)] > 0.0, 1, -1)
    labels = {
        "repeats": checkerboard(base[k]),
        "flipped labels": np.where(k % 7 == 0, -1, 1) * checkerboard(base[k]),
        "opposite labels": signs,
        "one class for long": np.ones(100) if chunk < 20 else checkerboard(base[k]),
    }
    return base[k], labels[kind]


KINDS = "repeats", "flipped labels", "opposite labels", "separable", "one class for long", "drifting"


@pytest.mark.parametrize(("C", "tau"), [pytest.param(1e-3, 1e-3, marks=pytest.mark.slow), (10.0, 0.3), (1e3, 1e-2)])
@pytest.mark.parametrize("kind", KINDS)
def test_members_are_the_support_vectors_and_no_more_than_a_few_chunks(monkeypatch, kind, C, tau):
    monkeypatch.setattr(stream_module, "IDLE", 20)
    monkeypatch.setattr(stream_module, "CANDIDATE_VALUES", 8192)
    rng = np.random.default_rng(3)
    base = rng.uniform(0.0, 4.0, (60, 2))
    stream = LASVMStream(RBF(gamma=2.0), C, options=LASVM(cache_mb=0.25, tau=tau))
    for chunk in range(40):
        stream.feed(*chunk_of(kind, rng, base, chunk))
        assert stream.members <= stream.support + 200
        expansion = stream._expansion()
        rows = max(0.25 * 2**20, 4 * 4 * (stream._problem.n + 32))
        assert expansion.members.pool.nbytes + expansion._memory.nbytes <= rows + 4 * 8192


@pytest.mark.parametrize("tau", [1e-3, 0.1])
def test_copies_of_points_that_a_stream_has_do_not_stay(tau):
    base, kernel = np.random.default_rng(0).uniform(0.0, 4.0, (100, 2)), RBF(gamma=4.0)
    y = checkerboard(base)
    stream = LASVMStream(kernel, 100.0, options=LASVM(tau=tau))
    for _ in range(150):
        stream.feed(base, y)
    assert stream.members <= stream.support + stream_module.IDLE + 100
    stream.finish()
    model = stream.model()
    # copies share the weight of a point, and C bounds none
    found = KernelOracle(kernel, model.support_vectors).expand(model.coef)
    best = certified(*batch(base, y, C=1e6, kernel=kernel, epochs=5, tau=1e-6)).dual
    assert np.abs(model.coef).sum() - 0.5 * model.coef @ found >= (1.0 - 2 * tau) * best


# -- refusals ----------------------------------------------------------------------------------------


WRONG = [
    (np.empty((0, 4)), np.empty(0)), (np.zeros((3, 2)), np.ones(3)), (np.zeros((3, 4)), np.ones(2)),
    (np.zeros((3, 4)), np.array([0, 1, 1])), (np.full((3, 4), np.nan), np.ones(3)), (np.full((3, 4), 1e200), np.ones(3)),
    (scipy.sparse.csr_array([[0, 0, 0, 1.0], [0, np.inf, 0, 0]]), np.ones(2)),
]  # fmt: skip


def test_a_wrong_chunk_is_refused_and_changes_nothing():
    good = noisy(100)
    stream = LASVMStream(KERNEL, 5.0)
    stream.feed(*good)
    before = stream.model()
    for wrong in WRONG:
        with pytest.raises(DataError, match="the chunk after 100 examples"):
            stream.feed(*wrong)
        np.testing.assert_array_equal(stream.model().coef, before.coef)
        assert stream.seen == 100
    stream.feed(*good)
    assert stream.seen == 200


def test_what_it_was_not_fed_it_does_not_know():
    x, y = noisy(50)
    stream = LASVMStream(KERNEL, 1.0)
    for ask in (stream.model, stream.finish, lambda: stream.delta):
        with pytest.raises(DataError, match="nothing was fed"):
            ask()
    stream.feed(x, np.ones(50))
    stream.finish()
    np.testing.assert_array_equal(stream.model().decision_function(x), 1.0)
    stream.feed(x, y)
    stream.finish()
    with pytest.raises(DataError, match="features"):
        stream.model().decision_function(x[:, :3])
