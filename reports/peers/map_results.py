"""What the map's rows say: a frame with a row for each cell, and the verdicts on what this project set itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness import Status
from reports.kit.averages import geometric_mean
from reports.kit.measured import quotient
from reports.peers.cells import COMPARED, COSTS, FACTORS, Cell, extremes, neighbours, short
from reports.peers.results import Results, Row, ran_out

if TYPE_CHECKING:
    import pandas as pd

JUDGED = ("libsvm", "sklearnex")  # the peers that the targets are about
CERTIFIED, STOPPED, MISSED = "certified", "stopped", "missed"

SMALL, SMALL_MEAN, LARGE, LARGE_MEAN = 2000, 5.0, 10_000, 8.0  # n, geometric mean over each peer; n and above
SLOWER = 1.1  # times the faster peer
NEIGHBOURS = 5.0  # times a neighbour
COSTLY = 3.0  # C = 1e6 over C = 100
TWO_THREADS = 1.5
LEAST_SECONDS = 0.01  # of a time that is compared with a neighbour's: below, a worker's first touches are what differs


def taken_part(results: Results) -> list[str]:
    """Return the labels of the peers that were measured, those of the targets first."""
    found = results.peers(1)
    return [label for label in JUDGED if label in found] + [label for label in found if label not in JUDGED]


def cells_of(results: Results) -> list[Cell]:
    """Return the cells that were measured, in the order they were."""
    return [Cell.named(name) for name in dict.fromkeys(row["set"] for row in results.rows if row["part"] == "peers")]


def frame(results: Results) -> pd.DataFrame:
    """Return a row for each cell: factors, and of each solver seconds, state, and time over ours.

    ``LABEL seconds``: CPU seconds, median; of what was not certified, those that it had
    ``LABEL state`` : certified, stopped (at its limit of time), missed (ended without its certificate), or a run's status
    ``LABEL ratio`` : over ours; ``LABEL sign``: ``>`` a lower bound, the peer not being certified in that time; ``<`` an
        upper one, ours not being; empty: measured
    ``LABEL default``, ``LABEL default sign`` : the same where both stop at their default tolerance of 1e-3, whatever that certifies
    ``steps`` : iterations of ours; ``phases``, ``longest`` : where it was profiled, the shares of its time, in the order of
        shares.PHASES and the rest, and its longest functions
    ``one thread``, ``two threads`` : wall seconds of ours, where both were measured
    """
    import pandas as pd

    profiles = {row["set"]: row["info"] for row in results.rows if row["part"] == "profile" and row["info"]}
    threads = thread_ratios(results)

    rows = []
    for cell in cells_of(results):
        row: Row = {"cell": cell.name, **{name: getattr(cell, name) for name in (*FACTORS, "seed", "draw")}}
        mine = _timed(results, cell.name, results.ours)
        row |= {f"ours {name}": value for name, value in mine.items()}
        for label in taken_part(results):
            theirs = _timed(results, cell.name, label)
            ratio, sign = _ratio(mine, theirs)
            row |= {f"{label} {name}": value for name, value in theirs.items()}
            row |= {f"{label} ratio": ratio, f"{label} sign": sign}
            loose = results.ratio(cell.name, label, 1, quality=False) or (None, False)
            row |= {f"{label} default": loose[0], f"{label} default sign": ">" if loose[1] else ""}
        run = results.certified(cell.name, results.ours, 1)
        one, two = threads.get(cell.name, (None, None))
        row |= {"steps": None if run is None else run.row.get("iterations"), **_profile(profiles.get(cell.name))}
        rows.append({**row, "one thread": one, "two threads": two})
    return pd.DataFrame(rows)


def _profile(info: Row | None) -> Row:
    from reports.peers.shares import PHASES, REST

    phases = [*PHASES, REST]
    whole = sum(info.get(f"phase {name}", 0.0) for name in phases) if info else 0.0
    if not info or not whole:
        return {"phases": "", "longest": ""}
    longest = [f"{name.partition(':')[2]} {100 * info[name] / whole:.0f} %" for name in info if ":" in name][:3]
    shares = [f"{100 * info[f'phase {name}'] / whole:.0f} %" for name in phases]
    return {"phases": ", ".join(shares), "longest": ", ".join(longest)}


def _timed(results: Results, name: str, label: str) -> Row:
    """Return what one solver took on one cell to the certified quality."""
    found = results.certified(name, label, 1)
    if found is None:
        return {"seconds": None, "state": "", "kkt": None, "gap": None, "tol": None, "runs": 0}
    run = found.row
    state = CERTIFIED
    if found.seconds is None:
        state = (
            STOPPED if ran_out(run) else MISSED if run["status"] in (Status.OK, Status.UNFINISHED) else run["status"]
        )
    seconds = found.bound if found.seconds is None else found.seconds
    if seconds is None and state == MISSED:
        seconds = run["cpu"]
    figures = {"kkt": run["kkt_violation"], "gap": run["relative_gap"], "tol": found.tol, "runs": found.runs}
    return {"seconds": seconds, "state": state, **figures}


def _ratio(mine: Row, theirs: Row) -> tuple[float | None, str]:
    """Return time over ours and its sign; None where neither got there, or one was not carried out."""
    if mine["seconds"] is None or theirs["seconds"] is None:
        return None, ""
    there = (mine["state"] == CERTIFIED, theirs["state"] == CERTIFIED)
    ratio = quotient(theirs["seconds"], mine["seconds"]).value
    if ratio is None or there == (True, True):
        return ratio, ""
    if there == (True, False):
        # at a status of its own it says nothing of time
        return (ratio, ">") if theirs["state"] in (STOPPED, MISSED) else (None, "")
    return (ratio, "<") if there == (False, True) else (None, "")


@dataclass(frozen=True)
class Mean:
    """A geometric mean of ratios.

    bounds : how many of the ``count`` are lower bounds, counted at the bound
    above : how many are upper bounds
    """

    value: float | None
    count: int
    bounds: int
    above: int

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        return f"{'>= ' if self.bounds and not self.above else '~ ' if self.above else ''}{self.value:.3g}"


def mean(cells: pd.DataFrame, label: str, *, default: bool = False) -> Mean:
    """Return the geometric mean of a peer's time over ours, bounds at their values; ``default``: at default stopping."""
    ratio, sign = (f"{label} default", f"{label} default sign") if default else (f"{label} ratio", f"{label} sign")
    known = cells[cells[ratio].notna()] if len(cells) and ratio in cells else cells[:0]
    if not len(known):
        return Mean(None, 0, 0, 0)
    signs = list(known[sign])
    return Mean(geometric_mean(known[ratio]), len(known), signs.count(">"), signs.count("<"))


