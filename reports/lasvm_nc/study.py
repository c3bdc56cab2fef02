"""Ertekin and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.lasvm_nc import parts, plots, tables

STUDY = Study(
    name="lasvm-nc",
    title="Ertekin, Bottou, Giles, Ignorance is Bliss: Non-Convex Online Support Vector Machines (2011)",
    plan=None,
    parts=lambda plan: parts.PARTS,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(parts.SETS),
)
