"""smo-block against the SVM libraries that people use on a CPU: to a certified quality, on sets of papers and on drawn problems.

A library stops by a tolerance that means something else in each: it runs at several, and its time is that of the loosest one
whose model the harness certifies.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reports.kit.estimates import ONE_RUN, Estimate, geometric, within
from reports.kit.pictures import lines
from reports.kit.results import Results
from reports.kit.rows import grouped, pivoted
from reports.kit.settings import SETTINGS
from reports.kit.study import Block, Study

OURS = "smo-block"
LIBRARIES = {
    "libsvm": "scikit-learn SVC", "libsvm-official": "LIBSVM", "sklearnex": "oneDAL",
    "sklearnex[dtype=float32]": "oneDAL float32", "thundersvm": "ThunderSVM",
}  # fmt: skip
TOLERANCES = (1e-3, 1e-4, 1e-5)
FINE = (*TOLERANCES, *(1e-3 / 2**k for k in range(1, 7)))  # factors of 2, on three sets
KKT, GAP = 1.05e-3, 1e-3  # certified by the harness in float64 over all training points; 1.0e-3 to two digits
SETS = {
    "banana": SETTINGS["banana"].selection.format(k=0), "waveform": SETTINGS["waveform"].selection.format(k=0),
    "satimage-4": "satimage",
    "usps": "usps", "reuters": "reuters", "letter-A": "letter", "checkerboard-10k": "checkerboard[n=10000]",
    "twonorm-10k": "twonorm[n=10000]", "ringnorm-10k": "ringnorm[n=10000]", "adult-16k": "adult-split[n=16000]",
    "covtype-20k": "covtype[n=20000,n_test=5000,scale=standard]",
}  # fmt: skip
FAMILIES = ("teacher", "mixture", "binary", "heavy", "imbalance", "duplicates", "scaled", "regression")
COSTS, WIDTHS, FEATURES, NOISES = (1.0, 100.0, 1e4), (0.2, 2.0), (3, 20, 100), (0.0, 0.1)
MAP = {2000: (11, 12, 13), 10_000: (21,)}  # points -> seeds of the map, 16 draws each
MAP_LIMIT = 30.0  # [s] of a run of the map
RUNS = {2000: [0, 1, 2]}  # of each: a time of some milliseconds varies by more than the libraries differ
GRID = {"C": [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], "gamma": [2.0**e for e in range(-7, 1)]}
_GRIDS = {name: name for name in ("breast-cancer", "german.numer", "svmguide1")} | {
    "banana-raetsch": "banana[realisation=1]"
}


def toleranced(library: str, tol: float) -> str:
    """Return a library at a tolerance."""
    return f"{library[:-1]},tol={tol:g}]" if library.endswith("]") else f"{library}[tol={tol:g}]"


def rivals(*libraries: str, tolerances: Sequence[float] = TOLERANCES) -> list[str]:
    """Return ours to the gap, and the libraries at each tolerance."""
    return [f"{OURS}[gap={GAP:g}]", *(toleranced(library, tol) for library in libraries for tol in tolerances)]


def draws(n: int, seed: int) -> list[str]:
    """Return problems of all families, twice each: d, noise, C and the kernel's width are drawn."""
    rng = np.random.default_rng([seed, n])
    selections = []
    for draw, family in enumerate(FAMILIES * 2, 1):
        d, noise, cost, width = (rng.choice(levels) for levels in (FEATURES, NOISES, COSTS, WIDTHS))
        selections.append(
            f"drawn[family={family},n={n},d={d},noise={noise:g},cost={cost:g},width={width:g},seed={seed},draw={draw}]"
        )
    return selections


