"""The tables of reports/lasvm_2005: ours, with the published number in parentheses."""

from __future__ import annotations

from reports.kit.markdown import NOT_MEASURED, beside, machine, met, millions, missing, number, table
from reports.kit.measured import Quotient
from reports.kit.results import Results, change, ratio
from reports.lasvm_2005 import digits, selection, settings, streaming
from reports.lasvm_2005.growth import scaling
from reports.lasvm_2005.original import compare
from reports.lasvm_2005.plan import (
    COUNTED,
    EACH,
    FIVE,
    LIBSVM,
    NAMES,
    ONE,
    ONLINE,
    PRINTED,
    SECOND,
    SMO,
    TWO,
    WAYS,
    tau_of,
    with_delta_max,
)

# our marks
ERROR_POINTS = 0.3
TIME_SHARE = 0.5
TIMED = ("mnist-8", "adult", "usps", "forest-100k")
OBJECTIVE = {TWO: 1e-2, FIVE: 1e-3}


def measured_sets(results: Results) -> list[str]:
    """Return the sets of figure 7 that have runs, in the paper's order."""
    return [name for name in results.plan.sets if name in results.sets]


def libsvm_of(results: Results, name: str) -> str:
    """Return the LIBSVM whose figures stand for it on a set: the one with a counter, else scikit-learn's."""
    counted = tau_of(name, COUNTED)
    return counted if results.of(name, counted) else tau_of(name, LIBSVM)


def figure8(results: Results) -> str:
    """Figure 8, a line a set and solver."""
    rows = []
    for name in measured_sets(results):
        libsvm = libsvm_of(results, name)
        others = [(tau_of(name, LIBSVM), "LIBSVM, scikit-learn's", "")] if libsvm != tau_of(name, LIBSVM) else []
        named = [(tau_of(name, each), NAMES[each], each) for each in (SMO, ONE, EACH, TWO)]
        for solver, title, published in [(libsvm, "LIBSVM", LIBSVM), *others, *named]:
            runs = results.of(name, solver)
            if not runs:
                continue
            paper = {
                quantity: results.published.get("figure8", name, ONE if published == EACH else published, quantity)
                for quantity in ("error", "support_vectors", "kernel_values", "seconds")
            }
            counted = millions(results.mean(name, solver, "kernel_evaluations"))
            rows.append(
                [
                    name,
                    title,
                    beside(results.mean(name, solver, "error"), paper["error"], ".2f"),
                    number(results.spread(name, solver, "error"), ".2f"),
                    beside(results.mean(name, solver, "support_vectors"), paper["support_vectors"], ".0f"),
                    ("-" if counted is None else "") + beside(counted, paper["kernel_values"]),  # "-": a black box
                    number(results.median(name, solver, "cpu")),
                    number(paper["seconds"], "g"),
                    number(results.median(name, solver, "relative_gap"), ".1e"),
                    str(len(runs)),
                ]
            )
    head = ["set", "solver", "error %", "sd", "SV", "kernel values, M", "seconds", "paper's seconds", "rel gap", "runs"]
    return table(head, rows)


def time_share(results: Results, name: str) -> Quotient:
    """Return LASVM's time over that of the faster LIBSVM which was run in turns with it."""
    shares = [
        results.quotient(name, tau_of(name, ONE), tau_of(name, each), "cpu", over="median")
        for each in (COUNTED, LIBSVM)
    ]
    told = [share for share in shares if share.value is not None]
    return max(told, key=lambda share: share.value or 0.0) if told else shares[1]


def _marked(share: Quotient, limit: float | None) -> str:
    return share.told() if share.value is None or limit is None else f"{share.told()} {met(share.value <= limit)}"


def verdict(results: Results) -> str:
    """LASVM x1 against LIBSVM in the same runs, with what is asked of it."""
    rows = []
    for name in measured_sets(results):
        lasvm, libsvm = tau_of(name, ONE), libsvm_of(results, name)
        ours, theirs = results.mean(name, lasvm, "error"), results.mean(name, libsvm, "error")
        if ours is None or theirs is None:
            continue
        difference = ours - theirs
        paper = {
            quantity: ratio(*(results.published.get("figure8", name, each, quantity) for each in (ONE, LIBSVM)))
            for quantity in ("kernel_values", "seconds")
        }
        rows.append(
            [
                name,
                f"{difference:+z.2f} {met(abs(difference) <= ERROR_POINTS)}",
                _marked(results.quotient(name, lasvm, libsvm, "kernel_evaluations"), paper["kernel_values"]),
                number(paper["kernel_values"], ".2f"),
                results.quotient(name, tau_of(name, EACH), libsvm, "kernel_evaluations").told(),
                results.quotient(name, lasvm, tau_of(name, SMO), "kernel_evaluations").told(),
                _marked(time_share(results, name), TIME_SHARE if name in TIMED else None),
                number(paper["seconds"], ".2f"),
            ]
        )
    head = [
        "set",
        "error - LIBSVM's, points",
        "kernel values / LIBSVM's",
        "paper: kernel values / LIBSVM's",
        "LASVM as printed / LIBSVM's",
        "kernel values / SMO's",
        "time / LIBSVM's",
        "paper: time / LIBSVM's",
    ]
    return table(head, rows)


