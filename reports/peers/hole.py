"""No holes: the problem that took smo-block 80 CPU seconds, and problems like it, against the solver's own variants.

    python reports/peers hole                     # the problem itself and 20 drawn relatives, twice each
    python reports/peers hole --seed 5 --count 0  # the problem alone

The problem is that of a large C, few features and no noise: n = 10,000 normal points, d = 3, labels by the median of a sum of 12
wide Gaussians, C = 10,000, gamma = 0.0667. Its relatives are drawn log-uniformly around it (cells.py). A variant takes part
where the host certifies the KKT violation that all of them stop at (with ``--gap``, the relative gap too); the solver shall
never take more than 3 times as long as the best of its own variants.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from harness import Status, UsageError
from reports.kit.journal import Journal, Row, header
from reports.peers.cells import HOLE, relatives
from reports.peers.map_results import LEAST_SECONDS, Verdict
from reports.peers.measure import Bench
from reports.peers.results import Results, ran_out
from reports.peers.run import ROOT
from reports.peers.suite import certifies, our_solver
from reports.peers.tables import measured, table

VARIANTS = (
    "dtype=float64",
    "dtype=float32",
    "working_set=64",
    "working_set=512",
    "working_set=2048",
    "shrinking=false",
)
NEVER_MORE = 3.0  # times the best variant
HOLE_SECONDS = 0.15


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="peers hole", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="of the relatives")
    parser.add_argument("--count", type=int, default=20, help="relatives")
    parser.add_argument("--ours", help="this project's solver; default: smo-block, or smo where there is none")
    parser.add_argument("--variants", default=";".join(VARIANTS), help="parameters of the solver, separated by ';'")
    parser.add_argument("--gap", type=float, help="relative gap that all variants stop at; default: at their violation")
    parser.add_argument("--reps", type=int, default=2, help="rounds of each problem")
    parser.add_argument("--longest", type=float, default=20.0, help="seconds that a run has")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "map")
    parser.add_argument("--resume", action="store_true", help="keep what OUT/hole.jsonl holds and go on")
    return parser.parse_args(argv)


def variants(bench: Bench, given: argparse.Namespace) -> list[str]:
    """Return the solver's label and those of its variants that it knows, told apart by what is in the brackets."""
    ours = given.ours or our_solver(bench.registry.solver_names())
    shared = [] if given.gap is None else [f"gap={given.gap:g}"]
    labels = []
    for text in ["", *given.variants.split(";")]:
        inside = ",".join([*shared, *filter(None, [text])])
        label = f"{ours}[{inside}]" if inside else ours
        try:
            bench.chosen(label)
        except UsageError as error:
            print(f"{label} takes no part: {error}")
            continue
        labels += [label] if label not in labels else []
    return labels


def measure(bench: Bench, given: argparse.Namespace, labels: Sequence[str]) -> None:
    """Measure all problems, the variants in turns; what did not end well is not repeated."""
    for cell in [HOLE, *relatives(given.seed, given.count)]:
        left = list(labels)
        for number in range(given.reps):
            for label in tuple(left):
                key = {"part": "hole", "set": cell.name, "round": number}
                row = bench.run(key, cell.dataset.selection, label, threads=1, limit=given.longest)
                if row["status"] != Status.OK:
                    left.remove(label)


def seconds(rows: Sequence[Row], name: str, label: str) -> tuple[float | None, str]:
    """Return the median CPU seconds of one variant on one problem, and ``>`` where it was stopped; None: no certificate."""
    runs = [row for row in rows if row["part"] == "hole" and (row["set"], row["label"]) == (name, label)]
    if not runs:
        return None, ""
    if ran_out(runs[0]):
        return min(runs[0]["limit"], runs[0]["cpu"] or runs[0]["limit"]), ">"
    gap = runs[0]["relative_gap"] if "gap=" in label else 0.0
    if runs[0]["status"] != Status.OK or not certifies(runs[0]["kkt_violation"], gap):
        return None, ""
    return median(row["cpu"] for row in runs if row["status"] == Status.OK), ""


def frame(rows: Sequence[Row], labels: Sequence[str]) -> list[Row]:
    """Return a row for each problem: times of all variants, the best one, and ours over it."""
    found = []
    for name in dict.fromkeys(row["set"] for row in rows if row["part"] == "hole"):
        times = {label: seconds(rows, name, label) for label in labels}
        certified = [(value, label) for label, (value, sign) in times.items() if value is not None and not sign]
        best = min(certified, default=None)
        mine, sign = times[labels[0]]
        over = None
        if best is not None:
            over = float("inf") if mine is None else max(mine, LEAST_SECONDS) / max(best[0], LEAST_SECONDS)
        found.append({"cell": name, "times": times, "best": best and best[1], "over": over, "sign": sign})
    return found


def verdicts(problems: Sequence[Row], ours: str) -> list[Verdict]:
    """Return whether the hole is closed, and whether there is another."""
    known = [each for each in problems if each["over"] is not None]
    worst = max(known, key=lambda each: each["over"], default=None)
    good = sum(each["over"] <= NEVER_MORE for each in known)
    what = "" if worst is None else f"{good} of {len(known)} problems; the worst {_over(worst)} ({worst['cell']})"
    never = Verdict(
        f"never more than {NEVER_MORE:g} times the best of its own variants",
        what,
        good == len(known) if known else None,
    )
    ((mine, sign),) = [each["times"][ours] for each in problems if each["cell"] == HOLE.name] or [(None, "")]
    met = None if mine is None else mine < HOLE_SECONDS and not sign
    text = "" if mine is None else f"{sign} {mine:.3g} s".strip()
    return [Verdict(f"the hole itself below {HOLE_SECONDS:g} CPU s", text, met), never]


def _over(problem: Row) -> str:
    if problem["over"] is None:
        return ""
    return "no certificate" if problem["over"] == float("inf") else f"{problem['sign']} {problem['over']:.3g}".strip()


def page(results: Results, labels: Sequence[str]) -> tuple[str, list[Verdict]]:
    """Return the page of what was measured and the verdicts."""
    problems = frame(results.rows, labels)
    rows = [
        [
            f"`{each['cell']}`",
            *("-" if value is None else f"{sign} {value:.3g}".strip() for value, sign in each["times"].values()),
            _over(each),
        ]
        for each in problems
    ]
    head = ["problem", *(label.partition("[")[2].removesuffix("]") or label for label in labels), "over the best"]
    judged = verdicts(problems, labels[0])
    text = (
        "CPU seconds, one thread, medians. `>`: stopped; `-`: ended without its certificate, that of the violation where the "
        "solver stops by it, that of the gap too where `gap` says so. Times below "
        f"{1e3 * LEAST_SECONDS:g} ms count as that where they are compared."
    )
    verdict = table(("target", "found", ""), [(each.target, each.found, each.word) for each in judged])
    return "\n\n".join(
        ["# No holes", measured(results), text, table(head, rows), "## Verdicts", verdict]
    ) + "\n", judged


def main() -> None:
    """Measure what the command line asks for, and write OUT/hole.md."""
    given = arguments()
    journal = Journal(given.out / "hole.jsonl", resume=given.resume)
    journal.append(header(" ".join(sys.argv)))
    bench = Bench(journal)
    try:
        labels = variants(bench, given)
        measure(bench, given, labels)
    finally:
        bench.close_workers()
    text, judged = page(Results(journal.rows), labels)
    (given.out / "hole.md").write_text(text)
    for each in judged:
        print(f"{each.word.strip('*'):12} {each.target}: {each.found}")
    print(f"hole.md is in {given.out}")
