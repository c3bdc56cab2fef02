"""What `harness dashboard serve` gives to whom: files of the site, to this machine, asked for by its name."""

from __future__ import annotations

import http.client
import os
import socket
import struct
import threading
import time

import pytest
from harness_dashboard import serving

SECRET = "not of the site"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A folder with a page, and with links and a pipe that a hostile archive may bring; served."""
    folder = tmp_path_factory.mktemp("served")
    site = folder / "site"
    (site / "inner").mkdir(parents=True)
    (folder / "site-beside").mkdir()
    (folder / "site-beside" / "secret.txt").write_text(SECRET)
    (folder / "secret.txt").write_text(SECRET)
    (site / "index.html").write_text("<p>front</p>")
    (site / "inner" / "data.json").write_text("{}")
    (site / "out.txt").symlink_to(folder / "secret.txt")
    (site / "up").symlink_to(folder)
    (site / "beside").symlink_to(folder / "site-beside")
    (site / "in.html").symlink_to("index.html")
    (site / "circle").symlink_to("circle")
    os.mkfifo(site / "pipe")
    with serving.Server(site, 0) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield served
        served.shutdown()


def asked(server, path="/", *, method="GET", host=None, hosts=None):
    """Return the status, the headers and the body of an answer; ``path`` is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name in hosts if hosts is not None else [host or f"127.0.0.1:{server.port}"]:
        connection.putheader("Host", name)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read().decode()
    connection.close()
    return found


def test_files_of_the_site_are_served_and_links_within_it(server):
    for path, body in (("/", "<p>front</p>"), ("/in.html", "<p>front</p>"), ("/inner/data.json?timestamp=1", "{}")):
        assert asked(server, path)[::2] == (200, body)
    status, headers, body = asked(server, "/", method="HEAD")
    assert (status, headers["Content-Length"], body) == (200, "12", "")


@pytest.mark.parametrize(
    "path",
    [
        "/out.txt", "/up/secret.txt", "/up/", "/beside/secret.txt", "/circle", "/pipe", "/inner/", "/inner", "/../secret.txt",
        "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/inner/..%2f..%2fsecret.txt", "/..%5csecret.txt", "//secret.txt", "/%00",
        "/site-beside/secret.txt", "/../site-beside/secret.txt", "http://127.0.0.1/secret.txt", "/" + "a" * 5000,
    ],
)  # fmt: skip
def test_nothing_else_is(server, path):
    status, _, body = asked(server, path)
    assert status in (400, 404)
    assert SECRET not in body
    assert "data.json" not in body  # no folder is listed


def test_only_this_machine_by_its_name_is_answered(server):
    port = server.port
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert asked(server, host=name)[0] == 200
    wrong = [
        "evil.example.org",
        f"evil.example.org:{port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example.org:{port}",
        "127.0.0.1:1",
    ]
    for name in wrong:
        assert asked(server, host=name)[0] == 421, name
    assert asked(server, hosts=[])[0] == 421
    assert asked(server, hosts=[f"127.0.0.1:{port}", "evil.example.org"])[0] == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_but_reading_is_understood(server, method):
    assert asked(server, method=method)[0] == 501


@pytest.mark.parametrize("path", ["/", "/nothing"])
def test_every_answer_says_what_a_page_may_do(server, path):
    _, headers, _ = asked(server, path)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Python" not in headers["Server"]


def test_idle_connections_are_closed_and_keep_nobody_waiting(server, monkeypatch):
    assert serving.Files.timeout == 10.0
    monkeypatch.setattr(serving.Files, "timeout", 1.0)
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(100)]
    idle[0].sendall(b"GET / HTT")  # begun, and never ended
    assert asked(server)[0] == 200
    began = time.monotonic()
    assert [connection.recv(1) for connection in idle] == [b""] * 100
    assert time.monotonic() - began < 15.0
    for connection in idle:
        connection.close()


def test_a_dropped_connection_leaves_no_word(server, capfd):
    (server.folder / "large.bin").write_bytes(bytes(30_000_000))
    for _ in range(3):
        dropped = socket.create_connection(("127.0.0.1", server.port))
        dropped.sendall(f"GET /large.bin HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        dropped.recv(10)
        dropped.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not a farewell
        dropped.close()
    assert asked(server)[0] == 200
    until = time.monotonic() + 20.0
    while any("process_request" in each.name for each in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.05)
    assert capfd.readouterr() == ("", "")
