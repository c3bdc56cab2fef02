"""Which solver is called best, and when that is called sure."""

import pytest

from harness import UsageError
from harness.call.best import best_of
from tests.report.fabricated import record


def runs(solver, seconds, **fields):
    return [record(solver, cpu_seconds=value, fit_seconds=2 * value, repetition=i, target_gap=1e-3, **fields)
            for i, value in enumerate(seconds)]  # fmt: skip


def test_a_solver_that_differs_by_less_than_the_noise_is_not_told_apart():
    best = best_of(
        [*runs("smo", [1.0, 1.2, 1.2, 1.4]), *runs("lasvm", [1.3, 1.5, 1.5, 1.7]), *runs("fw", [9.0, 9.1, 9.2])],
        "time",
        None,
    )
    (place,) = best.places
    assert (place.solver, place.value, place.interval) == ("smo", 1.2, (1.0, 1.4))
    assert (place.ties, place.beaten, place.sure, best.sure) == (("lasvm",), ("fw",), False, False)
    assert str(place).endswith("smo, 1.20 s (1.00 to 1.40), not told apart from lasvm.")
    assert best.solver == "smo"
    apart = best_of([*runs("smo", [1.0, 1.2]), *runs("lasvm", [2.3, 2.5])], "time", None)
    assert apart.sure
    assert str(apart).endswith("told apart from lasvm.")


def test_only_who_did_what_was_asked_competes():
    best = best_of([*runs("smo", [1.0]), *runs("lasvm", [0.1], status="missed")], "time", None)
    assert (best.solver, best.places[0].out) == ("smo", ("lasvm",))
    assert "the only one that did what was asked" in str(best)
    nobody = best_of(runs("lasvm", [0.1], status="missed"), "time", None)
    assert (nobody.solver, nobody.sure) == ("", False)
    assert "no solver did what was asked" in str(nobody)


def test_the_time_to_a_target_comes_from_the_trace():
    points = [
        {"seconds": 2.0, "cpu_seconds": 1.0, "relative_gap": 1e-2, "gap_rounding": 0.0, "kernel_evaluations": 10},
        {"seconds": 4.0, "cpu_seconds": 3.0, "relative_gap": 1e-4, "kernel_evaluations": 30},
    ]
    slow = runs("smo", [9.0], trace=points, relative_gap=1e-6)
    short = runs("lasvm", [0.5], trace=[], relative_gap=5e-3, status="missed")
    assert best_of([*slow, *short], "time", 1e-2).solver == "lasvm"
    found = best_of([*slow, *short], "time", 1e-3)
    assert (found.solver, found.places[0].value, found.places[0].out) == ("smo", 3.0, ("lasvm",))
    assert best_of(slow, "kernel_evaluations", 1e-2).places[0].value == 10
    assert best_of(slow, "time", 1e-5).places[0].value == 9.0


def test_of_scores_more_is_better_and_of_losses_less():
    both = [*runs("smo", [1.0], test_accuracy=90.0, metrics={"f1": 0.5, "mse": 2.0}),
            *runs("lasvm", [1.0], test_accuracy=95.0, metrics={"f1": 0.4, "mse": 3.0})]  # fmt: skip
    assert best_of(both, "test_accuracy", None).solver == "lasvm"
    assert best_of(both, "metrics.f1", None).solver == "smo"
    assert best_of(both, "metrics.mse", None).solver == "smo"


@pytest.mark.parametrize(
    ("by", "target", "message"),
    [
        ("tim", None, r"by='tim' is no figure that is ranked \(did you mean 'time'"),
        ("test_accuracy", 1e-3, "a gap above 0 has a time or kernel evaluations until it"),
        ("time", -1.0, "target=-1.0"),
    ],
)
def test_what_cannot_be_asked(by, target, message):
    with pytest.raises(UsageError, match=message):
        best_of(runs("smo", [1.0]), by, target)


def test_costs_of_runs_that_stop_where_they_want_do_not_compare():
    loose = [{**each, "target_gap": None} for each in [*runs("smo", [1.0]), *runs("lasvm", [2.0])]]
    with pytest.raises(UsageError, match=r"ask for best\(target=1e-3\), or give target_gap=1e-3"):
        best_of([type(runs("smo", [1.0])[0])(each) for each in loose], "time", None)
