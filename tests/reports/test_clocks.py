"""Times of runs: only those of one clock are divided or drawn on one axis."""

import pytest

from reports.kit.clocks import MixedClocks, Ratio, Time, axis, cpu_time, quotient
from reports.kit.markdown import machine
from reports.kit.results import Published, Results
from tests.reports.fabricated import HEADER, row


def test_a_time_is_divided_by_one_of_its_own_clock():
    assert Time(30.0).over(Time(10.0)) == Ratio(3.0)
    assert str(Time(30.0, at_least=True).over(Time(10.0))) == "at least 3.0 times"
    assert Time(30.0).over(Time(10.0, at_least=True)) is None  # an upper bound of a ratio is no ratio
    assert Time(30.0).over(Time(0.0)) is None


def test_clocks_are_not_mixed():
    # twonorm-1e6: a limit of 600 s by the clock on the wall, over CPU seconds, was called 14.2 times
    with pytest.raises(MixedClocks, match="the CPU and the wall clock"):
        Time(600.0, "wall", at_least=True).over(Time(42.3))
    with pytest.raises(MixedClocks, match="in one figure"):
        axis([Time(1.0), Time(2.0), Time(3.0, "wall")])
    assert axis([Time(1.0), Time(2.0)]) == "CPU seconds"
    assert axis([Time(1.0, "wall")]) == "wall seconds"


def test_a_stopped_run_has_the_cpu_time_it_had():
    assert cpu_time(row("a", "smo", cpu=4.0)) == Time(4.0)
    killed = row("a", "libsvm", cpu=None, status="timeout", killed_cpu_seconds=151.0)
    assert cpu_time(killed) == Time(151.0, at_least=True)
    assert cpu_time(row("a", "smo", cpu=4.0, status="budget")) == Time(4.0, at_least=True)
    assert cpu_time(row("a", "libsvm", cpu=None, status="timeout")) is None


def test_only_runs_in_turns_are_divided():
    here = {"machine": "a processor", "git_commit": "a"}
    ours, theirs = row("a", "smo", cpu=2.0, **here), row("a", "libsvm", cpu=8.0, **here)
    assert quotient(theirs, ours) == (Ratio(4.0), "")
    assert quotient({**theirs, "git_commit": "b"}, ours) == (None, "not in turns")
    assert quotient({**theirs, "machine": "another"}, ours) == (None, "not in turns")
    killed = {**theirs, "cpu": None, "status": "timeout", "killed_cpu_seconds": 6.0}
    assert quotient(killed, ours) == (Ratio(3.0, at_least=True), "")
    assert quotient(ours, killed) == (None, "stopped")
    assert quotient({**killed, "killed_cpu_seconds": None}, ours) == (None, "CPU time not kept")


def test_every_machine_of_a_page_is_named():
    here, there = (
        {**HEADER, "machine": {**HEADER["machine"], "processor": name}} for name in ("an old one", "a new one")
    )
    rows = [row(name, "smo", machine=None) for name in ("a", "b")]
    for each in rows:
        del each["machine"]
    said = machine(Results([here, rows[0], there, {**rows[1], "measured_at": "2026-01-09"}], Published({})))
    assert said.startswith(
        "an old one, 2 cores, 16 GB, 2026-01-02 and a new one, 2 cores, 16 GB, 2026-01-09; one thread;"
    )
