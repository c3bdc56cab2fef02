"""The ladder of labels: when the drive takes a trace point of a run that buys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness import (
    RBF,
    Iterate,
    KernelOracle,
    PoolSVC,
    Problem,
    TracePlan,
)
from tests.measure.test_drive import Clock, run, ticking


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
