"""benchmarks/README.md: its commands exist, with these options, and its recipe for CI is sound YAML."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
from harness_dashboard.command import dashboard

from tests.docs.blocks import blocks

PAGE = Path(__file__).resolve().parents[2] / "benchmarks/README.md"


def called() -> list[str]:
    """Every `harness dashboard` command line of the page, without the folder of the environment."""
    lines = [
        line.strip() for language in ("sh", "yaml") for block in blocks(PAGE, language) for line in block.splitlines()
    ]
    found = [re.sub(r"^- run: ", "", line).removeprefix(".venv/bin/") for line in lines]
    return [line for line in found if line.startswith("harness dashboard ")]


def test_the_commands_are_understood() -> None:
    assert {line.split()[2] for line in called()} == {"run", "build", "check"}
    for line in called():
        _, _, name, *arguments = shlex.split(line.replace("${{ github.base_ref }}", "main").partition(" >> ")[0])
        found = dashboard.get_command(click.Context(dashboard), name)
        assert found is not None
        assert found.make_context(name, arguments).params
