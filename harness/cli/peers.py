"""``harness peers``: virtual environments for solvers whose libraries the host's own environment has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.cli.commands import CommandGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.cli.catalogue import Entry
    from harness.registry import Registry

_NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group(
    "peers",
    cls=CommandGroup,
    no_args_is_help=False,
    short_help="Install other people's solvers, each beside its own libraries.",
)
def command() -> None:
    """Make, list and remove the virtual environments of solvers that need libraries which the harness does not.

    They lie in the cache folder (HARNESS_CACHE). NAME is a solver or a plugin; its solvers with requirements are meant.
    """


@command.command("install")
@_NAMES
@click.option("--plugin-path", **options.PLUGIN_PATH)
@click.pass_context
def install(ctx: click.Context, names: Sequence[str], plugin_path: Sequence[str]) -> None:
    """Make the environments of the solvers NAME: by pip as this machine has it, or uv where there is no pip."""
    from harness.errors import UsageError
    from harness.report.output import say, show
    from harness.run import environments

    failed = False
    for solver, requires in _meant(names, plugin_path).items():
        try:
            environment = environments.environment_of(requires)
            if environment is not None and environment.fault():
                say(f"harness: installing {', '.join(requires)} for {solver} ...")
                environment.install()
            show(f"{solver}: {_versions(requires)} in {_where(requires)}\n")
        except UsageError as error:
            failed = True
            say(f"harness: {solver}: {error}")
    ctx.exit(int(failed))


@command.command("list")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", help="How to show it.")
@click.option("--plugin-path", **options.PLUGIN_PATH)
def listing(format_: str, plugin_path: Sequence[str]) -> None:
    """List the solvers that require libraries, where they run and what is there; then environments of no solver."""
    from harness.call import request
    from harness.cli.describe import show_listing

    show_listing(_entries(request.loaded(plugin_path)), format_)


@command.command("remove")
@_NAMES
@click.option("--plugin-path", **options.PLUGIN_PATH)
def remove(names: Sequence[str], plugin_path: Sequence[str]) -> None:
    """Remove the environments of the solvers NAME, or those in the folders NAME that `harness peers list` shows."""
    from harness.report.output import show
    from harness.run.environments import Environment, environment_of, installed, root

    own = {name: Environment((), root() / name) for name in names if name in installed()}
    others = [name for name in names if name not in own]
    meant = {name: environment_of(requires) for name, requires in _meant(others, plugin_path).items()}
    for name, environment in {**own, **meant}.items():
        if environment is None or not environment.folder.exists():
            show(f"{name}: has no environment.\n")
        else:
            environment.remove()
            show(f"{name}: removed {environment.folder}\n")


def _meant(names: Sequence[str], plugin_path: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the solvers that names mean with what they require; of a plugin those that require anything.

    Raises
    ------
    UsageError : an unknown name, a broken plugin, or a name whose solvers require nothing.
    """
    from harness.call import request
    from harness.entries import Broken
    from harness.errors import UsageError

    registry = request.loaded(plugin_path)
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        own: dict[str, tuple[str, ...]] = {}
        for item in registry.select_solvers([name]):
            if isinstance(item, Broken):
                raise UsageError(item.sentence)
            own |= {item.solver.name: item.solver.requires} if item.solver.requires else {}
        if not own:
            raise UsageError(
                f"'{name}' requires no library, and so needs no environment; `harness peers list` shows what does."
            )
        found |= own
    return found


def _versions(requires: Sequence[str]) -> str:
    from harness.run.environments import missing, own_versions

    versions = {} if missing("", requires) else own_versions(requires)
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _where(requires: Sequence[str]) -> str:
    """Return in which environment workers of these requirements run, or why they do not."""
    from harness.run.environments import environment_of

    environment = environment_of(requires)
    return "the host's environment" if environment is None else environment.fault() or str(environment.folder)


def _entries(registry: Registry) -> list[Entry]:
    from harness.cli.catalogue import Entry
    from harness.run.environments import environment_of, installed, root

    def told(name: str, plugin: str, cls: Any, requires: Sequence[str], where: str, versions: str) -> Entry:
        return Entry("solver", name, plugin, "", cls, {"needs": list(requires), "where": where, "versions": versions})

    entries, left = [], installed()
    for plugin, solvers in registry.solvers.items():
        for name, cls in solvers.items():
            if cls.requires:
                entries.append(told(name, plugin, cls, cls.requires, _where(cls.requires), _versions(cls.requires)))
                environment = environment_of(cls.requires)
                left.pop(environment.folder.name if environment is not None else "", None)
    return [
        *entries,
        *(told(name, "", None, needs, f"{root() / name}, of no solver", "") for name, needs in left.items()),
    ]
