"""What the processes of a comparison say to each other: framed, checked messages with arrays behind them.

    driver --Run--> worker --(fork)--> child --Compiling, Warm, Fitting, Point, Stopped, Fitted--> worker --> driver
    driver --Certify--> certifier --Certified--> driver
    worker, certifier --Busy--> driver, before whatever may take long
    child --Buy--> worker --Sold--> child, where labels are sold (see seller.py)

A child's pipe carries frames that begin with a secret of its run: what else is written there, by a solver that writes
to a descriptor it does not own, is no message and ends the run. Nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, get_args

from harness.errors import HarnessError
from harness.run.cleaning import clean, clipped

if TYPE_CHECKING:
    from harness.arrays import Array
    from harness.measure.scored import FreeExpansion

_HEAD = struct.Struct("<III")  # bytes of the text, bytes of the arrays, CRC-32 of both
_TEXT_BYTES = 32 << 20  # of a child's message; a worker's holds those of all points
SECRET_BYTES = 16
METRIC = "computing the metric"  # begins what the certifier says it does where it is one of a plugin's

_KINDS: dict[str, Any] = {
    "claims": dict, "figures": dict, "spec": dict, "sources": dict, "points": list, "on": bool,
    "seconds": (int, float), "host_seconds": (int, float), "waited": (int, float), "intercept": (int, float),
    "refused": str, "what": str, "adopt": bool, "reading": (int, float), "occupied": (int, float),
    "final": bool,
}  # fmt: skip


class BrokenStream(HarnessError):
    """Bytes arrived that are no message."""


class _Part:
    """A part of a message: refuses values of another kind than its fields have, whoever sent them."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            kinds = _KINDS.get(name, (_NESTED.get(name) or _array(), type(None)))
            points = name == "points" and not all(isinstance(each, Point) for each in value)
            if not isinstance(value, kinds) or points or (isinstance(value, float) and not math.isfinite(value)):
                raise BrokenStream(
                    f"{name} of a {type(self).__name__} is {clipped(repr(value), 80)}, which it cannot be"
                )


def _array() -> Any:
    import numpy as np

    return np.ndarray


@dataclass(frozen=True)
class OwnPoints(_Part):
    """A model's own points, not among those of the problem.

    coef : (m,) their coefficients
    values, indices, indptr : (m, d) numbers row by row, or the three arrays of a CSR array
    """

    coef: Array
    values: Array
    indices: Array | None = None
    indptr: Array | None = None

    @classmethod
    def of(cls, free: FreeExpansion) -> OwnPoints:
        """Return what is sent of a model's own points, dense or CSR."""
        points: Any = free.own
        if hasattr(points, "indptr"):
            return cls(free.own_coef, points.data, points.indices, points.indptr)
        return cls(free.own_coef, points.reshape(-1))

    def points(self, n_features: int) -> Any:
        """Return the points, (m, n_features).

        Raises
        ------
        BrokenStream : the arrays are no such points.
        """
        try:
            if self.indptr is None:
                return self.values.reshape(len(self.coef), n_features)
            import scipy.sparse

            arrays: Any = (self.values, self.indices, self.indptr)
            return scipy.sparse.csr_array(arrays, shape=(len(self.coef), n_features))
        except (ValueError, TypeError, IndexError) as error:
            raise BrokenStream(
                f"a model's {len(self.coef)} own points are not of {n_features} features: {error}"
            ) from None


