"""Messages between processes: one JSON object a line, over a socket or a pipe."""

from __future__ import annotations

import json
import os
from typing import Any

from harness.run.store import clean


class LineReader:
    """Cut the bytes of a non-blocking or ready file descriptor into messages."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.closed = False
        self._pending = b""

    def read(self) -> list[dict[str, Any]]:
        """Read once (the descriptor must be ready) and return the messages that are complete."""
        try:
            data = os.read(self.fd, 1 << 16)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return []
        *lines, self._pending = (self._pending + data).split(b"\n")
        return [json.loads(line) for line in lines if line]


def send(fd: int, message: dict[str, Any]) -> None:
    """Write one message whole; BrokenPipeError if nobody reads."""
    data = json.dumps(clean(message)).encode() + b"\n"
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
