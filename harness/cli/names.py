"""The names that completion offers, kept in a small file so that a TAB does not load the plugins.

The file holds the names of everything registered, what the options of formulations say, and a stamp: the times of the folders
packages are installed into and of the modules the names come from. A command that loads the registry
writes it; a completion that finds it missing or out of date loads the registry once and writes it.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from harness.cli.derived import Fact
    from harness.registry import Registry

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]

_VERSION = 2
Names = dict[str, list[str]]


def path() -> str:
    """Return the file: one for each environment, in the cache folder that ``HARNESS_CACHE`` can move."""
    root = os.environ.get("HARNESS_CACHE")
    if root:
        root = os.path.expanduser(root)  # noqa: PTH111 (pathlib costs more than the rest of a completion)
    else:
        import platformdirs

        root = platformdirs.user_cache_dir("svm-harness")
    surroundings = "\0".join([sys.prefix, *_folders(), os.environ.get("HARNESS_DISABLE_PLUGINS", "")])
    return f"{root}/names-{zlib.crc32(surroundings.encode()):08x}.json"


def _folders() -> list[str]:
    """Return the folders of ``sys.path`` where packages are installed; the script's own folder comes and goes."""
    script = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv[0] else ""  # noqa: PTH100, PTH120
    return [entry for entry in dict.fromkeys(sys.path) if entry not in ("", script, os.getcwd())]  # noqa: PTH109


def _times(files: list[str]) -> list[int]:
    """Return modification times in ns; 0 for what does not exist."""
    times = []
    for file in files:
        try:
            times.append(os.stat(file).st_mtime_ns)  # noqa: PTH116
        except OSError:
            times.append(0)
    return times


def known() -> Names:
    """Return the names by kind, from the file if it is up to date."""
    names: Names = _index()["names"]
    return names


def facts() -> list[Fact]:
    """Return what the options say that formulations bring, from the file if it is up to date."""
    found: list[Fact] = _index()["options"]
    return found


def _index() -> dict[str, Any]:
    try:
        with open(path(), encoding="utf-8") as file:
            index: dict[str, Any] = json.load(file)
        files = index["files"]
        if index["version"] == _VERSION and index["times"] == _times([*_folders(), *files]):
            return index
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return _rebuilt()


def _rebuilt() -> dict[str, Any]:
    """Load the registry, write the file, return what is in it; silent, since a shell is waiting for its answer."""
    import contextlib
    import io
    import warnings

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        from harness.registry import load_registry

        return remember(load_registry())


def names_of(registry: Registry) -> Names:
    """Return what a registry has to offer, by kind."""
    from harness.report.formats import BUILTIN

    return {
        "plugins": list(registry.plugins),
        "solvers": registry.solver_names(),
        "qualified": [f"{plugin}/{name}" for plugin, own in registry.solvers.items() for name in own],
        "datasets": list(registry.datasets),
        "kernels": list(registry.kernels),
        "formulations": list(registry.formulations),
        "metrics": list(registry.metrics),
        "formats": [*BUILTIN, *registry.report_formats],
    }


def remember(registry: Registry) -> dict[str, Any]:
    """Write the file, and return what is in it; a cache that cannot be written only costs the next completion its time."""
    import contextlib
    from pathlib import Path

    from harness.cli.derived import facts_of
    from harness.files import write_whole

    classes: list[Any] = [cls for own in registry.solvers.values() for cls in own.values()]
    classes += [*registry.datasets.values(), *registry.kernels.values(), *registry.formulations.values()]
    classes += [cls.parameter_class for cls in registry.formulations.values()]
    modules = {plugin.module.__name__ for plugin in registry.plugins.values()} | {cls.__module__ for cls in classes}
    modules |= {"harness.problems", "harness.report.formats"}
    files = sorted({str(file) for name in modules if (file := getattr(sys.modules.get(name), "__file__", None))})
    index: dict[str, Any] = {"version": _VERSION, "files": files, "times": _times([*_folders(), *files])}
    index |= {"names": names_of(registry), "options": facts_of(registry)}
    with contextlib.suppress(OSError):
        write_whole(Path(path()), json.dumps(index).encode())
    return index


# -- completers: click calls them with what has been typed ---------------------------------------------


def _items(names: list[str], incomplete: str) -> list[CompletionItem[str]]:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _after_comma(names: list[str], incomplete: str) -> list[CompletionItem[str]]:
    """Complete the last item of a comma list; the shell replaces the whole word, so the items before stay in it."""
    before, comma, last = incomplete.rpartition(",")
    if incomplete.count("[") > incomplete.count("]"):
        return []  # inside the brackets of parameters
    taken = set(before.split(","))
    left = [name for name in names if name not in taken]
    return [CompletionItem(before + comma + item.value) for item in _items(left, last)]


def listed(kind: str) -> Completer:
    """Return the completer of a comma list of names of one kind."""
    return lambda _ctx, _param, incomplete: _after_comma(known()[kind], incomplete)


def single(*kinds: str) -> Completer:
    """Return the completer of one name of any of the kinds."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        found = known()
        return _items([name for kind in kinds for name in found[kind]] + _qualified(found, incomplete), incomplete)

    return complete


def solvers(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Complete ``--plugins``: plugins and solvers, and ``plugin/solver`` once a slash is typed."""
    found = known()
    return _after_comma([*found["plugins"], *found["solvers"], *_qualified(found, incomplete)], incomplete)


def _qualified(found: Names, incomplete: str) -> list[str]:
    return found["qualified"] if "/" in incomplete.rpartition(",")[2] else []
