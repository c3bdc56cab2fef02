"""randsvm-1 on points mapped from a file: python reports/randsvm/scale.py [--n 20000000] [--k 1000].

Writes checkerboard points to a .npy file chunk by chunk, maps it, trains on it, and prints per round what it cost, the
memory beyond the page cache at its peak (anonymous pages, sampled), and what a pass for violators takes beside one
decision-function evaluation of the same model in blocks, interleaved, CPU seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness_sampling import RandSVM1
from harness_sampling.rules import rule_of
from harness_sampling.scoring import mapped_features, scores_in_pieces

from benchmarks.anonymous_memory import Memory, anonymous
from harness import CSVC, RBF, KernelOracle
from harness.datasets.generators import Checkerboard

DRAWN = 500_000  # points drawn at a time while the file is written
BLOCK = 1 << 16  # points of a block of the decision function that the pass is compared with
REPEATS = 3


def write(path: Path, n: int) -> Any:
    """Write (n, 2) points to ``path`` if it is not there; return their labels, (n,)."""
    labels = path.with_suffix(".labels.npy")
    if not labels.exists():
        x = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, 2))
        y = np.empty(n, dtype=np.int8)
        for first in range(0, n, DRAWN):
            part = Checkerboard(n=min(DRAWN, n - first), n_test=0, seed=1 + first).load()
            x[first : first + DRAWN], y[first : first + DRAWN] = part.x_train, part.y_train
        x.flush()
        np.save(labels, y)
    return np.load(labels)


def train(problem: CSVC, solver: RandSVM1) -> Any:
    print("round   sample  support  violators  oracle s  CPU s  seconds")
    cpu, wall, known, last = time.process_time(), time.perf_counter(), 0, None
    for last in solver.iterates(problem, np.random.default_rng(0)):
        if last.info["rounds"] != known and "round_violators" in last.info:
            known = last.info["rounds"]
            info = last.info
            spent = f"{time.process_time() - cpu:6.1f} {time.perf_counter() - wall:8.1f}"
            violators = info["round_violators"]
            told = "-" if violators is None else f"{violators:,}"
            figures = f"{info['round_sample']:8,} {info['round_support']:8,} {told:>10}"
            print(f"{known:5d} {figures} {info['round_oracle_seconds']:9.1f} {spent}", flush=True)
    assert last is not None
    info = last.info
    print(f"ended: {info['status']} ({info['evidence']})")
    print(f"kernel evaluations: {info['own_evaluations']:,} own, {info['oracle_evaluations']:,} of the oracle")
    return last


def compare_pass(problem: CSVC, coef: Any, intercept: float, gap: float) -> tuple[float, float]:
    """Return CPU seconds of a pass for violators, and of the decision function in blocks; medians, interleaved."""
    rule = rule_of(problem, gap, 1e-3)
    rule.intercept, rule.slack = intercept, 1e-3  # type: ignore[attr-defined]
    mapped, support = mapped_features(problem.kernel), np.flatnonzero(coef)
    points, found = problem.kernel.points, []
    vectors, weights = np.array(points[support]), coef[support]
    for _ in range(REPEATS):
        began = time.process_time()
        violators = np.zeros(problem.n, dtype=bool)
        for first, last, scores in scores_in_pieces(problem.kernel, coef, mapped):
            violators[first:last] = rule.violates(scores, first, last)
        between = time.process_time()
        for first in range(0, problem.n, BLOCK):
            block = np.concatenate([vectors, points[first : first + BLOCK]])
            plain = KernelOracle(problem.kernel.kernel, block)
            padded = np.zeros(len(block))
            padded[: len(support)] = weights
            plain.expand(padded)
        found.append((between - began, time.process_time() - between))
    return statistics.median(pair[0] for pair in found), statistics.median(pair[1] for pair in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000_000)
    parser.add_argument("--k", type=int, default=1000, help="support vectors at which it stops")
    parser.add_argument("--c", type=float, default=2.0, help="sample size over k")
    parser.add_argument("--oracle", default="smo")
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--gamma", type=float, default=4.0)
    parser.add_argument(
        "--passes", type=int, default=100, help="support vectors of the model the passes are timed with"
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    path = options.folder / f"sampling-scale-{options.n}.npy"
    labels = write(path, options.n)
    points = np.load(path, mmap_mode="r")
    warm = Checkerboard(n=3000, n_test=0).load()
    problem = CSVC.build(KernelOracle(RBF(gamma=options.gamma), warm.x_train), warm.y_train, {"C": options.C})
    for each in RandSVM1(oracle=options.oracle, k=500, c=1.0).warm_ups():
        list(each.iterates(problem, np.random.default_rng(0)))
    memory, before = Memory(), anonymous()
    memory.start()
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB; anonymous memory before {before / 1e6:.0f} MB")
    problem = CSVC.build(KernelOracle(RBF(gamma=options.gamma), points), labels, {"C": options.C})
    found = train(problem, RandSVM1(oracle=options.oracle, k=options.k, c=options.c))
    test = Checkerboard(n=2, n_test=10_000, seed=7).load()
    wrong = np.mean(np.sign(problem.scores_new(found.dual_coef, found.intercept, test.x_test)) != test.y_test)
    memory.ended = True
    memory.join()
    print(f"test error {100 * wrong:.2f} %; peak of anonymous memory {memory.peak / 1e6:.0f} MB")
    few = np.zeros(problem.n)
    chosen = np.flatnonzero(found.dual_coef)[: options.passes]
    few[chosen] = found.dual_coef[chosen]
    own, plain = compare_pass(problem, few, found.intercept, 1e-3)
    print(f"pass for violators {own:.2f} CPU s, decision function in blocks {plain:.2f} CPU s: {own / plain:.2f} times")


if __name__ == "__main__":
    main()
