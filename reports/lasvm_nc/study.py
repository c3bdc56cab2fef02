"""Ertekin and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.lasvm_nc import plots, tables
from reports.lasvm_nc.parts import parts
from reports.lasvm_nc.plan import PLAN, QUICK

STUDY = Study(
    name="lasvm-nc",
    title="Ertekin, Bottou, Giles, Ignorance is Bliss: Non-Convex Online Support Vector Machines (2011)",
    plan=PLAN,
    quick=QUICK,
    parts=parts,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(plan.sets),
)
