"""RandSVM: the sets of Tables 1 and 2 against the oracle alone and LIBSVM, and ringnorm over a grid of parameters."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness import Status
from reports.kit.estimates import ONE_RUN, Estimate, differences, ratios, unless_degenerate, within
from reports.kit.page import with_published
from reports.kit.pictures import COLOURS, dots, lines
from reports.kit.results import QUANTITIES, Quantity, Results
from reports.kit.rows import REPETITION, grouped, pivoted
from reports.kit.study import Block, Study

SMO, BLOCK = "randsvm-1[oracle=smo]", "randsvm-1[oracle=smo-block]"
ORACLE = {SMO: "smo", BLOCK: "smo-block"}
LIBSVM, LIBSVR = "libsvm", "libsvm-svr"
LIMIT = 600.0  # seconds
TABLE1 = {
    "twonorm-1e5": "twonorm[n=100000]", "twonorm-1e6": "twonorm[n=1000000]", "ringnorm-1e5": "ringnorm[n=100000]",
    "ringnorm-1e6": "ringnorm[n=1000000]", "checkerboard-1e5": "checkerboard[n=100000]",
    "checkerboard-1e6": "checkerboard[n=1000000]", "mnist-8": "mnist", "covtype": "covtype[scale=standard]",
}  # fmt: skip
TABLE2 = {
    "friedman-1e4": "friedman[n=10000]", "friedman-1e5": "friedman[n=100000]", "covtype-signs": "covtype[regression=yes]",
    "mnist-digits": "mnist[regression=yes]", "abalone-rings": "abalone[regression=yes]",
}  # fmt: skip
QUICK = {
    "table1": {"checkerboard-1e5": "checkerboard[n=5000]"},
    "table2": {"friedman-1e4": "friedman[n=1000,n_test=2000]"},
}
MEANS, COSTS, GAMMAS = (0.0, 1.0), (0.01, 0.1, 1.0, 10.0, 100.0), (1e-4, 1e-3, 1e-2, 0.05, 0.1, 1.0, 10.0)
REPEATED = ("twonorm-1e5", "ringnorm-1e5", "checkerboard-1e5", "friedman-1e4", "abalone-rings")
SEEDS = 5  # runs of each solver on the sets that are `REPEATED`; on the others one run takes minutes
NEAR = 0.5  # points of test error


def ours(name: str) -> list[str]:
    """Return RandSVM-1 over both oracles, with the paper's delta of k for the set."""
    return [f"{solver[:-1]},delta=0.9]" for solver in ORACLE] if name == "mnist-digits" else list(ORACLE)


def plan(quick: bool) -> list[Block]:
    """Return the runs of both tables and of ringnorm's grid."""
    blocks: list[Block] = []
    for figure, sets, library, how in (
        ("table1", TABLE1, LIBSVM, {"formulation": "c-svc"}),
        ("table2", TABLE2, LIBSVR, {"formulation": "eps-svr", "metrics": "same-sign"}),
    ):
        for name, selection in (QUICK[figure] if quick else sets).items():
            base = {"figure": figure, "set": name, "datasets": [selection], "time_limit": LIMIT, "traced": True, **how}
            base["seeds"] = list(range(SEEDS if name in REPEATED and not quick else 1))
            blocks.append({**base, "plugins": [*ours(name), *ORACLE.values(), library]})
    for C in () if quick else COSTS:
        for gamma in GAMMAS:
            datasets = [f"ringnorm[n=1000,n_test=10000,mean={mean:g}]" for mean in MEANS]
            base = {"figure": "ringnorm", "set": "ringnorm-search", "plugins": [LIBSVM], "datasets": datasets}
            blocks.append({**base, "C": C, "gamma": gamma})
    return blocks


def _of(results: Results, figure: str) -> pd.DataFrame:
    """Return the runs of a table, those that were stopped too, with ``cpu`` empty, and what the columns show."""
    runs = results.runs(figure, status=None)
    runs = runs[runs["status"] != "missing"].copy()
    end = runs["reason"].where(runs["solver"].isin([*ORACLE, *ours("mnist-digits")]), "")
    end = end.str.extract(r"status: ([^;]*)")[0].fillna("")
    ended = end.where(runs["status"] == Status.OK, runs["status"])
    return runs.assign(accuracy=100.0 - runs["error"], ended=ended)


PRINTED_AS = {
    **QUANTITIES, "k": Quantity("k", "info.k"), "rounds": Quantity("rounds", "info.rounds"), "sv": Quantity("SV", "support_vectors"),
    "gap": Quantity("gap", "relative_gap", form=".1e"), "memory": Quantity("MB", "peak_memory"),
    "mse": Quantity("MSE", "metrics.mse", form=".4f"), "rho": Quantity("rho", "metrics.pearson", form=".4f"),
    "signs": Quantity("right sign %", "metrics.same-sign", 100.0, ".2f"),
}  # fmt: skip


