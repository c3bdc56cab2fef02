"""What pictures have in common: how a solver looks everywhere; of matplotlib panels, axes, one legend (the extra ``report``)."""

from __future__ import annotations

import itertools
import textwrap
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = ("#0d5ac8", "#aa4706", "#1d8768", "#bb7cb1", "#d57f00", "#3f96f5", "#453f48", "#864129")
"""Distinguishable with each kind of colour blindness: CIE76 distances of 19 and more; each has a contrast of 3 to white."""

MARKS = "os^DP*v"
DASHES = ((), (7, 3), (2, 3), (9, 3, 2, 3), (4, 2))
_SIGNS = "●■▲◆+★▼"
_XTERM = (26, 166, 29, 175, 178, 75, 245, 130)  # numbers of colours, legible on white and on black

_PLACES = len(COLOURS) * len(MARKS)  # pairs of a colour and a mark
_LETTER = 0.066  # inches that a letter of a legend takes
_LINE = 0.17  # inches that a line of a legend takes


def style(place: int) -> dict[str, Any]:
    """Return how matplotlib draws the curve of a solver of `looks`."""
    colour, mark, dashes = (each[place % len(each)] for each in (COLOURS, MARKS, DASHES))
    return {"color": colour, "marker": mark, "linestyle": (0, dashes), "linewidth": 1.3, "markersize": 5}


def in_a_terminal(place: int) -> tuple[str, int]:
    """Return the mark and xterm's number of the colour of a solver of `looks`."""
    return _SIGNS[place % len(_SIGNS)], _XTERM[place % len(_XTERM)]


def looks(names: Iterable[str]) -> dict[str, int]:
    """Return for each solver of a comparison or a history a number that says its colour and its mark, and its dashes.

    It comes from the solver's label, what stands in parentheses behind it aside, so that a solver looks the same
    everywhere; it is the next one where another solver has that, or its colour or mark has been used more than is needed.
    """
    ordered, found = sorted(set(names)), dict[str, int]()
    used = Counter[tuple[str, int]]()
    for name in ordered:
        usual = zlib.crc32(name.partition(" (")[0].encode())

        def cost(place: int, usual: int = usual) -> tuple[Any, ...]:
            often = [used[each] * size >= len(ordered) for each, size in _parts(place).items()]
            return list(found.values()).count(place), any(often), (place - usual) % _PLACES

        found[name] = min(range(_PLACES), key=cost)
        used.update(_parts(found[name]).keys())
    return found


def _parts(place: int) -> dict[tuple[str, int], int]:
    """Return a place's colour and mark, and how many there are of either."""
    return {("colour", place % len(COLOURS)): len(COLOURS), ("mark", place % len(MARKS)): len(MARKS)}


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
        if high < 1.2 * low:  # no more than noise
            axis.set_view_interval(low := 0.8 * low, high := 1.25 * high, ignore=True)
        axis.set_minor_formatter("")
        if high < 500 * low:
            subs = range(1, 10) if high < 3 * low else (1, 2, 5) if high < 30 * low else (1, 3)
            axis.set_major_locator(LogLocator(subs=subs))
            axis.set_major_formatter("{x:,.10g}")
    return figure


def apart(figure: Figure) -> Figure:
    """Leave out tick labels until no two of an axis overlap; return the figure."""
    figure.draw_without_rendering()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        _thin(axis)
    return figure


def _thin(axis: Axis) -> None:
    low, high = sorted(axis.get_view_interval())
    ticks = {
        tick.get_loc(): tick.label2 if tick.label2.get_visible() else tick.label1 for tick in axis.get_major_ticks()
    }
    shown = {float(at): ticks[at] for at in sorted(ticks) if low <= at <= high and ticks[at].get_text()}
    for step in range(1, len(shown) + 1):
        labels = dict(list(shown.items())[::step])
        boxes = [label.get_window_extent() for label in labels.values()]
        if not any(a.overlaps(b) for a, b in itertools.pairwise(boxes)):
            if step > 1:
                axis.set_ticks(list(labels), [label.get_text() for label in labels.values()])
            return


def legend(
    figure: Figure,
    handles: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    columns: int = 4,
    title: str = "",
) -> None:
    """Put one legend below a figure, with a text above it, in as many columns as there is room for."""
    letters = int(figure.get_figwidth() / _LETTER) - 8
    names = [textwrap.fill((labels or {}).get(name, name), letters) for name in handles]
    across = max(1, min(columns, letters // (6 + max(map(len, names), default=1))))
    text = textwrap.fill(title, letters)
    lines = sum(name.count("\n") + 1 for name in names) // across + text.count("\n") + bool(text)
    figure.set_figheight(figure.get_figheight() + _LINE * lines)
    figure.legend(
        list(handles.values()), names, loc="outside lower center", ncols=across, frameon=False, fontsize=8,
        title=text or None, title_fontsize=8,
    )  # fmt: skip
