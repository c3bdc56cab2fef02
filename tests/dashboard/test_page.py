"""The pages as one HTML file: what stands in it, what it may carry out, and that nothing of asv is needed for it."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser

from harness_dashboard import page

from harness import Record
from harness.report.table import report_table
from harness.report.verdict import of_records

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
    assert blocks(html)["index"]["comparison"]["command"] == text


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
    runs = [record("smo", git_commit="c" * 40), record("fw", fit_seconds=9.0, cpu_seconds=9.0), failed("qp")]
    text = page.of_records(runs, command="harness compare --plugins 'smo<b>'")
    assert Parts(text).pre["Table"] == report_table(runs, width=page.WIDTH)
    index = blocks(text)["index"]
    assert index["comparison"].items() <= index["places"][0].items()
    assert index["comparison"] == {
        "command": "harness compare --plugins 'smo<b>'", "date": "2026-01-01", "commit": "cccccccc",
        "machine": "Made Up 9000, 4 cores, 16 GiB, Linux",
    }  # fmt: skip
    assert "<p>python 3.11.7, svm-harness 0.1.0, numpy 2.4.6</p>" in text
    assert (index["asv"], index["places"][0]["history"]) == (False, False)


def landing(runs, kind="|||"):
    found = blocks(page.of_records(runs))
    return found["0-landing"]["classes"][found["0-classes"]["kinds"][kind]]


def test_the_first_table_has_the_four_figures_and_failures_of_each_solver_and_the_ratio_of_the_verdict():
    """smo takes 0.5 s and 2 s, fw 4 times as long: geometric means of 1 s and 4 s; qp failed once, so it has no rank."""
    every = {"target_gap": 1e-3, "seed": 0}
    runs = [
        record(solver, dataset, cpu_seconds=factor * seconds, fit_seconds=factor * seconds, kernel_evaluations=evaluations,
               repetition=i, **every)
        for solver, factor, evaluations in (("smo", 1.0, 1000), ("fw", 4.0, 500))
        for dataset, seconds in (("a", 0.5), ("b", 2.0)) for i in range(4)
    ]  # fmt: skip
    runs += [record("qp", "a", cpu_seconds=0.1, fit_seconds=0.1, **every), failed("qp", "b", **every)]
    found = landing(runs)
    assert found["sentences"] == of_records([Record(run) for run in runs]).sentences
    assert (found["sets"], found["gap"]) == (2, "1e-3")
    lines = {line["name"]: line for line in found["lines"]}
    assert list(lines) == ["smo", "fw", "qp"]
    assert lines["smo"]["values"] == {
        "time": [1, 2],
        "evaluations": [1000, 2],
        "core_set": [50, 2],
        "accuracy": [0.95, 2],
    }
    assert lines["smo"]["best"] == ["time"]
    assert lines["fw"]["best"] == ["evaluations"]
    ratio, low, high = lines["fw"]["ratio"]
    assert ("ratio" in lines["smo"], "ratio" in lines["qp"]) == (False, False)
    assert (lines["qp"]["values"]["time"], lines["qp"]["best"]) == ([0.1, 1], [])
    assert [(lines["qp"][name]) for name in ("failed", "runs", "status")] == [1, 2, "timeout"]
    assert f"Take smo: {ratio:.1f} times as fast as fw in CPU time" in found["sentences"][-1]
    assert f" {low:.1f} to {high:.1f})" in found["sentences"][-1]


def test_a_class_of_problems_has_the_verdict_on_its_runs():
    sizes = {"small": 500, "large": 9000}
    runs = [
        record(solver, dataset, cpu_seconds=cpu, fit_seconds=cpu, n_train=sizes[dataset], target_gap=1e-3, repetition=i)
        for solver, dataset, cpu in (("smo", "small", 1.0), ("fw", "small", 9.0), ("smo", "large", 9.0), ("fw", "large", 1.0))
        for i in range(4)
    ]  # fmt: skip
    assert landing(runs)["sentences"][0].startswith("Take smo or fw: which of them is ahead depends on the data set")
    for size, dataset, first in (("0", "small", "smo"), ("2", "large", "fw")):
        part = landing(runs, f"|{size}||")
        assert part["sentences"] == of_records([Record(run) for run in runs if run["dataset"] == dataset]).sentences
        assert part["lines"][0]["name"] == first
