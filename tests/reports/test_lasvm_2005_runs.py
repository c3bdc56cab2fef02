"""reports/lasvm_2005: every part at a tiny size through the real sessions, and the page that they fill."""

from dataclasses import replace

import pytest
from reports.kit.grids import PaperSet
from reports.kit.journal import read_rows
from reports.lasvm_2005.study import STUDY

from reports.kit import command, page
from reports.lasvm_2005 import streaming
from reports.lasvm_2005.plan import (
    EACH,
    LIBSVM,
    ONE,
    ONLINE,
    PRINTED,
    QUICK,
    SMO,
    TWO,
    Stream,
)
from tests.reports.lasvm_2005_rows import results

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile


# generated sets in place of the paper's, few curves and few points on each: a solver is a process
TINY = replace(
    QUICK,
    sets={
        "banana": PaperSet("banana", "checkerboard[n=100,n_test=200,seed={k}]", 40.0),
        "adult": PaperSet("adult", "checkerboard[n=100,n_test=200]", 40.0),
    },
    deltas=(100.0, 1.0),
    digits=(3, 8),
    split=PaperSet("adult-split", "checkerboard[n=80,n_test=200,seed={{k}}]", stands_for="adult"),
    adult_supports=(20,),
    mnist_supports=(20,),
    caches=(8.0, 64.0),
    scaled={"checkerboard": ("checkerboard[n={n},n_test=50,seed={{k}}]", (100, 300, 1000))},
    original={"checkerboard[n=300]": 2},
    stream=Stream(n=2000, rows=500, told=1),
)


def measured(tmp_path, *arguments):
    """Run the study's command; return the rows that it added."""
    out = tmp_path / "out"
    before = len(read_rows(out / "results.jsonl"))
    asked = [*arguments, "--out", str(out), "--store", str(tmp_path / "store.sqlite")]
    command.run(replace(STUDY, plan=TINY), asked)
    return read_rows(out / "results.jsonl")[before:]


def reported(tmp_path):
    page.make(replace(STUDY, plan=TINY), tmp_path / "out")
    return (tmp_path / "out" / "README.md").read_text()


@pytest.mark.slow
def test_figures_8_and_9_are_measured_resumed_and_reported(tmp_path):
    runs = [
        each for each in measured(tmp_path, "--part", "figure8", "--seeds", "2", "--sets", "banana") if "status" in each
    ]
    assert {each["status"] for each in runs} == {"ok"}
    places = [f"checkerboard[n=100,n_test=200,seed={k}]" for k in (0, 1)]
    solvers = (ONE, TWO, LIBSVM, EACH, SMO)  # the counted LIBSVM is not built here
    assert [(each["dataset"], each["solver"]) for each in runs] == [(at, by) for at in places for by in solvers]
    one = runs[0]
    assert 0.0 < one["error"] < 50.0
    assert 0.0 < one["cpu"] < 60.0
    assert one["kernel_evaluations"] > 100
    assert (one["cache_mb"], one["C"], one["gamma"]) == (40.0, 100.0, 4.0)

    rows = measured(tmp_path, "--part", "figure9", "--seeds", "1", "--sets", "adult")
    assert {(each["solver"], each["seed"]) for each in rows if "status" in each} == {
        (ONLINE, 0),
        (PRINTED, 0),
    }
    again = measured(tmp_path, "--part", "figure9", "--seeds", "1", "--sets", "adult")
    assert [each.get("part") for each in again] == ["header"], "the store has all of it, and so has the journal"
    kept = measured(tmp_path, "--part", "figure9", "--seeds", "2", "--keep", "--sets", "adult")
    assert [(each["solver"], each["seed"]) for each in kept[1:]] == [(ONLINE, 1), (PRINTED, 1)]

    text = reported(tmp_path)
    assert "| banana | LASVM x1 |" in text
    assert "(9.98)" in text, "the published error stands beside ours"
    assert "| banana | SMO |" in text
    assert (tmp_path / "out" / "figure8.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "out" / "figure10.png").exists(), "nothing of it was measured"


@pytest.mark.slow
def test_the_stream_is_measured_in_a_process_of_its_own(tmp_path):
    rows = [each for each in measured(tmp_path, "--part", "stream") if each.get("derived") == "stream"]
    assert [(each["examples"], each["finished"]) for each in rows] == [(2000, False), (2000, True)]
    assert 0.0 < rows[0]["cpu"] <= rows[1]["cpu"]
    assert rows[1]["before_mb"] <= rows[1]["peak_mb"] < 1000.0
    text = streaming.section(results(*rows, plan=TINY))
    assert len(text.splitlines()) == 6
    assert "| finished | " in text
    assert "MB (met); " in text
    newer = [{**each, "error": 7.77} for each in rows]
    assert streaming.section(results(*rows, *newer, plan=TINY)).count("| 7.77 |") == 2, "the newest alone"
