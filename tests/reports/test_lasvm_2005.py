"""reports/lasvm-2005: every part at a tiny size through the real sessions, and what the tables make of rows."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks.papers import command, page, running
from benchmarks.papers.grids import Grid, Options, PaperSet, read
from benchmarks.papers.lasvm_2005 import growth, multiclass, parts, plots, selection, tables
from benchmarks.papers.markdown import NOT_MEASURED
from benchmarks.papers.results import Published, Results
from benchmarks.papers.sources import AdultSplit, MnistNoise, decoded, encoded
from benchmarks.peers.measure import read_rows
from harness.registry import load_registry
from tests.reports.fabricated import HEADER, cells, every_run, row

pytestmark = pytest.mark.timeout(900)  # sessions start a process for each solver, and compile
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "lasvm-2005"
PUBLISHED = Published.read(FOLDER / "published.csv")


def results(*rows):
    return Results(rows, PUBLISHED)


def measured(tmp_path, *arguments):
    """Run the study's command; return the rows that it added."""
    out = tmp_path / "out"
    before = len(read_rows(out / "results.jsonl"))
    command.main(
        FOLDER, parts.PARTS, tuple(parts.SETS), "", finish={"figure4": multiclass.finish},
        arguments=[*arguments, "--out", str(out), "--store", str(tmp_path / "store.sqlite")],
    )  # fmt: skip
    return read_rows(out / "results.jsonl")[before:]


def reported(tmp_path):
    page.make(FOLDER, tables.sections, plots.PICTURES, "", arguments=["--out", str(tmp_path / "out")])
    return (tmp_path / "out" / "README.md").read_text()


@pytest.fixture
def tiny(monkeypatch):
    """The study with generated sets in place of the paper's, few curves and few points on each: a solver is a process."""
    drawn = PaperSet("banana", "checkerboard[n=100,n_test=200,seed={k}]", 40.0)
    fixed = PaperSet("adult", "checkerboard[n=100,n_test=200]", 40.0)
    monkeypatch.setattr(parts, "SETS", {"banana": drawn, "adult": fixed})
    ways = {way: parts.WAYS[way] for way in ("finishing=False", "")}
    for module in (parts, tables, plots):
        monkeypatch.setattr(module, "DELTAS", (100.0, 1.0))
        monkeypatch.setattr(module, "WAYS", ways)
    for module in (parts, selection):
        monkeypatch.setattr(module, "CRITERIA", ("random", "active"))
        monkeypatch.setattr(module, "ADULT_SUPPORTS", (20,))
        monkeypatch.setattr(module, "MNIST_SUPPORTS", (20,))
    monkeypatch.setattr(parts, "CACHES", (8.0, 64.0))


