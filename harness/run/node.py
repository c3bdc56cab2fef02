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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Any

import msgspec

from harness.datasets.validation import load
from harness.measure.outcome import DualBound
from harness.registry.discovery import Registry, load_registry
from harness.registry.plugin_files import digest, source_files
from harness.run.channel import decode, encode, frame, unframe
from harness.run.dependencies import look_up
from harness.run.dual_bounds import DualBounds
from harness.run.environments import own_versions
from harness.run.host_process import numba_cache_folder
from harness.run.messages import RunSpec
from harness.run.pool import ProcessPool
from harness.run.record import Record
from harness.support.errors import HarnessError
from harness.support.machine import machine, versions
from harness.support.printable import clipped


class EnvironmentFingerprint(msgspec.Struct, frozen=True):
    """What the result of runs depends on, beside the runs and the machine: the driver's, or a node's. All by name.

    sources : SHA-256 of the host's code
    versions : of libraries; those of an environment of a solver's own too
    plugins : SHA-256 of the code, and version
    programs : SHA-256 and version of the programs and files that solvers declare
    data : SHA-256 of the content of data sets, by data key; of those that a node cannot read the reason
    """

    sources: dict[str, str] = {}
    versions: dict[str, str] = {}
    plugins: dict[str, str] = {}
    programs: dict[str, str] = {}
    data: dict[str, str] = {}

    @classmethod
    def of_process(
        cls, plugins: Iterable[str], registry: Registry, requires: Iterable[tuple[str, ...]], programs: Iterable[str]
    ) -> EnvironmentFingerprint:
        """Return what this process has: the harness, plugins and programs by name, libraries, also in environments of solvers."""
        present = {name: registry.plugins[name] for name in plugins if name in registry.plugins}
        codes = {name: plugin.fingerprint + plugin.version for name, plugin in present.items()}
        libraries = functools.reduce(dict.__or__, map(own_versions, requires), dict(versions()))
        contents = {name: each["sha256"] + each["version"] for name, each in look_up(programs).items()}
        return cls(host_code(), libraries, codes, contents)

    def difference(self, node: EnvironmentFingerprint) -> str:
        """Return in what a node differs, the end of a sentence; empty if it does not."""
        for kind in self.__struct_fields__:
            there = getattr(node, kind)
            for name, value in getattr(self, kind).items():
                if there.get(name) != value:
                    of = json.loads(name)[0] if kind == "data" else name
                    what = (
                        f"its {kind} differ: {of} is {clipped(there.get(name, '(none)'), 200)}, and here it is {value}"
                    )
                    return f"{what}. Install the same there, and start the node's process anew"
        return ""


class Task(msgspec.Struct, frozen=True):
    """What a node is to do.

    expected : what the driver has; a node that differs runs nothing
    requires : of the solvers, each a list that says in which environment its workers run
    runs : encoded list of `RunSpec`, which is decoded when the code is known to be the same; empty: nothing is run
    bounds : the best dual bound known of their problems, by key, see `harness.run.dual_bounds`
    """

    expected: EnvironmentFingerprint
    plugin_paths: list[str] = []
    requires: list[tuple[str, ...]] = []
    memory_limit: int | None = None
    runs: bytes = b""
    bounds: dict[str, DualBound] = {}


class Answer(msgspec.Struct, frozen=True):
    """What a node answers: its name and machine, what it has, and what became of the runs, nothing where it refused them.

    rows : of each run, its record and those of its cells
    """

    node: str
    machine: dict[str, Any]
    has: EnvironmentFingerprint
    rows: list[list[dict[str, Any]]] = []


