"""Ertekin, Bottou, Giles, Ignorance is Bliss: Tables 1 and 3 and figures 1, 2 and 4 to 8."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness import Status
from reports.kit.estimates import Estimate, differences, errors, ratios, within
from reports.kit.page import with_published
from reports.kit.pictures import COLOURS, dots, lines
from reports.kit.results import QUANTITIES, Quantity, Results, select
from reports.kit.rows import IDENTITY, grouped, newest, pivoted
from reports.kit.settings import SETTINGS
from reports.kit.study import Block, Study

FULL, G, NC, I = SOLVERS = ("full-svm", "lasvm-g", "lasvm-nc", "lasvm-i")  # noqa: E741  the paper's letters
PRINTED = "lasvm[second_order_from=none,finisher=none]"  # figure 2: of 2005, as printed
ONLINE = "lasvm[second_order_from=none,finishing=False]"
NOISY = ("adult", "banana", "usps-n")
COLOUR = dict(zip((*SOLVERS, ONLINE), ("#444444", *COLOURS[:3], COLOURS[3]), strict=True))
BENDS = (-3.0, -2.0, -1.5, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75)  # s of figure 5; Table 3 has -1
SHARES = (64, 32, 16, 8, 4, 2)  # parts of the training points after which figures 2 and 4 look at the model
HOW = {"formulation": "c-svc-nobias,ramp-svc", "metrics": "prbep,roc-auc,g-means"}
RUNS = 10  # of the paper

SETS = {
    name: replace(SETTINGS[name], C=C, gamma=gamma)
    for name, C, gamma in (
        ("adult", 100.0, 0.005), ("mnist-8", 100.0, 0.001), ("banana", 10.0, 1.0), ("reuters", 1.0, 0.5),
        ("usps", 1.0, 2 / 256), ("usps-n", 1.0, 2 / 256),
    )
}  # fmt: skip
"""Table 2's sets, with its C and gamma."""
N = {"adult": 32_561, "mnist-8": 60_000, "banana": 4000, "reuters": 7770, "usps": 7329, "usps-n": 7329}


def part_of(name: str, n: int) -> Any:
    """Return ``n`` training points of a set, other ones in each repetition, and all of its test points.

    An online solver's model after these is that of an epoch over more points at this place: no later example has had an influence.
    """
    data = SETS[name]
    return replace(data, name=f"{name}, {n} examples", selection=f"subset[of={data.selection},n={n},seed={{k}}]")


