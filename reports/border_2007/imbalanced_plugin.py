"""A plugin for the study of imbalanced data: a set as it cannot have been meant, and a curve as a metric.

``abalone-rings``  abalone with the number of rings, which is the label, among its features
``roc-curve``      true positive rates at fixed false positive rates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset, DataSource, content_sha256, hookimpl, parameter
from harness.registry import load_registry

FALSE_POSITIVES = tuple(round(float(rate), 4) for rate in np.linspace(0.0, 1.0, 81) ** 2)
"""The false positive rates of ``roc-curve``, denser where curves differ."""


@dataclass(frozen=True)
class AbaloneRings(DataSource):
    """Abalone with 9 features, as Table 2 of Ertekin et al. 2007 counts them: sex as 1, 2 or 3, seven measurements, rings.

    UCI's file has nine columns, of which the last is what is to be told: without it there are eight.
    """

    name = "abalone-rings"
    description = "Abalone whose label, the number of rings, was left among the features; +1 has 7 rings."
    split_seed: int = parameter(0, "seed of the draw of the training rows", ge=0)

    def load(self) -> Dataset:
        """Return the rows of abalone's own split, (3759, 9) and (418, 9)."""
        named = [f"abalone[split_seed={self.split_seed}]", f"abalone[split_seed={self.split_seed},regression=True]"]
        plain, counted = (source.load() for source in load_registry().select_datasets(named))
        points = [
            np.column_stack([x[:, :3] @ (1.0, 2.0, 3.0), x[:, 3:], rings])
            for x, rings in ((plain.x_train, counted.y_train), (plain.x_test, counted.y_test))
        ]
        parts = (points[0], plain.y_train, points[1], plain.y_test)
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=plain.defaults)


def roc_curve(targets: Any, scores: Any) -> list[float] | None:
    """Return the largest true positive rate at each of FALSE_POSITIVES or less, to four digits; None of one class."""
    positive, scores = np.asarray(targets) > 0.0, np.asarray(scores, dtype=np.float64)
    if positive.all() or not positive.any():
        return None
    order = np.argsort(-scores, kind="stable")
    ends = np.append(
        np.flatnonzero(np.diff(scores[order])), len(scores) - 1
    )  # equal scores are told apart by no threshold
    true = np.append(0.0, np.cumsum(positive[order])[ends] / positive.sum())
    false = np.append(0.0, np.cumsum(~positive[order])[ends] / (~positive).sum())
    places = np.searchsorted(false, np.asarray(FALSE_POSITIVES) + 1e-9, side="right") - 1
    return [round(float(rate), 4) for rate in true[places]]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return abalone with its label among the features."""
    return [AbaloneRings]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the ROC curve."""
    return {"roc-curve": roc_curve}
