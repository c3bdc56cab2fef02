"""The tables of reports/border_2007: ours, with the published number in parentheses."""

from __future__ import annotations

from statistics import mean

from reports.border_2007 import courses, tuning, verdict
from reports.border_2007.figures import (
    Spread,
    average_ranks,
    breakeven,
    classes,
    compared,
    efficiency,
    imbalance,
    percent,
    published_prbep,
    ranks,
    seconds,
    support_ratio,
    told,
)
from reports.border_2007.parts import (
    AL,
    BATCH,
    COSTS,
    EXACT,
    MARGIN,
    METHODS,
    SMOTE,
)
from reports.border_2007.plan import ABSENT, AS_PRINTED
from reports.kit.markdown import beside, machine, missing, number, table
from reports.kit.results import Results, ratio
from reports.kit.signed_ranks import signed_ranks

TITLES = {"batch": "Batch", "us": "US", "smote": "SMOTE", "dc": "DC", "al": "AL"}
COMPARED = ("batch", "us", "smote", "dc")
_HUNDREDTH = ".2f"


def table2(results: Results) -> str:
    """Table 2: what the sets are."""
    rows = []
    for name, data in results.plan.every.items():
        found = classes(results, name)
        if found is None:
            continue
        printed = {
            each: results.published.get("table2", name, "", each)
            for each in ("features", "positives", "negatives", "C", "gamma")
        }
        rows.append(
            [
                name,
                f"`{data.selection}`",
                *(beside(found[each], printed[each], ",.0f") for each in ("features", "positives", "negatives")),
                f"{found['test']:,}",
                *(beside(found[each], printed[each], "g") for each in ("C", "gamma")),
            ]
        )
    return table(["set", "source", "features", "positives", "negatives", "test points", "C", "gamma"], rows)


def parameters(results: Results) -> str:
    """Table 1's numbers with the C and gamma of Table 2, where these do not give them."""
    rows = []
    for name, data in ((data.name, data) for data in results.plan.printed):
        topic = name.removesuffix(AS_PRINTED)
        for each, given in ((name, data), (topic, results.plan.sets[topic])):
            found = [percent(results, each, solver, "g-means") for solver in (BATCH, AL)]
            if found[0] is not None:
                labels = told(efficiency(results, each), form=".1f")
                rows.append([topic, f"{given.C:g}", f"{given.gamma:g}", *map(told, found), labels])
        if rows and rows[-1][0] == topic:
            printed = [results.published.get("table1", topic, *each) for each in (("batch", "g_means"), ("al", "g_means"),
                                                                                ("al", "data_efficiency"))]  # fmt: skip
            shown = [number(value, form) for value, form in zip(printed, (".2f", ".2f", ".1f"), strict=True)]
            rows.append([f"{topic}, published", "", "", *shown])
    return table(["set", "C", "gamma", "g-means %, Batch", "g-means %, AL", "labels, %"], rows)


def table1(results: Results) -> str:
    """Table 1: g-means and AUC of AL at its early stop and of the whole training set, support vectors, labels."""
    rows = []
    for name in results.plan.sets:
        found = {
            (solver, metric): percent(results, name, solver, metric)
            for solver in (BATCH, AL)
            for metric in ("g-means", "roc-auc")
        }
        if found[AL, "g-means"] is None:
            continue

        def printed(solver: str, quantity: str, name: str = name) -> float | None:
            return results.published.get("table1", name, solver, quantity)

        rows.append(
            [
                name,
                told(found[BATCH, "g-means"], printed("batch", "g_means")),
                told(found[AL, "g-means"], printed("al", "g_means")),
                told(percent(results, name, EXACT, "g-means")),
                told(found[BATCH, "roc-auc"], printed("batch", "auc")),
                told(found[AL, "roc-auc"], printed("al", "auc")),
                beside(imbalance(results, name), printed("", "imbalance"), ".1f"),
                told(support_ratio(results, name), printed("al", "sv_ratio")),
                told(efficiency(results, name), printed("al", "data_efficiency"), ".1f"),
                str(len(results.of(name, AL))),
            ]
        )
    head = ["set", "g-means %, Batch", "g-means %, AL", "g-means %, optimum", "AUC %, Batch", "AUC %, AL", "imbalance",
            "SV- / SV+", "labels, %", "runs"]  # fmt: skip
    return table(head, rows)


