"""Bordes, Ertekin, Weston, Bottou, Fast Kernel Classifiers with Online and Active Learning (2005): tables and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from reports.kit.estimates import Estimate, differences, errors, geometric, mean_of, pairs, ratios, within
from reports.kit.page import with_published
from reports.kit.pictures import grid, legend, plain
from reports.kit.results import QUANTITIES, Quantity, Results
from reports.kit.rows import grouped
from reports.kit.study import Study
from reports.lasvm_2005 import pictures, plan
from reports.lasvm_2005.plan import COUNTED, EACH, EXACT, LIBSVM, ONE, ONLINE, PRINTED, stopped_at

TAU = {"lasvm[tau=0.01]": ONE, "libsvm-counted[tol=0.01]": COUNTED}  # forest-521k, figure 7
PRINTED_AS = {
    **QUANTITIES, "sd": Quantity("sd of it", "sd", form=".2f"), "visited": Quantity("examples", "visited", form=",.0f"),
    "members": Quantity("members of S", "info.online_members", form=",.0f"), "each": Quantity("ns for each of n |S|", "each", 1e9),
    "libsvm_kernel_values_M": Quantity("kernel values, M", "info.kernel_evaluations_libsvm", 1e-6),
}  # fmt: skip
USED = dict.fromkeys(("forest-100k", "reuters", "mnist"), "yes") | dict.fromkeys(
    ("usps", "usps-n"), "fitted to the paper"
)
SCALED = (("standardised", 1.0), ("drawn, smoothed by 0.75", 2 / 256), ("unit length", 1.0), ("pixels in [0, 1]", 0.02))


def compared(results: Results) -> pd.DataFrame:
    """Return the runs of LASVM and LIBSVM on every set; digits of MNIST are the pairs of one set."""
    runs = results.runs(["figure8", "figure4"]).replace({"solver": TAU})
    runs = runs[~runs["set"].str.contains("gamma") & ~runs["set"].isin(["mnist", "mnist-of-10000"])]
    part = np.where(runs["set"].str.endswith("-of-10000"), "mnist, digits, 10,000 images", "mnist, digits")
    return _counted(runs.assign(set=runs["set"].where(~runs["set"].str.startswith("mnist-"), part)))


def _counted(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs whose kernel values are LIBSVM's count where the harness has none, with the deviation ``sd`` of the error."""
    reported = runs.get("info.kernel_evaluations_libsvm", pd.Series(index=runs.index, dtype=float))
    sd = grouped(runs, ["set", "solver"])["error"].transform("std")
    return runs.assign(kernel_evaluations=runs["kernel_evaluations"].fillna(reported), sd=sd)


def times(runs: pd.DataFrame) -> list[Estimate]:
    """Return the time of LASVM over that of the faster of two LIBSVM in the same sessions, for each set."""
    slowest: dict[str, Estimate] = {}
    for ratio in (*ratios(runs, ONE, COUNTED, "cpu"), *ratios(runs, ONE, LIBSVM, "cpu")):
        slowest[ratio.name] = max(ratio, slowest.get(ratio.name, ratio), key=lambda estimate: estimate.value)
    return list(slowest.values())


def texts(estimates: Sequence[Estimate], paper: Any = ()) -> dict[str, str]:
    """Return each estimate with its interval, and the paper's, by its name."""
    texts = {estimate.name: estimate.text().removeprefix(f"{estimate.name} ") for estimate in estimates}
    return {name: f"{text}; {paper[name]:.2f}" if name in paper else text for name, text in texts.items()}


def _printed(results: Results, *figures: str) -> pd.DataFrame:
    published = results.published[results.published["figure"].isin(figures)]
    return published.replace({"quantity": {"libsvm_kernel_values_M": "kernel_values_M"}})


def _table(
    runs: pd.DataFrame, index: Sequence[str], names: Sequence[str], published: pd.DataFrame | None = None
) -> pd.DataFrame:
    paper = pd.DataFrame() if published is None else published
    return with_published(runs, paper, index, {name: PRINTED_AS[name] for name in names})


# -- tables ------------------------------------------------------------------------------------------------


