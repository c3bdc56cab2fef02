"""``harness compare``: from options to a study, through the runner, to a table and an exit code."""

from __future__ import annotations

import itertools
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import names, options, paths, values
from harness.cli.options import Option
from harness.cli.say import say
from harness.errors import HarnessError, NotKept, UsageError
from harness.run.record import FAILED, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.cli.progress import Reporter
    from harness.cli.study_file import StudyFile
    from harness.datasets.dataset import DataSource
    from harness.registry import Registry
    from harness.run.record import Record
    from harness.run.study import RunSpec, Study

_WHAT, _PROBLEM, _PATH, _LIMITS, _HOW, _RESULT = (
    "What to compare",
    "The problem",
    "A path of problems",
    "Limits of a run",
    "How to measure",
    "The result",
)

# The parameters of formulations are options too: see `Comparison`.
_PARAMETERS = [
    Option(["--plugins"], multiple=True, metavar="SELECTION", shell_complete=names.solvers, section=_WHAT,
           help="Solvers or whole plugins, with parameters: lasvm,fw  'lasvm[epochs=[1,2]]'  'fw/*'. Required; repeatable."),
    Option(["--datasets"], multiple=True, metavar="SELECTION", default=("digits,breast-cancer",), show_default=True,
           shell_complete=names.listed("datasets"), section=_WHAT,
           help="Data sets, with parameters, or paths of files: 'checkerboard[n=1000],./mine.csv'. Repeatable."),
    Option(["--plugin-path"], **options.PLUGIN_PATH, section=_WHAT),
    Option(["--study"], metavar="FILE", type=click.Path(), section=_WHAT,
           help="Take the options from a file: C = [1, 10] in it is --C 1,10. What is given beside it replaces what it says."),
    Option(["--save-study"], metavar="FILE", type=click.Path(dir_okay=False), section=_WHAT,
           help="Write such a file of what is compared here, before the runs begin."),
    Option(["--formulation"], type=values.NAMES, shell_complete=names.listed("formulations"), section=_PROBLEM,
           help="c-svc, l2-svc, eps-svr, one-class ... [default: those that the solvers prefer]"),
    Option(["--kernel"], metavar="SELECTION", shell_complete=names.listed("kernels"), section=_PROBLEM,
           help="Kernels, with parameters: rbf  'rbf[gamma=[0.1,1]],linear'. [default: the data set's]"),
    Option(["--gamma"], type=values.GAMMAS, section=_PROBLEM, help="Kernel width, or 'scale': 1 / (d var(x))."),
    Option(["--degree"], type=values.DEGREES, section=_PROBLEM, help="Degree of the polynomial kernel."),
    Option(["--coef0"], type=values.CONSTANTS, section=_PROBLEM, help="Constant of the polynomial kernel."),
    Option(["--path"], type=paths.PATH, section=_PATH,
           help="Go through a grid in one run: C,gamma  'C=2^-5..2^15:2^2,gamma=[0.1,1]'. C and gamma have usual values."),
    Option(["--folds"], type=paths.FOLDS, section=_PATH, help="Choose among the cells by so many folds of the training points."),
    Option(["--cold"], is_flag=True, section=_PATH, help="Beside each path the same cells one by one, each from nothing."),
    Option(["--cells"], is_flag=True, section=_PATH, help="Show a row for each cell too; files other than tables have them all."),
    Option(["--target-gap"], type=values.POSITIVE, section=_LIMITS,
           help="Relative gap that every solver shall reach; costs are ranked only with it."),
    Option(["--time-limit"], type=values.DURATION, section=_LIMITS, default="10m", show_default=True,
           help="Time in the solver: 90, 90s, 5m, 1h."),
    Option(["--memory-limit"], type=values.MEMORY, section=_LIMITS, help="Memory of a run, and of reading the data: 512M, 2G."),
    Option(["--kernel-evaluation-limit"], type=values.COUNT, section=_LIMITS, help="Kernel evaluations of a run."),
    Option(["--iteration-limit"], type=values.COUNT, section=_LIMITS, help="Iterations of a run."),
    Option(["--seeds"], type=values.SEEDS, default="0", show_default=True, section=_HOW, help="Seeds: 0,1,2 or 0-4."),
    Option(["--repeat"], type=values.COUNT, default=1, show_default=True, section=_HOW, help="Repetitions with each seed."),
    Option(["--threads"], type=values.COUNT, default=1, show_default=True, section=_HOW, help="Threads of a run."),
    Option(["--jobs"], type=values.COUNT, default=1, show_default=True, section=_HOW, help="Runs at a time, on cores of their own."),
    Option(["--cache-mb"], type=values.MEGABYTES, default=256.0, show_default=True, section=_HOW, help="Kernel cache of a run."),
    Option(["--order"], type=click.Choice(["interleaved", "shuffled"]), default="interleaved", show_default=True, section=_HOW,
           help="Solvers in turn, or all runs in a fixed random order."),
    Option(["--metrics"], type=values.NAMES, shell_complete=names.listed("metrics"), section=_HOW,
           help="Further test metrics: g-means,roc-auc."),
    Option(["--core-set-oracle"], metavar="SOLVER", shell_complete=names.single("solvers"), section=_HOW,
           help="Solve the core sets of hull formulations by it, and show margin(all) / margin(core set): qp, smo-block."),
    Option(["--resume/--fresh", "resume"], default=True, section=_HOW,
           help="Reuse what the store holds of the same code, data and machine, or measure it again.  [default: resume]"),
    Option(["--yes"], is_flag=True, section=_HOW, help="Carry out more than a million runs."),
    Option(["--dry-run"], is_flag=True, section=_RESULT,
           help="Only say how many runs there are, how many the store holds, and how long the others may take."),
    Option(["--store"], **options.STORE, section=_RESULT),
    Option(["--format", "format_"], **options.FORMAT, section=_RESULT),
    Option(["--output"], **options.OUTPUT, section=_RESULT),
    Option(["--quiet", "-q"], is_flag=True, section=_RESULT, help="No progress."),
]  # fmt: skip


