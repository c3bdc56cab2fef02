"""What a level of a random gradient descent tree costs: python reports/rgd_tree_2015/cost.py [--large] [--repeats 5].

Two Gaussian classes, a tenth of the labels wrong, the linear kernel. Prints

* seconds of a full level over n and over d, with the slopes between the ends on logarithmic axes, once with the default
  probe and once with one in proportion to n, without which n = 1e3 pays for its children what n = 1e6 pays,
* the same level beside its matrix product and one pass over the scores, interleaved, and with two threads,
* with --large: n = 1e6, d = 100 mapped from a file, L = 50, h = 10, and the memory beyond the page cache at its peak.

Medians; compilation and the first levels, which have fewer nodes, are left out.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness_rgd import RGDTree
from harness_rgd.run import Run

from benchmarks.anonymous_memory import Memory
from harness import KernelOracle, Linear, OutlierMargin

WRITTEN = 100_000  # points drawn at a time


def points(n: int, d: int, out: Any = None) -> tuple[Any, Any]:
    """Return (n, d) points of two classes, written to ``out`` if it is given, and their labels, a tenth of them wrong."""
    rng = np.random.default_rng(0)
    x = np.empty((n, d)) if out is None else out
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    for first in range(0, n, WRITTEN):
        part = slice(first, min(first + WRITTEN, n))
        x[part] = rng.normal(size=(part.stop - first, d))
        x[part, 0] += 6.0 * y[part]
    return x, np.where(rng.random(n) < 0.1, -y, y)


def problem_of(x: Any, y: Any, threads: int = 1) -> OutlierMargin:
    """State the problem with a share for each class."""
    values = {"outliers_plus": 0.1, "outliers_minus": 0.1}
    return OutlierMargin.build(KernelOracle(Linear(), x, threads=threads), y, values)


def levels(problem: OutlierMargin, probe: int | None, count: int) -> tuple[list[float], list[float]]:
    """Return the seconds of ``count`` full levels, and of the product and the pass over the same nodes beside each."""
    run = Run(RGDTree(probe=probe), problem, np.random.default_rng(0))
    took, least, held = [], [], None
    grown = run.tree.grow(run.root(), count + 4, 14)
    while len(took) < count:
        began = time.perf_counter()
        nodes = next(grown)
        ended = time.perf_counter()
        if run.tree.levels < 3:  # fewer nodes
            continue
        took.append(ended - began)
        if problem.n > 200_000:
            nodes = nodes.take(slice(0, 25))  # half of them, twice: as the tree holds no more scores at a time
        held = np.empty((len(nodes), problem.n)) if held is None else held
        began = time.perf_counter()
        for _ in range(50 // len(nodes)):
            run.space.scores(nodes, held)
            held.min(axis=1)
        least.append(time.perf_counter() - began)
    return took, least


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope between the ends on logarithmic axes."""
    return math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])


def over(name: str, sizes: list[int], shape: Any, probe: Any, repeats: int) -> None:
    """Print a line a size, and the slope."""
    found = []
    for size in sizes:
        n, d = shape(size)
        problem = problem_of(*points(n, d))
        took, least = levels(problem, probe(n), repeats)
        found.append(statistics.median(took))
        ratio = statistics.median(a / b for a, b in zip(took, least, strict=True))
        print(f"  {name} = {size:>8}: {1e3 * found[-1]:9.2f} ms a level, {ratio:5.2f} x (product + pass)", flush=True)
    print(f"  slope over {name}: {slope(sizes, found):.2f}")


def threads(n: int, d: int, repeats: int) -> None:
    """Print one thread's and two threads' seconds a level, interleaved."""
    x, y = points(n, d)
    took: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for count, found in took.items():
            found.append(statistics.median(levels(problem_of(x, y, count), 1000, 3)[0]))
    one, two = (statistics.median(found) for found in took.values())
    print(f"  n = {n}, d = {d}: {1e3 * one:.1f} ms with one thread, {1e3 * two:.1f} ms with two: {one / two:.2f} x")


def mapped(n: int, d: int, folder: str) -> None:
    """Print time and memory of a whole tree over points that are mapped from a file."""
    path = Path(folder) / f"points-{n}-{d}.npy"
    _, y = points(n, d, np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d)))
    problem, memory = problem_of(np.load(path, mmap_mode="r"), y), Memory()
    memory.start()
    began = time.perf_counter()
    *_, last = RGDTree().iterates(problem, np.random.default_rng(0))
    seconds = time.perf_counter() - began
    memory.ended = True
    print(f"  n = {n}, d = {d}, mapped: {seconds:.1f} s, peak {memory.peak / 2**20:.0f} MB of anonymous memory")
    print(f"  {dict(last.info)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--large", action="store_true", help="n = 1e6 and d = 1e4 too, and the mapped file")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", default=None, help="for the mapped file; a temporary one")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; BLAS as the environment has it")
    levels(problem_of(*points(3000, 10)), 1000, 2)  # compiles
    sizes = [1000, 10_000, 100_000, *([1_000_000] if given.large else [])]
    features = [10, 100, 1000, *([10_000] if given.large else [])]
    print("n, d = 100, probe of 1000 points")
    over("n", sizes, lambda n: (n, 100), lambda _: 1000, given.repeats)
    print("n, d = 100, probe of n / 14 points")
    over("n", sizes, lambda n: (n, 100), lambda n: n // 14, given.repeats)
    print("d, n = 5000, probe of 1000 points")
    over("d", features, lambda d: (5000, d), lambda _: 1000, given.repeats)
    print("threads")
    threads(100_000, 100, given.repeats)
    if given.large:
        print("memory")
        with tempfile.TemporaryDirectory() as temporary:
            mapped(1_000_000, 100, given.folder or temporary)


if __name__ == "__main__":
    main()
