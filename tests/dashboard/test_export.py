"""What is exported stands in the site under its own name, whatever is added, removed, renamed, failed or measured again."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, measuring, names, numbers, page
from harness_dashboard.records import read_all

from .stored import MACHINE, blocks, cells_of, command, failed, published, record, repository, store

PROBLEM = ", c-svc C=10, rbf gamma=0.05"
TIME = "grid.time_fit"


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


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=CELLS, second=CELLS)
def test_two_exports_one_after_the_other_lose_and_shift_nothing(tmp_path_factory, first, second):
    """Whatever two stores hold, asv reads every number back under its own name, mapped to the union of all names."""
    from asv.benchmarks import Benchmarks
    from asv.results import iter_results

    folder = tmp_path_factory.mktemp("two")
    commits = repository(folder / "code", commits=4)
    conf = configuration.load(folder / "code")
    for each in (first, second):
        runs = [record(s, d, fit_seconds=v / 1000, git_commit=commits[c]) for (c, s, d), v in each.items()]
        exported(folder, *runs, into=conf)
    benchmark = Benchmarks.load(conf.asv)[TIME]
    solvers, datasets = benchmark["params"]
    found = {}
    for results in iter_results(str(conf.results_dir)):
        values = iter(results.get_result_value(TIME, benchmark["params"]))
        for solver in solvers:
            for dataset in datasets:
                value = next(values)
                if value is not None and value == value:
                    found[commits.index(results.commit_hash), solver, dataset] = value
    both = {**first, **second}
    assert found == {(c, repr(s), repr(d + PROBLEM)): v / 1000 for (c, s, d), v in both.items()}


def test_the_site_has_each_number_at_its_commit_its_machine_and_its_name(dashboard, tmp_path):
    """Solvers and data sets come, go and are renamed; asv's own benchmarks stay; another machine is another history."""
    commits, conf = dashboard
    grids = [  # chunky sorts before fw; the third commit has lost fw and calls digits numerals
        (["fw", "smo"], ["digits", "twonorm"]),
        (["chunky", "fw", "smo"], ["digits", "twonorm"]),
        (["chunky", "smo"], ["numerals", "twonorm"]),
    ]
    wanted, runs = {}, []
    for commit, (solvers, datasets) in zip(commits, grids, strict=False):
        for solver in solvers:
            for dataset in datasets:
                value = round(0.1 + 0.001 * len(runs), 4)
                runs.append(record(solver, dataset, fit_seconds=value, git_commit=commit))
                wanted[TIME, "Made_Up_9000-4c-abcdef", commit, solver, dataset + PROBLEM] = value
    runs += [
        record("qp", seed=seed, fit_seconds=each, git_commit=commits[3]) for seed, each in enumerate([0.3, 0.1, 0.2])
    ]
    wanted[TIME, "Made_Up_9000-4c-abcdef", commits[3], "qp", "digits" + PROBLEM] = 0.2
    elsewhere = {**MACHINE, "processor": "Other", "id": "0" * 16}
    runs.append(record(fit_seconds=0.9, machine=elsewhere, git_commit=commits[1]))
    wanted[TIME, "Other-4c-000000", commits[1], "smo", "digits" + PROBLEM] = 0.9
    other = {"other.track_x": {"name": "other.track_x", "params": [], "param_names": [], "type": "track", "unit": "",
                               "version": "1", "code": "", "timeout": 60}}  # fmt: skip
    exported(tmp_path, *runs, into=conf)
    (conf.results_dir / "benchmarks.json").write_text(
        json.dumps({**other, "version": 2})
    )  # asv run knows its own alone
    html = measuring.publish(conf)
    listed = json.loads((conf.results_dir / "benchmarks.json").read_text())
    assert other["other.track_x"].items() <= listed["other.track_x"].items()
    assert {key: value for key, value in published(html).items() if key[0] == TIME} == wanted
    data = blocks((html / "index.html").read_text())
    assert {place["machine"] for place in data["index"]["places"]} == {
        "Made_Up_9000-4c-abcdef, compare-py3.11",
        "Other-4c-000000, compare-py3.11",
    }
    assert data["index"]["history"] is True
    assert "Compare solvers" in (html / "history.html").read_text()