_HELP = f"""\
Run solvers on data sets, and show a table of what it cost.

Each run has a process of its own; its kernel evaluations are counted, its model is certified. A run that
fails is a row of the table, and the others go on. What is measured is kept in the store at once. A list of
values makes a grid.

\b
harness compare --plugins lasvm,fw
harness compare --plugins 'lasvm[epochs=[1,2]],smo' --datasets banana --C 1,10,100 --seeds 0-4

Exit codes: 0 every run did what was asked (runs stopped at an iteration or kernel-evaluation limit count as such),
1 a run failed ({", ".join(status for status in Status if status in FAILED)}), hit its time limit, ended without
being done (unfinished) or without the target gap certified (missed), or every run was skipped, 2 bad usage or bad data,
3 what was measured could not be kept in the store: it is in the output alone.
"""


def compare(ctx: click.Context, /, **given: Any) -> None:
    """Carry out a comparison, show its table, and exit with 1 if a run failed or did not do what was asked."""
    from harness.cli import dry_run, loading, output
    from harness.cli.progress import reporter
    from harness.report import formats

    target = output.checked_output(given["output"])
    if not given["plugins"]:
        raise UsageError("--plugins is missing; name solvers or plugins, for example --plugins lasvm,fw.")
    registry = ctx.meta.get(_REGISTRY) or loading.registry(given["plugin_path"])
    form = formats.chosen(given["format_"], target, registry.report_formats)
    output.warn_of_suffix(target, given["format_"], registry.report_formats)
    study = asked(given, registry)
    _tell_and_save(ctx, given, registry)
    if given["dry_run"]:
        output.deliver(dry_run.shown(study, registry, form), target, quiet=given["quiet"])
        ctx.exit(0)

    ended: KeyboardInterrupt | NotKept | None = None
    with reporter(quiet=given["quiet"]) as progress:
        try:
            records = carried_out(study, registry, given, progress)
        except (KeyboardInterrupt, NotKept) as error:
            ended = error
    if isinstance(ended, KeyboardInterrupt):  # said when the live display is gone
        say_what_is_kept(progress.done, progress.total, study)
        ctx.exit(130)

    def deliver(records: Sequence[Record]) -> None:
        if given["cells"] or form not in formats.OF_RUNS:
            records = with_cells(records)
        styled = target is None and output.styled()
        content = formats.render(
            form, records, added=registry.report_formats, width=output.width(), styled=styled, command=ctx.meta[_TYPED]
        )
        output.deliver(content, target, quiet=given["quiet"])

    if ended is not None:
        _deliver_somewhere(deliver, ended.records)
        raise ended
    deliver(records)
    ctx.exit(exit_code(records))


