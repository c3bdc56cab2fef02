"""harness reproduce: lists the studies, measures, goes on where it stopped, loses nothing, and writes the page."""

from dataclasses import dataclass, replace

import pytest
from click.testing import CliRunner

from harness.cli import reproduce
from harness.cli.main import cli
from reports.kit import command
from reports.kit.course import Course
from reports.kit.grids import Grid, PaperSet
from reports.kit.journal import read_rows
from reports.kit.markdown import machine, table
from reports.lasvm_2005.study import STUDY

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("warm_sessions")]


@dataclass(frozen=True)
class Tiny:
    sets: tuple[PaperSet, ...] = (
        PaperSet("banana", "checkerboard[n=60,n_test=50,seed={k}]", 40.0, stands_for="banana"),
    )

    def figure8(self, options):
        return [options.adjusted(each.grid(("smo", "lasvm"), range(options.repetitions or 2))) for each in self.sets]

    def figure9(self, options):
        return [Grid("gone", ("no-such-set",), ("smo",)), Grid("banana", ("checkerboard[n=60,n_test=50]",), ("smo",))]


def sections(results):
    rows = [[name, str(len(results.of(name, "smo")))] for name in results.sets]
    return {"machine": machine(results), "figure8": table(["set", "runs"], rows), "figure9": table(["set"], [])}


@pytest.fixture
def study(monkeypatch):
    """LASVM's study with a tiny plan, whatever study is named."""
    tiny = replace(
        STUDY,
        plan=Tiny(),
        quick=Tiny(),
        parts=lambda plan: {"figure8": plan.figure8, "figure9": plan.figure9},
        sets=lambda plan: ("banana",),
        sections=sections,
        pictures={},
        finish={},
    )
    monkeypatch.setattr(command, "study_named", lambda name: tiny)
    return tiny


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``harness reproduce`` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def invoked(*words):
        return CliRunner().invoke(cli, ["reproduce", *words, *(["--store", "store.sqlite"] if words else [])])

    return invoked


def rows_of(tmp_path, name="lasvm-2005-quick"):
    return read_rows(tmp_path / "reproduced" / name / "results.jsonl")


def test_a_quick_part_is_measured_reported_and_resumed(study, run, tmp_path):
    done = run("lasvm-2005", "--part", "figure8", "--quick")
    assert done.exit_code == 0, done.output
    head, *runs, took = rows_of(tmp_path)
    assert (took["part"], took["name"]) == ("took", "figure8")
    assert (head["plan"], head["parts"]) == ("quick", ["figure8"])
    assert head["command"] == "harness reproduce lasvm-2005 --quick --part figure8", "no path of this machine"
    assert [(each["solver"], each["dataset"][-2]) for each in runs] == [(s, k) for k in "01" for s in ("smo", "lasvm")]
    assert "[4/4, 0:" in done.stderr
    text = (tmp_path / "reproduced/lasvm-2005-quick/README.md").read_text()
    assert "* `checkerboard[n=60,n_test=50,seed={k}]` stands for banana" in text
    assert "| banana | 2 |" in text
    assert "## Figure 9" not in text, "nothing was measured for it"
    assert "What is asked of one epoch" not in text, "the prose tells of the repository's runs"
    again = run("lasvm-2005", "--part", "figure8", "--quick")
    assert again.exit_code == 0
    assert again.stderr.count("(measured earlier)") == 4
    assert [row for row in rows_of(tmp_path) if "status" in row] == runs
    kept = run("lasvm-2005", "--part", "figure8", "--full", "--out", "reproduced/lasvm-2005-quick")
    assert kept.exit_code == 2
    assert "holds runs of the quick plan" in kept.stderr


def test_what_cannot_be_measured_is_said_and_the_rest_goes_on(study, run, tmp_path):
    done = run("lasvm-2005", "--part", "figure9", "--full")
    assert done.exit_code == 1
    assert "gone: not measured: there is no data set called 'no-such-set'" in done.stderr
    assert "lasvm-2005: 1 runs failed" in done.stderr
    assert [row["solver"] for row in rows_of(tmp_path, "lasvm-2005") if "status" in row] == ["smo"]


def test_an_interruption_loses_nothing(study, run, tmp_path, monkeypatch):
    def interrupted(self, *arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Course, "finished", interrupted)
        done = run("lasvm-2005", "--part", "figure8", "--quick")
    assert done.exit_code == 130
    assert "holds 1 runs. The same command goes on where it stopped." in done.stderr
    assert "Traceback" not in done.output
    done = run("lasvm-2005", "--part", "figure8", "--quick")
    assert done.exit_code == 0
    assert done.stderr.count("(measured earlier)") >= 1
    assert sum("status" in row for row in rows_of(tmp_path)) == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--quick"], "name a study, or all: border-2007,"),
        (
            ["lasvm-2005", "--quick", "--part", "figure99"],
            "--part: lasvm-2005 has no figure99; it has figure8, figure9",
        ),
        (["lasvm-2005", "--quick", "--sets", "iris"], "--sets: lasvm-2005 has no iris; it has banana"),
        (["lasvm-2005", "--quick", "--digits", "12"], "--digits: 12 is no digit"),
        (["lasvm-2005", "--quick", "--seeds", "0"], "--seeds: '0' is not a whole number >= 1"),
        (["lasvm-2005", "--quick", "--into-reports"], "--into-reports takes the runs of the whole plan"),
        (["lasvm-2005", "--quick", "--out", str(STUDY.folder)], "holds the runs of the whole plan"),
        (["lasvm-2005", "--page", "--quick"], "holds no results; leave --page out to measure them"),
    ],
)
def test_mistakes_are_sentences(study, run, words, sentence):
    done = run(*words)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_outside_of_a_clone_the_way_to_one_is_said(run, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    done = run()
    assert done.exit_code == 2
    assert "the studies are in the repository, not in the package: clone it" in done.stderr
