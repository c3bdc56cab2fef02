"""Solver that calls ThunderSVM on the CPU (the wheel ``thundersvm-cpu``) through its C functions.

``fit`` of the wheel copies the support vectors in Python loops, and passes the labels of sparse data as integers where the
library reads float32. Source: Wen, Shi, Li, He, Chen, JMLR 19 (2018).
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness import CSVC, RBF, Iterate, Kernel, Linear, Poly, Problem, UsageError
from harness_peers.peer import Peer, at_bounds, class_cost, with_int32_indices

_C_SVC = 0
_NO_LIMIT = -1  # value for unlimited iterations, threads (OpenMP's number) and memory


@dataclass(frozen=True)
class ThunderSVM(Peer):
    """ThunderSVM: working sets of 1024 points whose kernel rows are float32, without a cache of other rows.

    Use it to measure ThunderSVM on the CPU. Paper: Wen, Shi, Li, He and Chen 2018.

    If no coefficient is free, its intercept has the wrong sign; the certificate then has a large gap.
    """

    name = "thundersvm"
    package = "thundersvm.thundersvm"
    requires: ClassVar[tuple[str, ...]] = ("thundersvm-cpu>=0.3.3",)
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    kernels: ClassVar[tuple[type[Kernel], ...]] = (RBF, Linear, Poly)
    class_costs = True

    def convert(self, problem: Problem) -> Any:
        return with_int32_indices(problem.kernel.points, np.float32)

    def train(self, problem: Problem, data: Any) -> Iterate:
        from threadpoolctl import threadpool_limits

        assert isinstance(problem, CSVC)
        library = importlib.import_module(self.package).thundersvm
        library.model_new.restype = ctypes.c_void_p
        model = ctypes.c_void_p(library.model_new(_C_SVC))
        try:
            with threadpool_limits(problem.kernel.threads, user_api="openmp"):
                features = self._train(library, model, problem, data)
            members, values, rho = _read(library, model, features)
        finally:
            library.model_free(model)
        coef = np.zeros(problem.n)
        coef[members] = values
        sign = float(problem.targets[0])  # the library's positive class is that of the first point
        coef = at_bounds(sign * coef, problem.lower_bounds, problem.upper_bounds)
        return Iterate(coef, -sign * rho, done=True)

    def _train(self, library: Any, model: Any, problem: CSVC, data: Any) -> int:
        """Train ``model`` and return the number of features in the library."""
        labels = problem.targets.astype(np.float32)
        weights = np.array([class_cost(problem, label) / problem.C for label in (-1.0, 1.0)], dtype=np.float32)
        classes = np.array([-1, 1], dtype=np.int32)
        features, count, success = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        common = (
            _C_SVC,
            *_kernel_arguments(problem.kernel.kernel),
            ctypes.c_float(problem.C),
            ctypes.c_float(0.5),  # nu, then epsilon, of other formulations
            ctypes.c_float(0.1),
            ctypes.c_float(self.tolerance(problem)),
            0,  # no probabilities
            len(classes),
            _pointer(classes),
            _pointer(weights),
            0,  # silent
            *(_NO_LIMIT, _NO_LIMIT, _NO_LIMIT),
            0,  # GPU number, unused on the CPU
            ctypes.byref(features),
            ctypes.byref(count),
            ctypes.byref(success),
            model,
        )
        if isinstance(data, np.ndarray):
            library.dense_model_scikit(*data.shape, _pointer(data), _pointer(labels), *common)
        else:
            parts = (_pointer(data.data), _pointer(data.indptr), _pointer(data.indices))
            library.sparse_model_scikit(problem.n, *parts, _pointer(labels), *common)
        if success.value == -1:
            raise UsageError("the training of thundersvm failed without a reason; take another solver.")
        return features.value


def _read(library: Any, model: Any, features: int) -> tuple[Any, Any, float]:
    """Return the indices of the support vectors, their coefficients and rho; f(x) = sum coef_i k(x_i, x) - rho."""
    count = library.n_sv(model)
    # the library returns the indices only together with the support vectors
    starts, columns = np.empty(count + 1, np.int32), np.empty(count * features, np.int32)
    data, members, coef = np.empty(count * features, np.float32), np.empty(count, np.int32), np.empty(count, np.float32)
    library.get_sv(
        _pointer(starts), _pointer(columns), _pointer(data), ctypes.byref(ctypes.c_int()), _pointer(members), model
    )
    library.get_coef(_pointer(coef), 2, count, model)
    rho = ctypes.c_float()
    library.get_rho(ctypes.byref(rho), 1, model)
    return members, coef, float(rho.value)


def _kernel_arguments(kernel: Kernel) -> tuple[Any, ...]:
    """Return the library's arguments kernel type, degree, gamma and coef0."""
    match kernel:
        case RBF(gamma=gamma):
            return 2, 3, ctypes.c_float(gamma), ctypes.c_float(0.0)
        case Poly(degree=degree, gamma=gamma, coef0=coef0):
            return 1, degree, ctypes.c_float(gamma), ctypes.c_float(coef0)
    assert isinstance(kernel, Linear)
    return 0, 3, ctypes.c_float(0.0), ctypes.c_float(0.0)


def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)
