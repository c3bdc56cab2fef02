"""A solver that is defined in a script or a notebook, as a plugin's file.

A run's process imports no script and no notebook. So what the class is made of is written to a file: the class, the
functions, classes and imports that it uses, in the order of the source, and plain constants by their values. A file, and
not a pickle: its hash says whether the code has changed, a row's ``sources`` can be read, and compiled loops are kept.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.datasets.cache import cache_root
from harness.support.errors import UsageError
from harness.support.files import write_whole

_REMEDY = (
    "put the solver into a file of its own, with the hook harness_solvers, and give that as plugin_path='my_solver.py'"
)


def plugin_of(cls: type) -> Path:
    """Return the file of a plugin that registers a solver's class, written to the cache.

    Raises
    ------
    UsageError : its source is not to be had, or uses what no file can have.
    """
    name = str(getattr(cls, "name", cls.__name__))
    if cls.__qualname__ != cls.__name__:
        raise UsageError(f"solver '{name}' is defined within a function or a class; {_REMEDY}.")
    text = _source(cls.__name__, vars(sys.modules[cls.__module__]), f"solver '{name}'")
    file = "own_" + re.sub(r"\W", "_", name) + ".py"
    path = cache_root().resolve() / "plugins" / hashlib.sha256(text.encode()).hexdigest()[:16] / file
    write_whole(path, text.encode())
    return path


def _source(cls: str, namespace: Mapping[str, Any], who: str) -> str:
    """Return the source of a class and of all that it uses."""
    statements, constants = _definitions(namespace), dict[str, str]()
    needed, waiting = set[str](), [cls]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        if name in statements:
            used = {node.id for node in ast.walk(statements[name]) if isinstance(node, ast.Name)}
            waiting += sorted(used & namespace.keys())
        elif _is_literal(namespace[name]):
            constants[name] = f"{name} = {namespace[name]!r}"
        elif not hasattr(builtins, name):
            what = f"uses {name}, a {type(namespace[name]).__name__} that no file can have"
            raise UsageError(f"{who} {what if name != cls else 'has no source that is to be had'}; {_REMEDY}.")
    taken = [ast.unparse(statement) for name, statement in statements.items() if name in needed]
    return "\n\n".join(
        [
            '"""Written from a script or a notebook."""',
            "from __future__ import annotations",
            "from harness import hookimpl as _hookimpl",
            *constants.values(),
            *taken,
            f"@_hookimpl\ndef harness_solvers():\n    return [{cls}]\n",
        ]
    )


def _definitions(namespace: Mapping[str, Any]) -> dict[str, ast.stmt]:
    """Return what binds the names of a script, or of a notebook's cells: the last class, function or import of each."""
    file = namespace.get("__file__")
    texts = [Path(file).read_text(encoding="utf-8")] if file and Path(file).is_file() else namespace.get("In", [])
    found: dict[str, ast.stmt] = {}
    for text in texts:
        with contextlib.suppress(SyntaxError):  # a cell that failed
            for node in ast.parse(text).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    bound = {alias.asname or alias.name.partition(".")[0]: _alone(node, alias) for alias in node.names}
                elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                    bound = {node.name: node}
                else:
                    continue
                for name, statement in bound.items():
                    found.pop(name, None)  # the order is that of the last ones
                    found[name] = statement
    return found


def _alone(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    """Return the import of one of its names."""
    return ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], node.level)


def _is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
