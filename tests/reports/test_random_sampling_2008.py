"""reports/random_sampling_2008: the clouds, a tiny run through the real sessions, and every table of made-up rows."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.registry import load_registry
from reports.kit import command, page
from reports.kit.drawn import GapClouds, same_sign
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.markdown import NOT_MEASURED
from reports.kit.results import Published, Results
from reports.kit.running import slim
from reports.random_sampling_2008 import parts, plots, tables
from reports.random_sampling_2008.plan import PLAN, QUICK, Choosing, Clouds, KernelSet, Plan, Small, Tube
from reports.random_sampling_2008.study import STUDY
from tests.reports.fabricated import HEADER, assert_whole, every_run, row

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "random_sampling_2008"
TINY = Plan(
    hard=(Clouds(600, 2),),
    soft=(Clouds(600, 2, 2, 10),),
    swept=(Clouds(600, 2),),
    shares=(1.0, 6.0),
    sized=(Clouds(200, 2),),
    tubes=(Tube(300, 1),),
    small=(Small("figure-4", 3, 3), Small("tube", 1, 1, 3)),
    choosing=(Choosing("twonorm", "twonorm[n=150,n_test=300]", 4),),
    kernels=(KernelSet("twonorm", "twonorm[n=200,n_test=100]", 5, shares=(0.5,)),),
    repetitions=2,
    few=2,
    samples=2,
    kernel_samples=2,
)


def results(*rows, plan=PLAN):
    return Results(rows, Published({}), plan)


# -- the data ----------------------------------------------------------------------------------------------


def test_clouds_have_their_gap_and_their_outliers():
    data = GapClouds(n=1001, n_test=50, d=3, gap=0.8, outliers=6, seed=2).load()
    assert (data.x_train.shape, data.x_test.shape) == ((1001, 3), (50, 3))
    right, left = data.x_train[data.x_train[:, 0] > 0, 0], data.x_train[data.x_train[:, 0] < 0, 0]
    assert 0.8 <= right.min() - left.max() < 0.83
    wrong = np.sign(data.x_train[:, 0]) != data.y_train
    assert np.flatnonzero(wrong).tolist() == list(range(6))
    assert sorted(data.y_train[:6]) == [-1.0] * 3 + [1.0] * 3
    assert (np.sign(data.x_test[:, 0]) == data.y_test).all()
    assert GapClouds(n=20, n_test=50, d=3, gap=0.8, seed=2).load().x_test == pytest.approx(data.x_test)
    assert GapClouds(seed=1).load().sha256 != GapClouds().load().sha256


def test_same_sign():
    assert same_sign([1.0, -1.0, 1.0, -1.0], [0.2, -3.0, -0.1, 0.0]) == 0.5


def test_long_lists_stay_in_the_store():
    record = {"info": {"log_share": [0.1] * 101, "log_r": [4] * 100, "r": 4}, "trace": [], "metrics": None}
    assert slim(record)["info"] == {"log_r": [4] * 100, "r": 4}


# -- what is asked for -------------------------------------------------------------------------------------


def test_the_bounds_are_the_paper_s():
    hard, soft = Clouds(1000, 5), Clouds(1000, 5, 2, 10)
    assert (hard.bound, soft.bound) == (6, 60)
    assert soft.rounds_bound() == pytest.approx(6 * 60 * math.log(1000))
    assert hard.sample_size(6.0) == 216
    assert hard.sample_size(0.01) == 8  # the points of a solution
    assert hard.sampling(r=9) == "optmargin[r=9,gap=1e-6,oracle=smo-block]"
    assert soft.sampling() == "optsoftmargin[D=0.1,gap=1e-6,oracle=smo-block]"


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_every_solver_and_set_of_a_plan_is_there(plan):
    registry = load_registry(list(STUDY.plugins))
    for part in parts.parts_of(plan).values():
        for grid in part(Options()):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)


def test_only_so_many_points():
    grids = parts.rounds(PLAN, Options(n=1000, repetitions=2))
    assert {grid.datasets[0] for grid in grids} == {
        each.selection for each in (*PLAN.hard, *PLAN.soft) if each.m == 1000
    }
    assert {grid.seeds for grid in grids} == {(0, 1)}


def test_a_test_error_is_measured_where_k_separates():
    each = PLAN.choosing[0]
    known = row(each.name, parts.BISECTION, info={"k": 5, "most": 30})
    plan = replace(PLAN, choosing=(each,), step=2.0)
    ladders = [list(parts.choosing(plan, Options(measured=rows)))[-1].solvers for rows in ([], [known])]
    assert ladders == [tuple(each.ladder(1, 1, 2.0).values()), tuple(each.ladder(5, 30, 2.0).values())]
    assert list(each.ladder(5, 30, 2.0)) == [5, 10, 20, 30]
    assert list(each.ladder(1, 3, math.sqrt(2.0))) == [1, 2, 3]


@pytest.mark.slow
def test_a_tiny_run_and_its_page(tmp_path):
    study, out = replace(STUDY, plan=TINY), tmp_path / "out"
    command.run(study, ["--out", str(out), "--store", str(tmp_path / "store.sqlite"), "--limit", "60"])
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    tiny, (tube,) = TINY.hard[0], TINY.tubes
    theorem = [each for each in runs if each["solver"] == tiny.theorem]
    assert [each["info"]["r"] for each in theorem] == [54, 54]
    assert all(each["info"]["rounds"] <= tiny.rounds_bound() for each in theorem)
    round_tubes = [each for each in runs if each["solver"] == tube.theorem]
    assert all(each["info"]["rounds"] <= tube.rounds_bound() for each in round_tubes)
    largest = {each["set"]: each["info"]["largest"] for each in runs if each["solver"].startswith("largest-basis")}
    assert largest == {TINY.small[0].name: 8, TINY.small[1].name: TINY.small[1].counted}
    found = {each["solver"]: each["info"]["k"] for each in runs if each["solver"].startswith("chosen-k")}
    assert found[parts.BISECTION] <= found[parts.DOUBLING] < 2 * found[parts.BISECTION]
    page.make(study, out)
    text = (out / "README.md").read_text()
    assert "| 600 | 2 | 1 | 3 | 54 | 115 |" in text
    assert "The example is sound (met)." in text
    assert "max_rounds: violators" not in text  # a run of one round is not missing
    for name in plots.PICTURES:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")


# -- what the tables make of rows --------------------------------------------------------------------------

HARD = Clouds(10_000, 5)


def sampled(clouds, solver, rounds, seed=0, **info):
    known = {
        "rounds": rounds, "successful_rounds": rounds - 1, "r": 216, "lemma_share": 0.02, "lemma_bound": 0.04,
        "status": "done", "log_share": [0.001, 0.0], **info,
    }  # fmt: skip
    return row(clouds.name, solver, seed=seed, info=known, cpu=float(rounds))


def test_rounds_stand_beside_the_theorem():
    runs = [sampled(HARD, HARD.theorem, count, seed) for seed, count in enumerate((10, 20))]
    runs.append(sampled(HARD, HARD.adaptive, 30, r=384))
    found = results(*runs)
    assert tables.rounds(found).splitlines()[-1] == (
        "| 10,000 | 5 | 1 | 6 | 216 | 332 | 15.0 (10 - 20) | 92 % | 0.02 | 0.04 | 30.0 (30 - 30) | 384 |"
    )
    said = tables.verdict(found)
    assert "on all 1 problems with a sample smaller than the set (met); the most is 5 % of it." in said
    assert "within the Sampling Lemma (met): 50 to 50 % of its bound." in said
    assert "28 of 30 rounds were successful; the proof counts on half of them (met)." in said


def test_what_is_missed_is_told():
    run = sampled(HARD, HARD.theorem, 400, lemma_share=0.05, successful_rounds=100)
    said = tables.verdict(results(run))
    assert said.count("(**missed**)") == 3
    whole = Clouds(1000, 10)
    everything = sampled(whole, whole.theorem, 1, r=1000)
    assert "| 1,000 | 10 | 1 | 11 | all points |" in tables.rounds(results(everything))
    assert tables.verdict(results(everything)) == NOT_MEASURED


def test_the_smallest_sample_that_every_run_ended_with():
    each = PLAN.swept[0]
    labels = PLAN.sweep(each)
    assert list(labels) == sorted(labels)
    small, *_ = labels
    middle, full = list(labels)[3], list(labels)[-1]
    runs = [
        sampled(each, labels[small], 50, status="max_rounds", successful_rounds=0),
        sampled(each, labels[middle], 9),
        sampled(each, labels[full], 20),
    ]
    found = results(*runs)
    assert f"r = {middle} was enough, {full / middle:.3g} times smaller than 6 delta^2 = 216" in tables.smallest(found)
    assert f"the fastest was r = {middle}." in tables.smallest(found)
    lines = tables.small(found).splitlines()[2:]
    assert lines[0].startswith(f"| 100,000, 5, 1 | {small} |")
    assert "| 0 of 1 |  | 414 | 0 % |" in lines[0]
    assert "| 1 of 1 | 9.0 (9 - 9) | 414 | 89 % |" in lines[1]


def test_a_run_that_the_clock_stopped_is_a_line_too():
    each = PLAN.swept[0]
    label = next(iter(PLAN.sweep(each).values()))
    run = row(each.name, label, status="timeout", reason="slow", cpu=None, info={"rounds": 40, "successful_rounds": 4})
    assert "| 0 of 1 |  | 414 | 10 % |  | 0.0556 |  |" in tables.small(results(run))
    assert tables.smallest(results(run)) == NOT_MEASURED


def test_extremes_are_the_lemma_turned_round():
    each = PLAN.sized[0]
    runs = [sampled(each, each.first_round, 1, seed, log_share=[share]) for seed, share in ((0, 1e-4), (1, 3e-4))]
    runs.append(row(each.name, each.whole(), support_vectors=3))
    found = results(*runs)
    # 2e-4 of 10,000 points violate a sample of 5,000: x = v (r + 1) / (m - r)
    assert tables.extremes(found, each) == pytest.approx(2.0 * 5001 / 5000)
    assert tables.dimension(found).splitlines()[-1] == "| 0 | 1 | 2 | 3 | 2 | 3 | 3 |"


def test_every_table_and_picture_of_a_whole_study(tmp_path):
    info = {
        "rounds": 9, "successful_rounds": 8, "r": 216, "lemma_share": 0.02, "lemma_bound": 0.04, "status": "done",
        "log_share": [0.001], "k": 4, "largest": 8, "distance": [0.0, 1.1, 1.0, 1.0], "indices": [[0, 9], *[[0, 1, 2, 9]] * 9],
    }  # fmt: skip
    info["distance"] = [0.0, 0.0, 0.0, 0.0, 0.0, 1.2, 1.1, 1.0, 1.0, 1.0]
    found = results(HEADER, *every_run(parts.parts_of(PLAN), Options(), info=info))
    assert_whole(tables, plots, found, results(), FOLDER, tmp_path)
