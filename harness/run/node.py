"""What runs on a node: compare what the node has with what the driver has, run blocks, and return their records as bytes.

An engine calls `run_task` in a process of its own. No solver runs there: the runs have workers, children and a certifier as
on the driver's machine (`pool.py`), which stay warm from one task to the next. Nothing is written to a store.
"""

from __future__ import annotations

import atexit
import functools
import json
import platform
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

import msgspec

from harness.datasets.validation import load
from harness.registry.discovery import Registry, load_registry
from harness.registry.plugin_files import source_sha256
from harness.run.channel import decode, encode, frame, unframe
from harness.run.environments import own_versions
from harness.run.host_process import numba_cache_folder
from harness.run.messages import RunSpec
from harness.run.pool import ProcessPool
from harness.support.errors import HarnessError
from harness.support.machine import machine, versions


class EnvironmentFingerprint(msgspec.Struct, frozen=True):
    """What the result of runs depends on, beside the runs and the machine: the driver's own, or a node's.

    harness : SHA-256 of the host's code
    plugins : of each plugin's code and version, by its name
    versions : of libraries, by name; those of an environment of a solver's own too
    data : SHA-256 of the content of data sets, by data key; of those that a node cannot read the reason
    """

    harness: str = ""
    plugins: dict[str, str] = {}
    versions: dict[str, str] = {}
    data: dict[str, str] = {}

    def difference(self, node: EnvironmentFingerprint) -> str:
        """Return in what a node differs, the end of a sentence; empty if it does not."""
        if node.harness != self.harness:
            return "it has other code of the harness: install the same version there, and start the node's process anew"
        if name := _first_difference(self.versions, node.versions):
            other, here = node.versions.get(name, "(none)"), self.versions[name]
            return f"it has {name} {other}, and here is {here}: install the same version there"
        if name := _first_difference(self.plugins, node.plugins):
            what = "has other code of" if name in node.plugins else "cannot load"
            return f"it {what} plugin '{name}': install the same one there, and start the node's process anew"
        if key := _first_difference(self.data, node.data):
            other, here, name = node.data.get(key, ""), self.data[key], json.loads(key)[0]
            if len(other) != len(here):
                return f"it cannot read the data of '{name}': {other}"
            return f"its data of '{name}' have SHA-256 {other[:12]}, and here it is {here[:12]}"
        return ""