def over_libsvm(results: Results) -> dict[str, tuple[list[Estimate], dict[str, float]]]:
    """Return LASVM over LIBSVM by quantity: ours for each set, and the paper's."""
    runs = compared(results)
    paper = _printed(results, "figure8").replace({"solver": TAU})
    wide = paper.pivot_table(index="set", columns=["quantity", "solver"], values="value").swaplevel(axis=1)
    theirs = wide[ONE] / wide[COUNTED]
    columns = {
        "support vectors": (ratios(runs, ONE, LIBSVM, "support_vectors"), "support_vectors"),
        "kernel values": (ratios(runs, ONE, COUNTED, "kernel_evaluations"), "kernel_values_M"),
        "kernel values, as printed": (ratios(runs, EACH, COUNTED, "kernel_evaluations"), "kernel_values_M"),
        "CPU time": (times(runs), "seconds"),
    }
    return {title: (ours, theirs[quantity].dropna().to_dict()) for title, (ours, quantity) in columns.items()}


def against(results: Results) -> pd.DataFrame:
    """One epoch of LASVM over LIBSVM in the same runs: the interval in parentheses, then the paper's ratio"""
    columns = {"error, points more": texts(errors(compared(results), ONE, LIBSVM))}
    columns |= {title: texts(ours, paper) for title, (ours, paper) in over_libsvm(results).items()}
    return pd.DataFrame(columns).rename_axis("set")


def drawn(results: Results) -> Any:
    """Draw what `over_libsvm` returns, ours with its intervals, and the paper's."""
    comparisons = over_libsvm(results)
    names = list(dict.fromkeys(estimate.name for ours, _ in comparisons.values() for estimate in ours))
    if not names:
        return None
    figure, panels = grid(len(comparisons), height=0.5 + 0.32 * len(names))
    handles = {}
    for axes, (title, (ours, paper)) in zip(panels, comparisons.items(), strict=True):
        ends = [(each.low, each.high) if each.has_interval else (each.value, each.value) for each in ours]
        spread = np.abs([np.subtract(end, each.value) for end, each in zip(ends, ours, strict=True)]).reshape(-1, 2).T
        at, printed = [names.index(estimate.name) for estimate in ours], [name for name in names if name in paper]
        values = [estimate.value for estimate in ours]
        handles["here, with its interval"] = axes.errorbar(values, at, xerr=spread, fmt="o", ms=5)
        rows = [names.index(name) for name in printed]
        (handles["the paper"],) = axes.plot([paper[name] for name in printed], rows, "D", c="#444444", fillstyle="none")
        axes.axvline(1.0, color="#222222", linewidth=0.8)
        axes.set(title=title, xscale="log", ylim=(len(names) - 0.5, -0.5))
        axes.set_yticks(range(len(names)), names if axes is panels[0] else [])
    legend(plain(figure), handles)
    return figure


def figure8(results: Results) -> pd.DataFrame:
    """Figure 8: error, support vectors, kernel values and time"""
    names = ("error", "sd", "support_vectors", "kernel_values_M", "seconds", "gap")
    runs = _counted(results.runs("figure8")).sort_values("set", kind="stable")
    table = _table(runs, ["set", "solver"], names, _printed(results, "figure8"))
    return table.assign(protocol=grouped(runs, ["set", "solver"], sort=False)["protocol"].first())


def settings(results: Results) -> pd.DataFrame:
    """Which scaling and width give the paper's numbers, the nearest first: means of |ln(ours / printed)|"""
    digits = results.runs("figure4", solver=EXACT)
    digits = digits[digits["set"].str.startswith("mnist-gamma")]
    width = digits["set"].str.extract(r"gamma-(.*)")[0].astype(float)
    runs = pd.concat(
        [results.runs("settings"), digits.assign(set="mnist: pixels in [0, 1]", gamma=width, n_train=60_000)]
    )
    if runs.empty:
        return pd.DataFrame()
    runs[["set", "features"]] = runs["set"].str.split(": ", n=1, expand=True)
    runs["kernel_values_M"] = 1e-6 * runs["kernel_evaluations"].where(runs["solver"] == EACH)
    paper = _printed(results, "figure8", "figure4").replace({"solver": {COUNTED: EXACT, LIBSVM: EXACT, ONE: EACH}})
    paper = paper.pivot_table(index=["set", "solver"], columns="quantity", values="value").reset_index()
    paper = paper[paper["set"].isin(runs["set"])].assign(features="", gamma=0.0, n_train=0)
    index, quantities = ["set", "features", "gamma", "n_train"], ["error", "support_vectors", "kernel_values_M"]
    grouped(runs, [*index, "solver"])
    table = pd.concat([paper, runs]).pivot_table(index=index, columns="solver", values=quantities)
    theirs = table.xs("", level="features").droplevel([1, 2]).loc[table.index.get_level_values("set")]
    distance = np.log(table / theirs.to_numpy()).abs().mean(axis=1).to_numpy()
    table = table.reset_index()
    words = {EXACT: "LIBSVM", EACH: "LASVM"}
    table.columns = [f"{words[solver]}: {name.replace('_', ' ')}" if solver else name for name, solver in table.columns]
    whole = table["n_train"] > 0.9 * table.groupby("set")["n_train"].transform("max")
    cells = zip(table["set"], table["features"], table["gamma"], strict=True)
    table["used here"] = [USED.get(name, "") if (words, gamma) in SCALED else "" for name, words, gamma in cells]
    table.loc[table["n_train"] == 0, ["features", "gamma", "n_train"]] = "(the paper)", np.nan, np.nan
    table["distance"] = np.where(whole | table["n_train"].isna(), distance, np.nan)
    return table.sort_values(["set", "distance"]).set_index("set")


