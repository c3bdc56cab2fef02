"""reports/frank_wolfe_2009: a tiny run through the real sessions, its page, and a whole study made up."""

from dataclasses import replace

import pytest

from harness.registry import load_registry
from reports.frank_wolfe_2009.parts import parts
from reports.frank_wolfe_2009.plan import PLAN, QUICK, Hulls, Plan
from reports.frank_wolfe_2009.study import STUDY
from reports.kit import command, page
from reports.kit.grids import Options
from reports.kit.journal import read_rows

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile


TINY = Plan(
    problems=(Hulls("wdbc", "twonorm[n=80,n_test=50]", least=1e-3, rates=True, peers=1, lemma=True, margins=True),),
    solvers=("fw", "cvm"),
    peers=("smo-uncapped",),
    large=(),
    products=(("generated", "gap-clouds[n=20000,n_test=10,d=50]"),),
    rounds=2,
)


@pytest.mark.slow
def test_a_ladder_and_its_page(tmp_path):
    out = tmp_path / "out"
    given = ["--out", str(out), "--store", str(tmp_path / "store.sqlite"), "--limit", "60"]
    study = replace(STUDY, plan=TINY)
    command.run(study, given)
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert [each["status"] for each in runs] == ["ok"] * (2 + 1 + 2 + 3 + 5)
    first = next(each for each in runs if each["solver"].startswith("ladder[oracle=fw,"))
    assert [level["epsilon"] for level in first["info"]["levels"]] == pytest.approx([1e-1, 1e-2, 1e-3])
    assert {each["formulation"] for each in runs} == {"l2-svc"}
    assert all(each["relative_gap"] <= TINY.gap for each in runs if each["set"] == TINY.peers_of("wdbc"))
    page.make(study, out)
    text = (out / "README.md").read_text()
    assert f"| wdbc | fw | {first['info']['levels'][1]['iterations']:,} |" in text
    assert text.count("| generated, 20,000 x 50 |") == 5
    assert (out / "rates.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "margins.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_every_solver_and_set_of_a_plan_is_there(plan):
    registry = load_registry(list(STUDY.plugins))
    for part in parts(plan).values():
        for grid in part(Options()):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == 1
