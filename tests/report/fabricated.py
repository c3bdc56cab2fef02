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


def runs(solver, *sets, make=record, **changes):
    """Three runs a data set, the middle one's seconds given."""
    return [
        make(solver, dataset=name, fit_seconds=seconds * by, cpu_seconds=seconds * by, repetition=i, target_gap=1e-3, **changes)
        for name, seconds in zip(("digits", "banana"), sets, strict=False)
        for i, by in enumerate((0.9, 1.0, 1.1))
    ]  # fmt: skip


def swept(solver, *seconds, formulation="c-svc", **changes):
    """Three runs a value of C = 1 and 10."""
    return [each for C, middle in zip((1.0, 10.0), seconds, strict=False)
            for each in runs(solver, middle, formulation=formulation, problem_parameters={"C": C}, **changes)]  # fmt: skip


def loose(solver, seconds, accuracy, make=record, **changes):
    """One run without a target gap."""
    return [make(solver, target_gap=None, fit_seconds=seconds, test_accuracy=accuracy, n_test=10_000, **changes)]


GRID = {"costs": {"C": [1.0, 8.0]}, "widths": {"gamma": [0.5, 2.0, 8.0]}, "folds": 5}


def path(solver="smo", start="warm", **changes):
    """The run of a whole path."""
    grid = {
        **GRID, "start": start, "cells": 30, "finished": 30, "certified": 30, "rows": 31, "worst_gap": 9.9e-4,
        "worst_violation": 4e-4, "best": {"C": 8.0, "gamma": 0.5}, "cv_error": 0.0317, "cv_standard_error": 0.0092,
    }  # fmt: skip
    known = {
        "problem_parameters": {"class_weight": "none"},
        "kernel_parameters": {},
        "relative_gap": None,
        "target_gap": None,
    }
    costs = {"fit_seconds": 1.2, "kernel_evaluations": 9_876_543}
    return record(solver, **{**known, **costs, "path": {**grid, **changes.pop("path", {})}, **changes})


def cell(solver="smo", start="warm", fold=0, **changes):
    """The run of a cell of a path."""
    place = {**GRID, "start": start, "cell": changes.pop("cell", 3), **changes.pop("path", {})}
    return record(solver, fold=fold, path=place, **{"validation_error": 0.1, **changes})


def three(make, *arguments, **changes):
    return [make(*arguments, repetition=repetition, **changes) for repetition in range(3)]


def study():
    """Four solvers, two formulations, a failure, a black box."""
    smo = [record("smo", repetition=i, fit_seconds=0.020 + 0.001 * i) for i in range(3)]
    lasvm = {"label": "lasvm[epochs=2]", "kernel_evaluations": None, "test_accuracy": 0.98, "relative_gap": 2e-3}
    qp = three(record, "qp", fit_seconds=1234.6)
    qp[1] = failed("qp", "timeout", "ran past the time limit of 10 s", repetition=1)
    fw = three(hull, "fw", working_set_size=300, kernel_evaluations=210_000)
    return [*smo, *three(record, "lasvm", **lasvm), *qp, *fw]
