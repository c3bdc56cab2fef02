"""When the drive takes a trace point: the series of seconds and evaluations, and the ladder of queried targets."""

from __future__ import annotations

import numpy as np
from harness_active.pool_svc import PoolSVC

from harness import RBF, Iterate, KernelOracle, TracePlan
from tests.measure.test_drive import Clock, N, run, ticking


def test_trace_points_stand_at_the_exact_geometric_series_of_seconds():
    clock = Clock()
    plan = TracePlan(per_decade=5, first_seconds=1.0, first_evaluations=10**9)
    outcome = run(ticking(clock, 0.125, steps=8 * 200), None, plan, clock=clock)
    series = [10 ** (k / 5) for k in range(12)]  # 1, 1.58, 2.51, 3.98, 6.31, 10 ... 158
    expected = [np.ceil(second / 0.125 - 1e-9) * 0.125 for second in series if second <= 200.0]
    assert [point.seconds for point in outcome.trace] == expected
    assert {point.reason for point in outcome.trace} == {"seconds"}
    assert [point.iteration for point in outcome.trace] == [round(second / 0.125) for second in expected]


def test_one_long_step_takes_one_point_not_a_backlog():
    clock = Clock()
    seconds = iter([50.0, 0.01, 0.01, 60.0])

    def script(stated):
        for step in seconds:
            clock.now += step
            yield Iterate(np.zeros(N))

    outcome = run(script, None, TracePlan(per_decade=1, first_seconds=1.0), clock=clock)
    assert [point.iteration for point in outcome.trace] == [1, 4]


def pool_problem(n=400):
    x = np.random.default_rng(0).normal(size=(n, 2))
    return PoolSVC.build(KernelOracle(RBF(), x), np.where(np.arange(n) % 2, 1.0, -1.0).__getitem__)


def test_points_stand_on_a_ladder_of_queries_whatever_other_points_there_are():
    clock = Clock()

    def script(problem):
        while problem.queries_left:
            problem.query(np.flatnonzero(np.isnan(problem.targets))[:1])
            clock.now += 1.0
            yield Iterate(np.zeros(problem.n))

    for plan, reasons in (
        (TracePlan(), {"queried"}),
        (TracePlan(per_decade=40, first_seconds=0.5), {"queried", "seconds"}),
    ):
        outcome = run(script, None, plan, stated=pool_problem(), clock=clock if len(reasons) > 1 else Clock())
        ladder = [point for point in outcome.trace if point.reason == "queried"]
        rungs = [int(np.ceil(10 ** (k / 20) - 1e-9)) for k in range(53)]
        assert [point.queried for point in ladder] == sorted({rung for rung in rungs if rung <= 400})
        assert all(point.iteration == point.queried for point in ladder)
        assert {point.reason for point in outcome.trace} == reasons
