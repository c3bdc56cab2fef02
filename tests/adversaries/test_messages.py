"""The pipe between processes: what is no message is refused, in whatever pieces it comes."""

import json
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.run.messages import BrokenStream, Ended, Fitted, Model, Point, Reader, Warm, packed, send

SECRET = b"0123456789abcdef"


def read_all(data, secret=SECRET, step=1 << 16, **options):
    """Return the messages of these bytes, written in pieces."""
    out, into = os.pipe()
    reader, found = Reader(out, secret, **options), []
    try:
        for start in range(0, len(data), step):
            os.write(into, data[start : start + step])
            found += reader.read()
    finally:
        os.close(into)
        os.close(out)
    return found


def message():
    model = Model.of(np.array([0.0, 1.5, 0.0, -2.0]), 0.25)
    return Ended({"info": {"\0": [1.0]}, "status": "ok"}, model, [Point({"seconds": 0.1}, 0.0, model)])


@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_messages_arrive_whole_in_whatever_pieces(step):
    first, second = read_all(packed(message(), SECRET) + packed(Warm(1.5), SECRET), step=step)
    np.testing.assert_array_equal(first.model.coefficients(4), [0.0, 1.5, 0.0, -2.0])
    np.testing.assert_array_equal(first.points[0].model.support, [1, 3])
    assert second == Warm(1.5)


@pytest.mark.parametrize("junk", [b"DEBUG: iteration 5\n", b'{"event": "record"}\n', b"x", packed(Warm(1.0))])
def test_what_has_not_the_runs_secret_is_no_message(junk):
    with pytest.raises(BrokenStream, match="no message"):
        read_all(packed(Warm(1.0), SECRET) + junk)


@given(st.data())
def test_a_flipped_bit_is_never_read_as_another_message(data):
    whole = bytearray(packed(message(), SECRET))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    try:
        found = read_all(bytes(whole))
    except BrokenStream:
        return
    assert found == []  # it waits for bytes that a damaged length promises


def test_a_message_may_not_have_any_size():
    with pytest.raises(BrokenStream, match="which none has"):
        read_all(packed(Fitted({}, Model.of(np.ones(1000), 0.0)), SECRET), largest=1000)


def test_a_model_of_points_that_are_not_there_is_refused():
    model = Model(0.0, np.array([0, 7]), np.ones(2))
    with pytest.raises(BrokenStream, match="not among the 5"):
        model.coefficients(5)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Fitted, {"claims": [1, 2]}),
        (Fitted, {"claims": None}),
        (Fitted, {"claims": {}, "model": "m"}),
        (Point, {"figures": [1], "host_seconds": 0.0}),
        (Point, {"figures": {}, "host_seconds": float("nan")}),
        (Ended, {"claims": {}, "points": [{"figures": {}}]}),
        (Model, {"intercept": None}),
        (Model, {"intercept": 0.0, "support": [1], "dual_coef": "x"}),
        (Warm, {"seconds": [1]}),
    ],
)
def test_a_part_of_another_kind_than_it_must_be_is_no_message(kind, values):
    with pytest.raises(BrokenStream, match="which it cannot be"):
        kind(**values)
    text = json.dumps({"\0" + kind.__name__: values}).encode()
    frame = SECRET + struct.pack("<III", len(text), 0, zlib.crc32(text)) + text
    with pytest.raises(BrokenStream):
        read_all(frame)


def test_nobody_reads():
    out, into = os.pipe()
    os.close(out)
    with pytest.raises(BrokenPipeError):
        send(into, Warm(1.0), SECRET)
    os.close(into)
