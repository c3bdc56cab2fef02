"""Figure 4: ten classifiers, each a digit against the rest, decide together; the greatest score wins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from harness import Status
from harness.machine import now
from harness.registry import load_registry
from reports.kit.grids import Options
from reports.kit.journal import Row
from reports.kit.running import SCORES
from reports.kit.study import PLUGINS


def finish(rows: list[Row], options: Options) -> list[Row]:
    """Return a row for each solver and seed whose classifiers of all digits are there.

    With some of the digits only, the error is over the test images of these.
    """
    groups: dict[tuple[str, int], dict[int, Row]] = {}
    for row in rows:
        if row["status"] == Status.OK and SCORES in (row["record"]["metrics"] or {}):
            groups.setdefault((row["solver"], row["seed"]), {})[_digit(row)] = row
    digits = tuple(digit for digit in options.plan.digits if digit in options.digits)
    complete = {key: found for key, found in groups.items() if set(found) >= set(digits)}
    if not complete:
        return []
    truth = _labels([next(iter(complete.values()))[digit]["dataset"] for digit in digits], digits)
    name = "mnist" if options.n is None else f"mnist-of-{options.n}"
    return [
        {
            "derived": "multiclass",
            "set": name,
            "solver": solver,
            "seed": seed,
            "digits": list(digits),
            "error": error(truth, [_scores(found[digit]) for digit in digits], digits),
            **{column: sum(found[digit][column] for digit in digits) for column in ("cpu", "seconds")},
            **_shared(found.values()),
            **now(),
        }
        for (solver, seed), found in complete.items()
    ]


def error(truth: Any, scores: list[Any], digits: tuple[int, ...]) -> float:
    """Return the percentage of points whose greatest score is not their digit's.

    truth : (n,) digits, -1 for a digit that has no classifier: such points are left out
    scores : for each of ``digits`` the (n,) scores of its classifier
    """
    known = truth >= 0
    decided = np.asarray(digits)[np.argmax(np.stack(scores), axis=0)]
    return float(100.0 * np.mean(decided[known] != truth[known]))


def _shared(rows: Iterable[Row]) -> dict[str, str | None]:
    """Return the commit of all runs, none where they have several."""
    commits = {row["git_commit"] for row in rows}
    return {"git_commit": commits.pop() if len(commits) == 1 else None}


def _digit(row: Row) -> int:
    return int(row["dataset"].partition("digit=")[2][0])


def _scores(row: Row) -> Any:
    return np.asarray(row["record"]["metrics"][SCORES])


def _labels(selections: list[str], digits: tuple[int, ...]) -> Any:
    registry = load_registry(list(PLUGINS))
    truth: Any = None
    for selection, digit in zip(selections, digits, strict=True):
        y = registry.select_datasets(selection)[0].load().y_test
        truth = np.full(len(y), -1) if truth is None else truth
        truth[np.asarray(y) > 0] = digit
    return truth
