"""Learning on the border: labels that must be queried, on imbalanced data (Ertekin, Huang, Bottou, Giles, CIKM 2007).

Also the measurements of others on the same strategies: Lu, Li, Lin, Re-Benchmarking Pool-Based Active Learning for Binary
Classification (arXiv 2306.08954, 2023; published_aubc.csv), and Figure 16 of Bordes, Ertekin, Weston, Bottou (JMLR 6, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from harness import Status
from reports.kit.estimates import Estimate, differences, exact, mean_of, means, ratios, share, within
from reports.kit.page import with_published
from reports.kit.pictures import lines, plt
from reports.kit.results import QUANTITIES, Quantity, Results
from reports.kit.rows import IDENTITY, grouped, pivoted
from reports.kit.settings import FITTED, SETTINGS, Setting
from reports.kit.study import Block, Study

SMALL, SEARCH, RANDOM = "active-small-pool", "active-full-search", "random-sampling"
AL, FULL, MARGIN = *(f"{each}[stop=support,stop_tolerance=0.01]" for each in (SMALL, SEARCH)), f"{SMALL}[stop=margin]"
UNDER, FEWER = "undersampling[ratio]", f"{RANDOM}[budget]"  # see `named`
FIVE = ("batch", UNDER, "smote", "different-costs", AL)  # of Tables 3 and 4
_ANEW, _500, PEER, EXACT = "retrain-active[oracle=smo-block", "budget=500]", "margin-sampling", "smo-block"
# strategies of uncertainty, and the random sampling that learns in the same way
PAIRS = {SEARCH: RANDOM, SMALL: RANDOM, f"{_ANEW}]": f"{_ANEW},candidates=1]", PEER: f"{PEER}[uniform=true]"}
SIXTEEN = {
    f"{_ANEW},{_500}": "all, anew", f"{_ANEW},candidates=50,{_500}": "50, anew", f"{SEARCH}[{_500}": "all, LASVM",
    f"{SMALL}[candidates=50,{_500}": "50, LASVM", f"{RANDOM}[{_500}": "random, as many labels",
}  # fmt: skip
NAMES = {
    "batch": "Batch", UNDER: "US", "smote": "SMOTE", "different-costs": "DC", AL: "AL", FULL: "full search", MARGIN: "margin",
    EXACT: "optimum", RANDOM: "random", FEWER: "random, as many labels", SMALL: "best of 59",
    SEARCH: "full search", f"{_ANEW}]": "full search, trained anew", PAIRS[f"{_ANEW}]"]: "random, trained anew",
    PEER: "full search, scikit-learn", PAIRS[PEER]: "random, scikit-learn",
    **{solver.replace("=500", ""): title for solver, title in SIXTEEN.items()},
}  # fmt: skip
# SV- / SV+ at AL's early stops, in their mean: to it undersampling goes (section 6)
RATIOS = {
    "corn": 3.05, "crude": 2.66, "grain": 3.09, "interest": 2.14, "money-fx": 2.25, "ship": 4.39, "trade": 2.21, "wheat": 3.44,
    "abalone-7": 2.47, "letter-a": 1.35, "satimage": 3.02, "usps": 1.49, "mnist-8": 1.58,
}  # fmt: skip
_FITTED = ("corn", "crude", "grain", "interest", "trade")  # C and gamma not printed, or not those that give Table 1
SETS = {
    **{k: Setting(k, f"reuters-category[category={k}]", 1.0, 0.5, protocol=FITTED * (k in _FITTED)) for k in [*RATIOS][:8]},
    "abalone-7": Setting("abalone-7", "abalone[split_seed={k}]"), "letter-a": Setting("letter-a", "letter[n=18000,split_seed={k}]"),
    "satimage": Setting("satimage", "satimage"), "usps": SETTINGS["usps"], "mnist-8": SETTINGS["mnist-8"],
}  # fmt: skip
_PRICES = {"crude": (2.0, 1.0), "grain": (2.0, 1.0), "interest": (1.0, 2.0)}
AS_PRINTED = [Setting(f"{name}, as Table 2 prints", SETS[name].selection, *each) for name, each in _PRICES.items()]
_WAVES = SETTINGS["waveform"].selection[:-1]
_THIN = {i: f"imbalance={i},imbalance_seed={{k}}]" for i in (4, 8, 10, 16, 20, 30, 32)}
WAVEFORM = [Setting(f"waveform 1:{i}", f"{_WAVES},{_THIN[i]}" if i > 2 else f"{_WAVES}]") for i in (2, 4, 8, 16, 32)]
ADULT = [Setting("adult 1:3", "adult"), *(Setting(f"adult 1:{i}", f"adult[{_THIN[i]}") for i in (10, 20, 30))]
RINGS = Setting("abalone-7 with its rings", "abalone-rings[split_seed={k}]")
TUNED = {
    "usps-3": "usps[digit=3]", "usps-8": "usps[digit=8]", "letter-g": "letter[letter=G]", "satimage-3": "satimage[positive=3]",
    **{f"{name} 1:8": f"{name}[imbalance=8]" for name in ("banana", "spambase", "twonorm")},
}  # fmt: skip
_WINDOWS = {"stop_window=50,": "50", "stop_window=100,": "100", "stop_window=200,": "200", "": "n / 40"}
RULES = {
    f"{SMALL}[stop=support,{window}stop_tolerance={least}]": f"{title} labels, {100 * least:g} %"
    for window, title in _WINDOWS.items() for least in (0.01, 0.02, 0.05)
}  # fmt: skip
TIED = 0.1  # points of PRBEP within which two methods are equal
FIGURE2, FIGURE8 = ("grain", "ship", "usps"), ("crude", "grain", "interest")
FIGURE9 = (*FIGURE8, "ship", "letter-a", "satimage", "usps")
DRAWS = {"figure5": 20, "tuning": 2}  # others have the paper's ten, with which figure 5 was undecided
FIGURE7 = {"interest": 1393, "satimage": 2364, "adult 1:3": 17996}  # labels at AL's early stops
# set -> its file, and the draws of LASVM steps, of those that train anew, and of scikit-learn, the slowest
ANCHORS = {
    "German": ("german.numer", 30, 30, 30), "Spambase": ("spambase", 30, 1, 0), "Twonorm": ("twonorm", 30, 2, 0),
    "Ringnorm": ("ringnorm", 10, 2, 0), "Banana": ("banana", 30, 10, 1),
}  # fmt: skip


def plan(quick: bool) -> list[Block]:
    """Return the paper's tables and figures, ten runs each; the choice of the stopping rule; Figure 16; the benchmark."""
    # each solver solves one of both formulations
    digits, traced, both = SETTINGS["mnist-8"].small(), {"traced": True}, ["pool-svc", "c-svc"]
    waves = Setting("waveform 1:8", "waveform-breiman[n=1000,seed={k},imbalance=8,imbalance_seed={k}]")
    small = {"table1": digits, "figure5": waves}
    figures = [
        ("figure2", [SETS[name] for name in FIGURE2], (FULL, AL), traced),
        ("figure9", [SETS[name] for name in FIGURE9], (SMALL, RANDOM), traced),
        ("figure5", WAVEFORM, (SMALL, RANDOM, AL), traced),
        ("figure6", ADULT, (RANDOM, AL), traced),
        ("rings", [RINGS], ("batch", AL, "smote", "different-costs"), {}),
        ("table2", AS_PRINTED, ("batch", AL), {}),
        ("tuning", [Setting(*setting) for setting in TUNED.items()], ("batch", MARGIN, *RULES), {"runs": 0}),
        ("figure16", [Setting("reuters", "redrawn[of=reuters,seed={k}]"), SETS["usps"]], list(SIXTEEN), traced),
    ]
    for name in ["mnist-8"] if quick else RATIOS:
        solvers = ("batch", AL, "smote", "different-costs", f"undersampling[ratio={RATIOS[name]}]", MARGIN)
        figures.append(("table1", [SETS[name]], solvers, {"once": [EXACT]}))
    for name, labels in FIGURE7.items():
        figures.append(("figure7", [SETS.get(name, ADULT[0])], (AL, f"{RANDOM}[budget={labels}]", RANDOM), {}))
    how = {"formulation": both, "metrics": ["g-means", "roc-auc", "prbep"], "time_limit": 1800.0, "runs": 10}
    blocks = []
    for figure, settings, solvers, options in figures:
        for setting in [small[figure]] if quick and figure in small else settings if not quick else ():
            blocks += setting.blocks(figure, solvers, 1 if quick else DRAWS.get(figure, 10), **{**how, **options})
    kinds = [(SEARCH, SMALL, RANDOM), *list(PAIRS.items())[2:]]
    for name, (of, *counts) in {} if quick else ANCHORS.items():
        for begin, end in pairwise(sorted({0, *counts})):  # all that have so many draws in turns
            solvers = [solver for kind, count in zip(kinds, counts, strict=True) if count >= end for solver in kind]
            draws = [f"anchor-draw[of={of},seed={k}]" for k in range(begin, end)]
            base = {"figure": "aubc", "set": name, "plugins": solvers, "datasets": draws, "cache_mb": 256.0, "runs": 0}
            blocks.append({**how, **base, **traced, "time_limit": 3600.0})
    return blocks


