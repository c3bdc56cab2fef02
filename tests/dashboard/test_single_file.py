"""The pages as one HTML file: what stands in it, what it may carry out, and that nothing of asv is needed for it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from harness_dashboard import single
from harness_dashboard.front import PAGES
from harness_dashboard.joined import joined

from benchmarks import dashboard_scale

from .hostile import hostile_records, hostile_store
from .stored import PATH, command, failed, record, store


class Parts(HTMLParser):
    """The scripts, blocks of data, style and visible texts of a page, as a parser of HTML finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts, self.data, self.loaded, self.told = [], {}, [], {}
        self._open = self._within = ""
        self._attributes = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._open, self._attributes = tag, dict(attrs)
        self.loaded += [
            value for name, value in attrs if name in ("src", "href") and value not in ("#content", "data:,")
        ]
        if tag == "script":
            self.scripts.append("")
        if tag == "pre":
            self._within = self._attributes.get("aria-label", "")
            self.told[self._within] = ""

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open == "script":
            self.scripts[-1] += data
        if self._open == "pre":
            self.told[self._within] += data

    @property
    def blocks(self):
        return [json.loads(text) for text in self.scripts if text.startswith("{")]


def test_every_module_of_the_pages_keeps_to_the_forms_that_can_be_joined():
    for path in PAGES.glob("*.js"):
        script = joined(PAGES, path.name)
        wanted = set(re.findall(r'from "\./([^"]+)"', path.read_text()))
        assert {path.name, *wanted} <= set(re.findall(r'^modules\["([^"]+)"\] = ', script, re.MULTILINE))
        assert not re.search(r"^(import|export)\b", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('import x from "./b.js";', "not imported or exported this way: import x"),
        ('import "./b.js";', "not imported"),
        ("export default 3;", "not imported"),
        ("const a = 1;\nexport { a };", "not imported"),
        ('export * from "./b.js";', "not imported"),
        ('const b = await import("./b.js");', "not imported"),
        ("const here = import.meta.url;", "not imported"),
        ('import { a } from "./main.js";', "in a circle: main.js -> main.js"),
        ('const a = "</script>";', "ends or hides"),
        ("const a = 1; <!-- b", "ends or hides"),
    ],
)
def test_a_module_of_another_form_is_refused(tmp_path, text, why):
    (tmp_path / "main.js").write_text(text)
    (tmp_path / "b.js").write_text("export const b = 1;\n")
    with pytest.raises(ValueError, match=re.escape(why)):
        joined(tmp_path, "main.js")


def test_a_module_gives_what_it_exports(tmp_path):
    (tmp_path / "main.js").write_text('import {\n  a,\n  b as c,\n} from "./b.js";\nimport * as all from "./b.js";\n')
    (tmp_path / "b.js").write_text(
        "export const a = 1;\nexport async function b() {}\nexport class D {}\nconst own = 2;\n"
    )
    script = joined(tmp_path, "main.js")
    assert script.index('modules["b.js"] =') < script.index('modules["main.js"] =')
    assert "return { a, b, D };" in script
    assert 'const {\n  a,\n  b: c,\n} = modules["b.js"];' in script
    assert 'const all = modules["b.js"];' in script


def test_the_file_loads_nothing_and_names_its_own_scripts(tmp_path):
    text, _ = single.of_stores([store(tmp_path / "s.sqlite", record("smo"), failed("qp"))])
    parts = Parts(text)
    assert parts.loaded == []
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    allowed = re.search(r"script-src ([^;]+)", policy).group(1).split()
    scripts = [script for script in parts.scripts if not script.startswith("{")]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert allowed == [f"'sha256-{digest}'" for digest in digests]
    assert [block["rows"] for block in parts.blocks if "rows" in block] == [2]


