"""The tables of reports/side_by_side."""

from __future__ import annotations

from reports.kit.averages import geometric_mean
from reports.kit.journal import Row
from reports.kit.judged import difference, pairs
from reports.kit.markdown import NOT_MEASURED, machine, millions, missing, number, table
from reports.kit.results import Results
from reports.side_by_side.plan import EXACT


def sets_of(results: Results) -> list[str]:
    """Return the sets of the plan that have runs."""
    return [each.name for each in results.plan.sets if each.name in results.sets]


def times_exact(results: Results, name: str, solver: str) -> float | None:
    """Return the CPU time over that of the exact solver, medians; None where not all ended, or not in turns."""
    if results.stopped(name, solver):
        return None
    return results.quotient(name, solver, EXACT, "cpu", "median").value


def points_off(results: Results, name: str, solver: str) -> float | None:
    """Return the test error less that of the exact solver, in points."""
    ours, theirs = results.mean(name, solver, "error"), results.mean(name, EXACT, "error")
    return None if ours is None or theirs is None else ours - theirs


def everything(results: Results) -> str:
    """Every solver on every set."""
    rows = []
    for name in sets_of(results):
        for each in results.plan.entries:
            solver = results.plan.solver(each, name)
            stopped = results.stopped(name, solver)
            if stopped or results.of(name, solver):
                rows.append([name, each.line, f"`{solver}`", each.formulation, *_cells(results, name, solver, stopped)])
    head = ["set", "line of work", "solver", "problem", "error %", "sd", "CPU s", f"times {EXACT}", "kernel values, M", "SV",
            "certified gap", "runs"]  # fmt: skip
    return table(head, rows)


def _cells(results: Results, name: str, solver: str, stopped: list[Row]) -> list[str]:
    count = len(results.of(name, solver))
    runs = str(count) if not stopped else f"{count} of {count + len(stopped)}"
    if not count:
        ends = ", ".join(sorted({row["stopped_by"] or row["status"] for row in stopped}))
        return ["", "", "", "", "", "", ends, runs]
    return [
        number(results.mean(name, solver, "error"), ".2f"),
        number(results.spread(name, solver, "error"), ".2f"),
        number(results.median(name, solver, "cpu")),
        number(times_exact(results, name, solver)),
        number(millions(results.mean(name, solver, "kernel_evaluations"))) or "-",
        number(results.mean(name, solver, "support_vectors"), ".0f"),
        number(results.median(name, solver, "relative_gap"), ".1e"),
        runs,
    ]


def summary(results: Results) -> str:
    """Each solver over all sets: how much slower or faster than the exact solver, and how much less accurate."""
    names = sets_of(results)
    if not names:
        return NOT_MEASURED
    rows = []
    for each in results.plan.entries:
        runs = [(name, results.plan.solver(each, name)) for name in names]
        times = [value for run in runs if (value := times_exact(results, *run)) is not None]
        off = [value for run in runs if (value := points_off(results, *run)) is not None]
        ended = sum(bool(results.of(*run)) and not results.stopped(*run) for run in runs)
        if not off:
            continue
        rows.append(
            [
                f"`{each.name}`",
                each.line,
                each.formulation,
                number(geometric_mean(times)),
                "" if not times else f"{min(times):.3g} - {max(times):.3g}",
                f"{min(off):+.2f} to {max(off):+.2f}",
                f"{ended} of {len(names)}",
            ]
        )
    head = ["solver", "line of work", "problem", f"times {EXACT}, geometric mean", "least - most", "points of error more",
            "sets on which every run ended"]  # fmt: skip
    return table(head, rows)


def seen(results: Results) -> str:
    """Say who is the fastest on each set, and whose errors are not told apart from the least; of solvers whose every run ended."""
    lines = []
    for name in sets_of(results):
        solvers = [results.plan.solver(each, name) for each in results.plan.entries]
        known = {
            solver: (cpu, error)
            for solver in solvers
            if not results.stopped(name, solver)
            and (cpu := results.median(name, solver, "cpu")) is not None
            and (error := results.mean(name, solver, "error")) is not None
        }
        if not known:
            continue
        fast, good = min(known, key=lambda each: known[each][0]), min(known, key=lambda each: known[each][1])
        text = f"* {name}: the fastest is `{fast}`, {known[fast][0]:.3g} CPU s with {known[fast][1]:.2f} % of errors; "
        worse = {each: difference(name, pairs(results, name, each, good), "error") for each in known if each != good}
        sure = [solver for solver, found in worse.items() if found is not None and found.low > 0.0]
        if any(found is not None and found.runs > 1 for found in worse.values()):
            level = [f"`{solver}`" for solver in worse if solver not in sure]
            text += f"the least error is that of `{good}`, {known[good][1]:.2f} % after {known[good][0]:.3g} CPU s"
            text += f"; not told apart from it: {', '.join(level)}." if level else ", beyond the noise."
        else:
            text += (
                f"one run each: errors from {known[good][1]:.2f} to {max(error for _, error in known.values()):.2f} %."
            )
        lines.append(text)
    return "\n".join(lines) or NOT_MEASURED


def sections(results: Results) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    return {
        "machine": machine(results),
        "seen": seen(results),
        "summary": summary(results),
        "everything": everything(results),
        "missing": missing(results),
    }
