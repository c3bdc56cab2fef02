"""From a study to its runs: formulations, parameters, grids, order."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness import parameters
from harness.entries import Broken, Chosen
from harness.errors import UsageError
from harness.kernels.checks import check_precomputed
from harness.kernels.functions import Precomputed
from harness.machine import machine
from harness.measure.metrics import applicable
from harness.registry import Registry
from harness.run.path_plan import along_path, check_path
from harness.run.study import RunSpec, Study, data_key

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset, DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.solver import Solver

MOST_RUNS = 1_000_000  # without being told that so many are meant
RUN_BYTES = 8_000  # of the driver's memory: a run's plan and key (0.6 kB) and its record (6.3 kB, without a trace)
_NOTHING: dict[str, Any] = {"formulation": "", "problem_parameters": {}, "kernel": "", "kernel_parameters": {}}


def plan(study: Study, registry: Registry, datasets: Mapping[str, Dataset]) -> list[RunSpec]:
    """Return the runs of a study in the order they are carried out.

    Parameters
    ----------
    datasets : data key of each source -> loaded data, for the defaults (kernel, gamma, C)

    Interleaved order: repetitions and seeds outermost, solvers innermost, so that a disturbance of the
    machine falls on all solvers alike. Shuffled: the same runs in a random order that is always the same.

    Raises
    ------
    UsageError : an unknown formulation or kernel, a parameter value out of range, or more runs than were meant.
    """
    check_names(study, registry)
    check_size(count(study, registry, datasets), factors(study, registry), many=study.many)
    cells = [
        spec
        for source in study.datasets
        for spec in _cells(study, registry, source, datasets[data_key(source.name, parameters.values_of(source))])
    ]  # fmt: skip
    specs: list[RunSpec] = []
    for repetition, seed in itertools.product(range(study.repeat), study.seeds):
        specs.extend(RunSpec(**{**cell, "seed": seed, "repetition": repetition}) for cell in cells)
    if study.order == "shuffled":
        random.Random(0).shuffle(specs)
    return specs


def check_names(study: Study, registry: Registry) -> None:
    """Raise UsageError for a kernel, formulation, metric or oracle that does not exist; needs no data."""
    if study.kernel is not None:
        registry.select_kernels(study.kernel)
    for name in study.formulations or []:
        registry.formulation(name)
    for name in study.metrics:
        parameters.check_known("metric", name, registry.metrics)
    if study.core_set_oracle:
        registry.solver(study.core_set_oracle)
    check_path(study, registry)


def check_size(runs: int, asked: Sequence[tuple[int, str]], *, many: bool) -> None:
    """Refuse more runs than anybody can have meant, and more than the machine's memory holds.

    asked : what multiplies to the runs, as (count, noun) pairs, see :func:`factors`
    many : more than a million are meant

    Raises
    ------
    UsageError : above a million runs unless ``many``; above what fits into memory always.
    """
    if runs <= MOST_RUNS:
        return
    parts = [f"{count_:,} {noun}" for count_, noun in asked if count_ != 1]
    makes = "=" if math.prod(count_ for count_, _ in asked) == runs else "make"
    whole = f"{' x '.join(parts)} {makes} {runs:,} runs"
    if not many:
        raise UsageError(f"{whole}; above {MOST_RUNS:,} they are only carried out with --yes.")
    needed, there = runs * RUN_BYTES, int(machine()["memory_bytes"])
    if needed > there:
        raise UsageError(
            f"{whole}; their results take about {needed / 2**30:,.1f} GB of memory, this machine has {there / 2**30:,.1f} GB: "
            "carry them out in parts, for example a range of --seeds at a time."
        )


def factors(study: Study, registry: Registry) -> list[tuple[int, str]]:
    """Return what multiplies to the runs of a study: counts and their plural nouns."""
    kernels = len(registry.select_kernels(study.kernel)) if study.kernel else 1
    own = [values for each in study.formulation_values.values() for values in each.items()]
    listed = [*study.kernel_values.items(), *study.problem_values.items(), *own]
    return [
        (len(study.solvers), "solvers"),
        (len(study.datasets), "data sets"),
        (kernels, "kernels"),
        *((len(values), f"values of {name}") for name, values in listed),
        (2 if study.path and study.cold else 1, "starts"),
        (len(study.seeds), "seeds"),
        (study.repeat, "repetitions"),
    ]


def count(study: Study, registry: Registry, datasets: Mapping[str, Dataset] | None = None) -> int:
    """Return how many runs a study is, none of which is made for it; values that mean the same count as several.

    datasets : as :func:`plan` has them; without them, data not being read yet, each data set counts with the fewest runs
        that any data would make
    """
    tasks = ("classification", "regression")
    known: list[list[tuple[str, str]]] = [[(task, "") for task in tasks]] * len(study.datasets)
    if datasets is not None:
        loaded = [datasets[data_key(source.name, parameters.values_of(source))] for source in study.datasets]
        known = [[(dataset.task, _default_kernel(dataset))] for dataset in loaded]
    cells = {
        kind: sum(_count_cells(study, registry, item, *kind) for item in study.solvers)
        for kind in dict.fromkeys(itertools.chain.from_iterable(known))
    }
    starts = 2 if study.path and study.cold else 1
    return starts * sum(min(cells[kind] for kind in possible) for possible in known) * len(study.seeds) * study.repeat


def _count_cells(study: Study, registry: Registry, item: Chosen | Broken, task: str, default_kernel: str) -> int:
    """Return how many runs with one seed a solver has on data of a task; no default kernel: it is not known yet."""
    if isinstance(item, Broken):
        return 1
    problems = formulations_of(item.solver, study, registry, task)
    if not problems or any(cls.name not in registry.formulations for cls in problems):
        return 1  # a row that says so
    selected = study.kernel or default_kernel
    kernels = registry.select_kernels(selected) if selected else []
    widths = [_cells_of(_kernel_axes(study, registry.kernel_class(name), item, own, {})) for name, own in kernels]
    return (sum(widths) or 1) * sum(_cells_of(_problem_axes(study, item, cls, {})) for cls in problems)


def _cells_of(axes: Mapping[str, Sequence[Any]]) -> int:
    return math.prod(map(len, axes.values()))


def formulations_of(
    solver: Solver, study: Study, registry: Registry, task: str = "classification"
) -> list[type[Problem]]:
    """Return the formulations a solver is run on: those asked for, else those the study is about.

    Without ``--formulation`` a study is about each solver's preferred formulation for the data's ``task``; a solver
    of several is run on all of these that it solves, so that ``qp,lasvm,fw`` compares qp with both. One of every dual
    form follows the others.
    """
    if study.formulations is not None:
        return [cls for cls in registry.solved_by(type(solver)) if cls.name in study.formulations]

    def fitting(other: Solver) -> list[type[Problem]]:
        return [cls for cls in registry.solved_by(type(other)) if cls.task == task]

    if not fitting(solver):
        return [solver.solves[0]]  # a row that says which data it needs
    chosen = [item.solver for item in study.solvers if isinstance(item, Chosen) and fitting(item.solver)]
    narrow = [other for other in chosen if not other.solves_dual_forms] or chosen[:1]
    about = {fitting(other)[0].name for other in narrow}
    return [cls for cls in fitting(solver) if cls.name in about] or fitting(solver)[:1]


def mismatch(problem: type[Problem], source: DataSource, task: str, registry: Registry) -> str:
    """Return why ``problem`` cannot be stated over data for another ``task``, and what can."""
    found = f"{problem.name} needs {problem.task} data; {source.label} is for {task}"
    other = source.for_task("regression" if problem.task == "regression" else "classification")
    if other != source:
        return f"{found}: take {other.label}"
    able = [name for name, cls in registry.formulations.items() if cls.task == task]
    return f"{found}: take other data, or --formulation {' or '.join(able)}"


def _cells(study: Study, registry: Registry, source: DataSource, dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield the runs on one data set, solvers innermost, without seed and repetition."""
    base: dict[str, Any] = {
        "dataset": source.label,
        "source": source.name,
        "source_parameters": parameters.values_of(source),
        "limits": study.limits,
        "threads": study.threads,
        "cache_mb": study.cache_mb,
        "plugin_paths": tuple(study.plugin_paths),
        "metrics": tuple(study.metrics),
        "core_set_oracle": study.core_set_oracle,
    }
    for item in study.solvers:
        if isinstance(item, Broken):
            who = {"plugin": item.plugin, "solver": item.solver or item.plugin, "parameters": {}}
            yield {**base, **_NOTHING, **who, "broken_reason": item.sentence}
            continue
        own = {
            **base,
            "plugin": item.plugin,
            "solver": item.solver.name,
            "parameters": parameters.values_of(item.solver),
        }
        problems = formulations_of(item.solver, study, registry, dataset.task)
        if not problems:
            solved = ", ".join(cls.name for cls in registry.solved_by(type(item.solver)))
            asked = ", ".join(study.formulations or [])
            yield {
                **own,
                **_NOTHING,
                "formulation": asked,
                "skip_reason": f"{item.solver.name} solves {solved}, not {asked}",
            }
            continue
        strange = [cls.name for cls in problems if cls.name not in registry.formulations]
        if strange:
            reason = (
                f"solver '{item.solver.name}' solves '{strange[0]}', a formulation that no plugin registers; "
                "return its class from harness_formulations."
            )
            yield {**own, **_NOTHING, "broken_reason": reason}
            continue
        for problem in problems:
            for kernel_name, kernel_values in _kernels(study, registry, item, dataset):
                for problem_values in _problem_grid(study, item, problem, dataset):
                    fits = dataset.task == problem.task
                    metrics = applicable((*problem.metrics, *study.metrics), dataset.task)
                    oracle = study.core_set_oracle if problem.has_core_set or problem.gives_up_points() else ""
                    yield from along_path(
                        study,
                        registry.kernel_class(kernel_name),
                        problem,
                        dataset,
                        {
                            **own,
                            "formulation": problem.name,
                            "problem_parameters": problem_values,
                            "kernel": kernel_name,
                            "kernel_parameters": kernel_values,
                            "metrics": metrics,
                            "core_set_oracle": oracle,
                            "sells_labels": problem.sells_labels,
                            "trusted": registry.owners(problem.name, kernel_name, source.name, metrics, oracle),
                            "skip_reason": "" if fits else mismatch(problem, source, dataset.task, registry),
                        },
                    )


