"""Balcazar, Dai, Tanaka, Watanabe 2008: rounds, sample sizes, the combinatorial dimension, tubes, the choice of k, kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness import Status
from reports.kit.estimates import Estimate, exact, means, share, within
from reports.kit.pictures import dots, lines
from reports.kit.results import Results
from reports.kit.rows import grouped
from reports.kit.study import Block, Study

ORACLE = "oracle=smo-block]"
BISECTION, DOUBLING = "chosen-k", "chosen-k[how=doubling]"
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 0.75, 1.0, 2.0, 3.0, 6.0)  # r over delta^2; the theorems have 6
KERNELS = {
    "digits": ("digits", (1, 20), (0.5, 0.75), 1198), "banana": ("banana", (800,), (0.5, 0.75), 4000),
    "covtype": ("covtype[n=3000,n_test=3000,scale=standard]", (1, 300), (0.5, 0.75), 3000),
    "adult": ("adult-split[n=5000]", (800,), (0.75,), 5000),
}  # fmt: skip
CHOOSING = {
    **{f"clouds, {count} outliers": f"gap-clouds[n=2000,d=5,gap=2,outliers={count}]" for count in (2, 10, 40, 160)},
    "twonorm": "twonorm[n=1000]", "ringnorm": "ringnorm[n=1000]", "breast-cancer": "breast-cancer", "spambase": "spambase",
    "german.numer": "german.numer",
}  # fmt: skip
SMALL = (
    *(("clouds", d, k, 5) for d in (1, 2, 3) for k in (1, 2, 3)), *(("tube", d, k, 3) for d in (1, 2) for k in (1, 2)),
    *(("corners", d, k, 1) for d, k in ((2, 2), (2, 3), (3, 2), (3, 3), (4, 3))), ("figure-4", 3, 3, 1),
)  # fmt: skip
"""Kind of a few examples, all subsets of which are solved; n, k, draws."""


@dataclass(frozen=True)
class Points:
    """m points in n dimensions, on both sides of a gap or in a tube, some of them outliers; k = 1 / D.

    The bounds of the paper: ``delta`` of Lemma 4.2 and section 2.1, or of Theorems 5.1 and 5.2; ``counted`` is n + 2 k - 1, what
    counting the free weights of a vertex of the optimal face gives.
    """

    m: int
    n: int
    outliers: int = 0
    k: int = 1
    tube: bool = False

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{'tube, ' if self.tube else ''}m={self.m}, n={self.n}, outliers={self.outliers}, k={self.k}"

    @property
    def delta(self) -> int:
        """The bound of the combinatorial dimension."""
        if self.tube:
            return self.n + 2 + (0 if self.k == 1 else 2 * self.k)
        return min(self.m, self.k * (self.n + 1))

    @property
    def counted(self) -> int:
        """n + 2 k - 1, with the target of a tube as one more attribute."""
        return self.n + 2 * self.k - (0 if self.tube else 1)

    @property
    def rounds(self) -> float:
        """6 delta ln m, the bound of the expected rounds: Theorems 2.2, 4.3, 5.1 and 5.2."""
        return 6.0 * self.delta * math.log(self.m)

    def solver(self, *given: str, exact_one: bool = False) -> str:
        """Return the sampling solver with parameters, or the exact one of all points."""
        cap = [] if self.k == 1 and not self.tube else [f"D={1.0 / self.k:.12g}"]
        tube = ["epsilon=1"] if self.tube else []
        if exact_one:
            return f"smo-block[{','.join([*tube, *cap, *given, 'gap=1e-6'])}]"
        name = "optmargin" if self.k == 1 and not self.tube else "optsoftmargin"
        return f"{name}[{','.join([*tube, *cap, *given, 'gap=1e-6', ORACLE])}"

    def block(self, figure: str, solvers: Sequence[str], seeds: int = 1) -> Block:
        """Return the runs of solvers on these points."""
        gap = 0.5 if self.outliers == 0 else 2.0
        clouds = f"gap-clouds[n={self.m},d={self.n},gap={gap:g},outliers={self.outliers}]"
        data = f"tube-clouds[n={self.m},d={self.n},outliers={self.outliers}]" if self.tube else clouds
        formulation = "tube-svr" if self.tube else "hard-margin" if self.k == 1 else "reduced-hull"
        return {"figure": figure, "set": self.name, "datasets": [data], "plugins": list(solvers), "seeds": list(range(seeds)),
                "formulation": formulation, "kernel": "linear", "time_limit": 120.0}  # fmt: skip


HARD = [Points(m, n) for n in (2, 5, 10) for m in (1_000, 10_000, 100_000)]
SOFT = [Points(m, n, 2, 10) for n in (2, 5) for m in (1_000, 10_000, 100_000)]
SWEPT = [Points(100_000, 5), Points(100_000, 10), Points(100_000, 2, 2, 10)]
SIZED = [Points(10_000, n, outliers, k) for outliers, k in ((0, 1), (20, 60), (100, 300)) for n in (2, 4, 8, 16, 32)]
TUBES = [
    *(Points(m, n, tube=True) for n in (2, 5, 10) for m in (1_000, 10_000, 100_000)),
    *(Points(m, n, 4, 10, tube=True) for n in (2, 5) for m in (10_000, 100_000)),
]
NAMED = {each.name: each for each in (*HARD, *SOFT, *SIZED, *TUBES)}


def plan(quick: bool) -> list[Block]:
    """Return the runs of all claims; what follows from the least k that separates is `ladder`."""
    hard, soft, tubes = (HARD[:2], SOFT[1:2], TUBES[:1]) if quick else (HARD, SOFT, TUBES)
    seeds = 2 if quick else 5
    both = ("delta=bound", "delta=adaptive")
    blocks = [points.block("rounds", [points.solver(delta) for delta in both], seeds) for points in (*hard, *soft)]
    blocks += [points.block("counted", [points.solver(f"delta={points.counted}")], seeds) for points in soft]
    for points in tubes:
        blocks.append(points.block("tubes", [points.solver(f"delta={points.delta}")], seeds))
        blocks.append(points.block("tubes", [points.solver(exact_one=True)]))
    for kind, n, k, draws in SMALL[-1:] if quick else SMALL:
        data = {"clouds": "gap-clouds[n=10,n_test=10,d={n},gap=1,seed={seed}]",
            "tube": "tube-clouds[n=5,n_test=10,d={n},seed={seed}]",
                "corners": "corners[d={n},k={k}]", "figure-4": "figure-4"}[kind]  # fmt: skip
        solver = f"largest-basis[{'epsilon=1,' if kind == 'tube' else ''}D={1.0 / k:.17g}]"
        datasets = list(dict.fromkeys(data.format(n=n, k=k, seed=seed) for seed in range(draws)))
        blocks.append({"figure": "bases", "set": f"{kind}, n={n}, k={k}", "datasets": datasets, "plugins": [solver],
            "kernel": "linear",
                      "formulation": "tube-svr" if kind == "tube" else "reduced-hull", "time_limit": 120.0})  # fmt: skip
    if quick:
        return blocks
    for points in SWEPT:
        sizes = sorted({max(round(part * points.delta**2), points.n + 1 + 2 * points.k) for part in SHARES})
        most = math.ceil(points.rounds)
        solvers = [points.solver("delta=bound", f"r={r}", f"max_rounds={most}") for r in sizes]
        blocks.append(points.block("small", solvers, 6))
        # the claim is of half of the theorem's sample: of six runs that all end the interval of the share holds a half
        half = points.solver("delta=bound", f"r={3 * points.delta**2}", f"max_rounds={most}")
        blocks.append(points.block("small", [half], 12))
    for points in SIZED:
        blocks += [points.block("dimension", [points.solver(exact_one=True)]),
                  points.block("dimension", [points.solver("delta=1", f"r={points.m // 2}", "max_rounds=1")], 10)]  # fmt: skip
    for name, (selection, ks, shares, m) in KERNELS.items():
        for k in ks:
            base = {"figure": "kernels", "set": f"{name}, rbf, k={k}", "datasets": [selection], "time_limit": 120.0}
            base["formulation"] = "reduced-hull"
            cap = f"D={1.0 / k:.12g}"
            one = [f"optsoftmargin[{cap},delta=1,r={round(part * m)},max_rounds=1,gap=1e-4,{ORACLE}" for part in shares]
            adaptive = f"optsoftmargin[{cap},delta=adaptive,gap=1e-4,{ORACLE}"
            samples = 80 if name == "digits" else 20  # its support is a twentieth of the others', and scatters more
            for solvers, count in (([f"smo-block[{cap},gap=1e-4]"], 1), (one, samples), ([adaptive], 3)):
                blocks.append({**base, "plugins": solvers, "seeds": list(range(count))})
    for name, selection in CHOOSING.items():
        base = {"figure": "choosing", "set": name, "datasets": [selection], "time_limit": 120.0}
        base |= {"formulation": "hard-margin", "kernel": "linear"}
        blocks += [{**base, "plugins": [BISECTION]}, {**base, "plugins": [DOUBLING], "seeds": list(range(5))}]
    return blocks


def ladder(quick: bool, results: Results) -> list[Block]:
    """Return the exact solver over k, from the least that separates to the examples of the smaller class."""
    blocks: list[Block] = []
    for row in results.runs("choosing", solver=BISECTION).to_dict("records"):
        least, most = int(row["info.k"]), int(row["info.most"])
        steps = math.ceil(math.log(max(1.0, most / least)) / math.log(2.0) * 2.0 - 1e-9)
        ks = sorted({min(most, round(least * 2.0 ** (step / 2.0))) for step in range(steps + 1)})
        solvers = [f"smo-block[D={1.0 / k:.17g},gap=1e-3]" for k in ks]
        blocks.append({"figure": "ladder", "set": row["set"], "datasets": [row["dataset"]], "plugins": solvers, "kernel": "linear",
                      "formulation": "reduced-hull", "time_limit": 120.0})  # fmt: skip
    return blocks


def sampled(results: Results, figure: str | Sequence[str]) -> pd.DataFrame:
    """Return the runs that ended, or did their one round, with the bounds of their points.

    ``extremes`` : those that the violators of the first round stand for
    """
    runs = results.runs(figure, status=None)
    single_round = (runs["status"] == Status.UNFINISHED) & runs["solver"].str.contains("max_rounds=1,")
    runs = runs[(runs["status"] == Status.OK) | single_round]
    points = runs["set"].map(NAMED)
    columns = {"delta": "delta", "counted": "counted", "bound": "rounds"}
    first = results.course(["info.log_share"], figure, point=0).set_index("run")["info.log_share"]
    m, r = runs["n_train"], runs["info.r"]
    return runs.assign(extremes=runs["run"].map(first) * m * (r + 1) / (m - r), **{
        column: [getattr(bounds, name, np.nan) for bounds in points] for column, name in columns.items()
    })  # fmt: skip


def theorem_runs(results: Results, figure: str = "rounds") -> pd.DataFrame:
    """Return the runs with the theorems' delta whose sample is smaller than the set."""
    runs = sampled(results, figure)
    fixed = runs[runs["solver"].str.contains("delta=bound" if figure == "rounds" else r"delta=\d")]
    return fixed[fixed["info.r"] < fixed["n_train"] * (2 if figure == "tubes" else 1)]


