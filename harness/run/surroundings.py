"""The source that results depend on beside the plugins': the host's own."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from harness.entries import source_sha256


@functools.cache
def host_sha256() -> str:
    """Return the fingerprint of the host code that results depend on."""
    import harness.kernels
    import harness.measure
    import harness.problems
    import harness.run.certify
    import harness.run.execute
    import harness.run.record
    import harness.solver

    run = (harness.run.certify, harness.run.execute, harness.run.record)
    modules = (harness.kernels, harness.measure, harness.problems, *run, harness.solver)
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
