"""A study: a plan of runs, and the tables, pictures and claims of its page.

A folder of reports holds ``study.py`` with ``STUDY``, ``published.csv`` (what the paper prints), ``claims.csv`` (what it claims),
``page.md.j2`` (its prose), and what these give: ``results.parquet`` (see `reports.kit.rows`), ``README.md``, ``TABLES.md`` and the
pictures.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness import UsageError
from reports.kit import rows
from reports.kit.estimates import Estimate, joint_intervals, verdict
from reports.kit.results import QUANTITIES, Quantity, Results, read_published

ROOT = Path(__file__).resolve().parents[1]
SOURCES = str(ROOT / "kit" / "sources.py")
"""A plugin with data sources of several studies."""

Block = Mapping[str, Any]
"""Runs of a plan: arguments of `harness.compare` by name, and in addition

figure : of the paper
set : what tables call the data
protocol : what is smaller than in the paper; empty: nothing
runs : draws or seeds that the paper has; where we have fewer, the measurement adds that to ``protocol``
traced : keep the traces
"""
Row = Mapping[str, Any]
"""A value that a study measures itself: set, solver, seed, quantity, value, and a point if there are several."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the estimates that judge it.

    text : the claim, with the place in the paper
    criterion : in words
    estimates : each with its criterion, see `reports.kit.estimates`
    whose : criterion this is, ``the paper's`` or ``ours``
    sets : of the paper's table, where some were not measured; 0: all were
    """

    text: str
    criterion: str
    estimates: Sequence[Estimate]
    whose: str = "ours"
    sets: int = 0

    @cached_property
    def intervals(self) -> list[Estimate]:
        """The estimates, their intervals of joint confidence 0.95."""
        return joint_intervals(self.estimates)

    @property
    def verdict(self) -> str:
        """The verdict of all estimates, a word of `reports.kit.estimates`."""
        return verdict(self.intervals, self.sets)


@dataclass(frozen=True)
class Study:
    """The runs behind the tables and figures of a paper, and their page.

    name : as ``harness reproduce`` takes it; the folder is called the same with underscores
    title : the paper, in a line
    plan : function of ``quick`` that returns the blocks
    later : part -> function of ``quick`` and the results of other parts that returns the part's blocks
    measurements : part -> function of ``quick`` that measures the part without `harness.compare` and yields rows
    tables : name -> results -> a table of the appendix, its index first; its docstring is its title
    pictures : name -> results -> a figure of matplotlib, None where there is nothing to draw
    estimates : results -> those that judge each claim, by its key in ``claims.csv``
    numbers : results -> numbers in the prose of the page, by name
    derived : results -> what the paper prints and no run has by itself: set, solver, quantity, value and protocol
    expected : statuses of runs that ended as planned, in addition to ``ok``
    plugins : files of solvers and data sources of this study alone, in its folder
    printed : as published.csv calls a quantity -> how it is printed
    """

    name: str
    title: str
    plan: Callable[[bool], Sequence[Block]] = lambda quick: ()
    later: Mapping[str, Callable[[bool, Results], Sequence[Block]]] = field(default_factory=dict)
    measurements: Mapping[str, Callable[[bool], Iterable[Row]]] = field(default_factory=dict)
    tables: Mapping[str, Callable[[Results], pd.DataFrame]] = field(default_factory=dict)
    pictures: Mapping[str, Callable[[Results], Any]] = field(default_factory=dict)
    estimates: Callable[[Results], Mapping[str, Sequence[Estimate]]] = lambda results: {}
    numbers: Callable[[Results], Mapping[str, Any]] = lambda results: {}
    derived: Callable[[Results], pd.DataFrame | None] = lambda results: None
    expected: Sequence[str] = ()
    plugins: Sequence[str] = ()
    printed: Mapping[str, Quantity] = field(default_factory=lambda: QUANTITIES)

    @property
    def folder(self) -> Path:
        """The folder of the study."""
        return ROOT / self.name.replace("-", "_")

    @property
    def plugin_paths(self) -> list[str]:
        """The files of solvers, data sources and metrics that its runs need in addition to the installed ones."""
        return [SOURCES, *(str(self.folder / name) for name in self.plugins)]

    def parts(self, *, quick: bool) -> list[str]:
        """Return the names of all parts: figures of the plan, ``later`` and ``measurements``."""
        figures = (str(block["figure"]) for block in self.plan(quick))
        return list(dict.fromkeys([*figures, *self.later, *self.measurements]))

    def claims(self, results: Results) -> list[Claim]:
        """Return the claims of ``claims.csv``: key, text, criterion, whose, and sets where some were not measured."""
        path = self.folder / "claims.csv"
        if not path.exists():
            return []
        estimates = self.estimates(results)
        rows_ = pd.read_csv(path).to_dict("records")
        return [Claim(estimates=estimates[row.pop("key")], **row) for row in rows_]

    def results(self, folder: Path | None = None) -> Results:
        """Return the results in ``folder``, by default in the folder of the study."""
        stored = rows.read(self.folder / "results.parquet")
        table = rows.read(folder / "results.parquet") if folder else stored
        return Results(table, read_published(self.folder / "published.csv"), self.printed, stored["quantity"].unique())


def study_names() -> tuple[str, ...]:
    """Return the names of all studies, sorted."""
    return tuple(
        sorted(path.parent.name.replace("_", "-") for path in ROOT.glob("*/study.py") if path.parent.name != "kit")
    )


def study_named(name: str) -> Study:
    """Return a study by its name.

    Raises
    ------
    UsageError : there is none of that name.
    """
    if name not in study_names():
        raise UsageError(f"there is no study '{name}'; there are {', '.join(study_names())}.")
    study = importlib.import_module(f"reports.{name.replace('-', '_')}.study").STUDY
    assert isinstance(study, Study)
    return study
