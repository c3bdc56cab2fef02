"""reports/lasvm_2005: every part at a tiny size through the real sessions, and the page that they fill."""

from dataclasses import replace

import pytest

from reports.kit import command, page
from reports.kit.grids import Grid, PaperSet
from reports.kit.journal import read_rows
from reports.kit.markdown import missing
from reports.kit.results import Results
from reports.lasvm_2005 import growth, streaming, tables
from reports.lasvm_2005.plan import (
    AVERAGED,
    AVERAGED_TEN,
    EACH,
    FIVE,
    LIBSVM,
    ONE,
    ONLINE,
    PRINTED,
    QUICK,
    SMO,
    TWO,
    WAYS,
    Stream,
    with_delta_max,
)
from reports.lasvm_2005.study import STUDY
from tests.reports.fabricated import row
from tests.reports.lasvm_2005_rows import PUBLISHED, results

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
def test_figure_10_and_the_epochs(tmp_path):
    rows = [each for each in measured(tmp_path, "--part", "figure10,epochs", "--seeds", "1", "--sets", "banana")
            if "status" in each]  # fmt: skip
    repeated = {each["solver"] for each in rows if "delta_max" in each["solver"]}
    assert repeated == {with_delta_max(way, delta) for way in WAYS for delta in (100.0, 1.0)}
    tight = next(each for each in rows if each["solver"] == "lasvm[second_order_from=none,finishing=False,delta_max=1]")
    loose = next(
        each for each in rows if each["solver"] == "lasvm[second_order_from=none,finishing=False,delta_max=100]"
    )
    assert tight["info"]["online_steps"] > loose["info"]["online_steps"]
    text = reported(tmp_path)
    assert "\n| 100 | " in text
    assert "\n| 1 | " in text
    assert "\n| LIBSVM | " in text
    below = tables._below(Results(read_rows(tmp_path / "out" / "results.jsonl"), PUBLISHED), "banana", FIVE)
    assert -1e-2 < below < 1e-2, "five epochs end at LIBSVM's objective"


@pytest.mark.slow
def test_the_growth_of_time(tmp_path):
    rows = [each for each in measured(tmp_path, "--part", "scaling", "--seeds", "1", "--n", "300") if "status" in each]
    assert [(each["set"], each["n_train"]) for each in rows] == [
        ("checkerboard-of-100", 100),
        ("checkerboard-of-300", 300),
    ]
    sizes = growth.measured(results(*rows, plan=TINY), "checkerboard")
    assert [each.members for each in sizes] == [each["info"]["online_members"] for each in rows]
    assert "* checkerboard: time grows like n^" in reported(tmp_path)
    assert (tmp_path / "out" / "scaling.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_mnist_parts(tmp_path):
    rows = measured(tmp_path, "--part", "figure4")
    together = [each for each in rows if each.get("derived") == "multiclass"]
    assert {each["solver"] for each in together} == {ONE, TWO, LIBSVM, AVERAGED, AVERAGED_TEN}
    runs = [each for each in rows if each.get("solver") == ONE and "status" in each]
    assert [each["set"] for each in runs] == ["mnist-3", "mnist-8"]
    whole = next(each for each in together if each["solver"] == ONE)
    assert whole["cpu"] == pytest.approx(sum(each["cpu"] for each in runs))
    assert whole["git_commit"] == runs[0]["git_commit"]
    assert whole["error"] < 10.0, "3 and 8 are told apart"
    assert all("test-scores" not in each["metrics"] for each in runs), "the scores are not in the journal"

    rows = measured(tmp_path, "--part", "figure6", "--digits", "8", "--seeds", "1")
    assert [each["cache_mb"] for each in rows if each.get("solver") == ONE] == [64.0, 8.0]
    text = reported(tmp_path)
    assert "| LASVM x1 | mnist, 2 digits |" in text
    assert "* All images: with 8 MB LASVM's time grows by " in text
    assert (tmp_path / "out" / "figure3.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), [("figure11", "adult-split"), ("figure14", "mnist-8-noise")])
def test_the_selection_parts(tmp_path, part, name):
    rows = measured(tmp_path, "--part", part, "--seeds", "1")
    runs = {each["solver"]: each for each in rows if each.get("set") == name and "status" in each}
    assert {each["status"] for each in runs.values()} == {"ok"}
    assert {"lasvm", "lasvm[max_support=20]", "lasvm[selection=active,max_support=20]", "libsvm"} <= set(runs)
    assert runs["lasvm"]["info"]["visited"] > runs["lasvm[max_support=20]"]["info"]["visited"] > 0
    assert "| ACTIVE | " in reported(tmp_path)


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


@pytest.mark.slow
def test_what_is_missing_is_named_and_the_rest_goes_on(tmp_path):
    grid = Grid("a", ("checkerboard[n=60,n_test=50]",), ("no-such-solver", "smo"))
    elsewhere = Grid("b", ("no-such-set",), ("smo",))
    study = replace(STUDY, parts=lambda plan: {"x": lambda _: [grid, elsewhere]}, sets=lambda plan: ("a",))
    command.run(study, ["--out", str(tmp_path), "--store", str(tmp_path / "store.sqlite")])
    rows = read_rows(tmp_path / "results.jsonl")
    assert [each["solver"] for each in rows if "status" in each] == ["smo"]
    text = missing(results(*rows))
    assert "* a, no-such-solver: there is no solver or plugin called 'no-such-solver'" in text
    assert "* b, no-such-set: there is no data set called 'no-such-set'" in text
    later = row("a", "no-such-solver", dataset="checkerboard[n=60,n_test=50]")
    assert "no-such-solver" not in missing(results(*rows, later)), "measured since"
