"""What is known of the histograms, of their kernel and of the metric."""

import numpy as np
import scipy.sparse
from histograms import Intersection, Topics, precision_of_the_first_tenth


def test_texts_are_shares_and_a_fifth_is_positive() -> None:
    data = Topics(n=100).load()
    np.testing.assert_allclose(np.asarray(data.x_train).sum(axis=1), 1.0)
    assert (data.y_train > 0).mean() == 0.2
    np.testing.assert_array_equal(data.x_test, Topics(n=50).load().x_test)


def test_the_kernel_is_an_inner_product_and_of_a_histogram_with_itself_1() -> None:
    x = np.asarray(Topics(n=40).load().x_train)
    for points in (x, scipy.sparse.csr_array(x)):
        np.testing.assert_allclose(Intersection().diagonal(points), 1.0)
        np.testing.assert_allclose(np.diag(Intersection().block(points, points)), 1.0)
    signed = np.random.default_rng(0).normal(size=(40, 3))
    assert np.linalg.eigvalsh(Intersection().block(signed, signed)).min() > -1e-12
    assert Intersection().block(np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]])) == 0.7


def test_only_the_first_tenth_is_looked_at() -> None:
    targets, scores = np.where(np.arange(40) < 3, 1.0, -1.0), -np.arange(40.0)
    assert precision_of_the_first_tenth(targets, scores) == 3 / 4
    assert precision_of_the_first_tenth(targets, -scores) == 0.0
