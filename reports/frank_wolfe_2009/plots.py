"""The pictures of reports/frank_wolfe_2009."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from reports.frank_wolfe_2009.core_sets import lost
from reports.frank_wolfe_2009.figures import MODERATE, Level, course, finished, geometry, levels, measured_sets
from reports.frank_wolfe_2009.plan import CORE_SETS, SOLVERS
from reports.kit.pictures import grid, save
from reports.kit.results import Results
from reports.kit.sources import Simplices, least_core_set

COLOURS = dict(
    zip(SOLVERS, ("#0072B2", "#D55E00", "#56B4E9", "#009E73", "#CC79A7", "#444444", "#E69F00"), strict=True)
)  # fmt: skip
SUBLINEAR = "gilbert"
CERTIFIED = 1e-8  # a loss of margin below is no more than what the two certificates leave open


def _finish(figure: Any, panels: Any, path: Path) -> None:
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
    save(figure, path)


def _line(results: Results, name: str, solver: str) -> list[Level]:
    """Return the levels that make a line: two or more, a single one is in the tables."""
    reached = levels(results, name, solver)
    return reached if len(reached) > 1 else []


def rates(results: Results, path: Path) -> bool:
    """Draw epsilon against iterations, linear and logarithmic: a straight line on the left is a linear rate."""
    names = [name for name in measured_sets(results) if results.plan.sets[name].rates]
    if not names:
        return False
    figure, panels = plt.subplots(
        len(names), 2, figsize=(9.0, 2.7 * len(names) + 0.6), layout="constrained", squeeze=False
    )
    for (left, right), name in zip(panels, names, strict=True):
        longest = 1.0
        for solver in SOLVERS:
            reached = _line(results, name, solver)
            x, y = ([level[column] for level in reached] for column in ("iterations", "epsilon"))
            if solver != SUBLINEAR and x:
                longest = max(longest, *x)
            for axes in (left, right):
                axes.plot(x, y, "o-", color=COLOURS[solver], markersize=3, linewidth=1.2, label=solver)
            row = course(results, name, solver)
            end = float(row["info"].get("last_epsilon", math.inf)) if row and not finished(row) else math.inf
            if row and x and math.isfinite(end) and row["info"]["last_iterations"] > x[-1]:
                right.plot([x[-1], row["info"]["last_iterations"]], [y[-1], end], ":", color=COLOURS[solver])
                right.plot(row["info"]["last_iterations"], end, "x", color=COLOURS[solver])
        left.set(xlim=(0, 1.05 * longest), xlabel="iterations", ylabel="epsilon", yscale="log", title=name)
        left.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))
        right.set(xscale="log", yscale="log", xlabel="iterations", title=f"{name}, logarithmic")
        for axes in (left, right):
            axes.grid(alpha=0.25)
    _finish(figure, panels, path)
    return True


def _panels(names: Sequence[str], draw: Callable[[Any, str], None], title: str, path: Path) -> bool:
    """Draw a panel for each problem against 1 / epsilon, both axes logarithmic unless ``draw`` changes them."""
    if not names:
        return False
    figure, panels = grid(len(names), height=2.8, legend=0.7)
    for axes, name in zip(panels.flat, names, strict=False):
        axes.set(xscale="log", yscale="log", xlabel="1 / epsilon", ylabel=title, title=name)
        draw(axes, name)
        low, high = axes.get_ylim()
        if (
            axes.get_yscale() == "log" and high < 100.0 * low
        ):  # less than two decades have ticks that run into each other
            room = (100.0 * low / high) ** 0.5
            axes.set_ylim(low / room, high * room)
        axes.grid(alpha=0.25)
    _finish(figure, panels, path)
    return True


def _growth(results: Results, quantity: str, title: str, path: Path) -> bool:
    def draw(axes: Any, name: str) -> None:
        for solver in SOLVERS:
            reached = _line(results, name, solver)
            x = [1.0 / level["epsilon"] for level in reached]
            y = [level[quantity] for level in reached]
            if reached:
                axes.plot(x, y, "o-", color=COLOURS[solver], markersize=3, linewidth=1.2, label=solver)
        if quantity == "core_set":  # it hardly grows: a logarithm would blow up what is little
            axes.set_yscale("linear")
            axes.set_ylim(0.0, 1.08 * max([1.0, *(limit for line in axes.lines for limit in line.get_ydata())]))
        axes.set_xlim(7.0, 1.4 / results.plan.sets[name].least)

    names = [name for name in measured_sets(results) if any(_line(results, name, solver) for solver in SOLVERS)]
    return _panels(names, draw, title, path)


def iterations(results: Results, path: Path) -> bool:
    """Draw iterations against 1 / epsilon."""
    return _growth(results, "iterations", "iterations", path)


def evaluations(results: Results, path: Path) -> bool:
    """Draw kernel evaluations against 1 / epsilon."""
    return _growth(results, "evaluations", "kernel evaluations", path)


def core_set(results: Results, path: Path) -> bool:
    """Draw the size of the core set against 1 / epsilon."""
    return _growth(results, "core_set", "core set, points", path)


def seconds(results: Results, path: Path) -> bool:
    """Draw CPU time against 1 / epsilon."""
    return _growth(results, "cpu", "CPU seconds", path)


def bounds(results: Results, path: Path) -> bool:
    """Draw core sets beside the bounds, the number of points, and for the simplices the least core set."""

    def draw(axes: Any, name: str) -> None:
        for solver in CORE_SETS:
            reached = _line(results, name, solver)
            x = [1.0 / level["epsilon"] for level in reached]
            y = [level["core_set"] for level in reached]
            axes.plot(x, y, "o-", color=COLOURS[solver], markersize=3, linewidth=1.2, label=solver)
        found = geometry(results, name)
        if found is None:
            return
        epsilon = np.logspace(-1.0, -4.0, 31)
        lower = np.array([found.lower_bound(each) for each in epsilon])
        axes.fill_between(1.0 / epsilon, *lower.T, color="#BBBBBB", alpha=0.6, label="sigma / (2 epsilon) + 2")
        n = next(row for row in results.runs if row["set"] == name)["n_train"]
        beyond = found.upper_bound(MODERATE) / n  # a line of it would leave no room for the core sets
        axes.text(
            0.97,
            0.96,
            f"Theorem 3.3 at 1e-3: {beyond:,.0f} n",
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=8,
        )
        axes.axhline(n, color="#222222", linewidth=0.8, linestyle=":", label="all points")
        if name == "simplices":
            data = Simplices()
            least = [least_core_set(data.m, data.height, each) for each in epsilon]
            axes.plot(1.0 / epsilon, least, color="#8B0000", linewidth=2.0, label="least core set")
        sizes = [level["core_set"] for solver in CORE_SETS for level in _line(results, name, solver)]
        axes.set(xlim=(8.0, 1.25e4), ylim=(0.6 * min(sizes), 3.0 * n))  # what bounds say beyond all points is nothing

    names = [name for name in measured_sets(results) if any(_line(results, name, solver) for solver in CORE_SETS)]
    return _panels(names, draw, "core set, points", path)


def margins(results: Results, path: Path) -> bool:
    """Draw what core sets lose of the margin against 1 / epsilon; at its foot those that lose nothing."""
    whole = {solver: {name: lost(results, name, solver) for name in results.plan.sets} for solver in CORE_SETS}

    def draw(axes: Any, name: str) -> None:
        for place, solver in enumerate(CORE_SETS):
            found = whole[solver][name]
            some = [each for each in found if each["most"] > CERTIFIED]
            x, y = ([each[key] for each in some] for key in ("epsilon", "most"))
            style = {"color": COLOURS[solver], "markersize": 4, "linewidth": 1.2}
            axes.plot(1.0 / np.array(x), y, "o-", label=solver, **style)
            none = [1.0 / each["epsilon"] for each in found if each["most"] <= CERTIFIED]
            axes.plot(none, [0.03 + 0.05 * place] * len(none), "v", transform=axes.get_xaxis_transform(), **style)
        ends = np.array([8.0, 1.25e4])
        axes.plot(ends, 1.0 / ends, "--", color="#222222", linewidth=1.0, label="epsilon: what is allowed")
        axes.set(xlim=ends, ylim=(CERTIFIED, 1.0))

    names = [name for name in results.plan.sets if any(whole[solver][name] for solver in CORE_SETS)]
    return _panels(names, draw, "1 - margin(all) / margin(core set)", path)


PICTURES = {
    "rates": rates,
    "iterations": iterations,
    "evaluations": evaluations,
    "core_set": core_set,
    "seconds": seconds,
    "bounds": bounds,
    "margins": margins,
}
