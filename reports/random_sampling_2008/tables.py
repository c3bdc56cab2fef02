"""The tables of reports/random_sampling_2008."""

from __future__ import annotations

from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, machine, met, missing, number, table
from reports.kit.measured import mean, ratio
from reports.kit.results import Results
from reports.random_sampling_2008 import claims
from reports.random_sampling_2008.claims import asked_to_stop, range_of, sampled
from reports.random_sampling_2008.plan import Clouds, plan_of

ALL_POINTS = "all points"


def theorem_runs(results: Results, clouds: Clouds) -> list[Row]:
    """Return the finished runs with the theorems' delta and r."""
    return results.of(clouds.name, clouds.theorem)


def rounds(results: Results) -> str:
    """Rounds beside 6 delta ln m, and the weight of violators beside the Sampling Lemma."""
    lines = []
    for each in (*plan_of(results).hard, *plan_of(results).soft):
        found = theorem_runs(results, each)
        if not found:
            continue
        infos = [row["info"] for row in found]
        r = int(infos[0]["r"])
        sample = ALL_POINTS if r >= each.m else f"{r:,}"
        taken, again = [float(info["rounds"]) for info in infos], results.of(each.name, each.adaptive)
        share = mean(info["successful_rounds"] / info["rounds"] for info in infos)
        shares = [mean(info[name] for info in infos) for name in ("lemma_share", "lemma_bound")]
        lines.append(
            [
                f"{each.m:,}", str(each.d), str(each.k), str(each.bound), sample, f"{each.rounds_bound():,.0f}",
                range_of(taken), f"{100.0 * share:.0f} %", number(shares[0]) if r < each.m else "",
                number(shares[1]) if r < each.m else "",
                range_of([float(row["info"]["rounds"]) for row in again]) if again else "",
                number(mean(row["info"]["r"] for row in again)) if again else "",
            ]
        )  # fmt: skip
    head = ["m", "n", "k", "delta", "r = 6 delta^2", "6 delta ln m", "rounds", "successful", "violators' weight",
            "the lemma's bound", "adaptive: rounds", "its last r"]  # fmt: skip
    return table(head, lines)


def verdict(results: Results) -> str:
    """Whether the means are within the theorems, and the lemma holds."""
    drawn = [
        (each, runs)
        for each in (*plan_of(results).hard, *plan_of(results).soft)
        if (runs := theorem_runs(results, each)) and runs[0]["info"]["r"] < each.m
    ]
    if not drawn:
        return NOT_MEASURED
    within = all(mean(row["info"]["rounds"] for row in runs) <= each.rounds_bound() for each, runs in drawn)
    worst = max(mean(row["info"]["rounds"] for row in runs) / each.rounds_bound() for each, runs in drawn)
    lemma = [
        mean(r["info"]["lemma_share"] for r in runs) / mean(r["info"]["lemma_bound"] for r in runs) for _, runs in drawn
    ]
    lucky = sum(row["info"]["successful_rounds"] for _, runs in drawn for row in runs)
    every = sum(row["info"]["rounds"] for _, runs in drawn for row in runs)
    told = f"on all {len(drawn)} problems with a sample smaller than the set {met(within)}"
    share = f"{100.0 * min(lemma):.0f} to {100.0 * max(lemma):.0f} % of its bound"
    lines = [
        f"* Mean rounds within 6 delta ln m {told}; the most is {100.0 * worst:.0f} % of it.",
        f"* The mean weight of violators within the Sampling Lemma {met(max(lemma) <= 1.0)}: {share}.",
        f"* {lucky:,} of {every:,} rounds were successful; the proof counts on half of them {met(2 * lucky >= every)}.",
    ]
    return "\n".join(lines)


def small(results: Results) -> str:
    """Rounds with smaller samples."""
    lines = []
    for each in plan_of(results).swept:
        for r, label in plan_of(results).sweep(each).items():
            runs = [*results.of(each.name, label), *results.stopped(each.name, label)]
            runs = [row for row in runs if row["info"].get("rounds")]
            if not runs:
                continue
            ended = [row for row in runs if row["info"].get("status") == "done"]
            taken = range_of([float(row["info"]["rounds"]) for row in ended]) if ended else ""
            # a run that the clock stopped has no mean
            shares = [row["info"]["lemma_share"] for row in runs if "lemma_share" in row["info"]]
            success = mean(row["info"]["successful_rounds"] / row["info"]["rounds"] for row in runs)
            lines.append(
                [
                    f"{each.m:,}, {each.d}, {each.k}", f"{r:,}", number(r / each.bound**2), number(r / each.bound),
                    f"{len(ended)} of {len(runs)}", taken, f"{each.rounds_bound():,.0f}", f"{100.0 * success:.0f} %",
                    number(mean(shares)) if shares else "",
                    number(1.0 / (3.0 * each.bound)), number(mean(row["cpu"] for row in ended)) if ended else "",
                ]
            )  # fmt: skip
    head = ["m, n, k", "r", "r / delta^2", "r / delta", "ended", "rounds", "6 delta ln m", "successful",
            "violators' weight", "1 / (3 delta)", "CPU s"]  # fmt: skip
    return table(head, lines)


