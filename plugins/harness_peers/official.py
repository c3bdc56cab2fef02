"""LIBSVM as its authors ship it (the wheel ``libsvm-official``), built with OpenMP.

The Python layer of the package is gone round where it would cost more than the training: the model's arrays are read
through ctypes, not copied into tuples.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from harness import CSVC, RBF, Iterate, Linear, Poly, UsageError, parameter
from harness_peers.peer import Peer, at_bounds, class_cost, with_int32_indices

if TYPE_CHECKING:
    from harness import Kernel, Problem


@dataclass(frozen=True)
class LibSVMOfficial(Peer):
    """LIBSVM 3 from its authors: all points as sparse nodes, kernel rows on all cores (Chang and Lin 2011)."""

    name = "libsvm-official"
    package = "libsvm.svm"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)
    class_costs = True

    cache_mb: float | None = parameter(None, "memory for kernel rows in MB; none: the run's", gt=0)
    shrinking: bool = parameter(True, "leave out bound coefficients that are unlikely to move")

    def converted(self, problem: Problem) -> Any:
        """Return an ``svm_problem``: 16 bytes for each non-zero value."""
        import scipy.sparse

        # the package knows the older sparse matrices only, not sparse arrays
        points = scipy.sparse.csr_matrix(with_int32_indices(problem.kernel.points))
        return importlib.import_module(self.package).svm_problem(problem.targets, points)

    def trained(self, problem: Problem, handed: Any) -> Iterate:
        from threadpoolctl import threadpool_limits

        assert isinstance(problem, CSVC)
        library = importlib.import_module(self.package)
        cost = {label: class_cost(problem, label) for label in (-1.0, 1.0)}
        options = library.svm_parameter(self._options(problem, cost[-1.0], cost[1.0] / cost[-1.0]))
        refusal = library.libsvm.svm_check_parameter(handed, options)
        if refusal:
            raise UsageError(f"libsvm-official refuses the problem: {refusal.decode()}.")
        with threadpool_limits(problem.kernel.threads, user_api="openmp"):
            pointer = library.libsvm.svm_train(handed, options)
        model = library.toPyModel(pointer)  # freed when it goes
        coef = np.zeros(problem.n)
        if model.l:
            members = np.ctypeslib.as_array(model.sv_indices, (model.l,)) - 1
            coef[members] = np.ctypeslib.as_array(model.sv_coef[0], (model.l,))
        # of the labels -1 and +1 the library makes +1 its first class, whichever comes first in the data
        coef = at_bounds(coef, problem.lower_bounds, problem.upper_bounds)
        return Iterate(coef, -float(model.rho[0]), done=True, info={"free_support_vectors": int(model.free_sv)})

    def _options(self, problem: CSVC, cost: float, weight: float) -> str:
        """Return the library's command line: ``cost`` of the negative class, that of the positive one ``weight`` times it."""
        kernel = problem.kernel.kernel
        match kernel:
            case RBF(gamma=gamma):
                words = f"-t 2 -g {gamma!r}"
            case Poly(degree=degree, gamma=gamma, coef0=coef0):
                words = f"-t 1 -d {degree} -g {gamma!r} -r {coef0!r}"
            case _:
                assert isinstance(kernel, Linear)
                words = "-t 0"
        cache = problem.kernel.cache_mb if self.cache_mb is None else self.cache_mb
        return f"-q -s 0 {words} -c {cost!r} -w1 {weight!r} -e {self.tolerance(problem)!r} -m {cache!r} -h {int(self.shrinking)}"
