"""Run a suite without pytest: one result for each check and problem."""

from __future__ import annotations

import unittest
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from harness.testing.conformance import SolverConformance


@dataclass(frozen=True)
class Result:
    """What one check found on one problem (``case`` is empty for checks that need none)."""

    check: str
    case: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""


def run_checks(suite: type[SolverConformance], only: str = "") -> list[Result]:
    """Run the checks of a suite whose name contains ``only``; nothing a solver raises passes through."""
    results = []
    for name in suite.checks():
        if only not in name:
            continue
        for case in suite.cases_of(name):
            method = getattr(suite(), name)
            label = "" if case is None else str(case)
            try:
                method() if case is None else method(case)
            except unittest.SkipTest as reason:
                results.append(Result(name, label, "skipped", str(reason)))
            except Exception as error:  # a solver may raise anything, and that is the finding
                results.append(Result(name, label, "failed", f"{type(error).__name__}: {error}"))
            else:
                results.append(Result(name, label, "passed"))
    return results
