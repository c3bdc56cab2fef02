"""The smallest failing problem of a check as a file, and the check made on it again."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.problems.cases import Case, csr
from harness.support.errors import HarnessError, UsageError
from harness.support.parameters import values_of
from harness.testing.checks import Result
from harness.testing.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.registry.discovery import Registry
    from harness.testing.checks import Checks

_SECONDS = 5.0  # of looking for a smaller problem


def smallest(suite: type[Suite], result: Result, case: Case) -> Case:
    """Return a case of as few points as were found in 5 s on which a check fails as ``result`` says of ``case``."""
    wanted, end = _kind(result), monotonic() + _SECONDS
    size = max(1, len(case.y) // 2)
    while size and monotonic() < end:
        for start in range(0, len(case.y), size):
            kept = np.delete(np.arange(len(case.y)), slice(start, start + size))
            other = _part(case, kept)
            if other is not None and _kind(suite.on_case(result.check, other)) == wanted:
                case = other
                break
            if monotonic() >= end:
                return case
        else:
            size //= 2
        size = min(size, len(case.y) - 1)
    return case


def _kind(result: Result) -> Any:
    return result.status == "failed" and type(result.error)


def _part(case: Case, kept: Any) -> Case | None:
    """Return the case of some of its points; None if they make no problem."""
    x = case.x[kept][:, kept] if case.kernel.name == "precomputed" else case.x[kept]
    part = case.changed(x=x, y=case.y[kept])
    try:
        part.problem()
    except (HarnessError, ValueError):
        return None
    return part


def write(folder: Path, target: str, suite: type[Suite], name: str, case: Case) -> Path:
    """Write what :func:`again` reads, and return the file."""
    sparse = hasattr(case.x, "tocsr")
    told = {
        "target": target,
        "thing": suite.label(),
        "check": name,
        "case": case.name,
        "formulation": case.formulation.name,
        "values": dict(case.values),
        "kernel": [case.kernel.name, values_of(case.kernel)],
        "tags": sorted(case.tags),
        "cache_mb": case.cache_mb,
        "sparse": sparse,
        "dtype": str(case.x.dtype),
        "x": np.asarray(case.x.todense() if sparse else case.x).tolist(),
        "y": case.y.tolist(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in suite.label())
    path = folder / f"{plain}-{name.removeprefix('test_')}.json"
    path.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return path


def again(
    path: Path, registry: Registry, suites_of: Callable[[str, Registry], list[type[Checks]]]
) -> tuple[type[Suite], Result, Case]:
    """Make the check of a file that :func:`write` wrote on its problem; return its suite, the result and the problem.

    suites_of : returns the suites of a plugin or of one thing, by its name

    Raises
    ------
    UsageError, PluginError : it is no such file, or its plugin is not there.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        suites = suites_of(told["target"], registry)  # the plugin may bring the formulation
        suite = next(each for each in suites if each.label() == told["thing"] and issubclass(each, Suite))
        x = np.array(told["x"], dtype=told["dtype"])
        kind, values = told["kernel"]
        case = Case(
            told["case"], registry.formulation(told["formulation"]), csr(x) if told["sparse"] else x,
            np.array(told["y"]), registry.kernel_class(kind)(**values), told["values"],
            tags=frozenset(told["tags"]), cache_mb=told["cache_mb"],
        )  # fmt: skip
        return suite, suite.on_case(told["check"], case), case
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise UsageError(
            f"--reproduce: {path} is no file that `harness check` wrote ({error!r}); give one that it named."
        ) from None
