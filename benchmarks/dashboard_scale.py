"""How long the page of many stored runs takes, and how large it is.

    python benchmarks/dashboard_scale.py                      30 solvers x 40 data sets x 167 commits
    python benchmarks/dashboard_scale.py --seeds 5            33 commits, five seeds a cell
    python benchmarks/dashboard_scale.py --runs 500 --solvers 10 --datasets 10 --seeds 5

The runs are made up by a seeded generator, shaped as measured ones are: times scatter by 3 % and step up or down at
a few commits, counts stay the same but for those commits, one run in fifty fails, each run has a trace.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import tempfile
import time
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = {"python": "3.11.7", "svm-harness": "0.1.0", "numpy": "2.4.6", "numba": "0.68.1"}
MACHINE = {"processor": "Made Up", "cores": 2, "memory_bytes": 2**34, "system": "Linux", "id": "0123456789abcdef"}
START = datetime(2026, 1, 1, tzinfo=UTC)


def record(rng: np.random.Generator, solver: int, dataset: int, commit: int, seed: int, step: float) -> dict[str, Any]:
    """Return one run as `harness compare` stores it."""
    n = 200 * (dataset + 1)
    seconds = 1e-3 * (1 + solver) * (1 + dataset) * step * float(np.exp(0.03 * rng.standard_normal()))
    evaluations = int(1000 * (1 + solver) * n * step)
    failed = (solver * 7 + dataset * 13) % 50 == 0
    gaps = np.geomspace(0.5, 10.0 ** -(1 + solver % 6), 12)
    trace = [
        {"seconds": seconds * (i + 1) / 12, "kernel_evaluations": evaluations * (i + 1) // 12, "iteration": i,
         "reason": "seconds", "support_vectors": n // 4, "relative_gap": float(gap), "test_accuracy": 0.9 - gap / 10}
        for i, gap in enumerate(gaps)
    ]  # fmt: skip
    made: dict[str, Any] = {
        "plugin": f"plugin{solver % 5}", "solver": f"solver{solver:02d}", "label": f"solver{solver:02d}", "parameters": {},
        "dataset": f"set{dataset:02d}", "formulation": "c-svc", "problem_parameters": {"C": 10.0, "class_weight": "none"},
        "kernel": "rbf", "kernel_parameters": {"gamma": 0.05}, "seed": seed, "repetition": 0,
        "status": Status.TIMEOUT if failed else Status.OK, "reason": "no model within 60 s" if failed else "",
        "cache_mb": 256.0, "threads": 1, "time_limit": 60.0, "n_train": n, "n_features": 20, "n_test": n // 2,
        "measured_at": (START + timedelta(days=commit, seconds=solver * 40 + dataset)).isoformat(timespec="milliseconds"),
        "versions": VERSIONS, "machine": MACHINE, "git_commit": f"{commit:040x}", "code_sha256": f"{commit:064d}",
        "data_sha256": f"{dataset:064d}", "key": f"{solver}-{dataset}-{commit}-{seed}",
    }  # fmt: skip
    if not failed:
        made |= {
            "fit_seconds": seconds, "cpu_seconds": seconds, "compile_seconds": 1.0, "peak_rss_bytes": int(1e8 + 1e4 * rng.random()),
            "kernel_evaluations": evaluations, "iterations": evaluations // n, "support_vectors": n // 4 + solver,
            "core_set_size": n // 4 + solver, "relative_gap": float(gaps[-1]), "kkt_violation": float(gaps[-1]),
            "test_accuracy": 0.9 - 0.001 * solver, "metrics": {}, "trace": trace,
        }  # fmt: skip
    return made


def records(runs: int, solvers: int, datasets: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Return ``runs`` runs, commit after commit."""
    rng = np.random.default_rng(7)
    steps = np.ones((solvers, datasets))
    made = 0
    for commit in range(runs // (solvers * datasets * seeds) + 1):
        changed = rng.random((solvers, datasets)) < 0.01
        steps[changed] *= rng.choice([0.5, 0.8, 1.3, 2.0], size=int(changed.sum()))
        for solver in range(solvers):
            for dataset in range(datasets):
                for seed in range(seeds):
                    if made == runs:
                        return
                    yield record(rng, solver, dataset, commit, seed, float(steps[solver, dataset]))
                    made += 1


def row(*texts: str) -> tuple[str | int, ...]:
    """Return the row of a store: its texts and their checksum."""
    return *texts, zlib.crc32("\n".join(texts).encode())


def fill(path: Path, made: Iterator[dict[str, Any]]) -> None:
    """Write runs into a store in one transaction: one each, as the runner does it, would take minutes."""
    from harness.run.store import Store

    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO records (key, status, measured_at, record, checksum) VALUES (?, ?, ?, ?, ?)",
            (row(each["key"], each["status"], each["measured_at"], json.dumps(each)) for each in made),
        )
    connection.close()


def main() -> None:
    from harness_dashboard import page

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--solvers", type=int, default=30)
    parser.add_argument("--datasets", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "results.sqlite"
        fill(store, records(given.runs, given.solvers, given.datasets, given.seeds))
        print(f"store: {given.runs} runs, {store.stat().st_size / 1e6:.0f} MB")
        began, used = time.perf_counter(), time.process_time()
        text, summary = page.of_stores([store])
        seconds, spent = time.perf_counter() - began, time.process_time() - used
        print(f"page: {seconds:.1f} s, {spent:.1f} s CPU; {summary.what()}; {len(text.encode()) / 1e6:.1f} MB; peak memory "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
