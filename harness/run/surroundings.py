"""What a record and the key of a run say beside what was measured: the request, the code, the machine."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from harness.entries import code_of, source_sha256
from harness.machine import machine, versions
from harness.run.record import COLUMNS, Record
from harness.run.study import RunSpec

if TYPE_CHECKING:
    from harness.datasets.dataset import Dataset
    from harness.registry import Registry


def completed(
    outcome: Record, spec: RunSpec, key: str, dataset: Dataset, registry: Registry, study: str = ""
) -> Record:
    """Return the full record: what was measured beside what was asked, unknown figures None."""
    plugin = registry.plugins.get(spec.plugin)
    own_version = {plugin.distribution or plugin.name: plugin.version} if plugin is not None and plugin.version else {}
    asked = {name: value for name, value in spec.as_dict().items() if name in COLUMNS and name != "metrics"}
    asked |= {**spec.limits.as_columns(), "path": spec.path or None}
    facts = {
        "label": _label(spec, registry),
        "n_train": int(dataset.x_train.shape[0]),
        "n_features": int(dataset.x_train.shape[1]),
        "n_test": int(dataset.x_test.shape[0]),
        "density": dataset.density,
        "positive_share": dataset.positive_share,
        "versions": {**versions(), **own_version},
        "machine": machine(),
        "git_commit": git_commit(),
        "code_sha256": plugin.fingerprint if plugin is not None else None,
        "study": study or None,
        "trace": [],
        "info": {},
        "key": key,
        "reused": False,
    }
    every = [Record({**dict.fromkeys(COLUMNS), **asked, **facts, **each}) for each in (outcome, *outcome.cells)]
    found = every[0]
    found.cells = tuple(every[1:])
    for number, cell in enumerate(found.cells):
        cell["key"] = cell_key(key, number)
    return found


def cell_key(key: str, number: int) -> str:
    """Return the key of a cell's row from that of its path."""
    return f"{key}/{number}"


def _label(spec: RunSpec, registry: Registry) -> str:
    if spec.broken_reason:
        return spec.solver
    try:
        with code_of(spec.plugin, "the label of its solver"):
            return registry.solver_class(f"{spec.plugin}/{spec.solver}")(**spec.parameters).label
    except Exception:  # it was made once already; what fails now is the plugin's
        return spec.solver


@functools.cache
def host_sha256() -> str:
    """Return the fingerprint of the host code that results depend on."""
    import harness.kernels
    import harness.measure
    import harness.path
    import harness.problems
    import harness.run.certify
    import harness.run.execute
    import harness.run.path_judge
    import harness.run.path_records
    import harness.run.path_run
    import harness.run.record
    import harness.solver

    run = (harness.run.certify, harness.run.execute, harness.run.record)
    paths = (harness.run.path_judge, harness.run.path_records, harness.run.path_run, harness.path)
    modules = (harness.kernels, harness.measure, harness.problems, *run, *paths, harness.solver)
    return "".join(source_sha256(module)[:16] for module in modules)


@functools.cache
def git_commit() -> str | None:
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
