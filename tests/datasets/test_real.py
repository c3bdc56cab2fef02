"""The real sets: their content by hash, taken when rows, features, classes and scaling had been checked by other means."""

import numpy as np
import pytest

from harness import DataError
from harness.datasets import builtin_sources, measured_sha256, validate
from harness.datasets.catalogue import CATALOGUE, smoothed
from harness.registry.discovery import load_registry

SOURCES = {cls.name: cls for cls in builtin_sources()}
SLOW = ("mnist", "covtype")

# selection: training and test points, features, the beginning of the hash, C, gamma
CONTENTS = {
    "adult": (32561, 16281, 123, "50e33e9c3bdaa0d3", 100.0, 0.005),
    "banana": (4000, 1300, 2, "8cec95a193cc188c", 316.0, 0.5),
    "banana[realisation=3]": (400, 4900, 2, "8c18ffa2c6fb06b5", 316.0, 0.5),
    "waveform": (4000, 1000, 21, "93b3bb6f747b0d58", 1.0, 0.05),
    "twonorm-raetsch[n=1000,split_seed=4]": (1000, 6400, 20, "32480ffc2a05d777", 1.0, 0.05),
    "usps": (7291, 2007, 256, "c18e3480ddcdd79e", 1000.0, 2 / 256),
    "usps[split_seed=0]": (7329, 1969, 256, "3d4669f989b705a2", 1000.0, 2 / 1024),
    "reuters": (7770, 3299, 8315, "1ea44994705ea3de", 1.0, 1.0),
    "letter": (16000, 4000, 16, "7a4dafa73ca153af", 10.0, 2.25),
    "letter[letter=B,n=18000,split_seed=1]": (18000, 2000, 16, "c10bc71f7cee115f", 10.0, 2.25),
    "satimage": (4435, 2000, 36, "5c23c2778c960f9a", 50.0, 65.025),
    "abalone": (3759, 418, 10, "0fc3fddd26333926", 100.0, 0.01),
    "abalone[regression=yes]": (3759, 418, 10, "f7ea03ef50ee10f1", 100.0, 0.01),
    "svmguide1": (3089, 4000, 4, "5a693502fc8417dd", 2.0, 2.0),
    "australian": (517, 173, 14, "94e53c3a330a44d6", 1.0, 0.05),
    "german.numer": (750, 250, 24, "dc3ccd21d5350f02", 1.0, 0.05),
    "musk2": (4399, 2199, 165, "591516c7b3b70e70", 10.0, 0.1),
    "digits": (1198, 599, 64, "852acffd210cf5eb", 10.0, 0.05),
    # standardised: sums, whose last bits depend on the processor
    "breast-cancer": (379, 190, 30, "", 10.0, 0.03),
    "diabetes": (295, 147, 10, "", 100.0, 0.02),
    "spambase": (3065, 1536, 57, "", 10.0, 0.01),
    "wdbc": (379, 190, 30, "", 10.0, 0.03),
    "usps[split_seed=0,smooth=0.75,noise=0.1]": (7329, 1969, 256, "", 10.0, 2 / 256),
    "mnist": (60000, 10000, 784, "e3e9dd0c396b3177", 1000.0, 0.005),
    "mnist[n=500,seed=1,dtype=float32]": (500, 10000, 784, "8bd85cea3b85f8ac", 1000.0, 0.005),
    "mnist[n=300,regression=yes]": (300, 10000, 784, "a99ae750c9af161c", 1.0, None),
    "covtype[n=1000,n_test=500]": (1000, 500, 54, "fc84efe063c74227", 3.0, 1.0),
    "covtype[n=500,n_test=10,regression=yes]": (500, 10, 54, "36d6cb2d32c4a5ea", 1.0, None),
}


