"""reports/lasvm_2005, its published numbers, and results with rows made up."""

from pathlib import Path

from reports.kit.results import Published, Results
from reports.lasvm_2005.plan import PLAN

FOLDER = Path(__file__).resolve().parents[2] / "reports" / "lasvm_2005"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows, plan=PLAN):
    return Results(rows, PUBLISHED, plan)
