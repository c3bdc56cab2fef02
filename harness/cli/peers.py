"""``harness peers``: virtual environments for solvers whose libraries are missing in the host's environment."""

from __future__ import annotations

from collections.abc import Sequence

import click

from harness.cli import options
from harness.cli.commands import CommandGroup
from harness.report.output import results_alone, say, show
from harness.run.environments import Environment, environment_of, installed, own_versions, root
from harness.support.errors import UsageError

_NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group("peers", cls=CommandGroup, no_args_is_help=False, short_help="Install, list, remove what solvers require.")
def command() -> None:
    """Make, list and remove the virtual environments of solvers that need libraries which the harness does not.

    They lie in the cache folder (HARNESS_CACHE). NAME is a solver, or a plugin for all of its solvers.
    """


@command.command("install", short_help="Install what solvers require.")
@_NAMES
@click.option("--plugin-path", **options.PLUGIN_PATH)
@click.pass_context
def install(ctx: click.Context, names: Sequence[str], plugin_path: Sequence[str]) -> None:
    """Make the environments of the solvers NAME, by pip.

    \b
      harness peers install thundersvm

    Exit codes: 0 all are there, 1 one could not be made, 2 bad usage.
    """
    failed = False
    for solver, requires in _requirements(names, plugin_path).items():
        try:
            environment = environment_of(requires)
            if environment is not None and environment.fault():
                say(f"harness: installing {', '.join(requires)} for {solver} ...")
                environment.install()
            where, have = _state(requires)
            show(f"{solver}: {have} in {where}\n")
        except UsageError as error:
            failed = True
            say(f"harness: {solver}: {error}")
    ctx.exit(int(failed))


@command.command("list", short_help="List solvers that require libraries.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", help="How to show it.")
@click.option("--plugin-path", **options.PLUGIN_PATH)
@results_alone()
def listing(format_: str, plugin_path: Sequence[str]) -> None:
    """List the solvers that require libraries, where they run and what is there; then environments of no solver.

    \b
      harness peers list
    """
    from harness.call import request
    from harness.cli.catalogue import Entry
    from harness.cli.describe import show_listing

    unused, entries = installed(), list[Entry]()
    for plugin, solvers in request.loaded(plugin_path).solvers.items():
        for name, requires in ((name, cls.requires) for name, cls in solvers.items() if cls.requires):
            facts = {"needs": requires, **dict(zip(("where", "versions"), _state(requires), strict=True))}
            entries.append(Entry("solver", name, plugin, "", None, facts))
            environment = environment_of(requires)
            unused.pop(environment.folder.name if environment is not None else "", None)
    for name, requires in unused.items():
        facts = {"needs": requires, "where": f"{root() / name}, of no solver", "versions": ""}
        entries.append(Entry("solver", name, "", "", None, facts))
    show_listing(entries, format_)


@command.command("remove", short_help="Remove what was installed.")
@_NAMES
@click.option("--plugin-path", **options.PLUGIN_PATH)
def remove(names: Sequence[str], plugin_path: Sequence[str]) -> None:
    """Remove the environments of the solvers NAME, or those in the folders NAME that `harness peers list` shows.

    \b
      harness peers remove thundersvm
    """
    environments: dict[str, Environment | None] = {}
    environments |= {name: Environment((), root() / name) for name in names if name in installed()}
    solvers = _requirements([name for name in names if name not in environments], plugin_path)
    environments |= {name: environment_of(requires) for name, requires in solvers.items()}
    for name, environment in environments.items():
        removed = environment is not None and environment.remove()
        show(f"{name}: {'its environment is removed' if removed else 'has no environment'}.\n")


def _requirements(names: Sequence[str], plugin_path: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the solvers of names with what they require; of a plugin those that require anything.

    Raises
    ------
    UsageError : an unknown name, a broken plugin, or a name whose solvers require nothing.
    """
    from harness.call import request
    from harness.registry.entries import BrokenPlugin

    registry = request.loaded(plugin_path)
    requirements: dict[str, tuple[str, ...]] = {}
    for name in names:
        items = registry.select_solvers([name])
        if broken := [item.sentence for item in items if isinstance(item, BrokenPlugin)]:
            raise UsageError(broken[0])
        solvers = [item.solver for item in items if not isinstance(item, BrokenPlugin)]
        if not any(solver.requires for solver in solvers):
            raise UsageError(f"'{name}' requires no library, and so needs no environment; see `harness peers list`.")
        requirements |= {solver.name: solver.requires for solver in solvers if solver.requires}
    return requirements


def _state(requires: Sequence[str]) -> tuple[str, str]:
    """Return where workers of these requirements run, or why they do not, and the versions that they have there."""
    environment = environment_of(requires)
    fault = "" if environment is None else environment.fault()
    versions = {} if fault else own_versions(requires)
    where = "the host's environment" if environment is None else fault or str(environment.folder)
    return where, ", ".join(f"{name} {version}" for name, version in versions.items())
