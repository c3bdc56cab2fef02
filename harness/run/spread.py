"""The driver's side of nodes: hand blocks of runs to an executor, check the nodes, and take the records as they come back.

A block is all chosen solvers on one problem and repetition: one node runs it in turns, as ratios need one machine. Short
blocks travel together. Few tasks are on their way at a time, so that the driver holds little, and a lost engine loses little.
Queues, heartbeats and what is done about a lost worker are the engine's.
"""

from __future__ import annotations

import json
import math
import queue
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from harness.measure.outcome import Status, StoppedBy
from harness.run import executors, node
from harness.run.node import Answer, EnvironmentFingerprint, Task
from harness.run.record import Record
from harness.support.errors import EngineLost, UsageError
from harness.support.machine import now, versions

if TYPE_CHECKING:
    from harness.run.driver import Driver
    from harness.run.plan import RunSpec
    from harness.run.store import Store, StoreReader

_T = TypeVar("_T")

_MOST_BLOCKS = 500  # of a task
_SLOT_SECONDS = (
    0.01  # a task is longer for each slot: twice what an engine spends on a task, so that it serves all slots
)
_AHEAD = 2  # tasks a slot: one that is carried out and one that waits, so that no node does
_REFUSALS = 20  # in a row, of an engine that cannot leave a node out
_SHOWN_EACH, _SHOWN_NODES = 1.0, 8  # seconds
_ANSWER_SECONDS = 5.0  # in which a node that is there has said what it has, usually
_NEWEST = 0.5  # weight of the newest task in how long a run is expected to take


@dataclass
class _Node:
    """What came of a node: how many runs."""

    machine: Mapping[str, Any]
    runs: int = 0


class _Sent(NamedTuple):
    """A task that is on its way: the indices of its blocks, and what its nodes were to have."""

    blocks: list[list[int]]
    expected: EnvironmentFingerprint