# -- runs, derived quantities, and learning curves ----------------------------------------------------------

# quantities that tables show with the deviation of the runs
WITH_DEVIATION = ("g_means", "auc", "prbep", "sv_ratio", "data_efficiency", "error")
PRINTED_AS = {
    **QUANTITIES, "sv_ratio": Quantity("SV- / SV+", "sv_ratio", form=".2f"), "rank": Quantity("rank", "rank", form=".0f"),
    "data_efficiency": Quantity("labels, %", "data_efficiency", form=".1f"), "cpu": Quantity("CPU s", "cpu"),
    "imbalance": Quantity("imbalance", "imbalance", form=".1f"), "features": Quantity("features", "n_features", form=",.0f"),
    "C": Quantity("C", "C", form="g"), "gamma": Quantity("gamma", "gamma", form="g"),
    **{name: Quantity(name, f"info.{name}", form=",.0f") for name in ("positives", "negatives")},
}  # fmt: skip


def named(solvers: pd.Series) -> pd.Series:
    """Return solvers without the numbers of their ratios and budgets, which differ from set to set."""
    return solvers.str.replace(r"(ratio|budget)=[\d.]+", r"\1", regex=True)


def derived_runs(results: Results, figure: str | Sequence[str] = (), **fixed: Any) -> pd.DataFrame:
    """Return runs with the derived quantities, solvers `named`; a quantity that none of them has is missing in all."""
    runs = results.runs(figure, **fixed)
    counts = ("labels_used", "n_train", "support_vectors", "positive_support_vectors")
    columns = dict.fromkeys([*runs.columns, *counts, *(quantity.ours for quantity in PRINTED_AS.values())])
    runs = runs.reindex(columns=list(columns))
    return runs.assign(selection=runs["solver"], solver=named(runs["solver"]), **DERIVED)


