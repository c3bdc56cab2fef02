"""Paths: cells and folds, starts, what is shared and who pays for it, and solvers that break the protocol."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from harness_smo import SMOBlock
from hypothesis import given
from hypothesis import strategies as st

from harness import CSVC, RBF, Grid, Iterate, KernelOracle, Limits, Linear, Precomputed, SolutionPath, Solver
from harness.measure.drive import Clocks, drive
from harness.measure.outcome import Status, StoppedBy
from harness.measure.path_drive import CellOutcome, drive_path
from harness.solver.path import fold_of
from harness.support.errors import PluginError

COSTS, WIDTHS = {"C": (0.5, 2.0, 8.0)}, {"gamma": (0.1, 1.0)}


SMO = SMOBlock()


def data(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.where(np.sin(x).sum(axis=1) + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def path_of(grid=Grid(COSTS, WIDTHS, 3), kernel=RBF, points=None, **settings):  # noqa: B008 - it is immutable
    x, y = data()
    return SolutionPath(grid, CSVC, kernel, x if points is None else points, y, **settings)


def solved(solver, path, limits=None, seed=0, clocks=None):
    return list(drive_path(solver, path, seed, limits or Limits(), clocks))


# -- cells ---------------------------------------------------------------------------------------------


def test_cells_with_the_same_kernel_and_fold_stand_together_and_costs_rise():
    cells = Grid(COSTS, WIDTHS, 3).cells()
    assert len(cells) == Grid(COSTS, WIDTHS, 3).size == 18
    assert [cell.index for cell in cells] == list(range(18))
    told = [(cell.values["gamma"], cell.fold, cell.values["C"]) for cell in cells]
    assert told == sorted(told)
    for cell in cells:
        if cell.values["C"] == 0.5:
            assert cell.before is None
            continue
        before = cells[cell.before]
        assert (before.fold, before.values) == (cell.fold, {**cell.values, "C": cell.values["C"] / 4.0})


@given(counts=st.tuples(st.integers(0, 30), st.integers(0, 30)), folds=st.integers(2, 7), seed=st.integers(0, 9))
def test_folds_are_even_in_each_class_and_in_all(counts, folds, seed):
    targets = np.repeat([-1.0, 1.0], counts)
    found = fold_of(targets, folds, seed, stratified=True)
    assert np.array_equal(found, fold_of(targets, folds, seed, stratified=True))
    for members in (targets < 0, targets > 0, targets != 0):
        sizes = [int((found[members] == fold).sum()) for fold in range(folds)]
        assert max(sizes) - min(sizes) <= 1
    assert len(targets) < 20 or not np.array_equal(found, fold_of(targets, folds, seed + 1, stratified=True))


@pytest.mark.parametrize("kernel", [RBF, Linear, Precomputed])
def test_every_point_is_left_out_once_and_each_cell_is_the_problem_it_says(kernel):
    x, y = data()
    given = RBF(gamma=0.5).block(x, x) if kernel is Precomputed else x
    grid = Grid(COSTS, WIDTHS if kernel is RBF else {}, 3)
    path = path_of(grid, kernel, given)
    left_out = Counter()
    for cell in path.cells[:: len(COSTS["C"])]:
        members, rest = path.order[path.members(cell)], path.order[path.left_out(cell)]
        assert sorted([*members, *rest]) == list(range(60))
        left_out.update(rest.tolist())
        problem = path.problem(cell)
        assert cell.values["C"] == problem.C
        assert np.array_equal(problem.targets, y[members])
        expected = (
            Precomputed() if kernel is Precomputed else kernel(**{k: v for k, v in cell.values.items() if k == "gamma"})
        )
        values = given[np.ix_(members, members)] if kernel is Precomputed else expected.block(x[members], x[members])
        np.testing.assert_allclose(problem.kernel.block(np.arange(problem.n)), values, atol=1e-12)
    assert set(left_out.values()) == {len(grid.kernel_axes.get("gamma", [0]))}


# -- starts --------------------------------------------------------------------------------------------


def test_a_start_has_what_was_at_a_bound_at_the_new_bound():
    path = path_of(Grid({"C": (1.0, 4.0)}))
    first, second = path.cells
    assert (path.start(first), path.start(second)) == (None, None)  # nothing is stored yet
    coef = drive(SMO, path.problem(first), np.random.default_rng(0)).dual_coef
    path.keep(first, coef)
    start, problem = path.start(second), path.problem(second)
    problem.checked(start, 0.0)
    bound, free = np.abs(coef) == 1.0, (coef != 0.0) & (np.abs(coef) < 1.0)
    assert min(bound.sum(), free.sum()) > 3
    moved = np.abs(start[bound]) == 4.0
    assert moved.mean() > 0.5  # as many as the sum lets
    assert not start[(coef == 0.0)].any() or not free.any()


# -- driving -------------------------------------------------------------------------------------------


def test_a_cold_cell_is_a_usual_run_bit_for_bit():
    x, y = data()
    path = path_of(Grid({"C": (1.0, 4.0)}), kernel_parameters={"gamma": 0.5}, cold=True)
    for found in solved(SMO, path, seed=3):
        problem = CSVC.build(KernelOracle(RBF(gamma=0.5), x), y, dict(found.cell.values))
        usual = drive(SMO, problem, np.random.default_rng(3))
        assert np.array_equal(usual.dual_coef, found.outcome.dual_coef)
        assert problem.kernel.counter.evaluations == found.evaluations


def test_evaluations_add_up_and_seconds_without_what_is_shared():
    path = path_of(points=data(d=40)[0])
    found = solved(SMO, path)
    assert sum(each.evaluations for each in found) == path.counter.evaluations
    assert path.shared.seconds > 0.0
    assert all(each.outcome.seconds > 0.0 for each in found)


@dataclass(frozen=True)
class AtRandom(Solver):
    """Yields a model of a random number."""

    name = "at-random"
    solves = (CSVC,)

    def iterates(self, problem, rng):
        yield Iterate(np.full(problem.n, rng.random()), done=True)


def test_random_numbers_begin_anew_in_each_cold_cell_alone():
    numbers = {cold: [each.outcome.dual_coef[0] for each in solved(AtRandom(), path_of(cold=cold))] for cold in (0, 1)}
    assert len(set(numbers[0])) == 18
    assert set(numbers[1]) == {np.random.default_rng(0).random()}


@dataclass(frozen=True)
class Scripted(Solver):
    """Yields what its class is told, on every problem."""

    name = "scripted"
    solves = (CSVC,)
    ends = (True,)

    def iterates(self, problem, rng):
        for done in self.ends:
            problem.kernel.matrix()
            yield Iterate(np.zeros(problem.n), done=done, step=7)


def ticking(step=1.0):
    """A clock that is a second later each time it is asked."""
    now = [0.0]

    def clock():
        now[0] += step
        return now[0]

    return clock


def test_what_cells_share_is_no_cell_s_own():
    """The first cell computes the distances: two looks at the clock there, which are not its own seconds."""
    clock = ticking()
    path = path_of(points=data(d=40)[0], clocks=(clock, lambda: 0.0))
    found = solved(Scripted(), path, clocks=Clocks(clock, lambda: 0.0))
    assert path.shared.seconds == 1.0
    first, *others = (each.outcome.seconds for each in found)
    assert (first, set(others)) == (
        2.0,
        {1.0},
    )  # began, and ended; of the first one look before the distances, one after


@pytest.mark.parametrize("cold", [False, True])
def test_a_time_limit_is_that_of_the_whole_path(cold):
    clocks = Clocks(ticking(), lambda: 0.0)
    *found, last = solved(Scripted(), path_of(cold=cold), Limits(time_limit=5.5), clocks=clocks)
    assert last is StoppedBy.TIME
    assert 3 <= len(found) <= 6
    assert all(isinstance(each, CellOutcome) for each in found)


def test_stating_the_problem_of_a_cold_cell_is_off_the_clock(monkeypatch):
    now = [0.0]

    def kernel(self, cell, members, stated=SolutionPath._kernel):
        now[0] += 100.0
        return stated(self, cell, members)

    monkeypatch.setattr(SolutionPath, "_kernel", kernel)
    found = solved(Scripted(), path_of(cold=True), clocks=Clocks(lambda: now[0], lambda: now[0]))
    assert now[0] == 100.0 * len(found) == 1800.0
    assert {(each.outcome.seconds, each.outcome.cpu_seconds) for each in found} == {(0.0, 0.0)}


def test_yields_do_not_add_readings_of_the_cpu_clock():
    class Talkative(Scripted):
        ends = (*[False] * 50, True)

    found = solved(Talkative(), path_of(), clocks=Clocks(lambda: 0.0, ticking()))
    assert {each.outcome.cpu_seconds for each in found} == {1.0}  # from the reading at the begin to the one at the end


def test_a_cell_that_is_not_done_is_unfinished_and_the_others_go_on():
    class Endless(Scripted):
        ends = (False, False)

    found = solved(Endless(), path_of())
    assert (len(found), {each.outcome.status for each in found}) == (18, {Status.UNFINISHED})
    assert "ended without a done iterate" in found[0].outcome.reason


MODEL = Iterate(np.zeros(40), done=True)


BREACHES = [
    (lambda path: [MODEL], "not Iterate"), (lambda path: [(path.cells[0], None)], "not tuple"),
    (lambda path: [(path.cells[0], MODEL)] * 2, "again after its end"),
    (lambda path: [(Grid(COSTS, WIDTHS, 3).cells()[0], MODEL)], "not in path.cells"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "reason"), BREACHES)
def test_a_breach_of_the_protocol_is_named(told, reason):
    class Broken(Scripted):
        def solve_path(self, path, rng):
            yield from told(path)

    with pytest.raises(PluginError, match=reason):
        solved(Broken(), path_of())
