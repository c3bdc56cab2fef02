"""The study together: the paper's own tables and figures, the anchor, and Figure 16 of the LASVM paper."""

from __future__ import annotations

from functools import partial

from reports.border_2007 import anchor, anchor_plots, anchor_tables, figure16, parts, plots, tables
from reports.border_2007.plan import Plan
from reports.kit.grids import Part
from reports.kit.results import Results
from reports.kit.study import Finish

FINISH: dict[str, Finish] = {**anchor.FINISH, **figure16.FINISH}
PICTURES = {**plots.PICTURES, **anchor_plots.PICTURES}


def parts_of(plan: Plan) -> dict[str, Part]:
    """Return the parts of the study by name."""
    return {each.__name__: partial(each, plan) for each in (*parts.PARTS, anchor.aubc, figure16.figure16)}


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {**tables.sections(results), **anchor_tables.sections(results), **figure16.sections(results)}
