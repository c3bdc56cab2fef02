"""Bordes and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.lasvm_2005 import multiclass, plots, settings, streaming, tables
from reports.lasvm_2005.original import compare
from reports.lasvm_2005.parts import parts
from reports.lasvm_2005.plan import PLAN, QUICK

STUDY = Study(
    name="lasvm-2005",
    title="Bordes, Ertekin, Weston, Bottou, Fast Kernel Classifiers with Online and Active Learning (2005)",
    plan=PLAN,
    quick=QUICK,
    parts=parts,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(dict.fromkeys((*plan.sets, *(each.name for each in plan.searches)))),
    finish={
        "figure4": multiclass.finish,
        "settings": settings.finish,
        "original": lambda rows, options: compare.measured(options),
        "stream": lambda rows, options: streaming.measured(options),
    },
)
