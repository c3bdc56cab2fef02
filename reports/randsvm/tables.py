"""The tables of reports/randsvm: ours, with the published number in parentheses."""

from __future__ import annotations

from harness.run.record import Status
from reports.kit.clocks import cpu_time
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, beside, machine, met, missing, number, table
from reports.kit.results import Results
from reports.randsvm.parts import GOALS, LIBSVM, LIBSVR, OURS, REGRESSION, SETS

FASTER = 10.0
POINTS = 1.5  # of accuracy
PAPER = {OURS[0]: "randsvm", LIBSVM: "libsvm"}
"""The solvers that a published number stands beside; the paper's RandSVM has LIBSVM as its oracle."""


def run_of(results: Results, name: str, solver: str) -> Row | None:
    """Return the newest run, finished or stopped."""
    found = [row for row in results.runs if (row["set"], row["solver"]) == (name, solver)]
    return found[-1] if found else None


def accuracy(row: Row | None) -> float | None:
    """Return the accuracy in percent, None where there is no model."""
    return None if row is None or row["error"] is None else 100.0 - row["error"]


def spent(row: Row) -> str:
    """Return the CPU seconds; of a run that was stopped those it had, as far as they were kept."""
    time = cpu_time(row)
    if time is None:
        return "stopped"
    return f"stopped after {number(time.seconds)}" if time.at_least else number(time.seconds)


def table1(results: Results) -> str:
    """Table 1, a line a set and solver."""
    lines = []
    for each in SETS.values():
        for solver in (*OURS, LIBSVM):
            row = run_of(results, each.name, solver)
            if row is None:
                continue
            figure = PAPER.get(solver, "")
            published = {q: results.published.get("table1", each.paper, figure, q) for q in ("seconds", "accuracy")}
            info = row["info"]
            gap = row["relative_gap"] if row["status"] == Status.OK else None
            lines.append(
                [
                    each.name, solver, spent(row), number(published["seconds"], "g"),
                    beside(accuracy(row), published["accuracy"], ".2f"),
                    number(info.get("k")), number(row["support_vectors"]), number(info.get("rounds")),
                    str(info.get("status") or ""), number(gap, ".1e"),
                ]
            )  # fmt: skip
    head = ["set", "solver", "CPU s", "paper's seconds", "accuracy %", "k", "SV", "rounds", "ended with", "rel gap"]
    return table(head, lines)


def verdict(results: Results) -> str:
    """Whether RandSVM-1 is ten times as fast as LIBSVM, or as its limit, and as accurate."""
    lines = []
    for name in GOALS:
        ours, theirs = run_of(results, name, OURS[0]), run_of(results, name, LIBSVM)
        if ours is None or theirs is None or ours["status"] != Status.OK:
            continue
        finished = theirs["status"] == Status.OK
        text = f"* {name}: {OURS[0]} takes {number(ours['cpu'])} s, LIBSVM {against(theirs, ours)}"
        if finished:
            difference = (accuracy(theirs) or 0.0) - (accuracy(ours) or 0.0)
            text += f"; {difference:+.2f} points of accuracy {met(difference <= POINTS)}"
        else:
            smaller = run_of(results, name.replace("1e6", "1e5"), LIBSVM)
            if smaller is not None and smaller["status"] == Status.OK:
                difference = (accuracy(smaller) or 0.0) - (accuracy(ours) or 0.0)
                text += (
                    f"; against LIBSVM on a tenth of the points {difference:+.2f} points {met(difference <= POINTS)}"
                )
        lines.append(text + ".")
    return "\n".join(lines) or NOT_MEASURED


def against(theirs: Row, ours: Row) -> str:
    """Return LIBSVM's time, how many times ours that is, and the mark of the goal; of one clock, or not divided."""
    long, short = cpu_time(theirs), cpu_time(ours)
    if long is None or short is None:
        return "was stopped, and the CPU time it had is not known: not divided"
    times = long.over(short)
    told = f"{'was stopped after ' if long.at_least else ''}{number(long.seconds)} s"
    if times is None:
        return told
    # a lower bound below the goal says nothing
    mark = "" if times.at_least and times.value < FASTER else f" {met(times.value >= FASTER)}"
    return f"{told}, {times} as long{mark}"


def growth(results: Results) -> str:
    """How the time grows from 10^5 to 10^6 points."""
    lines = []
    for kind in ("twonorm", "ringnorm", "checkerboard"):
        cells = []
        for solver in (*OURS, LIBSVM):
            small, large = (run_of(results, f"{kind}-{n}", solver) for n in ("1e5", "1e6"))
            both = small is not None and large is not None and small["status"] == large["status"] == Status.OK
            cells.append(number(large["cpu"] / small["cpu"]) if both and small and large else "")
        published = [
            results.published.get("table1", f"{kind}{which}", figure, "seconds")
            for figure in ("randsvm", "libsvm")
            for which in (1, 2)
        ]
        paper = [
            number(b / a) if a is not None and b is not None else ""
            for a, b in ((published[0], published[1]), (published[2], published[3]))
        ]
        if any(cells):
            lines.append([kind, *cells, *paper])
    return table(["set", *OURS, LIBSVM, "paper's RandSVM", "paper's LIBSVM"], lines)


def table2(results: Results) -> str:
    """Table 2, a line a set and solver."""
    lines = []
    for each in REGRESSION.values():
        for solver, figure in zip((*each.ours, LIBSVR), ("randsvm", "", "libsvm"), strict=True):
            row = run_of(results, each.name, solver)
            if row is None:
                continue
            found, info = row["metrics"], row["info"]
            published = {
                q: results.published.get("table2", each.paper, figure, q) for q in ("seconds", "mse", "rho", "accuracy")
            }
            sign = found.get("same-sign")
            shown = beside(None if sign is None else 100.0 * sign, published["accuracy"], ".2f")
            lines.append(
                [
                    each.name, solver, spent(row), number(published["seconds"], "g"),
                    beside(found.get("mse"), published["mse"], ".4f"), beside(found.get("pearson"), published["rho"], ".4f"),
                    shown if each.name == "covtype-signs" else "", number(info.get("k")), number(row["support_vectors"]),
                    number(info.get("rounds")), str(info.get("status") or ""),
                ]
            )  # fmt: skip
    head = [
        "set",
        "solver",
        "CPU s",
        "paper's seconds",
        "MSE",
        "rho",
        "right sign %",
        "k",
        "SV",
        "rounds",
        "ended with",
    ]
    return table(head, lines)


def sections(results: Results) -> dict[str, str]:
    """Return every table by the name of its marker."""
    return {
        "machine": machine(results),
        "verdict": verdict(results),
        "table1": table1(results),
        "growth": growth(results),
        "table2": table2(results),
        "missing": missing(results),
    }
