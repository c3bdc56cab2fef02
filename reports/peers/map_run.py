"""A map of where this project's solver stands: drawn problems over n, d, C, gamma and noise, peers in turns, certified.

    python reports/peers map --seed 7                            # 56 cells, the page and the picture
    python reports/peers map --seed 7 --sizes 2000 --cells 28    # some minutes
    python reports/peers map --seed 7 --minutes 60 --two-threads
    python reports/peers map --cell teacher-n2000-d20-e10-C1e4-g0.2-s7.12
    python reports/peers map --seed 8 --resume                   # another seed into the same map
    python reports/peers map --page                              # the page of what was measured

Every seed draws new problems. Each run has a process of its own; every result is in OUT/results.jsonl before the next run
starts; at the end OUT/map.md, map.png and map.csv tell what it was. With ``--minutes`` no cell is begun after so many; the
levels of every factor are about equally often in any first part of a map, so that what is there is a map too.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reports.kit.journal import Journal, header, read_rows
from reports.peers import map_page
from reports.peers.cells import FEATURES, SIZES, Cell, design
from reports.peers.families import FAMILIES
from reports.peers.map_results import CERTIFIED, frame, worst
from reports.peers.measure import Bench
from reports.peers.results import Results
from reports.peers.rounds import Budget, Rounds
from reports.peers.run import ROOT, installed
from reports.peers.suite import GAP_TARGET, our_solver

PEERS = "libsvm,sklearnex"
OUR_LIMIT = 120.0  # seconds: more than a peer has


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line, checked; ``cells`` are the cells to measure."""
    parser = argparse.ArgumentParser(
        prog="peers map", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="of the cells and of their data")
    parser.add_argument("--cells", type=int, default=56, help="how many")
    parser.add_argument("--minutes", type=float, help="begin no cell after so many")
    parser.add_argument("--cell", help="names of cells, separated by commas; instead of a seed's")
    parser.add_argument("--families", default=",".join(FAMILIES), help="separated by commas")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="values of n, separated by commas")
    parser.add_argument("--features", default=",".join(map(str, FEATURES)), help="values of d, separated by commas")
    parser.add_argument("--solvers", default=PEERS, help="labels of peers, separated by commas")
    parser.add_argument("--ours", help="this project's solver; default: smo-block, or smo where there is none")
    parser.add_argument("--reps", type=int, default=3, help="rounds of each cell, where a solver does not take long")
    parser.add_argument("--factor", type=float, default=40.0, help="a peer is stopped after this many times our time")
    parser.add_argument("--least", type=float, default=10.0, help="seconds that a peer has at least")
    parser.add_argument("--longest", type=float, default=100.0, help="seconds that a peer has at most")
    parser.add_argument("--ours-longest", type=float, default=OUR_LIMIT, help="seconds that ours has")
    parser.add_argument("--settled", type=float, default=12.0, help="a peer this many times slower is measured once")
    parser.add_argument(
        "--patience", type=float, default=10.0, help="seconds of one solver on one cell, then no repeat"
    )
    parser.add_argument("--profile", type=int, default=map_page.WORST, help="so many of the worst cells are profiled")
    parser.add_argument(
        "--two-threads", action="store_true", help="ours with two threads too, on the cells of the largest n"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "map")
    parser.add_argument("--resume", action="store_true", help="keep what OUT/results.jsonl holds and go on")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and measure nothing")
    parser.add_argument(
        "--page", action="store_true", help="write the page of what OUT/results.jsonl holds, measure nothing"
    )
    given = parser.parse_args(argv)
    try:
        given.families = given.families.split(",")
        unknown = [name for name in given.families if name not in FAMILIES]
        if unknown:
            raise ValueError(f"there is no family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
        given.sizes, given.features = (_numbers(text) for text in (given.sizes, given.features))
        if given.cell:
            given.cells = [Cell.named(name) for name in given.cell.split(",")]
        else:
            drawn = design(given.seed, given.families, given.sizes, given.features)
            given.cells = list(itertools.islice(drawn, given.cells))
    except ValueError as error:
        parser.error(f"{error}.")
    return given


def _numbers(text: str) -> list[int]:
    values = [int(part) if part.isdecimal() else 0 for part in text.split(",")]
    if not all(values):
        raise ValueError(f"numbers above 0, separated by commas, were expected, not '{text}'")
    return values


def measure(bench: Bench, given: argparse.Namespace) -> None:
    """Measure the cells, then the profiles of the worst and, where asked for, two threads."""
    ours = given.ours or our_solver(bench.registry.solver_names())
    budget = Budget(given.factor, given.least, given.longest, given.settled, given.patience, given.ours_longest)
    rounds = Rounds(bench, ours, installed(bench, given.solvers, 1), 1, budget, both=False)
    began = time.monotonic()
    for number, cell in enumerate(given.cells):
        if given.minutes is not None and time.monotonic() - began > 60.0 * given.minutes:
            print(f"{given.minutes:g} minutes are over: {len(given.cells) - number} cells are left out")
            break
        rounds.measure(cell.dataset, given.reps)
    results = Results(bench.journal.rows)
    cells = frame(results)
    for name in worst(cells, given.profile)["cell"]:
        gap = f",gap={GAP_TARGET:g}" if "[" in _label(results, name) else ""
        selection, label = Cell.named(name).dataset.selection, f"time-shares[oracle={ours}{gap}]"
        bench.run({"part": "profile", "set": name, "round": 0}, selection, label, threads=1, limit=given.ours_longest)
    if given.two_threads:
        large = cells[(cells["n"] == cells["n"].max()) & (cells["ours state"] == CERTIFIED)]
        for name, seconds in zip(large["cell"], large["ours seconds"], strict=True):
            _two_threads(bench, name, _label(results, name), given, given.reps if seconds < given.patience else 1)


def _label(results: Results, name: str) -> str:
    """Return our solver with what it needed to be certified on a cell, its default otherwise."""
    found = results.certified(name, results.ours, 1)
    return results.ours if found is None else str(found.row["label"])


def _two_threads(bench: Bench, name: str, label: str, given: argparse.Namespace, reps: int) -> None:
    """Run ours with one thread and with two, in turns."""
    for number in range(reps):
        for threads in (1, 2):
            key = {"part": "threads", "set": name, "round": number}
            bench.run(key, Cell.named(name).dataset.selection, label, threads=threads, limit=given.ours_longest)


def main() -> None:
    """Measure what the command line asks for, and write the page."""
    given = arguments()
    if given.list:
        print("\n".join(cell.name for cell in given.cells))
        return
    if not given.page:
        journal = Journal(given.out / "results.jsonl", resume=given.resume)
        journal.append(header(" ".join(sys.argv)))
        bench = Bench(journal)
        try:
            measure(bench, given)
        finally:
            bench.close_workers()
    verdicts = map_page.write(Results(read_rows(given.out / "results.jsonl")), given.out)
    for each in verdicts:
        print(f"{each.word.strip('*'):12} {each.target}: {each.found}")
    print(f"map.md, map.png and map.csv are in {given.out}")
