"""The five lines of work on the same data: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.side_by_side import plots, tables
from reports.side_by_side.plan import PLAN, QUICK, parts

STUDY = Study(
    name="side-by-side",
    title="The five lines of work, and what people use today, on the same data and one clock",
    plan=PLAN,
    parts=parts,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(plan.by_name),
    quick=QUICK,
)