def changes(results: Results) -> pd.DataFrame:
    """Return by how many percent the finishing step changes error, support vectors and time: the means of the same runs."""
    percentages = {}
    for quantity in ("error", "support_vectors", "cpu"):
        both = pairs(results.runs("figure9"), PRINTED, ONLINE, quantity).groupby("set", sort=False)
        share = both[f"{quantity}_x"].mean() / both[f"{quantity}_y"].mean()
        percentages[f"{quantity.replace('cpu', 'seconds')}_change"] = 100.0 * (share - 1.0)
    return pd.DataFrame(percentages)


def figure9(results: Results) -> pd.DataFrame:
    """Figure 9: what the finishing step changes, in percent of what was before it"""
    ours = changes(results)
    columns = {name: Quantity(f"{name.replace('_', ' ')}, %", name, form="+.0f") for name in ours}
    table = with_published(ours.reset_index(), _printed(results, "figure9"), ["set"], columns, over=())
    return table.assign(runs=grouped(results.runs("figure9", solver=PRINTED), "set").size())


def figure10(results: Results) -> pd.DataFrame:
    """Figure 10: banana, REPROCESS repeated until delta < delta_max"""
    return _table(pictures.deltas(results), ["way", "delta_max"], ("error", "seconds", "support_vectors"))


def figure4(results: Results) -> pd.DataFrame:
    """Figure 4: the ten classifiers of MNIST decide together; seconds of all ten"""
    runs = results.runs("figure4", set=["mnist", "mnist-of-10000"])
    return _table(runs, ["set", "solver"], ("error", "seconds"), _printed(results, "figure4"))


def numbers(results: Results) -> dict[str, Any]:
    """Return the errors of figure 4 with all images, the paper's in parentheses, draws and seeds, and how far RANDOM went."""
    columns = figure4(results).get("error %", pd.Series(dtype=str))
    texts = {solver: text for (name, solver), text in columns.items() if name == "mnist"}
    together = "; ".join(f"{name} {texts[solver]}" for solver, name in pictures.NAMES.items() if solver in texts)
    runs = (
        results.every.query("solver != @LIBSVM")
        .groupby(["figure", "solver"])
        .size()
        .groupby("figure")
        .agg(["min", "max"])
    )
    draws = {name: f"{least} to {most}" if least < most else most for name, least, most in runs.itertuples()}
    noisy = pictures.selected(results, ["figure14"]).query("criterion == 'RANDOM'")
    noisy = grouped(noisy, ["set", "solver"])["visited"].mean().max()
    return {"together": together, "draws": draws, "noisy": f"{noisy:,.0f}"}


def digits(results: Results) -> pd.DataFrame:
    """Figures 1, 2, 3 and 5: the classifiers one by one"""
    return _table(pictures.by_digit(results), ["set", "solver"], ("error", "support_vectors", "seconds"))


def figure6(results: Results) -> pd.DataFrame:
    """Figure 6: time over LIBSVM's with the largest cache, geometric means over the digits"""
    runs = pictures.cached(results).rename(columns={"ratio": "time"})
    mean = {"time": lambda values: np.exp(np.log(values).mean()), "set": "nunique"}
    return runs.groupby(["name", "cache_mb"]).agg(mean).rename(columns={"set": "digits"})


