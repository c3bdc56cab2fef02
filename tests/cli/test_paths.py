"""``--path`` on the command line: the tables of paths, and what does not go with one."""

import csv
import io
import json
import re

import pytest

from tests.run.conftest import PLUGINS


@pytest.fixture
def asked():
    plugin = str(PLUGINS / "steps.py")
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
    assert "No winner" not in shown.stdout
    warm, cold = (line.split() for line in shown.stdout.splitlines() if line.startswith("nothing"))
    assert cold[1] == "(cold)"
    assert "C=1" in warm  # of equals the smallest
    assert max(map(len, shown.stdout.splitlines())) <= 100
    assert "nothing on twonorm[n=60], cold path, c-svc" in shown.stderr
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
    assert "nothing (refit of" in cells
    assert re.search(r"^nothing \(path\) .* \d+\.\d\d % ok$", cells, flags=re.MULTILINE), "the CV error"


@pytest.mark.usefixtures("warm_sessions")
def test_the_errors_of_a_path_are_drawn_below_its_table(invoke, asked, monkeypatch):
    values = ",".join(map(str, range(1, 31)))
    wide = [*asked[:-3], f"C=[1,2],gamma=[{values}]", "--folds", "2", "-q", "--plot"]
    for columns in (80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        picture = invoke(*wide).stdout.partition(
            "\nnothing on twonorm[n=60], c-svc, 2 folds: CV error, %. [ ]: chosen."
        )[2]
        lines = picture.splitlines()
        assert max(map(len, lines)) <= columns
        assert len([word for line in lines if line.startswith("1 ") for word in line.split()[1:] if word != "\\"]) == 30
        assert picture.count("[") == 1, "of equals the smallest"


@pytest.mark.usefixtures("warm_sessions")
def test_a_path_without_folds_says_that_nothing_is_chosen(invoke, asked):
    advice = "No cell is chosen without folds; add --folds 5."
    assert advice in invoke(*asked[:-2]).stdout
    assert advice not in invoke(*asked).stdout
