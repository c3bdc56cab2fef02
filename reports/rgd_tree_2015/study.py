"""Ding and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.rgd_tree_2015 import cost, plots, seen, tables
from reports.rgd_tree_2015.parts import parts
from reports.rgd_tree_2015.plan import PLAN, QUICK

STUDY = Study(
    name="rgd-tree-2015",
    title="Ding, Xu, Random Gradient Descent Tree: A Combinatorial Approach for SVM with Outliers (2015)",
    plan=PLAN,
    quick=QUICK,
    parts=parts,
    sections=lambda results: {"seen": seen.seen(results), **tables.sections(results)},
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(plan.sets),
    finish={"cost": lambda rows, options: cost.measured(options)},
)
