"""Bordes et al. 2005, Figure 8: one epoch of LASVM against LIBSVM on the paper's data."""

import numpy as np
import pytest

from harness import CSVC, RBF, KernelOracle, drive, get_solver
from harness.registry.discovery import load_registry


def stated(name):
    (source,) = load_registry().select_datasets(name)
    data = source.load()
    kernel = KernelOracle(RBF(gamma=data.defaults["gamma"]), data.x_train)
    return CSVC.build(kernel, data.y_train, {"C": data.defaults["C"]}), data


def figures(solver, problem, data, seed):
    outcome = drive(solver, problem, np.random.default_rng(seed))
    evaluations = problem.kernel.counter.evaluations
    scores = problem.scores_new(outcome.dual_coef, outcome.intercept, data.x_test)
    error = 100.0 * float(np.mean(np.sign(scores) != data.y_test))
    return error, int(np.count_nonzero(outcome.dual_coef)), evaluations


# error within 0.3 points, support vectors within 10 %, kernel values at most this many times the paper's
@pytest.mark.slow
@pytest.mark.parametrize(("name", "paper_kernel_values"), [("waveform", 2.2e6), ("banana", 6.7e6), ("reuters", 9.2e6)])
def test_one_epoch_matches_libsvm(name, paper_kernel_values, raw_data):
    problem, data = stated(name)
    error, support, _ = figures(get_solver("libsvm"), problem, data, 0)
    runs = [figures(get_solver("lasvm"), stated(name)[0], data, seed) for seed in range(5)]
    assert abs(np.mean([run[0] for run in runs]) - error) <= 0.3
    assert abs(np.mean([run[1] for run in runs]) - support) <= 0.1 * support
    assert np.mean([run[2] for run in runs]) <= 1.4 * paper_kernel_values
