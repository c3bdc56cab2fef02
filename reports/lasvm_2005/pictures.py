"""The pictures of Bordes and others (2005), and the runs of each figure as they draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from reports.kit.estimates import pairs
from reports.kit.pictures import COLOURS, lines
from reports.kit.results import Results
from reports.kit.rows import IDENTITY
from reports.lasvm_2005.plan import AVERAGED, AVERAGED_TEN, CACHES, DELTAS, LIBSVM, ONE, TWO, WAYS, with_delta

NAMES = {LIBSVM: "LIBSVM", ONE: "LASVM x1", TWO: "LASVM x2", AVERAGED: "perceptron x1", AVERAGED_TEN: "perceptron x10"}
CLEAN = "LIBSVM, clean labels"
LINES = dict(zip(("RANDOM", "GRADIENT", "ACTIVE", "AUTOACTIVE"), COLOURS, strict=False))
LINES |= dict.fromkeys(("LIBSVM", CLEAN), "#444444")
QUANTITIES = {"error": "test error, %", "cpu": "CPU s", "support_vectors": "support vectors"}
ACROSS = {"visited": "examples processed", "cpu": "CPU s, finishing included", "support_vectors": "support vectors"}


def selected(results: Results, figures: Sequence[str]) -> pd.DataFrame:
    """Return the runs of figures 11 to 15, with the criterion that chose the examples."""
    runs = results.runs(figures)
    chosen = runs["solver"].str.extract(r"selection=(\w+)")[0].fillna("random")
    criterion = chosen.where(runs["solver"] != LIBSVM, "libsvm")
    return runs.assign(criterion=criterion.str.upper(), visited=runs["info.visited"].fillna(runs["n_train"]))


def by_digit(results: Results) -> pd.DataFrame:
    """Return the runs of single digits: with all images, or with a part while LIBSVM was run on more digits of that."""
    runs = results.runs("figure4")
    both = [runs[runs["set"].str.fullmatch(rf"mnist-\d{end}")] for end in ("", "-of-10000")]
    return max(both, key=lambda part: (part["solver"] == LIBSVM).sum()).sort_values("set", kind="stable")


def deltas(results: Results) -> pd.DataFrame:
    """Return the runs of figure 10 with delta_max and way; LIBSVM's on the same draws with each delta_max."""
    settings = {with_delta(way, delta): (delta, words) for delta in DELTAS for way, words in WAYS.items()}
    runs, libsvm = results.runs("figure10"), results.runs("figure8", set="banana", solver=LIBSVM)
    setting = runs["solver"].map(settings).str
    runs = runs.assign(delta_max=setting[0], way=setting[1])
    libsvm = libsvm[libsvm["dataset"].isin(runs["dataset"])].assign(way="LIBSVM")
    return pd.concat([runs, libsvm.merge(runs[["delta_max"]].drop_duplicates(), how="cross")])


def cached(results: Results) -> pd.DataFrame:
    """Return figure 6: the time over LIBSVM's with the largest cache, by digit and cache."""
    runs = results.runs("figure6")
    base = runs[runs["solver"] == f"{LIBSVM}[cache_mb={CACHES[-1]}]"].assign(solver="base")
    parts = []
    for solver in dict.fromkeys(runs["solver"]):
        both = pairs(pd.concat([runs, base]), solver, "base", "cpu")
        name, _, cache = solver.rstrip("]").partition("[cache_mb=")
        parts.append(both.assign(name=name, cache_mb=float(cache), ratio=both["cpu_x"] / both["cpu_y"]))
    return pd.concat(parts) if parts else pd.DataFrame(columns=["set", "name", "cache_mb", "ratio"])


def sizes(results: Results) -> pd.DataFrame:
    """Return the runs of more and more points, with n |S| and the time for each of these products."""
    runs = results.runs("scaling")
    product = runs["n_train"] * runs["info.online_members"] if len(runs) else 0.0
    runs = runs.assign(family=runs["set"].str.split("-of-").str[0], product=product)
    return runs.assign(each=runs["cpu"] / runs["product"]).sort_values(["family", "n_train"])


# -- pictures ----------------------------------------------------------------------------------------------


