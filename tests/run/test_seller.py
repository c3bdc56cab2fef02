"""The worker's ledger of labels, what its child asks it with, and what a record has of purchases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import LabelsSpent
from harness.run import child
from harness.run.messages import BrokenStream, Buy, Fitted, Point, Reader, Sold, packed
from harness.run.record import Limits
from harness.run.seller import AT_ONCE, WAKING_SECONDS, Buyer, Seller
from harness.run.study import RunSpec
from harness.run.verdict import verdict

LABELS = np.where(np.arange(50) % 3 == 0, 1.0, -1.0)
SPEC = RunSpec("p", "s", {}, "d", "d", {}, "pool-svc", {}, "rbf", {}, 0, 0, limits=Limits(), sells_labels=True)


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


@pytest.mark.parametrize("wrong", [None, "1", np.array([0.5]), np.array([[1]]), np.array([True])])
def test_what_are_no_points_is_refused(wrong):
    seller = Seller(LABELS.copy(), 50)
    assert seller.sell(wrong) is None
    assert seller.refused == "asked for labels of what are no points"


def test_what_is_erased_is_gone():
    labels = LABELS.copy()
    Seller(labels, 5).erase()
    assert np.isnan(labels).all()


def connected(seller, *, seconds=0.0, wait=lambda: None):
    """Return a buyer that asks a seller in this process."""
    buyer, answers = Buyer(), []

    def emit(message):
        found = seller.sell(message.indices)
        answers.append(Sold(None if found is None else found.astype("int8"), seconds, seller.refused))

    def receive():
        wait()
        return answers.pop()

    buyer.connect(emit, receive)
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


def test_a_refusal_is_an_exception_of_the_solvers():
    buyer = connected(Seller(LABELS.copy(), 3))
    with pytest.raises(LabelsSpent, match="asked for 4 labels where 3 of 3 were left"):
        buyer(np.arange(4))


def test_who_is_not_connected_sells_nothing():
    with pytest.raises(BrokenStream, match="no labels are sold here"):
        Buyer()(np.arange(2))


def test_waiting_is_credited_as_far_as_the_worker_took_and_a_process_sleeps(monkeypatch):
    clock = iter([0.0, 10.0, 20.0, 20.001])
    monkeypatch.setattr("harness.run.seller.perf_counter", lambda: next(clock))
    buyer = connected(Seller(LABELS.copy(), 9), seconds=0.5)
    buyer(np.array([1]))
    assert buyer.seconds == pytest.approx(0.5 + WAKING_SECONDS)
    buyer(np.array([2]))
    assert buyer.seconds == pytest.approx(0.5 + WAKING_SECONDS + 0.001)
    assert buyer.cpu_seconds <= buyer.seconds


def seen_of(bought, claims, points=()):
    seller = Seller(LABELS.copy(), 20)
    seller.sell(np.array(bought, dtype=np.int64))
    seen = child.Watch(seller=seller, fitted=Fitted({"status": "ok", "cpu_seconds": 0.0, **claims}))
    for count, figures in points:
        seller.bought[:] = bought[:count]
        child._note(seen, Point(figures, 0.0), pid=0)
    seller.bought[:] = bought
    return seen


def test_a_record_has_the_workers_count_and_order():
    ended = verdict(seen_of([4, 2, 9], {"labels_used": 3}), SPEC, 1.0)
    assert (ended.claims["status"], ended.claims["labels_used"]) == ("ok", 3)
    assert ended.bought.tolist() == [4, 2, 9]


@pytest.mark.parametrize("claimed", [2, 4])
def test_another_count_is_invalid(claimed):
    ended = verdict(seen_of([4, 2, 9], {"labels_used": claimed}), SPEC, 1.0)
    assert (ended.claims["status"], ended.claims["labels_used"]) == ("invalid", 3)
    assert ended.claims["reason"] == f"it counts {claimed} labels where 3 were bought"


def test_a_point_has_the_workers_count_of_then():
    seen = seen_of([4, 2, 9], {"labels_used": 3}, [(1, {"labels_used": 1}), (2, {"labels_used": 2})])
    assert [point.figures["labels_used"] for point in seen.points] == [1, 2]
    assert verdict(seen, SPEC, 1.0).claims["status"] == "ok"
    seen = seen_of([4, 2, 9], {"labels_used": 3}, [(2, {"labels_used": 1})])
    assert seen.points[0].figures["labels_used"] == 2
    assert verdict(seen, SPEC, 1.0).claims["reason"] == "it counts 1 labels where 2 were bought"


def test_without_a_seller_no_count_of_labels_is_listened_to():
    seen = child.Watch(fitted=Fitted({"status": "ok", "cpu_seconds": 0.0, "labels_used": 7}))
    child._note(seen, Point({"labels_used": 7}, 0.0), pid=0)
    ended = verdict(seen, SPEC, 1.0)
    assert ended.claims["labels_used"] is None
    assert ended.bought is None
    assert "labels_used" not in seen.points[0].figures


def test_a_purchase_survives_the_pipe(tmp_path):
    path = tmp_path / "frames"
    path.write_bytes(packed(Buy(np.array([3, 1]), 0.25), b"s" * 16) + packed(Sold(None, 0.0, "no"), b"s" * 16))
    with path.open("rb") as file:
        bought, sold = Reader(file.fileno(), b"s" * 16).read()
    assert (bought.indices.tolist(), bought.waited) == ([3, 1], 0.25)
    assert (sold.labels, sold.refused) == (None, "no")
