"""The pictures of reports/lasvm_2005."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from reports.kit.pictures import save
from reports.kit.results import Results, ratio
from reports.lasvm_2005.growth import exponents, measured
from reports.lasvm_2005.parts import (
    CRITERIA,
    DELTAS,
    LIBSVM,
    ONE,
    SCALED,
    TWO,
    WAYS,
    tau_of,
    with_delta_max,
)
from reports.lasvm_2005.selection import Curves, figures
from reports.lasvm_2005.tables import (
    NAMES,
    cache_images,
    cache_times,
    digits_of,
    in_turns,
    libsvm_of,
    measured_sets,
    time_share,
)

COLOURS = {LIBSVM: "#444444", ONE: "#0072B2", TWO: "#56B4E9"}
WAY_COLOURS = dict(zip(WAYS, ("#D55E00", "#0072B2", "#56B4E9"), strict=True))
CRITERION_COLOURS = dict(zip(CRITERIA, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))
PERCENT = "test error, %"
SUPPORT = "support vectors"


def figure8(results: Results, path: Path) -> bool:
    """Draw LASVM x1 over LIBSVM for each set, ours and published: support vectors, kernel values, time."""
    names = measured_sets(results)
    if not names:
        return False
    panels = (
        ("support vectors", "support_vectors"),
        ("kernel values", "kernel_values"),
        ("training time", "seconds"),
    )
    height = 0.36 * len(names) + 1.6
    figure, axes = plt.subplots(1, 3, figsize=(11, height), layout="constrained", sharey=True)
    for panel, (title, column) in zip(axes, panels, strict=True):
        quantity = column.replace("kernel_values", "kernel_evaluations")
        for row, name in enumerate(names):
            lasvm, libsvm = tau_of(name, ONE), libsvm_of(results, name)
            ours = (
                time_share(results, name) if column == "seconds" else in_turns(results, name, lasvm, libsvm, quantity)
            )
            theirs = ratio(*(results.published.get("figure8", name, solver, column) for solver in (ONE, LIBSVM)))
            for value, marker, colour, size in ((theirs, "D", "#BBBBBB", 9), (ours, "o", COLOURS[ONE], 6)):
                if value is not None:
                    panel.plot(value, row, marker, color=colour, markersize=size)
        panel.axvline(1.0, color="#222222", linewidth=1.0)
        panel.set(title=title, xscale="log", xlabel="LASVM x1 over LIBSVM")
        low, high = panel.get_xlim()
        narrow = high < 10.0 * low  # decades have too few ticks there
        decades = mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0) if high < 50.0 * low else (1.0,))
        _ticks(panel.xaxis, mpl.ticker.MaxNLocator(5) if narrow else decades)
        panel.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].plot([], [], "o", color=COLOURS[ONE], label="here")
    axes[0].plot([], [], "D", color="#BBBBBB", markersize=9, label="published")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return save(figure, path)


def _ticks(axis: Any, locator: Any) -> None:
    """Put plain numbers where the locator says, and nothing between them."""
    axis.set_major_locator(locator)
    axis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axis.set_minor_formatter(mpl.ticker.NullFormatter())


def figure6(results: Results, path: Path) -> bool:
    """Draw the change of training time with the cache size."""
    figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
    drawn = False
    for images, line in zip(cache_images(results), ("o-", "s--"), strict=False):
        for solver in (LIBSVM, ONE):
            times = cache_times(results, solver, images)
            if times:
                drawn = True
                means = [sum(each) / len(each) for each in times.values()]
                label = f"{NAMES[solver]}, {images or 'all'} images"
                axes.plot(list(times), means, line, color=COLOURS[solver], label=label)
    axes.axhline(0.0, color="#222222", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axes.set(xlabel="cache, MB", ylabel="training time, change in %", title="against LIBSVM with the largest cache")
    if drawn:
        axes.legend(frameon=False)
    save(figure, path)
    return drawn


def scaling(results: Results, path: Path) -> bool:
    """Draw time and n |S| against n, with the exponents of both."""
    found = {name: sizes for name in SCALED if len(sizes := measured(results, name)) > 1}
    figure, panels = plt.subplots(1, max(1, len(found)), figsize=(9.0, 4.0), layout="constrained", squeeze=False)
    for axes, (name, sizes) in zip(panels.flat, found.items(), strict=False):
        time, product = exponents(sizes) or (math.nan, math.nan)
        n = [each.n for each in sizes]
        cost = min(each.time / each.product for each in sizes)  # at the size where it is least: a line below all times
        label = f"n |S| x {1e9 * cost:.2g} ns: n^{product:.2f}"
        axes.plot(n, [cost * each.product for each in sizes], "--", color="#888888", label=label)
        axes.plot(n, [each.time for each in sizes], "o-", color=COLOURS[ONE], label=f"time: n^{time:.2f}")
        for each in sizes:
            axes.vlines(each.n, min(each.seconds), max(each.seconds), color=COLOURS[ONE], linewidth=1.0)
        axes.set(xscale="log", yscale="log", title=name, xlabel="training points n", ylabel="seconds")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, loc="upper left")
    save(figure, path)
    return bool(found)


def figure10(results: Results, path: Path) -> bool:
    """Draw error, time and support vectors against delta_max, LIBSVM as a triangle on the right."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    drawn = False
    for axes, (quantity, title) in zip(
        panels, (("error", PERCENT), ("cpu", "seconds"), ("support_vectors", SUPPORT)), strict=True
    ):
        for way, name in WAYS.items():
            points = [(d, results.mean("banana", with_delta_max(way, d), quantity)) for d in DELTAS]
            points = [(d, value) for d, value in points if value is not None]
            drawn = drawn or bool(points)
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=WAY_COLOURS[way], markersize=4, label=name)
        level = results.mean("banana", LIBSVM, quantity)
        if level is not None:
            axes.plot(2.5 * max(DELTAS), level, "<", color=COLOURS[LIBSVM], markersize=10, label="LIBSVM")
        axes.set(xscale="log", xlabel="delta_max", title=title)
        axes.grid(alpha=0.25)
    panels[1].set_yscale("log")
    _ticks(panels[1].yaxis, mpl.ticker.LogLocator(subs=(1, 2, 5)))
    handles, names = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    save(figure, path)
    return drawn


