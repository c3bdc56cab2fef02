"""The machine and the software a measurement was made with; read once per session."""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import json
import os
import platform
import re
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
    description: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
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


_LIMITS = {name: number for name, number in vars(resource).items() if name.startswith("RLIMIT_")}
del _LIMITS["RLIMIT_OFILE"]  # RLIMIT_NOFILE by another name


def constraints(pid: int) -> dict[str, Any]:
    """Return what the system lets a process do: its resource limits, its niceness and its cores, by name; {} if it is gone."""
    try:
        limits: dict[str, Any] = {name: resource.prlimit(pid, number) for name, number in _LIMITS.items()}
        nice, cores = os.getpriority(os.PRIO_PROCESS, pid), sorted(os.sched_getaffinity(pid))
    except OSError:
        return {}
    return {**limits, "niceness": nice, "cores": cores}


def git_origin(folder: Path) -> str:
    """Return the origin of a clone as pip takes it, without a user's password; empty if it has none in the network."""
    command = ["git", "remote", "get-url", "origin"]
    try:
        url = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    url = re.sub(r"^([\w.-]+@[\w.-]+):(?!//)", r"ssh://\1/", url)  # git@host:path
    url = re.sub(r"^(https?://)[^/@]*@", r"\1", url)
    return f"git+{url}" if re.match(r"(https?|ssh)://", url) else ""


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