def rounds(results: Results) -> pd.DataFrame:
    """Rounds beside 6 delta ln m (Theorems 2.2 and 4.3), and the violators' weight beside the bound of Lemma 2.1"""
    return _rounds(sampled(results, "rounds"))


def counted(results: Results) -> pd.DataFrame:
    """The same with delta = n + 2 k - 1"""
    return _rounds(sampled(results, "counted"))


def tubes(results: Results) -> pd.DataFrame:
    """Rounds of tubes beside 6 delta ln m (Theorems 5.1 and 5.2), and the support of the optimum beside delta"""
    runs = sampled(results, "tubes")
    support = grouped(runs[runs["solver"].str.startswith("smo-block")], "set")["support_vectors"].mean()
    table = _rounds(runs[runs["solver"].str.startswith("opt")])
    return table.assign(**{"support of the optimum": table.index.get_level_values("set").map(support)})


def _rounds(runs: pd.DataFrame) -> pd.DataFrame:
    runs = runs.assign(how=runs["solver"].str.extract(r"delta=([a-z0-9]+)")[0])
    return grouped(runs, ["set", "how"], sort=False).agg(
        r=("info.r", "mean"), bound=("bound", "first"), rounds=("info.rounds", "mean"), most=("info.rounds", "max"),
        successful=("info.successful_rounds", "sum"), weight=("info.lemma_share", "mean"), lemma=("info.lemma_bound", "mean"),
        runs=("run", "size"),
    )  # fmt: skip


