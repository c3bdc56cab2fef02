"""The pages as one HTML file: what stands in it, what it may carry out, and that nothing of asv is needed for it."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser

from harness_dashboard import page

from harness.report.table import report_table

from .stored import blocks, cells_of, failed, record, store

HOSTILE = "</script></pre><script>window.x=1</script><!-- <img src=x onerror=window.x=2>"


class Parts(HTMLParser):
    """The scripts, loaded addresses and preformatted texts of a page, as a parser of HTML finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts, self.loaded, self.pre = [], [], {}
        self._open = self._within = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._open = tag
        self.loaded += [value for name, value in attrs if name in ("src", "href") and value != "data:,"]
        if tag == "script":
            self.scripts.append("")
        if tag == "pre":
            self._within = dict(attrs)["aria-label"]
            self.pre[self._within] = ""

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open == "script":
            self.scripts[-1] += data
        if self._open == "pre":
            self.pre[self._within] += data


def test_a_module_gives_what_it_exports(tmp_path):
    (tmp_path / "main.js").write_text('import {\n  a,\n  b as c,\n} from "./b.js";\nimport * as all from "./b.js";\n')
    (tmp_path / "b.js").write_text(
        "export const a = 1;\nexport async function b() {}\nexport class D {}\nconst own = 2;\n"
    )
    script = page.joined(tmp_path, "main.js")
    assert script.index('modules["b.js"] =') < script.index('modules["main.js"] =')
    assert "return { a, b, D };" in script
    assert 'const {\n  a,\n  b: c,\n} = modules["b.js"];' in script
    assert 'const all = modules["b.js"];' in script


def test_the_file_loads_nothing_and_names_its_own_scripts(tmp_path):
    text, _ = page.of_stores([store(tmp_path / "s.sqlite", record("smo"), failed("qp"))])
    parts = Parts(text)
    assert parts.loaded == []
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    allowed = re.search(r"script-src ([^;]+)", policy).group(1).split()
    scripts = [script for script in parts.scripts if not script.startswith("{")]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert allowed == [f"'sha256-{digest}'" for digest in digests]
    assert blocks(text)["0-table"]["rows"] == 2


def test_texts_of_records_are_data():
    """No text ends its block or the table on top, and what a parser reads in the block is what was written."""
    text = f"{HOSTILE} {{{{policy}}}} \\u003c </SCRIPT"
    runs = [record(), failed("qp", reason=text), record(f"<b>{text}", dataset=text)]
    html = page.of_records(runs, command=text)
    parts = Parts(html)
    assert len(parts.scripts) == len(blocks(html)) + 2
    assert text in [row["reason"] for row in cells_of(blocks(html)["0-table"]).values()]
    assert parts.pre["Command"] == text


def test_it_needs_no_asv(tmp_path):
    path = store(
        tmp_path / "s.sqlite", *(record(name, dataset) for name in ("smo", "fw") for dataset in ("a", "b", "c"))
    )
    without = (
        "import sys; sys.modules.update(asv=None)\n"
        "from harness.cli.main import cli\n"
        f"cli.main(['dashboard', 'export', '--single-file', 'page.html', '--store', {str(path)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", without], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "exported runs: 6, solvers: 2, data sets and problems: 3\n" in done.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_the_page_of_a_comparison_has_its_table_machine_versions_and_command():
    runs = [record("smo"), record("fw", fit_seconds=9.0, cpu_seconds=9.0), failed("qp")]
    text = page.of_records(runs, command="harness compare --plugins 'smo<b>'")
    parts = Parts(text)
    assert parts.pre["Command"] == "harness compare --plugins 'smo<b>'"
    assert parts.pre["Table"] == report_table(runs, width=page.WIDTH)
    assert "Made Up 9000, 4 cores, 16 GiB, Linux<br>python 3.11.7, svm-harness 0.1.0, numpy 2.4.6" in text
    assert blocks(text)["index"]["history"] is False
