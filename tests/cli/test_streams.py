"""Standard output holds the result alone; a stream that takes no more, or a second interrupt, loses no row and shows no traceback."""

import json
import os
import subprocess
import time

import pytest

from harness.run.store import read_results
from tests.cli.conftest import COMMAND

CHATTY = """\
import ctypes, os, subprocess, sys
from dataclasses import dataclass
import numpy as np
import harness

LIBRARY = ctypes.CDLL(None)


def talk(place):
    print("noise, printed", place)
    sys.__stdout__.write(f"noise, original stream {place}\\n")
    os.write(1, f"noise, descriptor {place}\\n".encode())
    LIBRARY.printf(f"noise, library {place}\\n".encode())
    subprocess.run(["echo", "noise, process", place])


talk("import")


@dataclass(frozen=True)
class Data(harness.DataSource):
    name = "chatty-data"

    def load(self):
        talk("load")
        x = np.random.default_rng(0).normal(size=(40, 2))
        y = np.sign(x[:, 0])
        return harness.Dataset("chatty-data", x[:30], y[:30], x[30:], y[30:], "")


@harness.hookimpl
def harness_datasets():
    talk("hook")
    return [Data]


@harness.hookimpl
def harness_run_started(spec):
    talk("started")


@harness.hookimpl
def harness_run_finished(record):
    talk("finished")


def metric(y, scores):
    talk("metric")
    return 0.5


@harness.hookimpl
def harness_metrics():
    return {"chatty-metric": metric}


def chatty_format(records):
    talk("format")
    return f"{len(records)} records"


@harness.hookimpl
def harness_report_formats():
    return {"chatty-format": chatty_format}
"""
KINDS = ("printed", "original stream", "descriptor", "library", "process")
RUN = ("compare", "--plugins", "smo", "--datasets", "twonorm[n=60,n_test=10]")


@pytest.fixture
def chatty(tmp_path):
    """Path of a plugin that writes to standard output wherever it is called, in every way."""
    path = tmp_path / "chatty.py"
    path.write_text(CHATTY)
    return str(path)


def test_what_plugins_print_is_not_in_the_result(harness, chatty):
    words = "--plugins smo --datasets chatty-data --metrics chatty-metric"
    given = ("compare", "--plugin-path", chatty, *words.split())
    done = harness(*given, "--format", "json")
    assert [record["status"] for record in json.loads(done.stdout)] == ["ok"], done.stderr
    for place in ("import", "hook", "load", "started", "finished"):
        assert [kind for kind in KINDS if f"noise, {kind} {place}\n" not in done.stderr] == []
    assert harness(*given, "--format", "chatty-format").stdout == "1 records\n"


@pytest.mark.parametrize("command", [("list", "metrics", "--format", "json"), ("describe", "chatty-metric")])
def test_what_plugins_print_is_in_no_other_result(harness, chatty, command):
    done = harness(*command, "--plugin-path", chatty)
    assert done.returncode == 0, done.stderr
    assert "noise" not in done.stdout
    assert "chatty-metric" in done.stdout


def test_a_check_of_imports_is_not_told_by_what_the_import_prints(chatty):
    from harness.testing.apart import imports_of

    assert imports_of(chatty, ["noise", "numba"]) == []


@pytest.mark.parametrize(
    ("streams", "code", "sentence"),
    [
        (">&-", 0, ""),
        (">/dev/full", 2, "standard output: No space left on device. Every run is stored"),
        pytest.param("| head -c 0", 0, "", marks=pytest.mark.slow),
        pytest.param("2>/dev/full", 0, "", marks=pytest.mark.slow),
        pytest.param("2>&1 | head -c 0", 0, "", marks=pytest.mark.slow),
        pytest.param("<&- >&- 2>&-", 0, "", marks=pytest.mark.slow),
    ],
)
def test_a_stream_that_takes_no_more_loses_no_row(tmp_path, streams, code, sentence):
    store = tmp_path / "store.sqlite"
    quiet = () if "2>" in streams else ("--quiet",)
    words = [*COMMAND, *RUN, "--store", str(store), *quiet]
    command = " ".join(f"'{word}'" for word in words)
    first, _, pipe = streams.partition("|")
    written = f"{{ {command} {first}; echo $? > {tmp_path}/code; }} {f'| {pipe}' if pipe else ''}"
    if "2>&1" in streams:
        written = written.replace("2>&1", "").replace("; }", "; } 2>&1")
    done = subprocess.run(written, shell=True, capture_output=True, text=True, check=False, timeout=100)
    assert " ".join(done.stderr.split()).startswith(f"harness: {sentence}" if sentence else "")
    assert (done.stderr == "") is (sentence == "")
    assert (tmp_path / "code").read_text() == f"{code}\n"
    assert list(read_results(store).status) == ["ok"]


@pytest.mark.slow
@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize("between", [0.0, 0.01, 0.1, 0.5])
def test_a_second_interrupt_ends_the_command_with_a_sentence(tmp_path, slow, between):
    given = ("compare", "--plugin-path", slow, "--plugins", "sleeper[seconds=20]", "--datasets", "twonorm[n=200]")
    command = subprocess.Popen(
        [*COMMAND, *given, "--store", str(tmp_path / "store.sqlite"), "--jobs", "2", "--repeat", "2"], stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    with command:
        assert command.stderr.readline().startswith(b"note: the result store")
        command.stderr.readline()
        time.sleep(1.0)
        command.send_signal(2)
        time.sleep(between)
        command.send_signal(2)
        said = command.stderr.read().decode()
    assert command.returncode == 130
    assert said.count("harness: interrupted") == 1, said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
