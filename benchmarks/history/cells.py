"""The cells of the grid, stated by the code of whatever commit is installed."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import shared

GRID: dict[str, Any] = json.loads((Path(__file__).resolve().parents[1] / "grid.json").read_text())
EXCLUDED = {(solver, dataset): reason for solver, dataset, reason in GRID.get("excluded", ())}
ONLY = [tuple(pair) for pair in json.loads(os.environ[shared.ONLY])] if shared.ONLY in os.environ else None
"""The cells that ``harness dashboard check`` names; None: all. asv makes tables of their solvers and data sets alone."""

SOLVERS, DATASETS = (
    [entry["name"] for entry in GRID[kind] if ONLY is None or entry["name"] in {cell[place] for cell in ONLY}]
    for place, kind in enumerate(("solvers", "datasets"))
)
PARAMS = [SOLVERS, DATASETS]  # plain names from a committed file: asv's values stand under them for all commits
VERSION = str(GRID["version"])  # asv compares what is of the same version
TIME_LIMIT = float(GRID["timeout_seconds"])


class Absent(Exception):
    """This commit has no such solver, data set or formulation: a gap in the curve, and no failure."""


class Faulty(Exception):
    """This commit has it, but it does not work."""


@functools.cache
def statuses() -> Any:
    """Return the commit's statuses by name; in one that has no such class a status is a word, its name in small letters."""
    try:
        from harness import Status
    except Exception:  # an older commit, or one whose package cannot be imported
        return SimpleNamespace(**{name: name.lower() for name in ("OK", "ERROR", "SKIPPED")})
    return Status


def limits(seconds: float) -> Any:
    """Return the limits of a drive, by the names they have in the commit."""
    import harness

    make: Any = getattr(harness, "Limits", None) or harness.Budget  # type: ignore[attr-defined, unused-ignore]
    try:
        return make(time_limit=seconds)
    except TypeError:  # a commit before limits had the names of the record
        return make(seconds=seconds)


def all_cells() -> list[tuple[str, str]]:
    """Return every cell of the grid, in the order in which asv numbers them."""
    return [(solver, dataset) for solver in SOLVERS for dataset in DATASETS]


def chosen() -> list[tuple[str, str]]:
    """Return the cells that are to be fitted."""
    return [cell for cell in all_cells() if cell not in EXCLUDED and (ONLY is None or cell in ONLY)]


def entry(kind: str, name: str) -> dict[str, Any]:
    """Return an entry of the grid; kind: ``solvers`` or ``datasets``."""
    return dict(next(each for each in GRID[kind] if each["name"] == name))


class Bench:
    """The commit's registry and workbench, with the data that were loaded."""

    def __init__(self) -> None:
        try:
            try:
                from harness.registry.discovery import load_registry, share_registry
                from harness.run.problem_factory import ProblemFactory
            except ImportError:  # a commit before the modules lay in rooms
                from harness.registry import load_registry, share_registry
                from harness.run.child import Workbench as ProblemFactory

            self.registry = load_registry([])
            share_registry(self.registry)
            # a workbench keeps one data set; forked children shall find each loaded
            self._benches = {name: ProblemFactory(self.registry) for name in DATASETS}
        except ImportError as error:
            raise Absent(f"the harness of this commit has no run that could be measured: {error}") from error
        self._specs: dict[tuple[str, str], Any] = {}
        self._sources: dict[str, Any] = {}

    def spec(self, solver: str, dataset: str) -> Any:
        """Return the ``RunSpec`` of a cell.

        Raises
        ------
        Absent, Faulty : with the reason
        """
        if (solver, dataset) in EXCLUDED:
            raise Absent(EXCLUDED[solver, dataset])
        if (solver, dataset) not in self._specs:
            self._specs[solver, dataset] = self._spec(entry("solvers", solver), entry("datasets", dataset))
        return self._specs[solver, dataset]

    def stated(self, solver: str, dataset: str) -> tuple[Any, Any, Any, Any]:
        """Return a cell's spec, its data, its solver and a fresh problem: no value cached, none counted.

        Raises
        ------
        Absent, Faulty : with the reason
        """
        spec, workbench = self.spec(solver, dataset), self._benches[dataset]
        problem = workbench.problem(spec)
        if hasattr(problem, "counted"):  # a workbench of older commits states the problem that a solver gets
            problem = problem.counted(spec.cache_mb)
        return spec, workbench.dataset(spec), workbench.solver(spec), problem

    def source(self, dataset: str) -> tuple[Any, Any]:
        """Return a data set's source and its data."""
        from harness import UsageError

        if dataset not in self._sources:
            try:
                source = self.registry.select_datasets(entry("datasets", dataset)["select"])[0]
            except UsageError as error:
                raise Absent(str(error)) from error
            try:
                self._sources[dataset] = (source, source.load())
            except Exception as error:
                raise Faulty(f"data set '{dataset}' could not be loaded: {type(error).__name__}: {error}") from error
        return self._sources[dataset]

    def _spec(self, solver: dict[str, Any], dataset: dict[str, Any]) -> Any:
        try:
            from harness import UsageError
            from harness.run.plan import Study, data_key, plan

            try:
                from harness.support.parameters import values_of
            except ImportError:  # a commit before the modules lay in rooms
                from harness.parameters import values_of
        except ImportError as error:
            raise Absent(f"the harness of this commit plans runs in another way: {error}") from error
        if solver["plugin"] in self.registry.broken:
            raise Faulty(f"plugin '{solver['plugin']}': {self.registry.broken[solver['plugin']].reason}")
        source, data = self.source(dataset["name"])
        try:
            limits: dict[str, Any] = {"time_limit": TIME_LIMIT, "memory_limit": int(GRID["memory_bytes"])}
            if "limits" in Study.__dataclass_fields__:
                from harness import Limits

                make: Any = getattr(Limits, "from_columns", lambda given: Limits(**given))
                limits = {"limits": make(limits)}
            study = Study(
                solvers=self.registry.select_solvers(solver["select"]),
                datasets=[source],
                formulations=[solver["formulation"]],
                kernel=dataset["kernel"],
                kernel_values={name: [value] for name, value in dataset["kernel_parameters"].items()},
                problem_values={name: [value] for name, value in dataset["problem_parameters"].items()},
                **limits,
            )
            (spec,) = plan(study, self.registry, {data_key(source.name, values_of(source)): data})
        except UsageError as error:
            raise Absent(str(error)) from error
        if spec.skip_reason:
            raise Absent(spec.skip_reason)
        return spec


@functools.cache
def bench() -> Bench:
    """Return the process's only bench: forked children share what the server loaded."""
    return Bench()