@pytest.mark.parametrize(
    "selection", [pytest.param(each, marks=pytest.mark.slow if each.startswith(SLOW) else ()) for each in CONTENTS]
)
def test_a_set_has_the_content_that_it_had(selection, request):
    n, n_test, d, sha256, c, gamma = CONTENTS[selection]
    (source,) = load_registry(only=()).select_datasets(selection)
    if source.files:
        request.getfixturevalue("raw_data")
    data = source.load()
    validate(data)
    assert (data.x_train.shape, data.x_test.shape) == ((n, d), (n_test, d))
    assert measured_sha256(data).startswith(sha256)
    assert (data.defaults["C"], data.defaults.get("gamma")) == (c, gamma)
    assert data.task == ("regression" if "regression" in selection or selection == "diabetes" else "classification")
    assert source.for_task("classification").for_task(data.task) == source
    if not sha256 and "smooth" not in selection:
        np.testing.assert_allclose(data.x_train.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(data.x_train.std(axis=0), 1.0)
        assert abs(data.x_test.mean(axis=0)).max() > 1e-3


def test_every_set_is_in_the_table():
    assert {selection.split("[")[0] for selection in CONTENTS} == {cls.name for cls in CATALOGUE}


def test_embedded_sets_have_their_classes():
    sources = (("digits", {}), ("digits", {"digit": 3}), ("breast-cancer", {}), ("diabetes", {}))
    *classes, diabetes = (SOURCES[name](test_fraction=0, **given).load() for name, given in sources)
    assert [(data.y_train > 0).sum() for data in classes] == [174, 183, 357]  # eights, threes, benign
    assert (diabetes.y_train.min(), diabetes.y_train.max(), diabetes.x_test.shape) == (25.0, 346.0, (0, 10))
    for name in ("breast-cancer", "diabetes"):
        assert SOURCES[name]().load().sha256 != SOURCES[name](split_seed=1).load().sha256


@pytest.mark.usefixtures("raw_data")
def test_a_file_is_the_embedded_set_and_spam_is_positive():
    file, embedded, spam = (SOURCES[name]().load() for name in ("wdbc", "breast-cancer", "spambase"))
    np.testing.assert_allclose(file.x_train, embedded.x_train)
    np.testing.assert_array_equal(file.y_train, embedded.y_train)
    assert (spam.y_train > 0).sum() + (spam.y_test > 0).sum() == 1813


def test_a_smoothed_image_is_the_weighted_mean_of_what_lies_around_each_pixel():
    image = np.random.default_rng(0).uniform(-1, 1, (16, 16))
    weights = np.exp(-0.5 * (np.arange(-3, 4) / 0.75) ** 2)  # four standard deviations to each side, as scipy cuts it
    weights /= weights.sum()
    padded, expected = np.pad(image, 3, constant_values=-1.0), np.empty((16, 16))
    for row, column in np.ndindex(16, 16):
        expected[row, column] = weights @ padded[row : row + 7, column : column + 7] @ weights
    found = smoothed(np.stack([image.ravel(), image.T.ravel()]), 0.75)
    np.testing.assert_allclose(found, [expected.ravel(), expected.T.ravel()], atol=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("raw_data")
def test_the_pixels_of_all_digits_are_one_file_and_covtype_is_scaled():
    eight, three = (SOURCES["mnist"](digit=digit).load().x_train for digit in (8, 3))
    assert eight.filename == three.filename
    plain, scaled = (SOURCES["covtype"](n=1000, n_test=500, scale=scale).load() for scale in ("range", "standard"))
    assert np.corrcoef(plain.x_train[:, 0], scaled.x_train[:, 0])[0, 1] == pytest.approx(1.0)
    assert abs(scaled.x_train[:, 0].mean()) < 0.15
    with pytest.raises(DataError, match=r"n_test=1 leaves 581011 points. Choose n <= 581011"):
        SOURCES["covtype"](n=581_012, n_test=1).load()


@pytest.mark.usefixtures("raw_data")
def test_a_class_that_does_not_occur():
    with pytest.raises(DataError, match=r"all 4435 training labels are -1; .* Choose a class that occurs"):
        validate(SOURCES["satimage"](positive=6).load())
