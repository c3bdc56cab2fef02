"""A store of somebody's who wishes us ill: something hostile in every field of its records.

Every markup among the texts sets ``window.__xss`` if it is ever carried out.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from harness.run.record import Record

from .stored import failed, record, store

ESCAPE = "x/../../../../../ESCAPED/"
TEXTS = (
    "<img src=x onerror=window.__xss=1>",
    "\"><script>window.__xss=2</script>",
    "'><svg onload=window.__xss=3>",
    "javascript:window.__xss=4",
    "</script><script>window.__xss=5</script>",
    "{{constructor.constructor('window.__xss=6')()}} ${window.__xss=7}",
    "&lt;img src=x onerror=window.__xss=8&gt;",
    "<iframe srcdoc='<script>parent.__xss=9</script>'></iframe>",
    "<a href=javascript:window.__xss=10 id=index name=ownerDocument>",
    ESCAPE,
    "..", ".hidden", "-rf", "CON", "a\0b", "a\nb\r\nc\tcommitter x <> 0 +0000\n", "\x1b]0;title\x07\x1b[31m", "\u202egnp.exe",
    "\ud800", "☃ ünï çødé 漢字", "__proto__", "constructor", "toString", "1e999", "NaN", "'", '"', "`", "\\", "%00", "%2e%2e%2f", "",
    "x" * 5000,
)  # fmt: skip
ODD = (
    None,
    True,
    -1,
    10**40,
    float("nan"),
    float("inf"),
    [],
    {},
    [["<b>"]],
    {"<img src=x onerror=window.__xss=11>": {"a": [1]}},
)
VALUES = (*TEXTS, *ODD)
SHOWN = (*TEXTS[:3], *TEXTS[6:8], "__proto__", "x" * 5000)
KINDS = {
    "machine": ("processor", "cores", "id", "system", "memory_bytes"), "versions": ("python", "numpy", "svm-harness"),
    "parameters": ("C", "<b>"), "problem_parameters": ("C", "chi"), "kernel_parameters": ("gamma",), "metrics": ("mse", "f1"),
    "info": ("x",), "sources": ("smo",),
}  # fmt: skip
PLAIN = (
    "plugin", "solver", "label", "dataset", "formulation", "kernel", "status", "stopped_by", "reason", "measured_at",
    "git_commit", "code_sha256", "data_sha256", "output", "undecidable", "seed", "repetition", "fit_seconds",
    "kernel_evaluations", "relative_gap", "test_accuracy", "peak_rss_bytes", "n_train", "time_limit", "threads", "cache_mb",
    "evaluations_at_least", "trace", "faults", "metrics", "machine", "versions", "parameters", "problem_parameters",
)  # fmt: skip


def hostile_records() -> list[dict]:
    """One record for each field and value, and one for each value in all texts at once."""
    trace = [{"seconds": 0.1, "kernel_evaluations": 10, "relative_gap": 0.5, "reason": "end"}]
    found = []
    for value in VALUES:
        found += [Record({**record(), name: value}) for name in PLAIN]
        for name, keys in KINDS.items():
            found += [record(**{name: {**(record()[name] if name == "machine" else {}), key: value}}) for key in keys]
        found.append(record(trace=[*trace, value, {"seconds": value, "reason": value, "info": {"x": value}}]))
        if isinstance(value, str):
            found.append(record(**{name: {value: 1.0} for name in KINDS}))
            texts = ("solver", "label", "dataset", "formulation", "kernel", "reason", "plugin")
            shown = {**dict.fromkeys(texts, value), "machine": dict.fromkeys(KINDS["machine"], value)}
            found.append(Record({**record(), **shown, "trace": trace, "versions": {"python": value}}))
    return found


def shown_records() -> list[dict]:
    """Return few records with what a browser might carry out, in every text that a page shows: asv draws whole grids."""
    trace = [
        {"seconds": 0.1 * i, "kernel_evaluations": 10 * i, "relative_gap": 0.1**i, "reason": "end"} for i in (1, 2, 3)
    ]
    found = [record("smo", trace=trace), record("fw", trace=trace)]
    for value in SHOWN:
        told = {"machine": dict.fromkeys(KINDS["machine"], value), "versions": {"python": value, "numpy": value}}
        found.append(record("smo", trace=trace, **told, git_commit=value, measured_at=value))
        found.append(record(value, trace=trace, plugin=value))
        texts = {"formulation": value, "kernel": value, "kernel_parameters": {value: value}, "metrics": {value: 1.0}}
        found.append(record("smo", dataset=value, trace=[{**each, "reason": value} for each in trace], **texts))
        found.append(failed("qp", status="error", reason=value, output=value, faults=[value], info={value: value}))
        found.append(record("qp", problem_parameters={value: value, "C": value}, parameters={"x": value}))
    return found


def hostile_store(path: Path, records: list[dict]) -> Path:
    """Write records into a store as they are: whoever made it did not ask `Store` what may enter."""
    store(path)
    with sqlite3.connect(path) as connection:
        for number, each in enumerate(records):
            content = json.dumps(each)
            row = (
                f"key {number}",
                "ok",
                str(each.get("measured_at")).encode("utf-8", "replace").decode(),
                content,
                None,
            )
            connection.execute(
                "INSERT INTO records (key, status, measured_at, record, checksum) VALUES (?, ?, ?, ?, ?)", row
            )
    connection.close()
    return path
