"""The driver: plan a study, reuse what the store holds, have a runner do the rest, store each record, and tell observers."""

from __future__ import annotations

import copy
import functools
import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from harness.datasets.dataset import Dataset
from harness.datasets.validation import load
from harness.measure.outcome import Status, StoppedBy
from harness.registry.discovery import Registry
from harness.registry.plugin_files import digest
from harness.run.dual_bounds import DualBounds, lacks_dual, missed_for_want_of_dual
from harness.run.environments import own_versions
from harness.run.host_process import WorkerDied, numba_cache_folder
from harness.run.messages import Event, Progress, Runner, RunsEnded, RunSpec, RunStarted, Stored
from harness.run.plan import Study, Turns, key_of_source, plan
from harness.run.pool import ProcessPool
from harness.run.record import COLUMNS, MODEL, Claims, Record
from harness.run.repeats import due
from harness.run.store import Store, StoreReader, default_store
from harness.support import faults
from harness.support.errors import NotKept
from harness.support.machine import git_commit, machine, now, versions
from harness.support.printable import clean

_RESULTS_DEPEND_ON = (
    "harness.kernels", "harness.measure", "harness.problems", "harness.run.allowed", "harness.run.certifier",
    "harness.run.child", "harness.run.dependencies", "harness.run.descendants", "harness.run.dual_bounds", "harness.run.path_rows",
    "harness.run.problem_factory", "harness.run.record", "harness.run.watch", "harness.solver.path", "harness.solver.protocol",
)  # fmt: skip


def _ignore(*_: Any) -> None:
    """Default callback: do nothing."""


