"""The peer benchmark: the search for the tolerance that certifies, the journal, the figures and the page."""

import json
import math

import numpy as np
import pytest
from harness_smo import SMO

from benchmarks.peers import probes, report, tables
from benchmarks.peers.measure import Bench, Journal, read_rows
from benchmarks.peers.results import Results, geometric_mean, published_counts, slope
from benchmarks.peers.rounds import Budget, Rounds
from benchmarks.peers.suite import (
    COUNTED_ONLY,
    LADDER,
    PEERS,
    SCALING,
    SETS,
    DataSet,
    certifies,
    next_rung,
    our_solver,
    scaling_sets,
    stalled,
)
from harness import CSVC, RBF, KernelOracle
from harness.errors import UsageError
from harness.registry import get_solver
from tests.benchmarks.fabricated import HEADER, row
from tests.plugins.points import overlapping

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


# -- the figures -------------------------------------------------------------------------------------------


def results(*rows):
    return Results([HEADER, *rows])


def test_medians_and_spread_of_the_default():
    found = results(*(row("usps", "libsvm", t, number=k) for k, t in enumerate((3.0, 1.0, 2.0))))
    cell = found.default("usps", "libsvm", 1)
    assert (cell.seconds, cell.low, cell.high, cell.runs, cell.bound) == (2.0, 1.0, 3.0, 3, None)
    assert found.default("usps", "libsvm", 2) is None


def test_one_thread_is_cpu_time_two_are_wall_time():
    runs = [row("usps", "smo", 4.0, cpu=3.0), row("usps", "smo", 2.0, threads=2, cpu=3.9)]
    found = results(*runs)
    assert [found.default("usps", "smo", threads).seconds for threads in (1, 2)] == [3.0, 2.0]


def test_the_first_tolerance_that_certifies_counts_alone():
    found = results(
        row("usps", "smo", 0.5),
        row("usps", "libsvm", 2.0, kkt=1.8e-3),
        row("usps", "libsvm", 4.0, tol=3e-4),
        row("usps", "libsvm", 6.0, tol=3e-4, number=1),
    )
    assert found.certified("usps", "libsvm", 1).seconds == 5.0
    assert found.certified("usps", "libsvm", 1).tol == 3e-4
    assert found.ratio("usps", "libsvm", 1, quality=True) == (10.0, False)
    assert found.ratio("usps", "libsvm", 1, quality=False) == (4.0, False)


def test_lower_bounds():
    killed = results(row("usps", "smo", 0.5), row("usps", "libsvm", None, limit=20.0))
    assert killed.ratio("usps", "libsvm", 1, quality=True) == (40.0, True)
    assert killed.ratio("usps", "libsvm", 1, quality=False) == (40.0, True)
    never = results(
        row("usps", "smo", 0.5),
        row("usps", "sklearnex[dtype=float32]", 2.0, kkt=8e-2),
        row("usps", "sklearnex[dtype=float32]", 2.5, kkt=8e-2, tol=3e-4),
    )
    assert never.ratio("usps", "sklearnex[dtype=float32]", 1, quality=True) == (5.0, True)
    assert never.any_quality("usps", "sklearnex[dtype=float32]", 1) == (4.0, False)
    assert never.headline("usps", "sklearnex[dtype=float32]", 1) == (4.0, False)
    failed = results(row("usps", "smo", 0.5), row("usps", "libsvm", None, status="crashed", reason="signal 11"))
    assert failed.ratio("usps", "libsvm", 1, quality=True) is None, "a crash bounds nothing"


def test_ours_counts_at_the_setting_for_the_gap():
    found = results(row("usps", "smo", 0.5, gap=0.2), row("usps", "smo[gap=0.001]", 0.75))
    assert found.ours == "smo"
    assert found.default("usps", "smo", 1).seconds == 0.5
    assert found.certified("usps", "smo", 1).seconds == 0.75


