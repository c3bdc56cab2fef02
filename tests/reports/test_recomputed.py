"""Ten verdicts of WHAT_WE_LEARNED.md, computed again from the rows by pandas and scipy alone, without the kit of the studies."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

REPORTS = Path(__file__).resolve().parents[2] / "reports"
Interval = tuple[float, float]


def ends(study: str, figure: str, *quantities: str) -> pd.DataFrame:
    """Return the ok runs of a figure, a row each, with quantities at their end as columns."""
    table = pd.read_parquet(REPORTS / study / "results.parquet")
    table = table[(table["status"].astype(str) == "ok") & (table["figure"].astype(str).isin(figure.split()))]
    runs = table.drop_duplicates("run").set_index("run")[["set", "solver", "dataset", "seed", "session"]].astype(str)
    for name in quantities:
        values = table[(table["quantity"].astype(str) == name) & (table["point"] == -1)]
        runs[name] = values.set_index("run")["value"]
    assert len(runs)
    return runs


def paired(runs: pd.DataFrame, first: str, second: str, quantity: str) -> dict[str, list[tuple[float, float]]]:
    """Return, for each set, the pairs of two solvers on the same data with the same seed; a solver that ran once pairs with all."""
    pairs_of: dict[str, list[tuple[float, float]]] = {}
    timed = ["session"] if quantity == "cpu" else []
    for (name, *_), group in runs.groupby(["set", "dataset", *timed]):
        one, other = (
            group[group["solver"] == solver].set_index("seed")[quantity].dropna() for solver in (first, second)
        )
        if len(one) == 1 or len(other) == 1:
            pairs = [(a, b) for a in one for b in other]
        else:
            pairs = [(one[seed], other[seed]) for seed in one.index.intersection(other.index)]
        pairs_of.setdefault(str(name), []).extend(pairs)
    return {name: pairs for name, pairs in pairs_of.items() if pairs}


def student(values: list[float], number: int) -> Interval:
    """Return Student's interval of a mean, one of ``number`` that hold together at 95 %."""
    if len(values) < 2:
        return -math.inf, math.inf
    half = stats.t.ppf(1 - 0.025 / number, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    return float(np.mean(values) - half), float(np.mean(values) + half)


def word(intervals: list[tuple[Interval, Interval]]) -> str:
    """Return the verdict of intervals, each with the range that its criterion allows."""
    met = sum(least <= low and high <= most for (low, high), (least, most) in intervals)
    beyond = sum(low > most or high < least for (low, high), (least, most) in intervals)
    if met and beyond:
        return "Depends"
    if 2 * max(met, beyond) < len(intervals) or not intervals:
        return "Undecided"
    return "Holds" if met else "Does not hold"


def of_differences(
    pairs_of: dict[str, list[tuple[float, float]]], least: dict[str, float], most: dict[str, float]
) -> str:
    number = sum(len(pairs) > 1 for pairs in pairs_of.values())
    return word([(student([a - b for a, b in pairs], number), (least.get(name, -math.inf), most.get(name, math.inf)))
                 for name, pairs in pairs_of.items()])  # fmt: skip


def of_ratios(pairs_of: dict[str, list[tuple[float, float]]], most: float, timed: bool = False) -> str:
    number, intervals = sum(len(pairs) > 1 for pairs in pairs_of.values()), []
    for pairs in pairs_of.values():
        logs = [math.log(a / b) for a, b in pairs]
        low, high = student(logs, number)
        middle, room = float(np.mean(logs)), math.log(1.5) if timed else math.inf
        intervals.append(((max(low, middle - room), min(high, middle + room)), (-math.inf, math.log(most))))
    return word(intervals)


def accurate(study: str, figures: str, first: str, second: str) -> str:
    """Return the verdict on 'at most 5 % more errors'."""
    runs = ends(study, figures, "error")
    level = runs[runs["solver"] == second].groupby("set")["error"].mean()
    return of_differences(paired(runs, first, second, "error"), {}, (0.05 * level).to_dict())


def compared(*quantities: str) -> pd.DataFrame:
    """Return the runs of LASVM beside LIBSVM; the digits of MNIST are the pairs of one set, 10,000 images another."""
    runs = ends("lasvm_2005", "figure8 figure4", *quantities)
    runs = runs[~runs["set"].str.contains("gamma") & ~runs["set"].isin(["mnist", "mnist-of-10000"])]
    digits = runs["set"].str.replace(r"^mnist-\d(-of-10000)?$", r"digits\1", regex=True)
    return runs.assign(set=digits)


def two_epochs() -> str:
    runs = compared("error")
    level = runs[runs["solver"] == "libsvm"].groupby("set")["error"].mean()
    return of_differences(paired(runs, "lasvm[epochs=2]", "libsvm", "error"), {}, (0.05 * level).to_dict())


def support() -> str:
    runs = compared("support_vectors").replace({"solver": {"lasvm[tau=0.01]": "lasvm"}})
    return of_ratios(paired(runs, "lasvm", "libsvm", "support_vectors"), 1.0)


def core_sets() -> str:
    """Where ``fw`` first reaches epsilon = 1e-3, its core set is at most a tenth of the points; the simplices are left out."""
    table = pd.read_parquet(REPORTS / "frank_wolfe_2009" / "results.parquet")
    table = table[(table["figure"].astype(str) == "ladder") & table["solver"].astype(str).str.contains("oracle=fw,")]
    wide = table.pivot_table(
        index=["set", "run", "point"], columns="quantity", values="value", observed=True
    ).reset_index()
    n = wide[wide["point"] == -1].set_index("run")["n_train"]
    at = wide[np.isclose(wide["info.levels.epsilon"], 1e-3) & (wide["set"].astype(str) != "simplices")]
    return word([((share, share), (-math.inf, 0.1)) for share in at["info.levels.core_set"] / at["run"].map(n)])


def ramp_support() -> str:
    runs = ends("lasvm_nc", "table3", "support_vectors")
    pairs_of = paired(runs, "lasvm-nc", "full-svm", "support_vectors")
    return of_ratios({name: pairs for name, pairs in pairs_of.items() if name in ("adult", "banana", "usps-n")}, 0.5)


def smote_time() -> str:
    runs = ends("border_2007", "table1", "cpu")
    return of_ratios(paired(runs, AL, "smote", "cpu"), 1.0, timed=True)


def as_good_as_batch() -> str:
    runs = ends("border_2007", "table1", "metrics.g-means")
    runs["metrics.g-means"] *= 100.0
    pairs_of = paired(runs, AL, "batch", "metrics.g-means")
    return of_differences(pairs_of, dict.fromkeys(pairs_of, -1.0), {})


def rounds() -> str:
    """m points, delta = k (n + 1) <= m, at most 6 delta ln m rounds; only where the sample is smaller than the set."""
    runs = ends("random_sampling_2008", "rounds", "info.rounds", "info.r", "n_train", "info.successful_rounds")
    runs = runs[runs["solver"].str.contains("delta=bound") & (runs["info.r"] < runs["n_train"])]
    intervals, successes = (
        [],
        stats.binomtest(int(runs["info.successful_rounds"].sum()), int(runs["info.rounds"].sum())),
    )
    number = runs["set"].nunique() + 1
    for name, group in runs.groupby("set"):
        m, n, _, k = map(int, re.findall(r"=(\d+)", str(name)))
        bound = 6 * min(m, k * (n + 1)) * math.log(m)
        intervals.append((student(list(group["info.rounds"] / bound), number), (-math.inf, 1.0)))
    assert successes.proportion_ci(1 - 0.05 / number).low >= 0.5
    return word(intervals)


def sampled_nothing() -> str:
    runs = ends("side_by_side", "divisions", "info.r", "n_train", "info.rounds")
    sampled = runs[runs["solver"].str.startswith("randsvm-1")]
    return (
        "Degenerate" if ((sampled["info.r"] >= sampled["n_train"]) | (sampled["info.rounds"] == 1)).all() else word([])
    )


def trees_are_slower() -> str:
    """A set counts as not met where no run of the line is within 0.5 points of the best mean error, or it is surely slower."""
    runs = ends("side_by_side", "divisions", "error", "cpu")
    formulation = (
        pd.read_parquet(REPORTS / "side_by_side" / "results.parquet")
        .drop_duplicates("run")
        .set_index("run")["formulation"]
    )
    runs = runs[~(runs["solver"].str.startswith("smo-block") & (formulation[runs.index].astype(str) == "l2-svc"))]
    runs["solver"] = [re.sub(r"(?<=[\[,])(C|gamma|outliers)=[^,\]]*,?", "", name).replace(",]", "]").replace("[]", "")
                      for name in runs["solver"]]  # fmt: skip
    mean, intervals = runs.pivot_table(index="set", columns="solver", values="error"), []
    for name, row in mean.iterrows():
        tree, best = row.get("rgd-tree", np.nan), row.min()
        near = np.isfinite(tree) and tree <= best + 0.5
        pairs = paired(runs[runs["set"] == name], "rgd-tree", "smo-block", "cpu").get(str(name), []) if near else []
        logs = [math.log(a / b) for a, b in pairs]
        low = max(student(logs, len(mean))[0], np.mean(logs) - math.log(1.5)) if logs else math.inf
        intervals.append(((low, math.inf), (-math.inf, 0.0)))
    return word(intervals)


AL = "active-small-pool[stop=support,stop_tolerance=0.01]"
VERDICTS: dict[str, Callable[[], str]] = {
    "Two epochs are as accurate as LIBSVM": two_epochs,
    "One epoch has slightly fewer support vectors than LIBSVM": support,
    "It is far smaller than the points": core_sets,
    "The ramp loss keeps at most half of the support vectors": ramp_support,
    "It costs no accuracy (Table 3)": lambda: accurate("lasvm_nc", "table3", "lasvm-nc", "full-svm"),
    "AL takes less time than SMOTE": smote_time,
    "Stopped early, AL predicts as well as Batch": as_good_as_batch,
    "Expected rounds are at most 6 delta ln m": rounds,
    "RandSVM over an exact solver is faster than the solver alone": sampled_nothing,
    "RGD-tree 2015: accurate, and faster than the exact solver": trees_are_slower,
}


@pytest.mark.parametrize("claim", VERDICTS)
def test_a_verdict_is_what_the_rows_say(claim: str) -> None:
    (line,) = (line for line in (REPORTS / "WHAT_WE_LEARNED.md").read_text().splitlines() if claim in line)
    assert line.startswith(f"* **{VERDICTS[claim]()}.**")
