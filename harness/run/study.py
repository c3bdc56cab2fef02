"""What a comparison is: the request, and the runs it stands for."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness import parameters, selection
from harness.datasets.files import KEPT
from harness.entries import Broken
from harness.run.record import NO_LIMITS, Limits

if TYPE_CHECKING:
    from harness.datasets.dataset import DataSource
    from harness.entries import Chosen


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
    path : parameter -> its values: each run goes through all of them, see `harness.path`; empty: a run is one problem
    folds : of the cross-validation along a path; 0: none
    cold : beside each path a run that solves its cells one by one, each from nothing
    """

    solvers: list[Chosen | Broken]
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
    order: Literal["interleaved", "shuffled"] = "interleaved"
    fresh: bool = False
    many: bool = False
    store: Path | None = None
    plugin_paths: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    core_set_oracle: str = ""
    path: Mapping[str, Sequence[float]] = field(default_factory=dict)
    folds: int = 0
    cold: bool = False

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


_OF_NO_STUDY = ("store", "fresh", "many", "plugin_paths")


def _asked_of(item: Chosen | Broken) -> list[Any]:
    """Return a solver as it is asked for: plugin, name, the parameters that are not as they come, the problem's."""
    if isinstance(item, Broken):
        return [item.plugin, item.solver]
    return [item.plugin, item.solver.name, parameters.changed(item.solver), item.problem_values]


def _unlocated(source: DataSource) -> dict[str, Any]:
    """Return the parameters of a source that are not as they come; of a path the name of its file, or its content's hash."""
    found = parameters.changed(source)
    return {name: _file(Path(value)) if name in ("path", "test") else value for name, value in found.items()}


def _file(path: Path) -> str:
    return path.parent.name if path.parent.parent.name == KEPT else path.name


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
    formulation: str
    problem_parameters: dict[str, Any]
    kernel: str
    kernel_parameters: dict[str, Any]
    seed: int
    repetition: int
    limits: Limits = NO_LIMITS
    threads: int = 1
    cache_mb: float = 256.0
    plugin_paths: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    core_set_oracle: str = ""
    sells_labels: bool = False  # its formulation does
    path: dict[str, Any] = field(default_factory=dict)  # axes, folds, start ("warm" or "cold"); empty: one problem
    trusted: tuple[str, ...] = ()  # plugins that own its formulation, kernel, data, metrics and oracle: the certifier's
    data_sha256: str = ""  # of the data the comparison was planned with
    skip_reason: str = ""  # not empty: the run is a row without being carried out
    broken_reason: str = ""  # not empty: the plugin could not be loaded

    @property
    def data_key(self) -> str:
        """Which configured data source the run reads."""
        return data_key(self.source, self.source_parameters)

    def at(self, values: Mapping[str, float]) -> RunSpec:
        """Return the run of one cell of a path, by the values of the path's parameters: a run of one problem."""
        costs = {name: value for name, value in values.items() if name in self.path["costs"]}
        widths = {name: value for name, value in values.items() if name in self.path["widths"]}
        problem, kernel = {**self.problem_parameters, **costs}, {**self.kernel_parameters, **widths}
        return replace(self, path={}, problem_parameters=problem, kernel_parameters=kernel)

    @property
    def first(self) -> RunSpec:
        """The run itself; of a path that of its first values."""
        axes = {**self.path["costs"], **self.path["widths"]} if self.path else {}
        return self.at({name: values[0] for name, values in axes.items()}) if self.path else self

    @property
    def worker(self) -> str:
        """Key of the worker process that carries the run out: one for each solver, which its configurations share.

        Where labels are sold the worker is another one, which holds none that were not.
        """
        own = {"plugin": self.plugin, "solver": self.solver, "threads": self.threads, "sells": self.sells_labels}
        return json.dumps({**own, "plugin_paths": self.plugin_paths}, sort_keys=True, default=str)

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready data, its own: to be read, not changed."""
        return {**vars(self), "limits": asdict(self.limits)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunSpec:
        """Read what :meth:`as_dict` wrote."""
        listed = {name: tuple(data[name]) for name in ("plugin_paths", "metrics", "trusted")}
        return cls(**{**data, **listed, "limits": Limits(**data["limits"])})

    def key(self, surroundings: Mapping[str, Any]) -> str:
        """Return the SHA-256 of the run and what its result depends on: code, versions, data, machine."""
        text = json.dumps([self.as_dict(), dict(surroundings)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()