@dataclass(frozen=True)
class Model(_Part):
    """A solver's model as it left the solver: what the certificate is computed of, and nothing else.

    support : (m,) the points that have a coefficient; None for a model of ``weights``, (d,)
    dual_coef, free_coef : (m,) the coefficients of ``support``: one of the two, the second of an expansion that is no
        dual solution, which may have ``own`` points
    """

    intercept: float
    support: Array | None = None
    dual_coef: Array | None = None
    weights: Array | None = None
    free_coef: Array | None = None
    own: OwnPoints | None = None

    @classmethod
    def of(cls, dual_coef: Any, intercept: float) -> Model:
        """Return the model of coefficients over all points, (n,) float64."""
        import numpy as np

        support = np.flatnonzero(dual_coef)
        return cls(intercept, support, dual_coef[support])

    @classmethod
    def free(cls, given: FreeExpansion) -> Model:
        """Return the model of an expansion that is no dual solution."""
        import numpy as np

        support = np.flatnonzero(given.coef)
        own = None if given.own is None else OwnPoints.of(given)
        return cls(given.intercept, support, free_coef=given.coef[support], own=own)

    def coefficients(self, n: int) -> Array:
        """Return the coefficients of all ``n`` points.

        Raises
        ------
        BrokenStream : they are of other points.
        """
        import numpy as np

        given = self.dual_coef if self.free_coef is None else self.free_coef
        assert self.support is not None
        assert given is not None
        coef = np.zeros(n)
        if self.support.shape != given.shape or np.any((self.support < 0) | (self.support >= n)):
            raise BrokenStream(f"a model names points that are not among the {n} of the problem")
        coef[self.support] = given
        return coef


_NESTED: dict[str, Any] = {"model": Model, "own": OwnPoints}


@dataclass(frozen=True)
class Run(_Part):
    """To a worker: carry this run out.

    reading : seconds that its data may take to be read
    adopt : afterwards the worker may run the solver's warm-up in its own process
    """

    spec: dict[str, Any]
    reading: float = 60.0
    adopt: bool = True


@dataclass(frozen=True)
class Compiling(_Part):
    """The compiler's lock was taken, or released; taken again: it is held, and something of it is done."""

    on: bool


@dataclass(frozen=True)
class Warm(_Part):
    """The warm-up is over; ``sources`` : of the plugins used so far, for a run that does not end by itself."""

    seconds: float
    sources: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitting(_Part):
    """The clock runs from here."""


@dataclass(frozen=True)
class Stopped(_Part):
    """The model is copied; what follows is the host's own work, however much, and the closing of the solver's generator."""


@dataclass(frozen=True)
class Point(_Part):
    """A trace point is due; ``host_seconds`` of the fit so far were the host's own work."""

    figures: dict[str, Any]
    host_seconds: float
    model: Model | None = None


@dataclass(frozen=True)
class Buy(_Part):
    """The labels of the points ``indices``, (m,) int64, are wanted; the purchase before took the child ``waited`` seconds."""

    indices: Array | None
    waited: float = 0.0


@dataclass(frozen=True)
class Sold(_Part):
    """To a child: the labels it asked for, (m,) int8, after so many seconds; None: they are ``refused``, and why."""

    labels: Array | None
    seconds: float
    refused: str = ""


@dataclass(frozen=True)
class Fitted(_Part):
    """The fit ended; ``claims`` are fields of a record as the solver's process has them."""

    claims: dict[str, Any]
    model: Model | None = None


@dataclass(frozen=True)
class Busy(_Part):
    """To the driver: ``what`` is done now, as in "while reading the data"; the next message comes in so many seconds."""

    what: str
    seconds: float


@dataclass(frozen=True)
class Ended(_Part):
    """From a worker: what became of a run, with its trace points.

    bought : points in the order of purchase, or None
    occupied : seconds in which the worker hears its next request at the latest
    final : whether the run is over; before, the model is sent ahead, to be certified while its process ends
    """

    claims: dict[str, Any]
    model: Model | None = None
    points: list[Point] = field(default_factory=list)
    bought: Array | None = None
    occupied: float = 0.0
    final: bool = True


@dataclass(frozen=True)
class Certify(_Part):
    """To the certifier: certify and score the model and the trace points of this run.

    bought : as in :class:`Ended`
    reading : seconds that its data may take to be read
    """

    spec: dict[str, Any]
    model: Model | None = None
    points: list[Point] = field(default_factory=list)
    bought: Array | None = None
    reading: float = 60.0


