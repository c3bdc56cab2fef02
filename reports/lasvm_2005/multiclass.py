"""Figure 4: ten classifiers, each a digit against the rest, decide together; the greatest score wins."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.measure.machine import now
from harness.registry import load_registry
from harness.run.record import Status
from reports.kit.grids import Options
from reports.kit.journal import Row
from reports.kit.running import SCORES


def finish(rows: list[Row], options: Options) -> list[Row]:
    """Return a row for each solver and seed whose classifiers of all digits are there.

    With some of the digits only, the error is over the test images of these.
    """
    groups: dict[tuple[str, int], dict[int, Row]] = {}
    for row in rows:
        if row["status"] == Status.OK and SCORES in (row["record"]["metrics"] or {}):
            groups.setdefault((row["solver"], row["seed"]), {})[_digit(row)] = row
    complete = {key: found for key, found in groups.items() if set(found) >= set(options.digits)}
    if not complete:
        return []
    truth = _labels(options.digits)
    name = "mnist" if options.n is None else f"mnist-of-{options.n}"
    return [
        {
            "derived": "multiclass",
            "set": name,
            "solver": solver,
            "seed": seed,
            "digits": list(options.digits),
            "error": error(truth, [_scores(found[digit]) for digit in options.digits], options.digits),
            **{column: sum(found[digit][column] for digit in options.digits) for column in ("cpu", "seconds")},
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


def _digit(row: Row) -> int:
    return int(row["dataset"].partition("digit=")[2][0])


def _scores(row: Row) -> Any:
    return np.asarray(row["record"]["metrics"][SCORES])


def _labels(digits: tuple[int, ...]) -> Any:
    registry = load_registry()
    truth: Any = None
    for digit in digits:
        y = registry.select_datasets(f"mnist[digit={digit}]")[0].load().y_test
        truth = np.full(len(y), -1) if truth is None else truth
        truth[np.asarray(y) > 0] = digit
    return truth
