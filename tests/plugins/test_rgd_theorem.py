"""Theorems 2 and 4: some node of a whole tree is nearly optimal as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from reports.rgd_tree_2015.theorem import MU, OUTLIERS, SETTINGS, planted, widest

SEEDS = range(20)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [None, 50], ids=["whole", "L=50"])
@pytest.mark.parametrize("setting", SETTINGS, ids=[f"{each.against} {each.ratio}" for each in SETTINGS])
def test_some_node_is_an_approximation(setting, nodes):
    assert setting.height <= 4
    found = [widest(setting, seed, nodes) >= 1.0 - setting.epsilon for seed in SEEDS]
    assert np.mean(found) >= (1.0 - MU) * (1.0 - OUTLIERS)


@pytest.mark.parametrize("setting", SETTINGS, ids=[f"{each.against} {each.ratio}" for each in SETTINGS])
def test_the_planted_optimum_is_the_inliers_margin(setting):
    problem, optimum = planted(setting, 0)
    inliers = np.arange(10, problem.n)
    x = problem.kernel.points[inliers]
    groups = [x] if setting.against == "origin" else [x[problem.targets[inliers] > 0], x[problem.targets[inliers] < 0]]
    diameters = [max(np.linalg.norm(a - b) for a in group for b in group) for group in groups]
    assert sum(diameters) <= setting.ratio * optimum * (1.0 + 1e-9)
    assert problem.share.both == 10