@dataclass(frozen=True)
class Certified(_Part):
    """From the certifier: fields of a record."""

    figures: dict[str, Any]


Message = Run | Compiling | Warm | Fitting | Point | Stopped | Buy | Sold | Fitted | Busy | Ended | Certify | Certified
_PARTS: dict[str, Any] = {kind.__name__: kind for kind in (*get_args(Message), Model, OwnPoints)}
_TAG = "\0"  # begins no name in cleaned data


def packed(message: Message, secret: bytes = b"") -> bytes:
    """Return the frame of a message."""
    arrays: list[bytes] = []

    def tagged(value: Any) -> Any:
        if type(value).__name__ in _PARTS:
            own = {each.name: getattr(value, each.name) for each in fields(value)}
            shown = {name: clean(item) if isinstance(item, dict) else item for name, item in own.items()}
            return {_TAG + type(value).__name__: shown}
        arrays.append(value.tobytes())
        return {_TAG: [value.dtype.str, sum(map(len, arrays[:-1])), value.size]}

    text = json.dumps(message, default=tagged, allow_nan=False).encode()
    data = b"".join(arrays)
    return secret + _HEAD.pack(len(text), len(data), zlib.crc32(data, zlib.crc32(text))) + text + data


def _unpacked(text: bytes, data: bytes) -> Message:
    import numpy as np

    def untagged(found: dict[str, Any]) -> Any:
        if len(found) != 1 or not (name := next(iter(found))).startswith(_TAG):
            return found
        if name == _TAG:
            dtype, start, size = found[name]
            return np.frombuffer(data, np.dtype(dtype), size, start)
        return _PARTS[name[1:]](**found[name])

    try:
        message: Message = json.loads(text, object_hook=untagged)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BrokenStream(f"a message cannot be read: {type(error).__name__}: {error}") from None
    if type(message).__name__ not in _PARTS:
        raise BrokenStream("something arrived that is no message")
    return message


class Reader:
    """Cuts the bytes of a descriptor into messages.

    secret : what each frame begins with
    largest : bytes of arrays a message may have
    """

    def __init__(self, fd: int, secret: bytes = b"", *, largest: int = 1 << 40) -> None:
        self.fd, self.secret, self.largest = fd, secret, largest
        self.closed = False
        self.received = 0  # bytes
        self._pending = bytearray()

    def read(self) -> list[Message]:
        """Read once (the descriptor must be ready) and return the messages that are complete.

        Raises
        ------
        BrokenStream : what arrived is no message.
        """
        try:
            data = os.read(self.fd, 1 << 16)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            data = b""
        self.closed = not data
        self.received += len(data)
        self._pending += data
        return list(self._complete())

    def _complete(self) -> Iterator[Message]:
        head = len(self.secret) + _HEAD.size
        while self._pending:
            if not self.secret.startswith(self._pending[: len(self.secret)]):
                raise BrokenStream(f"{len(self._pending)} bytes arrived that are no message of the host's")
            if len(self._pending) < head:
                return
            text_bytes, array_bytes, checksum = _HEAD.unpack_from(self._pending, len(self.secret))
            if (self.secret and text_bytes > _TEXT_BYTES) or array_bytes > self.largest:
                raise BrokenStream(f"a message of {text_bytes + array_bytes:,} bytes arrived, which none has")
            end = head + text_bytes + array_bytes
            if len(self._pending) < end:
                return
            body = bytes(self._pending[head:end])
            del self._pending[:end]
            if zlib.crc32(body) != checksum:
                raise BrokenStream("a message arrived whose checksum is wrong")
            yield _unpacked(body[:text_bytes], body[text_bytes:])


def send(fd: int, message: Message, secret: bytes = b"") -> None:
    """Write one message whole; BrokenPipeError if nobody reads."""
    view = memoryview(packed(message, secret))
    while view:
        view = view[os.write(fd, view) :]
