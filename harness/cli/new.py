"""``harness new``: the project of a plugin that works, with a small example of its kind, to be changed into one's own."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import keyword
import re
import shlex
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from string import Template

import click

import harness
from harness.cli.commands import COMMANDS
from harness.support.errors import UsageError
from harness.support.machine import git_origin

KINDS = ("solver", "dataset", "kernel", "formulation", "metric", "format", "executor", "observer", "command")
TEMPLATES = Path(__file__).with_name("templates")
_FILES = {
    "pyproject.toml": "common/pyproject.toml.txt",
    "README.md": "common/README.md.txt",
    ".gitignore": "common/gitignore.txt",
    ".github/workflows/ci.yml": "common/ci.yml.txt",
    "$module.py": "$kind/module.py.txt",
    "tests/test_$module.py": "$kind/test.py.txt",
    "tests/test_checks.py": "common/test_checks.py.txt",
}  # of the project -> its template
_PLACEHOLDER = "svm-harness @ git+https://HOST/PATH/svm-harness"
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")  # what pip can install


@click.command("new", short_help="Write the project of a plugin of your own.")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default=KINDS[0],
    metavar="KIND",
    help=f"What the plugin adds: {', '.join(KINDS)}.  [default: solver]",
)
def command(name: str, kind: str) -> None:
    """Write a project into the folder NAME: a plugin with one small example, which works as it is.

    \b
      harness new my-solver
      harness new my-kernel --kind kernel

    Change its module into what you want to measure.
    """
    from harness.report import output
    from harness.support.files import write_whole

    folder = Path(name)
    refuse(name, folder)
    content = project(name, kind)
    for file, text in content.items():
        write_whole(folder / file, text.encode())
    use = uses(name, kind).splitlines()[0]
    unknown = _PLACEHOLDER in content[".github/workflows/ci.yml"]
    address = "In .github/workflows/ci.yml, write the address from which pip can install the harness.\n" * unknown
    watch = "In a git repository, a history over its commits: harness dashboard init\n" if kind == "solver" else ""
    output.show(
        f"{name} ({kind}) is in {folder}: {', '.join(content)}.\nNext:\n"
        f"  pip install -e {shlex.quote(str(folder))}\n  harness check {name}\n  {use}\n{address}{watch}"
    )


def project(name: str, kind: str) -> dict[str, str]:
    """Return the files of a project, path -> text."""
    values = _values(name, kind)
    values["uses"] = uses(name, kind)
    local, public = addresses(Path(harness.__file__).resolve().parents[1])
    values |= {"local": shlex.quote(local), "public": public or _PLACEHOLDER, "version": harness.__version__}
    values["about"] = _read(f"{kind}/module.py.txt", values).split('"""')[1].partition("\n")[0]
    named = {Template(file).substitute(values): Template(of).substitute(values) for file, of in _FILES.items()}
    return {file: _read(template, values) for file, template in named.items()}


def uses(name: str, kind: str) -> str:
    """Return the command that shows what such a plugin adds."""
    return _read(f"{kind}/uses.sh.txt", _values(name, kind)).rstrip()


def addresses(folder: Path) -> tuple[str, str]:
    """Return from where pip installs this harness on this machine, and on every one; the latter is empty if unknown.

    folder : of the package; a clone has an origin, and what pip installed from an address notes it (PEP 610)
    """
    released = f"svm-harness>={harness.__version__}"
    if (folder / "pyproject.toml").is_file():
        origin = git_origin(folder)
        return f"svm-harness @ {origin}" if origin else str(folder), f"svm-harness @ {origin}" if origin else ""
    with contextlib.suppress(metadata.PackageNotFoundError, ValueError):
        noted = json.loads(metadata.distribution("svm-harness").read_text("direct_url.json") or "{}")
        commit = (noted.get("vcs_info") or {}).get("commit_id")
        if url := str(noted.get("url") or ""):
            address = f"svm-harness @ git+{url}@{commit}" if commit else f"svm-harness @ {url}"
            return address, "" if url.startswith("file:") else address
    return released, released


def _read(template: str, values: dict[str, str]) -> str:
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)


def _values(name: str, kind: str) -> dict[str, str]:
    module = re.sub(r"[-.]", "_", name)
    title = "".join(word[:1].upper() + word[1:] for word in module.split("_"))
    return {"name": name, "kind": kind, "module": module, "Class": title, "VARIABLE": f"{module.upper()}_FILE"}


def refuse(name: str, folder: Path) -> None:
    """Raise UsageError for a name that a plugin cannot have, and for a folder that is not empty."""
    values = _values(name, "")
    reason = next(_reasons(name, values["module"], values["Class"]), None)
    if reason is not None:
        raise UsageError(f"a plugin cannot be called '{name}': {reason}. Choose another name, for example my-solver.")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(f"{folder} exists and is not empty; choose another name.")


def _reasons(name: str, module: str, title: str) -> Iterator[str]:
    """Yield why a plugin cannot have a name; a later reason needs that there is no earlier one."""
    from harness.cli import catalogue
    from harness.registry.discovery import load_registry

    if not _DISTRIBUTION.fullmatch(name):
        yield "a distribution's name has letters, digits and - _ . only, the first and the last of them a letter or a digit"
    elif not module.isidentifier() or keyword.iskeyword(module) or keyword.iskeyword(title):
        yield f"its module would be '{module}' and its class '{title}', and Python takes no such names"
    if title in dir(harness):
        yield f"its class would be '{title}', which is a name of the harness"
    if module in {*sys.stdlib_module_names, "conftest", "setup"} or _is_there(module):
        yield f"there is a Python module '{module}' already"
    if name in COMMANDS:
        yield "it is a command of the harness"
    registry = load_registry()
    entries = (entry for listed in catalogue.LISTED for entry in catalogue.entries(registry, listed))
    yield from (f"there is a {each.kind} of that name, see `harness list`" for each in entries if each.name == name)
    try:
        yield f"the distribution {name} is installed, version {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return


def _is_there(module: str) -> bool:
    """Return whether Python can import a module; a folder without code, such as an empty one here, is none."""
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None