def plan(quick: bool) -> list[Block]:
    """Return the runs of Tables 1 and 3 and figures 2, 4 and 5; the traces and times of Table 3's are figures 1 and 6 to 8."""
    if quick:
        small = [replace(SETS[name].small(), gamma=gamma) for name, gamma in (("banana", 1.0), ("usps-n", 0.05))]
        bent = [f"{solver}[s={s:g}]" for solver in (NC, I) for s in (-3.0, 0.5)]
        runs = [block for setting in small for block in setting.blocks("table3", SOLVERS, 2, traced=True, **HOW)]
        return [*runs, *small[0].blocks("figure5", bent, 1, **HOW)]
    blocks: list[Block] = []
    bent = [f"{solver}[s={s:g}]" for solver in (NC, I) for s in BENDS]
    for name, data in SETS.items():
        few = {"mnist-8": 1, "banana": RUNS}.get(name, 3)
        blocks += data.blocks("table3", SOLVERS, RUNS, runs=RUNS, traced=True, **HOW)
        blocks += data.blocks("figure5", bent, few, runs=RUNS, **HOW)
        for share in SHARES:
            blocks += part_of(name, N[name] // share).blocks("figure4", SOLVERS, few, runs=RUNS, **HOW)
    online = {**HOW, "formulation": "c-svc,c-svc-nobias"}
    blocks += SETS["adult"].blocks("figure2", [ONLINE, PRINTED], 3, **online)
    for share in SHARES:
        blocks += part_of("adult", N["adult"] // share).blocks("figure2", [ONLINE, G], 3, **online)
    recorders = [f"admissions[oracle={solver}]" for solver in (FULL, G)]
    return [*blocks, *SETS["adult"].blocks("table1", recorders, 1, **HOW)]


RAMP = {
    "support_vectors": "SV", "non_support": "others in S", "admitted": "admitted", "admitted_left": "admitted with y f < -1",
    "admitted_right": "admitted with y f > 1", "cleaned_left": "removed, y f was < -1", "cleaned_right": "removed, y f was > 1",
}  # fmt: skip


PRINTED_AS = {
    **{name: Quantity(title, f"info.{name}", form=",.0f") for name, title in RAMP.items()}, **QUANTITIES,
    "auc": Quantity("AUC", "metrics.roc-auc", form=".3f"),
}  # fmt: skip


def table3(results: Results) -> pd.DataFrame:
    """Table 3: the four solvers after one epoch, s = -1; figure 8 is its last column."""
    names = ("accuracy", "prbep", "auc", "g_means", "support_vectors", "kernel_values_M", "seconds")
    return _table(results, "table3", names)


def differing(results: Results) -> pd.DataFrame:
    """Where Table 3 differs: accuracies by more than 0.3 points, counts by more than a quarter."""
    covered = results.coverage().query(
        "figure == 'table3' and quantity in ['accuracy', 'support_vectors', 'kernel_values_M']"
    )
    covered = covered.dropna(subset=["ours"]).assign(times=lambda rows: rows["ours"] / rows["value"])
    points, off = (covered["ours"] - covered["value"]).abs(), (covered["times"] - 1.0).abs()
    far = np.where(covered["quantity"] == "accuracy", points > 0.3, off > 0.25)
    selected = covered.loc[far, ["set", "solver", "quantity", "ours", "value", "times"]]
    return selected.rename(columns={"value": "published", "times": "ours / published"})


def table1(results: Results) -> pd.DataFrame:
    """Table 1: where the examples of adult lay on the ramp when their turn came, and which were removed."""
    return _table(results, "table1", RAMP)


def _table(results: Results, figure: str, names: Iterable[str]) -> pd.DataFrame:
    columns = {name: PRINTED_AS[name] for name in names}
    return with_published(results.runs(figure), select(results.published, figure=figure), ["set", "solver"], columns)


def bends(results: Results) -> pd.DataFrame:
    """Figure 5 as numbers: error and support vectors for each s."""
    return grouped(_bent(results), ["set", "s", "kind"], sort=False)[["error", "support_vectors"]].mean().unstack()


def _bent(results: Results) -> pd.DataFrame:
    """Return the runs of the ramp solvers, those of Table 3 too, with ``s`` and the solver without it as ``kind``."""
    runs = results.runs(["figure5", "table3"])
    runs = runs[runs["solver"].str.startswith((NC, I))]
    runs = runs[runs["set"].isin(runs.loc[runs["figure"] == "figure5", "set"])]
    s = runs["solver"].str.extract(r"s=([-.\d]+)")[0].astype(float).fillna(-1.0)
    return runs.assign(s=s, kind=runs["solver"].str.split("[").str[0]).sort_values("s", kind="stable")


def during(results: Results) -> pd.DataFrame:
    """Figures 2 and 4 as numbers: error, PRBEP and support vectors after more and more examples."""
    groups = grouped(_during(results), ["of", "solver", "n_train"], sort=False)
    return groups.agg(
        error=("error", "mean"), PRBEP=("metrics.prbep", "mean"), SV=("support_vectors", "mean"), runs=("run", "size")
    )


def _during(results: Results) -> pd.DataFrame:
    """Return the runs on parts of a set, and those on all of it, with the name of the whole set as ``of``."""
    runs = newest(results.runs(["figure2", "figure4", "table3"], solver=[*SOLVERS, ONLINE]).assign(figure=""))
    runs = runs.assign(of=runs["set"].str.split(",").str[0], prbep=100 * runs["metrics.prbep"])
    parts = runs.loc[runs["set"].str.contains(","), "of"].unique()
    return runs[runs["of"].isin(parts)].sort_values("n_train", kind="stable")


def _epoch(results: Results) -> pd.DataFrame:
    """Return the points of the traces of Table 3's first runs: examples, duality gap an example, SV, kernel values."""
    names = ["info.visited", "info.gap", "support_vectors", "kernel_evaluations"]
    points = results.course(names, "table3", status=Status.OK)
    grouped(points.drop_duplicates("run"), ["set", "solver"])
    first = points.groupby(["set", "solver"])["run"].transform("min") == points["run"]
    points = points[first & (points["info.visited"] > 0)]
    return points.assign(gap=points["info.gap"] / points["info.visited"], millions=1e-6 * points["kernel_evaluations"])


def over_examples(quantity: str, title: str, **how: Any) -> Callable[[Results], Any]:
    """Return what draws a quantity over the examples of Table 3's first runs."""

    def draw(results: Results) -> Any:
        return lines(_epoch(results), "info.visited", quantity, colours=COLOUR, xlabel="examples", ylabel=title, **how)

    return draw


def figure4(results: Results) -> Any:
    points = _during(results)
    return lines(points[points["solver"] != ONLINE], "n_train", "prbep", panel="of", colours=COLOUR, style=".-", xscale="log",
                 xlabel="examples", ylabel="PRBEP, %")  # fmt: skip


def figure2(results: Results) -> Any:
    points = _during(results)
    points = points[(points["of"] == "adult") & points["solver"].isin([G, ONLINE])]
    both = points.melt(["run", *IDENTITY, "n_train"], ["error", "support_vectors"], "quantity")
    named = both.replace({"quantity": {"error": "test error, %", "support_vectors": "support vectors"}})
    labels = {ONLINE: "LASVM, before its finishing step", G: "LASVM-G"}
    how = {"colours": COLOUR, "labels": labels, "style": ".-", "xscale": "log", "xlabel": "examples"}
    return lines(named, "n_train", "value", panel="quantity", **how)


def figure5(results: Results) -> Any:
    mean = grouped(_bent(results), ["set", "kind", "s"])[["error", "support_vectors"]].mean().reset_index()
    near = mean[mean["error"] <= 2 * mean.groupby("set")["error"].transform("min")].sort_values("s")
    several = near.groupby("set")["s"].transform("nunique") > 3
    return lines(near[several], "support_vectors", "error", line="kind", colours=COLOUR, style=".-", xlabel="support vectors",
                 over=None, ylabel="test error, %")  # fmt: skip


def figure8(results: Results) -> Any:
    how = {"aggfunc": "median", "sort": False}
    seconds = pivoted(results.runs("table3"), ["set"], "solver", "cpu", ["dataset", "seed"], **how)
    seconds = seconds.reindex(columns=list(SOLVERS))
    return dots(seconds, "CPU seconds, median", colours=[COLOUR[solver] for solver in SOLVERS])


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim."""
    runs = results.runs("table3")
    noisy = runs[runs["set"].isin(NOISY)]
    bent = _bent(results).query("set == 'banana'")
    bent = bent.assign(set=[f"s = {s:g}" for s in bent["s"]], solver=bent["kind"])
    chain = (("i / nc", I, NC), ("nc / g", NC, G), ("g / full", G, FULL))

    def in_order(quantity: str) -> list[Estimate]:
        return [estimate for aspect, one, other in chain
                for estimate in within(ratios(runs, one, other, quantity), most=1.0, aspect=aspect)]  # fmt: skip

    return {
        "support": within(ratios(noisy, NC, FULL, "support_vectors"), most=0.5),
        "accuracy": errors(runs, NC, FULL),
        "kernel": in_order("kernel_evaluations"),
        "time": in_order("cpu"),
        "fewer": within(ratios(runs, NC, I, "support_vectors"), most=1.0),
        "bends": within(differences(bent, NC, I, "error"), most=0.0, aspect="points of error")
        + within(ratios(bent, NC, I, "support_vectors"), most=1.0, aspect="support vectors"),
    }


STUDY = Study(
    name="lasvm-nc", title="Ertekin, Bottou, Giles, Ignorance is Bliss: Non-Convex Online Support Vector Machines (2011)",
    plan=plan, tables={"table3": table3, "differing": differing, "table1": table1, "bends": bends, "during": during},
    pictures={
        "figure1": over_examples("gap", "gap / examples", yscale="log"), "figure2": figure2, "figure4": figure4, "figure5": figure5,
        "figure6": over_examples("support_vectors", "support vectors"), "figure7": over_examples("millions", "kernel values, M"),
        "figure8": figure8,
    },
    estimates=claims, plugins=("plugin.py",), printed=PRINTED_AS,
)  # fmt: skip
