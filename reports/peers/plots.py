"""The report's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from harness import Status
from reports.kit.averages import geometric_mean, slope
from reports.kit.pictures import save
from reports.peers.results import Results
from reports.peers.suite import FLOAT32, GAP_TARGET, KKT_TARGET, SCALING
from reports.peers.tables import NAMES, TARGETS

COLOURS = {
    "sklearnex": "#0072B2",
    FLOAT32: "#56B4E9",
    "libsvm": "#D55E00",
    "libsvm-official": "#E69F00",
    "thundersvm": "#009E73",
}
OURS = "#222222"
MARKERS = dict(zip(COLOURS, "osD^v", strict=True))


def ratios(results: Results, path: Path) -> None:
    """Draw time over ours for each set, a panel for each number of threads; an open triangle is a lower bound."""
    count, height = len(results.threads), max(2.4, 0.42 * len(results.sets))
    figure, panels = plt.subplots(
        1, count, figsize=(1.2 + 5.2 * count, height + 2.6), layout="constrained", squeeze=False, sharey=True
    )
    for axes, threads in zip(panels[0], results.threads, strict=True):
        _ratio_panel(axes, results, threads)
        axes.set_title(f"{threads} thread{'s, wall' if threads > 1 else ', CPU'} seconds")
        # under the label of the axis: the offset is in parts of the panel's height
        if axes.get_legend_handles_labels()[0]:  # else nothing was measured in turns
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.55 / height), frameon=False, fontsize=9)
    panels[0, 0].set_yticks(range(len(results.sets)), results.sets)
    panels[0, 0].invert_yaxis()
    save(figure, path)


def _ratio_panel(axes: Any, results: Results, threads: int) -> None:
    peers = results.peers(threads)
    for number, label in enumerate(peers):
        shift = 0.13 * (number - (len(peers) - 1) / 2)
        ratios_found = [(row, results.headline(name, label, threads)) for row, name in enumerate(results.sets)]
        points = [(row, *found) for row, found in ratios_found if found is not None]
        for row, ratio, bound in points:
            face = "white" if bound else COLOURS[label]
            marker = ">" if bound else MARKERS[label]
            axes.plot(ratio, row + shift, marker, color=COLOURS[label], markersize=6, markerfacecolor=face)
        mean = geometric_mean(ratio for _, ratio, _ in points)
        if mean is None:
            continue
        goal = TARGETS.get((label, threads))
        least = ">= " if any(bound for *_, bound in points) else ""
        text = f"{NAMES[label]}{', any quality' if label == FLOAT32 else ''}: mean {least}{mean:.3g}"
        axes.plot([], [], MARKERS[label], color=COLOURS[label], label=text + (f" (target {goal[0]:g})" if goal else ""))
        if goal:
            axes.axvline(goal[0], color=COLOURS[label], linewidth=0.9, linestyle="--", alpha=0.7)
    axes.axvline(1.0, color=OURS, linewidth=1.2)
    axes.set(xscale="log", xlabel=f"time over {results.ours}'s (open triangle: at least; dashed: target)")
    axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.set_axisbelow(True)
    _stripes(axes, results)


def _stripes(axes: Any, results: Results) -> None:
    """Shade every second set."""
    for row in range(1, len(results.sets), 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#000000", alpha=0.04, linewidth=0)
    axes.set_ylim(-0.6, len(results.sets) - 0.4)


def quality(results: Results, path: Path) -> None:
    """Draw the KKT violation and the relative gap that each solver leaves at its default stopping."""
    threads = results.threads[0]
    figure, panels = plt.subplots(
        1, 2, figsize=(9.5, 0.38 * len(results.sets) + 2.0), layout="constrained", sharey=True
    )
    labels = [results.ours, *results.peers(threads)]
    for axes, field, target, title in (
        (panels[0], "kkt_violation", KKT_TARGET, "KKT violation"),
        (panels[1], "relative_gap", GAP_TARGET, "relative gap"),
    ):
        for number, label in enumerate(labels):
            shift = 0.12 * (number - (len(labels) - 1) / 2)
            cells = [(row, results.default(name, label, threads)) for row, name in enumerate(results.sets)]
            points = [
                (max(cell.row[field], 1e-9), row + shift)
                for row, cell in cells
                if cell is not None and cell.row["status"] == Status.OK
            ]
            if points:
                axes.plot(*zip(*points, strict=True), MARKERS.get(label, "*"), color=COLOURS.get(label, OURS),
                          markersize=9 if label == results.ours else 5.5, label=NAMES.get(label, label))  # fmt: skip
        axes.axvline(target, color=OURS, linewidth=0.9, linestyle="--")
        axes.set(xscale="log", xlabel=f"{title} at default stopping")
        axes.grid(axis="x", alpha=0.25)
        _stripes(axes, results)
    panels[0].set_yticks(range(len(results.sets)), results.sets)
    panels[0].invert_yaxis()
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)


def scaling(results: Results, path: Path) -> None:
    """Draw CPU seconds against n for the subsets of each family, with the fitted exponents."""
    figure, panels = plt.subplots(1, len(SCALING), figsize=(3.2 * len(SCALING), 3.6), layout="constrained")
    for axes, family in zip(panels, SCALING, strict=True):
        for label, colour, marker in ((results.ours, OURS, "o"), ("libsvm", COLOURS["libsvm"], "D")):
            points = results.scaling_points(family, label)
            if not points:
                continue
            power = slope(points)
            text = NAMES.get(label, label) + ("" if power is None else f", n^{power:.2f}")
            axes.plot(
                *zip(*points, strict=True), marker=marker, color=colour, label=text, markersize=4.5, linewidth=1.3
            )
        axes.set(xscale="log", yscale="log", title=family, xlabel="training points")
        ticks = [n for n in (2000, 5000, 10_000, 20_000, 50_000, 100_000) if n <= SCALING[family][1][-1]]
        axes.set_xticks(ticks, [f"{n // 1000}k" for n in ticks])
        axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axes.set_xlim(0.8 * SCALING[family][1][0], 1.25 * SCALING[family][1][-1])
        axes.grid(alpha=0.25)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8, loc="upper left")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high * (high / low) ** 0.3)  # room for the legend
    panels[0].set_ylabel("CPU seconds, one thread")
    save(figure, path)
