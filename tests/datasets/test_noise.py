"""Label noise, which every data set has: exactly its share, in the training part alone, whoever wrote the source."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse

from harness.datasets import DataSource, FileSource, builtin_sources, content_sha256, measured_sha256, validate
from harness.datasets.embedded import BreastCancer, Diabetes, Digits
from harness.datasets.generators import Checkerboard, Friedman, Generator, Twonorm
from harness.datasets.noise import flipped, with_noise
from harness.datasets.raw import RawSource
from harness.errors import DataError, UsageError
from harness.parameters import label_of, parameter, parameters_of
from harness.registry import load_registry
from tests.datasets.line import Line


def assert_noisy(source, share, seed):
    """Check that a noisy source's data are its clean data but for the labels, and say so of themselves."""
    clean, noisy = replace(source, noise=0.0, noise_seed=None).load(), source.load()
    validate(noisy)
    np.testing.assert_array_equal(noisy.y_train, flipped(clean.y_train, share, seed))
    np.testing.assert_array_equal(noisy.planted, noisy.y_train != clean.y_train)
    assert noisy.planted.sum() == round(share * len(clean.y_train))
    np.testing.assert_array_equal(noisy.y_test, clean.y_test)
    for part in ("x_train", "x_test"):
        one, other = (getattr(data, part) for data in (clean, noisy))
        assert (one != other).nnz == 0 if scipy.sparse.issparse(one) else np.array_equal(one, other)
    assert noisy.sha256 == measured_sha256(noisy) != clean.sha256
    assert noisy.name == source.label
    assert clean.planted is None
    return noisy


@pytest.mark.parametrize(
    ("source", "share", "seed"),
    [
        (Checkerboard(n=1001, seed=4, noise=0.1), 0.1, 4),
        (Twonorm(n=300, n_test=100, noise=0.25), 0.25, 0),
        (BreastCancer(noise=0.15), 0.15, 0),
        (BreastCancer(noise=0.15, split_seed=3), 0.15, 3),
        (Digits(noise=0.05, split_seed=3, noise_seed=7), 0.05, 7),
        (Line(noise=0.2), 0.2, 0),
        (Line(n=50, noise=0.2, noise_seed=2), 0.2, 2),
    ],
    ids=lambda given: getattr(given, "label", None),
)
def test_exactly_a_share_of_the_training_labels_is_flipped_and_marked(source, share, seed):
    assert_noisy(source, share, seed)


def test_a_file_by_its_path_has_noise_beside_its_own_options(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "mine.csv", np.column_stack([rng.normal(size=(80, 3)), np.arange(80) % 2]), delimiter=",")
    (source,) = load_registry().select_datasets(f"{tmp_path}/mine.csv[noise=0.1,split_seed=5]")
    assert_noisy(source, 0.1, 5)
    assert source.label.endswith("mine.csv[split_seed=5,noise=0.1]")
    (tmp_path / "t.svm").write_text("".join(f"{1 if i % 3 else -1} {i + 1}:1 50:{i}\n" for i in range(40)))
    noisy = assert_noisy(FileSource(path=str(tmp_path / "t.svm"), noise=0.3), 0.3, 0)
    assert isinstance(noisy.x_train, scipy.sparse.csr_array)


