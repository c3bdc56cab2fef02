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
        results = run_checks(suite, check)
        assert not [result for result in results if result.status == "failed"]
        assert any(result.status == "passed" for result in results)


def test_it_is_listed_and_described(invoke) -> None:  # noqa: F811
    listed = json.loads(invoke("list", "formulations", "--plugin-path", PLUGIN, "--format", "json").stdout)
    (own,) = [each for each in listed if each["name"] == "quantile-svr"]
    assert own == {
        "name": "quantile-svr",
        "plugin": "quantile",
        "solvers": [*DUAL, "coordinate"],
        "description": "Regression on a quantile of the targets.",
    }
    text = invoke("describe", "quantile-svr", "--plugin-path", PLUGIN).stdout
    assert "formulation quantile-svr (plugin quantile)" in text
    assert "Takeuchi" in text
    assert "share of the targets that shall lie below f" in " ".join(text.split())
    assert "column misses [share]: how far that is from the quantile" in " ".join(text.split())
    assert "formulations: quantile-svr" in invoke("describe", "quantile", "--plugin-path", PLUGIN).stdout
    assert "quantile-svr" in invoke("describe", "qp", "--plugin-path", PLUGIN).stdout
    assert invoke("describe", "quantile-svr").exit_code == 2, "unknown where its plugin is not given"


def test_its_parameters_stand_in_selections(invoke) -> None:  # noqa: F811
    given = ("compare", f"--plugin-path={PLUGIN}", "--plugins", "smo", "--formulation")
    done = invoke(*given, "quantile-svr[quantile=[0.5,1]]")
    assert (done.exit_code, "parameter quantile='1' is not valid" in done.stderr) == (2, True)
    (chosen,) = load_registry([PLUGIN]).select_solvers("smo[quantile=0.9,tau=1e-5]")
    assert (chosen.problem_values, chosen.solver.tau) == ({"quantile": 0.9}, 1e-5)
    with pytest.raises(UsageError, match="solver 'smo' has no parameter 'quantile'"):
        load_registry().select_solvers("smo[quantile=0.9]")


def test_a_solver_of_a_formulation_that_nobody_registers_is_a_row_with_its_reason(harness, tmp_path) -> None:  # noqa: F811
    own = tmp_path / "quantile.py"
    own.write_text(Path(PLUGIN).read_text().replace("return [QuantileSVR]", "return []"))
    asked = ["compare", "--plugin-path", str(own), "--plugins", "coordinate", "--datasets", "friedman[n=40]"]
    done = harness(*asked, "--format", "json", "--quiet")
    (record,) = json.loads(done.stdout)
    assert (done.returncode, record["status"]) == (1, "error")
    assert record["reason"] == (
        "solver 'coordinate' solves 'quantile-svr', a formulation that no plugin registers; "
        "return its class from harness_formulations."
    )


def test_a_solver_may_name_the_formulation_of_another_plugin(harness, invoke, tmp_path) -> None:  # noqa: F811
    text = Path(PLUGIN).read_text().replace("solves = (QuantileSVR,)", 'solves = ("quantile-svr",)')
    alone, other = tmp_path / "alone.py", tmp_path / "other.py"
    alone.write_text(text.replace("@hookimpl\ndef harness_formulations", "def _not_registered"))
    other.write_text(text.replace("@hookimpl\ndef harness_solvers", "def _not_registered"))

    def runs(*plugins):
        paths = [each for plugin in plugins for each in ("--plugin-path", str(plugin))]
        asked = ["--plugins", "coordinate", "--datasets", "friedman[n=40]", "--format", "json", "--quiet"]
        (solves,) = [
            each["solves"]
            for each in json.loads(invoke("list", *paths, "--format", "json").stdout)
            if each["name"] == "coordinate"
        ]
        done = harness("compare", *paths, *asked)
        (record,) = json.loads(done.stdout)
        return solves, done.returncode, record["status"], record["reason"]

    sentence = "coordinate solves quantile-svr, which no installed plugin registers; install the plugin that does"
    assert runs(alone) == (["quantile-svr"], 1, "skipped", sentence)
    assert "not installed: quantile-svr" in invoke("describe", "coordinate", "--plugin-path", str(alone)).stdout
    assert runs(alone, other) == (["quantile-svr"], 0, "ok", "")


@pytest.mark.slow
def test_it_is_compared_stored_and_reused(harness, tmp_path) -> None:  # noqa: F811
    own = tmp_path / "quantile.py"
    own.write_text(Path(PLUGIN).read_text())
    asked = [
        "compare", "--plugin-path", str(own), "--plugins", "coordinate,smo[quantile=0.9],qp", "--C", "2",
        "--datasets", "friedman[n=80]", "--formulation", "quantile-svr[quantile=0.9]", "--kernel", "rbf", "--gamma", "0.5",
        "--target-gap", "1e-3", "--nu", "0.3",
    ]  # fmt: skip

    def records():
        done = harness(*asked, "--format", "json", "--quiet")
        assert done.returncode == 0, done.stderr
        assert done.stderr == "note: --nu has no effect: quantile-svr with the kernel rbf has no parameter nu\n"
        return json.loads(done.stdout)

    first = records()
    assert [record["status"] for record in first] == ["ok"] * 3
    assert {tuple(record["problem_parameters"].items()) for record in first} == {(("C", 2.0), ("quantile", 0.9))}
    assert all(record["sources"].keys() >= {"quantile"} for record in first), "they depend on the formulation's source"
    objectives = [record["dual"] for record in first]
    assert max(objectives) - min(objectives) <= 1e-3 * max(1.0, *objectives)
    assert all("mae" in record["metrics"] for record in first)
    assert all(set(record["figures"]) == {"share_below", "misses"} for record in first)
    assert all(
        record["figures"]["misses"] == pytest.approx(abs(record["figures"]["share_below"] - 0.9)) for record in first
    )
    assert first[0]["columns"]["misses"] == {
        "title": "misses", "unit": "share", "better": "low", "meaning": "how far that is from the quantile",
    }  # fmt: skip
    fault = r"no broken: plugin 'quantile', quantile.py:\d+, in .*: ZeroDivisionError: .*"
    assert all(re.fullmatch(fault, *record["faults"]) for record in first), "it costs itself alone"
    assert all(record["reused"] for record in records())
    own.write_text(own.read_text() + "# another version\n")
    assert not any(record.get("reused") for record in records())
    shown = " ".join(harness("results", "--format", "markdown").stdout.split())
    assert "below f" in shown
    assert "quantile-svr C=2 quantile=0.9" in shown, "a store is read without the plugin"
