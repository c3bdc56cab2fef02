"""Runs on the nodes of an executor: send blocks of runs, refuse nodes that differ, and yield records as they come back.

A block is all chosen solvers on one problem and repetition: one node runs it in turns, as ratios need one machine. Few
tasks, each of one block, are under way at a time, so that the driver holds little, and a lost engine loses little.
Queues, heartbeats and what is done about a lost worker are the engine's.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

import msgspec

from harness.measure.outcome import Status, StoppedBy
from harness.run import executors, node
from harness.run.channel import encode, frame, unframe
from harness.run.dual_bounds import DualBounds
from harness.run.messages import Event, Progress, RunsEnded, RunSpec, RunStarted, Stored
from harness.run.node import Answer, EnvironmentFingerprint, Task
from harness.run.plan import Study, block_numbers
from harness.run.record import Claims, Record
from harness.support.errors import EngineLost, UsageError
from harness.support.machine import machine, now

_TASKS_PER_SLOT = 2  # tasks under way: one that runs and one that waits, so that no node does
_MAX_REFUSALS = 20  # refused tasks in a row, of an engine that cannot leave a node out
_PROGRESS_SECONDS = 1.0  # seconds between two progress texts
_ANSWER_SECONDS = 5.0  # seconds after which it is said that no node has answered


class NodeRunner:
    """Runs on the nodes of an executor.

    bounds : the best dual bounds known, which go with the runs
    note : called with a sentence on the nodes

    Raises
    ------
    UsageError : the executor cannot be opened.
    """

    def __init__(self, specs: Sequence[RunSpec], study: Study, bounds: DualBounds, note: Callable[[str], None]) -> None:
        self.specs, self.study, self.url, self.note = list(map(_located, specs)), study, study.executor, note
        self._bounds = bounds
        self._block_numbers = block_numbers(self.specs, study)
        requires = sorted({spec.requires for spec in self.specs})
        plugins = sorted({name for spec in self.specs for name in (spec.plugin, *spec.trusted)})
        programs = sorted({name for spec in self.specs for name in spec.depends_on})
        here = EnvironmentFingerprint.of_process(plugins, bounds.registry, requires, programs)
        self._task = Task(here, _absolute(study.plugin_paths), requires, study.limits.memory_limit)
        self._ended = queue.SimpleQueue[tuple[list[int], Future[bytes]]]()  # tasks by their runs
        self._machines: dict[str, Mapping[str, Any]] = {}  # by the name of the node
        self._left_out: dict[str, str] = {}  # node -> why
        self._preferred: dict[int, str] = {}  # run -> class of machines that has the other runs of its block
        self._failed_once = set[int]()  # runs
        self._has_result = False  # of a node
        self._refusals, self._shown = 0, monotonic()
        self.executor = executors.select_executor(self.url, bounds.registry)()

    def close(self) -> list[RunsEnded]:
        """End what goes on, and close the executor."""
        node.stop()
        self.executor.close()
        return []

    def _connect(self) -> None:
        """Wait for a node, and compare all that are there with this machine; their classes say what may be reused."""
        text = f"note: no node of {self.url} has answered yet; waiting for one"
        waiting = Timer(_ANSWER_SECONDS, self.note, (text,))  # an engine may wait itself, for a node to come
        waiting.start()
        try:
            while not (framed := self.executor.everywhere(node.run_task, frame(self._task))):
                sleep(_PROGRESS_SECONDS)
            answers = [unframe(data, Answer) for data in framed]
        except Exception as error:
            raise UsageError(
                f"{self.url}: a node cannot run the harness: {self.executor.format_error(error)}. Install what is "
                "installed here on every node, with the same PYTHONPATH."
            ) from error
        finally:
            waiting.cancel()
        classes = [answer.machine["id"] for answer in answers if self._accepts(answer)]
        count = len(set(classes))
        several = f" of {count} classes of machines; times are compared within a class" if count > 1 else ""
        self.note(f"note: {_count_nodes(classes)}{several}")

    def _accepts(self, answer: Answer, data: Mapping[str, str] | None = None) -> bool:
        """Return whether a node has what the driver has, and the ``data`` of its runs; if not, leave it out and say why."""
        self._machines[answer.node] = answer.machine
        difference = msgspec.structs.replace(self._task.expected, data=data or {}).difference(answer.has)
        self._refusals = self._refusals + 1 if difference else 0
        if difference and answer.node not in self._left_out:
            self._left_out[answer.node] = difference
            is_able = self.executor.leave_out(answer.node)
            remedy = "" if is_able else ". The engine cannot leave it out: end its worker"
            self.note(f"node {answer.node} is left out: {difference}{remedy}.")
        return not difference

    def _blocks(self, indices: Iterable[int]) -> list[list[int]]:
        """Return the blocks of runs, each in the order of the plan."""
        blocks: dict[int, list[int]] = {}
        for index in indices:
            blocks.setdefault(self._block_numbers[index], []).append(index)
        return list(blocks.values())

    def reusable(self, stored: Stored) -> Mapping[int, Record]:
        """Return, of each block, the records of the class of machines among the nodes that has most of them.

        Raises
        ------
        UsageError : a node cannot run the harness.
        """
        self._connect()
        classes = sorted({str(machine["id"]) for machine in self._machines.values()})
        reused: dict[int, Record] = {}
        for block in self._blocks(range(len(self.specs))):
            records = [{index: stored(name)[index] for index in block if index in stored(name)} for name in classes]
            most = max(records, key=len)
            if most:
                reused |= most
                self._preferred |= dict.fromkeys(block, classes[records.index(most)])
        return reused

    def extend(self, specs: Sequence[RunSpec], places: Sequence[str]) -> None:
        """Append runs that prefer nodes of these classes; see `Runner`."""
        self._preferred |= dict(enumerate(places, len(self.specs)))
        self.specs += map(_located, specs)
        self._block_numbers = block_numbers(self.specs, self.study)

    # -- running -------------------------------------------------------------------------------------

    def run(self, groups: Sequence[Sequence[int]]) -> Iterator[Event]:
        """Send blocks of runs to the nodes and yield what comes back; see `Runner`."""
        # the processes of a node hold one data set, so the blocks of one follow each other
        blocks = self._blocks(index for group in groups for index in group)
        waiting = deque(sorted(blocks, key=lambda block: self.specs[block[0]].data_key))
        under_way = 0
        while waiting or under_way:
            try:
                slots = self._slots()
                while waiting and under_way < _TASKS_PER_SLOT * max(1, slots):
                    runs = waiting.popleft()
                    yield from map(RunStarted, runs)
                    self._send(runs)
                    under_way += 1
                if monotonic() - self._shown >= _PROGRESS_SECONDS:
                    yield self._progress()
                runs, future = self._ended.get(timeout=_PROGRESS_SECONDS)
                if future.cancelled():
                    raise CancelledError
            except queue.Empty:
                continue
            except UsageError:
                raise
            except Exception as error:
                yield from self._last_results()
                why = "" if isinstance(error, CancelledError) else f" ({self.executor.format_error(error)})"
                raise EngineLost(
                    f"{self.url} is gone{why}. What came back is kept in the store. Start it again, with its workers; "
                    "the same command goes on where it stopped."
                ) from error
            under_way -= 1
            if result := self._result(runs, future):
                yield result
            else:
                waiting.appendleft(runs)

    def _last_results(self) -> Iterator[RunsEnded]:
        """Yield what had come back before the engine was lost."""
        while not self._ended.empty():
            runs, future = self._ended.get()
            if not future.cancelled() and (result := self._result(runs, future)):
                yield result

    def _slots(self) -> int:
        slots = self.executor.slots()
        if self._left_out and (slots == 0 or self._refusals > _MAX_REFUSALS):
            raise UsageError(f"no node is left: {'; '.join(f'{name}: {why}' for name, why in self._left_out.items())}.")
        return slots

    def _send(self, runs: list[int]) -> None:
        specs = [self.specs[index] for index in runs]
        expected = msgspec.structs.replace(self._task.expected, data=self._data(runs))
        bounds = {
            key: bound for spec in specs if (bound := self._bounds.known.get(key := self._bounds.key(spec.as_dict())))
        }
        task = msgspec.structs.replace(self._task, expected=expected, runs=encode(specs), bounds=bounds)
        preferred, usable = self._preferred.get(runs[0]), self._machines.keys() - self._left_out.keys()
        nodes = [name for name in usable if self._machines[name]["id"] == preferred]
        future = self.executor.submit(node.run_task, frame(task), nodes)
        future.add_done_callback(lambda done: self._ended.put((runs, done)))

    def _result(self, runs: list[int], future: Future[bytes]) -> RunsEnded | None:
        """Return the records of a task; None where it is to be sent again: a node refused it, or it failed for the first time."""
        try:
            answer: Answer = unframe(future.result(), Answer)
        except Exception as error:
            if self._failed_once.isdisjoint(runs):
                self._failed_once.update(runs)
                return None
            reason = f"the runs could not be carried out: {self.executor.format_error(error)}"
            ending = Claims(status=Status.ENVIRONMENT, stopped_by=StoppedBy.KILLED, reason=reason, measured_at=now())
            return RunsEnded({index: Record.of(ending) for index in runs}, machine())
        if not self._accepts(answer, self._data(runs)):
            return None
        self._has_result, records = True, {}
        for index, (row, *cells) in zip(runs, answer.rows, strict=True):
            records[index] = Record(row)
            records[index].cells = tuple(map(Record, cells))
        return RunsEnded(records, answer.machine)

    def _data(self, runs: Iterable[int]) -> dict[str, str]:
        """Return the SHA-256 of the data of runs, by data key."""
        return {self.specs[index].data_key: self.specs[index].data_sha256 for index in runs}

    def _progress(self) -> Progress:
        """Return what the nodes do; each solver is compiled on a node before its first run there."""
        self._shown, running = monotonic(), self.executor.running()
        names = {*running, *self._machines} - self._left_out.keys()
        busy = f", {sum(map(bool, running.values()))} busy" if running else ""
        compiling = "" if self._has_result else "; a node compiles the solvers first, where it has not before"
        return Progress(f"{_count_nodes(names)}{busy}{compiling}")


def _count_nodes(nodes: Sized) -> str:
    return f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}"


def _absolute(paths: Iterable[str]) -> list[str]:
    """Return paths named from the root: a node works in another folder."""
    return [str(Path(path).absolute()) for path in paths]


def _located(spec: RunSpec) -> RunSpec:
    """Return a run whose files are named from the root."""
    values = {name: value for name in ("path", "test") if (value := spec.source_parameters.get(name))}
    files = {name: _absolute([value])[0] for name, value in values.items() if isinstance(value, str)}
    parameters = spec.source_parameters | files
    return replace(spec, source_parameters=parameters, plugin_paths=tuple(_absolute(spec.plugin_paths)))
