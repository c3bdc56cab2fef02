"""The pictures of reports/lasvm_2005."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from reports.kit.pictures import save
from reports.kit.results import Results, ratio
from reports.lasvm_2005.digits import SOLVERS, cache_images, cache_times, digits_of
from reports.lasvm_2005.growth import exponents, measured
from reports.lasvm_2005.plan import (
    AVERAGED,
    AVERAGED_TEN,
    CRITERIA,
    EACH,
    LIBSVM,
    NAMES,
    ONE,
    TWO,
    WAYS,
    tau_of,
    with_delta_max,
)
from reports.lasvm_2005.selection import Curves, figures
from reports.lasvm_2005.tables import libsvm_of, measured_sets, time_share

COLOURS = {LIBSVM: "#444444", ONE: "#0072B2", TWO: "#56B4E9", AVERAGED: "#E69F00", AVERAGED_TEN: "#D55E00"}
WAY_COLOURS = dict(zip(WAYS, ("#D55E00", "#0072B2", "#56B4E9"), strict=True))
CRITERION_COLOURS = dict(zip(CRITERIA, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))
PRINTED_COLOUR = "#D55E00"
PERCENT = "test error, %"
SUPPORT = "support vectors"
SECONDS = "training time, CPU s"


def figure8(results: Results, path: Path) -> bool:
    """Draw LASVM x1 over LIBSVM for each set, ours and published: support vectors, kernel values, time."""
    names = measured_sets(results)
    if not names:
        return False
    panels = (
        ("support vectors", "support_vectors", "support_vectors"),
        ("kernel values", "kernel_evaluations", "kernel_values"),
        ("training time", "", "seconds"),  # over that of the faster LIBSVM
    )
    height = 0.36 * len(names) + 1.6
    figure, axes = plt.subplots(1, 3, figsize=(11, height), layout="constrained", sharey=True)
    for panel, (title, quantity, column) in zip(axes, panels, strict=True):
        for row, name in enumerate(names):
            lasvm, libsvm = tau_of(name, ONE), libsvm_of(results, name)
            share = results.quotient(name, lasvm, libsvm, quantity) if quantity else time_share(results, name)
            ours = share.value
            theirs = ratio(*(results.published.get("figure8", name, solver, column) for solver in (ONE, LIBSVM)))
            marks = [(theirs, "D", "#BBBBBB", 9), (ours, "o", COLOURS[ONE], 6)]
            if quantity == "kernel_evaluations":
                marks.append(
                    (results.quotient(name, tau_of(name, EACH), libsvm, quantity).value, "+", PRINTED_COLOUR, 9)
                )
            for value, marker, colour, size in marks:
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
    axes[0].plot([], [], "+", color=PRINTED_COLOUR, markersize=9, label="here, as printed: kernel values")
    axes[0].plot([], [], "D", color="#BBBBBB", markersize=9, label="published")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return save(figure, path)


def _ticks(axis: Any, locator: Any) -> None:
    """Put plain numbers where the locator says, and nothing between them."""
    axis.set_major_locator(locator)
    axis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axis.set_minor_formatter(mpl.ticker.NullFormatter())


def figure6(results: Results, path: Path) -> bool:
    """Draw training time against the cache, over LIBSVM's with the largest."""
    figure, axes = plt.subplots(figsize=(6.2, 4.2), layout="constrained")
    drawn = False
    for images, line in zip(cache_images(results), ("o-", "s--"), strict=False):
        for solver in (LIBSVM, ONE):
            times = cache_times(results, solver, images)
            if len(times) > 1:  # LIBSVM with one cache alone is what the others are divided by
                drawn = True
                means = [1.0 + 0.01 * sum(each) / len(each) for each in times.values()]
                label = f"{NAMES[solver]}, {f'{int(images):,}' if images else 'all'} images"
                axes.plot(list(times), means, line, color=COLOURS[solver], label=label)
    axes.axhline(1.0, color="#222222", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    _ticks(axes.yaxis, mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.set(xlabel="cache, MB", ylabel="CPU time over LIBSVM's with the largest cache")
    axes.grid(alpha=0.25)
    if drawn:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    save(figure, path)
    return drawn


def scaling(results: Results, path: Path) -> bool:
    """Draw time and n |S| against n, with the exponents of both."""
    found = {name: sizes for name in results.plan.scaled if len(sizes := measured(results, name)) > 1}
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
        axes.set(xscale="log", yscale="log", title=name, xlabel="training points n", ylabel=SECONDS)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, loc="upper left")
    save(figure, path)
    return bool(found)


def figure10(results: Results, path: Path) -> bool:
    """Draw error, time and support vectors against delta_max, LIBSVM's as a line across."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    drawn = False
    quantities = (("error", PERCENT), ("cpu", SECONDS), ("support_vectors", SUPPORT))
    for axes, (quantity, title) in zip(panels, quantities, strict=True):
        for way, name in WAYS.items():
            points = [(d, results.mean("banana", with_delta_max(way, d), quantity)) for d in results.plan.deltas]
            points = [(d, value) for d, value in points if value is not None]
            drawn = drawn or bool(points)
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=WAY_COLOURS[way], markersize=4, label=name)
        level = results.mean("banana", LIBSVM, quantity)
        if level is not None:
            axes.axhline(level, color=COLOURS[LIBSVM], linestyle="--", label="LIBSVM")
        axes.set(xscale="log", xlabel="delta_max", title=title)
        axes.grid(alpha=0.25)
    panels[1].set_yscale("log")
    _ticks(panels[1].yaxis, mpl.ticker.LogLocator(subs=(1, 2, 5)))
    handles, names = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    save(figure, path)
    return drawn


def _by_digit(results: Results, axes: Any, quantity: str) -> None:
    """Draw a quantity of each classifier: a bar a solver, for times, whose axis is logarithmic, a point."""
    names = digits_of(results)
    solvers = [solver for solver in SOLVERS if any(results.of(name, solver) for name in names)]
    width = 0.8 / max(1, len(solvers))
    for shift, solver in enumerate(solvers):
        found = [(row, results.mean(name, solver, quantity)) for row, name in enumerate(names)]
        at = [(row + width * (shift - 0.5 * (len(solvers) - 1)), value) for row, value in found if value is not None]
        if quantity == "cpu":
            axes.plot(*zip(*at, strict=True), "o", color=COLOURS[solver], label=NAMES[solver])
        else:
            axes.bar(*zip(*at, strict=True), width=width, color=COLOURS[solver], label=NAMES[solver])
    if names and quantity == "cpu":
        axes.set_yscale("log")
        _ticks(axes.yaxis, mpl.ticker.LogLocator())
    axes.set_xticks(range(len(names)), [name[len("mnist-") :][0] for name in names])
    axes.set_xlabel("digit against the rest")
    axes.grid(axis="y", alpha=0.25)


def _legend_below(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)


def figure1(results: Results, path: Path) -> bool:
    """Draw error (figure 1) and time (figure 2) of the binary classifiers of all digits."""
    figure, panels = plt.subplots(2, 1, figsize=(9.5, 6.4), layout="constrained")
    for axes, (quantity, title) in zip(panels, (("error", PERCENT), ("cpu", SECONDS)), strict=True):
        _by_digit(results, axes, quantity)
        axes.set_ylabel(title)
    _legend_below(figure, panels[0])
    save(figure, path)
    return bool(digits_of(results))


def figure3(results: Results, path: Path) -> bool:
    """Draw time against the number of support vectors (figure 3), and these for each digit (figure 5)."""
    names = digits_of(results)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for solver in SOLVERS:
        points = [[results.mean(name, solver, quantity) for quantity in ("support_vectors", "cpu")] for name in names]
        known = [point for point in points if None not in point]
        if known:
            left.plot(*zip(*known, strict=True), "o", color=COLOURS[solver])
    left.set(xlabel=f"{SUPPORT}, a point a digit", ylabel=SECONDS)
    _by_digit(results, right, "support_vectors")
    right.set_ylabel(SUPPORT)
    if names:
        left.set(xscale="log", yscale="log")
        _ticks(left.xaxis, mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        _ticks(left.yaxis, mpl.ticker.LogLocator())
    left.grid(alpha=0.25)
    _legend_below(figure, right)
    save(figure, path)
    return bool(names)


def _curves(results: Results, curves: Curves, across: str, axes: Any, *, line: str = "-", said: str = "") -> bool:
    """Draw the error of each criterion against a quantity of its runs, and LIBSVM's across; return whether there was any."""
    name = curves.measured(results)
    drawn = False
    for criterion in curves.criteria:
        points = [
            (results.mean(name, solver, across), results.mean(name, solver, "error"))
            for solver in curves.solvers(criterion)
        ]
        known = [point for point in points if None not in point]
        if known:
            drawn = drawn or len(known) > 1  # one run is no curve
            colour = CRITERION_COLOURS[criterion]
            label = criterion.upper() + said
            joined = "" if across == "cpu" else line  # times are too noisy for a line from one size to the next
            axes.plot(*zip(*known, strict=True), f"o{joined}", color=colour, markersize=4, label=label)
    level = results.mean(name, LIBSVM, "error")
    if level is not None:
        axes.axhline(level, color=COLOURS[LIBSVM], linestyle="--" if line == "-" else ":", label=f"LIBSVM{said}")
    axes.set_xscale("log")
    _ticks(axes.xaxis, mpl.ticker.LogLocator(subs=(1.0, 3.0)))
    axes.grid(alpha=0.25)
    return drawn


def _errors(results: Results, axes: Any, shown: Sequence[Curves]) -> None:
    """Cut the errors where they stop telling criteria apart: a share above LIBSVM's, else a logarithmic axis."""
    cuts = [curves.cut for curves in shown if curves.cut is not None]
    levels = [results.mean(curves.measured(results), LIBSVM, "error") for curves in shown]
    if cuts and levels[0] is not None:
        below = min(min(line.get_ydata()) for line in axes.lines)
        axes.set_ylim(below - 0.1 * (cuts[0] - 1.0) * levels[0], cuts[0] * levels[0])
    elif axes.lines:
        axes.set_yscale("log")
        _ticks(axes.yaxis, mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))


