"""Data, problems and paths of runs, stated the same way in the solver's process and in the certifier."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets import measured_sha256
from harness.datasets.bounds import reading_within
from harness.kernels.checks import check_finite, check_kernel, sample_values
from harness.kernels.engine import Engine
from harness.kernels.points import is_mapped
from harness.run.target_server import TargetClient
from harness.run.warm_up import few_points
from harness.solver.path import SolutionPath
from harness.solver.protocol import with_target
from harness.support.errors import DataChanged

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.problems.problem import Problem
    from harness.registry.discovery import Registry
    from harness.run.messages import RunSpec
    from harness.solver.protocol import Solver
    from harness.support.arrays import Vector

_READ_INTO_MEMORY_BYTES = 2 << 30  # most bytes of a mapped array that is read: kernels are faster on plain arrays


class ProblemFactory:
    """What a process has between runs: loaded data and the kernel engines over them.

    for_solver : whether it is that of a solver's process, which has the targets of no test point, does not know which
        points are planted outliers, and queries targets where the formulation does
    client : through which it queries them
    """

    def __init__(self, registry: Registry, *, for_solver: bool = False) -> None:
        self.registry, self.for_solver, self.client = registry, for_solver, TargetClient()
        self._datasets: dict[str, Dataset] = {}
        self._engines: dict[tuple[str, str], Engine] = {}

    def dataset(self, spec: RunSpec) -> Dataset:
        """Return the run's data; the last data set stays loaded.

        Raises
        ------
        DataChanged : what is read now is not what the comparison was planned with.
        """
        if spec.data_key not in self._datasets:
            self._engines.clear()  # they are over the last data set
            self._datasets.clear()
            with reading_within(spec.limits.memory_limit):
                data = self.registry.source_class(spec.source)(**spec.source_parameters).load()
                data = replace(data, x_train=_in_memory(data.x_train), x_test=_in_memory(data.x_test))
            if spec.data_sha256 not in ("", measured_sha256(data)):
                raise DataChanged(
                    f"the data of '{spec.dataset}' are not what they were when the comparison was planned: their "
                    "content has changed since."
                )
            if self.for_solver:
                data = replace(data, planted=None, y_test=np.full(len(data.y_test), np.nan))
            self._datasets[spec.data_key] = data
        return self._datasets[spec.data_key]

    def problem(self, spec: RunSpec) -> Problem:
        """Return the run's problem over the plain engine, which counts nothing: what is certified; data and norms are shared."""
        dataset = self.dataset(spec)
        key = (spec.kernel, repr(spec.kernel_parameters))
        if key not in self._engines:
            kernel = self.registry.kernel_class(spec.kernel)(**spec.kernel_parameters)
            check_kernel(kernel, dataset.x_train)
            checked = Engine(kernel, dataset.x_train)
            check_finite(checked)
            self._engines[key] = checked  # only now: what is refused is refused each time
        engine: Any = self._engines[key].replace(threads=spec.threads)
        targets = self.client if self.for_solver and spec.queries_targets else dataset.y_train
        return self.registry.formulation(spec.formulation).build(engine, targets, spec.problem_parameters)

    def kernel_sample(self, spec: RunSpec) -> Vector:
        """Return values of the run's kernel, of a path of each of its kernels, between a few of its points."""
        widths = {} if spec.path is None else spec.path.kernel_axes
        kernel = self.registry.kernel_class(spec.kernel)
        parameters = (dict(zip(widths, values, strict=True)) for values in itertools.product(*widths.values()))
        kernels = [kernel(**{**spec.kernel_parameters, **values}) for values in parameters]
        return sample_values(kernels, self.dataset(spec).x_train)

    def path(self, spec: RunSpec, clocks: Any = None) -> SolutionPath:
        """Return the path of problems that a run goes through, the same of both sides, whoever states it.

        clocks : wall and CPU clock of what its cells share; None: those of the system, and no cell begins cold
        """
        dataset, grid = self.dataset(spec), spec.path
        assert grid is not None
        return SolutionPath(
            grid, self.registry.formulation(spec.formulation), self.registry.kernel_class(spec.kernel),
            dataset.x_train, dataset.y_train, spec.problem_parameters, spec.kernel_parameters,
            seed=spec.seed, cache_mb=spec.cache_mb, threads=spec.threads,
            cold=clocks is not None and grid.cold, **({} if clocks is None else {"clocks": clocks}),
        )  # fmt: skip

    def small(self, spec: RunSpec, clocks: Any = None) -> Any:
        """Return the problem or path of a run over a few of its points; None if there is none: the run itself says why.

        clocks : see :meth:`path`
        """
        with contextlib.suppress(BaseException):  # whatever a plugin raises, sys.exit() included
            return few_points(self.path(spec, clocks)) if spec.path else few_points(self.problem(spec)).counted()

    def solver(self, spec: RunSpec) -> Solver:
        """Return the configured solver, with the target gap as its own stopping parameter."""
        cls = self.registry.solver_class(f"{spec.plugin}/{spec.solver}")
        return with_target(cls(**spec.parameters), spec.limits.target_gap)


def _in_memory(x: Any) -> Any:
    return np.array(x) if is_mapped(x) and x.nbytes <= _READ_INTO_MEMORY_BYTES else x
