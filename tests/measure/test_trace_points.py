"""When the drive takes a trace point: the series of seconds and evaluations, and the ladder of labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from harness import (
    RBF,
    Iterate,
    KernelOracle,
    PoolSVC,
    Problem,
    TracePlan,
)
from tests.measure.test_drive import Clock, N, run, ticking


def test_trace_points_stand_at_the_exact_geometric_series_of_seconds() -> None:
    clock = Clock()
    plan = TracePlan(per_decade=5, first_seconds=1.0, first_evaluations=10**9)
    outcome = run(ticking(clock, 0.125, steps=8 * 200), None, plan, clock=clock)
    series = [10 ** (k / 5) for k in range(12)]  # 1, 1.58, 2.51, 3.98, 6.31, 10 ... 158
    expected = [np.ceil(second / 0.125 - 1e-9) * 0.125 for second in series if second <= 200.0]
    assert [point.seconds for point in outcome.trace] == expected
    assert {point.reason for point in outcome.trace} == {"seconds"}
    assert [point.iteration for point in outcome.trace] == [round(second / 0.125) for second in expected]


def test_trace_points_stand_at_the_exact_geometric_series_of_evaluations() -> None:
    clock = Clock()
    plan = TracePlan(per_decade=2, first_seconds=1e9, first_evaluations=1000)
    outcome = run(ticking(clock, 1.0, steps=400, cost=250), None, plan, clock=clock)
    assert [point.kernel_evaluations for point in outcome.trace] == [1000, 3250, 10000, 31750, 100000]
    assert {point.reason for point in outcome.trace} == {"kernel_evaluations"}


def test_one_long_step_takes_one_point_not_a_backlog() -> None:
    clock = Clock()
    seconds = iter([50.0, 0.01, 0.01, 60.0])

    def script(stated: Problem) -> Iterator[Iterate]:
        for step in seconds:
            clock.now += step
            yield Iterate(np.zeros(N))

    outcome = run(script, None, TracePlan(per_decade=1, first_seconds=1.0), clock=clock)
    assert [point.iteration for point in outcome.trace] == [1, 4]


@pytest.mark.parametrize("per_decade", [1, 3, 5, 7])
@pytest.mark.parametrize("first", [1e-3, 0.7, 1000.0])
def test_the_series_goes_on_from_its_own_points(per_decade: int, first: float) -> None:
    plan = TracePlan(per_decade=per_decade, first_seconds=first)
    assert plan.next_seconds(0.0) == first
    value = first
    for k in range(1, 40):
        value = plan.next_seconds(value)
        assert value == pytest.approx(first * 10 ** (k / per_decade), rel=1e-12)
        assert plan.next_seconds(value * (1 - 1e-6)) == pytest.approx(value)


def pool_problem(n: int = 400) -> Problem:
    x = np.random.default_rng(0).normal(size=(n, 2))
    return PoolSVC.build(KernelOracle(RBF(), x), np.where(np.arange(n) % 2, 1.0, -1.0))


def buying(batch: int):
    def script(stated: Problem) -> Iterator[Iterate]:
        while stated.labels_left:
            stated.buy(np.flatnonzero(np.isnan(stated.targets))[:batch])
            yield Iterate(np.zeros(stated.n))

    return script


def test_points_stand_on_a_ladder_of_labels_where_they_are_sold() -> None:
    outcome = run(buying(1), None, TracePlan(), problem=pool_problem())
    rungs = [int(np.ceil(10 ** (k / 20) - 1e-9)) for k in range(53)]
    assert [point.labels_used for point in outcome.trace] == sorted({rung for rung in rungs if rung <= 400})
    assert [point.labels_used for point in outcome.trace[:10]] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert {point.reason for point in outcome.trace} == {"labels"}
    assert all(point.iteration == point.labels_used for point in outcome.trace)


def test_a_batch_that_jumps_over_rungs_gives_one_point() -> None:
    outcome = run(buying(100), None, TracePlan(labels_per_decade=5), problem=pool_problem())
    assert [point.labels_used for point in outcome.trace] == [100, 200, 300, 400]


def test_the_ladder_does_not_depend_on_the_other_series() -> None:
    clock, stated = Clock(), pool_problem()

    def script(problem: Problem) -> Iterator[Iterate]:
        for last in buying(1)(problem):
            clock.now += 1.0
            yield last

    outcome = run(script, None, TracePlan(per_decade=40, first_seconds=0.5), problem=stated, clock=clock)
    ladder = [point.labels_used for point in outcome.trace if point.reason == "labels"]
    assert ladder == [point.labels_used for point in run(buying(1), None, TracePlan(), problem=pool_problem()).trace]
    assert {point.reason for point in outcome.trace} == {"labels", "seconds"}


def test_no_label_is_counted_where_none_is_sold() -> None:
    clock = Clock()
    outcome = run(ticking(clock, 1.0, steps=3), None, TracePlan(first_seconds=0.5), clock=clock)
    assert {point.labels_used for point in outcome.trace} == {None}
