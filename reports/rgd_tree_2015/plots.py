"""The pictures of reports/rgd_tree_2015: Figure 4, the distance from global optima, the theorem's share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from reports.kit.pictures import grid, save
from reports.kit.results import Results
from reports.rgd_tree_2015.parts import ratio_name, share_name
from reports.rgd_tree_2015.plan import BASELINE, BOOSTED, CCCP, FILTERS, PATH, RAMP, RGD, RIVALS, SOFT, boosted, tree
from reports.rgd_tree_2015.selection import Choices
from reports.rgd_tree_2015.tables import Spread, best_of, cpu, distances

ORANGE, BLUE, GREEN, PINK, SKY, GREY, PRINTED = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#777777", "#222222"
)  # fmt: skip
LEAST = 1e-6  # relative distance from the optimum that is drawn; less counts as so much
COLOURS = {
    BOOSTED: "#E69F00",
    SOFT: GREY,
    CCCP: BLUE,
    PATH: SKY,
    FILTERS[0]: GREEN,
    FILTERS[1]: PINK,
    RGD: ORANGE,
}
MARKS = {SOFT: "s", CCCP: "^", PATH: "v", FILTERS[0]: "P", FILTERS[1]: "X", RGD: "o"}


def _lines(axes: Any, x: list[float], spreads: list[Spread | None], **style: Any) -> bool:
    found = [(at, each) for at, each in zip(x, spreads, strict=True) if each is not None]
    if not found:
        return False
    axes.errorbar(
        [at for at, _ in found],
        [each.mean for _, each in found],
        yerr=[each.deviation for _, each in found],
        capsize=3,
        elinewidth=0.8,
        **style,
    )
    return True


def _shares(axes: Any, results: Results) -> bool:
    x = [100.0 * share for share in results.plan.shares]
    trees = [Spread.of(results, share_name(share), tree(share)) for share in results.plan.shares]
    drawn = _lines(axes, x, trees, color=ORANGE, marker="o", label="rgd-tree")
    for method, colour, mark in zip(RIVALS, (GREY, BLUE, GREEN), "s^P", strict=True):
        best = [best_of(results, share_name(share), method) for share in results.plan.shares]
        found = [None if each is None else each[1] for each in best]
        drawn |= _lines(axes, x, found, color=colour, marker=mark, label=method.name)
    axes.axhline(0.5, color=PRINTED, linestyle="--", linewidth=1.0, label="paper: about 0.5 %")
    axes.set(title="4(a): D / rho = 10", xlabel="outliers, % of the training labels", ylabel="test error, %")
    return drawn


def _ratios(axes: Any, results: Results) -> bool:
    trees = [Spread.of(results, ratio_name(ratio), tree(results.plan.share)) for ratio in results.plan.ratios]
    drawn = _lines(axes, list(results.plan.ratios), trees, color=ORANGE, marker="o", label="rgd-tree, height 10")
    axes.plot(
        [results.plan.ratios[0], results.plan.ratios[-1]],
        [0.5, 2.5],
        "--",
        color=PRINTED,
        linewidth=1.0,
        label="paper: 0.5 to 2.5 %",
    )
    axes.set(title="4(b): 10 % outliers", xlabel="D / rho", ylabel="test error, %")
    return drawn


def _rounds(axes: Any, results: Results) -> bool:
    name = ratio_name(results.plan.ratios[-1])
    whole, spent = Spread.of(results, name, tree(results.plan.share)), cpu(results, name, tree(results.plan.share))
    if whole is None or not spent:
        return False
    axes.plot(1.0, whole.mean, "o", color=ORANGE, markersize=8, label="one tree of height 10, L = 50")
    axes.axhline(whole.mean, color=ORANGE, linewidth=1.0)
    axes.axvline(0.5, color=PRINTED, linestyle="--", linewidth=1.0, label="paper: half the time at most")
    for nodes, colour, mark in zip(results.plan.nodes, (COLOURS[BOOSTED], BLUE), "D^", strict=False):
        points = []
        for count in results.plan.rounds:
            solver = boosted(results.plan.share, count, nodes)
            spread, taken = Spread.of(results, name, solver), cpu(results, name, solver)
            if spread is not None and taken is not None:
                points.append((taken / spent, spread.mean))
                axes.annotate(str(count), points[-1], (5, 4), textcoords="offset points", fontsize=8, color=colour)
        if points:
            label = f"{results.plan.rounds[0]} to {results.plan.rounds[-1]} trees of height 5, L = {nodes}"
            axes.plot(*zip(*points, strict=True), marker=mark, color=colour, label=label)
    axes.set(title="4(c): D / rho = 30", xlabel="CPU time, that of the one tree = 1", ylabel="test error, %")
    return True


def figure4(results: Results, path: Path) -> bool:
    """Draw figures 4(a) to (c)."""
    figure, panels = grid(3, height=3.6, legend=0.0)
    drawn = [draw(axes, results) for axes, draw in zip(panels.flat, (_shares, _ratios, _rounds), strict=True)]
    for axes, found in zip(panels.flat, drawn, strict=True):
        axes.set_ylim(0.0, 1.1 * axes.get_ylim()[1])
        axes.grid(alpha=0.25)
        if found:
            axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return save(figure, path, drawn=any(drawn))


def figure4d(results: Results, path: Path) -> bool:
    """Draw the test errors of every draw and method, with the paper's error of RGD, a panel a set."""
    choices = Choices(results)
    names = choices.sets
    if not names:
        return False
    shown = (*BASELINE, *FILTERS[:2], RGD)
    figure, panels = grid(len(names), height=2.9, legend=0.5)
    for axes, name in zip(panels.flat, names, strict=False):
        for place, method in enumerate(shown):
            errors = choices.errors(name, method)
            shift = np.linspace(-0.2, 0.2, len(errors)) if errors else []
            axes.plot(place + np.asarray(shift), errors, ".", color=COLOURS[method], alpha=0.6)
            if errors:
                axes.plot(place, np.mean(errors), MARKS[method], color=COLOURS[method], markersize=9, label=method.name)
        printed = results.published.get("table1", name, "rgd-tree", "error")
        if printed is not None:
            axes.axhline(printed, color=PRINTED, linestyle="--", linewidth=1.0, label="paper's RGD")
        axes.set(title=name, ylabel="test error, %")
        axes.set_ylim(bottom=0.0)
        axes.set_xticks([])
        axes.grid(alpha=0.25, axis="y")
    handles = {
        label: handle
        for axes in panels.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
    return save(figure, path)


def exact(results: Results, path: Path) -> bool:
    """Draw how many draws each method ends within some distance of the global optimum of J_s."""
    figure, panels = grid(len(results.plan.small), height=3.6, legend=0.4)
    drawn = False
    colours = dict(zip(RAMP, (BLUE, SKY, PINK, ORANGE, GREY), strict=True))
    styles = dict(zip(RAMP, ("-", "--", "-.", "-", ":"), strict=True))
    for axes, name in zip(panels.flat, [name for name, _ in results.plan.small], strict=False):
        axes.set(xscale="log", xlim=(50.0 * LEAST, 1e3))
        for solver in RAMP:
            found = sorted(100.0 * max(each, LEAST) for each in distances(results, name, solver))
            if found:
                drawn = True
                share = [100.0 * (k + 1) / len(found) for k in range(len(found))]
                axes.step([found[0], *found], [0.0, *share], where="post", color=colours[solver],
                          linestyle=styles[solver], label=solver)  # fmt: skip
        axes.set(title=name, xlabel="J above its minimum, %", ylabel="draws, %")
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.grid(alpha=0.25)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return save(figure, path, drawn=drawn)


PICTURES = {"figure4": figure4, "figure4d": figure4d, "exact": exact}
