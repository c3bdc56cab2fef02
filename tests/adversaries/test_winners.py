"""Who would win by what is not seen: values computed of the points, an answer that was kept, memory of another process."""

import numpy as np
import pytest

import harness
from harness.report.table import render
from tests.adversaries.plugins import wrong_winners
from tests.run.conftest import check_end


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("winners"), np.random.default_rng(0)
    x = rng.normal(size=(150, 4))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0)
    solvers, options = ["descent", "remembers", "elsewhere", "smo"], {"kernel": "linear", "C": 1.0, "repeat": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMEMBERED", str(folder))
        return compare(folder, solvers, (x, y, x[:9], y[:9]), target_gap=1e-3, **options)


def compare(folder, solvers, data="twonorm[n=100]", **options):
    options = {"formulation": "c-svc-nobias", "quiet": True, **options}
    return harness.compare(solvers, data, plugin_path=wrong_winners.__file__, store=folder / "s.sqlite", **options)


def runs(result, label):
    found = [record for record in result.records if record["label"] == label]
    assert [record["status"] for record in found] == ["ok", "ok"], found[0]["reason"]
    return found


def row(result, label):
    return next(line for line in render(result.records, width=200).splitlines() if line.startswith(label))


def test_values_of_a_linear_kernel_computed_from_its_points_are_at_least(result):
    assert [each["evaluations_at_least"] for each in runs(result, "descent")] == [True, True]
    assert not any(each["evaluations_at_least"] for each in runs(result, "smo"))
    assert "≥0 " in row(result, "descent")


@pytest.mark.parametrize("target", [None, 1e-2])
def test_neither_is_best_by_kernel_evaluations(result, target):
    (line,) = result.best("kernel_evaluations", target=target).to_dict("records")
    assert {line["solver"], *line["ties"]} <= {"smo", "elsewhere"}


def test_repetitions_that_differ_are_named_and_rank_nowhere(result):
    first, second = (each["kernel_evaluations"] for each in runs(result, "remembers"))
    assert (first > 0, second) == (True, 0)
    text = " ".join(render(result.records).split())
    assert f"remembers: 0 and {first:,} kernel evaluations with the same seed" in text
    assert text.count("with the same seed") == 1
    seconds, evaluations = row(result, "remembers").replace("±", " ").split()[1:4:2]
    assert not (seconds + evaluations).count("*")
    for cost in ("time", "kernel_evaluations"):
        (line,) = result.best(cost).to_dict("records")
        assert "remembers" not in {line["solver"], *line["ties"]}


@pytest.mark.parametrize(
    ("solver", "words"), [("keeps-model", "(1, 1, 0), before (1, 1, "), ("continues", "another model")]
)
def test_a_solver_whose_later_fits_are_not_the_first_one_is_invalid(solver, words, tmp_path):
    (record,) = compare(tmp_path, solver).records
    check_end(record, "invalid", words)
    assert (record["stopped_by"], record["steady_fit_seconds"]) == ("fault", None)


def test_the_peak_of_memory_is_that_of_all_that_a_run_started(result):
    peak = {label: min(each["peak_rss_bytes"] for each in runs(result, label)) for label in ("elsewhere", "smo")}
    assert peak["elsewhere"] > peak["smo"] + 0.7 * wrong_winners.HELD


@pytest.mark.parametrize(
    ("fault", "options", "words"),
    [
        ("drawn", {"C": 1.0, "target_gap": 1e-3}, "is not one function"),
        ("drawn", {"path": {"C": [1.0, 10.0]}}, "is not one function"),
        ("negated", {"C": 1.0}, "is not positive semi-definite"),
        ("negated", {"path": {"C": [1.0, 10.0]}}, "is not positive semi-definite"),
        ("wide", {"path": {"C": [1.0], "gamma": [0.1, 2.0]}}, "is not positive semi-definite"),
    ],
)
def test_a_kernel_that_is_none_or_another_one_in_each_process_is_an_invalid_run_or_cell(
    tmp_path, fault, options, words
):
    found = compare(tmp_path, "smo", kernel=f"faulty[fault={fault}]", **options)
    records = [each for record in found.records for each in (record.cells or [record])]
    (refused,) = [each for each in records if each["status"] == "invalid"]
    assert refused["relative_gap"] is None
    assert words in refused["reason"]
