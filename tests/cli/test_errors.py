"""Errors that no message of `messages.txt` shows: faults, a deleted folder, names that are no UTF-8, closed streams."""

import os
import subprocess

from tests.cli.conftest import COMMAND, SLOW

COMPARE = ("compare", "--plugin-path", SLOW, "--plugins", "quick")


def test_faults_of_the_harness(invoke, monkeypatch):

    def fail(*_, **__):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("harness.run.driver.Driver.run", fail)
    result = invoke(*COMPARE)
    assert result.exit_code == 70
    assert (
        result.stderr
        == "harness: internal error: ZeroDivisionError: division by zero; set HARNESS_DEBUG=1 for the traceback\n"
    )
    monkeypatch.setenv("HARNESS_DEBUG", "1")
    assert isinstance(invoke(*COMPARE).exception, ZeroDivisionError)


def test_a_name_that_is_no_utf_8(invoke):
    done = invoke(*COMPARE, "--datasets", os.fsdecode(b"caf\xe9.csv"))
    assert (done.exit_code, "'caf?.csv'" in done.stderr, done.stderr.count("\n")) == (2, True, 1)


def test_a_deleted_working_directory(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    result = invoke("list", "formats")
    assert (result.exit_code, result.stderr) == (
        2, "harness: the working directory was deleted; change to one that exists.\n",
    )  # fmt: skip


def test_streams_that_are_closed_are_no_error():
    command = " ".join([*COMMAND, "list", "formats", "<&- >&-"])
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_pipe_is_no_error():
    command = " ".join([*COMMAND, "list", "datasets", "| head -1"])
    assert subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stderr == ""
