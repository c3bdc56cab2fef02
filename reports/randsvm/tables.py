"""The tables of reports/randsvm: ours, with the published number in parentheses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness import Status
from reports.kit.clocks import cpu_time, quotient
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, beside, machine, met, missing, number, table
from reports.kit.results import Results
from reports.randsvm.plan import LIBSVM, LIBSVR, OURS, Problem, plan_of

FIGURES = ("randsvm", "", "libsvm")
"""What published.csv calls the solvers of a set, ours over smo, ours over smo-block, LIBSVM; the paper's oracle is LIBSVM."""


def run_of(results: Results, name: str, solver: str) -> Row | None:
    """Return the newest run, finished or stopped."""
    found = [row for row in results.runs if (row["set"], row["solver"]) == (name, solver)]
    return found[-1] if found else None


def runs_of(results: Results, each: Problem, library: str) -> list[tuple[Row, str]]:
    """Return the runs on a set, ours over both oracles and the library's, each with the paper's name of its solver."""
    rows = [run_of(results, each.name, solver) for solver in (*each.ours, library)]
    return [(row, figure) for row, figure in zip(rows, FIGURES, strict=True) if row is not None]


def accuracy(row: Row | None) -> float | None:
    """Return the accuracy in percent, None where there is no model."""
    return None if row is None or row["error"] is None else 100.0 - row["error"]


def spent(row: Row) -> str:
    """Return the CPU seconds; of a run that was stopped those it had, as far as they were kept."""
    time = cpu_time(row)
    if time is None:
        return "stopped"
    return f"stopped after {number(time.seconds)}" if time.at_least else number(time.seconds)


def _own(row: Row) -> list[str]:
    """Return what a run of ours tells: k, support vectors, rounds, why it ended."""
    info = row["info"]
    return [number(info.get("k")), number(row["support_vectors"]), number(info.get("rounds")), info.get("status") or ""]


def table1(results: Results) -> str:
    """Table 1, a line a set and solver."""
    lines = []
    for each in plan_of(results).table1:
        for row, figure in runs_of(results, each, LIBSVM):
            seconds, share = (results.published.get("table1", each.paper, figure, q) for q in ("seconds", "accuracy"))
            gap = row["relative_gap"] if row["status"] == Status.OK else None
            lines.append(
                [
                    each.shown, row["solver"], f"{number(row['C'], 'g')}, {number(row['gamma'], 'g')}", spent(row),
                    number(seconds, "g"), beside(accuracy(row), share, ".2f"), *_own(row), number(gap, ".1e"),
                ]
            )  # fmt: skip
    head = ["set", "solver", "C, gamma", "CPU s", "paper's seconds", "accuracy %", "k", "SV", "rounds", "ended with",
            "rel gap"]  # fmt: skip
    return table(head, lines)


def table2(results: Results) -> str:
    """Table 2, a line a set and solver."""
    plan, lines = plan_of(results), []
    for each in plan.table2:
        for row, figure in runs_of(results, each, LIBSVR):
            found = row["metrics"]
            published = {
                q: results.published.get("table2", each.paper, figure, q) for q in ("seconds", "mse", "rho", "accuracy")
            }
            sign = found.get("same-sign") if each.name in plan.signs else None
            lines.append(
                [
                    each.shown, row["solver"], spent(row), number(published["seconds"], "g"),
                    beside(found.get("mse"), published["mse"], ".4f"), beside(found.get("pearson"), published["rho"], ".4f"),
                    "" if each.name not in plan.signs
                    else beside(None if sign is None else 100.0 * sign, published["accuracy"], ".2f"),
                    *_own(row),
                ]
            )  # fmt: skip
    head = ["set", "solver", "CPU s", "paper's seconds", "MSE", "rho", "right sign %", "k", "SV", "rounds",
            "ended with"]  # fmt: skip
    return table(head, lines)


def asked(results: Results) -> str:
    """Our marks."""
    plan = plan_of(results)
    return (
        f"Our marks: `{OURS[0]}` at least {plan.faster:g} times as fast as LIBSVM, and within {plan.points:g} points of its "
        "accuracy."
    )