def carried_out(study: Study, registry: Registry, given: Mapping[str, Any], progress: Reporter) -> list[Record]:
    """Carry out a study, telling ``progress`` of its runs and of what is to be said before they start; errors as the session."""
    from harness.cli import effects
    from harness.run import session
    from harness.run.store import default_store

    store = study.store or default_store()
    is_new = not store.exists()

    def planned(specs: list[RunSpec], reused: int) -> None:
        if is_new and not given["quiet"]:
            progress.say(f"note: the result store {store} is new; every run is kept in it")
        progress.planned(specs, reused)
        for note in effects.notes(given, specs, registry):
            progress.say(note)

    return session.compare(
        study,
        registry,
        on_planned=planned,
        on_started=progress.started,
        on_finished=progress.finished,
        on_note=progress.say,
    )


def _tell_and_save(ctx: click.Context, given: Mapping[str, Any], registry: Registry) -> None:
    """Say which options replace what a study file says, and write the file that was asked for."""
    from harness.cli import study_text

    replaced = [name for name in ctx.default_map or {} if ctx.get_parameter_source(name) is _LINE]
    if replaced and not given["quiet"]:
        names_ = ", ".join(f"--{name.replace('_', '-')}" for name in replaced)
        say(f"note: {names_} of the command line replace{'s' if len(replaced) == 1 else ''} what {given['study']} says")
    if given["save_study"]:
        target = Path(given["save_study"])
        study_text.save(study_text.placed(study_text.options_of(ctx, registry), target, registry), target)
        if not given["quiet"]:
            say(f"written to {target}")


def _deliver_somewhere(deliver: Callable[[Sequence[Record]], None], records: Sequence[Record]) -> None:
    """Deliver records that are nowhere else: where they cannot be written as was asked, to standard output."""
    from harness.report import formats

    try:
        deliver(records)
    except HarnessError as error:
        say(f"harness: {error} The records go to standard output, as JSON.")
        click.echo(formats.render("json", records), nl=False)


def asked(given: dict[str, Any], registry: Registry) -> Study:
    """Return the study that the options ask for, and say which plugins could not be loaded; errors as `study_of`."""
    from harness.cli import loading
    from harness.entries import Broken

    try:
        study = study_of(given, registry)
    except UsageError as error:  # perhaps a name is not known because its plugin is broken: said once
        told = " ".join(str(error).split())
        loading.warn_of_broken(registry, but=[name for name in registry.broken if f"plugin '{name}'" in told])
        raise
    loading.warn_of_broken(registry, but=[item.plugin for item in study.solvers if isinstance(item, Broken)])
    return study


def study_of(given: dict[str, Any], registry: Registry) -> Study:
    """Return the study that the options ask for.

    Raises
    ------
    UsageError : an unknown solver, data set, kernel, formulation or metric, a bad parameter of one, or more runs than
        were meant: counted before anything is made of the selections, and again before data are read
    """
    from harness.run.plan import check_names, check_size, count, factors
    from harness.run.record import Limits
    from harness.run.study import Study

    _check_selections(given, registry)
    study = Study(
        solvers=registry.select_solvers(given["plugins"]),
        datasets=[
            _meant(source, given["formulation"], registry) for source in registry.select_datasets(given["datasets"])
        ],
        formulations=given["formulation"],
        kernel=given["kernel"],
        kernel_values={name: given[name] for name in ("gamma", "degree", "coef0") if given[name]},
        problem_values={name: given[name] for name in registry.problem_parameters() if given.get(name)},
        seeds=given["seeds"],
        repeat=given["repeat"],
        limits=Limits.from_columns(given),
        threads=given["threads"],
        jobs=given["jobs"],
        cache_mb=given["cache_mb"],
        order=given["order"],
        fresh=not given["resume"],
        many=given["yes"],
        store=Path(given["store"]) if given["store"] else None,
        plugin_paths=list(given["plugin_path"]),
        metrics=given["metrics"] or [],
        core_set_oracle=given["core_set_oracle"] or "",
        path=given["path"] or {},
        folds=given["folds"] or 0,
        cold=given["cold"],
    )
    check_names(study, registry)  # here already: before data are loaded, and where broken plugins are told of
    check_size(count(study, registry), factors(study, registry), many=study.many)
    return study


