"""Studies and the runs that they stand for: formulations, parameters, grids, paths, order."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.datasets.dataset import Dataset, DataSource
from harness.datasets.files import IN_MEMORY
from harness.kernels.checks import check_precomputed
from harness.kernels.functions import Kernel, Precomputed
from harness.kernels.points import scale_gamma
from harness.measure.metrics import applicable
from harness.measure.outcome import NO_LIMITS, Limits
from harness.problems.problem import Problem
from harness.registry.discovery import Registry
from harness.registry.entries import BrokenPlugin, ConfiguredSolver
from harness.run.dependencies import declared, look_up
from harness.run.dual_bounds import lacks_dual, makes_dual
from harness.run.environments import missing
from harness.run.messages import RunSpec, data_key
from harness.solver.path import Grid
from harness.solver.protocol import Solver
from harness.support import parameters, selection
from harness.support.errors import PluginError, UsageError
from harness.support.machine import machine

_MOST_RUNS = 1_000_000  # runs of a study without --yes
_RUN_BYTES = 8_000  # bytes of the driver's memory for a run: its plan and key, 600, its record without a trace, 6,300
_MOST_CELLS = 1_000_000  # cells of a path, whose figures are all in memory at once


@dataclass(frozen=True)
class Study:
    """A comparison as the user states it; lists make a grid.

    formulations : ids; None: each solver's preferred one
    formulation_values : formulation -> its parameter -> list of values; they come before ``problem_values``
    kernel : selection, for example ``rbf[gamma=[0.1,1]],linear``; None: the data set's default
    kernel_values : gamma, degree, coef0 -> list of values (numbers, or ``scale`` for gamma); empty: the data set's default
    problem_values : parameter of a formulation -> list of values; empty: the data set's default
    repeat : how often each run is carried out; None: until the fastest solvers are known, see `harness.run.repeats`
    limits : of a run
    time_budget : the time limit is one that the user set, an equal budget for all: a run that it stops did what was asked.
        Else such a run is unfinished
    threads : BLAS / OpenMP threads of a run
    jobs : runs at the same time; a run is pinned to cores that no other one has
    fresh : measure again what the store already holds
    core_set_oracle : solver of the core-set certificate of the hull formulations, by name; empty: no such certificate
    path : parameter -> its values: a run goes through all of them, see `harness.solver.path`; empty: a run is one problem
    folds : of the cross-validation along a path; 0: none
    cold : a path is a run more, which solves its cells one by one from nothing
    executor : what carries the runs to nodes, ``SCHEME://PLACE``; empty: they are this machine's processes
    part : I and N: the I-th of N parts of the runs; see :func:`part_of`
    keep_models : store the final model of each run, so that its certificate can be verified elsewhere
    """

    solvers: list[ConfiguredSolver | BrokenPlugin]
    datasets: list[DataSource]
    formulations: list[str] | None = None
    formulation_values: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    kernel: str | None = None
    kernel_values: Mapping[str, list[Any]] = field(default_factory=dict)
    problem_values: Mapping[str, list[Any]] = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    repeat: int | None = 1
    limits: Limits = NO_LIMITS
    time_budget: bool = False
    threads: int = 1
    jobs: int = 1
    cache_mb: float = 256.0
    fresh: bool = False
    store: Path | None = None
    plugin_paths: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    core_set_oracle: str = ""
    path: Mapping[str, Sequence[float]] = field(default_factory=dict)
    folds: int = 0
    cold: bool = False
    executor: str = ""
    part: tuple[int, int] = (1, 1)
    keep_models: bool = False

    @property
    def sha256(self) -> str:
        """SHA-256 of :attr:`text`."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @functools.cached_property
    def text(self) -> str:
        """What is compared, as JSON: equal for a file, a command line and a call that mean the same.

        It does not depend on where results and files lie, whether they are measured anew and what is left at its default: an
        option that a later version brings changes no hash.
        """
        values = vars(self) | {
            "solvers": [_solver_part(item) for item in self.solvers],
            "datasets": [[source.name, _source_part(source)] for source in self.datasets],
            "kernel": self.kernel and [selection.text_of(item) for item in selection.parse(self.kernel)],
            "limits": {name: value for name, value in asdict(self.limits).items() if value is not None},
            "seeds": tuple(self.seeds),
        }
        usual = vars(Study([], [])) | {"limits": {}}
        parts = {name: value for name, value in values.items() if value != usual[name] and name not in _NOT_HASHED}
        # one way to write a number: 10.0 as 10
        canonical = json.loads(json.dumps(parts, default=str), parse_float=_number)
        return json.dumps(canonical, sort_keys=True)


