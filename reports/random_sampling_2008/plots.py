"""The pictures of reports/random_sampling_2008."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from reports.kit.measured import mean
from reports.kit.pictures import grid, save
from reports.kit.results import Results
from reports.random_sampling_2008.claims import basis_runs, chosen, errors, extremes_of, kernel_rows
from reports.random_sampling_2008.parts import BISECTION
from reports.random_sampling_2008.plan import Clouds, plan_of
from reports.random_sampling_2008.plugin import Figure4
from reports.random_sampling_2008.tables import extremes, support, theorem_runs

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#444444")


def _families(sets: tuple[Clouds, ...]) -> list[tuple[Clouds, ...]]:
    """Return the sets that differ in m alone, together."""
    kinds = dict.fromkeys((each.d, each.outliers, each.k) for each in sets)
    return [tuple(each for each in sets if (each.d, each.outliers, each.k) == kind) for kind in kinds]


def rounds(results: Results, path: Path) -> bool:
    """Draw the mean rounds over m, and the theorems' bounds."""
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    drawn = False
    for colour, family in zip(COLOURS, _families((*plan_of(results).hard, *plan_of(results).soft)), strict=False):
        found = [
            (each, runs) for each in family if (runs := theorem_runs(results, each)) and runs[0]["info"]["r"] < each.m
        ]
        if not found:
            continue
        drawn = True
        m = [each.m for each, _ in found]
        kind = f"n = {family[0].d}, k = {family[0].k}"
        axes.plot(m, [mean(r["info"]["rounds"] for r in runs) for _, runs in found], "o-", color=colour, label=kind)
        axes.plot(m, [each.rounds_bound() for each, _ in found], "--", color=colour, linewidth=1.0)
        axes.plot(m, [each.rounds_bound() for each, _ in found], "_", color=colour, markersize=12)
    axes.plot([], [], "_--", color="#222222", label="6 delta ln m")
    axes.set(xscale="log", yscale="log", xlabel="m, points", ylabel="rounds")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper", frameon=False)
    return save(figure, path, drawn=drawn)


def small(results: Results, path: Path) -> bool:
    """Draw rounds and CPU time over r, of the sizes that every run ended with."""
    figure, panels = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
    drawn = False
    for colour, each in zip(COLOURS, plan_of(results).swept, strict=False):
        found = {r: results.of(each.name, label) for r, label in plan_of(results).sweep(each).items()}
        ended = {r: runs for r, runs in found.items() if runs and all(row["info"]["status"] == "done" for row in runs)}
        if not ended:
            continue
        drawn = True
        x = [r / each.bound**2 for r in ended]
        label = f"n = {each.d}, k = {each.k}, delta = {each.bound}"
        panels[0].plot(
            x, [mean(r["info"]["rounds"] for r in runs) for runs in ended.values()], "o-", color=colour, label=label
        )
        panels[0].axhline(each.rounds_bound(), color=colour, linestyle="--", linewidth=1.0)
        panels[1].plot(x, [mean(r["cpu"] for r in runs) for runs in ended.values()], "o-", color=colour, label=label)
    for axes, title in zip(panels, ("rounds (dashed: 6 delta ln m)", "CPU time, s"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel="r / delta^2", ylabel=title)
        axes.axvline(6.0, color="#888888", linestyle=":", linewidth=1.0)
        ticks = sorted(
            {
                r / each.bound**2
                for each in plan_of(results).swept
                for r in plan_of(results).sweep(each)
                if r >= 0.15 * each.bound**2
            }
        )
        axes.set_xticks(_apart(ticks), [f"{tick:.2g}" for tick in _apart(ticks)])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    if drawn:
        figure.legend(*panels[1].get_legend_handles_labels(), loc="outside upper center", frameon=False, ncols=3)
    return save(figure, path, drawn=drawn)


def _apart(ticks: list[float], factor: float = 1.25) -> list[float]:
    """Return those of the ascending ``ticks`` that are at least ``factor`` times the one before."""
    kept: list[float] = []
    for tick in ticks:
        if not kept or tick >= factor * kept[-1]:
            kept.append(tick)
    return kept


def dimension(results: Results, path: Path) -> bool:
    """Draw the support of the optimum and the mean extremes over n, beside k (n + 1)."""
    found: dict[tuple[int, int], list[tuple[Clouds, float, float]]] = {}
    for each in plan_of(results).sized:
        held, mean_extremes = support(results, each), extremes(results, each)
        if held is not None and mean_extremes is not None:
            found.setdefault((each.outliers, each.k), []).append((each, held, mean_extremes))
    if not found:
        return False
    figure, panels = plt.subplots(
        1, len(found), figsize=(3.5 * len(found), 3.8), layout="constrained", squeeze=False
    )  # fmt: skip
    for axes, ((outliers, k), points) in zip(panels[0], found.items(), strict=True):
        d = [each.d for each, *_ in points]
        axes.plot(d, [held for _, held, _ in points], "o-", color=COLOURS[0], label="support of the optimum")
        axes.plot(d, [mean for *_, mean in points], "s-", color=COLOURS[1], label="mean extremes, r = m / 2")
        axes.plot(d, [each.bound for each, *_ in points], "--", color="#222222", label="k (n + 1)")
        axes.plot(d, [each.counted for each, *_ in points], ":", color="#222222", label="n + 2 k - 1")
        title = f"{outliers} outliers, k = {k}" if outliers else "no outliers, k = 1"
        axes.set(xscale="log", yscale="log", xlabel="n, attributes", title=title)
        axes.set_xticks(d, [str(each) for each in d])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    panels[0, 0].set_ylabel("points")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=4)
    return save(figure, path)