def _first_difference(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    return next((name for name in here if there.get(name) != here[name]), "")


class Task(msgspec.Struct, frozen=True):
    """What a node is to do.

    expected : what the driver has; a node that differs runs nothing
    requires : of the solvers, each a list that says in which environment its workers run
    runs : encoded list of `RunSpec`, which is decoded when the code is known to be the same; empty: nothing is run
    """

    expected: EnvironmentFingerprint
    plugin_paths: list[str] = []
    requires: list[tuple[str, ...]] = []
    memory_limit: int | None = None
    runs: bytes = b""


class Answer(msgspec.Struct, frozen=True):
    """What a node answers: its name and machine, what it has, and what became of the runs, nothing where it refused them.

    free_bytes : of its memory
    seconds : that the runs took
    rows : of each run, its record and those of its cells
    """

    node: str
    machine: dict[str, Any]
    free_bytes: int
    has: EnvironmentFingerprint
    seconds: float = 0.0
    rows: list[list[dict[str, Any]]] = []


def run_task(task: bytes, node: str = "") -> bytes:
    """Carry out a framed `Task` on this machine, and return a framed `Answer`.

    node : its name, as the engine knows it; empty: that of the machine
    """
    import psutil

    given: Task = unframe(task, Task)
    with _LOCK:
        has = _fingerprint(given)
    refused = not given.runs or given.expected.difference(has)
    seconds, rows = (0.0, []) if refused else _run(decode(given.runs, list[RunSpec]), _code(given))
    return frame(Answer(node or platform.node(), machine(), psutil.virtual_memory().available, has, seconds, rows))


def _run(specs: Sequence[RunSpec], code: bytes) -> tuple[float, list[list[dict[str, Any]]]]:
    """Return how long runs took, and the rows of each."""
    reading = {spec.data_key: _reading_seconds.get(spec.data_key, 0.0) for spec in specs}
    with _lent_pool(code) as pool:
        if new := [spec for spec in specs if spec.worker not in pool.prepared]:
            pool.prepare(new, reading, lambda _: None)
            pool.prepared.update(spec.worker for spec in new)
        began = monotonic()
        records = [pool.run(spec, reading[spec.data_key]) for spec in specs]
        return monotonic() - began, [[dict(row) for row in (record, *record.cells)] for record in records]


# -- what the node has -------------------------------------------------------------------------------------

_LOCK = threading.Lock()  # an engine may call from several threads
_content: dict[tuple[str, str], str] = {}  # (data key, expected SHA-256) -> SHA-256 of what was read
_reading_seconds: dict[str, float] = {}  # data key -> seconds that reading took


def _fingerprint(task: Task) -> EnvironmentFingerprint:
    """Return what this node has of what the driver has; what comes after the first difference is not looked at."""
    expected = task.expected
    found = msgspec.structs.replace(expected, harness=host_sha256(), versions=library_versions(task.requires))
    if expected.difference(found):
        return found
    try:
        registry = _registry(_code(task))
    except HarnessError:  # a plugin path that is not there
        return msgspec.structs.replace(found, plugins={})
    found = msgspec.structs.replace(found, plugins=plugin_fingerprints(expected.plugins, registry))
    if expected.difference(found):
        return found
    data = {key: _sha256(key, sha256, registry, task.memory_limit) for key, sha256 in expected.data.items()}
    return msgspec.structs.replace(found, data=data)


def _code(task: Task) -> bytes:
    return encode([task.plugin_paths, task.expected.plugins])


@functools.cache
def host_sha256() -> str:
    """Return the SHA-256 of all of the host's code, as it is when this process first needs it."""
    import harness

    return source_sha256(harness)


def library_versions(requires: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Return the versions of libraries by name: this interpreter's, and those of the environments of solvers' own."""
    return functools.reduce(lambda found, each: found | own_versions(each), requires, dict(versions()))


def plugin_fingerprints(names: Iterable[str], registry: Registry) -> dict[str, str]:
    """Return the fingerprint and version of plugins, by the name of each that there is."""
    found = {name: registry.plugins[name] for name in names if name in registry.plugins}
    return {name: plugin.fingerprint + plugin.version for name, plugin in found.items()}


@functools.lru_cache(maxsize=1)
def _registry(code: bytes) -> Registry:
    """Return the plugins that a task needs; those of files are read anew where other code of them is expected."""
    plugin_paths, plugins = decode(code, tuple[list[str], dict[str, str]])
    return load_registry(plugin_paths, only=set(plugins))


def _sha256(key: str, expected: str, registry: Registry, memory_limit: int | None) -> str:
    """Return the SHA-256 of a data set's content, or why it cannot be read; it is read again until it is the expected one."""
    if _content.get((key, expected)) != expected:
        name, parameters = json.loads(key)
        began = monotonic()
        try:
            _content[key, expected] = load(registry.source_class(name)(**parameters), memory_limit).sha256
        except HarnessError as error:
            return str(error)
        _reading_seconds[key] = monotonic() - began
    return _content[key, expected]


# -- warm processes ----------------------------------------------------------------------------------------


class NodePool(ProcessPool):
    """The processes of one slot, for plugins of one code; ``prepared``: keys of the workers that are ready."""

    def __init__(self, code: bytes) -> None:
        super().__init__(None, numba_cache_folder(), _stop)
        self.code, self.prepared = code, set[str]()


_idle: list[NodePool] = []
_stop = threading.Event()  # of the runs that go on


@contextmanager
def _lent_pool(code: bytes) -> Iterator[NodePool]:
    """Lend a pool, an idle one where there is one."""
    with _LOCK:
        while _idle and _idle[-1].code != code:
            _idle.pop().close()
        pool = _idle.pop() if _idle else NodePool(code)
        pool.stop = _stop
    try:
        yield pool
        _idle.append(pool)
    except BaseException:
        pool.close()
        raise


def stop() -> None:
    """Have the runs end that go on in this process's threads."""
    global _stop
    _stop.set()
    _stop = threading.Event()


@atexit.register
def close() -> None:
    """End the idle processes."""
    while _idle:
        _idle.pop().close()
