"""The modules of `pages/` as one classic script, for a page that is opened from a file: browsers load no modules there.

Each module becomes a function that returns what it exports, called after those it imports from. The modules keep to a few
forms, each on a line of its own: ``import { a, b as c } from "./x.js";``, ``import * as x from "./x.js";``, and ``export``
before a ``const``, a ``function``, an ``async function`` or a ``class``; none imports in a circle.
"""

from __future__ import annotations

import re
from pathlib import Path

_IMPORT = re.compile(
    r'^import (?:\* as (?P<whole>\w+)|\{(?P<names>[^}]*)\}) from "\./(?P<module>[\w-]+\.js)";$', re.MULTILINE
)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|class) (?P<name>\w+))", re.MULTILINE)
_OTHER = re.compile(r"^\s*(?:import|export)\b.*|\bimport\s*\(.*|\bimport\.meta\b.*", re.MULTILINE)
_BRACED = re.compile(r"(\w+) as (\w+)")
_ENDS = re.compile(r"</script|<!--", re.IGNORECASE)


def joined(folder: Path, first: str) -> str:
    """Return the module ``first`` of a folder with all that it imports, as one script.

    Raises
    ------
    ValueError : a module has another form of import or export, imports in a circle, or holds what ends a script in HTML.
    """
    found: dict[str, str] = {}
    _add(folder, first, found, ())
    text = "\n".join(['"use strict";', "const modules = {};", *found.values()])
    if ended := _ENDS.search(text):
        raise ValueError(f"the modules hold {ended.group()}, which ends or hides a script that stands in a page")
    return f"(() => {{\n{text}\n}})();\n"


def _add(folder: Path, name: str, found: dict[str, str], waiting: tuple[str, ...]) -> None:
    """Add a module behind those it imports from; ``waiting`` are those that wait for it."""
    if name in waiting:
        raise ValueError(f"modules import in a circle: {' -> '.join((*waiting, name))}")
    if name in found:
        return
    text = (folder / name).read_text(encoding="utf-8")
    for wanted in _IMPORT.finditer(text):
        _add(folder, wanted["module"], found, (*waiting, name))
    exported = [each["name"] for each in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(_taken, text))
    if other := _OTHER.search(body):
        raise ValueError(f"{name}: a module is not imported or exported this way: {other.group().strip()}")
    found[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'


def _taken(wanted: re.Match[str]) -> str:
    """Return an import as a constant."""
    names = _BRACED.sub(r"\1: \2", wanted["names"] or "")
    return f'const {wanted["whole"] or "{" + names + "}"} = modules["{wanted["module"]}"];'