def figure9(results: Results) -> str:
    """Figure 9: relative variation in percent, after the finishing step over before."""
    rows = []
    for name in measured_sets(results):
        before, after = tau_of(name, ONLINE), tau_of(name, PRINTED)
        if not results.of(name, before) or not results.of(name, after):
            continue
        cells = [name]
        for quantity, column in (("error", "error"), ("support_vectors", "support_vectors"), ("cpu", "seconds")):
            found = change(results.mean(name, before, quantity), results.mean(name, after, quantity))
            cells.append(beside(found, results.published.get("figure9", name, ONE, f"{column}_change"), "+z.0f"))
        rows.append(
            [
                *cells,
                number(results.mean(name, before, "error"), ".2f"),
                number(results.mean(name, after, "error"), ".2f"),
            ]
        )
    head = ["set", "error, change in %", "SV, change in %", "time, change in %", "error % before", "error % after"]
    return table(head, rows)


def objective(results: Results) -> str:
    """How far the dual objective is below LIBSVM's, relative, after one, two and five epochs."""
    rows = []
    for name in measured_sets(results):
        cells = [name]
        for solver in (ONE, TWO, FIVE):
            below = _below(results, name, solver)
            limit = OBJECTIVE.get(solver)
            cells.append("" if below is None else f"{below:.1e} {'' if limit is None else met(below <= limit)}".strip())
        if any(cells[1:]):
            gaps = [results.median(name, tau_of(name, solver), "relative_gap") for solver in (LIBSVM, FIVE)]
            rows.append([*cells, *(number(gap, ".1e") for gap in gaps)])
    return table(["set", "LASVM x1", "LASVM x2", "LASVM x5", "rel gap of LIBSVM", "rel gap of LASVM x5"], rows)


def _below(results: Results, name: str, solver: str) -> float | None:
    """Return the largest relative distance of the dual below LIBSVM's on the same data."""
    theirs = {row["dataset"]: row["dual"] for row in results.of(name, tau_of(name, LIBSVM))}
    shares = [
        ratio(row["dual"], theirs[row["dataset"]])
        for row in results.of(name, tau_of(name, solver))
        if row["dataset"] in theirs
    ]
    found = [1.0 - share for share in shares if share is not None]
    return max(found) if found else None


def differences(results: Results) -> str:
    """Name every number that is far from the published one: error by 0.3 points, counts by a tenth."""
    lines = []
    for name in measured_sets(results):
        for solver, label in ((LIBSVM, libsvm_of(results, name)), (ONE, tau_of(name, ONE)), (ONE, EACH)):
            told = NAMES.get(label, NAMES[solver])
            for quantity, column in (("error", "error"), ("support_vectors", "SV"), ("kernel_values", "kernel values")):
                theirs = results.published.get("figure8", name, solver, quantity)
                ours = results.mean(name, label, quantity.replace("kernel_values", "kernel_evaluations"))
                if ours is None or theirs is None:
                    continue
                if quantity == "error" and abs(ours - theirs) > ERROR_POINTS:
                    lines.append(f"* {name}, {told}: error {ours:.2f} % against {theirs:.2f} % published.")
                ours = ours / 1e6 if quantity == "kernel_values" else ours
                if quantity != "error" and abs(ours / theirs - 1.0) > 0.1:
                    unit = " million" if quantity == "kernel_values" else ""
                    lines.append(
                        f"* {name}, {told}: {number(ours)}{unit} {column} "
                        f"against {number(theirs)} published ({ours / theirs:.2f} times)."
                    )
    return "\n".join(lines) or ("None beyond that." if measured_sets(results) else NOT_MEASURED)


def figure10(results: Results) -> str:
    """Figure 10 as numbers: error, time, support vectors for each delta_max, and LIBSVM's."""
    quantities = (("error", ".2f"), ("cpu", ""), ("support_vectors", ".0f"))
    rows = []
    for delta_max in results.plan.deltas:
        solvers = [with_delta_max(way, delta_max) for way in WAYS]
        if any(results.of("banana", solver) for solver in solvers):
            cells = [
                number(results.mean("banana", solver, quantity), form) or "stopped"
                for quantity, form in quantities
                for solver in solvers
            ]
            rows.append([f"{delta_max:g}", *cells])
    if rows and results.of("banana", LIBSVM):
        levels = [number(results.mean("banana", LIBSVM, quantity), form) for quantity, form in quantities]
        rows.append(["LIBSVM", *(cell for level in levels for cell in (level, *[""] * (len(WAYS) - 1)))])
    titles = ("error %", "seconds", "SV")
    return table(["delta_max", *(f"{title}: {way}" for title in titles for way in WAYS.values())], rows)


def pairs(results: Results) -> str:
    """The rules by which online iterations choose their pairs."""
    rules = {PRINTED: "the paper's", ONE: "to second order from 1,000 members on", SECOND: "to second order always"}
    rows = [
        [
            name,
            rule,
            number(results.mean(name, solver, "error"), ".2f"),
            number(results.spread(name, solver, "error"), ".2f"),
            number(results.mean(name, solver, "info.online_members"), ",.0f"),
            number(millions(results.mean(name, solver, "kernel_evaluations"))),
            number(results.median(name, solver, "cpu")),
            str(len(results.of(name, solver))),
        ]
        for name in results.plan.paired
        if results.of(name, SECOND)
        for solver, rule in rules.items()
    ]
    head = ["set", "pairs", "error %", "sd", r"\|S\| at the end", "kernel values, M", "seconds", "runs"]
    return table(head, rows)


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "verdict": verdict(results),
        "figure8": figure8(results),
        "differences": differences(results),
        "settings": settings.section(results),
        "pairs": pairs(results),
        "objective": objective(results),
        "original": compare.section(results),
        "untuned": compare.untuned(results),
        "stream": streaming.section(results),
        "scaling": scaling(results),
        "figure9": figure9(results),
        "figure10": figure10(results),
        "figure4": digits.figure4(results),
        "digits": digits.by_digit(results),
        "figure6": digits.figure6(results),
        **selection.sections(results),
        "missing": missing(results),
    }
