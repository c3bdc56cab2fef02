"""The five lines of work, and what practitioners use, on many sets: parameters chosen by validation, then fresh divisions.

Part ``choice``: each solver searches a grid of its parameters with three folds, on a division that no later part uses.
Part ``divisions``: with the values that it chose each solver runs on further divisions, all solvers in turns on each.
Part ``growth``: time, memory and error over the number of points, up to a million.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from harness import Status
from reports.kit.estimates import Estimate, errors, exact, geometric, ratios, unless_degenerate, within
from reports.kit.page import with_published
from reports.kit.pictures import COLOURS, legend, lines, plt
from reports.kit.results import QUANTITIES, Results
from reports.kit.rows import grouped, pivoted
from reports.kit.study import Block, Study

EXACT, RANDSVM = "smo-block", "randsvm-1[oracle=smo-block]"
LINE = {
    EXACT: "today", "libsvm": "today", "sklearnex": "today", "lasvm": "LASVM 2005", "lasvm[epochs=2]": "LASVM 2005",
    "lasvm-nc": "LASVM-NC 2011", "fw": "Frank-Wolfe 2009", "fw-fully-corrective": "Frank-Wolfe 2009",
    "randsvm[oracle=smo-block]": "random sampling 2008", RANDSVM: "RandSVM 2009", "rgd-tree": "RGD-tree 2015",
    "nystroem": "approximate", "liblinear": "linear", "sgd": "linear",
}  # fmt: skip
"""Solver -> the line of work that it stands for."""
FORMULATION = {"lasvm-nc": "ramp-svc", "fw": "l2-svc", "fw-fully-corrective": "l2-svc", "rgd-tree": "outlier-margin"}
LINEAR = ("liblinear", "sgd")
SAMPLERS = ("randsvm[oracle=smo-block]", RANDSVM)
COSTS, WIDTHS, OUTLIERS = [0.1, 1.0, 10.0, 100.0], (0.25, 1.0, 4.0), [0.05, 0.1, 0.2]
NEAR = 0.5  # points of error within which a solver counts as accurate as the best

SETS = {
    "wdbc": ("wdbc", 1 / 30), "australian": ("australian", 1 / 14), "german": ("german.numer", 1 / 24),
    "svmguide1": ("svmguide1", 1 / 4),
    "spambase": ("spambase", 1 / 57), "musk2": ("musk2", 1 / 165), "letter-a": ("letter", 1 / 16), "satimage": ("satimage", 1 / 36),
    "abalone": ("abalone", 1 / 10), "banana": ("banana", 1 / 2), "waveform": ("waveform", 1 / 21),
    "twonorm-raetsch": ("twonorm-raetsch", 1 / 20), "adult": ("adult", 0.05), "usps-0": ("usps", 2 / 256),
    "mnist-8": ("mnist[n=10000]", 0.02),
    "reuters": ("reuters", 1.0), "covtype": ("covtype[n=20000,n_test=20000]", 1 / 54), "digits-8": ("digits", 0.05),
    "ringnorm": ("ringnorm[n=3000,seed=7]", 1 / 20), "checkerboard": ("checkerboard[n=3000,seed=7]", 4.0),
    "banana-like": ("banana-like[n=3000,spread=0.9,seed=7]", 1 / 2), "waveform-breiman": ("waveform-breiman[n=3000,seed=7]",
    1 / 21),
    "twonorm": ("twonorm[n=3000,seed=7]", 1 / 20),
}  # fmt: skip
"""Set -> the selection that is divided, and the middle of the grid of gamma."""
_AS_THEY_ARE = ("usps-0", "mnist-8", "digits-8", "checkerboard")
QUICK = ("waveform-breiman",)
QUICK_SOLVERS = (EXACT, "libsvm", "lasvm", RANDSVM, "liblinear")
DIVISIONS = 10
GROWTH_LIMIT = 100.0  # [s]


def division(name: str, seed: int, n: int) -> str:
    """Return a division of a set; its seed 0 is the one on which parameters are chosen."""
    scale = ",scale=no" if name in _AS_THEY_ARE else ""
    return f"division[of={SETS[name][0]},n={n}{scale},seed={seed}]"


def _sizes(quick: bool) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    return (QUICK, QUICK_SOLVERS, 300) if quick else (tuple(SETS), tuple(LINE), 1000)


def plan(quick: bool) -> list[Block]:
    """Return the choice of each solver's parameters, and the growth over the number of points."""
    names, solvers, n = _sizes(quick)
    blocks: list[Block] = []
    for name in names:
        middle = SETS[name][1]
        gammas = [middle * width for width in (WIDTHS[1:] if quick else WIDTHS)]
        for formulation in dict.fromkeys(FORMULATION.get(solver, "c-svc") for solver in solvers):
            machines = [
                each for each in solvers if FORMULATION.get(each, "c-svc") == formulation and each not in LINEAR
            ]
            costs = {"outliers": OUTLIERS} if formulation == "outlier-margin" else {"C": COSTS[1:3] if quick else COSTS}
            base = {"figure": "choice", "set": name, "datasets": [division(name, 0, n)], "folds": 3, "time_limit": 20.0}
            path = {**costs, "gamma": gammas}
            blocks.append({**base, "plugins": machines, "formulation": formulation, "path": path})
            if formulation == "c-svc":
                chosen = [solver for solver in LINEAR if solver in solvers]
                blocks.append({**base, "plugins": chosen, "formulation": "c-svc", "kernel": "linear", "path": costs})
    return [*blocks, *growth(quick)]


