"""Balcazar and others: the study as a value."""

from __future__ import annotations

from reports.kit.study import Study
from reports.random_sampling_2008 import claims, parts, plots, tables
from reports.random_sampling_2008.plan import PLAN, QUICK

STUDY = Study(
    name="random-sampling-2008",
    title="Balcazar, Dai, Tanaka, Watanabe, Provably Fast Training Algorithms for Support Vector Machines (2008)",
    plan=PLAN,
    parts=parts.parts_of,
    sections=tables.sections,
    pictures=plots.PICTURES,
    quick=QUICK,
    expected=claims.asked_to_stop,
    own_plugins=("plugin.py",),
)
