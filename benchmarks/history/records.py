"""Fits of each cell, isolated, with their certificates: of the first one every count of a commit is read.

A quick fit is repeated: one time alone may be that of a cold process, or of a busy machine. asv keeps numbers only, so the
records are also written beside its results, with status, reason and trace.
"""

from __future__ import annotations

import datetime
import itertools
import os
import platform
import statistics
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import cells, shared

_JOBS = 2
_RUNS, _ENOUGH = 5, 1.0  # at most so many runs of a cell, and none that would begin after so many seconds in the solver

_TIMES = ("fit_seconds", "cpu_seconds")

Fitted = dict[tuple[str, str], dict[str, Any]]
"""The records of cells, (solver, data set)."""


def measured() -> Fitted:
    """Fit every chosen cell and return the record of its first run, with the median times of all its runs.

    The record has the reason where the cell could not be fitted.
    """
    records: dict[tuple[str, str], list[dict[str, Any]]] = {}
    specs: dict[tuple[str, str], Any] = {}
    facts: Fitted = {}
    for cell in cells.chosen():
        try:
            specs[cell], data, solver, _ = cells.bench().stated(*cell)
            facts[cell] = {
                "label": solver.label,
                "n_train": int(data.x_train.shape[0]),
                "n_features": int(data.x_train.shape[1]),
                "n_test": int(data.x_test.shape[0]),
                "density": getattr(data, "density", None),  # older commits do not know these two
                "positive_share": getattr(data, "positive_share", None),
            }
        except cells.Absent as error:
            records[cell] = [_without_fit(cell, shared.ABSENT, str(error))]
        except cells.Faulty as error:
            records[cell] = [_without_fit(cell, cells.statuses().ERROR, str(error))]
        except Exception as error:  # the commit itself is broken
            records[cell] = [_without_fit(cell, cells.statuses().ERROR, f"{type(error).__name__}: {error}")]
    records.update(_fitted(specs))
    ordered = {cell: [{**run, **facts.get(cell, {})} for run in records[cell]] for cell in cells.chosen()}
    _write(list(itertools.chain.from_iterable(ordered.values())))
    return {cell: {**runs[0], **{name: _median(runs, name) for name in _TIMES}} for cell, runs in ordered.items()}


def _median(runs: list[dict[str, Any]], name: str) -> float | None:
    try:
        from harness.measure.repetition import times
    except Exception:
        # an older commit has first fits alone, and of one that could not be installed nothing can be imported
        def times(runs: Any, figure: str) -> list[float]:
            return [run[figure] for run in runs if run[figure] is not None]

    values = times(runs, name)
    return statistics.median(values) if values else None


def _without_fit(cell: tuple[str, str], status: str, reason: str) -> dict[str, Any]:
    empty = dict.fromkeys(shared.FIELDS)
    return {"solver": cell[0], "dataset": cell[1], **empty, "status": status, "reason": reason, "trace": []}


def _fitted(specs: dict[tuple[str, str], Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Fit the cells by two workers of the harness, which enforce limits of time and memory.

    Which worker fits which plugin's solvers is always the same: a run's peak memory includes what its worker holds.
    """
    plugins = list(dict.fromkeys(spec.plugin for spec in specs.values()))
    records: dict[tuple[str, str], list[dict[str, Any]]] = {}
    cores = sorted(os.sched_getaffinity(0))
    shares = [plugins[place::_JOBS] for place in range(_JOBS)]
    threads = [
        threading.Thread(
            target=_serve,
            args=(
                cores[place % len(cores)],
                {cell: spec for cell, spec in specs.items() if spec.plugin in share},
                records,
            ),
        )
        for place, share in enumerate(shares)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return records


def _serve(core: int, specs: dict[tuple[str, str], Any], records: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    try:
        from harness.run.pool import ProcessPool  # it starts processes anew when they die
    except ImportError:  # a commit before it was renamed
        from harness.run.pool import Pool as ProcessPool

    pool = ProcessPool([core], Path(os.environ["NUMBA_CACHE_DIR"]), threading.Event())
    try:
        for cell, spec in specs.items():
            records[cell] = _repeated(pool, cell, spec)
    finally:
        pool.close()


def _repeated(pool: Any, cell: tuple[str, str], spec: Any) -> list[dict[str, Any]]:
    """Return the runs of a cell, repeated where they are quick and well."""
    runs = [_one(pool, cell, spec)]
    spent = [float(runs[0]["fit_seconds"] or _ENOUGH)]
    while len(runs) < _RUNS and runs[-1]["status"] == cells.statuses().OK and sum(spent) + spent[0] < _ENOUGH:
        runs.append(_one(pool, cell, replace(spec, repetition=len(runs))))
        spent.append(float(runs[-1]["fit_seconds"] or _ENOUGH))
    return runs


def _one(pool: Any, cell: tuple[str, str], spec: Any) -> dict[str, Any]:
    try:
        outcome = pool.run(spec)
    except Exception as error:
        return _without_fit(cell, cells.statuses().ERROR, f"{type(error).__name__}: {error}")
    return {
        "solver": cell[0],
        "dataset": cell[1],
        **{name: getattr(spec, name, None) for name in shared.ASKED},
        **{name: outcome.get(name) for name in shared.ENDED},
        "trace": outcome.get("trace") or [],
    }


def _write(records: list[dict[str, Any]]) -> None:
    """Write the records beside asv's results, whole or not at all; a run that asv does not save writes none."""
    commit, folder = os.environ.get("ASV_COMMIT"), os.environ.get(shared.RECORDS)
    if folder is None and "ASV_CONF_DIR" in os.environ:
        folder = str(Path(os.environ["ASV_CONF_DIR"]) / ".asv" / "records")
    if not commit or not folder:
        return
    shared.write(
        Path(folder),
        commit=commit,
        commit_time=_commit_time(commit),
        machine=os.environ.get(shared.MACHINE) or platform.node(),
        environment=os.environ.get("ASV_ENV_NAME", ""),
        measured_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        records=records,
    )


def _commit_time(commit: str) -> int | None:
    """Return the commit's time in milliseconds, as asv has it; None if git cannot say."""
    try:
        done = subprocess.run(
            ["git", "log", "-1", "--format=%at", commit],
            cwd=os.environ.get("ASV_CONF_DIR"),
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout) * 1000
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None
