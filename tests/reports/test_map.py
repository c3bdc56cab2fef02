"""The map: what is drawn, which cells are compared, the figures and verdicts of hand-made rows, the page, a real run."""

import itertools
import sys
from collections import Counter

import numpy as np
import pytest
import scipy.sparse

from harness.registry import load_registry
from reports.kit.journal import Journal
from reports.peers import __main__ as command
from reports.peers import map_page, map_results, map_run, shares
from reports.peers.cells import COSTS, EXTREME, HOLE, WIDTHS, Cell, design, extremes, neighbours, relatives
from reports.peers.families import BUMPS, FAMILIES, RARE, Drawn, labels
from reports.peers.results import Results
from reports.peers.rounds import Budget, Rounds
from reports.peers.suite import PEERS, PLUGINS
from reports.peers.tables import NAMES
from tests.reports.peers_rows import HEADER, row
from tests.reports.test_peers import FakeBench

LIBSVM = next(peer for peer in PEERS if peer.label == "libsvm")


def first(count, seed=7, **changed):
    return list(itertools.islice(design(seed, **changed), count))


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


def test_gamma_is_the_width_over_the_variances():
    for family in FAMILIES:
        dataset = Drawn(family=family, n=4000, d=20, width=0.2, seed=1).load()
        spread = arrays(dataset)[0].var(axis=0).sum()
        assert dataset.defaults["gamma"] == pytest.approx(0.2 / spread, rel=0.25 if family == "heavy" else 0.05), family


def test_the_families_are_what_they_are_called():
    binary = Drawn(family="binary", n=200, d=3, seed=1).load().x_train
    assert isinstance(binary, scipy.sparse.csr_array)
    assert binary.shape == (200, 30)
    assert set(binary.data) == {1.0}
    assert (np.diff(binary.indptr) == 3).all()
    rare = Drawn(family="imbalance", n=620, seed=1).load().y_train
    assert (rare > 0).sum() == 620 // (RARE + 1)
    x = Drawn(family="duplicates", n=400, d=3, seed=1).load().x_train
    distances = np.linalg.norm(x[:, None] - x[None], axis=-1) + np.eye(len(x))
    nearest = distances.min(axis=0)
    assert (nearest < 0.02).all()
    assert 0.2 < (nearest == 0.0).mean() < 0.9
    scaled = Drawn(family="scaled", n=200, d=20, seed=1).load().x_train
    deviations = scaled.std(axis=0)
    assert (np.ptp(scaled, axis=0) == 0.0).sum() == 5
    assert deviations[deviations > 1e-12].min() < 0.05
    assert deviations.max() > 50.0
    heavy = Drawn(family="heavy", n=2000, d=3, seed=1).load().x_train
    assert abs(heavy).max() > 7.0, "no normal point is so far out"


def test_labels_change_sides_in_both_classes_alike():
    rng = np.random.default_rng(0)
    value = rng.normal(size=1000)
    clean, noisy = labels(value, 0.1, 0.0, rng), labels(value, 0.1, 0.2, rng)
    assert (clean > 0).sum() == (noisy > 0).sum() == 100
    assert [((clean == sign) & (noisy != sign)).sum() for sign in (1.0, -1.0)] == [20, 20]


def test_the_hole_is_the_problem_that_was_found():
    rng = np.random.default_rng(0)
    n, d = 300, 3
    x, c, w = rng.normal(size=(n, d)), rng.normal(size=(BUMPS, d)), rng.normal(size=BUMPS)
    f = np.exp(-((x[:, None, :] - c) ** 2).sum(-1) / (2 * d)) @ w
    hole = Cell.named(HOLE.name.replace("n10000", "n300"))
    drawn = load_registry([str(path) for path in PLUGINS]).select_datasets([hole.dataset.selection])[0].load()
    assert np.array_equal(drawn.x_train, x)
    assert np.array_equal(drawn.y_train, np.where(f > np.median(f), 1.0, -1.0))
    assert drawn.defaults == {"kernel": "rbf", "gamma": 0.2 / 3, "C": 1e4}
    assert (HOLE.n, HOLE.C) == (10_000, 1e4)