def derived(results: Results) -> pd.DataFrame:
    """Return what the paper prints and no run has by itself, C and gamma, and what it says over all of its 18 sets."""
    over = breakeven(results.every)
    few = {"protocol": f"{len(over)} of 18 sets"}
    mean = over.rank(axis=1, ascending=False, method="min").mean()
    pooled = [
        {"set": "average", "solver": solver, "quantity": "rank", "value": value, **few}
        for solver, value in mean.items()
    ]
    pooled.append(
        {"set": "all 18", "solver": UNDER, "quantity": "p_value", "value": p_value(over[AL] - over[UNDER]), **few}
    )
    runs = derived_runs(results).drop(columns="solver").rename(columns={"selection": "solver"})
    tables = [runs.assign(quantity=name, value=runs[name]) for name in (*DERIVED, "C", "gamma")]
    return pd.concat([*tables, pd.DataFrame(pooled)])[[*IDENTITY, "protocol", "quantity", "value"]].dropna(
        subset=["value"]
    )


def breakeven(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean PRBEP in percent, a row a set and a column a method, of the sets that have all five."""
    chosen = runs[(runs["figure"] == "table1") & (runs["status"] == Status.OK)]
    prbep = pivoted(
        chosen.assign(solver=named(chosen["solver"])), ["set"], "solver", "metrics.prbep", ["dataset", "seed"]
    )
    return (100.0 * prbep.reindex(columns=list(FIVE)).dropna()).round(2)


def ranks(runs: pd.DataFrame) -> pd.Series:
    """Return the rank of each run's method in mean PRBEP on its set; equal ones have the best, as in Table 4."""
    by_set = breakeven(runs).rank(axis=1, ascending=False, method="min").to_dict("index")
    places = zip(runs["set"], named(runs["solver"]), strict=True)
    values = [by_set.get(name, {}).get(solver, np.nan) for name, solver in places]
    return pd.Series(values, runs.index).where(runs["figure"] == "table1")


DERIVED = {
    "imbalance": lambda runs: runs["info.negatives"] / runs["info.positives"], "rank": ranks,
    "sv_ratio": lambda runs: runs["support_vectors"] / runs["positive_support_vectors"] - 1.0,
    "data_efficiency": lambda runs: 100.0 * runs["labels_used"] / runs["n_train"],
}  # fmt: skip


def p_value(gaps: pd.Series) -> float:
    """Return Wilcoxon's p of differences, two-sided, those that are 0 left out."""
    return float(stats.wilcoxon(gaps[gaps != 0.0]).pvalue) if len(gaps) > 1 else float("nan")


def curves(results: Results, figure: str | Sequence[str], quantity: str) -> pd.DataFrame:
    """Return learning curves: what a run is, labels, value.

    Labels are spaced geometrically over the range that all runs of a solver have; between the points of a trace a curve goes
    straight over log labels.
    """
    column, factor = PRINTED_AS[quantity].ours, PRINTED_AS[quantity].factor
    counts = ["support_vectors", "positive_support_vectors"]
    points = results.course(["labels_used", *(counts if quantity == "sv_ratio" else [column])], figure)
    if quantity == "sv_ratio":
        points[column] = points[counts[0]] / points[counts[1]].where(points[counts[1]] > 0) - 1.0
    points = points.dropna(subset=["labels_used", column]).assign(solver=named(points["solver"]))
    points = points.drop_duplicates(["run", "labels_used"], keep="last").sort_values(["run", "labels_used"])
    ends = points.groupby(["set", "solver", "run"])["labels_used"].agg(["min", "max"]).groupby(["set", "solver"])
    parts = [pd.DataFrame(columns=[*IDENTITY, "run", "labels", "value"])]
    grouped(points.drop_duplicates("run"), ["set", "solver"])
    for _, trace in points.groupby("run", sort=False):
        place = trace[["run", *IDENTITY]].iloc[0].to_dict()
        name, solver = place["set"], place["solver"]
        labels = np.geomspace(ends["min"].max()[name, solver], ends["max"].min()[name, solver], 200)
        value = factor * np.interp(np.log(labels), np.log(trace["labels_used"]), trace[column])
        parts.append(pd.DataFrame({**place, "labels": labels, "value": value}))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def stops(results: Results, figure: str) -> pd.Series:
    """Return the labels of AL at its early stop, a mean for each set."""
    return grouped(derived_runs(results, figure, solver=AL), "set")["labels_used"].mean()


# -- tables and pictures that a line describes ------------------------------------------------------------


def table(
    title: str, figure: str | Sequence[str], cells: Mapping[str, Sequence[str]], **fixed: Any
) -> Callable[[Results], pd.DataFrame]:  # fmt: skip
    """Return what makes a table with a row for each set, and of each quantity the solvers' values, ours (the paper's)."""

    def make(results: Results) -> pd.DataFrame:
        runs, columns = derived_runs(results, figure, **fixed), {}
        theirs = results.published.assign(solver=named(results.published["solver"]))
        for quantity, solvers in cells.items():
            how, spread = PRINTED_AS[quantity], quantity in WITH_DEVIATION
            texts = with_published(runs, theirs, ["solver", "set"], {quantity: how}, spread=spread)[how.title]
            columns |= {f"{how.title}, {NAMES[solver]}": texts.loc[solver] for solver in solvers if solver in texts}
        return pd.DataFrame(columns).reindex(runs["set"].unique()).fillna("").rename_axis("set")

    make.__doc__ = title
    return make


def picture(
    figure: str | Sequence[str], quantities: Mapping[str, str], colours: Mapping[str, str], stop: str, sets: Any = (), **how: Any
) -> Callable[[Results], Any]:  # fmt: skip
    """Return what draws learning curves, means and ranges, a panel for each set and quantity (title -> name).

    stop : figure whose runs' earliest stop is drawn, dotted
    """

    def draw(results: Results) -> Any:
        points = pd.concat([curves(results, figure, name).assign(title=title) for title, name in quantities.items()])
        points = points[(points["labels"] >= 20) & (points["set"].isin(sets) if sets else True)]
        points["set"] += ": " + points["title"]
        options = {"xscale": "log", "xlabel": "labels", "labels": NAMES, "colours": colours, **how}
        drawn = lines(points, "labels", "value", **options)
        at = grouped(derived_runs(results, stop, solver=AL), "set")["labels_used"].min()
        for axes in drawn.axes if drawn is not None else ():
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
            for place in at[at.index == axes.get_title().partition(": ")[0]]:
                axes.axvline(place, color="#444444", linestyle=":", linewidth=1.0)
        return drawn

    return draw


def tuning(results: Results) -> pd.DataFrame:
    """The stopping rule: windows and tolerances on sets that stand in no table, two runs each; n: the pool's size."""
    values = ["metrics.g-means", "data_efficiency"]
    mean = pivoted(derived_runs(results, "tuning"), ["solver"], "set", values, ["dataset", "seed"])
    rows = {}
    for rule, title in {**RULES, MARGIN: "margin"}.items() if "batch" in mean.index else ():
        gap = 100.0 * (mean.loc[rule, "metrics.g-means"] - mean.loc["batch", "metrics.g-means"])
        labels = f"{mean.loc[rule, 'data_efficiency'].mean():.1f}"
        row = {"g-means over Batch, mean": f"{gap.mean():+.2f}", "worst": f"{gap.min():+.2f}, {gap.idxmin()}"}
        rows[title] = {**row, "labels, %": labels, "": "taken" if rule == AL else ""}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("window, tolerance")


# -- the benchmark ----------------------------------------------------------------------------------------


def area(labels: Any, accuracy: Any) -> float:
    """Return the AUBC of Lu, Li, Lin 2023 of a learning curve, NaN where it does not reach from the first labels to others.

    Their utils.py adds the trapezoids between the accuracies after each label that a strategy chose, the first of them
    included and the one before them not, and divides by the number of these labels, which is one more than there are
    trapezoids: a strategy that is always right has 1 - 1 / labels. Between the points of a trace the curve is a line.
    """
    if 20 not in labels or max(labels) == 20:  # that many are known before a strategy chooses
        return float("nan")
    chosen = np.arange(21, max(labels) + 1)
    return float(np.trapezoid(np.interp(chosen, labels, accuracy)) / len(chosen))


def areas(results: Results) -> pd.DataFrame:
    """Return the benchmark's runs with ``aubc``, the published ``mean`` and ``sd``, and ``trial``, that of the same points."""
    points = results.course(["labels_used", "error"], "aubc").sort_values("labels_used").groupby("run")
    by_run = {
        run: area(trace["labels_used"].to_numpy(), 1.0 - trace["error"].to_numpy() / 100.0) for run, trace in points
    }
    runs, key = derived_runs(results, "aubc"), ["set", "kind"]
    kinds = np.where(runs["solver"].isin(list(PAIRS)), "uncertainty", "uniform")
    trials = "trial " + runs["dataset"].str.extract(r"seed=(\d+)")[0]
    runs = runs.assign(aubc=runs["run"].map(by_run).astype(float), kind=kinds, quantity=trials)
    printed = pd.read_csv(STUDY.folder / "published_aubc.csv", comment="#").rename(columns={"solver": "kind"})
    trial_means = printed.pivot_table(index=key, columns="quantity", values="value")[["mean", "sd"]].reset_index()
    same = printed[printed["set"].isin(("German", "Spambase"))].rename(columns={"value": "trial"})  # in their order
    return runs.merge(trial_means, on=key).merge(same[[*key, "quantity", "trial"]], on=[*key, "quantity"], how="left")


def aubc(results: Results) -> pd.DataFrame:
    """The area under the learning curve (AUBC), the published mean and deviation over trials, and CPU time in turns."""
    runs, rows = areas(results), {}

    def text(estimates: Sequence[Estimate]) -> str:
        return estimates[0].text().removeprefix(estimates[0].name).strip() if estimates else ""

    for (name, solver), group in grouped(runs, ["set", "solver"], sort=False):
        here, first = runs[runs["set"] == name], group.iloc[0]
        rows[name, NAMES[solver]] = {
            "draws": len(group), "AUBC": f"{group['aubc'].mean():.4f}", "published": f"{first['mean']:.4f} ± {first['sd']:.4f}",
            "minus random's, same draws": text(differences(here, solver, PAIRS.get(solver, ""), "aubc", form="+.4f")),
            "minus the published trial's": text(within([mean_of("", group["aubc"] - group["trial"], "+.5f")])),
            "CPU s": group["cpu"].median(), "CPU, scikit-learn / this": text(ratios(here, PEER, solver, "cpu")),
        }  # fmt: skip
    return pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(list(rows), names=["set", "strategy"]))


