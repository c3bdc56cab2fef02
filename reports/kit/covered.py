"""What a study has of its paper: each table and figure, whole, in part or missing, counted by the cells that are printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from reports.kit.markdown import NOT_MEASURED
from reports.kit.results import Cell, Published

NEAR = 0.1  # relative difference of a number from the published one
WHOLE, IN_PART, MISSING, NO_RESULT = "whole", "in part", "missing", "no result"


@dataclass(frozen=True)
class Covered:
    """A table, figure or theorem of a paper.

    figure, what : as the paper calls it, and what it shows
    part : of the study, whose runs are behind it
    sections : of the study's page that have it; without any it is no result that could be measured
    reason : why it is none, or what else is to be said
    smaller : what of it was measured smaller than the paper has it: points, runs, sets; empty: nothing
    """

    figure: str
    what: str
    part: str = ""
    sections: tuple[str, ...] = ()
    reason: str = ""
    smaller: str = ""

    @property
    def printed_as(self) -> str:
        """Return what published.csv calls it."""
        return "".join(letter for letter in self.figure.lower() if letter.isalnum())

    def beside(self, published: Published) -> dict[Cell, tuple[float | None, float]]:
        """Return (ours, theirs) of each cell that the paper prints, times left out; ours is None where we have none."""
        return {cell: (published.shown.get(cell), value) for cell, value in published.cells(self.printed_as).items()}

    def state(self, texts: Mapping[str, str], published: Published) -> str:
        """Return how much of it is there; ``texts``: of the page's sections, which were made with ``published``."""
        if not self.sections:
            return NO_RESULT
        empty = [name for name in self.sections if NOT_MEASURED in texts[name]]
        if len(empty) == len(self.sections):
            return MISSING
        lacking = any(ours is None for ours, _ in self.beside(published).values())
        return IN_PART if empty or lacking or self.smaller else WHOLE

    def agreement(self, published: Published) -> str:
        """Return how many of the printed cells have ours beside them, and how far these agree."""
        cells = self.beside(published).values()
        if not cells:
            return ""
        off = [abs(ours - theirs) / abs(theirs) for ours, theirs in cells if ours is not None and theirs]
        there = sum(ours is not None for ours, _ in cells)
        text = f"{there} of {len(cells)} printed numbers have ours beside them"
        if not off:
            return text
        near = sum(each <= NEAR for each in off)
        return f"{text}; {near} of {len(off)} within {100 * NEAR:.0f} %, the median {100 * median(off):.1f} % off"