def small(results: Results) -> pd.DataFrame:
    """How small r may be: runs that end within the theorem's rounds, rounds and CPU seconds"""
    runs = results.runs("small", status=None)
    runs = runs.assign(r=runs["solver"].str.extract(r"r=(\d+)")[0].astype(int), ended=runs["status"] == Status.OK)
    return grouped(runs, ["set", "r"]).agg(
        ended=("ended", "sum"), runs=("run", "size"), rounds=("info.rounds", "mean"), cpu=("cpu", "median")
    )


def dimension(results: Results) -> pd.DataFrame:
    """The support of the optimum and the mean extremes of samples of half of the points, beside the bounds of delta"""
    runs = sampled(results, "dimension")
    runs = runs.assign(support=runs["support_vectors"].where(runs["solver"].str.startswith("smo-block")))
    columns = {"support": ("support", "mean"), "mean extremes": ("extremes", "mean"), "n + 2 k - 1": ("counted", "first"),
               "k (n + 1)": ("delta", "first")}  # fmt: skip
    return grouped(runs, "set", ["solver", "seed"], sort=False).agg(**columns)


def basis_runs(results: Results) -> pd.DataFrame:
    """Return the runs on few examples whose hulls are apart (of others the paper's problem has no solution), with the bounds."""
    runs = results.runs("bases")
    far = results.course(["info.distance"], "bases").groupby("run")["info.distance"].last()
    runs = runs[runs["run"].map(far) > 1e-3]
    tube = runs["set"].str.startswith("tube")
    n = runs["set"].str.extract(r"n=(\d+)")[0].astype(float) + tube
    k = runs["set"].str.extract(r"k=(\d+)")[0].astype(float)
    of_tube = n + 1 + 2 * k * (k > 1)  # with their target as one of n: Theorems 5.1, 5.2
    proved = (k * (n + 1)).where(~tube, of_tube)
    return runs.assign(tube=tube, counted=n + 2 * k - 1, argued=n + 1 + k, proved=proved)


