"""reports/lasvm_nc: every part at a tiny size through the real sessions, and what the tables make of rows."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from harness import RBF, CSVCNoBias, Iterate, KernelOracle, Solver, parameter
from harness.errors import DataError, UsageError
from harness.registry import load_registry
from reports.kit import command, page, solvers, sources
from reports.kit.grids import Options, PaperSet
from reports.kit.journal import read_rows
from reports.kit.results import Published, Results
from reports.kit.study import PLUGINS
from reports.lasvm_nc import parts, plots, tables
from reports.lasvm_nc.plan import FORMULATIONS, FULL, LASVM, METRICS, NC, ONLINE, PLAN, QUICK, SOLVERS, G, I, Plan
from reports.lasvm_nc.study import STUDY
from tests.plugins.points import overlapping
from tests.reports.fabricated import HEADER, assert_whole, every_run, row

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "lasvm_nc"
PUBLISHED = Published.read(FOLDER / "published.csv")


TINY = Plan(
    sets={"adult": PaperSet("adult", "ringnorm[n=150,n_test=100]", C=10.0, gamma=0.05)},
    n={"adult": 150},
    repetitions=1,
    bends=(-1.0, 0.5),
    bend_repetitions=1,
    shares=(2,),
    share_repetitions=1,
)
SMALL = replace(STUDY, plan=TINY)


def results(*rows, plan=PLAN):
    return Results(rows, PUBLISHED, plan)


def measured(tmp_path, *arguments):
    out = tmp_path / "out"
    before = len(read_rows(out / "results.jsonl"))
    given = [*arguments, "--out", str(out), "--store", str(tmp_path / "store.sqlite")]
    command.run(SMALL, given)
    return [each for each in read_rows(out / "results.jsonl")[before:] if "status" in each]


def reported(tmp_path):
    page.make(SMALL, tmp_path / "out")
    return (tmp_path / "out" / "README.md").read_text()


# -- the parts ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_table_3_figure_5_and_the_growth_during_the_epoch(tmp_path):
    runs = {each["solver"]: each for each in measured(tmp_path, "--part", "table3,figure5")}
    assert set(runs) == {*SOLVERS, "lasvm-nc[s=0.5]", "lasvm-i[s=0.5]"}
    assert {each["status"] for each in runs.values()} == {"ok"}
    assert {each["C"] for each in runs.values()} == {10.0}
    assert {runs[name]["formulation"] for name in (FULL, G)} == {FORMULATIONS[0]}
    assert {runs[name]["formulation"] for name in (NC, I)} == {FORMULATIONS[1]}
    assert set(runs[FULL]["metrics"]) >= set(METRICS)
    assert runs["lasvm-nc[s=0.5]"]["support_vectors"] < runs["lasvm-nc"]["support_vectors"]
    text = reported(tmp_path)
    assert "| adult | full-svm | " in text
    assert "(84.87)" in text, "the published accuracy stands beside ours"
    assert "\n| adult | 0.5 | " in text
    for name in ("figure5", "figure6", "figure8"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")

    growing = [each for each in runs.values() if "trace" in each]
    assert [each["solver"] for each in growing] == list(SOLVERS), "those of table 3"
    visited = [point["info"]["visited"] for point in growing[0]["trace"] if "info" in point]
    assert visited == sorted(visited)
    assert 0 < visited[-1] <= 150
    assert "| adult | full-svm | 150 | " in text


@pytest.mark.slow
def test_models_during_the_epoch_are_those_of_fewer_examples(tmp_path):
    runs = measured(tmp_path, "--part", "figure2,figure4")
    half = {each["solver"]: each for each in runs if each["set"] == "adult, 75 examples"}
    assert set(half) == {*SOLVERS, ONLINE}
    assert {each["n_train"] for each in half.values()} == {75}
    assert {each["n_test"] for each in runs} == {100}
    assert half[ONLINE]["formulation"] == "c-svc"
    text = reported(tmp_path)
    assert re.search(r"\n\| 75 \| \d+\.\d\d \| \d+ \| \d+\.\d\d \| \d+ \|\n", text)
    assert "\n| after the finishing step | " in text
    assert "\n| adult | 75 | " in text


@pytest.mark.slow
def test_table_1(tmp_path):
    runs = measured(tmp_path, "--part", "table1")
    full, cleaned = (each["info"] for each in runs)
    assert full["admitted"] == cleaned["admitted"] == 150
    assert full["support_vectors"] + full["non_support"] == 150
    assert (full["cleaned_left"], full["cleaned_right"]) == (0, 0)
    assert cleaned["non_support"] == 0
    assert 0 < cleaned["cleaned_right"] <= cleaned["admitted_right"]
    assert "| adult | full-svm | " in reported(tmp_path)


# -- the record of admissions ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Perceptron(Solver):
    """Adds C y to the coefficient of each example that it gets wrong: an online solver with a known course."""

    name = "a-perceptron"
    solves = (CSVCNoBias,)
    block: int = parameter(1, "examples between two yields", ge=1)

    def iterates(self, problem, rng):
        coef = np.zeros(problem.n)
        gram = problem.kernel.block(np.arange(problem.n), np.arange(problem.n))
        for count, k in enumerate(rng.permutation(problem.n), start=1):
            if problem.targets[k] * (gram[k] @ coef) <= 0.0:
                coef[k] = problem.C * problem.targets[k]
            yield Iterate(coef, working_set=int(np.count_nonzero(coef)), info={"visited": count})


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_examples_are_scored_when_their_turn_comes(seed, monkeypatch):
    x, y = overlapping(seed, n=60)
    problem = CSVCNoBias.build(KernelOracle(RBF(0.5), x), y, {"C": 2.0})
    monkeypatch.setattr(solvers, "get_solver", lambda name, **values: Perceptron(**values))
    counted = problem.kernel.counter.evaluations
    *_, last = solvers.Admissions(oracle="a-perceptron").iterates(problem, np.random.default_rng(seed))

    gram = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(axis=2))
    coef, left, right = np.zeros(60), set(), set()
    for k in np.random.default_rng(seed).permutation(60):
        z = y[k] * (gram[k] @ coef)
        left |= {k} if z < -1.0 else set()
        right |= {k} if z > 1.0 else set()
        if z <= 0.0:
            coef[k] = 2.0 * y[k]
    gone = {k for k in range(60) if coef[k] == 0.0}
    assert last.info["admitted_left"] == len(left) > 0
    assert last.info["admitted_right"] == len(right) > 0
    assert (last.info["cleaned_left"], last.info["cleaned_right"]) == (len(left & gone), len(right & gone))
    assert last.info["support_vectors"] == np.count_nonzero(coef)
    assert problem.kernel.counter.evaluations - counted == 60 * 60, "the record's own values are not counted"


def test_an_oracle_that_does_not_say_where_it_is(monkeypatch):
    x, y = overlapping(0, n=10)
    problem = CSVCNoBias.build(KernelOracle(RBF(0.5), x), y, {})

    class Silent:
        def iterates(self, problem, rng):
            yield Iterate(np.zeros(problem.n))

    monkeypatch.setattr(solvers, "get_solver", lambda name, **values: Silent())
    with pytest.raises(UsageError, match="the info of silent has no 'visited'"):
        list(solvers.Admissions(oracle="silent").iterates(problem, np.random.default_rng(0)))


# -- the parts' settings -----------------------------------------------------------------------------------


def test_the_paper_s_settings():
    found = {grid.set: grid for grid in parts.table3(PLAN, Options(repetitions=1))}
    assert (found["mnist-8"].C, found["mnist-8"].gamma) == (100.0, 0.001)
    assert (found["usps-n"].C, found["banana"].gamma) == (1.0, 1.0)
    assert {grid.set for grid in parts.table1(PLAN, Options())} == {"adult"}
    bends = {solver for solver in parts.figure5(PLAN, Options())[0].solvers if solver.startswith("lasvm-nc")}
    assert len(bends) == len(PLAN.bends) - 1, "s = -1 is Table 3's run"


def test_no_set_is_one_run():
    for part in (parts.table3, parts.figure5):
        for name in PLAN.sets:
            runs = sum(len(grid.datasets) * len(grid.seeds) for grid in part(PLAN, Options(sets=(name,))))
            assert runs >= 3, name


def test_an_epoch_is_looked_at_after_parts_of_its_examples():
    grids = parts.figure4(PLAN, Options(sets=("usps-n",)))
    whole = "usps[split_seed=2,smooth=0.75,noise=0.1,noise_seed=2]"
    assert [grid.set for grid in grids][-1] == "usps-n, 3664 examples"
    assert grids[-1].datasets[2] == f"subset[of={whole},n=3664,seed=2]"
    adult = parts.figure4(PLAN, Options(sets=("adult",)))[0]
    assert adult.datasets[1] == "subset[of=adult,n=508,seed=1]"


@pytest.mark.parametrize("plan", [PLAN, QUICK], ids=["whole", "quick"])
@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part, plan):
    registry = load_registry(list(PLUGINS))
    for grid in parts.parts(plan)[part](Options(repetitions=2)):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert set(grid.metrics) <= set(registry.metrics)


def test_the_sizes_of_the_sets_are_theirs(raw_data):
    registry = load_registry(list(PLUGINS))
    for plan in (PLAN, QUICK):
        for name, data in plan.sets.items():
            if name != "mnist-8" or plan is QUICK:
                assert len(registry.select_datasets(data.selection.format(k=0))[0].load().y_train) == plan.n[name], name


def test_a_part_of_a_set_is_part_of_a_larger_part():
    whole = load_registry().select_datasets("breast-cancer")[0].load()
    few, more, other = (sources.Subset(n=n, seed=seed).load() for n, seed in ((50, 3), (80, 3), (50, 4)))
    rows = [list(map(bytes, data.x_train)) for data in (few, more)]
    assert rows[1][:50] == rows[0]
    assert len(set(rows[1])) == 80
    assert set(rows[1]) <= set(map(bytes, whole.x_train))
    labels = dict(zip(map(bytes, whole.x_train), whole.y_train, strict=True))
    assert [labels[each] for each in rows[0]] == list(few.y_train)
    assert (few.x_test == whole.x_test).all()
    assert len({few.sha256, more.sha256, other.sha256}) == 3
    with pytest.raises(DataError, match=r"breast-cancer has \d+ training points; expected n up to that"):
        sources.Subset(n=10_000).load()


# -- what the tables make of rows --------------------------------------------------------------------------


def of_adult(**counts):
    """Rows of the four solvers with kernel values in millions."""
    return [
        row("adult", solver, kernel_evaluations=1e6 * value, support_vectors=10 * value, error=error)
        for (solver, value), error in zip(counts.items(), (15.0, 15.1, 15.4, 15.2), strict=True)
    ]


def test_the_verdict_tells_what_is_met_and_what_is_missed():
    good = tables.verdict(results(*of_adult(**{"full-svm": 700, "lasvm-g": 200, "lasvm-nc": 120, "lasvm-i": 100})))
    assert "| **adult** | 0.17 (0.39) (met) | 0.14 (0.49) (met) | 0.17 (0.16) (met) | 0.14 (0.15) (met) |" in good
    assert "| -0.40 (**missed**) | -0.20 (met) | 100 <= 120 <= 200 <= 700 (met) |" in good
    bad = tables.verdict(results(*of_adult(**{"full-svm": 700, "lasvm-g": 200, "lasvm-nc": 120, "lasvm-i": 130})))
    assert "130 <= 120 <= 200 <= 700 (**missed**)" in bad


def test_growth_ends_with_the_run_itself():
    points = [
        {"info": {"visited": k, "gap": 5.0 * k}, "support_vectors": k, "kernel_evaluations": 10 * k} for k in (100, 400)
    ]
    end = {"support_vectors": 90, "kernel_evaluations": 2e6}
    run = row("adult", "lasvm-g", trace=[*points, end], info={"visited": 1000, "gap": 500.0})
    lines = tables.growth(results(run)).splitlines()[2:]
    assert lines == [
        "| adult | lasvm-g | 100 | 5.00e+00 | 100 | 0.001 |",
        "| adult | lasvm-g | 400 | 5.00e+00 | 400 | 0.004 |",
        "| adult | lasvm-g | 1,000 | 5.00e-01 | 90 | 2 |",
    ]
    assert tables.trace(results(row("adult", "lasvm-g", trace=[{}], info={})), "adult", "lasvm-g") == []


def test_table_3_is_in_the_paper_s_units():
    metrics = {"prbep": 0.6755, "roc-auc": 0.897, "g-means": 0.7313}
    text = tables.table3(results(row("adult", "full-svm", error=15.13, metrics=metrics, kernel_evaluations=7.09e8)))
    cells = (
        "| adult | full-svm | 84.87 (84.87) | 67.55 (67.55) | 0.897 (0.897) | 73.13 (73.13) | 100 (11831) | 709 (709) |"
    )
    assert cells in text


def test_differences_from_the_published_numbers_are_named():
    near = row("adult", "lasvm-nc", error=14.99, support_vectors=4609, kernel_evaluations=1.169e8)
    assert tables.differences(results(near)) == "None beyond that."
    far = row("adult", "lasvm-nc", error=16.0, support_vectors=9000, kernel_evaluations=1.169e8)
    assert tables.differences(results(far)).splitlines() == [
        "* adult, lasvm-nc: accuracy 84.00 % against 85.01 published.",
        "* adult, lasvm-nc: 9000 SV against 4609 published (1.95 times).",
    ]


def test_figures_2_and_4_have_the_models_in_the_order_of_their_examples():
    def of(name, solver, **values):
        return row(name, solver, metrics={"prbep": 0.5}, **values)

    runs = [
        of("adult", G, error=14.0, support_vectors=11_000),
        of("adult, 508 examples", G, error=17.0, support_vectors=200),
        of("adult, 508 examples", ONLINE, error=18.0, support_vectors=300),
        of("adult", ONLINE, error=16.0, support_vectors=14_000),
        of("adult", LASVM, error=15.0, support_vectors=12_000),
    ]
    assert tables.figure2(results(*runs)).splitlines()[2:] == [
        "| 508 | 18.00 | 300 | 17.00 | 200 |",
        "| 32,561 | 16.00 | 14,000 | 14.00 | 11,000 |",
        "| after the finishing step | 15.00 | 12,000 |  |  |",
    ]
    assert tables.figure4(results(*runs)).splitlines()[2:] == [
        "| adult | 508 |  | 50.00 |  |  |",
        "| adult | 32,561 |  | 50.00 |  |  |",
    ]


def test_times_not_measured_in_turns_are_not_drawn_together(tmp_path):
    runs = [row("adult", solver, git_commit="one") for solver in SOLVERS]
    assert plots.figure8(results(HEADER, *runs), tmp_path / "figure8.png")
    assert not plots.figure8(results(HEADER, *runs[:3], {**runs[3], "git_commit": "two"}), tmp_path / "other.png")


def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    info = {"visited": 500, "gap": 3.0, **dict.fromkeys(tables.TABLE1, 4)}
    point = {"support_vectors": 5, "kernel_evaluations": 1e5, "info": {"visited": 200, "gap": 9.0}}
    metrics = dict.fromkeys(METRICS, 0.9)
    trace = [point, {**point, "support_vectors": 8}]
    rows = every_run(parts.parts(PLAN), Options(repetitions=1), info=info, trace=trace, metrics=metrics)
    found = results(HEADER, *rows)
    assert_whole(tables, plots, found, results(HEADER), FOLDER, tmp_path)


def test_the_published_numbers_are_complete():
    assert {key[1] for key in PUBLISHED.values} == set(PLAN.sets)
    for name in PLAN.sets:
        for solver in SOLVERS:
            assert all(PUBLISHED.get("table3", name, solver, each) is not None for each in tables.QUANTITIES)