def _check_selections(given: dict[str, Any], registry: Registry) -> None:
    """Refuse grids in brackets that alone make too many runs, before any of them is expanded."""
    from harness import selection
    from harness.run.plan import check_size

    asked = [
        (registry.count_solvers(given["plugins"]), "solvers"),
        (sum(item.size for item in selection.parse(given["datasets"], paths=True)), "data sets"),
        (sum(item.size for item in selection.parse(given["kernel"] or "")) or 1, "kernels"),
        (len(given["seeds"]), "seeds"),
        (given["repeat"], "repetitions"),
    ]
    check_size(math.prod(number for number, _ in asked), asked, many=given["yes"])


def _meant(source: DataSource, formulations: Sequence[str] | None, registry: Registry) -> DataSource:
    """Return the source as regression data where only regression is asked for and it has numbers to predict."""
    tasks = {registry.formulation(name).task for name in formulations or []}
    return source.for_task("regression") if tasks == {"regression"} else source


def exit_code(records: Sequence[Record]) -> int:
    """Return 1 if a run failed, did not do what was asked, or nothing ran at all, else 0."""
    return int(any(record.failed for record in records) or all(record.status is Status.SKIPPED for record in records))


def with_cells(records: Sequence[Record]) -> list[Record]:
    """Return the records, behind each path the rows of its cells."""
    return [each for record in records for each in (record, *record.cells)]


def say_what_is_kept(done: int, total: int, study: Study) -> None:
    """Say, of a comparison that was interrupted, how much of it the store has."""
    from harness.run.store import default_store

    store = study.store or default_store()
    measured = f"{done} of {total} runs are finished and kept in {store}" if total else "no run had been started"
    say(f"harness: interrupted; {measured}. The same again goes on where it stopped.")


_LINE = click.core.ParameterSource.COMMANDLINE
_REGISTRY = f"{__name__}.registry"
_STUDIES = f"{__name__}.studies"
_TYPED = f"{__name__}.typed"
_DERIVED = f"{__name__}.derived"


def _values_of(args: Sequence[str], option: str) -> list[str]:
    """Return what an option is given, of arguments that are not read yet."""
    given = [value for name, value in itertools.pairwise(args) if name == option]
    return given + [name.partition("=")[2] for name in args if name.startswith(f"{option}=")]


def context_of(studies: Sequence[StudyFile]) -> click.Context:
    """Return the context of the command that the options of studies make, the later ones before the earlier ones.

    Raises
    ------
    UsageError : as :func:`harness.cli.study_file.options` does.
    """
    program = click.Context(click.Command("harness"), info_name="harness")
    program.meta[_STUDIES] = studies
    return command.make_context("compare", [], parent=program)


def registry_of(ctx: click.Context) -> Registry:
    """Return the registry that the context of studies was made with."""
    return ctx.meta[_REGISTRY]  # type: ignore[no-any-return]


class Comparison(options.SectionedCommand):
    """The command with an option for each parameter of each formulation, those of a plugin that is given by its path too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the options that formulations bring and what a study file says, then read the arguments by them."""
        from harness.cli import derived, loading, study_file

        ctx.meta[_TYPED] = shlex.join([*ctx.command_path.split(), *args])
        paths, studies = _values_of(args, "--plugin-path"), list(ctx.meta.get(_STUDIES, ()))
        if not ctx.resilient_parsing:  # of a completion, for which no plugin runs
            studies += map(study_file.parsed, _values_of(args, "--study"))
            for study in reversed(studies):
                paths = paths or study_file.plugin_paths(study)
        if (studies or paths) and not ctx.resilient_parsing:
            of_the_program = ctx.find_root().params.get("plugin_path", ())
            ctx.meta[_REGISTRY] = loading.registry([*of_the_program, *paths])
            facts = derived.facts_of(ctx.meta[_REGISTRY])
        else:
            facts = names.facts()
        taken = {name for parameter in self.params for name in (parameter.name, *parameter.opts)}
        found = [derived.option(fact, _PROBLEM) for fact in facts]
        ctx.meta[_DERIVED] = [each for each in found if taken.isdisjoint((each.name, *each.opts))]
        for study in studies:
            said = study_file.options(study, self.get_params(ctx), ctx.meta[_REGISTRY])
            ctx.default_map = {**(ctx.default_map or {}), **said}
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the formulations."""
        return [*super().get_params(ctx), *ctx.meta.get(_DERIVED, [])]


command = Comparison(
    "compare",
    params=list[click.Parameter](_PARAMETERS),
    callback=click.pass_context(compare),
    help=_HELP,
    short_help="Run solvers on data sets and show what it cost.",
)
