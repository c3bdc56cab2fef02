"""``harness peers``: virtual environments for solvers whose libraries the host's own environment has not."""

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

    They lie in the cache folder (HARNESS_CACHE). NAME is a solver or a plugin; its solvers with requirements are meant.
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
    for solver, requires in _meant(names, plugin_path).items():
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

    left, rows = installed(), []
    for plugin, solvers in request.loaded(plugin_path).solvers.items():
        for name, requires in ((name, cls.requires) for name, cls in solvers.items() if cls.requires):
            rows.append((name, plugin, requires, *_state(requires)))
            environment = environment_of(requires)
            left.pop(environment.folder.name if environment is not None else "", None)
    rows += [(name, "", requires, f"{root() / name}, of no solver", "") for name, requires in left.items()]
    facts = [dict(zip(("needs", "where", "versions"), row[2:], strict=True)) for row in rows]
    show_listing([Entry("solver", *row[:2], "", None, told) for row, told in zip(rows, facts, strict=True)], format_)


@command.command("remove", short_help="Remove what was installed.")
@_NAMES
@click.option("--plugin-path", **options.PLUGIN_PATH)
def remove(names: Sequence[str], plugin_path: Sequence[str]) -> None:
    """Remove the environments of the solvers NAME, or those in the folders NAME that `harness peers list` shows.

    \b
      harness peers remove thundersvm
    """
    own = {name: Environment((), root() / name) for name in names if name in installed()}
    meant = _meant([name for name in names if name not in own], plugin_path)
    for name, environment in {**own, **{name: environment_of(each) for name, each in meant.items()}}.items():
        there = environment is not None and environment.remove()
        show(f"{name}: {'its environment is removed' if there else 'has no environment'}.\n")


def _meant(names: Sequence[str], plugin_path: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the solvers that names mean with what they require; of a plugin those that require anything.

    Raises
    ------
    UsageError : an unknown name, a broken plugin, or a name whose solvers require nothing.
    """
    from harness.call import request
    from harness.registry.entries import BrokenPlugin, ConfiguredSolver

    registry = request.loaded(plugin_path)
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        chosen = registry.select_solvers([name])
        broken = "; ".join(item.sentence for item in chosen if isinstance(item, BrokenPlugin))
        own = {item.solver.name: item.solver.requires for item in chosen if isinstance(item, ConfiguredSolver)}
        if broken or not any(own.values()):
            nothing = (
                f"'{name}' requires no library, and so needs no environment; `harness peers list` shows what does."
            )
            raise UsageError(broken or nothing)
        found |= {solver: requires for solver, requires in own.items() if requires}
    return found


def _state(requires: Sequence[str]) -> tuple[str, str]:
    """Return where workers of these requirements run, or why they do not, and the versions that they have there."""
    environment = environment_of(requires)
    fault = "" if environment is None else environment.fault()
    versions = {} if fault else own_versions(requires)
    where = "the host's environment" if environment is None else fault or str(environment.folder)
    return where, ", ".join(f"{name} {version}" for name, version in versions.items())
