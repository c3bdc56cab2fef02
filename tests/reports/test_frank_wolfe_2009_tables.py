"""reports/frank_wolfe_2009: what the tables make of rows."""

import math

import pytest

from reports.frank_wolfe_2009 import core_sets, figures, plots, rivals, seen, tables, theorems
from reports.frank_wolfe_2009.plan import BLOCK, LINEAR_PEERS, NEWTON, PLAN, SMO, large_of
from reports.kit.markdown import NOT_MEASURED
from tests.reports.fabricated import row
from tests.reports.frank_wolfe_rows import (
    HYPERBOLIC,
    LINEAR,
    STOOD,
    lemma_row,
    level,
    margin_rows,
    on_ladder,
    product_rows,
    results,
)


def test_the_verdict_tells_a_linear_rate_from_one_of_1_over_k():
    gilbert = on_ladder("usps", "gilbert", *HYPERBOLIC, status="budget", reason="stopped", info=STOOD)
    good = tables.verdict(results(on_ladder("usps", "fw", *LINEAR), gilbert))
    assert good == (
        "* usps: fw reaches epsilon = 1e-08 in 800 iterations and 0.5 s, the last factor of ten with 1.14 times the "
        "iterations (met); gilbert reaches 1e-03 in 2,000 iterations and stands at epsilon_+ = 0.0005 after 4,000 "
        "iterations when its time is over (met)."
    )
    slow = on_ladder("usps", "fw", *HYPERBOLIC)
    assert "fw ends at epsilon = 1e-03, the last factor of ten with 10.00 times the iterations (**missed**)" in (
        tables.verdict(results(slow, gilbert))
    )
    far = on_ladder("usps", "fw", *(level(10.0**-k, 2 * 10**k) for k in range(1, 9)))
    assert "with 10.00 times the iterations (**missed**); gilbert" in tables.verdict(results(far, gilbert))
    both = tables.verdict(results(on_ladder("usps", "fw", *LINEAR), on_ladder("usps", "gilbert", *LINEAR)))
    assert both.endswith("gilbert reaches 1e-08 in 800 iterations (**missed**).")


def test_rates_are_a_line_a_solver():
    found = tables.rates(results(on_ladder("usps", "fw", *LINEAR), on_ladder("usps", "mdm", *HYPERBOLIC)))
    assert found.splitlines()[2:] == [
        "| usps | fw | 200 | 400 | 600 | 800 |  | 1e-08 | 1.14 |",
        "| usps | mdm | 200 |  |  |  |  | 1e-03 | 10.00 |",
    ]


def test_bounds_of_the_core_set():
    (found,) = {figures.geometry(results(on_ladder("usps", "fw", *LINEAR)), "usps")}
    assert found.zeta == pytest.approx(100.0)
    assert found.sigma == pytest.approx((81.0, 99.0))
    assert found.lower_bound(0.1) == pytest.approx((407.0, 497.0))
    iterations = 6.0 + 10.0 * 100.0 * math.log(100.0) + 32.0 * 100.0 / 0.1
    assert found.upper_bound(0.1) == pytest.approx(2.0 + 2.0 * iterations)
    text = core_sets.sizes(results(on_ladder("usps", "fw", *LINEAR)))
    assert "| usps | 1,000 | 1e-01 | 5 |  |  |  | 407 - 497 | 7.3e+04 |" in text


def test_the_geometry_is_that_of_the_smallest_gap():
    rough = on_ladder("usps", "gilbert", *HYPERBOLIC, primal=0.01, dual=0.03, relative_gap=0.67)
    exact = on_ladder("usps", "fw", *LINEAR)
    for order in ((rough, exact), (exact, rough)):
        assert figures.geometry(results(*order), "usps").psi_lower == 0.02
    assert figures.geometry(results(), "usps") is None


def test_kernel_evaluations_are_in_rows():
    found = tables.moderate(results(on_ladder("usps", "fw", *LINEAR)), "evaluations")
    assert found.splitlines()[-1] == "| usps | 2 |  |  |  |  |  |  |"


def test_the_peers_must_be_certified():
    name = PLAN.peers_of("usps")
    runs = [
        row(name, "fw", cpu=1.0, support_vectors=30),
        row(name, "gilbert", cpu=0.1, relative_gap=0.1),
        row(name, "fw-fully-corrective", cpu=3.0, support_vectors=30),
        row(name, SMO, cpu=2.0),
        row(name, BLOCK, cpu=0.5),
    ]
    text = rivals.peers(results(*runs))
    assert "| usps | 3 % | **1** |  |  |  |  | 3 |  | 2 | **0.5** |" in text
    said = rivals.against_smo(results(*runs))
    assert said == (
        "* usps: the fastest, fw, is 2.0 times as fast as smo (met); slower than smo: fw-fully-corrective; "
        "0.5 times as fast as smo-block (**missed**); slower than smo-block: fw, fw-fully-corrective."
    )
    dense = [{**each, "support_vectors": 500} for each in runs]
    assert rivals.against_smo(results(*dense)) == "No core set here is so small."
    assert rivals.against_smo(results()) == NOT_MEASURED
    assert f"* {name}, gilbert: relative gap 0.1; " in tables.stopped(results(*runs))


