"""The map: what is drawn, which cells are compared, the figures and verdicts of hand-made rows, the page, a real run."""

import sys

import numpy as np
import pytest
import scipy.sparse

from reports.kit.journal import Journal
from reports.peers import __main__ as command
from reports.peers import map_results
from reports.peers.cells import Cell
from reports.peers.families import FAMILIES, Drawn
from reports.peers.results import Results
from reports.peers.tables import NAMES
from tests.reports.peers_rows import HEADER, row

# -- what is drawn -----------------------------------------------------------------------------------------


def arrays(dataset):
    x = dataset.x_train
    return (x.toarray() if scipy.sparse.issparse(x) else x), dataset.y_train


@pytest.mark.parametrize("family", FAMILIES)
def test_a_draw_is_told_by_its_parameters_and_c_and_gamma_are_none_of_its_points(family):
    given = {"family": family, "n": 121, "d": 4, "noise": 0.1, "seed": 5, "draw": 3}
    x, y = arrays(Drawn(**given).load())
    again = Drawn(**given, cost=1e4, width=2.0).load()
    assert all(np.array_equal(a, b) for a, b in zip((x, y), arrays(again), strict=True)), "bit for bit"
    assert again.defaults["C"] == 1e4
    assert again.defaults["gamma"] == pytest.approx(10.0 * Drawn(**given).load().defaults["gamma"])
    for change in ({"seed": 6}, {"draw": 4}):
        assert not np.array_equal(x, arrays(Drawn(**{**given, **change}).load())[0])
    assert np.isfinite(x).all()
    assert again.task == ("regression" if family == "regression" else "classification")
    if family != "regression":
        assert set(y) == {-1.0, 1.0}


# -- the design --------------------------------------------------------------------------------------------


# -- the rounds of a cell ----------------------------------------------------------------------------------


# -- figures of hand-made rows -----------------------------------------------------------------------------

A = Cell("teacher", 2000, 3, 0.0, 1.0, 0.2, 1, 1)
B = Cell("teacher", 2000, 3, 0.0, 100.0, 0.2, 1, 1)
C = Cell("teacher", 2000, 3, 0.0, 1e4, 0.2, 1, 1)
D = Cell("teacher", 2000, 3, 0.0, 1e6, 0.2, 1, 1)
E = Cell("heavy", 10_000, 20, 0.1, 1.0, 2.0, 1, 2)


def made(*rows):
    return Results([HEADER, *rows])


def hand_made():
    """Five cells: measured; a peer stopped; ours slower; ours stopped; peers without a certificate."""
    return made(
        row(A.name, "smo", 1.0), row(A.name, "libsvm", 4.0), row(A.name, "sklearnex", 9.0),
        row(B.name, "smo", 2.0), row(B.name, "libsvm", None, limit=20.0), row(B.name, "sklearnex", 8.0),
        row(C.name, "smo", 3.0), row(C.name, "libsvm", 2.0), row(C.name, "sklearnex", 2.9),
        row(D.name, "smo", None, limit=30.0, stopped_by="time"), row(D.name, "libsvm", 3.0),
        row(D.name, "sklearnex", None, limit=20.0),
        row(E.name, "smo", 0.5), row(E.name, "libsvm", 0.4, gap=0.5), row(E.name, "sklearnex", 5.0),
    )  # fmt: skip


def verdict(*rows, threads=()):
    found = map_results.verdicts(map_results.frame(made(*rows)), NAMES, threads)
    return [each.met for each in found], [each.found for each in found]


def test_the_verdicts_are_computed():
    met, found = verdict(*hand_made().rows, threads=[(3.0, 2.0), (6.0, 4.0)])
    # libsvm small: (4 x 10 x 2/3)^(1/3) = 2.99; sklearnex small: (9 x 4 x 2.9/3)^(1/3) = 3.26; large: 0.8 and 10
    assert met == [False, False, False, True, False, False, False, True]
    assert found[0] == ">= 2.99 over 3 cells (1 at a lower bound, 0 at an upper); at default stopping >= 2.99 over 3"
    assert found[4] == "2 of 5 cells are, the worst 10 times"
    assert found[5].startswith("1 of 3 pairs are, the widest > 10 ")
    assert found[6].startswith("0 of 1 pairs; the largest > 15 ")
    assert found[7] == "geometric mean 1.5 over 2 cells, least 1.5"


# -- the page and the command ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_small_map_is_measured_from_end_to_end(tmp_path, monkeypatch):
    names = "teacher-n80-d3-e10-C1-g2-s7.1,regression-n80-d3-e0-C1-g2-s7.2"
    options = ["--cell", names, "--out", str(tmp_path), "--reps", "1", "--profile", "1", "--solvers", "libsvm"]
    monkeypatch.setattr(sys, "argv", ["reports/peers", "map", *options, "--ours", "smo"])
    command.main()
    rows = Results(Journal(tmp_path / "results.jsonl", resume=True).rows).rows
    assert {(each["set"], each["label"]) for each in rows if each["part"] == "peers" and each["tol"] is None} >= {
        (name, label) for name in names.split(",") for label in ("smo", "libsvm")
    }
    assert all(each["status"] == "ok" for each in rows)
    assert next(each["label"] for each in rows if each["part"] == "profile").startswith("time-shares[oracle=smo")
    assert "2 cells of 2 draws" in (tmp_path / "README.md").read_text()
