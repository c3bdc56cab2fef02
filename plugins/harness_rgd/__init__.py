"""Plugin `rgd`: the widest margin after giving up outliers: its formulation, random gradient descent trees, and data sets."""

from __future__ import annotations

from harness import DataSource, Problem, Solver, hookimpl
from harness_rgd.outlier_exact import OutlierExact
from harness_rgd.outlier_margin import OutlierMargin
from harness_rgd.planted import GaussianOutliers, OneClassOutliers
from harness_rgd.solvers import RGDBoosted, RGDTree


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [RGDTree, RGDBoosted, OutlierExact]


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulation of this plugin."""
    return [OutlierMargin]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sets of this plugin."""
    return [GaussianOutliers, OneClassOutliers]