def bases(results: Results) -> pd.DataFrame:
    """The combinatorial dimension by its definition: the largest basis of a few examples, beside the bounds"""
    columns = {
        "draws": ("run", "size"), "least": ("info.largest", "min"), "largest": ("info.largest", "max"),
        "n + 2 k - 1": ("counted", "first"), "n + 1 + k": ("argued", "first"), "the theorem's": ("proved", "first"),
    }  # fmt: skip
    return grouped(basis_runs(results), "set", sort=False).agg(**columns)


def choosing(results: Results) -> pd.DataFrame:
    """Choosing k: the least that separates, what doubling ends with, the test error there and the least of the ladder"""
    runs = results.runs(["choosing", "ladder"])
    least = grouped(runs[runs["solver"] == BISECTION], "set", over=(), sort=False).first()
    doubled = grouped(runs[runs["solver"] == DOUBLING], "set")
    over = grouped(runs[runs["solver"].str.startswith("smo-block")], "set", ["solver"])
    table = pd.DataFrame({"m": least["n_train"], "least k": least["info.k"], "error % there": least["error"]})
    table["doubled to, least"], table["most"] = doubled["info.k"].min(), doubled["info.k"].max()
    table["rounds"] = doubled["info.rounds"].mean()
    table["times the kernel values of bisection"] = doubled["kernel_evaluations"].mean() / least["kernel_evaluations"]
    table["least error % of the ladder"] = over["error"].min().combine(least["error"], np.fmin)
    return table.rename_axis("set")


def extremes(results: Results) -> pd.DataFrame:
    """Return the runs of one round in a kernel's space, with the extremes that their violators stand for over their support."""
    runs = sampled(results, "kernels")
    runs = runs[runs["solver"].str.contains("max_rounds=1,")]
    parts = [f", sample {part:.0f} %" for part in 100 * runs["info.r"] / runs["n_train"]]
    named = runs["set"].str.replace(", rbf", "") + pd.Series(parts, runs.index, dtype="str")
    return runs.assign(ratio=runs["extremes"] / runs["support_vectors"], named=named)


def kernels(results: Results) -> pd.DataFrame:
    """In a kernel's space: mean extremes of a sample over the support of its solution; the adaptive scheme's last sample"""
    runs = extremes(results)
    table = grouped(runs, ["set", "named"], sort=False).agg(
        extremes=("ratio", "mean"), deviation=("ratio", "std"), support=("support_vectors", "mean")
    )
    ended = results.runs("kernels")
    whole = grouped(ended[ended["solver"].str.startswith("smo-block")], "set")["kernel_evaluations"].mean()
    ended = grouped(ended[ended["solver"].str.contains("adaptive")], "set")
    of_set = table.index.get_level_values("set")
    table = table.assign(**{
        "adaptive: rounds": of_set.map(ended["info.rounds"].mean()),
        "times the kernel values of all points": of_set.map(ended["kernel_evaluations"].mean() / whole),
    })  # fmt: skip
    return table.rename(columns={"extremes": "extremes / support"}).droplevel("set").rename_axis("sample")


def rounds_over_m(results: Results) -> Any:
    """Draw the mean rounds over m; the bounds are far above."""
    runs = theorem_runs(results)
    parts = runs["set"].str.extract(r"m=(\d+), (n=\d+), outliers=\d+, (k=\d+)")
    runs = runs.assign(m=parts[0].astype(float), line=parts[1] + ", " + parts[2])
    quantities = {"rounds": "info.rounds", "6 delta ln m": "bound"}
    both = pd.concat([runs.assign(what=what, value=runs[name]) for what, name in quantities.items()])
    how = {"style": ".-", "xscale": "log", "xlabel": "points", "ylabel": "rounds"}
    return lines(both, "m", "value", panel="what", line="line", **how)