def near(results: Results) -> list[tuple[str, str, Estimate]]:
    """Return set, strategy, and our AUBC minus the published mean, at most a standard deviation of the published trials."""
    estimates = []
    for (name, solver, sd), group in grouped(areas(results), ["set", "solver", "sd"], sort=False):
        estimate = within([mean_of(f"{name}, {NAMES[solver]}", group["aubc"] - group["mean"], "+.4f")])[0]
        estimates.append((name, NAMES[solver], estimate.at_least(-sd).at_most(sd)))
    return estimates


def draw_aubc(results: Results) -> Any:
    """Draw our AUBC minus the published mean, where it is of ten draws and more: a row a set and strategy."""
    estimates = [(title, estimate) for _, title, estimate in near(results) if estimate.runs > 9]
    if not estimates:
        return None
    figure, axes = plt.subplots(figsize=(8.0, 0.24 * len(estimates) + 1.0), layout="constrained")
    for row, (title, estimate) in enumerate(estimates):
        colour = _DOTS[title.split(", ")[0]]
        axes.errorbar(estimate.value, row, xerr=estimate.high - estimate.value, fmt="o", markersize=4, color=colour)
    axes.axvline(0.0, color="#444444", linewidth=0.8)
    axes.set_yticks(range(len(estimates)), [estimate.name for _, estimate in estimates], fontsize=8)
    axes.set(xlabel="AUBC, ours minus the published mean, with an interval of 95 %", ylim=(len(estimates) - 0.5, -0.5))
    return figure