def test_clean_and_noisy_share_one_parsed_copy_and_stay_mapped(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    np.save(tmp_path / "large.npy", np.column_stack([np.arange(60.0), np.ones(60), np.arange(60) % 2]))
    path = str(tmp_path / "large.npy")
    loaded = [FileSource(path=path, test_fraction=0, **noise).load() for noise in ({}, {"noise": 0.1}, {"noise": 0.2})]
    entries = [entry for entry in (tmp_path / "cache" / "parsed").iterdir() if not entry.name.startswith(".")]
    assert len(entries) == 1
    assert all(isinstance(data.x_train, np.memmap) for data in loaded)
    assert len({data.sha256 for data in loaded}) == 3
    assert FileSource(path=path, test_fraction=0).load().y_train.tolist() == loaded[0].y_train.tolist()


@pytest.mark.parametrize(
    ("given", "sha256"),
    [
        ({"noise": 0.1}, "5d015ce3fe420f4b4e1394bf6aa27cb6bdcfeda5f104db1fc0ad6581361dc260"),
        (
            {"n": 501, "noise": 0.23, "seed": 5},
            "54400ec8803934bf8a663287a314566e904dca66bc9cff45c5194453cca30f2c",
        ),
    ],
)
def test_the_checkerboards_noise_is_what_it_was_when_it_was_its_own(given, sha256):
    data = Checkerboard(**given).load()
    assert data.sha256 == content_sha256(data.x_train, data.y_train, data.x_test, data.y_test) == sha256
    if "n" in given:
        assert data.name == "checkerboard[n=501,seed=5,noise=0.23]"


def test_every_source_has_it_and_lists_it_last():
    for cls in (*builtin_sources(), FileSource, Line):
        names = [known.name for known in parameters_of(cls)]
        assert names[-4:] == ["imbalance", "imbalance_seed", "noise", "noise_seed"], cls.name
        assert names.count("noise") == 1, cls.name
    assert label_of(Line(n=7, noise=0.1)) == "line[n=7,noise=0.1]"


def test_a_strangers_source_is_noisy_however_its_load_comes_about():
    class Loads:
        def load(self):
            return Line.load(Line())

    @dataclass(frozen=True)
    class Mixed(Loads, DataSource):
        name, description = "mixed", "its load comes from a class that is no source"

    @dataclass(frozen=True)
    class Extended(Line):
        name, description = "extended", "its load asks its parent's"

        def load(self):
            found = super().load()
            return replace(found, x_train=2.0 * found.x_train)

    @dataclass(frozen=True)
    class Inherited(Extended):
        name, description = "inherited", "it has no load of its own"

    for cls in (Mixed, Extended, Inherited):
        data = cls(noise=0.2).load()
        wrong = data.y_train != Line().load().y_train
        assert wrong.sum() == 20, f"{cls.name}: flipped twice they are as they were"
        np.testing.assert_array_equal(wrong, data.planted)
        assert (data.name, dict(data.defaults)) == (f"{cls.name}[noise=0.2]", {"C": 3.0})
        assert cls().load().planted is None


def test_a_source_with_a_noise_of_its_own_is_left_to_itself():
    @dataclass(frozen=True)
    class Own(Line):
        name, description = "own", "its noise is in the points"
        noise: float = parameter(0.5, "standard deviation", ge=0)

        def load(self):
            found = super().load()
            return replace(found, x_train=found.x_train + self.noise, name=self.label)

    data = Own(noise=2.0).load()
    assert data.planted is None
    np.testing.assert_array_equal(data.x_train, Line().load().x_train + 2.0)
    assert Own(noise=2.0).clean_parameters() == {"n": 100, "noise": 2.0}
    assert Line(noise=0.2).clean_parameters() == {"n": 100}


def test_a_source_without_load_is_still_refused():
    class Nothing(DataSource):
        name, description = "nothing", "no load"

    class Less(RawSource):
        name, description = "less", "no parse"

    with pytest.raises(TypeError, match=r"abstract method '?load"):
        Nothing()
    with pytest.raises(TypeError, match=r"abstract method '?parse"):
        Less()
    assert Generator.__abstractmethods__ == {"draw"}


def test_what_a_source_planted_itself_stays_planted():
    clean = replace(Line().load(), planted=np.arange(100) < 3)
    noisy = with_noise(clean, 0.1, 0, "line")
    np.testing.assert_array_equal(noisy.planted, (np.arange(100) < 3) | (noisy.y_train != clean.y_train))


@pytest.mark.parametrize("source", [Friedman(n=20, noise=0.1), Diabetes(noise=0.1)], ids=lambda source: source.name)
def test_regression_is_refused_in_a_sentence(source):
    with pytest.raises(
        DataError, match=r"\[.*noise=0\.1\]': noise=0\.1 negates labels of classes.*Leave the parameter"
    ):
        source.load()


def test_noise_that_leaves_one_class_is_refused_in_a_sentence():
    alone = replace(Line(n=10).load(), y_train=np.where(np.arange(10) == 0, 1.0, -1.0))
    found = set()
    for seed in range(40):
        try:
            found.add(len(np.unique(with_noise(alone, 0.1, seed, "few").y_train)))
        except DataError as refused:
            found.add(str(refused))
    one = "data set 'few': with noise=0.1 all 10 training labels are -1; expected both -1 and +1. Choose another "
    assert found == {2, one + "noise_seed, a smaller noise, or more points."}


@pytest.mark.parametrize("share", [0.5, -0.1, 1.0])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(UsageError, match=r"data set 'line': parameter noise=.* expected float in \[0, 0\.5\)"):
        Line(noise=share)


@pytest.mark.parametrize("seed", range(5))
def test_the_wrong_labels_are_not_those_that_an_online_solver_of_the_same_seed_sees_first(seed):
    flips = np.flatnonzero(flipped(np.ones(1000), 0.1, seed) < 0)
    first = np.random.default_rng(seed).permutation(1000)[:100]
    assert len(flips) == 100
    assert len(np.intersect1d(flips, first)) < 30  # 10 by chance, all 100 where both come from one stream
