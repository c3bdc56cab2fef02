# What a plugin author imports, the one list of it: `harness/__init__.py` reads it to know where each name lives.
# Plugins that show runs import from the modules of `harness.report` too, suites from `harness.testing`.

from harness.call.compare import compare as compare
from harness.call.data import data as data
from harness.call.result import Result as Result
from harness.cli.commands import CommandGroup as CommandGroup
from harness.datasets.chunks import ChunkedFile as ChunkedFile
from harness.datasets.dataset import Dataset as Dataset
from harness.datasets.dataset import DataSource as DataSource
from harness.datasets.dataset import content_sha256 as content_sha256
from harness.errors import DataError as DataError
from harness.errors import HarnessError as HarnessError
from harness.errors import InvalidModel as InvalidModel
from harness.errors import LabelsSpent as LabelsSpent
from harness.errors import PluginError as PluginError
from harness.errors import UsageError as UsageError
from harness.hookspecs import hookimpl as hookimpl
from harness.kernels.functions import RBF as RBF
from harness.kernels.functions import Kernel as Kernel
from harness.kernels.functions import Linear as Linear
from harness.kernels.functions import Poly as Poly
from harness.kernels.functions import Precomputed as Precomputed
from harness.kernels.oracle import KernelOracle as KernelOracle
from harness.kernels.oracle import RowBuffer as RowBuffer
from harness.kernels.points import as_points as as_points
from harness.learner import Learner as Learner
from harness.measure.drive import drive as drive
from harness.measure.scored import CosineFeatures as CosineFeatures
from harness.measure.trace import TracePlan as TracePlan
from harness.metric import Metric as Metric
from harness.parameters import parameter as parameter
from harness.path import Cell as Cell
from harness.path import Grid as Grid
from harness.path import SolutionPath as SolutionPath
from harness.problems.csvc import CSVC as CSVC
from harness.problems.csvc import CSVCNoBias as CSVCNoBias
from harness.problems.dual import DualForm as DualForm
from harness.problems.problem import Certificate as Certificate
from harness.problems.problem import Laws as Laws
from harness.problems.problem import Problem as Problem
from harness.registry import get_solver as get_solver
from harness.run.record import Limits as Limits
from harness.run.record import Record as Record
from harness.run.record import Status as Status
from harness.run.record import StoppedBy as StoppedBy
from harness.run.record import checked as checked
from harness.run.store import StoreReader as StoreReader
from harness.run.store import default_store as default_store
from harness.shares import rounded_down as rounded_down
from harness.solver import DEFAULT_RELATIVE_GAP as DEFAULT_RELATIVE_GAP
from harness.solver import Iterate as Iterate
from harness.solver import Solution as Solution
from harness.solver import Solver as Solver

__version__: str
