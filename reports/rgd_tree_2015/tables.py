"""The tables of reports/rgd_tree_2015: Figure 4(a) to (c), global optima, the theorem; Table 1 is in selection.py."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from statistics import mean, median, stdev

from harness import Status
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, machine, met, missing, number, table
from reports.kit.results import Results, inside
from reports.kit.signed_ranks import signed_ranks
from reports.rgd_tree_2015 import cost, selection
from reports.rgd_tree_2015.parts import ratio_name, share_name
from reports.rgd_tree_2015.plan import (
    BOUNDED,
    HELD_OUT,
    MARGINS,
    OUTLIER_EXACT,
    RAMP,
    RAMP_EXACT,
    RIVALS,
    WHOLE,
    Method,
    Promise,
    boosted,
    tree,
)

FLAT, LARGEST = 0.5, 2.5  # percent: what figures 4(a) and 4(b) show at most
HALF = 0.5  # of the tree's time, after THREE rounds
THREE = 3
CLOSE = 0.1  # a smaller epsilon than the theorem's height is for
SAME = 1e-3  # relative: a local solver's objective is the global optimum's; ramp-cccp ends within 1e-4 of its own


def ended(results: Results, name: str, solver: str) -> list[Row]:
    """Return the runs that ended with a model: also those of trees none of whose nodes separates what is kept."""
    return [*results.of(name, solver), *(row for row in results.stopped(name, solver) if overlapping(row))]


def overlapping(row: Row) -> bool:
    """Return whether a run ended with a model that gives up too few points to separate the others."""
    return row["status"] == Status.UNFINISHED and row["error"] is not None


@dataclass(frozen=True)
class Spread:
    """The mean of some errors with their standard deviation, percent."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, results: Results, name: str, solver: str) -> Spread | None:
        """Return the test error of a solver on a set, None where nothing was measured."""
        errors = [float(row["error"]) for row in ended(results, name, solver)]
        return cls(mean(errors), stdev(errors) if len(errors) > 1 else 0.0) if errors else None

    def text(self) -> str:
        """Return it as a cell."""
        return f"{self.mean:.3f} ± {self.deviation:.3f}"


def cpu(results: Results, name: str, solver: str) -> float | None:
    """Return the median of the CPU seconds, None where nothing was measured."""
    found = [float(row["cpu"]) for row in ended(results, name, solver)]
    return median(found) if found else None


def best_of(results: Results, name: str, method: Method) -> tuple[str, Spread] | None:
    """Return the candidate with the least mean test error, and that; it knows what no user does."""
    found = [(each, spread) for each in method.candidates if (spread := Spread.of(results, name, each)) is not None]
    return min(found, key=lambda pair: pair[1].mean) if found else None


