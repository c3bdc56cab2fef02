"""What the host refuses of a child's claims, and how it words what it saw: clocks, counts, limits, output."""

import os

import pytest

from harness import Status
from harness.measure.outcome import TracePoint
from harness.run.messages import FitResult, Point
from harness.run.record import Claims
from harness.run.watch import Observed, verdict
from tests.run.conftest import SPEC


def ended(claims, counts=(), **seen):
    points = [Point(TracePoint(0.0, count, 0, "seconds")) for count in counts]
    claims = Claims(**{"status": Status.OK, "cpu_seconds": 0.0, **claims})
    return verdict(Observed(fitted=FitResult(claims), points=points, **seen), SPEC).status


@pytest.mark.parametrize(
    ("counts", "last", "status"),
    [((5, 9), 12, "ok"), ((5, 9), 8, "invalid"), ((9, 5), 12, "invalid")],
)
def test_a_count_that_falls_is_invalid(counts, last, status):
    assert ended({"kernel_evaluations": last}, counts) == status


@pytest.mark.parametrize(
    ("seconds", "status"), [(10.0, "ok"), (5.0, "ok"), (4.5, "invalid"), (-1.0, "invalid"), (20.0, "invalid")]
)
def test_a_clock_that_says_less_than_half_of_the_cpu_time_or_more_than_passed_is_invalid(seconds, status):
    assert ended({"fit_seconds": seconds}, fit_seconds=10.0, fit_cpu_seconds=10.0) == status


def test_a_cpu_clock_beyond_what_the_system_accounted_is_invalid():
    assert ended({"cpu_seconds": 3.0}, cpu_seconds=2.0) == "invalid"


def test_of_what_a_child_prints_the_end_is_kept():
    seen, (out, into) = Observed(), os.pipe()
    for number in range(40):
        os.write(into, f"{number:02d}".encode() * 1000)
        seen.drain(out)
    os.close(into)
    os.close(out)
    assert seen.output.endswith("3939")
    assert (seen.output_bytes, len(seen.output) < 5_000) == (80_000, True)
