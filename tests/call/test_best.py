"""Which solver is called best, and when that is called sure."""

import pytest

from harness import UsageError
from harness.call.best import best_of
from tests.report.fabricated import record


def runs(solver, seconds, **fields):
    return [record(solver, cpu_seconds=value, fit_seconds=2 * value, repetition=i, target_gap=1e-3, **fields)
            for i, value in enumerate(seconds)]  # fmt: skip


def only(records, by="time", target=None):
    """The one line of one data set."""
    (line,) = best_of(records, by, target).to_dict("records")
    return line


def test_a_solver_that_differs_by_less_than_the_noise_is_not_told_apart():
    place = only(
        [*runs("smo", [1.0, 1.2, 1.2, 1.4]), *runs("lasvm", [1.3, 1.5, 1.2, 1.4]), *runs("fw", [9.0, 9.1, 9.2])]
    )
    assert (place["solver"], place["time"], place["low"], place["high"]) == ("smo", 1.2, 1.0, 1.4)
    assert place["ties"] == ["lasvm"]


def test_only_who_did_what_was_asked_competes():
    place = only([*runs("smo", [1.0]), *runs("lasvm", [0.1], status="missed")])
    assert (place["solver"], place["ties"]) == ("smo", [])
    assert only(runs("lasvm", [0.1], status="missed"))["solver"] == ""


def test_the_time_to_a_target_comes_from_the_trace():
    points = [
        {"seconds": 2.0, "cpu_seconds": 1.0, "relative_gap": 1e-2, "gap_rounding": 0.0, "kernel_evaluations": 10},
        {"seconds": 4.0, "cpu_seconds": 3.0, "relative_gap": 1e-4, "kernel_evaluations": 30},
    ]
    slow = runs("smo", [9.0], trace=points, relative_gap=1e-6)
    short = runs("lasvm", [0.5], trace=[], relative_gap=5e-3, status="missed")
    assert only([*slow, *short], target=1e-2)["solver"] == "lasvm"
    found = only([*slow, *short], target=1e-3)
    assert (found["solver"], found["time"], found["ties"]) == ("smo", 3.0, [])
    assert only(slow, "kernel_evaluations", 1e-2)["kernel_evaluations"] == 10
    assert only(slow, target=1e-5)["time"] == 9.0


def test_a_metric_says_which_end_is_better_and_by_one_that_does_not_nobody_is_ranked():
    said = {"log-loss": "low", "gain": "high", "plain": None}
    figures = {"f1": 0.5, "mse": 2.0, "log-loss": 0.34, "gain": 0.34, "plain": 1.0}
    both = [*runs("smo", [1.0], test_accuracy=90.0, metrics=figures, metrics_better=said),
            *runs("lasvm", [1.0], test_accuracy=95.0, metrics_better=said,
                  metrics={"f1": 0.4, "mse": 3.0, "log-loss": 0.58, "gain": 0.58, "plain": 2.0})]  # fmt: skip
    assert only(both, "test_accuracy")["solver"] == "lasvm"
    best = {name: only(both, f"metrics.{name}")["solver"] for name in figures if name != "plain"}
    assert best == {"f1": "smo", "mse": "smo", "log-loss": "smo", "gain": "lasvm"}, "the host's own need not say it"
    with pytest.raises(UsageError, match=r"'metrics\.plain' is no figure that is ranked"):
        only(both, "metrics.plain")


def test_a_formulations_column_ranks_as_its_records_declare():
    declared = {"misses": {"better": "low"}, "margin_lower": {"better": "high"}, "below": {"better": None}}
    both = [*runs("smo", [1.0], columns=declared, figures={"misses": 0.25, "below": 3}, margin_lower=1.0),
            *runs("qp", [1.0], columns=declared, figures={"misses": 0.5, "below": 4}, margin_lower=2.0)]  # fmt: skip
    assert only(both, "figures.misses")["solver"] == "smo"
    assert only(both, "margin_lower")["solver"] == "qp"
    with pytest.raises(UsageError, match=r"'figures\.below' is no figure that is ranked"):
        only(both, "figures.below")


@pytest.mark.parametrize(
    ("by", "target", "message"),
    [
        ("tim", None, r"by='tim' is no figure that is ranked \(did you mean 'time'"),
        ("test_accuracy", 1e-3, "is a gap above 0, of by='time' or"),
        ("time", -1.0, "target=-1.0"),
    ],
)
def test_what_cannot_be_asked(by, target, message):
    with pytest.raises(UsageError, match=message):
        best_of(runs("smo", [1.0]), by, target)


def test_costs_of_runs_that_stop_where_they_want_do_not_compare():
    loose = [{**each, "target_gap": None} for each in [*runs("smo", [1.0]), *runs("lasvm", [2.0])]]
    with pytest.warns(UserWarning, match=r"ask for best\(target=1e-3\)") as warned:
        nothing = best_of([type(runs("smo", [1.0])[0])(each) for each in loose], "time", None)
    assert nothing.empty
    assert list(nothing.columns) == ["dataset", "solver", "time", "low", "high", "ties"]
    assert nothing.attrs["reason"] == str(warned[0].message)


def test_a_model_without_a_gap_is_best_by_the_dual_of_another():
    """By suboptimality, and by the time until it was certified below a target, from the trace."""
    exact = {"primal": 10.0, "dual": 9.99, "relative_gap": 1e-3}
    points = [
        {"seconds": 0.4, "cpu_seconds": 0.2, "primal": 12.0},
        {"seconds": 0.6, "cpu_seconds": 0.3, "primal": 10.001},
    ]
    free = {"primal": 10.0, "dual": None, "relative_gap": None, "trace": points}
    both = [*runs("qp", [1.0], **exact), *runs("pegasos", [0.5], **free)]
    found = only(both, "suboptimality")
    assert (found["solver"], found["suboptimality"]) == ("qp", pytest.approx(1e-3))
    assert found["ties"] == ["pegasos"], "the same primal value"
    assert (only(both, target=2e-3)["solver"], only(both, target=2e-3)["time"]) == ("pegasos", 0.3)
    assert only(both, target=1e-4)["solver"] == ""


def test_costs_are_best_within_a_problem_and_test_figures_within_a_data_set():
    other = {"formulation": "l2-svc", "problem_parameters": {"C": 10.0, "chi": 10.0}}
    both = [*runs("smo", [1.0], test_accuracy=0.5), *runs("lasvm", [2.0], test_accuracy=0.5),
            *runs("smo", [4.0], test_accuracy=0.5, **other), *runs("fw", [0.1], test_accuracy=0.9, **other)]  # fmt: skip
    lines = best_of(both, "time", None).to_dict("records")
    assert [(line["dataset"], line["solver"], line["ties"]) for line in lines] == [
        ("digits c-svc C=10", "smo", ["lasvm"]),
        ("digits l2-svc chi=10", "fw", []),
    ]
    assert only(both, "test_accuracy")["solver"] == "fw l2-svc chi=10"
