"""Bordes and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.lasvm_2005 import multiclass, parts, plots, tables

STUDY = Study(
    name="lasvm-2005",
    title="Bordes, Ertekin, Weston, Bottou, Fast Kernel Classifiers with Online and Active Learning (2005)",
    plan=None,
    parts=lambda plan: parts.PARTS,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(parts.SETS),
    finish={"figure4": multiclass.finish},
)
