"""What the pictures of all reports share: drawn without a screen, in panels, at one resolution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

mpl.use("Agg")


def grid(count: int, height: float, legend: float) -> tuple[Any, Any]:
    """Return a figure and its panels, (rows, columns): ``count`` are seen, three in a row at most.

    height, legend : of a row, and of what stands below them, in inches
    """
    columns = max(1, min(3, count))
    rows = max(1, -(-count // columns))
    figure, panels = plt.subplots(
        rows, columns, figsize=(3.7 * columns, height * rows + legend), layout="constrained", squeeze=False
    )
    for axes in panels.flat[count:]:
        axes.set_visible(False)
    return figure, panels


def save(figure: Any, path: Path, *, drawn: bool = True) -> bool:
    """Write the file if anything was ``drawn``, forget the figure, which pyplot would keep, and return ``drawn``."""
    if drawn:
        figure.savefig(path, dpi=110)
    plt.close(figure)
    return drawn