def _range(values: list[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}" if values else ""


def figure4a(results: Results) -> str:
    """Test errors over the share of outliers."""
    rows = []
    for share in results.plan.shares:
        name = share_name(share)
        spread = Spread.of(results, name, tree(share))
        if spread is None:
            continue
        cells = [f"{spread.text()} {met(spread.mean <= FLAT)}"]
        for method in RIVALS:
            best = best_of(results, name, method)
            cells.append("" if best is None else f"{best[1].text()}, `{best[0]}`")
        rows.append([f"{100 * share:g} %", *cells, number(cpu(results, name, tree(share)))])
    head = ["outliers", "rgd-tree, error % (paper: about 0.5)", *(f"{each.name}, error %" for each in RIVALS),
            "rgd-tree, CPU s"]  # fmt: skip
    return table(head, rows)


def figure4b(results: Results) -> str:
    """Test errors over D / rho."""
    rows = []
    for ratio in results.plan.ratios:
        spread = Spread.of(results, ratio_name(ratio), tree(results.plan.share))
        if spread is not None:
            spent = [float(row["seconds"]) for row in ended(results, ratio_name(ratio), tree(results.plan.share))]
            rows.append([f"{ratio:g}", f"{spread.text()} {met(spread.mean <= LARGEST)}", _range(spent, ".2f")])
    return table(["D / rho", "error % (paper: 0.5 to 2.5)", "wall s (paper: within 300)"], rows)


def figure4c(results: Results) -> str:
    """Error and time of boosting, against the higher tree."""
    name = ratio_name(results.plan.ratios[-1])
    whole, spent = Spread.of(results, name, tree(results.plan.share)), cpu(results, name, tree(results.plan.share))
    if whole is None or spent is None:
        return NOT_MEASURED
    rows = [["one of height 10, L = 50", whole.text(), "", number(spent), "1", ""]]
    for nodes, count in itertools.product(results.plan.nodes, results.plan.rounds):
        solver = boosted(results.plan.share, count, nodes)
        spread, taken = Spread.of(results, name, solver), cpu(results, name, solver)
        if spread is None or taken is None:
            continue
        chance = signed_ranks(*paired(results, name, solver, tree(results.plan.share)))
        equal = spread.mean <= whole.mean or chance >= selection.ALPHA
        asked = "" if count != THREE else met(equal and taken <= HALF * spent)
        rows.append([f"{count} of height 5, L = {nodes}", spread.text(), f"{chance:.3f}", number(taken),
                     f"{taken / spent:.2f}", asked])  # fmt: skip
    head = ["trees", "error %", "p of a difference", "CPU s", "times the one tree's", "equal error in half the time"]
    return table(head, rows)


def paired(results: Results, name: str, first: str, second: str) -> tuple[list[float], list[float]]:
    """Return the test errors of two solvers on the draws that both were run on."""
    one, other = (
        {row["dataset"]: float(row["error"]) for row in ended(results, name, each)} for each in (first, second)
    )
    both = [draw for draw in one if draw in other]
    return [one[draw] for draw in both], [other[draw] for draw in both]


def distances(results: Results, name: str, solver: str) -> list[float]:
    """Return (J - J*) / J* on the draws whose global optimum J* was found and proved, no less than 0."""
    optima = {row["dataset"]: row["primal"] for row in results.of(name, RAMP_EXACT)}
    found = {row["dataset"]: objective(row) for row in results.of(name, solver) if row["dataset"] in optima}
    return [max(0.0, value / optima[draw] - 1.0) for draw, value in found.items()]


def objective(row: Row) -> float:
    """Return J_s: certified, or where the model has no dual coefficients what the study's own solver computed."""
    value = row["primal"] if row["primal"] is not None else row["info"]["objective"]
    return float(value)


def exact(results: Results) -> str:
    """The distance of every method from the global optimum of the ramp loss."""
    rows = []
    for name, _ in results.plan.small:
        for solver in RAMP:
            found = distances(results, name, solver)
            if found:
                hit = sum(each <= SAME for each in found)
                rows.append([name, f"`{solver}`", f"{hit} of {len(found)}", f"{100 * median(found):.2f}",
                             f"{100 * mean(found):.1f}", f"{100 * max(found):.1f}", _held_out(results, name, solver)])  # fmt: skip
        if results.of(name, RAMP_EXACT):
            rows.append([name, f"`{RAMP_EXACT}`", "", "0", "0", "0", _held_out(results, name, RAMP_EXACT)])
    head = ["set", "solver", "within 0.1 % of the optimum", "above it, median %", "mean %", "most %", "test error %"]
    return table(head, rows)


def _held_out(results: Results, name: str, solver: str) -> str:
    """Return the mean error on the test part of a split, percent."""
    errors = [inside(row, f"metrics.{HELD_OUT}") for row in ended(results, name, solver)]
    known = [float(each) for each in errors if each is not None]
    return f"{mean(known):.1f}" if known else ""


def margins(results: Results) -> str:
    """The margins of trees over the widest one, found by branch and bound."""
    rows = []
    for name, _ in results.plan.small:
        widest = {row["dataset"]: row["margin_lower"] for row in results.of(name, OUTLIER_EXACT)}
        for solver in MARGINS:
            runs = [row for row in ended(results, name, solver) if (widest.get(row["dataset"]) or 0.0) > 0.0]
            ratios = [float(row["margin_lower"] or 0.0) / widest[row["dataset"]] for row in runs]
            if ratios:
                apart = sum(each > 0.0 for each in ratios)
                rows.append([name, f"`{solver}`", f"{apart} of {len(ratios)}", f"{median(ratios):.2f}",
                             f"{mean(ratios):.2f}", f"{min(ratios):.2f}", _held_out(results, name, solver)])  # fmt: skip
        if widest:
            rows.append([name, f"`{OUTLIER_EXACT}`", "", "1", "1", "1", _held_out(results, name, OUTLIER_EXACT)])
    head = ["set", "solver", "separates", "margin / widest, median", "mean", "least", "test error %"]
    return table(head, rows)


def effort(results: Results) -> str:
    """What longer searches for the same margin give: separation, width, test error."""
    rows = []
    for name in results.plan.laboured:
        for solver in results.plan.efforts:
            runs = ended(results, f"{name}, effort", solver)
            if runs:
                apart = sum(float(row["margin_lower"] or 0.0) > 0.0 for row in runs)
                widths = [float(row["margin_lower"] or 0.0) for row in runs]
                rows.append([name, f"`{solver}`", f"{apart} of {len(runs)}", f"{median(widths):.3f}",
                             _held_out(results, f"{name}, effort", solver),
                             number(cpu(results, f"{name}, effort", solver))])  # fmt: skip
    return table(["set", "solver", "separates", "width, median", "test error %", "CPU s"], rows)


def widest_margin(results: Results, promise: Promise) -> float | None:
    """Return the least upper bound of the optimal width that any run's certificate found."""
    runs = [row for nodes in (WHOLE, BOUNDED) for row in ended(results, promise.name, promise.tree(nodes))]
    bounds = [float(row["margin_upper"]) for row in runs if row["margin_upper"] is not None]
    return min(bounds) if bounds else None


def theorem(results: Results) -> str:
    """The share of seeds with an (epsilon, delta)-approximation, against what the theorem promises."""
    rows = []
    for each in results.plan.promises:
        bound = widest_margin(results, each)
        if bound is None:
            continue
        for nodes in (WHOLE, BOUNDED):
            runs = ended(results, each.name, each.tree(nodes))
            if not runs:
                continue
            widths = [float(row["margin_lower"] or 0.0) / bound for row in runs]
            share, close = (mean(width >= 1.0 - epsilon for width in widths) for epsilon in (each.epsilon, CLOSE))
            promised = each.height >= each.enough
            asked = f"{each.bound:.2f} {met(share >= each.bound)}" if promised else "nothing"
            shape = "whole" if nodes == WHOLE else f"L = {nodes}"
            rows.append([each.name, shape, f"{each.height} of {each.enough}", f"{share:.3f}", asked, f"{close:.3f}",
                         f"{min(widths):.2f}", f"{median(widths):.2f}", str(len(runs))])  # fmt: skip
    head = ["problem", "tree", "h of the theorem's", "share that is wide enough", "promised", "share within 10 %",
            "least width / bound", "median", "seeds"]  # fmt: skip
    return table(head, rows)


def absent(results: Results) -> str:
    """Name the runs that are missing, those whose node does not separate together, and Table 1's sets that are not there."""
    others = copy.copy(results)
    others.runs = [row for row in results.runs if not overlapping(row)]
    told = missing(others)
    lines = [] if told == "Nothing." else [told]
    lines += dict.fromkeys(f"* `{row['solver']}`: {row['reason']}" for row in results.skipped)
    for name in results.sets:
        runs = [row for row in results.runs if row["set"] == name and row["solver"].startswith("rgd-")]
        meeting = [row for row in runs if overlapping(row)]
        if meeting:
            lines.append(
                f"* {name}: in {len(meeting)} of {len(runs)} runs of RGD no node separates what is kept; the one with the least "
                "overlap is the model, and counts."
            )
    lines += [
        f"* {name}: {error:g} % published; the set is not there, and none stands in for it."
        for name in results.plan.absent
        if (error := results.published.get("table1", name, "rgd-tree", "error")) is not None
    ]
    return "\n".join(lines)


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "figure4a": figure4a(results),
        "figure4b": figure4b(results),
        "figure4c": figure4c(results),
        **selection.sections(results),
        "exact": exact(results),
        "margins": margins(results),
        "effort": effort(results),
        "theorem": theorem(results),
        "cost": cost.section(results),
        "missing": absent(results),
    }
