"""The quick tests check one configuration of each solver that is ours; its variants and the peers are checked with the slow ones."""

import pytest

from harness.registry import load_registry


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what is neither."""
    others = set(load_registry().solvers["peers"])
    quick: dict[str, str] = {}
    for item in items:
        suite = item.nodeid.split("::")[1]
        if "test_first_party.py" in item.nodeid and suite.startswith("solver-"):
            solver = suite.removeprefix("solver-").partition("[")[0]
            if solver in others or quick.setdefault(solver, suite) != suite:
                item.add_marker("slow")