def growth(quick: bool) -> list[Block]:
    """Return the solvers on more and more points of two drawn sets, 100 s each at most."""
    sizes = (1000, 2000) if quick else (1000, 10_000, 100_000, 1_000_000)
    drawn = {
        name: f"{name}[n={{n}},n_test=10000,{more}seed=3]"
        for name, more in (("checkerboard", ""), ("twonorm", "noise=0.05,"))
    }
    machines = [EXACT, "libsvm"] if quick else [EXACT, "libsvm", "sklearnex", "lasvm", RANDSVM, "nystroem"]
    blocks: list[Block] = []
    for name in list(drawn)[: 1 if quick else 2]:
        datasets = [drawn[name].format(n=n) for n in sizes]
        base = {"figure": "growth", "set": name, "datasets": datasets, "time_limit": GROWTH_LIMIT}
        blocks.append({**base, "plugins": machines, "formulation": "c-svc"})
        if not quick:
            blocks.append({**base, "plugins": ["fw-fully-corrective"], "formulation": "l2-svc"})
        if name == "twonorm":
            blocks.append({**base, "plugins": list(LINEAR), "formulation": "c-svc", "kernel": "linear", "C": 1.0})
    return blocks


def divisions(quick: bool, results: Results) -> list[Block]:
    """Return the runs on further divisions, each solver with the values that it chose in part ``choice``."""
    _, _, n = _sizes(quick)
    blocks: list[Block] = []
    chosen = results.runs("choice")
    for name, group in chosen.groupby("set", sort=False):
        seeds = range(1, (2 if quick else DIVISIONS) + 1)
        base = {
            "figure": "divisions", "set": name, "datasets": [division(str(name), seed, n) for seed in seeds], "time_limit": 5.0,
            "runs": DIVISIONS,
        }  # fmt: skip
        texts = pd.Series([_with(row) for row in group.to_dict("records")], group.index)
        linear = group["solver"].isin(LINEAR)
        formulations = ",".join(dict.fromkeys(group.loc[~linear, "formulation"]))
        blocks.append({**base, "plugins": list(texts[~linear]), "formulation": formulations})
        blocks.append({**base, "plugins": list(texts[linear]), "formulation": "c-svc", "kernel": "linear"})
    return blocks


def _with(row: dict[str, Any]) -> str:
    """Return a solver with the values it chose, each in its brackets."""
    names = {"C": row["C"], "gamma": row["gamma"], "outliers": row.get("choice.outliers")}
    given = ",".join(f"{name}={value:.12g}" for name, value in names.items() if not pd.isna(value))
    solver = row["solver"]
    return f"{solver[:-1]},{given}]" if solver.endswith("]") else f"{solver}[{given}]"


