"""Models that are no dual solution, where they are handed over: what is kept of them, and what is refused."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from harness import RBF, CosineFeatures, InvalidModel, KernelOracle, Linear, Precomputed
from harness.kernels.engine import Engine
from harness.measure import scored
from harness.measure.scored import FreeModel, Weights
from harness.run.channel import frame
from harness.run.messages import FitResult, Model
from harness.run.record import Claims
from tests.adversaries.test_messages import SECRET, read_all

RNG = np.random.default_rng(4)
X, OWN, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(6, 3))
COEF = RNG.normal(size=17)


def sent(model):
    """Return the expansion as the certifier gets it."""
    (message,) = read_all(frame(FitResult(Claims(), Model.of(model).packed()), SECRET))
    return Model.unpacked(message.model).opened(KernelOracle(RBF(), X))


@given(zeros=st.sets(st.integers(0, 16)), sparse=st.booleans(), single=st.booleans(), training=st.booleans())
def test_scores_are_the_definition_and_survive_the_way_between_processes(zeros, sparse, single, training):
    coef = COEF.copy()
    coef[list(zeros)] = 0.0
    own = OWN.astype(np.float32 if single else np.float64)
    kernel = Engine(RBF(gamma=0.5), scipy.sparse.csr_array(X) if sparse else X, ridge=0.25)
    given_points = scipy.sparse.csr_array(own) if training else own  # in another storage than the data, too
    model = FreeModel.checked(kernel, coef, given_points, 0.5)
    expected = RBF(gamma=0.5).block(NEW, np.concatenate([X, own.astype(np.float64)])) @ coef + 0.5
    np.testing.assert_allclose(model.scores(kernel, NEW), expected, rtol=1e-6, atol=1e-6)
    assert model.support == np.count_nonzero(coef)
    assert model.own is None or model.own.shape[0] == np.count_nonzero(coef[12:])
    arrived = sent(model)
    assert arrived.free_coef.tobytes() == model.free_coef.tobytes()
    np.testing.assert_allclose(arrived.scores(kernel, NEW), model.scores(kernel, NEW), rtol=1e-12, atol=1e-12)


def test_values_that_were_given_take_an_expansion_without_points_of_its_own():
    kernel = KernelOracle(Precomputed(), X @ X.T)
    model = FreeModel.checked(kernel, COEF[:12], None, 0.0)
    np.testing.assert_allclose(model.scores(kernel, NEW @ X.T), NEW @ X.T @ COEF[:12])
    with pytest.raises(InvalidModel, match=r"extra_points: .* kernel 'precomputed'"):
        FreeModel.checked(kernel, COEF, OWN, 0.0)


@pytest.mark.parametrize(
    ("coef", "own", "intercept", "reason"),
    [
        (COEF[:16], OWN, 0.0, r"shape \(17,\), one for each of 12 .* shape \(16,\) and type float64"),
        (COEF, None, 0.0, r"real numbers of shape \(12,\), one for each of 12 training points and 0 extra_points"),
        (COEF[:, None], OWN, 0.0, r"shape \(17, 1\)"),
        (COEF.astype(complex), OWN, 0.0, "type complex128"),
        (np.where(COEF[15] == COEF, np.inf, COEF), OWN, 0.0, "free_coef must be finite numbers; number 15 is inf"),
        (COEF, OWN, np.nan, "the intercept is nan"),
        (COEF, OWN, "0", "the intercept is 0; it must be a finite number"),
        (COEF, OWN[:, :2], 0.0, r"extra_points: .* shape \(0, 2\); a training point has 3 features"),
        (COEF, np.where(OWN[4, 2] == OWN, np.nan, OWN), 0.0, r"extra_points: .* hold nan"),
        (COEF, OWN.astype(object), 0.0, "extra_points: .* of type object"),
        (np.broadcast_to(1.0, 12 + 10**7), np.broadcast_to(0.0, (10**7, 3)), 0.0, "of 10,000,000 .* take 76.3 MB .* may take 1.0 MB"),
        (np.ones(12 + 10**5), np.zeros((10**5, 3)), 0.0, "the 100,000 extra_points .* take 2.3 MB"),
        (np.ones(12 + 10**5), scipy.sparse.csr_array((10**5, 3)), 0.0, "the 100,000 extra_points .* take 2.3 MB"),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(coef, own, intercept, reason):
    with pytest.raises(InvalidModel, match=reason):
        FreeModel.checked(KernelOracle(RBF(), X), coef, own, intercept)


def test_many_points_of_which_few_have_a_coefficient_are_a_small_model():
    coef = np.zeros(12 + 10**5)
    coef[[0, 20]] = 1.0
    model = FreeModel.checked(KernelOracle(RBF(), X), coef, np.ones((10**5, 3)), 0.0)
    assert model.own.shape == (1, 3)


@pytest.mark.parametrize("indices", [np.array([0, 3]), np.array([0, -1])])
def test_a_csr_array_whose_columns_are_not_there_is_refused_before_it_is_read(indices):
    points = (np.ones(2), indices, np.array([0, 1, 2]))
    model = Model(0.0, np.arange(12), free_coef=np.ones(12), extra_coef=np.ones(2), extra_points=points)
    with pytest.raises(InvalidModel, match="are no CSR array"):
        Model.unpacked(model.packed()).opened(KernelOracle(RBF(), X))


def test_weights_are_scored_and_refused_as_before():
    kernel = KernelOracle(Linear(), X)
    model = Weights.checked(kernel, np.array([1.0, 2.0, 3.0]), 0.5)
    np.testing.assert_allclose(model.scores(kernel, NEW), NEW @ [1.0, 2.0, 3.0] + 0.5)
    assert model.support is None
    with pytest.raises(InvalidModel, match=r"they have shape \(2,\)"):
        Weights.checked(kernel, np.ones(2), 0.0)


DIRECTIONS, OFFSETS = RNG.normal(size=(3, 7)), RNG.uniform(size=7)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_the_solvers_own_are_evaluated_by_their_definition_after_the_way(sparse, monkeypatch):
    monkeypatch.setattr(scored, "pieces", lambda length, width: [slice(0, 2), slice(2, length)])
    kernel, weights = KernelOracle(RBF(), scipy.sparse.csr_array(X) if sparse else X), RNG.normal(size=7)
    model = Weights.checked(kernel, weights, 0.5, CosineFeatures(DIRECTIONS, OFFSETS))
    (message,) = read_all(frame(FitResult(Claims(), Model.of(model).packed()), SECRET))
    arrived = Model.unpacked(message.model)
    again = arrived.opened(kernel)
    expected = np.sqrt(2.0 / 7.0) * np.cos(NEW @ DIRECTIONS + OFFSETS) @ weights + 0.5
    for points in (NEW, scipy.sparse.csr_array(NEW)):
        np.testing.assert_allclose(again.scores(kernel, points), expected, rtol=1e-12)
    with pytest.raises(InvalidModel, match=r"directions of features .* shape \(4, 7\)"):
        arrived.opened(KernelOracle(RBF(), np.ones((2, 4))))


class Own(CosineFeatures):
    """Features with code of their own."""

    def of(self, points):
        raise AssertionError("the host ran it")


def test_code_of_a_models_own_is_not_run():
    kernel = KernelOracle(RBF(), X)
    model = Weights.checked(kernel, np.ones(7), 0.0, Own(DIRECTIONS, OFFSETS))
    assert model.scores(kernel, NEW).shape == (6,)


@pytest.mark.parametrize(
    ("features", "weights", "reason"),
    [
        (CosineFeatures(DIRECTIONS, OFFSETS), np.ones(3), r"weights must be real .* one for each feature; they have shape \(3,\)"),
        (CosineFeatures(DIRECTIONS[:2], OFFSETS), np.ones(7), r"directions .* of points with 3; they have shape \(2, 7\)"),
        (CosineFeatures(DIRECTIONS, OFFSETS[:, None]), np.ones(7), r"offsets .* shape \(7, 1\)"),
        (CosineFeatures(DIRECTIONS.astype(complex), OFFSETS), np.ones(7), "directions of features must be real numbers"),
        (CosineFeatures(DIRECTIONS * np.nan, OFFSETS), np.ones(7), "directions of features must be finite numbers; number 0 is nan"),
        (CosineFeatures(DIRECTIONS[:, :0], OFFSETS[:0]), np.ones(0), "features have no offsets"),
        (CosineFeatures(np.broadcast_to(1.0, (3, 10**8)), np.broadcast_to(1.0, 10**8)), np.ones(7), "directions .* take 2,288.8 MB"),
        ("cos", np.ones(7), "features are of type str; give harness.CosineFeatures"),
    ],
)  # fmt: skip
def test_what_are_no_features_is_refused(features, weights, reason):
    with pytest.raises(InvalidModel, match=reason):
        Weights.checked(KernelOracle(RBF(), X), weights, 0.0, features)
