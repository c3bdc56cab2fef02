"""What a test metric is: its function, and what its numbers mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from harness.support import parameters
from harness.support.errors import PluginError

Scorer = Callable[[Any, Any], Any]
_ROUNDING = 1e-9  # beyond its range


@dataclass(frozen=True)
class Metric:
    """A test metric: a function of (n,) targets and (n,) scores f(x), and what its numbers mean.

    better : which end is better; None: rows are not ranked by it
    low, high : its range; a number outside is a fault of the metric, which the row reports
    takes : its second argument: scores, or their signs as labels -1 / +1
    task : the data that it is for, ``classification`` or ``regression``; None: all
    """

    function: Scorer
    better: Literal["low", "high"] | None = None
    low: float = -math.inf
    high: float = math.inf
    takes: Literal["scores", "labels"] = "scores"
    task: Literal["classification", "regression"] | None = None

    def __post_init__(self) -> None:
        words = {name: getattr(self, name) for name in ("better", "takes", "task")}
        parameters.validated(Metric, words, owner="a metric")
        object.__setattr__(self, "__doc__", self.function.__doc__)  # it is described as its function is

    def __call__(self, targets: Any, scores: Any) -> Any:
        """Return the figure.

        Raises
        ------
        PluginError : it is outside of the range; whatever the function raises.
        """
        figure = self.function(targets, predicted(scores) if self.takes == "labels" else scores)
        number = float(figure) if isinstance(figure, Real) else math.nan
        if number < self.low - _ROUNDING or number > self.high + _ROUNDING:
            raise PluginError(f"it returned {figure:g}, which is outside of its range [{self.low:g}, {self.high:g}]")
        return figure


def predicted(scores: Any) -> Any:
    """Return the labels of (n,) scores: +1 where f(x) >= 0, else -1."""
    import numpy as np  # here: the help of the command, which loads plugins, stays light

    return np.where(np.asarray(scores) >= 0.0, 1.0, -1.0)