def fits(results: Results, every: bool = False) -> pd.DataFrame:
    """Return the runs on the divisions, of each solver in the formulation in which it chose its values.

    ``solver`` is its name without these values.

    every : whether failed runs are included
    """
    runs = results.runs("divisions", status=None if every else Status.OK)
    plain = runs["solver"].str.replace(r"(?<=[\[,])(C|gamma|outliers)=[^,\]]*,?", "", regex=True)
    runs = runs.assign(solver=plain.str.replace(",]", "]").str.replace("[]", ""))
    # the exact solver was also run on l2-svc, which other solvers chose on the same divisions
    return runs[runs["formulation"] == runs["solver"].map(FORMULATION).fillna("c-svc")]


def error_table(results: Results) -> pd.DataFrame:
    """Test error in percent: the mean over the divisions, and its standard deviation"""
    columns = {"error": QUANTITIES["error"]}
    table = with_published(fits(results), results.published, ["set", "solver"], columns, spread=True)
    return table["error %"].unstack().reindex(index=_present(results), columns=_solvers(results)).T.fillna("")


def seconds(results: Results) -> pd.DataFrame:
    """CPU seconds of a fit with the chosen values: the median over the divisions"""
    table = grouped(fits(results), ["set", "solver"])["cpu"].median().unstack()
    return table.reindex(index=_present(results), columns=_solvers(results)).T


def choosing(results: Results) -> pd.DataFrame:
    """CPU seconds of the choice: a grid of parameters with three folds, and the fit on all training points"""
    runs = results.runs("choice")
    return pivoted(runs, ["solver"], "set", "info.choice_cpu").reindex(_solvers(results))


def _present(results: Results) -> list[str]:
    return [name for name in SETS if name in set(fits(results)["set"])]


def _solvers(results: Results) -> list[str]:
    return [solver for solver in LINE if solver in set(fits(results)["solver"])]


def costs(results: Results) -> pd.DataFrame:
    """Return set, seed, solver, cost: CPU seconds where the error is within 0.5 points of the set's best, else infinite.

    The set's best is its least mean error over the solvers. A solver is judged by its mean error and pays its median time.
    """
    table = grouped(fits(results), ["set", "solver"])
    table = table.agg(error=("error", "mean"), cpu=("cpu", "median"), runs=("run", "size"))
    planned = grouped(fits(results, every=True), ["set", "solver"])["run"].size()
    best = table["error"].groupby("set").transform("min")
    good = (table["error"] <= best + NEAR) & (table["runs"] == planned.reindex(table.index))
    cost = table["cpu"].where(good, np.inf)
    return cost.unstack().reindex(index=_present(results), columns=_solvers(results)).fillna(np.inf)


def summary(results: Results) -> pd.DataFrame:
    """Every solver over all sets: accurate and fast where, how much slower than the fastest accurate one, its mean rank by error"""
    cost = costs(results)
    if cost.empty:
        return pd.DataFrame()
    least = cost.min(axis=1)
    times = cost.div(least, axis=0).replace(np.inf, np.nan)
    rank, low, high = ranks(results)
    vectors = grouped(fits(results), "solver", ["set", "dataset"], ["C", "gamma"])["support_vectors"].mean()
    return pd.DataFrame({
        "line of work": pd.Series(LINE), f"within {NEAR} points of the best, sets": np.isfinite(cost).sum(),
        "the fastest of these, sets": cost.eq(least, axis=0).where(np.isfinite(cost), False).sum(),
        "times the fastest, geometric mean": np.exp(np.log(times).mean()), "mean rank by error": rank,
        "95 %": low.map("{:.1f}".format) + " to " + high.map("{:.1f}".format), "SV (cost of a prediction)": vectors,
    }).reindex(_solvers(results)).rename_axis("solver")  # fmt: skip


