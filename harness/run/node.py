"""What runs on a node: it says what the node has, compares, carries out blocks of runs, and returns their records as bytes.

An engine calls `carry_out` in a process of its own. No solver runs there: the runs have workers, children and a certifier as
on the driver's machine (`pool.py`), which are kept warm from one task to the next. Nothing is written to a store.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import platform
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

import msgspec

from harness.registry.plugin_files import source_sha256
from harness.run.environments import own_versions
from harness.run.plan import RunSpec
from harness.run.pool import ProcessPool
from harness.run.record import Record
from harness.run.template import numba_cache_folder
from harness.support.errors import HarnessError
from harness.support.machine import machine, versions
from harness.support.printable import clean


class EnvironmentFingerprint(msgspec.Struct, frozen=True):
    """What the result of runs depends on, beside the runs and the machine: the driver's own, or a node's.

    harness : SHA-256 of the host's code
    plugins : of each plugin's code, by its name
    versions : of libraries, by name; those of an environment of a solver's own too
    data : SHA-256 of the content of data sets, by data key; of those that a node cannot read the reason
    """

    harness: str = ""
    plugins: dict[str, str] = {}
    versions: dict[str, str] = {}
    data: dict[str, str] = {}

    def difference(self, there: EnvironmentFingerprint) -> str:
        """Return in what a node's surroundings differ, the end of a sentence; empty if they do not."""
        if there.harness != self.harness:
            return "it has other code of the harness: install the same version there, and start the node's process anew"
        for name, here in self.versions.items():
            if there.versions.get(name) != here:
                return f"it has {name} {there.versions.get(name, '(none)')}, and here is {here}: install the same version there"
        for name, here in self.plugins.items():
            if there.plugins.get(name) != here:
                what = "has other code of" if name in there.plugins else "cannot load"
                return f"it {what} plugin '{name}': install the same one there, and start the node's process anew"
        for key, sha256 in self.data.items():
            found, name = there.data.get(key, ""), json.loads(key)[0]
            if found != sha256:
                other = f"its data of '{name}' have SHA-256 {found[:12]}, and here it is {sha256[:12]}"
                return other if len(found) == len(sha256) else f"it cannot read the data of '{name}': {found}"
        return ""


class Task(msgspec.Struct, frozen=True):
    """What a node is asked for.

    expected : the driver's surroundings; a node that differs runs nothing
    requires : of the solvers, each a list that says in which environment its workers run
    blocks : packed lists of runs: they are opened when the code is known to be the same
    """

    expected: EnvironmentFingerprint
    plugin_paths: list[str] = []
    requires: list[list[str]] = []
    memory_limit: int | None = None
    blocks: bytes = b""


class Block(msgspec.Struct, frozen=True):
    """What became of a block: of each run its record, with the rows of its cells, and how long the runs took."""

    seconds: float
    records: list[tuple[dict[str, Any], list[dict[str, Any]]]]

    def found(self) -> Iterator[Record]:
        """Yield the records."""
        for record, cells in self.records:
            found = Record(record)
            found.cells = tuple(map(Record, cells))
            yield found


class Answer(msgspec.Struct, frozen=True):
    """What a node says: who it is, what it has, and what became of the blocks, none where it refused.

    threads : that it may use
    free_bytes : of its memory
    """

    node: str
    machine: dict[str, Any]
    threads: int
    free_bytes: int
    has: EnvironmentFingerprint
    blocks: list[Block] = []


_RUNS = msgspec.msgpack.Decoder(list[list[RunSpec]])
_ENCODER = msgspec.msgpack.Encoder(enc_hook=clean)
packed = _ENCODER.encode


def carry_out(task: bytes, node: str = "") -> bytes:
    """Carry out the blocks of a packed `Task` on this machine, and return a packed `Answer`.

    node : its name, as the engine knows it; empty: that of the machine
    """
    import psutil

    asked = msgspec.msgpack.decode(task, type=Task)
    has = _fingerprint(asked)
    blocks: list[Block] = []
    if asked.blocks and not asked.expected.difference(has):
        with _pool(packed([asked.plugin_paths, has.plugins])) as pool:
            blocks = [_carried_out(block, pool) for block in _RUNS.decode(asked.blocks)]
    free = psutil.virtual_memory().available
    threads = len(os.sched_getaffinity(0))
    return packed(Answer(node or platform.node(), machine(), threads, free, has, blocks))


