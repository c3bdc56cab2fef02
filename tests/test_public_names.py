"""The public surface: what stands in ``docs/public_names.txt``, name for name, so that nothing goes or changes unseen."""

import enum
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
from harness import estimators, testing
from harness.registry import hookspecs
from harness.run.record import TYPES

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs/public_names.txt"


def signature(of: Any) -> str:
    """Return what a function of ours is called with; nothing of others', which is as their version has it."""
    ours = inspect.isfunction(of) and of.__module__.startswith("harness")
    shown = str(inspect.signature(of)) if ours else ""
    return re.sub(r""" at 0x\w+|(: |-> )(['"])(.*?)\2|<class '(.*?)'>""", r"\1\3\4", shown)


def lines_of(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield name + signature(value)
        return
    yield f"{name}{signature(value.__init__)} is a {', '.join(base.__name__ for base in value.__bases__)}"
    ours = [each for each in vars(value) if not re.match(r"_|set_\w+_request", each)]  # scikit-learn makes such methods
    members = value if issubclass(value, enum.StrEnum) else ours
    for each in members:
        member = inspect.getattr_static(value, each, each)
        yield f"{name}.{each}{signature(getattr(member, '__func__', member))}"


def surface() -> list[str]:
    """Return a line for each public name, with what it is called with."""
    named = {f"harness.{name}": getattr(harness, name) for name in harness.__all__}
    named |= {f"harness.testing.{name}": getattr(testing, name) for name in testing.__all__}
    named |= {f"harness.estimators.{name}": getattr(estimators, name) for name in estimators.__all__}
    named |= {name: hook for name, hook in vars(hookspecs).items() if name.startswith("harness_")}
    records = [f"record {name}: {kind.__name__}" for name, kind in TYPES.items()]
    return sorted(
        [*(line for each in named.items() for line in lines_of(*each)), *records, "plugin.requires_harness: str"]
    )


def parts() -> tuple[list[str], list[str]]:
    """Return the rule and the names of the file."""
    lines = FILE.read_text().splitlines()
    return [line for line in lines if line.startswith("#")], [line for line in lines if line and line[0] != "#"]


def test_the_public_names_are_those_of_the_file() -> None:
    (_, names), now = parts(), surface()
    gone, new = sorted(set(names) - set(now)), sorted(set(now) - set(names))
    assert names == now, (
        f"{FILE.name} says what plugins rely on. Gone or changed: {gone}; new: {new}. What goes or changes is deprecated "
        "first, as the head of the file says. Where that is done: python -m tests.test_public_names writes it; commit it."
    )


def test_the_version_is_one() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == harness.__version__


if __name__ == "__main__":
    FILE.write_text("\n".join([*parts()[0], "", *surface(), ""]))
