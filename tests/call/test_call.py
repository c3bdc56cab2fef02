"""``harness.compare`` in this process: the same as the command, with objects where it takes names."""

import json
import re
import shlex
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.random import default_rng

import harness
from harness import CSVC, RBF, Iterate, Linear, Solver, UsageError, get_solver, parameter
from harness.call.settings import in_python
from tests.kernels.test_points import KINDS, as_kind

pytestmark = pytest.mark.usefixtures("warm_sessions", "own_store")
RNG = default_rng(0)
X = np.round(RNG.normal(size=(80, 3)), 3)
X[np.abs(X) < 0.3] = 0.0
Y = np.where(X[:, 0] > X[:, 1], "spam", "ham")
STEP = 1.0
SMALL = {"plugins": "smo", "quiet": True, "gamma": 0.5, "C": 1}


@pytest.fixture
def own_store(tmp_path, monkeypatch):
    from harness.registry import discovery as registry

    monkeypatch.setenv("HARNESS_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "_shared_registry", registry._shared_registry)


@numba.njit(cache=True)
def clipped(value, upper):
    return min(max(value, 0.0), upper * STEP)


def _signs(problem):
    return problem.targets


@dataclass(frozen=True)
class OwnAscent(Solver):
    """Coordinate ascent, defined where no plugin is."""

    name = "own-ascent"
    solves: ClassVar = (harness.CSVCNoBias,)
    epochs: int = parameter(50, "passes", ge=1)

    def iterates(self, problem, rng):
        y, alpha, scores = _signs(problem), np.zeros(problem.n), np.zeros(problem.n)
        diagonal = problem.kernel.diagonal()
        for epoch in range(self.epochs):
            for i in rng.permutation(problem.n):
                best = alpha[i] + (y[i] - scores[i]) / diagonal[i]
                step = y[i] * clipped(y[i] * best, problem.upper[i]) - alpha[i]
                scores += step * problem.kernel.row(i)
                alpha[i] += step
            yield Iterate(dual_coef=alpha, done=epoch == self.epochs - 1)


# -- the same as the command ------------------------------------------------------------------------------


def test_a_call_gives_what_its_command_gives():
    from click.testing import CliRunner

    from harness.cli.main import cli

    made = harness.compare(
        "smo,lasvm", ["twonorm[n=200]"], C=[1, 10], repeat=2, gamma="scale", target_gap=0.5, path=None, quiet=True
    )
    assert [record["status"] for record in made.records] == ["ok"] * 8
    words = shlex.split(made.command)
    assert words[:2] == ["harness", "compare"]
    done = CliRunner().invoke(cli, [*words[1:], "--format", "json", "--quiet"])
    assert done.exit_code == 0, done.stderr
    records = json.loads(done.stdout)
    assert all(record["reused"] for record in records)
    assert {record["study"] for record in records} == {made.study}
    assert [record["key"] for record in records] == [record["key"] for record in made.records]

    frame = made.frame
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["key"]) == [record["key"] for record in records]
    assert list(frame["C"]) == [record["problem_parameters"]["C"] for record in records]
    assert list(frame["gamma"]) == [record["kernel_parameters"]["gamma"] for record in records]
    again = harness.compare(
        "smo,lasvm", "twonorm[n=200]", C=[1, 10], repeat=2, gamma="scale", target_gap=0.5, quiet=True
    )
    assert again.study == made.study
    assert all(record["reused"] for record in again.records)
    assert "All runs are from the store" in again.table
    assert "result.explain() says more." in again.table
    assert again.explain().startswith("Rows with a failed run are not ranked.")
    assert str(again) == again.table
    assert repr(again) == "<8 runs of smo, lasvm on twonorm[n=200]>"


def test_a_study_file_and_what_is_given_beside_it(tmp_path):
    (tmp_path / "study.toml").write_text("plugins = 'smo'\ndatasets = 'twonorm[n=60]'\nC = [1, 2]\ngamma = 0.5\n")
    made = harness.compare(study=tmp_path / "study.toml", C=3, quiet=True)
    assert [record["problem_parameters"]["C"] for record in made.records] == [3.0]
    assert made.command == f"harness compare --C 3 --study {tmp_path / 'study.toml'}"


