"""The rows that SMO asks for: what is computed, held and counted."""

from harness_smo import SMO

from tests.plugins.points import overlapping
from tests.plugins.smo_problems import build


def test_each_row_is_computed_once_while_the_buffer_holds_them():
    x, y = overlapping(8, n=200)
    problem = build(x, y, C=10.0)
    solution = SMO(shrinking=False).solve(problem)
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
