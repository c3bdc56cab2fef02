"""The worker's ledger of labels, and what its child asks it with; cheats are in tests/adversaries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.run.messages import Sold, packed
from harness.run.seller import AT_ONCE, WAKING_SECONDS, Buyer, Seller

LABELS = np.where(np.arange(50) % 3 == 0, 1.0, -1.0)


@given(st.lists(st.lists(st.integers(-3, 53), max_size=8), max_size=12), st.integers(0, 50))
def test_the_ledger_sells_each_label_once_and_no_more_than_it_may(purchases, most):
    seller, kept, refused = Seller(LABELS.copy(), most), [], False
    for asked in purchases:
        sound = all(0 <= i < 50 and i not in kept for i in asked) and len(set(asked)) == len(asked)
        found = seller.sell(np.array(asked, dtype=np.int64))
        if sound and len(kept) + len(asked) <= most:
            kept += asked
            np.testing.assert_array_equal(found, LABELS[asked])
        else:
            refused = True
            assert found is None
        assert seller.bought == kept
        assert bool(seller.refused) == refused


def connected(seller, *, seconds=0.0):
    """Return a buyer that asks a seller in this process."""
    buyer, answers = Buyer(), []

    def emit(message):
        found = seller.sell(message.indices)
        answers.append(Sold(None if found is None else found.astype("int8"), seconds, seller.refused))

    buyer.connect(emit, answers.pop)
    return buyer


def test_a_large_purchase_is_made_in_pieces_that_a_pipe_takes_whole():
    n = 3 * AT_ONCE + 5
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    seller = Seller(labels.copy(), n)
    order = np.random.default_rng(0).permutation(n)
    np.testing.assert_array_equal(connected(seller)(order), labels[order])
    assert seller.bought == order.tolist()
    largest = packed(Sold(np.ones(AT_ONCE, dtype=np.int8), 0.123456789012345), b"x" * 16)
    assert len(largest) <= 4096, "of which a pipe that is not waited for takes all or nothing"


def test_waiting_is_credited_as_far_as_the_worker_took_and_a_process_sleeps(monkeypatch):
    clock = iter([0.0, 10.0, 20.0, 20.001])
    monkeypatch.setattr("harness.run.seller.perf_counter", lambda: next(clock))
    buyer = connected(Seller(LABELS.copy(), 9), seconds=0.5)
    buyer(np.array([1]))
    assert buyer.seconds == pytest.approx(0.5 + WAKING_SECONDS)
    buyer(np.array([2]))
    assert buyer.seconds == pytest.approx(0.5 + WAKING_SECONDS + 0.001)
    assert buyer.cpu_seconds <= buyer.seconds
