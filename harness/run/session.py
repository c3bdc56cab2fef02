"""Carry out a study: plan, reuse what the store holds, run the rest, store every record as it comes."""

from __future__ import annotations

import functools
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import DataError, UsageError
from harness.measure.machine import machine, now, versions
from harness.parameters import values_of
from harness.registry import Registry, source_sha256
from harness.run.plan import plan
from harness.run.pool import Pool, WorkerDied, numba_cache_folder
from harness.run.store import COLUMNS, Store, default_store
from harness.run.study import Record, RunSpec, Study, data_key

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset

    OnPlanned = Callable[[list[RunSpec], int], None]
    OnStarted = Callable[[RunSpec], None]
    OnFinished = Callable[[Record, bool], None]

FAILED = ("timeout", "memory", "crashed", "error", "invalid")


def failed(record: Record) -> bool:
    """Return whether a run failed: no result, a refused one, or one that ran into its time limit."""
    return record["status"] in FAILED or (record["status"] == "budget" and "time limit" in (record["reason"] or ""))


def compare(
    study: Study,
    registry: Registry,
    *,
    on_planned: OnPlanned | None = None,
    on_started: OnStarted | None = None,
    on_finished: OnFinished | None = None,
) -> list[Record]:
    """Carry out a study and return its records in the order of the plan.

    Every record is in the store before ``on_finished(record, reused)`` hears of it. A run that the store
    holds with the same code, versions, data and machine is reused unless ``study.fresh``.

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; nothing was carried out.
    KeyboardInterrupt : passed on after the workers were ended; what was measured stays in the store.
    """
    return _Session(study, registry, on_planned, on_started, on_finished).run()


