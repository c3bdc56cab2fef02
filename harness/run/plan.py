"""What a comparison is, the request and the runs it stands for: formulations, parameters, grids, paths, order."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.datasets.files import IN_MEMORY
from harness.kernels.checks import check_precomputed
from harness.kernels.functions import Precomputed
from harness.kernels.points import scale_gamma
from harness.measure.metrics import applicable
from harness.measure.outcome import NO_LIMITS, Limits
from harness.registry.discovery import Registry
from harness.registry.entries import BrokenPlugin, ConfiguredSolver
from harness.run.environments import missing
from harness.solver.path import Grid
from harness.support import parameters, selection
from harness.support.errors import UsageError
from harness.support.machine import machine

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset, DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.solver.protocol import Solver

_MOST_RUNS = 1_000_000  # without being told that so many are meant
_RUN_BYTES = 8_000  # of the driver's memory: a run's plan and key (0.6 kB) and its record (6.3 kB, without a trace)
_MOST_CELLS = 1_000_000  # of a path: what is known of them is held at once


@dataclass(frozen=True)
class Study:
    """A comparison as the user asks for it; lists make a grid.

    formulations : ids; None: each solver's preferred one (see plan.py)
    formulation_values : formulation -> its own parameters -> list of values; they come before ``problem_values``
    kernel : selection, for example ``rbf[gamma=[0.1,1]],linear``; None: the data set's default
    kernel_values : gamma, degree, coef0 -> list of values (numbers, or ``scale`` for gamma); empty: the data set's default
    problem_values : parameter of a formulation -> list of values; empty: the data set's default
    limits : of each run
    threads : BLAS / OpenMP threads of a run
    jobs : runs at the same time; each is pinned to its own cores
    fresh : measure again what the store already holds
    many : carry it out even if it is more than a million runs
    core_set_oracle : solver of the core-set certificate of the hull formulations, by name; empty: no such certificate
    path : parameter -> its values: each run goes through all of them, see `harness.solver.path`; empty: a run is one problem
    folds : of the cross-validation along a path; 0: none
    cold : beside each path a run that solves its cells one by one, each from nothing
    executor : what carries the runs to nodes, ``SCHEME://PLACE``; empty: they are this machine's own processes
    part : I and N: the I-th of N parts of the runs; see :func:`part_of`
    """

    solvers: list[ConfiguredSolver | BrokenPlugin]
    datasets: list[DataSource]
    formulations: list[str] | None = None
    formulation_values: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    kernel: str | None = None
    kernel_values: Mapping[str, list[Any]] = field(default_factory=dict)
    problem_values: Mapping[str, list[Any]] = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    repeat: int = 1
    limits: Limits = NO_LIMITS
    threads: int = 1
    jobs: int = 1
    cache_mb: float = 256.0
    fresh: bool = False
    many: bool = False
    store: Path | None = None
    plugin_paths: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    core_set_oracle: str = ""
    path: Mapping[str, Sequence[float]] = field(default_factory=dict)
    folds: int = 0
    cold: bool = False
    executor: str = ""
    part: tuple[int, int] = (1, 1)

    @functools.cached_property
    def sha256(self) -> str:
        """SHA-256 of what is asked: equal for a file, a command line and a call that mean the same.

        Where it is kept, whether it is measured anew and in which folder its files lie is no part of it, nor is what is
        left as it comes: an option that a later version brings changes no hash.
        """
        usual = {each.name: each.default for each in fields(self) if each.default is not MISSING}
        asked = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _OF_NO_STUDY}
        asked |= {
            "solvers": [_asked_of(item) for item in self.solvers],
            "datasets": [[source.name, _unlocated(source)] for source in self.datasets],
            "kernel": self.kernel and [selection.text_of(item) for item in selection.parse(self.kernel)],
            "limits": {name: value for name, value in asdict(self.limits).items() if value is not None},
            "seeds": [self.seeds[0], len(self.seeds)] if _is_range(self.seeds) else list(self.seeds),
        }
        kept = {
            name: value for name, value in asked.items() if value != usual.get(name) and value not in ({}, [], [0, 1])
        }
        return hashlib.sha256(json.dumps(_plain(kept), sort_keys=True, default=str).encode()).hexdigest()


_OF_NO_STUDY = ("store", "fresh", "many", "plugin_paths", "executor", "part")


def _asked_of(item: ConfiguredSolver | BrokenPlugin) -> list[Any]:
    """Return a solver as it is asked for: plugin, name, the parameters that are not as they come, the problem's."""
    if isinstance(item, BrokenPlugin):
        return [item.plugin, item.solver]
    return [item.plugin, item.solver.name, parameters.changed(item.solver), item.problem_values]


