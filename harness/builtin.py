"""What comes with the host, registered through the same hooks as a plugin's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from harness.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.registry.executor import Executor
    from harness.registry.metric import Metric


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """The embedded data, the generators and the catalogue."""
    from harness.datasets import builtin_sources

    return builtin_sources()


@hookimpl
def harness_kernels() -> list[type[Kernel]]:
    """linear, rbf, poly, precomputed."""
    from harness.kernels.functions import builtin_kernels

    return builtin_kernels()


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """The formulations of :mod:`harness.problems`."""
    from harness.problems import formulations

    return formulations()


@hookimpl
def harness_metrics() -> Mapping[str, Metric]:
    """The metrics of formulations.md, from scikit-learn where it has them."""
    from harness.measure.metrics import METRICS

    return METRICS


@hookimpl
def harness_executors() -> Mapping[str, Callable[..., Executor]]:
    """dask, threads."""
    from harness.run.executors import EXECUTORS

    return EXECUTORS