def verdict(results: Results) -> str:
    """Whether RandSVM-1 is so many times as fast as LIBSVM as our mark, and as accurate; no mark where the first is not known."""
    plan, lines = plan_of(results), []
    for each in plan.table1:
        ours, theirs = run_of(results, each.name, OURS[0]), run_of(results, each.name, LIBSVM)
        if not each.goal or ours is None or theirs is None or ours["status"] != Status.OK:
            continue
        ratio, remark = quotient(theirs, ours)
        told = f"{ratio} as long" if ratio is not None else f"not divided: {remark}"
        known = ratio is not None and not (ratio.at_least and ratio.value < plan.faster)
        if ratio is not None and known:
            told += f" {met(ratio.value >= plan.faster)}"
        text = f"* {each.name}: {OURS[0]} takes {spent(ours)} s, LIBSVM {_ended(theirs)}, {told}"
        finished = theirs["status"] == Status.OK
        other = theirs if finished else run_of(results, each.tenth, LIBSVM)
        if other is not None and other["status"] == Status.OK:
            difference = (accuracy(other) or 0.0) - (accuracy(ours) or 0.0)
            against = "" if finished else "against LIBSVM on a tenth of the points "
            text += f"; {against}{difference:+.2f} points of accuracy{f' {met(difference <= plan.points)}' if known else ''}"
        lines.append(text + ".")
    if not any(each.goal for each in plan.table1):
        return "No set of this plan is large enough for our marks."
    return "\n".join(lines) or NOT_MEASURED


def _ended(row: Row) -> str:
    time = cpu_time(row)
    if time is None:
        return "was stopped"
    return f"{'was stopped after ' if time.at_least else ''}{number(time.seconds)} s"


def growth(results: Results) -> str:
    """How the time grows from one size to ten times as many points."""
    lines = []
    for each in plan_of(results).table1:
        if not each.tenth:
            continue
        cells = []
        for solver in (*OURS, LIBSVM):
            small, large = (run_of(results, name, solver) for name in (each.tenth, each.name))
            if small is None or large is None:
                cells.append("")
                continue
            ratio, remark = quotient(large, small)
            cells.append(remark if ratio is None else f"{'> ' if ratio.at_least else ''}{number(ratio.value)}")
        if any(cells):
            lines.append([each.name, *cells, *_published_growth(results, each)])
    return table(["set", *OURS, LIBSVM, "paper's RandSVM", "paper's LIBSVM"], lines)


def _published_growth(results: Results, each: Problem) -> list[str]:
    """Return the same of the paper's seconds, of RandSVM and of LIBSVM."""
    smaller = plan_of(results).named(each.tenth)
    cells = []
    for figure in ("randsvm", "libsvm"):
        small = None if smaller is None else results.published.get("table1", smaller.paper, figure, "seconds")
        large = results.published.get("table1", each.paper, figure, "seconds")
        cells.append("" if small is None or large is None else number(large / small))
    return cells


# -- ringnorm ----------------------------------------------------------------------------------------------


def searched(results: Results, mean: float) -> dict[tuple[float, float], float]:
    """Return the accuracy in percent by (gamma, C)."""
    search = plan_of(results).search
    rows = [row for row in results.runs if (row["set"], row["dataset"]) == (search.name, search.selection(mean))]
    return {(row["gamma"], row["C"]): found for row in rows if (found := accuracy(row)) is not None}


def ringnorm(results: Results) -> str:
    """The accuracy over gamma and C, for each mean of the wide class."""
    search = plan_of(results).search
    lines = []
    for gamma in search.gamma:
        for mean in search.means:
            found = searched(results, mean)
            cells = [number(found.get((gamma, c)), ".2f") for c in search.C]
            if any(cells):
                lines.append([f"{gamma:g}", f"{mean:g}", *cells])
    return table(["gamma", "mean of the wide class", *(f"C = {c:g}" for c in search.C)], lines)


