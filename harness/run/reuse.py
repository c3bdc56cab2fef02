"""Which rows of a store stand for a run: those of the same run, code, versions, data and class of machines."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.registry.discovery import Registry
from harness.registry.plugin_files import source_sha256
from harness.run.environments import own_versions
from harness.run.plan import RunSpec
from harness.run.record import Record
from harness.run.store import StoreReader
from harness.support.machine import versions

_RESULTS_DEPEND_ON = (
    "harness.kernels", "harness.measure", "harness.problems", "harness.run.certifier", "harness.run.child",
    "harness.run.problem_factory", "harness.run.record", "harness.solver.path", "harness.solver.protocol",
)  # fmt: skip


class RunKeys:
    """The keys of the runs of a study, and the records that a store has under them."""

    def __init__(self, specs: Sequence[RunSpec], registry: Registry) -> None:
        self.specs, self.plugins = specs, registry.plugins
        self._own_versions = functools.cache(own_versions)
        self.key = functools.cache(self._key)

    def _key(self, index: int, machine_id: str) -> str:
        """Return the key of a run on a class of machines."""
        spec = self.specs[index]
        plugin = self.plugins.get(spec.plugin)
        code = plugin.fingerprint + plugin.version if plugin is not None else spec.broken_reason
        # paths say where a plugin or a file lies, its content is in the fingerprints
        unlocated = {name: value for name, value in spec.source_parameters.items() if name not in ("path", "test")}
        located = replace(spec, dataset="", plugin_paths=(), source_parameters=unlocated)
        return located.key(
            {"harness": host_sha256(), "plugin": code, "versions": self.versions(index), "machine": machine_id}
        )

    def versions(self, index: int) -> dict[str, str]:
        """Return the versions of what the run's worker has."""
        return {**versions(), **self._own_versions(self.specs[index].requires)}

    def stored(self, store: StoreReader, machine_id: str) -> dict[int, Record]:
        """Return the newest reusable record of each run on a class of machines, with the rows of its cells, by index."""
        found = ((index, self._newest(store, index, machine_id)) for index in range(len(self.specs)))
        return {index: record for index, record in found if record is not None}

    def _newest(self, store: StoreReader, index: int, machine_id: str) -> Record | None:
        if self.specs[index].broken_reason or self.specs[index].skip_reason:
            return None
        for record in store.of(key := self.key(index, machine_id)):
            if record.reusable and self._is_current(record.get("sources") or {}):
                count = (record.get("path") or {}).get("rows") or 0
                cells = [next(store.of(f"{key}/{number}"), None) for number in range(count)]
                record.cells = tuple(cell for cell in cells if cell is not None)
                return record if len(record.cells) == count else None
        return None

    def _is_current(self, sources: Mapping[str, str]) -> bool:
        """Return whether the plugins that a run really used have the code that they had."""
        now = {name: plugin.fingerprint for name, plugin in self.plugins.items() if name in sources}
        return bool(sources) and now == sources


@functools.cache
def host_sha256() -> str:
    """Return the fingerprint of the host code that results depend on."""
    return "".join(source_sha256(importlib.import_module(name))[:16] for name in _RESULTS_DEPEND_ON)
