"""reports/lasvm_2005: its grids and command line, its sets, the ten classifiers, the published numbers."""

import numpy as np
import pytest
from reports.kit.grids import Options

from harness.registry import load_registry
from reports.kit.sources import MnistNoise
from reports.kit.study import PLUGINS
from reports.lasvm_2005 import multiclass, parts
from reports.lasvm_2005.plan import PLAN, QUICK

# -- grids ----------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [PLAN, QUICK], ids=["whole", "quick"])
@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part, plan):
    registry = load_registry(list(PLUGINS))
    for grid in parts.parts(plan)[part](Options(repetitions=2)):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert set(grid.metrics) <= set(registry.metrics)


# -- sources and the ten classifiers -----------------------------------------------------------------------


def test_label_noise_flips_exactly_a_share_of_the_training_labels(raw_data):
    clean = load_registry().select_datasets("mnist[n=200]")[0].load()
    noisy = MnistNoise(n=200, noise=0.1, noise_seed=3).load()
    assert np.sum(noisy.y_train != clean.y_train) == 20
    assert (noisy.y_test == clean.y_test).all()
    assert (noisy.x_train == clean.x_train).all()
    assert MnistNoise(n=200, noise_seed=4).load().sha256 != noisy.sha256


def test_the_greatest_score_decides():
    rng = np.random.default_rng(0)
    digits = (2, 5, 7)
    truth = rng.choice([2, 5, 7, -1], 60)
    scores = [rng.normal(size=60) for _ in digits]
    wrong = [
        max(zip(values, digits, strict=True))[1] != label
        for *values, label in zip(*scores, truth, strict=True)
        if label >= 0
    ]
    assert multiclass.error(truth, scores, digits) == pytest.approx(100.0 * sum(wrong) / len(wrong))
    assert multiclass.error(truth, [np.where(truth == digit, 1.0, 0.0) for digit in digits], digits) == 0.0