def _carried_out(block: Sequence[RunSpec], pool: _Pool) -> Block:
    if new := [spec for spec in block if spec.worker not in pool.prepared]:
        pool.prepare(new, {spec.data_key: _READING.get(spec.data_key, 0.0) for spec in new}, lambda _: None)
        pool.prepared.update(spec.worker for spec in new)
    began = monotonic()
    records = [pool.run(spec, _READING.get(spec.data_key, 0.0)) for spec in block]
    return Block(monotonic() - began, [(dict(each), [dict(cell) for cell in each.cells]) for each in records])


# -- what the node has -------------------------------------------------------------------------------------

_LOCK = threading.Lock()  # an engine may call from several threads
_READ: dict[tuple[str, str], str] = {}  # data key and expected content -> what was found
_READING: dict[str, float] = {}  # data key -> seconds
_plugins: tuple[bytes, Any] = (b"", None)  # of which plugin paths and fingerprints, and their registry


def _fingerprint(asked: Task) -> EnvironmentFingerprint:
    """Return what this node has of what the driver has."""
    expected = asked.expected
    with _LOCK:
        own = {name: version for requires in asked.requires for name, version in own_versions(tuple(requires)).items()}
        found = EnvironmentFingerprint(host(), {}, {**versions(), **own})
        if expected.difference(EnvironmentFingerprint(found.harness, expected.plugins, found.versions, expected.data)):
            return found  # before any plugin is loaded
        try:
            registry = _registry(asked)
        except HarnessError:  # a plugin path that is not there
            return found
        has = {
            name: registry.plugins[name].fingerprint + registry.plugins[name].version
            for name in expected.plugins
            if name in registry.plugins
        }
        data = {}
        if has == expected.plugins:
            data = {key: _content(key, sha256, registry, asked.memory_limit) for key, sha256 in expected.data.items()}
        return EnvironmentFingerprint(found.harness, has, found.versions, data)


@functools.cache
def host() -> str:
    """Return the SHA-256 of the host's code as it is when this process is first asked."""
    import harness

    return source_sha256(harness)


def _registry(asked: Task) -> Any:
    """Return the plugins that are needed; those of files are read anew where other code of them is expected."""
    from harness.registry.discovery import load_registry

    global _plugins
    key = packed([asked.plugin_paths, asked.expected.plugins])
    if _plugins[0] != key:
        _plugins = key, load_registry(asked.plugin_paths, only=set(asked.expected.plugins))
    return _plugins[1]


def _content(key: str, sha256: str, registry: Any, memory_limit: int | None) -> str:
    """Return the SHA-256 of a data set's content, or why it cannot be read; it is read again until it is the expected one."""
    from harness.run.driver import loaded

    if _READ.get((key, sha256)) != sha256:
        name, parameters = json.loads(key)
        began = monotonic()
        try:
            _READ[key, sha256] = loaded(registry.source_class(name)(**parameters), memory_limit).sha256
        except HarnessError as error:
            return str(error)
        _READING[key] = monotonic() - began
    return _READ[key, sha256]


# -- warm processes ----------------------------------------------------------------------------------------


class _Pool(ProcessPool):
    """The processes of one slot; ``prepared``: workers that were."""

    def __init__(self) -> None:
        super().__init__(None, numba_cache_folder(), threading.Event())
        self.prepared = set[str]()


_POOLS: dict[bytes, list[_Pool]] = {}  # those that wait, by the code of their plugins; of one code at a time


@contextmanager
def _pool(code: bytes) -> Iterator[_Pool]:
    """Lend a pool: a warm one where one waits."""
    with _LOCK:
        for other in _POOLS.keys() - {code}:
            for each in _POOLS.pop(other):
                each.close()
        waiting = _POOLS.setdefault(code, [])
        pool = waiting.pop() if waiting else _Pool()
    try:
        yield pool
    except BaseException:
        pool.close()
        raise
    with _LOCK:
        _POOLS.setdefault(code, []).append(pool)


@atexit.register
def close() -> None:
    """End the processes that wait."""
    with _LOCK:
        for waiting in _POOLS.values():
            while waiting:
                waiting.pop().close()


def opened(answer: bytes) -> Answer:
    """Return what `carry_out` packed."""
    return msgspec.msgpack.decode(answer, type=Answer)
