"""k + z z' against the matrix written out: every request, every view, and the count of k."""

import numpy as np
import pytest
import scipy.sparse

from harness import RBF, KernelOracle, Linear, Precomputed

X = np.random.default_rng(0).normal(size=(40, 3))
Z = np.random.default_rng(1).normal(size=40)
KERNELS = {
    "linear": (Linear(), X),
    "rbf": (RBF(0.5), X),
    "csr": (RBF(0.5), scipy.sparse.csr_array(X)),
    "precomputed": (Precomputed(), X @ X.T),
}


def both(name, **options):
    kernel, points = KERNELS[name]
    plain = KernelOracle(kernel, points, **options)
    matrix = (X @ X.T) if name != "rbf" and name != "csr" else RBF(0.5).block(X, X)
    return plain.with_product(Z), matrix + Z[:, None] * Z[None, :]


@pytest.mark.parametrize("name", list(KERNELS))
def test_every_request_is_of_the_matrix_written_out(name):
    oracle, matrix = both(name)
    rows, columns, coef = np.array([3, 0, 39]), np.array([5, 6, 39, 2]), np.random.default_rng(2).normal(size=40)
    coef[::3] = 0.0
    assert oracle.row(7) == pytest.approx(matrix[7])
    assert np.array(oracle.rows(rows)) == pytest.approx(matrix[rows])
    assert oracle.block(rows) == pytest.approx(matrix[rows])
    assert oracle.block(rows, columns) == pytest.approx(matrix[np.ix_(rows, columns)])
    assert oracle.diagonal() == pytest.approx(np.diagonal(matrix))
    assert oracle.expand(coef) == pytest.approx(matrix @ coef)
    assert oracle.expand(coef, rows) == pytest.approx(matrix[rows] @ coef)
    places = oracle.columns()
    places.put(np.arange(4), columns)
    out, seen = np.zeros((5, 4)), []
    oracle.fill(rows, out, np.array([4, 0, 2]), places, lambda start, stop: seen.append(out[4, start:stop].copy()))
    assert out[[4, 0, 2]] == pytest.approx(matrix[np.ix_(rows, columns)])
    assert np.concatenate(seen) == pytest.approx(matrix[3, columns])  # added before the callback
    assert (oracle.is_linear, oracle.features()) == (False, None)


@pytest.mark.parametrize("name", list(KERNELS))
def test_views_keep_their_part_of_z(name):
    oracle, matrix = both(name, ridge=0.5)
    matrix = matrix + 0.5 * np.eye(40)
    index, coef = np.array([4, 4, 17, 2, 9]), np.arange(5.0)
    part = oracle.restrict(index)
    expected = matrix[np.ix_(index, index)]
    expected[0, 1] -= 0.5  # a point twice: the ridge is that of the place, not of the point
    expected[1, 0] -= 0.5
    assert part.block(np.arange(5)) == pytest.approx(expected)
    assert part.expand(coef) == pytest.approx(expected @ coef)
    assert part.restrict([2, 0]).row(0) == pytest.approx(expected[2, [2, 0]])
    assert part.astype(np.float32).row(1) == pytest.approx(expected[1], rel=1e-5, abs=1e-5)
    assert part.with_threads(2).row(1) == pytest.approx(expected[1])
    assert part.with_cache(1.0).row(1) == pytest.approx(expected[1])
    assert part.with_ridge(0.0).diagonal() == pytest.approx(np.diagonal(expected) - 0.5)
    assert part.points.shape[0] == 5


def test_new_points_are_those_of_the_plain_kernel():
    oracle, _ = both("rbf")
    new, coef = np.random.default_rng(3).normal(size=(6, 3)), np.random.default_rng(4).normal(size=40)
    assert oracle.expand_new(coef, new) == pytest.approx(RBF(0.5).block(new, X) @ coef)


def test_a_value_counts_once():
    oracle, _ = both("rbf")
    oracle.row(3)
    oracle.row(3)
    oracle.expand(np.ones(40), np.array([1, 2]))
    oracle.restrict([1, 2, 3]).row(0)
    oracle.diagonal()
    assert (oracle.counter.evaluations, oracle.counter.cache_hits) == (40 + 80 + 3 + 40, 1)
    assert oracle.plain.counter is oracle.counter


def test_one_value_of_z_for_each_point():
    with pytest.raises(ValueError, match=r"z has shape \(3,\) for a kernel over 40 points"):
        KernelOracle(Linear(), X).with_product(np.ones(3))
