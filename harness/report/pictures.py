"""What pictures of matplotlib have in common: panels, colours, axes, one legend; the extra ``report`` brings it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444", "#A65628", "#999933", "#882255")


def grid(count: int, width: float = 3.2, height: float = 2.6, columns: int = 4) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, and these."""
    import matplotlib.pyplot as plt

    across = min(columns, count)
    down = -(-count // across)
    figure, panels = plt.subplots(
        down, across, figsize=(width * across, height * down + 0.6), layout="constrained", squeeze=False
    )
    flat = list(panels.flat)
    for axes in flat[count:]:
        axes.remove()
    return figure, flat[:count]


def plain(figure: Figure) -> Figure:
    """Put plain numbers at logarithmic axes of less than three decades, powers of ten at longer ones; return the figure."""
    from matplotlib.ticker import LogLocator

    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axis.get_scale() == "log"):
        low, high = axis.get_view_interval()
        axis.set_minor_formatter("")
        if high < 500 * low:
            subs = range(1, 10) if high < 3 * low else (1, 2, 5) if high < 30 * low else (1, 3)
            axis.set_major_locator(LogLocator(subs=subs))
            axis.set_major_formatter("{x:,.10g}")
    return figure


def legend(
    figure: Figure, handles: Mapping[str, Any], labels: Mapping[str, str] | None = None, columns: int = 4
) -> None:
    """Put one legend below a figure."""
    names = [(labels or {}).get(name, name) for name in handles]
    figure.legend(list(handles.values()), names, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
