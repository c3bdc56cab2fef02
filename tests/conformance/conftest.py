"""The quick tests check one configuration of each solver that is ours; variants, peers and the slowest with the slow ones."""

import pytest

from harness.registry.discovery import load_registry


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the others."""
    others = {*load_registry().solvers["peers"], "filtered", "optmargin", "optsoftmargin", "rgd-boosted"}
    quick: dict[str, str] = {}
    for item in items:
        suite = item.nodeid.split("::")[1]
        if "test_first_party.py" in item.nodeid and suite.startswith("solver-"):
            solver = suite.removeprefix("solver-").partition("[")[0]
            slow = solver == "rgd-tree" and item.name in ("a_path_solves_every_cell", "storing_the_points_otherwise")
            if slow or solver in others or quick.setdefault(solver, suite) != suite:
                item.add_marker("slow")