def figures_1_to_5(results: Results) -> Any:
    """Draw errors, times and support vectors of the classifiers of MNIST, and times over support vectors."""
    runs = by_digit(results)
    offset = runs["solver"].map({solver: 0.13 * (place - 2) for place, solver in enumerate(NAMES)}).astype(float)
    runs = runs.assign(x=runs["set"].str[len("mnist-")].astype(float) + offset, name=runs["solver"].map(NAMES)).dropna(
        subset="x"
    )
    drawn = [runs.assign(panel=f"{title}, by digit", y=runs[name]) for name, title in QUANTITIES.items()]
    drawn.append(runs.assign(panel="CPU s, by support vectors", x=runs["support_vectors"], y=runs["cpu"]))
    return lines(pd.concat(drawn), "x", "y", panel="panel", line="name", style="o", columns=2, yscale="log")


def figure6(results: Results) -> Any:
    """Draw time against the cache, the mean over the digits with their range."""
    points = cached(results).assign(panel="CPU time over LIBSVM's with 1,024 MB")
    how = {"xscale": "log", "yscale": "log", "xlabel": "cache, MB"}
    figure = lines(points, "cache_mb", "ratio", panel="panel", line="name", labels=NAMES, over=None, **how)
    if figure:
        figure.set_size_inches(6.0, 4.0)
        figure.axes[0].set_xticks(CACHES, CACHES)
    return figure


def figure10(results: Results) -> Any:
    """Draw error, time and support vectors against delta_max."""
    runs = deltas(results).rename(columns=QUANTITIES)
    runs = runs.melt(["run", *IDENTITY, "delta_max", "way"], list(QUANTITIES.values()), "quantity", "y")
    how = {"xscale": "log", "yscale": "log", "xlabel": "delta_max"}
    return lines(runs, "delta_max", "y", panel="quantity", line="way", **how)


def _over(runs: pd.DataFrame, across: Sequence[str], level: pd.DataFrame, **options: Any) -> Any:
    """Draw errors over each quantity of ``across``, a panel a quantity, or over a single one, a panel for each ``panel`` of the runs.

    LIBSVM's error is a horizontal line across each panel.
    """
    parts = []
    for quantity in across:
        x = runs.groupby(["panel", "line", "solver"])[quantity].transform("mean")
        points = runs.assign(x=x, panel=ACROSS[quantity] if len(across) > 1 else runs["panel"])
        ends = points.groupby("panel", sort=False)["x"].agg(["min", "max"]).reset_index().melt("panel", value_name="x")
        parts += [points, level.drop(columns="panel", errors="ignore").merge(ends, how="cross")]
    if len(across) == 1:
        options["xlabel"] = ACROSS[across[0]]
    figure = lines(pd.concat(parts), "x", "error", panel="panel", line="line", columns=3, xscale="log", **options)
    for axes in figure.axes if figure else ():
        if axes.get_title() == ACROSS["cpu"]:  # times of small runs are too noisy for a line from one to the next
            for line in axes.lines[:-1]:
                line.set(linestyle="none", marker="o", markersize=4)
    return figure


def criteria(figure: str, cut: float = 0.0) -> Any:
    """Return what draws the error over examples, time and support vectors; ``cut``: up to so many times LIBSVM's error."""

    def draw(results: Results) -> Any:
        runs = selected(results, [figure])
        level = selected(results, ["figure13"]) if figure == "figure14" else runs
        level = level[level["solver"] == LIBSVM].assign(line=CLEAN if figure == "figure14" else "LIBSVM")
        runs = runs[runs["solver"] != LIBSVM].assign(panel="", line=lambda rows: rows["criterion"])
        limits: dict[str, Any] = {"yscale": "log"}
        if cut and len(level):
            limits = {"ylim": (0.98 * runs["error"].min(), cut * level["error"].mean())}
        return _over(runs, list(ACROSS), level, colours=LINES, ylabel=QUANTITIES["error"], **limits)

    return draw


def figure15(results: Results) -> Any:
    """Draw the error over support vectors for each share of flipped labels, a panel a criterion."""
    runs = selected(results, ["figure13", "figure14", "figure15"])
    level = runs[(runs["solver"] == LIBSVM) & (runs["set"] == "mnist-8")].assign(line=CLEAN)
    share = runs["set"].str.extract(r"noise-?(.*)")[0].replace("", "10").fillna("0")
    runs = runs.assign(panel=runs["criterion"], line=share + " % of the labels flipped")[runs["solver"] != LIBSVM]
    return _over(runs, ["support_vectors"], level, yscale="log", ylabel=QUANTITIES["error"])


PICTURES = {
    "digits": figures_1_to_5, "figure6": figure6, "figure10": figure10, "figure11": criteria("figure11", cut=1.12),
    "figure13": criteria("figure13"), "figure14": criteria("figure14"), "figure15": figure15,
}  # fmt: skip
