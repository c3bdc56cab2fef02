"""What a query of active learning costs: python reports/border_2007/query.py [--data mnist] [--labels 2000] [--full 100].

The data are those of the harness (HARNESS_DATA), with C and gamma of Ertekin et al. 2007 for mnist. Prints

* for active-small-pool and active-full-search, the scores computed afresh and kept: kernel values of the whole run over
  those of the candidates against S, summed over the queries; CPU milliseconds a query, and how much of them the scores
  and the learning take,
* the product alone: K(59 random points, S) into memory that is there, S packed, at the |S| that the run ended with,
* with --profile: where the time of a small pool's query goes.

One thread, compilation left out.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
from time import process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np
from harness_lasvm.learner import LASVMLearner

from harness import RBF, KernelOracle, get_solver
from harness.problems import PoolSVC
from harness.registry import load_registry

PAPER = {"mnist": (0.02, 1000.0)}  # gamma and C where the source's own are others


class Clocked:
    """The learner's two methods with a clock, and what the candidates' values against S come to."""

    def __init__(self) -> None:
        self.scores_s = self.learn_s = 0.0
        self.due = self.queries = self.members = 0
        self._plain = LASVMLearner.scores, LASVMLearner.learn

    def __enter__(self) -> Clocked:
        scores, learn = self._plain

        def clocked_scores(learner: Any, indices: Any, **how: Any) -> Any:
            self.members = learner.iterate().working_set
            self.due += len(indices) * self.members
            began = process_time()
            found = scores(learner, indices, **how)
            self.scores_s += process_time() - began
            return found

        def clocked_learn(learner: Any, indices: Any) -> None:
            began = process_time()
            learn(learner, indices)
            self.learn_s += process_time() - began

        replaced: Any = LASVMLearner
        replaced.scores, replaced.learn = clocked_scores, clocked_learn
        return self

    def __exit__(self, *_: object) -> None:
        replaced: Any = LASVMLearner
        replaced.scores, replaced.learn = self._plain


def stated(data: Any, gamma: float, price: float, labels: int) -> PoolSVC:
    """State the problem anew, with a counter of its own."""
    x = np.array(data.x_train) if isinstance(data.x_train, np.ndarray) else data.x_train
    return PoolSVC.build(KernelOracle(RBF(gamma=gamma), x), data.y_train, {"C": price, "budget": labels})


def run(selection: str, problem: PoolSVC) -> float:
    """Buy all labels of the budget; return the CPU seconds."""
    problem.kernel.astype(np.float32).columns()  # lays the points out
    began = process_time()
    for _ in get_solver(selection).iterates(problem, np.random.default_rng(0)):
        pass
    return process_time() - began


def product(problem: PoolSVC, members: int, repeats: int) -> float:
    """Return the median milliseconds of K(59 random points, S)."""
    kernel, rng = problem.kernel.astype(np.float32), np.random.default_rng(0)
    columns = kernel.columns()
    columns.put(np.arange(members), problem.bought[:members], members)
    out = np.empty((59, members), dtype=np.float32)
    took = []
    for _ in range(repeats):
        rows = rng.choice(problem.n, 59, replace=False)
        began = process_time()
        kernel.fill(rows, out, columns=columns)
        took.append(process_time() - began)
    return 1e3 * statistics.median(took)


def report(selection: str, problem: PoolSVC) -> int:
    """Run and print a line; return |S| at the end."""
    labels = problem.labels_left
    with Clocked() as clocked:
        seconds = run(selection, problem)
    queries = labels - 20
    a_query = 1e3 / queries
    ratio = problem.kernel.counter.evaluations / clocked.due
    print(
        f"  {selection:<58} {labels:>6} labels, |S| {clocked.members:>5}: kernel values / candidates "
        f"against S {ratio:6.3f}; {a_query * seconds:8.3f} ms a query (scores {a_query * clocked.scores_s:.3f}, learning "
        f"{a_query * clocked.learn_s:.3f})",
        flush=True,
    )
    return clocked.members


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--gamma", type=float, default=None)
    parser.add_argument("--C", type=float, default=None)
    parser.add_argument("--labels", type=int, default=2000)
    parser.add_argument("--full", type=int, default=None, help="labels of the full searches; the same if not given")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    data = load_registry().select_datasets(given.data)[0].load()
    gamma, price = PAPER.get(given.data, (data.defaults.get("gamma"), data.defaults.get("C")))
    gamma, price = given.gamma or gamma, given.C or price
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {given.data}, gamma = {gamma:g}, C = {price:g}")
    afresh, kept = "[finishing=false,keep_scores=false]", "[finishing=false,keep_scores=true]"
    small = f"active-small-pool{afresh}"
    searches = [f"active-small-pool{kept}", f"active-full-search{afresh}", f"active-full-search{kept}"]
    for selection in (small, *searches):
        run(selection, stated(data, gamma, price, 30))  # compiles
    problem = stated(data, gamma, price, given.labels)
    members = report(small, problem)
    print(f"  {'the product alone':<58} {product(problem, members, 200):.3f} ms at |S| = {members}")
    for selection in (small, *searches):
        report(selection, stated(data, gamma, price, given.full or given.labels))
    if given.profile:
        profile, problem = cProfile.Profile(), stated(data, gamma, price, given.labels)
        profile.runcall(run, small, problem)
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
