"""Summary of a problem for ``Solver.skip``: sizes, kernel and parameters, without points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem


@dataclass(frozen=True)
class ProblemSummary:
    """A problem without its points, targets and kernel values, the argument of :meth:`harness.Solver.skip`.

    formulation : the class of the formulation
    settings : the formulation's parameters, with resolved defaults
    n, n_features : number of training points and of their features
    is_sparse, dtype : how the points are stored
    kernel : the kernel function
    ridge : added to k(x_i, x_i); 0 but for l2-svc
    is_linear : whether k(x, z) = <x, z>
    cache_mb : memory for kernel rows, MB of 2^20 bytes
    class_counts : number of points with the labels -1 and +1
    target_range : the least and the largest target; both NaN where targets are queried
    uneven : names of the per-point values, such as ``upper``, that differ within a class
    """

    formulation: type[Problem]
    settings: Any
    n: int
    n_features: int
    is_sparse: bool
    dtype: str
    kernel: Kernel
    ridge: float
    is_linear: bool
    cache_mb: float
    class_counts: tuple[int, int]
    target_range: tuple[float, float]
    uneven: tuple[str, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> ProblemSummary:
        """Return the summary of a problem."""
        kernel, targets = problem.counted().kernel, problem.targets
        classes = [targets == label for label in (-1.0, 1.0)]
        parts = {name: [getattr(problem, name)[side] for side in classes] for name in problem.per_point}
        return cls(
            type(problem),
            problem.settings,
            problem.n,
            kernel.n_features,
            not isinstance(kernel.storage, np.ndarray),
            str(kernel.storage.dtype),
            kernel.kernel,
            kernel.ridge,
            kernel.is_linear,
            kernel.cache_mb,
            (int(classes[0].sum()), int(classes[1].sum())),
            (float(targets.min()), float(targets.max())),
            tuple(name for name, sides in parts.items() if any((values[1:] != values[:-1]).any() for values in sides)),
        )

    @property
    def one_class(self) -> bool:
        """Whether all targets are the same."""
        return self.target_range[0] == self.target_range[1]
