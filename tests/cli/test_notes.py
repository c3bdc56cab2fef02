"""What the command says beside the table: broken plugins, options without effect, older measurements, widths."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report import output

DATA = ("--datasets", "twonorm[n=200]")


@pytest.fixture
def stored(tmp_path):
    """A function that fills the default store with fabricated records."""
    from harness.run.store import Store
    from tests.report.fabricated import record

    def fill(*changes):
        with Store(tmp_path / "default.sqlite") as store:
            for change in changes:
                store.append(record(**change))

    return fill


def test_a_broken_plugin_file_is_refused_unless_it_is_a_row(invoke, slow, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import a_module_that_is_not_there\n")
    paths = ("--plugin-path", slow, "--plugin-path", str(broken))
    warning = (
        "harness: plugin 'broken' could not be loaded: broken.py:1: the module 'a_module_that_is_not_there' could not"
    )
    for words in (
        ["compare", "--plugins", "skipper", *DATA],
        ["describe", "lasvm"],
        ["results", "export", "--bundle", "x.zip"],
    ):
        refused = invoke(*words, *paths)
        assert refused.exit_code == 2
        assert refused.stderr.startswith(warning)
        assert len(refused.stderr.splitlines()) == 1
    unknown = invoke("compare", *paths, "--plugins", "nobody", *DATA)
    assert (unknown.exit_code, unknown.stderr.count(warning.removeprefix("harness: "))) == (2, 1), "said once"
    assert "could not be loaded" not in invoke("compare", *paths, "--plugins", "broken", *DATA, "-q").stderr


def test_results_show_the_newest_measurement_of_a_run(invoke, stored):
    old = {"measured_at": "2026-05-01T12:00:00", "fit_seconds": 5.0}
    stored({**old, "key": "old"}, {"iteration_limit": 1, "cache_mb": 1.0, "seed": 1}, {"key": "new"})
    text = invoke("results").stdout
    assert "5.00" not in text
    assert "smo (iterations <= 1, cache 1 MB)" in " ".join(text.split()) or "smo (iterations <= 1" in text
    assert "1 older measurement left out" in text
    records = json.loads(invoke("results", "--format", "json").stdout)
    assert [record["key"] for record in records] == ["new", "smo-digits"]
    assert isinstance(records[1]["iteration_limit"], int)


def test_files_of_other_suffixes(invoke, stored, tmp_path):
    import pandas as pd

    stored({})
    refused = invoke("results", "--output", str(tmp_path / "x.doc"))
    assert refused.exit_code == 2
    assert "--output: the ending .doc means no format; known: .txt, .json, .csv, .md," in refused.stderr
    for table in (["--output", str(tmp_path / "x")], ["--output", str(tmp_path / "x.log"), "--format", "table"]):
        assert invoke("results", *table).exit_code == 0
        assert "1198 x 64" in (tmp_path / table[1]).read_text(), "without a suffix it is the table's"
    assert invoke("results", "--output", str(tmp_path / "x.parquet")).exit_code == 0
    assert pd.read_parquet(tmp_path / "x.parquet")["solver"].tolist() == ["smo"]
    assert invoke("results", "--format", "parquet").exit_code == 2


@given(st.booleans(), st.integers(0, 400))
def test_width(terminal, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout.isatty", lambda: terminal)
        patch.setenv("COLUMNS", str(columns or 80))
        assert output.width() == max(60, columns or 80)
        for nothing in ("wide", "-7", "") if not terminal else ():
            patch.setenv("COLUMNS", nothing)
            assert output.width() == 100
