"""Ding and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.rgd_tree_2015 import parts, plots, tables

STUDY = Study(
    name="rgd-tree-2015",
    title="Ding, Xu, Random Gradient Descent Tree: A Combinatorial Approach for SVM with Outliers (2015)",
    plan=None,
    parts=lambda plan: parts.PARTS,
    sections=tables.sections,
    pictures=plots.PICTURES,
    sets=lambda plan: tuple(parts.SETS),
)
