"""From settings to a `Study`, and through the runner to records: for the command and the call."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from harness.call.settings import SETTINGS
from harness.call.study_file import Mistakes, StudyFile, read
from harness.call.values import AUTO
from harness.datasets.compression import existing_file
from harness.datasets.fetching import is_address, local
from harness.datasets.files import FileSource
from harness.measure.outcome import Limits, Status
from harness.registry.discovery import load_registry, share_registry
from harness.registry.entries import BrokenPlugin, ConfiguredSolver
from harness.registry.plugin_files import module_name, plugin_file
from harness.report.output import say
from harness.run import executors
from harness.run.plan import Study, check_path, check_size, factors
from harness.run.store import default_store
from harness.support import selection
from harness.support.errors import UsageError
from harness.support.selection import Item

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.report.progress import Reporter
    from harness.run.messages import RunSpec
    from harness.run.record import Record

T = TypeVar("T")

_KERNEL_VALUES, _PROBLEM_VALUES = ("gamma",), ("C", "epsilon", "nu")
_OF_THE_STUDY = (
    "seeds", "threads", "jobs", "cache_mb", "metrics", "path", "folds", "cold", "executor", "part", "keep_models"
)  # fmt: skip
"""Settings that a `Study` has under the same names, with its defaults."""
_GRIDS = {"plugins": "solvers", "datasets": "data sets", "kernel": "kernels", "formulation": "formulations"}
DEFAULTS = StudyFile("", None, {name: each.default for name, each in SETTINGS.items() if each.default is not None})


def loaded(plugin_paths: Iterable[str] = (), *, allow_broken: bool = False) -> Registry:
    """Return the registry of the installed plugins and the files of ``plugin_paths``, and share it in this process.

    Raises
    ------
    UsageError : a plugin path that does not exist, or one that cannot be loaded unless ``allow_broken``.
    """
    registry = load_registry(plugin_paths)
    share_registry(registry)  # reports describe the formulations of given plugins too
    if not allow_broken:
        refuse_broken(registry, plugin_paths)
    return registry


def refuse_broken(registry: Registry, plugin_paths: Iterable[str], but: Container[str] = ()) -> None:
    """Raise UsageError if a file of ``plugin_paths`` could not be loaded as a plugin, unless its plugin is in ``but``."""
    for name in (module_name(plugin_file(path)) for path in plugin_paths):
        if name in registry.broken and name not in but:
            raise UsageError(registry.broken[name].sentence)


def warn_of_broken(registry: Registry, but: Container[str] = ()) -> None:
    """Name the plugins that could not be loaded on standard error, a line each, without those in ``but``."""
    for broken in registry.broken.values():
        if broken.plugin not in but:
            say(f"harness: plugin '{broken.plugin}' could not be loaded: {' '.join(broken.reason.split())}")


def build_study(
    sources: Iterable[StudyFile],
    registry: Registry,
    *,
    mistakes: Mistakes | None = None,
    many: bool = False,
    **options: Any,
) -> Study:
    """Return the study of files, a call or a command; a later source replaces settings of an earlier one.

    Installed plugins that could not be loaded are named on standard error, each once, unless they are selected: then they are
    rows of the result. So are files that cannot be loaded, but one that is not selected is a mistake.

    mistakes : those of other options, raised together with these
    many : more than a million runs are allowed
    options : ``fresh`` and ``store`` of the study

    Raises
    ------
    UsageError : all that is wrong, at once: unknown keys, solvers, data sets, kernels, formulations and metrics, refused
        values, or too many runs: counted before selections are expanded, and again before data are read
    """
    try:
        study = _study(sources, registry, mistakes or Mistakes(), many, options)
    except UsageError as error:  # a name may be unknown because its plugin is broken, which the error says then
        message = " ".join(str(error).split())
        warn_of_broken(registry, but=[name for name in registry.broken if f"plugin '{name}'" in message])
        raise
    rows = [item.plugin for item in study.solvers if isinstance(item, BrokenPlugin)]
    refuse_broken(registry, study.plugin_paths, but=rows)
    warn_of_broken(registry, but=rows)
    return study


def _study(
    sources: Iterable[StudyFile], registry: Registry, wrong: Mistakes, many: bool, options: Mapping[str, Any]
) -> Study:
    values: dict[str, Any] = dict.fromkeys(SETTINGS) | read(DEFAULTS, registry, wrong)
    given = dict[str, Any]()
    for source in sources:
        given |= read(source, registry, wrong)
    values |= given
    if not values["plugins"] and not wrong.errors:
        wrong.add("", UsageError(f"{source.called('plugins')} is missing; name solvers, for example lasvm,fw."))
    sizes = {nouns: sum(getattr(item, "size", 1) for item in values[name] or ()) for name, nouns in _GRIDS.items()}
    sizes |= {"seeds": len(values["seeds"]), "repetitions": _repetitions(values) or 1}
    check_size([(size or 1, nouns) for nouns, size in sizes.items()], many=many)
    solvers = _select("plugins", values, registry.select_solvers, wrong)
    kernels = _select_together("kernel", values, registry.select_kernels, wrong)
    formulations = _select_together("formulation", values, registry.select_formulations, wrong)
    oracle = ",".join(map(selection.text_of, values["core_set_oracle"] or ()))
    if oracle:
        wrong.collect("core_set_oracle", registry.solver, oracle)
    values["metrics"] = [wrong.collect("metrics", registry.known, "metric", name) for name in values["metrics"] or ()]
    tasks = {registry.formulation(name).task for name in formulations or ()}
    datasets = _select("datasets", values, registry.select_datasets, wrong)
    if tasks == {"regression"}:
        datasets = [source.for_task("regression") for source in datasets]
    files = [source for source in datasets if isinstance(source, FileSource)]
    for file in files if wrong.errors else ():  # else its reader refuses it
        if not is_address(file.path):
            wrong.collect("datasets", existing_file, file.path)
    study = Study(
        solvers=solvers,
        datasets=datasets,
        formulations=list(formulations) if formulations else None,
        formulation_values={name: axes for name, axes in (formulations or {}).items() if axes},
        kernel=",".join(map(selection.text_of, values["kernel"])) if kernels else None,
        kernel_values={name: values[name] for name in _KERNEL_VALUES if values[name]},
        problem_values={name: values[name] for name in _PROBLEM_VALUES if values[name]},
        limits=Limits(**{limit.name: values[limit.name] for limit in fields(Limits)}),
        repeat=_repetitions(values),
        time_budget="time_limit" in given,
        plugin_paths=values["plugin_path"] or [],
        core_set_oracle=oracle,
        **{name: values[name] for name in _OF_THE_STUDY if values[name]},
        **options,
    )
    if study.executor:
        wrong.collect("executor", executors.select_executor, study.executor, registry)
        if study.jobs > 1:
            elsewhere = "it is for runs on this machine; with --executor the slots of the nodes decide."
            wrong.add("jobs", UsageError(elsewhere))
    if "path" in given or "path" not in wrong.where:
        wrong.collect("", check_path, study, registry)
    wrong.refuse()
    for address in filter(is_address, [address for file in files for address in (file.path, file.test or "")]):
        local(address, tell=lambda text: say(f"note: {text}"))
    check_size(factors(study, registry), many=many)
    return study


def _select(
    name: str, values: Mapping[str, Any], select: Callable[[Sequence[Item]], list[Any]], wrong: Mistakes
) -> list[Any]:
    """Return what the items of a setting select, each thing once; objects are selected already."""
    chosen: dict[Any, Any] = {}
    for item in values[name] or ():
        things = (wrong.collect(name, select, [item]) or ()) if isinstance(item, Item) else [item]
        chosen |= {(type(thing), repr(thing)): thing for thing in things}
    return list(chosen.values())


def run_study(study: Study, registry: Registry, progress: Reporter, *, quiet: bool) -> list[Record]:
    """Run a study and return its records; ``progress`` shows its runs, and the notes before they start.

    Errors as :class:`harness.run.driver.Driver`. At a KeyboardInterrupt the user reads what the store has.
    """
    from harness.run.driver import Driver

    store = study.store or default_store()
    is_new = not store.exists()

    def planned(specs: list[RunSpec], reused: int) -> None:
        if is_new and not quiet:
            progress.say(f"note: the result store {store} is new; every run is stored in it")
        progress.planned(specs, reused)
        if not specs:
            progress.say("note: part {0}/{1} has no runs: there are fewer than {0} blocks of runs".format(*study.part))
        for sentence in notes(study, specs, registry):
            progress.say(sentence)

    try:
        with progress:
            shown = {f"on_{name}": getattr(progress, name) for name in ("repeated", "started", "finished", "working")}
            driver = Driver(study, registry, on_planned=planned, on_note=progress.say, **shown)
            records = driver.run()
            if study.keep_models and not quiet:
                progress.say(f"note: the new models take {driver.kept_bytes / 1e6:,.2f} MB of the store {store}")
            return records
    except KeyboardInterrupt:  # the live display is gone
        done, total = progress.done, progress.total
        measured = f"{done} of {total} runs are finished and stored in {store}" if total else "no run had been started"
        say(f"harness: interrupted; {measured}. The same command or call continues from there.")
        raise


def _select_together(name: str, values: Mapping[str, Any], select: Callable[[Any], T], wrong: Mistakes) -> T | None:
    """Return what the items of a setting select together, None without any; each that is refused is a mistake of its own."""
    items, before = values[name] or (), len(wrong.errors)
    for item in items:
        wrong.collect(name, select, [item])
    return wrong.collect(name, select, items) if items and len(wrong.errors) == before else None


def _repetitions(values: Mapping[str, Any]) -> int | None:
    """Return how often runs are carried out; None: until the fastest solvers are known, as where a target is given."""
    repeat = values["repeat"] or (AUTO if values["target_gap"] else 1)
    return None if repeat == AUTO else int(repeat)


def exit_code(records: Sequence[Record]) -> int:
    """Return 1 if a run failed or missed the target, or every run was skipped, else 0: also for an empty part."""
    return int(any(record.failed for record in records) or {record.status for record in records} == {Status.SKIPPED})


def with_cells(records: Sequence[Record]) -> list[Record]:
    """Return the records, each path followed by its cells."""
    return [row for record in records for row in (record, *record.cells)]


# -- notes before a comparison starts ----------------------------------------------------------------------


def notes(study: Study, specs: Iterable[RunSpec], registry: Registry) -> list[str]:
    """Return notes on runs that can have no gap, on settings without effect, and on too few cores."""
    runs = [spec for spec in specs if spec.formulation and spec.kernel]
    if not runs:
        return []  # broken plugins, or solvers that solve none of the formulations: their rows have the reason
    targeted = _uncertifiable(runs, registry) if study.limits.target_gap else ()
    others = *_shared_names(study, registry), *_unused(study, runs, registry), *_scarce(study, len(runs))
    return [f"note: {text}" for text in (*targeted, *others)]


def _shared_names(study: Study, registry: Registry) -> Iterable[str]:
    """Yield a sentence for each solver of the harness whose name solvers of other plugins have too."""
    for item in {item.solver.name: item for item in study.solvers if isinstance(item, ConfiguredSolver)}.values():
        others = [name for name in registry.rivals("solver", item.solver.name) if "/" in name]
        if others and registry.owner("solver", item.solver.name) == item.plugin:
            name = item.solver.name
            yield f"{name} is {item.plugin}/{name}, which comes with the harness; there is {' and '.join(others)} too"


def _unused(study: Study, runs: Sequence[RunSpec], registry: Registry) -> Iterable[str]:
    """Yield a sentence for each setting that no run uses."""
    used = set[str]()
    for run in runs:
        of_problem = registry.formulations[run.formulation].counting(run.problem_parameters)
        used.update(of_problem, run.kernel_parameters, run.metrics)
    solved = ", ".join(dict.fromkeys(f"{run.formulation} with the kernel {run.kernel}" for run in runs))
    for name in (*study.problem_values, *study.kernel_values):
        if name not in used:
            yield f"--{name} has no effect: {solved} has no parameter {name}"
    if unused := [name for name in study.metrics if name not in used]:
        yield f"--metrics {','.join(unused)} has no effect: no run predicts labels"
    if study.core_set_oracle and not any(run.core_set_oracle for run in runs):
        yield f"--core-set-oracle has no effect: {solved} has no core set; hull formulations such as l2-svc have one"


def _uncertifiable(runs: Sequence[RunSpec], registry: Registry) -> Iterable[str]:
    """Yield a sentence for each solver whose runs can have no certified gap, or only with the dual of another run."""
    from harness.kernels.functions import Linear
    from harness.measure.scored import no_gap
    from harness.run.dual_bounds import lacks_dual, makes_dual, solvers_with_dual

    sentences, duals = dict[str, None](), {run.formulation for run in runs if makes_dual(run, registry)}
    for run in runs:
        if run.skip_reason or run.broken_reason:
            continue
        form = registry.solver_class(f"{run.plugin}/{run.solver}").model_form
        formulation = registry.formulations[run.formulation]
        of = no_gap(form, formulation, linear=issubclass(registry.kernel_class(run.kernel), Linear))
        if of and not lacks_dual(run, registry):
            never = f"{run.solver} cannot reach the target: no gap can be certified of {of}; its rows end as missed"
            sentences[never] = None
        elif of and run.formulation not in duals:
            able = " or ".join(solvers_with_dual(formulation, registry)) or "a solver with a dual"
            only = f"{run.solver} reaches the target only with the dual of another run of the same problem"
            sentences[f"{only}; unless the store has one, add {able} to --plugins"] = None
    yield from sentences


def _scarce(study: Study, runs: int) -> Iterable[str]:
    """Yield a sentence if there are more threads than cores."""
    cores, jobs = len(os.sched_getaffinity(0)), min(study.jobs, runs)
    if study.threads * jobs > cores:
        given = " ".join(f"--{name} {n}" for name, n in (("threads", study.threads), ("jobs", jobs)) if n > 1)
        needed = f"{study.threads * jobs} cores, and there {'is' if cores == 1 else 'are'} {cores}"
        yield f"{given} needs {needed}: runs wait for each other, so their times mean nothing."
