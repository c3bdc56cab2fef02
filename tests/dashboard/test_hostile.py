"""A store or a folder of results that wishes us ill: nothing outside the folder, no markup, no traceback."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard import configuration, export, offline, site, untrusted
from harness_dashboard.records import read_all
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError

from .hostile import ESCAPE, TEXTS, hostile_records, hostile_store
from .stored import MACHINE, command, page_data, record, repository, store

WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MARKUP = re.compile(r"<[A-Za-z/!?]|&[#A-Za-z]")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A dashboard of all hostile records; deep enough that what escapes stays in the folder of the test."""
    root = tmp_path_factory.mktemp("hostile")
    folder = root / "a" / "b" / "c"
    folder.mkdir(parents=True)
    export.standalone([hostile_store(folder / "s.sqlite", hostile_records())], folder / "d")
    return root, folder / "d"


def test_nothing_is_written_outside_and_every_name_is_plain(exported):
    root, folder = exported
    outside = {path for path in root.rglob("*") if not path.is_relative_to(folder) and path.is_file()}
    assert {path.name.partition(".")[0] for path in outside} == {"s"}
    ours = [path for name in ("results", "records") for path in (folder / name).rglob("*")]
    assert len(ours) > 400
    for path in ours:
        assert WORDS.fullmatch(path.name), path
        assert len(path.name) <= 255


def test_what_asv_is_given_holds_no_markup_and_what_our_pages_get_is_of_its_kind(exported):
    _, folder = exported
    for path in (folder / "results").rglob("*.json"):
        text = path.read_text()
        assert MARKUP.search(text) is None, path
        assert "\\u0000" not in text
        assert "\\u001b" not in text
    kinds = {
        "solver": str,
        "dataset": str,
        "status": str,
        "reason": str,
        "label": str,
        "formulation": str,
        "trace": list,
    }
    for file in read_all(folder / "records"):
        for run in file.records:
            assert all(isinstance(run.get(name), kind | None) for name, kind in kinds.items())
            assert len(run["solver"]) <= untrusted.NAME
            assert len(run["dataset"]) <= untrusted.NAME


@pytest.mark.parametrize("field", ["cores", "id", "processor"])
def test_a_machine_is_a_folder_beside_the_others(tmp_path, field):
    """At the commit before, `cores` of a store wrote two files wherever it said."""
    folder = tmp_path / "1" / "2" / "3" / "4" / "5"
    folder.mkdir(parents=True)
    store(folder / "s.sqlite", record(machine={**MACHINE, field: ESCAPE}))
    export.standalone([folder / "s.sqlite"], folder / "d")
    assert list(tmp_path.rglob("*ESCAPED")) == []
    (machine,) = [path for path in (folder / "d" / "results").iterdir() if path.is_dir()]
    assert sorted(path.name.partition("-")[2] for path in machine.iterdir()) == ["", "compare-py3.11.json"]


def test_a_link_that_leads_out_of_the_results_is_not_followed(tmp_path):
    commits = repository(tmp_path / "code")
    conf = configuration.load(tmp_path / "code")
    (tmp_path / "elsewhere").mkdir()
    conf.results_dir.mkdir(parents=True)
    (conf.results_dir / "Made_Up_9000-4c-abcdef").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"lies outside .* nothing was written there"):
        export.export([store(tmp_path / "s.sqlite", record(git_commit=commits[0]))], conf)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@given(st.text(max_size=3 * untrusted.NAME) | st.sampled_from(TEXTS).filter(lambda text: "\ud800" not in text))
def test_names_facts_and_words_are_what_they_should_be(text):
    named = untrusted.name(text)
    assert MARKUP.search(named) is None
    assert '"' not in named
    assert 0 < len(named) <= untrusted.NAME
    assert named == untrusted.name(named)
    assert not set(untrusted.fact(text)) & set("<>&\"'`{}$\\\n\0")
    assert WORDS.fullmatch(untrusted.word(text, "unknown"))
    assert untrusted.moment(text).tzinfo is not None


