"""The results of a study: its runs as a frame, the courses of its traces, and the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness import Status
from reports.kit import rows


class Quantity(NamedTuple):
    """How a quantity is printed: under ``title``, as ``factor`` times ours and ``offset``, in a format for numbers."""

    title: str
    ours: str
    factor: float = 1.0
    form: str = ""
    offset: float = 0.0


QUANTITIES = {
    "error": Quantity("error %", "error", form=".2f"),
    "accuracy": Quantity("accuracy %", "error", -1.0, ".2f", 100.0),
    "prbep": Quantity("PRBEP %", "metrics.prbep", 100.0, ".2f"),
    "g_means": Quantity("g-means %", "metrics.g-means", 100.0, ".2f"),
    "auc": Quantity("AUC %", "metrics.roc-auc", 100.0, ".2f"),
    "support_vectors": Quantity("SV", "support_vectors", form=",.0f"),
    "kernel_values_M": Quantity("kernel values, M", "kernel_evaluations", 1e-6),
    "seconds": Quantity("CPU s", "cpu"),
    "gap": Quantity("relative gap", "relative_gap", form=".1e"),
}
"""As published.csv calls a quantity -> how it is printed; studies have others."""

_PRINTED = ("figure", "set", "solver", "quantity", "value", "quote")


@dataclass(frozen=True)
class Results:
    """The tidy table of a study and what its paper prints.

    table : see `reports.kit.rows`
    published : figure, set, solver, quantity, value, quote (the line of the paper that prints it)
    printed : as ``published`` calls a quantity -> how it is printed; of the others the numbers are as ours
    quantities : those that runs have as columns whether or not one was measured here
    """

    table: pd.DataFrame
    published: pd.DataFrame
    printed: Mapping[str, Quantity] = field(default_factory=lambda: QUANTITIES)
    quantities: Sequence[str] = ()

    @property
    def expressed(self) -> pd.DataFrame:
        """The published numbers with what expresses ours in them: ``ours_as`` (our quantity), ``factor``, ``offset``."""
        same = [self.printed.get(name, Quantity(name, name)) for name in self.published["quantity"]]
        how = pd.DataFrame(same, self.published.index, ["title", "ours_as", "factor", "form", "offset"])
        return self.published.join(how)

    @cached_property
    def every(self) -> pd.DataFrame:
        """All runs, however they ended: a row each, its quantities at its end as columns."""
        of_run = self.table.drop_duplicates("run").set_index("run")[[name for name in rows.OF_RUN if name != "run"]]
        ends = self.table[(self.table["point"] == rows.END) & (self.table["quantity"] != "")]
        wide = ends.pivot_table(index="run", columns="quantity", values="value", aggfunc="first")
        wide = wide.reindex(columns=[*wide, *sorted(set(self.quantities) - set(wide))])
        return of_run.join(wide).reset_index()

    def runs(self, figure: str | Sequence[str] = (), **fixed: Any) -> pd.DataFrame:
        """Return runs, a row each, its quantities as columns; a missing one is NaN.

        figure : one, or several; empty: of all
        fixed : columns with the values they must have, or lists of values; ``status`` is ``ok`` unless given, None: any
        """
        return select(self.every, figure=figure or None, **{"status": Status.OK, **fixed})

    def course(self, quantities: Sequence[str], figure: str | Sequence[str] = (), **fixed: Any) -> pd.DataFrame:
        """Return the points of the runs' traces, or the entries of their lists: what a run is, point, and the quantities."""
        points = select(self.table[self.table["point"] > rows.END], figure=figure or None, quantity=quantities, **fixed)
        wide = points.pivot_table(index=["run", "point"], columns="quantity", values="value", aggfunc="first")
        wide = wide.reset_index().reindex(columns=["run", "point", *quantities])
        return wide.merge(self.every[["run", *rows.IDENTITY, "status"]], on="run")

    def coverage(self, derived: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return every number that the paper prints, with ours in the same unit, its state and what is smaller.

        state : ``by protocol``, ``smaller`` or ``missing``; times are left out, as they are of other machines
        derived : ours that no run has by itself: set, solver, quantity, value and protocol
        """
        numbers = self.expressed
        numbers = numbers[~numbers["ours_as"].isin(["seconds", "cpu"])].copy()
        ends = self.table[(self.table["point"] == rows.END) & self.table["run"].isin(self.runs()["run"])]
        ends = pd.concat([ends, *([] if derived is None or derived.empty else [derived])])
        key = ["set", "solver", "quantity"]
        ends = ends[pd.MultiIndex.from_frame(ends[key]).isin(pd.MultiIndex.from_frame(numbers[[*key[:2], "ours_as"]]))]
        once = [*set(rows.IDENTITY) - {"figure"}, "quantity"]  # not in every figure
        ends = ends.drop_duplicates(once, keep="last")
        ours = rows.grouped(ends, key, varying=["figure"]).agg(ours=("value", "mean"), protocol=("protocol", "first"))
        numbers = numbers.merge(ours, left_on=["set", "solver", "ours_as"], right_index=True, how="left")
        numbers["ours"] = numbers["factor"] * numbers["ours"] + numbers["offset"]
        conditions = [numbers["ours"].isna(), numbers["protocol"].fillna("") != ""]
        return numbers.assign(state=np.select(conditions, ["missing", "smaller"], "by protocol"))


def select(frame: pd.DataFrame, **fixed: Any) -> pd.DataFrame:
    """Return the rows whose columns have a value, or one of a list of values; None: any."""
    for name, value in fixed.items():
        if value is not None:
            frame = frame[frame[name].isin([value] if isinstance(value, str | int | float) else list(value))]
    return frame


def read_published(path: Path) -> pd.DataFrame:
    """Return the numbers of a paper; lines that start with # are remarks."""
    if not path.exists():
        return pd.DataFrame(columns=list(_PRINTED))
    numbers = pd.read_csv(path, comment="#", dtype={"value": float}, keep_default_na=False)
    return numbers.astype(dict.fromkeys(("figure", "set", "solver", "quantity"), str))
