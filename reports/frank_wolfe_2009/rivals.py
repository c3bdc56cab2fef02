"""Hull solvers beside SMO and LinearSVC, to the same certified gap."""

from __future__ import annotations

from reports.frank_wolfe_2009.parts import GAP, LINEAR_PEERS, NEWTON, PEERS, SETS, SOLVERS, peers_of
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, met, number, table
from reports.kit.results import Results

SPARSE = 0.1  # of the points: a small core set
SMO, BLOCK = PEERS
SLOWER = 5.0  # times as long as LinearSVC takes, at most


def certified(results: Results, name: str, solver: str) -> Row | None:
    """Return the run of a solver to the peers' gap if it has that gap."""
    runs = results.of(peers_of(name), solver)
    return runs[0] if runs and runs[0]["relative_gap"] is not None and runs[0]["relative_gap"] <= GAP else None


def peers(results: Results) -> str:
    """CPU seconds to the same certified gap on kernel problems; bold: faster than smo."""
    rows = []
    for name in [each for each in SETS if SETS[each].kernel != "linear"]:
        found = {solver: certified(results, name, solver) for solver in (*SOLVERS, *PEERS)}
        if not any(found.values()):
            continue
        other = found[SMO]
        cells = []
        for solver, run in found.items():
            text = number(run["cpu"]) if run else ""
            cells.append(f"**{text}**" if run and other and solver != SMO and run["cpu"] < other["cpu"] else text)
        rows.append([name, share(results, name), *cells])
    return table(["problem", "core set / n", *SOLVERS, "smo", BLOCK], rows)


def share(results: Results, name: str) -> str:
    """Return the core set as a share of the points, empty where nothing says it."""
    run = certified(results, name, "fw-fully-corrective")
    return f"{100.0 * run['support_vectors'] / run['n_train']:.0f} %" if run else ""


def against_smo(results: Results) -> str:
    """Whether the hull solvers are faster than SMO where the core set is small."""
    lines = []
    for name in [each for each in SETS if SETS[each].kernel != "linear"]:
        core = certified(results, name, "fw-fully-corrective")
        if core is None or core["support_vectors"] > SPARSE * core["n_train"]:
            continue
        known = {solver: run["cpu"] for solver in SOLVERS if (run := certified(results, name, solver))}
        best = min(known, key=lambda solver: known[solver])
        told = []
        for label, peer in (("smo", SMO), (BLOCK, BLOCK)):
            run = certified(results, name, peer)
            if run is None:
                continue
            slower = ", ".join(solver for solver in known if known[solver] >= run["cpu"])
            mark = met(known[best] < run["cpu"])
            text = f"{run['cpu'] / known[best]:.1f} times as fast as {label} {mark}"
            told.append(f"{text}{f'; slower than {label}: {slower}' if slower else ''}")
        if told:
            lines.append(f"* {name}: the fastest, {best}, is {'; '.join(told)}.")
    return "\n".join(lines) or NOT_MEASURED


def linear_svc(results: Results, name: str) -> Row | None:
    """Return the fastest run of LinearSVC that has the gap."""
    found = [run for solver in LINEAR_PEERS if (run := certified(results, name, solver))]
    return min(found, key=lambda run: run["cpu"], default=None)


def linear_peers(results: Results) -> str:
    """CPU seconds to the same certified gap on linear problems."""
    rows = []
    for name in [each for each in SETS if SETS[each].kernel == "linear"]:
        found = {solver: certified(results, name, solver) for solver in (NEWTON, *SOLVERS)}
        theirs = linear_svc(results, name)
        if theirs is None and not any(found.values()):
            continue
        ours = found[NEWTON]
        times = "" if theirs is None or ours is None else f"{ours['cpu'] / theirs['cpu']:.2f}"
        first = next(run for run in results.runs if run["set"] == peers_of(name))
        core = "" if ours is None else f"{100.0 * ours['support_vectors'] / ours['n_train']:.0f} %"
        library_cells = [
            number(theirs["cpu"]) if theirs else "",
            theirs["solver"].removeprefix("linear-svc") if theirs else "",
        ]
        seconds = {solver: number(run["cpu"]) if run else "" for solver, run in found.items()}
        size = f"{first['n_train']:,} x {first['n_features']}"
        rows.append(
            [name, size, core, *library_cells, seconds[NEWTON], times, *(seconds[solver] for solver in SOLVERS)]
        )
    head = ["problem", "n x d", "core set / n", "LinearSVC", "with", NEWTON, "times LinearSVC", *SOLVERS]
    return table(head, rows)


def against_library(results: Results) -> str:
    """Whether a hull solver takes at most so many times as long as LinearSVC, and which do not."""
    lines = []
    for name in [each for each in SETS if SETS[each].kernel == "linear"]:
        theirs = linear_svc(results, name)
        known = {solver: run["cpu"] for solver in (NEWTON, *SOLVERS) if (run := certified(results, name, solver))}
        if not known:
            continue
        best = min(known, key=lambda solver: known[solver])
        if theirs is None:
            gaps = [
                (run["relative_gap"], run["cpu"])
                for solver in LINEAR_PEERS
                for run in results.of(peers_of(name), solver)
                if run["relative_gap"] is not None
            ]
            if gaps:
                gap, spent = min(gaps)
                lines.append(
                    f"* {name}: no model of LinearSVC has the gap; the least is {gap:.2g}, after {number(spent)} s. "
                    f"{best} takes {number(known[best])} s."
                )
            continue
        holds = met(known[best] <= SLOWER * theirs["cpu"])
        late = [solver for solver in SOLVERS if known.get(solver, float("inf")) > SLOWER * theirs["cpu"]]
        text = f"* {name}: {best} takes {known[best] / theirs['cpu']:.2f} times as long as LinearSVC {holds}"
        lines.append(f"{text}{f'; more than {SLOWER:g} times: ' + ', '.join(late) if late else ''}.")
    return "\n".join(lines) or NOT_MEASURED
