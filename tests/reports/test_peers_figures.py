"""The peer benchmark: the figures that its rows give, and the page that they fill."""

from reports.peers import tables
from reports.peers.results import Results
from tests.reports.peers_rows import HEADER, row

# -- the figures -------------------------------------------------------------------------------------------


def results(*rows):
    return Results([HEADER, *rows])


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


# -- the page ----------------------------------------------------------------------------------------------
