"""The driver: carry out a study. Plan it, reuse what the store holds, run the rest, store every record as it comes."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from harness.measure.outcome import Status, StoppedBy
from harness.registry.discovery import Registry
from harness.registry.plugin_files import source_sha256
from harness.run.environments import own_versions
from harness.run.host_process import WorkerDied
from harness.run.plan import RunSpec, Study, data_key, plan
from harness.run.pool import ProcessPool
from harness.run.record import COLUMNS, Record
from harness.run.store import Store, StoreReader, default_store, existing
from harness.run.template import numba_cache_folder
from harness.support import faults
from harness.support.errors import DataError, NotKept, UsageError
from harness.support.machine import git_commit, machine, now, versions
from harness.support.parameters import values_of

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset

    OnPlanned = Callable[[list[RunSpec], int], None]
    OnStarted = Callable[[RunSpec], None]
    OnFinished = Callable[[Record, bool], None]
    OnNote = Callable[[str], None]
    _Said = Record | BaseException | str | None  # of a run; None: it begins, text: what is done before the first one


def _nobody(*_: Any) -> None:
    """Hear what nobody wants to."""


def compare(
    study: Study,
    registry: Registry,
    *,
    on_planned: OnPlanned = _nobody,
    on_started: OnStarted = _nobody,
    on_finished: OnFinished = _nobody,
    on_note: OnNote = _nobody,
    on_working: OnNote = _nobody,
    pool: ProcessPool | None = None,
) -> list[Record]:
    """Carry out a study and return its records in the order of the plan.

    ``on_planned(specs, reused)`` hears what is to be done, ``on_started(spec)`` of each run that begins.
    Every record is in the store before ``on_finished(record, reused)`` hears of it. A run that the store
    holds with the same code, versions, data and machine is reused unless ``study.fresh``. ``on_note(sentence)`` hears
    what is no run's fault: an observing plugin that failed, rows that cannot be read or be trusted; ``on_working(text)`` hears
    each second what is compiled before the first run. Two drivers
    that share a store may measure the same run: both rows are kept, the newer one stands for it.

    pool : the processes of the runs, which serve several studies of one job each, and which the caller closes; None: its own

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; nothing was carried out.
    NotKept : the store could not be written; the error has the records so far. The workers were ended.
    KeyboardInterrupt : passed on after the workers were ended; what was measured stays in the store.
    """
    return Driver(study, registry, on_planned, on_started, on_finished, on_note, on_working, pool).run()


@dataclass
class Driver:
    """A study under way; the fields are the arguments of :func:`compare`."""

    study: Study
    registry: Registry
    on_planned: OnPlanned = _nobody
    on_started: OnStarted = _nobody
    on_finished: OnFinished = _nobody
    on_note: OnNote = _nobody
    on_working: OnNote = _nobody
    pool: ProcessPool | None = None

    def __post_init__(self) -> None:
        # how long each was read bounds what a worker may need for it
        self.datasets: dict[str, Dataset] = {}
        self.reading_seconds: dict[str, float] = {}
        self.failing: set[tuple[str, str]] = set()  # plugins whose observing hooks failed, and which
        self.own_versions: dict[tuple[str, ...], dict[str, str]] = {}  # by what is required
        for source in self.study.datasets:
            began, key = monotonic(), data_key(source.name, values_of(source))
            self.datasets[key] = loaded(source, self.study.limits.memory_limit)
            self.reading_seconds[key] = monotonic() - began
        planned = plan(self.study, self.registry, self.datasets)
        self.specs = [replace(spec, data_sha256=self.datasets[spec.data_key].sha256) for spec in planned]
        self.keys = [self.key(spec) for spec in self.specs]

    def run(self) -> list[Record]:
        finished: dict[int, Record] = {}
        self.unkept: dict[int, Record] = {}  # measured, and not in the store
        try:
            with Store(self.study.store or default_store()) as store:
                self._run(store, finished)
        except NotKept as error:
            everything = finished | self.unkept
            raise NotKept(
                f"{error}. What is not kept in it is in the output alone. Make room, or name another file with --store; the "
                "same command goes on where it stopped.",
                [everything[index] for index in sorted(everything)],
            ) from None
        return [finished[index] for index in range(len(self.specs))]

    def _run(self, store: Store, finished: dict[int, Record]) -> None:
        finished |= self.reused(store)
        carried_out = self._carried_out
        with contextlib.ExitStack() as stack:
            if self.study.executor and any(
                self.not_run(i) is None for i in range(len(self.specs)) if i not in finished
            ):
                from harness.run.spread import Spread

                spread = stack.enter_context(Spread(self))
                finished.clear()
                finished |= spread.reused(store)
                carried_out = spread.carried_out
            self.on_planned(self.specs, len(finished))
            for sentence in store.damaged.values():
                self.on_note(sentence)
            for record in finished.values():
                self.on_finished(record, True)
            todo = [index for index in range(len(self.specs)) if index not in finished]
            for index, record in carried_out(todo, store):
                finished[index] = record
                self.on_finished(record, False)

    # -- reuse ---------------------------------------------------------------------------------------

    def key(self, spec: RunSpec, on: str | None = None) -> str:
        """Return the key of a run on a class of machines, by its ``id``; None: this one's."""
        plugin = self.registry.plugins.get(spec.plugin)
        code = plugin.fingerprint + plugin.version if plugin is not None else spec.broken_reason
        # paths say where a plugin or a file lies, its content is in the fingerprints
        unlocated = {name: value for name, value in spec.source_parameters.items() if name not in ("path", "test")}
        located = replace(spec, dataset="", plugin_paths=(), source_parameters=unlocated)
        known = {"versions": self.versions(spec), "machine": on or machine()["id"]}
        surroundings = {"harness": host_sha256(), "plugin": code, **known}
        return located.key(surroundings)

    def versions(self, spec: RunSpec) -> dict[str, str]:
        """Return the versions of what the run's worker has."""
        return {**versions(), **self.versions_of(spec.requires)}

    def versions_of(self, requires: tuple[str, ...]) -> dict[str, str]:
        """Return the versions of an environment of a solver's own."""
        if requires not in self.own_versions:
            self.own_versions[requires] = own_versions(requires)
        return self.own_versions[requires]

    def reused(self, store: StoreReader, on: str | None = None) -> dict[int, Record]:
        """Return the records that the store holds, by index, of runs on a class of machines; None: this one's."""
        found = ((index, self.known(store, index, on)) for index in range(len(self.specs)))
        return {index: record for index, record in found if record is not None}

    def known(self, store: StoreReader, index: int, on: str | None = None) -> Record | None:
        """Return the newest record of this very run: of the same source of every plugin that it really used."""
        spec = self.specs[index]
        if self.study.fresh or spec.broken_reason or spec.skip_reason:
            return None
        for record in store.of(self.keys[index] if on in (None, machine()["id"]) else self.key(spec, on)):
            if record.reusable and self._is_current(record.get("sources")):
                return self._reused(store, index, record)
        return None

    def _reused(self, store: StoreReader, index: int, record: Record) -> Record | None:
        """Return a record of the store with the rows of its cells; None if it does not hold them all."""
        # the same content may have been measured from a file of another name, with other names of columns, and for another study
        spec = self.specs[index]
        notes = dict(self.datasets[spec.data_key].notes) or None
        told = {"dataset": spec.dataset, "data_notes": notes, "study": self.study.sha256, "reused": True}
        found = Record({**record, **told})
        keys = [f"{record['key']}/{number}" for number in range((record.get("path") or {}).get("rows") or 0)]
        rows = [next(iter(store.of(key)), None) for key in keys]
        if None in rows:
            return None
        found.cells = tuple(Record({**row, **told}) for row in rows if row is not None)
        return found

    def _is_current(self, sources: Mapping[str, str] | None) -> bool:
        known = self.registry.plugins
        return bool(sources) and all(
            name in known and known[name].fingerprint == sha256 for name, sha256 in (sources or {}).items()
        )

    # -- running -------------------------------------------------------------------------------------

    def _carried_out(self, todo: list[int], store: Store) -> Iterator[tuple[int, Record]]:
        """Yield (index, record) as runs finish, each already stored."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        said: queue.SimpleQueue[tuple[int, _Said]] = queue.SimpleQueue()
        stop, numba_cache, left = threading.Event(), numba_cache_folder(), len(todo)
        for index in todo:
            waiting.put(index)
        jobs = max(1, min(self.study.jobs, len(todo)))
        specs = (self.specs[index] for index in todo)
        self.first = [spec for spec in specs if not (spec.broken_reason or spec.skip_reason)]
        self.preparing, self.prepared = threading.Lock(), threading.Barrier(jobs)
        slots = [
            threading.Thread(
                target=self._slot, args=(self._cores(job, jobs), numba_cache, waiting, said, stop), daemon=True
            )
            for job in range(jobs)
        ]
        for slot in slots:
            slot.start()
        try:
            while left:
                index, outcome = said.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                if isinstance(outcome, str):
                    self.on_working(outcome)
                    continue
                if outcome is None:
                    self.started(index)
                    continue
                left -= 1
                yield from self.kept(store, {index: self.completed(index, outcome)})
        finally:
            stop.set()
            for slot in slots:
                slot.join()
            while not said.empty():  # ended, and not yet stored
                index, outcome = said.get()
                if isinstance(outcome, Record):
                    self.unkept[index] = self.completed(index, outcome)

    def _slot(
        self,
        cores: list[int] | None,
        numba_cache: Path,
        waiting: queue.SimpleQueue[int],
        said: queue.SimpleQueue[tuple[int, _Said]],
        stop: threading.Event,
    ) -> None:
        """Carry out runs one after another until none waits; one thread for each job."""
        pool = self.pool or ProcessPool(cores, numba_cache, stop)
        pool.stop = stop
        try:
            with self.preparing:  # one after another: what the first one compiles the others find
                pool.prepare(self.first, self.reading_seconds, lambda text: said.put((-1, text)))
            with contextlib.suppress(threading.BrokenBarrierError):
                self.prepared.wait()
            while not stop.is_set():
                index = waiting.get_nowait()
                said.put((index, None))
                said.put((index, self._one(index, pool)))
        except (WorkerDied, queue.Empty):
            return  # the driver stopped it, or no run waits
        except BaseException as error:
            said.put((-1, error))
        finally:
            self.prepared.abort()
            if pool is not self.pool:
                pool.close()

    def _one(self, index: int, pool: ProcessPool) -> Record:
        spec = self.specs[index]
        return self.not_run(index) or pool.run(spec, self.reading_seconds[spec.data_key])

    def not_run(self, index: int) -> Record | None:
        """Return the record of a run that is a row without being carried out; None for others."""
        if (spec := self.specs[index]).broken_reason:
            return Record(status=Status.ERROR, stopped_by=StoppedBy.FAULT, reason=spec.broken_reason, measured_at=now())
        if spec.skip_reason:
            return Record(status=Status.SKIPPED, reason=spec.skip_reason, measured_at=now())
        return None

    def _cores(self, job: int, jobs: int) -> list[int] | None:
        """Return the cores a job's workers are pinned to; a single job goes where the system puts it."""
        available = sorted(os.sched_getaffinity(0))
        if jobs == 1:
            return None
        threads = self.study.threads
        return [available[(job * threads + thread) % len(available)] for thread in range(threads)]

    def started(self, index: int) -> None:
        """Tell of a run that begins."""
        self._tell_plugins("harness_run_started", spec=copy.deepcopy(self.specs[index].as_dict()))
        self.on_started(self.specs[index])

    def kept(self, store: Store, records: Mapping[int, Record]) -> Iterator[tuple[int, Record]]:
        """Store records, all of them at once, and yield them by index."""
        self.unkept |= records
        store.append(*records.values())
        for index, record in records.items():
            del self.unkept[index]
            self._tell_plugins("harness_run_finished", record=dict(record))
            yield index, record

    def completed(self, index: int, outcome: Record, on: Mapping[str, Any] | None = None) -> Record:
        """Return the full record: what was measured beside what was asked, unknown figures None.

        on : the machine; None: this one
        """
        spec, there = self.specs[index], machine() if on is None else on
        key = self.keys[index] if there["id"] == machine()["id"] else self.key(spec, there["id"])
        dataset, plugin = self.datasets[spec.data_key], self.registry.plugins.get(spec.plugin)
        of_plugin = (
            {plugin.distribution or plugin.name: plugin.version} if plugin is not None and plugin.version else {}
        )
        asked = {name: value for name, value in spec.as_dict().items() if name in COLUMNS and name != "metrics"}
        facts = {
            **dict.fromkeys(COLUMNS),
            **asked,
            **asdict(spec.limits),
            "path": spec.path and spec.path.as_dict(),
            "n_train": int(dataset.x_train.shape[0]),
            "n_features": int(dataset.x_train.shape[1]),
            "n_test": int(dataset.x_test.shape[0]),
            "density": dataset.density,
            "positive_share": dataset.positive_share,
            "data_notes": dict(dataset.notes) or None,
            "versions": {**self.versions(spec), **of_plugin},
            "machine": there,
            "git_commit": git_commit(),
            "code_sha256": plugin.fingerprint if plugin is not None else None,
            "study": self.study.sha256 or None,
            "trace": [],
            "info": {},
            "reused": False,
        }
        found = Record({**facts, **outcome, "key": key})
        cells = [Record({**facts, **cell, "key": f"{key}/{number}"}) for number, cell in enumerate(outcome.cells)]
        found.cells = tuple(cells)
        return found

    def _tell_plugins(self, hook: str, **arguments: Any) -> None:
        """Tell observing plugins, each by itself; a fault of an observer must not end the grid, and is told once."""
        for observer in getattr(self.registry.manager.hook, hook).get_hookimpls():
            try:
                observer.function(*(arguments[name] for name in observer.argnames))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if (observer.plugin_name, hook) not in self.failing:
                    self.failing.add((observer.plugin_name, hook))
                    self.on_note(f"{faults.format_error(error, observer.plugin_name)}; no run is worse for it")


