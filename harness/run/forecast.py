"""What a study would cost, by what the store holds: its runs are planned and looked up, none is carried out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from harness.report.figures import is_number
from harness.run import session
from harness.run.store import default_store, existing

if TYPE_CHECKING:
    from harness.registry import Registry
    from harness.run.study import RunSpec, Study

_Like = tuple[str, str, str, str]  # plugin, solver, data set, path: runs that take about as long


@dataclass(frozen=True)
class Forecast:
    """What some runs would cost.

    held : how many of them the store holds
    rows : how many become a row without being carried out, because they are skipped or their plugin is broken
    seconds : inside the solvers, of the other runs of whose solver and data set the store holds some: its median each
    unknown : how many are left
    most : seconds these may take at most; None without a time limit
    """

    runs: int = 0
    held: int = 0
    rows: int = 0
    seconds: float = 0.0
    unknown: int = 0
    most: float | None = 0.0

    @property
    def to_do(self) -> int:
        """How many runs would be carried out."""
        return self.runs - self.held - self.rows


def forecast(study: Study, registry: Registry) -> dict[str, Forecast]:
    """Return what the runs of each solver of a study would cost, in the order of the plan.

    Nothing is written: a store that does not exist holds nothing, and is not made.

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; the store cannot be read.
    """
    path = study.store or default_store()
    if path.exists():
        with existing(path) as store:
            specs, held = session.foreseen(study, registry, store)
            usual = _medians(store.records()) if not all(held) else {}
    else:
        specs, held = session.foreseen(study, registry, None)
        usual = {}
    found: dict[str, Forecast] = {}
    for spec, known in zip(specs, held, strict=True):
        found[spec.solver] = _with(found.get(spec.solver, Forecast()), spec, held=known, usual=usual)
    return found


def _with(cost: Forecast, spec: RunSpec, *, held: bool, usual: Mapping[_Like, float]) -> Forecast:
    """Return the cost of one run more."""
    runs, limit = cost.runs + 1, spec.limits.seconds
    if held:
        return replace(cost, runs=runs, held=cost.held + 1)
    if spec.skip_reason or spec.broken_reason:
        return replace(cost, runs=runs, rows=cost.rows + 1)
    like = (spec.plugin, spec.solver, spec.dataset, _grid(spec.path))
    if like in usual:
        taken = usual[like] if limit is None else min(usual[like], limit)
        return replace(cost, runs=runs, seconds=cost.seconds + taken)
    most = None if limit is None or cost.most is None else cost.most + limit
    return replace(cost, runs=runs, unknown=cost.unknown + 1, most=most)


def _grid(path: Mapping[str, Any]) -> str:
    """Return what a path goes through as text; empty for a run of one problem."""
    return json.dumps([path.get(name) for name in ("costs", "widths", "folds", "start")]) if path else ""


def _medians(records: Iterable[Mapping[str, Any]]) -> dict[_Like, float]:
    """Return how many seconds runs of a solver on a data set took in the median; those without a clock are left out."""
    taken: dict[_Like, list[float]] = {}
    for record in records:
        seconds = record.get("fit_seconds")
        path = record.get("path") or {}
        if is_number(seconds) and "cell" not in path:
            like = (str(record.get("plugin")), str(record.get("solver")), str(record.get("dataset")), _grid(path))
            taken.setdefault(like, []).append(seconds)
    return {like: median(seconds) for like, seconds in taken.items()}
