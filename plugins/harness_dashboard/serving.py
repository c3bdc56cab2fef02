"""The site on this machine alone: files of one folder, for a browser that asks for this machine by name."""

from __future__ import annotations

import os
import stat
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click

from harness_dashboard.untrusted import POLICY

HOST = "127.0.0.1"
IDLE = 10.0  # seconds that a connection may say nothing
_NAMES = (HOST, "localhost", "[::1]")
_HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Server(ThreadingHTTPServer):
    """Serves a folder; a thread for each connection.

    port : 0 means any free one

    Raises
    ------
    OSError : the port cannot be used.
    """

    request_queue_size = 128

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder.resolve()
        super().__init__((HOST, port), Files)

    @property
    def port(self) -> int:
        """The port in use."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """The address of the front page."""
        return f"http://{HOST}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong in a line; nothing where the other side has gone and nobody is left to tell."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            click.echo(f"a request was not answered: {type(error).__name__}: {error}", err=True)


class Files(SimpleHTTPRequestHandler):
    """Answers one request by a file below the folder, or by an error."""

    server: Server
    timeout = IDLE
    server_version, sys_version = "harness", ""

    def __init__(self, request: Any, client_address: Any, server: Server) -> None:
        super().__init__(request, client_address, server, directory=str(server.folder))

    def parse_request(self) -> bool:
        """Refuse what asks another machine: a page of another site can have its own name point here."""
        if not super().parse_request():
            return False
        asked = self.headers.get_all("Host") or []
        own = {f"{name}:{self.server.port}" for name in _NAMES}
        if len(asked) != 1 or asked[0].strip().lower() not in own:
            self.send_error(421, "Misdirected Request", f"this server is {self.server.address}")
            return False
        return True

    def send_head(self) -> Any:
        """Open a regular file that really lies below the folder, by no symbolic link out of it."""
        try:
            path = Path(self.translate_path(self.path))
            if path.is_dir():
                path /= "index.html"
            real = path.resolve(strict=True)
            allowed = real.is_relative_to(self.server.folder) and stat.S_ISREG(real.stat().st_mode)
        except (OSError, ValueError, RuntimeError):  # not there, a name with NUL, links in a circle
            allowed = False
        if not allowed:
            self.send_error(404)
            return None
        return super().send_head()

    def list_directory(self, path: str | os.PathLike[str]) -> Any:
        """List nothing."""
        self.send_error(404)

    def end_headers(self) -> None:
        """Say with every answer what a page may do."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the library)
        """Say nothing: every request a line would bury the address."""
