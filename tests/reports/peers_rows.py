"""Rows as reports/peers/run.py writes them, made up: every case that the report has to tell apart."""

from reports.peers.suite import SETS

MACHINE = {"processor": "a processor", "usable_cores": 2, "memory_bytes": 2**34, "system": "Linux", "blas": "blas 1"}
HEADER = {
    "part": "header",
    "machine": MACHINE,
    "versions": {"python": "3.11", "numpy": "2"},
    "command": "reports/peers/run.py",
    "measured_at": "2026-01-02T03:04:05",
}


def row(name, label, seconds, *, kkt=9e-4, gap=1e-4, threads=1, tol=None, part="peers", number=0, **changed):
    """One run; ``seconds`` None: killed at its limit."""
    done = seconds is not None
    found = {
        "part": part,
        "set": name,
        "round": number,
        "selection": SETS[name].selection if name in SETS else name,
        "label": label,
        "threads": threads,
        "tol": tol,
        "status": "ok" if done else "timeout",
        "reason": "" if done else "still running at the time limit of 20 s; killed after 20.7 s",
        "kkt_violation": kkt if done else None,
        "relative_gap": gap if done else None,
        "support_vectors": 100 if done else None,
        "kernel_evaluations": 5e6 if done and label.startswith("smo") else None,
        "peak_rss_bytes": 2**28,
        "seconds": seconds,
        "cpu": seconds if threads == 1 or not done else 2 * seconds,
        "test_error": 0.05 if done else None,
        "limit": 20.0,
        "killed_cpu_seconds": None if done else changed.get("limit", 20.0),
        "n": 4000,
        "d": 2,
        "C": 1.0,
        "gamma": 0.5,
        "load_average": 0.5,
        "info": {},
        "elapsed": 1.0,
    }
    return {**found, **changed}
