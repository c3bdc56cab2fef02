"""Fetching, from a server on this machine: what comes right, each fault in its sentence, several processes, one that is killed."""

import collections
import functools
import gzip
import hashlib
import http.server
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import threading
import time
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_svmlight_file

from harness import DataError, UsageError
from harness.cli.main import cli
from harness.datasets import FileSource, raw_files
from harness.datasets.compression import streamed
from harness.datasets.fetching import local
from harness.datasets.raw_files import RawFile, fetch, fetched_root

CONTENT = b"+1 1:0.5 2:1\n-1 1:0.25\n" * 20_000


def sha(content):
    return hashlib.sha256(content).hexdigest()


def gone(handler, status=404):
    handler.send_error(status)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked[self.path] += 1
        page = self.server.pages.get(self.path, gone)
        if callable(page):
            page(self)
        else:
            self.begin(len(page))
            self.wfile.write(page)

    def begin(self, length, status=200, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": length, **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()

    def log_message(self, *args):
        """Keep still."""


def half(handler):
    handler.begin(len(CONTENT))
    handler.wfile.write(CONTENT[: len(CONTENT) // 2])


def hang(handler):
    half(handler)
    handler.server.over.wait(30)


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server of ``pages``: bytes, or a function of the handler. Fetched files go to a folder that does not exist yet."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "not" / "yet"))
    monkeypatch.delenv("HARNESS_DATA", raising=False)
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads, running.handle_error = True, lambda request, address: None
    running.pages, running.asked, running.over = {}, collections.Counter(), threading.Event()
    running.url = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    yield running
    running.over.set()
    running.shutdown()
    running.server_close()


def raw(*urls, content=CONTENT, name="set/part.txt"):
    return RawFile(name, sha(content), "none", urls)


def left():
    """Return the names of the fetched files, without the locks."""
    return sorted(path.name for path in fetched_root().rglob("*") if path.is_file() and path.suffix != ".lock")


def test_a_file_is_fetched_once_and_unpacked_from_the_first_address_that_has_it(server):
    server.pages |= {"/plain": CONTENT, "/packed": lzma.compress(CONTENT)}
    server.pages["/moved"] = lambda handler: handler.begin(0, 302, Location="/plain")
    plain = fetch(raw(f"{server.url}/gone", f"{server.url}/moved", f"{server.url}/packed"))
    assert (plain.name, plain.read_bytes()) == ("part.txt", CONTENT)
    assert server.asked == {"/gone": 1, "/moved": 1, "/plain": 1}
    assert fetch(raw(f"{server.url}/packed")) == plain, "it is there"
    assert fetch(raw(f"{server.url}/packed", name="other")).read_bytes() == CONTENT
    assert left() == ["other", "part.txt"]


FAULTS = {
    "wrong": (b"else", f"expected {raw().sha256} but got {sha(b'else')}"),
    "half": (half, "IncompleteRead"),
    "hang": (hang, "Read timed out"),
    "damaged": (gzip.compress(CONTENT)[:-9], "Compressed file ended"),
    "gone": (gone, "404 Client Error: Not Found"),
    "broken": (functools.partial(gone, status=500), "500 Server Error: Internal Server Error"),
}


@pytest.mark.parametrize("page", FAULTS)
def test_a_fault_is_told_and_nothing_is_kept(server, page):
    server.pages[f"/{page}"], why = FAULTS[page]
    begun, why = time.monotonic(), rf".*/{page}: .*{re.escape(why)}.*; http://127.0.0.1:9/nobody: .*Connection refused"
    with pytest.raises(DataError, match=f"'part.txt' could not be fetched: {why}.*try --from"):
        fetch(raw(f"{server.url}/{page}", "http://127.0.0.1:9/nobody"), wait=0.2)
    assert time.monotonic() - begun < 15, "the server hangs for 30 s"
    assert left() == []


def test_a_mirror_has_the_files_under_their_names(server, tmp_path):
    server.pages["/data/set/part.txt.gz"] = gzip.compress(CONTENT)
    assert fetch(raw(), f"{server.url}/data/").read_bytes() == CONTENT
    assert list(server.asked) == ["/data/set/part.txt", "/data/set/part.txt.gz"]
    folder = tmp_path / "a # folder"
    with pytest.raises(DataError, match=r"No such file or directory: .*part.txt.xz"):
        fetch(raw(content=b"more"), str(folder))
    folder.mkdir()
    (folder / "alone").write_bytes(CONTENT)
    assert fetch(raw(name="alone"), str(folder)).read_bytes() == CONTENT


def test_a_folder_that_cannot_be_written_and_a_package_that_is_missing(server, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(UsageError, match=r"pooch is not installed; run `pip install 'svm-harness\[data\]'"):
        fetch(raw(f"{server.url}/any"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"the cache folder .*file/raw/set cannot be written \(.*; set HARNESS_CACHE"):
        fetch(raw("http://any"))


def test_a_wrong_file_in_a_folder_of_ones_own_is_told_or_passed_over(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    (tmp_path / "a").write_bytes(b"wrong")
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8bdamaged")
    file = raw(f"{server.url}/a", name="a")
    why = r"but .*/a has SHA-256 .*; .*/a.gz cannot be unpacked or read .*, expected .*`harness data fetch mine`"
    with pytest.raises(DataError, match=f"'mine' needs the raw file 'a', {why}"):
        raw_files.verified("a", file.sha256, needed_by="mine")
    server.pages["/a"] = CONTENT
    assert fetch(file) == raw_files.verified("a", file.sha256, needed_by="mine") == fetched_root() / "a"
    (tmp_path / "a").write_bytes(CONTENT)
    assert raw_files.verified("a", file.sha256, needed_by="mine") == tmp_path / "a"


def test_of_several_processes_one_fetches_and_a_killed_one_leaves_no_file_and_no_lock(server):
    begun, go = threading.Event(), threading.Event()

    def slow(handler):
        half(handler)
        begun.set()
        go.wait(60)
        handler.wfile.write(CONTENT[len(CONTENT) // 2 :])

    server.pages["/slow"] = slow
    code = f"from harness.datasets.raw_files import RawFile, fetch; print(fetch({raw(f'{server.url}/slow')}))"
    child = functools.partial(subprocess.Popen, [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with child() as victim:
        assert begun.wait(60)
        victim.kill()
    assert raw_files.copies("set/part.txt") == []
    server.asked.clear()
    children = [child() for _ in range(4)]
    threading.Timer(1.5, go.set).start()  # until then the others have come to the lock
    assert {each.communicate(timeout=60)[0] for each in children} == {f"{fetched_root() / 'set' / 'part.txt'}\n"}
    assert (server.asked["/slow"], left()) == (1, ["part.txt"]), "what the killed one wrote is gone"


# -- addresses of the user's own ----------------------------------------------------------------------------


def test_a_file_of_an_address_is_fetched_once_and_known_by_its_content(server, tmp_path):
    page, url, lines = b"a,b,label\n" + b"1,2,no\n3,5,yes\n" * 20, f"{server.url}/x.csv", []
    server.pages["/x.csv"] = page
    (tmp_path / "same.csv").write_bytes(page)
    sha256 = FileSource(path=url).load().sha256
    assert sha256 == FileSource(path=tmp_path / "same.csv").load().sha256
    server.pages |= {"/x.csv": b"changed", "/": b"1 1:2\n"}
    copy = local(f"{url}#sha256={sha(page)}", tell=lines.append)
    assert (copy, server.asked["/x.csv"], lines) == (local(url), 1, [])
    assert FileSource(path=f"{url}#sha256={sha(page)}").label == "x.csv"
    with pytest.raises(DataError, match=f"but got {sha(b'changed')}"):
        local(f"{url}#sha256=00ff")
    assert copy.read_bytes() == page, "still there"
    copy.write_bytes(b"damaged")
    with pytest.raises(DataError, match=f"but got {sha(b'changed')}"):
        local(f"{url}#sha256={sha(page)}")
    server.pages["/x.csv"] = page
    assert FileSource(path=f"{url}#sha256={sha(page)}").load().sha256 == sha256, "fetched again"
    assert [local(f"{server.url}{path}").name for path in ("/", "/a/..")] == ["data", "data"]


@pytest.mark.parametrize("words", ["data fetch", "compare --plugins smo-block --dry-run --datasets"])
def test_a_command_says_what_it_fetched(server, words):
    server.pages["/a.csv"] = b"1,2,0\n3,4,1\n" * 20
    url = f"{server.url}/a.csv"
    line = f"{url}#sha256={sha(server.pages['/a.csv'])} accepts nothing else"
    for times in (1, 0):
        done = CliRunner().invoke(cli, [*words.split(), url])
        assert (done.exit_code, " ".join(done.stderr.split()).count(line)) == (0, times), done.stderr


@pytest.fixture
def openml(server, monkeypatch):
    """OpenML's own answers, in short, for a set of number 61 and one with two targets, 62."""
    rows = "".join(f"{'NP'[i % 2]},{i % 2 + i / 100},{i / 10}\n" for i in range(40))
    arff = f"@RELATION r\n@ATTRIBUTE class {{P,N}}\n@ATTRIBUTE a REAL\n@ATTRIBUTE b REAL\n@DATA\n{rows}".encode()
    server.pages["/data/r.arff"] = arff
    about = {"version": "1", "format": "ARFF", "status": "active", "description": "", "url": f"{server.url}/data/r.arff",
             "md5_checksum": hashlib.md5(arff).hexdigest()}  # fmt: skip
    qualities = {"quality": [{"name": "NumberOfInstances", "value": "40"}]}
    for number, targets in ((61, ("class",)), (62, ("a", "b"))):
        features = [
            {"index": str(i), "name": name, "data_type": "numeric" if i else "nominal", "is_target": str(name in targets).lower(),
             "is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
            for i, name in enumerate(("class", "a", "b"))
        ]  # fmt: skip
        answers = {"INFO": {"data_set_description": about}, "FEATURES": {"data_features": {"feature": features}},
                   "QUALITIES": {"data_qualities": qualities}}  # fmt: skip
        for kind, answer in answers.items():
            server.pages[f"/{kind}/{number}"] = json.dumps(answer).encode()
            monkeypatch.setattr(f"sklearn.datasets._openml._DATA_{kind}", f"{server.url}/{kind}/{{}}")
    monkeypatch.setattr("sklearn.datasets._openml.time", types.SimpleNamespace(sleep=lambda seconds: None))
    return server


@pytest.mark.filterwarnings("ignore:A network error")
def test_a_data_set_of_openml(openml):
    data = FileSource(path="openml:61", scale="standard").load()
    assert (data.x_train.shape, data.x_test.shape) == ((30, 2), (10, 2))
    assert (data.notes["label_column"], data.notes["positive"]) == ("class", "P")
    asked = openml.asked.total()
    assert FileSource(path="openml:61").load().x_train.shape == (30, 2)
    assert openml.asked.total() == asked
    for number, why in (("62", "it has 2 targets"), ("iris", "base 10: 'iris'"), ("63", "HTTP Error 404")):
        with pytest.raises(DataError, match=why):
            local(f"openml:{number}")


# -- the real files -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_file_of_the_catalogue_comes_right_from_what_its_addresses_have(server, raw_data, monkeypatch):
    for file in raw_files.registry().values():
        monkeypatch.setenv("HARNESS_DATA", str(raw_data))
        (found,) = raw_files.copies(file.name)
        monkeypatch.delenv("HARNESS_DATA")
        with streamed(found) as unpacked:
            content = unpacked.read()
        address, _, form = file.urls[0].removeprefix("https:/").partition("#")
        if form == "libsvm":
            x, y = load_svmlight_file(io.BytesIO(content), n_features=54, dtype=np.int64)
            table = pd.DataFrame(x.toarray()).assign(label=np.where(y == 2, 2, 7))
            content = gzip.compress(table.to_csv(index=False, header=False).encode(), 1)
        server.pages[address] = content
        if "{" in address:
            with tarfile.open(fileobj=io.BytesIO(content)) as tar:
                for name in tar.getnames():
                    server.pages[f"{Path(address).parent}/{Path(name).name}"] = tar.extractfile(name).read()
        urls = (f"{server.url}/gone", *(url.replace("https:/", server.url) for url in file.urls))
        assert fetch(RawFile(file.name, file.sha256, file.licence, urls)) == fetched_root() / file.name
    assert server.asked["/gone"] == len(raw_files.registry())
