"""Models that are no dual solution, where they are handed over: what is kept of them, and what is refused."""

from functools import partial
from pathlib import Path

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
from harness.run.messages import Model, RunResult, ToCertify
from harness.run.record import Claims
from tests.adversaries.test_messages import SECRET, read_all
from tests.golden import assert_golden

RNG = np.random.default_rng(4)
X, OWN, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(6, 3))
COEF = RNG.normal(size=17)


def sent(model):
    """Return the expansion as the certifier gets it."""
    (message,) = read_all(frame(RunResult(Claims(), ToCertify(Model.of(model).packed())), SECRET))
    return Model.unpacked(message.solved.model).opened(KernelOracle(RBF(), X))


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


DIRECTIONS, OFFSETS = RNG.normal(size=(3, 7)), RNG.uniform(size=7)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_the_solvers_own_are_evaluated_by_their_definition_after_the_way(sparse, monkeypatch):
    monkeypatch.setattr(scored, "pieces", lambda length, width: [slice(0, 2), slice(2, length)])
    kernel, weights = KernelOracle(RBF(), scipy.sparse.csr_array(X) if sparse else X), RNG.normal(size=7)
    model = Weights.checked(kernel, weights, 0.5, CosineFeatures(DIRECTIONS, OFFSETS))
    (message,) = read_all(frame(RunResult(Claims(), ToCertify(Model.of(model).packed())), SECRET))
    arrived = Model.unpacked(message.solved.model)
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


def test_what_is_no_model_and_what_are_no_features_is_refused():
    nan_coef, nan_point = np.where(COEF[15] == COEF, np.inf, COEF), np.where(OWN[4, 2] == OWN, np.nan, OWN)
    many = np.broadcast_to(1.0, 12 + 10**7), np.broadcast_to(0.0, (10**7, 3))
    lot = 12 + 10**5
    expansions = [
        (COEF[:16], OWN, 0.0), (COEF, None, 0.0), (COEF[:, None], OWN, 0.0), (COEF.astype(complex), OWN, 0.0), (nan_coef, OWN, 0.0),
        (COEF, OWN, np.nan), (COEF, OWN, "0"), (COEF, OWN[:, :2], 0.0), (COEF, nan_point, 0.0), (COEF, OWN.astype(object), 0.0),
        (*many, 0.0), (np.ones(lot), np.zeros((10**5, 3)), 0.0), (np.ones(lot), scipy.sparse.csr_array((10**5, 3)), 0.0),
    ]  # fmt: skip
    seven, wide = np.ones(7), CosineFeatures(np.broadcast_to(1.0, (3, 10**8)), np.broadcast_to(1.0, 10**8))
    features = [
        (CosineFeatures(DIRECTIONS, OFFSETS), np.ones(3)), (CosineFeatures(DIRECTIONS[:2], OFFSETS), seven),
        (CosineFeatures(DIRECTIONS, OFFSETS[:, None]), seven), (CosineFeatures(DIRECTIONS.astype(complex), OFFSETS), seven),
        (CosineFeatures(DIRECTIONS * np.nan, OFFSETS), seven), (CosineFeatures(DIRECTIONS[:, :0], OFFSETS[:0]), np.ones(0)),
        (wide, seven), ("cos", seven),
    ]  # fmt: skip
    kernel = KernelOracle(RBF(), X)
    calls = {f"expansion {k}": partial(FreeModel.checked, kernel, *each) for k, each in enumerate(expansions)}
    for k, (each, weights) in enumerate(features):
        calls[f"features {k}"] = partial(Weights.checked, kernel, weights, 0.0, each)
    calls["weights"] = partial(Weights.checked, KernelOracle(Linear(), X), np.ones(2), 0.0)
    assert_golden(Path(__file__).with_name("refusals.txt"), calls)
