"""The tidy table of a study: a row for each quantity of each run, with what it was measured for, where, when and by which code.

=============  ==============================================================================================
paper          the study
figure         figure of the paper, in whose block of the plan the run is
set, solver    as the plan calls them
seed           of the solver
quantity       ``cpu`` and ``seconds`` (inside the solver, without the conversion of the data to a library's format),
               ``error`` (of the test points), counts, certified figures, ``metrics.prbep``, ``info.visited`` ...
point          -1: at the end of the run; 0, 1, ...: a point of its trace, or an entry of a list
value, unit    a number, and what it is counted in: s, %, MB; empty: a count, or a number without a unit
published      what the paper prints for the figure, set, solver and quantity; empty: nothing
protocol       empty: as the paper has it; else what is smaller, or ours
run            number of the run in this table
dataset        the selection, with the draw of the data; formulation, C, gamma, kernel, cache_mb: the problem and the memory
status         how the run ended (`harness.Status`); reason: a sentence where it is not ``ok``, or the texts in the solver's info
session        runs of one comparison, or of one commit and machine: only their times are divided
commit         with ``+`` where files were changed
command        what measures it again
load           the machine's load average when the run ended
machine, date  where and when
=============  ==============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

END = -1
OF_RUN = (
    "paper", "figure", "set", "solver", "seed", "protocol", "run", "dataset", "formulation", "C", "gamma", "kernel", "cache_mb",
    "status", "reason", "session", "commit", "command", "load", "machine", "date",
)  # fmt: skip
COLUMNS = (*OF_RUN[:5], "quantity", "point", "value", "unit", "published", *OF_RUN[5:])
IDENTITY = ["figure", "set", "solver", "seed", "dataset", "formulation", "C", "gamma", "kernel", "cache_mb"]
"""What tells one run of a study from another; the newest of each counts."""
REPETITION = ("dataset", "seed")
"""Columns in which the repetitions of one configuration differ: the draw of the data and the seed."""
_NUMBERS = ("value", "published", "C", "gamma", "cache_mb", "load")
_WHOLE = ("seed", "point", "run")

QUANTITIES = (
    "iterations", "support_vectors", "positive_support_vectors", "core_set_size", "working_set_size", "kernel_evaluations",
    "oracle_calls", "primal", "dual", "relative_gap", "kkt_violation", "margin_lower", "margin_upper", "epsilon",
    "killed_cpu_seconds", "validation_error", "compile_seconds", "n_train", "n_features", "n_test",
)  # fmt: skip
"""Fields of a record that keep their name in the table."""
_OF_POINT = (
    "seconds", "iteration", "kernel_evaluations", "support_vectors", "positive_support_vectors", "relative_gap",
)  # fmt: skip
_LONGEST = 100  # entries of a list
_UNITS = {"error": "%", "peak_memory": "MB"}  # of quantities that are no times


def unit_of(quantity: str) -> str:
    """Return what a quantity is counted in."""
    inner = quantity.rpartition(".")[2]
    return _UNITS.get(inner, "s" if inner.endswith(("seconds", "cpu")) else "")


def quantities(record: Mapping[str, Any]) -> Iterator[tuple[str, int, float]]:
    """Yield (quantity, point, value) of a record of the harness."""
    info = dict(record.get("info") or {})
    wall, cpu = info.pop("conversion_seconds", 0.0), info.pop("conversion_cpu_seconds", 0.0)
    yield from _numbers("seconds", record.get("fit_seconds"), less=wall)
    yield from _numbers("cpu", record.get("cpu_seconds"), less=cpu)
    yield from _numbers("error", _error(record))
    yield from _numbers("peak_memory", record.get("peak_rss_bytes"), scale=2.0**-20)
    for name in QUANTITIES:
        yield from _numbers(name, record.get(name))
    for prefix, given in (("", record.get("figures")), ("metrics.", record.get("metrics")), ("info.", info)):
        for name, value in (given or {}).items():
            yield from _numbers(prefix + name, value)
    for place, point in enumerate(record.get("trace") or ()):
        values = {name: point.get(name) for name in _OF_POINT}
        values |= {"error": _error(point), "labels_used": point.get("queried")}
        for kind in ("metrics", "info"):
            values |= {f"{kind}.{name}": value for name, value in (point.get(kind) or {}).items()}
        for name, value in values.items():
            yield from ((name, place, number) for _, at, number in _numbers(name, value) if at == END)


def _error(given: Mapping[str, Any]) -> float | None:
    accuracy = given.get("test_accuracy")
    return None if accuracy is None else 100.0 * (1.0 - accuracy)


def _numbers(name: str, value: Any, scale: float = 1.0, less: float = 0.0) -> Iterator[tuple[str, int, float]]:
    """Yield a number, or those of a list, or of a list of mappings by their keys; nothing of anything else."""
    if isinstance(value, int | float | np.number) and math.isfinite(value):
        yield name, END, scale * float(value) - less
    elif isinstance(value, list) and len(value) <= _LONGEST:
        for place, entry in enumerate(value):
            inner = entry.items() if isinstance(entry, Mapping) else [("", entry)]
            for key, number in inner:
                label = f"{name}.{key}" if key else name
                yield from ((label, place, entry_value) for _, at, entry_value in _numbers(label, number) if at == END)


def reason_of(record: Mapping[str, Any]) -> str:
    """Return the reason of a record, or else the texts in the solver's info."""
    words = [f"{name}: {value}" for name, value in (record.get("info") or {}).items() if isinstance(value, str)]
    return str(record.get("reason") or "; ".join(words))