def run_task(task: bytes, node: str = "") -> bytes:
    """Carry out a framed `Task` on this machine, and return a framed `Answer`.

    node : its name, as the engine knows it; empty: that of the machine
    """
    request: Task = unframe(task, Task)
    with _LOCK:
        answer = Answer(node or platform.node(), machine(), _fingerprint(request))
    if not request.runs or request.expected.difference(answer.has):
        return frame(answer)
    specs = decode(request.runs, list[RunSpec])
    with _lent_pool(_code(request)) as (pool, is_new):
        if is_new:  # the first block has all solvers
            pool.prepare(specs, lambda _: None)
        records = list[Record]()
        bounds = DualBounds(_registry(_code(request)), request.bounds)
        for spec in specs:
            records.append(pool.run(spec, bounds.of_run(spec)))
            bounds.note_run(spec, records[-1])
    rows = [[dict(row) for row in (record, *record.cells)] for record in records]
    return frame(msgspec.structs.replace(answer, rows=rows))


# -- what the node has -------------------------------------------------------------------------------------

_LOCK = threading.Lock()  # an engine may call from several threads
_data_sha256: dict[str, str] = {}  # data key -> SHA-256 of what was read
_reading_seconds: dict[str, float] = {}  # data key -> seconds that reading took


def _fingerprint(task: Task) -> EnvironmentFingerprint:
    """Return what this node has of what the driver has; other code of the harness is not tried with the driver's plugins."""
    expected = task.expected
    if expected.sources != host_code():
        return EnvironmentFingerprint(host_code())
    try:
        registry = _registry(_code(task))
    except HarnessError:  # a plugin path that is not there
        return msgspec.structs.replace(expected, plugins={})
    present = EnvironmentFingerprint.of_process(expected.plugins, registry, task.requires, expected.programs)
    data = {key: _read_sha256(key, sha256, registry, task.memory_limit) for key, sha256 in expected.data.items()}
    return msgspec.structs.replace(present, data=data)


def _read_sha256(key: str, expected: str, registry: Registry, memory_limit: int | None) -> str:
    """Return the SHA-256 of a data set's content, or why it cannot be read; it is read again until it is the expected one."""
    if _data_sha256.get(key) != expected:
        name, parameters = json.loads(key)
        began = monotonic()
        try:
            _data_sha256[key] = load(registry.source_class(name)(**parameters), memory_limit).sha256
        except HarnessError as error:
            return str(error)
        _reading_seconds[key] = monotonic() - began
    return _data_sha256[key]


def _code(task: Task) -> bytes:
    return encode([task.plugin_paths, task.expected.plugins])


@functools.cache
def host_code() -> dict[str, str]:
    """Return the SHA-256 of all of the host's code, as it is when this process first needs it."""
    import harness

    return {"harness": digest(*source_files(harness))}


@functools.lru_cache(maxsize=1)
def _registry(code: bytes) -> Registry:
    """Return the plugins that a task needs; those of files are read anew where other code of them is expected."""
    plugin_paths, plugins = decode(code, tuple[list[str], dict[str, str]])
    return load_registry(plugin_paths, only=set(plugins))


# -- warm processes ----------------------------------------------------------------------------------------


_idle: list[tuple[bytes, ProcessPool]] = []  # with the code of the plugins that their processes have
_stop = threading.Event()  # of the runs that go on


@contextmanager
def _lent_pool(code: bytes) -> Iterator[tuple[ProcessPool, bool]]:
    """Lend a pool, and say whether it is new or an idle one; it is closed where the block fails."""
    with _LOCK:
        while _idle and _idle[-1][0] != code:
            _idle.pop()[1].close()
        is_new = not _idle
        pool = ProcessPool(None, numba_cache_folder(), _stop, _reading_seconds) if is_new else _idle.pop()[1]
        pool.stop = _stop
    with ExitStack() as stack:
        stack.callback(pool.close)
        yield pool, is_new
        stack.pop_all()
        _idle.append((code, pool))


def stop() -> None:
    """Have the runs end that go on in this process's threads."""
    global _stop
    _stop.set()
    _stop = threading.Event()


@atexit.register
def close() -> None:
    """End the idle processes."""
    while _idle:
        _idle.pop()[1].close()
