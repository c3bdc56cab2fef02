"""Every error is a sentence on standard error and an exit code, never a traceback."""

import os
import subprocess

import pytest

from tests.cli.conftest import COMMAND, SLOW

COMPARE = ("compare", "--plugin-path", SLOW, "--plugins", "quick")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compar",), "did you mean 'compare'"),
        (("compare",), "--plugins is missing"),
        (("compare", "extra"), "'extra' belongs to no option."),
        (("compare", "--plugins"), "requires an argument. See"),
        ((*COMPARE, "--gamma", "wide"), "--gamma: must be a positive number or 'scale', not 'wide'"),
        ((*COMPARE, "--format", "jsn"), "did you mean 'json'"),
        ((*COMPARE, "--metrics", "roc-acu"), "did you mean 'roc-auc'"),
        ((*COMPARE, "--datasets", "digits[digt=3]"), "did you mean 'digit'"),
        ((*COMPARE, "--output", "/nowhere/at/all.json"), "/nowhere/at"),
        ((*COMPARE, "--output", "/"), "is a folder"),
        ((*COMPARE, "--store", "/proc/no/store.sqlite"), "/proc/no/store.sqlite"),
        (("compare", "--plugin-path", SLOW, "--plugins", "quik"), "did you mean 'quick'"),
        (("compare", "--plugin-path", SLOW, "--plugins", "quick[shift=2]"), "shift"),
        (("compare", "--plugin-path", SLOW, "--plugins", "quick[C=-1]"), "C=-1"),
        ((*COMPARE, "--kernel", "rbf[gama=1]"), "kernel 'rbf' has no parameter 'gama' (did you mean 'gamma'?)"),
        ((*COMPARE, "--kernel", "linear,rfb"), "no kernel called 'rfb' (did you mean 'rbf'?)"),
        ((*COMPARE, "--folds", "1"), "--folds: must be a whole number, at least 2, not '1'"),
        ((*COMPARE[:-1], 'quick["shift"=1]'), """has '"shift"=1', which is not parameter=value"""),
        ((*COMPARE[:-1], '"quick"[C=1]2'), "goes on after its ']'"),
        ((*COMPARE[:-1], '"quick"2'), "goes on after a double quote"),
        ((*COMPARE, "--datasets", "twonorm[n=true]"), "parameter n='true' is not valid; expected int in"),
        ((*COMPARE, "--datasets", f"twonorm[n={'9' * 5000}]"), f"parameter n='{'9' * 79} is not valid"),
        (("compare", "--plugin-path", "/nowhere.py", "--plugins", "quick"), "/nowhere.py"),
        (("results", "--store", "/nowhere.sqlite"), "/nowhere.sqlite"),
        (("describe", "l3-svc"), "did you mean 'l2-svc'"),
        ((*COMPARE, "--seeds", "0-99999999999"), "only carried out with --yes"),
        (("results", "--where", "status=nope"), "it is one of ok, budget"),
        ((*COMPARE, "--datasets", os.fsdecode(b"caf\xe9.csv")), "the name 'caf?.csv' is not valid utf-8; rename"),
    ],
)
def test_bad_usage(invoke, arguments, said):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.startswith("harness: ")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


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
