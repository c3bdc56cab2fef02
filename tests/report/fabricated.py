"""Records as the runner makes them, made up: the report is tested on what it is given, not on a run."""

from __future__ import annotations

from typing import Any

from harness import Record


def record(solver: str = "smo", dataset: str = "digits", **changes: Any) -> Record:
    base: dict[str, Any] = {
        "plugin": solver, "solver": solver, "label": solver, "parameters": {}, "dataset": dataset,
        "formulation": "c-svc", "problem_parameters": {"C": 10.0, "class_weight": "none"}, "kernel": "rbf",
        "kernel_parameters": {"gamma": 0.05}, "seed": 0, "repetition": 0, "status": "ok", "reason": "",
        "fit_seconds": 0.0123, "cpu_seconds": 0.0122, "compile_seconds": 1.5, "peak_rss_bytes": 123_000_000,
        "kernel_evaluations": 1_234_567, "cache_hits": 0, "iterations": 500, "support_vectors": 120,
        "core_set_size": 120, "working_set_size": None, "primal": 10.5, "dual": 10.4, "gap": 0.1, "relative_gap": 3.2e-3,
        "kkt_violation": 1e-3, "feasibility_violation": 0.0, "epsilon": None, "epsilon_plus": None,
        "epsilon_minus": None, "margin_lower": None, "margin_upper": None, "train_accuracy": 1.0,
        "test_accuracy": 0.9716, "metrics": {}, "measured_at": "2026-05-01T12:00:00.000+00:00", "versions": {"a": "1"},
        "machine": {"host": "m"}, "data_sha256": "00", "trace": [], "info": {}, "claimed_done": True, "threads": 1,
        "n_train": 1198, "n_features": 64, "n_test": 599, "key": f"{solver}-{dataset}", "reused": False,
        "target_gap": 1e-2, "stopped_by": "solver",
    }  # fmt: skip
    if "fit_seconds" in changes:  # a machine that does nothing else
        base["cpu_seconds"] = changes["fit_seconds"]
    return Record({**base, **changes})


def hull(solver: str = "fw", **changes: Any) -> Record:
    own = {
        "formulation": "l2-svc",
        "problem_parameters": {"C": 10.0, "chi": 10.0},
        "kkt_violation": None,
        "epsilon": 9e-4,
    }
    return record(solver, **{**own, **changes})


def failed(solver: str, status: str, reason: str, **changes: Any) -> Record:
    names = (
        "fit_seconds", "cpu_seconds", "kernel_evaluations", "support_vectors", "core_set_size", "working_set_size", "primal", "dual",
        "gap", "relative_gap", "kkt_violation", "test_accuracy", "train_accuracy", "iterations", "compile_seconds",
        "cache_hits", "claimed_done", "peak_rss_bytes",
    )  # fmt: skip
    return record(solver, **{**dict.fromkeys(names), "status": status, "reason": reason, **changes})
