"""What the sets are made with: pieces of large arrays, checksums, splits and scaling."""

import hashlib

import numpy as np
import pytest

from harness.datasets import content_sha256
from harness.datasets.dataset import pieces
from harness.datasets.raw import divided
from harness.datasets.splitting import rescaled

LARGE = np.arange(2_500_000, dtype=np.float64)


@pytest.mark.parametrize(
    "x", [LARGE, LARGE.reshape(-1, 5), LARGE.reshape(5, -1), LARGE[:0], LARGE.reshape(-1, 5)[::2, 1:]]
)
def test_pieces_are_the_whole_in_order_and_small(x):
    found = list(pieces(x))
    assert [start for start, _ in found] == [0, *np.cumsum([len(rows) for _, rows in found])[:-1]][: len(found)]
    assert np.array_equal(np.concatenate([x[:0], *(rows for _, rows in found)]), x)
    assert all(rows.size <= 1 << 20 for _, rows in found)


def test_a_checksum_covers_every_piece():
    digest = hashlib.sha256(repr(LARGE.shape).encode() + LARGE.dtype.str.encode() + LARGE.tobytes()).hexdigest()
    assert content_sha256(LARGE) == digest
    x = LARGE.reshape(-1, 5)
    assert content_sha256(x[::2]) == content_sha256(x[::2].copy())


@pytest.mark.parametrize(
    ("how", "train", "test"),
    [
        ("none", [[0.0, 7.0], [4.0, 7.0]], [[1.0, 8.0]]),
        ("standard", [[-1.0, 0.0], [1.0, 0.0]], [[-0.5, 1.0]]),
        ("minmax", [[0.0, 0.0], [1.0, 0.0]], [[0.25, 1.0]]),
        ("box", [[-1.0, -1.0], [1.0, -1.0]], [[-0.5, 1.0]]),
    ],
)
def test_both_parts_are_scaled_by_the_training_part_and_constant_columns_are_shifted(how, train, test):
    x = np.array([[0.0, 7.0], [1.0, 8.0], [4.0, 7.0]])
    y = np.array([1.0, 2.0, 3.0])
    scaled, scaled_test = rescaled(x[[0, 2]], x[[1]], how)
    assert (scaled.tolist(), scaled_test.tolist()) == (train, test)
    data = divided(x, y, (np.array([0, 2]), np.array([1])), how)
    assert (data.x_train.tolist(), data.x_test.tolist()) == (train, test)
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([1.0, 3.0], [2.0])
