"""Ertekin and others: the study as a value."""

from __future__ import annotations

from reports.border_2007 import completion, whole
from reports.border_2007.parts import OWN_PLUGINS
from reports.border_2007.plan import PLAN, QUICK
from reports.kit.study import Study

STUDY = Study(
    name="border-2007",
    title="Ertekin, Huang, Bottou, Giles, Learning on the Border: Active Learning in Imbalanced Data Classification (2007)",
    plan=PLAN,
    quick=QUICK,
    parts=whole.parts_of,
    sections=whole.sections,
    pictures=whole.PICTURES,
    sets=lambda plan: plan.names,
    finish=whole.FINISH,
    complete=completion.complete,
    own_plugins=OWN_PLUGINS,
)
