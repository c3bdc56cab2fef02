"""reports/random_sampling_2008: the clouds, a tiny run through the real sessions, and every table of made-up rows."""

import math
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
from reports.kit.study import PLUGINS
from reports.random_sampling_2008 import parts, plots, tables
from reports.random_sampling_2008.parts import Clouds
from reports.random_sampling_2008.study import STUDY
from tests.reports.fabricated import HEADER, assert_whole, every_run, row

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "random_sampling_2008"


def results(*rows):
    return Results(rows, Published({}))


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
    assert parts.sample_size(hard, 6.0) == 216
    assert parts.sample_size(hard, 0.01) == 8  # the points of a solution
    assert hard.sampling(r=9) == "optmargin[r=9,gap=1e-6,oracle=smo-block]"
    assert soft.sampling() == "optsoftmargin[D=0.1,gap=1e-6,oracle=smo-block]"


@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part):
    registry = load_registry(list(PLUGINS))
    for grid in parts.PARTS[part](Options()):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == 1


def test_only_so_many_points():
    assert {grid.datasets[0] for grid in parts.rounds(Options(n=1000, repetitions=2))} == {
        each.selection for each in (*parts.HARD, *parts.SOFT) if each.m == 1000
    }
    assert {grid.seeds for grid in parts.rounds(Options(n=1000, repetitions=2))} == {(0, 1)}


@pytest.mark.slow
def test_a_tiny_run_and_its_page(tmp_path, monkeypatch):
    tiny, soft, sized = Clouds(600, 2), Clouds(600, 2, 2, 10), Clouds(200, 2, 0, 1)
    for module in (parts, tables, plots):
        monkeypatch.setattr(module, "HARD", (tiny,))
        monkeypatch.setattr(module, "SOFT", (soft,))
        monkeypatch.setattr(module, "SIZED", (sized,))
        monkeypatch.setattr(module, "SWEPT", (tiny,))
    monkeypatch.setattr(parts, "SHARES", (1.0, 6.0))
    out = tmp_path / "out"
    given = ["--out", str(out), "--store", str(tmp_path / "store.sqlite"), "--limit", "60", "--seeds", "2"]
    command.run(STUDY, given)
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert {each["solver"].partition("[")[0] for each in runs} == {"optmargin", "optsoftmargin", "smo-block"}
    theorem = [each for each in runs if each["solver"] == parts.theorem(tiny)]
    assert [each["info"]["r"] for each in theorem] == [54, 54]
    assert all(each["info"]["rounds"] <= tiny.rounds_bound() for each in theorem)
    page.make(STUDY, out)
    text = (out / "README.md").read_text()
    assert "| 600 | 2 | 1 | 3 | 54 | 115 |" in text
    assert f"k = {soft.k}" not in tables.smallest(results(*runs))
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
    runs = [sampled(HARD, parts.theorem(HARD), count, seed) for seed, count in enumerate((10, 20))]
    runs.append(sampled(HARD, parts.adaptive(HARD), 30, r=384))
    found = results(*runs)
    assert tables.rounds(found).splitlines()[-1] == (
        "| 10,000 | 5 | 1 | 6 | 216 | 332 | 15.0 (10 - 20) | 92 % | 0.02 | 0.04 | 30.0 (30 - 30) | 384 |"
    )
    said = tables.verdict(found)
    assert "on all 1 problems with a sample smaller than the set (met); the most is 5 % of it." in said
    assert "within the Sampling Lemma (met): 50 to 50 % of its bound." in said
    assert "28 of 30 rounds were successful; the proof counts on half of them (met)." in said


def test_what_is_missed_is_told():
    run = sampled(HARD, parts.theorem(HARD), 400, lemma_share=0.05, successful_rounds=100)
    said = tables.verdict(results(run))
    assert said.count("(**missed**)") == 3
    whole = Clouds(1000, 10)
    everything = sampled(whole, parts.theorem(whole), 1, r=1000)
    assert "| 1,000 | 10 | 1 | 11 | all points |" in tables.rounds(results(everything))
    assert tables.verdict(results(everything)) == NOT_MEASURED


def test_the_smallest_sample_that_every_run_ended_with():
    each = parts.SWEPT[0]
    labels = parts.swept(each)
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
    each = parts.SWEPT[0]
    label = next(iter(parts.swept(each).values()))
    run = row(each.name, label, status="timeout", reason="slow", cpu=None, info={"rounds": 40, "successful_rounds": 4})
    assert "| 0 of 1 |  | 414 | 10 % |  | 0.0556 |  |" in tables.small(results(run))
    assert tables.smallest(results(run)) == NOT_MEASURED


def test_extremes_are_the_lemma_turned_round():
    each = parts.SIZED[0]
    runs = [
        sampled(each, parts.first_round(each), 1, seed, log_share=[share]) for seed, share in ((0, 1e-4), (1, 3e-4))
    ]
    runs.append(row(each.name, each.whole(), support_vectors=3))
    found = results(*runs)
    # 2e-4 of 10,000 points violate a sample of 5,000: x = v (r + 1) / (m - r)
    assert tables.extremes(found, each) == pytest.approx(2.0 * 5001 / 5000)
    assert tables.dimension(found).splitlines()[-1] == "| 0 | 1 | 2 | 3 | 2 | 3 | 3 |"


def test_every_table_and_picture_of_a_whole_study(tmp_path):
    info = {
        "rounds": 9, "successful_rounds": 8, "r": 216, "lemma_share": 0.02, "lemma_bound": 0.04, "status": "done",
        "log_share": [0.001],
    }  # fmt: skip
    found = Results([HEADER, *every_run(parts.PARTS, Options(), info=info)], Published({}))
    assert_whole(tables, plots, found, results(), FOLDER, tmp_path)
