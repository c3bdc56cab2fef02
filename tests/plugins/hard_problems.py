"""Drawn problems that are hard for SMO: any cost, kernels too wide or too narrow, points on top of each other, noise."""

import numpy as np
from harness_smo import SMOBlock

from harness import CSVC, L2SVC, RBF, CSVCNoBias, EpsSVR, KernelOracle, NuSVC, OneClass, ReducedHull

SLOW = ("never", "working-set", "no-shrinking")  # at a large cost steps of pairs alone take millions
VARIANTS = {
    "auto": SMOBlock(),
    "never": SMOBlock(newton="never"),
    "always": SMOBlock(newton="always"),
    "float32": SMOBlock(dtype="float32"),
    "float64": SMOBlock(dtype="float64"),
    "working-set": SMOBlock(working_set=16),
    "no-shrinking": SMOBlock(shrinking=False, working_set=16, cache_mb=0.01, dtype="float32"),
}
FORMULATIONS = {
    "c-svc": CSVC, "c-svc-nobias": CSVCNoBias, "eps-svr": EpsSVR, "one-class": OneClass, "nu-svc": NuSVC,
    "l2-svc": L2SVC, "reduced-hull": ReducedHull,
}  # fmt: skip


def hard_points(rng, n, d=3, *, noise=0.0, share=0.5, twins=0.0, near=0.0):
    """Return normal points and labels by a sum of wide Gaussians.

    noise : part of the labels that are flipped; share : of the positive class
    twins, near : parts of the points that lie on another one, or a rounding error of float32 beside it
    """
    x, c, w = rng.normal(size=(n, d)), rng.normal(size=(12, d)), rng.normal(size=12)
    for part, distance in ((twins, 0.0), (near, 1e-7)):
        where = np.flatnonzero(rng.random(n) < part)
        x[where] = x[rng.integers(0, n, len(where))] + distance * rng.normal(size=(len(where), d))
    f = np.exp(-((x[:, None, :] - c) ** 2).sum(-1) / (2 * d)) @ w
    y = np.where(f > np.quantile(f, 1.0 - share), 1.0, -1.0)
    y[rng.random(n) < noise] *= -1.0
    y[:2] = 1.0, -1.0
    return x, y


def hard_problem(name, seed, n, cost, width):
    """Return a problem of the formulation ``name``; costs of those that have none become shares."""
    rng = np.random.default_rng(seed)
    kinds = {
        "noise": float(rng.choice([0.0, 0.1, 0.3])),
        "share": float(rng.choice([0.5, 0.1])),
        "twins": float(rng.choice([0.0, 0.3])),
        "near": float(rng.choice([0.0, 0.2])),
    }
    x, y = hard_points(rng, n, **kinds)
    values = {
        "eps-svr": {"C": cost, "epsilon": float(rng.choice([0.0, 0.1]))},
        "one-class": {"nu": float(rng.choice([0.05, 0.5]))},
        "nu-svc": {"nu": 0.5 * float(min((y > 0).mean(), (y < 0).mean()))},
        "l2-svc": {"chi": cost},
        "reduced-hull": {"D": 2.0 / float(min((y > 0).sum(), (y < 0).sum()))},
    }.get(name, {"C": cost})
    if name == "reduced-hull":
        x[:, 0] += 4.0 * y  # hulls that touch have w = 0, where no method ends quickly
    if name == "eps-svr":
        y = np.sin(2.0 * x[:, 0]) + 0.2 * rng.normal(size=n)
    return FORMULATIONS[name].build(KernelOracle(RBF(width / 3), x), y, values)
