"""What pictures have in common: how a solver looks everywhere; of matplotlib panels, axes, one legend (the extra ``report``)."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0d5ac8", "#aa4706", "#1d8768", "#bb7cb1", "#d57f00", "#3f96f5", "#453f48", "#864129")
"""Distinguishable with each kind of colour blindness: CIE76 distances of 19 and more; each has a contrast of 3 to white."""

MARKS = "os^DP*v"
DASHES = ((), (7, 3), (2, 3), (9, 3, 2, 3), (4, 2))
_SIGNS = "●■▲◆+★▼"
_XTERM = (26, 166, 29, 175, 178, 75, 245, 130)  # numbers of colours, legible on white and on black

_PLACES = len(COLOURS) * len(MARKS)  # pairs of a colour and a mark
_SALT = (8_422_888).to_bytes(3, "big")  # with it the solvers that are compared most often differ in colour and mark
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
    found = dict.fromkeys(names, 0)
    ordered = sorted(found, key=lambda name: ("[" in name, name))  # a solver without parameters has its look first
    places, colours, marks = Counter[int](), Counter[int](), Counter[int]()
    for name in ordered:
        label = name.partition(" (")[0].encode()
        usual = int.from_bytes(blake2b(label, digest_size=4, salt=_SALT).digest(), "big")

        def cost(place: int, usual: int = usual) -> tuple[int, bool, int]:
            often = max(colours[place % len(COLOURS)] * len(COLOURS), marks[place % len(MARKS)] * len(MARKS))
            return places[place], often >= len(ordered), (place - usual) % _PLACES

        found[name] = place = min(range(_PLACES), key=cost)
        places[place] += 1
        colours[place % len(COLOURS)] += 1
        marks[place % len(MARKS)] += 1
    return found


def grid(count: int, width: float = 3.2, height: float = 2.6, columns: int = 4) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, and these."""
    import matplotlib.pyplot as plt

    across = min(columns, count)
    down = -(-count // across)
    size = width * across, height * down + 0.6
    figure, panels = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    for axes in panels.flat[count:]:
        axes.remove()
    return figure, list(panels.flat[:count])


def plain(figure: Figure) -> Figure:
    """Put plain numbers at logarithmic axes, powers of ten at long ones that begin below 1e-4; return the figure."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator

    short = EngFormatter(sep="")  # 12.5M
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axis.get_scale() == "log"):
        low, high = axis.get_view_interval()
        if high < 1.2 * low:  # no more than noise
            axis.set_view_interval(low := 0.8 * low, high := 1.25 * high, ignore=True)
        axis.set_minor_formatter("")
        if short_axis := high < 500 * low:
            few = MaxNLocator(4) if high < 3 * low else LogLocator(subs=(1, 2, 5) if high < 30 * low else (1, 3))
            axis.set_major_locator(few)
        if short_axis or low > 1e-4:
            axis.set_major_formatter(lambda value, _: short(value) if value >= 1e4 else f"{value:.4g}")
    return figure


def legend(figure: Figure, handles: Mapping[str, Any], columns: int = 4, title: str = "") -> None:
    """Put one legend below a figure, with a text above it, in as many columns as there is room for."""
    letters = int(figure.get_figwidth() / _LETTER) - 8
    names, text = [textwrap.fill(name, letters) for name in handles], textwrap.fill(title, letters)
    across = max(1, min(columns, letters // (6 + max(map(len, names), default=1))))
    lines = sum(name.count("\n") + 1 for name in names) // across + text.count("\n") + bool(text)
    figure.set_figheight(figure.get_figheight() + _LINE * lines)
    small = {"fontsize": 8, "title_fontsize": 8, "frameon": False}
    figure.legend(list(handles.values()), names, loc="outside lower center", ncols=across, title=text or None, **small)
