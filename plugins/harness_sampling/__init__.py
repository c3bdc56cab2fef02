"""Plugin `sampling`: solvers that apply an exact solver to random samples until no example outside violates.

``optmargin``, ``optsoftmargin`` and ``randsvm`` double the weights of violators; ``randsvm-1`` retains the support vectors and
adds violators (rounds.py). :class:`PartitionedRandSVM` and :class:`PartitionedFW` train on parts that together exceed the
memory. :func:`smallest_separating_k` chooses the k of a reduced hull.
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
    """Return the formulations of this plugin."""
    return [TubeSVR]


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of this plugin."""
    return [OptMargin, OptSoftMargin, RandSVM, RandSVM1]
