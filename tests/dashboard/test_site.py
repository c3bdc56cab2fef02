"""The site: whole or not at all, offline, with our pages beside asv's; and asv's graphs made quicker are the same graphs."""

from __future__ import annotations

import functools
import itertools
import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, data, export, front, site, traces
from harness_dashboard.history import ABSENT
from harness_dashboard.records import RecordFile, read_file
from harness_dashboard.untrusted import POLICY

from harness.errors import UsageError
from harness.report.timing import reached, spent
from harness.run.record import Record, Status, StoppedBy

from .stored import command, failed, git, page_data, record, repository, store

PAGES = front.PAGES


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A site of a few runs, with the configuration it was made from."""
    folder = tmp_path_factory.mktemp("built")
    trace = [
        {"seconds": 0.1 * i, "kernel_evaluations": 100 * i, "relative_gap": 10.0**-i, "test_accuracy": 0.9}
        for i in (1, 2, 3)
    ]
    store(
        folder / "s.sqlite", record("smo", trace=trace, fit_seconds=0.4, relative_gap=1e-4), record("fw"), failed("qp")
    )
    export.standalone([folder / "s.sqlite"], folder / "dashboard")
    conf = configuration.load(folder / "dashboard")
    site.build(conf)
    return conf


def test_pages_load_only_what_stands_beside_them(built):
    pages = {path.name: path.read_text() for path in built.html_dir.glob("*.html")}
    assert {"index.html", "history.html", "solvers.html"} <= set(pages)
    assert 'id="nav-li-solvers"><a href="index.html"' in pages["history.html"]
    assert 'src="solvers/main.js"' in pages["index.html"]
    assert 'href="index.html"' in pages["solvers.html"]
    loaded = [
        address
        for html in pages.values()
        for address in re.findall(r'<(?:script|link|img)\b[^>]*?(?:src|href)="([^"]+)"', html)
    ]
    assert len(loaded) > 20
    assert all(f'"Content-Security-Policy" content="{POLICY}"' in html for html in pages.values())
    assert not any(re.search(r"<script(?![^>]*\bsrc=)|\son\w+=", html) for html in pages.values())
    for address in loaded:
        assert (built.html_dir / address).is_file(), address
    for script in (built.html_dir / "solvers").glob("*.js"):
        text = script.read_text()
        assert "http:" not in text.replace("http://www.w3.org", "")
        assert "https:" not in text
        for module in re.findall(r'from "\./([^"]+)"', text):
            assert (script.parent / module).is_file()
    assert "url(" not in (built.html_dir / "solvers" / "style.css").read_text()


def test_links_of_the_feed_lead_to_asvs_page(tmp_path):
    """asv writes its front page's name into the feed, and that page has another name here."""
    conf = a_regression(tmp_path)
    site.build(conf)
    feed = (conf.html_dir / "regressions.xml").read_text()
    assert "grid.track_kernel_evaluations" in feed
    assert feed.count("history.html#grid.") >= 2
    assert "index.html#" not in feed


def test_ours_lead_to_asvs_pages_only_where_those_have_a_curve(tmp_path, built):
    """One commit is one point: asv's graphs of it are empty boxes."""
    assert index_of(built)["history"] is False
    conf = a_regression(tmp_path)
    site.build(conf)
    assert index_of(conf)["history"] is True


def index_of(conf):
    return json.loads((conf.html_dir / "solvers" / "data" / "index.json").read_text())


def a_regression(folder):
    """Return a dashboard of several states of the code, the last of which needs ten times the kernel evaluations."""
    counts = [1000, 1000, 1000, 10_000]
    runs = [record(kernel_evaluations=count, code_sha256=f"state {i}") for i, count in enumerate(counts)]
    export.standalone([store(folder / "s.sqlite", *runs)], folder / "d")
    return configuration.load(folder / "d")


