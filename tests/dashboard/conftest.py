"""One measured history for all tests that need it: measuring a commit takes seconds, compiling it more."""

from __future__ import annotations

import pytest

from tests.dashboard.history import History, make_history, measure

MEASURED = ("early", "clean", "broken", "renamed")  # the last one stays installed


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Every commit of `COMMITS` that the tests use; those of `MEASURED` are measured."""
    pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    made = make_history(
        tmp_path_factory.mktemp("history"), ["early", "clean", "documented", "planted", "renamed", "broken"]
    )
    measure(made, MEASURED)
    return made