def _problem_grid(study: Study, item: Chosen, problem: type[Problem], dataset: Dataset) -> list[dict[str, Any]]:
    """Return the formulation's parameter assignments: brackets win over options, options over the data set's."""
    axes = _problem_axes(study, item, problem, dataset.defaults)
    cells = []
    for cell in itertools.product(*axes.values()):
        values = parameters.validated(
            problem.parameter_class, dict(zip(axes, cell, strict=True)), owner=f"formulation '{problem.name}'"
        )
        cells.append(parameters.values_of(problem.parameter_class(**values)))
    return cells


def _problem_axes(
    study: Study, item: Chosen, problem: type[Problem], defaults: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the values that each of the formulation's parameters takes; ``defaults`` are the data set's, one each."""
    axes: dict[str, list[Any]] = {}
    for known in problem.known_parameters():
        if known.name in item.problem_values:
            axes[known.name] = [item.problem_values[known.name]]
        elif known.name in study.formulation_values.get(problem.name, {}):
            axes[known.name] = list(study.formulation_values[problem.name][known.name])
        elif study.problem_values.get(known.name):
            axes[known.name] = list(study.problem_values[known.name])
        elif known.name in defaults:
            axes[known.name] = [defaults[known.name]]
    return axes


def _kernels(study: Study, registry: Registry, item: Chosen, dataset: Dataset) -> list[tuple[str, dict[str, Any]]]:
    """Return (kernel, parameters) pairs of the grid: a solver's brackets win over a kernel's, those over options."""
    default_name = _default_kernel(dataset)
    cells: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, own in registry.select_kernels(study.kernel or default_name):
        cls = registry.kernel_class(name)
        if issubclass(cls, Precomputed):
            check_precomputed(dataset)
        axes = _kernel_axes(study, cls, item, own, dataset.defaults if name == default_name else {})
        for cell in itertools.product(*axes.values()):
            values = dict(zip(axes, cell, strict=True))
            if values.get("gamma") == "scale":
                values["gamma"] = scale_gamma(dataset)
            kernel = cls(**parameters.validated(cls, values, owner=f"kernel '{name}'"))
            cells[f"{name} {kernel!r}"] = (name, parameters.values_of(kernel))
    return list(cells.values())


def _default_kernel(dataset: Dataset) -> str:
    return str(dataset.defaults.get("kernel", "rbf"))


def _kernel_axes(
    study: Study, kernel: type[Kernel], item: Chosen, own: Mapping[str, str], defaults: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the values that each of the kernel's parameters takes; ``own``: of its selection, ``defaults``: the data's."""
    axes: dict[str, list[Any]] = {}
    for known in parameters.parameters_of(kernel):
        if known.name in item.problem_values:
            axes[known.name] = [item.problem_values[known.name]]
        elif known.name in own:
            axes[known.name] = [own[known.name]]
        elif study.kernel_values.get(known.name):
            axes[known.name] = list(study.kernel_values[known.name])
        elif known.name in defaults:
            axes[known.name] = [defaults[known.name]]
        elif known.name == "gamma":
            axes[known.name] = ["scale"]
    return axes


def scale_gamma(dataset: Dataset) -> float:
    """Return 1 / (d var(x_train)), scikit-learn's ``scale``; 1/d where all features are constant."""
    x: Any = dataset.x_train
    n, d = x.shape
    mean = float(x.sum()) / (n * d)
    square = float((x.multiply(x) if hasattr(x, "multiply") else x * x).sum()) / (n * d)
    variance = square - mean * mean
    features = float(d)
    return 1.0 / (features * variance) if variance > 0.0 else 1.0 / features
