"""Measure every installed SVM library and this project's solver on the same data, interleaved.

    python reports/peers/run.py                                  # the quick suite, a few minutes
    python reports/peers/run.py --suite full --threads 1,2       # all of it
    python reports/peers/run.py --sets adult,usps --reps 5 --parts peers
    python reports/peers page                                    # tables and plots of what was measured

Each run has a process of its own (the harness's isolated worker): threads fixed, the library loaded, warmed up on a few
points, everything compiled before the clock starts. Rounds go over all solvers, so that a disturbance of the machine
falls on all alike. Every result is in OUT/results.jsonl before the next run starts; ``--resume`` goes on from there
(it does not notice that code has changed: begin anew then).

Parts: ``peers`` (default stopping, and the time to a certified quality), ``scaling`` (subsets of growing size),
``limits`` (the rate of kernel values here, and how many a solution needs), ``warm`` (2 C from the solution at C),
``calls`` (what a call as an oracle costs beside kernel values), ``memory`` (covtype with all 581,012 points under a budget of time).

Sets in raw files are read from the folder that HARNESS_DATA names. Peers are in the extra ``peers``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from reports.kit.journal import Journal, header  # noqa: E402
from reports.peers.measure import Bench  # noqa: E402
from reports.peers.rounds import Budget, Rounds  # noqa: E402
from reports.peers.suite import (  # noqa: E402
    COUNTED_ONLY,
    OF_TWO_THREADS,
    PEERS,
    SETS,
    Peer,
    our_solver,
    scaling_sets,
)

PARTS = ("peers", "scaling", "limits", "warm", "calls", "memory")
WARM_SETS = ("adult", "mnist8-20k")
CALL_SETS = ("twonorm-10k", "adult")
MEMORY_SET = "covtype[n=581012,n_test=0]"
MEMORY_SECONDS = 30.0
_PROBE_LIMIT = 900.0


def arguments() -> argparse.Namespace:
    """Return the command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=("quick", "full"), default="quick")
    parser.add_argument("--sets", help="names of sets, separated by commas; instead of a suite")
    parser.add_argument(
        "--parts", help="separated by commas: peers,scaling,limits,warm,calls,memory; all for --suite full"
    )
    parser.add_argument("--threads", default="1", help="numbers of threads, separated by commas")
    parser.add_argument("--solvers", help="labels of peers, separated by commas; default: all that are installed")
    parser.add_argument("--ours", help="this project's solver; default: smo-block, or smo where there is none")
    parser.add_argument("--reps", type=int, default=3, help="rounds of each set")
    parser.add_argument("--factor", type=float, default=40.0, help="a peer is stopped after this many times our time")
    parser.add_argument("--least", type=float, default=20.0, help="seconds that a peer has at least")
    parser.add_argument("--longest", type=float, help="seconds that a peer has at most; default: by peer (suite.py)")
    parser.add_argument(
        "--settled", type=float, default=12.0, help="a peer this many times slower is measured once, at its defaults"
    )
    parser.add_argument("--patience", type=float, default=15.0, help="seconds of one solver on one set, then no repeat")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "peers")
    parser.add_argument("--resume", action="store_true", help="keep what OUT/results.jsonl holds and go on")
    given = parser.parse_args()
    given.sets = (
        given.sets.split(",") if given.sets else [s.name for s in SETS.values() if s.quick or given.suite == "full"]
    )
    unknown = [name for name in given.sets if name not in SETS]
    if unknown:
        parser.error(f"there is no set {', '.join(unknown)}; there are {', '.join(SETS)}.")
    given.parts = given.parts.split(",") if given.parts else (PARTS if given.suite == "full" else ("peers", "limits"))
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}.")
    try:
        given.threads = [int(text) for text in given.threads.split(",")]
    except ValueError:
        parser.error(f"--threads takes numbers separated by commas, not {given.threads!r}.")
    return given


def installed(bench: Bench, wanted: str | None, threads: int) -> list[Peer]:
    """Return the peers that take part with ``threads`` threads."""
    chosen = [peer for peer in PEERS if bench.has(peer.label.partition("[")[0])]
    if wanted is not None:
        labels = _labels(wanted)
        chosen = [peer for peer in chosen if peer.label in labels]
    elif threads > 1:
        chosen = [peer for peer in chosen if peer.label in OF_TWO_THREADS]
    return [peer for peer in chosen if peer.threaded or threads == 1]


def _labels(text: str) -> list[str]:
    from harness.selection import split

    return split(text)


def probes(bench: Bench, given: argparse.Namespace, ours: str) -> None:
    """Measure the limits, the warm start, the calls and the memory."""
    for part, sets, label in (
        ("limits", [SETS[name] for name in given.sets], f"kernel-rate[oracle={ours}]"),
        ("warm", [SETS[name] for name in WARM_SETS if name in given.sets], f"warm-start[oracle={ours}]"),
        ("calls", [SETS[name] for name in CALL_SETS if name in given.sets], f"oracle-calls[oracle={ours}]"),
    ):
        for each in sets if part in given.parts else ():
            bench.run(
                {"part": part, "set": each.name, "round": 0}, each.selection, label, threads=1, limit=_PROBE_LIMIT
            )
            bench.close_workers()
    if "memory" in given.parts:
        for seconds in (0.0, MEMORY_SECONDS):
            bench.run(
                {"part": "memory", "set": "covtype-581012", "round": 0},
                MEMORY_SET,
                f"peak-memory[oracle={ours},seconds={seconds:g}]",
                threads=1,
                limit=_PROBE_LIMIT,
            )
        bench.close_workers()


def main() -> None:
    """Measure what the command line asks for."""
    given = arguments()
    journal = Journal(given.out / "results.jsonl", resume=given.resume)
    journal.append(header(" ".join(sys.argv)))
    bench = Bench(journal)
    ours = given.ours or our_solver(bench.registry.solver_names())
    budget = Budget(given.factor, given.least, given.longest, given.settled, given.patience)
    try:
        if "peers" in given.parts:
            for threads in given.threads:
                rounds = Rounds(bench, ours, installed(bench, given.solvers, threads), threads, budget)
                for name in given.sets:
                    rounds.measure(SETS[name], given.reps)
                    bench.close_workers()
                if threads == 1:
                    for each in COUNTED_ONLY:
                        Rounds(bench, ours, [], threads, budget).measure(each, 1)
        probes(bench, given, ours)
        if "scaling" in given.parts:
            libsvm = [peer for peer in PEERS if peer.label == "libsvm"]
            rounds = Rounds(bench, ours, libsvm, 1, budget, part="scaling")
            for each in scaling_sets():
                rounds.defaults(each)
    finally:
        bench.close_workers()
    print(f"All of it is in {journal.path}; tables and plots: python reports/peers page --out {given.out}")


if __name__ == "__main__":
    main()
