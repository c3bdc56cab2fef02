"""Kumar, Yildirim 2009: rates, core sets and bounds of Algorithm 1 and its rivals, and peers to the same certified gap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from harness_fw import core_set_bound, iteration_bound

from reports.frank_wolfe_2009.plugin import least_core_set
from reports.kit.estimates import Estimate, exact, geometric, within
from reports.kit.pictures import COLOURS, lines
from reports.kit.results import Results
from reports.kit.rows import grouped, pivoted
from reports.kit.settings import SETTINGS
from reports.kit.study import Block, Study

SOLVERS = ("fw", "gilbert", "fw-pairwise", "mdm", "nearest-point", "fw-fully-corrective", "cvm")
"""Each is of a paper; fw is Algorithm 1 of this one."""
CORE_SETS = ("fw", "gilbert", "fw-fully-corrective", "cvm")
LINEAR_RATE = ("fw", "fw-pairwise", "mdm", "nearest-point")
NEWTON, SMO, BLOCK, LEMMA = "fw-newton", "smo-uncapped", "smo-block", "decrease"  # fw-newton is of no paper
LINEAR_PEERS = tuple(
    f"linear-svc[tol={tol},scaling={scaling}]" for scaling in (10, 100) for tol in ("1e-4", "1e-6", "1e-8")
)
"""LinearSVC does not know the gap: the fastest of these that has it counts."""
COLOUR = dict(zip((*SOLVERS, NEWTON), COLOURS, strict=False))
GAP, SPARSE, LINEAR = 1e-3, 0.1, 2.0  # of peers; share of the points; times the iterations for the last factor of ten


@dataclass(frozen=True)
class Hulls:
    """A pair of hulls.

    least, per_decade, seconds : of the ladder of accuracies: the smallest, how many, CPU time for all; 0: there is none
    rates, peers, margins : whether in the table of rates; seeds of the runs against peers; whether in the lemma and the margins
    """

    selection: str
    formulation: str = "l2-svc"
    kernel: str = "rbf"
    C: float | None = None
    gamma: float | None = None
    least: float = 1e-4
    per_decade: int = 1
    seconds: float = 6.0
    rates: bool = False
    peers: int = 0
    margins: bool = False
    cache_mb: float = 256.0

    def options(self) -> dict[str, Any]:
        """Return the arguments of `harness.compare` that the hulls fix."""
        values = {name: getattr(self, name) for name in ("formulation", "kernel", "C", "gamma", "cache_mb")}
        return {"datasets": [self.selection], **{name: value for name, value in values.items() if value is not None}}

    def ladder(self, solver: str) -> str:
        """Return the selection that brings ``solver`` to one accuracy after another."""
        seconds = "" if self.seconds == Hulls.seconds else f",seconds={self.seconds:g}"
        return f"ladder[oracle={solver},least={self.least:g},per_decade={self.per_decade}{seconds}]"


_FINE = {"least": 1e-10, "per_decade": 2, "rates": True, "margins": True}
_COVTYPE = "covtype[n={n},n_test=1000,scale=standard]"
PROBLEMS = {
    "wdbc": Hulls("wdbc", peers=5, **_FINE),
    "australian": Hulls("australian", peers=5, **_FINE),
    "mushrooms-like": Hulls("mushrooms-like", "hard-margin", "linear", **_FINE),
    "wdbc-linear": Hulls("wdbc", kernel="linear", C=1.0, peers=5, **_FINE),
    "simplices": Hulls("simplices", "hard-margin", "linear", per_decade=2, margins=True),
    "usps": Hulls("usps", least=1e-8, seconds=15.0, rates=True, peers=10, margins=True),
    "usps-separable": Hulls("usps", "hard-margin", least=1e-6, seconds=15.0, peers=10, margins=True),
    "mnist-8": Hulls("mnist[digit=8,n=10000]", gamma=SETTINGS["mnist-8"].gamma, seconds=40.0, peers=1, margins=True),
    "adult-linear": Hulls("adult-split[n=10000]", kernel="linear", C=1.0, seconds=20.0, peers=1),
    "adult": Hulls("adult-split[n=10000]", seconds=60.0, cache_mb=1024.0),
    "covtype-linear": Hulls(_COVTYPE.format(n=20000), kernel="linear", C=1.0, seconds=20.0, peers=1),
    "covtype": Hulls(_COVTYPE.format(n=5000), seconds=40.0),
}
QUICK = {"wdbc": Hulls("breast-cancer", least=1e-6, seconds=2.0, rates=True, margins=True, peers=1), "simplices": Hulls(
    "simplices[m=100]", "hard-margin", "linear", least=1e-3, seconds=2.0)}  # fmt: skip
LARGE = (10_000, 100_000, 500_000)


def plan(quick: bool) -> list[Block]:
    """Return the ladders, Lemma 3.1, the margins of core sets, the peers, and checkerboards of many points."""
    blocks: list[Block] = []
    for name, hulls in (QUICK if quick else PROBLEMS).items():
        base = {"set": name, "time_limit": 200.0, **hulls.options()}
        if hulls.seconds:
            solvers = (SOLVERS[0], SOLVERS[1], SOLVERS[5]) if quick else SOLVERS
            blocks.append({**base, "figure": "ladder", "plugins": [hulls.ladder(solver) for solver in solvers]})
        if hulls.margins and not quick:
            how = f"least=0.0001,per_decade=2,seconds={hulls.seconds:g}"
            sets = [f"core-sets[oracle={solver},{how}]" for solver in CORE_SETS]
            blocks.append({**base, "figure": "margins", "plugins": sets})
        if hulls.margins:
            blocks.append({**base, "figure": "lemma", "plugins": [LEMMA]})
        limits = (
            {(NEWTON, *LINEAR_PEERS): 200.0, SOLVERS: 20.0}
            if hulls.kernel == "linear"
            else {(*SOLVERS, SMO, BLOCK): 60.0}
        )
        for solvers, limit in limits.items() if hulls.peers and not quick else ():
            base |= {"time_limit": limit, "target_gap": GAP, "seeds": list(range(hulls.peers))}
            blocks.append({**base, "figure": "peers", "plugins": list(solvers)})
    for n in () if quick else LARGE:
        base = {"figure": "large", "set": f"checkerboard, {n:,}", "datasets": [f"checkerboard[n={n},n_test=1000]"]}
        how = {"target_gap": 2e-3, "time_limit": 120.0, "formulation": "l2-svc"}
        blocks.append({**base, **how, "plugins": ["fw", "fw-fully-corrective", NEWTON]})
    return blocks


LEVEL = ("epsilon", "iterations", "core_set", "evaluations", "cpu", "margin_low", "margin_high")


def levels(results: Results, figure: str = "ladder") -> pd.DataFrame:
    """Return the accuracies that each solver reached and what each took, the largest epsilon first; ``solver``: the oracle."""
    entries = results.course([f"info.levels.{name}" for name in LEVEL], figure)
    entries = entries.rename(columns={f"info.levels.{name}": name for name in LEVEL}).dropna(subset=["epsilon"])
    entries["solver"] = entries["solver"].str.extract(r"oracle=([a-z-]+)")[0]
    grouped(entries.drop_duplicates("run"), ["set", "solver"], over=())
    return entries.assign(n=entries["run"].map(results.every.set_index("run")["n_train"]))


def geometry(results: Results) -> pd.DataFrame:
    """The problems: delta (19) over Psi* (zeta), Gaertner and Jaggi's measure sigma, the margin; Psi* of the best certified run"""
    runs = results.runs("ladder", status=None)
    runs = runs[(runs.get("info.delta", 0.0) > 0.0) & (runs["primal"] > 0.0)].dropna(subset=["relative_gap"])
    best = runs.loc[grouped(runs, "set", ["solver"], sort=False)["relative_gap"].idxmin()].set_index("set")
    zeta = best["info.delta"] / best["primal"]
    columns = {"formulation": best["formulation"], "n": best["n_train"], "d": best["n_features"], "delta": best["info.delta"],
             "psi": best["primal"], "zeta": zeta, "sigma, least": (np.sqrt(best["info.delta"] / best["dual"]) - 1.0) ** 2,
             "sigma, most": zeta - 1.0,
             "margin": np.sqrt(2.0 * best["primal"])}  # fmt: skip
    return pd.DataFrame(columns)