def counterexample(results: Results, path: Path) -> bool:
    """Draw Figures 4 and 5 from above, and how near the hulls of fewer examples can come."""
    found = [
        (each, row) for each in plan_of(results).small if each.kind == "figure-4" for row in basis_runs(results, each)
    ]
    if not found:
        return False
    each, row = found[0]
    distance, size = row["info"]["distance"], each.d + 1 + each.k
    data = Figure4().load()
    positive = np.flatnonzero(data.y_train > 0)
    figure, panels = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
    for members, colour, told in (
        (positive, COLOURS[0], "all examples"),
        (np.intersect1d(positive, row["info"]["indices"][size - 1]), COLOURS[1], f"the best {size}"),
    ):
        composed = np.array([data.x_train[list(group)].mean(axis=0) for group in combinations(members, each.k)])
        near = composed[composed[:, -1] > composed[:, -1].max() - 1e-9, :2]  # in the plane of the triangle
        middle = near.mean(axis=0)
        turn = np.argsort(np.arctan2(*(near - middle).T[::-1]))
        panels[0].fill(*near[turn].T, color=colour, alpha=0.25, label=f"positive hull, {told}")
        panels[0].plot(*near.T, "o", color=colour, markersize=4)
    panels[0].plot(
        *data.x_train[data.y_train < 0].mean(axis=0)[:2], "+", color="#222222", markersize=14, label="below the tip"
    )
    panels[0].set(aspect="equal", xlabel="first coordinate", ylabel="second coordinate")
    sizes = [count for count, value in enumerate(distance, 1) if value > 0.0]
    panels[1].plot(sizes, [distance[count - 1] for count in sizes], "o-", color=COLOURS[0])
    for at, told in ((size, "n + 1 + k"), (each.counted, "n + 2 k - 1")):
        panels[1].axvline(at, color="#888888", linestyle=":", linewidth=1.0)
        panels[1].annotate(told, (at, max(distance)), rotation=90, ha="right", va="top", fontsize=8)
    panels[1].set_xticks(sizes)
    panels[1].set(xlabel="examples", ylabel="least distance of the hulls of so many")
    panels[1].grid(alpha=0.25)
    figure.legend(loc="outside upper left", frameon=False, fontsize=8, ncols=3)
    return save(figure, path)


def choosing(results: Results, path: Path) -> bool:
    """Draw the test error over k, the least k that separates marked."""
    found = [
        (each, pair[0], ladder)
        for each in plan_of(results).choosing
        if (pair := chosen(results, each)) is not None
        and (ladder := errors(results, each))
        and max(ladder.values()) > 0.0
    ]
    if not found:
        return False
    figure, panels = grid(len(found), 2.5, 0.3)
    for axes, (each, k, ladder) in zip(panels.flat, found, strict=False):
        at = results.of(each.name, BISECTION)[-1]["error"]
        axes.plot([*ladder], [*ladder.values()], "o-", color=COLOURS[0], markersize=4, label="ladder of k")
        axes.plot([k], [at], "s", color=COLOURS[1], label="the least k")
        axes.set(xscale="log", title=each.name, xlabel="k", ylabel="test error, %")
        ticks = _apart([*ladder], 2.5)
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    return save(figure, path)


def kernels(results: Results, path: Path) -> bool:
    """Draw the mean extremes of samples over the support of their solutions, which the Sampling Lemma puts above them."""
    figure, axes = plt.subplots(figsize=(6.5, 4.0), layout="constrained")
    drawn = []
    shades = dict(
        zip((each.called for each in plan_of(results).kernels), (*COLOURS, "#E69F00", "#56B4E9"), strict=False)
    )
    for each in plan_of(results).kernels:
        found = kernel_rows(results, each)
        points = [] if found is None else [
            (mean(row["support_vectors"] for row in rows), mean(extremes_of(row) for row in rows))
            for rows in found[1].values()
        ]  # fmt: skip
        if points:
            axes.plot(*zip(*points, strict=True), "o", color=shades.get(each.called, "#444444"), label=each.called)
            drawn += [value for point in points for value in point if value > 0.0]
    if drawn:
        axes.plot([min(drawn), max(drawn)], [min(drawn), max(drawn)], "--", color="#222222", label="the lemma's bound")
        axes.set(xscale="log", yscale="log", xlabel="support of the sample", ylabel="mean extremes")
        axes.grid(alpha=0.25)
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return save(figure, path, drawn=bool(drawn))


PICTURES = {
    "rounds": rounds,
    "small": small,
    "dimension": dimension,
    "counterexample": counterexample,
    "choosing": choosing,
    "kernels": kernels,
}
