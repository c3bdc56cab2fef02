"""The public surface: what stands in ``docs/public_names.txt``, name for name, so that nothing goes or changes unseen."""

from __future__ import annotations

import enum
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
from harness import Status, hookspecs, testing
from harness.run.record import Fields

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs/public_names.txt"


def signature(of: Any) -> str:
    return re.sub(r" at 0x\w+", "", str(inspect.signature(of))).replace("'", "")


def of_class(name: str, cls: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    made = cls.__init__.__module__.startswith("harness") if inspect.isfunction(cls.__init__) else False
    yield (
        f"{name} = {', '.join(cls)}"
        if issubclass(cls, enum.StrEnum)
        else name + (signature(cls.__init__) if made else "")
    )
    yield from [f"{name} is a {bases}"] if bases else []
    for attribute, value in vars(cls).items():
        if attribute.startswith("_") or (inspect.isclass(value) or issubclass(cls, enum.Enum)):
            continue
        function = getattr(value, "__func__", value)
        yield f"{name}.{attribute}{signature(function) if inspect.isfunction(function) else ''}"


def of(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from of_class(name, value)
    else:
        yield f"{name}{signature(value) if inspect.isfunction(value) else ''}"


def surface() -> list[str]:
    """Return a line for each public name: what it is called with; for what a plugin reads, writes or is told."""
    lines = [line for name in harness.__all__ for line in of(f"harness.{name}", getattr(harness, name))]
    lines += [line for name in testing.__all__ for line in of(f"harness.testing.{name}", getattr(testing, name))]
    hooks = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("harness_")}
    lines += [f"hook {name}{signature(hook)}" for name, hook in hooks.items()]
    lines += [f"record {name}: {kind}" for name, kind in inspect.get_annotations(Fields).items()]
    return sorted({*lines, *(f"status {each}" for each in Status), "plugin attribute requires_harness"})


def rule_and_names() -> tuple[str, list[str]]:
    rule = [line for line in FILE.read_text().splitlines() if line.startswith("#")]
    return "\n".join(rule), [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]


def test_the_public_names_are_those_of_the_file() -> None:
    _, names = rule_and_names()
    now = surface()
    gone, new = sorted(set(names) - set(now)), sorted(set(now) - set(names))
    assert names == now, (
        f"{FILE.name} says what plugins rely on. Gone or changed: {gone}; new: {new}. What goes or changes is deprecated "
        "first, as the head of the file says. Where that is done: python -m tests.test_public_names writes it; commit it."
    )


def test_the_version_is_one() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == harness.__version__


if __name__ == "__main__":
    FILE.write_text("\n".join([rule_and_names()[0], "", *surface(), ""]))