# -- objects ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_solvers_kernels_and_formulations_as_objects():
    made = harness.compare(
        [get_solver("smo", tau=1e-2), type(get_solver("lasvm"))], "twonorm[n=60,n_test=9]",
        formulation={CSVC: {"C": [1, 5]}}, C=7, kernel=[RBF(gamma=0.5), Linear], quiet=True,
    )  # fmt: skip
    asked = [(record["label"], record["problem_parameters"]["C"], record["kernel"]) for record in made.records]
    assert set(asked) == {
        (label, C, kernel) for label in ("smo[tau=0.01]", "lasvm") for C in (1, 5) for kernel in ("rbf", "linear")
    }
    assert "smo/smo[tau=0.01]" in made.command


def test_a_solver_of_this_file_is_carried_out_by_a_process_of_its_own():
    made = harness.compare([OwnAscent, OwnAscent(epochs=5)], {"own": (X, Y)}, C=1, gamma=0.5, quiet=True)
    assert [(record["label"], record["status"]) for record in made.records] == [
        ("own-ascent", "ok"), ("own-ascent[epochs=5]", "ok")
    ], made.table  # fmt: skip
    assert made.records[0]["relative_gap"] < 1e-2
    for fresh in (False, True):
        again = harness.compare(OwnAscent, {"own": (X, Y)}, C=1, gamma=0.5, quiet=True, fresh=fresh)
        assert again.records[0]["reused"] is not fresh


def test_a_solver_within_a_function_is_refused():
    @dataclass(frozen=True)
    class Inner(OwnAscent):
        name = "inner"

    with pytest.raises(UsageError, match="'inner' is defined in a notebook cell, at a prompt or within a function"):
        harness.compare(Inner, (X, Y), quiet=True)


@pytest.mark.slow
def test_a_solver_of_a_plugins_file():
    from tests.strangers import ascent

    made = harness.compare(ascent.MatrixAscent(gap=0.1), "twonorm[n=60,n_test=9]", quiet=True, C=1, gamma=0.1)
    assert (made.records[0]["plugin"], made.records[0]["status"]) == ("ascent", "ok")
    assert f"--plugin-path {ascent.__file__}" in made.command


SOURCES = {
    "arrays": lambda: (X, Y),
    "lists": lambda: (X.tolist(), Y.tolist()),
    "two numbers": lambda: (X, np.where(Y == "spam", 7, 3)),
    "truth values": lambda: (X, Y == "spam"),
    "objects": lambda: (X, np.array(Y.tolist(), dtype=object)),
    "a frame": lambda: pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": Y}),
    "a frame and a series": lambda: (pd.DataFrame(X), pd.Series(Y)),
    **{kind: lambda kind=kind: (as_kind(X, kind), Y) for kind in KINDS},
}  # fmt: skip


def test_the_same_points_of_every_kind_give_the_same_models():
    by_column = pd.DataFrame({0: Y, 1: X[:, 0], 2: X[:, 1], 3: X[:, 2]})
    by_column = harness.data(by_column, label="0", name="by column")
    made = harness.compare(datasets=[{name: make() for name, make in SOURCES.items()}, by_column], **SMALL)
    found = {record["dataset"]: record for record in made.records}
    assert list(found) == [*SOURCES, "by column[label_column=0]"]
    assert {record["status"] for record in made.records} == {"ok"}
    assert {(record["n_train"], record["n_features"], record["n_test"]) for record in made.records} == {(60, 3, 20)}
    for record in made.records:
        assert record["dual"] == pytest.approx(found["arrays"]["dual"], rel=1e-6)
        assert record["test_accuracy"] == found["arrays"]["test_accuracy"]


