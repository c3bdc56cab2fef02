"""Write the smallest failing problem of a check to a file, and run the check on it again."""

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

_SECONDS = 5.0  # time limit of the search for a smaller problem, in seconds


def smallest(suite: type[Suite], result: Result, case: Case) -> Case:
    """Return a smaller case on which a check fails as in ``result`` for ``case``: the smallest within 5 s of search."""
    failure, end = _kind(result), monotonic() + _SECONDS
    size = max(1, len(case.y) // 2)
    while size and monotonic() < end:
        for start in range(0, len(case.y), size):
            indices = np.delete(np.arange(len(case.y)), slice(start, start + size))
            candidate = _part(case, indices)
            if candidate is not None and _kind(suite.on_case(result.check, candidate)) == failure:
                case = candidate
                break
            if monotonic() >= end:
                return case
        else:
            size //= 2
        size = min(size, len(case.y) - 1)
    return case


def _kind(result: Result) -> Any:
    return result.status == "failed" and type(result.error)


def _part(case: Case, indices: Any) -> Case | None:
    """Return the case restricted to some of its points; None if that is no valid problem."""
    x = case.x[indices][:, indices] if case.kernel.name == "precomputed" else case.x[indices]
    part = case.changed(x=x, y=case.y[indices])
    try:
        part.problem()
    except (HarnessError, ValueError):
        return None
    return part


def write(folder: Path, target: str, suite: type[Suite], name: str, case: Case) -> Path:
    """Write a failing problem for :func:`again`, and return the path of the file."""
    sparse = hasattr(case.x, "tocsr")
    content = {
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
    label = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in suite.label())
    path = folder / f"{label}-{name.removeprefix('test_')}.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def again(
    path: Path, registry: Registry, suites_of: Callable[[str, Registry], list[type[Checks]]]
) -> tuple[type[Suite], Result, Case]:
    """Run the check of a file of :func:`write` on its problem; return the suite, the result and the problem.

    suites_of : returns the suites of a plugin or of one thing, by its name

    Raises
    ------
    UsageError, PluginError : the file is no such file, or its plugin is missing.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        suites = suites_of(content["target"], registry)  # the plugin may bring the formulation
        suite = next(s for s in suites if s.label() == content["thing"] and issubclass(s, Suite))
        x = np.array(content["x"], dtype=content["dtype"])
        kind, values = content["kernel"]
        case = Case(
            content["case"], registry.formulation(content["formulation"]), csr(x) if content["sparse"] else x,
            np.array(content["y"]), registry.kernel_class(kind)(**values), content["values"],
            tags=frozenset(content["tags"]), cache_mb=content["cache_mb"],
        )  # fmt: skip
        return suite, suite.on_case(content["check"], case), case
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise UsageError(
            f"--reproduce: {path} was not written by `harness check` ({error!r}); give a file that it named."
        ) from None
