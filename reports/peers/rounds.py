"""The order of the runs on one set: rounds over all solvers, and the search for the tolerance that certifies."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness import Status
from reports.kit.journal import Row
from reports.peers.measure import Bench
from reports.peers.suite import DEFAULT_TOL, FLOAT32, GAP_TARGET, DataSet, Peer, certifies, next_rung, stalled


@dataclass(frozen=True)
class Budget:
    """How long a peer may take.

    factor, least, longest : a run is stopped after min(longest, max(least, factor x our time)) seconds; longest None:
        what the suite says for each peer
    settled : a peer whose run takes more than this many times ours is neither repeated nor tightened
    patience : seconds of one solver on one set after which no run of it is repeated
    ours : seconds after which a run of ours is stopped
    """

    factor: float = 40.0
    least: float = 20.0
    longest: float | None = None
    settled: float = 12.0
    patience: float = 15.0
    ours: float = 900.0

    def limit(self, peer: Peer, ours: float) -> float:
        """Return the seconds one run of ``peer`` may take where ours took ``ours``."""
        longest = peer.longest if self.longest is None else self.longest
        return min(longest, max(self.least, self.factor * ours))


@dataclass
class Entry:
    """One solver at one setting in the rounds of a set, and the seconds it has spent there."""

    label: str
    tol: float | None
    limit: float
    seconds: list[float] = field(default_factory=list)


class Rounds:
    """Measures one set after another: (ours, peer, peer, ...) again and again, each run in a process of its own.

    both : ours runs by default and to the certified gap; else to the latter only where the default misses it, as a peer
        goes down the ladder
    """

    def __init__(
        self,
        bench: Bench,
        ours: str,
        peers: list[Peer],
        threads: int,
        budget: Budget,
        part: str = "peers",
        *,
        both: bool = True,
    ) -> None:
        self.bench, self.ours, self.peers, self.threads, self.budget = bench, ours, peers, threads, budget
        self.part, self.both = part, both

    def measure(self, data: DataSet, reps: int) -> None:
        """Measure ``data``: default stopping and the certified quality, ``reps`` rounds where the time allows."""
        ours, entries = self._ours(data)
        for peer in self.peers:
            entries += self._first(peer, data, ours)
        for number in range(1, reps):
            for entry in entries:
                if self._again(entry, ours):
                    self._run(data, entry, number)

    def defaults(self, data: DataSet) -> None:
        """Measure ``data`` once at default stopping."""
        mine = Entry(self.ours, None, self.budget.ours)
        self._run(data, mine, 0)
        for peer in self.peers:
            self._run(data, Entry(peer.label, None, self.budget.limit(peer, _seconds(mine))), 0)

    def _again(self, entry: Entry, ours: float) -> bool:
        """Return whether a run is repeated: it finished, it is not settled, and it does not take long."""
        if not entry.seconds or sum(entry.seconds) > self.budget.patience:
            return False
        mine = entry.label.partition("[")[0] == self.ours
        return mine or entry.seconds[0] <= self.budget.settled * ours

    def _run(self, data: DataSet, entry: Entry, number: int) -> Row:
        key = {"part": self.part, "set": data.name, "round": number}
        row = self.bench.run(key, data.selection, entry.label, threads=self.threads, limit=entry.limit, tol=entry.tol)
        if row["status"] == Status.OK:
            entry.seconds.append(row["seconds"])
        return row

    def _ours(self, data: DataSet) -> tuple[float, list[Entry]]:
        """Run ours by default and to the certified gap; return the time to the latter and the entries."""
        entries = [Entry(self.ours, None, self.budget.ours)]
        row = self._run(data, entries[0], 0)
        missed = row["status"] == Status.OK and not certifies(row["kkt_violation"], row["relative_gap"])
        if self.both or missed:
            entries.append(Entry(exactly(self.ours), None, self.budget.ours))
            self._run(data, entries[1], 0)
        return _seconds(entries[-1]), entries

    def _first(self, peer: Peer, data: DataSet, ours: float) -> list[Entry]:
        """Run ``peer`` by default, then down the ladder until it certifies; return what is worth repeating.

        The search ends without a result when a run is stopped or takes ``settled`` times ours, when a tighter
        tolerance changes nothing (float32; not searched at all where one run is beyond the patience) or when the
        search took as long as a run may take: the time of its last run is then a lower bound.
        """
        limit = self.budget.limit(peer, ours)
        default = Entry(peer.label, None, limit)
        row = self._run(data, default, 0)
        tol, spent, before = DEFAULT_TOL, 0.0, None
        while row["status"] == Status.OK and not certifies(row["kkt_violation"], row["relative_gap"]):
            figures = {"kkt": row["kkt_violation"], "gap": row["relative_gap"]}
            spent += row["seconds"]
            rung = next_rung(tol, figures["kkt"], figures["gap"])
            longest = self.budget.patience if peer.label == FLOAT32 else self.budget.settled * ours
            if rung is None or spent > limit or row["seconds"] > longest:
                return [default]
            if before is not None and stalled(before, figures):
                return [default]
            tol, before = rung, figures
            found = Entry(peer.label, tol, limit)
            row = self._run(data, found, 0)
        if row["status"] != Status.OK or row["tol"] is None:
            return [default]
        return [default, found]


def exactly(ours: str) -> str:
    """Return the selection of this project's solver that stops at the certified gap."""
    return f"{ours}[gap={GAP_TARGET:g}]"


def _seconds(entry: Entry) -> float:
    return min(entry.seconds, default=entry.limit)
