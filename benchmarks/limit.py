"""How near smo-block is to the limit of its machine, on problems drawn from a seed: python benchmarks/limit.py 91 --n 2000.

Any certificate reads the kernel between the support vectors and all points. The limit is what these values take at the rate
of the engine, which ``benchmarks/kernels.py`` compares with numpy's matrix product and exp. Scikit-learn's SVC (tolerance
1e-3) and smo-block (certified gap 1e-3) take turns on each problem; medians of CPU seconds, one thread, compilation excluded.
Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness_smo import SMOBlock

from harness import CSVC, RBF, KernelOracle

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reports" / "peers"))
from families import FAMILIES, Drawn

GAP = 1e-3  # certified relative gap of smo-block
WARM_POINTS = (300, 1200, 3000)  # points of the problems that compile what the fits need


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def fit(x: Any, y: Any, gamma: float, cost: float) -> tuple[float, Any, Any]:
    """Return smo-block's CPU seconds, its last iterate, and the problem stated anew to certify it."""
    problem, again = (CSVC.build(KernelOracle(RBF(gamma), x), y, {"C": cost}) for _ in range(2))
    solver = SMOBlock().with_target_gap(GAP)
    seconds, last = cpu(lambda: list(solver.iterates(problem, np.random.default_rng(0)))[-1])
    return seconds, last, again


def svc(x: Any, y: Any, gamma: float, cost: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=cost, gamma=gamma, tol=1e-3).fit(x, y)


def measure(drawn: Drawn, rounds: int) -> tuple[float, float]:
    """Print a line for a problem; return SVC's time and the limit, both over smo-block's."""
    data = drawn.load()
    x, y, gamma = data.x_train, data.y_train, data.defaults["gamma"]
    if not isinstance(x, np.ndarray):  # SVC reads 32-bit indices only
        x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    ours, theirs, limits = [], [], []
    for _ in range(rounds):
        seconds, last, problem = fit(x, y, gamma, drawn.cost)
        ours.append(seconds)
        theirs.append(cpu(lambda: svc(x, y, gamma, drawn.cost))[0])
        limits.append(cpu(lambda: problem.kernel.replace(dtype=np.float32).expand(last.dual_coef))[0])  # noqa: B023
    certificate = problem.certify(*problem.checked(last.dual_coef, last.intercept))
    assert certificate.relative_gap <= GAP, f"{drawn.label}: {certificate.relative_gap}"
    block, peer, limit = (statistics.median(seconds) for seconds in (ours, theirs, limits))
    support = int(np.count_nonzero(last.dual_coef))
    shape = (
        f"{drawn.family:10} n {drawn.n:6} d {drawn.d:3} C {drawn.cost:9.3g} noise {drawn.noise:4} width {drawn.width:4}"
    )
    print(
        f"{shape} support {support:6} {block * 1e3:9.2f} ms  SVC {peer / block:6.2f}  times the limit {block / limit:6.1f}"
    )
    return peer / block, block / limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, help="of the problems; take one that nobody used")
    parser.add_argument(
        "--n", type=int, nargs="+", default=[2000], help="points; one for each problem is drawn among them"
    )
    parser.add_argument("--most-cost", type=float, default=1e4, help="largest C; from 1, evenly in its logarithm")
    parser.add_argument("--count", type=int, default=21, help="problems")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each solver")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    families = [family for family in FAMILIES if family != "regression"]
    for n in WARM_POINTS:
        for cost in (10.0, 1e5):
            data = Drawn(n=n, noise=0.1, cost=cost).load()
            fit(data.x_train, data.y_train, data.defaults["gamma"], cost)
    ratios = []
    for draw in range(given.count):
        n, d = int(rng.choice(given.n)), int(rng.choice([2, 3, 5, 10, 20, 50]))
        noise, width = float(rng.choice([0.0, 0.05, 0.2])), float(rng.choice([0.05, 0.2, 1.0]))
        cost = float(10.0 ** rng.uniform(0.0, np.log10(given.most_cost)))
        problem = {"family": families[draw % 7], "n": n, "d": d, "noise": noise, "cost": cost, "width": width}
        ratios.append(measure(Drawn(**problem, seed=given.seed, draw=draw), given.rounds))
    peers, limits = np.array(ratios).T
    mean, least = np.exp(np.log(peers).mean()), peers.min()
    print(f"SVC takes {mean:.2f} times as long, at least {least:.2f}.")
    print(f"smo-block takes {np.exp(np.log(limits).mean()):.1f} times the limit.")


if __name__ == "__main__":
    main()