def ranks(results: Results) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Return each solver's mean rank by mean error over the sets, with bounds of 95 % by 2,000 draws of the sets.

    A solver without a result on a set has the last rank there.
    """
    mean = grouped(fits(results), ["set", "solver"])["error"].mean().unstack().reindex(columns=_solvers(results))
    rank = mean.fillna(np.inf).rank(axis=1)
    rng = np.random.default_rng(0)
    drawn = [rank.iloc[rng.integers(len(rank), size=len(rank))].mean() for _ in range(2000)]
    low, high = pd.DataFrame(drawn).quantile(0.025), pd.DataFrame(drawn).quantile(0.975)
    return rank.mean(), low, high


def critical_difference(solvers: int, sets: int) -> float:
    """Return how far two mean ranks must be apart to differ at 5 % (Nemenyi; Demsar 2006, section 3.2.2)."""
    quantile = stats.studentized_range.ppf(0.95, solvers, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(solvers * (solvers + 1) / (6 * sets)))


def grown(results: Results) -> pd.DataFrame:
    """Time, memory and error over the number of points; what was stopped after 100 s says so"""
    runs = results.runs("growth", status=None)
    runs = runs[runs["status"] != "missing"]
    n = runs["dataset"].str.extract(r"\[n=(\d+)")[0].astype(int)
    text = runs["cpu"].map("{:.3g} s".format).where(runs["status"] == Status.OK, runs["status"])
    text += runs["peak_memory"].map(lambda mb: f", {mb:,.0f} MB" if mb == mb else "")
    text += runs["error"].map(lambda error: f", {error:.2f} %" if error == error else "")
    runs = runs.assign(n=n.map("{:,}".format), text=text)
    return pivoted(runs, ["set", "solver"], "n", "text", aggfunc="first", sort=False).fillna("")


def profile(results: Results) -> Any:
    """Draw the share of sets on which a line of work has an accurate solver within some times the fastest one's CPU time."""
    cost = costs(results)
    if cost.empty:
        return None
    times = cost.T.groupby(LINE, sort=False).min().T.div(cost.min(axis=1), axis=0)
    figure, axes = plt.subplots(figsize=(8.4, 4.4), layout="constrained")
    tau = np.geomspace(1.0, 1000.0, 400)
    handles = {}
    for name, colour in zip(times.columns, COLOURS, strict=False):
        share = [(times[name] <= limit).mean() for limit in tau]
        (handles[name],) = axes.step(tau, share, where="post", color=colour, linewidth=1.6)
    axes.set(xscale="log", xlim=(1, 1000), ylim=(0, 1), xlabel="times the CPU seconds of the fastest accurate solver",
             ylabel=f"share of {len(times)} sets")  # fmt: skip
    axes.grid(alpha=0.25)
    legend(figure, handles)
    return figure