_NOT_HASHED = ("store", "fresh", "plugin_paths", "executor", "part", "keep_models")


def _solver_part(item: ConfiguredSolver | BrokenPlugin) -> list[Any]:
    """Return plugin and name of a solver, its parameters that are not at their defaults, and those of the problem."""
    if isinstance(item, BrokenPlugin):
        return [item.plugin, item.solver]
    return [item.plugin, item.solver.name, parameters.changed(item.solver), item.problem_values]


def _source_part(source: DataSource) -> dict[str, Any]:
    """Return the parameters of a source that are not at their defaults; of a file its name, or its content's hash."""
    values = parameters.changed(source)
    for name in {"path", "test"} & values.keys():
        if isinstance(values[name], str):
            path = Path(values[name])
            values[name] = path.parent.name if path.parent.parent.name == IN_MEMORY else path.name
    return values


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


# -- from a study to its runs -----------------------------------------------------------------------------


def plan(study: Study, registry: Registry, datasets: Mapping[str, Dataset]) -> list[RunSpec]:
    """Return the runs of a study in the order they are carried out.

    Parameters
    ----------
    datasets : data key of each source -> loaded data, for the defaults (kernel, gamma, C)

    Repetitions and seeds outermost, solvers innermost, so that a disturbance of the machine falls on all solvers alike.

    Raises
    ------
    UsageError : a parameter value out of range.
    """
    loaded = ((source, datasets[key_of_source(source, registry)]) for source in study.datasets)
    cells = [spec for source, dataset in loaded for spec in _cells(study, registry, source, dataset)]
    order = itertools.product(range(study.repeat or 1), study.seeds, cells)
    specs = [replace(cell, seed=seed, repetition=repetition) for repetition, seed, cell in order]
    return specs if study.part == (1, 1) else part_of(specs, study)


def key_of_source(source: DataSource, registry: Registry) -> str:
    """Return the key of a source's data, see `RunSpec.data_key`."""
    return data_key(registry.name_of("data set", type(source)), parameters.values_of(source))


def part_of(specs: Sequence[RunSpec], study: Study) -> list[RunSpec]:
    """Return the runs of the study's part, in their order.

    A block is all solvers on one problem and data set with one seed and repetition. It stays whole, as ratios of costs need one
    machine. The parts are disjoint, together they are all runs, and they differ by one block at most. Each next N blocks are
    dealt out from the next part on, so that no part gets all blocks of one data set or one C.
    """
    number, parts = study.part
    blocks = enumerate(block_numbers(specs, study))
    return [specs[index] for index, block in blocks if (block + block // parts) % parts == number - 1]


def block_numbers(specs: Sequence[RunSpec], study: Study) -> list[int]:
    """Return the number of the block that runs belong to: all solvers on one problem, data set, seed and repetition."""
    listed = [study.problem_values, *study.formulation_values.values()]
    swept = {name for options in listed for name, values in options.items() if len(values) > 1}
    blocks: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], int] = {}  # block of a data set, seed and repetition: for rows that have no problem
    numbers = [0] * len(specs)
    for index, spec in sorted(enumerate(specs), key=lambda pair: not pair[1].kernel):
        values = {name: value for name, value in spec.problem_parameters.items() if name in swept}
        problem = json.dumps([spec.kernel, spec.kernel_parameters, values], sort_keys=True, default=str)
        data = spec.data_key, spec.seed, spec.repetition
        joined = None if spec.kernel else first.get(data)
        numbers[index] = blocks.setdefault((*data, problem), len(blocks)) if joined is None else joined
        first.setdefault(data, numbers[index])
    return numbers


