"""The pictures of reports/lasvm_nc: figures 1, 2 and 4 to 8."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import matplotlib as mpl

from reports.kit.pictures import grid, save
from reports.kit.results import Results, comparable
from reports.lasvm_nc.plan import AT_PRINTED, LASVM, NC, ONLINE, SOLVERS, G, I, with_bend
from reports.lasvm_nc.tables import during, measured_sets, trace

_SHOWN = 2.0  # times the least error of a set
COLOURS = dict(zip(SOLVERS, ("#444444", "#0072B2", "#D55E00", "#009E73"), strict=True))


def _panels(results: Results, draw: Callable[[Any, str], bool], path: Path) -> bool:
    """Draw a panel for each set that has something; return whether any had. The legend stands below the panels."""
    names = [name for name in measured_sets(results) if draw(mpl.figure.Figure().add_subplot(), name)]
    if not names:
        return False
    figure, panels = grid(len(names), height=3.0, legend=0.5)
    labelled: dict[str, Any] = {}
    for axes, name in zip(panels.flat, names, strict=False):
        draw(axes, name)
        axes.set_title(name)
        axes.grid(alpha=0.25)
        handles, labels = axes.get_legend_handles_labels()
        labelled |= dict(zip(labels, handles, strict=True))
    if labelled:
        columns = 4 if len(names) > 1 else 2
        figure.legend(labelled.values(), labelled, loc="outside lower center", ncols=columns, frameon=False)
    return save(figure, path)


def _few_labels(axes: Any) -> None:
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))  # more labels of five digits run into each other


def _against_examples(
    results: Results, solvers: Any, value: Callable[[Any], Any], title: str, path: Path, scale: str = "linear"
) -> bool:
    def draw(axes: Any, name: str) -> bool:
        drawn = False
        for solver in solvers:
            points = trace(results, name, solver)
            if points:
                drawn = True
                x = [point["info"]["visited"] for point in points]
                axes.plot(x, [value(point) for point in points], color=COLOURS[solver], label=solver)
        axes.set(xlabel="examples", ylabel=title, yscale=scale)
        _few_labels(axes)
        return drawn

    return _panels(results, draw, path)


def figure1(results: Results, path: Path) -> bool:
    """Draw LASVM-G's duality gap over the number of examples."""

    def gap(point: Any) -> float:
        found = float(point["info"]["gap"] / point["info"]["visited"])
        return found if found > 0.0 else nan  # no place on the axis

    return _against_examples(results, (G,), gap, "gap / examples", path, "log")


def figure6(results: Results, path: Path) -> bool:
    """Draw support vectors against examples."""
    return _against_examples(results, SOLVERS, lambda point: point["support_vectors"], "support vectors", path)


def figure7(results: Results, path: Path) -> bool:
    """Draw kernel values against examples."""
    return _against_examples(
        results, SOLVERS, lambda point: point["kernel_evaluations"] / 1e6, "kernel values, millions", path
    )


def figure2(results: Results, path: Path) -> bool:
    """Draw LASVM's and LASVM-G's error and support vectors against examples; LASVM's last step is the finishing step."""
    name = results.plan.followed
    figure, panels = grid(2, height=3.2, legend=0.4)
    drawn = []
    for axes, (quantity, title) in zip(
        panels.flat, (("error", "test error, %"), ("support_vectors", "support vectors")), strict=False
    ):
        for solver, label, colour in ((ONLINE, "LASVM", "#CC79A7"), (G, "LASVM-G", COLOURS[G])):
            curve = during(results, name, solver, quantity)
            drawn.append(len(curve) > 1)
            x, y = list(curve), list(curve.values())
            finished = results.mean(name, LASVM, quantity) if solver == ONLINE and curve else None
            if finished is not None:
                x, y = [*x, x[-1]], [*y, finished]
            if len(curve) > 1:
                axes.plot(x, y, ".-", color=colour, label=label)
        axes.set(xlabel=f"examples of {name}", ylabel=title, xscale="log")
        axes.grid(alpha=0.25)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return save(figure, path, drawn=any(drawn))


def figure4(results: Results, path: Path) -> bool:
    """Draw PRBEP against examples."""

    def draw(axes: Any, name: str) -> bool:
        drawn = False
        for solver in SOLVERS:
            curve = during(results, name, solver, "metrics.prbep")
            if len(curve) > 1:
                drawn = True
                axes.plot(
                    list(curve), [100.0 * value for value in curve.values()], ".-", color=COLOURS[solver], label=solver
                )
        axes.set(xlabel="examples", ylabel="PRBEP, %", xscale="log")
        return drawn

    return _panels(results, draw, path)


def figure5(results: Results, path: Path) -> bool:
    """Draw error against support vectors for several s, up to some times the least error; the hinge solvers as crosses."""

    def draw(axes: Any, name: str) -> bool:
        curves: dict[str, dict[float, tuple[float, float]]] = {}
        for solver in SOLVERS:
            for s in results.plan.bends if solver in (NC, I) else (AT_PRINTED,):
                support, error = (
                    results.mean(name, with_bend(solver, s), quantity) for quantity in ("support_vectors", "error")
                )
                if support is not None and error is not None:
                    curves.setdefault(solver, {})[s] = support, error
        several = any(len(points) > 1 for points in curves.values())
        least = min((error for points in curves.values() for _, error in points.values()), default=0.0)
        for solver, points in curves.items() if several else ():  # with s near 1 a solver learns nothing
            shown = {s: point for s, point in points.items() if point[1] <= _SHOWN * least}
            style, size = ("o-", 4) if solver in (NC, I) else ("x", 9)
            if shown:
                axes.plot(
                    *zip(*shown.values(), strict=True), style, color=COLOURS[solver], markersize=size, label=solver
                )
            if len(points) > 1 and AT_PRINTED in shown:  # the s of Table 3
                axes.plot(*shown[AT_PRINTED], "o", color=COLOURS[solver], markersize=9, fillstyle="none")
        axes.set(xlabel="support vectors", ylabel="test error, %")
        _few_labels(axes)
        return several

    return _panels(results, draw, path)


def figure8(results: Results, path: Path) -> bool:
    """Draw the solvers' CPU seconds, where all four were measured in turns."""

    def draw(axes: Any, name: str) -> bool:
        times = {solver: results.median(name, solver, "cpu") for solver in SOLVERS}
        known = {solver: time for solver, time in times.items() if time is not None}
        if len(known) < len(SOLVERS) or not comparable(
            *(run for solver in SOLVERS for run in results.of(name, solver))
        ):
            return False
        axes.bar(range(len(known)), list(known.values()), color=[COLOURS[solver] for solver in known])
        axes.set_xticks(range(len(known)), [solver.removeprefix("lasvm-") for solver in known])
        axes.set_ylabel("CPU seconds")
        return True

    return _panels(results, draw, path)


PICTURES = {
    "figure1": figure1,
    "figure2": figure2,
    "figure4": figure4,
    "figure5": figure5,
    "figure6": figure6,
    "figure7": figure7,
    "figure8": figure8,
}