def loaded(source: Any, memory_limit: int | None) -> Dataset:
    """Load and validate a data set, in so many bytes; whatever a third party's source raises becomes a sentence."""
    from harness.datasets import measured_sha256, validate
    from harness.datasets.bounds import reading_within

    try:
        with reading_within(memory_limit):
            dataset: Dataset = source.load()
        validate(dataset)
        dataset = replace(dataset, sha256=measured_sha256(dataset))  # what a source says of its content is a claim
    except UsageError:
        raise
    except Exception as error:
        raise DataError(f"data set '{source.label}' could not be loaded: {faults.format_error(error)}") from error
    return dataset


@functools.cache
def host_sha256() -> str:
    """Return the fingerprint of the host code that results depend on."""
    import harness.kernels
    import harness.measure
    import harness.problems
    import harness.run.certifier
    import harness.run.child
    import harness.run.record
    import harness.solver.path
    import harness.solver.protocol

    run = (harness.run.certifier, harness.run.child, harness.run.record)
    modules = (harness.kernels, harness.measure, harness.solver.path, harness.problems, harness.solver.protocol, *run)
    return "".join(source_sha256(module)[:16] for module in modules)


def still_to_do(study: Study, registry: Registry) -> tuple[list[RunSpec], list[RunSpec]]:
    """Return all runs of a study, and those of them that would be carried out; nothing is written, and no store is made.

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; the store cannot be read.
    """
    path, driver = study.store or default_store(), Driver(study, registry)
    known = [False] * len(driver.specs)
    if path.exists():
        with existing(path) as store:
            known = [driver.known(store, index) is not None for index in range(len(known))]
    todo = [
        spec
        for spec, held in zip(driver.specs, known, strict=True)
        if not (held or spec.skip_reason or spec.broken_reason)
    ]
    return driver.specs, todo
