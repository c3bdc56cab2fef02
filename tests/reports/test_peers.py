"""The peer benchmark: the search for the tolerance that certifies, the rounds, the journal and the probes."""

import pytest

from harness import UsageError, get_solver
from reports.kit.journal import Journal, read_rows
from reports.peers.measure import Bench
from reports.peers.rounds import Budget, Rounds
from reports.peers.suite import (
    LADDER,
    PEERS,
    DataSet,
)
from tests.reports.peers_rows import row

LIBSVM = next(peer for peer in PEERS if peer.label == "libsvm")
DATA = DataSet("banana", "banana")


# -- the quality and the ladder ----------------------------------------------------------------------------


@pytest.mark.parametrize("label", [peer.label for peer in PEERS])
def test_every_peer_takes_the_tolerances_of_the_ladder(label):
    name, _, dtype = label.removesuffix("]").partition("[dtype=")
    try:
        solver = get_solver(name, **({"dtype": dtype} if dtype else {}))
    except UsageError:
        pytest.skip(f"{name} is not installed")
    assert [solver.replaced(tol=tol).tol for tol in LADDER] == list(LADDER)


# -- rounds ------------------------------------------------------------------------------------------------


class FakeBench:
    """Answers runs from a function of (label, tol) -> seconds, kkt, gap; seconds None: killed."""

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def run(self, key, selection, label, *, threads, limit, tol=None):
        self.calls.append((key["round"], label, tol, limit))
        seconds, kkt, gap = self.answer(label, tol)
        return row(key["set"], label, seconds, kkt=kkt, gap=gap, threads=threads, tol=tol, limit=limit)


def measured(answer, reps=1, budget=None):
    bench = FakeBench(answer)
    Rounds(bench, "smo", [LIBSVM], 1, budget or Budget()).measure(DATA, reps)
    return [(number, label, tol) for number, label, tol, _ in bench.calls], bench


def test_the_ladder_ends_at_the_first_tolerance_that_certifies():
    def answer(label, tol):
        return 1.0, (1.8e-3 if label == "libsvm" and tol is None else 1e-3), 1e-5

    calls, _ = measured(answer, reps=2)
    a_round = [("smo", None), ("smo[gap=0.001]", None), ("libsvm", None), ("libsvm", 3e-4)]
    assert calls == [(number, *each) for number in (0, 1) for each in a_round]


# -- the journal -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_goes_through_the_isolated_worker_and_is_not_repeated(tmp_path):
    bench = Bench(Journal(tmp_path / "results.jsonl", resume=False))
    key = {"part": "peers", "set": "small", "round": 0}
    try:
        done = bench.run(key, "checkerboard[n=300,n_test=100]", "libsvm", threads=1, limit=60.0, tol=1e-4)
        assert bench.run(key, "checkerboard[n=300,n_test=100]", "libsvm", threads=1, limit=60.0, tol=1e-4) is done
    finally:
        bench.close_workers()
    assert (done["status"], done["n"], done["d"], done["C"], done["gamma"]) == ("ok", 300, 2, 100.0, 4.0)
    assert 3e-5 < done["kkt_violation"] < 3e-4, "the tolerance arrived"
    assert done["stopped_by"] == "solver", "at the tolerance, not at a target"
    assert 0.0 <= done["seconds"] <= done["fit_seconds"]
    assert done["seconds"] == pytest.approx(done["fit_seconds"] - done["info"]["conversion_seconds"])
    assert 0.0 <= done["test_error"] < 0.3
    assert read_rows(tmp_path / "results.jsonl") == [done]


# -- the probes --------------------------------------------------------------------------------------------