def test_what_is_no_markup_is_shown_as_written():
    for text in ("smo (iterations <= 500)", "smo[x='1']", "a < b & c > d", "digits, c-svc C=10, rbf gamma=0.05"):
        assert untrusted.name(text) == text
    processor = "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz, 4+4 cores"
    assert untrusted.fact(processor) == processor
    long = [untrusted.name("x" * 300 + end) for end in "ab"]
    assert long[0] != long[1]
    assert untrusted.python_version("3.11.7") == "3.11"
    assert untrusted.python_version("3.14.0rc1+") == "3.14"
    assert [untrusted.python_version(each) for each in ("x/../3.1", 3.11, None, "3")] == ["unknown"] * 4
    assert untrusted.moment("2026-01-01T00:00:00.000+00:00") == datetime(2026, 1, 1, tzinfo=UTC)
    assert {untrusted.moment(each).year for each in ("0001-01-01", "9999-12-31", "soon", None)} == {1970}


# -- a folder of somebody else's, of which a site is made ---------------------------------------------------


@pytest.fixture
def foreign(tmp_path):
    """A dashboard of one run that was changed by hand afterwards."""
    store(tmp_path / "s.sqlite", record())
    export.standalone([tmp_path / "s.sqlite"], tmp_path / "d")
    return tmp_path / "d"


def changed(path: Path, change) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_folder_of_hostile_results_becomes_a_site_without_markup(foreign):
    attack = "<img src=x onerror=window.__xss=1>&lt;b&gt;"
    (machine,) = (foreign / "results").glob("*/machine.json")
    changed(machine, lambda told: told.update({"cpu": attack, attack: attack, "ram": {"x": attack}}))
    other = {"name": "other.track_x", "params": [], "param_names": [], "type": "track", "unit": attack, "version": "1",
             "code": attack, "timeout": 60, "pretty_name": attack}  # fmt: skip
    listed = {"other.track_x": other, '"><script>x</script>': {**other, "name": '"><script>x</script>'}}
    changed(foreign / "results" / "benchmarks.json", lambda told: told.update(listed))
    changed(
        foreign / "asv.conf.json", lambda told: told.update({"project": attack, "project_url": "javascript:alert(1)"})
    )
    (records,) = (foreign / "records").iterdir()
    changed(
        records, lambda told: told["records"][0].update({"reason": attack, "label": {"x": 1}, "seed": [], "trace": "x"})
    )
    conf = configuration.load(foreign)
    site.build(conf)
    index = (conf.html_dir / "index.json").read_text()
    assert MARKUP.search(index) is None
    told = json.loads(index)
    assert (told["project_url"], "other.track_x" in told["benchmarks"], len(told["benchmarks"])) == ("#", True, 9)
    (row,) = page_data(conf.html_dir).values()
    assert row["status"] == "ok"


@pytest.mark.parametrize(
    ("pattern", "text", "told"),
    [
        ("records/*.json", "[" * 100_000, "is no file of records"),
        ("records/*.json", '{"version": 1, "commit": 3}', "is no file of records"),
        ("results/*/*compare*.json", '{"results": {"grid.x": [0, [["__import__(\'os\')"], []]]}}', "holds no results"),
        ("results/*/*compare*.json", '{"results": [3]}', "holds no results"),
        ("results/*/machine.json", "[]", "the site cannot be made"),
        ("results/benchmarks.json", "[3]", "delete it"),
    ],
)
def test_a_broken_folder_is_one_sentence(foreign, capfd, pattern, text, told):
    (path,) = foreign.glob(pattern)
    path.write_text(text)
    code, _, err = command(capfd, "build", "--config", foreign)
    assert (code, told in err, "Traceback" in err) == (2, True, False), err


# -- what the pages may do ----------------------------------------------------------------------------------


def test_scripts_in_a_page_become_files_and_handlers_go():
    page = (
        "<html><head><title>x</title><script>var a = 1 < 2;</script><script src='b.js' onerror=\"fail()\"></script></head>"
        "<body onload='x()'>when onload = 'that' is text</body></html>"
    )
    html, files = offline.sealed(page)
    assert list(files.values()) == ["var a = 1 < 2;"]
    assert f'<script src="{next(iter(files))}"></script>' in html
    assert "onerror" not in html
    assert "<body>when onload = 'that' is text" in html
    assert html.index("Content-Security-Policy") < html.index("<title>")
    assert "'unsafe-eval'" not in untrusted.POLICY
    assert "script-src 'self';" in untrusted.POLICY