class Turns:
    """The order of runs where some lack a dual for their target gap: in a block, which is of one formulation here, they are last."""

    def __init__(self, specs: Sequence[RunSpec], study: Study, registry: Registry) -> None:
        wanting = enumerate(specs) if study.limits.target_gap is not None else ()
        self._lacking = {index for index, spec in wanting if lacks_dual(spec, registry)}
        numbers = block_numbers(specs, study) if self._lacking else [0] * len(specs)
        self._blocks = [(number, spec.formulation) for number, spec in zip(numbers, specs, strict=True)]
        self._with_lacking = {self._blocks[index] for index in self._lacking}
        candidates = zip(self._blocks, specs, strict=True)
        self._with_dual = {of for of, spec in candidates if of in self._with_lacking and makes_dual(spec, registry)}

    def gets_dual(self, index: int) -> bool:
        """Return whether a run lacks a dual that another run of its block makes."""
        return index in self._lacking and self._blocks[index] in self._with_dual

    def groups(self, indices: Iterable[int]) -> list[list[int]]:
        """Return runs in their order, each by itself; those of a block where some lack a dual together, these last."""
        groups: dict[object, list[int]] = {}
        for index in indices:
            block = self._blocks[index]
            groups.setdefault(block if block in self._with_lacking else index, []).append(index)
        return [sorted(group, key=self._lacking.__contains__) for group in groups.values()]


def check_size(counts: Sequence[tuple[int, str]], *, many: bool) -> None:
    """Refuse too many runs before any is planned.

    counts : what multiplies to the runs, at most, as (count, noun) pairs, see :func:`factors`
    many : more than a million are allowed

    Raises
    ------
    UsageError : above a million runs unless ``many``; above what fits into memory always.
    """
    runs = math.prod(count for count, _ in counts)
    if runs > _MOST_RUNS and not many:
        whole = " x ".join(f"{count:,} {noun}" for count, noun in counts if count != 1)
        raise UsageError(f"{whole} = {runs:,} runs; above {_MOST_RUNS:,} they are only carried out with --yes.")
    most = int(machine()["memory_bytes"]) // _RUN_BYTES
    if runs > max(most, _MOST_RUNS):
        raise UsageError(
            f"{runs:,} runs; the results of {most:,} fit into the memory of this machine: take a range of --seeds at a time."
        )


def factors(study: Study, registry: Registry) -> list[tuple[int, str]]:
    """Return what multiplies to the runs of a study: counts and their plural nouns."""
    listed = [study.kernel_values, study.problem_values, *study.formulation_values.values()]
    return [
        (len(study.solvers), "solvers"),
        (len(study.datasets), "data sets"),
        (len(registry.select_kernels(study.kernel)) if study.kernel else 1, "kernels"),
        *((len(values), f"values of {name}") for options in listed for name, values in options.items()),
        (2 if study.path and study.cold else 1, "starts"),
        (len(study.seeds), "seeds"),
        (study.repeat or 1, "repetitions"),
    ]