# -- the design --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_every_first_part_of_a_design_has_the_levels_about_equally_often(seed):
    whole = first(280, seed)
    for count in (56, 112, 280):
        part = whole[:count]
        for factor in ("n", "d", "noise", "width", "family"):
            levels = Counter(getattr(cell, factor) for cell in part)
            assert len(levels) == {"n": 3, "d": 3, "noise": 2, "width": 2, "family": 8}[factor]
            # a draw has three or four cells, and one more or less may be in the part
            assert max(levels.values()) - min(levels.values()) <= 7 + count // 28, (factor, levels)
        assert Counter(cell.C for cell in part) == dict.fromkeys(COSTS, 2 * count // 7) | {EXTREME: count // 7}
        assert {sum(cell.width == width for cell in part) for width in WIDTHS} == {count // 2}
    assert len(set(whole)) == len(whole), "no cell twice"


def test_a_seed_tells_the_cells_and_a_name_the_cell():
    assert first(30) == first(60)[:30]
    assert first(30) != first(30, 8)
    for cell in (*first(60), *relatives(3, 20), HOLE):
        assert Cell.named(cell.name) == cell
    assert {cell.n for cell in first(30, sizes=[60])} == {60}
    assert {cell.family for cell in first(30, families=["heavy"])} == {"heavy"}
    for name in ("teacher", "letter-n2000-d20-e10-C1e4-g0.2-s7.12", "teacher-n2000-d20-e10-C1e4-g0.2-s7"):
        with pytest.raises(ValueError, match="there is no cell"):
            Cell.named(name)


def test_a_cell_drawn_alone_is_the_cell_of_the_run():
    registry = load_registry([str(path) for path in PLUGINS])
    for cell in first(8, sizes=[60]):
        alone = registry.select_datasets([Cell.named(cell.name).dataset.selection])[0]
        given = (cell.family, cell.n, cell.d, cell.C, cell.width, cell.seed, cell.draw, cell.noise)
        found = (alone.family, alone.n, alone.d, alone.cost, alone.width, alone.seed, alone.draw, alone.noise)
        assert found == given
        assert alone.load().sha256 == alone.load().sha256


def test_every_cell_has_a_neighbour_and_half_of_the_draws_the_extreme():
    part = first(14)
    pairs = neighbours(part)
    assert {cell for pair in pairs for cell in pair} == set(part)
    for one, other in pairs:
        assert one.data == other.data
        changed = [name for name in ("C", "width") if getattr(one, name) != getattr(other, name)]
        assert len(changed) == 1
        assert getattr(one, changed[0]) < getattr(other, changed[0])
    assert any(one.width != other.width for one, other in pairs)
    lines = extremes(part)
    assert len(lines) == 2
    assert all((low.C, high.C, low.data, low.width) == (100.0, 1e6, high.data, high.width) for low, high in lines)
    line = [Cell("teacher", 2000, 3, 0.0, cost, 0.2, 1, 1) for cost in (1.0, 100.0, 1e4)]
    assert neighbours(line) == [(line[0], line[1]), (line[1], line[2])], "1 and 1e4 are two steps apart"


# -- the rounds of a cell ----------------------------------------------------------------------------------


def test_ours_is_tightened_only_where_it_misses():
    for gap, expected in ((1e-5, [("smo", None)]), (0.5, [("smo", None), ("smo[gap=0.001]", None)])):
        bench = FakeBench(lambda label, tol, gap=gap: (1.0, 1e-4, gap if label == "smo" else 1e-5))
        Rounds(bench, "smo", [LIBSVM], 1, Budget(), both=False).measure(HOLE.dataset, 1)
        assert [(label, tol) for _, label, tol, _ in bench.calls if label != "libsvm"] == expected
    bench = FakeBench(lambda label, tol: (None if label == "smo" else 1.0, 1e-4, 1e-5))
    Rounds(bench, "smo", [LIBSVM], 1, Budget(ours=33.0, longest=50.0), both=False).measure(HOLE.dataset, 3)
    assert [(label, limit) for _, label, _, limit in bench.calls] == [("smo", 33.0), *[("libsvm", 50.0)] * 3]


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


def test_the_frame_tells_bounds_from_ratios():
    cells = map_results.frame(hand_made()).set_index("cell")
    ratios = {name: (row["libsvm ratio"], row["libsvm sign"]) for name, row in cells.iterrows()}
    assert ratios == {
        A.name: (4.0, ""),
        B.name: (10.0, ">"),
        C.name: (pytest.approx(2 / 3), ""),
        D.name: (pytest.approx(0.1), "<"),
        E.name: (0.8, ">"),
    }
    assert cells.loc[D.name, "ours state"] == "stopped"
    assert cells.loc[E.name, "libsvm state"] == "missed"
    assert np.isnan(cells.loc[D.name, "sklearnex ratio"]), "neither got there"
    assert cells.loc[E.name, "family"] == "heavy"


def test_a_run_that_failed_says_nothing_of_time():
    cells = map_results.frame(made(row(A.name, "smo", 1.0), row(A.name, "libsvm", 2.0, status="error"))).iloc[0]
    assert cells["libsvm state"] == "error"
    assert cells["libsvm ratio"] is None
    lost = map_results.frame(made(row(A.name, "smo", 1.0, status="invalid"), row(A.name, "libsvm", 2.0))).iloc[0]
    assert map_results.slowness(lost) == float("inf"), "a peer is certified, ours is not"


def test_means_count_bounds_at_the_bound():
    cells = map_results.frame(hand_made())
    average = map_results.mean(cells, "libsvm")
    assert average.value == pytest.approx((4.0 * 10.0 * (2 / 3) * 0.1 * 0.8) ** 0.2)
    assert (average.count, average.bounds, average.above) == (5, 2, 1)
    assert str(average).startswith("~ ")
    usual = map_results.mean(map_results.usual(cells), "libsvm")
    assert usual.value == pytest.approx((4.0 * 10.0 * (2 / 3) * 0.8) ** 0.25), "without C = 1e6"
    assert str(usual).startswith(">= ")
    assert map_results.mean(cells[cells["n"] == 7], "libsvm").value is None
    loose = map_results.mean(cells, "libsvm", default=True)
    assert loose.value == pytest.approx((4.0 * 10.0 * (2 / 3) * 0.8) ** 0.25), "E is a time there, D was stopped"
    assert (loose.count, loose.bounds) == (4, 1)


def test_where_a_peer_is_faster():
    cells = map_results.frame(hand_made())
    found = map_results.slower(cells, ["libsvm", "sklearnex"])
    assert list(zip(found["cell"], found["slowness"], strict=True)) == [(D.name, 10.0), (C.name, 1.5)]
    by_one = map_results.slower(cells, ["sklearnex"])
    assert list(by_one["cell"]) == [C.name]
    assert list(map_results.slower(cells, ["sklearnex"], 1.1)["cell"]) == [], "by 3 % only"
    assert list(map_results.worst(cells, 2)["cell"]) == [D.name, C.name], "libsvm was not certified on the heavy tails"


def test_neighbours_and_large_c():
    cells = map_results.frame(hand_made())
    wide, *rest = map_results.steps(cells)
    assert (wide.cell, wide.other, wide.ratio, wide.sign) == (D, C, 10.0, ">")
    assert [pair.ratio for pair in rest] == [2.0, 1.5]
    (pair,) = map_results.cost_pairs(cells)
    assert (pair.cell, pair.other, pair.ratio, pair.sign) == (D, B, 15.0, ">")
    short = map_results.frame(made(row(A.name, "smo", 1e-4), row(B.name, "smo", 9e-3)))
    assert map_results.steps(short)[0].ratio == 1.0, "both below the least time"


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


def test_verdicts_that_are_met_and_that_nothing_was_measured_for():
    small = [row(cell.name, "smo", t) for cell, t in ((A, 1.0), (B, 2.0), (D, 5.9))]
    peers = [row(cell.name, label, 40.0) for cell in (A, B, D) for label in ("libsvm", "sklearnex")]
    assert verdict(*small, *peers)[0] == [True, None, True, None, True, True, True, None]
    slow = [row(D.name, "smo", 6.1), *small[:2]]
    assert verdict(*slow, *peers)[0][6] is False
    assert verdict(small[0])[0] == [None] * 8, "no peer"
    exactly = [row(A.name, "smo", 1.1), row(A.name, "libsvm", 1.0)]
    assert verdict(*exactly)[0][4] is True, "by no more than a tenth"


def test_two_threads_are_compared_in_wall_seconds():
    runs = [
        row(A.name, "smo", seconds, threads=threads, part="threads", number=k)
        for threads, times in ((1, (4.0, 5.0, 9.0)), (2, (2.0, 3.0, 2.5)))
        for k, seconds in enumerate(times)
    ]
    assert map_results.thread_ratios(made(row(A.name, "smo", 4.0), *runs)) == {A.name: (5.0, 2.5)}
    assert map_results.thread_ratios(made(*runs[:3])) == {}


# -- the page and the command ------------------------------------------------------------------------------


def test_the_page_says_what_was_measured(tmp_path):
    profile = row(D.name, "time-shares[oracle=smo]", 1.0, part="profile")
    profile["info"] = {
        **{f"phase {name}": 0.0 for name in (*shares.PHASES, "rest")},
        "phase gather": 3.0,
        "phase rest": 1.0,
    }
    profile["info"]["harness_smo.block_passes:gather"] = 3.0
    found = made(*({**each, "iterations": 7} for each in (*hand_made().rows, profile)))
    verdicts = map_page.write(found, tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert [each.met for each in verdicts] == [False, False, False, True, False, False, False, None]
    assert text.count("**missed**") == 6
    assert "5 cells of 2 draws, seed 1" in text
    assert f"| `{D.name}` | > 30 | < 0.1 |  | 7 | 0 % | 0 % | 75 % |" in text
    assert "gather 75 %" in text
    assert f"| `{C.name}` | 3 | 2 | 2.9 | 1.5 |" in text, "where a peer is faster"
    assert f"| `{E.name}` | certified | missed: 9.0e-04, 5.0e-01 | certified |" in text
    assert "| C = 1e6 | 1 | ~ 0.1 of 1 | - | - | - |" in text
    assert f"| `{D.name}` | stopped | certified | stopped |" in text
    assert "Stopped at the limit of time, cells: ours 1, scikit-learn SVC 1, oneDAL float64 1." in text
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert len(map_page.read(tmp_path)[1]) == 5
    with pytest.raises(SystemExit, match="holds no cell"):
        map_page.write(made(), tmp_path)


def test_a_map_of_one_peer_has_a_page_too(tmp_path):
    runs = [row(A.name, "smo", 1.0, iterations=7), row(A.name, "libsvm", 2.0, iterations=8)]
    map_page.write(made(*runs), tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "In no cell is scikit-learn SVC faster." in text
    assert "oneDAL" not in text.partition("## Verdicts")[0]


def test_a_command_line_that_cannot_be_meant(capsys, monkeypatch):
    for argv in (["--families", "letters"], ["--sizes", "2e3"], ["--cell", "banana"]):
        with pytest.raises(SystemExit):
            map_run.arguments(argv)
        assert "error:" in capsys.readouterr().err
    given = map_run.arguments(["--seed", "7", "--cells", "5", "--sizes", "60,80"])
    assert given.cells == first(5, sizes=[60, 80])
    monkeypatch.setattr(sys, "argv", ["peers", "maps"])
    with pytest.raises(SystemExit, match="no command 'maps'"):
        command.main()


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