def _unlocated(source: DataSource) -> dict[str, Any]:
    """Return the parameters of a source that are not as they come; of a path the name of its file, or its content's hash."""
    found = parameters.changed(source)
    return {
        name: _file(Path(value)) if isinstance(value, str) and name in ("path", "test") else value
        for name, value in found.items()
    }


def _file(path: Path) -> str:
    return path.parent.name if path.parent.parent.name == IN_MEMORY else path.name


def _is_range(seeds: Sequence[int]) -> bool:
    return len(seeds) > 0 and (isinstance(seeds, range) or list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))))


def _plain(value: Any) -> Any:
    """Return nested values in which a number has one way to be written: 10.0 as 10."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def data_key(source: str, source_parameters: Mapping[str, Any]) -> str:
    """Return what tells one configured data source from another; two files may have the same label."""
    return json.dumps([source, dict(source_parameters)], sort_keys=True, default=str)


@dataclass(frozen=True)
class RunSpec:
    """One run as plain data: all a worker needs to carry it out, and all that its result depends on."""

    plugin: str
    solver: str
    parameters: dict[str, Any]  # the solver's
    dataset: str  # label, e.g. checkerboard[n=500]
    source: str  # data source name
    source_parameters: dict[str, Any]
    formulation: str = ""
    problem_parameters: dict[str, Any] = field(default_factory=dict)
    kernel: str = ""
    kernel_parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    repetition: int = 0
    limits: Limits = NO_LIMITS
    threads: int = 1
    cache_mb: float = 256.0
    plugin_paths: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    core_set_oracle: str = ""
    queries_targets: bool = False  # its formulation does
    path: Grid | None = None  # None: one problem
    trusted: tuple[str, ...] = ()  # plugins that own its formulation, kernel, data, metrics and oracle: the certifier's
    data_sha256: str = ""  # of the data the comparison was planned with
    skip_reason: str = ""  # not empty: the run is a row without being carried out
    broken_reason: str = ""  # not empty: the plugin could not be loaded
    requires: tuple[str, ...] = ()  # of its solver's class: they say in which environment its worker runs
    label: str = ""  # of the solver, with the parameters that are not as they come

    @property
    def data_key(self) -> str:
        """Which configured data source the run reads."""
        return data_key(self.source, self.source_parameters)

    def at(self, values: Mapping[str, float]) -> RunSpec:
        """Return the run of one cell of a path, by the values of the path's parameters: a run of one problem."""
        assert self.path is not None
        problem, kernel = dict(self.problem_parameters), dict(self.kernel_parameters)
        for name, value in values.items():
            (kernel if name in self.path.kernel_axes else problem)[name] = value
        return replace(self, path=None, problem_parameters=problem, kernel_parameters=kernel)

    @property
    def first(self) -> RunSpec:
        """The run itself; of a path that of its first values."""
        return self if self.path is None else self.at({name: values[0] for name, values in self.path.axes.items()})

    @property
    def worker(self) -> str:
        """Key of the worker process that carries the run out: one for each solver, which its configurations share.

        Where targets are queried the worker is another one, which holds none.
        """
        own = {"plugin": self.plugin, "solver": self.solver, "threads": self.threads, "queries": self.queries_targets}
        return json.dumps({**own, "plugin_paths": self.plugin_paths}, sort_keys=True, default=str)

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready data, its own: to be read, not changed."""
        return {**vars(self), "limits": asdict(self.limits), "path": self.path and self.path.as_dict()}

    def key(self, surroundings: Mapping[str, Any]) -> str:
        """Return the SHA-256 of the run and what its result depends on: code, versions, data, machine."""
        text = json.dumps([self.as_dict(), dict(surroundings)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


# -- from a study to its runs -----------------------------------------------------------------------------


def plan(study: Study, registry: Registry, datasets: Mapping[str, Dataset]) -> list[RunSpec]:
    """Return the runs of a study in the order they are carried out.

    Parameters
    ----------
    datasets : data key of each source -> loaded data, for the defaults (kernel, gamma, C)

    Repetitions and seeds outermost, solvers innermost, so that a disturbance of the machine falls on all solvers alike.

    Raises
    ------
    UsageError : an unknown formulation or kernel, a parameter value out of range, or more runs than were meant.
    """
    check_names(study, registry)
    check_size(factors(study, registry), many=study.many)
    cells = [
        spec
        for source in study.datasets
        for spec in _cells(study, registry, source, datasets[data_key(source.name, parameters.values_of(source))])
    ]  # fmt: skip
    specs: list[RunSpec] = []
    for repetition, seed in itertools.product(range(study.repeat), study.seeds):
        specs.extend(replace(cell, seed=seed, repetition=repetition) for cell in cells)
    return specs if study.part == (1, 1) else part_of(specs, study)


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
    given = [study.problem_values, *study.formulation_values.values()]
    swept = {name for values in given for name, several in values.items() if len(several) > 1}
    blocks: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], int] = {}  # block of a data set, seed and repetition: for rows that have no problem
    numbers = {}
    for index, spec in sorted(enumerate(specs), key=lambda pair: not pair[1].kernel):
        values = {name: value for name, value in spec.problem_parameters.items() if name in swept}
        problem = json.dumps([spec.kernel, spec.kernel_parameters, values], sort_keys=True, default=str)
        of_data = spec.data_key, spec.seed, spec.repetition
        found = None if spec.kernel else first.get(of_data)
        numbers[index] = blocks.setdefault((*of_data, problem), len(blocks)) if found is None else found
        first.setdefault(of_data, numbers[index])
    return [numbers[index] for index in range(len(specs))]


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


def check_size(asked: Sequence[tuple[int, str]], *, many: bool) -> None:
    """Refuse more runs than anybody can have meant, none of which is made for it.

    asked : what multiplies to the runs, at most, as (count, noun) pairs, see :func:`factors`
    many : more than a million are meant

    Raises
    ------
    UsageError : above a million runs unless ``many``; above what fits into memory always.
    """
    runs = math.prod(count for count, _ in asked)
    if runs > _MOST_RUNS and not many:
        whole = " x ".join(f"{count:,} {noun}" for count, noun in asked if count != 1)
        raise UsageError(f"{whole} = {runs:,} runs; above {_MOST_RUNS:,} they are only carried out with --yes.")
    most = int(machine()["memory_bytes"]) // _RUN_BYTES
    if runs > max(most, _MOST_RUNS):
        raise UsageError(
            f"{runs:,} runs; the results of {most:,} fit into the memory of this machine: take a range of --seeds at a time."
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
        return registry.solved_by(type(solver))[:1]  # a row that says which data it needs
    chosen = [item.solver for item in study.solvers if isinstance(item, ConfiguredSolver) and fitting(item.solver)]
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


def _cells(study: Study, registry: Registry, source: DataSource, dataset: Dataset) -> Iterator[RunSpec]:
    """Yield the runs on one data set, solvers innermost, without seed and repetition."""
    common = RunSpec(
        plugin="",
        solver="",
        parameters={},
        dataset=source.label,
        source=source.name,
        source_parameters=parameters.values_of(source),
        limits=study.limits,
        threads=study.threads,
        cache_mb=study.cache_mb,
        plugin_paths=tuple(study.plugin_paths),
        metrics=tuple(study.metrics),
        core_set_oracle=study.core_set_oracle,
    )
    for item in study.solvers:
        if isinstance(item, BrokenPlugin):
            name = item.solver or item.plugin
            yield replace(common, plugin=item.plugin, solver=name, label=name, broken_reason=item.sentence)
            continue
        who: dict[str, Any] = {
            "solver": item.solver.name,
            "parameters": parameters.values_of(item.solver),
            "label": item.solver.label,
            "requires": item.solver.requires,
            "skip_reason": missing(item.solver.name, item.solver.requires),
        }
        own = replace(common, plugin=item.plugin, **who)
        problems = formulations_of(item.solver, study, registry, dataset.task)
        if not problems:
            solved = ", ".join(cls.name for cls in registry.solved_by(type(item.solver)))
            asked = ", ".join(study.formulations or registry.not_installed(type(item.solver)))
            reason = registry.why_unsolvable(type(item.solver)) or f"{item.solver.name} solves {solved}, not {asked}"
            yield replace(own, formulation=asked, skip_reason=reason)
            continue
        strange = [cls.name for cls in problems if cls.name not in registry.formulations]
        if strange:
            reason = (
                f"solver '{item.solver.name}' solves '{strange[0]}', a formulation that no plugin registers; "
                "return its class from harness_formulations."
            )
            yield replace(own, broken_reason=reason)
            continue
        for problem in problems:
            fits = dataset.task == problem.task
            metrics = applicable((*problem.metrics, *study.metrics), registry.metrics, dataset.task)
            oracle = study.core_set_oracle if problem.has_core_set or problem.columns else ""
            stated = replace(
                own,
                formulation=problem.name,
                metrics=metrics,
                core_set_oracle=oracle,
                queries_targets=problem.queries_targets,
                skip_reason=own.skip_reason if fits else mismatch(problem, source, dataset.task, registry),
            )
            for kernel, kernel_values in _kernels(study, registry, item, dataset):
                trusted = registry.owners(problem.name, kernel.name, source.name, metrics, oracle)
                for problem_values in _problem_grid(study, item, problem, dataset):
                    cell = replace(
                        stated,
                        problem_parameters=problem_values,
                        kernel=kernel.name,
                        kernel_parameters=kernel_values,
                        trusted=trusted,
                    )
                    yield from _along_path(study, kernel, problem, dataset, cell) if study.path else (cell,)


def _problem_grid(
    study: Study, item: ConfiguredSolver, problem: type[Problem], dataset: Dataset
) -> list[dict[str, Any]]:
    """Return the formulation's parameter assignments: brackets win over options, options over the data set's."""
    names = [known.name for known in problem.known_parameters()]
    own = study.formulation_values.get(problem.name, {})
    axes = _axes(names, _single(item.problem_values), own, study.problem_values, _single(dataset.defaults))
    cells = []
    for cell in itertools.product(*axes.values()):
        values = parameters.validated(
            problem.parameter_class, dict(zip(axes, cell, strict=True)), owner=f"formulation '{problem.name}'"
        )
        cells.append(parameters.values_of(problem.parameter_class(**values)))
    return cells


def _kernels(
    study: Study, registry: Registry, item: ConfiguredSolver, dataset: Dataset
) -> list[tuple[type[Kernel], dict[str, Any]]]:
    """Return (kernel, parameters) pairs of the grid: a solver's brackets win over a kernel's, those over options."""
    default_name = str(dataset.defaults.get("kernel", "rbf"))
    cells: dict[str, tuple[type[Kernel], dict[str, Any]]] = {}
    for name, own in registry.select_kernels(study.kernel or default_name):
        cls = registry.kernel_class(name)
        if issubclass(cls, Precomputed):
            check_precomputed(dataset)
        names = [known.name for known in parameters.parameters_of(cls)]
        defaults = {"gamma": "scale", **(dataset.defaults if name == default_name else {})}
        axes = _axes(names, _single(item.problem_values), _single(own), study.kernel_values, _single(defaults))
        for cell in itertools.product(*axes.values()):
            values = dict(zip(axes, cell, strict=True))
            if values.get("gamma") == "scale":
                values["gamma"] = scale_gamma(dataset.x_train)
            kernel = cls(**parameters.validated(cls, values, owner=f"kernel '{name}'"))
            cells[f"{name} {kernel!r}"] = (cls, parameters.values_of(kernel))
    return list(cells.values())


def _single(values: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [value] for name, value in values.items()}


def _axes(names: Sequence[str], *given: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return the values that each parameter takes: those of the first of ``given`` that has any."""
    found = {name: [values[name] for values in given if values.get(name)] for name in names}
    return {name: values[0] for name, values in found.items() if values}


