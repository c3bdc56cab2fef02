"""What the plugins refuse, each sentence as users read it, in one golden file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from harness_active.baselines import Batch, DifferentCosts, Smote
from harness_active.pool_svc import PoolSVC
from harness_active.solvers import ActiveSmallPool, RandomSampling, RetrainActive
from harness_fw import FrankWolfe
from harness_lasvm import LASVM, LASVMStream
from harness_peers import SGD, LinearSVC, Nystroem, RandomFeatures
from harness_perceptron import BudgetPerceptron
from harness_perceptron.mistake_driven import MistakeDriven
from harness_qp import QP
from harness_rgd import GaussianOutliers
from harness_rgd.outlier_margin import OutlierMargin
from harness_robust.cccp import RampCCCP
from harness_sampling import OptMargin, PartitionedFW, PartitionedRandSVM, RandSVM1
from harness_smo import SMO, SMOBlock

from harness import CSVC, RBF, Linear, Poly, Precomputed, get_solver
from harness.problems import L2SVC
from tests.datasets.test_chunks import in_parts
from tests.golden import assert_golden
from tests.plugins.common import build, overlapping
from tests.plugins.hull_problems import clouds, hard, tube, wave
from tests.plugins.robust_problems import flipped, stated
from tests.plugins.test_lasvm_stream import WRONG

X, Y = overlapping(0, 20)
SVC = build(CSVC, X, Y, C=1.0)
POOL = build(PoolSVC, X, Y.__getitem__, C=1.0)
SIDES = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
MEMBERS = build(MistakeDriven, np.eye(600), np.resize(SIDES, 600), Precomputed(), cache_mb=1.0)


def outliers(n=10, **values):
    return build(OutlierMargin, np.arange(2.0 * n).reshape(n, 2), np.resize(SIDES, n), Linear(), **values)


def learned(known=(), learn=(), **options):
    pool = build(PoolSVC, X, Y.__getitem__, C=1.0)
    pool.query(known)
    LASVM(**options).learner(pool, np.random.default_rng(0)).learn(learn)


def fed(*chunks):
    stream = LASVMStream(RBF(0.3), 5.0)
    for chunk in chunks:
        stream.feed(*chunk)
    return stream


def started(solver, start):
    solver.solve(build(CSVC, X, Y, C=1.0), start=start)


def fitted(solver, folder, y):
    solver.fit(in_parts(folder, np.ones((57, 2)), y))


def sampled(oracle, folder, y=np.resize(SIDES, 57)):  # noqa: B008
    fitted(PartitionedRandSVM(RBF(gamma=2.0), options=RandSVM1(oracle=oracle)), folder, y)


def test_what_the_plugins_refuse(tmp_path):
    chunk, one_class = (np.ones((2, 4)), np.array([1.0, -1.0])), build(CSVC, X, np.ones(20))
    ramp, hulls, coef = stated(*flipped(10), C=2.0), hard(*clouds(1, 8, 8, 2, 9.0)), np.eye(10)[0]
    no_tube = tube(*wave(30), 1e-3, 1.0, Linear())
    flat = get_solver("qp").solve(no_tube)
    calls = {
        "active: nothing compared": partial(get_solver, "random-sampling[stop=margin]"),
        "active: not online": lambda: ActiveSmallPool(oracle="smo").refusal(POOL),
        "active: unknown": lambda: RandomSampling(oracle="lasvmm").refusal(POOL),
        "active: other problem": lambda: RetrainActive(oracle="mdm").refusal(POOL),
        "baseline: unknown": lambda: Batch(oracle="nobody").refusal(SVC),
        "baseline: bracket": lambda: Smote(oracle="lasvm[epochs").refusal(SVC),
        "baseline: other problem": lambda: Batch(oracle="fw").refusal(SVC),
        "baseline: no solution": lambda: DifferentCosts(oracle="smote").refusal(SVC),
        "baseline: one class": lambda: Smote().refusal(one_class),
        "fw: no w": lambda: FrankWolfe(explicit_w=True).refusal(build(L2SVC, X, Y)),
        **{f"lasvm: finisher {name}": partial(LASVM(finisher=name).refusal, SVC) for name in ("smo-blok", "fw", "lasvm")},
        "lasvm: label": partial(learned, [3], [3, 4]),
        "lasvm: epochs": partial(learned, epochs=2),
        "lasvm: selection": partial(learned, selection="active", max_support=5),
        **{f"stream: chunk {k}": partial(fed, chunk, wrong) for k, wrong in enumerate(WRONG)},
        "stream: precomputed": partial(LASVMStream, Precomputed(), 1.0),
        "stream: name": partial(LASVMStream, "rbf", 1.0),
        "stream: C": partial(LASVMStream, RBF(), 0.0),
        "stream: epochs": partial(LASVMStream, RBF(), 1.0, options=LASVM(epochs=2)),
        "stream: nothing fed": lambda: fed().model(),
        "stream: features": lambda: fed(chunk).model().decision_function(np.ones((1, 3))),
        "linearsvc: kernel": lambda: LinearSVC().refusal(build(L2SVC, X, Y)),
        "sgd: kernel": lambda: SGD().refusal(build(CSVC, X, Y, Poly())),
        "rff: kernel": lambda: RandomFeatures().refusal(build(CSVC, X, Y, Linear())),
        "nystroem: one class": lambda: Nystroem().refusal(one_class),
        "outlier-exact: points": lambda: get_solver("outlier-exact").refusal(outliers(42)),
        "outlier-margin: all": partial(outliers, outliers=1.0),
        "outlier-margin: negative": partial(outliers, outliers=-0.1),
        "outlier-margin: most": partial(outliers, outliers=0.9),
        "outlier-margin: positives": partial(outliers, outliers_plus=0.7, outliers_minus=0.1),
        "outlier-margin: alone": partial(outliers, outliers_plus=0.1),
        "outlier-margin: origin": partial(outliers, outliers_plus=0.1, outliers_minus=0.1, against="origin"),
        "parts: kernel": partial(PartitionedRandSVM, Precomputed()),
        "parts: C": partial(PartitionedRandSVM, RBF(gamma=1.0), -1.0),
        "parts: unknown": partial(sampled, "none", tmp_path / "a"),
        "parts: other problem": partial(sampled, "fw", tmp_path / "a"),
        "parts: one class": partial(sampled, "smo-block", tmp_path / "b", np.ones(57)),
        "parts of fw: count": partial(PartitionedFW, count=1.5),
        "parts of fw: gap": partial(PartitionedFW, gap=0),
        "parts of fw: kernel": partial(PartitionedFW, Precomputed()),
        "parts of fw: other problem": partial(fitted, PartitionedFW(oracle="lasvm"), tmp_path / "a", np.resize(SIDES, 57)),
        "perceptron: beta": partial(BudgetPerceptron, beta=-1.0),
        "perceptron: memory": lambda: BudgetPerceptron(N=560).refusal(MEMBERS),
        "planted: sizes": partial(GaussianOutliers, least=5, most=4),
        "qp: points": lambda: QP(max_points=19).refusal(SVC),
        "ramp: beyond": partial(ramp.checked, 2.5 * coef, 0.0),
        "ramp: intercept": partial(ramp.checked, 0.0 * coef, 0.1),
        "ramp: intercept of a certificate": partial(ramp.certify, 0.0 * coef, 0.1),
        **{f"ramp-cccp: {name}": partial(RampCCCP(oracle=name).solve, ramp) for name in ("fw", "qp[max_points=9]")},
        "sampling: delta": partial(OptMargin, delta=0),
        **{f"sampling: {name}": partial(OptMargin(oracle=name).refusal, hulls) for name in ("nobody", "fw[epsilon=2]", "lasvm")},
        "smo: start beyond": partial(started, SMO(), 2.0 * Y),
        "smo: start of another size": partial(started, SMOBlock(), np.zeros(19)),
        "smo: start that is no number": partial(started, SMOBlock(), Y * np.nan),
        "tube: no hull": lambda: tube(*wave(24), 1.0, 0.2, D_minus=0.02),
        "tube: no function": lambda: no_tube.scores_new(flat.dual_coef, flat.intercept, X),
    }  # fmt: skip
    assert_golden(Path(__file__).with_name("refusals.txt"), calls, tmp_path)
