"""An iteration of the hull solvers on a linear kernel, beside one X @ w of numpy.

    python reports/frank_wolfe_2009/linear_hulls.py [set ...]

With w kept explicitly an iteration reads the points once; so does the product, which memory bounds. Both take their turn
in every round, in CPU time, so that a disturbance of the machine hits both alike; printed are the medians, the median of
the rounds' ratios and their quartiles. Sparse sets are compared with scipy's product. Needs HARNESS_DATA for the sets of
the papers; set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from harness import L2SVC, KernelOracle, Linear, get_solver
from harness.registry import load_registry

ROUNDS = 25
ENOUGH = 0.01  # seconds that a measurement takes at least


def generated(dtype: str) -> tuple[Any, Any]:
    """1,000,000 points of 100 features in two classes that overlap."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1_000_000, 100), dtype=dtype)
    y = np.where(rng.random(len(x)) < 0.5, 1.0, -1.0)
    x[:, 0] += y
    return x, y


def stored(name: str, **parameters: Any) -> tuple[Any, Any]:
    data = load_registry().datasets[name](**parameters).load()
    return data.x_train, np.asarray(data.y_train, dtype=np.float64)


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "covtype": lambda: stored("covtype", n=None, n_test=0),
    "covtype-float32": lambda: stored("covtype", n=None, n_test=0, dtype="float32"),
    "generated": lambda: generated("float64"),
    "generated-float32": lambda: generated("float32"),
    "adult": lambda: stored("adult"),
    "reuters": lambda: stored("reuters"),
}


def seconds_a_product(x: Any, w: Any) -> float:
    began, count = time.process_time(), 0
    while time.process_time() - began < ENOUGH:
        x @ w
        count += 1
    return (time.process_time() - began) / count


def seconds_an_iteration(iterates: Any, step: int) -> tuple[float, int]:
    began, last = time.process_time(), step
    while last == step or time.process_time() - began < ENOUGH:
        last = next(iterates).step
    return (time.process_time() - began) / (last - step), last


def measure(name: str, x: Any, y: Any, solver: str, rounds: int) -> None:
    problem = L2SVC.build(KernelOracle(Linear(), x), y, {"chi": 1.0})
    w = np.random.default_rng(1).normal(size=x.shape[1]).astype(x.dtype)
    configured = get_solver(solver).replaced(explicit_w=True, epsilon=1e-12)
    iterates = configured.iterates(problem, np.random.default_rng(0))
    step = 0
    while step < 8:  # compiled, and past the first steps
        step = next(iterates).step
    products, iterations = [], []
    for _ in range(rounds):
        products.append(seconds_a_product(x, w))
        seconds, step = seconds_an_iteration(iterates, step)
        iterations.append(seconds)
    low, middle, high = statistics.quantiles([a / b for a, b in zip(iterations, products, strict=True)], n=4)
    print(
        f"{name:18s} {solver:14s} {x.shape[0]:8d} x {x.shape[1]:<5d} X @ w {1e3 * statistics.median(products):8.3f} ms   "
        f"iteration {1e3 * statistics.median(iterations):8.3f} ms   ratio {middle:5.2f} ({low:.2f} .. {high:.2f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--solvers", default="fw,gilbert,fw-pairwise,mdm,nearest-point")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sets if name not in SETS]
    if unknown:
        parser.error(f"there is no set called {unknown[0]!r}; take some of {', '.join(SETS)}")
    for name in arguments.sets:
        x, y = SETS[name]()
        for solver in arguments.solvers.split(","):
            measure(name, x, y, solver, arguments.rounds)


if __name__ == "__main__":
    main()
