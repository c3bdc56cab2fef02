"""reports/side_by_side: what its tables make of rows, and a tiny run through the real sessions."""

from dataclasses import replace

from harness.registry import load_registry
from reports.kit import command, page
from reports.kit.grids import Options, PaperSet
from reports.kit.journal import read_rows
from reports.kit.results import Published, Results
from reports.side_by_side import tables
from reports.side_by_side.plan import EXACT, PLAN, QUICK, Entry, Plan
from reports.side_by_side.study import STUDY
from tests.reports.fabricated import HEADER, row

SMALL = Plan(
    (PaperSet("a", "twonorm[n=60,n_test=80,seed={k}]"),),
    caps=(0.1,),
    entries=(Entry("today", EXACT), Entry("random sampling 2008", "optsoftmargin[D={cap}]", "reduced-hull")),
    repetitions=1,
)


def results(*rows):
    return Results([HEADER, *rows], Published({}), SMALL)


def test_every_solver_and_set_is_there():
    registry = load_registry(list(STUDY.plugins))
    for plan in (PLAN, QUICK):
        for grid in STUDY.parts(plan)["table"](Options(repetitions=1)):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert len(plan.caps) == len(plan.sets)


def test_times_are_held_against_the_exact_solver_of_the_same_commit():
    theirs, ours = row("a", EXACT, cpu=2.0, error=3.0), row("a", "optsoftmargin[D=0.1]", cpu=8.0, error=2.5)
    assert (
        "| `optsoftmargin` | random sampling 2008 | reduced-hull | 4 | 4 - 4 | -0.50 to -0.50 | 1 of 1 |"
        in tables.summary(results(theirs, ours))
    )
    elsewhere = results(theirs, {**ours, "git_commit": "b"})
    assert (
        "| `optsoftmargin` | random sampling 2008 | reduced-hull |  |  | -0.50 to -0.50 | 1 of 1 |"
        in tables.summary(elsewhere)
    )


def test_who_is_the_fastest_and_who_the_most_accurate():
    found = results(row("a", EXACT, cpu=2.0, error=3.0), row("a", "optsoftmargin[D=0.1]", cpu=8.0, error=2.5))
    assert tables.seen(found) == (
        "* a: the fastest is `smo-block`, 2 CPU s with 3.00 % of errors; the most accurate `optsoftmargin[D=0.1]`, "
        "2.50 % after 8 CPU s."
    )


def test_a_run_that_was_stopped_is_told():
    stopped = row("a", "optsoftmargin[D=0.1]", status="unfinished", stopped_by="seconds", error=9.0)
    found = results(row("a", EXACT), stopped)
    assert "| seconds | 0 of 1 |" in tables.everything(found)
    assert "optsoftmargin" not in tables.summary(found)


def test_a_tiny_run_and_its_page(tmp_path):
    study = replace(STUDY, plan=SMALL)
    command.run(study, ["--out", str(tmp_path), "--store", str(tmp_path / "store.sqlite")])
    runs = [each for each in read_rows(tmp_path / "results.jsonl") if "status" in each]
    assert {(each["solver"], each["formulation"], each["status"]) for each in runs} == {
        (EXACT, "c-svc", "ok"),
        ("optsoftmargin[D=0.1]", "reduced-hull", "ok"),
    }
    page.make(study, tmp_path)
    assert "| a | today | `smo-block` | c-svc |" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")
