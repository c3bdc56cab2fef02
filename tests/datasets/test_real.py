"""The real sets against counts that were taken from the raw files by other means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from harness.datasets import builtin_sources, validate
from harness.datasets.catalogue import REAL, smoothed
from harness.errors import DataError

SOURCES = {cls.name: cls for cls in builtin_sources()}

# name: training shape, +1 in training, test shape, +1 in test; None where the draw decides
COUNTS = {
    "adult": ((32561, 123), 7841, (16281, 123), 3846),
    "usps": ((7291, 256), 1194, (2007, 256), 359),
    "reuters": ((7770, 8315), 538, (3299, 8315), 179),
    "reuters-category": ((7770, 8315), 389, (3299, 8315), 189),
    "letter": ((16000, 16), None, (4000, 16), None),
    "satimage": ((4435, 36), 415, (2000, 36), 211),
    "abalone": ((3759, 10), None, (418, 10), None),
    "spambase": ((3065, 57), None, (1536, 57), None),
    "svmguide1": ((3089, 4), 2000, (4000, 4), 2000),
    "banana": ((4000, 2), None, (1300, 2), None),
    "waveform": ((4000, 21), None, (1000, 21), None),
    "twonorm-raetsch": ((400, 20), None, (7000, 20), None),
    "wdbc": ((379, 30), None, (190, 30), None),
    "australian": ((517, 14), None, (173, 14), None),
    "german.numer": ((750, 24), None, (250, 24), None),
    "musk2": ((4399, 165), None, (2199, 165), None),
    "mnist": ((60000, 784), 5851, (10000, 784), 974),
    "covtype": ((100_000, 54), None, (50_000, 54), None),
}
# +1 in training and test together
POSITIVE = {
    "letter": 789,
    "abalone": 391,
    "spambase": 1813,
    "banana": 2376,
    "waveform": 1647,
    "twonorm-raetsch": 3703,
    "wdbc": 357,
    "australian": 307,
    "german.numer": 300,
    "musk2": 1017,
}
SLOW = {"mnist", "covtype"}

pytestmark = pytest.mark.usefixtures("raw_data")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in COUNTS])
def test_rows_features_and_classes_are_the_published_ones(name):
    train, positive, test, positive_test = COUNTS[name]
    data = SOURCES[name]().load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == (train, test)
    found, found_test = int((data.y_train > 0).sum()), int((data.y_test > 0).sum())
    if positive is not None:
        assert (found, found_test) == (positive, positive_test)
    elif name in POSITIVE:
        assert found + found_test == POSITIVE[name]
    assert data.defaults["kernel"] == "rbf"
    assert data.defaults["gamma"] > 0
    assert data.defaults["C"] > 0


def test_the_table_of_counts_is_complete():
    assert set(COUNTS) == {cls.name for cls in REAL}


def test_the_papers_parameters():
    expected = {
        "adult": (100, 0.005),
        "banana": (316, 0.5),
        "waveform": (1, 0.05),
        "usps": (1000, 2 / 256),
        "reuters": (1, 1),
        "reuters-category": (2, 1),
        "letter": (10, 0.01 * 15**2),
        "satimage": (50, 0.001 * 255**2),
        "abalone": (100, 0.01),
        "svmguide1": (2, 2),
    }
    for name, (c, gamma) in expected.items():
        defaults = SOURCES[name]().load().defaults
        assert (defaults["C"], defaults["gamma"]) == (c, pytest.approx(gamma)), name


def test_sparse_sets_stay_sparse_and_reuters_rows_have_unit_length():
    adult, reuters = SOURCES["adult"]().load(), SOURCES["reuters"]().load()
    assert isinstance(adult.x_train, scipy.sparse.csr_array)
    assert set(np.unique(adult.x_train.data)) == {1.0}
    assert (reuters.x_train.nnz, reuters.x_test.nnz) == (339_837, 136_821)
    np.testing.assert_allclose(np.sqrt(reuters.x_train.power(2).sum(axis=1)), 1.0, atol=1e-9)


def test_usps_noise_flips_a_tenth_of_the_training_labels_and_changes_c():
    clean, noisy = SOURCES["usps"]().load(), SOURCES["usps"](noise=0.1).load()
    assert (clean.y_train != noisy.y_train).sum() == 729
    np.testing.assert_array_equal(clean.y_test, noisy.y_test)
    np.testing.assert_array_equal(clean.x_train, noisy.x_train)
    assert (clean.defaults["C"], noisy.defaults["C"]) == (1000, 10)
    assert noisy.name == "usps[noise=0.1]"
    assert (clean.x_train.min(), clean.x_train.max()) == (-1, 1)


@pytest.mark.parametrize(("name", "n_test"), [("banana", 4900), ("waveform", 4600)])
def test_a_realisation_is_a_permutation_of_the_whole_set(name, n_test):
    whole, split = SOURCES[name]().load(), SOURCES[name](realisation=10).load()
    assert (len(split.y_train), len(split.y_test)) == (400, n_test)
    rows = [
        np.column_stack([np.vstack([d.x_train, d.x_test]), np.concatenate([d.y_train, d.y_test])]).round(6)
        for d in (whole, split)
    ]
    # The two files print different numbers of digits: compare the sums and the sorted first feature.
    np.testing.assert_allclose(np.sort(rows[0][:, 0]), np.sort(rows[1][:, 0]), atol=2e-3)
    assert rows[0][:, -1].sum() == rows[1][:, -1].sum()


def test_the_default_waveform_split_is_the_one_that_was_measured():
    from sklearn.svm import SVC

    data = SOURCES["waveform"]().load()
    model = SVC(C=1.0, gamma=0.05).fit(data.x_train, data.y_train)
    # Recorded with several solvers on default_rng(0).permutation(5000)[:4000]: 999 or 1000 vectors, 90.5 %.
    assert len(model.support_) == pytest.approx(999, abs=2)
    assert model.score(data.x_test, data.y_test) == pytest.approx(0.905, abs=0.002)


def test_wdbc_and_breast_cancer_hold_the_same_points():
    file, embedded = SOURCES["wdbc"]().load(), SOURCES["breast-cancer"]().load()
    np.testing.assert_allclose(file.x_train, embedded.x_train)
    np.testing.assert_array_equal(file.y_train, embedded.y_train)


def test_letter_in_another_size_is_drawn_from_all_rows():
    letter = SOURCES["letter"]
    data, again, other, published = (
        letter(**of).load() for of in ({"n": 18_000},) * 2 + ({"n": 18_000, "split_seed": 2}, {})
    )
    validate(data)
    assert ((data.y_train > 0).sum(), len(data.y_train), len(data.y_test)) == (710, 18_000, 2000)  # the paper's counts
    assert (data.y_test > 0).sum() == 79
    assert data.sha256 == again.sha256 != other.sha256
    one, two = (sorted(map(bytes, np.vstack([some.x_train, some.x_test]))) for some in (data, published))
    assert one == two


def test_usps_of_the_lasvm_papers_is_drawn_from_all_images_and_has_their_kernel():
    usps = SOURCES["usps"]
    data, again, other, published = (usps(**of).load() for of in ({"split_seed": 0},) * 2 + ({"split_seed": 1}, {}))
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((7329, 256), (1969, 256))
    assert (data.y_train > 0).sum() + (
        data.y_test > 0
    ).sum() == 1553  # Ertekin et al. 2007: 1,232 in their training part
    assert data.sha256 == again.sha256 != other.sha256
    one, two = (sorted(map(bytes, np.vstack([some.x_train, some.x_test]))) for some in (data, published))
    assert one == two
    assert data.defaults == {"kernel": "rbf", "gamma": 2 / 1024, "C": 1000.0}
    noisy = usps(split_seed=0, smooth=0.75, noise=0.1).load()
    assert noisy.defaults == {"kernel": "rbf", "gamma": 2 / 256, "C": 10.0}
    np.testing.assert_allclose(smoothed(data.x_test, 0.75), noisy.x_test)


def test_a_smoothed_image_is_the_weighted_mean_of_what_lies_around_each_pixel():
    images = np.random.default_rng(0).uniform(-1, 1, (2, 256))
    width = 0.75
    weights = np.exp(-0.5 * (np.arange(-3, 4) / width) ** 2)  # four standard deviations to each side, as scipy cuts it
    weights /= weights.sum()
    expected = np.empty((2, 16, 16))
    for image, out in zip(images.reshape(2, 16, 16), expected, strict=True):
        padded = np.pad(image, 3, constant_values=-1.0)
        for row in range(16):
            for column in range(16):
                out[row, column] = weights @ padded[row : row + 7, column : column + 7] @ weights
    np.testing.assert_allclose(smoothed(images, width), expected.reshape(2, 256), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "support"),
    [
        ({}, (250, 320)),
        ({"smooth": 0.75}, (224, 260)),
        pytest.param({"noise": 0.1}, (2613, 2888), marks=pytest.mark.slow),
        pytest.param({"noise": 0.1, "smooth": 0.75}, (2613, 2888), marks=pytest.mark.slow),
    ],
)
def test_usps_has_the_error_and_the_support_vectors_of_its_paper(given, support):
    from sklearn.svm import SVC

    data = SOURCES["usps"](split_seed=0, **given).load()
    model = SVC(C=data.defaults["C"], gamma=data.defaults["gamma"]).fit(data.x_train, data.y_train)
    # Bordes et al. 2005, Figure 8: 0.41 % and 236 support vectors; with noise 0.41 % and 2,750, met to 5 %
    assert support[0] <= len(model.support_) <= support[1]
    assert 100.0 * (1.0 - model.score(data.x_test, data.y_test)) < 0.41 + 0.2


def test_abalone_as_regression_keeps_the_rings():
    source = SOURCES["abalone"]().for_task("regression")
    assert source == SOURCES["abalone"](regression=True)
    assert source.for_task("classification") == SOURCES["abalone"]()
    data = source.load()
    validate(data)
    assert data.task == "regression"
    rings = np.concatenate([data.y_train, data.y_test])
    assert (rings.min(), rings.max(), (rings == 9).sum()) == (1, 29, 689)
    assert np.vstack([data.x_train, data.x_test])[:, :3].sum(axis=0).tolist() == [1528, 1307, 1342]


def test_the_chosen_class_can_be_another_one():
    assert (SOURCES["satimage"](positive=7).load().y_train > 0).sum() == 1038
    z = SOURCES["letter"](letter="Z").load()
    assert (z.y_train > 0).sum() + (z.y_test > 0).sum() == 734
    with pytest.raises(DataError, match=r"letter='a' does not occur; expected one of ABC"):
        SOURCES["letter"](letter="a").load()
    with pytest.raises(DataError, match=r"class 6 .* has no rows; expected positive = 1, 2, 3, 4, 5 or 7"):
        SOURCES["satimage"](positive=6).load()


@pytest.mark.parametrize(
    ("name", "low", "high"), [("svmguide1", -1, 1), ("australian", -1, 1), ("german.numer", -1, 1)]
)
def test_scaled_sets_fill_their_box(name, low, high):
    data = SOURCES[name]().load()
    np.testing.assert_allclose(data.x_train.min(axis=0), low, atol=1e-12)
    np.testing.assert_allclose(data.x_train.max(axis=0), high, atol=1e-12)


@pytest.mark.slow
def test_mnist_pixels_draws_and_precision():
    mnist = SOURCES["mnist"]
    whole, drawn, single = mnist().load(), mnist(n=500, seed=0).load(), mnist(n=500, seed=0, dtype="float32").load()
    assert (whole.x_train.min(), whole.x_train.max()) == (0, 1)
    assert whole.x_train.mean() == pytest.approx(0.1307, abs=1e-4)  # the figure everybody normalises MNIST by
    rows = np.random.default_rng(0).permutation(60_000)[:500]
    np.testing.assert_array_equal(drawn.x_train, whole.x_train[rows])
    np.testing.assert_array_equal(drawn.x_train[:20], mnist(n=20, seed=0).load().x_train)
    np.testing.assert_array_equal(mnist(n=300).load().x_train, whole.x_train[:300])
    assert single.x_train.dtype == np.float32
    np.testing.assert_allclose(single.x_train, drawn.x_train, rtol=1e-6)
    # The pixels of all digits are one file on disk.
    three = mnist(digit=3).load()
    assert three.x_train.filename != whole.x_train.filename
    assert three.x_train.filename.stat().st_ino == whole.x_train.filename.stat().st_ino
    assert (three.y_train > 0).sum() == 6131


@pytest.mark.slow
def test_covtype_draws_are_nested_and_scaled():
    covtype = SOURCES["covtype"]
    small, large = covtype(n=1000, n_test=500).load(), covtype(n=2000, n_test=500, dtype="float32").load()
    np.testing.assert_allclose(small.x_train, large.x_train[:1000], atol=1e-6)
    np.testing.assert_allclose(small.x_test, large.x_test, atol=1e-6)
    whole = covtype(n=None, n_test=0, dtype="float32").load()
    assert whole.x_train.shape == (581_012, 54)
    assert (whole.y_train > 0).sum() == 283_301
    assert (whole.x_train.min(), whole.x_train.max()) == (0, 1)
    elevation = whole.x_train[:, 0].astype(np.float64)
    assert elevation.mean() * (3858 - 1859) + 1859 == pytest.approx(2959.365, abs=0.01)
    standard = covtype(n=1000, n_test=500, scale="standard").load()
    shift, spread = whole.x_train.mean(axis=0, dtype=np.float64), whole.x_train.std(axis=0, dtype=np.float64)
    np.testing.assert_allclose(standard.x_train, (small.x_train - shift) / spread, atol=1e-3)
    with pytest.raises(DataError, match=r"n=581012 and n_test=1 are more together.*n <= 581011"):
        covtype(n=581_012, n_test=1).load()


@pytest.mark.slow
def test_regression_has_the_classes_as_numbers():
    for name, given in (("covtype", {"n": 300, "n_test": 100}), ("mnist", {"n": 200})):
        source = SOURCES[name](**given)
        classes, numbers = source.load(), source.for_task("regression").load()
        validate(numbers)
        assert (numbers.task, numbers.defaults["kernel"]) == ("regression", "linear")
        np.testing.assert_array_equal(classes.x_test, numbers.x_test)
        np.testing.assert_array_equal(classes.y_train > 0, numbers.y_train == {"covtype": 1, "mnist": 8}[name])
        assert source.for_task("regression").for_task("classification") == source


# topic: training and test documents, C, gamma of Ertekin et al. 2007, Table 2
TOPICS = {"interest": (347, 131, 1.0, 2.0), "money-fx": (538, 179, 1.0, 0.5)}


@pytest.mark.parametrize("topic", TOPICS)
def test_topics_have_the_papers_counts_and_the_points_of_reuters(topic):
    positive, positive_test, c, gamma = TOPICS[topic]
    data, reuters = SOURCES["reuters-category"](category=topic).load(), SOURCES["reuters"]().load()
    assert ((data.y_train > 0).sum(), (data.y_test > 0).sum()) == (positive, positive_test)
    assert dict(data.defaults) == {"kernel": "rbf", "gamma": gamma, "C": c}
    assert (data.x_train != reuters.x_train).nnz == (data.x_test != reuters.x_test).nnz == 0
    if topic == "money-fx":  # the table of documents against the labels of the paper's own file
        np.testing.assert_array_equal(data.y_train, reuters.y_train)
        np.testing.assert_array_equal(data.y_test, reuters.y_test)


def test_a_topic_that_is_none():
    with pytest.raises(DataError, match=r"category='crud' is none of the 90 topics .* \(did you mean 'crude'"):
        SOURCES["reuters-category"](category="crud").load()
