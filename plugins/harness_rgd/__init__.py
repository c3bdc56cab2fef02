"""Random gradient descent trees, :mod:`harness_rgd.solvers`, and the sets of their paper, :mod:`harness_rgd.planted`."""

from __future__ import annotations

from harness import DataSource, Solver, hookimpl
from harness_rgd.planted import GaussianOutliers, OneClassOutliers
from harness_rgd.solvers import RGDBoosted, RGDTree


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [RGDTree, RGDBoosted]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sets of this plugin."""
    return [GaussianOutliers, OneClassOutliers]
