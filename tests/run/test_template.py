"""The process that worker and certifier are forked from: what it has imported, how its children end, what comes in its place."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import pytest

from harness.run import host_process
from harness.run.host_process import Process
from harness.run.messages import FromProcess, Prepare
from harness.support import processes
from tests.run.conftest import SPEC

WHAT_IS_THERE = """
import json, os, sys
def main():
    print("words")
    os.write(1, b"written")
    plugins = [name for name in sys.modules if name.startswith("harness_")]
    answer = [plugins, "numba" in sys.modules, os.getcwd(), os.getsid(0) == os.getpid()]
    os.write(int(sys.argv[1]), json.dumps(answer).encode())
    os._exit(7)
"""
FORKED = """
import os, sys, threading
from harness.run import host_process
host_process.begin(1, fork=True)
environment = host_process.variables(1, host_process.numba_cache_folder(), sys.path)
template = host_process.template(environment)
assert isinstance(template.process, host_process.Forked), template.process
import socket
ours, theirs = socket.socketpair()
output = open("output", "wb")
process = template.fork("answers", [theirs.fileno(), output.fileno()], threading.Event())
theirs.close()
print(ours.recv(1 << 16).decode(), process.wait(10.0), template.process.poll())
"""

KILLED = """
import os, signal, sys, threading
from harness.run import host_process
host_process._ORPHAN_SECONDS = 0.5
host_process.begin(1, fork=True)
template = host_process.template(host_process.variables(1, host_process.numba_cache_folder(), sys.path))
process = template.fork("answers", [0, 1], threading.Event())
os.write(1, b"%d %d" % (template.process.pid, process.pid))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """That of a process which finds the module ``answers``, written only when the template may be there already."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = host_process.variables(1, host_process.numba_cache_folder(), sys.path)
    yield found
    host_process.template(found).close()


def forked(environment, module):
    ours, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryFile() as errors:
        descriptors, template = [theirs.fileno(), errors.fileno()], host_process.template(environment)
        process = template.fork(module, descriptors, threading.Event())
    with ours:
        return process, ours.recv(1 << 16)


def test_what_is_forked_has_the_host_and_no_plugin_and_tells_how_it_ended(environment, tmp_path):
    first = host_process.template(environment)
    (tmp_path / "answers.py").write_text(WHAT_IS_THERE)
    process, answer = forked(environment, "answers")
    assert json.loads(answer) == [[], True, str(Path.cwd()), True]
    assert (process.wait(10.0), process.poll()) == (7, 7)
    assert host_process.template(environment) is first
    assert host_process.template({**environment, "OMP_NUM_THREADS": "2"}) is not first


def test_a_template_that_was_forked_from_the_command_serves_as_one_that_was_started(environment, tmp_path):
    (tmp_path / "answers.py").write_text(WHAT_IS_THERE)
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60.0)
    assert (done.stdout.strip(), done.stderr) == (f"{json.dumps([[], True, str(Path.cwd()), True])} 7 None", "")
    assert (tmp_path / "output").read_text() == "words\nwritten", "in their order: nothing is buffered"


def test_what_a_plugin_holds_ends_after_a_driver_that_was_killed(environment, tmp_path):
    (tmp_path / "answers.py").write_text("import time\ndef main():\n    time.sleep(600)\n")
    with (
        tempfile.TemporaryFile() as file,
        subprocess.Popen([sys.executable, "-c", KILLED], env=environment, stdout=file) as done,
    ):
        assert done.wait(60.0) == -signal.SIGKILL
        file.seek(0)
        left, until = set(map(int, file.read().split())), monotonic() + 20.0
    assert len(left) == 2
    while left and monotonic() < until:
        left = {pid for pid in left if (account := processes.account(pid)) is not None and not account.ended}
        sleep(0.1)
    assert left == set()


def test_threads_that_need_a_template_at_the_same_time_get_one(environment):
    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(host_process.template, [environment] * 16))
    others = found - {host_process.template(environment)}
    for each in others:
        each.close()
    assert not others


def test_a_template_that_was_killed_is_replaced_and_what_it_forked_goes_on(environment):
    stop = threading.Event()
    certifier = Process("harness.run.certifier", FromProcess, environment, stop)
    assert isinstance(certifier.process, host_process.Forked)
    before = certifier.process.template
    os.kill(before.process.pid, signal.SIGKILL)
    before.process.wait()
    assert certifier.process.poll() is None
    another = Process("harness.run.certifier", FromProcess, environment, stop)
    assert another.process.template is not before
    for process in (certifier, another):
        process.close()
        assert process.process.poll() is not None


@pytest.mark.slow
def test_a_template_ends_when_others_are_newer_and_nothing_forked_from_it_is_known_any_more(environment):
    certifier = Process("harness.run.certifier", FromProcess, environment, threading.Event())
    first = certifier.process.template.process
    newer = [host_process.template({**environment, "OMP_NUM_THREADS": number}) for number in ("2", "3")]
    assert first.poll() is None
    certifier.close()
    assert certifier.process.returncode == 0, "the template alone could say this"
    del certifier
    gc.collect()
    assert first.poll() == -signal.SIGKILL
    assert [each.process.poll() for each in newer] == [None, None]
    for each in newer:
        each.close()


def test_a_template_that_was_stopped_is_continued(environment, tmp_path):
    template = host_process.template(environment)
    (tmp_path / "answers.py").write_text(WHAT_IS_THERE)
    forked(environment, "answers")
    os.kill(template.process.pid, signal.SIGSTOP)
    process, answer = forked(environment, "answers")
    assert json.loads(answer)[2] == str(Path.cwd())
    assert process.template is template


def test_where_nothing_can_be_forked_a_process_is_started_by_itself(environment, monkeypatch):
    def refused(*_arguments, **_values):
        raise OSError("no more processes")

    monkeypatch.setattr(host_process.Template, "fork", refused)
    process = Process("harness.run.certifier", FromProcess, environment, threading.Event())
    assert isinstance(process.process, subprocess.Popen)
    process.ask(Prepare(SPEC), 60.0)  # it has started
    process.close()
    assert process.process.returncode == 0
