"""One run after another through the harness's isolated workers, each result on disk before the next run starts."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from harness import Limits
from harness.entries import Chosen
from harness.parameters import values_of
from harness.registry import load_registry
from harness.run.plan import RunSpec, Study, data_key, plan
from harness.run.pool import Pool, numba_cache_folder
from reports.kit.journal import Journal, Row
from reports.peers.suite import PLUGINS

CACHE_MB = 256.0
_PATHS = [str(path) for path in PLUGINS]
_KEPT = (
    "status", "stopped_by", "reason", "kkt_violation", "relative_gap", "support_vectors", "kernel_evaluations", "iterations",
    "peak_rss_bytes", "fit_seconds", "cpu_seconds", "killed_cpu_seconds", "load_average", "info", "measured_at",
)  # fmt: skip


class Bench:
    """Runs (solver, data set, threads) in a process of its own each; workers stay warm between the runs of a set."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.registry = load_registry(_PATHS)
        self._pools: dict[str, Pool] = {}
        self._datasets: dict[str, Any] = {}
        self._stop = threading.Event()
        self._numba = numba_cache_folder()

    def has(self, name: str) -> bool:
        """Return whether a solver of this name is installed."""
        return name in self.registry.solver_names()

    def chosen(self, label: str) -> Chosen:
        """Return the solver that a selection such as ``sklearnex[dtype=float32]`` stands for."""
        found = self.registry.select_solvers([label])[0]
        if not isinstance(found, Chosen):
            raise SystemExit(f"{label}: the plugin cannot be loaded: {found.reason}")
        return found

    def run(self, key: Row, selection: str, label: str, *, threads: int, limit: float, tol: float | None = None) -> Row:
        """Carry out one run, or take it from the journal; return its row.

        key : the columns that say which run this is
        selection, label : data set and solver as the harness's command takes them
        limit : seconds inside the solver, conversion included
        tol : of a black box; None: the solver's own default
        """
        key = {**key, "selection": selection, "label": label, "threads": threads, "tol": tol}
        known = self.journal.find(key)
        if known is not None:
            return known
        spec = self._spec(selection, label, threads, limit, tol)
        began = time.monotonic()
        pool = self._pools.setdefault(f"{label} {threads}", Pool(None, self._numba, self._stop))
        record = pool.run(spec)
        row = {**key, **self._row(record, spec, limit), "elapsed": time.monotonic() - began}
        self.journal.append(row)
        print(_line(row), flush=True)
        return row

    def _spec(self, selection: str, label: str, threads: int, limit: float, tol: float | None) -> RunSpec:
        source = self.registry.select_datasets([selection])[0]
        place = data_key(source.name, values_of(source))
        if place not in self._datasets:
            self._datasets = {place: source.load()}
        study = Study(
            [self.chosen(label)],
            [source],
            formulations=["eps-svr" if self._datasets[place].task == "regression" else "c-svc"],
            limits=Limits(seconds=limit),
            threads=threads,
            cache_mb=CACHE_MB,
            plugin_paths=_PATHS,
        )
        spec = plan(study, self.registry, self._datasets)[0]
        # not in the label: a warm worker takes another tolerance without a new start
        return spec if tol is None else replace(spec, parameters={**spec.parameters, "tol": tol})

    def _row(self, record: Row, spec: RunSpec, limit: float) -> Row:
        row = {name: record.get(name) for name in _KEPT}
        info = dict(row["info"] or {})
        row["info"] = {name: value for name, value in info.items() if not isinstance(value, list)}
        wall, cpu = info.get("conversion_seconds", 0.0), info.get("conversion_cpu_seconds", 0.0)
        seconds, cpu_seconds = record.get("fit_seconds"), record.get("cpu_seconds")
        accuracy = record.get("test_accuracy")
        dataset = self._datasets[spec.data_key]
        return {
            **row,
            "seconds": None if seconds is None else max(0.0, seconds - wall),
            "cpu": None if cpu_seconds is None else max(0.0, cpu_seconds - cpu),
            "test_error": None if accuracy is None else 1.0 - accuracy,
            "limit": limit,
            "n": int(dataset.x_train.shape[0]),
            "d": int(dataset.x_train.shape[1]),
            "C": spec.problem_parameters.get("C"),
            "gamma": spec.kernel_parameters.get("gamma"),
        }

    def close_workers(self) -> None:
        """End the workers: their data are those of a set that is done with."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()


def _line(row: Row) -> str:
    name = row["label"] + ("" if row["tol"] is None else f" tol {row['tol']:g}")
    head = f"{row['part']:8} {row['set']:22} {row['threads']} thr  {name:34}"
    if row["seconds"] is None:
        return f"{head} {row['status']}: {row['reason']}"
    figures = f"{row['seconds']:9.3f} s {row['cpu']:9.3f} CPU s"
    if row["kkt_violation"] is not None and row["part"] == "peers":
        figures += f"  KKT {row['kkt_violation']:.2e}  gap {row['relative_gap']:.2e}"
    return f"{head} {figures}  ({row['elapsed']:.1f} s in all)"
