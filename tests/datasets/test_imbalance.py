"""Thinned positives, which every data set can have: the ratio asked for, in the training part alone, the order kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.datasets import FileSource, imbalance, measured_sha256, validate
from harness.datasets.embedded import Diabetes, Digits
from harness.datasets.generators import Checkerboard, Twonorm
from harness.datasets.imbalance import kept, nearest_count, with_imbalance
from harness.datasets.planted import GaussianOutliers
from harness.errors import DataError, UsageError
from harness.parameters import parameter
from harness.registry import load_registry
from tests.datasets.line import Line


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)


def assert_thinned(source, positives):
    """Check that a source's data are all its negatives and some of its positives, in order, and the test part whole."""
    whole, thinned = replace(source, imbalance=None, imbalance_seed=None).load(), source.load()
    validate(thinned)
    assert (thinned.y_train > 0).sum() == positives
    assert (thinned.y_train < 0).sum() == (whole.y_train < 0).sum()
    numbered = np.column_stack([dense(whole.x_train), whole.y_train])
    left = np.column_stack([dense(thinned.x_train), thinned.y_train])
    at = 0
    for row in left:  # a subsequence, found greedily
        while not np.array_equal(numbered[at], row):
            at += 1
        at += 1
    np.testing.assert_array_equal(thinned.y_test, whole.y_test)
    np.testing.assert_array_equal(dense(thinned.x_test), dense(whole.x_test))
    assert thinned.sha256 == measured_sha256(thinned) != whole.sha256
    assert (thinned.name, thinned.task, thinned.defaults) == (source.label, whole.task, whole.defaults)
    assert source.load().sha256 == thinned.sha256
    return thinned


@pytest.mark.parametrize(
    ("source", "positives"),
    [
        (Digits(imbalance=10), 108),  # 1,082 negatives: 10.02 is nearer than 1082 / 109 = 9.93
        (Digits(imbalance=10, imbalance_seed=4), 108),
        (Checkerboard(n=400, imbalance=3), 67),  # 200 / 67 = 2.985 is nearer than 200 / 66 = 3.03
        (Twonorm(n=201, n_test=50, imbalance=101), 1),
        (Line(n=40, imbalance=1.25), 16),
    ],
    ids=lambda given: getattr(given, "label", None),
)
def test_the_training_part_has_the_ratio_and_the_test_part_is_whole(source, positives):
    assert_thinned(source, positives)


def test_the_seed_is_the_sources_own_unless_one_is_given():
    drawn = {seed: Checkerboard(n=400, n_test=10, seed=seed, imbalance=8).load() for seed in (0, 3)}
    again = Checkerboard(n=400, n_test=10, seed=3, imbalance=8, imbalance_seed=3).load()
    other = Checkerboard(n=400, n_test=10, seed=3, imbalance=8, imbalance_seed=0).load()
    assert again.sha256 == drawn[3].sha256 != other.sha256
    split = Digits(imbalance=20, split_seed=2).load()
    assert split.sha256 == Digits(imbalance=20, split_seed=2, imbalance_seed=2).load().sha256


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10_000), st.floats(0.01, 1e4))
def test_no_whole_number_of_positives_comes_nearer(negatives, ratio):
    count = nearest_count(negatives, ratio)
    distance = {k: abs(Fraction(negatives, k) - Fraction(ratio)) for k in {1, count, count + 1, max(1, count - 1)}}
    assert count >= 1
    assert float(distance[count]) <= float(min(distance.values())) * (1 + 1e-9) + 1e-12


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 1.0]), min_size=1, max_size=60), st.data())
def test_rows_are_all_negatives_and_so_many_positives_in_order_and_nested(labels, data):
    y, seed = np.array(labels), data.draw(st.integers(0, 2**32))
    positives = data.draw(st.integers(0, int((y > 0).sum())))
    rows = kept(y, positives, seed)
    assert (np.diff(rows) > 0).all()
    assert set(np.flatnonzero(y < 0)) <= set(rows)
    assert (y[rows] > 0).sum() == positives
    np.testing.assert_array_equal(rows, kept(y, positives, seed))
    if positives:
        assert set(kept(y, positives - 1, seed)) < set(rows)


