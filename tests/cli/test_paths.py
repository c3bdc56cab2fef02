"""``--path`` on the command line: what it reads, what it refuses, and the tables of paths."""

import csv
import io
import json

import pytest

from harness.cli import paths
from harness.errors import UsageError
from tests.run.conftest import PLUGINS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C", {"C": [2.0**k for k in range(-5, 16, 2)]}),
        ("gamma, C", {"gamma": [2.0**k for k in range(-15, 4, 2)], "C": [2.0**k for k in range(-5, 16, 2)]}),
        ("C=1", {"C": [1.0]}),
        ("C=[0.1,1,1e1]", {"C": [0.1, 1.0, 10.0]}),
        ("C=[1,2^3..2^5:2]", {"C": [1.0, 8.0, 16.0, 32.0]}),
        ("epsilon=[0.1,0.2],C=2^-1..2^4:2^2", {"epsilon": [0.1, 0.2], "C": [0.5, 2.0, 8.0]}),
        ("C=1..1000:10", {"C": [1.0, 10.0, 100.0, 1000.0]}),
        ("C=1..999:10", {"C": [1.0, 10.0, 100.0]}),
        ("C=1e-1..1e1/3", {"C": [0.1, 1.0, 10.0]}),
        ("C=3..3:2", {"C": [3.0]}),
        ("C=[1,1,1]", {"C": [1.0]}),
    ],
)
def test_values_of_a_path(text, expected):
    found = paths.path(text)
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "part without a parameter"),
        ("C,", "part without a parameter"),
        ("C=", "part without a value"),
        ("C,C=1", "C is given twice"),
        ("epsilon", "say which epsilon takes"),
        ("C=x", "C=x is no number, list or range"),
        ("C=[1,x]", "is no number, list or range"),
        ("C=10..1:2", "is no number, list or range"),
        ("C=1..10:1", "is no number, list or range"),
        ("C=0..10:2", "is no number, list or range"),
        ("C=1..10/1", "is no number, list or range"),
        ("C=1..10/0.5", "is no number, list or range"),
        ("C=1..10", "is no number, list or range"),
        ("C=nan", "is no number, list or range"),
        ("C=0^-1", "is no number, list or range"),
        ("C=1e-300..1e300:1.0000001", "at most 10,000"),
        ("C=[1,2", "without its"),
    ],
)
def test_what_is_no_path_is_refused_in_a_sentence(text, reason):
    with pytest.raises(UsageError, match=reason) as error:
        paths.path(text)
    assert str(error.value).endswith(".")


@pytest.fixture
def asked():
    plugin = str(PLUGINS / "paths.py")
    return (
        "compare", "--plugin-path", plugin, "--plugins", "nothing", "--datasets", "twonorm[n=60]", "--path",
        "C=[1,2],gamma=0.1", "--folds", "2",
    )  # fmt: skip


@pytest.mark.usefixtures("warm_sessions")
def test_a_path_in_every_format(invoke, asked, tmp_path):
    shown = invoke(*asked, "--cold")
    assert shown.exit_code == 0, shown.stderr
    assert "twonorm[n=60]: 60 x 20" in shown.stdout
    assert "path of 2 C x 1 gamma, 2 folds" in shown.stdout
    warm, cold = (line.split() for line in shown.stdout.splitlines() if line.startswith("nothing"))
    assert cold[1] == "(cold)"
    assert "C=1" in warm  # of equals the smallest
    assert max(map(len, shown.stdout.splitlines())) <= 100
    assert "nothing cold path c-svc" in shown.stderr
    for form, rows in (("json", 12), ("csv", 12)):
        again = invoke(*asked, "--cold", "--format", form)
        found = json.loads(again.stdout) if form == "json" else list(csv.DictReader(io.StringIO(again.stdout)))
        assert len(found) == rows
        assert all(row["reused"] in (True, "true") for row in found)
    assert "| nothing (cold) |" in invoke(*asked, "--cold", "--format", "markdown").stdout
    file = tmp_path / "rows.parquet"
    assert invoke(*asked, "--output", str(file)).exit_code == 0
    import pandas as pd

    frame = pd.read_parquet(file)
    assert list(frame["fold"].dropna()) == [0, 0, 1, 1]
    assert frame["shared_seconds"].notna().all()
    cells = invoke(*asked, "--cells").stdout
    assert "nothing (path)" in cells
    assert "nothing (refit of path)" in cells


@pytest.mark.usefixtures("warm_sessions")
def test_results_show_paths_and_their_cells_where_asked(invoke, asked):
    invoke(*asked)
    shown = invoke("results").stdout
    assert "path of 2 C x 1 gamma, 2 folds" in shown
    assert "nothing (path)" not in shown
    assert "nothing (path)" in invoke("results", "--cells").stdout
    assert len(json.loads(invoke("results", "--format", "json").stdout)) == 6
    assert len(json.loads(invoke("results", "--format", "json", "--limit", "2").stdout)) == 2


def test_a_dry_run_counts_paths(invoke, asked):
    shown = invoke(*asked, "--cold", "--dry-run")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.startswith("2 runs: 2 starts; nothing is carried out")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--folds", "1"), "'1' is not a whole number >= 2"),
        (("--C", "3"), "--C and --path C"),
        (("--gamma", "3"), "--gamma and --path gamma"),
        (("--iteration-limit", "3"), "--iteration-limit is about one problem"),
    ],
)
def test_options_that_do_not_go_with_a_path(invoke, asked, options, reason):
    found = invoke(*asked, *options)
    assert found.exit_code == 2
    assert reason in " ".join(found.stderr.split())
