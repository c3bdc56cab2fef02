"""Checks as tests of pytest's: what `harness.testing.checks_of` returns is collected, a test a check, named as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.testing.checks import Checks


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[Suite] | None:  # noqa: ARG001
    """Collect a module's ``checks = checks_of(...)``, whatever the name; nothing of the harness is imported for others."""
    if type(obj).__module__ != "harness.testing.plugin":
        return None
    from harness.testing.plugin import ChecksOf

    if not isinstance(obj, ChecksOf):
        return None
    return [Suite.from_parent(collector, name=f"{suite.kind}-{suite.label()}", suite=suite) for suite in obj.suites()]


class Suite(pytest.Collector):
    """The checks of one thing."""

    def __init__(self, *, suite: type[Checks], **further: Any) -> None:
        super().__init__(**further)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each check."""
        for name in self.suite.checks():
            yield Check.from_parent(self, name=name.removeprefix("test_"), suite=self.suite)


class Check(pytest.Item):
    """One check, on all its problems."""

    def __init__(self, *, suite: type[Checks], **further: Any) -> None:
        super().__init__(**further)
        self.suite = suite

    def runtest(self) -> None:
        """Make the check."""
        from harness.testing.checks import summed

        status, deciding = summed(self.suite.results(f"test_{self.name}"))
        if status == "failed":
            pytest.fail("\n".join(f"{result.where}: {result.message}" for result in deciding), pytrace=False)
        if deciding and status != "passed":
            (pytest.xfail if status == "excused" else pytest.skip)(deciding[0].message)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where the tests stand, and what the check asks."""
        return self.path, None, f"{self.suite.label()}: {getattr(self.suite, f'test_{self.name}').__doc__}"