@dataclass
class Driver:
    """A study under way.

    on_planned(specs, reused) : called once, with the runs and how many of them the store holds
    on_repeated(specs) : called with the runs and those that are added, where runs are repeated until the fastest solvers are known
    on_started(spec) : called as a run begins
    on_finished(record, reused) : called with each record, which is in the store by then
    on_note(sentence) : called with what is no run's fault: an observer that failed, a row that cannot be read, a refused node
    on_working(text) : called each second with what is compiled before the first run, or with what the nodes do

    Raises
    ------
    UsageError, DataError : the request or its data make no runs; nothing was carried out.
    """

    study: Study
    registry: Registry
    on_planned: Callable[[list[RunSpec], int], None] = _ignore
    on_repeated: Callable[[list[RunSpec]], None] = _ignore
    on_started: Callable[[RunSpec], None] = _ignore
    on_finished: Callable[[Record, bool], None] = _ignore
    on_note: Callable[[str], None] = _ignore
    on_working: Callable[[str], None] = _ignore

    def __post_init__(self) -> None:
        self.datasets: dict[str, Dataset] = {}
        self.reading_seconds: dict[str, float] = {}
        for source in self.study.datasets:
            began, key = monotonic(), key_of_source(source, self.registry)
            self.datasets[key] = load(source, self.study.limits.memory_limit)
            self.reading_seconds[key] = monotonic() - began
        self.specs = plan(self.study, self.registry, self.datasets)
        self.kept_bytes = 0  # of them, in the store
        self._contents = [self.study.text.encode()]  # what is stored by its hash together with the next records
        self.records: dict[int, Record] = {}
        self.bounds = DualBounds(self.registry)
        self.failed_hooks: set[tuple[str, str]] = set()  # (plugin, hook)
        self._versions = functools.cache(lambda requires: {**versions(), **own_versions(requires)})
        self._key = functools.cache(self._compute_key)

    def run(self) -> list[Record]:
        """Carry out the study and return its records in the order of the plan.

        A run that the store holds with the same code, versions, data and class of machines is reused unless ``study.fresh``.
        Two drivers that share a store may measure the same run: both rows are stored, and the newer one stands for it.

        Raises
        ------
        NotKept : the store could not be written; the error has the records so far. The processes were ended.
        EngineLost, UsageError : the executor is gone, or no node can run the study; what came back is in the store.
        KeyboardInterrupt : the processes were ended; what was measured stays in the store.
        """
        try:
            with Store(self.study.store) as store:
                self._run(store)
        except NotKept as error:
            raise NotKept(
                f"{error}. What is not kept in it is in the output alone. Make room, or name another file with --store; the "
                "same command goes on where it stopped.",
                [self.records[index] for index in sorted(self.records)],
            ) from None
        return [self.records[index] for index in range(len(self.specs))]

    def to_do(self) -> list[RunSpec]:
        """Return the runs that would be carried out on this machine; nothing is written, and no store is made.

        Raises
        ------
        UsageError : the store cannot be read.
        """
        if not (self.study.store or default_store()).exists():
            return self._runnable({})
        with StoreReader(self.study.store) as store:
            self._read_bounds(store)
            self._known = functools.cache(functools.partial(self._stored, store))
            return self._runnable(self._stored_on(machine()["id"]))

    def _runnable(self, records: Mapping[int, Record]) -> list[RunSpec]:
        """Return the runs without a record that can be carried out."""
        return [spec for i, spec in enumerate(self.specs) if i not in records and _refusal(spec) is None]

    def _run(self, store: Store) -> None:
        self._known = functools.cache(functools.partial(self._stored, store))
        self._read_bounds(store)
        runner: Runner = LocalRunner(self.specs, self.study.jobs, self.reading_seconds, self.bounds)
        if self.study.executor and self._runnable(self._stored_on(machine()["id"])):  # else no engine is needed
            from harness.run.node_runner import NodeRunner

            runner = NodeRunner(self.specs, self.study, self.bounds, self.on_note)
        try:
            self.records |= runner.reusable(functools.cache(self._stored_on))
            self.on_planned(self.specs, len(self.records))
            for sentence in store.damaged.values():
                self.on_note(sentence)
            for reused in self.records.values():
                self.on_finished(reused, True)
            missing = [i for i in range(len(self.specs)) if i not in self.records]
            refused = {i: record for i in missing if (record := _refusal(self.specs[i]))}
            for index in refused:
                self._handle(store, RunStarted(index))
            self._handle(store, RunsEnded(refused, machine()))
            for event in runner.run(self._turns.groups(i for i in missing if i not in refused)):
                self._handle(store, event)
            while self.study.repeat is None and (again := due(self.specs, self.records)):
                self._repeat(store, runner, again)
        finally:
            for ended in runner.close():
                self.records |= {i: self._completed(i, record, ended.machine) for i, record in ended.records.items()}

    def _repeat(self, store: Store, runner: Runner, again: Sequence[int]) -> None:
        """Carry out the next repetitions of the runs ``again``, each on a machine of its class; the store may have some."""
        added = [replace(self.specs[index], repetition=self.specs[index].repetition + 1) for index in again]
        first, places = len(self.specs), [str(self.records[index]["machine"]["id"]) for index in again]
        self.specs += added
        self.on_repeated(self.specs)
        runner.extend(added, places)
        missing = list[int]()
        for index, place in enumerate(places, first):
            if record := self._known(index, place):
                self.records[index] = record
                self.on_finished(record, True)
            else:
                missing.append(index)
        for event in runner.run(Turns(self.specs, self.study, self.registry).groups(missing)):
            self._handle(store, event)

    def _handle(self, store: Store, event: Event) -> None:
        """Store what ended, and tell observers of what happened."""
        match event:
            case Progress(text):
                self.on_working(text)
            case RunStarted(index):
                self._call_hooks("harness_run_started", spec=copy.deepcopy(self.specs[index].as_dict()))
                self.on_started(self.specs[index])
            case RunsEnded(records, place):
                # a node that came late may be of a class whose runs the store has
                known = {i: record for i in records if (record := self._known(i, place["id"]))}
                ended = {i: known.get(i) or self._completed(i, record, place) for i, record in records.items()}
                self.records |= ended
                for record in ended.values():
                    self.bounds.note(record)
                written = [record for i, record in ended.items() if i not in known]
                self.kept_bytes += store.append(*written, contents=self._contents)
                self._contents.clear()
                for index, record in ended.items():
                    if index not in known:
                        self._call_hooks("harness_run_finished", record=dict(record))
                    self.on_finished(record, index in known)

    def _read_bounds(self, store: StoreReader) -> None:
        """Take in the dual values that the store has of problems with runs that make none."""
        self._turns = Turns(self.specs, self.study, self.registry)
        for sha256 in {spec.data_sha256 for spec in self.specs if lacks_dual(spec, self.registry)}:
            for record in store.of_data(sha256):
                self.bounds.note(record)

    # -- which rows of the store stand for a run -------------------------------------------------------

    def _stored_on(self, machine_id: str) -> dict[int, Record]:
        """Return the records that stand for runs on a class of machines, by index."""
        records = {index: self._known(index, machine_id) for index in range(len(self.specs))}
        return {index: record for index, record in records.items() if record is not None}

    def _stored(self, store: StoreReader, index: int, machine_id: str) -> Record | None:
        """Return the record that stands for a run on a class of machines; None if there is none."""
        spec = self.specs[index]
        if self.study.fresh or _refusal(spec) or (record := self._newest(store, self._key(index, machine_id))) is None:
            return None
        notes = dict(self.datasets[spec.data_key].notes) or None
        formulation = self.registry.formulations.get(spec.formulation)
        if formulation is not None and missed_for_want_of_dual(
            record, self.bounds.of_run(spec), formulation, expected=self._turns.gets_dual(index)
        ):
            return None
        # the same content may have been measured from a file of other names, and for another study
        for row in (record, *record.cells):
            row.update(dataset=spec.dataset, data_notes=notes, study=self.study.sha256, reused=True)
            row.update(data_plugin=self._data_plugin(spec))
        return record

    def _data_plugin(self, spec: RunSpec) -> dict[str, str] | None:
        """Return the fingerprint of the plugin that has the data set; None for a file. It does not decide on reuse, the data do."""
        plugin = self.registry.plugins.get(self.registry.owner("data set", spec.source))
        return None if plugin is None else {plugin.name: plugin.fingerprint}

    def _newest(self, store: StoreReader, key: str) -> Record | None:
        """Return the newest reusable record of a run with the rows of its cells; None if one is missing."""
        for record in store.of(key):
            sources = record.get("sources") or {}
            used = {name: plugin.fingerprint for name, plugin in self.registry.plugins.items() if name in sources}
            if record.reusable and sources and used == sources:
                count = (record.get("path") or {}).get("rows") or 0
                cells = [next(store.of(f"{key}/{number}"), None) for number in range(count)]
                record.cells = tuple(cell for cell in cells if cell is not None)
                models = not any(map(self._lacks_model, (record, *record.cells)))
                return record if models and len(record.cells) == count else None
        return None

    def _lacks_model(self, record: Record) -> bool:
        """Return whether a model is to be kept, and none of this record is."""
        is_path = "rows" in (record.get("path") or {})  # its cells have the models
        return self.study.keep_models and record.measured and not is_path and not record.get("model_sha256")

    def _compute_key(self, index: int, machine_id: str) -> str:
        """Return the key of a run with this code, versions and data on a class of machines."""
        spec = self.specs[index]
        plugin = self.registry.plugins.get(spec.plugin)
        code = plugin.fingerprint + plugin.version if plugin is not None else spec.broken_reason
        # paths say where a plugin or a file lies, its content is in the fingerprints
        unlocated = {name: value for name, value in spec.source_parameters.items() if name not in ("path", "test")}
        surroundings: dict[str, Any] = {"machine": machine_id, "time_budget": self.study.time_budget}
        surroundings |= {"harness": _host_sha256(), "plugin": code, "versions": self._versions(spec.requires)}
        anywhere = replace(spec, dataset="", plugin_paths=(), source_parameters=unlocated, keep_model=False)
        return anywhere.key(surroundings)

    def _completed(self, index: int, outcome: Record, place: Mapping[str, Any]) -> Record:
        """Return the full record of a run on a machine: what was measured and what was requested, unknown figures None."""
        spec, key = self.specs[index], self._key(index, place["id"])
        dataset, plugin = self.datasets[spec.data_key], self.registry.plugins.get(spec.plugin)
        release = {plugin.distribution or plugin.name: plugin.version} if plugin and plugin.version else {}
        facts = {
            **dict.fromkeys(COLUMNS),
            **{name: value for name, value in spec.as_dict().items() if name in COLUMNS and name != "metrics"},
            **asdict(spec.limits),
            "n_train": int(dataset.x_train.shape[0]),
            "n_features": int(dataset.x_train.shape[1]),
            "n_test": int(dataset.x_test.shape[0]),
            "density": dataset.density,
            "positive_share": dataset.positive_share,
            "data_notes": dict(dataset.notes) or None,
            "data_plugin": self._data_plugin(spec),
            "versions": self._versions(spec.requires) | release,
            "machine": place,
            "git_commit": git_commit(),
            "code_sha256": plugin and plugin.fingerprint,
            "study": self.study.sha256,
            "trace": [],
            "info": {},
            "reused": False,
        }
        facts = {name: clean(value) for name, value in facts.items()}  # once for all cells
        parts = [Record({**facts, **outcome, "key": key})]
        parts += [Record({**facts, **cell, "key": f"{key}/{number}"}) for number, cell in enumerate(outcome.cells)]
        record, *cells = parts if self.study.time_budget else map(_without_budget, parts)
        record.cells = tuple(cells)
        self._contents += [model for row in (record, *cells) if (model := row.pop(MODEL, None))]
        return record

    def _call_hooks(self, hook: str, **arguments: Any) -> None:
        """Call a hook of each observing plugin; an observer that fails costs no run, and is named once."""
        for observer in getattr(self.registry.manager.hook, hook).get_hookimpls():
            try:
                observer.function(*(arguments[name] for name in observer.argnames))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if (observer.plugin_name, hook) not in self.failed_hooks:
                    self.failed_hooks.add((observer.plugin_name, hook))
                    self.on_note(f"{faults.format_error(error, observer.plugin_name)}; no run is worse for it")


