"""Who would win by what is not seen: values computed of the points, an answer that was kept, memory of another process."""

import numpy as np
import pytest

import harness
from harness.report.table import render
from tests.adversaries.plugins import wrong_winners


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("winners")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 4))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMEMBERED", str(folder))
        return harness.compare(
            ["descent", "remembers", "elsewhere", "smo"], (x, y, x[:9], y[:9]),
            plugin_path=wrong_winners.__file__, store=folder / "s.sqlite", kernel="linear", C=1.0, target_gap=1e-3, repeat=2,
            quiet=True, formulation="c-svc-nobias",
        )  # fmt: skip


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
    ("solver", "difference"),
    [("keeps-model", "took 0 kernel evaluations, the first one"), ("continues", "has another model")],
)
def test_a_solver_whose_later_fits_are_not_the_first_one_is_invalid(solver, difference, tmp_path):
    (record,) = harness.compare(
        solver, "twonorm[n=100]", plugin_path=wrong_winners.__file__, store=tmp_path / "s", quiet=True
    ).records
    assert (record["status"], record["stopped_by"]) == ("invalid", "fault")
    assert record["reason"].startswith(f"solver '{solver}' remembers: a later fit of the same problem {difference}")
    assert record["steady_fit_seconds"] is None


def test_the_peak_of_memory_is_that_of_all_that_a_run_started(result):
    peak = {label: min(each["peak_rss_bytes"] for each in runs(result, label)) for label in ("elsewhere", "smo")}
    assert peak["elsewhere"] > peak["smo"] + 0.7 * wrong_winners.HELD


@pytest.mark.parametrize("asked", [{"C": 1.0, "target_gap": 1e-3}, {"path": {"C": [1.0, 10.0]}}])
def test_a_kernel_that_is_another_one_in_each_process_is_an_invalid_run(tmp_path, asked):
    found = harness.compare(
        "smo", "twonorm[n=100]", plugin_path=wrong_winners.__file__, kernel="faulty[fault=drawn]", store=tmp_path / "s",
        quiet=True, formulation="c-svc-nobias", **asked,
    )  # fmt: skip
    (record,) = found.records
    assert (record["status"], record["relative_gap"]) == ("invalid", None)
    assert record["reason"].startswith(
        "the kernel 'faulty' is not one function: between the same points its values in the"
    )


@pytest.mark.parametrize(
    ("fault", "asked", "invalid"),
    [
        ("negated", {"C": 1.0}, 1),
        ("negated", {"path": {"C": [1.0, 10.0]}}, 1),
        ("wide", {"path": {"C": [1.0], "gamma": [0.1, 2.0]}}, 1),
    ],
)
def test_a_kernel_that_is_none_is_an_invalid_run_or_cell_and_what_was_found_is_said(tmp_path, fault, asked, invalid):
    found = harness.compare(
        "smo", "twonorm[n=100]", plugin_path=wrong_winners.__file__, kernel=f"faulty[fault={fault}]", store=tmp_path / "s",
        quiet=True, formulation="c-svc-nobias", **asked,
    )  # fmt: skip
    records = [each for record in found.records for each in (record.cells or [record])]
    refused = [each for each in records if each["status"] == "invalid"]
    assert len(refused) == invalid
    for record in refused:
        assert record["relative_gap"] is None
        assert f"kernel 'faulty' (fault={fault}, gamma=" in record["reason"]
        assert "is not positive semi-definite: the matrix of 64 points has eigenvalues from -" in record["reason"]
