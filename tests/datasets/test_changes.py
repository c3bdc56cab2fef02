"""Thinned positives and label noise, which every data set can have: in the training part alone, whoever wrote the source."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import DataError, Dataset, parameter
from harness.datasets import DataSource, FileSource, measured_sha256, validate
from harness.datasets.catalogue import BreastCancer, Digits
from harness.datasets.dataset import flipped, with_imbalance, with_noise
from harness.datasets.generators import Checkerboard
from harness.registry.discovery import load_registry
from tests.datasets.test_files import dense


@dataclass(frozen=True)
class Line(DataSource):
    """A stranger's source, which knows nothing of the parameters that every source has."""

    name, description = "line", "Points on a line; the right half is +1."
    n: int = parameter(100, "points", ge=2)

    def load(self):
        x = np.linspace(-1, 1, self.n)[:, None]
        y = np.where(x[:, 0] > 0, 1.0, -1.0)
        return Dataset(self.label, x, y, x, y, "a claim", defaults={"C": 3.0})


def changed_and_not(source, **off):
    """Return a source's data and those without the change; check what no change touches."""
    data, plain = source.load(), replace(source, **off).load()
    validate(data)
    np.testing.assert_array_equal(np.c_[dense(data.x_test), data.y_test], np.c_[dense(plain.x_test), plain.y_test])
    assert data.sha256 == measured_sha256(data) != plain.sha256
    assert data.name == source.label
    return data, plain


def assert_thinned(source, positives):
    """Check that a source's training data are all its negatives and some of its positives, in order; return the data."""
    thinned, whole = changed_and_not(source, imbalance=None, imbalance_seed=None)
    assert ((thinned.y_train > 0).sum(), (thinned.y_train < 0).sum()) == (positives, (whole.y_train < 0).sum())
    row_of = {row.tobytes(): at for at, row in enumerate(dense(whole.x_train))}
    rows = [row_of[row.tobytes()] for row in dense(thinned.x_train)]
    assert rows == sorted(set(rows))
    np.testing.assert_array_equal(thinned.y_train, whole.y_train[rows])
    assert thinned.defaults == whole.defaults
    return thinned


def assert_noisy(source, share, seed):
    """Check that a noisy source's training data are its clean data but for the labels."""
    noisy, clean = changed_and_not(source, noise=0.0, noise_seed=None)
    np.testing.assert_array_equal(noisy.y_train, flipped(clean.y_train, share, seed))
    np.testing.assert_array_equal(noisy.planted, noisy.y_train != clean.y_train)
    assert noisy.planted.sum() == round(share * len(clean.y_train))
    np.testing.assert_array_equal(dense(noisy.x_train), dense(clean.x_train))


@settings(max_examples=60)
@given(st.integers(2, 60), st.floats(1.05, 30.0), st.integers(0, 2**32))
def test_the_training_part_has_the_nearest_ratio_there_is_and_the_test_part_is_whole(n, ratio, seed):
    source = Line(n=2 * n, imbalance=min(ratio, float(n)), imbalance_seed=seed)
    distances = {count: abs(Fraction(n, count) - Fraction(source.imbalance)) for count in range(n, 0, -1)}
    nearest = min(distances, key=distances.__getitem__)
    if nearest == n:
        assert len(source.load().y_train) == 2 * n
        return
    thinned, fewer = assert_thinned(source, nearest), replace(source, imbalance=float(n)).load()
    assert set(fewer.x_train[:, 0]) <= set(thinned.x_train[:, 0]), "with the same seed, fewer are among more"


def test_exactly_a_share_of_the_training_labels_is_flipped_and_marked_by_the_sources_own_seed_or_one_that_is_given():
    assert_noisy(Checkerboard(n=1001, seed=4, noise=0.1), 0.1, 4)
    assert_noisy(BreastCancer(noise=0.15, split_seed=3), 0.15, 3)
    assert_noisy(Digits(noise=0.05, split_seed=3, noise_seed=7), 0.05, 7)
    assert_noisy(Line(n=50, noise=0.2), 0.2, 0)
    given = ({"seed": 3}, {"seed": 3, "imbalance_seed": 3}, {"seed": 3, "imbalance_seed": 0})
    drawn, again, other = (Checkerboard(n=400, n_test=10, imbalance=8, **each).load().sha256 for each in given)
    assert again == drawn != other


def test_the_wrong_labels_are_not_those_that_an_online_solver_of_the_same_seed_sees_first():
    flips = np.flatnonzero(flipped(np.ones(1000), 0.1, 2) < 0)
    first = np.random.default_rng(2).permutation(1000)[:100]
    assert len(np.intersect1d(flips, first)) < 30  # 10 by chance, all 100 where both come from one stream


