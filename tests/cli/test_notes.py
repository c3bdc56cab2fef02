"""What the command says beside the table: broken plugins, options without effect, older measurements, widths."""

import dataclasses
import gzip
import hashlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.call import request
from harness.report import output
from harness.run.messages import RunSpec
from harness.run.plan import Study

DATA = ("--datasets", "twonorm[n=200]")


@pytest.fixture
def stored(tmp_path):
    """A function that fills the default store with fabricated records."""
    from harness.run.store import Store
    from tests.report.fabricated import record

    def fill(*changes):
        with Store(tmp_path / "default.sqlite") as store:
            for change in changes:
                store.append(record(**change))

    return fill


def test_broken_plugins_are_warned_of_unless_they_are_rows(invoke, slow, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import a_module_that_is_not_there\n")
    paths = ("--plugin-path", slow, "--plugin-path", str(broken))
    warning = (
        "harness: plugin 'broken' could not be loaded: broken.py:1: it needs the package 'a_module_that_is_not_there'"
    )
    told = invoke("compare", *paths, "--plugins", "skipper", *DATA, "--formulation", "l2-svc", "-q").stderr
    assert told.startswith(warning)
    assert len(told.splitlines()) == 1
    unknown = invoke("compare", *paths, "--plugins", "nobody", *DATA)
    assert (unknown.exit_code, unknown.stderr.count(warning.removeprefix("harness: "))) == (2, 1), "said once"
    assert "could not be loaded" not in invoke("compare", *paths, "--plugins", "broken", *DATA, "-q").stderr


def spec(problem_parameters, kernel="rbf", kernel_parameters=None, formulation="c-svc"):
    return RunSpec("p", "s", {}, "d", "d", {}, formulation, problem_parameters, kernel, kernel_parameters or {}, 0, 0)


def notes(specs, **given):
    from harness.registry.discovery import load_registry

    return request.notes(Study([], [], **given), specs, load_registry(only=()))


def test_settings_without_effect():
    regression = dataclasses.replace(spec({"C": 1.0}, formulation="eps-svr"), metrics=("mse",))
    assert notes([regression], metrics=["mse", "g-means", "f1"]) == [
        "note: --metrics g-means,f1 has no effect: no run predicts labels"
    ]
    assert notes([regression], metrics=["mse"]) == []
    svm = spec({"C": 1.0, "class_weight": "none"}, kernel_parameters={"gamma": 1.0})
    assert notes([svm], problem_values={"C": [1.0], "nu": [0.2]}, kernel_values={"gamma": [1.0]}) == [
        "note: --nu has no effect: no run of c-svc takes a nu"
    ]
    linear = spec({"C": 1.0}, kernel="linear")
    assert notes([linear], kernel_values={"gamma": [1.0]}) == [
        "note: --gamma has no effect: the kernel linear has no gamma"
    ]
    hull = spec({"C": 1.0, "chi": 2.0}, formulation="l2-svc")
    assert notes([svm, hull], problem_values={"C": [1.0]}) == []
    assert notes([hull], problem_values={"C": [1.0]}) == ["note: --C has no effect: no run of l2-svc takes a C"]
    assert notes([spec({}, kernel="", formulation="")], problem_values={"nu": [1.0]}) == []


def test_values_that_the_target_gap_replaces_are_the_same_run():
    from harness.measure.outcome import Limits
    from harness.registry.discovery import load_registry

    registry = load_registry(only=("fw", "perceptron"))
    for swept, told in (("fw[epsilon=[0.1,0.01]]", True), ("fw[stride=[7,8]]", False)):
        solvers = registry.select_solvers(f"{swept},kernel-perceptron[epochs=[1,2]]")
        found = [*request.uncertifiable(Study(solvers, [], limits=Limits(target_gap=1e-3)), [], registry)]
        said = "note: fw[epsilon=0.1] and fw[epsilon=0.01] are the same run: the target gap sets epsilon"
        assert found == [said] * told
        assert not [*request.uncertifiable(Study(solvers, []), [], registry)]


@pytest.mark.parametrize(
    ("threads", "jobs", "runs", "said"),
    [
        (99, 1, 5, "--threads 99 needs 99 cores, and there are 2"),
        (1, 4, 5, "--jobs 4 needs 4 cores, and there are 2"),
        (1, 4, 2, ""),
        (2, 1, 5, ""),
    ],
)
def test_cores_that_are_not_there_are_said(monkeypatch, threads, jobs, runs, said):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    found = notes([spec({"C": 1.0})] * runs, threads=threads, jobs=jobs)
    assert len(found) == bool(said)
    assert said in " ".join(found)


def test_results_show_the_newest_measurement_of_a_run(invoke, stored):
    old = {"measured_at": "2026-05-01T12:00:00", "fit_seconds": 5.0}
    stored({**old, "key": "old"}, {"iteration_limit": 1, "cache_mb": 1.0, "seed": 1}, {"key": "new"})
    text = invoke("results").stdout
    assert "5.00" not in text
    assert "smo (iterations <= 1, cache 1 MB)" in " ".join(text.split()) or "smo (iterations <= 1" in text
    assert "1 older measurement of the same runs left out" in text
    records = json.loads(invoke("results", "--format", "json").stdout)
    assert [record["key"] for record in records] == ["new", "smo-digits"]
    assert isinstance(records[1]["iteration_limit"], int)


def test_files_of_other_suffixes(invoke, stored, tmp_path):
    import pandas as pd

    stored({})
    refused = invoke("results", "--output", str(tmp_path / "x.tex"))
    assert refused.exit_code == 2
    assert "--output: the ending .tex means no format; known: .txt, .json, .csv, .md," in refused.stderr
    for table in (["--output", str(tmp_path / "x")], ["--output", str(tmp_path / "x.log"), "--format", "table"]):
        assert invoke("results", *table).exit_code == 0
        assert "1198 x 64" in (tmp_path / table[1]).read_text(), "without a suffix it is the table's"
    assert invoke("results", "--output", str(tmp_path / "x.parquet")).exit_code == 0
    assert pd.read_parquet(tmp_path / "x.parquet")["solver"].tolist() == ["smo"]
    assert invoke("results", "--format", "parquet").exit_code == 2


def test_parts_of_a_description_of_raw_files(invoke, monkeypatch, tmp_path):
    from harness.datasets.catalogue import Adult

    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "a9a.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "adult" / "a9a.t.gz").write_bytes(b"1")
    monkeypatch.setitem(Adult.files, "adult/a9a", hashlib.sha256(b"").hexdigest())
    text = invoke("describe", "adult").stdout
    assert "adult/a9a: ok" in text
    assert "adult/a9a.t: wrong checksum, or" in text
    assert f"SHA-256 {Adult.files['adult/a9a.t']}" in text
    assert "raetsch/banana.mat: missing" in invoke("describe", "banana").stdout


@given(st.booleans(), st.integers(0, 400))
def test_width(terminal, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout.isatty", lambda: terminal)
        patch.setenv("COLUMNS", str(columns or 80))
        assert output.width() == max(60, columns or 80)
        for nothing in ("wide", "-7", "") if not terminal else ():
            patch.setenv("COLUMNS", nothing)
            assert output.width() == 100