def sizes(results: Results) -> Any:
    """Draw the rounds over r, of runs that ended."""
    runs = results.runs("small")
    runs = runs.assign(r=runs["solver"].str.extract(r"r=(\d+)")[0].astype(float), solver="runs that ended")
    how = {"style": ".-", "xscale": "log", "yscale": "log", "xlabel": "r, points in a sample", "ylabel": "rounds"}
    return lines(runs, "r", "info.rounds", columns=3, **how)


def dimensions(results: Results) -> Any:
    """Draw the support of the optimum, the mean extremes of samples and the two bounds."""
    table = dimension(results)
    return dots(table.rename(index=lambda name: ", ".join(name.split(", ")[1::2])), "examples")


def claims(results: Results) -> dict[str, list[Estimate]]:
    """Return the estimates of each claim."""
    runs, small_ = theorem_runs(results), small(results)
    over, over_tubes = (
        means(group.assign(part=group["info.rounds"] / group["bound"]), "part", ".3f")
        for group in (runs, theorem_runs(results, "tubes"))
    )
    lucky = share("all rounds", int(runs["info.successful_rounds"].sum()), int(runs["info.rounds"].sum()))
    half: list[Estimate | None] = []
    for name, group in small_.reset_index("r").groupby("set"):
        most = group["r"].max()
        few = group[group["r"] <= 0.5 * most].astype(int).iloc[-1]
        of = f"{name}: r = {few['r']:,} of {most:,}, share of runs that end"
        half.append(share(of, int(few["ended"]), int(few["runs"])))
    basis = basis_runs(results)
    proved, promised, argued = (
        [exact(f"over {len(part)} problems", float((part["info.largest"] / part[bound]).max()))] if len(part) else []
        for part, bound in ((basis[~basis["tube"]], "proved"), (basis[basis["tube"]], "proved"), (basis, "argued"))
    )
    doubled = results.runs("choosing", solver=DOUBLING)
    least = grouped(results.runs("choosing", solver=BISECTION), "set", over=())["info.k"].first()
    right = doubled["info.k"] >= doubled["set"].map(least).astype(float)
    return {
        "rounds": within(over, most=1.0, aspect="rounds / bound") + within([lucky], least=0.5, aspect="successes"),
        "small": within(half, least=0.5),
        "dimension": within(proved, most=1.0, aspect="hulls") + within(promised, most=1.0, aspect="tubes"),
        "exceeded": [one.at_least(math.nextafter(1.0, 2.0)) for one in argued],
        "tubes": within(over_tubes, most=1.0),
        "doubling": within([share("runs whose k separates", int(right.sum()), len(right))], least=0.9),
        "kernels": within(means(extremes(results), "ratio", ".2f", "named"), most=1.05),
    }


def numbers(results: Results) -> Mapping[str, Any]:
    """Return the counts of the bases, and of the counterexample."""
    problems = basis_runs(results)
    figure4 = results.course(["info.distance"], "bases", set="figure-4, n=3, k=3")
    figure4 = grouped(figure4, "point", over=())["info.distance"].first()
    least = next(
        (int(size) + 1 for size, value in figure4.items() if value > 0 and value <= figure4.iloc[-1] * (1 + 1e-6)), 0
    )
    return {
        "bases": len(problems), "within": int((problems["info.largest"] <= problems["counted"]).sum()),
        "reached": int((problems["info.largest"] == problems["counted"]).sum()),
        "passed": int((problems["info.largest"] > problems["argued"]).sum()),
        "seven": f"{figure4.get(6, math.nan):.4f}", "all": f"{figure4.iloc[-1]:.4f}" if len(figure4) else "", "enough": least,
    }  # fmt: skip


STUDY = Study(
    name="random-sampling-2008",
    title="Balcazar, Dai, Tanaka, Watanabe, Provably Fast Training Algorithms for Support Vector Machines (2008)", plan=plan,
    later={"ladder": ladder},
    tables={
        "rounds": rounds, "small": small, "dimension": dimension, "bases": bases, "counted": counted, "tubes": tubes,
        "choosing": choosing, "kernels": kernels,
    },
    pictures={"rounds": rounds_over_m, "small": sizes, "dimension": dimensions}, estimates=claims, numbers=numbers,
    expected=(Status.UNFINISHED,), plugins=("plugin.py",),
)  # fmt: skip
