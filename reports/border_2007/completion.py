"""What is known of the sets when the runs are in the journal: what they are, and the courses of Figure 9."""

from __future__ import annotations

from reports.border_2007 import description, visits
from reports.border_2007.plan import PLAN, QUICK
from reports.kit.journal import Journal


def complete(journal: Journal) -> None:
    """Add it to the journal."""
    description.complete(journal, {**QUICK.every, **PLAN.every}.values())
    visits.complete(journal)