def test_texts_of_a_store_stay_in_their_block(tmp_path):
    """No text ends its block, and what a parser reads in it is what was written."""
    from harness_dashboard import data

    path = hostile_store(tmp_path / "s.sqlite", hostile_records())
    told = []
    plain = data.data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "data", lambda *given, **asked: told.extend(plain(*given, **asked)) or iter(told))
        text, _ = single.of_stores([path])
    parts = Parts(text)
    assert len(parts.blocks) == len(told) == len(parts.scripts) - 2
    assert parts.blocks == [json.loads(json.dumps(content)) for _, content in told]
    text.encode()


def test_500_runs_are_below_2_mb(tmp_path):
    path = tmp_path / "s.sqlite"
    dashboard_scale.fill(path, dashboard_scale.records(500, 10, 10, 5))
    text, summary = single.of_stores([path])
    assert summary.runs == 500
    assert len(text.encode()) < 2e6


def test_it_needs_no_asv(tmp_path, capsys):
    path = store(
        tmp_path / "s.sqlite", *(record(name, dataset) for name in ("smo", "fw") for dataset in ("a", "b", "c"))
    )
    without = (
        "import sys; sys.modules.update(asv=None, statsmodels=None)\n"
        "from harness.cli.main import cli\n"
        f"cli.main(['dashboard', 'export', '--single-file', 'page.html', '--store', {str(path)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", without], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "exported 6 runs of 2 solvers on 3 data sets at 1 commit to page.html (" in done.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_data_sets_are_counted_apart_from_problems(tmp_path):
    made = [record("smo", name, problem_parameters={"C": C}) for name in ("a", "b") for C in (1.0, 10.0, 100.0)]
    _, summary = single.of_stores([store(tmp_path / "s.sqlite", *made)])
    assert summary.what() == "1 solver on 2 data sets (6 problems)"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--single-file", "p.html", "--standalone", "s"], "--single-file: it is made of the stores alone"),
        (["--single-file", "p.html", "--commit", "HEAD"], "--single-file: it is made of the stores alone"),
        (["--single-file", "no/where.html"], "--single-file: the folder no of no/where.html does not exist"),
        (["--single-file", "."], "--single-file: . is a folder; name a file in it"),
        (["--single-file", "p.html", "--store", "none.sqlite"], "there is no result store at none.sqlite"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path, monkeypatch, capsys, arguments, why):
    monkeypatch.chdir(tmp_path)
    code, _, err = command(capsys, "export", *arguments)
    assert code == 2
    assert why in " ".join(err.split())
    assert not (tmp_path / "p.html").exists()


# -- the report format -----------------------------------------------------------------------------------------


def test_the_page_of_a_comparison_has_its_table_machine_versions_and_command():
    from harness import report_table

    runs = [
        record("smo"),
        record("fw", fit_seconds=9.0, cpu_seconds=9.0),
        failed("qp", reason="</pre><script>1</script>"),
    ]
    text = single.of_records(runs, command="harness compare --plugins 'smo<b>'")
    parts = Parts(text)
    assert parts.told["Command"] == "harness compare --plugins 'smo<b>'"
    assert parts.told["Table"] == report_table(runs, width=single.WIDTH)
    assert "</pre><script>1</script>" in parts.told["Table"]
    assert "Made Up 9000, 4 cores, 16 GiB, Linux<br>python 3.11.7, svm-harness 0.1.0, numpy 2.4.6" in text
    (index,) = [block for block in parts.blocks if "places" in block]
    assert index["told"]["command"] == "harness compare --plugins 'smo<b>'"
    assert index["history"] is False


def test_paths_are_lines_of_the_table():
    whole, cell = record("smo", path=PATH), record("smo", path={**PATH, "cell": 0})
    parts = Parts(single.of_records([whole, cell]))
    assert "path of 2 C" in parts.told["Table"]
    assert "Command" not in parts.told
    assert next(block for block in parts.blocks if "places" in block)["places"] == []


def test_nothing_hostile_stops_the_page():
    text = single.of_records([dict(each) for each in hostile_records()], command="x")
    text.encode()
    assert len(Parts(text).scripts) == text.count("<script")