def _formulations(solver: Solver, study: Study, registry: Registry, task: str) -> list[type[Problem]]:
    """Return the formulations a solver is run on: those of ``--formulation``, else those the study is about.

    Without ``--formulation`` a study is about each solver's preferred formulation for the data's ``task``; a solver
    of several is run on all of these that it solves, so that ``qp,lasvm,fw`` compares qp with both. One of every dual
    form follows the others.
    """
    if study.formulations is not None:
        solved = registry.solved_by(type(solver))
        return [cls for cls in solved if registry.name_of("formulation", cls) in study.formulations]
    solvers = [solver, *(item.solver for item in study.solvers if isinstance(item, ConfiguredSolver))]
    fitting = [[cls for cls in registry.solved_by(type(other)) if cls.task == task] for other in solvers]
    if not fitting[0]:
        return registry.solved_by(type(solver))[:1]  # a row that says which data it needs
    preferred = [(other.solves_dual_forms, cls[0].name) for other, cls in zip(solvers, fitting, strict=True) if cls][1:]
    about = [name for follows, name in preferred if not follows] or [name for _, name in preferred[:1]]
    return [cls for cls in fitting[0] if cls.name in about] or fitting[0][:1]


def _mismatch(problem: type[Problem], source: DataSource, task: str, registry: Registry) -> str:
    """Return why ``problem`` cannot be stated over data for another ``task``, and what can."""
    reason = f"{problem.name} needs {problem.task} data; {source.label} is for {task}"
    other = source.for_task("regression" if problem.task == "regression" else "classification")
    if other != source:
        return f"{reason}: take {other.label}"
    able = [name for name, cls in registry.formulations.items() if cls.task == task]
    return f"{reason}: take other data, or --formulation {' or '.join(able)}"


def _cells(study: Study, registry: Registry, source: DataSource, dataset: Dataset) -> Iterator[RunSpec]:
    """Yield the runs on one data set, solvers innermost, without seed and repetition."""
    common = RunSpec(
        plugin="", solver="", parameters={}, dataset=registry.label("data set", source),
        source=registry.name_of("data set", type(source)),
        source_parameters=parameters.values_of(source), limits=study.limits, threads=study.threads, cache_mb=study.cache_mb,
        plugin_paths=tuple(study.plugin_paths), metrics=tuple(study.metrics), core_set_oracle=study.core_set_oracle,
        data_sha256=dataset.sha256, keep_model=study.keep_models,
    )  # fmt: skip
    for item in study.solvers:
        if isinstance(item, BrokenPlugin):
            name = item.solver or item.plugin
            yield replace(common, plugin=item.plugin, solver=name, label=name, broken_reason=item.sentence)
            continue
        solver, cls, values = item.solver, type(item.solver), parameters.values_of(item.solver)
        texts = (value for value in values.values() if isinstance(value, str))
        named = {registry.owner("solver", text.partition("[")[0]) for text in texts}
        configured = replace(
            common, plugin=item.plugin, solver=solver.name, parameters=values, helpers=tuple(sorted(named - {""})),
            label=registry.label("solver", solver), requires=solver.requires, skip_reason=missing(solver.name, solver.requires),
        )  # fmt: skip
        try:
            commands = declared(solver)
        except PluginError as error:
            yield replace(configured, broken_reason=str(error))
            continue
        facts = look_up(commands)
        configured = replace(configured, depends_on=facts)
        if lost := [command for command in commands if command not in facts]:
            reason = f"{solver.name} needs {', '.join(lost)}: not on PATH, or no such file. Install it, or change a parameter."
            configured = replace(configured, skip_reason=configured.skip_reason or reason)
        problems = _formulations(solver, study, registry, dataset.task)
        if not problems:
            solved = ", ".join(problem.name for problem in registry.solved_by(cls))
            wanted = ", ".join(study.formulations or registry.not_installed(cls))
            reason = registry.why_unsolvable(cls) or f"{solver.name} solves {solved}, not {wanted}"
            yield replace(configured, formulation=wanted, skip_reason=reason)
        elif unknown := [cls.name for cls in problems if cls not in registry.formulations.values()]:
            problems = []
            reason = f"solver '{solver.name}' solves '{unknown[0]}', a formulation that no plugin registers"
            yield replace(configured, broken_reason=f"{reason}; return its class from harness_formulations.")
        for problem in problems:
            yield from _problem_cells(study, registry, source, dataset, item, problem, configured)


