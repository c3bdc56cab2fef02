"""reports/rgd_tree_2015: what the tables make of rows."""

from pathlib import Path

import pytest

from reports.kit.grids import Options
from reports.kit.results import Published, Results
from reports.rgd_tree_2015 import plan, plots, selection, tables
from reports.rgd_tree_2015.parts import parts, ratio_name, share_name
from reports.rgd_tree_2015.plan import PLAN
from reports.rgd_tree_2015.study import STUDY
from tests.reports.fabricated import HEADER, assert_whole, every_run, row


def level(kind, n, d, seconds, **more):
    """A row of what a level costs."""
    return {"derived": "cost", "kind": kind, "n": n, "d": d, "level": seconds, "over": 1.2, "git_commit": "a", **more}


FOLDER = Path(__file__).resolve().parents[2] / "reports" / "rgd_tree_2015"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows):
    return Results(rows, PUBLISHED, PLAN)


def scored(method, solver, draw, validation, held_out, name="Spambase", **changed):
    metrics = {plan.VALIDATION: validation, plan.HELD_OUT: held_out}
    kind = {"formulation": method.formulation, "gamma": None if method.kernel == "linear" else 0.1}
    return row(name, solver, dataset=f"draw {draw}", metrics=metrics, **kind, **changed)


def fabricated(errors, name="Spambase"):
    """Rows of one candidate a method: method -> test errors, one for each draw."""
    return [
        scored(method, method.candidates[0], draw, 20.0, error, name)
        for method, found in errors.items()
        for draw, error in enumerate(found)
    ]


def test_validation_chooses_and_never_the_test_part():
    first, second, third = plan.SOFT.candidates[:3]
    rows = [
        scored(plan.SOFT, first, 0, 20.0, 9.0),
        scored(plan.SOFT, second, 0, 18.0, 8.0),
        scored(plan.SOFT, third, 0, 18.0, 1.0),
        scored(plan.SOFT, first, 1, 10.0, 5.0),
        scored(plan.SOFT, second, 1, 12.0, 4.0, status="timeout"),
    ]
    chosen = selection.Choices(results(*rows)).of("Spambase", plan.SOFT)
    assert chosen["draw 0"] == selection.Choice(second, 8.0, 1.0, 3.0), "of equal ones the first"
    assert chosen["draw 1"].error == 5.0


def test_one_solver_with_two_kernels_is_two_methods():
    solver = plan.RBF.candidates[0]
    assert solver in plan.SOFT.candidates
    rows = [scored(plan.SOFT, solver, 0, 20.0, 9.0), scored(plan.RBF, solver, 0, 19.0, 5.0)]
    choices = selection.Choices(results(*rows))
    assert (choices.errors("Spambase", plan.SOFT), choices.errors("Spambase", plan.RBF)) == ([9.0], [5.0])


def test_a_tree_that_does_not_separate_has_a_model_all_the_same():
    run = scored(plan.TREE, plan.TREE.candidates[0], 0, 20.0, 9.0, status="unfinished", reason="no node separates")
    found = results(run, scored(plan.FILTERS[2], "filtered[x]", 0, None, None, status="skipped", reason="no cleanlab"))
    assert selection.Choices(found).errors("Spambase", plan.TREE) == [9.0]
    assert "Spambase: in 1 of 1 runs of RGD no node separates" in tables.absent(found)
    assert "* `filtered[x]`: no cleanlab" in tables.absent(found)


def test_rgd_is_held_against_the_best_of_the_paper_s_three():
    errors = {plan.SOFT: [10.0], plan.CCCP: [8.0], plan.PATH: [9.0], plan.TREE: [7.0]}
    text = selection.figure4d(selection.Choices(results(*fabricated(errors))))
    assert "| Spambase | 7.00 | 8.00, ramp-cccp | ahead | +12 % (more than 5 %) (met) | 7.6 (met) |" in text
    behind = {**errors, plan.TREE: [8.5]}
    text = selection.figure4d(selection.Choices(results(*fabricated(behind, "Musk"))))
    assert "| Musk | 8.50 | 8.00, ramp-cccp | behind | -6 % | 7.0 (**missed**) |" in text


