"""Runs of a study on this machine: job slots, which have processes and cores of their own."""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.run.dual_bounds import DualBounds
from harness.run.host_process import WorkerDied, numba_cache_folder
from harness.run.messages import Event, Progress, RunsEnded, RunSpec, RunStarted, Stored
from harness.run.plan import Study, Turns
from harness.run.pool import ProcessPool
from harness.run.record import Record
from harness.support.machine import machine


class LocalRunner:
    """Runs on this machine: job slots, which have a pool of processes and cores that no other slot uses."""

    def __init__(
        self, specs: Sequence[RunSpec], study: Study, reading_seconds: Mapping[str, float], bounds: DualBounds
    ) -> None:
        self.specs, self.study, self.reading_seconds, self.bounds = list(specs), study, reading_seconds, bounds
        self._pools: list[ProcessPool] = []
        self._events = queue.SimpleQueue[Event | BaseException | None]()
        self._waiting = queue.SimpleQueue[list[int]]()  # runs that one slot carries out in turns
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def reusable(self, stored: Stored) -> Mapping[int, Record]:
        """Return the records of this class of machines."""
        return stored(machine()["id"])

    def extend(self, specs: Sequence[RunSpec], places: Sequence[str]) -> None:
        """Append runs; they are this machine's, whatever the places."""
        self.specs += specs

    def run(self, indices: Sequence[int]) -> Iterator[Event]:
        """Carry out runs, as many at the same time as the study has jobs. Called again, the processes are still there."""
        if not indices:
            return
        for group in Turns(self.specs, self.study, self.bounds.registry).groups(indices):
            self._waiting.put(group)
        # daemons: a command that is interrupted again while it closes does not wait for them, and their processes end with it
        self._thread = threading.Thread(target=self._serve, args=(indices, numba_cache_folder()), daemon=True)
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

    def _serve(self, indices: Sequence[int], numba_cache: Path) -> None:
        """Carry out the runs. At first the pools are prepared one after another: the later ones use what the first one compiles."""
        try:
            if not self._pools:
                jobs, cores = min(self.study.jobs, len(indices)), itertools.cycle(sorted(os.sched_getaffinity(0)))
                pinned = (
                    [list(itertools.islice(cores, self.study.threads)) for _ in range(jobs)] if jobs > 1 else [None]
                )
                self._pools = [ProcessPool(cores_of_slot, numba_cache, self._stop) for cores_of_slot in pinned]
                for pool in self._pools:
                    specs = [self.specs[index] for index in indices]
                    pool.prepare(specs, self.reading_seconds, lambda text: self._events.put(Progress(text)))
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
                    record = pool.run(spec, self.reading_seconds[spec.data_key], self.bounds.of_run(spec))
                    self.bounds.note_run(spec, record)  # the next run may lack its dual
                    self._events.put(RunsEnded({index: record}, machine()))
        except (WorkerDied, queue.Empty):  # the driver stopped it, or nothing is left
            pass
        except BaseException as error:
            self._events.put(error)
