import io
import json
import math
import re
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest

from harness import PluginError
from harness.report import formats
from tests.report.fabricated import failed, hull, record


def strict(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_json_has_no_nan_and_no_infinity_and_takes_numpys_numbers():
    odd = record(
        fit_seconds=math.nan,
        info={"delta": math.inf, "list": [math.nan]},
        trace=[{"gap": -math.inf}],
        iterations=np.int64(3),
    )
    (read,) = strict(formats.render("json", [odd]))
    assert (read["fit_seconds"], read["iterations"]) == (None, 3)
    assert read["info"] == {"delta": None, "list": [None]}
    assert read["trace"] == [{"gap": None}]


def test_markdown_tables_are_whole():
    text = formats.render("markdown", [record("smo", label="smo[a|b]"), hull("fw"), failed("qp", "error", "a | b <c>")])
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert "smo\\[a\\|b\\]" in text
    assert "a \\| b \\<c\\>" in text
    assert "primal" in rows[0]
    assert "\x1b" not in text


def test_a_plugins_format_is_told_the_command_if_it_asks():
    added = {"line": lambda records, command="none": command}
    assert formats.render("line", [record()], added=added, command="harness compare") == "harness compare\n"
    assert formats.render("line", [record()], added=added) == "\n"


@pytest.mark.parametrize("broken", [lambda records: 1 / 0, lambda records: None])
def test_failing_format_of_a_plugin_is_named(broken):
    with pytest.raises(PluginError, match="report format 'bad'"):
        formats.render("bad", [record()], added={"bad": broken})


def test_parquet_is_read_by_pandas():
    import pandas as pd

    records = [record("smo", trace=[{"seconds": 1}]), failed("qp", "timeout", "late")]
    content = formats.render("parquet", records)
    assert isinstance(content, bytes)
    frame = pd.read_parquet(io.BytesIO(content))
    assert frame["fit_seconds"].tolist()[0] == 0.0123
    assert frame["seed"].dtype == "int64"
    assert frame["fit_seconds"].dtype == "float64"
    assert json.loads(frame["trace"][0]) == [{"seconds": 1}]
    assert pd.isna(frame["kernel_evaluations"][1])
    assert len(pd.read_parquet(io.BytesIO(formats.render("parquet", [])))) == 0


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1+2", "-2+3", "@SUM(1)", " =1", "\t=1"])
def test_no_text_of_a_csv_is_a_formula(text):
    import csv

    rows = list(csv.DictReader(formats.render("csv", [record(reason=text, relative_gap=-1e-3)]).splitlines()))
    assert rows[0]["reason"].startswith("'")
    assert rows[0]["relative_gap"] == "-0.001", "a number stays a number"


def test_a_label_is_no_link_in_markdown():
    assert "[x](javascript" not in formats.render("markdown", [record("smo", label="[x](javascript:alert(1))")])


def test_a_latex_table_is_whole_and_every_solver_in_it_has_an_entry(tmp_path):
    rows = [
        record("smo", label=r"smo[a_b\c&d%e#f{g}h~i^j<k>@l]", versions={"svm-harness": "0.2.0"}, git_commit="ab" * 20),
        record("lasvm", relative_gap=1e-3, seed=1),
        record("mine", plugin="my_plugin"),
        failed("qp", "error", "50 % of a_b & c"),
        failed("fw", "error", "late."),
    ]
    text = str(formats.render("latex", rows))
    table, _, bibliography = text.partition("\\endinput\n")
    for name, count in Counter(re.findall(r"\\begin\{(\w+)\}", table)).items():
        assert len(re.findall(rf"\\end\{{{name}\}}", table)) == count
    bare = re.sub(r"\\[\\{}&%#$_]", "", table)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[#_%]", bare.removeprefix("% "))
    assert (
        r"smo[a\_b\textbackslash{}c\&d\%e\#f\{g\}h\textasciitilde{}i\textasciicircum{}j$<$k$>$\char64{}l]~\cite"
        in table
    )
    assert "@" not in table, "BibTeX would begin an entry there"
    assert r"50 \% of a\_b \& c. [2] fw: error: late." in table, "a note ends before the next one begins"
    lines = [line for line in table.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(re.search(r"tabular\}\{(\w+)", table)[1]) - 1}
    assert "target 1e-2" in table
    assert "seeds 0, 1" in table
    assert "svm-harness 0.2.0, commit ababababab" in table
    assert "measured 2026-05-01" in table
    assert set(re.findall(r"\\cite\{(.+?)\}", table)) == set(re.findall(r"^@misc\{(.+?),$", bibliography, re.MULTILINE))
    assert "author = {Bordes and Ertekin and Weston and Bottou}" in bibliography
    assert r"solver of the plugin my\_plugin" in bibliography
    if compiler := shutil.which("pdflatex") or shutil.which("tectonic"):
        document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{table}\\end{document}"
        (tmp_path / "table.tex").write_text(text)
        (tmp_path / "paper.tex").write_text(document)
        subprocess.run([compiler, "paper.tex"], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL, capture_output=True)


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
@pytest.mark.parametrize(
    ("others", "mark"),
    [
        ({"code_sha256": "bbbbbbbb", "dataset": "banana"}, "code bbbbbb"),
        ({"code_sha256": "bbbbbbbb", "target_gap": 1e-4}, "code bbbbbb"),
        ({"versions": {"a": "2"}}, "a 2"),
        ({"data_sha256": "ffffffff"}, "data ffffff"),
        ({"sources": {"harness": "cccccccc"}}, "2 versions of the harness's code (aaaaaa, cccccc)"),
    ],
)
def test_rows_of_different_code_are_marked(form, others, mark):
    first = {"code_sha256": "aaaaaaaa", "sources": {"harness": "aaaaaaaa"}}
    same, mixed = (
        str(formats.render(form, [record(**first), record("fw", **first), record(**{**first, **changes})]))
        for changes in ({"problem_parameters": {"C": 1.0}}, others)
    )
    assert mark in " ".join(mixed.split())
    assert not re.search(r"code (of|a)|data 0|\ba 1\b", same.partition("\\endinput")[0].replace("kernel's code", ""))