# -- claims -----------------------------------------------------------------------------------------------


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim."""
    parts = ("table1", "figure2", "figure16", "figure7", "figure6")
    runs, search, sixteen, roc, adult = (derived_runs(results, part) for part in parts)
    ours = breakeven(results.every)
    data = grouped(runs[runs["solver"] == "batch"], "set")["imbalance"].first()
    stopped = runs[runs["solver"] == AL].assign(
        balance=lambda rows: rows["sv_ratio"] / rows["set"].map(data).astype(float)
    )
    gap, p = ours[AL] - ours[UNDER], p_value(ours[AL] - ours[UNDER])
    wins = share(f"the share of {len(ours)} sets is", int((ours[AL] >= ours.max(axis=1) - TIED).sum()), len(ours))
    support = curves(results, "figure9", "sv_ratio")
    support = support[support["set"].isin(FIGURE8) & (support["solver"] == SMALL)].groupby(["set", "dataset", "seed"])
    settled = [(key[0], np.interp(2000, one["labels"], one["value"]) / one["value"].iloc[-1]) for key, one in support]
    waves = curves(results, "figure5", "g_means")
    waves = waves[waves["labels"] >= waves["set"].map(stops(results, "figure5"))]
    waves = waves.groupby(["set", "dataset", "seed", "solver"], as_index=False, sort=False).first()
    benchmark = areas(results)
    sign = benchmark.groupby(["set", "kind"])["mean"].first()
    anew, some = (solver.replace("=500", "") for solver in list(SIXTEEN)[0::3])

    def points(frame: pd.DataFrame, first: str, second: str, metric: str) -> list[Estimate]:
        return differences(frame, first, second, f"metrics.{metric}", 100.0)

    return {
        "pool": within(ratios(search, FULL, AL, "cpu"), least=4.0, aspect="CPU time, full search / small pool")
        + within(points(search, AL, FULL, "prbep"), least=-1.0, aspect="PRBEP, points"),
        "batch": within(points(runs, AL, "batch", "g-means"), least=-1.0),
        "labels": within(means(stopped, "data_efficiency", ".1f"), most=50.0),
        "balance": within(means(stopped, "balance", ".2f"), most=0.5),
        "settled": within((mean_of(name, [one for key, one in settled if key == name], ".2f") for name in FIGURE8), most=1.1),
        "time": within(ratios(runs, AL, "smote", "cpu"), most=1.0),
        "kernel": within(ratios(runs, AL, "smote", "kernel_evaluations"), most=1.0),
        "best": within([wins], least=12 / 18),
        "significant": [exact(f"p over {len(ours)} sets", p if gap.mean() > 0 else 1.0, ".4f").at_most(0.01)],
        "random": within(differences(waves, SMALL, RANDOM, "value"), least=0.0),
        "early": within(points(adult, AL, RANDOM, "prbep"), least=0.0),
        "roc": within(points(roc, AL, RANDOM, "roc-auc"), least=-0.5, aspect="all labels")
        + within(points(roc, AL, FEWER, "roc-auc"), least=0.0, aspect="as many random ones"),
        "aubc": [one.at_least(0.0) if sign[one.name, "uncertainty"] > sign[one.name, "uniform"] else one.at_most(0.0)
                 for one in differences(benchmark, SEARCH, RANDOM, "aubc", form="+.4f")],
        "again": [one for name, _, one in near(results) if name != "Ringnorm"],
        "retrained": within(ratios(sixteen[sixteen["set"] == "reuters"], anew, some, "cpu"), least=95.0, aspect="CPU time")
        + within(differences(sixteen, some, anew, "error"), most=0.5, aspect="error, points"),
    }  # fmt: skip


def numbers(results: Results) -> dict[str, Any]:
    """Return the numbers in the prose of the page: average ranks in PRBEP, ours (the paper's), and the missing sets."""
    ours, theirs = breakeven(results.every), results.published[results.published["quantity"] == "rank"]
    rank = ours.rank(axis=1, ascending=False, method="min").mean().sort_values()
    same = theirs[theirs["set"].isin(ours.index)]
    printed = same.groupby(named(same["solver"]))["value"].mean().reindex(rank.index)
    slower = ratios(derived_runs(results, "table1"), AL, "smote", "cpu")
    counts = grouped(derived_runs(results), ["figure", "set", "solver"]).size().groupby("figure").agg(["min", "max"])
    return {
        "ranks": ", ".join(f"{NAMES[key]} {value:.2f} ({printed[key]:.2f})" for key, value in rank.items()), "sets": len(ours),
        "place": list(rank.index).index(AL) + 1, "absent": ", ".join(sorted(set(theirs["set"]) - {*SETS, "average"})),
        "p": ", ".join(f"{NAMES[solver]} {p_value(ours[AL] - ours[solver]):.3f}" for solver in FIVE[:4]),
        "slower": f"{sum(one.low > 1.0 for one in slower)} of {len(slower)}",
        "runs": ", ".join(f"{part} {least} to {most}" for part, least, most in counts.itertuples() if part.startswith("figure")),
    }  # fmt: skip


_16 = dict(zip(named(pd.Series(list(SIXTEEN))), ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#777777"), strict=True))
_DOTS = {"full search": "#D55E00", "best of 59": "#E69F00", "random": "#0072B2"}
_ALL, _AL, _CURVE = ("batch",), (AL,), {SMALL: "#D55E00", RANDOM: "#0072B2"}
STUDY = Study(
    name="border-2007", title="Learning on the border: labels that must be queried, on imbalanced data", plan=plan,
    tables={
        "table1": table("Table 1: AL at its early stop, Batch on the whole training set", "table1",
            {"g_means": ("batch", AL, EXACT), "auc": ("batch", AL), "imbalance": _ALL, "sv_ratio": _AL, "data_efficiency": _AL}),
        "table2": table("Table 2, and the sets of the stopping rule; gamma at the scale here",
            ["table1", "table2", "rings", "tuning"], dict.fromkeys(("features", "positives", "negatives", "C", "gamma"), _ALL)),
        "parameters": table("C and gamma of Table 2, and those that give Table 1", ["table2", "table1"],
            {"C": _ALL, "gamma": _ALL, "g_means": ("batch", AL), "data_efficiency": _AL},
            set=[*_PRICES, *(each.name for each in AS_PRINTED)]),
        "tuning": tuning,
        "stops": table("Both stopping rules: the number of support vectors is stable (AL), no point within the margin", "table1",
            dict.fromkeys(("g_means", "data_efficiency", "cpu"), (AL, MARGIN))),
        "table3": table("Table 3: PRBEP and CPU seconds", "table1", {"prbep": FIVE, "cpu": ("smote", AL)}),
        "times": table("CPU seconds and kernel values, not all in turns", "table1", dict.fromkeys(("cpu", "kernel_values_M"), FIVE)),
        "table4": table("Table 4: ranks in PRBEP", "table1", {"rank": FIVE}),
        "rings": table("Abalone-7 as it is, and with the rings, which are the label, among its features", ["table1", "rings"],
            dict.fromkeys(("g_means", "auc", "prbep"), ("batch", "smote", AL)), set=["abalone-7", RINGS.name]),
        "figure2": table("Figure 2: full search and small pool (AL) to the early stop", "figure2",
            dict.fromkeys(("cpu", "kernel_values_M", "prbep", "g_means", "data_efficiency"), (FULL, AL))),
        "figure5": table("Figures 5 (waveform, g-means) and 6 (adult, PRBEP): AL at its early stop, random sampling with all labels",
            ["figure5", "figure6"], {"g_means": (AL, RANDOM), "prbep": (AL, RANDOM), "data_efficiency": _AL}),
        "figure7": table("Figure 7: the area under the ROC curve", "figure7", {"auc": (AL, FEWER, RANDOM), "data_efficiency": _AL}),
        "figure9": table("Figure 9: AL at its early stop, the others at their end", "table1", {"g_means": FIVE}),
        "figure16": table("Figure 16 of Bordes et al. 2005: the best of all or of 50, trained anew or a LASVM step", "figure16",
            dict.fromkeys(("error", "cpu"), tuple(_16))),
        "aubc": aubc,
    },
    pictures={
        "figure2": picture(["figure2", "figure9"], {"PRBEP, %": "prbep", "g-means, %": "g_means"}, {**_CURVE, FULL: "#009E73"},
            "figure2", FIGURE2, columns=3),
        "figure5": picture("figure5", {"g-means, %": "g_means"}, _CURVE, "figure5", columns=3),
        "figure6": picture("figure6", {"PRBEP, %": "prbep"}, {AL: "#D55E00", RANDOM: "#0072B2"}, "figure6"),
        "figure8": picture("figure9", {"SV- / SV+": "sv_ratio"}, _CURVE, "table1", FIGURE8),
        "figure9": picture("figure9", {"g-means, %": "g_means"}, _CURVE, "table1"),
        "figure16": picture("figure16", {"test error, %": "error"}, _16, "figure16", xscale="linear", yscale="log",
            yticks=(0.5, 1, 2, 5, 10), ylim=(0.25, 15)),
        "aubc": draw_aubc,
    },
    estimates=claims, numbers=numbers, plugins=["plugin.py"], printed=PRINTED_AS, derived=derived,
)  # fmt: skip
