"""The machine and the software a measurement was made with; read once per session."""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "cvxpy-base", "cvxpy", "clarabel", "pandas")


@functools.cache
def machine() -> dict[str, Any]:
    """Return processor, cores, memory, system and BLAS, with an ``id`` that is the hash of the rest."""
    import psutil

    description: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        "blas": _blas(),
    }
    if declared := os.environ.get("HARNESS_MACHINE"):
        description["declared"] = declared
    identity = {name: value for name, value in description.items() if name not in ("usable_cores", "memory_bytes")}
    description["id"] = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    return description


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _blas() -> str:
    import numpy as np

    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except (KeyError, TypeError):
        return "unknown"
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of the harness and of the libraries a result depends on."""
    by_name = {"python": sys.version.split()[0]}
    for name in ("svm-harness", *_LIBRARIES):
        try:
            by_name[name] = version(name)
        except PackageNotFoundError:
            continue
    return by_name


def now() -> str:
    """Return the time of measurement, UTC, as a record has it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def load_average() -> float:
    """Return the load average of the last minute: how disturbed a time may be."""
    return os.getloadavg()[0]


def reset_peak_memory() -> None:
    """Start this process's VmHWM anew, so that a run's peak does not include what came before it, such as compilation."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def status_bytes(field: str, pid: int | str = "self") -> int | None:
    """Return a memory figure of /proc/PID/status in bytes (``VmHWM``, ``VmRSS``, ``VmData``), None if unreadable.

    ``ru_maxrss`` is no substitute: a forked child inherits its parent's peak there.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return None


def thread_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process's main thread as the system accounts for them, to 0.01 s; 0 if unreadable."""
    return _accounted(f"/proc/{pid}/task/{pid}/stat", 2)


def process_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and of those that it waited for, to 0.01 s; 0 if unreadable."""
    return _accounted(f"/proc/{pid}/stat", 4)


def children_cpu_seconds() -> float:
    """Return the CPU seconds of the processes that this one started and waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def delay_seconds() -> float | None:
    """Return how long this process's main thread was ready to run while other work had its core; None if unreadable."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def _accounted(file: str, figures: int) -> float:
    try:
        ticks = Path(file).read_text().rpartition(")")[2].split()[11 : 11 + figures]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


@functools.cache
def git_commit() -> str | None:
    """Return the commit of the checkout of the harness, with ``+`` if it has changes; None outside one."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        run = functools.partial(subprocess.run, cwd=folder, capture_output=True, text=True, timeout=10, check=True)
        commit = run(["git", "rev-parse", "HEAD"]).stdout.strip()
        return commit + ("+" if run(["git", "status", "--porcelain", "-uno"]).stdout.strip() else "")
    except (OSError, subprocess.SubprocessError):
        return None