# -- the parts ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_figures_8_and_9_are_measured_resumed_and_reported(tmp_path):
    runs = [
        each for each in measured(tmp_path, "--part", "figure8", "--seeds", "2", "--sets", "banana") if "status" in each
    ]
    assert {each["status"] for each in runs} == {"ok"}
    places = [f"checkerboard[n=100,n_test=200,seed={k}]" for k in (0, 1)]
    solvers = (parts.ONE, parts.TWO, parts.LIBSVM, parts.COUNTED)
    assert [(each["dataset"], each["solver"]) for each in runs] == [(at, by) for at in places for by in solvers]
    one = runs[0]
    assert 0.0 < one["error"] < 50.0
    assert 0.0 < one["cpu"] < 60.0
    assert one["kernel_evaluations"] > 100
    assert (one["cache_mb"], one["C"], one["gamma"]) == (40.0, 100.0, 4.0)

    rows = measured(tmp_path, "--part", "figure9", "--seeds", "1", "--sets", "adult")
    assert {(each["solver"], each["seed"]) for each in rows if "status" in each} == {(parts.ONLINE, 0), (parts.ONE, 0)}
    again = measured(tmp_path, "--part", "figure9", "--seeds", "1", "--sets", "adult")
    assert [each.get("part") for each in again] == ["header"], "the store has all of it, and so has the journal"
    kept = measured(tmp_path, "--part", "figure9", "--seeds", "2", "--keep", "--sets", "adult")
    assert [(each["solver"], each["seed"]) for each in kept[1:]] == [(parts.ONLINE, 1), (parts.ONE, 1)]

    text = reported(tmp_path)
    assert "| banana | LASVM x1 |" in text
    assert "(9.98)" in text, "the published error stands beside ours"
    assert "| banana | SMO (counted) |" in text
    assert (tmp_path / "out" / "figure8.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "out" / "figure10.png").exists(), "nothing of it was measured"


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_figure_10_and_the_epochs(tmp_path):
    rows = [each for each in measured(tmp_path, "--part", "figure10,epochs", "--seeds", "1", "--sets", "banana")
            if "status" in each]  # fmt: skip
    repeated = {each["solver"] for each in rows if "delta_max" in each["solver"]}
    assert repeated == {parts.with_delta_max(way, delta) for way in parts.WAYS for delta in (100.0, 1.0)}
    tight = next(each for each in rows if each["solver"] == "lasvm[finishing=False,delta_max=1]")
    loose = next(each for each in rows if each["solver"] == "lasvm[finishing=False,delta_max=100]")
    assert tight["info"]["online_steps"] > loose["info"]["online_steps"]
    text = reported(tmp_path)
    assert "\n| 100 | " in text
    assert "\n| 1 | " in text
    assert "\n| LIBSVM | " in text
    below = tables._below(Results(read_rows(tmp_path / "out" / "results.jsonl"), PUBLISHED), "banana", parts.FIVE)
    assert -1e-2 < below < 1e-2, "five epochs end at LIBSVM's objective"


@pytest.mark.slow
def test_the_growth_of_time(tmp_path, monkeypatch):
    few = {"checkerboard": ("checkerboard[n={n},n_test=50,seed={{k}}]", (100, 300, 1000))}
    for module in (parts, growth, plots):
        monkeypatch.setattr(module, "SCALED", few)
    rows = [each for each in measured(tmp_path, "--part", "scaling", "--seeds", "1", "--n", "300") if "status" in each]
    assert [(each["set"], each["n_train"]) for each in rows] == [
        ("checkerboard-of-100", 100),
        ("checkerboard-of-300", 300),
    ]
    sizes = growth.measured(results(*rows), "checkerboard")
    assert [each.members for each in sizes] == [each["info"]["online_members"] for each in rows]
    assert "* checkerboard: time grows like n^" in reported(tmp_path)
    assert (tmp_path / "out" / "scaling.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_the_mnist_parts(tmp_path, raw_data):
    rows = measured(tmp_path, "--part", "figure4", "--digits", "0,1", "--n", "120")
    together = [each for each in rows if each.get("derived") == "multiclass"]
    assert {each["solver"] for each in together} == {parts.ONE, parts.TWO, parts.LIBSVM}
    runs = [each for each in rows if each.get("solver") == parts.ONE and "status" in each]
    assert [each["set"] for each in runs] == ["mnist-0-of-120", "mnist-1-of-120"]
    whole = next(each for each in together if each["solver"] == parts.ONE)
    assert whole["cpu"] == pytest.approx(sum(each["cpu"] for each in runs))
    assert whole["error"] < 10.0, "0 and 1 are told apart by 120 images"
    assert all("test-scores" not in each["metrics"] for each in runs), "the scores are not in the journal"

    rows = measured(tmp_path, "--part", "figure6", "--digits", "8", "--n", "120")
    assert [each["cache_mb"] for each in rows if each.get("solver") == parts.ONE] == [64.0, 8.0]
    text = reported(tmp_path)
    assert "| LASVM x1 | mnist-of-120, 2 digits |" in text
    assert "With 8 MB LASVM's time grows by " in text


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("part", "name"), [("figure11", "adult-split-of-80"), ("figure13", "mnist-8-noise-of-80")])
def test_the_selection_parts(tmp_path, raw_data, part, name):
    rows = measured(tmp_path, "--part", part, "--n", "80", "--seeds", "1")
    runs = {each["solver"]: each for each in rows if each.get("set") == name and "status" in each}
    assert {each["status"] for each in runs.values()} == {"ok"}
    assert {"lasvm", "lasvm[max_support=20]", "lasvm[selection=active,max_support=20]", "libsvm"} <= set(runs)
    assert runs["lasvm"]["info"]["visited"] > runs["lasvm[max_support=20]"]["info"]["visited"] > 0
    assert "| ACTIVE | " in reported(tmp_path)


@pytest.mark.slow
def test_what_is_missing_is_named_and_the_rest_goes_on(tmp_path):
    grid = Grid("a", ("checkerboard[n=60,n_test=50]",), ("no-such-solver", "smo"))
    elsewhere = Grid("b", ("no-such-set",), ("smo",))
    command.main(
        tmp_path, {"x": lambda _: [grid, elsewhere]}, ("a",), "",
        arguments=["--store", str(tmp_path / "store.sqlite")],
    )  # fmt: skip
    rows = read_rows(tmp_path / "results.jsonl")
    assert [each["solver"] for each in rows if "status" in each] == ["smo"]
    text = tables.missing(results(*rows))
    assert "* a, no-such-solver: there is no solver or plugin called 'no-such-solver'" in text
    assert "* b, no-such-set: there is no data set called 'no-such-set'" in text
    later = row("a", "no-such-solver", dataset="checkerboard[n=60,n_test=50]")
    assert "no-such-solver" not in tables.missing(results(*rows, later)), "measured since"


# -- grids and the command line ----------------------------------------------------------------------------


def test_repetitions_are_draws_where_the_data_are_drawn_and_seeds_elsewhere():
    drawn = PaperSet("a", "banana[realisation={k1}]", 40.0).grids(["lasvm"], ["libsvm"], 3)
    assert [(g.datasets, g.seeds, g.solvers) for g in drawn] == [
        (("banana[realisation=1]", "banana[realisation=2]", "banana[realisation=3]"), (0,), ("lasvm", "libsvm"))
    ]
    seeded = PaperSet("a", "banana[realisation={k1}]", 40.0, seeds=2).grids(["lasvm"], ["libsvm"], 2)
    assert [(g.datasets, g.seeds, g.solvers) for g in seeded] == [
        (("banana[realisation=1]", "banana[realisation=2]"), (0,), ("lasvm", "libsvm")),
        (("banana[realisation=1]", "banana[realisation=2]"), (1,), ("lasvm",)),
    ]
    fixed = PaperSet("b", "usps", 40.0).grids(["lasvm"], ["libsvm"], 3)
    assert [(g.datasets, g.seeds, g.solvers) for g in fixed] == [
        (("usps",), (0,), ("lasvm", "libsvm")),
        (("usps",), (1, 2), ("lasvm",)),
    ]
    with pytest.raises(ValueError, match="a: draws of the data and seeds together"):
        Grid("a", ("x", "y"), ("lasvm",), (0, 1))


def test_the_paper_s_settings():
    found = {grid.set: grid for grid in parts.figure8(Options())}
    assert "forest-521k" not in found, "only where it is named"
    assert found["forest-100k"].cache_mb == 512.0
    assert found["adult"].cache_mb == 40.0
    assert parts.figure8(Options(cache_mb=256.0, limit=5.0))[0].cache_mb == 256.0
    large = parts.figure8(Options(sets=("forest-521k",)))[0]
    assert large.solvers == ("lasvm[tau=0.01]", "lasvm[epochs=2,tau=0.01]", "libsvm[tol=0.01]")
    assert {grid.cache_mb for grid in parts.figure6(Options(digits=(3,)))} == set(parts.CACHES)


@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part):
    registry = load_registry(list(running.PLUGINS))
    for grid in parts.PARTS[part](Options(repetitions=2)):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert set(grid.metrics) <= set(registry.metrics)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--part", "figure99"], "there is no part figure99; there are figure8"),
        (["--sets", "iris"], "there is no set iris; there are waveform"),
        (["--digits", "3,x"], "--digits takes digits separated by commas, not '3,x'"),
        (["--digits", "12"], "--digits takes digits separated by commas, not '12'"),
        (["--seeds", "0"], "--seeds takes a number of repetitions from 1 on, not 0"),
    ],
)
def test_mistakes_of_the_command_line(arguments, sentence, capsys):
    with pytest.raises(SystemExit):
        read(arguments, parts.PARTS, tuple(parts.SETS), FOLDER, "")
    assert sentence in capsys.readouterr().err


