"""reports/lasvm_2005: its grids and command line, its sets, the ten classifiers, the published numbers."""

import numpy as np
import pytest

from harness.registry import load_registry
from harness.run.record import checked
from reports.kit.grids import Grid, Options, PaperSet
from reports.kit.sources import AdultSplit, DigitsInOrder, MnistNoise, listed
from reports.kit.study import PLUGINS
from reports.lasvm_2005 import multiclass, parts
from reports.lasvm_2005.plan import EACH, LIBSVM, PLAN, QUICK
from tests.reports.lasvm_2005_rows import PUBLISHED

# -- grids ----------------------------------------------------------------------------


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
    found = {grid.set: grid for grid in parts.figure8(PLAN, Options())}
    assert "forest-521k" not in found, "only where it is named"
    assert found["forest-100k"].cache_mb == 512.0
    assert found["adult"].cache_mb == 40.0
    assert parts.figure8(PLAN, Options(cache_mb=256.0, limit=5.0))[0].cache_mb == 256.0
    large = parts.figure8(PLAN, Options(sets=("forest-521k",)))[0]
    assert EACH in found["forest-100k"].solvers
    assert large.solvers == ("lasvm[tau=0.01]", "lasvm[epochs=2,tau=0.01]", "libsvm[tol=0.01]")
    grids = parts.figure6(PLAN, Options(digits=(3,)))
    by_set = {name: [grid for grid in grids if grid.set == f"cache of mnist-3{name}"] for name in ("", "-of-10000")}
    with_libsvm = {name: {grid.cache_mb for grid in of if LIBSVM in grid.solvers} for name, of in by_set.items()}
    assert with_libsvm == {"": {1024.0}, "-of-10000": set(PLAN.caches)}, "hours with the other caches"
    assert {grid.cache_mb for grid in by_set[""]} == set(PLAN.caches)
    assert all(LIBSVM in grid.solvers for grid in parts.figure6(PLAN, Options(digits=(3,), n=1000)) if 0 in grid.seeds)


@pytest.mark.parametrize("plan", [PLAN, QUICK], ids=["whole", "quick"])
@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part, plan):
    registry = load_registry(list(PLUGINS))
    for grid in parts.parts(plan)[part](Options(repetitions=2)):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == len(grid.datasets)
        assert set(grid.metrics) <= set(registry.metrics)


# -- sources and the ten classifiers -----------------------------------------------------------------------


def test_adult_is_divided_anew(raw_data):
    first, second = AdultSplit(seed=0, n=100).load(), AdultSplit(seed=1, n=100).load()
    assert first.x_train.shape == (100, 123)
    assert first.x_test.shape == (48_842 - 100, 123)
    assert first.sha256 != second.sha256
    positives = [np.sum(each.y_train > 0) + np.sum(each.y_test > 0) for each in (first, second)]
    assert positives[0] == positives[1] == 11_687, "all rows are there, once"


def test_the_embedded_digits_have_the_same_test_images_whichever_digit_is_asked_for():
    found = [DigitsInOrder(digit=digit).load() for digit in range(10)]
    assert all((each.x_test == found[0].x_test).all() for each in found)
    assert (sum(each.y_test > 0 for each in found) == 1).all(), "each is of one digit"
    noisy = DigitsInOrder(digit=8, noise=0.1, noise_seed=1).load()
    assert np.sum(noisy.y_train != found[8].y_train) == round(0.1 * 1198)
    assert (noisy.y_test == found[8].y_test).all()


def test_label_noise_flips_exactly_a_share_of_the_training_labels(raw_data):
    clean = load_registry().select_datasets("mnist[n=200]")[0].load()
    noisy = MnistNoise(n=200, noise=0.1, noise_seed=3).load()
    assert np.sum(noisy.y_train != clean.y_train) == 20
    assert (noisy.y_test == clean.y_test).all()
    assert (noisy.x_train == clean.x_train).all()
    assert MnistNoise(n=200, noise_seed=4).load().sha256 != noisy.sha256


def test_scores_survive_the_record():
    scores = np.random.default_rng(0).normal(size=16_000)  # more than any of the studies has test points
    kept, wrong = checked({"metrics": {"test-scores": listed(None, scores)}})
    assert wrong == []
    assert kept["metrics"]["test-scores"] == pytest.approx(scores, rel=1e-8)


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


def test_sizes_are_repeated_up_to_100_000_points():
    runs = {grid.set: len(grid.datasets) for grid in parts.scaling(PLAN, Options())}
    assert runs["checkerboard-of-100000"] == runs["adult-of-32561"] == 3
    assert runs["checkerboard-of-1000000"] == 1


def test_the_published_numbers_belong_to_what_is_measured():
    assert PUBLISHED.get("figure8", "adult", "lasvm", "support_vectors") == 11268
    known = {*PLAN.sets, "mnist"}
    assert {key[1] for key in PUBLISHED.values} <= known