def smallest(results: Results) -> str:
    """The smallest r that every run ended with, and the fastest."""
    lines = []
    for each in plan_of(results).swept:
        found = {r: results.of(each.name, label) for r, label in plan_of(results).sweep(each).items()}
        ended = {
            r: mean(row["cpu"] for row in runs)
            for r, runs in found.items()
            if runs and all(row["info"]["status"] == "done" for row in runs)
        }
        if ended:
            least, fastest, full = min(ended), min(ended, key=lambda r: ended[r]), 6 * each.bound**2
            lines.append(
                f"* m = {each.m:,}, n = {each.d}, k = {each.k}: r = {least:,} was enough, {number(full / least)} times smaller "
                f"than 6 delta^2 = {full:,}; the fastest was r = {fastest:,}."
            )
    return "\n".join(lines) or NOT_MEASURED


def extremes(results: Results, clouds: Clouds) -> float | None:
    """Return the mean number of extremes of a sample with half of the points, by (4) of the Sampling Lemma."""
    runs = sampled(results, clouds.name, clouds.first_round)
    shares = [row["info"]["log_share"][0] for row in runs if row["info"].get("log_share")]
    r = clouds.m // 2
    return mean(shares) * clouds.m * (r + 1) / (clouds.m - r) if shares else None


def support(results: Results, clouds: Clouds) -> float | None:
    """Return the number of support vectors of the optimum."""
    return results.mean(clouds.name, clouds.whole(), "support_vectors")


def dimension(results: Results) -> str:
    """The support of the optimum and the mean number of extremes beside the bound and the conjecture."""
    lines = []
    for each in plan_of(results).sized:
        held, found = support(results, each), extremes(results, each)
        if held is None or found is None:
            continue
        lines.append(
            [
                str(each.outliers),
                str(each.k),
                str(each.d),
                number(held),
                number(found),
                f"{each.counted:,}",
                f"{each.bound:,}",
            ]
        )
    head = ["outliers", "k", "n", "support of the optimum", "mean extremes, r = m / 2", "n + 2 k - 1", "k (n + 1)"]
    return table(head, lines)


def seen(results: Results) -> str:
    """What the adaptive scheme saves, and how near the support of the optimum is to the bounds."""
    pairs: list[tuple[float, float]] = []
    for each in (*plan_of(results).hard, *plan_of(results).soft):
        fixed, again = theorem_runs(results, each), results.of(each.name, each.adaptive)
        if fixed and again and fixed[0]["info"]["r"] < each.m:
            means = [
                (mean(row["info"]["r"] for row in rows), mean(row["info"]["rounds"] for row in rows))
                for rows in (fixed, again)
            ]
            both = ratio(means[1][0], means[0][0]), ratio(means[1][1], means[0][1])
            if both[0] is not None and both[1] is not None:
                pairs.append(both)
    sized = [(each, held) for each in plan_of(results).sized if (held := support(results, each)) is not None]
    lines = []
    if pairs:
        (small, large), (few, many) = ((min(column), max(column)) for column in zip(*pairs, strict=True))
        lines.append(
            f"* The adaptive scheme ends with {number(small)} to {number(large)} times the theorems' r, after {number(few)} to "
            f"{number(many)} times as many rounds."
        )
    if sized:
        within = sum(held <= each.counted for each, held in sized)
        lines.append(
            f"* The support of the optimum is at most n + 2 k - 1 on {within} of {len(sized)} problems; one that is no vertex may "
            f"have more. k (n + 1) is up to {number(max(each.bound / held for each, held in sized))} times as much."
        )
    return "\n".join(lines) or NOT_MEASURED


def sections(results: Results) -> dict[str, str]:
    """Return every table by the name of its marker."""
    return {
        "machine": machine(results),
        "verdict": verdict(results),
        "seen": seen(results),
        "rounds": rounds(results),
        "smallest": smallest(results),
        "small": small(results),
        "dimension": dimension(results),
        "bases-seen": claims.bases_seen(results),
        "bases": claims.bases(results),
        "counted-seen": claims.counted_seen(results),
        "counted": claims.counted(results),
        "tubes-seen": claims.tubes_seen(results),
        "tubes": claims.tubes(results),
        "choosing-seen": claims.choosing_seen(results),
        "choosing": claims.choosing(results),
        "kernels-seen": claims.kernels_seen(results),
        "kernels": claims.kernels(results),
        "missing": missing(results, asked_to_stop),
    }