def selected(results: Results) -> pd.DataFrame:
    """Figures 11 to 15: examples chosen by a criterion, stopped at a number of support vectors, then finished"""
    runs = _counted(pictures.selected(results, ["figure11", "figure13", "figure14", "figure15"]))
    return _table(runs, ["set", "solver"], ("visited", "support_vectors", "error", "sd", "seconds", "kernel_values_M"))


def below(results: Results, solver: str) -> list[Estimate]:
    """Return how far the dual is below LIBSVM's, relative, for each set."""
    both = pairs(results.runs(["figure8", "epochs"]), solver, LIBSVM, "dual").groupby("set", sort=False)
    return within(mean_of(str(name), 1.0 - group["dual_x"] / group["dual_y"], ".1e") for name, group in both)


def epochs(results: Results) -> pd.DataFrame:
    """How far the dual is below LIBSVM's after one, two and five epochs, relative; section 3.3"""
    solvers = {"x1": ONE, "x2": plan.TWO, "x5": plan.FIVE}
    return pd.DataFrame({name: texts(below(results, solver)) for name, solver in solvers.items()}).rename_axis("set")


def scaling(results: Results) -> pd.DataFrame:
    """Section 3.2: one epoch with its finishing step on more and more points; |S| when the online iterations end"""
    return _table(pictures.sizes(results), ["family", "n_train"], ("members", "seconds", "each"))


def derived(results: Results) -> pd.DataFrame:
    """Return what figure 9 and section 4.4 print and no run has by itself."""
    changed = changes(results).rename_axis("set").reset_index().melt("set", var_name="quantity").assign(solver=PRINTED)
    runs = pictures.selected(results, ["figure11"])
    by_criterion = grouped(runs, ["criterion", "solver"])[["support_vectors", "error"]].mean().reset_index()
    level = by_criterion.loc[by_criterion["criterion"] == "LIBSVM", "error"].min()
    good = by_criterion[(by_criterion["criterion"] == "AUTOACTIVE") & (by_criterion["error"] <= level)]
    reached = {"set": "adult-split", "solver": "lasvm[selection=autoactive]", "quantity": "support_vectors_at_libsvm"}
    values = pd.concat([changed, pd.DataFrame([{**reached, "value": good["support_vectors"].min()}])])
    protocols = results.runs(["figure9", "figure11"]).groupby("set")["protocol"].first()
    return values.assign(protocol=values["set"].map(protocols)).dropna(subset=["value"])


# -- claims ------------------------------------------------------------------------------------------------