def plan(quick: bool) -> list[Block]:
    """Return the sets, the map of drawn problems, two threads, and whole grids of parameters."""
    how = {"time_limit": 60.0}
    if quick:
        return [{"figure": "map", "set": "n = 500", "datasets": draws(500, 1)[:4], "plugins": rivals("libsvm"), **how}]
    blocks: list[Block] = []
    limit = {"figure": "limit", "plugins": ["limit"], "seeds": [0], "time_limit": 120.0}
    for name, text in SETS.items():
        base = {"figure": "sets", "set": name, "datasets": [text], "seeds": [0, 1, 2], "formulation": "c-svc", **how}
        blocks.append({**base, "plugins": rivals(*LIBRARIES)})
        blocks.append({**limit, "set": name, "datasets": [text], "formulation": "c-svc"})
        if name in ("banana", "satimage-4", "usps"):
            several = rivals("libsvm", "sklearnex", tolerances=FINE)
            blocks.append({**base, "figure": "fine", "plugins": several, "seeds": [0, 1]})
    for n, seed in ((n, seed) for n, seeds in MAP.items() for seed in seeds):
        base = {"figure": "map", "set": f"n = {n} seed {seed}", "datasets": draws(n, seed), "time_limit": MAP_LIMIT}
        base |= {"seeds": RUNS.get(n, [0])}
        blocks.append({**base, "plugins": rivals("libsvm", "sklearnex")})
        blocks.append({**limit, "set": f"drawn, n = {n:,}", "datasets": draws(n, seed)})
    for name, threads_ in itertools.product(("adult-16k", "covtype-20k", "ringnorm-10k"), (1, 2)):
        base = {
            "figure": "threads",
            "set": f"{name} on {threads_} threads",
            "datasets": [SETS[name]],
            "threads": threads_,
        }
        both = rivals("sklearnex", tolerances=[1e-4])
        blocks.append({**base, "plugins": both, "seeds": [0, 1, 2], "formulation": "c-svc", **how})
    for name, text in _GRIDS.items():
        base = {"figure": "grid", "set": name, "datasets": [text], "formulation": "c-svc", "time_limit": 300.0}
        blocks.append({**base, "plugins": [OURS, "libsvm"], "path": GRID, "folds": 5})
    return blocks


def _library(runs: pd.DataFrame) -> pd.Series:
    return runs["solver"].str.replace(r",?(tol|gap)=[-.e\d]+", "", regex=True).str.replace("[]", "", regex=False)


def certified(results: Results, figure: str, tolerances: Sequence[float] = FINE) -> pd.DataFrame:
    """Return, for each set, data, seed and library, the loosest run whose quality is certified; ``library`` lacks its tolerance."""
    runs = results.runs(figure)
    runs = runs[(runs["kkt_violation"] <= KKT) & (runs["relative_gap"] <= GAP)]
    tol = runs["solver"].str.extract(r"tol=([-.e\d]+)")[0].astype(float).fillna(1.0)
    runs = runs.assign(tol=tol, library=_library(runs))[
        np.isclose(tol.to_numpy()[:, None], [1.0, *tolerances], rtol=1e-3, atol=0.0).any(axis=1)
    ]
    runs = runs.sort_values("tol", ascending=False, kind="stable")
    key = ["set", "dataset", "seed", "session", "library"]
    grouped(runs, key, ["tol"], ["solver"])
    return runs.drop_duplicates(key).sort_index()


def ratios(results: Results, figure: str, tolerances: Sequence[float] = FINE) -> pd.DataFrame:
    """Return the CPU time of each library over ours, measured in turns, a column each; a row for each data set and seed.

    NaN: no run of it was certified in its time; ``ours``: our seconds
    """
    runs = certified(results, figure, tolerances)
    cpu = pivoted(runs, ["session", "set", "dataset", "seed"], "library", "cpu", aggfunc="first")
    if OURS not in cpu:
        return pd.DataFrame()
    return cpu.div(cpu[OURS], axis=0).drop(columns=OURS).assign(ours=cpu[OURS])


def sets(results: Results) -> pd.DataFrame:
    """Seconds of smo-block to the certified quality, and times over it of the libraries; empty: not certified within 60 s"""
    over_ours = ratios(results, "sets")
    if over_ours.empty:
        return pd.DataFrame()
    order = [name for name in LIBRARIES if name in over_ours]
    table = np.exp(np.log(over_ours).groupby("set", sort=False).mean())[["ours", *order]]
    table["times the limit"] = limits(results)["mean"]
    return table.rename(columns={"ours": "smo-block, CPU s", **LIBRARIES})