# -- paths of problems ------------------------------------------------------------------------------------


def check_path(study: Study, registry: Registry) -> None:
    """Raise UsageError for a path that no run can be; needs no data."""
    if not study.path:
        for given, name in ((study.folds, "folds"), (study.cold, "cold")):
            if given:
                raise UsageError(f"--{name} is about a path; add --path, for example --path C,gamma.")
        return
    of_problems = registry.problem_parameters()
    of_kernels = {known.name for cls in registry.kernels.values() for known in parameters.parameters_of(cls)}
    fixed: list[Mapping[str, Any]] = [study.problem_values, study.kernel_values, *study.formulation_values.values()]
    fixed += [item.problem_values for item in study.solvers if isinstance(item, ConfiguredSolver)]
    for name in study.path:
        parameters.check_known("parameter of a formulation or a kernel", name, [*of_problems, *sorted(of_kernels)])
        if any(values.get(name) for values in fixed):
            raise UsageError(f"{name} is given twice, as by --{name} and --path {name}; leave out one of the two.")
    for option, value in (
        ("core-set-oracle", study.core_set_oracle),
        ("iteration-limit", study.limits.iteration_limit),
    ):
        if value:
            raise UsageError(f"--{option} is about one problem, not about a path; leave out one of the two.")
    cells = math.prod(map(len, study.path.values())) * max(1, study.folds)
    if cells > _MOST_CELLS:
        raise UsageError(f"--path: {cells:,} cells in a run, and at most {_MOST_CELLS:,} are taken; give fewer values.")