def test_rgd_is_what_validation_chooses_of_all_its_trees():
    rows = [
        scored(plan.TREE, plan.TREE.candidates[0], 0, 20.0, 5.0),
        scored(plan.APART, plan.APART.candidates[0], 0, 18.0, 7.0),
        scored(plan.BOOSTED, plan.BOOSTED.candidates[0], 0, 19.0, 6.0),
    ]
    choices = selection.Choices(results(*rows))
    assert choices.of("Spambase", plan.RGD)["draw 0"].solver == plan.APART.candidates[0]
    assert choices.errors("Spambase", plan.RGD) == [7.0]
    assert choices.errors("Spambase", plan.BOOSTED) == [6.0]


def test_table_1_marks_the_least_error():
    errors = {plan.SOFT: [10.0, 12.0], plan.TREE: [7.0, 9.0]}
    text = selection.table1(selection.Choices(results(*fabricated(errors))))
    assert "| Spambase | 4601 x 57 | 7.6 | 11.0 ± 1.4 |" in text
    assert "| **8.0** ± 1.4 |" in text
    assert text.endswith("| 2 |")


def test_chance_is_told_within_a_set_and_over_the_sets():
    soft = [10.0 + 0.1 * draw for draw in range(10)]
    errors = {plan.SOFT: soft, plan.CCCP: [5.0] * 10, plan.TREE: [each - 1.0 for each in soft], plan.RBF: soft}
    rows = [each for name in ("Spambase", "Musk") for each in fabricated(errors, name)]
    choices = selection.Choices(results(*rows))
    head, _, *lines = selection.ranks_over_draws(choices).splitlines()
    assert head == "| RGD against | soft margin | ramp-cccp | soft margin, RBF |"
    # each of the three has p = 2 / 1024; three times that
    assert lines[0] == "| Spambase | better, 0.006 | worse, 0.006 | better, 0.006 |"
    _, _, *lines = selection.ranks_over_sets(choices).splitlines()
    # two sets, both signs the same: p = 2 / 4, then 3 x 0.5 cut to 1
    assert lines[0] == "| soft margin | 2 | 2 | -1.00 | 0.500 | 1.000 |"
    assert lines[1].startswith("| ramp-cccp | 2 | 0 | +4.45 |")


def test_the_ramp_loss_against_the_hinge():
    errors = {plan.SOFT: [10.0], plan.CCCP: [9.0], plan.PATH: [11.0]}
    rows = [*fabricated(errors), *fabricated({plan.SOFT: [5.0], plan.CCCP: [6.0]}, "Musk")]
    text = selection.hinge(selection.Choices(results(*rows)))
    assert "* ramp-cccp is at least as good as the hinge on 1 of 2 sets (met)." in text
    assert "* outlier-path is at least as good as the hinge on 0 of 1 sets (**missed**)." in text
    assert "| Musk | 5.00 | 6.00 (**missed**) |  |" in text


def test_figure_4a_takes_the_rivals_at_their_best():
    name = share_name(0.05)
    rows = [row(name, plan.tree(0.05), dataset=str(k), error=0.4 + 0.2 * k, cpu=2.0) for k in range(2)]
    rows += [row(name, solver, error=1.0 + k) for k, solver in enumerate(plan.SOFT.candidates)]
    text = tables.figure4a(results(*rows))
    assert f"| 5 % | 0.500 ± 0.141 (met) | 1.000 ± 0.000, `{plan.SOFT.candidates[0]}` |  |  | 2 |" in text


def test_figure_4c_asks_for_equal_error_in_half_the_time_after_three_rounds():
    name = ratio_name(30)
    rows = [row(name, plan.tree(PLAN.share), dataset=str(draw), error=2.0, cpu=4.0) for draw in range(8)]
    rows += [
        row(name, plan.boosted(PLAN.share, k, nodes), dataset=str(draw), error=3.0 - 0.5 * k + worse, cpu=0.6 * k)
        for nodes, worse in ((50, 0.0), (15, 0.6))
        for k in PLAN.rounds
        for draw in range(8)
    ]
    lines = tables.figure4c(results(*rows)).splitlines()
    assert lines[4] == "| 2 of height 5, L = 50 | 2.000 ± 0.000 | 1.000 | 1.2 | 0.30 |  |"
    assert lines[5] == "| 3 of height 5, L = 50 | 1.500 ± 0.000 | 0.008 | 1.8 | 0.45 | (met) |"
    assert lines[9] == "| 3 of height 5, L = 15 | 2.100 ± 0.000 | 0.008 | 1.8 | 0.45 | (**missed**) |"


