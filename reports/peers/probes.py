"""A plugin for the benchmark alone: what a run measures beside a training time, in a process of its own like any run.

``kernel-rate``  how fast this machine computes kernel values of this data, and how many a solution needs
``warm-start``   a solution at 2 C from the one at C, against a cold start
``oracle-calls`` what a call of a solver as an oracle costs beside its kernel values
``peak-memory``  the peak of a solver's memory within a budget, without the cost of certifying what it has then
``adult-part``   the first n rows of adult
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness import (
    CSVC,
    Dataset,
    DataSource,
    Iterate,
    Problem,
    Solver,
    content_sha256,
    get_solver,
    hookimpl,
    parameter,
)
from harness.kernels.oracle import engine_of
from harness.machine import reset_peak_memory, status_bytes
from harness.registry import load_registry

CALL_SIZES = (200, 1000, 2000, 5000)  # points
_BATCH = 256  # rows computed at a time: bounds the memory, costs no speed


def kernel_rate(problem: Problem, rows: int = 1024, passes: int = 3) -> float:
    """Return float32 kernel values computed a second, the best of some passes over ``rows`` x all points.

    In CPU seconds with one thread, as training times are; in wall seconds with more.
    """
    kernel = problem.kernel.astype(np.float32)
    clock = time.process_time if kernel.threads == 1 else time.perf_counter
    rng = np.random.default_rng(0)
    chosen = rng.choice(problem.n, min(rows, problem.n), replace=False)
    out = np.empty((min(_BATCH, len(chosen)), problem.n), dtype=np.float32)
    kernel.fill(chosen[:1], out)  # the engine is made, and its copy of the data
    best = np.inf
    for _ in range(passes):
        began = clock()
        for start in range(0, len(chosen), _BATCH):
            kernel.fill(chosen[start : start + _BATCH], out)
        best = min(best, clock() - began)
    return len(chosen) * problem.n / best


@dataclass(frozen=True)
class KernelRate(Solver):
    """Solves by ``oracle``, then times kernel values: info has their rate and the time that the needed ones take."""

    name = "kernel-rate"
    solves = (CSVC,)
    oracle: str = parameter("smo", "the solver whose solution says which values are needed")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        assert isinstance(problem, CSVC)
        found = get_solver(self.oracle).solve(problem)
        size = np.abs(found.dual_coef)
        support = int(np.count_nonzero(size))
        free = int(np.count_nonzero((size > 0.0) & (size < problem.upper * (1.0 - 1e-9))))
        rate = kernel_rate(problem)
        needed = (free + support) * problem.n
        info = {"rate": rate, "free": free, "support": support, "needed": needed, "limit_seconds": needed / rate}
        yield Iterate(np.zeros(problem.n), done=True, info=info)


@dataclass(frozen=True)
class WarmStart(Solver):
    """Solves at C, then at 2 C from nothing and from the solution at C, each with an empty cache."""

    name = "warm-start"
    solves = (CSVC,)
    oracle: str = parameter("smo", "the solver that is started warm")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        assert isinstance(problem, CSVC)
        solver = get_solver(self.oracle)
        first = solver.solve(problem)
        info: dict[str, Any] = {}
        # twice in turn, and the shorter counts: what is compiled on the way is no part of either
        for kind, start in (("cold", None), ("warm", first.dual_coef)) * 2:
            kernel = problem.kernel.with_cache(problem.kernel.cache_mb)
            harder = type(problem)(kernel, problem.targets, replace(problem.settings, C=2.0 * problem.C))
            evaluations = kernel.counter.evaluations
            wall, cpu = time.perf_counter(), time.process_time()
            found = solver.solve(harder, start)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            info[f"{kind}_seconds"] = min(wall, info.get(f"{kind}_seconds", np.inf))
            info[f"{kind}_cpu_seconds"] = min(cpu, info.get(f"{kind}_cpu_seconds", np.inf))
            info[f"{kind}_kernel_evaluations"] = kernel.counter.evaluations - evaluations
            certificate = harder.certify(found.dual_coef, found.intercept)
            info[f"{kind}_kkt"], info[f"{kind}_gap"] = certificate.kkt_violation, certificate.relative_gap
        yield Iterate(np.zeros(problem.n), done=True, info=info)


@dataclass(frozen=True)
class OracleCalls(Solver):
    """Calls ``oracle`` on random parts of the data from their solutions, where nothing is left to do but the overhead.

    info has, for each size, the median CPU seconds of a call, of computing the scores that any start needs, and the
    median of their difference in pairs.
    """

    name = "oracle-calls"
    solves = (CSVC,)
    oracle: str = parameter("smo", "the solver that is called")
    calls: int = parameter(15, "of each size", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        solver = get_solver(self.oracle)
        info: dict[str, Any] = {}
        for size in CALL_SIZES:
            indices = np.sort(rng.choice(problem.n, min(size, problem.n), replace=False))
            start = solver.solve(problem.restrict(indices)).dual_coef
            called, computed = [], []
            for _ in range(self.calls):
                began = time.process_time()
                solver.solve(problem.restrict(indices), start)
                called.append(time.process_time() - began)
                began = time.process_time()
                problem.restrict(indices).kernel.expand(start)
                computed.append(time.process_time() - began)
            info[f"call_{size}"], info[f"scores_{size}"] = float(np.median(called)), float(np.median(computed))
            info[f"overhead_{size}"] = float(np.median(np.subtract(called, computed)))
        yield Iterate(np.zeros(problem.n), done=True, info=info)


@dataclass(frozen=True)
class PeakMemory(Solver):
    """Drives ``oracle`` for ``seconds`` (0: not at all) and tells the peak of the process's memory."""

    name = "peak-memory"
    solves = (CSVC,)
    oracle: str = parameter("smo", "the solver whose memory is measured")
    seconds: float = parameter(30.0, "when it is stopped", ge=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        points = engine_of(problem.kernel).source
        parts = (points,) if isinstance(points, np.ndarray) else (points.data, points.indices, points.indptr)
        reset_peak_memory()
        resident = status_bytes("VmRSS")
        began, steps, support = time.perf_counter(), 0, 0
        for last in get_solver(self.oracle).iterates(problem, rng) if self.seconds else ():
            steps += 1
            if last.done or time.perf_counter() - began > self.seconds:
                support = int(np.count_nonzero(last.dual_coef))
                break
        info = {
            "seconds": time.perf_counter() - began,
            "peak_bytes": status_bytes("VmHWM"),
            "resident_before_bytes": resident,
            "data_bytes": sum(part.nbytes for part in parts) + problem.targets.nbytes,
            "cache_bytes": int(problem.kernel.cache_mb * 2**20),
            "yields": steps,
            "support": support,
        }
        yield Iterate(np.zeros(problem.n), done=True, info=info)


@dataclass(frozen=True)
class AdultPart(DataSource):
    """The first ``n`` training rows of adult, the same test rows."""

    name = "adult-part"
    description = "The first n rows of adult; for the scaling study."
    n: int = parameter(2000, "training rows", ge=2, le=32_561)

    def load(self) -> Dataset:
        whole = load_registry().select_datasets("adult")[0].load()
        x, y = whole.x_train[: self.n], whole.y_train[: self.n]
        sha256 = content_sha256(x, y, whole.x_test, whole.y_test)
        return replace(whole, name=self.label, x_train=x, y_train=y, sha256=sha256)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [KernelRate, WarmStart, OracleCalls, PeakMemory]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    return [AdultPart]