def _problem_cells(
    study: Study, registry: Registry, source: DataSource, dataset: Dataset, item: ConfiguredSolver,
    problem: type[Problem], configured: RunSpec,
) -> Iterator[RunSpec]:  # fmt: skip
    """Yield the runs of a solver on one formulation of one data set: the grid of kernels and parameters."""
    named = [registry.resolve("metric", metric) for metric in (*problem.metrics, *study.metrics)]
    metrics = applicable(named, registry.metrics, dataset.task)
    oracle = study.core_set_oracle if problem.has_core_set or problem.columns else ""
    name, fits = registry.name_of("formulation", problem), dataset.task == problem.task
    reason = configured.skip_reason if fits else _mismatch(problem, source, dataset.task, registry)
    grid = _kernels(study, registry, item, dataset), _problem_grid(study, item, problem, dataset, name)
    for (kernel, kernel_values), values in itertools.product(*grid):
        of_kernel = registry.name_of("kernel", kernel)
        cell = replace(
            configured, formulation=name, metrics=metrics, core_set_oracle=oracle, queries_targets=problem.queries_targets,
            problem_parameters=values, kernel=of_kernel, kernel_parameters=kernel_values, skip_reason=reason,
            trusted=registry.owners(name, of_kernel, configured.source, metrics, oracle),
        )  # fmt: skip
        yield from _paths(study, kernel, problem, dataset, cell) if study.path else (cell,)


def _problem_grid(
    study: Study, item: ConfiguredSolver, problem: type[Problem], dataset: Dataset, name: str
) -> list[dict[str, Any]]:
    """Return the formulation's parameter assignments: brackets win over options, options over the data set's."""
    names, owner, cls = _names(problem.known_parameters()), f"formulation '{name}'", problem.parameter_class
    listed = study.formulation_values.get(name, {}), study.problem_values
    cells = _grid(names, _single(item.problem_values), *listed, _single(dataset.defaults))
    return [parameters.values_of(cls(**parameters.validated(cls, cell, owner=owner))) for cell in cells]


def _kernels(
    study: Study, registry: Registry, item: ConfiguredSolver, dataset: Dataset
) -> list[tuple[type[Kernel], dict[str, Any]]]:
    """Return (kernel, parameters) pairs of the grid: a solver's brackets win over a kernel's, those over options."""
    default_name = str(dataset.defaults.get("kernel", "rbf"))
    kernels: dict[str, tuple[type[Kernel], dict[str, Any]]] = {}
    for name, bracketed in registry.select_kernels(study.kernel or default_name):
        cls = registry.kernel_class(name)
        if issubclass(cls, Precomputed):
            check_precomputed(dataset)
        defaults = {"gamma": "scale", **(dataset.defaults if name == default_name else {})}
        listed = _single(item.problem_values), _single(bracketed), study.kernel_values, _single(defaults)
        for values in _grid(_names(parameters.parameters_of(cls)), *listed):
            if values.get("gamma") == "scale":
                values["gamma"] = scale_gamma(dataset.x_train)
            kernel = cls(**parameters.validated(cls, values, owner=f"kernel '{name}'"))
            kernels[f"{name} {kernel!r}"] = (cls, parameters.values_of(kernel))
    return list(kernels.values())


def _names(known: Iterable[parameters.Parameter]) -> list[str]:
    return [parameter.name for parameter in known]


def _single(values: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [value] for name, value in values.items()}