def margin(results: Results) -> str:
    """The two stopping rules side by side: support vectors stable, and none closer than the margin."""
    rows = []
    for name in results.plan.sets:
        if not results.of(name, MARGIN):
            continue
        whole = percent(results, name, BATCH, "g-means")
        line = [name, told(whole)]
        for solver in (AL, MARGIN):
            spent = seconds(results, name, solver)
            line += [
                told(percent(results, name, solver, "g-means")),
                told(efficiency(results, name, solver), form=".1f"),
                number(spent),
            ]
        rows.append(line)
    head = ["set", "g-means %, Batch", "stable: g-means %", "labels, %", "CPU s", "margin: g-means %", "labels, %",
            "CPU s"]  # fmt: skip
    return table(head, rows)


def table3(results: Results) -> str:
    """Table 3: PRBEP of the five methods, and the training times of SMOTE and AL."""
    rows = []
    for name in results.plan.sets:
        if percent(results, name, AL, "prbep") is None:
            continue
        line = [name]
        for method, solver in METHODS.items():
            line.append(
                told(percent(results, name, solver, "prbep"), results.published.get("table3", name, method, "prbep"))
            )
        spent = [seconds(results, name, solver) for solver in (SMOTE, AL)]
        printed = [results.published.get("table3", name, solver, "seconds") for solver in ("smote", "al")]
        line += [beside(*pair) for pair in zip(spent, printed, strict=True)]
        rows.append([*line, beside(ratio(*spent), ratio(*printed))])
    head = ["set", *(f"PRBEP %, {title}" for title in TITLES.values()), "s, SMOTE", "s, AL", "SMOTE / AL"]
    return table(head, rows)


def g_means(results: Results) -> str:
    """g-means of all five methods: AL at its early stop, the others at their end."""
    rows = []
    for name in results.plan.sets:
        if results.of(name, AL):
            found = [told(percent(results, name, solver, "g-means")) for solver in METHODS.values()]
            rows.append([name, *found])
    return table(["set", *TITLES.values()], rows)


def times(results: Results) -> str:
    """The CPU seconds of all five methods and their kernel values."""
    rows = []
    for name in results.plan.sets:
        if results.of(name, AL):
            spent = [number(seconds(results, name, solver)) for solver in METHODS.values()]
            values = [results.median(name, solver, "kernel_evaluations") for solver in (BATCH, SMOTE, AL)]
            busy = [row["load_average"] for row in results.of(name, AL) if row.get("load_average") is not None]
            rows.append([name, *spent, *(number(None if each is None else each / 1e6) for each in values),
                         number(mean(busy) if busy else None, ".1f")])  # fmt: skip
    head = ["set", *(f"s, {title}" for title in TITLES.values()), "kernel values, M, Batch", "SMOTE", "AL", "load"]
    return table(head, rows)


def table4(results: Results) -> str:
    """Table 4: ranks in PRBEP, and their averages over the sets that are here."""
    names = compared(results)
    rows = []
    for name in names:
        found = ranks(list(breakeven(results, name).values()))
        printed = [results.published.get("table4", name, method, "rank") for method in METHODS]
        rows.append([name, *(beside(float(rank), theirs, ".0f") for rank, theirs in zip(found, printed, strict=True))])
    if rows:
        ours = average_ranks(results, names)
        known = {
            method: [results.published.get("table4", name, method, "rank") for name in names] for method in METHODS
        }
        same = {method: mean(found) if (found := [each for each in every if each is not None]) else None
                for method, every in known.items()}  # fmt: skip
        rows.append(["average", *(beside(ours[method], same[method], _HUNDREDTH) for method in METHODS)])
        printed = [results.published.get("table4", "average", method, "rank") for method in METHODS]
        rows.append(["average of all 18, published", *(f"({number(each, _HUNDREDTH)})" for each in printed)])
    return table(["set", *TITLES.values()], rows)