def _table(results: Results, figure: str, *names: str) -> pd.DataFrame:
    runs, printed = _of(results, figure), results.published[results.published["figure"] == figure]
    columns = {name: PRINTED_AS[name] for name in names}
    table = with_published(runs, printed, ["set", "solver"], columns).drop(columns="runs")
    table["ended with"] = grouped(runs, ["set", "solver"], sort=False)["ended"].first()
    return table


def table1(results: Results) -> pd.DataFrame:
    """Table 1: classification"""
    return _table(results, "table1", "accuracy", "seconds", "k", "sv", "rounds", "gap", "memory")


def table2(results: Results) -> pd.DataFrame:
    """Table 2: regression"""
    return _table(results, "table2", "mse", "rho", "signs", "seconds", "k", "sv")


def ringnorm(results: Results) -> pd.DataFrame:
    """Ringnorm: LIBSVM's accuracy in percent over C and gamma, the wide class at the origin and at the paper's mean"""
    runs = _of(results, "ringnorm")
    mean = runs["dataset"].str.extract(r"mean=([\d.]+)")[0]
    return pivoted(runs.assign(mean=mean), ["mean", "gamma"], "C", "accuracy")


def seconds(results: Results) -> Any:
    """Draw the CPU seconds of Table 1; a solver that was stopped has no point."""
    runs = results.runs("table1")
    columns = [SMO, "smo", BLOCK, "smo-block", LIBSVM]
    wide = pivoted(runs, ["set"], "solver", "cpu", REPETITION, sort=False, aggfunc="median")
    return dots(wide.reindex(columns=columns), "CPU seconds (no point: stopped, or not measured)")


def violators(results: Results) -> Any:
    """Draw the violators of each round of RandSVM-1 over smo-block."""
    points = results.course(["info.log_violators"], "table1", solver=BLOCK, status=Status.OK)
    points = points.assign(round=points["point"] + 1)
    how = {"style": ".-", "yscale": "symlog", "xlabel": "round", "ylabel": "violators"}
    return lines(points, "round", "info.log_violators", colours={BLOCK: COLOURS[0]}, **how)


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim: against LIBSVM, and against the oracle alone."""
    library = results.runs(["table1", "table2"]).replace({"solver": {LIBSVR: LIBSVM}})
    faster: list[Estimate] = []
    for solver, oracle in ORACLE.items():
        both = [(f"over {oracle}, beside LIBSVM", LIBSVM), (f"over {oracle}, beside {oracle} alone", oracle)]
        for aspect, other in both:
            estimates = within(ratios(library, solver, other, "cpu"), most=1.0, aspect=aspect)
            faster += unless_degenerate(estimates, library, solver)
    accurate: list[Estimate] = []
    for other in (LIBSVM, "smo-block"):
        estimates = differences(library[library["formulation"] == "c-svc"], BLOCK, other, "error")
        accurate += within(estimates, most=NEAR, aspect=f"beside {other}")
    return {"time": faster, "accuracy": accurate}


def numbers(results: Results) -> dict[str, Any]:
    """Return the best cells of ringnorm's grid, the distance of the two means and their noise."""
    runs = _of(results, "ringnorm")
    if runs.empty:
        return {"best": "", "apart": "", "noise": "", "slower": ""}
    runs["mean"] = runs["dataset"].str.extract(r"mean=([\d.]+)")[0]
    best = grouped(runs, "mean", ["C", "gamma"])["accuracy"].max()
    noise = 1.96 * sum(accuracy * (100 - accuracy) for accuracy in best) ** 0.5 / runs["n_test"].max() ** 0.5
    both = results.runs("table1")
    times = [accuracy.value for accuracy in ratios(both, BLOCK, "smo-block", "cpu")]
    return {
        "best": " and ".join(f"{value:.2f} %" for value in best),
        "apart": f"{best.max() - best.min():.2f}",
        "noise": f"{noise:.2f}",
        "slower": f"{sum(accuracy > ONE_RUN for accuracy in times)} of {len(times)}",
    }


STUDY = Study(
    name="randsvm", title="Randomized Algorithms for Large scale SVMs (RandSVM, arXiv 0909.3609, 2009)", plan=plan,
    tables={"table1": table1, "table2": table2, "ringnorm": ringnorm}, pictures={"seconds": seconds, "violators": violators},
    estimates=claims, numbers=numbers, printed=PRINTED_AS,
)  # fmt: skip
