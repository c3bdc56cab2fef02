"""The channel between processes: what is no message is refused, in whatever pieces it comes."""

import socket

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measure.outcome import TracePoint
from harness.run.channel import BrokenStream, Channel, frame
from harness.run.messages import Certified, FromChild, FromProcess, Model, Point, RunResult, ToCertify, Warm
from harness.run.record import CertifiedFigures, Claims

SECRET = b"0123456789abcdef"

POINT = TracePoint(0.1, 5, 1, "seconds")


def read_all(data, secret=SECRET, step=1 << 16, **options):
    """Return the messages of these bytes, written in pieces."""
    ours, theirs = socket.socketpair()
    found = []
    with ours, theirs:
        channel = Channel(ours, FromChild | FromProcess, secret, **options)
        for start in range(0, len(data), step):
            theirs.sendall(data[start : start + step])
            found += channel.read()
    return found


def message():
    model = Model.of((np.array([0.0, 1.5, 0.0, -2.0]), 0.25))
    points = [Point(TracePoint(0.1, 5, 1, "seconds", info={"\0": [1.0]}), 0.0, model.packed())]
    return RunResult(Claims(), ToCertify(model.packed(), points, [3, 1]))


@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_messages_arrive_whole_in_whatever_pieces(step):
    first, second = read_all(frame(message(), SECRET) + frame(Warm(1.5), SECRET), step=step)
    np.testing.assert_array_equal(Model.unpacked(first.solved.model).coefficients(4), [0.0, 1.5, 0.0, -2.0])
    np.testing.assert_array_equal(Model.unpacked(first.solved.points[0].model).support, [1, 3])
    assert first.solved.queried == [3, 1]
    assert second == Warm(1.5)


@pytest.mark.parametrize("junk", [b"DEBUG: iteration 5\n", b'{"event": "record"}\n', b"x", frame(Warm(1.0))])
def test_what_has_not_the_runs_secret_is_no_message(junk):
    with pytest.raises(BrokenStream, match="no message"):
        read_all(frame(Warm(1.0), SECRET) + junk)


@given(st.data())
def test_a_flipped_bit_is_never_read_as_another_message(data):
    whole = bytearray(frame(message(), SECRET))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    try:
        found = read_all(bytes(whole))
    except BrokenStream:
        return
    assert found == []  # it waits for bytes that a damaged length promises


def test_a_message_may_not_have_any_size():
    with pytest.raises(BrokenStream, match="which none has"):
        read_all(frame(RunResult(Claims(), ToCertify(bytes(2000))), SECRET), largest=1000)


@pytest.mark.parametrize(
    ("support", "coefs", "refused"),
    [([0, 7], 2, "not among"), ([0, 5], 2, "not among"), ([0, -1], 2, "not among"), ([0, 4], 1, "no points")],
)
def test_a_model_of_points_that_are_not_there_or_of_another_number_is_refused(support, coefs, refused):
    with pytest.raises(BrokenStream, match=refused):
        Model(0.0, np.array(support), np.ones(coefs)).coefficients(5)


@pytest.mark.parametrize(
    "message",
    [
        RunResult([1, 2]), RunResult(None), RunResult(Claims(), ToCertify("m")), Point([1], 0.0), Point({}, 0.0),
        Point(POINT, float("nan")),
        Warm([1]), Warm(-1.0), Warm(1.0, {"plugin": 3}), {"type": "Warm"}, [1] * 9, RunResult(Claims(status="splendid")),
        RunResult(Claims(), ToCertify(b"", [{"host_seconds": 1.0}])), RunResult(Claims(), ToCertify(b"", [], "queried")),
        RunResult(Claims(fit_seconds=float("nan"))), RunResult(Claims(fit_seconds=-1.0)), RunResult(Claims(iterations=-3)),
        RunResult(Claims(iterations=2.5)), RunResult(Claims(info=[1])), RunResult(Claims(kernel_evaluations=2**63)),
        Certified(CertifiedFigures(test_accuracy=1.5)),
    ],
    ids=repr,
)  # fmt: skip
def test_a_part_of_another_kind_than_it_must_be_is_no_message(message):
    with pytest.raises(BrokenStream, match="cannot be read"):
        read_all(frame(message, SECRET))


@pytest.mark.parametrize(
    "model", [Model(None), Model(float("inf")), Model(float("nan")), Model(0.0, [1], "x"), Warm(1.0), 7]
)
def test_what_is_no_model_is_refused_where_it_is_opened(model):
    with pytest.raises(BrokenStream):
        Model.unpacked(msgspec.msgpack.encode(model))
