"""reports/rgd_tree_2015: what the tables make of rows."""

from pathlib import Path

import pytest

from reports.kit.results import Published, Results
from reports.rgd_tree_2015 import plan, tables
from reports.rgd_tree_2015.plan import PLAN
from tests.reports.fabricated import row


def level(kind, n, d, seconds, **more):
    """A row of what a level costs."""
    return {"derived": "cost", "kind": kind, "n": n, "d": d, "level": seconds, "over": 1.2, "git_commit": "a", **more}


FOLDER = Path(__file__).resolve().parents[2] / "reports" / "rgd_tree_2015"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows):
    return Results(rows, PUBLISHED, PLAN)


SMALL = PLAN.small[0][0]


def test_distances_from_the_global_optimum_count_proved_optima_alone():
    rows = [
        row(SMALL, plan.RAMP_EXACT, dataset="a", primal=10.0),
        row(SMALL, plan.RAMP_EXACT, dataset="b", primal=10.0, status="unfinished"),
        row(SMALL, plan.RAMP[0], dataset="a", primal=12.0),
        row(SMALL, plan.RAMP[0], dataset="b", primal=11.0),
        row(SMALL, plan.RAMP[3], dataset="a", primal=None, info={"objective": 15.0}),
    ]
    found = results(*rows)
    assert tables.distances(found, SMALL, plan.RAMP[0]) == [pytest.approx(0.2)]
    assert f"| {SMALL} | `{plan.RAMP[3]}` | 0 of 1 | 50.00 | 50.0 | 50.0 |  |" in tables.exact(found)
