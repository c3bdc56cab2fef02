"""Compare two, a page a solver, a page a data set: on the made-up site, whose planted figures they must show."""

from __future__ import annotations

import json

import pytest

from benchmarks.browser import Browser
from tests.browser import made as plan
from tests.browser.made import Made, drawn, foreign, overlapping, picture, too_wide


def cells(made: Made) -> dict[tuple[str, str], dict]:
    """Return the newest cells as the pages read them."""
    table = json.loads((made.folder / "solvers" / "data" / "0-latest.json").read_text())
    columns = table["columns"]
    rows = [{name: values[i] for name, values in columns.items()} for i in range(table["rows"])]
    return {(table["solvers"][row["solver"]], table["datasets"][row["dataset"]]): row for row in rows}


def test_the_made_up_site_shows_what_is_planted(made: Made) -> None:
    found = cells(made)
    assert len(found) == 5 * 8 + 2 * 2 + 2 * 4
    for dataset in plan.SHAPES:
        for solver in plan.SOLVERS:
            row = found[solver, plan.problem(dataset)]
            if (solver, dataset) in (plan.TIMED_OUT, plan.CRASHED):
                assert row["failed"]
                assert row["cpu_seconds"] is None
            else:
                assert row["cpu_seconds"] == pytest.approx(plan.seconds(solver, dataset), rel=1e-4)
    index = json.loads((made.folder / "solvers" / "data" / "index.json").read_text())
    assert len(index["places"][0]["commits"]) == 2


@pytest.mark.parametrize("page", ["table", "pareto", "profiles", "anytime", "coresets"])
def test_the_made_up_site_draws(browser: Browser, made: Made, page: str) -> None:
    assert drawn(browser, made, page) > 0
    picture(browser, page)
    assert too_wide(browser) == 0
    assert overlapping(browser) == []
    assert foreign(browser, made) == []
