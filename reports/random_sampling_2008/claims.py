"""The tables of what the paper claims beyond its theorems on rounds: dimension, tubes, the choice of k, kernels."""

from __future__ import annotations

import math

from harness import Status
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, met, number, table
from reports.kit.measured import mean, quotient, ratio, stdev
from reports.kit.results import Results
from reports.random_sampling_2008.parts import BISECTION, DOUBLING
from reports.random_sampling_2008.plan import LADDER, Choosing, KernelSet, Small, Tube, plan_of

_HALF = 0.5  # points of test error


def range_of(values: list[float]) -> str:
    """Return the mean of ``values`` with the least and the largest."""
    return f"{mean(values):.1f} ({min(values):.0f} - {max(values):.0f})"


def asked_to_stop(row: Row) -> bool:
    """Return whether a run did the rounds that it was asked for, and no more were wanted."""
    return row["status"] in (Status.OK, Status.UNFINISHED) and row["info"].get("status") == "max_rounds"


def sampled(results: Results, name: str, solver: str) -> list[Row]:
    """Return the runs of a solver that ended, or did the rounds they were asked for."""
    return [*results.of(name, solver), *filter(asked_to_stop, results.stopped(name, solver))]


# -- the combinatorial dimension, and the counterexample -----------------------------------------------------


def basis_runs(results: Results, each: Small) -> list[Row]:
    """Return the runs on examples whose hulls are apart: of others the paper's problem has no solution."""
    solver, found = each.grid().solvers[0], results.runs
    rows = [row for row in found if (row["set"], row["solver"]) == (each.name, solver) and row["status"] == Status.OK]
    return [row for row in rows if row["info"]["distance"][-1] > 1e-3]


def bases(results: Results) -> str:
    """The largest basis of a few examples beside the bounds."""
    lines = []
    for each in plan_of(results).small:
        rows = basis_runs(results, each)
        if rows:
            n, k = each.attributes, each.k
            largest = [int(row["info"]["largest"]) for row in rows]
            counts = [f"{each.counted:,}", f"{n + 1 + k:,}", f"{k * (n + 1):,}"]
            examples = len(rows[0]["info"]["distance"])
            draws = f"{len(rows)} of {each.draws}"
            lines.append([each.kind, str(n), str(k), str(examples), draws, _span(largest), *counts])
    head = ["examples", "n", "k", "how many", "apart", "largest basis", "n + 2 k - 1", "n + 1 + k", "k (n + 1)"]
    return table(head, lines)


