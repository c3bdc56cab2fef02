"""What the sets are: features, classes, C and gamma, of the data as the runs get them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from harness.registry import load_registry
from reports.border_2007.parts import PLUGINS
from reports.kit.grids import PaperSet
from reports.kit.journal import Journal


def described(data: PaperSet) -> dict[str, Any]:
    """Return what there is to say of a set, its first draw where there are several."""
    (source,) = load_registry(list(PLUGINS)).select_datasets(data.selection.format(k=0, k1=1))
    loaded = source.load()
    positives = int(np.sum(loaded.y_train > 0))
    return {
        "derived": "set",
        "set": data.name,
        "features": int(loaded.x_train.shape[1]),
        "positives": positives,
        "negatives": len(loaded.y_train) - positives,
        "test": len(loaded.y_test),
        "test_positives": int(np.sum(np.asarray(loaded.y_test) > 0)),
        "C": loaded.defaults["C"] if data.C is None else data.C,
        "gamma": loaded.defaults["gamma"] if data.gamma is None else data.gamma,
    }


def complete(journal: Journal, sets: Iterable[PaperSet]) -> None:
    """Write down what the sets are that have runs and no description yet."""
    for data in sets:
        key = {"derived": "set", "set": data.name}
        if journal.find({"set": data.name}) is not None and journal.find(key) is None:
            journal.append(described(data))
