"""From a study to its paths: which parameters are whose, and which runs cannot be one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import parameters
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.registry import Registry
    from harness.run.study import Study


MOST_CELLS = 1_000_000  # of a path: what is known of them is held at once


def check_path(study: Study, registry: Registry) -> None:
    """Raise UsageError for a path that no run can be; needs no data."""
    if not study.path:
        for given, name in ((study.folds, "folds"), (study.cold, "cold")):
            if given:
                raise UsageError(f"--{name} is about a path; add --path, for example --path C,gamma.")
        return
    of_problems = registry.problem_parameters()
    of_kernels = {known.name for cls in registry.kernels.values() for known in parameters.parameters_of(cls)}
    for name in study.path:
        parameters.check_known("parameter of a formulation or a kernel", name, [*of_problems, *sorted(of_kernels)])
        if study.problem_values.get(name) or study.kernel_values.get(name):
            raise UsageError(f"--{name} and --path {name}: the path has its values; leave out one of the two.")
        if any(name in values for values in study.formulation_values.values()):
            raise UsageError(f"--formulation gives {name}, and so does --path; leave out one of the two.")
    for item in study.solvers:
        fixed = [name for name in study.path if name in getattr(item, "problem_values", {})]
        if fixed:
            raise UsageError(f"a solver's brackets give {fixed[0]}, and so does --path; leave out one of the two.")
    if study.core_set_oracle:
        raise UsageError("--core-set-oracle is about one problem, not about a path; leave out one of the two.")
    cells = math.prod(map(len, study.path.values())) * max(1, study.folds)
    if cells > MOST_CELLS:
        raise UsageError(
            f"--path: {cells:,} cells in a run; at most {MOST_CELLS:,} are taken: fewer values, or several paths."
        )
    if study.limits.iterations is not None:
        raise UsageError(
            "--iteration-limit is about one problem; limit a path by --time-limit or --kernel-evaluation-limit."
        )


def along_path(
    study: Study, kernel: type[Kernel], problem: type[Problem], dataset: Dataset, cell: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a run of one problem as the paths that it stands for: warm, and beside it cold if that is asked for."""
    if not study.path:
        yield cell
        return
    of_kernel = {known.name for known in parameters.parameters_of(kernel)}
    of_problem = {known.name for known in problem.known_parameters()}
    strange = [name for name in study.path if name not in of_kernel | of_problem]
    reason = cell["skip_reason"]
    if strange and not reason:
        reason = f"{problem.name} with the kernel {kernel.name} has no {strange[0]}, which the path goes through"
    for name, other in problem.stand_ins().items():
        if name in study.path and not reason and cell["problem_parameters"].get(other) is not None:
            reason = f"{other} is given, and the {name} of the path only stands for {other}"
    reason = reason or _unfit(study, problem, dataset)
    costs = _checked(problem.parameter_class, study, of_problem, f"formulation '{problem.name}'")
    widths = _checked(kernel, study, of_kernel - of_problem, f"kernel '{kernel.name}'")
    own = {
        "problem_parameters": {k: v for k, v in cell["problem_parameters"].items() if k not in costs},
        "kernel_parameters": {k: v for k, v in cell["kernel_parameters"].items() if k not in widths},
        "skip_reason": reason,
        "core_set_oracle": "",
    }
    for start in ("warm", "cold") if study.cold else ("warm",):
        path = {"costs": costs, "widths": widths, "folds": study.folds, "start": start}
        yield {**cell, **own, "path": path}


def _checked(cls: type, study: Study, names: set[str], owner: str) -> dict[str, list[float]]:
    """Return the path's values of the parameters ``names`` as their class has them, ascending."""
    found = {}
    for name, values in study.path.items():
        if name in names:
            found[name] = sorted({parameters.validated(cls, {name: value}, owner=owner)[name] for value in values})
    return found


def _unfit(study: Study, problem: type[Problem], dataset: Dataset) -> str:
    """Return why a path cannot be gone through on these data; empty if it can."""
    if problem.sells_labels:
        return f"{problem.name} sells labels, and a path needs all of them"
    if problem.task == "classification" and study.folds and dataset.task == "classification":
        least = min(int(np.sum(dataset.y_train == label)) for label in np.unique(dataset.y_train))
        if least < study.folds:
            return f"{study.folds} folds of a class that has {least} training points; take fewer --folds"
    elif study.folds > len(dataset.y_train):
        return f"{study.folds} folds of {len(dataset.y_train)} training points; take fewer --folds"
    return ""