def wilcoxon(results: Results) -> str:
    """AL against each other method: PRBEP over the sets, signed ranks."""
    names = compared(results)
    if not names:
        return table([], [])
    ours = {method: [breakeven(results, name)[method] for name in names] for method in METHODS}
    rows = []
    for method in COMPARED:
        differences = [a - b for a, b in zip(ours["al"], ours[method], strict=True)]
        wins, losses = sum(each > 0.0 for each in differences), sum(each < 0.0 for each in differences)
        theirs = [published_prbep(results, each) for each in ("al", method)]
        here = [published_prbep(results, each, names) for each in ("al", method)]
        rows.append([TITLES[method], f"{wins}, {len(differences) - wins - losses}, {losses}",
                     f"{mean(differences):+.2f}", f"{signed_ranks(ours['al'], ours[method]):.4f}",
                     f"{signed_ranks(*here):.4f}", f"{signed_ranks(*theirs):.4f}"])  # fmt: skip
    head = [
        "AL against",
        "better, equal, worse",
        "mean difference, points",
        "p",
        "p of Table 3, these sets",
        "p of Table 3, all",
    ]
    return table(head, rows)


def rings(results: Results) -> str:
    """Abalone as it is, and with its label among the features."""
    rows = []
    for name in ("abalone-7", results.plan.rings.name) if results.plan.rings else ():
        for title, solver in (("Batch", BATCH), ("SMOTE", SMOTE), ("DC", COSTS), ("AL", AL)):
            found: list[Spread | None] = [
                percent(results, name, solver, metric) for metric in ("g-means", "roc-auc", "prbep")
            ]
            if found[0] is not None:
                labels = efficiency(results, name) if solver == AL else None
                ratios = support_ratio(results, name) if solver == AL else None
                rows.append([name, title, *map(told, found), told(ratios), told(labels, form=".1f")])
    printed = [results.published.get("table1", "abalone-7", "al", each) for each in ("g_means", "auc")]
    printed.append(results.published.get("table3", "abalone-7", "al", "prbep"))
    printed += [results.published.get("table1", "abalone-7", "al", each) for each in ("sv_ratio", "data_efficiency")]
    if rows:
        rows.append(["published", "AL", *(number(each, _HUNDREDTH) for each in printed)])
    return table(["set", "method", "g-means %", "AUC %", "PRBEP %", "SV- / SV+", "labels, %"], rows)


def absent(results: Results) -> str:
    """Name what is missing."""
    told_of = missing(results)
    lines = [] if told_of == "Nothing." else [told_of]
    for name in ABSENT:
        values = [results.published.get("table1", name, "al", each) for each in ("g_means", "auc")]
        shown = ", ".join(number(each, _HUNDREDTH) for each in values)
        lines.append(
            f"* {name}: {shown} % published (g-means, AUC of AL); the set is not there, and none stands in for it."
        )
    lines.append("* Figure 4 is three folds of CiteSeer's COMM: not drawn. Figures 1 and 3 are sketches.")
    return "\n".join(lines)


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "verdict": verdict.lines(results),
        "table2": table2(results),
        "parameters": parameters(results),
        "tuning": tuning.rules(results),
        "table1": table1(results),
        "margin": margin(results),
        "table3": table3(results),
        "times": times(results),
        "table4": table4(results),
        "wilcoxon": wilcoxon(results),
        "rings": rings(results),
        **courses.sections(results),
        "figure9": g_means(results),
        "missing": absent(results),
    }