def rates(results: Results) -> pd.DataFrame:
    """Iterations to each epsilon, and times as many for the last factor of ten: near 1 is a linear rate, 10 is one of 1 / epsilon"""
    reached = levels(results)
    rated = [name for name, hulls in PROBLEMS.items() if hulls.rates]
    decades = reached[reached["set"].isin(rated) & np.isclose(np.log10(reached["epsilon"]) % 2.0, 0.0, atol=1e-6)]
    wide = pivoted(decades, ["set", "solver"], "epsilon", "iterations", sort=False)
    wide = wide[sorted(wide.columns, reverse=True)].rename(columns=lambda epsilon: f"{epsilon:.0e}")
    return wide.assign(**{"least reached": reached.groupby(["set", "solver"])["epsilon"].min().map("{:.0e}".format),
                          "last factor of ten": last_factors(results)})  # fmt: skip


def last_factors(results: Results) -> pd.Series:
    """Return, by set and solver, the iterations to the smallest epsilon reached over those to ten times that."""
    rows = {}
    for key, group in levels(results).groupby(["set", "solver"], sort=False):
        last = group.loc[group["epsilon"].idxmin()]
        before = group[np.isclose(group["epsilon"], 10.0 * last["epsilon"], rtol=1e-6, atol=0.0)]
        if len(before):
            rows[key] = last["iterations"] / before["iterations"].iloc[0]
    return pd.Series(rows, dtype=float).rename_axis(["set", "solver"]) if rows else pd.Series(dtype=float)


