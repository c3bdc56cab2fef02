"""The peer benchmark: the search for the tolerance that certifies, the rounds, the journal and the probes."""

import json

import numpy as np
import pytest
from harness_smo import SMO

from harness import CSVC, RBF, KernelOracle
from harness.errors import UsageError
from harness.registry import get_solver
from reports.kit.journal import Journal, read_rows
from reports.peers import probes
from reports.peers.measure import Bench
from reports.peers.rounds import Budget, Rounds
from reports.peers.suite import (
    LADDER,
    PEERS,
    DataSet,
    certifies,
    next_rung,
    stalled,
)
from tests.plugins.points import overlapping
from tests.reports.peers_rows import row

LIBSVM = next(peer for peer in PEERS if peer.label == "libsvm")
DATA = DataSet("banana", "banana")


# -- the quality and the ladder ----------------------------------------------------------------------------


def test_what_certifies():
    assert certifies(1.0004e-3, 1e-3), "reads 1.0e-3"
    assert not certifies(1.1e-3, 1e-5)
    assert not certifies(1e-4, 1.1e-3)
    assert not certifies(None, None)


@pytest.mark.parametrize(
    ("tol", "kkt", "gap", "rung"),
    [
        (1e-3, 1.7e-3, 1e-5, 3e-4),
        (1e-3, 1e-3, 1.9e-3, 3e-4),
        (1e-3, 1e-3, 0.2, 3e-6),  # at 1e-5 the gap would be twice the target
        (1e-3, 1e-3, 0.19, 1e-5),
        (1e-3, 1e-3, 1e9, 1e-6),  # the last one is always tried
        (3e-4, 1.2e-3, 0.0, 1e-4),
        (1e-6, 1.0, 1.0, None),
    ],
)
def test_the_next_rung_passes_over_what_cannot_certify(tol, kkt, gap, rung):
    assert next_rung(tol, kkt, gap) == rung


def test_a_search_that_changes_nothing_has_stalled():
    before = {"kkt": 8e-2, "gap": 1e-4}
    assert stalled(before, {"kkt": 7.9e-2, "gap": 1e-5})
    assert not stalled(before, {"kkt": 4e-2, "gap": 1e-4})
    assert not stalled(before, {"kkt": 1e-3, "gap": 1e-4}), "it certifies"


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


def test_a_search_ends_where_nothing_changes_or_a_run_is_stopped():
    calls, _ = measured(lambda label, tol: (1.0, 8e-2 if label == "libsvm" else 1e-3, 1e-5))
    assert [tol for _, label, tol in calls if label == "libsvm"] == [None, 1e-5], "the second changed nothing"
    calls, _ = measured(lambda label, tol: (None if label == "libsvm" else 1.0, 1e-3, 1e-5), reps=3)
    assert [call for call in calls if call[1] == "libsvm"] == [(0, "libsvm", None)], "a killed run is not repeated"


def test_no_search_where_the_verdict_stands():
    calls, _ = measured(lambda label, tol: (1.0 if label.startswith("smo") else 12.5, 2e-3, 1e-5))
    assert [tol for _, label, tol in calls if label == "libsvm"] == [None], "12.5 times slower before it certifies"
    narrow = next(peer for peer in PEERS if peer.label == "sklearnex[dtype=float32]")
    for seconds, rungs in ((16.0, [None]), (14.0, [None, 1e-5])):
        bench = FakeBench(lambda label, tol, seconds=seconds: (seconds, 8e-2 if "32" in label else 1e-3, 1e-5))
        Rounds(bench, "smo", [narrow], 1, Budget()).measure(DATA, 1)
        assert [tol for _, label, tol, _ in bench.calls if label == narrow.label] == rungs


def test_limits_follow_our_time():
    _, bench = measured(lambda label, tol: (0.01, 1e-3, 1e-5))
    assert bench.calls[-1][3] == 20.0, "the least"
    _, bench = measured(lambda label, tol: (1.5, 1e-3, 1e-5))
    assert bench.calls[-1][3] == 60.0
    _, bench = measured(lambda label, tol: (100.0, 1e-3, 1e-5))
    assert bench.calls[-1][3] == LIBSVM.longest
    _, bench = measured(lambda label, tol: (100.0, 1e-3, 1e-5), budget=Budget(longest=33.0))
    assert bench.calls[-1][3] == 33.0


