"""The row buffer of SMO: what is computed, held, dropped and counted."""

import numpy as np
import pytest
from harness_smo import SMO
from harness_smo.rows import RowBuffer

from harness import RBF, KernelOracle
from tests.plugins.points import overlapping
from tests.plugins.smo_problems import build


def test_each_row_is_computed_once_while_the_buffer_holds_them():
    x, y = overlapping(8, n=200)
    problem = build(x, y, C=10.0)
    solution = SMO().solve(problem)
    rows = solution.info["rows_computed"]
    assert rows <= 200
    assert problem.kernel.counter.evaluations == 200 * rows + 200  # and the diagonal
    # every step reads two rows: computed now or a hit
    assert problem.kernel.counter.cache_hits == 2 * solution.steps - rows


def test_a_small_buffer_computes_more_rows_and_takes_the_same_steps():
    x, y = overlapping(8, n=200)
    roomy, tight_ = build(x, y, C=10.0), build(x, y, C=10.0, cache_mb=200 * 8 * 2 / 2**20)
    one, other = SMO(shrinking=False).solve(roomy), SMO(shrinking=False).solve(tight_)
    assert other.info["rows_computed"] > one.info["rows_computed"]
    assert other.info["rows_computed"] <= 2 * other.steps, "fetching j never drops the row of i"
    assert other.steps == one.steps
    assert other.dual_coef.tolist() == one.dual_coef.tolist()


def test_the_row_unused_for_longest_makes_room():
    x, _ = overlapping(9, n=10)
    buffer = RowBuffer(KernelOracle(RBF(1.0), x), 3 * 10 * 8 / 2**20)
    assert buffer.capacity == 3
    assert buffer.kernel.cached_rows == 2, "rows are not held a second time by the oracle"
    for now, k in enumerate([4, 7, 2]):
        buffer.fetch(k, now)
    buffer.last_used[buffer.slot_of[4]] = 5
    buffer.fetch(9, 6)
    assert buffer.slot_of[7] == -1
    assert np.flatnonzero(buffer.slot_of >= 0).tolist() == [2, 4, 9]
    assert buffer.rows[buffer.slot_of[9]] == pytest.approx(RBF(1.0).block(x[9:], x)[0])


def test_scores_use_held_rows_and_compute_only_the_others():
    x, _ = overlapping(10, n=20)
    kernel = KernelOracle(RBF(1.0), x)
    buffer = RowBuffer(kernel, 1.0)
    coef = np.zeros(20)
    coef[[3, 5, 8]] = [1.0, -2.0, 0.5]
    buffer.fetch(3, 0)
    buffer.fetch(8, 0)
    before = kernel.counter.evaluations
    wanted = np.array([0, 1, 2, 17])
    assert buffer.scores(coef, wanted) == pytest.approx((RBF(1.0).block(x, x) @ coef)[wanted])
    assert kernel.counter.evaluations - before == len(wanted)  # one row is missing