# -- sources and the ten classifiers -----------------------------------------------------------------------


def test_adult_is_divided_anew(raw_data):
    first, second = AdultSplit(seed=0, n=100).load(), AdultSplit(seed=1, n=100).load()
    assert first.x_train.shape == (100, 123)
    assert first.x_test.shape == (48_842 - 100, 123)
    assert first.sha256 != second.sha256
    positives = [np.sum(each.y_train > 0) + np.sum(each.y_test > 0) for each in (first, second)]
    assert positives[0] == positives[1] == 11_687, "all rows are there, once"


def test_label_noise_flips_exactly_a_share_of_the_training_labels(raw_data):
    clean = load_registry().select_datasets("mnist[n=200]")[0].load()
    noisy = MnistNoise(n=200, noise=0.1, noise_seed=3).load()
    assert np.sum(noisy.y_train != clean.y_train) == 20
    assert (noisy.y_test == clean.y_test).all()
    assert (noisy.x_train == clean.x_train).all()
    assert MnistNoise(n=200, noise_seed=4).load().sha256 != noisy.sha256


def test_scores_survive_the_record():
    scores = np.array([0.25, -3.0, 1e-20])
    assert decoded(json.loads(json.dumps(encoded(None, scores)))) == pytest.approx(scores)


def test_the_greatest_score_decides():
    rng = np.random.default_rng(0)
    digits = (2, 5, 7)
    truth = rng.choice([2, 5, 7, -1], 60)
    scores = [rng.normal(size=60) for _ in digits]
    wrong = [
        max(zip(values, digits, strict=True))[1] != label
        for *values, label in zip(*scores, truth, strict=True)
        if label >= 0
    ]
    assert multiclass.error(truth, scores, digits) == pytest.approx(100.0 * sum(wrong) / len(wrong))
    assert multiclass.error(truth, [np.where(truth == digit, 1.0, 0.0) for digit in digits], digits) == 0.0


