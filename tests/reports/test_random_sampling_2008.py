"""reports/random_sampling_2008: the clouds, a tiny run through the real sessions, and every table of made-up rows."""

from dataclasses import replace

import numpy as np
import pytest

from harness.registry import load_registry
from reports.kit import command, page
from reports.kit.drawn import GapClouds
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.random_sampling_2008 import parts, plots
from reports.random_sampling_2008.plan import PLAN, QUICK, Choosing, Clouds, KernelSet, Plan, Small, Tube
from reports.random_sampling_2008.study import STUDY

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile
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


# -- what is asked for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [PLAN, QUICK])
def test_every_solver_and_set_of_a_plan_is_there(plan):
    registry = load_registry(list(STUDY.plugins))
    for part in parts.parts_of(plan).values():
        for grid in part(Options()):
            assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
            assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)


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