def ringnorm_seen(results: Results) -> str:
    """What the search says of the distance to the paper."""
    search, best = plan_of(results).search, {}
    for mean in search.means:
        found = searched(results, mean)
        if not found:
            return NOT_MEASURED
        best[mean] = max(found.items(), key=lambda item: item[1])
    lines = [
        f"* Best of the grid with mean {mean:g}: {value:.2f} % at gamma = {gamma:g}, C = {c:g}."
        for mean, ((gamma, c), value) in best.items()
    ]
    published = results.published.get("table1", "ringnorm1", "libsvm", "accuracy")
    first, last = best[search.means[0]][1], best[search.means[-1]][1]
    if published is not None:
        tested = max(row["n_test"] for row in results.runs if row["set"] == search.name)
        noise = 1.96 * math.sqrt(sum(each * (100.0 - each) for each in (first, last)) / tested)
        told = f"{'widens' if last > first else 'closes'} the distance by {abs(last - first):.2f} points, of {first - published:.2f}"
        if abs(last - first) <= noise:
            told = (
                f"changes it by {last - first:+.2f} points, less than {tested:,} test points tell apart ({noise:.2f})"
            )
        lines.append(f"* The paper's LIBSVM has {published:.2f} %. Its mean {told}.")
        near = [
            f"gamma = {gamma:g}, C = {c:g} ({value:.2f} %)"
            for (gamma, c), value in searched(results, search.means[-1]).items()
            if abs(value - published) <= plan_of(results).points
        ]
        where = ", ".join(near) or "none"
        lines.append(
            f"* Cells of the grid with the paper's mean within {plan_of(results).points:g} points of it: {where}."
        )
    return "\n".join(lines)


# -- what is seen ------------------------------------------------------------------------------------------


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no set"


def seen(results: Results) -> str:
    """What the rows say, in sentences."""
    plan = plan_of(results)
    ends: dict[str, list[str]] = {}
    higher: list[tuple[float, str]] = []
    beside_libsvm: list[str] = []
    for each in (*plan.table1, *plan.table2):
        rows = [run_of(results, each.name, solver) for solver in each.ours]
        for row in rows[:1]:
            if row is not None and row["status"] == Status.OK:
                ends.setdefault(row["info"].get("status") or "", []).append(each.name)
        theirs = results.published.get("table1", each.paper, "randsvm", "accuracy")
        if theirs is not None and (own := accuracy(rows[0])) is not None:
            higher.append((own - theirs, each.name))
        library = run_of(results, each.name, LIBSVM if each in plan.table1 else LIBSVR)
        ratios = [quotient(library, row)[0] for row in rows if row is not None and library is not None]
        if any(ratios):
            told = " and ".join(str(ratio) for ratio in ratios if ratio is not None)
            beside_libsvm.append(f"{each.name} {told}")
    if not ends:
        return NOT_MEASURED
    optimal = [name for end in ("gap", "no violator") for name in ends.get(end, [])]
    lines = [f"* `{OURS[0]}` ends at the optimum, up to the gap asked for, on {_listed(optimal)}."]
    if stopped := ends.get("k support vectors"):
        lines[0] = f"{lines[0][:-1]}; with k support vectors, as nearly all runs of the paper, on {_listed(stopped)}."
    if higher:
        least, most = min(higher), max(higher)
        lines.append(
            f"* Its accuracies are {least[0]:+.2f} ({least[1]}) to {most[0]:+.2f} points ({most[1]}) of the paper's RandSVM, "
            "which does not tell its C and gamma."
        )
    if beside_libsvm:
        lines.append(f"* LIBSVM takes, as long as ours over smo and over smo-block: {'; '.join(beside_libsvm)}.")
    return "\n".join(lines)


def settings(results: Results) -> str:
    """What k rests on."""
    plan = plan_of(results)
    sets = (*plan.table1, *plan.table2)
    own = [f"{each.delta:g} on {each.name}" for each in sets if each.delta is not None]
    return (
        f"k = 32 ln(4 n / delta) / eps^2 with eps = 0.2, delta = 0.9 for classification and 0.1 for regression"
        f"{', ' + ', '.join(own) if own else ''}, as in the paper; the sample is r = 2 k. Each run that was stopped is "
        "named in the last section with its wall time; what it cost is told in CPU seconds, the clock of all other times."
    )


def sections(results: Results) -> dict[str, str]:
    """Return every table by the name of its marker."""
    return {
        "machine": machine(results),
        "settings": settings(results),
        "asked": asked(results),
        "verdict": verdict(results),
        "seen": seen(results),
        "table1": table1(results),
        "growth": growth(results),
        "ringnorm-seen": ringnorm_seen(results),
        "ringnorm": ringnorm(results),
        "table2": table2(results),
        "missing": missing(results),
    }