def estimates(runs: pd.DataFrame, first: str, second: str, quantity: str, **criterion: Any) -> list[Estimate]:
    """Return the difference of two solvers' errors, or the ratio of another quantity, with its criterion, for each set."""
    return within((differences if quantity == "error" else ratios)(runs, first, second, quantity), **criterion)


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim."""
    runs, finishing = compared(results), results.runs("figure9")
    adult, eight = (pictures.selected(results, figures) for figures in (["figure11"], ["figure13", "figure14"]))
    mnist = runs["set"].str.startswith("mnist")
    cached = results.runs("figure6").assign(set="digits, 10,000 images")
    delta = pd.concat([results.runs("figure10"), results.runs("figure8", set="banana", solver=LIBSVM)])
    noisy = finishing["set"].isin(["banana", "adult", "usps-n"])
    clean = finishing["set"].isin(["waveform", "reuters", "usps"])
    of_mnist = np.where(eight["solver"] == LIBSVM, eight["set"] == "mnist-8", eight["set"] == "mnist-8-noise")
    # LIBSVM is run on clean labels, the others on flipped ones
    draw = eight["dataset"].str.extract(r"noise_seed=(\d+)")[0].fillna("0").astype(int)
    flipped = eight.assign(seed=draw, set="mnist-8, 10 % flipped", dataset="")[of_mnist.astype(bool)]

    def by_delta(way: str, values: Sequence[float], compare: Any) -> list[Estimate]:
        return [replace(one, name=f"{d:g}") for d in values for one in compare(delta, plan.with_delta(way, d), LIBSVM)]

    return {
        "x1": errors(runs, ONE, LIBSVM),
        "x2": errors(runs, plan.TWO, LIBSVM),
        "x5": within(below(results, plan.FIVE), most=1e-3),
        "support": estimates(runs, ONE, LIBSVM, "support_vectors", most=1.0),
        "kernel": estimates(runs, ONE, COUNTED, "kernel_evaluations", most=1.0, aspect="LASVM of this project")
        + estimates(runs, EACH, COUNTED, "kernel_evaluations", most=1.0, aspect="as printed, one example at a time"),
        "mnist": estimates(runs[mnist], ONE, LIBSVM, "cpu", most=1 / 3),
        "time": within(times(runs[~mnist]), most=1.0),
        "perceptron": estimates(runs, plan.AVERAGED, LIBSVM, "error", least=0.0, aspect="error of one epoch")
        + estimates(runs, plan.AVERAGED_TEN, ONE, "cpu", least=1.0, aspect="time of ten"),
        "memory": estimates(cached, f"{ONE}[cache_mb=8]", f"{LIBSVM}[cache_mb=1024]", "cpu", most=1.0),
        "growth": growth(results),
        "finishing": estimates(finishing[noisy], PRINTED, ONLINE, "error", most=0.0, aspect="points of error")
        + estimates(finishing[clean], PRINTED, ONLINE, "support_vectors", least=0.95, aspect="SV, after over before"),
        "repeated": by_delta("epochs=2,", plan.DELTAS, errors),
        "small": within(by_delta("", plan.DELTAS[-4:], partial(differences, quantity="error")), least=0.0),
        "active": [
            replace(estimate, name=f"{name.upper()}, {stop:,}") for name in ("active", "autoactive") for stop in (5000, 7500)
            for estimate in estimates(adult, stopped_at(name, stop), LIBSVM, "error", most=0.0)
        ],
        "auto": estimates(adult, stopped_at("autoactive", 2500), LIBSVM, "error", most=0.0, aspect="points of error")
        + estimates(adult, stopped_at("autoactive", 2500), ONE, "cpu", most=1 / 15, aspect="time"),
        "gradient": [
            estimate for chosen, stop in ((adult, 2500), (flipped, 2400))
            for estimate in estimates(chosen, stopped_at("gradient", stop), stopped_at("random", stop), "error", least=0.25)
        ],
        "clean": first_as_good(eight),
        "noise": errors(flipped, stopped_at("active", 3200), LIBSVM),
    }  # fmt: skip


def growth(results: Results) -> list[Estimate]:
    """Return by how much the power of n in the time is above that in n |S|, for each family of sets; a fit for each draw."""
    runs = pictures.sizes(results)
    runs = runs[runs["n_train"] >= 5000].assign(draw=runs["dataset"].str.extract(r"seed=(\d+)")[0])
    fits: dict[str, list[float]] = {}
    for (family, _), group in grouped(runs, ["family", "draw"], ["n_train"], ["set", "dataset"], sort=False):
        if group["n_train"].nunique() > 2:
            time, product = np.polyfit(np.log(group["n_train"]), np.log(group[["cpu", "product"]]), 1)[0]
            fits.setdefault(str(family), []).append(time - product)
    return within((mean_of(family, powers) for family, powers in fits.items()), most=0.0)


def first_as_good(runs: pd.DataFrame) -> list[Estimate]:
    """Return the time at which a criterion has the error of a whole RANDOM epoch over that epoch's time: the mean over the seeds."""
    runs = runs[runs["set"] == "mnist-8"]
    grouped(runs, ["solver", "session", "seed"], over=())
    whole = runs.loc[runs["solver"] == ONE, ["session", "seed", "error", "cpu"]]
    curve = runs.merge(whole, on=["session", "seed"], suffixes=("", "_whole"))
    curve = curve[curve["criterion"].isin(["GRADIENT", "ACTIVE"]) & (curve["error"] <= curve["error_whole"])]
    first = curve.sort_values("support_vectors").drop_duplicates(["criterion", "session", "seed"])
    groups = (first["cpu"] / first["cpu_whole"]).groupby(first["criterion"])
    return within((geometric(str(name), values) for name, values in groups), most=1.25)


STUDY = Study(
    name="lasvm-2005", title="Bordes, Ertekin, Weston, Bottou, Fast Kernel Classifiers with Online and Active Learning (2005)",
    plan=plan.plan, measurements={"figure4": plan.combined_errors},
    tables={
        "against": against, "figure8": figure8, "settings": settings, "figure4": figure4, "digits": digits, "epochs": epochs,
        "figure6": figure6, "scaling": scaling, "figure9": figure9, "figure10": figure10, "selected": selected,
    },
    pictures={"figure8": drawn, **pictures.PICTURES}, estimates=claims, numbers=numbers, derived=derived,
    plugins=("plugin.py", "libsvm_counted.py"), printed=PRINTED_AS,
)  # fmt: skip
