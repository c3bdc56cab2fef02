"""Sub-commands that plugins add: installed ones and files, broken ones, and none that takes another's name."""

import os
import re
import subprocess
import sys

import pytest

from harness.cli.commands import Added, of
from harness.registry.discovery import Registry

SCRIPT = """
import atexit, os, sys
from harness.cli.main import main

errors = os.fdopen(os.dup(2), "w")  # the command's own goes nowhere in the end

def tell():
    print("LOADED " + " ".join(name for name in sys.modules if name.startswith(("harness_", "greet"))), file=errors, flush=True)

atexit.register(tell)
main()
"""
GREET = """
'''A plugin with a command.'''
import click
from harness import hookimpl

@click.command("{name}")
@click.argument("whom", default="world")
def command(whom):
    '''Say hello.'''
    import numpy  # what is heavy waits
    click.echo(f"hello {{whom}}")

@hookimpl
def harness_commands():
    return [command]
"""


def run(*arguments, cache, **environment):
    """Run the command in a process of its own; return exit code, output, errors and the plugins that were imported."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True, text=True, check=False, cwd=cache,
        env={**os.environ, "COLUMNS": "1000", "HARNESS_CACHE": str(cache), **environment},
    )  # fmt: skip
    said, _, loaded = done.stderr.rpartition("LOADED ")
    return done.returncode, done.stdout, said, loaded.split()


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a plugin as a package would be: a module and an entry point in a folder of the path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])]))

    def write(name, source):
        (site / f"{name}.py").write_text(source)
        metadata = site / f"{name}-1.dist-info"
        metadata.mkdir(exist_ok=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[harness]\n{name} = {name}\n")
        return site / f"{name}.py"

    return write


def test_the_command_of_a_file_is_listed_and_works(tmp_path):
    (tmp_path / "greeting.py").write_text(GREET.format(name="greet"))
    given = ("--plugin-path", "greeting.py")
    code, out, err, _ = run(*given, "--help", cache=tmp_path)
    assert (code, err) == (0, "")
    assert re.search(r"^  greet +Say hello\.$", out, flags=re.MULTILINE)
    assert run(*given, "greet", "you", cache=tmp_path)[:3] == (0, "hello you\n", "")
    (row,) = [line for line in run(*given, "list", "commands", cache=tmp_path)[1].splitlines() if "greet" in line]
    assert row.split() == ["greet", "greeting", "Say", "hello."]
    assert "commands: greet" in run("describe", "greeting", *given, cache=tmp_path)[1]
    assert run("greet", "you", *given, cache=tmp_path)[:3] == (0, "hello you\n", "")
    assert run("greet", f"{given[0]}={given[1]}", "you", cache=tmp_path)[:3] == (0, "hello you\n", "")
    code, _, err, _ = run("greet", cache=tmp_path)
    assert code == 2
    assert "there is no command 'greet'" in err


def test_a_command_that_fails_or_is_missing_is_told_with_its_plugin(tmp_path):
    (tmp_path / "greeting.py").write_text(GREET.format(name="greet").replace("click.echo(", "whom / 2; ("))
    code, _, err, _ = run("greet", "--plugin-path", "greeting.py", cache=tmp_path)
    said = "harness: the command 'greet' failed: plugin 'greeting', greeting.py:11, in command: TypeError: unsupported"
    assert (code, err.startswith(said), len(err.splitlines())) == (70, True, 1)
    (tmp_path / "greeting.py").write_text(GREET.format(name="greet").replace("[command]", "[commands]"))
    code, _, err, _ = run("greet", "--plugin-path", "greeting.py", cache=tmp_path)
    lost = "harness: the command 'greet' is missing, perhaps because a plugin is broken: plugin 'greeting' could not be loaded: "
    assert (code, err.startswith(f"{lost}greeting.py:15, in harness_commands: NameError: name")) == (2, True)
    listed = run("list", "commands", "--plugin-path", "greeting.py", cache=tmp_path)[2]
    assert "plugin 'greeting' could not be loaded: greeting.py:15, in harness_commands" in listed


def test_an_installed_plugins_command_is_known(tmp_path, install):
    install("greeting", GREET.format(name="greet"))
    code, out, err, loaded = run("--help", cache=tmp_path)
    assert (code, "Say hello." in out, err) == (0, True, "")
    assert {name.partition(".")[0] for name in loaded} == {"greeting", "harness_dashboard"}, "those that have commands"
    assert run("greet", "you", cache=tmp_path)[:2] == (0, "hello you\n")
    assert "greet" not in run("--help", cache=tmp_path, HARNESS_DISABLE_PLUGINS="greeting")[1]


def test_a_broken_plugin_is_told_in_a_sentence_and_other_commands_work(tmp_path, install):
    install("greeting", "import no_such_library  # harness_commands")
    code, out, err, _ = run("--help", cache=tmp_path)
    told = (
        "harness: plugin 'greeting' could not be loaded: greeting.py:1: it needs the package 'no_such_library', which"
    )
    assert (code, err) == (0, f"{told} is not installed: pip install no_such_library\n")
    assert {"compare", "dashboard"} <= {line.split()[0] for line in out.splitlines() if line.strip()}
    code, out, _, _ = run("dashboard", "--help", cache=tmp_path)
    assert (code, "export" in out) == (0, True)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (GREET.format(name="compare"), "its command 'compare' is already one of the harness or this plugin"),
        (GREET.format(name="dashboard"), "its command 'dashboard' is already one of plugin 'dashboard'"),
        (GREET.format(name="x").replace("[command]", "command"), "it must return a list of click commands"),
        (GREET.format(name="x").replace("[command]", "['x']"), "it must return a list of click commands"),
        (GREET.format(name="x").replace("[command]", "1 / 0"), "ZeroDivisionError"),
        (GREET.format(name="x").replace("[command]", "[command, command]"), "its command 'x' is already one of"),
        (GREET.format(name="x").replace("@hookimpl", ""), "'harness_commands' is not marked as a hook"),
    ],
)
def test_what_is_no_command_of_its_own_is_refused_with_its_plugin(tmp_path, source, sentence):
    registry = Registry()
    (tmp_path / "greeting.py").write_text(source)
    registry.load_all([], [tmp_path / "greeting.py"])
    found = of(registry, Added({}, {"dashboard": "dashboard"}))
    assert found.commands == {}
    assert sentence in found.broken["greeting"].reason
