"""Kumar and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.randsvm import parts, plots, tables
from reports.randsvm.plan import PLAN, QUICK

STUDY = Study(
    name="randsvm",
    title="Kumar, Bhattacharyya, Hariharan, A Randomized Algorithm for Large Scale Support Vector Learning (2007)",
    plan=PLAN,
    parts=parts.parts_of,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: plan.names,
    quick=QUICK,
)
