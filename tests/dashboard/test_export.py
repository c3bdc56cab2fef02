"""What is exported stands in the site under its own name, whatever is added, removed, renamed, failed or measured again."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import cells, configuration, export, numbers, site
from harness_dashboard.commits import Called, Repository, called, web_address
from harness_dashboard.records import read_all

from harness.errors import UsageError

from .stored import MACHINE, command, failed, git, page_data, published, record, repository, store

PROBLEM = ", c-svc C=10, rbf gamma=0.05"
TIME = "grid.time_fit"


def exported(folder, *records, into=None, revision=None):
    """Export records; return the configuration they went into."""
    path = folder / "results.sqlite"
    path.unlink(missing_ok=True)
    store(path, *records)
    if into is None:
        export.standalone([path], folder / "dashboard")
        return configuration.load(folder / "dashboard")
    export.export([path], into, revision)
    return into


def test_added_removed_and_renamed_shift_nothing(tmp_path):
    """The published numbers are those of the store, name by name, over three states of the code."""
    grids = [  # chunky sorts before fw; the third state has lost fw and calls digits numerals
        (["fw", "smo"], ["digits", "twonorm"]),
        (["chunky", "fw", "smo"], ["digits", "twonorm"]),
        (["chunky", "smo"], ["numerals", "twonorm"]),
    ]
    records, wanted = [], []
    for state, (solvers, datasets) in enumerate(grids):
        for i, solver in enumerate(solvers):
            for j, dataset in enumerate(datasets):
                value = round(0.1 * (state + 1) + 0.01 * (i + 1) + 0.001 * (j + 1), 4)
                records.append(record(solver, dataset, fit_seconds=value, code_sha256=f"state {state}"))
                wanted.append((state, solver, dataset + PROBLEM, value))
    conf = exported(tmp_path, *records)
    site.build(conf)
    commits = [f"0.1.0, no commit ({number})" for number in (1, 2, 3)]
    found = {(commits.index(c), s, d, v) for (name, _, c, s, d), v in published(conf.html_dir).items() if name == TIME}
    assert found == set(wanted)


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
        exported(
            folder,
            *[record(s, d, fit_seconds=v / 1000, git_commit=commits[c]) for (c, s, d), v in each.items()],
            into=conf,
        )
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


def test_names_of_earlier_exports_stay(tmp_path):
    repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    exported(tmp_path, record("retired"), into=conf, revision="HEAD~1")
    exported(tmp_path, record("smo"), into=conf, revision="HEAD")
    assert numbers.exported(conf.results_dir) == (["retired", "smo"], ["digits" + PROBLEM])
    listed = json.loads((conf.results_dir / "benchmarks.json").read_text())
    assert listed[TIME]["params"][0] == ["'retired'", "'smo'"]


def test_the_benchmarks_of_asv_run_and_ours_live_in_one_folder(tmp_path):
    commits = repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    file = conf.results_dir / "benchmarks.json"
    file.parent.mkdir(parents=True)
    other = {"other.track_x": {"name": "other.track_x", "params": [], "param_names": [], "type": "track", "unit": "",
                               "version": "1", "code": "", "timeout": 60}}  # fmt: skip
    file.write_text(json.dumps({**other, "version": 2}))
    exported(tmp_path, record(git_commit=commits[0]), into=conf)
    file.write_text(json.dumps({**other, "version": 2}))  # asv run knows its own alone
    site.build(conf)
    known = json.loads(file.read_text())
    assert other["other.track_x"].items() <= known["other.track_x"].items()
    assert any(name == TIME for name, *_ in published(conf.html_dir))


def test_failures_are_null_in_the_graphs_and_have_their_reason_on_the_page(tmp_path):
    hostile = "</script><script>alert('x')</script> & \"quoted\""
    conf = exported(
        tmp_path,
        record("smo"), failed("slow"), failed("broken", status="error", reason=hostile),
        failed("never", status="skipped", reason="does not solve c-svc", formulation=None, kernel=None),
        record("half", seed=0, fit_seconds=0.2), failed("half", seed=1),
    )  # fmt: skip
    site.build(conf)
    found = {(name, solver): value for (name, _, _, solver, _), value in published(conf.html_dir).items()}
    shares = {solver: found.get(("grid.track_failed", solver)) for solver in ("smo", "slow", "broken", "half", "never")}
    assert shares == {"smo": 0, "slow": 1, "broken": 1, "half": 0.5, "never": None}
    assert {solver for name, solver in found if name == TIME} == {"smo", "half"}
    rows = page_data(conf.html_dir)
    assert rows["broken", "digits" + PROBLEM]["reason"] == hostile
    assert rows["half", "digits" + PROBLEM]["status"] == "timeout 1/2"
    assert rows["never", "digits" + PROBLEM]["status"] == "skipped"
    assert all(row["fit_seconds"] is None for (solver, _), row in rows.items() if solver in ("slow", "broken", "never"))


def test_repetitions_are_samples_and_the_median_counts(tmp_path):
    from asv.results import iter_results

    runs = [record(seed=seed, fit_seconds=value) for seed, value in enumerate([0.3, 0.1, 0.2])]
    conf = exported(tmp_path, *runs)
    (results,) = iter_results(str(conf.results_dir))
    (value,), (samples,) = (
        getattr(results, f"get_result_{what}")(TIME, results.get_result_params(TIME)) for what in ("value", "samples")
    )
    assert value == 0.2
    assert sorted(samples) == [0.1, 0.2, 0.3]


def test_the_same_export_twice_changes_nothing_and_a_newer_measurement_replaces(tmp_path):
    commits = repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    old = record(fit_seconds=0.4, git_commit=commits[1])

    def files():
        return {path.name: path.read_text() for path in conf.records_dir.iterdir()}

    exported(tmp_path, old, into=conf)
    once = files()
    exported(tmp_path, old, into=conf)
    assert files() == once
    exported(tmp_path, record(fit_seconds=0.3, git_commit=commits[1], code_sha256="newer"), into=conf)
    (file,) = read_all(conf.records_dir)
    assert [run["fit_seconds"] for run in file.records] == [0.3]
    exported(tmp_path, old, into=conf)  # an old store after a new one: the newer measurement stays
    (file,) = read_all(conf.records_dir)
    assert [run["fit_seconds"] for run in file.records] == [0.3]


def test_two_machines_are_two_histories(tmp_path):
    other = {**MACHINE, "processor": "Other", "id": "0" * 16}
    conf = exported(tmp_path, record(fit_seconds=0.1), record(fit_seconds=0.9, machine=other))
    site.build(conf)
    found = {machine: value for (name, machine, *_), value in published(conf.html_dir).items() if name == TIME}
    assert found == {"Made_Up_9000-4c-abcdef": 0.1, "Other-4c-000000": 0.9}
    index = json.loads((conf.html_dir / "solvers" / "data" / "index.json").read_text())
    assert {place["machine"] for place in index["places"]} == set(found)


def test_runs_without_a_commit_of_the_repository_are_told_and_can_be_given_one(tmp_path, capsys):
    commits = repository(tmp_path / "code")
    path = store(
        tmp_path / "s.sqlite", record(git_commit=commits[0] + "+"), record("fw", git_commit="f" * 40), record("qp")
    )
    code, out, _ = command(capsys, "export", "--config", tmp_path / "code", "--store", path)
    assert (code, "exported 1 run of 1 solver on 1 data set" in out) == (0, True)
    assert "note: 2 runs name no commit of the repository and were left out; --commit REV" in out
    assert "note: 1 runs were measured in a changed tree" in out
    code, out, _ = command(capsys, "export", "--config", tmp_path / "code", "--store", path, "--commit", "HEAD")
    assert (code, "3 solvers on 1 data set at 2 commits" in out) == (0, True)
    assert {file.commit: len(file.records) for file in read_all(tmp_path / "code" / ".asv" / "records")} == {
        commits[0]: 1,
        commits[1]: 2,
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--store", "missing.sqlite"], "there is no result store at missing.sqlite; run `harness compare`"),
        (["--store", "empty.sqlite"], "holds no runs; run `harness compare` first"),
        (["--store", "lost.sqlite"], "none of the 1 runs in lost.sqlite is of a commit that the repository has"),
        (["--store", "lost.sqlite", "--commit", "v9"], "--commit: the repository"),
        (["--store", "lost.sqlite", "--standalone", "code"], "exists and is no dashboard made by this command"),
        (["--standalone", "new", "--commit", "HEAD"], "give it without --config and --commit"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(tmp_path, capsys, monkeypatch, arguments, told):
    repository(tmp_path / "code")
    store(tmp_path / "empty.sqlite")
    store(tmp_path / "lost.sqlite", record())
    monkeypatch.chdir(tmp_path)
    config = [] if "--standalone" in arguments else ["--config", "code"]
    code, _, err = command(capsys, "export", *config, *arguments)
    assert code == 2
    assert told in err
    assert err.count("\n") == 1


def test_a_folder_that_is_no_repository_is_called(tmp_path):
    with pytest.raises(UsageError, match=r"is no local git repository.*--standalone FOLDER"):
        Repository(tmp_path)


def test_standalone_makes_one_commit_a_state_and_the_same_one_again(tmp_path):
    def commits():
        return git(tmp_path / "dashboard" / "code", "log", "--format=%H %s", "--reverse", "main").splitlines()

    runs = [
        record("fw", plugin="fw", code_sha256="a" * 64), record("smo", plugin="smo", code_sha256="b" * 64),
        record("fw", plugin="fw", code_sha256="c" * 64),
        record("smo", plugin="smo", code_sha256="b" * 64, versions={"python": "3.12.1"}),
    ]  # fmt: skip
    conf = exported(tmp_path, *runs)
    once = commits()
    assert len(once) == 3  # fw and smo of one state, a new fw, another Python
    assert {file.commit: file.environment for file in read_all(conf.records_dir)} == {
        line.split()[0]: f"compare-py{python}" for line, python in zip(once, ("3.11", "3.11", "3.12"), strict=True)
    }
    exported(tmp_path, *runs)
    assert commits() == once


@pytest.mark.parametrize(("seconds", "shown"), [(2.0, 2.0), (1e308, None)])
def test_a_number_that_asv_cannot_square_is_none(seconds, shown):
    (number,) = [each for each in numbers.NUMBERS if each.figure == "fit_seconds"]
    assert number.of(record(fit_seconds=seconds)) == shown


def test_a_cell_is_named_by_its_record_alone():
    changed = record("smo", cache_mb=1.0, iteration_limit=500, threads=2)
    assert cells.solver_name(record("smo")) == "smo"
    assert cells.solver_name(changed) == "smo (threads 2, cache 1 MB, iterations <= 500)".replace(
        "threads 2", "2 threads"
    )
    squared = record(formulation="l2-svc", problem_parameters={"C": 1.0, "chi": 2.0})
    assert cells.dataset_name(squared) == "digits, l2-svc chi=2, rbf gamma=0.05"
    assert cells.dataset_name(record(formulation=None, kernel=None)) == "digits"


def test_a_seed_on_older_data_does_not_count():
    runs = [
        {"group": "g", "seed": 0, "repetition": 0, "measured_at": "1", "data": "old"},
        {"group": "g", "seed": 0, "repetition": 1, "measured_at": "2", "data": "new"},
        {"group": "older", "seed": 1, "repetition": 0, "measured_at": "0", "data": "new"},
    ]
    assert cells.counting(runs) == ([runs[1]], 2)


def contents(folder):
    return {(cell["solver"], cell["fit_seconds"]) for file in read_all(folder / "records") for cell in file.records}


def test_several_stores_are_exported_and_the_newest_of_a_run_counts(tmp_path, capsys):
    old, new = record("smo", fit_seconds=0.4), record("smo", fit_seconds=0.3)
    first = store(tmp_path / "a.sqlite", new, record("fw"))
    second = store(tmp_path / "b.sqlite", old, record("qp"), new)
    arguments = ["--store", first, "--store", second]
    code, out, _ = command(capsys, "export", "--standalone", tmp_path / "d", *arguments)
    assert (code, "exported 3 runs of 3 solvers" in out) == (0, True)
    assert contents(tmp_path / "d") == {("smo", 0.3), ("fw", 0.5), ("qp", 0.5)}
    commits = repository(tmp_path / "code")
    code, out, _ = command(capsys, "export", "--config", tmp_path / "code", "--commit", commits[0], *arguments)
    assert (code, "exported 3 runs of 3 solvers" in out) == (0, True)
    code, _, err = command(capsys, "export", "--standalone", tmp_path / "e", *arguments, "--store", "gone.sqlite")
    assert (code, "there is no result store at gone.sqlite" in err) == (2, True)


def test_a_standalone_dashboard_keeps_what_it_showed_and_what_is_not_ours(tmp_path, capsys):
    first, second = store(tmp_path / "a.sqlite", record("smo")), store(tmp_path / "b.sqlite", record("fw"))
    folder = tmp_path / "d"
    assert command(capsys, "export", "--standalone", folder, "--store", first)[0] == 0
    notes = [folder / name for name in ("thesis.tex", "results/notes.txt", "code/mine.py")]
    for path in notes:
        path.write_text("precious")
    configured = (folder / "asv.conf.json").read_text().replace('"svm-harness"', '"mine"')
    (folder / "asv.conf.json").write_text(configured)
    assert command(capsys, "export", "--standalone", folder, "--store", second)[0] == 0
    assert contents(folder) == {("smo", 0.5), ("fw", 0.5)}
    assert [path.read_text() for path in notes] == ["precious"] * 3
    assert (folder / "asv.conf.json").read_text() == configured
    first.unlink()
    code, _, err = command(capsys, "export", "--standalone", folder, "--store", second)
    assert (code, f"shows the runs of {first}, which is gone" in err) == (2, True)
    assert contents(folder) == {("smo", 0.5), ("fw", 0.5)}


@pytest.mark.parametrize("marker", [None, "made by: harness dashboard export --standalone\n", '{"stores": 3}', "[]"])
def test_a_folder_with_something_else_is_left_alone(tmp_path, capsys, marker):
    folder = tmp_path / "mine"
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "thesis.tex").write_text("precious")
    if marker is not None:
        (folder / ".standalone").write_text(marker)
    code, _, err = command(capsys, "export", "--standalone", folder, "--store", store(tmp_path / "s.sqlite", record()))
    assert (code, "is no dashboard made by this command; name a new folder" in err) == (2, True)
    assert (folder / "results" / "thesis.tex").read_text() == "precious"


# -- how a commit is called -----------------------------------------------------------------------------------


def test_a_state_of_code_is_called_by_the_commit_that_was_measured(tmp_path):
    """At the commit before, the site named commits of the made-up repository, which nobody has."""
    real, other = "929e25f1" + "0" * 32, "5" * 40
    runs = [
        record(git_commit=other, code_sha256="1"),
        record(git_commit=other, code_sha256="2"),
        record(git_commit=f"{real}+", code_sha256="3"),
        record(git_commit=None, code_sha256="4", kernel_evaluations=10**6),
    ]
    conf = exported(tmp_path, *runs)
    site.build(conf)
    index = json.loads((conf.html_dir / "index.json").read_text())
    names = ["55555555 (1)", "55555555 (2)", "929e25f1+", "0.1.0, no commit"]
    assert [name.rstrip() for name in index["revision_to_hash"].values()] == names
    assert {len(name) for name in index["revision_to_hash"].values()} == {index["hash_length"]}
    (place,) = json.loads((conf.html_dir / "solvers" / "data" / "index.json").read_text())["places"]
    assert [each["name"] for each in place["commits"]] == names[::-1]
    assert all(each["title"] == "svm-harness 0.1.0, measured 2026-01-01" for each in place["commits"])
    feed = (conf.html_dir / "regressions.xml").read_text()
    assert "in commit 0.1.0, no commit." in feed
    assert "commits=0.1.0%2C%20no%20commit" in feed
    assert not any(commit[:8] in feed for commit in git(tmp_path / "dashboard" / "code", "rev-list", "main").split())


def test_a_commit_of_a_repository_is_called_by_its_hash_and_has_its_title(tmp_path):
    commits = repository(tmp_path / "code")
    git(tmp_path / "code", "commit", "-q", "--allow-empty", "-m", "a\x01b <c>\n\nMore.\n\nSigned-off-by: x")
    (newest,) = set(git(tmp_path / "code", "rev-list", "HEAD").split()) - set(commits)
    names = called(tmp_path / "code")
    assert set(names) == {*commits, newest}
    assert names[newest] == Called(newest[:8], "a\x01b <c>")
    assert names[commits[0]] == Called(commits[0][:8], "commit 0")
    assert called(tmp_path) == {}
    git(tmp_path / "code", "commit", "-q", "--allow-empty", "-m", "x\n\nMeasured-as: <img src=x>")
    newest = git(tmp_path / "code", "rev-parse", "HEAD")
    assert called(tmp_path / "code")[newest].name == newest[:8]  # the feed is made of it


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        ("https://github.com/some/project.git", "https://github.com/some/project"),
        ("https://me:secret@github.com/some/project", "https://github.com/some/project"),
        ("git@github.com:some/project.git", "https://github.com/some/project"),
        ("ssh://git@example.org:2222/group/sub/project.git/", "https://example.org/group/sub/project"),
        ("/srv/git/project.git", None),
        ("../project", None),
        ("file:///srv/project", None),
        ('https://evil.example/"><script>', None),
        ("C:/project", None),
    ],
)
def test_commits_have_pages_where_the_remote_has(tmp_path, remote, page):
    repository(tmp_path / "code")
    assert web_address(tmp_path / "code") is None
    git(tmp_path / "code", "remote", "add", "upstream", remote)
    assert web_address(tmp_path / "code") == (page and (page, f"{page}/commit/"))
    assert web_address(remote) == (page and (page, f"{page}/commit/"))


def test_bitbucket_has_pages_of_its_own_kind():
    assert web_address("git@bitbucket.org:a/b.git") == (
        "https://bitbucket.org/a/b",
        "https://bitbucket.org/a/b/commits/",
    )