def linear_fits(reached: pd.DataFrame) -> pd.Series:
    """Return, by set and solver, how far iterations are from a + b log(1 / epsilon) over how far from a + b log^2(1 / epsilon).

    From epsilon = 0.01 on; with fewer than four levels there is none.
    """
    rows = {}
    for key, group in reached[reached["epsilon"] <= 0.01 * (1 + 1e-6)].groupby(["set", "solver"], sort=False):
        levels_, iterations_ = -np.log(group["epsilon"].to_numpy()), group["iterations"].to_numpy(float)
        if len(group) > 3:
            line, parabola = (np.polyfit(x, iterations_, 1, full=True)[1][0] for x in (levels_, levels_**2))
            rows[key] = math.sqrt(line / parabola)
    return pd.Series(rows, dtype=float)


def _at(reached: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    return reached[np.isclose(reached["epsilon"], epsilon, rtol=1e-6, atol=0.0)]


def moderate(results: Results) -> pd.DataFrame:
    """What epsilon = 1e-3 takes: iterations, rows of the kernel matrix, core set, CPU seconds; empty: not within the time"""
    reached = _at(levels(results), 1e-3)
    reached = reached.assign(rows=reached["evaluations"] / reached["n"])
    wide = pivoted(reached, ["set"], "solver", ["iterations", "rows", "core_set", "cpu"], sort=False)
    order = [solver for solver in SOLVERS if solver in set(reached["solver"])]
    return wide.stack(0).rename_axis(["set", "what"]).reindex(columns=order)


def bounds(results: Results) -> pd.DataFrame:
    """Iterations and core set of fw beside Theorem 3.1 (29) and Theorem 3.3, and the lower bound of the worst case"""
    reached = levels(results)
    reached = reached[(reached["solver"] == "fw") & reached["epsilon"].isin([0.1, 0.01, 0.001])]
    reached = reached.merge(geometry(results)[["delta", "psi", "sigma, least"]], on="set")
    arguments = reached[["delta", "psi", "epsilon"]].to_numpy()
    worst = "sigma / (2 epsilon) + 2"
    reached[worst] = reached["sigma, least"] / (2.0 * reached["epsilon"]) + 2.0
    reached["Theorem 3.1"] = [iteration_bound(*row) for row in arguments]
    reached["Theorem 3.3"] = [core_set_bound(*row) for row in arguments]
    return reached[["set", "n", "epsilon", "iterations", "Theorem 3.1", "core_set", worst, "Theorem 3.3"]]


def margin_losses(results: Results) -> pd.DataFrame:
    """Return of each core set its size and what it loses at most: 1 - margin(all) / margin(core set)."""
    core_sets = levels(results, "margins").dropna(subset=["margin_low"])
    low = results.course(["info.margin"], "margins", point=0).set_index("run")["info.margin"]
    return core_sets.assign(most=(1.0 - core_sets["run"].map(low) / core_sets["margin_high"]).clip(lower=0.0))


def margins(results: Results) -> pd.DataFrame:
    """What core sets lose of the margin at most (Theorem 3.3 promises epsilon), with their sizes in parentheses"""
    losses = margin_losses(results)
    losses = losses[np.isclose(np.log10(losses["epsilon"]) % 1.0, 0.0, atol=1e-6)]
    if losses.empty:
        return losses
    losses["text"] = losses["most"].map("{:.1e}".format) + " (" + losses["core_set"].map("{:,.0f}".format) + ")"
    return pivoted(losses, ["set", "epsilon"], "solver", "text", aggfunc="first", sort=False).fillna("")


def simplices(results: Results) -> pd.DataFrame:
    """Two regular simplices, whose least core set is known, and the core sets of the solvers"""
    reached = levels(results)
    reached = reached[reached["set"] == "simplices"]
    wide = pivoted(reached, ["epsilon"], "solver", "core_set").sort_index(ascending=False)
    if len(wide):
        corners = int(reached["n"].max()) // 2
        wide.insert(0, "least", [least_core_set(corners, 0.5, epsilon) for epsilon in wide.index])
        wide.index = wide.index.map("{:.1e}".format).rename("epsilon")
    return wide


def lemma(results: Results) -> pd.DataFrame:
    """Lemma 3.1: what an add- or decrease-iteration of fw gains over what is promised, and Psi after a drop over that before"""
    runs = results.runs("lemma")
    names = {"info.steps": "iterations", "info.drops": "drops", "info.least": "gain / promise, least", "info.median": "median",
             "info.worst_drop": "drop, at most"}  # fmt: skip
    groups = grouped(runs, "set", over=(), sort=False)[[name for name in names if name in runs]]
    return groups.first().rename(columns=names)


def gap_runs(results: Results) -> pd.DataFrame:
    """Return the runs to the peers' gap that have it; LinearSVC's under its name, whatever their tolerance."""
    runs = results.runs("peers")
    runs = runs[runs["relative_gap"] <= GAP]
    grouped(runs, "set", ["solver", "seed"])
    return runs.assign(solver=runs["solver"].where(~runs["solver"].isin(LINEAR_PEERS), "LinearSVC"))


def peers(results: Results) -> pd.DataFrame:
    """CPU seconds to the same certified gap of 1e-3, medians; empty: not within the time"""
    runs = gap_runs(results)
    if runs.empty:
        return runs
    cpu = runs.groupby(["set", "solver", "seed"])["cpu"].min().groupby(["set", "solver"]).median().unstack()
    core = runs[runs["solver"].isin(["fw-fully-corrective", NEWTON])].groupby("set")
    share = (core["support_vectors"].min() / core["n_train"].first()).rename("core set / n")
    order = [name for name in (*SOLVERS, NEWTON, SMO, BLOCK, "LinearSVC") if name in cpu]
    table = pd.concat([share.map("{:.0%}".format), cpu[order]], axis="columns")
    return table.reindex([name for name in PROBLEMS if name in cpu.index]).rename_axis("set")


def large(results: Results) -> pd.DataFrame:
    """Many points of a checkerboard, to epsilon = 1e-3"""
    runs = results.runs("large", status=None)
    grouped(runs, ["set", "solver"], over=())
    names = {"set": "set", "solver": "solver", "status": "status", "cpu": "CPU s", "support_vectors": "core set",
             "relative_gap": "gap", "kernel_evaluations": "kernel values", "peak_memory": "MB"}  # fmt: skip
    return runs[list(names)].rename(columns=names)


def over_epsilon(results: Results, quantity: str, title: str) -> Any:
    """Draw a quantity over 1 / epsilon."""
    reached = levels(results)
    reached = reached.assign(inverse=1.0 / reached["epsilon"])
    reached = reached[reached.groupby(["set", "solver"])["inverse"].transform("nunique") > 2]
    how = {"style": ".-", "xscale": "log", "yscale": "log", "xlabel": "1 / epsilon", "ylabel": title}
    return lines(reached, "inverse", quantity, colours=COLOUR, **how)


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim: rates, core sets, bounds, and competitiveness."""
    factors = last_factors(results)
    reached, losses = levels(results), margin_losses(results)
    rated = {name for name, hulls in PROBLEMS.items() if hulls.rates}
    fits = linear_fits(reached)

    def of(values: pd.Series, solvers: Sequence[str], **criterion: Any) -> list[Estimate]:
        chosen = [exact(f"{name}, {solver}" if len(solvers) > 1 else str(name), value)
                  for (name, solver), value in values.items() if name in rated and solver in solvers]  # fmt: skip
        return within(chosen, **criterion)

    core = _at(reached, 1e-3).query("solver == 'fw' and set != 'simplices'").set_index("set")
    worst = losses.assign(over=losses["most"] / losses["epsilon"]).groupby("set", sort=False)["over"].max()
    of_bound = [exact(f"{row['set']}, {row['epsilon']:.0e}", row["iterations"] / row["Theorem 3.1"], ".1e")
                for _, row in bounds(results).iterrows()]  # fmt: skip

    def at_most(values: pd.Series, most: float) -> list[Estimate]:
        return within((exact(str(name), value) for name, value in values.items()), most=most)

    return {
        "rate": of(factors, ["fw"], most=LINEAR, aspect="last factor of ten")
        + of(fits, ["fw"], most=1.0, aspect="residuals")
        + of(factors, ["gilbert"], least=LINEAR, aspect="gilbert"),
        "others": of(factors, LINEAR_RATE[1:], most=LINEAR, aspect="last factor of ten")
        + of(fits, LINEAR_RATE[1:], most=1.0, aspect="residuals"),
        "iterations": within(of_bound, most=1.0),
        "margin": at_most(worst, 1.0),
        "sparse": at_most(core["core_set"] / core["n"], SPARSE),
        "competitive": _fastest(results, BLOCK, sparse=True),
        "linear": _fastest(results, "LinearSVC"),
    }


def _fastest(results: Results, peer: str, *, sparse: bool = False) -> list[Estimate]:
    """Return, for each set with small core sets or of linear problems, the ratio of the fastest solver of a paper to a peer."""
    runs = gap_runs(results)
    estimates: list[Estimate | None] = []
    for name, group in runs.groupby("set", sort=False):
        core = group[group["solver"] == "fw-fully-corrective"]
        small = len(core) > 0 and (core["support_vectors"] / core["n_train"]).min() <= SPARSE
        if (sparse and not small) or peer not in set(group["solver"]):
            continue
        theirs = group[group["solver"] == peer].groupby(["session", "seed"])["cpu"].min()
        ours = group[group["solver"].isin(SOLVERS)]
        if ours.empty:
            estimates.append(exact(f"{name}, no solver of a paper reaches the gap", np.inf))
            continue
        best = ours.groupby("solver")["cpu"].median().idxmin()
        pair = (ours[ours["solver"] == best].groupby(["session", "seed"])["cpu"].min() / theirs).dropna()
        estimates.append(geometric(f"{name}, {best}", pair, timed=True))
    return within(estimates, most=1.0)


def numbers(results: Results) -> Mapping[str, Any]:
    """Return how the core set of the simplices compares with the least."""
    table = simplices(results)
    if "fw-fully-corrective" not in table:
        return {"simplices": ""}
    ratio = table["fw-fully-corrective"] / table["least"]
    return {"simplices": f"{ratio.min():.2g} to {ratio.max():.2g}"}


STUDY = Study(
    name="frank-wolfe-2009",
    title="Kumar, Yildirim, A Linearly Convergent Linear-Time First-Order Algorithm for Support Vector Classification (2009)",
    plan=plan,
    tables={
        "peers": peers, "moderate": moderate, "rates": rates, "bounds": bounds, "margins": margins, "simplices": simplices,
        "lemma": lemma, "large": large, "geometry": geometry,
    },
    pictures={
        "iterations": partial(over_epsilon, quantity="iterations", title="iterations"),
        "core_set": partial(over_epsilon, quantity="core_set", title="points in the core set"),
    },
    estimates=claims, numbers=numbers, plugins=("plugin.py",),
)  # fmt: skip
