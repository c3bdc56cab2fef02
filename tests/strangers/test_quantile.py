"""A formulation and its solver from a plugin outside of the distribution: every tool takes them for its own."""

import json
import re
from pathlib import Path

import pytest

from harness import UsageError, get_solver
from harness.registry.discovery import load_registry
from harness.testing import SolverConformance, run_checks
from tests.cli.conftest import harness, invoke  # noqa: F401
from tests.strangers.quantile import Coordinate, QuantileSVR

PLUGIN = str(Path(__file__).with_name("quantile.py"))
DUAL = ["qp", "smo", "smo-block"]


class TestCoordinate(SolverConformance):
    solver = Coordinate()
    gap = 1e-3


@pytest.mark.parametrize("name", DUAL)
def test_the_solvers_of_every_dual_form_solve_it(name) -> None:
    own = {"solver": get_solver(name).with_target_gap(1e-4), "gap": 1e-4, "cases": QuantileSVR.zoo()}
    suite = type("Suite", (SolverConformance,), own)
    # the first has no limit of time, and compiles
    for check in ("test_every_iterate", "test_certified", "test_objective_agrees", "test_doubling", "test_scaling"):
        statuses = {result.status for result in run_checks(suite, check)}
        assert "passed" in statuses
        assert "failed" not in statuses


def test_it_is_listed_and_described(invoke) -> None:  # noqa: F811
    listed = json.loads(invoke("list", "formulations", "--plugin-path", PLUGIN, "--format", "json").stdout)
    (own,) = [each for each in listed if each["name"] == "quantile-svr"]
    assert (own["plugin"], own["solvers"]) == ("quantile", [*DUAL, "coordinate"])
    text = " ".join(invoke("describe", "quantile-svr", "--plugin-path", PLUGIN).stdout.split())
    for words in ("(plugin quantile)", "Takeuchi", "share of the targets", "column misses [share]: how far"):
        assert words in text
    assert "formulations: quantile-svr" in invoke("describe", "quantile", "--plugin-path", PLUGIN).stdout
    assert "quantile-svr" in invoke("describe", "qp", "--plugin-path", PLUGIN).stdout
    assert invoke("describe", "quantile-svr").exit_code == 2, "unknown where its plugin is not given"


def test_its_parameters_stand_in_selections(invoke) -> None:  # noqa: F811
    options = (f"--plugin-path={PLUGIN}", "--plugins", "smo", "--formulation", "quantile-svr[quantile=[0.5,1]]")
    done = invoke("compare", *options)
    assert (done.exit_code, "quantile='1' is not valid" in done.stderr) == (2, True)
    (chosen,) = load_registry([PLUGIN]).select_solvers("smo[quantile=0.9,tau=1e-5]")
    assert (chosen.problem_values, chosen.solver.tau) == ({"quantile": 0.9}, 1e-5)
    with pytest.raises(UsageError, match="solver 'smo' has no parameter 'quantile'"):
        load_registry().select_solvers("smo[quantile=0.9]")


def compared(run, *plugins):
    """Return the exit code and the records of `harness compare` with files of plugins."""
    paths = [each for plugin in plugins for each in ("--plugin-path", str(plugin))]
    done = run(
        "compare", *paths, "--plugins", "coordinate", "--datasets", "friedman[n=40]", "--format", "json", "--quiet"
    )
    return done.returncode, json.loads(done.stdout)


def test_a_solver_of_a_formulation_that_is_not_there_is_a_row_with_its_reason(harness, invoke, tmp_path) -> None:  # noqa: F811
    text, own = Path(PLUGIN).read_text(), tmp_path / "quantile.py"
    own.write_text(text.replace("return [QuantileSVR]", "return []"))
    code, (record,) = compared(harness, own)
    assert (code, record["status"]) == (1, "error")
    assert "'quantile-svr', a formulation that no plugin registers" in record["reason"]
    # of another plugin, by its name
    text = text.replace("solves = (QuantileSVR,)", 'solves = ("quantile-svr",)')
    alone, other = tmp_path / "alone.py", tmp_path / "other.py"
    alone.write_text(text.replace("@hookimpl\ndef harness_formulations", "def _not_registered"))
    other.write_text(text.replace("@hookimpl\ndef harness_solvers", "def _not_registered"))
    code, (record,) = compared(harness, alone)
    assert (code, record["status"]) == (1, "skipped")
    assert "which no installed plugin registers" in record["reason"]
    assert "not installed: quantile-svr" in invoke("describe", "coordinate", "--plugin-path", str(alone)).stdout
    code, (record,) = compared(harness, alone, other)
    assert (code, record["status"], record["reason"]) == (0, "ok", "")


@pytest.mark.slow
def test_it_is_compared_stored_and_reused(harness, tmp_path) -> None:  # noqa: F811
    own = tmp_path / "quantile.py"
    own.write_text(Path(PLUGIN).read_text())
    options = [
        "compare", "--plugin-path", str(own), "--plugins", "coordinate,smo[quantile=0.9],qp", "--C", "2",
        "--datasets", "friedman[n=80]", "--formulation", "quantile-svr[quantile=0.9]", "--kernel", "rbf", "--gamma", "0.5",
        "--target-gap", "1e-3", "--nu", "0.3",
    ]  # fmt: skip

    def records():
        done = harness(*options, "--format", "json", "--quiet")
        assert (done.returncode, "--nu has no effect" in done.stderr) == (0, True), done.stderr
        return json.loads(done.stdout)

    first = records()
    assert [record["status"] for record in first] == ["ok"] * 3
    objectives = [record["dual"] for record in first]
    assert max(objectives) - min(objectives) <= 1e-3 * max(1.0, *objectives)
    for record in first:
        assert record["problem_parameters"] == {"C": 2.0, "quantile": 0.9}
        assert "quantile" in record["sources"], "it depends on the formulation's source"
        assert "mae" in record["metrics"]
        assert set(record["figures"]) == {"share_below", "misses"}
        assert record["figures"]["misses"] == pytest.approx(abs(record["figures"]["share_below"] - 0.9))
        (fault,) = record["faults"]  # it costs itself alone
        assert re.match(r"no broken: plugin 'quantile', quantile.py:\d+, in .*: ZeroDivisionError", fault)
    column = {"title": "misses", "unit": "share", "better": "low", "meaning": "how far that is from the quantile"}
    assert first[0]["columns"]["misses"] == column
    assert all(record["reused"] for record in records())
    own.write_text(own.read_text() + "# another version\n")
    assert not any(record.get("reused") for record in records())
    shown = " ".join(harness("results", "--format", "markdown").stdout.split())
    assert "below f" in shown
    assert "quantile-svr C=2 quantile=0.9" in shown, "a store is read without the plugin"