def test_what_right_labels_give_stands_apart():
    rows = fabricated({plan.SOFT: [10.0], plan.TREE: [9.0]})
    rows += fabricated({plan.SOFT: [8.0], plan.RBF: [7.0]}, "Spambase, clean")
    found = results(*rows)
    assert selection.Choices(found).errors("Spambase", plan.SOFT) == [10.0]
    text = selection.sections(found)["clean"]
    assert "| Spambase | 8.00 | 7.00 | 9.00, rgd-tree | 9.00 | 7.6 | no |" in text


SMALL = PLAN.small[0][0]


def test_small_problems_and_long_searches_take_no_part_in_table_1():
    rows = [
        scored(plan.TREE, plan.TREE.candidates[0], 0, 20.0, 9.0, name)
        for name in (*(name for name, _ in PLAN.small), "Spambase, effort", "Spambase")
    ]
    assert selection.Choices(results(*rows)).sets == ["Spambase"]
    assert len(selection.Choices(results(*rows)).of("Spambase", plan.TREE)) == 1


def test_distances_from_the_global_optimum_count_proved_optima_alone():
    rows = [
        row(SMALL, plan.RAMP_EXACT, dataset="a", primal=10.0),
        row(SMALL, plan.RAMP_EXACT, dataset="b", primal=10.0, status="unfinished"),
        row(SMALL, plan.RAMP[0], dataset="a", primal=12.0),
        row(SMALL, plan.RAMP[0], dataset="b", primal=11.0),
        row(SMALL, plan.RAMP[3], dataset="a", primal=None, info={"objective": 15.0}),
    ]
    found = results(*rows)
    assert tables.distances(found, SMALL, plan.RAMP[0]) == [pytest.approx(0.2)]
    assert f"| {SMALL} | `{plan.RAMP[3]}` | 0 of 1 | 50.00 | 50.0 | 50.0 |  |" in tables.exact(found)


def test_margins_over_the_widest():
    rows = [
        row(SMALL, plan.OUTLIER_EXACT, dataset=str(k), margin_lower=width) for k, width in enumerate((2.0, 4.0, 0.0))
    ]
    rows += [
        row(SMALL, plan.MARGINS[0], dataset="0", margin_lower=1.0),
        row(SMALL, plan.MARGINS[0], dataset="1", margin_lower=-1.0, status="unfinished"),
        row(SMALL, plan.MARGINS[0], dataset="2", margin_lower=-1.0, status="unfinished"),
    ]
    assert f"| {SMALL} | `{plan.MARGINS[0]}` | 1 of 2 | 0.12 | 0.12 | -0.25 |  |" in tables.margins(results(*rows))


def test_the_theorem_s_share_of_seeds():
    promise = PLAN.promises[0]
    widths = (1.9, 1.1, 0.9, -1.0)
    rows = [
        row(promise.name, promise.tree(plan.WHOLE), seed=seed, margin_lower=width, margin_upper=2.0 + seed,
            status="ok" if width > 0 else "unfinished")
        for seed, width in enumerate(widths)
    ]  # fmt: skip
    text = tables.theorem(results(*rows))
    assert f"| {promise.name} | whole | 4 of 4 | 0.500 | 0.72 (**missed**) | 0.250 | -0.50 | 0.50 | 4 |" in text


def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    metrics = {plan.VALIDATION: 20.0, plan.HELD_OUT: 7.5}
    rows = every_run(
        parts(PLAN),
        Options(repetitions=3),
        metrics=metrics,
        gamma=None,
        margin_lower=1.0,
        margin_upper=1.2,
        primal=5.0,
        info={"objective": 6.0},
    )
    costs = [level(kind, n, 100, 1e-5 * n) for kind in ("n", "n, probe n / 14") for n in (1000, 2000)]
    costs += [level("d", 5000, d, 1e-5 * d) for d in (10, 100)]
    whole = results(HEADER, *rows, *costs)
    assert_whole(STUDY, plots, whole, results(HEADER), FOLDER, tmp_path)


def test_the_published_numbers_are_complete():
    named = {*PLAN.sets, *PLAN.absent}
    assert len(named) == 10
    for name in named:
        assert all(PUBLISHED.get("table1", name, "rgd-tree", quantity) is not None for quantity in ("error", "n", "d"))
    assert {key[1] for key in PUBLISHED.values} == named
    assert all(name in tables.absent(results(row("Musk", "x", dataset="d"))) for name in PLAN.absent), (
        "the missing ones are named"
    )
