"""Hull solvers beside SMO and LinearSVC, to the same certified gap; only times that were measured in turns are divided."""

from __future__ import annotations

from reports.frank_wolfe_2009.plan import LINEAR_PEERS, NEWTON, SMO
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, met, number, table
from reports.kit.measured import NOT_IN_TURNS, ratio
from reports.kit.results import Results

SPARSE = 0.1  # of the points: a small core set
SLOWER = 5.0  # times as long as LinearSVC takes, at most


def certified(results: Results, name: str, solver: str) -> Row | None:
    """Return the run of a solver to the peers' gap if it has that gap; of several the one of median time."""
    runs = sorted(results.of(results.plan.peers_of(name), solver), key=lambda run: run["cpu"])
    row = runs[len(runs) // 2] if runs else None
    return row if row and row["relative_gap"] is not None and row["relative_gap"] <= results.plan.gap else None


def times(slow: Row | None, fast: Row | None) -> float | None:
    """Return the CPU time of one run over that of another, None where one is missing or they were not made in turns."""
    return ratio(slow["cpu"], fast["cpu"]) if slow and fast else None


def _named(results: Results, kernel: bool) -> list[str]:
    return [each.name for each in results.plan.problems if each.peers and (each.kernel != "linear") == kernel]


def peers(results: Results) -> str:
    """CPU seconds to the same certified gap on kernel problems; bold: faster than smo."""
    rows = []
    for name in _named(results, kernel=True):
        found = {solver: certified(results, name, solver) for solver in (*results.plan.solvers, *results.plan.peers)}
        if not any(found.values()):
            continue
        cells = []
        for solver, run in found.items():
            text = number(run["cpu"]) if run else ""
            faster = solver != SMO and (times(found[SMO], run) or 0.0) > 1.0
            cells.append(f"**{text}**" if faster else text)
        rows.append([name, share(results, name), *cells])
    return table(
        ["problem", "core set / n", *results.plan.solvers, *(_called(peer) for peer in results.plan.peers)], rows
    )


def _called(peer: str) -> str:
    return "smo" if peer == SMO else peer


def share(results: Results, name: str) -> str:
    """Return the core set as a share of the points, empty where nothing says it."""
    run = certified(results, name, "fw-fully-corrective")
    return f"{100.0 * run['support_vectors'] / run['n_train']:.0f} %" if run else ""


def against_smo(results: Results) -> str:
    """Whether the hull solvers are faster than SMO where the core set is small."""
    lines = []
    for name in _named(results, kernel=True):
        core = certified(results, name, "fw-fully-corrective")
        if core is None or core["support_vectors"] > SPARSE * core["n_train"]:
            continue
        known = {solver: run for solver in results.plan.solvers if (run := certified(results, name, solver))}
        best = min(known, key=lambda solver: known[solver]["cpu"])
        told = []
        for peer in results.plan.peers:
            label, run = _called(peer), certified(results, name, peer)
            if run is None:
                continue
            factor = times(run, known[best])
            if factor is None:
                told.append(f"{NOT_IN_TURNS} with {label}")
                continue
            slower = ", ".join(solver for solver in known if (times(known[solver], run) or 0.0) >= 1.0)
            text = f"{factor:.1f} times as fast as {label} {met(factor > 1.0)}"
            told.append(f"{text}{f'; slower than {label}: {slower}' if slower else ''}")
        if told:
            lines.append(f"* {name}: the fastest, {best}, is {'; '.join(told)}.")
    measured = any(certified(results, name, SMO) for name in _named(results, kernel=True))
    return "\n".join(lines) or ("No core set here is so small." if measured else NOT_MEASURED)


def linear_svc(results: Results, name: str) -> Row | None:
    """Return the fastest run of LinearSVC that has the gap."""
    found = [run for solver in LINEAR_PEERS if (run := certified(results, name, solver))]
    return min(found, key=lambda run: run["cpu"], default=None)


def linear_peers(results: Results) -> str:
    """CPU seconds to the same certified gap on linear problems."""
    rows = []
    for name in _named(results, kernel=False):
        found = {solver: certified(results, name, solver) for solver in (NEWTON, *results.plan.solvers)}
        theirs, ours = linear_svc(results, name), found[NEWTON]
        if theirs is None and not any(found.values()):
            continue
        factor = times(ours, theirs)
        first = next(run for run in results.runs if run["set"] == results.plan.peers_of(name))
        rows.append(
            [
                name,
                f"{first['n_train']:,} x {first['n_features']}",
                "" if ours is None else f"{100.0 * ours['support_vectors'] / ours['n_train']:.0f} %",
                number(theirs["cpu"]) if theirs else "",
                theirs["solver"].removeprefix("linear-svc") if theirs else "",
                number(ours["cpu"]) if ours else "",
                (NOT_IN_TURNS if ours and theirs else "") if factor is None else f"{factor:.2f}",
                *(number(run["cpu"]) if run else "" for solver, run in found.items() if solver != NEWTON),
            ]
        )
    head = ["problem", "n x d", "core set / n", "LinearSVC", "with", NEWTON, "times LinearSVC", *results.plan.solvers]
    return table(head, rows)


def against_library(results: Results) -> str:
    """Whether a solver of a paper takes at most so many times as long as LinearSVC; and apart fw-newton, which is of none."""
    lines = []
    for name in _named(results, kernel=False):
        theirs, newton = linear_svc(results, name), certified(results, name, NEWTON)
        known = [run for solver in results.plan.solvers if (run := certified(results, name, solver))]
        best = min(known, key=lambda run: run["cpu"], default=None)
        if theirs is None and newton is None and best is None:
            continue
        own, first = f"{NEWTON}, which is of no paper", f"the fastest, {best['solver']}" if best else ""
        lines.append(
            f"* {name}: {_lacking(results, name) if theirs is None else ''}of the papers' solvers "
            f"{_beside(best, theirs, first)}; {_beside(newton, theirs, own)}."
        )
    return "\n".join(lines) or NOT_MEASURED


def _beside(run: Row | None, theirs: Row | None, who: str) -> str:
    """Return how long a solver takes beside LinearSVC, as text with its mark."""
    if run is None:
        return f"{f'{who}, lacks' if who else 'none has'} the gap after its time {met(False)}"
    if theirs is None:
        return f"{who}, has it after {number(run['cpu'])} s"
    factor = times(run, theirs)
    if factor is None:
        return f"{who}: {NOT_IN_TURNS}"
    return f"{who}, takes {factor:.2f} times as long as LinearSVC {met(factor <= SLOWER)}"


def _lacking(results: Results, name: str) -> str:
    """Return that no model of LinearSVC has the gap, and which is the nearest."""
    tried = [run for solver in LINEAR_PEERS for run in results.of(results.plan.peers_of(name), solver)]
    gaps = [(run["relative_gap"], run["cpu"]) for run in tried if run["relative_gap"] is not None]
    if not gaps:
        return "no model of LinearSVC is there; "
    return f"no model of LinearSVC has the gap, the least is {min(gaps)[0]:.2g} after {number(min(gaps)[1])} s; "
