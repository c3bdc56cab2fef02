"""Kumar and others: the study as a value."""

from __future__ import annotations

from reports.frank_wolfe_2009 import parts, plots, tables
from reports.frank_wolfe_2009.plan import PLAN, QUICK
from reports.kit.study import Study

STUDY = Study(
    name="frank-wolfe-2009",
    title="Kumar, Yildirim, A Linearly Convergent Linear-Time First-Order Algorithm for Support Vector Classification (2009)",
    plan=PLAN,
    quick=QUICK,
    parts=parts.parts,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(plan.sets),
    own_plugins=("linear_hulls.py",),
)