def usual(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with the values of C that the means are over, so all but C = 1e6."""
    return cells[cells["C"].isin(COSTS)]


def fastest_peer(row: Any, labels: Iterable[str] = JUDGED) -> tuple[str, float] | None:
    """Return the peer that was certified first and its seconds, None if none was."""
    found = [(row[f"{label} seconds"], label) for label in labels if row.get(f"{label} state") == CERTIFIED]
    return None if not found else (min(found)[1], min(found)[0])


def slowness(row: Any, labels: Iterable[str] = JUDGED) -> float | None:
    """Return our time over that of the fastest certified peer, None where it is not known.

    Infinite where ours ended without its certificate; where it was stopped a lower bound, if that says anything.
    """
    peer = fastest_peer(row, labels)
    if peer is None or not row["ours state"]:
        return None
    if row["ours state"] not in (CERTIFIED, STOPPED):
        return float("inf")
    ratio = float(row["ours seconds"]) / peer[1]
    return ratio if row["ours state"] == CERTIFIED or ratio > SLOWER else None


def slower(cells: pd.DataFrame, labels: Iterable[str] = JUDGED, factor: float = 1.0) -> pd.DataFrame:
    """Return the cells where a peer of ``labels`` is faster by more than ``factor``, the worst first, with ``slowness``."""
    labels = list(labels)
    by = [slowness(row, labels) for _, row in cells.iterrows()]
    found = cells.assign(slowness=[0.0 if each is None else each for each in by])
    return found[found["slowness"] > factor].sort_values("slowness", ascending=False)


def worst(cells: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the cells where our time is largest beside that of the fastest certified peer; where none is, beside bounds."""
    labels = [label for label in JUDGED if f"{label} ratio" in cells]

    def least(row: Any) -> float:
        known = [
            (row[f"{label} sign"] == ">", row[f"{label} ratio"])
            for label in labels
            if row[f"{label} ratio"] is not None
        ]
        certified = [ratio for bound, ratio in known if not bound]
        return min(certified or [ratio for _, ratio in known], default=float("nan"))

    by = [least(row) for _, row in cells.iterrows()]
    return cells.assign(least=by).sort_values("least", na_position="last").head(count)


@dataclass(frozen=True)
class Pair:
    """Our time on ``cell`` over that on ``other``; ``sign`` > where the first ended early, < the second, ? both."""

    cell: Cell
    other: Cell
    ratio: float
    sign: str


_Times = dict[Cell, tuple[float, str]]


def steps(cells: pd.DataFrame) -> list[Pair]:
    """Return the neighbours with the time of the slower over that of the faster one, the largest first."""
    known = _times(cells)
    ordered = [sorted(pair, key=lambda cell: -known[cell][0]) for pair in neighbours(list(known))]
    pairs = [_pair(known, slow, fast, LEAST_SECONDS) for slow, fast in ordered]
    return sorted(pairs, key=lambda pair: -pair.ratio)


def cost_pairs(cells: pd.DataFrame) -> list[Pair]:
    """Return C = 1e6 over C = 100 on the same data, the largest ratio first."""
    known = _times(cells)
    return sorted((_pair(known, high, low) for low, high in extremes(list(known))), key=lambda pair: -pair.ratio)


def _times(cells: pd.DataFrame) -> _Times:
    """Return our seconds and state by cell, of those that have a time."""
    timed = cells[cells["ours seconds"].notna()]
    return {Cell.named(row["cell"]): (row["ours seconds"], row["ours state"]) for _, row in timed.iterrows()}


def _pair(known: _Times, cell: Cell, other: Cell, least: float = 0.0) -> Pair:
    (a, of_a), (b, of_b) = known[cell], known[other]
    early = (of_a != CERTIFIED, of_b != CERTIFIED)
    sign = {(False, False): "", (True, False): ">", (False, True): "<"}.get(early, "?")
    return Pair(cell, other, max(a, least) / max(b, least), sign)


def thread_ratios(results: Results) -> dict[str, tuple[float, float]]:
    """Return the median wall seconds of ours with one thread and with two, by cell."""
    from statistics import median

    found: dict[str, dict[int, list[float]]] = {}
    for row in results.rows:
        if row["part"] == "threads" and row["status"] == Status.OK:
            found.setdefault(row["set"], {}).setdefault(row["threads"], []).append(row["seconds"])
    return {name: (median(by[1]), median(by[2])) for name, by in found.items() if set(by) >= {1, 2}}


@dataclass(frozen=True)
class Verdict:
    """A target, what was found, and whether it is met; None: nothing was measured that says so."""

    target: str
    found: str
    met: bool | None

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return {True: "met", False: "**missed**", None: "not measured"}[self.met]


def verdicts(cells: pd.DataFrame, names: dict[str, str], threads: Sequence[tuple[float, float]] = ()) -> list[Verdict]:
    """Return the verdicts on a map; ``names`` are the peers' names by label, ``threads`` wall seconds with one and two."""
    found = []
    normal = usual(cells)
    for label in JUDGED:
        for text, part, goal in (
            (f"n = {SMALL:,}", normal[normal["n"] == SMALL], SMALL_MEAN),
            (f"n >= {LARGE:,}", normal[normal["n"] >= LARGE], LARGE_MEAN),
        ):
            average, loose = mean(part, label), mean(part, label, default=True)
            target = f"{text}: geometric mean over {names[label]} at least {goal:g}"
            what = (
                f"{average} over {average.count} cells ({average.bounds} at a lower bound, {average.above} at an upper); "
                f"at default stopping {loose} over {loose.count}"
            )
            found.append(Verdict(target, what, None if average.value is None else average.value >= goal))
    compared = [each for each in (slowness(row) for _, row in cells.iterrows()) if each is not None]
    losses = [each for each in compared if each > SLOWER]
    what = f"{len(losses)} of {len(compared)} cells are" + (f", the worst {max(losses):.3g} times" if losses else "")
    target = f"no cell slower than the faster of the two by more than {100 * (SLOWER - 1):.0f} %"
    found.append(Verdict(target, what, not losses if compared else None))
    found.append(_step_verdict(steps(cells)))
    pairs = cost_pairs(cells)
    good = sum(pair.ratio <= COSTLY and pair.sign == "" for pair in pairs)
    low, high = COMPARED
    what = f"{good} of {len(pairs)} pairs" + (
        f"; the largest {_signed(pairs[0])}, geometric mean {geometric_mean(pair.ratio for pair in pairs):.3g}"
        if pairs
        else ""
    )
    target = f"C = {short(high)}: at most {COSTLY:g} times C = {short(low)} on the same data, both certified"
    found.append(Verdict(target, what, good == len(pairs) if pairs else None))
    speedups = [one / two for one, two in threads]
    average_ = geometric_mean(speedups)
    what = f"geometric mean {average_:.3g} over {len(speedups)} cells, least {min(speedups):.3g}" if average_ else ""
    target = f"two threads on large cells: at least {TWO_THREADS:g} times one, wall seconds"
    found.append(Verdict(target, what, None if average_ is None else average_ >= TWO_THREADS))
    return found


def _step_verdict(pairs: list[Pair]) -> Verdict:
    wide = [pair for pair in pairs if pair.ratio > NEIGHBOURS]
    # of two cells that both ended early nothing is known
    open_ = [pair for pair in pairs if pair.ratio <= NEIGHBOURS and pair.sign]
    what = f"{len(wide)} of {len(pairs)} pairs are" + (f", the widest {_signed(pairs[0])}" if pairs else "")
    what += f"; of {len(open_)} more it is not known" if open_ else ""
    met = None if not pairs else not wide and not open_
    return Verdict(f"no cell more than {NEIGHBOURS:g} times a neighbour (one step of C or gamma)", what, met)


def _signed(pair: Pair) -> str:
    return f"{pair.sign}{' ' if pair.sign else ''}{pair.ratio:.3g} ({pair.cell.name} over {pair.other.name})"