# -- what the tables make of rows --------------------------------------------------------------------------


def test_the_verdict_tells_what_is_met_and_what_is_missed():
    rows = [
        row("adult", "lasvm", error=15.0, cpu=4.0, kernel_evaluations=3e8),
        row("adult", "libsvm", error=14.8, cpu=10.0, kernel_evaluations=None),
        row("adult", "smo", error=14.8, cpu=30.0, kernel_evaluations=6e8),
        row("usps", "lasvm", error=1.0, cpu=6.0, kernel_evaluations=1e6),
        row("usps", "libsvm", error=0.5, cpu=10.0, kernel_evaluations=None),
        row("usps", "smo", error=0.5, cpu=1.0, kernel_evaluations=2e6),
    ]
    text = tables.verdict(results(*rows))
    assert "| adult | +0.20 (met) | 0.50 (**missed**) | 0.52 | 0.36 | 0.40 (met) | 0.75 |" in text
    assert "| usps | +0.50 (**missed**) | 0.50 (met) | 0.29 | 0.55 | 0.60 (**missed**) | 1.18 |" in text


def test_the_newest_run_counts_and_stopped_ones_do_not():
    found = results(
        row("usps", "lasvm", cpu=9.0),
        row("usps", "lasvm", cpu=2.0, measured_at="2026-01-03"),
        row("usps", "lasvm", cpu=4.0, seed=1),
        row("usps", "lasvm", cpu=99.0, seed=2, status="timeout", reason="still running at the time limit"),
    )
    assert found.values("usps", "lasvm", "cpu") == [2.0, 4.0]
    assert found.mean("usps", "lasvm", "cpu") == 3.0
    assert found.spread("usps", "lasvm", "cpu") == pytest.approx(2.0**0.5)
    assert "* usps, lasvm, usps, seed 2: still running at the time limit" in tables.missing(found)
    both = [row("usps", "lasvm", seed=seed, status="timeout", reason="still running") for seed in (0, 1)]
    assert tables.missing(results(*both)) == "* usps, lasvm, 2 runs: still running"


def test_runs_with_another_cache_are_not_mixed():
    found = results(*(row("usps", "lasvm", cpu=cache, cache_mb=cache) for cache in (8.0, 40.0)))
    assert found.values("usps", "lasvm", "cpu") == [40.0], "those of the cache measured last"
    again = results(*(row("usps", "lasvm", cpu=cache, cache_mb=cache) for cache in (8.0, 40.0, 8.0)))
    assert again.values("usps", "lasvm", "cpu") == [8.0]
    assert found.values("usps", "lasvm", "cpu", cache_mb=8.0) == [8.0]


