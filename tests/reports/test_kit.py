"""The kit of the studies: the tidy table, estimates from pairs, and measuring through `harness.compare`."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats

from harness.cli.main import cli
from reports.kit import estimates, rows
from reports.kit.measure import Measuring
from reports.kit.results import Results
from reports.kit.study import Study

RUN = {"paper": "p", "figure": "table1", "set": "s", "solver": "a", "seed": 0, "dataset": "d", "status": "ok"}
RUN |= {"session": "x", "date": "2"}
NOTHING = pd.DataFrame(columns=["figure", "set", "solver", "quantity", "value", "quote"])


def table_of(*runs: tuple[dict, dict]) -> pd.DataFrame:
    """Return the tidy table of runs: what each is, and its quantities at its end."""
    return rows.tidy(
        ({**RUN, **of_run}, [(name, rows.END, value) for name, value in values.items()]) for of_run, values in runs
    )


def results_of(*runs: tuple[dict, dict], published: pd.DataFrame = NOTHING) -> Results:
    return Results(rows.joined([table_of(*runs)], Results(rows.tidy([]), published).expressed), published)


def test_a_record_becomes_rows_with_units() -> None:
    record = {
        "fit_seconds": 2.0, "cpu_seconds": 1.5, "test_accuracy": 0.9, "kernel_evaluations": 7, "peak_rss_bytes": 2**21,
        "info": {"conversion_seconds": 0.5, "delta": 3, "word": "no number", "levels": [{"epsilon": 0.1}, {"epsilon": 0.01}]},
        "metrics": {"prbep": 0.5, "scores": list(range(500))},
        "trace": [{"seconds": 1.0, "test_accuracy": 0.5, "info": {"delta": 1}}],
    }  # fmt: skip
    values = {(name, point): value for name, point, value in rows.quantities(record)}
    assert values["seconds", -1] == 1.5  # without the conversion of the data
    expected = {("error", -1): 10.0, ("error", 0): 50.0, ("info.levels.epsilon", 1): 0.01, ("info.delta", 0): 1}
    expected |= {("peak_memory", -1): 2.0}
    assert {key: values[key] for key in expected} == pytest.approx(expected)
    assert not any(name.startswith(("info.word", "metrics.scores", "info.conversion")) for name, _ in values)
    names = ("cpu", "error", "info.last_cpu", "kernel_evaluations")
    assert [rows.unit_of(name) for name in names] == ["s", "%", "s", ""]


def test_the_newest_run_counts_and_a_printed_number_stands_beside_it(tmp_path: Path) -> None:
    printed = pd.DataFrame([("table1", "s", "a", "error", 8.0, "a 8.0")], columns=list(NOTHING.columns))
    old, new = table_of(({}, {"error": 9.0})), table_of(({"date": "3"}, {"error": 7.5}), ({"seed": 1}, {"error": 6.0}))
    for order in ([old, new], [new, old]):
        whole = rows.joined(order, Results(rows.tidy([]), printed).expressed)
        assert sorted(whole["value"]) == [6.0, 7.5]
        assert set(whole["published"]) == {8.0}
        assert sorted(whole["run"]) == [0, 1]
    rows.write(whole, tmp_path / "results.parquet")
    pd.testing.assert_frame_equal(rows.read(tmp_path / "results.parquet"), whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.parquet"]
    coverage = Results(whole, printed).coverage()
    assert list(coverage["state"]) == ["by protocol"]
    assert list(Results(rows.tidy([]), printed).coverage()["state"]) == ["missing"]


def test_pairs_are_of_one_set_one_draw_and_of_one_session_where_it_is_time() -> None:
    """Pairs over the wrong draws would have a larger spread: each draw adds its own hundred to both solvers."""
    draws = [({"dataset": f"d{k}", "solver": solver}, {"error": 100.0 * k + (solver == "b"), "cpu": 2.0 + (solver == "b")})
             for k in range(5) for solver in "ab"]  # fmt: skip
    runs = results_of(*draws).runs()
    (difference,) = estimates.differences(runs, "b", "a", "error")
    assert (difference.value, difference.low, difference.high, difference.runs) == (1.0, 1.0, 1.0, 5)
    (times,) = estimates.ratios(runs, "b", "a", "cpu")
    assert times.value == pytest.approx(1.5)
    assert estimates.ratios(runs.assign(session=runs["solver"]), "b", "a", "cpu") == []
    assert len(estimates.differences(runs.assign(session=runs["solver"]), "b", "a", "error")) == 1
    once = runs[(runs["solver"] == "b") | (runs["dataset"] == "d0")].assign(dataset="d0", seed=range(6))
    (alone,) = estimates.differences(once, "b", "a", "error")  # a single run of one that uses no chance
    assert alone.runs == 5


def some(*words: bool | None, aspect: str = "", **how: Any) -> list[estimates.Estimate]:
    """Return estimates of the criterion 'at most 1', each met, not met or undecided by ten runs."""
    value = {True: 0.0, False: 2.0, None: 1.0}
    spread = [estimates.Student(value[word], 0.1, 10) for word in words]
    return [
        estimates.Estimate("x", interval.mean, interval, 10, aspect=aspect, **how).at_most(1.0) for interval in spread
    ]


LONE = [estimates.mean_of("x", [0.0]).at_most(1.0)]
SAMPLED_NOTHING = some(True, degenerate="took all points")


@pytest.mark.parametrize(
    ("word", "claimed"),
    [
        ("holds", some(True, True, None)),
        ("holds", some(True, None)),
        ("does not hold", some(False, None)),
        ("undecided", some(True, None, None)),
        ("undecided", some(False, None, None)),
        ("undecided", [*some(True), *LONE, *LONE]),
        ("depends", some(True, False)),
        ("not tested", LONE),
        ("not tested", []),
        ("degenerate", SAMPLED_NOTHING),
        ("holds", [*some(True), *SAMPLED_NOTHING, *SAMPLED_NOTHING]),
        ("does not hold", [*some(True, aspect="time"), *some(False, aspect="error")]),
        ("undecided", [*some(True, aspect="time"), *some(None, aspect="error")]),
    ],
)
def test_the_rule_of_verdicts_is_symmetric_and_needs_every_aspect(word: str, claimed: list[estimates.Estimate]) -> None:
    assert estimates.verdict(claimed) == word
    opposite = [replace(estimate, least=estimate.most, most=math.inf) for estimate in claimed]
    mirrored = {"holds": "does not hold", "does not hold": "holds"}
    if len({estimate.aspect for estimate in claimed}) < 2:
        assert estimates.verdict(opposite) == mirrored.get(word, word)


def test_the_intervals_of_a_claim_hold_together() -> None:
    (one,) = estimates.joint_intervals(some(True))
    assert one.high == pytest.approx(0.1 * stats.t.ppf(0.975, 9))
    for several in estimates.joint_intervals(some(*[True] * 5)):
        assert several.high == pytest.approx(0.1 * stats.t.ppf(1 - 0.025 / 5, 9))
    (lone,) = LONE
    assert (lone.is_met, lone.has_interval, lone.text()) == (None, False, "x +0.00 (one run)")
    assert estimates.share("x", 0, 20).at_most(0.2).is_met


def test_a_ratio_of_times_is_known_to_a_factor_or_better() -> None:
    one, two, ten = (estimates.geometric("x", values, timed=True) for values in ([2.0], [1.0, 4.0], [2.0, 2.1] * 5))
    assert [(each.low, each.high) for each in (one, two)] == [pytest.approx((2 / 1.5, 3.0))] * 2
    assert 1.9 < ten.low < ten.high < 2.2
    assert estimates.geometric("x", [1.0, 4.0]).high > 100.0


def test_equal_accuracy_is_a_margin_and_no_lack_of_evidence() -> None:
    """0.03 points more of 2.8 % are few, however sure they are; a wide interval around 0 shows nothing."""
    sure, vague = (
        estimates.Estimate("x", at, estimates.Student(at, error, 10), 10) for at, error in ((0.03, 0.001), (0.0, 1.0))
    )
    assert (sure.as_accurate(2.8).is_met, vague.as_accurate(2.8).is_met) == (True, None)


@pytest.mark.parametrize(
    ("r", "rounds", "reason"), [(10, 3, ""), (100, 1, "took all points"), (100, 3, "took all points")]
)
def test_a_sampler_that_took_all_points_says_nothing(r: int, rounds: int, reason: str) -> None:
    runs = pd.DataFrame([{"set": "x", "solver": "a", "info.r": r, "info.rounds": rounds, "n_train": 100}])
    (estimate,) = estimates.unless_degenerate(some(True), runs, "a")
    assert estimate.degenerate == reason
    assert estimate.is_met is (None if reason else True)


TINY = {
    "figure": "table1", "set": "rings", "plugins": ["smo-block", "lasvm"], "datasets": ["ringnorm[n=60,n_test=40]"], "C": 1.0,
    "runs": 3,
}  # fmt: skip


def tiny(quick: bool) -> list[dict]:
    absent = {**TINY, "set": "absent", "plugins": ["smo-block"], "datasets": ["twonorm-raetsch", "nowhere"]}
    chosen = {**TINY, "figure": "choice", "plugins": ["smo-block"], "folds": 2, "path": {"C": [0.1, 1.0]}}
    return [TINY, absent, {key: value for key, value in chosen.items() if key != "C"}]


def after(quick: bool, results: Results) -> list[dict]:
    best = results.runs("choice")["C"].iloc[0]
    return [{**TINY, "figure": "after", "plugins": [f"smo-block[C={best:g}]"]}]


MEASUREMENTS = {"own": lambda quick: [{"set": "rings", "solver": "hand", "quantity": "seconds", "value": 0.5}]}
STUDY = Study(name="first-comparison", title="tiny", plan=tiny, later={"after": after}, measurements=MEASUREMENTS)


@pytest.mark.slow
def test_a_plan_is_measured_goes_on_and_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))  # no raw data

    def measure(keep: bool = False) -> Measuring:
        measuring = Measuring(STUDY, tmp_path, store=tmp_path / "runs.sqlite", keep=keep, quiet=True)
        for part in STUDY.parts(quick=True):
            measuring.part(part)
        return measuring

    assert STUDY.parts(quick=True) == ["table1", "choice", "after", "own"]
    first = measure()
    every = first.results.every
    assert first.failures == 2
    assert list(every.loc[every["status"] == "missing", "dataset"]) == ["twonorm-raetsch", "nowhere"]
    assert set(every.loc[every["figure"] == "table1", "protocol"]) == {"1 of 3 runs", "0 of 3 runs"}
    chosen = first.results.runs("choice").iloc[0]
    assert chosen["C"] in (0.1, 1.0)
    assert chosen["info.choice_seconds"] > chosen["seconds"]
    assert list(first.results.runs("after")["solver"]) == [f"smo-block[C={chosen['C']:g}]"]
    origin = first.results.runs()[["commit", "command", "machine", "date"]]
    assert (origin != "").all(axis=None)
    assert origin["command"].str.startswith("harness reproduce first-comparison --full --part").all()
    again, ours = measure(), ["figure", "solver", "date", "error"]  # from the store
    before, after_it = (each.results.runs(["table1", "after"])[ours] for each in (first, again))
    pd.testing.assert_frame_equal(after_it, before)
    (tmp_path / "runs.sqlite").unlink()
    assert measure(keep=True).results.runs("table1")["date"].tolist() == first.results.runs("table1")["date"].tolist()


def test_the_command_lists_studies_and_refuses_what_is_not_there(tmp_path: Path) -> None:
    for words, code, output in (
        ("", 0, "first-comparison"),
        ("first-comparison", 0, "anytime"),
        ("nothing --quick", 2, "no study 'nothing'"),
        ("first-comparison --quick --part figure9", 2, "has no figure9; it has anytime"),
        ("first-comparison --part anytime", 2, "give --quick or --full"),
        ("first-comparison --quick --sets moon", 2, "has no moon"),
        ("first-comparison --quick --into-reports", 2, "leave out --quick"),
        (f"first-comparison --page --out {tmp_path}", 2, "holds no results"),
        ("--quick", 2, "name a study"),
    ):
        outcome = CliRunner().invoke(cli, ["reproduce", *words.split()])
        assert (outcome.exit_code, output in outcome.output) == (code, True), words
