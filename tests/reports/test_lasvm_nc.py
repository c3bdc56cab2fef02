"""reports/lasvm_nc: every part at a tiny size through the real sessions, and what the tables make of rows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from harness import RBF, CSVCNoBias, Iterate, KernelOracle, Solver, parameter
from harness.registry import load_registry
from reports.kit import command, page, solvers
from reports.kit.grids import Options, PaperSet
from reports.kit.journal import read_rows
from reports.kit.study import PLUGINS
from reports.lasvm_nc import parts
from reports.lasvm_nc.plan import FORMULATIONS, FULL, METRICS, NC, PLAN, QUICK, SOLVERS, G, I, Plan
from reports.lasvm_nc.study import STUDY
from tests.plugins.points import overlapping

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile


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


# -- the parts' settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [PLAN, QUICK], ids=["whole", "quick"])
@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part, plan):
    registry = load_registry(list(PLUGINS))
    for grid in parts.parts(plan)[part](Options(repetitions=2)):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert set(grid.metrics) <= set(registry.metrics)


# -- what the tables make of rows --------------------------------------------------------------------------
