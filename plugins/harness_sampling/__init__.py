"""Plugin `sampling`: an exact solver on random samples, again and again, until no example outside violates.

``optmargin``, ``optsoftmargin`` and ``randsvm`` double the weights of violators; ``randsvm-1`` keeps the support
vectors and adds violators (rounds.py), which :class:`PartitionedRandSVM` does over parts that no machine holds;
:class:`PartitionedFW` takes the farthest points of the hulls instead.
:func:`smallest_separating_k` chooses the k of a reduced hull.
"""

from __future__ import annotations

from harness import Problem, Solver, hookimpl
from harness_sampling.hulls import smallest_separating_k
from harness_sampling.partitioned import PartitionedFit, PartitionedModel, PartitionedRandSVM, Round
from harness_sampling.partitioned_fw import PartitionedFW
from harness_sampling.solvers import OptMargin, OptSoftMargin, RandSVM, RandSVM1, support_bound
from harness_sampling.tube_svr import TubeSVR

__all__ = [
    "PartitionedFW",
    "PartitionedFit",
    "PartitionedModel",
    "PartitionedRandSVM",
    "Round",
    "smallest_separating_k",
    "support_bound",
]


@hookimpl
def harness_formulations() -> list[type[Problem]]:
    """Return the formulation that this plugin brings."""
    return [TubeSVR]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [OptMargin, OptSoftMargin, RandSVM, RandSVM1]
