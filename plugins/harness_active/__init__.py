"""Plugin `active`: active learning on imbalanced data, and baselines for imbalance without active learning."""

from __future__ import annotations

from harness import Problem, Solver, hookimpl
from harness_active.baselines import Batch, DifferentCosts, Smote, Undersampling
from harness_active.pool_svc import PoolSVC
from harness_active.solvers import ActiveFullSearch, ActiveSmallPool, RandomSampling, RetrainActive


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulation of this plugin."""
    return [PoolSVC]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [
        ActiveSmallPool,
        ActiveFullSearch,
        RandomSampling,
        RetrainActive,
        Batch,
        Undersampling,
        Smote,
        DifferentCosts,
    ]
