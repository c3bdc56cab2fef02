"""What a study has of its paper: each table and figure, reproduced or not, and how far the numbers agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from reports.kit.markdown import NOT_MEASURED

NEAR = 0.1  # relative difference of a number from the published one
_CELL = re.compile(r"^\**(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)\**(?: ± \S+)? \((-?[\d,]*\.?\d+(?:e[-+]?\d+)?)\)")
_TIMES = re.compile(r"second|time\b|CPU|\bs\b", re.IGNORECASE)
_MET, _MISSED = re.compile(r"\(met\)"), re.compile(r"\(?\*\*missed\*\*\)?")


@dataclass(frozen=True)
class Covered:
    """A table, figure or theorem of a paper.

    figure, what : as the paper calls it, and what it shows
    part : of the study, whose runs are behind it
    sections : of the study's page that have it; without any it is not reproduced
    reason : why it is not, or not as printed
    partly : some of it could not be had
    """

    figure: str
    what: str
    part: str = ""
    sections: tuple[str, ...] = ()
    reason: str = ""
    partly: bool = False

    def state(self, texts: Mapping[str, str]) -> str:
        """Return whether it is reproduced, from the texts of the page's sections."""
        if not self.sections:
            return "no"
        empty = [name for name in self.sections if NOT_MEASURED in texts[name]]
        return "not measured yet" if len(empty) == len(self.sections) else "in part" if empty or self.partly else "yes"

    def agreement(self, texts: Mapping[str, str]) -> str:
        """Return how far our numbers agree with those printed beside them, and what was asked for and met."""
        told = "\n".join(texts[name] for name in self.sections)
        pairs = beside(told)
        found = []
        if pairs:
            off = [abs(ours - theirs) / abs(theirs) for ours, theirs in pairs if theirs]
            near = sum(each <= NEAR for each in off)
            found.append(
                f"{near} of {len(off)} numbers within {100 * NEAR:.0f} %, the median {100 * median(off):.1f} % off"
            )
        met, missed = len(_MET.findall(told)), len(_MISSED.findall(told))
        if met + missed:
            found.append(f"{met} of {met + missed} that are asked for are met")
        return "; ".join(found)


def beside(text: str) -> list[tuple[float, float]]:
    """Return our numbers and the published ones in parentheses of the tables of a text; times are of other machines, and left out."""
    found = []
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            head = []
        elif not head:
            head = cells
        else:
            for title, cell in zip(head, cells, strict=False):
                if (pair := _CELL.match(cell)) and not _TIMES.search(title):
                    found.append((_number(pair[1]), _number(pair[2])))
    return found


def _number(text: str) -> float:
    return float(text.replace(",", ""))