def test_no_text_becomes_markup():
    """A solver's reason may hold <script>: our scripts make elements and texts, never markup."""
    scripts = {path.name: path.read_text() for path in PAGES.glob("*.js")}
    assert len(scripts) >= 9
    for name, text in scripts.items():
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", ".html(", "eval(", "DOMParser"):
            assert way not in text, name


def test_what_a_module_imports_is_exported_where_it_says():
    """A name that is missing leaves every page blank, and only a browser would tell."""
    scripts = {path.name: path.read_text() for path in PAGES.glob("*.js")}
    exported = {
        name: set(re.findall(r"^export (?:const|(?:async )?function\*?|class) (\w+)", text, re.MULTILINE))
        for name, text in scripts.items()
    }
    for name, text in scripts.items():
        for names, module in re.findall(r'^import \{([^}]*)\} from "\./([^"]+)";', text, re.MULTILINE):
            wanted = {each.split(" as ")[0].strip() for each in names.split(",") if each.strip()}
            assert wanted <= exported[module], (name, module)


def test_the_costs_of_the_targets_come_from_the_certified_trace(built):
    row = page_data(built.html_dir)["smo", "digits, c-svc C=10, rbf gamma=0.05"]
    assert row["seconds_to"] == [0.1, 0.2, 0.3, 0.4, None, None]
    assert row["kernel_evaluations_to"][:3] == [100, 200, 300]


def test_the_pages_are_told_who_did_what_was_asked(tmp_path):
    """A run that missed, gave up or was stopped has its figures, and competes for nothing."""
    astray = [Status.BUDGET, Status.UNFINISHED, Status.MISSED]
    rows = [record("smo", target_gap=1e-3), *(record(f"s {status}", status=status, reason="x") for status in astray)]
    late = record("late", status=Status.BUDGET, stopped_by=StoppedBy.TIME)
    partly = record(
        "partly", evaluations_at_least=True, trace=[{"seconds": 0.1, "kernel_evaluations": 5, "relative_gap": 0.1}]
    )
    store(tmp_path / "s.sqlite", *rows, late, partly, failed("qp"), failed("no", status=Status.SKIPPED))
    export.standalone([tmp_path / "s.sqlite"], tmp_path / "d")
    conf = configuration.load(tmp_path / "d")
    site.build(conf)
    cells = {solver: row for (solver, _), row in page_data(conf.html_dir).items()}
    told = ("ran", "measured", "complete", "failed")
    assert {solver: tuple(cells[solver][name] for name in told) for solver in cells} == {
        "smo (target 0.001)": (True, True, True, False), "s budget": (True, True, False, False),
        "s unfinished": (True, True, False, True), "s missed": (True, True, False, True), "late": (True, True, False, True),
        "partly": (True, True, True, False), "qp": (True, False, False, True), "no": (False, False, False, False),
    }  # fmt: skip
    assert cells["smo (target 0.001)"]["target_gap"] == 1e-3
    assert cells["s missed"]["target_gap"] is None
    assert cells["s missed"]["fit_seconds"] == 0.5
    assert (cells["partly"]["at_least"], cells["smo (target 0.001)"]["at_least"]) == (True, False)
    assert set(cells["partly"]["kernel_evaluations_to"]) == {None}  # its counts reached nothing that could be compared
    assert cells["partly"]["seconds_to"][0] == 0.1


def costs(run, cost):
    return spent(reached(run, traces.TARGETS), run, cost)


def test_a_gap_counts_as_reached_only_beyond_its_rounding():
    run = {"relative_gap": 9e-3, "gap_rounding": 2e-3, "fit_seconds": 1.0}
    assert costs(run, "seconds")[:3] == [1.0, None, None]


@given(st.lists(st.floats(1e-9, 2.0), min_size=1, max_size=150))
@example([1.00001e-3])  # rounded down it would be at the target
def test_thinning_a_trace_changes_no_target(gaps):
    trace = [{"seconds": i + 1, "relative_gap": gap} for i, gap in enumerate(gaps)]
    thin = traces.thinned(trace)
    assert len(thin) <= traces.POINTS + len(traces.TARGETS) + 2
    assert costs({"trace": thin}, "seconds") == costs({"trace": trace}, "seconds")


def test_only_the_newest_measurement_of_a_cell_keeps_its_trace(tmp_path):
    long = [{"seconds": float(i), "relative_gap": 0.5} for i in range(200)]
    first = [record(name, code_sha256="1", trace=long) for name in ("a", "b")]
    store(tmp_path / "s.sqlite", *first, record("a", code_sha256="2", trace=long))
    export.standalone([tmp_path / "s.sqlite"], tmp_path / "d")
    files = sorted(
        (read_file(path) for path in (tmp_path / "d" / "records").iterdir()), key=lambda file: file.measured_at
    )
    lengths = [{run["solver"]: len(run.get("trace", [])) for run in file.records} for file in files]
    assert lengths == [{"a": 0, "b": traces.POINTS}, {"a": traces.POINTS}]


def test_a_commit_without_a_solver_does_not_hide_what_an_older_one_measured(tmp_path):
    runs = [Record(solver="smo", dataset="digits", status=Status.OK, fit_seconds=0.5)]
    gone = [Record(solver="smo", dataset="digits", status=ABSENT)]
    files = [RecordFile("a" * 40, 1, "m", "e", "1", runs), RecordFile("b" * 40, 2, "m", "e", "2", gone)]
    data.write_data(files, tmp_path / "solvers" / "data", project="x")
    assert page_data(tmp_path)["smo", "digits"]["fit_seconds"] == 0.5
    (place,) = json.loads((tmp_path / "solvers" / "data" / "index.json").read_text())["places"]
    assert [each["commit"][0] for each in place["commits"]] == ["b", "a"]
    assert page_data(tmp_path, place["commits"][1]["file"])["smo", "digits"]["fit_seconds"] == 0.5


def test_nothing_measured_is_a_site_that_says_so(tmp_path, capsys):
    repository(tmp_path / "code")
    code, out, err = command(capsys, "build", "--config", tmp_path / "code")
    assert (code, err) == (0, "")
    html = tmp_path / "code" / ".asv" / "html"
    assert f"the site is {html}" in out
    assert json.loads((html / "solvers" / "data" / "index.json").read_text())["places"] == []
    assert "Nothing was measured yet" in (html / "solvers" / "main.js").read_text()


def test_a_folder_that_is_no_site_is_not_replaced(tmp_path):
    repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    conf.html_dir.mkdir(parents=True)
    (conf.html_dir / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="is no site made before and will not be replaced"):
        site.build(conf)
    assert (conf.html_dir / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize("files", [("index.html", "solvers.html"), ("index.html", "history.html", "solvers.html")])
def test_a_site_of_before_and_of_now_is_replaced(tmp_path, files):
    repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    conf.html_dir.mkdir(parents=True)
    for name in (*files, "info.json"):
        (conf.html_dir / name).write_text("of before")
    site.build(conf)
    assert "solvers/main.js" in (conf.html_dir / "index.html").read_text()
    assert "of before" not in (conf.html_dir / "solvers.html").read_text()


def test_a_site_that_cannot_be_made_leaves_the_old_one(tmp_path):
    commits = repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    export.export([store(tmp_path / "s.sqlite", record(git_commit=commits[0]))], conf)
    site.build(conf)
    before = (conf.html_dir / "info.json").read_text()
    next(conf.records_dir.iterdir()).write_text("{")
    with pytest.raises(UsageError, match="is no file of records"):
        site.build(configuration.load(tmp_path / "code"))
    assert (conf.html_dir / "info.json").read_text() == before
    assert [path.name for path in conf.html_dir.parent.iterdir() if path.name.startswith(".html")] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no file"),
        ("{", "cannot be used"),
        ("[1]", "cannot be used"),
        ('["version"]', "cannot be used"),
        ('{"version": 1}', "No repo specified"),
        ('{"version": 99, "repo": "."}', "cannot be used"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_sentence(tmp_path, capsys, text, told):
    file = tmp_path / "asv.conf.json"
    if text is not None:
        file.write_text(text)
    code, _, err = command(capsys, "build", "--config", file)
    assert (code, told in err, err.count("\n")) == (2, True, 1)


def test_without_a_repository_the_sentence_names_the_way_out(tmp_path, capsys):
    (tmp_path / "asv.conf.json").write_text('{"version": 1, "repo": "gone", "project": "x"}')
    code, _, err = command(capsys, "build", "--config", tmp_path)
    assert (code, "the site cannot be made" in err, err.count("\n")) == (2, True, 1)


def test_without_asv_the_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(configuration.importlib.util, "find_spec", lambda name: None)
    for arguments in (["build"], ["serve"], ["export"], ["export", "--standalone", "x"]):
        code, _, err = command(capsys, *arguments)
        assert (code, "pip install 'svm-harness[asv]'" in err) == (2, True)


def test_serve_serves_this_machine_until_interrupted(built):
    start = [
        sys.executable,
        "-m",
        "harness.cli.main",
        "dashboard",
        "serve",
        "--port",
        "0",
        "--config",
        str(built.folder),
    ]
    # a shell lets what it starts in the background ignore Ctrl-C, and so would the server
    heed = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(start, stdout=subprocess.PIPE, text=True, preexec_fn=heed) as server:  # noqa: PLW1509
        try:
            address = re.match(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
            assert address
            for page in ("", "history.html", "solvers.html", "solvers/data/index.json"):
                assert urllib.request.urlopen(address.group() + page, timeout=20).status == 200
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=120) == 0
        finally:
            server.kill()


def test_serve_without_a_site_says_how_to_make_one(tmp_path, capsys):
    repository(tmp_path / "code")
    code, _, err = command(capsys, "serve", "--config", tmp_path / "code")
    assert (code, "make it first: harness dashboard build" in err) == (2, True)


def test_commits_between_two_are_gits(tmp_path):
    from asv.plugins.git import Git
    from harness_dashboard.inside_asv import Ranges

    commits = repository(tmp_path / "code", commits=5)
    git(tmp_path / "code", "branch", "side", "HEAD~3")
    git(tmp_path / "code", "checkout", "-q", "side")
    git(tmp_path / "code", "commit", "-q", "--allow-empty", "-m", "aside")
    aside = git(tmp_path / "code", "rev-parse", "HEAD")
    own, quick = (kind(str(tmp_path / "code"), str(tmp_path / "mirror")) for kind in (Git, Ranges))
    for older, newer in itertools.product([*commits, aside], repeat=2):
        if older != newer and (
            older not in commits or newer not in commits or commits.index(older) < commits.index(newer)
        ):
            for _ in range(2):  # asked, and remembered
                assert quick.get_hashes_from_range(f"{older}..{newer}") == own.get_hashes_from_range(
                    f"{older}..{newer}"
                )
