"""The drive loop with a fake clock: whose time counts, when the host looks, when it stops, what it keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest

from harness import CSVC, RBF, Iterate, KernelOracle, Limits, Solver, TracePlan, drive, get_solver
from harness.kernels.engine import Engine
from harness.measure.compilation import CompilationWatch
from harness.measure.drive import Clocks
from harness.measure.outcome import Status, StoppedBy
from harness.measure.scored import Weights
from harness.support.clocks import fit_clock, fit_cpu_clock
from harness.support.errors import InvalidModel, PluginError

N = 10


class Clock:
    """Time that passes only where a test says so."""

    now = 100.0

    def __call__(self):
        return self.now


@dataclass(frozen=True)
class Scripted(Solver):
    """Yields what a test's script yields."""

    name = "scripted"
    solves = (CSVC,)
    observable = True

    def iterates(self, problem, rng):
        return SCRIPT[0](problem)


SCRIPT = [lambda problem: iter(())]


def problem():
    x = np.random.default_rng(0).normal(size=(N, 2))
    return CSVC.build(KernelOracle(RBF(), x), np.where(np.arange(N) % 2, 1.0, -1.0))


def run(script, budget=None, plan=None, *, stated=None, clock=None, cpu_clock=None, lost=None, **options):
    SCRIPT[0] = script
    clocks = Clocks(clock or Clock(), cpu_clock or Clock())
    clocks.lost = lost or clocks.lost
    return drive(Scripted(), stated or problem(), np.random.default_rng(0), budget, plan, clocks=clocks, **options)


def ticking(clock, seconds, steps=10**6, done_at=None, cost=0):
    def script(stated):
        coef = np.zeros(N)
        for step in range(1, steps + 1):
            clock.now += seconds
            stated.kernel.counter.evaluations += cost
            yield Iterate(coef, 0.25, done=step == done_at)

    return script


def test_the_clock_runs_only_inside_next():
    clock = Clock()

    def observer(point, model):
        clock.now += 1000.0  # the host's time is the host's

    plan = TracePlan(per_decade=5, first_seconds=0.5)
    outcome = run(ticking(clock, 1.0, steps=7), None, plan, clock=clock, observer=observer)
    assert (outcome.seconds, outcome.yields, len(outcome.trace) > 3) == (7.0, 7, True)
    assert (outcome.status, outcome.stopped_by) == (Status.UNFINISHED, StoppedBy.EXHAUSTED)


def test_work_before_the_first_yield_and_after_the_last_is_timed():
    clock = Clock()

    def script(stated):
        clock.now += 5.0
        yield Iterate(np.zeros(N))
        clock.now += 3.0

    assert run(script, clock=clock).seconds == 8.0