@pytest.mark.slow
def test_content_decides_what_is_reused_and_names_what_is_shown():
    first = harness.compare(datasets=(X, Y), **SMALL).records[0]
    assert first["dataset"].startswith("array-")
    named = harness.compare(datasets={"mine": (X.copy(), Y.copy())}, **SMALL)
    assert (named.records[0]["dataset"], named.records[0]["reused"]) == ("mine", True)
    assert "mine: 60 x 3" in named.table
    changed = X.copy()
    changed[0, 0] += 1
    other = harness.compare(datasets={"mine": (changed, Y)}, **SMALL)
    assert not other.records[0]["reused"]
    assert other.study != named.study


@pytest.mark.slow
def test_test_points_and_settings():
    made = harness.compare(
        datasets=[(X[:60], Y[:60], X[60:], Y[60:]), harness.data(X, Y, name="all", test_fraction=0)], **SMALL
    )
    assert [(record["n_train"], record["n_test"]) for record in made.records] == [(60, 20), (80, 0)]
    assert made.records[1]["dataset"] == "all[test_fraction=0.0]"
    many = harness.data(X, np.arange(80) % 3, positive="2", name="many")
    assert harness.compare(datasets=many, **SMALL).records[0]["status"] == "ok"
    numbers = harness.data(X, X[:, 0] * 2, task="regression", name="numbers")
    assert harness.compare(datasets=numbers, formulation="eps-svr", **SMALL).records[0]["status"] == "ok"


def test_a_frame_of_every_kind_of_numbers_under_the_name_of_its_key(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        rich=pd.array(X[:, 0] > 0, "boolean"), n=pd.array([1, 2] * 40, "Int64")
    )
    frame["n"] *= 1000
    made = harness.compare(datasets={"mine": harness.data(frame.assign(vip=X[:, 1] > 0), Y, name="other")}, **SMALL)
    (record,) = made.records
    assert (record["dataset"], record["status"], record["n_features"]) == ("mine", "ok", 6)
    assert "not scaled: 'n' ranges over 1000, " in made.table
    assert made.to_html(tmp_path / "page.html") is None
    page = (tmp_path / "page.html").read_text()
    assert page == made.to_html()
    assert "mine.parquet[" in page
    assert "/arrays/" in made.command
    assert "/arrays/" not in page


@pytest.mark.slow
def test_a_dataset_keeps_its_parts_and_defaults():
    y = np.where(Y == "spam", 1.0, -1.0)
    given = harness.Dataset("own set", scipy.sparse.csr_matrix(X[:60]), y[:60], scipy.sparse.csr_matrix(X[60:]), y[60:], "",
                            defaults={"kernel": "linear", "C": 3.0})  # fmt: skip
    (record,) = harness.compare("smo", given, quiet=True).records
    assert (record["dataset"], record["kernel"], record["problem_parameters"]["C"]) == ("own set", "linear", 3.0)
    assert (record["n_train"], record["n_test"], record["status"]) == (60, 20, "ok")


# -- what is shown ---------------------------------------------------------------------------------------


def test_progress_and_notes_go_to_standard_error_and_name_the_arguments_of_python(capsys):
    given = {
        "datasets": {"mine": (X, Y)},
        "C": 1,
        "gamma": 0.5,
        "nu": 0.2,
        "kernel": "rbf",
        "formulation": "c-svc-nobias",
    }
    made = harness.compare(["smo", "linearsvc"], **given)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 runs, 0 of them reused" in err
    assert "note: nu has no effect" in err
    assert "take kernel='linear'" in err + made.table
    shown = [err, made.table, made.explain(), *made.verdict, made._repr_markdown_()]
    assert [text for text in shown if re.search(r"--[a-z]", re.sub("`[^`]*`", "", text))] == []


def test_options_in_a_message_become_arguments_and_commands_stay():
    text = "--target-gap 1e-3 lacks --core-set-oracle; run `harness compare --repeat 3`, not --odd 3; a greater --memory-limit or"
    wanted = "target_gap=1e-3 lacks core_set_oracle; run `harness compare --repeat 3`, not --odd 3; a greater memory_limit or"
    assert in_python(text) == wanted
    assert in_python("add --path C,gamma, or --yes; --format markdown or csv has all") == (
        "add path='C,gamma', or yes=True; result.frame has all"
    )