def fine(results: Results) -> pd.DataFrame:
    """Times over smo-block's of libraries whose tolerances are factors of 10 apart, and of 2, in the same runs"""
    if results.runs("fine").empty:
        return pd.DataFrame()
    columns = {
        f"factors of {factor}": np.exp(np.log(ratios(results, "fine", tolerances)).groupby("set", sort=False).mean())
        for factor, tolerances in ((10, TOLERANCES), (2, FINE))
    }  # fmt: skip
    table = pd.concat(columns, axis="columns").drop(columns="ours", level=1).dropna(how="all")
    return table.set_axis([f"{LIBRARIES[library]}, {title}" for title, library in table.columns], axis="columns")


def drawn(results: Results) -> pd.DataFrame:
    """Drawn problems: times of the libraries over smo-block, over n, family, C and width: geometric mean, least, share below 1"""
    table = _map(results)
    if table.empty:
        return pd.DataFrame()
    rows = []
    for factor in ("n", "family", "C", "width", "d"):
        for level, group in table.groupby(factor):
            for library in ("libsvm", "sklearnex"):
                values = group[library].dropna()
                rows.append({
                    "factor": factor, "level": str(level), "library": LIBRARIES[library],
                    "mean": np.exp(np.log(values).mean()), "least": values.min(),
                    "below 1": f"{(values < 1).sum()} of {len(values)}", "not certified": int(group[library].isna().sum()),
                })  # fmt: skip
    return pd.DataFrame(rows)


def _map(results: Results) -> pd.DataFrame:
    """Return the ratios of the map, the median of a problem's runs, with the levels of each problem."""
    table = ratios(results, "map")
    if table.empty:
        return table
    table = table.groupby(["session", "set", "dataset"], sort=False).median().reset_index()
    levels = {name: table["dataset"].str.extract(rf"{text}=([a-z\d.e+]+)")[0] for name, text in (
        ("family", "family"), ("n", "n"), ("d", r"d"), ("noise", "noise"), ("C", "cost"), ("width", "width"))}  # fmt: skip
    return table.assign(**levels).reindex(columns=list(dict.fromkeys([*table.columns, *levels, "libsvm", "sklearnex"])))


def defaults(results: Results) -> pd.DataFrame:
    """What each leaves at a tolerance of 1e-3: certified KKT violation and relative gap, the worst of the sets"""
    runs = results.runs("sets")
    runs = runs[runs["solver"].str.contains("tol=0.001") | runs["solver"].str.startswith(OURS)]
    runs = runs.assign(library=_library(runs).map({OURS: OURS, **LIBRARIES}))
    groups = grouped(runs, "library", ["set", "dataset", "seed"], ["C", "gamma"], sort=False)
    return groups.agg(kkt=("kkt_violation", "max"), gap=("relative_gap", "max"))


def threads(results: Results) -> pd.DataFrame:
    """Wall seconds with one thread and with two, and how many times as fast two are"""
    runs = results.runs("threads")
    parts = runs["set"].str.extract(r"(.+) on (\d) threads")
    runs = runs.assign(of=parts[0], threads=parts[1] + " threads")
    wide = pivoted(runs, ["of", "solver"], "threads", "seconds", ["dataset", "seed"], aggfunc="median")
    wide["times"] = wide.get("1 threads", np.nan) / wide.get("2 threads", np.nan)
    return wide.rename_axis(["set", "solver"])


def limits(results: Results) -> pd.DataFrame:
    """Times of smo-block over the limit, the kernel values between support vectors and all points: mean, least and most"""
    runs = results.runs("limit")
    times = np.log(runs["info.fit_cpu"] / runs["info.limit_cpu"]) if len(runs) else np.nan
    groups = grouped(runs.assign(times=times), "set", varying=["formulation", "C", "gamma"], sort=False)["times"]
    return np.exp(groups.agg(["mean", "min", "max"])).assign(problems=groups.size())


