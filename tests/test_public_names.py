"""The public surface: what stands in ``docs/public_names.txt``, name for name, so that nothing goes or changes unseen."""

import enum
import functools
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import harness
from harness import estimators, testing
from harness.registry import hookspecs
from harness.run.record import TYPES

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs/public_names.txt"
PLACES = ("plugins", "examples", "tests/strangers", "reports", "harness/cli/templates", "docs")
# modules that plugins import from, beside harness and harness.testing: the contracts of pyproject.toml forbid the others
MODULES = (
    r"harness\.problems(?:\.\w+)?|harness\.kernels\.loops|harness\.registry\.subproblem_oracle|"
    r"harness\.support\.(?:arrays|jit)"
)


def signature(of: Any) -> str:
    """Return what a function of ours is called with; nothing of others', which is as their version has it."""
    ours = inspect.isfunction(of) and of.__module__.startswith("harness")
    shown = str(inspect.signature(of)) if ours else ""
    return re.sub(r""" at 0x\w+|(: |-> )(['"])(.*?)\2|<class '(.*?)'>""", r"\1\3\4", shown)


def lines_of(name: str, value: Any, public: set[int]) -> Iterator[str]:
    """Yield a line for a name, and for a class one for each member that strangers use and that no other line states.

    Others state the fields of a dataclass (its constructor) and what overrides a member of a base class.
    """
    if not inspect.isclass(value):
        yield name + signature(value)
        return
    if issubclass(value, enum.StrEnum):
        yield f"{name} is a StrEnum of {', '.join(value)}"
        return
    yield f"{name}{signature(value.__init__)} is a {', '.join(base.__name__ for base in value.__bases__)}"
    bases = [base for base in value.__mro__[1:] if re.match(r"harness\.(?!testing)", base.__module__)]
    known = {each for base in bases if id(base) in public for each in members_of(base)}
    known |= inspect.signature(value.__init__).parameters.keys()
    members = {each: of for base in [*bases[::-1], value] for each, of in members_of(base).items()}
    # scikit-learn makes methods set_fit_request
    used = [
        each
        for each in members
        if each not in known and not re.match(r"_|set_\w+_request", each) and each in used_members()
    ]
    callable_ = [each for each in used if inspect.isroutine(members[each])]
    for each in callable_:
        yield f"{name}.{each}{signature(getattr(members[each], '__func__', members[each]))}"
    if attributes := sorted(set(used) - set(callable_)):
        yield f"{name}: {', '.join(attributes)}"


def members_of(cls: type) -> dict[str, Any]:
    """Return what a class defines and declares."""
    return {**dict.fromkeys(vars(cls).get("__annotations__", ())), **vars(cls)}


@functools.cache
def strangers() -> str:
    """Return the text of all that uses the harness from outside: plugins, examples, studies, templates and pages."""
    files = [file for place in PLACES for file in sorted((ROOT / place).rglob("*")) if file.parent != ROOT / "docs"]
    code = [file.read_text() for file in files if file.name.endswith((".py", ".py.txt"))]
    pages = [file.read_text() for file in [*files, ROOT / "README.md"] if file.suffix == ".md"]
    return "\n".join(
        [*code, *(block for page in pages for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL))]
    )


@functools.cache
def used_members() -> set[str]:
    """Return the attributes and methods that are used or defined outside of the harness."""
    pattern = r"\.(\w+)|^    def (\w+)\(|^    (\w+)(?:: .*)? = "
    return {name for names in re.findall(pattern, strangers(), re.MULTILINE) for name in names}


def surface() -> list[str]:
    """Return a line for each public name, with what it is called with."""
    named = {f"harness.{name}": getattr(harness, name) for name in harness.__all__}
    for module in (testing, estimators):
        named |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    imported = rf"^ *from ({MODULES}) import (\([\w\s,]+\)|[\w, ]+$)"
    for module, names in re.findall(imported, strangers(), re.MULTILINE):
        listed = {id(value) for value in named.values()}
        found = {f"{module}.{name}": getattr(import_module(module), name) for name in re.findall(r"\w+", names)}
        named |= {name: value for name, value in found.items() if id(value) not in listed}
    named |= {name: hook for name, hook in vars(hookspecs).items() if name.startswith("harness_")}
    public = {id(value) for value in named.values()}
    records = [f"record {name}: {kind.__name__}" for name, kind in TYPES.items()]
    return sorted(
        {
            *(line for each in named.items() for line in lines_of(*each, public)),
            *records,
            "plugin.requires_harness: str",
        }
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


def test_only_what_is_used_is_public() -> None:
    """Each name of `harness` is imported somewhere, or is the type of what a public function takes or returns."""
    front = set(harness.__all__) - set(re.findall(r"\w+", strangers()))
    assert sorted(front) == ["StoppedBy", "TracePlan", "Verification"]


def test_the_version_is_one() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == harness.__version__


if __name__ == "__main__":
    FILE.write_text("\n".join([*parts()[0], "", *surface(), ""]))
