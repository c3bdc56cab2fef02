"""reports/frank_wolfe_2009: a tiny run through the real sessions, its page, and a whole study made up."""

from dataclasses import replace

import pytest

from harness.registry import load_registry
from reports.frank_wolfe_2009 import plots, tables
from reports.frank_wolfe_2009.parts import parts
from reports.frank_wolfe_2009.plan import LARGE_SOLVERS, LINEAR_PEERS, NEWTON, PEERS, PLAN, QUICK, Hulls, Plan, large_of
from reports.frank_wolfe_2009.study import STUDY
from reports.kit import command, page
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.running import slim
from tests.reports.fabricated import HEADER, assert_whole, row
from tests.reports.frank_wolfe_rows import LINEAR, lemma_row, level, margin_rows, on_ladder, product_rows, results

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile


def test_a_run_that_was_killed_keeps_what_its_trace_has():
    record = {"info": None, "trace": [{"info": {"a": 1}}, {"info": {"a": 2}}], "metrics": None}
    assert slim(record)["info"] == {"a": 2}
    assert slim({**record, "info": {"a": 3}})["info"] == {"a": 3}
    assert slim({**record, "trace": []})["info"] == {}


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


def test_the_quick_plan_needs_no_download():
    registry = load_registry(list(STUDY.plugins))
    fetched = ("usps", "mnist", "adult", "covtype", "australian")
    for part in parts(QUICK).values():
        for grid in part(Options()):
            (source,) = registry.select_datasets(grid.datasets)
            assert source.label.split("[")[0] not in fetched
            assert source.load().x_train.shape[0] <= 100_000


def test_the_command_line_names_sets_and_limit():
    made = parts(PLAN)
    (grid,) = made["ladder"](Options(sets=("covtype-linear",), limit=3.0))
    assert (grid.set, grid.kernel, grid.limit) == ("covtype-linear", "linear", 3.0)
    assert {grid.target_gap for grid in made["peers"](Options())} == {PLAN.gap}
    assert {grid.seeds for grid in made["peers"](Options(repetitions=2))} == {(0, 1)}


def whole():
    problems = [each for each in PLAN.problems if each.seconds]
    ladders = [
        on_ladder(
            each.name,
            solver,
            *(
                LINEAR
                if each.name == "usps"
                else (level(10.0**-k, 10 * k + place, core_set=3 * k) for k in range(1, 5))
            ),
        )
        for each in problems
        for place, solver in enumerate(PLAN.solvers)
    ]
    peers = [
        row(PLAN.peers_of(each.name), solver, cpu=1.0 + place, support_vectors=9, n_features=3)
        for each in PLAN.problems
        for place, solver in enumerate((*PLAN.solvers, *PEERS, NEWTON, *LINEAR_PEERS))
    ]
    margins = [run for each in problems if each.margins for run in margin_rows(each.name, 1.05, 1.0)]
    products = [run for name, _ in PLAN.products for run in product_rows(name)]
    many = [row(large_of(n), solver, peak_rss_bytes=10**8) for n in PLAN.large for solver in LARGE_SOLVERS]
    return [HEADER, *ladders, *peers, *margins, *products, *many, lemma_row()]


@pytest.mark.slow
def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    found = results(*whole())
    assert_whole(tables, plots, found, results(HEADER), STUDY.folder, tmp_path)