def test_figure_9_is_the_change_over_the_runs_without_finishing():
    rows = [row("banana", parts.ONLINE, error=20.0, support_vectors=400, cpu=1.0)]
    rows.append(row("banana", "lasvm", error=5.0, support_vectors=100, cpu=3.0))
    assert "| banana | -75 (-79) | -75 (-74) | +200 (+185) | 20.00 | 5.00 |" in tables.figure9(results(*rows))


def grown(power, members=0.6):
    """Runs on checkerboard whose time grows like n^power, and S like n^members; the first run of three is the median."""
    return [
        row(
            parts.of_size("checkerboard", n).name, "lasvm", dataset=f"draw {draw}", n_train=n,
            cpu=scale * 1e-6 * n**power, info={"online_members": 2.0 * n**members},
        )
        for n in parts.SCALED["checkerboard"][1]
        for draw, scale in enumerate((1.0, 0.5, 3.0))
    ]  # fmt: skip


def test_time_may_grow_like_n_times_s():
    text = tables.scaling(results(*grown(1.5)))
    assert "| checkerboard | 10,000 | 502 | 5.02e+06 | 1 (0.5-3) | 199 | 3 |" in text
    line = (
        "* checkerboard: time grows like n^1.50, n |S| like n^1.60 (met); from n = 100,000 on like n^1.50 and n^1.60."
    )
    assert line in text.splitlines()
    assert "n^1.64, n |S| like n^1.60 (met)" in tables.scaling(results(*grown(1.64)))
    assert "n^1.66, n |S| like n^1.60 (**missed**)" in tables.scaling(results(*grown(1.66)))
    assert "grows like" not in tables.scaling(results(*grown(1.5)[:3])), "no exponent of one size"


def test_the_growth_over_the_largest_sizes_is_told_apart():
    rows = grown(1.0)
    for each in rows:
        each["cpu"] += 1e-11 * each["n_train"] ** 2  # more than the rest from 100,000 points on
    found = growth.measured(results(*rows), "checkerboard")
    assert [each.n for each in growth.largest(found)] == [100_000, 300_000, 1_000_000]
    whole, last = growth.exponents(found)[0], growth.exponents(growth.largest(found))[0]
    assert last > whole + 0.2
    assert f"time grows like n^{whole:.2f}, n |S| like n^1.60 (met); from n = 100,000 on like n^{last:.2f} and" in (
        tables.scaling(results(*rows))
    )


def test_the_tolerance_of_the_exponents_is_a_time_1_3_times_too_long_at_adult_s_largest_size():
    sizes = parts.SCALED["adult"][1]
    even = [growth.Size(n, 1.0, (float(n),)) for n in sizes]
    late = [*even[:-1], growth.Size(sizes[-1], 1.0, (1.3 * sizes[-1],))]
    assert growth.exponents(even) == pytest.approx((1.0, 1.0))
    assert growth.exponents(late)[0] == pytest.approx(1.0 + growth.TOLERANCE, abs=0.005)


def test_sizes_are_repeated_up_to_100_000_points():
    runs = {grid.set: len(grid.datasets) for grid in parts.scaling(Options())}
    assert runs["checkerboard-of-100000"] == runs["adult-of-32561"] == 3
    assert runs["checkerboard-of-1000000"] == 1


def test_figure_6_compares_with_libsvm_s_largest_cache():
    rows = [
        row(f"{parts.CACHED}mnist-{digit}", solver, cpu=cpu * scale, cache_mb=cache)
        for digit, scale in ((0, 1.0), (1, 10.0))
        for solver, cache, cpu in (
            ("libsvm", 8.0, 4.0),
            ("libsvm", 64.0, 2.0),
            ("lasvm", 8.0, 1.5),
            ("lasvm", 64.0, 1.0),
        )
    ]
    text = tables.figure6(results(*rows))
    assert "| 8 | +100 | -25 | +50 | 2 |" in text
    assert "| 64 | +0 | -50 | +0 | 2 |" in text
    assert "With 8 MB LASVM's time grows by 50 % on the worst digit; asked for: less than 30 % (**missed**)." in text


