"""Nothing but a table is wider than 80 columns where it goes into a pipe, and every command says how it is called."""

import re

import click
import pytest

from tests.cli.conftest import SLOW

MISTAKES = ["--plugins", "smo-blok,libsvn", "--datasets", "twonorn,./nowhere.csv", "--C=-1", "--gamma", "0", "--repeat", "0",
            "--seeds", "4-0", "--nu", "2", "--epsilon=-1", "--time-limit", "0", "--kernel", "gaussian",
            "--metrics", "auc", "--path", "C=a", "--format", "xlsx", "--store", "/nowhere/store.sqlite", "--treads", "2"]  # fmt: skip


@pytest.fixture(autouse=True)
def unfolded():
    """Messages are folded as a user sees them."""


def commands(group, *words):
    """Yield the words of every command."""
    yield words
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), *words, name)


def widest(text):
    return max((line for line in text.splitlines() if not line.startswith("    ")), key=len, default="")


def test_the_help_of_every_command_fits_and_has_an_example(invoke):
    from harness.cli.main import cli

    found = list(commands(cli))
    assert {("compare",), ("results", "merge"), ("dashboard", "export")} <= set(found)
    for words in found:
        text = invoke(*words, "--help").stdout
        assert max(map(len, text.splitlines())) <= 80, words
        called = re.escape(" ".join(["harness", *words]))
        assert re.search(f"^ +{called}", text, re.MULTILINE) or words == ("peers",), words
    assert max(map(len, invoke("compare", "--help-all").stdout.splitlines())) <= 80


def test_a_comparison_and_what_it_would_be_fit(invoke, tmp_path):
    data = ["--datasets", "twonorm[n=60]", "--store", str(tmp_path / f"{'long' * 20}.sqlite")]
    slow = ["compare", "--plugin-path", SLOW, "--plugins", "raiser,quick", *data]
    for asked, code in (([*slow, "--dry-run", "--threads", "99"], 0), (slow, 1)):
        done = invoke(*asked)
        assert done.exit_code == code, done.stderr
        text = done.stderr + done.stdout * ("--dry-run" in asked)
        assert len(widest(text.replace(str(tmp_path), ""))) <= 90
        assert [line for line in text.splitlines() if len(line) > 80 and str(tmp_path) not in line] == []
    assert "needs 99 cores" in invoke(*slow, "--dry-run", "--threads", "99").stdout


def test_words_and_commands_stay_whole():
    from harness.report.output import folded

    long = "    harness compare --datasets './churn.csv[categories=one-hot,missing=mean]' --plugins smo,libsvm"
    text = f"note: {'word ' * 14}see `harness results --path` for it:\n{long}"
    assert folded(text, 80) == f"note: {'word ' * 14}see\n  `harness results --path` for it:\n{long}"