ACROSS = {"info.visited": "examples processed", "cpu": "CPU s, finishing included", "support_vectors": SUPPORT}


def _selection(figure_name: str) -> Callable[[Results, Path], bool]:
    """Return what draws the error against examples, time and support vectors."""

    def draw(results: Results, path: Path) -> bool:
        curves = figures(results.plan)[figure_name]
        figure, panels = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained", sharey=True)
        found = [_curves(results, curves, across, axes) for axes, across in zip(panels, ACROSS, strict=True)]
        for axes, label in zip(panels, ACROSS.values(), strict=True):
            axes.set_xlabel(label)
        panels[0].set_ylabel(PERCENT)
        _errors(results, panels[0], [curves])
        _legend_below(figure, panels[0])
        save(figure, path)
        return any(found)

    return draw


def figure15(results: Results, path: Path) -> bool:
    """Draw the error on MNIST-8 against support vectors, clean and with noise, the criteria side by side."""
    both = [figures(results.plan)[name] for name in ("figure13", "figure14")]
    figure, panels = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained", sharey=True)
    found = []
    for axes, criterion in zip(panels, CRITERIA, strict=False):
        for curves, line, said in zip(both, ("-", "--"), (", clean labels", ", 10 % flipped"), strict=True):
            found.append(
                _curves(results, replace(curves, criteria=(criterion,)), "support_vectors", axes, line=line, said=said)
            )
        axes.set(xlabel=SUPPORT, title=criterion.upper())
        _errors(results, axes, both)
    panels[0].set_ylabel(PERCENT)
    solid, dashed = (mpl.lines.Line2D([], [], color="#222222", linestyle=line) for line in ("-", "--"))
    level = mpl.lines.Line2D([], [], color=COLOURS[LIBSVM], linestyle="--")
    names = ["clean labels", "10 % of the training labels flipped", "LIBSVM, clean labels"]
    figure.legend([solid, dashed, level], names, loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)
    return all(any(found[k::2]) for k in (0, 1))


PICTURES = {
    "figure8": figure8,
    "scaling": scaling,
    "figure10": figure10,
    "figure1": figure1,
    "figure3": figure3,
    "figure6": figure6,
    **{name: _selection(name) for name in ("figure11", "figure13", "figure14")},
    "figure15": figure15,
}
