"""harness reproduce: lists the studies, measures, goes on where it stopped, loses nothing, and writes the page."""

import json
from dataclasses import dataclass, replace

import pytest
from click.testing import CliRunner

from harness.cli import reproduce
from harness.cli.main import cli
from harness.errors import NotKept
from reports.kit import command, listing, page
from reports.kit.course import Course, time
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


def test_a_full_disk_under_the_store_loses_nothing(study, run, tmp_path, monkeypatch):
    from reports.kit import running

    def refused(study, registry, on_finished, on_note, pool):
        records = compare(study, registry)
        on_finished(records[0], False)
        raise NotKept("the store is full", records)

    compare = running.session.compare
    monkeypatch.setattr(running.session, "compare", refused)
    done = run("lasvm-2005", "--part", "figure8", "--quick", "--seeds", "1")
    assert done.exit_code == 3
    assert [row["solver"] for row in rows_of(tmp_path) if "status" in row] == ["smo", "lasvm"]


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


def test_a_study_without_a_quick_plan_says_so(study, run, monkeypatch):
    monkeypatch.setattr(command, "study_named", lambda name: replace(study, quick=None))
    assert "lasvm-2005 has no quick plan yet" in run("lasvm-2005", "--quick").stderr


def test_outside_of_a_clone_the_way_to_one_is_said(run, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    done = run()
    assert done.exit_code == 2
    assert "the studies are in the repository, not in the package: clone it" in done.stderr


def test_the_list_tells_minutes_and_data(study, run, monkeypatch, tmp_path):
    monkeypatch.setattr(listing, "QUICK_MINUTES", tmp_path / "minutes.csv")
    assert "figure8        --quick not measured" in run("lasvm-2005").output
    (tmp_path / "lasvm-2005-quick").mkdir()
    took = [{"part": "took", "name": name, "seconds": 15.0} for name in ("figure8", "figure9")]
    (tmp_path / "lasvm-2005-quick" / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in took))
    listing.keep_quick_minutes(tmp_path)
    done = run("lasvm-2005")
    assert "figure8        --quick 0.2 min" in done.output
    assert "--quick: checkerboard[n=60,n_test=50,seed={k}] stands for banana" in done.output
    assert listing.needed(["adult-split[n=5]", "reuters-category[of=x]", "x[of=german.numer]", "twonorm[n=9]"]) == [
        "adult", "german.numer", "reuters-category",
    ]  # fmt: skip
    monkeypatch.setenv("HARNESS_DATA", "/nowhere")
    assert not listing.there("adult")


def test_the_time_left_is_that_of_earlier_runs_and_of_the_mean():
    runs = [("a", "smo", "d", seed, 1.0) for seed in range(4)]
    now = [0.0]
    course = Course(runs, {runs[0]: 10.0, runs[2]: 100.0}, clock=lambda: now[0])
    assert course.remaining() is None, "of two runs nothing is known"
    for run, at in zip(runs[:2], (12.0, 16.0), strict=True):
        now[0] = at
        row = dict(zip(("set", "solver", "dataset", "seed", "cache_mb"), run, strict=True))
        course.finished(row, reused=False, failed=False, text="")
    # 12 s for one that takes 10 inside the solver: 2 s around each; the unknown one takes the mean of 12 and 4
    assert course.remaining() == 102.0 + 8.0
    assert course.told() == f"2/4, 0:00:16, about {time(110.0)} left"
    course.skipped(Grid("a", ("d",), ("smo",), (2,), cache_mb=1.0))
    assert (course.total, course.remaining()) == (3, 8.0)


def test_a_page_elsewhere_has_headings_tables_and_pictures_alone():
    text = (
        "# T\n\nprose 4.07\n\n```sh\n# no heading\n```\n\n## A\n\n### B\n\n<!-- begin b -->\n| x |\n<!-- end b -->\nmore\n\n"
        "![p](p.png)\n![q](q.png)\n\n## C\n\n<!-- begin c -->\nNot measured yet.\n<!-- end c -->\n"
    )
    assert page.bare(text, {"p"}, "note") == (
        "# T\n\nnote\n\n## A\n\n### B\n\n<!-- begin b -->\n| x |\n<!-- end b -->\n\n![p](p.png)\n"
    )
