"""The part `cost`: what a level of a random gradient descent tree costs, in a process of its own.

    OPENBLAS_NUM_THREADS=1 python -m reports.rgd_tree_2015.cost JSON

Two Gaussian classes, a tenth of the labels wrong, the linear kernel. Wall seconds of a full level over n and over d, beside
its matrix product and one pass over the scores, in turns; with one thread and two; and a whole tree over points that are
mapped from a file, with the memory beyond the page cache at its peak. Medians; compilation and the first levels, which have
fewer nodes, are left out.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from harness_rgd import RGDTree
from harness_rgd.forest import Forest

from benchmarks.anonymous_memory import Memory
from harness import KernelOracle, Linear
from harness.machine import git_commit, now
from harness.problems import OutlierMargin
from reports.kit.grids import Options
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, met, number, table
from reports.kit.results import Results
from reports.rgd_tree_2015.plan import Cost

WRITTEN = 100_000  # points drawn at a time
LINEAR = (0.9, 1.1)  # our mark
LEAST = 1.5  # times product and pass, at most
TWICE = 1.6  # times as fast with two threads, at least
BEYOND_MB = 1024.0  # of anonymous memory, at most


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
    run = Forest(RGDTree(probe=probe), problem, np.random.default_rng(0))
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


def series(asked: Cost) -> Iterator[Row]:
    """Yield a level at each size: over n with the default probe and one of n / 14 points, and over d."""
    shapes = [("n", n, 100, 1000) for n in asked.sizes] + [("n, probe n / 14", n, 100, n // 14) for n in asked.sizes]
    for kind, n, d, probe in (*shapes, *(("d", asked.narrow, d, 1000) for d in asked.features)):
        took, least = levels(problem_of(*points(n, d)), probe, asked.repeats)
        over = statistics.median(a / b for a, b in zip(took, least, strict=True))
        yield {"kind": kind, "n": n, "d": d, "level": statistics.median(took), "over": over}


def threads(asked: Cost) -> Row:
    """Return a level with one thread and with two, in turns."""
    x, y = points(asked.threads, 100)
    took: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(asked.repeats):
        for count, found in took.items():
            found.append(statistics.median(levels(problem_of(x, y, count), 1000, 3)[0]))
    one, two = (statistics.median(found) for found in took.values())
    return {"kind": "threads", "n": asked.threads, "d": 100, "level": one, "over": one / two}


def mapped(asked: Cost, folder: str) -> Row:
    """Return time and memory of a whole tree over points that are mapped from a file."""
    path = Path(folder) / "points.npy"
    shape = (asked.mapped, 100)
    _, y = points(*shape, np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape))
    problem, memory = problem_of(np.load(path, mmap_mode="r"), y), Memory()
    memory.start()
    began = time.perf_counter()
    *_, _ = RGDTree().iterates(problem, np.random.default_rng(0))
    seconds = time.perf_counter() - began
    memory.ended = True
    return {"kind": "mapped", "n": asked.mapped, "d": 100, "level": seconds, "peak_mb": memory.peak / 2**20}


def every(asked: Cost) -> Iterator[Row]:
    """Yield all of it."""
    levels(problem_of(*points(3000, 10)), 1000, 2)  # compiles
    yield from series(asked)
    if asked.threads:
        yield threads(asked)
    if asked.mapped:
        with tempfile.TemporaryDirectory() as folder:
            yield mapped(asked, folder)


def measured(options: Options) -> Iterator[Row]:
    """Yield the rows of the plan's sizes, measured in a process with one BLAS thread."""
    command = [sys.executable, "-m", "reports.rgd_tree_2015.cost", json.dumps(asdict(options.plan.cost))]
    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=one, cwd=root) as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = json.loads(line)
            named = {
                "derived": "cost",
                "set": f"{row['kind']}: {row['n']} x {row['d']}",
                "solver": "rgd-tree",
                "seed": 0,
            }
            yield {**named, **row, "git_commit": git_commit(), **now()}
    if process.returncode:
        raise SystemExit(f"the measurement ended with {process.returncode}; what it said is above.")


def section(results: Results) -> str:
    """What was measured, and what is asked of it, from the newest row of each kind and size."""
    newest = {(row["kind"], row["n"], row["d"]): row for row in results.derived if row["derived"] == "cost"}
    if not newest:
        return NOT_MEASURED
    rows = list(newest.values())
    lines = [[row["kind"], f"{row['n']:,} x {row['d']:,}", number(1e3 * row["level"]), number(row.get("over"))] for row in rows
             if row["kind"].startswith(("n", "d"))]  # fmt: skip
    head = ["over", "n x d", "a level, ms of wall time", "times its product and one pass"]
    return "\n".join([table(head, lines), "", *_asked(rows)])


def _asked(rows: list[Row]) -> Iterator[str]:
    for kind in ("n, probe n / 14", "n", "d"):
        found = [row for row in rows if row["kind"] == kind]
        if len(found) > 1 and len({row["git_commit"] for row in found}) == 1:
            sizes, seconds = [row["d" if kind == "d" else "n"] for row in found], [row["level"] for row in found]
            steep = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
            mark = met(LINEAR[0] <= steep <= LINEAR[1])
            ends = f"{sizes[0]:,} to {sizes[-1]:,}"
            yield f"* Slope over {kind}, {ends}, logarithmic axes: {steep:.2f}; our mark: {LINEAR[0]} to {LINEAR[1]} {mark}."
    largest = max((row for row in rows if row["kind"] == "n"), key=lambda row: row["n"], default=None)
    if largest:
        told = f"* At n = {largest['n']:,} a level takes {largest['over']:.2f} times its product and one pass"
        yield f"{told}; our mark: {LEAST} at most {met(largest['over'] <= LEAST)}."
    for row in rows:
        if row["kind"] == "threads":
            told = f"* Two threads, n = {row['n']:,}: {row['over']:.2f} times as fast as one"
            yield f"{told}; our mark: {TWICE} {met(row['over'] >= TWICE)}."
        if row["kind"] == "mapped":
            told = (
                f"* {row['n']:,} x {row['d']:,} mapped from a file: {number(row['level'])} s, {row['peak_mb']:.0f} MB"
            )
            yield f"{told} beyond the page cache; our mark: {BEYOND_MB:.0f} MB at most {met(row['peak_mb'] <= BEYOND_MB)}."


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    for measured_row in every(
        Cost(**{name: tuple(each) if isinstance(each, list) else each for name, each in given.items()})
    ):
        print(json.dumps({**measured_row, "cpu": time.process_time()}), flush=True)
