"""What keeps a kernel from being one is found on a few points, and nothing is found where nothing is wrong."""

import numpy as np
import pytest
import scipy.sparse

from harness import RBF, Dataset, Linear, Poly, Precomputed
from harness.kernels import checks
from harness.kernels.checks import check_precomputed, reasons_against
from harness.support.errors import DataError
from tests.adversaries.plugins.wrong_winners import Faulty, gaussian

X = np.random.default_rng(0).normal(size=(200, 6))
FOUND = {
    "negated": "is not positive semi-definite",
    "diagonal": "is not one function: the same value is 2 by diagonal(), and 1 in its row",
    "skewed": "is not symmetric: k(x, z) =",
    "tanh": "is not positive semi-definite",
    "stored": "of CSR points, and",
    "of-the-others": "in a block of 33 x 64 points, and",
    "turned": "gives an array of shape (64, 33) in a block of 33 x 64 points, and not (33, 64)",
    "holed": "gives values that are not finite",
}


@pytest.mark.parametrize("fault", FOUND)
def test_each_fault_is_found_and_told_in_one_clause_first(fault):
    first, *_ = reasons_against(Faulty(fault=fault), X)
    assert first.startswith(f"kernel 'faulty' (fault={fault}, gamma=1) ")
    assert FOUND[fault] in first


@pytest.mark.parametrize(
    "points", [X, X.astype(np.float32), scipy.sparse.csr_array(X), X[:1], X[:3], np.tile(X[:2], (50, 1))]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_is_found_where_nothing_is_wrong(points, seed):
    assert reasons_against(Faulty(), points, seed=seed) == []
    dense = points if isinstance(points, np.ndarray) else points.toarray()
    for dtype in (np.float64, np.float32):
        assert reasons_against(Precomputed(), gaussian(dense, dense).astype(dtype), seed=seed) == []


def test_what_is_proved_costs_nothing_and_is_right(monkeypatch):
    """Computed after all, nothing is found; a subclass is not trusted."""
    kernels = [Linear(), RBF(gamma=3.0), Poly(degree=3, coef0=0.0), Poly(degree=2, coef0=5.0)]
    monkeypatch.setattr(checks, "Engine", None)
    assert [reasons_against(kernel, X) for kernel in kernels] == [[]] * len(kernels)
    monkeypatch.undo()
    monkeypatch.setattr(checks, "_PROVEN", ())
    assert [reasons_against(kernel, X) for kernel in kernels] == [[]] * len(kernels)
    monkeypatch.undo()

    class Negative(Linear):
        def from_products(self, products, sq_x, sq_z):
            products *= -1.0

    assert reasons_against(Negative(), X)


@pytest.mark.parametrize(
    ("change", "told"),
    [(lambda k: k - 0.5 * np.eye(len(k)), "positive semi-definite"), (lambda k: k + np.triu(0.1 * k, 1), "symmetric")],
)
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_given_values_are_looked_at_as_well(change, told, kind):
    values = kind(change(gaussian(X, X)))
    (reason,) = reasons_against(Precomputed(), values)
    assert f"is not {told}" in reason
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    with pytest.raises(DataError, match=f"'d' is not {told}"):
        check_precomputed(Dataset("d", values, y, np.zeros((0, len(X))), np.zeros(0), sha256=""))
