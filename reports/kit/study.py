"""A study of a paper as one value: what it asks for, what its page says of the answers, and where both lie."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import UsageError
from reports.kit.covered import Covered
from reports.kit.grids import Options, Part
from reports.kit.journal import Journal, Row
from reports.kit.results import Results

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = tuple(str(ROOT / "kit" / f"{name}.py") for name in ("solvers", "libsvm_counted", "sources", "drawn"))
"""Solvers, data sources and metrics that only studies use."""

Finish = Callable[[list[Row], Options], Iterable[Row]]
"""Takes a part's rows, each with its record, and yields what they give together, or what it measures itself."""
Sections = Callable[[Results], dict[str, str]]
"""Returns the text between each pair of markers of the page."""
Numbers = Callable[[Results], Mapping[str, str]]
"""Returns the numbers of the prose by their keys: ``<!-- n key -->4.07<!-- /n -->``."""
Picture = Callable[[Results, Path], bool]
"""Draws to a path and returns whether there was anything to draw."""


@dataclass(frozen=True)
class Study:
    """The runs behind the tables and figures of a paper, and their page.

    name : as ``harness reproduce`` takes it; the folder is called the same with underscores
    title : the paper, in a line
    plan : what is measured: data sets, repetitions, ladders; a frozen value, which ``parts`` and ``sections`` read
    parts : plan -> name of a part -> its grids, the options of the command line given
    sets : plan -> names of the data sets that can be asked for
    pictures : name of a file, without .png -> what draws it
    finish : part -> what its runs give together (the multiclass error of ten classifiers)
    complete : adds to the journal what is known when all runs are in it
    quick : a small plan on data that need no download, minutes of work
    numbers : those that the prose of the page has
    expected : whether a run ended as it was meant to, though it was not done: after one round, where one was asked for
    own_plugins : files of solvers and data sources that this study alone has, in its folder
    """

    name: str
    title: str
    plan: Any
    parts: Callable[[Any], Mapping[str, Part]]
    sections: Sections
    pictures: Mapping[str, Picture]
    sets: Callable[[Any], Sequence[str]] = lambda plan: ()
    finish: Mapping[str, Finish] = field(default_factory=dict)
    complete: Callable[[Journal], None] = lambda journal: None
    quick: Any = None
    numbers: Numbers = lambda results: {}
    expected: Callable[[Row], bool] = lambda row: False
    own_plugins: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the study: its page, its published numbers and its results."""
        return ROOT / self.name.replace("-", "_")

    @property
    def covers(self) -> tuple[Covered, ...]:
        """Every table, figure and theorem of the paper: ``covers.py`` of the folder, if the study is of a paper."""
        if not (self.folder / "covers.py").exists():
            return ()
        found = importlib.import_module(f"reports.{self.folder.name}.covers").COVERS
        assert isinstance(found, tuple)
        return found

    @property
    def plugins(self) -> tuple[str, ...]:
        """The files of solvers, data sources and metrics that its runs need beside the installed ones."""
        return (*PLUGINS, *(str(self.folder / name) for name in self.own_plugins))


def study_names() -> tuple[str, ...]:
    """Return the names of all studies of papers, sorted."""
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
    found = importlib.import_module(f"reports.{name.replace('-', '_')}.study").STUDY
    assert isinstance(found, Study)
    return found