def digits(results: Results, path: Path) -> bool:
    """Draw error, time and support vectors of the ten binary classifiers (figures 1, 2, 5), and time against size (3)."""
    names = digits_of(results)
    figure, panels = plt.subplots(2, 2, figsize=(9.5, 6.4), layout="constrained")
    quantities = (("error", PERCENT), ("cpu", "seconds"), ("support_vectors", SUPPORT))
    for axes, (quantity, title) in zip(panels.flat, quantities, strict=False):
        for shift, (solver, colour) in enumerate(COLOURS.items()):
            found = [(row, results.mean(name, solver, quantity)) for row, name in enumerate(names)]
            found = [(row + 0.25 * (shift - 1), value) for row, value in found if value is not None]
            if found:
                axes.bar(*zip(*found, strict=True), width=0.25, color=colour, label=NAMES[solver])
        axes.set_xticks(range(len(names)), [name[len("mnist-") :][0] for name in names])
        axes.set(title=title, xlabel="digit against the rest")
    for solver, colour in COLOURS.items():
        points = [
            (
                results.mean(name, solver, "support_vectors"),
                results.mean(name, solver, "cpu"),
            )
            for name in names
        ]
        known = [point for point in points if None not in point]
        if known:
            panels[1, 1].plot(*zip(*known, strict=True), "o", color=colour)
    panels[1, 1].set(xlabel=SUPPORT, title="seconds against support vectors")
    if names:
        for axes in (panels[0, 1], panels[1, 1]):  # LIBSVM takes a hundred times as long
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)
    return bool(names)


def _curves(results: Results, curves: Curves, across: str, axes: Any) -> bool:
    """Draw the error of each criterion against a quantity of its runs; return whether there was anything."""
    name = curves.measured(results)
    drawn = False
    for criterion in curves.criteria:
        points = [
            (results.mean(name, solver, across), results.mean(name, solver, "error"))
            for solver in curves.solvers(criterion)
        ]
        known = sorted(point for point in points if None not in point)
        if known:
            drawn = True
            axes.plot(
                *zip(*known, strict=True),
                "o-",
                color=CRITERION_COLOURS[criterion],
                markersize=4,
                label=criterion.upper(),
            )
    level = results.mean(name, LIBSVM, "error")
    if level is not None:
        axes.axhline(level, color=COLOURS[LIBSVM], linestyle="--", label="LIBSVM")
        axes.set_ylim(top=min(axes.get_ylim()[1], CUT * level))
    axes.set_xscale("log")
    _ticks(axes.xaxis, mpl.ticker.LogLocator(subs=(1.0, 3.0)))
    axes.grid(alpha=0.25)
    return drawn


ACROSS = {"info.visited": "examples processed", "cpu": "seconds, finishing included", "support_vectors": SUPPORT}
CUT = 2.0  # errors above twice LIBSVM's are outside the picture: it is about the way down to LIBSVM's


def _selection(figure_name: str) -> Callable[[Results, Path], bool]:
    """Return what draws the error against examples, time and support vectors."""

    def draw(results: Results, path: Path) -> bool:
        curves = figures()[figure_name]
        figure, panels = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained", sharey=True)
        found = [_curves(results, curves, across, axes) for axes, across in zip(panels, ACROSS, strict=True)]
        for axes, label in zip(panels, ACROSS.values(), strict=True):
            axes.set_xlabel(label)
        panels[0].set_ylabel(PERCENT)
        handles, labels = panels[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        save(figure, path)
        return any(found)

    return draw


PICTURES = {
    "figure8": figure8,
    "scaling": scaling,
    "figure10": figure10,
    "digits": digits,
    "figure6": figure6,
    **{name: _selection(name) for name in figures()},
}
