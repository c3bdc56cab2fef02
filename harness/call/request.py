"""From settings to a `Study`, and through the runner to records: what the command and the call have in common."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from harness.call import study_file
from harness.call.settings import SETTINGS
from harness.call.study_file import Mistakes
from harness.call.values import AUTO
from harness.datasets.compression import existing_file
from harness.datasets.fetching import is_address, local
from harness.datasets.files import FileSource
from harness.measure.outcome import Limits, Status
from harness.registry.discovery import load_registry, share_registry
from harness.registry.entries import BrokenPlugin, ConfiguredSolver
from harness.report.output import say
from harness.run import executors
from harness.run.plan import Study, check_path, check_size, factors
from harness.run.store import default_store
from harness.support import parameters, selection
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.call.study_file import StudyFile
    from harness.datasets.dataset import DataSource
    from harness.registry.discovery import Registry
    from harness.report.progress import Reporter
    from harness.run.messages import RunSpec
    from harness.run.record import Record
    from harness.solver.protocol import Solver

_KERNEL_VALUES, _PROBLEM_VALUES = ("gamma",), ("C", "epsilon", "nu")


def loaded(plugin_paths: Iterable[str] = ()) -> Registry:
    """Return the registry of the installed plugins and the files of ``plugin_paths``, the one of this process then.

    Raises
    ------
    UsageError : a plugin path that does not exist.
    """
    registry = load_registry(plugin_paths)
    share_registry(registry)  # a report tells of the formulations that were run, a given plugin's too
    return registry


def warn_of_broken(registry: Registry, but: Container[str] = ()) -> None:
    """Say on standard error which plugins could not be loaded, those in ``but`` excepted, a line each."""
    for broken in registry.broken.values():
        if broken.plugin not in but:
            say(f"harness: plugin '{broken.plugin}' could not be loaded: {' '.join(broken.reason.split())}")


def asked(sources: Iterable[StudyFile], registry: Registry, *, mistakes: Mistakes | None = None, **how: Any) -> Study:
    """Return the study that files, a call or a command ask for, and say which plugins could not be loaded; errors as `study_of`.

    mistakes : that were found before
    how : ``fresh``, ``many`` and ``store`` of the study
    """
    try:
        study = study_of(sources, registry, mistakes=mistakes, **how)
    except UsageError as error:  # perhaps a name is not known because its plugin is broken: said once
        told = " ".join(str(error).split())
        warn_of_broken(registry, but=[name for name in registry.broken if f"plugin '{name}'" in told])
        raise
    warn_of_broken(registry, but=[item.plugin for item in study.solvers if isinstance(item, BrokenPlugin)])
    return study


def study_of(
    sources: Iterable[StudyFile], registry: Registry, *, mistakes: Mistakes | None = None, **how: Any
) -> Study:
    """Return the study that files, a call or a command ask for, the later ones before the earlier ones.

    What is not given is as it comes.

    Raises
    ------
    UsageError : all that is wrong, at once: unknown keys, solvers, data sets, kernels, formulations and metrics, values that are
        not taken, or more runs than were meant: counted before anything is made of the selections, and again before data are
        read
    """
    wrong = mistakes or Mistakes()
    given: dict[str, Any] = {"plugins": []}
    for source in sources:
        given |= study_file.read(source, registry, wrong)
    said = {name: given.get(name, setting.usual) for name, setting in SETTINGS.items()}
    if not said["plugins"] and not wrong.found:
        missing = f"{source.called('plugins')} is missing; name solvers or whole plugins, for example lasvm,fw."
        wrong.add("", UsageError(missing))
    _check_selections(said, many=how.get("many", False))
    selects: dict[str, Callable[[Any], Any]] = {
        "plugins": registry.select_solvers,
        "datasets": registry.select_datasets,
        "kernel": registry.select_kernels,
        "formulation": registry.select_formulations,
        "core_set_oracle": registry.solver,
    }
    chosen = {name: _selected(name, select, said[name], wrong) for name, select in selects.items() if said[name]}
    for name in said["metrics"] or ():
        wrong.taken("metrics", parameters.check_known, "metric", name, registry.metrics)
    formulations = chosen.get("formulation")
    datasets = [_meant(each, formulations, registry) for each in chosen["datasets"] or []]
    for each in datasets if wrong.found else ():  # else it is told of where it is read
        if isinstance(each, FileSource) and not is_address(each.path):
            wrong.taken("datasets", existing_file, each.path)
    study = Study(
        solvers=chosen.get("plugins") or [],
        datasets=datasets,
        formulations=None if formulations is None else list(formulations),
        formulation_values={name: values for name, values in (formulations or {}).items() if values},
        kernel=said["kernel"],
        kernel_values={name: said[name] for name in _KERNEL_VALUES if said[name]},
        problem_values={name: said[name] for name in _PROBLEM_VALUES if said[name]},
        seeds=said["seeds"],
        repeat=_repetitions(said),
        limits=Limits(**{each.name: said[each.name] for each in fields(Limits)}),
        threads=said["threads"],
        jobs=said["jobs"],
        cache_mb=said["cache_mb"],
        plugin_paths=list(said["plugin_path"]),
        metrics=said["metrics"] or [],
        core_set_oracle=said["core_set_oracle"] or "",
        path=said["path"] or {},
        folds=said["folds"] or 0,
        cold=said["cold"],
        executor=said["executor"] or "",
        part=said["part"] or (1, 1),
        **how,
    )
    if said["executor"]:
        wrong.taken("executor", executors.select_executor, said["executor"], registry)
        if said["jobs"] > 1:
            wrong.add(
                "jobs", UsageError("it says how many runs go on at once here; with an executor its nodes' slots do.")
            )
    if "path" in given or "path" not in wrong.where:
        wrong.taken("", check_path, study, registry)
    wrong.refuse()
    for each in datasets:
        for address in filter(is_address, (each.path, each.test or "") if isinstance(each, FileSource) else ()):
            local(address, tell=lambda told: say(f"note: {told}"))
    check_size(factors(study, registry), many=study.many)
    return study


def _selected(name: str, select: Callable[[Any], Any], given: Any, mistakes: Mistakes) -> Any:
    """Return what selections mean; what is wrong in any of their items goes to ``mistakes``, and None is returned."""
    try:
        return select(given)
    except UsageError as error:
        before = len(mistakes.found)
        with contextlib.suppress(UsageError):
            for item in selection.parse(given, paths=name == "datasets"):
                mistakes.taken(name, select, selection.text_of(item))
        if len(mistakes.found) == before:  # each is right alone
            mistakes.add(name, error)
        return None


_GRIDS = {"plugins": "solvers", "datasets": "data sets", "kernel": "kernels", "formulation": "formulations"}


def _check_selections(said: Mapping[str, Any], *, many: bool) -> None:
    """Refuse grids in brackets that alone make too many runs, before any of them is expanded."""
    sizes = []
    for name, nouns in _GRIDS.items():
        with contextlib.suppress(UsageError):  # what is no selection is told of where it is taken
            items = selection.parse(said[name] or "", paths=name == "datasets")
            sizes.append((sum(item.size for item in items) or 1, nouns))
    check_size([*sizes, (len(said["seeds"]), "seeds"), (_repetitions(said) or 1, "repetitions")], many=many)


def _meant(source: DataSource, formulations: Iterable[str] | None, registry: Registry) -> DataSource:
    """Return the source as regression data where only regression is asked for and it has numbers to predict."""
    tasks = {registry.formulation(name).task for name in formulations or ()}
    return source.for_task("regression") if tasks == {"regression"} else source


def run_study(study: Study, registry: Registry, progress: Reporter, *, quiet: bool) -> list[Record]:
    """Carry out a study, telling ``progress`` of its runs and of what is to be said before they start.

    Errors as :class:`harness.run.driver.Driver`. At a KeyboardInterrupt it says what the store has, and passes it on.
    """
    from harness.run.driver import Driver

    store = study.store or default_store()
    is_new = not store.exists()

    def planned(specs: list[RunSpec], reused: int) -> None:
        if is_new and not quiet:
            progress.say(f"note: the result store {store} is new; every run is kept in it")
        progress.planned(specs, reused)
        if not specs:
            progress.say(
                "note: part {0}/{1} has no runs, as there are fewer than {0} blocks of runs".format(*study.part)
            )
        for note in notes(study, specs, registry):
            progress.say(note)

    try:
        with progress:
            return Driver(
                study,
                registry,
                on_planned=planned,
                on_repeated=progress.repeated,
                on_started=progress.started,
                on_finished=progress.finished,
                on_note=progress.say,
                on_working=progress.working,
            ).run()
    except KeyboardInterrupt:  # said when the live display is gone
        done, total = progress.done, progress.total
        measured = f"{done} of {total} runs are finished and kept in {store}" if total else "no run had been started"
        say(f"harness: interrupted; {measured}. The same command goes on from there.")
        raise


def _repetitions(said: Mapping[str, Any]) -> int | None:
    """Return how often runs are carried out; None: until the fastest solvers are known, as where a target is given."""
    repeat = said["repeat"] or (AUTO if said["target_gap"] else 1)
    return None if repeat == AUTO else int(repeat)


def exit_code(records: Sequence[Record]) -> int:
    """Return 1 if a run failed, did not do what was asked, or every run was skipped, else 0: also for an empty part."""
    skipped = [record.status is Status.SKIPPED for record in records]
    return int(any(record.failed for record in records) or (bool(skipped) and all(skipped)))


def with_cells(records: Sequence[Record]) -> list[Record]:
    """Return the records, behind each path the rows of its cells."""
    return [each for record in records for each in (record, *record.cells)]


# -- what is said before a comparison starts ---------------------------------------------------------------


def notes(study: Study, specs: Iterable[RunSpec], registry: Registry) -> list[str]:
    """Return a sentence for each solver that can have no gap, for each setting that no run uses, and on too few cores."""
    formulated = [spec for spec in specs if spec.formulation and spec.kernel]
    if not formulated:
        return []  # plugins that could not be loaded, or solvers that solve nothing of what was asked: they say so
    unused = [*uncertifiable(study, specs, registry)]
    unused += [f"note: --{name} has no effect: {why}" for name, why in _unused(study, formulated, registry)]
    return [*unused, *scarce(study, len(formulated))]


def _unused(study: Study, formulated: Sequence[RunSpec], registry: Registry) -> Iterable[tuple[str, str]]:
    """Yield each setting that was given and that no run uses, and why."""
    taken = {
        name
        for spec in formulated
        for name in registry.formulations[spec.formulation].counting(spec.problem_parameters)
    }
    solved, kernels = (
        ", ".join(dict.fromkeys(getattr(spec, what) for spec in formulated)) for what in ("formulation", "kernel")
    )
    for name in study.problem_values:
        if name not in taken:
            yield name, f"no run of {solved} takes a {name}"
    for name in study.kernel_values:
        if not any(name in spec.kernel_parameters for spec in formulated):
            yield name, f"the kernel {kernels} has no {name}"
    unused = [name for name in study.metrics if not any(name in spec.metrics for spec in formulated)]
    if unused:
        yield f"metrics {','.join(unused)}", "no run predicts labels"
    if study.core_set_oracle and not any(spec.core_set_oracle for spec in formulated):
        yield "core-set-oracle", f"{solved} has no core set; hull formulations such as l2-svc have one"


def _same_at_the_target(study: Study) -> Iterable[str]:
    """Yield a note on the solvers that differ only in parameters which the target gap sets: their rows are the same run."""
    from harness.solver.protocol import with_target

    told: dict[tuple[Any, ...], list[Solver]] = {}
    for item in (each for each in study.solvers if isinstance(each, ConfiguredSolver)):
        with contextlib.suppress(Exception):  # a plugin's code: its runs say what is wrong
            run = item.plugin, with_target(item.solver, study.limits.target_gap), repr(item.problem_values)
            told.setdefault(run, []).append(item.solver)
    for same in told.values():
        values = [parameters.values_of(each) for each in same]
        if swept := [name for name in values[0] if any(each[name] != values[0][name] for each in values)]:
            labels = " and ".join(each.label for each in same)
            yield f"note: {labels} are the same run: the target gap sets {' and '.join(swept)}"


def uncertifiable(study: Study, specs: Iterable[RunSpec], registry: Registry) -> Iterable[str]:
    """Yield, where a gap is asked for, which solvers it makes alike, and each kind of run that can have none, and why."""
    if study.limits.target_gap is None:
        return
    from harness.kernels.functions import Linear
    from harness.measure.scored import no_gap

    yield from _same_at_the_target(study)
    told: dict[tuple[str, str], None] = {}
    for spec in specs:
        if spec.formulation and spec.kernel and not (spec.skip_reason or spec.broken_reason):
            form = registry.solver_class(f"{spec.plugin}/{spec.solver}").model_form
            linear = issubclass(registry.kernel_class(spec.kernel), Linear)
            told[spec.solver, no_gap(form, registry.formulations[spec.formulation], linear=linear)] = None
    for solver, of in told:
        if of:
            yield f"note: {solver} cannot reach the target: no gap can be certified of {of}; these rows end as missed"


def scarce(study: Study, runs: int) -> list[str]:
    """Return what to expect of more threads than there are cores."""
    cores, jobs = len(os.sched_getaffinity(0)), min(study.jobs, runs)
    if study.threads * jobs <= cores:
        return []
    asked_for = " ".join(f"--{name} {n}" for name, n in (("threads", study.threads), ("jobs", jobs)) if n > 1)
    there = f"{study.threads * jobs} cores, and there {'is' if cores == 1 else 'are'} {cores}"
    return [f"note: {asked_for} needs {there}: runs wait for each other, so their times mean nothing."]