def test_digits_of_different_sizes_are_not_mixed():
    found = [row(name, parts.ONE) for name in ("mnist-8", "mnist-9-of-100", "mnist-0-of-100")]
    stopped = row("mnist-1-of-100", "lasvm[max_support=20]")
    assert tables.digits_of(results(*found, stopped)) == ["mnist-0-of-100", "mnist-9-of-100"]
    assert tables.digits_of(results(stopped)) == []
    compared = [row("mnist-8", solver) for solver in (parts.ONE, parts.LIBSVM)]
    assert tables.digits_of(results(*found, *compared)) == ["mnist-8"]  # LIBSVM beside it says more than another digit


def test_differences_from_the_published_numbers_are_named():
    near = row("usps", "lasvm", error=0.43, support_vectors=201, kernel_evaluations=1.08e6)
    assert tables.differences(results(near)) == "None beyond that."
    far = row("usps", "lasvm", error=0.9, support_vectors=402, kernel_evaluations=2.16e6)
    assert tables.differences(results(far)).splitlines() == [
        "* usps, LASVM x1: error 0.90 % against 0.43 % published.",
        "* usps, LASVM x1: 402 SV against 201 published (2.00 times).",
        "* usps, LASVM x1: 2.16 million kernel values against 1.08 published (2.00 times).",
    ]
    larger = row("adult", "lasvm", error=15.0, support_vectors=11_268, kernel_evaluations=1.252e9)
    assert "1,252 million kernel values against 626 published" in tables.differences(results(larger))


def test_selection_says_when_a_criterion_is_as_good_as_libsvm():
    rows = [row("adult-split", "libsvm", error=15.0, support_vectors=11_000, cpu=50.0, info={})]
    for criterion, error, support in (("active", 14.9, 1500), ("gradient", 20.0, 1500)):
        solver = parts.selected(criterion, 1500)
        rows.append(row("adult-split", solver, error=error, support_vectors=support, cpu=1.0, info={"visited": 1600}))
    rows.append(row("adult-split", "lasvm", error=15.1, cpu=10.0, info={"visited": 32_000}))
    curves = selection.figures()["figure11"]
    assert "| ACTIVE | 1600 | 1500 | 14.90 |" in selection.points(results(*rows), curves)
    share = "after 1 s, 0.1 times the time of a whole RANDOM epoch."
    assert selection.reached(results(*rows), curves).splitlines() == [
        "* RANDOM does not reach LIBSVM's error of 15.00 %: at best 15.10 % with 100 support vectors after 10 s.",
        f"* GRADIENT does not reach LIBSVM's error of 15.00 %: at best 20.00 % with 1500 support vectors {share}",
        f"* ACTIVE reaches LIBSVM's error of 15.00 % with 1500 support vectors {share}",
    ]
    assert selection.reached(results(*rows[1:]), curves) == NOT_MEASURED


def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    rows = every_run(parts.PARTS, Options(repetitions=1), info={"visited": 500, "online_members": 90})
    for solver in (parts.LIBSVM, parts.ONE):
        rows.append(
            {"derived": "multiclass", "set": "mnist", "solver": solver, "digits": [0, 1], "error": 1.0, "cpu": 2.0}
        )
    found = results(HEADER, *rows)
    for name, text in tables.sections(found).items():
        assert NOT_MEASURED not in text, name
        assert len(set(cells(text))) <= 1, f"{name}: a line with more or fewer cells than the head"
    for name, draw in plots.PICTURES.items():
        assert draw(found, tmp_path / f"{name}.png"), name
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert not plots.figure8(results(HEADER), tmp_path / "nothing.png"), "nothing to draw"


def test_every_section_has_its_place_in_the_page():
    sections = tables.sections(results(HEADER))
    text = (FOLDER / "README.md").read_text()
    assert all(f"<!-- begin {name} -->\n" in text and f"<!-- end {name} -->" in text for name in sections)
    assert all(f"({name}.png)" in text for name in plots.PICTURES)


def test_the_published_numbers_belong_to_what_is_measured():
    assert PUBLISHED.get("figure8", "adult", "lasvm", "support_vectors") == 11268
    known = {*parts.SETS, "mnist"}
    assert {key[1] for key in PUBLISHED.values} <= known