def _along_path(
    study: Study, kernel: type[Kernel], problem: type[Problem], dataset: Dataset, cell: RunSpec
) -> Iterator[RunSpec]:
    """Yield a run of one problem as the paths that it stands for: warm, and beside it cold if that is asked for."""
    of_kernel = {known.name for known in parameters.parameters_of(kernel)}
    of_problem = {known.name for known in problem.known_parameters()}
    problem_axes = _checked(problem.parameter_class, study, of_problem, f"formulation '{problem.name}'")
    kernel_axes = _checked(kernel, study, of_kernel - of_problem, f"kernel '{kernel.name}'")
    own = replace(
        cell,
        problem_parameters={k: v for k, v in cell.problem_parameters.items() if k not in problem_axes},
        kernel_parameters={k: v for k, v in cell.kernel_parameters.items() if k not in kernel_axes},
        skip_reason=cell.skip_reason or _unfit(study, kernel, problem, dataset, cell),
        core_set_oracle="",
    )
    for cold in (False, True) if study.cold else (False,):
        yield replace(own, path=Grid(problem_axes, kernel_axes, study.folds, cold))


def _checked(cls: type, study: Study, names: set[str], owner: str) -> dict[str, tuple[float, ...]]:
    """Return the path's values of the parameters ``names`` as their class has them, ascending."""
    found = {}
    for name, values in study.path.items():
        if name in names:
            valid = {parameters.validated(cls, {name: value}, owner=owner)[name] for value in values}
            found[name] = tuple(sorted(valid))
    return found


def _unfit(study: Study, kernel: type[Kernel], problem: type[Problem], dataset: Dataset, cell: RunSpec) -> str:
    """Return why a path cannot be gone through on these data; empty if it can."""
    known = {each.name for each in (*parameters.parameters_of(kernel), *problem.known_parameters())}
    for name in study.path:
        if name not in known:
            return f"{problem.name} with the kernel {kernel.name} has no {name}, which the path goes through"
    for name, other in problem.stand_ins().items():
        if name in study.path and cell.problem_parameters.get(other) is not None:
            return f"{other} is given, and the {name} of the path only stands for {other}"
    if problem.queries_targets:
        return f"{problem.name} queries targets, and a path needs all of them"
    least, of = len(dataset.y_train), ""
    if problem.task == dataset.task == "classification":
        least, of = min(np.unique(dataset.y_train, return_counts=True)[1]), "a class that has "
    if study.folds > least:
        return f"{study.folds} folds of {of}{least} training points; take fewer --folds"
    return ""
