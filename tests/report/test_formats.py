import io
import json
import math

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