def _grid(names: Sequence[str], *options: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield all combinations of the parameters' values, which are those of the first of ``options`` that has any."""
    given = {name: [values[name] for values in options if values.get(name)] for name in names}
    axes = {name: values[0] for name, values in given.items() if values}
    for combination in itertools.product(*axes.values()):
        yield dict(zip(axes, combination, strict=True))


# -- paths of problems ------------------------------------------------------------------------------------


def check_path(study: Study, registry: Registry) -> None:
    """Raise UsageError for a path that no run can be; needs no data."""
    if not study.path:
        for name in ("folds", "cold"):
            if getattr(study, name):
                raise UsageError(f"--{name} is about a path; add --path, for example --path C,gamma.")
        return
    of_kernels = {name for cls in registry.kernels.values() for name in _names(parameters.parameters_of(cls))}
    fixed: list[Mapping[str, Any]] = [study.problem_values, study.kernel_values, *study.formulation_values.values()]
    fixed += [item.problem_values for item in study.solvers if isinstance(item, ConfiguredSolver)]
    for name in study.path:
        known = [*registry.problem_parameters(), *sorted(of_kernels)]
        parameters.check_known("parameter of a formulation or a kernel", name, known)
        if any(values.get(name) for values in fixed):
            raise UsageError(f"{name} is given twice, as by --{name} and --path {name}; leave out one of the two.")
    single = {"core-set-oracle": study.core_set_oracle, "iteration-limit": study.limits.iteration_limit}
    for option in (option for option, value in single.items() if value):
        raise UsageError(f"--{option} is about one problem, not about a path; leave out one of the two.")
    cells = math.prod(map(len, study.path.values())) * max(1, study.folds)
    if cells > _MOST_CELLS:
        raise UsageError(f"--path: {cells:,} cells in a run, and at most {_MOST_CELLS:,} are taken; give fewer values.")


def _paths(
    study: Study, kernel: type[Kernel], problem: type[Problem], dataset: Dataset, cell: RunSpec
) -> Iterator[RunSpec]:
    """Yield a run of one problem as the paths that it stands for: warm, and cold too if the study has such paths."""
    of_problem = _names(problem.known_parameters())
    of_kernel = set(_names(parameters.parameters_of(kernel))).difference(of_problem)
    problem_axes = _axes(problem.parameter_class, study, of_problem, f"formulation '{problem.name}'")
    kernel_axes = _axes(kernel, study, of_kernel, f"kernel '{kernel.name}'")
    lost = next((name for name in study.path if name not in problem_axes | kernel_axes), "")
    reason = f"{problem.name} with the kernel {kernel.name} has no {lost}, which the path goes through" if lost else ""
    path = replace(
        cell,
        problem_parameters={k: v for k, v in cell.problem_parameters.items() if k not in problem_axes},
        kernel_parameters={k: v for k, v in cell.kernel_parameters.items() if k not in kernel_axes},
        skip_reason=cell.skip_reason or reason or _why_no_path(study, problem, dataset, cell),
        core_set_oracle="",
    )
    for cold in (False, True) if study.cold else (False,):
        yield replace(path, path=Grid(problem_axes, kernel_axes, study.folds, cold))


def _axes(cls: type, study: Study, names: Iterable[str], owner: str) -> dict[str, tuple[float, ...]]:
    """Return the path's values of the parameters ``names`` as their class has them, ascending."""
    return {
        name: tuple(sorted({parameters.validated(cls, {name: value}, owner=owner)[name] for value in study.path[name]}))
        for name in study.path
        if name in names
    }


def _why_no_path(study: Study, problem: type[Problem], dataset: Dataset, cell: RunSpec) -> str:
    """Return why a path cannot be gone through on these data; empty if it can."""
    for name, other in problem.stand_ins().items():
        if name in study.path and cell.problem_parameters.get(other) is not None:
            return f"{other} is given, and the {name} of the path only stands for {other}"
    if problem.queries_targets:
        return f"{problem.name} queries targets, and a path needs all of them"
    least, of = len(dataset.y_train), ""
    if problem.task == dataset.task == "classification":
        least, of = min(np.unique(dataset.y_train, return_counts=True)[1]), "a class that has "
    return f"{study.folds} folds of {of}{least} training points; take fewer --folds" if study.folds > least else ""