def test_failures_are_null_in_the_graphs_and_have_their_reason_on_the_page(dashboard, tmp_path):
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
    found = {(name, solver): value for (name, _, _, solver, _), value in published(html).items()}
    shares = {solver: found.get(("grid.track_failed", solver)) for solver in ("smo", "slow", "broken", "half", "never")}
    assert shares == {"smo": 0, "slow": 1, "broken": 1, "half": 0.5, "never": None}
    assert (TIME, "missed") not in found, "a run that missed its target has no time that counts"
    assert {solver for name, solver in found if name == TIME} == {"smo", "half"}
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
    assert (code, "runs: 1," in out, "2 runs name no commit of the repository" in err) == (0, True, True)
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
        (["--single-file", "p.html", "--commit", "HEAD"], "--single-file: it is made of the stores alone"),
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
        assert (code, "commits of the harness" in err, "'A gate in CI'" in err) == (2, True, True)


def test_a_folder_that_is_no_site_is_not_replaced(dashboard, tmp_path, capsys):
    _, conf = dashboard
    conf.html_dir.mkdir(parents=True)
    (conf.html_dir / "thesis.tex").write_text("precious")
    code, _, err = command(capsys, "build", "--config", tmp_path / "code")
    assert (code, "is no site made before" in err) == (2, True)
    assert (conf.html_dir / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(("seconds", "shown"), [(2.0, 2.0), (1e308, None)])
def test_a_number_that_asv_cannot_square_is_none(seconds, shown):
    (number,) = [each for each in numbers.NUMBERS if each.figure == "fit_seconds"]
    assert number.of(record(fit_seconds=seconds)) == shown


@settings(max_examples=30)
@given(st.text(max_size=400), st.text(max_size=400))
def test_a_name_is_harmless_and_bounded(one, other):
    """asv puts names into HTML and file names as they are."""
    for text in (f"<img src=x onerror=1>{one}", f"../../{one}", f"&lt;{one}\n<script>"):
        name = names.harmless(text)
        assert len(name) <= names.LONGEST_NAME
        assert not {"<img", "&lt", "<sc", "\n", '"'} & {name[i : i + n] for n in (1, 3, 4) for i in range(len(name))}
        assert "/" not in names.word(text)
        assert not names.word(text).startswith(".")
    long = "x" * 300
    assert (names.harmless(long + one) == names.harmless(long + other)) == (one == other)


def test_a_seed_on_older_data_does_not_count():
    runs = [
        {"group": "g", "seed": 0, "repetition": 0, "measured_at": "1", "data": "old"},
        {"group": "g", "seed": 0, "repetition": 1, "measured_at": "2", "data": "new"},
        {"group": "older", "seed": 1, "repetition": 0, "measured_at": "0", "data": "new"},
    ]
    assert names.counting(runs) == [runs[1]]


def test_of_several_stores_the_newest_of_a_run_counts_and_rows_of_paths_do_not(tmp_path):
    from .stored import PATH

    other, old, new = (record("smo", fit_seconds=t, code_sha256=c) for t, c in ((0.5, "be4"), (0.4, "c0"), (0.3, "c0")))
    first = store(tmp_path / "a.sqlite", new, record("fw"))
    second = store(tmp_path / "b.sqlite", other, old, record("qp"), new, record("smo", path=PATH))
    text, summary = page.of_stores([first, second])
    found = cells_of(blocks(text)["0-table"])
    assert {solver: row["fit_seconds"] for (solver, _), row in found.items()} == {"smo": 0.3, "fw": 0.5, "qp": 0.5}
    assert [note[:25] for note in summary.notes()[-2:]] == ["1 runs are of older code,", "1 runs were measured anew"]
    assert (summary.runs, sum("are of paths" in note for note in summary.notes())) == (3, 1)
