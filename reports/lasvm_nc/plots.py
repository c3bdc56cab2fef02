"""The pictures of reports/lasvm_nc: figures 1 and 5 to 7."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

from reports.kit.pictures import grid, save
from reports.kit.results import Results
from reports.lasvm_nc.parts import BENDS, FULL, NC, SOLVERS, G, I, with_bend
from reports.lasvm_nc.tables import measured_sets, trace

_SHOWN = 2.0  # times the least error of a set
COLOURS = dict(zip(SOLVERS, ("#444444", "#0072B2", "#D55E00", "#009E73"), strict=True))


def _panels(results: Results, draw: Callable[[Any, str], bool], path: Path) -> bool:
    """Draw a panel for each set; return whether any had something."""
    names = measured_sets(results)
    if not names:
        return False
    figure, panels = grid(len(names), height=3.0, legend=0.5)
    drawn = []
    for axes, name in zip(panels.flat, names, strict=False):
        drawn.append(draw(axes, name))
        axes.set_title(name)
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))  # more labels of five digits run into each other
        axes.grid(alpha=0.25)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=4 if len(names) > 1 else 2, frameon=False)
    return save(figure, path, drawn=any(drawn))


def _against_examples(results: Results, solvers: Any, value: Callable[[Any], Any], title: str, path: Path) -> bool:
    def draw(axes: Any, name: str) -> bool:
        drawn = False
        for solver in solvers:
            points = trace(results, name, solver)
            if points:
                drawn = True
                x = [point["info"]["visited"] for point in points]
                axes.plot(x, [value(point) for point in points], color=COLOURS[solver], label=solver)
        axes.set(xlabel="examples", ylabel=title)
        return drawn

    return _panels(results, draw, path)


def figure1(results: Results, path: Path) -> bool:
    """Draw LASVM-G's duality gap over the number of examples."""

    def gap(point: Any) -> float:
        return float(point["info"]["gap"] / point["info"]["visited"])

    return _against_examples(results, (G,), gap, "gap / examples", path)


def figure6(results: Results, path: Path) -> bool:
    """Draw support vectors against examples."""
    return _against_examples(results, SOLVERS, lambda point: point["support_vectors"], "support vectors", path)


def figure7(results: Results, path: Path) -> bool:
    """Draw kernel values against examples."""
    return _against_examples(
        results, SOLVERS, lambda point: point["kernel_evaluations"] / 1e6, "kernel values, millions", path
    )


def figure5(results: Results, path: Path) -> bool:
    """Draw error against support vectors for several s, up to some times the least error, the hinge solvers as points."""

    def draw(axes: Any, name: str) -> bool:
        curves: dict[str, dict[float, tuple[float, float]]] = {}
        for solver in (FULL, G, NC, I):
            for s in BENDS if solver in (NC, I) else (-1.0,):
                support, error = (
                    results.mean(name, with_bend(solver, s), quantity) for quantity in ("support_vectors", "error")
                )
                if support is not None and error is not None:
                    curves.setdefault(solver, {})[s] = support, error
        least = min((error for points in curves.values() for _, error in points.values()), default=0.0)
        for solver, points in curves.items():  # with s near 1 a solver learns nothing
            shown = {s: point for s, point in points.items() if point[1] <= _SHOWN * least}
            if shown:
                axes.plot(*zip(*shown.values(), strict=True), "o-", color=COLOURS[solver], markersize=4, label=solver)
            if len(points) > 1 and -1.0 in shown:  # the s of Table 3
                axes.plot(*shown[-1.0], "o", color=COLOURS[solver], markersize=9, fillstyle="none")
        axes.set(xlabel="support vectors", ylabel="test error, %")
        return bool(curves)

    return _panels(results, draw, path)


PICTURES = {"figure1": figure1, "figure5": figure5, "figure6": figure6, "figure7": figure7}