def tidy(runs: Iterable[tuple[Mapping[str, Any], Iterable[tuple[str, int, float]]]]) -> pd.DataFrame:
    """Return the table of runs, each a mapping and its (quantity, point, value) triples; a run without any has one empty row."""
    rows = []
    for run, (of_run, triples) in enumerate(runs):
        for quantity, point, value in list(triples) or [("", END, math.nan)]:
            rows.append({**of_run, "run": run, "quantity": quantity, "point": point, "value": value})
    return _typed(pd.DataFrame(rows, columns=list(COLUMNS)))


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    table["unit"] = table["quantity"].map({name: unit_of(name) for name in table["quantity"].unique()})
    for name in COLUMNS:
        if name in _NUMBERS:
            table[name] = table[name].astype("float64")
        elif name in _WHOLE:
            table[name] = table[name].fillna(0).astype("int32")
        else:
            table[name] = table[name].astype(object).where(table[name].notna(), "").astype("str")
    return table


def newest(runs: pd.DataFrame) -> pd.DataFrame:
    """Return of runs, a row each, the newest of each ``IDENTITY``."""
    return runs.sort_values("date", kind="stable").drop_duplicates(IDENTITY, keep="last").sort_index()


def grouped(
    runs: pd.DataFrame, by: str | Sequence[str], over: Sequence[str] = REPETITION, varying: Sequence[str] = (), **how: Any
) -> Any:  # fmt: skip
    """Return ``runs.groupby(by)``, each group the repetitions of one configuration.

    over : columns that tell the runs of a group from each other; empty: a group is one run
    varying : columns of `IDENTITY` that differ within a group on purpose

    Raises
    ------
    ValueError : two runs of a group have the same ``over``, or a group has several formulations, kernels, C ...
    """
    key = [by] if isinstance(by, str) else list(by)
    known = runs.dropna(subset=key)
    wrong = {f"several runs of one {', '.join(over) or 'key'}": known.duplicated([*key, *over])}
    for name in IDENTITY:
        if over and name not in (*key, *over, *varying):  # gamma of the data has rounding errors; empty: not of the run
            values = known[name].map("{:.9g}".format) if name in _NUMBERS else known[name].where(known[name] != "")
            wrong[f"several values of {name}"] = values.groupby([known[k] for k in key]).transform("nunique") > 1
    for fault, where in wrong.items():
        if where.any():
            group = ", ".join(f"{name} = {value}" for name, value in known.loc[where, key].iloc[0].items())
            raise ValueError(
                f"the runs with {group} have {fault}; expected one. Choose some of the runs, or add it to the key."
            )
    return runs.groupby(by if isinstance(by, str) else key, **how)


def pivoted(
    runs: pd.DataFrame, index: Sequence[str], columns: str, values: Any, over: Sequence[str] = (), **how: Any
) -> pd.DataFrame:  # fmt: skip
    """Return a pivot table of runs, each cell a group of :func:`grouped`: one run, or the repetitions in ``over``."""
    grouped(runs, [*index, columns], over)
    return runs.pivot_table(index=list(index), columns=columns, values=values, **how)


def joined(tables: Sequence[pd.DataFrame], published: pd.DataFrame) -> pd.DataFrame:
    """Return tables as one, the newest of each run alone, numbered anew, with the published numbers in the rows of the runs' ends.

    published : with ``ours_as``, ``factor`` and ``offset``, see `Results.expressed`
    """
    if not any(map(len, tables)):
        return tidy([])
    table = pd.concat([table.assign(part=place) for place, table in enumerate(tables) if len(table)], ignore_index=True)
    latest = newest(table.drop_duplicates(["part", "run"]))
    table = table.merge(latest[["part", "run"]].assign(number=range(len(latest))), on=["part", "run"])
    table["run"] = table["number"]
    key = ["figure", "set", "solver", "quantity"]
    value = (published["value"] - published["offset"]) / published["factor"]
    printed = published.assign(quantity=published["ours_as"], published=value, point=END)
    printed = printed.drop_duplicates(key)[[*key, "point", "published"]]
    table = table.drop(columns="published").merge(printed, how="left", on=[*key, "point"])
    return _typed(table.sort_values(["run", "point"], kind="stable", ignore_index=True)[list(COLUMNS)].copy())


def read(path: Path) -> pd.DataFrame:
    """Return the table in a file; an empty one if there is none."""
    return _typed(pd.read_parquet(path)) if path.exists() else tidy([])


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table whole: a reader finds the old file or the new one, whatever is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    texts = {name: "category" for name in COLUMNS if name not in _NUMBERS and name not in _WHOLE}
    table.astype(texts).to_parquet(temporary, index=False, compression="zstd")
    temporary.replace(path)
