"""A training set in parts: RandSVM-1 over 64 of them by one worker and by two, and what people would use instead.

    python benchmarks/parts.py --n 1e7 [--C 1e4] [--margin 0.02] [--k 4000] [--workers 1,2] [--folder DIR]
    python benchmarks/parts.py --n 1e5 --workers 0 --whole smo-block    (one solver over all points in memory)

Points of a 4 x 4 checkerboard in float32, none nearer to a border of a square than ``margin``, made on the workers from
counters. Each row is one process: seconds (reading: the first pass), peak memory, CPU seconds with imports, and what it reached.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from harness import CSVC, RBF, KernelOracle, PartitionedData, get_solver

GAMMA, PARTS, ROWS, SIDE = 4.0, 64, 1 << 18, 4
Array = np.ndarray[Any, Any]


def points(first: int, count: int, margin: float) -> Array:
    """Return points first .. first + count - 1 and their labels, (count, 3), whoever asks: Philox by the number."""
    u = (
        np.random.Generator(np.random.Philox(key=7).advance(first)).random((count, 4))[:, :2] * SIDE
    )  # 4 numbers a counter
    x = np.floor(u) + margin + (u - np.floor(u)) * (1.0 - 2.0 * margin)
    return np.column_stack([x, np.where(np.floor(u).sum(axis=1) % 2 == 0, 1.0, -1.0)]).astype(np.float32)


def write_part(folder: str, part: int, first: int, last: int, margin: float) -> None:
    path = f"{folder}/part-{part:03d}.npy"
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(last - first, 3))
    for start in range(first, last, ROWS):
        stop = min(start + ROWS, last)
        array[start - first : stop - first] = points(start, stop - start, margin)


def ready(folder: str) -> None:
    """Load, and compile, what a worker needs, while the others do the same."""
    from harness_sampling import PartitionedRandSVM

    PartitionedRandSVM(RBF(gamma=GAMMA)).fit(f"{folder}-small")
    time.sleep(2.0)


def fitted(args: argparse.Namespace, workers: int) -> dict[str, Any]:
    from harness_sampling import PartitionedRandSVM
    from harness_sampling.solvers import RandSVM1

    options = RandSVM1(oracle="smo-block", k=args.k, c=2.0, gap=1e-3)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        list(pool.map(ready, [args.folder] * workers))
        began = time.perf_counter()
        data = PartitionedData(args.folder, ROWS, executor=pool)
        read = time.perf_counter() - began
        fit = PartitionedRandSVM(RBF(gamma=GAMMA), args.C, options=options).fit(data, pool)
    passes = sum(each.pass_seconds for each in fit.rounds)
    return {
        "seconds": fit.seconds, "reading": read, "passes": passes, "oracle": sum(each.oracle_seconds for each in fit.rounds),
        "status": fit.status, "gap": fit.certificate.relative_gap, "rounds": len(fit.rounds), "support": len(fit.model.rows),
        "evaluations": fit.kernel_evaluations, "error %": error(fit.model.decision_function, args),
    }  # fmt: skip


def whole(args: argparse.Namespace) -> dict[str, Any]:
    chunks = list(PartitionedData(args.folder))
    x, y = (np.concatenate(each) for each in zip(*chunks, strict=True))
    problem = CSVC.build(KernelOracle(RBF(gamma=GAMMA), x, cache_mb=2048.0), y, {"C": args.C})
    solver, began = get_solver(args.whole).with_target_gap(1e-3), time.perf_counter()
    found = solver.solve(problem)
    seconds = time.perf_counter() - began
    gap = problem.certify(found.dual_coef, found.intercept).relative_gap
    support = np.flatnonzero(found.dual_coef)
    model = KernelOracle(RBF(gamma=GAMMA), x[support])
    decide = lambda new: model.expand_new(found.dual_coef[support], new) + found.intercept  # noqa: E731
    return {"seconds": seconds, "gap": gap, "support": len(support), "error %": error(decide, args)}


def by_partial_fit(args: argparse.Namespace) -> dict[str, Any]:
    """A Nystroem map learnt on the first chunk, then stochastic gradient descent on the hinge loss, one pass over the parts."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier

    began, data = time.perf_counter(), PartitionedData(args.folder, 20_000)
    linear = SGDClassifier(alpha=1.0 / (args.C * data.n), random_state=0)
    features = None
    for x, y in data:
        features = features or Nystroem(gamma=GAMMA, n_components=300, random_state=0).fit(x)
        linear.partial_fit(features.transform(x), y, classes=[-1.0, 1.0])
    assert features is not None
    map_to = features
    return {
        "seconds": time.perf_counter() - began,
        "error %": error(lambda new: linear.decision_function(map_to.transform(new)), args),
    }


def error(decide: Any, args: argparse.Namespace) -> float:
    test = points(1 << 40, 100_000, args.margin)
    return float(100.0 * np.mean(decide(test[:, :2]) * test[:, 2] <= 0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=float, default=1e6)
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--margin", type=float, default=0.02)
    parser.add_argument("--k", type=int, default=None, help="support vectors at which it stops; none: the paper's")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--whole", default="")
    parser.add_argument("--folder", default="")
    parser.add_argument("--only", default="", help="one row, in this process: a number of workers, whole or sgd")
    args = parser.parse_args()
    if args.only:
        run = {"whole": whole, "sgd": by_partial_fit}.get(args.only)
        found = run(args) if run else fitted(args, int(args.only))
        for name, who in (("", resource.RUSAGE_SELF), ("worker ", resource.RUSAGE_CHILDREN)):
            used = resource.getrusage(who)
            found |= {f"{name}MB": used.ru_maxrss / 1024.0, f"{name}CPU s": used.ru_utime + used.ru_stime}
        print(json.dumps(found))
        return
    n, folder = int(args.n), args.folder or tempfile.mkdtemp(prefix="parts-")
    try:
        ends = np.linspace(0, n, PARTS + 1).astype(int).tolist()
        Path(f"{folder}-small").mkdir(exist_ok=True)
        write_part(f"{folder}-small", 0, 0, 1000, args.margin)
        began = time.perf_counter()
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            starts, stops = ends[:-1], ends[1:]
            list(pool.map(write_part, [folder] * PARTS, range(PARTS), starts, stops, [args.margin] * PARTS))
        print(f"{n:,} points in {PARTS} parts: written in {time.perf_counter() - began:.1f} s", flush=True)
        kinds = [*filter("0".__ne__, args.workers.split(",")), "sgd", *["whole"] * bool(args.whole)]
        passed = ["--C", args.C, "--margin", args.margin, "--folder", folder, "--whole", args.whole]
        passed += [] if args.k is None else ["--k", args.k]
        for kind in kinds:
            command = [sys.executable, __file__, "--only", kind, *map(str, passed)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            name = {"sgd": "nystroem + sgd", "whole": args.whole}.get(kind, f"{kind} worker(s)")
            told = done.stdout if done.returncode == 0 else done.stderr[-500:]
            print(f"{name:16}", " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in json.loads(told).items())
                  if done.returncode == 0 else told, flush=True)  # fmt: skip
    finally:
        shutil.rmtree(f"{folder}-small")
        if not args.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
