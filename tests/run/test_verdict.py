"""What the host refuses of a child's claims, and how it words what it saw: clocks, counts, limits, output."""

import os
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from harness import Dataset, Limits, Record, StoppedBy
from harness.datasets import measured_sha256
from harness.run.child import DataChanged, Workbench
from harness.run.messages import Ended, Fitted, Point, Solved
from harness.run.plan import RunSpec
from harness.run.pool import Pool
from harness.run.store import Store, checksum
from harness.run.watch import Observed, verdict

SPEC = RunSpec(
    "p", "s", {}, "d", "d", {}, "c-svc", {}, "rbf", {}, 0, 0, limits=Limits(seconds=2.0, memory_bytes=1 << 20)
)


def ended(claims, counts=(), **seen):
    points = [Point({"kernel_evaluations": count}) for count in counts]
    return Observed(fitted=Fitted({"status": "ok", "cpu_seconds": 0.0, **claims}), points=points, **seen)


@pytest.mark.parametrize(
    ("counts", "last", "status"),
    [((5, 9), 12, "ok"), ((5, 9), 8, "invalid"), ((9, 5), 12, "invalid"), ((), -1, "invalid")],
)
def test_a_count_that_falls_is_invalid(counts, last, status):
    assert verdict(ended({"kernel_evaluations": last}, counts), SPEC, 1.0)["status"] == status


@pytest.mark.parametrize(
    ("seconds", "status"), [(10.0, "ok"), (5.0, "ok"), (4.5, "invalid"), (-1.0, "invalid"), (20.0, "invalid")]
)
def test_a_clock_that_says_less_than_half_of_the_cpu_time_or_more_than_passed_is_invalid(seconds, status):
    seen = ended({"fit_seconds": seconds}, fit_seconds=10.0, fit_cpu_seconds=10.0)
    assert verdict(seen, SPEC, 1.0)["status"] == status


def test_a_cpu_clock_beyond_what_the_system_accounted_is_invalid():
    assert verdict(ended({"cpu_seconds": 3.0}, cpu_seconds=2.0), SPEC, 1.0)["status"] == "invalid"


@pytest.mark.parametrize(
    ("why", "status"), [(StoppedBy.MEMORY, "memory"), (StoppedBy.TIME, "timeout"), (StoppedBy.FAULT, "error")]
)
def test_who_was_killed_is_told_what_for(why, status):
    claims = verdict(Observed(killed_for=why, phase="fit"), SPEC, 3.0)
    assert (claims["status"], claims["stopped_by"]) == (status, why)


def test_of_what_a_child_prints_the_beginning_and_the_end_are_kept():
    seen, (out, into) = Observed(), os.pipe()
    for number in range(40):
        os.write(into, f"{number:02d}".encode() * 1000)
        seen.drain(out)
    os.close(into)
    os.close(out)
    assert seen.output.startswith("0000")
    assert seen.output.endswith("3939")
    assert (seen.output_bytes, len(seen.output) < 10_000) == (80_000, True)
    assert verdict(ended({}, output_bytes=2_000_000), SPEC, 1.0)["status"] == "error"


def test_data_that_are_not_those_of_the_plan_are_refused_by_whoever_reads_them():
    found = Dataset("d", np.eye(2), np.array([-1.0, 1.0]), np.zeros((0, 2)), np.zeros(0), sha256="")

    class Source:
        def load(self):
            return found

    bench = Workbench(SimpleNamespace(source_class=lambda _: Source))
    assert bench.dataset(replace(SPEC, data_sha256=measured_sha256(found))).y_train.tolist() == [-1.0, 1.0]
    bench = Workbench(SimpleNamespace(source_class=lambda _: Source))
    with pytest.raises(DataChanged, match="are not what they were"):
        bench.dataset(replace(SPEC, data_sha256="0" * 64))


@pytest.mark.parametrize(
    ("claims", "reason"),
    [({"status": "splendid"}, "status is splendid, which is none"), ({"status": "ok"}, "without a model or a time")],
)
def test_what_is_no_status_and_no_result_is_not_believed(tmp_path, monkeypatch, claims, reason):
    pool = Pool(None, tmp_path, threading.Event())
    monkeypatch.setattr(pool, "_ended", lambda *_: (Ended(claims), Solved()))
    record = pool.run(SPEC, 0.0)
    assert (record["status"], reason in record["reason"]) == ("invalid", True)


def test_a_row_has_its_checksum(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.append(Record({"key": "k", "status": "ok", "measured_at": "now"}))
        (row,) = store.rows()
        assert row.check == checksum(*row.content)
