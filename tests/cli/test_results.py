"""``harness results``: filters, exports, deletions, merges, where the store lies; a sentence for what is typed wrong."""

import contextlib
import json
import sqlite3
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import UsageError, validate_record
from harness.cli.main import cli
from harness.cli.where import condition
from harness.run.record import TYPES
from harness.run.store import Store, read_results
from tests.report.fabricated import failed, record
from tests.run.test_merging import RUNS
from tests.run.test_reading import FOREIGN, seen


@pytest.fixture
def store(tmp_path):
    """The user's own store, with some runs: one measured twice, a path with two cells."""
    path = tmp_path / "default.sqlite"
    with Store(path) as made:
        made.append(record("smo", key="one", fit_seconds=2.0, measured_at="2026-01-01T10:00:00.000+00:00"))
        made.append(record("smo", key="one", fit_seconds=0.5, measured_at="2026-01-02T10:00:00.000+00:00"))
        made.append(record("fw", "twonorm[n=1000]", key="two", problem_parameters={"C": 1.0}, relative_gap=None))
        made.append(failed("qp", "timeout", "late", key="three", faults=["metric f1 raised"]))
        path_ = record("lasvm", key="p", path={"costs": {"C": [1.0, 2.0]}, "rows": 2}, fit_seconds=9.0)
        path_.cells = tuple(
            record("lasvm", key=f"p/{number}", path={"costs": {"C": [1.0, 2.0]}, "cell": number}, fit_seconds=4.5,
                   problem_parameters={"C": number + 1.0})
            for number in range(2)
        )  # fmt: skip
        made.append(path_)
    return path


def shown(result):
    assert result.exit_code == 0, result.output
    return [(row["solver"], row["fit_seconds"]) for row in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("conditions", "solvers"),
    [
        ([], ["qp", "lasvm", "lasvm", "lasvm", "fw", "smo"]),
        (["solver=smo,fw"], ["fw", "smo"]),
        (["solver!=lasvm"], ["qp", "fw", "smo"]),
        (["dataset~TWONORM"], ["fw"]),
        (["dataset!~twonorm", "fit_seconds < 1"], ["smo"]),
        (["fit_seconds>=4.5"], ["lasvm", "lasvm", "lasvm"]),
        (["fit_seconds<=9", "fit_seconds>=9"], ["lasvm"]),
        (["fit_seconds>1.9", "solver=smo"], []),  # as it was measured last
        (["problem_parameters.C=1"], ["fw", "lasvm"]),
        (["problem_parameters.C>1", "solver=smo"], ["smo"]),
        (["relative_gap=none"], ["fw", "qp"]),
        (["status=time*"], ["qp"]),
        (["faults~f1"], ["qp"]),
        (["measured_at<=2026-01-02"], ["smo"]),
        (["dataset=twonorm[n=1000]"], ["fw"]),
        (["seed=0", "repetition==0", "solver=qp"], ["qp"]),
    ],
)
def test_conditions(invoke, store, conditions, solvers):
    given = [part for text in conditions for part in ("--where", text)]
    assert sorted(solver for solver, _ in shown(invoke("results", *given, "--format", "json"))) == sorted(solvers)
    assert len(shown(invoke("results", "--all", "--format", "json"))) == 7, "both measurements of smo"


SIGNS = st.sampled_from(["=", "==", "!=", "<", "<=", ">", ">=", "~", "!~"])
NAMES = st.sampled_from([*TYPES, "metrics.f1", "parameters.", "solver.x", "nothing"]) | st.text(max_size=5)
VALUES = st.sampled_from(["none", "1", "nan", "2026", "ok,none", "[", "a[b,c", "*"]) | st.text(max_size=6)


@given(st.builds("{}{}{}".format, NAMES, SIGNS, VALUES) | st.text(max_size=12), RUNS)
@settings(max_examples=100)
def test_any_text_is_a_condition_on_any_run_or_a_sentence(text, run):
    with contextlib.suppress(UsageError):
        assert condition(text).fits(validate_record(run)) in (True, False)


def test_where_the_store_lies_is_told(invoke, store, tmp_path):
    assert invoke("results", "--path").stdout == f"{store}\n"
    assert invoke("results", "--path", "--store", f"{tmp_path}/none.sqlite").stdout == f"{tmp_path}/none.sqlite\n"


# -- deleting ----------------------------------------------------------------------------------------------


def test_nothing_is_deleted_without_a_terminal_or_yes(invoke, store):
    result = invoke("results", "--delete", "--plugins", "smo")
    assert result.exit_code == 2
    assert len(read_results(store)) == 7
    assert "would delete 2 rows of smo (2)" in result.stderr


def test_every_measurement_and_the_cells_of_a_path_are_deleted(invoke, store):
    result = invoke("results", "--delete", "--yes", "--where", "fit_seconds>8")
    assert "deleted 3 rows" in result.stderr
    assert set(read_results(store).solver) == {"smo", "fw", "qp"}
    assert "deleted 2 rows" in invoke("results", "--delete", "--yes", "--plugins", "smo").stderr
    assert list(read_results(store).solver) == ["fw", "qp"]
    assert "no run fits --plugins smo" in invoke("results", "--delete", "--yes", "--plugins", "smo").stderr


@pytest.mark.parametrize(("answer", "left"), [("y", 5), ("n", 7), ("", 7)])
def test_on_a_terminal_it_asks(store, monkeypatch, answer, left):
    monkeypatch.setenv("HARNESS_STORE", str(store))
    monkeypatch.setattr("harness.cli.results.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    done = CliRunner().invoke(cli, ["results", "--delete", "--plugins", "smo"], input=f"{answer}\n")
    assert done.exit_code == 0
    assert "Delete 2 rows of smo (2) from" in done.stderr
    assert ("deleted 2 rows" in done.stderr) == (left == 5)
    assert len(read_results(store)) == left


# -- what is no store --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        ("--store", "X"), ("--delete", "--yes", "--store", "X"), ("merge", "X", "--into", "new.sqlite"),
        ("merge", "good.sqlite", "--into", "X"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_store_is_refused_and_stays_as_it_is(invoke, store, tmp_path, monkeypatch, kind, given):
    monkeypatch.chdir(tmp_path)
    store.rename("good.sqlite")
    FOREIGN[kind](tmp_path / "X")
    before = seen(tmp_path)
    done = invoke("results", *given)
    assert done.exit_code == 2
    assert ("update svm-harness" if kind == "of another schema" else "X") in done.stderr
    assert seen(tmp_path) == before


def test_a_store_is_not_merged_into_itself(invoke, store, tmp_path):
    (tmp_path / "link").symlink_to(store)
    for other in (store, tmp_path / "link"):
        result = invoke("results", "merge", str(other), "--into", str(store))
        assert result.exit_code == 2
    result = invoke("results", "merge", str(store), f"{tmp_path}/link", "--into", f"{tmp_path}/new.sqlite")
    assert "7 rows, 0 new" in result.stderr, "one file under two names"


def test_a_damaged_row_is_named_and_ends_a_merge_with_1(invoke, store, tmp_path):
    connection = sqlite3.connect(store)
    connection.execute("UPDATE records SET status = 'fine' WHERE id = 2")
    connection.commit()
    connection.close()
    result = invoke("results", "merge", str(store), "--into", f"{tmp_path}/new.sqlite")
    assert result.exit_code == 1
    assert f"row 2 of {store} cannot be read (its checksum is wrong" in result.stderr
    assert "6 rows, 6 new" in result.stderr