def test_slow_and_settled_solvers_are_not_repeated():
    calls, _ = measured(lambda label, tol: (1.0 if label.startswith("smo") else 13.0, 1e-3, 1e-5), reps=3)
    assert [number for number, label, _ in calls if label == "libsvm"] == [0]
    assert [number for number, label, _ in calls if label == "smo"] == [0, 1, 2]
    calls, _ = measured(lambda label, tol: (8.0, 1e-3, 1e-5), reps=3)
    assert [number for number, label, _ in calls if label == "smo"] == [0, 1], "two runs used up the patience"


# -- the journal -------------------------------------------------------------------------------------------


def test_the_journal_keeps_what_was_measured_when_it_is_killed(tmp_path):
    path = tmp_path / "out" / "results.jsonl"
    journal = Journal(path, resume=False)
    journal.append({"set": "a", "round": 0})
    assert json.loads(path.read_text()) == {"set": "a", "round": 0}
    with path.open("a") as file:
        file.write('{"set": "b", "rou')  # killed while it wrote
    again = Journal(path, resume=True)
    again.append({"set": "c", "round": 1})
    assert read_rows(path) == [{"set": "a", "round": 0}, {"set": "c", "round": 1}]
    assert again.find({"set": "c"}) == {"set": "c", "round": 1}
    assert again.find({"set": "c", "round": 2}) is None
    assert Journal(path, resume=False).rows == []


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


def stated(n=120, cost=1.0, apart=0.0):
    x, y = overlapping(3, n=n)
    x[:, 0] += apart * y
    return CSVC.build(KernelOracle(RBF(0.5), x), y, {"C": cost})


def probed(solver, problem):
    return next(solver.iterates(problem, np.random.default_rng(0))).info


def test_the_limit_counts_the_values_that_the_solution_needs():
    problem = stated()
    info = probed(probes.KernelRate(oracle="smo"), problem)
    size = np.abs(SMO().solve(problem).dual_coef)
    free = int(((size > 0.0) & (size < 1.0)).sum())
    assert (info["support"], info["free"]) == (int((size > 0.0).sum()), free)
    assert 0 < free < info["support"]
    assert info["limit_seconds"] == pytest.approx((free + info["support"]) * problem.n / info["rate"])
    assert 1e5 < info["rate"] < 1e12


def test_the_overhead_of_a_call_is_what_is_left_beside_the_scores(monkeypatch):
    monkeypatch.setattr(probes, "CALL_SIZES", (20, 40))
    info = probed(probes.OracleCalls(oracle="smo", calls=3), stated())
    for size in (20, 40):
        assert 0.0 < info[f"scores_{size}"] < info[f"call_{size}"]
        assert 0.0 < info[f"overhead_{size}"] < info[f"call_{size}"]


def test_the_warm_start_is_compared_with_a_cold_one():
    # the classes are apart: the solution at 2 C is that at C
    info = probed(probes.WarmStart(oracle="smo"), stated(cost=10.0, apart=3.0))
    assert 0 < info["warm_kernel_evaluations"] <= info["cold_kernel_evaluations"]
    for kind in ("warm", "cold"):
        assert info[f"{kind}_seconds"] > 0.0
        assert info[f"{kind}_kkt"] <= 1.1e-3
        assert info[f"{kind}_gap"] < 0.05


def test_the_peak_of_memory_is_the_processs():
    info = probed(probes.PeakMemory(oracle="smo", seconds=5.0), stated())
    assert info["data_bytes"] == 120 * 2 * 8 + 120 * 8
    assert info["peak_bytes"] >= info["resident_before_bytes"] > 10 * 2**20
    assert info["support"] > 0
    nothing = probed(probes.PeakMemory(oracle="smo", seconds=0.0), stated())
    assert (nothing["yields"], nothing["support"]) == (0, 0)


def test_part_of_adult_is_its_first_rows(raw_data):
    small, larger = probes.AdultPart(n=50).load(), probes.AdultPart(n=60).load()
    assert small.x_train.shape == (50, 123)
    assert (small.x_train != larger.x_train[:50]).nnz == 0
    assert small.sha256 != larger.sha256
    assert small.defaults["C"] == 100
