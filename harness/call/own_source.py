"""A solver that is defined in a script or a notebook, as a plugin's file.

A run's process imports no script and no notebook. So what the class is made of is written to a file, as it stands in the
source: the class, the functions and classes that it uses, the imports behind its names, plain constants. A file, and not
a pickle: its hash says whether the code has changed, a row's ``sources`` can be read, and compiled loops are kept.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import hashlib
import inspect
import linecache
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.datasets.cache import cache_root
from harness.errors import UsageError
from harness.files import write_whole

_REMEDY = (
    "put the solver into a file of its own, with the hook harness_solvers, and give that as plugin_path='my_solver.py'"
)


def plugin_of(cls: type) -> Path:
    """Return the file of a plugin that registers a solver's class, written to the cache.

    Raises
    ------
    UsageError : its source is not to be had, or uses what no file can have.
    """
    text = _Source(cls).text()
    name = re.sub(r"\W", "_", str(getattr(cls, "name", cls.__name__)))
    path = cache_root().resolve() / "plugins" / hashlib.sha256(text.encode()).hexdigest()[:16] / f"own_{name}.py"
    write_whole(path, text.encode())
    return path


class _Source:
    """The source of a class and of all that it uses, in the order in which it must be defined."""

    def __init__(self, cls: type) -> None:
        self.cls, self.who = cls, f"solver '{getattr(cls, 'name', cls.__name__)}'"
        self.namespace = vars(sys.modules[cls.__module__])
        self.imports = _imports(self.namespace)
        self.lines: dict[str, str] = {}  # name -> what defines it
        self.future = False

    def text(self) -> str:
        if self.cls.__qualname__ != self.cls.__name__:
            raise UsageError(f"{self.who} is defined within a function or a class; {_REMEDY}.")
        self._define(self.cls.__name__, self.cls)
        head = "from __future__ import annotations\n\n" if self.future else ""
        body = "\n".join(self.lines.values())
        hook = f"\n\n@_hookimpl\ndef harness_solvers():\n    return [{self.cls.__name__}]\n"
        return f'"""Written from a script or a notebook."""\n\n{head}from harness import hookimpl as _hookimpl\n\n{body}{hook}'

    def _define(self, name: str, thing: Any) -> None:
        """Note the source of a class or a function of the script, after that of what it uses."""
        source = _text_of(thing)
        if source is None:
            raise UsageError(f"{self.who}: the source of {name} is not to be had; {_REMEDY}.")
        self.lines[name] = ""  # it may use itself
        code = getattr(getattr(thing, "py_func", thing), "__code__", None)
        for each in [code, *(getattr(member, "__code__", None) for member in getattr(thing, "__dict__", {}).values())]:
            self.future |= bool(each and each.co_flags & __future__.annotations.compiler_flag)
        for used in dict.fromkeys(node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)):
            if used not in self.lines and used in self.namespace:
                self._use(used, name)
        del self.lines[name]
        self.lines[name] = source

    def _use(self, name: str, by: str) -> None:
        value = self.namespace[name]
        if name in self.imports:
            self.lines[name] = self.imports[name]
        elif isinstance(value, ModuleType):
            self.lines[name] = f"import {value.__name__} as {name}"
        elif _is_literal(value):
            self.lines[name] = f"{name} = {value!r}"
        elif inspect.isclass(value) or callable(value):
            self._define(name, value)
        elif not hasattr(builtins, name):
            raise UsageError(
                f"{self.who}: {by} uses {name}, a {type(value).__name__} that no file can have; {_REMEDY}."
            )


def _is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def _imports(namespace: dict[str, Any]) -> dict[str, str]:
    """Return what the imports of a script, or of the cells of a notebook, bind: name -> the import of it alone."""
    file = namespace.get("__file__")
    texts = [Path(file).read_text(encoding="utf-8")] if file and Path(file).is_file() else namespace.get("In", [])
    found: dict[str, str] = {}
    for text in texts:
        try:
            tree = ast.parse(text)
        except SyntaxError:  # a cell with a line of IPython's own
            kept = [line for line in text.splitlines() if re.match(r"(from\s+\S+\s+)?import\s[^(]*$", line)]
            tree = ast.parse("\n".join(kept))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    found[bound] = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
                for alias in node.names:
                    bound = alias.asname or alias.name
                    found[bound] = f"from {node.module} import {alias.name}" + (
                        f" as {alias.asname}" if alias.asname else ""
                    )
    return found


def _text_of(thing: Any) -> str | None:
    """Return the source of a class or a function with its decorators, None if it is not to be had."""
    thing = getattr(thing, "py_func", thing)  # a compiled function's
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):  # a class of a notebook, before Python 3.13: by its methods
        pass
    codes = (
        [member.__code__ for member in vars(thing).values() if hasattr(member, "__code__")]
        if inspect.isclass(thing)
        else []
    )
    for name in dict.fromkeys(code.co_filename for code in codes):
        lines = linecache.getlines(name)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == thing.__name__:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                return textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))
    return None