def test_the_hosts_cpu_time_is_not_the_solvers():
    cpu, clock = Clock(), Clock()

    def script(stated):
        for _ in range(4):
            clock.now += 1.0
            cpu.now += 0.5
            yield Iterate(np.zeros(N))

    def observer(point, model):
        cpu.now += 70.0

    outcome = run(script, None, TracePlan(first_seconds=0.1), clock=clock, cpu_clock=cpu, observer=observer)
    assert outcome.cpu_seconds == 2.0
    assert [point.cpu_seconds for point in outcome.trace] == [0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize(
    ("budget", "yields", "reason"),
    [
        (Limits(time_limit=3.0), 3, "time limit of 3 s"),
        (Limits(kernel_evaluation_limit=45), 5, "budget of 45 kernel evaluations"),
        (Limits(iteration_limit=4), 4, "budget of 4 iterations"),
        (Limits(iteration_limit=1), 1, "budget of 1 iterations"),
        (Limits(time_limit=3.0, kernel_evaluation_limit=20, iteration_limit=9), 2, "budget of 20 kernel evaluations"),
    ],
)
@pytest.mark.parametrize("plan", [None, TracePlan()])
def test_a_budget_stops_at_the_first_yield_that_spends_it(budget, yields, reason, plan):
    clock = Clock()
    outcome = run(ticking(clock, 1.0, cost=10), budget, plan, clock=clock)
    assert (outcome.yields, outcome.status, outcome.claimed_done) == (yields, "budget", False)
    assert reason in outcome.reason


def test_a_target_gap_stops_when_the_hosts_own_certificate_reaches_it():
    stated, clock = problem(), Clock()
    solution = get_solver("qp").solve(problem())

    def script(_):
        for step in range(100):
            clock.now += 1.0
            share = min(1.0, step / 20)
            yield Iterate(share * solution.dual_coef, solution.intercept, info={"claimed_gap": 0.0})

    plan, models = TracePlan(per_decade=50, first_seconds=0.5), []
    watched = {"stated": stated, "clock": clock, "observer": lambda _, model: models.append(model)}
    outcome = run(script, Limits(target_gap=1e-3), plan, **watched)
    assert (outcome.status, outcome.reason) == ("ok", "stopped by the host at the target gap of 1e-3")
    assert 2 < outcome.yields <= 22
    before, last = (stated.certify(*model) for model in models[-2:])
    assert last.relative_gap <= 1e-3 < before.relative_gap


def test_a_point_has_its_model_only_where_the_plan_allows_the_cost_of_its_certificate():
    clock = Clock()

    def script(stated):
        for support in (2, 3):
            coef = stated.targets * (np.arange(N) < support)
            coef[support:] = 0.0
            clock.now += 1.0
            yield Iterate(coef)

    stated = problem()
    plan = TracePlan(first_seconds=0.5, certificate_values=2 * N)
    plain = CSVC.build(Engine(stated.kernel.kernel, stated.kernel.points), stated.targets, stated.parameters)
    models = []
    outcome = run(
        script, Limits(target_gap=1e-9), plan, stated=stated, clock=clock, plain=plain,
        observer=lambda _, model: models.append(model),
    )  # fmt: skip
    full, cheap = outcome.trace
    assert np.count_nonzero(models[0][0]) == 2
    assert models[1] is None
    assert (full.support_vectors, cheap.support_vectors) == (2, 3)
    assert stated.kernel.counter.evaluations == 0, "certificates are the host's own cost"


def test_a_black_box_reports_no_kernel_evaluations():
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scripted, "observable", False)
        outcome = run(ticking(clock, 1.0, steps=1), None, TracePlan(first_seconds=0.5), clock=clock)
    assert outcome.trace[0].kernel_evaluations is None


@pytest.mark.parametrize("how", ["done", "budget", "error"])
def test_the_generator_is_closed(how):
    closed = []

    def script(stated):
        try:
            yield Iterate(np.zeros(N))
            yield Iterate(np.zeros(N), done=True) if how == "done" else "no iterate"
        finally:
            closed.append(True)

    if how == "error":
        with pytest.raises(PluginError):
            run(script)
    else:
        run(script, Limits(iteration_limit=1) if how == "budget" else None)
    assert closed == [True]


