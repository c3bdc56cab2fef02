"""A stranger's data source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness import Dataset, DataSource, parameter


@dataclass(frozen=True)
class Line(DataSource):
    """A source that knows nothing of the parameters that every source has."""

    name = "line"
    description = "Points on a line; the right half is +1."
    n: int = parameter(100, "points", ge=2)

    def load(self):
        x = np.linspace(-1, 1, self.n)[:, None]
        y = np.where(x[:, 0] > 0, 1.0, -1.0)
        return Dataset(self.label, x, y, x, y, "a claim", defaults={"C": 3.0})
