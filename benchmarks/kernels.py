"""Kernel values a second of the engine, beside numpy's matrix product and exp: python benchmarks/kernels.py [set ...].

RBF with the sets' own gamma; rows asked in batches of 1, 16 and 256 against all points; medians over rounds in which
every candidate takes its turn, in CPU time, so that a disturbance of the machine hits all alike. Wall time too, for
one and two threads. Needs HARNESS_DATA for the sets of the papers; set OPENBLAS_NUM_THREADS=1.

--calls: microseconds of one call for the values of 100 points, beside numpy's own for the same values.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness import RBF, KernelOracle
from harness.registry.discovery import load_registry

BATCHES = (1, 16, 256)
ROUNDS = 5
ENOUGH = 0.02  # seconds a measurement takes at least
TILE = 4096  # columns of numpy's tiles


def checkerboard() -> tuple[Any, float]:
    return np.random.default_rng(0).uniform(0.0, 4.0, (100_000, 2)), 4.0


def twonorm() -> tuple[Any, float]:
    return np.random.default_rng(0).normal(size=(10_000, 20)), 0.05


def stored(name: str, rows: int | None = None) -> tuple[Any, float]:
    data = load_registry().datasets[name]().load()
    x = data.x_train[:rows]
    return (np.array(x) if isinstance(x, np.ndarray) else x), float(data.defaults["gamma"])


SETS: dict[str, Callable[[], tuple[Any, float]]] = {
    "checkerboard": checkerboard,
    "twonorm": twonorm,
    "adult": lambda: stored("adult"),
    "covtype": lambda: stored("covtype"),
    "usps": lambda: stored("usps"),
    "reuters": lambda: stored("reuters"),
    "mnist": lambda: stored("mnist", 20_000),
}


def numpy_block(x: Any, sq: Any, rows: Any, gamma: float, out: Any) -> None:
    """The plain way: tiles of a matrix product, then the kernel function in place; CSR times dense for sparse data."""
    dense = isinstance(x, np.ndarray)
    left = x[rows] if dense else x[rows].toarray()
    for start in range(0, x.shape[0], TILE):
        part = slice(start, start + TILE)
        values = out[:, part]
        values[...] = left @ x[part].T if dense else (x[part] @ left.T).T
        values *= 2.0 * gamma
        values -= (gamma * sq[rows])[:, None]
        values -= gamma * sq[part]
        np.minimum(values, 0.0, out=values)
        np.exp(values, out=values)


def seconds(job: Callable[[], None], repeats: int, clock: Callable[[], float]) -> float:
    began = clock()
    for _ in range(repeats):
        job()
    return (clock() - began) / repeats


def rates(oracle: KernelOracle, plain: Any, gamma: float, batch: int) -> dict[str, float]:
    """Return the median rate of each candidate for a batch of random rows against all points."""
    sq = np.asarray((plain.multiply(plain) if hasattr(plain, "multiply") else plain * plain).sum(axis=1))
    rows = np.random.default_rng(1).choice(oracle.n, batch, replace=False)
    out, two = np.empty((batch, oracle.n), dtype=oracle.dtype), oracle.replace(threads=2)
    jobs: dict[str, tuple[Callable[[], None], Callable[[], float]]] = {
        "engine": (lambda: oracle.fill(rows, out), time.process_time),
        "numpy": (lambda: numpy_block(plain, sq, rows, gamma, out), time.process_time),
        "engine, wall": (lambda: oracle.fill(rows, out), time.perf_counter),
        "2 threads, wall": (lambda: two.fill(rows, out), time.perf_counter),
    }
    repeats = {label: 1 + int(ENOUGH / max(1e-6, seconds(job, 1, clock))) for label, (job, clock) in jobs.items()}
    times: dict[str, list[float]] = {label: [] for label in jobs}
    for _ in range(ROUNDS):
        for label, (job, clock) in jobs.items():
            times[label].append(seconds(job, repeats[label], clock))
    return {label: batch * oracle.n / statistics.median(found) / 1e9 for label, found in times.items()}


def measure(name: str, dtype: str) -> None:
    x, gamma = SETS[name]()
    oracle = KernelOracle(RBF(gamma=gamma), x, dtype=dtype)
    began = time.process_time()
    oracle.block([0], [0])
    print(f"{name:12} {dtype}  layout {time.process_time() - began:.3f} s (the first one compiles)")
    for batch in BATCHES:
        found = rates(oracle, x.astype(dtype), gamma, batch)
        shown = "  ".join(f"{label} {rate:6.3f}" for label, rate in found.items())
        print(f"{name:12} {dtype}  batch {batch:3}  {shown}", flush=True)
    coef = np.zeros(oracle.n)
    coef[np.random.default_rng(2).choice(oracle.n, 1000, replace=False)] = 1.0
    took = statistics.median(seconds(lambda: oracle.expand(coef), 1, time.process_time) for _ in range(3))
    print(f"{name:12} {dtype}  expand, 1000 support vectors  engine {1000 * oracle.n / took / 1e9:6.3f}", flush=True)


def calls_of(x: Any, gamma: float) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return calls of the oracle, each with numpy's own way to the same values."""
    oracle, sq = KernelOracle(RBF(gamma=gamma), x), (x * x).sum(axis=1)
    one, some, z = np.array([3]), np.arange(0, len(x), 10), x[:1] + 0.1

    def plain(points: Any, squares: Any, z: Any) -> Any:
        return np.exp(-gamma * (squares + z @ z - 2.0 * (points @ z)))

    return {
        "`block([i])`": (lambda: oracle.block(one), lambda: plain(x, sq, x[3])),
        "`row(i)`, cached": (lambda: oracle.row(3), lambda: plain(x, sq, x[3])),
        "`value(i, j)`": (lambda: oracle.value(3, 4), lambda: np.exp(-gamma * ((x[3] - x[4]) ** 2).sum())),
        "`rows_at(z)`": (lambda: oracle.rows_at(z), lambda: plain(x, sq, z[0])),
        "`rows_at(z, columns)`, 10 of them": (
            lambda: oracle.rows_at(z, some), lambda: plain(x[some], sq[some], z[0])
        ),
    }  # fmt: skip


def measure_calls() -> None:
    """Print the table of docs/explanation/counting.md: numpy's microseconds, those of a call, and the difference."""
    for d in (5, 50):
        for label, both in calls_of(np.random.default_rng(0).normal(size=(100, d)), 0.1).items():
            times: list[list[float]] = [[], []]
            for _ in range(4 * ROUNDS):
                for job, found in zip(both, times, strict=True):
                    job()
                    found.append(1e6 * seconds(job, 1000, time.process_time))
            ours, numpys = (statistics.median(found) for found in times)
            print(f"| {label} | {d} | {numpys:.1f} | {ours:.1f} | {ours - numpys:+.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", action="store_true", help="measure single calls instead of rates")
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all if none is named")
    arguments = parser.parse_args()
    if arguments.calls:
        measure_calls()
        return
    asked = arguments.sets or list(SETS)
    wrong = [name for name in asked if name not in SETS]
    if wrong:
        parser.error(f"no set is called '{wrong[0]}'; there are {', '.join(SETS)}.")
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    print(
        f"{model[0].partition(':')[2].strip() if model else 'unknown processor'}; rates in 10^9 kernel values a second"
    )
    for name in asked:
        for dtype in ("float32", "float64"):
            measure(name, dtype)


if __name__ == "__main__":
    main()
