"""Theorems 2 and 4 of Ding & Xu by experiment: python reports/rgd_tree_2015/theorem.py [--seeds 200].

Problems of 100 points whose optimum is known: a share of 0.1 are outliers so near to the origin (two classes: to the
other class) that whoever keeps one has a narrower margin than the others' hulls, which is the optimum then. The height
is the theorem's for D / rho and epsilon. Prints the share of seeds in which some node is an (epsilon, delta)-approximation
of that optimum, of the whole tree and with L = 50, beside (1 - mu) (1 - outliers), and the same for a tenth of epsilon,
of which the theorems say nothing.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import numpy as np
from harness_rgd import RGDTree
from harness_rgd.forest import Forest

from harness import KernelOracle, Linear, Problem, get_solver
from harness.problems import HardMargin, OutlierMargin, PolytopeDistance

OUTLIERS, DELTA, MU, N, D = 0.1, 0.5, 0.1, 100, 3


class Setting(NamedTuple):
    """A size of the problem and what is asked for.

    ratio : D / rho at most
    """

    against: str
    ratio: float
    epsilon: float

    @property
    def height(self) -> int:
        """The theorem's."""
        return math.ceil(3.0 * ((self.ratio + 1.0) / self.epsilon) ** 2 * math.log(self.ratio + 1.0))


SETTINGS = (Setting("origin", 0.5, 0.9), Setting("origin", 0.3, 0.7), Setting("class", 0.45, 0.85))


def ball(rng: np.random.Generator, n: int, diameter: float) -> np.ndarray:
    """Return n points, (n, 3), of a sphere."""
    x = rng.normal(size=(n, D))
    return 0.5 * diameter * x / np.linalg.norm(x, axis=1, keepdims=True)


def planted(setting: Setting, seed: int) -> tuple[OutlierMargin, float]:
    """Return a problem and its optimal width; the inliers' D / rho is at most ``setting.ratio``."""
    rng = np.random.default_rng(seed)
    outliers = round(OUTLIERS * N)
    if setting.against == "origin":
        x = ball(rng, N, setting.ratio)
        x[outliers:, 0] += 1.0 + 0.5 * setting.ratio  # the ball is 1 away
        x[:outliers] = ball(rng, outliers, 1.8)  # in all directions, nearer than 1
        y = np.ones(N)
    else:
        x, y = ball(rng, N, 0.5 * setting.ratio), np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
        x[:, 0] += (0.5 + 0.25 * setting.ratio) * y  # two balls 1 apart, the difference's diameter is ratio
        y[:outliers] *= -1.0  # each is in the midst of the others' class, nearer than 1
    inside: Problem = PolytopeDistance.build(KernelOracle(Linear(), x[outliers:]), y[outliers:])
    if setting.against == "class":
        inside = HardMargin.build(KernelOracle(Linear(), x[outliers:]), y[outliers:])
    *_, last = get_solver("fw[epsilon=1e-9]").iterates(inside, rng)
    optimum = float(np.linalg.norm(last.dual_coef @ x[outliers:]))
    largest = 0.9 if setting.against == "origin" else 0.5 * setting.ratio
    assert largest < 1.0 <= optimum, "an outlier may be worth keeping"
    values = {"outliers": OUTLIERS, "delta": DELTA, "against": setting.against}
    if setting.against == "class":
        values |= {"outliers_plus": OUTLIERS, "outliers_minus": OUTLIERS}
    return OutlierMargin.build(KernelOracle(Linear(), x), y, values), optimum


def widest(setting: Setting, seed: int, nodes: int | None) -> float:
    """Return the widest node's part of the optimal width."""
    problem, optimum = planted(setting, seed)
    solver = RGDTree(height=setting.height, nodes=nodes, mu=MU, epsilon=setting.epsilon, probe=None)
    run = Forest(solver, problem, np.random.default_rng(seed + 1000))
    for _ in run.grow(run.root(), setting.height, solver.samples_of(problem, setting.height)):
        pass
    return run.best.width / optimum


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=200)
    seeds = range(parser.parse_args().seeds)
    print(f"(1 - mu) (1 - outliers) = {(1.0 - MU) * (1.0 - OUTLIERS):.3f}, {len(seeds)} seeds, n = {N}")
    for setting in SETTINGS:
        for nodes in (None, 50):
            found = np.array([widest(setting, seed, nodes) for seed in seeds])
            shares = [float(np.mean(found >= 1.0 - part * setting.epsilon)) for part in (1.0, 0.1)]
            print(
                f"{setting.against:6} D / rho <= {setting.ratio}, epsilon {setting.epsilon}, h {setting.height}, "
                f"L {nodes or 'none':>4}: {shares[0]:.3f}; of {0.1 * setting.epsilon:.3f}: {shares[1]:.3f}; "
                f"least width {found.min():.2f}, median {np.median(found):.2f} of the optimum",
                flush=True,
            )


if __name__ == "__main__":
    main()