ZERO = np.zeros(N)
BREACHES = {
    "yielded ndarray": lambda p: iter([ZERO]),
    "yielded NoneType": lambda p: iter([None]),
    "returned Iterate from iterates": lambda p: Iterate(ZERO),
    "done='no'": lambda p: iter([Iterate(ZERO, done="no")]),
    "info=[1]": lambda p: iter([Iterate(ZERO, done=True, info=[1])]),
    "without yielding a model": lambda p: iter([]),
    "neither dual_coef nor weights nor free_coef": lambda p: iter([Iterate(done=True)]),
    "dual_coef and free_coef": lambda p: iter([Iterate(ZERO, free_coef=ZERO, done=True)]),
    "dual_coef and weights": lambda p: iter([Iterate(ZERO, weights=np.zeros(2), done=True)]),
    "extra_points but no free_coef": lambda p: iter([Iterate(extra_points=np.zeros((1, 2)), done=True)]),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_of_the_protocol_is_named(name):
    with pytest.raises((PluginError, InvalidModel), match=re.escape(name)) as caught:
        run(BREACHES[name])
    assert "solver 'scripted'" in str(caught.value)


@pytest.mark.parametrize("how", ["done", "budget"])
@pytest.mark.parametrize("form", ["dual_coef", "weights"])
def test_the_model_of_an_outcome_is_a_copy(how, form):
    """The solver clears its arrays when it is closed, and would go on changing them afterwards."""
    held = {}

    def script(stated):
        coef = held["coef"] = np.arange(N if form == "dual_coef" else 2, dtype=float)
        model = {form: coef, "intercept": 1.5}
        try:
            yield Iterate(**model, done=how == "done", step=17, working_set=4, info={"a": coef[1]})
        finally:
            coef[:] = -1.0

    outcome = run(script, Limits(iteration_limit=1))
    held["coef"][:] = 99.0
    model = outcome.model.weights if isinstance(outcome.model, Weights) else outcome.dual_coef
    np.testing.assert_array_equal(model, np.arange(len(held["coef"])))
    assert (outcome.intercept, outcome.iterations, outcome.working_set, outcome.info) == (1.5, 17, 4, {"a": 1.0})


def test_trace_points_are_not_changed_by_what_the_solver_does_next():
    clock = Clock()

    def script(stated):
        info, coef = {"rounds": [1]}, np.zeros(N)
        for step in range(3):
            clock.now += 1.0
            info["step"] = step
            coef[step] = stated.targets[step]
            yield Iterate(coef, info=info)

    outcome = run(script, None, TracePlan(per_decade=10, first_seconds=0.5), clock=clock)
    assert [point.info["step"] for point in outcome.trace] == [0, 1, 2]
    assert [point.support_vectors for point in outcome.trace] == [1, 2, 3]


def test_seconds_that_other_work_took_do_not_count_to_the_time_limit():
    clock, cpu_clock = Clock(), Clock()

    def half(stated):
        for each in ticking(clock, 1.0, done_at=done_at)(stated):
            cpu_clock.now += 0.5
            yield each

    options = {"clock": clock, "cpu_clock": cpu_clock, "lost": lambda seconds, cpu_seconds: seconds - cpu_seconds}
    done_at = None
    cut = run(half, Limits(time_limit=10.0), **options)
    assert (cut.status, cut.stopped_by, cut.seconds, cut.cpu_seconds) == ("budget", "time", 20.0, 10.0)
    assert cut.reason.endswith("10.0 s more, in which other work had the core, do not count")
    done_at = 15
    assert [run(half, Limits(time_limit=limit), **options).status for limit in (10.0, 7.0)] == ["ok", "budget"]


def test_what_threads_do_while_the_clock_stands_still_is_unexplained():
    """A thread that uses 1 s of CPU time between any two looks at it."""
    looks = iter(range(100))
    clocks = Clocks(others=lambda: float(next(looks)))
    SCRIPT[0] = lambda _: iter([Iterate(np.zeros(N)), Iterate(np.zeros(N), done=True)])
    drive(Scripted(), problem(), np.random.default_rng(0), clocks=clocks)
    assert clocks.unexplained == next(looks) / 2 > 0.0


def test_seconds_that_a_solver_reports_are_parts_of_those_of_its_fit():
    """Its clocks stand still while the host takes a trace point, and while numba compiles."""
    watch, host_seconds = CompilationWatch(), 0.05

    def works(*_):
        until = process_time() + host_seconds
        while process_time() < until:
            pass

    def script(stated):
        began, cpu_began = fit_clock(), fit_cpu_clock()
        for _ in range(3):
            for is_start in (True, False):
                watch.notify(SimpleNamespace(is_start=is_start))
                works()
            yield Iterate(dual_coef=np.zeros(N))
        info = {"seconds": fit_clock() - began, "cpu_seconds": fit_cpu_clock() - cpu_began}
        yield Iterate(dual_coef=np.zeros(N), done=True, info=info)

    outcome = run(script, plan=TracePlan(), clock=watch.clock, cpu_clock=watch.cpu_clock, observer=works)
    assert outcome.trace, "the host looked at a model"
    for reported, measured in (
        (outcome.info["seconds"], outcome.seconds),
        (outcome.info["cpu_seconds"], outcome.cpu_seconds),
    ):
        assert 3 * host_seconds - 0.02 <= reported <= measured + host_seconds