def _span(values: list[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else f"{min(values)} - {max(values)}"


def bases_seen(results: Results) -> str:
    """Whether a basis passes a bound."""
    rows = [(each, row) for each in plan_of(results).small for row in basis_runs(results, each)]
    if not rows:
        return NOT_MEASURED
    found = [(each, int(row["info"]["largest"])) for each, row in rows]
    within = sum(largest <= each.counted for each, largest in found)
    reached = sum(largest == each.counted for each, largest in found)
    passed = sum(largest > each.attributes + 1 + each.k for each, largest in found)
    lines = [
        f"* No basis of more than n + 2 k - 1 examples in {len(found)} problems {met(within == len(found))}; {reached} reach it.",
        f"* {passed} of them have a basis of more than n + 1 + k, which the paper argues for and doubts.",
    ]
    for each, row in rows:
        if each.kind == "figure-4":
            distance, bound = row["info"]["distance"], each.d + 1 + each.k
            whole = distance[-1]
            least = next(size for size, value in enumerate(distance, 1) if value and value <= whole * (1.0 + 1e-6))
            lines.append(
                f"* Figures 4 and 5: the hulls of all {len(distance)} examples are {number(whole)} apart; of {bound} = n + 1 + k "
                f"examples at least {distance[bound - 1]:.4f}, whichever are taken; {least} have the same distance as all. The "
                f"example is sound {met(distance[bound - 1] > whole * (1.0 + 1e-6))}."
            )
    return "\n".join(lines)


def counted(results: Results) -> str:
    """Rounds with delta = n + 2 k - 1 beside those with k (n + 1)."""
    lines = []
    for each in plan_of(results).soft:
        rows, before = results.of(each.name, each.smaller), results.of(each.name, each.theorem)
        if rows:
            infos = [row["info"] for row in rows]
            share = mean(info["successful_rounds"] / info["rounds"] for info in infos)
            lines.append(
                [
                    f"{each.m:,}", str(each.d), str(each.k), str(each.bound), f"{min(each.m, 6 * each.bound**2):,}",
                    range_of([float(row["info"]["rounds"]) for row in before]) if before else "", str(each.counted),
                    f"{min(each.m, int(infos[0]['r'])):,}", range_of([float(info["rounds"]) for info in infos]),
                    f"{6.0 * each.counted * math.log(each.m):,.0f}", f"{100.0 * share:.0f} %",
                    number(mean(info["lemma_share"] for info in infos)), number(mean(info["lemma_bound"] for info in infos)),
                ]
            )  # fmt: skip
    head = ["m", "n", "k", "k (n + 1)", "points in a sample", "rounds", "n + 2 k - 1", "points in a sample", "rounds",
            "6 delta ln m", "successful", "violators' weight", "the lemma's bound"]  # fmt: skip
    return table(head, lines)


def counted_seen(results: Results) -> str:
    """Whether the theorem holds with the smaller delta."""
    found = [(each, rows) for each in plan_of(results).soft if (rows := results.of(each.name, each.smaller))]
    found = [(each, rows) for each, rows in found if rows[0]["info"]["r"] < each.m]
    if not found:
        return NOT_MEASURED
    shares = [
        mean(row["info"]["rounds"] for row in rows) / (6.0 * each.counted * math.log(each.m)) for each, rows in found
    ]
    weights = [mean(row["info"]["lemma_share"] / row["info"]["lemma_bound"] for row in rows) for _, rows in found]
    return (
        f"* With delta = n + 2 k - 1 mean rounds are within 6 delta ln m on all {len(found)} problems with a sample smaller than the "
        f"set {met(max(shares) <= 1.0)}, {100.0 * max(shares):.0f} % of it at most; the violators' weight is within the Sampling "
        f"Lemma {met(max(weights) <= 1.0)}, {100.0 * max(weights):.0f} % of its bound at most."
    )


# -- tubes -------------------------------------------------------------------------------------------------


def tube_runs(results: Results, each: Tube) -> list[Row]:
    """Return the finished runs with the theorem's delta and r."""
    return results.of(each.name, each.theorem)


def tubes(results: Results) -> str:
    """Rounds beside 6 delta ln m of Theorems 5.1 and 5.2, and the support beside delta."""
    lines = []
    for each in plan_of(results).tubes:
        found = tube_runs(results, each)
        if not found:
            continue
        infos = [row["info"] for row in found]
        r = int(infos[0]["r"])
        drawn = r < 2 * each.m
        share = mean(info["successful_rounds"] / info["rounds"] for info in infos)
        weights = [
            number(mean(info[name] for info in infos)) if drawn else "" for name in ("lemma_share", "lemma_bound")
        ]
        held = results.mean(each.name, each.whole, "support_vectors")
        lines.append(
            [
                f"{each.m:,}", str(each.d), str(each.outliers), str(each.k), str(each.delta),
                f"{r:,}" if drawn else "all examples", f"{each.rounds_bound():,.0f}",
                range_of([float(info["rounds"]) for info in infos]), f"{100.0 * share:.0f} %", *weights, number(held),
                f"{each.counted:,}", f"{each.k * (each.d + 2):,}",
            ]
        )  # fmt: skip
    head = ["m", "n", "outliers", "k", "delta", "r = 6 delta^2", "6 delta ln m", "rounds", "successful",
            "violators' weight", "the lemma's bound", "support", "n + 2 k", "k (n + 2)"]  # fmt: skip
    return table(head, lines)


def tubes_seen(results: Results) -> str:
    """Whether the means are within Theorems 5.1 and 5.2, the support within delta."""
    found = [(each, rows) for each in plan_of(results).tubes if (rows := tube_runs(results, each))]
    if not found:
        return NOT_MEASURED
    shares = [mean(row["info"]["rounds"] for row in rows) / each.rounds_bound() for each, rows in found]
    held = [
        (each, support)
        for each, _ in found
        if (support := results.mean(each.name, each.whole, "support_vectors")) is not None
    ]
    counted = sum(support <= each.counted for each, support in held)
    within = all(support <= each.delta for each, support in held)
    lucky = sum(row["info"]["successful_rounds"] for _, rows in found for row in rows)
    every = sum(row["info"]["rounds"] for _, rows in found for row in rows)
    drawn = [rows for each, rows in found if rows[0]["info"]["r"] < 2 * each.m]
    weights = [mean(row["info"]["lemma_share"] / row["info"]["lemma_bound"] for row in rows) for rows in drawn]
    worst = 100.0 * max(shares)
    told = f"* Mean rounds within 6 delta ln m on all {len(found)} tubes {met(max(shares) <= 1.0)}; the most is {worst:.0f} % of it."
    lines = [
        f"{told} {lucky:,} of {every:,} rounds were successful {met(2 * lucky >= every)}.",
        f"* The support of the optimum is within delta on all {len(held)} {met(within)}, within the smaller n + 2 k on {counted}.",
    ]
    if weights:
        lines.append(
            f"* The mean weight of violators within the Sampling Lemma {met(max(weights) <= 1.0)}: {100.0 * min(weights):.0f} "
            f"to {100.0 * max(weights):.0f} % of its bound."
        )
    return "\n".join(lines)


# -- the choice of k ---------------------------------------------------------------------------------------


def errors(results: Results, each: Choosing) -> dict[int, float]:
    """Return the test error in percent by k, ascending, of the least k that separates and of the ladder."""
    least = results.of(each.name, BISECTION)
    found = {int(row["info"]["k"]): row["error"] for row in least} | {
        round(1.0 / float(row["solver"].removeprefix(LADDER).partition(",")[0])): row["error"]
        for row in results.runs
        if row["set"] == each.name and row["solver"].startswith(LADDER) and row["status"] == Status.OK
    }
    return {k: found[k] for k in sorted(found) if found[k] is not None}


def chosen(results: Results, each: Choosing) -> tuple[int, list[Row]] | None:
    """Return the least k that separates, and the runs that doubled it; None where one of the two is missing."""
    rows, doubled = results.of(each.name, BISECTION), results.of(each.name, DOUBLING)
    return (int(rows[-1]["info"]["k"]), doubled) if rows and doubled else None


def choosing(results: Results) -> str:
    """Both ways to a k, what they cost, and the test error there and at the best k of the ladder."""
    lines = []
    for each in plan_of(results).choosing:
        found = chosen(results, each)
        if found is None:
            continue
        k, doubled = found
        at, ladder = results.of(each.name, BISECTION)[-1], errors(results, each)
        best = min(ladder, key=lambda one: (ladder[one], one)) if ladder else None
        values = mean(row["kernel_evaluations"] for row in doubled)
        lines.append(
            [
                each.name, f"{at['n_train']:,}", number(each.outliers), f"{k:,}",
                _span([int(row["info"]["k"]) for row in doubled]),
                range_of([float(row["info"]["rounds"]) for row in doubled]),
                number(mean(row["info"]["r"] for row in doubled)), number(at["kernel_evaluations"] / 1e6),
                number(values / 1e6), number(at["error"], ".2f"),
                "" if best is None else f"{ladder[best]:.2f}", "" if best is None else f"{best:,}",
            ]
        )  # fmt: skip
    head = ["set", "m", "outliers", "least k", "doubled to", "rounds", "last r", "bisection: kernel values, M",
            "doubling: M", "test error % at the least k", "least test error % of the ladder", "at k"]  # fmt: skip
    return table(head, lines)


def choosing_seen(results: Results) -> str:
    """Whether separability is a criterion for k, and what doubling costs."""
    found = [(each, pair) for each in plan_of(results).choosing if (pair := chosen(results, each)) is not None]
    if not found:
        return NOT_MEASURED
    runs = [(k, int(row["info"]["k"])) for _, (k, rows) in found for row in rows]
    right = sum(k <= doubled < 2 * k for k, doubled in runs)
    lines = [
        f"* Doubling ends with the least power of two that separates, or all of the smaller class, in {right} of {len(runs)} runs."
    ]
    planted = [f"{k} for {each.outliers}" for each, (k, _) in found if each.outliers is not None]
    if planted:
        lines.append(
            f"* Of planted outliers the least k allows for somewhat more than half, those of a class: {', '.join(planted)}."
        )
    gaps = []
    for each, _ in found:
        ladder = errors(results, each)
        if ladder and max(ladder.values()) > 0.0:  # where every k is right nothing can be chosen
            gaps.append((results.of(each.name, BISECTION)[-1]["error"] - min(ladder.values()), each.name))
    if gaps:
        worse = [(gap, name) for gap, name in gaps if gap >= _HALF]
        named = ", ".join(f"{name} {gap:.1f}" for gap, name in sorted(worse, reverse=True)) or "none"
        lines.append(
            f"* As a criterion, by test errors: on {len(gaps) - len(worse)} of {len(gaps)} sets with errors the one at the least k "
            f"is within half a point of the best k of the ladder; points lost on the others: {named}."
        )
    return "\n".join(lines)


# -- kernels and real data ---------------------------------------------------------------------------------


def extremes_of(row: Row) -> float:
    """Return how many extremes the violators of one round on r of m points stand for: (4) of the Sampling Lemma."""
    m, r = row["n_train"], row["info"]["r"]
    return float(row["info"]["log_share"][0]) * m * (r + 1) / (m - r)


def kernel_rows(results: Results, each: KernelSet) -> tuple[Row, dict[float, list[Row]], list[Row]] | None:
    """Return the run on all points, those of one round by share, and those of the adaptive scheme."""
    whole = results.of(each.called, each.whole)
    if not whole:
        return None
    m = whole[-1]["n_train"]
    rounds = {share: sampled(results, each.called, each.one_round(m, share)) for share in each.shares}
    return whole[-1], {share: rows for share, rows in rounds.items() if rows}, results.of(each.called, each.adaptive)


def kernels(results: Results) -> str:
    """The Sampling Lemma in a kernel's space, delta the support of the sample's own solution; the adaptive scheme."""
    lines = []
    for each in plan_of(results).kernels:
        found = kernel_rows(results, each)
        if found is None:
            continue
        whole, rounds, ended = found
        m, support = whole["n_train"], whole["support_vectors"]
        for share, rows in rounds.items():
            last = share == max(rounds)
            adaptive = ["", "", ""] if not last or not ended else [
                range_of([float(row["info"]["rounds"]) for row in ended]),
                f"{100.0 * min(1.0, mean(row['info']['r'] for row in ended) / m):.0f} %",
                quotient(mean(row["kernel_evaluations"] for row in ended), whole["kernel_evaluations"]).told(".3g"),
            ]  # fmt: skip
            lines.append(
                [
                    each.name, f"{m:,}", str(each.k), number(support), number(6.0 * support**2 / m),
                    f"{100.0 * share:.0f} %", number(mean(row["info"]["log_share"][0] for row in rows)),
                    number(mean(extremes_of(row) for row in rows)), number(mean(row["support_vectors"] for row in rows)),
                    *adaptive,
                ]
            )  # fmt: skip
    head = ["set", "m", "k", "support of the optimum", "6 support^2 / m", "sample", "violators' share", "mean extremes",
            "support of the sample", "adaptive: rounds", "its last r of m", "kernel values, all points = 1"]  # fmt: skip
    return table(head, lines)


def kernels_seen(results: Results) -> str:
    """Whether the lemma holds there, and whether its theorem says anything."""
    found = [rows for each in plan_of(results).kernels if (rows := kernel_rows(results, each)) is not None]
    if not found:
        return NOT_MEASURED
    shares = [
        [extremes_of(row) / row["support_vectors"] for row in rows]
        for _, rounds, _ in found
        for rows in rounds.values()
    ]
    pairs = [mean(each) for each in shares]
    # the mean of a few samples is known up to twice its standard error
    holds = all(
        mean(each) - 2.0 * (stdev(each) if len(each) > 1 else 0.0) / math.sqrt(len(each)) <= 1.0 for each in shares
    )
    beyond = sum(6.0 * whole["support_vectors"] ** 2 >= whole["n_train"] for whole, *_ in found)
    ended = [(whole, rows) for whole, _, rows in found if rows]
    everything = sum(mean(row["info"]["r"] for row in rows) >= whole["n_train"] for whole, rows in ended)
    costs = [
        cost
        for whole, rows in ended
        if (cost := ratio(mean(row["kernel_evaluations"] for row in rows), whole["kernel_evaluations"])) is not None
    ]
    told = f"* With delta the support of the optimum, r = 6 delta^2 is all points or more on {beyond} of {len(found)} problems"
    lines = [f"{told}: the theorems then say that one round on everything is enough."]
    if pairs:
        lines.append(
            f"* The Sampling Lemma with the sample's own support in the place of delta holds, within two standard errors "
            f"{met(holds)}: mean extremes are {100.0 * min(pairs):.0f} to {100.0 * max(pairs):.0f} % of the support. Where k is "
            "large nearly all of the support are extremes, and about as many points violate: k counts points, and a sample carries "
            "as many at the cap as all points do."
        )
    if ended:
        after = ""
        if costs:
            told = f"{number(min(costs))} to {number(max(costs))}"
            after = f", after {told} times the kernel values of one solution of all points"
        lines.append(
            f"* The adaptive scheme ends with all points as the sample on {everything} of {len(ended)} problems{after}."
        )
    return "\n".join(lines)
