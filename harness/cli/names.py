"""The names that completion offers.

A command that loads the registry writes them to a small file (see `index`); a completion that finds it missing or out
of date loads the registry once and writes it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from click.shell_completion import CompletionItem

from harness.cli import index

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from harness.cli.derived import Fact
    from harness.registry import Registry

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]

Names = dict[str, list[str]]


def known() -> Names:
    """Return the names by kind, from the file if it is up to date."""
    found: Names | None = index.read("names")
    return found or _rebuilt()[0]


def facts() -> list[Fact]:
    """Return what the options say that formulations bring, from the file if it is up to date."""
    found: list[Fact] | None = index.read("options")
    return _rebuilt()[1] if found is None else found


def _rebuilt() -> tuple[Names, list[Fact]]:
    """Load the registry, write the files, return what is in them; silent, since a shell is waiting for its answer."""
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


def remember(registry: Registry) -> tuple[Names, list[Fact]]:
    """Write the files, and return what is in them: the names, and what the options of formulations say."""
    from harness.cli.derived import facts_of

    classes: list[Any] = [cls for own in registry.solvers.values() for cls in own.values()]
    classes += [*registry.datasets.values(), *registry.kernels.values(), *registry.formulations.values()]
    classes += [cls.parameter_class for cls in registry.formulations.values()]
    modules = {plugin.module.__name__ for plugin in registry.plugins.values()} | {cls.__module__ for cls in classes}
    modules |= {"harness.problems", "harness.report.formats"}
    files = {str(file) for name in modules if (file := getattr(sys.modules.get(name), "__file__", None))}
    names, options = names_of(registry), facts_of(registry)
    index.write("names", names, files)
    index.write("options", options, files)
    return names, options


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