@pytest.mark.parametrize(
    ("ended", "bound"),
    [
        ({"status": "timeout", "stopped_by": "time"}, 40.0), ({"status": "budget", "stopped_by": "time"}, 40.0),
        ({"status": "crashed", "stopped_by": "fault"}, None), ({"status": "memory", "stopped_by": "memory"}, None),
        # rows of an older version, which do not say what ended a run
        ({"status": "timeout"}, 40.0), ({"status": "budget", "fit_seconds": 20.1}, 40.0), ({"status": "crashed"}, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reason", ["stopped at the time limit of 20 s", "x", None])
def test_what_ended_a_run_bounds_it_not_its_reason(ended, bound, reason):
    stopped = row("usps", "libsvm", None, limit=20.0, **{"fit_seconds": None, "reason": reason, **ended})
    found = results(row("usps", "smo", 0.5), stopped).ratio("usps", "libsvm", 1, quality=False)
    assert found == (None if bound is None else (bound, True))


def test_our_time_over_the_limit():
    probe = row("usps", "kernel-rate[oracle=smo]", 1.0, part="limits", info={"limit_seconds": 0.25})
    assert results(row("usps", "smo", 0.5), probe).over_limit("usps") == 2.0
    assert results(row("usps", "smo", 0.5)).over_limit("usps") is None


def test_scaling_joins_the_suites_sets_and_the_subsets():
    found = results(
        row("checkerboard-10k", "smo", 1.0, n=10_000),
        row("checkerboard-2000", "smo", 0.1, n=2000, part="scaling", selection="checkerboard[n=2000]"),
        row("usps", "smo", 9.0, n=7291),
    )
    assert found.scaling_points("checkerboard", "smo") == [(2000, 0.1), (10_000, 1.0)]


def test_slopes_and_means():
    assert slope([(n, 3.0 * n**1.7) for n in (1000, 4000, 9000)]) == pytest.approx(1.7)
    assert slope([(1000, 1.0)]) is None
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([]) is None


def test_published_counts_belong_to_sets_that_are_measured():
    counts = published_counts()
    assert set(counts) <= {*SETS, *(each.name for each in COUNTED_ONLY)}
    assert math.isclose(float(counts["adult"]["kernel_evaluations"]), 5.81e8)
    assert {each["same_data"] for each in counts.values()} <= {"yes", "draw", "other"}


def test_no_size_is_measured_twice():
    selections = [each.selection for each in (*SETS.values(), *scaling_sets())]
    assert len(set(selections)) == len(selections)
    assert sum(len(sizes) for _, sizes in SCALING.values()) > len(scaling_sets())


def test_ours_is_the_fast_solver_where_it_is_there():
    assert our_solver(["smo", "smo-block"]) == "smo-block"
    assert our_solver(["smo", "libsvm"]) == "smo"


# -- the page ----------------------------------------------------------------------------------------------


def full():
    rows = [HEADER]
    for threads in (1, 2):
        for name in ("banana", "usps"):
            rows += [row(name, "smo", 0.5, threads=threads), row(name, "sklearnex", 2.0, threads=threads)]
    rows += [row("usps", "libsvm", None), row("banana", "libsvm", 3.0)]
    info = {"rate": 2e9, "free": 10, "support": 100, "limit_seconds": 0.25}
    rows.append(row("usps", "kernel-rate[oracle=smo]", 1.0, part="limits", info=info))
    info = {
        "peak_bytes": 900 * 2**20,
        "data_bytes": 240 * 2**20,
        "cache_bytes": 256 * 2**20,
        "yields": 7,
        "seconds": 30.0,
        "resident_before_bytes": 500 * 2**20,
    }
    rows.append(row("covtype-581012", "peak-memory", 1.0, part="memory", info=info, n=581_012))
    warm = {"warm_cpu_seconds": 1.0, "warm_kernel_evaluations": 3, "warm_kkt": 1e-3}
    cold = {"cold_cpu_seconds": 4.0, "cold_kernel_evaluations": 4, "cold_kkt": 1e-3}
    rows.append(row("usps", "warm-start", 1.0, part="warm", info=warm | cold))
    calls = {"call_200": 1.5e-3, "scores_200": 1e-3, "overhead_200": 0.5e-3}
    rows.append(row("usps", "oracle-calls", 1.0, part="calls", info=calls))
    return Results(rows)


def test_the_tables_say_what_was_measured():
    text = tables.sections(full())
    assert "| banana (4,000 x 2) | 0.5 | 4 | 6 |" in text["certified"]
    assert "| usps (4,000 x 2) | 0.5 | 4 | > 40 |" in text["certified"]
    assert ">= 15.5** of 2" in text["certified"], "the geometric mean of 6 and at least 40"
    assert "**2 threads**" in text["certified"]
    assert "| usps | scikit-learn SVC | > 20 |" in text["default"]
    assert "| usps | 100 (10) | 2 | 0.25 | 0.5 | 2.00 | 5e+06 | 1.45 |" in text["limits"]
    assert "404 MB beyond data and cache (target: at most 200 MB)" in text["probes"]
    assert "144 MB beyond what the process held before and the cache" in text["probes"]
    assert "25 % of the time" in text["probes"]
    assert "takes 1.5 ms on 200 points, 0.5 ms of it not for scores (target: at most 1 ms" in text["probes"]
    assert "a processor, 2 cores, 16 GB" in text["machine"]


def test_prose_between_the_tables_stays():
    page = report.filled("What to pick.\n<!-- begin default -->\nold\n<!-- end default -->\nWhy.\n", {"default": "new"})
    assert page == "What to pick.\n<!-- begin default -->\nnew\n<!-- end default -->\nWhy.\n"
    with pytest.raises(SystemExit, match="no markers '<!-- begin limits -->'"):
        report.filled(page, {"limits": "x"})


def test_the_report_is_written_from_a_journal(tmp_path, monkeypatch):
    found = full()
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in [HEADER, *found.rows]))
    monkeypatch.setattr("sys.argv", ["report.py", "--out", str(tmp_path)])
    report.main()
    page = (tmp_path / "README.md").read_text()
    assert all(f"<!-- begin {name} -->\n" in page for name in tables.sections(found))
    assert "| usps (4,000 x 2) | 0.5 | 4 | > 40 |" in page
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert lines[0].startswith("kind,set,threads,solver,tol,seconds,at_least")
    assert len(lines) == 1 + 2 * (4 + 4 + 2), "two kinds, each of (ours, sklearnex) x sets x threads, and libsvm"
    for name in ("ratios.png", "quality.png", "scaling.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