def test_the_fastest_certified_run_of_the_library_counts():
    name = PLAN.peers_of("wdbc-linear")
    rough, good, exact, *_ = LINEAR_PEERS
    runs = [
        row(name, rough, cpu=0.1, relative_gap=0.5, n_features=3),
        row(name, good, cpu=1.0, n_features=3),
        row(name, exact, cpu=2.0, n_features=3),
        row(name, NEWTON, cpu=4.0, support_vectors=100, n_features=3),
        row(name, "fw", cpu=6.0, n_features=3),
    ]
    found = results(*runs)
    assert rivals.linear_svc(found, "wdbc-linear")["solver"] == good
    assert (
        rivals.linear_peers(found)
        .splitlines()[-1]
        .startswith("| wdbc-linear | 1,000 x 3 | 10 % | 1 | [tol=1e-6,scaling=10] | 4 | 4.00 | 6 |  |")
    )
    assert rivals.against_library(found) == (
        "* wdbc-linear: of the papers' solvers the fastest, fw, takes 6.00 times as long as LinearSVC (**missed**); fw-newton, "
        "which is of no paper, takes 4.00 times as long as LinearSVC (met)."
    )
    late = [each for each in runs if each["solver"] != NEWTON]
    assert rivals.against_library(results(*late)).endswith(
        "fw-newton, which is of no paper, lacks the gap after its time (**missed**)."
    )
    without = [runs[0], runs[3]]
    assert rivals.against_library(results(*without)) == (
        "* wdbc-linear: no model of LinearSVC has the gap, the least is 0.5 after 0.1 s; of the papers' solvers none has the "
        "gap after its time (**missed**); fw-newton, which is of no paper, has it after 4 s."
    )
    assert tables.stopped(found) == "Nothing.", "a tolerance that is too loose is no failure"


def test_the_bounds_stand_beside_what_was_measured():
    text = theorems.bounds(results(on_ladder("usps", "fw", *LINEAR)))
    assert text.splitlines()[-1] == "| usps | 1e-03 | 100 | 300 | 3.2e+06 | 15 | 6.4e+06 | (met) |"
    beyond = [level(1e-1, 10**8)]
    assert "(**missed**)" in theorems.bounds(results(on_ladder("usps", "fw", *beyond)))


def test_gains_are_judged_by_the_lemma():
    assert theorems.lemma(results(lemma_row())).splitlines()[-1] == (
        "| usps | 2 | 0.02 | 1,500 | 2 | 1.25 | 7.5 | 0.500000 | (met) |"
    )
    assert "| 1.25 | 7.5 |  | (met) |" in theorems.lemma(results(lemma_row(worst_drop=None)))
    assert "(**missed**)" in theorems.lemma(results(lemma_row(least=0.9)))
    assert "(**missed**)" in theorems.lemma(results(lemma_row(worst_drop=1.1)))


def test_many_points_say_time_memory_and_what_is_certified():
    name = large_of(100_000)
    good = row(name, NEWTON, cpu=9.0, support_vectors=3129, relative_gap=1e-6, peak_rss_bytes=int(3e8))
    late = row(name, "fw", cpu=120.0, status="budget", reason="stopped", relative_gap=0.75, peak_rss_bytes=None)
    lines = theorems.large(results(good, late)).splitlines()
    assert lines[-1].startswith("| 100,000 | fw-newton | 9 | 3,129 | 5e-07 |")
    assert lines[-1].endswith("| 300 | (met) |")
    assert "| 100,000 | fw |  |" in lines[-2], "a limit of wall time is no CPU time"
    assert "| 0.5 |" in lines[-2]
    assert lines[-2].endswith("|  | (**missed**) |")
    assert "120 s" in tables.stopped(results(good, {**late, "seconds": 120.0})), "the limit and the time in one clock"


