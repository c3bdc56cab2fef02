"""reports/randsvm: a tiny run through the real sessions, and every table of made-up rows beside the published numbers."""

from dataclasses import replace

import pytest

from harness.registry import load_registry
from reports.kit import command, page
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.study import PLUGINS
from reports.randsvm import parts
from reports.randsvm.plan import LIBSVM, LIBSVR, OURS, PLAN, QUICK, Plan, Problem, Search
from reports.randsvm.study import STUDY

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile
SMO, BLOCK = OURS
TINY = Plan(
    table1=(Problem("checkerboard-1e5", "checkerboard[n=400,n_test=200]", "checkerboard1"),),
    table2=(Problem("friedman-1e4", "friedman[n=200,n_test=500]", "1.(a)"),),
    search=Search(n=60, n_test=100, C=(1.0,), gamma=(0.05,)),
)


# -- what is asked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_every_solver_and_set_of_a_plan_is_there(plan):
    registry = load_registry(list(PLUGINS))
    for part in parts.parts_of(plan).values():
        for grid in part(Options()):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
    assert {each.tenth for each in plan.table1} <= {"", *plan.names}


@pytest.mark.slow
def test_a_tiny_run_and_its_page(tmp_path):
    study, out = replace(STUDY, plan=TINY), tmp_path / "out"
    command.run(study, ["--out", str(out), "--store", str(tmp_path / "store.sqlite"), "--limit", "60"])
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert [each["status"] for each in runs] == ["ok"] * 8
    assert {each["solver"] for each in runs} == {*OURS, LIBSVM, LIBSVR}
    page.make(study, out)
    text = (out / "README.md").read_text()
    assert f"| checkerboard-1e5 | {SMO} |" in text
    assert "(93.70)" in text
    assert "(2.3259)" in text
    assert (out / "seconds.png").read_bytes().startswith(b"\x89PNG")


# -- what the tables make of rows --------------------------------------------------------------------------