def test_it_is_thinned_first_what_is_left_is_noisy_and_marks_stay_with_their_points():
    thinned, both = Digits(imbalance=40).load(), Digits(imbalance=40, noise=0.1).load()
    np.testing.assert_array_equal(both.x_train, thinned.x_train)
    np.testing.assert_array_equal(both.planted, both.y_train != thinned.y_train)
    assert both.planted.sum() == round(0.1 * len(thinned.y_train)) == 111
    (source,) = load_registry().select_datasets("gaussian-outliers[least=60,most=90,test=1,d=3]")
    whole = source.load()
    thinned = assert_thinned(replace(source, imbalance=5), round((whole.y_train < 0).sum() / 5))
    marked = {tuple(row) for row in whole.x_train[whole.planted]}
    np.testing.assert_array_equal(thinned.planted, [tuple(row) in marked for row in thinned.x_train])
    assert 0 < thinned.planted.sum() < len(marked)
    noisy = replace(source, noise=0.2).load()
    np.testing.assert_array_equal(noisy.planted, whole.planted | (noisy.y_train != whole.y_train))


def test_sparse_points_of_a_file_stay_canonical_and_keep_their_types(tmp_path):
    lines = (f"{-1 if i % 3 else 1} {i % 40 + 1}:1 45:0.5 50:{i}\n" for i in range(90))
    (tmp_path / "t.svm").write_text("".join(lines))
    source = FileSource(path=tmp_path / "t.svm", test_fraction=0.1, imbalance=6)
    x, whole = assert_thinned(source, 9).x_train, replace(source, imbalance=None).load().x_train
    assert (isinstance(x, scipy.sparse.csr_array), x.has_canonical_format) == (True, True)
    assert x.indices.dtype == x.indptr.dtype == whole.indices.dtype
    assert_noisy(replace(source, imbalance=None, noise=0.3, split_seed=5), 0.3, 5)


def test_the_cache_keeps_the_whole_and_nothing_is_copied_where_all_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    np.save(tmp_path / "large.npy", np.column_stack([np.arange(60.0), np.ones(60), np.arange(60) % 3 == 0]))
    source = FileSource(path=tmp_path / "large.npy", test_fraction=0)
    changes = ({}, {"imbalance": 2}, {"noise": 0.1}, {"imbalance": 8})
    whole, same, noisy, thinned = (replace(source, **given).load() for given in changes)
    assert len([*(tmp_path / "cache/parsed").glob("[!.]*")]) == 1
    assert all(isinstance(data.x_train, np.memmap) for data in (whole, same, noisy))
    assert same.sha256 == whole.sha256
    assert (len(thinned.y_train), thinned.x_train.flags.c_contiguous) == (45, True)
    assert not np.shares_memory(thinned.x_train, whole.x_train)


def test_a_strangers_source_is_changed_once_however_its_load_comes_about():
    @dataclass(frozen=True)
    class Extended(Line):
        name, description = "extended", "its load asks its parent's"

        def load(self):
            found = super().load()
            assert len(found.y_train) == 100, "the source itself sees the whole"
            return replace(found, x_train=2.0 * found.x_train)

    class Inherited(Extended):
        name, description = "inherited", "it has no load of its own"

    @dataclass(frozen=True)
    class Mixed(type("Loads", (), {"load": lambda self: Line().load()}), DataSource):
        name, description = "mixed", "its load is that of a class that is no source"

    for cls in (Extended, Inherited, Mixed):
        data, thinned = cls(noise=0.2).load(), cls(imbalance=5).load()
        assert (data.y_train != Line().load().y_train).sum() == 20, f"{cls.name}: flipped twice they are as they were"
        assert (data.name, dict(data.defaults)) == (f"{cls.name}[noise=0.2]", {"C": 3.0})
        assert cls().load().planted is None
        assert ((thinned.y_train > 0).sum(), len(thinned.y_train)) == (10, 60)


def test_a_source_with_parameters_of_these_names_is_left_to_itself():
    @dataclass(frozen=True)
    class Own(Line):
        name, description = "own", "its noise and its imbalance are in the points"
        noise: float = parameter(0.5, "standard deviation", ge=0)
        imbalance: float = parameter(0.5, "where the border lies", ge=0)

    own = Own(noise=2.0, imbalance=2.0)
    assert (own.load().planted, len(own.load().y_train)) == (None, 100)
    assert own.clean_parameters() == {"n": 100, "noise": 2.0, "imbalance": 2.0}
    assert Line(imbalance=2.0, imbalance_seed=3, noise=0.1).clean_parameters() == {"n": 100}


def test_what_leaves_one_class_is_refused():
    with pytest.raises(DataError, match="0 positives allow"):
        with_imbalance(replace(Line().load(), y_train=np.full(100, -1.0)), 2.0, 0)
    alone = replace(Line(n=10).load(), y_train=np.where(np.arange(10) == 0, 1.0, -1.0))
    single = min((with_noise(alone, 0.1, seed) for seed in range(40)), key=lambda data: data.y_train.sum())
    with pytest.raises(DataError, match="all 10"):
        validate(single)


def test_a_user_names_them_beside_any_set_within_their_range():
    named = load_registry().select_datasets(["digits[imbalance=10,imbalance_seed=1]", "digits[imbalance=none]"])
    assert named == [Digits(imbalance=10.0, imbalance_seed=1), Digits()]