def _without_budget(record: Record) -> Record:
    """Return the record of a run whose time limit nobody set: stopped by it, the run is unfinished."""
    stopped = record.status is Status.BUDGET and record["stopped_by"] == StoppedBy.TIME
    return Record({**record, "status": str(Status.UNFINISHED)}) if stopped else record


def _refusal(spec: RunSpec) -> Record | None:
    """Return the record of a run that cannot be carried out; None for others."""
    if spec.broken_reason:
        status, stopped_by, reason = Status.ERROR, StoppedBy.FAULT, spec.broken_reason
        return Record.of(Claims(status=status, stopped_by=stopped_by, reason=reason, measured_at=now()))
    if spec.skip_reason:
        return Record.of(Claims(status=Status.SKIPPED, reason=spec.skip_reason, measured_at=now()))
    return None


@functools.cache
def _host_sha256() -> str:
    """Return the fingerprint of the host code that results depend on."""
    root = Path(__file__).parents[2]
    paths = [root.joinpath(*name.split(".")) for name in _RESULTS_DEPEND_ON]
    return digest(root, [file for path in paths for file in [*path.rglob("*"), path.with_suffix(".py")]])


# -- runs on this machine ----------------------------------------------------------------------------------


class LocalRunner:
    """Runs on this machine: job slots, which have a pool of processes and cores that no other slot uses."""

    def __init__(
        self, specs: Sequence[RunSpec], jobs: int, reading_seconds: Mapping[str, float], bounds: DualBounds
    ) -> None:
        self.specs, self.jobs, self.reading_seconds, self.bounds = list(specs), jobs, reading_seconds, bounds
        self._pools: list[ProcessPool] = []
        self._events = queue.SimpleQueue[Event | BaseException | None]()
        self._waiting = queue.SimpleQueue[Sequence[int]]()  # runs that one slot carries out in turns
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def reusable(self, stored: Stored) -> Mapping[int, Record]:
        """Return the records of this class of machines."""
        return stored(machine()["id"])

    def extend(self, specs: Sequence[RunSpec], places: Sequence[str]) -> None:
        """Append runs; they are this machine's, whatever the places."""
        self.specs += specs

    def run(self, groups: Sequence[Sequence[int]]) -> Iterator[Event]:
        """Carry out runs, as many at the same time as the study has jobs. Called again, the processes are still there."""
        if not groups:
            return
        for group in groups:
            self._waiting.put(group)
        # daemons: a command that is interrupted again while it closes does not wait for them, and their processes end with it
        self._thread = threading.Thread(target=self._serve, args=(groups, numba_cache_folder()), daemon=True)
        self._thread.start()
        while (event := self._events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event

    def close(self) -> list[RunsEnded]:
        """End the processes, and return what had ended and was not yielded."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for pool in self._pools:
            pool.close()
        events = [self._events.get() for _ in range(self._events.qsize())]
        return [event for event in events if isinstance(event, RunsEnded)]

    def _serve(self, groups: Sequence[Sequence[int]], numba_cache: Path) -> None:
        """Carry out the runs. At first the pools are prepared one after another: the later ones use what the first one compiles."""
        try:
            if not self._pools:
                specs = [self.specs[index] for group in groups for index in group]
                cores, jobs = itertools.cycle(sorted(os.sched_getaffinity(0))), min(self.jobs, len(specs))
                for _ in range(jobs):
                    pinned = list(itertools.islice(cores, specs[0].threads)) if jobs > 1 else None
                    self._pools.append(ProcessPool(pinned, numba_cache, self._stop, self.reading_seconds))
                for pool in self._pools:
                    pool.prepare(specs, lambda text: self._events.put(Progress(text)))
            with ThreadPoolExecutor(len(self._pools)) as slots:
                slots.map(self._run_slot, self._pools)
        except BaseException as error:
            self._events.put(error)
        finally:
            self._events.put(None)

    def _run_slot(self, pool: ProcessPool) -> None:
        """Carry out runs one after another until none waits."""
        try:
            while not self._stop.is_set():
                for index in self._waiting.get_nowait():
                    spec = self.specs[index]
                    self._events.put(RunStarted(index))
                    record = pool.run(spec, self.bounds.of_run(spec))
                    self.bounds.note_run(spec, record)  # the next run may lack its dual
                    self._events.put(RunsEnded({index: record}, machine()))
        except (WorkerDied, queue.Empty):  # the driver stopped it, or nothing is left
            pass
        except BaseException as error:
            self._events.put(error)
