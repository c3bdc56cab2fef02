"""What is exported stands in the site under its own name, whatever is added, removed, renamed, failed or measured again."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, measuring, names, page
from harness_dashboard.records import read_all

from .stored import MACHINE, blocks, cells_of, command, failed, record, repository, store

PROBLEM = ", c-svc C=10, rbf gamma=0.05"


def exported(folder, *records, into):
    path = folder / "results.sqlite"
    path.unlink(missing_ok=True)
    return export.export([store(path, *records)], into)


@pytest.fixture
def dashboard(tmp_path):
    """A repository of four commits and its configuration."""
    commits = repository(tmp_path / "code", commits=4)
    return commits, configuration.load(tmp_path / "code")


CELLS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "b[x='1']", "c", "d"]), st.sampled_from(["p", "q", "r"])),
    st.integers(1, 9999),
    min_size=1,
)


def numbers_of(conf):
    """Return the seconds of every run of a dashboard by commit, machine, solver and data set."""
    return {
        (file.commit, file.machine, run["solver"], run["dataset"]): run["fit_seconds"]
        for file in read_all(conf.records_dir) for run in file.records
    }  # fmt: skip


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=CELLS, second=CELLS)
def test_two_exports_one_after_the_other_lose_and_shift_nothing(tmp_path_factory, first, second):
    """Whatever two stores hold, every number is read back at its commit and under its own name."""
    folder = tmp_path_factory.mktemp("two")
    commits = repository(folder / "code", commits=4)
    conf = configuration.load(folder / "code")
    for each in (first, second):
        runs = [record(s, d, fit_seconds=v / 1000, git_commit=commits[c]) for (c, s, d), v in each.items()]
        exported(folder, *runs, into=conf)
    both = {**first, **second}
    assert numbers_of(conf) == {
        (commits[c], "Made_Up_9000-4c-abcdef", s, d + PROBLEM): v / 1000 for (c, s, d), v in both.items()
    }


def test_the_site_has_each_number_at_its_commit_its_machine_and_its_name(dashboard, tmp_path):
    """Solvers come and go over three commits; another machine is another history; without results of asv it is ours alone."""
    commits, conf = dashboard
    grids = (["fw", "smo"], ["chunky", "fw", "smo"], ["chunky", "smo"])  # chunky sorts before fw
    seconds = {
        (solver, commit): round(0.1 + 0.01 * i + 0.001 * j, 4)
        for i, (commit, solvers) in enumerate(zip(commits, grids, strict=False)) for j, solver in enumerate(solvers)
    }  # fmt: skip
    runs = [record(solver, fit_seconds=value, git_commit=commit) for (solver, commit), value in seconds.items()]
    runs.append(
        record(fit_seconds=0.9, machine={**MACHINE, "processor": "Other", "id": "0" * 16}, git_commit=commits[1])
    )
    exported(tmp_path, *runs, into=conf)
    html = measuring.publish(conf)
    data = blocks((html / "index.html").read_text())
    places = {place["machine"].partition("-")[0]: place | {"at": i} for i, place in enumerate(data["index"]["places"])}
    assert {name: place["history"] for name, place in places.items()} == {"Made_Up_9000": True, "Other": False}
    found = data[f"{places['Made_Up_9000']['at']}-history"]
    shown = {
        (solver, commit): value
        for (solver, _), values in zip(found["cells"], found["figures"]["fit_seconds"], strict=True)
        for commit, value in zip(commits, values, strict=False) if value is not None
    }  # fmt: skip
    assert found["commits"] == [commit[:8] for commit in commits[:3]]
    assert (shown, found["changes"]) == (seconds, None)
    assert data["index"]["asv"] is False
    assert "Compare solvers" in (html / "history.html").read_text()


def test_failures_have_their_reason_on_the_page(dashboard, tmp_path):
    commits, conf = dashboard
    hostile = "</script><script>alert('x')</script> & \"quoted\""
    runs = [
        record("smo"), failed("slow"), failed("broken", status="error", reason=hostile),
        failed("never", status="skipped", reason="does not solve c-svc", formulation=None, kernel=None),
        record("half", seed=0, fit_seconds=0.2), failed("half", seed=1), record("missed", status="missed", target_gap=1e-9),
    ]  # fmt: skip
    for run in runs:
        run["git_commit"] = commits[0]
    exported(tmp_path, *runs, into=conf)
    html = measuring.publish(conf)
    rows = cells_of(blocks((html / "index.html").read_text())["0-table"])
    assert rows["broken", "digits" + PROBLEM]["reason"] == hostile
    assert rows["half", "digits" + PROBLEM]["status"] == "timeout 1/2"
    assert rows["never", "digits" + PROBLEM]["status"] == "skipped"
    assert all(row["fit_seconds"] is None for (solver, _), row in rows.items() if solver in ("slow", "broken", "never"))


def test_the_same_export_twice_changes_nothing_and_a_newer_measurement_replaces(dashboard, tmp_path):
    commits, conf = dashboard
    old = record(fit_seconds=0.4, git_commit=commits[1])
    exported(tmp_path, old, into=conf)
    once = [path.read_text() for path in conf.records_dir.iterdir()]
    exported(tmp_path, old, into=conf)
    assert [path.read_text() for path in conf.records_dir.iterdir()] == once
    exported(tmp_path, record(fit_seconds=0.3, git_commit=commits[1], code_sha256="newer"), into=conf)
    exported(tmp_path, old, into=conf)  # an old store after a new one: the newer measurement stays
    (file,) = read_all(conf.records_dir)
    assert [run["fit_seconds"] for run in file.records] == [0.3]


def test_runs_of_no_commit_are_left_out_and_can_be_given_one(dashboard, tmp_path, capsys):
    commits, _ = dashboard
    known = record(git_commit=commits[0] + "+")
    path = store(tmp_path / "s.sqlite", known, record("fw", git_commit="f" * 40), record("qp"))
    code, out, err = command(capsys, "export", "--config", tmp_path / "code", "--store", path)
    assert (code, "runs: 1," in out, "2 runs have no commit of the repository" in err) == (0, True, True)
    code, out, _ = command(capsys, "export", "--config", tmp_path / "code", "--store", path, "--commit", "HEAD")
    assert (code, "runs: 3," in out) == (0, True)
    stored = {file.commit: len(file.records) for file in read_all(tmp_path / "code" / ".asv" / "records")}
    assert stored == {commits[0]: 1, commits[3]: 2}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--store", "missing.sqlite"], "there is no result store at missing.sqlite"),
        (["--store", "empty.sqlite"], "no runs in empty.sqlite"),
        (["--store", "lost.sqlite"], "--commit REV"),
        (["--store", "lost.sqlite", "--commit", "v9"], "--commit: the repository"),
        (
            ["--single-file", "p.html", "--commit", "HEAD"],
            "--single-file cannot be combined with --config and --commit",
        ),
        (["--single-file", "no/where.html"], "the folder no"),
        (["--single-file", "p.html", "--store", "empty.sqlite"], "no runs in empty.sqlite"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(dashboard, tmp_path, capsys, monkeypatch, arguments, sentence):
    store(tmp_path / "empty.sqlite")
    store(tmp_path / "lost.sqlite", record())
    monkeypatch.chdir(tmp_path)
    config = [] if "--single-file" in arguments else ["--config", "code"]
    code, _, err = command(capsys, "export", *config, *arguments)
    assert (code, sentence in err, err.count("\n")) == (2, True, 1)
    assert not (tmp_path / "p.html").exists()


def test_without_a_clone_the_way_for_a_plugin_of_ones_own_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (["run", "HEAD"], ["check", "HEAD~1", "HEAD"]):
        code, _, err = command(capsys, *arguments)
        assert (code, "harness dashboard init" in err) == (2, True)


def test_a_folder_that_is_no_site_is_not_replaced(dashboard, tmp_path, capsys):
    _, conf = dashboard
    conf.html_dir.mkdir(parents=True)
    (conf.html_dir / "thesis.tex").write_text("precious")
    code, _, err = command(capsys, "build", "--config", tmp_path / "code")
    assert (code, "is not a site of asv" in err) == (2, True)
    assert (conf.html_dir / "thesis.tex").read_text() == "precious"


@settings(max_examples=30)
@given(st.text(max_size=400), st.text(max_size=400))
def test_a_name_is_bounded_and_different_for_different_names(one, other):
    name = names.short_name(f"<b>{one}")
    assert len(name) <= names.LONGEST_NAME
    assert "\n" not in name
    assert "/" not in names.file_name_part(f"../{one}")
    assert not names.file_name_part(f"../{one}").startswith(".")
    long = "x" * 300
    assert (names.short_name(long + one) == names.short_name(long + other)) == (one == other)


def test_a_seed_on_older_data_does_not_count():
    runs = [
        {"group": "g", "seed": 0, "repetition": 0, "measured_at": "1", "data": "old"},
        {"group": "g", "seed": 0, "repetition": 1, "measured_at": "2", "data": "new"},
        {"group": "older", "seed": 1, "repetition": 0, "measured_at": "0", "data": "new"},
    ]
    assert names.latest_records(runs) == [runs[1]]


def test_of_several_stores_the_newest_of_a_run_counts_and_rows_of_paths_do_not(tmp_path):
    from .stored import PATH

    other, old, new = (record("smo", fit_seconds=t, code_sha256=c) for t, c in ((0.5, "be4"), (0.4, "c0"), (0.3, "c0")))
    first = store(tmp_path / "a.sqlite", new, record("fw"))
    second = store(tmp_path / "b.sqlite", other, old, record("qp"), new, record("smo", path=PATH))
    text, summary = page.of_stores([first, second])
    found = cells_of(blocks(text)["0-table"])
    assert {solver: row["fit_seconds"] for (solver, _), row in found.items()} == {"smo": 0.3, "fw": 0.5, "qp": 0.5}
    starts = [" ".join(note.split()[:5]) for note in summary.notes()[-2:]]
    assert starts == ["1 runs have older code,", "1 runs were measured again"]
    assert (summary.runs, sum("are of paths" in note for note in summary.notes())) == (3, 1)
