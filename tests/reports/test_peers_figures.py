"""The peer benchmark: the figures that its rows give, and the page that they fill."""

import json
import math

import pytest

from reports.kit.averages import geometric_mean, slope
from reports.peers import page, tables
from reports.peers.results import Results, published_counts
from reports.peers.suite import (
    COUNTED_ONLY,
    SCALING,
    SETS,
    our_solver,
    scaling_sets,
)
from tests.reports.peers_rows import HEADER, row

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


def test_only_what_was_measured_in_turns_is_divided():
    late = {**HEADER, "measured_at": "2026-01-03"}
    peers = [row("usps", "libsvm", 2.0), row("usps", "sklearnex", 4.0)]
    found = Results([HEADER, row("usps", "smo", 0.5), peers[0], late, row("usps", "smo", 1.0), peers[1]])
    assert [found.headline("usps", each, 1) for each in ("libsvm", "sklearnex")] == [(4.0, False), (4.0, False)]
    alone = Results([HEADER, row("usps", "smo", 0.5), late, peers[0]])
    assert alone.headline("usps", "libsvm", 1) is None
    assert "| usps (4,000 x 2) | 0.5 | not in turns |" in tables.certified(alone)
    killed = results(row("usps", "smo", 0.5), row("usps", "libsvm", None, killed_cpu_seconds=None))
    assert killed.headline("usps", "libsvm", 1) is None, "its limit is wall time"


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


def test_the_report_is_written_from_a_journal(tmp_path, monkeypatch):
    found = full()
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in [HEADER, *found.rows]))
    monkeypatch.setattr("sys.argv", ["page", "--out", str(tmp_path)])
    page.main()
    text = (tmp_path / "README.md").read_text()
    assert all(f"<!-- begin {name} -->\n" in text for name in tables.sections(found))
    assert "| usps (4,000 x 2) | 0.5 | 4 | > 40 |" in text
    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert lines[0].startswith("kind,set,threads,solver,tol,seconds,at_least")
    assert len(lines) == 1 + 2 * (4 + 4 + 2), "two kinds, each of (ours, sklearnex) x sets x threads, and libsvm"
    for name in ("ratios.png", "quality.png", "scaling.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
