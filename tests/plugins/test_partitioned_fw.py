"""Frank-Wolfe over parts: one model whoever makes the passes, the host's certificate, one machine's value, a twin of the pass."""

from __future__ import annotations

import numpy as np
import pytest
from harness_sampling import PartitionedFW
from harness_sampling.partitioned import PartitionedModel
from harness_sampling.partitioned_fw import farthest_of_part

from harness import RBF, KernelOracle, Linear, PartitionedData, Precomputed, UsageError, get_solver
from harness.problems import L2SVC
from tests.datasets.test_chunks import in_parts
from tests.plugins.test_partitioned import Backwards, figures

N = 2000
SIZES = (700, 1, 300, 0, 999)


def overlapping(seed, d, share=0.3):
    """Two classes that overlap along a random direction, in float32 as files have them."""
    rng = np.random.default_rng(seed)
    x, direction = rng.normal(size=(N, d)).astype(np.float32), rng.normal(size=d)
    return x, np.where(x @ direction + rng.normal(size=N) > np.quantile(x @ direction, 1 - share), 1.0, -1.0)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return in_parts(tmp_path_factory.mktemp("drawn") / "parts", *overlapping(3, 7), sizes=SIZES)


@pytest.fixture(scope="module")
def alone(drawn):
    return PartitionedFW(C=0.1, count=50).fit(PartitionedData(drawn, 256))


def test_the_model_is_one_in_whatever_order_the_parts_end(drawn, alone):
    assert alone.status == "gap"
    assert len(alone.rounds) > 2
    with Backwards(5) as pool:
        assert figures(PartitionedFW(C=0.1, count=50).fit(PartitionedData(drawn, 256), pool)) == figures(alone)
    assert figures(PartitionedFW(C=0.1, count=50, seed=1).fit(drawn)) != figures(alone)


@pytest.mark.parametrize(("kernel", "d", "C"), [(Linear(), 4, 1e-3), (Linear(), 20, 10.0), (RBF(gamma=0.3), 3, 2.0)])
def test_the_certificate_is_the_hosts_over_all_points_and_the_value_that_of_one_machine(tmp_path, kernel, d, C):
    x, y = overlapping(d, d)
    fit = PartitionedFW(kernel, C, gap=1e-4, count=100).fit(in_parts(tmp_path / "parts", x, y, sizes=SIZES))
    problem = L2SVC.build(KernelOracle(kernel, x.astype(np.float64)), y, {"C": C})
    coef = np.zeros(N)
    coef[fit.model.rows] = fit.model.coef
    found = problem.certify(coef, fit.model.intercept)
    assert fit.status == "gap"
    assert found.relative_gap <= 1e-4
    for name in ("primal", "dual", "relative_gap", "margin_lower", "margin_upper"):
        assert getattr(fit.certificate, name) == pytest.approx(getattr(found, name), rel=1e-6, abs=1e-9), name
    whole = get_solver("smo-block", gap=1e-6).solve(problem)
    assert fit.certificate.dual == pytest.approx(problem.certify(whole.dual_coef, whole.intercept).dual, rel=2e-4)
    agree = np.sign(fit.model.decision_function(x)) == np.sign(problem.scores_new(whole.dual_coef, whole.intercept, x))
    assert agree.mean() > 0.99


def test_the_pass_does_what_its_twin_does(drawn):
    rng, (x, y) = np.random.default_rng(5), overlapping(3, 7)
    x = x.astype(np.float64)
    support = np.sort(rng.choice(N, 30, replace=False))
    model = PartitionedModel(Linear(), x[support], support, y[support] * rng.uniform(size=30), 0.0)
    inside, data, reach = np.sort(rng.choice(N, 500, replace=False)), PartitionedData(drawn, 100), (1.0, -0.5)
    reaches = y * (x @ (model.coef @ model.support_vectors))
    for part, start in zip(data.parts, data.starts, strict=True):
        found = farthest_of_part(part, int(start), model, inside[inside >= start], reach, 9)
        rows = [row for row in range(start, start + part.n) if row not in inside]
        beyond = 0
        for k, sign in enumerate((1.0, -1.0)):
            own = sorted((reaches[row], row) for row in rows if y[row] == sign and reaches[row] < reach[k])
            beyond += len(own)
            assert found.rows[k].tolist() == [row for _, row in own[:9]]
            np.testing.assert_allclose(found.reaches[k], [value for value, _ in own[:9]], rtol=1e-12)
        assert found.beyond == beyond


def test_it_ends_at_its_rounds_and_refuses_what_it_cannot_take(drawn):
    short = PartitionedFW(C=0.1, count=5, max_rounds=2).fit(drawn)
    assert (short.status, len(short.rounds)) == ("max_rounds", 2)
    assert short.rounds[1].dual < short.rounds[0].dual  # the hulls' points only come nearer
    with pytest.raises(UsageError, match=r"count is 1\.5; expected a whole number above 0"):
        PartitionedFW(count=1.5)
    with pytest.raises(UsageError, match=r"gap is 0"):
        PartitionedFW(gap=0)
    with pytest.raises(UsageError, match=r"Precomputed"):
        PartitionedFW(Precomputed())
    with pytest.raises(UsageError, match=r"lasvm.* not l2-svc"):
        PartitionedFW(oracle="lasvm").fit(drawn)