def lines_of_work(results: Results) -> pd.DataFrame:
    """Lines of work: sets on which one of its solvers is accurate, and the fastest accurate one; its time there over smo-block's"""
    cost = costs(results)
    rows = {}
    for line in dict.fromkeys(LINE[solver] for solver in cost.columns):
        of_line = _of_line(cost, line)
        best, accurate = of_line.min(axis=1), np.isfinite(of_line.min(axis=1))
        times = (best / cost[EXACT])[accurate & np.isfinite(cost[EXACT])]
        mean = geometric("", times)
        rows[line] = {
            "solvers": ", ".join(f"`{solver}`" for solver in of_line), f"accurate on, of {len(cost)} sets": int(accurate.sum()),
            "the fastest on": int((accurate & (best == cost.min(axis=1))).sum()),
            "time over smo-block's (95 %)": "" if mean is None or line == "today" else mean.text().strip(),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("line of work")


def ranked(results: Results) -> Any:
    """Draw the mean ranks by error with their intervals, and the critical difference."""
    if fits(results).empty:
        return None
    rank, low, high = ranks(results)
    rank = rank.sort_values()
    bars = [rank - low[rank.index], high[rank.index] - rank]
    figure, axes = plt.subplots(figsize=(8.4, 0.5 + 0.28 * len(rank)), layout="constrained")
    axes.errorbar(rank, range(len(rank)), xerr=bars, fmt="o", color=COLOURS[0], elinewidth=1.2, capsize=3)
    last = rank.iloc[0] + critical_difference(len(rank), len(_present(results)))
    axes.axvspan(rank.iloc[0], last, color="#999999", alpha=0.2, linewidth=0, label="critical difference")
    axes.set_yticks(range(len(rank)), [f"{solver} ({LINE[solver]})" for solver in rank.index], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("mean rank by test error, and 95 % over draws of the sets")
    figure.legend(loc="outside lower right", fontsize=8, frameon=False)
    return figure


def scaled(results: Results) -> Any:
    """Draw time and memory over n, and the limit of time where it stopped a run."""
    runs = results.runs("growth")
    drawn = [runs.assign(panel=runs["set"] + ": " + title, y=runs[quantity])
             for quantity, title in (("cpu", "CPU s"), ("peak_memory", "peak memory, MB"))]  # fmt: skip
    stopped = results.runs("growth", status=[Status.BUDGET, Status.TIMEOUT])
    n = stopped["dataset"].str.extract(r"\[n=(\d+)")[0].astype(int)
    bounds = stopped.assign(panel=stopped["set"] + ": CPU s", n_train=n, y=GROWTH_LIMIT)
    how = {"style": ".-", "xscale": "log", "yscale": "log", "xlabel": "points", "bounds": bounds}
    return lines(pd.concat(drawn).sort_values("panel", kind="stable"), "n_train", "y", panel="panel", columns=2, **how)


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of RandSVM's claim against its oracle alone, and of a claim on each paper's line of work."""
    runs, cost = fits(results), costs(results)
    sooner = within(ratios(runs, RANDSVM, EXACT, "cpu"), most=1.0, aspect="time")
    off = within(errors(runs, RANDSVM, EXACT), aspect="points of error")
    lines = [line for line in dict.fromkeys(LINE.values()) if line not in ("today", "approximate", "linear")]
    times = {line: _of_line(cost, line) for line in lines}
    return {
        "randsvm": unless_degenerate([*sooner, *off], runs, RANDSVM),
        **{line: [_line_time(runs, *row) for row in table.iterrows()] if len(table.T) else [] for line, table in times.items()},
    }  # fmt: skip


def _of_line(cost: pd.DataFrame, line: str) -> pd.DataFrame:
    return cost[[solver for solver in cost.columns if LINE[solver] == line]]


def _line_time(runs: pd.DataFrame, name: Any, cost: pd.Series) -> Estimate:
    """Return the time over smo-block's of the fastest of some solvers on a set; infinite if their ``cost``, see `costs`, is."""
    solver, group = str(cost.idxmin()), runs[runs["set"] == name]
    estimates = [exact(str(name), np.inf)] if not np.isfinite(cost.min()) else ratios(group, solver, EXACT, "cpu")
    if solver in SAMPLERS:
        estimates = unless_degenerate(estimates, group, solver)
    return estimates[0].at_most(1.0)


def numbers(results: Results) -> dict[str, Any]:
    """Return the numbers in the prose of the page."""
    cost = costs(results)
    if cost.empty:
        return {"sets": 0, "solvers": 0, "critical": float("nan"), "fastest": "", "divisions": 0}
    fastest = cost.replace(np.inf, np.nan).dropna(how="all").idxmin(axis=1).value_counts()
    return {
        "sets": len(cost), "solvers": len(cost.T), "critical": critical_difference(len(cost.T), len(cost)),
        "fastest": "; ".join(f"`{solver}` on {count}" for solver, count in fastest.items()),
        "divisions": int(grouped(fits(results), ["set", "solver"]).size().median()),
    }  # fmt: skip


STUDY = Study(
    name="side-by-side", title="The five lines of work, and what people use today, on the same data and one clock", plan=plan,
    later={"divisions": divisions},
    tables={
        "lines": lines_of_work, "summary": summary, "errors": error_table, "seconds": seconds, "choosing": choosing, "grown": grown,
    },
    pictures={"profile": profile, "ranked": ranked, "scaled": scaled}, estimates=claims, numbers=numbers,
)  # fmt: skip