class _Session:
    def __init__(
        self,
        study: Study,
        registry: Registry,
        on_planned: OnPlanned | None,
        on_started: OnStarted | None,
        on_finished: OnFinished | None,
    ) -> None:
        self.study, self.registry = study, registry
        self.on_planned, self.on_started, self.on_finished = on_planned, on_started, on_finished
        self.datasets = {data_key(source.name, values_of(source)): _loaded(source) for source in study.datasets}
        self.specs = plan(study, registry, self.datasets)
        self.host_sha256 = _host_sha256()
        self.keys = [self._key(spec) for spec in self.specs]

    def run(self) -> list[Record]:
        finished: dict[int, Record] = {}
        with Store(self.study.store or default_store()) as store:
            for index in range(len(self.specs)):
                record = self._known(store, index)
                if record is not None:
                    finished[index] = record
            if self.on_planned:
                self.on_planned(self.specs, len(finished))
            for record in finished.values():
                if self.on_finished:
                    self.on_finished(record, True)
            todo = [index for index in range(len(self.specs)) if index not in finished]
            for index, record, reused in self._carried_out(todo, store):
                finished[index] = record
                if self.on_finished:
                    self.on_finished(record, reused)
        return [finished[index] for index in range(len(self.specs))]

    # -- reuse ---------------------------------------------------------------------------------------

    def _key(self, spec: RunSpec) -> str:
        plugin = self.registry.plugins.get(spec.plugin)
        code = plugin.fingerprint + plugin.version if plugin is not None else spec.broken_reason
        # paths say where a plugin or a file lies, its content is in the fingerprints
        located = replace(spec, dataset="", plugin_paths=(), source_parameters=_unlocated(spec))
        surroundings = {
            "harness": self.host_sha256,
            "plugin": code,
            "others": self._other_plugins(spec),
            "versions": versions(),
            "data": self.datasets[spec.data_key].sha256,
            "machine": machine()["id"],
        }
        return located.key(surroundings)

    def _other_plugins(self, spec: RunSpec) -> list[str]:
        """Fingerprints of the plugins a run depends on beside its own: one whose solver it names as a parameter."""
        named = {value for value in spec.parameters.values() if isinstance(value, str)}
        owners = {self.registry.plugin_of(name) for name in self.registry.solver_names() if name in named}
        return sorted(self.registry.plugins[owner].fingerprint for owner in owners - {spec.plugin})

    def _known(self, store: Store, index: int) -> Record | None:
        spec = self.specs[index]
        if self.study.fresh or spec.broken_reason or spec.skip_reason:
            return None
        record = store.newest(self.keys[index])
        if record is None or record["status"] == "skipped":
            return None
        if record["status"] == "crashed" and ("SIGKILL" in record["reason"] or "worker" in record["reason"]):
            return None  # killed from outside: no result of the solver's
        # the same content may have been measured from a file of another name
        return {**record, "dataset": spec.dataset, "reused": True}

    # -- running -------------------------------------------------------------------------------------

    def _carried_out(self, todo: list[int], store: Store) -> Iterator[tuple[int, Record, bool]]:
        """Yield (index, record, reused) as runs finish, each already stored."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        results: queue.SimpleQueue[tuple[int, Record | BaseException]] = queue.SimpleQueue()
        begun: queue.SimpleQueue[int] = queue.SimpleQueue()
        stop = threading.Event()
        for index in todo:
            waiting.put(index)
        numba_cache = numba_cache_folder(
            [self.host_sha256, *(plugin.fingerprint for plugin in self.registry.plugins.values())]
        )
        jobs = max(1, min(self.study.jobs, len(todo)))
        slots = [
            threading.Thread(
                target=self._slot,
                args=(self._cores(job, jobs), numba_cache, waiting, begun, results, stop),
                daemon=True,
            )
            for job in range(jobs)
        ]
        for slot in slots:
            slot.start()
        try:
            for _ in todo:
                index, outcome = self._next(results, begun)
                if isinstance(outcome, BaseException):
                    raise outcome
                reused = False
                if outcome.get("elsewhere"):  # another process measured the same run in the meantime
                    record = {**outcome["elsewhere"], "reused": True}
                    reused = True
                else:
                    record = self._complete(index, outcome)
                    store.append(record)
                    self._tell_plugins("harness_run_finished", record=record)
                yield index, record, reused
        finally:
            stop.set()
            for slot in slots:
                slot.join()

    def _next(
        self, results: queue.SimpleQueue[tuple[int, Record | BaseException]], begun: queue.SimpleQueue[int]
    ) -> tuple[int, Record | BaseException]:
        while True:
            while not begun.empty():
                spec = self.specs[begun.get()]
                self._tell_plugins("harness_run_started", spec=spec.as_dict())
                if self.on_started:
                    self.on_started(spec)
            try:
                return results.get(timeout=0.05)
            except queue.Empty:
                continue

    def _slot(
        self,
        cores: list[int] | None,
        numba_cache: Path,
        waiting: queue.SimpleQueue[int],
        begun: queue.SimpleQueue[int],
        results: queue.SimpleQueue[tuple[int, Record | BaseException]],
        stop: threading.Event,
    ) -> None:
        """Carry out runs one after another until none waits; one thread for each job."""
        pool = Pool(cores, numba_cache, stop)
        try:
            with Store(self.study.store or default_store()) as store:
                while not stop.is_set():
                    try:
                        index = waiting.get_nowait()
                    except queue.Empty:
                        return
                    begun.put(index)
                    results.put((index, self._one(index, pool, store)))
        except WorkerDied:
            return  # the session was stopped
        except BaseException as error:
            results.put((-1, error))
        finally:
            pool.close()

    def _one(self, index: int, pool: Pool, store: Store) -> Record:
        spec = self.specs[index]
        if spec.broken_reason:
            return {
                "status": "error",
                "reason": f"plugin '{spec.plugin}' could not be loaded: {spec.broken_reason}",
                **now(),
            }
        if spec.skip_reason:
            return {"status": "skipped", "reason": spec.skip_reason, **now()}
        elsewhere = self._known(store, index)
        return {"elsewhere": elsewhere} if elsewhere is not None else pool.run(spec)

    def _cores(self, job: int, jobs: int) -> list[int] | None:
        """Return the cores a job's workers are pinned to; a single job goes where the system puts it."""
        available = sorted(os.sched_getaffinity(0))
        if jobs == 1:
            return None
        threads = self.study.threads
        return [available[(job * threads + thread) % len(available)] for thread in range(threads)]

    def _complete(self, index: int, outcome: Record) -> Record:
        """Return the full record: what was measured beside what was asked, unknown figures None."""
        spec = self.specs[index]
        dataset = self.datasets[spec.data_key]
        plugin = self.registry.plugins.get(spec.plugin)
        own_version = (
            {plugin.distribution or plugin.name: plugin.version} if plugin is not None and plugin.version else {}
        )
        asked = {name: value for name, value in spec.as_dict().items() if name in COLUMNS and name != "metrics"}
        facts = {
            "label": self._label(spec),
            "n_train": int(dataset.x_train.shape[0]),
            "n_features": int(dataset.x_train.shape[1]),
            "n_test": int(dataset.x_test.shape[0]),
            "data_sha256": dataset.sha256,
            "versions": {**versions(), **own_version},
            "machine": machine(),
            "git_commit": _git_commit(),
            "code_sha256": plugin.fingerprint if plugin is not None else None,
            "trace": [],
            "info": {},
            "key": self.keys[index],
            "reused": False,
        }
        return {**dict.fromkeys(COLUMNS), **asked, **facts, **outcome}

    def _label(self, spec: RunSpec) -> str:
        if spec.broken_reason:
            return spec.solver
        return self.registry.solver_class(f"{spec.plugin}/{spec.solver}")(**spec.parameters).label

    def _tell_plugins(self, hook: str, **arguments: Any) -> None:
        """Tell observing plugins; a fault of an observer must not end the grid."""
        import warnings

        try:
            getattr(self.registry.manager.hook, hook)(**arguments)
        except Exception as error:
            warnings.warn(f"a plugin's {hook} failed: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=2)


def _loaded(source: Any) -> Dataset:
    """Load and validate a data set; whatever a third party's source raises becomes a sentence."""
    from harness.datasets import validate

    try:
        dataset: Dataset = source.load()
        validate(dataset)
    except UsageError:
        raise
    except Exception as error:
        raise DataError(f"data set '{source.label}' could not be loaded: {type(error).__name__}: {error}") from error
    return dataset


def _unlocated(spec: RunSpec) -> dict[str, Any]:
    return {name: value for name, value in spec.source_parameters.items() if name not in ("path", "test")}


@functools.cache
def _host_sha256() -> str:
    """Return the fingerprint of the host code that results depend on."""
    import harness.kernels
    import harness.measure
    import harness.problems
    import harness.run.execute
    import harness.solver

    modules = (harness.kernels, harness.measure, harness.problems, harness.run.execute, harness.solver)
    return "".join(source_sha256(module)[:16] for module in modules)


@functools.cache
def _git_commit() -> str | None:
    """Return the commit of the harness's own checkout, with ``+`` if it has changes; None outside one."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        run = functools.partial(subprocess.run, cwd=folder, capture_output=True, text=True, timeout=10, check=True)
        commit = run(["git", "rev-parse", "HEAD"]).stdout.strip()
        return commit + ("+" if run(["git", "status", "--porcelain", "-uno"]).stdout.strip() else "")
    except (OSError, subprocess.SubprocessError):
        return None
