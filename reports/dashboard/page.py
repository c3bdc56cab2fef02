"""The page reports/dashboard/README.md: pictures, which run.py takes, and what was run for them."""

from __future__ import annotations

from reports.dashboard.run import DATASETS, FOLDER, GAP, SECONDS, SOLVERS
from reports.kit.page import Page


def sections() -> dict[str, str]:
    """Return what was run."""
    return {
        "runs": f"{len(SOLVERS.split(','))} solvers asked for a relative gap of {GAP} on {len(DATASETS.split(','))} small data sets, "
        f"{SECONDS} seconds each at most, and the site that `harness dashboard` makes of the result. One command compares, publishes "
        "and takes the pictures (it needs chromium and its driver):"
    }


PAGE = Page(FOLDER, sections)