@dataclass
class Spread:
    """Nodes of an executor, for one study; a context manager.

    preferred : index of a run -> the class of machines that has the other runs of its block
    held : class of machines -> index -> the record that the store held before
    """

    driver: Driver
    nodes: dict[str, _Node] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # node -> why
    preferred: dict[int, str] = field(default_factory=dict)
    held: dict[str, dict[int, Record]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        study, registry = self.driver.study, self.driver.registry
        self.located = [_located(spec) for spec in self.driver.specs]
        used = {name for spec in self.located for name in (spec.plugin, *spec.trusted) if name in registry.plugins}
        plugins = {name: registry.plugins[name].fingerprint + registry.plugins[name].version for name in sorted(used)}
        requires = sorted({spec.requires for spec in self.located})
        own = {name: version for each in requires for name, version in self.driver.versions_of(each).items()}
        self.expected = EnvironmentFingerprint(node.host(), plugins, {**versions(), **own})
        paths = [str(Path(path).absolute()) for path in study.plugin_paths]
        self.task = Task(self.expected, paths, list(map(list, requires)), study.limits.memory_limit)
        given: list[Mapping[str, Any]] = [study.problem_values, *study.formulation_values.values()]
        self.swept = {name for values in given for name, several in values.items() if len(several) > 1}
        self.seconds: dict[str, float] = {}  # data key -> that a run takes
        self.tried = set[int]()  # runs of tasks that failed once
        self.refusals, self.shown, self.explained = 0, monotonic(), False
        self.executor = executors.chosen(study.executor, registry)()

    def __enter__(self) -> Spread:
        try:
            self._ask_all()
        except BaseException:
            self.executor.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.executor.close()

    def _ask_all(self) -> None:
        """Have every node that is there say what it has, before it gets a run; wait for one, as it says what may be reused."""
        note = f"note: no node of {self.driver.study.executor} has answered yet; waiting for one"
        waiting = Timer(_ANSWER_SECONDS, self.driver.on_note, (note,))  # an engine may wait itself, for a node to come
        waiting.start()
        try:
            while not (answers := self._answers()):
                sleep(_SHOWN_EACH)
        finally:
            waiting.cancel()
        for answer in answers:
            self._is_like(answer, self.expected)
        classes = Counter(str(each.machine["id"]) for name, each in self.nodes.items() if name not in self.left_out)
        several = (
            f" of {len(classes)} classes of machines; times are compared within a class" if len(classes) > 1 else ""
        )
        free = min(answer.free_bytes for answer in answers)
        count = classes.total()
        nodes = f"{count} node{'' if count == 1 else 's'}{several}"
        self.driver.on_note(f"note: {nodes}, at least {free / 2**30:.1f} GiB of memory free")

    def _answers(self) -> list[Answer]:
        try:
            return list(map(node.opened, self.executor.everywhere(node.carry_out, node.packed(self.task))))
        except Exception as error:
            raise UsageError(
                f"{self.driver.study.executor}: a node cannot run the harness: {self.executor.format_error(error)}. Install what is "
                "installed here on every node, with the same PYTHONPATH."
            ) from error

    # -- reuse ---------------------------------------------------------------------------------------

    def _blocks(self, indices: Sequence[int]) -> list[list[int]]:
        """Return the blocks of runs, each in the order of the plan."""
        found: dict[tuple[object, ...], list[int]] = {}
        for index in indices:
            spec = self.driver.specs[index]
            swept = {name: value for name, value in spec.problem_parameters.items() if name in self.swept}
            problem = json.dumps([spec.kernel, spec.kernel_parameters, swept], sort_keys=True, default=str)
            found.setdefault((spec.data_key, problem, spec.seed, spec.repetition), []).append(index)
        return list(found.values())

    def reused(self, store: StoreReader) -> dict[int, Record]:
        """Return the records that the store holds, of each block those of one class of machines that the nodes are of."""
        classes = sorted({str(each.machine["id"]) for each in self.nodes.values()})
        self.held |= {on: self.driver.reused(store, on) for on in classes}
        found: dict[int, Record] = {}
        for block in self._blocks(range(len(self.driver.specs))):
            on = max(classes, key=lambda each: sum(index in self.held[each] for index in block))
            found |= {index: self.held[on][index] for index in block if index in self.held[on]}
            if not found.keys().isdisjoint(block):
                self.preferred |= dict.fromkeys(block, on)
        return found

    # -- carrying out --------------------------------------------------------------------------------

    def carried_out(self, todo: Sequence[int], store: Store) -> Iterator[tuple[int, Record]]:
        """Yield (index, record) as blocks come back, each already stored.

        Raises
        ------
        EngineLost : the engine itself is gone.
        UsageError : no node is left.
        """
        of_driver = {index: record for index in todo if (record := self.driver.not_run(index)) is not None}
        for index, record in of_driver.items():
            self.driver.started(index)
            yield from self.driver.kept(store, {index: self.driver.completed(index, record)})
        blocks = self._blocks([index for index in todo if index not in of_driver])
        # the processes of the runs keep one data set: those of one data set follow each other
        place = {
            key: i for i, key in enumerate(dict.fromkeys(self.driver.specs[block[0]].data_key for block in blocks))
        }
        waiting = deque(sorted(blocks, key=lambda block: place[self.driver.specs[block[0]].data_key]))
        ended: queue.SimpleQueue[tuple[_Sent, Future[bytes]]] = queue.SimpleQueue()
        on_their_way = 0
        while waiting or on_their_way:
            lost: EngineLost | None = None
            try:
                slots = self._slots()
                while waiting and on_their_way < _AHEAD * max(1, slots):
                    self._send(self._batch(waiting, slots), ended)
                    on_their_way += 1
            except EngineLost as error:
                lost = error
            try:
                sent, future = ended.get(timeout=_SHOWN_EACH if lost is None else 0.0)
            except queue.Empty:
                if lost is not None:  # and all that had come back is stored
                    raise lost from None
                self._show()
                continue
            on_their_way -= 1
            records = self._taken(sent, future)
            if records is None:
                waiting.extendleft(reversed(sent.blocks))
                continue
            held = self._held(records, store)
            yield from held.items()
            yield from self.driver.kept(store, {i: record for i, record in records.items() if i not in held})
            self._show()

    def _held(self, records: Mapping[int, Record], store: Store) -> dict[int, Record]:
        """Return what the store has held of these runs: a node of another class, which has measured them, came late."""
        on = str(next(iter(records.values()))["machine"]["id"])
        if on not in self.held:
            self.held[on] = self.driver.reused(store, on)
        return {index: self.held[on][index] for index in records if index in self.held[on]}

    def _of_engine(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """Return what a method of the executor returns.

        Raises
        ------
        EngineLost : it raises.
        """
        try:
            return call(*arguments)
        except Exception as error:
            raise self._lost(f" ({self.executor.format_error(error)})") from error

    def _lost(self, why: str = "") -> EngineLost:
        return EngineLost(
            f"{self.driver.study.executor} is gone{why}. What came back is kept in the store. Start it again, with its workers; "
            "the same command goes on where it stopped."
        )

    def _slots(self) -> int:
        slots = self._of_engine(self.executor.slots)
        if self.left_out and (slots == 0 or self.refusals > _REFUSALS):
            raise UsageError(f"no node is left: {'; '.join(f'{name}: {why}' for name, why in self.left_out.items())}.")
        return slots

    def _batch(self, waiting: deque[list[int]], slots: int) -> list[list[int]]:
        """Take as many blocks as make a task: of those whose time is not known yet one, at the end few, so that all nodes work."""
        most = min(_MOST_BLOCKS, max(1, len(waiting) // (_AHEAD * max(1, slots))))
        preferred, batch, seconds = self.preferred.get(waiting[0][0]), list[list[int]](), 0.0
        long = max(self.executor.task_seconds, _SLOT_SECONDS * slots)
        while waiting and len(batch) < most and seconds < long:
            if self.preferred.get(waiting[0][0]) != preferred:
                break
            batch.append(waiting.popleft())
            seconds += len(batch[-1]) * self.seconds.get(self.driver.specs[batch[-1][0]].data_key, math.inf)
        return batch

    def _send(self, blocks: list[list[int]], ended: queue.SimpleQueue[tuple[_Sent, Future[bytes]]]) -> None:
        runs = [[self.located[index] for index in block] for block in blocks]
        data = {spec.data_key: spec.data_sha256 for block in runs for spec in block}
        own = self.expected
        sent = _Sent(blocks, EnvironmentFingerprint(own.harness, own.plugins, own.versions, data))
        task = Task(
            sent.expected, self.task.plugin_paths, self.task.requires, self.task.memory_limit, node.packed(runs)
        )
        on = self.preferred.get(blocks[0][0])
        names = [name for name, each in self.nodes.items() if each.machine["id"] == on and name not in self.left_out]
        for index in (index for block in blocks for index in block):
            self.driver.started(index)
        future = self._of_engine(self.executor.submit, node.carry_out, node.packed(task), names)
        future.add_done_callback(lambda done: ended.put((sent, done)))

    def _taken(self, sent: _Sent, future: Future[bytes]) -> dict[int, Record] | None:
        """Return the records of a task that ended, by index; None where it is tried again, refused or failed for the first time."""
        indices = [index for block in sent.blocks for index in block]
        if future.cancelled():
            raise self._lost()
        error = future.exception()
        if error is not None and self.tried.isdisjoint(indices):
            self.tried.update(indices)
            return None
        if error is not None:
            reason = f"the runs could not be carried out: {self.executor.format_error(error)}"
            lost = Record(status=Status.ENVIRONMENT, stopped_by=StoppedBy.KILLED, reason=reason, measured_at=now())
            return {index: self.driver.completed(index, Record(lost)) for index in indices}
        answer = node.opened(future.result())
        if not self._is_like(answer, sent.expected):
            return None
        there, found = self.nodes[answer.node], dict[int, Record]()
        for block, of_block in zip(sent.blocks, answer.blocks, strict=True):
            key, each = self.driver.specs[block[0]].data_key, of_block.seconds / len(block)
            self.seconds[key] = (1 - _NEWEST) * self.seconds.get(key, each) + _NEWEST * each
            records = dict(zip(block, of_block.found(), strict=True))
            there.runs += len(records)
            found |= {index: self.driver.completed(index, each, there.machine) for index, each in records.items()}
        return found

    # -- nodes ---------------------------------------------------------------------------------------

    def _is_like(self, answer: Answer, expected: EnvironmentFingerprint) -> bool:
        """Take note of a node; leave it out, and say so, where it has not what the driver has."""
        known = self.nodes.setdefault(answer.node, _Node(answer.machine))
        fault = expected.difference(answer.has)
        self.refusals = self.refusals + 1 if fault else 0
        if fault:
            self._leave_out(answer.node, fault)
        elif known.machine != answer.machine:  # another machine of the same name
            known.machine = answer.machine
        return not fault

    def _leave_out(self, name: str, why: str) -> None:
        if name in self.left_out:
            return
        self.left_out[name] = why
        able = self.executor.leave_out(name)
        unable = "" if able else ". The engine cannot leave it out: end its worker"
        self.driver.on_note(f"node {name} is left out: {why}{unable}.")

    def _show(self) -> None:
        """Say where runs go on, now and then."""
        if monotonic() - self.shown < _SHOWN_EACH:
            return
        self.shown, running = monotonic(), self._of_engine(self.executor.running)
        names = [name for name in dict.fromkeys((*running, *self.nodes)) if name not in self.left_out]
        done = {name: self.nodes[name].runs if name in self.nodes else 0 for name in names}
        if not self.explained and not any(done.values()):
            self.driver.on_note(
                "note: no run came back yet; a node compiles the solvers first, where it has not before"
            )
        self.explained = True
        busy = {
            name: f", {running[name]} task{'s' * (running[name] != 1)}" if name in running else "" for name in names
        }
        told = [f"{name} ({done[name]} runs done{busy[name]})" for name in names[:_SHOWN_NODES]]
        more = f" and {len(names) - _SHOWN_NODES} more" if len(names) > _SHOWN_NODES else ""
        self.driver.on_working(f"nodes: {', '.join(told)}{more}")


def _located(spec: RunSpec) -> RunSpec:
    """Return a run whose files are named from the root: a node works in another folder."""
    given = {
        name: str(Path(value).absolute()) if isinstance(value, str) and value and name in ("path", "test") else value
        for name, value in spec.source_parameters.items()
    }
    paths = tuple(str(Path(path).absolute()) for path in spec.plugin_paths)
    return replace(spec, source_parameters=given, plugin_paths=paths)
