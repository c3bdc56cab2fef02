"""Sub-commands that plugins add: installed ones and files, broken ones, and none that takes another's name."""

import re
import sys

import pytest

from harness.cli.commands import Added, of
from harness.registry.discovery import Registry, load_registry

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


GIVEN = ("--plugin-path", "greeting.py")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a plugin as a package would be: a module and an entry point in a folder of the path."""
    site = tmp_path / "site"
    metadata = site / "greeting-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[harness]\ngreeting = greeting\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "greeting", raising=False)
    yield (site / "greeting.py").write_text
    sys.modules.pop("greeting", None)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write the file of a plugin, into the working folder."""
    monkeypatch.chdir(tmp_path)
    return (tmp_path / "greeting.py").write_text


def test_the_command_of_a_file_is_listed_and_works(invoke, write):
    write(GREET.format(name="greet"))
    shown = invoke(*GIVEN, "--help")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert re.search(r"^  greet +Say hello\.$", shown.stdout, flags=re.MULTILINE)
    assert invoke(*GIVEN, "greet", "you").stdout == "hello you\n"
    assert re.search(r"^greeting\n  greet +Say hello\.$", invoke(*GIVEN, "list", "commands").stdout, flags=re.MULTILINE)
    assert "commands: greet" in invoke("describe", "greeting", *GIVEN).stdout
    assert invoke("greet").exit_code == 2


def test_a_command_that_fails_or_is_missing_is_named_with_its_plugin(invoke, write):
    write(GREET.format(name="greet").replace("click.echo(", "whom / 2; ("))
    failed = invoke(*GIVEN, "greet")
    assert (failed.exit_code, "plugin 'greeting', greeting.py:11" in failed.stderr, failed.stderr.count("\n")) == (
        70,
        True,
        1,
    )
    write(GREET.format(name="greet").replace("[command]", "[commands]"))
    missing = invoke(*GIVEN, "greet")
    assert (missing.exit_code, "greeting.py:15, in harness_commands: NameError" in missing.stderr) == (2, True)
    assert "greeting.py:15, in harness_commands" in invoke("list", "commands", *GIVEN).stderr


def test_an_installed_plugins_command_is_known(invoke, install, monkeypatch):
    install(GREET.format(name="greet"))
    shown = invoke("--help")
    assert (shown.exit_code, "Say hello." in shown.stdout, shown.stderr) == (0, True, "")
    assert invoke("greet", "you").stdout == "hello you\n"
    monkeypatch.setenv("HARNESS_DISABLE_PLUGINS", "greeting")
    assert "greet" not in invoke("--help").stdout


def test_beside_a_broken_plugin_other_commands_work(invoke, install):
    install("import no_such_library  # harness_commands")
    shown = invoke("--help")
    assert (shown.exit_code, shown.stderr.count("\n"), "no_such_library" in shown.stderr) == (0, 1, True)
    assert {"compare", "dashboard"} <= {line.split()[0] for line in shown.stdout.splitlines() if line.strip()}
    assert "export" in invoke("dashboard", "--help").stdout


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (GREET.format(name="x").replace("[command]", "command"), "it must return a list of click commands"),
        (GREET.format(name="x").replace("[command]", "['x']"), "it must return a list of click commands"),
        (GREET.format(name="x").replace("[command]", "1 / 0"), "ZeroDivisionError"),
        (
            GREET.format(name="x").replace("[command]", "[command, command]"),
            "its command 'x' has no name, or is returned twice",
        ),
        (GREET.format(name="x").replace("@hookimpl", ""), "'harness_commands' is not marked as a hook"),
    ],
)
def test_what_is_no_command_of_its_own_is_refused_with_its_plugin(tmp_path, source, sentence):
    registry = Registry()
    (tmp_path / "greeting.py").write_text(source)
    registry.load_all([], [tmp_path / "greeting.py"])
    found = of(registry, Added({}, {"dashboard": "dashboard"}))
    assert found.things == {}
    assert sentence in found.broken["greeting"].reason


def test_a_name_that_several_plugins_have_is_that_of_none_and_ours_stay(tmp_path) -> None:
    paths = []
    for plugin, names in (("first", ("greet", "dashboard", "compare")), ("second", ("greet", "alone"))):
        source = GREET.format(name=names[0])
        for name in names[1:]:
            source += f"\n{name} = click.Command({name!r}, callback=print)\n"
        listed = ", ".join(["command", *names[1:]])
        (tmp_path / f"{plugin}.py").write_text(source.replace("return [command]", f"return [{listed}]"))
        paths.append(tmp_path / f"{plugin}.py")
    found = of(load_registry(paths))
    assert {name for name, plugin in found.owners.items() if plugin in ("first", "second")} == {
        "first/greet", "second/greet", "first/dashboard", "first/compare", "alone",
    }  # fmt: skip
    assert (found.owners["dashboard"], found.broken) == ("dashboard", {})


def test_the_command_of_several_plugins_is_refused_with_the_names_to_write(invoke, tmp_path) -> None:
    given = []
    for plugin in ("first", "second"):
        (tmp_path / f"{plugin}.py").write_text(GREET.format(name="greet"))
        given += ["--plugin-path", str(tmp_path / f"{plugin}.py")]
    refused = invoke(*given, "greet")
    assert (refused.exit_code, refused.stderr.replace("\n  ", " ").partition(". See")[0]) == (
        2, "harness: command 'greet' is in several plugins; write first/greet or second/greet",
    )  # fmt: skip
    assert invoke(*given, "second/greet").exit_code == 0