def test_other_seeds_leave_other_positives():
    y = np.where(np.arange(1000) % 2, 1.0, -1.0)
    chosen = [set(kept(y, 50, seed)[y[kept(y, 50, seed)] > 0]) for seed in range(4)]
    shared = [len(one & other) for i, one in enumerate(chosen) for other in chosen[:i]]
    assert max(shared) < 20  # 5 by chance
    counts = sum(np.bincount(kept(y, 50, seed), minlength=1000) for seed in range(200))[y > 0]
    assert 5 < counts.min() <= counts.max() < 45  # 20 each, standard deviation 4.2


def test_it_is_thinned_first_and_what_is_left_is_noisy():
    thinned, both = Digits(imbalance=40).load(), Digits(imbalance=40, noise=0.1).load()
    np.testing.assert_array_equal(both.x_train, thinned.x_train)
    wrong = both.y_train != thinned.y_train
    assert wrong.sum() == round(0.1 * len(thinned.y_train)) == 111
    np.testing.assert_array_equal(both.planted, wrong)
    assert both.name == "digits[imbalance=40.0,noise=0.1]"
    assert both.sha256 == measured_sha256(both)


def test_planted_marks_stay_with_their_points():
    whole = GaussianOutliers(least=60, most=90, test=1, d=3)
    thinned = assert_thinned(replace(whole, imbalance=5), round((whole.load().y_train < 0).sum() / 5))
    marked = {tuple(row) for row in whole.load().x_train[whole.load().planted]}
    np.testing.assert_array_equal(thinned.planted, [tuple(row) in marked for row in thinned.x_train])
    assert 0 < thinned.planted.sum() < len(marked)


def test_sparse_points_stay_canonical_and_keep_their_types(tmp_path):
    lines = (f"{-1 if i % 3 else 1} {i % 40 + 1}:1 45:0.5 50:{i}\n" for i in range(90))
    (tmp_path / "t.svm").write_text("".join(lines))
    source = FileSource(path=str(tmp_path / "t.svm"), test_fraction=0.1, imbalance=6)
    whole, thinned = replace(source, imbalance=None).load(), assert_thinned(source, 9)
    assert isinstance(thinned.x_train, scipy.sparse.csr_array)
    assert thinned.x_train.has_canonical_format
    assert thinned.x_train.indices.dtype == thinned.x_train.indptr.dtype == whole.x_train.indices.dtype
    assert (source.label, thinned.x_train.shape[1]) == (thinned.name, 50)


def test_the_cache_keeps_the_whole_and_nothing_is_copied_where_all_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    y = np.arange(60) % 3 == 0
    np.save(tmp_path / "large.npy", np.column_stack([np.arange(60.0), np.ones(60), y]))
    path = str(tmp_path / "large.npy")
    whole, same, thinned = (
        FileSource(path=path, test_fraction=0, **given).load() for given in ({}, {"imbalance": 2}, {"imbalance": 8})
    )
    entries = [entry for entry in (tmp_path / "cache" / "parsed").iterdir() if not entry.name.startswith(".")]
    assert len(entries) == 1
    assert isinstance(whole.x_train, np.memmap)
    assert isinstance(same.x_train, np.memmap)
    assert same.sha256 == whole.sha256 == FileSource(path=path, test_fraction=0).load().sha256
    assert (len(thinned.y_train), thinned.x_train.flags.c_contiguous) == (45, True)
    assert not isinstance(thinned.x_train, np.memmap)
    assert not np.shares_memory(thinned.x_train, whole.x_train)


