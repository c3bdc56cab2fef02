"""The study together: the paper's own tables and figures, the anchor, and Figure 16 of the LASVM paper."""

from __future__ import annotations

from reports.border_2007 import anchor, anchor_plots, anchor_tables, figure16, parts, plots, tables
from reports.kit.grids import Part
from reports.kit.results import Results
from reports.kit.study import Finish

PARTS: dict[str, Part] = {**parts.PARTS, **anchor.PARTS, **figure16.PARTS}
FINISH: dict[str, Finish] = {**anchor.FINISH, **figure16.FINISH}
SETS = tuple(dict.fromkeys((*parts.EVERY, *anchor.SETS, *figure16.SETS)))
PICTURES = {**plots.PICTURES, **anchor_plots.PICTURES}


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {**tables.sections(results), **anchor_tables.sections(results), **figure16.sections(results)}
