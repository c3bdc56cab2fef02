"""The pictures of reports/border_2007: Figures 2 and 5 to 9 of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from reports.border_2007.courses import early_random, roc_sets
from reports.border_2007.curves import Value, learning_curve, metric, support_ratio
from reports.border_2007.figures import imbalance
from reports.border_2007.imbalanced_plugin import FALSE_POSITIVES
from reports.border_2007.parts import (
    AL,
    AS_ROC,
    COSTS,
    CURVE,
    ENDLESS,
    FULL,
    RANDOM,
    SATURATION,
    SMOTE,
    TO_THE_END,
    UNDER,
    bounded,
)
from reports.border_2007.visits import DERIVED
from reports.kit.grids import PaperSet
from reports.kit.pictures import grid, save
from reports.kit.results import Results

AL_COLOUR, RS_COLOUR, FULL_COLOUR, STOP = "#D55E00", "#0072B2", "#009E73", "#F3D9E4"
WITH_ALL = {SMOTE: ("SMOTE", "#CC79A7", "--"), COSTS: ("DC", "#009E73", "-."), UNDER: ("US", "#777777", ":")}
SHOWN_FROM = 20  # labels


def draw(
    axes: Any, results: Results, name: str, solver: str, value: Value, label: str, colour: str, **style: Any
) -> bool:
    """Draw a learning curve with its spread; return whether there is one."""
    curve = learning_curve(results, name, solver, value)
    if curve is None:
        return False
    axes.plot(curve.labels, curve.mean, color=colour, label=label, linewidth=1.3, **style)
    if curve.runs > 1:
        axes.fill_between(curve.labels, curve.mean - curve.deviation, curve.mean + curve.deviation, color=colour,
                          alpha=0.15, linewidth=0.0)  # fmt: skip
    return True


def shade(axes: Any, results: Results, name: str, solver: str = AL) -> None:
    """Shade what lies left of the mean early stop."""
    found = [row["labels_used"] for row in results.of(name, solver)]
    if found:
        axes.axvspan(axes.get_xlim()[0], mean(found), color=STOP, alpha=0.6, linewidth=0.0, zorder=0)


def frame(axes: Any, title: str, ylabel: str, xlabel: str = "labels") -> None:
    """Name the axes of a learning curve; labels on a logarithmic scale, figures in percent but for ratios."""
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel, xscale="log")
    axes.set_xlim(left=SHOWN_FROM)
    if "%" in ylabel:
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, -2.0), min(high, 102.0))
    axes.grid(alpha=0.25)


def legend(figure: Any, panels: Any, columns: int) -> None:
    """Put one legend for all panels below them."""
    handles = {
        label: handle
        for axes in panels.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    if handles:
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, frameon=False)


def figure2(results: Results, path: Path) -> bool:
    """Draw PRBEP and g-means of RS, AL with full search and AL with small pools."""
    figure, panels = grid(2 * len(results.plan.figure2), height=3.0, legend=0.4)
    drawn = False
    kinds = (("prbep", "PRBEP, %"), ("g-means", "g-means, %"))
    for axes, ((quantity, title), name) in zip(panels.flat, product(kinds, results.plan.figure2), strict=False):
        to_stop, to_end = f"{name}{SATURATION}", f"{name}{TO_THE_END}"
        drawn |= draw(axes, results, to_end, RANDOM, metric(quantity), "RS", RS_COLOUR)
        drawn |= draw(
            axes, results, to_stop, FULL, metric(quantity), "AL (full search), to its early stop", FULL_COLOUR
        )
        drawn |= draw(axes, results, to_end, ENDLESS, metric(quantity), "AL (59 of the pool)", AL_COLOUR)
        frame(axes, name, title)
        shade(axes, results, to_stop)
    legend(figure, panels, 3)
    return save(figure, path, drawn=drawn)


def thinned(
    results: Results, path: Path, sets: Iterable[tuple[int, PaperSet]], quantity: str, title: str, endless: str
) -> bool:
    """Draw AL and random sampling, a panel an imbalance."""
    named = [data for _, data in sets]
    figure, panels = grid(len(named), height=3.0, legend=0.4)
    drawn = False
    for axes, data in zip(panels.flat, named, strict=False):
        drawn |= draw(axes, results, data.name, RANDOM, metric(quantity), "RS", RS_COLOUR)
        drawn |= draw(axes, results, data.name, endless, metric(quantity), "AL", AL_COLOUR)
        frame(axes, data.name, title)
        shade(axes, results, data.name)
    legend(figure, panels, 2)
    return save(figure, path, drawn=drawn)


def figure5(results: Results, path: Path) -> bool:
    """Draw g-means on waveform."""
    return thinned(results, path, results.plan.waveform, "g-means", "g-means, %", ENDLESS)


def figure6(results: Results, path: Path) -> bool:
    """Draw PRBEP on adult."""
    return thinned(
        results, path, results.plan.adult, "prbep", "PRBEP, %", bounded(ENDLESS, results.plan.bought_of_adult)
    )


def roc(results: Results, name: str, solver: str) -> Any:
    """Return the mean true positive rates over the runs, (len(FALSE_POSITIVES),), None of no run."""
    found = [row["metrics"][CURVE] for row in results.of(name, solver) if (row["metrics"] or {}).get(CURVE)]
    return np.mean(found, axis=0) if found else None


def figure7(results: Results, path: Path) -> bool:
    """Draw the ROC curves of AL, of RS with as many labels, and of RS with all of them."""
    figure, panels = grid(len(roc_sets(results)), height=3.4, legend=0.4)
    drawn = False
    for axes, each in zip(panels.flat, roc_sets(results), strict=False):
        name = f"{each}{AS_ROC}"
        early = early_random(results, name)
        shown = ((AL, "AL, early stopped", AL_COLOUR, "-"), (early, "RS, as many labels", RS_COLOUR, ":"),
                 (RANDOM, "RS, all labels", RS_COLOUR, "-"))  # fmt: skip
        for solver, label, colour, line in shown:
            rates = None if solver is None else roc(results, name, solver)
            if rates is not None:
                drawn = True
                axes.plot(FALSE_POSITIVES, rates, line, color=colour, label=label, linewidth=1.3)
        axes.set(
            title=each, xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 0.6), ylim=(0.4, 1.01)
        )
        axes.grid(alpha=0.25)
    legend(figure, panels, 3)
    return save(figure, path, drawn=drawn)


def figure8(results: Results, path: Path) -> bool:
    """Draw SV- / SV+ of AL and RS."""
    figure, panels = grid(len(results.plan.figure8), height=3.2, legend=0.4)
    drawn = False
    for axes, each in zip(panels.flat, results.plan.figure8, strict=False):
        name = f"{each}{TO_THE_END}"
        drawn |= draw(axes, results, name, RANDOM, support_ratio, "RS", RS_COLOUR)
        drawn |= draw(axes, results, name, ENDLESS, support_ratio, "AL", AL_COLOUR)
        data = imbalance(results, each)
        if data is not None:
            axes.axhline(data, color="#777777", linestyle="--", linewidth=1.0, label="imbalance of the data")
        frame(axes, each, "SV- / SV+")
        axes.set_ylim(bottom=0.0)
        shade(axes, results, each)
    legend(figure, panels, 3)
    return save(figure, path, drawn=drawn)


def visited(axes: Any, results: Results, name: str) -> bool:
    """Draw g-means of the methods that have all labels, while lasvm visits what they make of the training set."""
    drawn = False
    for row in results.derived:
        if row["derived"] == DERIVED and row["set"] == name:
            label, colour, line = WITH_ALL[row["solver"].partition("[")[0]]
            axes.plot(*zip(*row["points"], strict=True), line, color=colour, label=label, linewidth=1.1)
            drawn = True
    return drawn


def figure9(results: Results, path: Path) -> bool:
    """Draw g-means over the labels that AL and RS bought, and over the examples that the others have visited."""
    figure, panels = grid(len(results.plan.figure9), height=2.7, legend=0.5)
    drawn = False
    for axes, each in zip(panels.flat, results.plan.figure9, strict=False):
        name = f"{each}{TO_THE_END}"
        drawn |= draw(axes, results, name, RANDOM, metric("g-means"), "RS, at its end Batch", RS_COLOUR)
        drawn |= draw(axes, results, name, ENDLESS, metric("g-means"), "AL", AL_COLOUR)
        drawn |= visited(axes, results, each)
        frame(axes, each, "g-means, %", "labels, or examples visited")
        shade(axes, results, each)
    legend(figure, panels, 3)
    return save(figure, path, drawn=drawn)


PICTURES = {
    "figure2": figure2,
    "figure5": figure5,
    "figure6": figure6,
    "figure7": figure7,
    "figure8": figure8,
    "figure9": figure9,
}