def test_a_source_with_an_imbalance_of_its_own_is_left_to_itself():
    @dataclass(frozen=True)
    class Own(Line):
        name, description = "own", "its imbalance is in the points"
        imbalance: float = parameter(0.5, "where the border lies", ge=0)

        def load(self):
            found = super().load()
            return replace(found, x_train=found.x_train + self.imbalance, name=self.label)

    data = Own(imbalance=2.0).load()
    assert len(data.y_train) == 100
    np.testing.assert_array_equal(data.x_train, Line().load().x_train + 2.0)
    assert Own(imbalance=2.0, noise=0.1).load().planted.sum() == 10
    assert Own(imbalance=2.0).clean_parameters() == {"n": 100, "imbalance": 2.0}
    assert Line(imbalance=2.0, imbalance_seed=3, noise=0.1).clean_parameters() == {"n": 100}


def test_a_load_that_asks_its_parents_is_thinned_once():
    @dataclass(frozen=True)
    class Extended(Line):
        name, description = "extended", "its load asks its parent's"

        def load(self):
            found = super().load()
            assert len(found.y_train) == 100, "the source itself sees the whole"
            return replace(found, x_train=2.0 * found.x_train)

    data = Extended(imbalance=5).load()
    assert ((data.y_train > 0).sum(), len(data.y_train)) == (10, 60)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Line(imbalance=1e-320), r"is below the 1 of the data"),
        (
            Line(imbalance=0.5),
            r"imbalance=0\.5 is below the 1 of the data as they are, 50 negatives to 50 positives; to ",
        ),
        (
            Digits(imbalance=5),
            r"imbalance=5 is below the 9\.32759 of the data.*1082 negatives to 116 .*negatives would",
        ),
        (
            Line(imbalance=51),
            r"\[imbalance=51\.0\]': imbalance=51 leaves less than one positive beside 50 neg.*most 50",
        ),
        (Diabetes(imbalance=2), r"'diabetes\[imbalance=2\.0\]': imbalance=2 is a ratio of two classes.*for regression"),
    ],
    ids=["tiny", "below", "below-digits", "none-left", "regression"],
)
def test_what_cannot_be_is_refused_in_a_sentence(source, message):
    with pytest.raises(DataError, match=message) as refused:
        source.load()
    assert str(refused.value).endswith((".", "none."))


def test_a_set_without_positives_is_refused():
    negatives = replace(Line().load(), y_train=np.full(100, -1.0))
    with pytest.raises(DataError, match=r"imbalance=2 thins the positives, of which there are none\. Leave"):
        with_imbalance(negatives, 2.0, 0, "line")


def test_a_copy_that_memory_does_not_hold_is_refused(monkeypatch):
    class Memory:
        available = 1000

    monkeypatch.setattr("psutil.virtual_memory", lambda: Memory)
    with pytest.raises(DataError, match=r"imbalance=5 copies the 1199 points that stay.*Choose a smaller set"):
        with_imbalance(Line(n=1998).load(), 5.0, 0, "line")
    assert len(Line(n=100, imbalance=5).load().y_train) == 60
    assert imbalance.nearest_count(999, 5.0) == 200


@pytest.mark.parametrize("ratio", [0, -3, float("inf"), "many"])
def test_a_ratio_out_of_range_is_refused(ratio):
    with pytest.raises(
        UsageError, match=r"data set 'line': parameter imbalance=.* expected float or none in \(0, inf\)"
    ):
        Line(imbalance=ratio)


def test_a_user_names_it_beside_any_set():
    (source,) = load_registry().select_datasets("digits[imbalance=10,imbalance_seed=1]")
    assert source == Digits(imbalance=10.0, imbalance_seed=1)
    assert load_registry().select_datasets("digits[imbalance=none]") == [Digits()]
    with pytest.raises(UsageError, match=r"no parameter 'imbalanse' \(did you mean 'imbalance'"):
        load_registry().select_datasets("digits[imbalanse=10]")