def test_stopped_runs_say_where_they_stood():
    run = on_ladder("usps", "gilbert", *HYPERBOLIC, status="budget", reason="stopped at the limit", info=STOOD)
    assert tables.stopped(results(run)) == (
        "* usps, gilbert: reached 1e-03; epsilon_+ = 0.0005 after 4,000 iterations; stopped at the limit"
    )
    assert tables.stopped(results(on_ladder("usps", "fw", *LINEAR))) == "Nothing."
    nowhere = {**STOOD, "last_epsilon": "inf"}  # as a record spells it
    started = on_ladder("usps", "cvm", *HYPERBOLIC, status="budget", reason="stopped at the limit", info=nowhere)
    assert tables.stopped(results(started)) == "* usps, cvm: reached 1e-03; stopped at the limit"
    stalled = on_ladder("usps", "fw", *LINEAR, info={"ended": "stalled"})
    assert tables.stopped(results(stalled)).endswith("reached 1e-08; stalled")


def elsewhere(run):
    """The same run as another commit made it."""
    return {**run, "git_commit": "another"}


def test_times_of_two_commits_are_not_divided():
    smo, fast = PLAN.peers_of("usps"), PLAN.peers_of("wdbc-linear")
    core = row(smo, "fw-fully-corrective", cpu=3.0, support_vectors=30)
    apart = results(core, elsewhere(row(smo, SMO, cpu=9.0)))
    assert rivals.against_smo(apart) == "* usps: the fastest, fw-fully-corrective, is not in turns with smo."
    assert "**3**" not in rivals.peers(apart)
    library = elsewhere(row(fast, LINEAR_PEERS[0], cpu=1.0, n_features=3))
    apart = results(library, row(fast, NEWTON, cpu=4.0, n_features=3))
    assert "| 4 | not in turns |" in rivals.linear_peers(apart)
    assert "4.00" not in rivals.against_library(apart)
    slow, quick = (on_ladder("usps", solver, *LINEAR) for solver in ("fw", "fw-fully-corrective"))
    assert "not on usps (15 points, fw 1)" in seen.seen(results(slow, quick))
    assert "fastest" not in seen.seen(results(slow, elsewhere(quick)))


def test_of_several_runs_the_one_of_median_time_counts():
    runs = [row(PLAN.peers_of("wdbc"), "fw", seed=seed, cpu=cpu) for seed, cpu in enumerate((9.0, 1.0, 2.0))]
    assert rivals.certified(results(*runs), "wdbc", "fw")["cpu"] == 2.0


def test_what_core_sets_lose_is_held_against_epsilon():
    good = core_sets.ratios(results(*margin_rows("usps", 1.05, 1.0)))
    assert good.splitlines()[2] == (
        "| usps | 1e-01 | 0.9 | 0.952381 (10) | 0.952381 (10) | 0.952381 (10) | 0.952381 (10) |  | (met) |"
    )
    assert "| 1e-02 | 0.99 | 1.000000 (10) |" in good
    assert "(**missed**)" in core_sets.ratios(results(*margin_rows("usps", 1.2)))
    assert "A core set of fw lost at most 0.48 epsilon of the margin" in seen.seen(results(*margin_rows("usps", 1.05)))
    assert "Theorem 3.3 allows epsilon (**missed**)" in seen.seen(results(*margin_rows("usps", 1.2)))


def test_a_loss_of_nothing_is_not_drawn_as_a_small_one(monkeypatch, tmp_path):
    drawn = []

    def keep(figure, path):
        drawn.append(figure)

    monkeypatch.setattr(plots, "save", keep)
    assert plots.margins(results(*margin_rows("usps", 1.05, 1.02, 1.0, solvers=("fw",))), tmp_path / "x.png")
    (axes, *_) = drawn[0].axes
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["fw"].get_ydata() == pytest.approx([1.0 - 1.0 / 1.05, 1.0 - 1.0 / 1.02])
    (foot,) = [line for line in axes.lines if line.get_marker() == "v" and len(line.get_xdata())]
    assert foot.get_xdata() == pytest.approx([1e3])
    assert foot.get_transform() != axes.transData, "at the foot, at no value"


def test_a_single_accuracy_is_no_line(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(plots, "save", lambda figure, path: drawn.append(figure))
    assert not plots.iterations(results(on_ladder("usps", "fw", *LINEAR[:1])), tmp_path / "x.png")
    assert plots.iterations(
        results(on_ladder("usps", "fw", *LINEAR), on_ladder("usps", "mdm", *LINEAR[:1])), tmp_path / "x.png"
    )
    assert [line.get_label() for line in drawn[0].axes[0].lines] == ["fw"]


def test_iterations_stand_beside_products():
    assert "| covtype, 1,000 x 3 | fw | 20 | 30 | 1.50 | 1.40 - 1.60 |" in tables.products(
        results(*product_rows("covtype"))
    )