def grids(results: Results) -> pd.DataFrame:
    """A grid of 64 values with five folds, CPU seconds: as a path, and by LIBSVM cell by cell"""
    runs = results.runs("grid")
    wide = pivoted(runs, ["set"], "solver", "info.choice_cpu", sort=False)
    return wide.assign(**{"LIBSVM / smo-block": wide.get("libsvm", np.nan) / wide.get(OURS, np.nan)})


def spread(results: Results) -> Any:
    """Draw the ratio of each drawn problem over the time of ours, a panel a library; a bound where no run was certified."""
    table = _map(results)
    if table.empty:
        return None
    points = table.melt(["dataset", "ours", "C"], ["libsvm", "sklearnex"], "library", "ratio")
    runs = results.runs("map", status=None)
    runs = runs.assign(library=_library(runs), bound=runs["cpu"].fillna(MAP_LIMIT))
    longest = grouped(runs, ["dataset", "library"], ["seed", "solver", "session"])["bound"].max()
    points = points.join(longest, on=["dataset", "library"]).replace({"library": LIBRARIES})
    points = points.sort_values("C", kind="stable").assign(C="C = " + points["C"])
    how = {"xscale": "log", "yscale": "log", "xlabel": "CPU s of smo-block", "ylabel": "times as long"}
    bounds = points[points["ratio"].isna()].assign(ratio=lambda missing: missing["bound"] / missing["ours"])
    figure = lines(points, "ours", "ratio", panel="library", line="C", style="o", columns=2, over=None, bounds=bounds, **how)
    for axes in figure.axes if figure else ():
        axes.axhline(1.0, color="#444444", linewidth=0.8)
    return figure


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim."""
    on_sets, on_map = ratios(results, "sets"), _map(results)
    of_sets: list[Estimate] = []
    for library, title in LIBRARIES.items():
        for name, group in on_sets.groupby("set", sort=False) if library in on_sets else ():
            of_sets += within([geometric(str(name), group[library].dropna(), timed=True)], least=1.0, aspect=title)
    of_map = []
    for library in ("libsvm", "sklearnex"):
        for n, group in on_map.groupby("n") if len(on_map) else ():
            of_map.append(geometric(f"{LIBRARIES[library]}, n = {int(n):,}", group[library].dropna()))
    return {"sets": of_sets, "drawn": within(of_map, least=1.0)}


def numbers(results: Results) -> Mapping[str, Any]:
    """Return the numbers in the prose of the page: of the map, the grids and the limits."""
    table = _map(results)
    values: dict[str, Any] = {"below": "", "cells": 0, "grids": ""}
    if len(table):
        behind = table[["libsvm", "sklearnex"]] < 1.0
        measured = table[["libsvm", "sklearnex"]].notna().sum()
        below = [f"{behind[library].sum()} of {measured[library]} ({LIBRARIES[library]})" for library in behind]
        values |= {"below": " and ".join(below), "cells": len(table)}
    times = grids(results)["LIBSVM / smo-block"].dropna()
    if len(times):
        middle = np.exp(np.log(times).mean())
        values["grids"] = f"on the geometric mean {middle:.1f} times as long, at least {times.min():.1f}"
    of_limit = limits(results).filter(like="drawn", axis="index")
    values["limits"] = "; ".join(
        f"{name.removeprefix('drawn, ')}: {row['mean']:.1f} ({row['min']:.1f} to {row['max']:.1f})"
        for name, row in of_limit.iterrows()
    )
    return {**values, "one": ONE_RUN}


STUDY = Study(
    name="peers", title="Against the SVM libraries that people use on a CPU", plan=plan,
    tables={
        "sets": sets, "fine": fine, "drawn": drawn, "limits": limits, "defaults": defaults, "threads": threads, "grids": grids,
    },
    pictures={"spread": spread}, estimates=claims, numbers=numbers, plugins=("families.py",),
)  # fmt: skip
