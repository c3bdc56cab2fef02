"""The channel between two processes of the harness: typed messages over a socket.

A message is a structure in MessagePack. Its frame begins with the secret of the channel, if it has one, then its length
and its checksum. msgspec refuses a field of another type, whoever sent it, and nothing is unpickled. Bytes that an engine
carries between machines have the same frame (:func:`frame`, :func:`unframe`).
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import select
import socket
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from time import monotonic  # by name: what a solver patches later is not this clock
from typing import Annotated, Any

import msgspec

from harness.support.errors import HarnessError
from harness.support.printable import clean

SECRET_BYTES = 16  # length of a secret
_HEAD = struct.Struct("<QI")  # bytes of the message, their CRC-32
_READ_BYTES = 1 << 16  # bytes that one read of a socket takes at most


class BrokenStream(HarnessError):
    """Bytes arrived that are no message."""


class Busy(msgspec.Struct, frozen=True, tag=True):
    """The next message comes in so many seconds.

    running : the run has begun; else a warm-up is under way
    """

    seconds: Annotated[float, msgspec.Meta(ge=0.0)]
    running: bool = True


class Channel:
    """Typed messages over one end of a socket pair.

    Parameters
    ----------
    end : the socket; its timeout is that of sending
    kinds : the type of the messages that may arrive, or a union of such types
    secret : the bytes that each frame begins with, in both directions
    largest : most bytes of a message that may arrive
    most_descriptors : that may come with a message; the system closes others

    Attributes
    ----------
    closed : whether the other end was closed
    received : number of bytes that arrived
    descriptors : those that came with messages; whoever takes them closes them
    """

    def __init__(
        self, end: socket.socket, kinds: Any, secret: bytes = b"", *, largest: int = 1 << 40, most_descriptors: int = 0
    ) -> None:
        self.end, self.kinds, self.secret, self.largest = end, kinds, secret, largest
        self.most_descriptors, self.descriptors = most_descriptors, list[int]()
        self.closed, self.received = False, 0
        self._pending = bytearray()

    def fileno(self) -> int:
        """Return the descriptor of the socket; -1 if it is closed."""
        return self.end.fileno()

    def send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        """Send a message whole; OSError if nobody reads it."""
        data = memoryview(frame(message, self.secret))
        if descriptors:
            data = data[socket.send_fds(self.end, [data], descriptors) :]
        self.end.sendall(data)

    def read(self) -> Iterator[Any]:
        """Read once and yield the messages that are complete.

        Raises
        ------
        BrokenStream : what arrived is no message.
        """
        self._read_once()
        while (message := self._next()) is not None:
            yield message

    def receive(self, seconds: float = math.inf) -> Any:
        """Wait for the next message and return it.

        Raises
        ------
        TimeoutError : it did not come in so many seconds.
        ConnectionResetError : the other end was closed before.
        BrokenStream : what arrived is no message.
        """
        until = monotonic() + seconds
        while (message := self._next()) is None:
            if self.closed:
                raise ConnectionResetError("the other process closed its end")
            left = until - monotonic()
            if left == math.inf or can_read(self.fileno(), max(0.0, left)):
                self._read_once()
            elif left <= 0.0:  # and nothing had come: this process may have been stopped itself
                raise TimeoutError("no message came in time")
        return message

    def __iter__(self) -> Iterator[Any]:
        """Yield one message after another until the other end is closed."""
        with contextlib.suppress(ConnectionResetError):
            while True:
                yield self.receive()

    def shutdown(self, how: int = socket.SHUT_RDWR) -> None:
        """Let the other end see that nothing more is sent."""
        with contextlib.suppress(OSError):
            self.end.shutdown(how)

    def close(self) -> None:
        """Close the socket."""
        self.end.close()

    def _read_once(self) -> None:
        data = b""
        with contextlib.suppress(OSError):
            try:
                data, descriptors, _, _ = socket.recv_fds(self.end, _READ_BYTES, self.most_descriptors)
            except BlockingIOError:
                return
            self.descriptors += descriptors
        self.closed = not data
        self.received += len(data)
        self._pending += data

    def _next(self) -> Any:
        """Return the next message that is complete; None if there is none."""
        body = _body(self._pending, self.secret, self.largest)
        if body is None:
            return None
        del self._pending[: len(self.secret) + _HEAD.size + len(body)]
        return decode(body, self.kinds)


def control_socket() -> socket.socket:
    """Return the socket at the descriptor that this process was started with; programs that it starts do not get it."""
    end = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(end.fileno(), False)
    return end


def can_read(fd: int, seconds: float) -> bool:
    """Return whether a descriptor can be read within so many seconds; of a process whether it ends."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if seconds == math.inf else seconds * 1e3))


def frame(message: Any, secret: bytes = b"") -> bytes:
    """Return the frame of a message."""
    body = encode(message)
    return secret + _HEAD.pack(len(body), zlib.crc32(body)) + body


def unframe(data: bytes, kinds: Any) -> Any:
    """Return the message in a frame.

    Raises
    ------
    BrokenStream : the bytes are no frame, or not all of one.
    """
    body = _body(data, b"", len(data))
    if body is None:
        raise BrokenStream(f"{len(data)} bytes arrived of a message that has more")
    return decode(body, kinds)


def encode(message: Any) -> bytes:
    """Return a message in MessagePack."""
    try:
        return _ENCODER.encode(message)
    except (ValueError, OverflowError, RecursionError):  # a plugin's text may be no Unicode, its number too large
        return _ENCODER.encode(_cleaned(message))


def _cleaned(value: Any) -> Any:
    """Return a message or a structure in it with the mappings and texts that can be encoded."""
    if isinstance(value, msgspec.Struct):
        return type(value)(**{name: _cleaned(part) for name, part in msgspec.structs.asdict(value).items()})
    if isinstance(value, list):
        return [_cleaned(part) for part in value]
    return clean(value) if isinstance(value, (str, dict, float)) else value


def decode(data: bytes, kinds: Any) -> Any:
    """Return the message that :func:`encode` wrote.

    Raises
    ------
    BrokenStream : the bytes are no message of these kinds.
    """
    try:
        return _decoder(kinds).decode(data)
    except (ValueError, TypeError, RecursionError) as error:  # msgspec's own are ValueErrors
        raise BrokenStream(f"a message cannot be read: {type(error).__name__}: {error}") from None


@functools.cache
def _decoder(kinds: Any) -> Any:
    return msgspec.msgpack.Decoder(kinds, dec_hook=_array)


def _body(data: bytes | bytearray, secret: bytes, largest: int) -> bytes | None:
    """Return the content of the first frame in ``data``; None if it is not complete."""
    head = len(secret) + _HEAD.size
    if not secret.startswith(data[: len(secret)]):
        raise BrokenStream(f"{len(data)} bytes arrived that are no message of the host's")
    if len(data) < head:
        return None
    size, checksum = _HEAD.unpack_from(data, len(secret))
    if size > largest:
        raise BrokenStream(f"a message of {size:,} bytes arrived, which none has")
    if len(data) < head + size:
        return None
    body = bytes(data[head : head + size])
    if zlib.crc32(body) != checksum:
        raise BrokenStream("a message arrived whose checksum is wrong")
    return body


def _plain(value: Any) -> Any:
    import numpy as np  # not before: the command imports this module first of all

    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else clean(value)


def _array(kind: type, value: Any) -> Any:
    import numpy as np

    dtype, shape, data = value
    if kind is not np.ndarray or np.dtype(dtype).kind not in "fiub":
        raise ValueError("no array of numbers")
    return np.frombuffer(data, dtype).reshape(shape)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)
