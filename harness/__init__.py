"""svm-harness: measure SVM training algorithms side by side.

What a plugin author imports is here, and loads on first use: ``import harness`` itself stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.datasets.chunks import ChunkedFile as ChunkedFile
    from harness.datasets.dataset import Dataset as Dataset
    from harness.datasets.dataset import DataSource as DataSource
    from harness.datasets.dataset import content_sha256 as content_sha256
    from harness.errors import DataError as DataError
    from harness.errors import HarnessError as HarnessError
    from harness.errors import InvalidModel as InvalidModel
    from harness.errors import PluginError as PluginError
    from harness.errors import UsageError as UsageError
    from harness.hookspecs import hookimpl as hookimpl
    from harness.kernels.buffer import RowBuffer as RowBuffer
    from harness.kernels.functions import RBF as RBF
    from harness.kernels.functions import DotProductKernel as DotProductKernel
    from harness.kernels.functions import Exponential as Exponential
    from harness.kernels.functions import Form as Form
    from harness.kernels.functions import Kernel as Kernel
    from harness.kernels.functions import Linear as Linear
    from harness.kernels.functions import OfProducts as OfProducts
    from harness.kernels.functions import Poly as Poly
    from harness.kernels.functions import Power as Power
    from harness.kernels.functions import Precomputed as Precomputed
    from harness.kernels.oracle import KernelOracle as KernelOracle
    from harness.measure.drive import Outcome as Outcome
    from harness.measure.drive import drive as drive
    from harness.measure.trace import TracePlan as TracePlan
    from harness.parameters import parameter as parameter
    from harness.problems.conversion import to_c_svc as to_c_svc
    from harness.problems.conversion import to_reduced_hull as to_reduced_hull
    from harness.problems.csvc import CSVC as CSVC
    from harness.problems.csvc import CSVCNoBias as CSVCNoBias
    from harness.problems.dual import DualForm as DualForm
    from harness.problems.hulls import L2SVC as L2SVC
    from harness.problems.hulls import HardMargin as HardMargin
    from harness.problems.hulls import ReducedHull as ReducedHull
    from harness.problems.mistake_driven import MistakeDriven as MistakeDriven
    from harness.problems.one_class import OneClass as OneClass
    from harness.problems.polytope_distance import PolytopeDistance as PolytopeDistance
    from harness.problems.problem import Certificate as Certificate
    from harness.problems.problem import Problem as Problem
    from harness.problems.ramp import RampSVC as RampSVC
    from harness.problems.svr import EpsSVR as EpsSVR
    from harness.problems.tube_svr import TubeSVR as TubeSVR
    from harness.registry import get_solver as get_solver
    from harness.run.record import Limits as Limits
    from harness.run.record import Status as Status
    from harness.run.record import StoppedBy as StoppedBy
    from harness.solver import DEFAULT_RELATIVE_GAP as DEFAULT_RELATIVE_GAP
    from harness.solver import Iterate as Iterate
    from harness.solver import Solution as Solution
    from harness.solver import Solver as Solver

_HOME = {
    "harness.datasets.chunks": ("ChunkedFile",),
    "harness.datasets.dataset": ("Dataset", "DataSource", "content_sha256"),
    "harness.errors": ("DataError", "HarnessError", "InvalidModel", "PluginError", "UsageError"),
    "harness.hookspecs": ("hookimpl",),
    "harness.kernels.buffer": ("RowBuffer",),
    "harness.kernels.functions": (
        "RBF",
        "DotProductKernel",
        "Exponential",
        "Form",
        "Kernel",
        "Linear",
        "OfProducts",
        "Poly",
        "Power",
        "Precomputed",
    ),
    "harness.kernels.oracle": ("KernelOracle",),
    "harness.measure.drive": ("Outcome", "drive"),
    "harness.measure.trace": ("TracePlan",),
    "harness.parameters": ("parameter",),
    "harness.problems.conversion": ("to_c_svc", "to_reduced_hull"),
    "harness.problems.csvc": ("CSVC", "CSVCNoBias"),
    "harness.problems.dual": ("DualForm",),
    "harness.problems.hulls": ("L2SVC", "HardMargin", "ReducedHull"),
    "harness.problems.mistake_driven": ("MistakeDriven",),
    "harness.problems.one_class": ("OneClass",),
    "harness.problems.polytope_distance": ("PolytopeDistance",),
    "harness.problems.problem": ("Certificate", "Problem"),
    "harness.problems.ramp": ("RampSVC",),
    "harness.problems.svr": ("EpsSVR",),
    "harness.problems.tube_svr": ("TubeSVR",),
    "harness.registry": ("get_solver",),
    "harness.run.record": ("Limits", "Status", "StoppedBy"),
    "harness.solver": ("DEFAULT_RELATIVE_GAP", "Iterate", "Solution", "Solver"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"
__all__ = sorted(_MODULE_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'harness' has no attribute '{name}'")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
