"""Where a solver's time goes: the phases of a profile."""

import pstats

import numpy as np
import pytest
from harness_smo import SMO

from harness import CSVC, RBF, KernelOracle
from reports.peers import shares
from reports.peers.families import Drawn
from tests.reports.test_map import arrays


def test_a_librarys_time_is_its_callers():
    ours, other = ("/x/harness_smo/block.py", 1, "round"), ("/x/harness/kernels/scan.py", 1, "scan")
    library, builtin = ("/lib/numpy/core.py", 1, "mean"), ("~", 0, "<reduce>")
    stats = pstats.Stats.__new__(pstats.Stats)
    stats.stats = {
        ours: (1, 1, 1.0, 9.0, {}),
        other: (1, 1, 2.0, 4.0, {ours: (1, 1, 2.0, 4.0)}),
        library: (2, 2, 0.5, 4.0, {ours: (1, 1, 0.4, 3.0), other: (1, 1, 0.1, 1.0)}),
        builtin: (2, 2, 3.5, 3.5, {library: (2, 2, 3.5, 3.5)}),
    }
    found = shares.own_seconds(stats)
    assert found["harness_smo.block:round"] == pytest.approx(1.0 + 0.75 * 4.0)
    assert found["harness.kernels.scan:scan"] == pytest.approx(2.0 + 0.25 * 4.0)
    assert sum(found.values()) == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("harness.kernels.compiled:scan", "kernel"),
        ("harness.kernels.compiled:add_rows", "update"),
        ("harness_smo.block_passes:gather", "gather"),
        ("harness_smo.block_cache:block", "gather"),
        ("harness_smo.block_loops:pair_descent", "descent"),
        ("harness_smo.block_passes:directions", "choice"),
        ("harness_smo.working_set:choose", "choice"),
        ("harness_smo.newton:solve", "newton"),
        ("harness_smo.stopping:reached", "certificate"),
        ("harness_smo.block:iterates", "rest"),
    ],
)
def test_phases(name, phase):
    assert shares.phase(name) == phase


def test_the_phases_of_a_solve_sum_to_its_time():
    x, y = arrays(Drawn(n=150, cost=10.0, noise=0.1).load())
    problem = CSVC.build(KernelOracle(RBF(0.5), x), y, {"C": 10.0})
    info = next(shares.TimeShares(oracle="smo").iterates(problem, np.random.default_rng(0)))
    phases = {name: seconds for name, seconds in info.info.items() if name.startswith("phase ")}
    longest = {name: seconds for name, seconds in info.info.items() if ":" in name}
    assert phases["phase descent"] > 0.0, "compiled steps are seen"
    assert phases["phase kernel"] > 0.0
    assert sum(longest.values()) <= sum(phases.values()) * (1 + 1e-9)
    assert np.array_equal(info.dual_coef, SMO().solve(problem).dual_coef)
