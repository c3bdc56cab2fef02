"""What the harness itself costs: a run and a yield in process, an isolated run, a query in one, the command line, a comparison.

    python benchmarks/overhead.py

Prints one line a figure: the median over repetitions, in the unit it names. The solver does nothing,
so everything measured is the harness.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness_active.pool_svc import PoolSVC

from harness import (
    CSVC,
    RBF,
    Iterate,
    KernelOracle,
    Limits,
    Problem,
    Record,
    Solver,
    TracePlan,
    drive,
    hookimpl,
    parameter,
)


@dataclass(frozen=True)
class Nothing(Solver):
    """Yields the zero model ``yields`` times."""

    name = "nothing"
    solves = (CSVC,)
    yields: int = parameter(1, "how often", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        dual_coef = np.zeros(problem.n)
        for _ in range(self.yields - 1):
            yield Iterate(dual_coef=dual_coef)
        yield Iterate(dual_coef=dual_coef, done=True)


@dataclass(frozen=True)
class Queries(Solver):
    """Queries all labels, one at a time, and says what the median query took."""

    name = "queries"
    solves = (PoolSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        seconds = []
        for index in range(problem.n):
            began = time.perf_counter()
            problem.query([index])
            seconds.append(time.perf_counter() - began)
        yield Iterate(dual_coef=np.zeros(problem.n), done=True, info={"seconds": statistics.median(seconds)})


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [Nothing, Queries]


def problem() -> Problem:
    rng = np.random.default_rng(0)
    return CSVC.build(KernelOracle(RBF(gamma=0.5), rng.normal(size=(200, 2))), np.repeat([-1.0, 1.0], 100), {"C": 1.0})


def median_of(repetitions: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(repetitions))


def in_process() -> None:
    stated, rng = problem(), np.random.default_rng(0)
    once, plan = Nothing(), TracePlan()

    def one_run() -> float:
        began = time.perf_counter()
        drive(once, stated, rng, Limits(time_limit=60.0), plan)
        return time.perf_counter() - began

    def one_yield(yields: int = 100_000) -> float:
        many = Nothing(yields=yields)
        began = time.perf_counter()
        outcome = drive(many, stated, rng, Limits(time_limit=60.0))
        return (time.perf_counter() - began - outcome.seconds) / yields

    print(f"in-process drive, a run:                  {median_of(500, one_run) * 1e3:9.4f} ms   (limit 0.2)")
    print(f"in-process drive, a yield when nothing is due: {median_of(9, one_yield) * 1e6:4.3f} us   (limit 2)")


def measured(solver: str, data: str, runs: int, on_finished: Callable[..., None]) -> list[Record]:
    """Return the records of isolated runs."""
    from harness.registry.discovery import load_registry
    from harness.run.driver import Driver
    from harness.run.plan import Study

    path = str(Path(__file__).resolve())
    registry = load_registry([path])
    with tempfile.TemporaryDirectory() as folder:
        study = Study(
            registry.select_solvers(solver),
            registry.select_datasets(data),
            repeat=runs,
            store=Path(folder) / "store.sqlite",
            plugin_paths=[path],
        )
        return Driver(study, registry, on_finished=on_finished).run()


def isolated(runs: int = 60) -> None:
    finished: list[float] = []
    measured("nothing", "checkerboard[n=200,n_test=50]", runs, lambda *_: finished.append(time.perf_counter()))
    each = np.diff(finished)[2:]  # the first two start the worker and warm it up
    print(f"isolated run in a warm worker, stored:    {np.median(each) * 1e3:9.2f} ms   (limit 15)")
    records = measured("queries", "checkerboard[n=1000,n_test=50]", 5, lambda *_: None)
    query = statistics.median(record["info"]["seconds"] for record in records)
    print(f"a query in an isolated run:               {query * 1e3:9.3f} ms   (off the solver's clock)")


def cpu_of(command: list[str], environment: dict[str, str] | None = None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=False, env={**os.environ, **(environment or {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def comparison(label: str, words: str) -> None:
    """Print what a whole command takes beside its solvers, with all caches warm."""
    command = [str(Path(sys.executable).parent / "harness"), "compare", "--fresh", "--quiet", "--format", "json"]
    command += ["--datasets", "breast-cancer", *words.split()]
    beside, cpu = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(6):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run([*command, "--store", f"{folder}/s.sqlite"], capture_output=True, check=True)
            seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            rows = json.loads(done.stdout)  # those of cells are parts of their path's
            solving = sum(row["fit_seconds"] for row in rows if "cell" not in (row["path"] or {}))
            beside.append(seconds - solving)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - solving)
    wall, used = statistics.median(beside[1:]), statistics.median(cpu[1:])  # the first one fills the caches
    print(f"{label + ', beside its solvers:':42}{wall:9.2f} s    (limit 2, CPU {used:.2f} s)")


def command_line() -> None:
    harness = str(Path(sys.executable).parent / "harness")
    completion = {"_HARNESS_COMPLETE": "bash_complete", "COMP_WORDS": "harness compare --plug", "COMP_CWORD": "2"}
    print(
        f"harness --help, CPU:                      {median_of(9, lambda: cpu_of([harness, '--help'])):9.3f} s    (limit 0.15)"
    )
    print(
        f"one completion, CPU:                      {median_of(9, lambda: cpu_of([harness], completion)):9.3f} s    (limit 0.15)"
    )


if __name__ == "__main__":
    in_process()
    isolated()
    command_line()
    comparison("two small runs", "--plugins smo-block,libsvm")
    comparison("a path of 550 cells", "--plugins smo-block --path C,gamma --folds 5")
