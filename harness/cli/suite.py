"""``harness import-suite``: the SVM cases of a suite that others made, as studies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from harness.cli import sklbench, values
from harness.cli.commands import PROGRAM
from harness.cli.say import say
from harness.errors import UsageError
from harness.parameters import did_you_mean

_SOLVERS = {"sklearn": "libsvm", "sklearnex": "sklearnex", "daal4py": "sklearnex"}
_FORMULATIONS = {"SVC": ("c-svc", "C"), "SVR": ("eps-svr", "C", "epsilon"), "NuSVC": ("nu-svc", "nu")}
_USUAL = {
    "C": 1.0,
    "epsilon": 0.1,
    "nu": 0.5,
    "kernel": "rbf",
    "gamma": "scale",
    "degree": 3,
    "coef0": 0.0,
    "tol": 1e-3,
}
"""What scikit-learn takes where a case says nothing."""
_KERNELS = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0")}
_TEXTS = ("plugins", "datasets", "formulation", "kernel")
_OF_KERNELS = ("gamma", "degree", "coef0")
_SETS = {"a9a": "adult", "mnist": "mnist", "covtype": "covtype", "covertype": "covtype", "letters": "letter"}
_WHY = {
    "NuSVR": "there is no formulation of regression with nu",
    "cuml": "it runs on a GPU and is no solver here",
    "sigmoid": "it is not positive definite, and no kernel here",
}
_HELP = f"""\
Write the SVM cases of a suite as studies, one file for each grid.

SUITE is a configuration of scikit-learn_bench, such as its configs/weekly/svm.json, with the files that it includes.
What a study cannot say is told, a line for each reason. A data set that is not here is left out unless --data names a
file of yours for it.

\b
{PROGRAM} import-suite configs/weekly/svm.json --output studies --data ijcnn=ijcnn1.bz2
{PROGRAM} compare --study studies/01-c-svc-adult.toml
"""


@dataclass
class Told:
    """What became of the cases: sentence -> how many it is true of.

    left_out : of those that no study has
    changed : of those that are there, and measure something else than the suite does
    """

    left_out: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)


def _files(text: str) -> dict[str, str]:
    found = {}
    for part in values.labels(text):
        name, equals, file = part.partition("=")
        if not (name and equals and file):
            raise ValueError(text)
        found[name.strip()] = file.strip()
    return found


_DATA = values.Converted(
    "NAME=FILE", _files, "a data set of the suite and a selection; write for example ijcnn=./ijcnn1.bz2"
)


@click.command("import-suite", help=_HELP, short_help="Write the cases of scikit-learn_bench as studies.")
@click.argument("suite", type=click.Path(), metavar="SUITE")
@click.option("--output", metavar="FOLDER", required=True, help="Where the studies go; made if it is not there.")
@click.option(
    "--data",
    multiple=True,
    type=_DATA,
    help="What stands for a data set of the suite: a file or a selection. Repeatable.",
)
def command(suite: str, output: str, data: Sequence[Mapping[str, str]]) -> None:
    """Write a study for each grid of cases, and say what is not in them."""
    from harness.cli import study_text

    folder = Path(output)
    own = {name: chosen for each in data for name, chosen in each.items()}
    # a path in a study leads from where the study lies
    known = _SETS | {name: study_text.moved(text, Path.cwd(), folder.resolve()) for name, text in own.items()}
    told = Told()
    found = sklbench.cases(Path(suite))
    sets = {str(case["data"].get("dataset")) for case in found}
    for name in own.keys() - sets:
        known_ = ", ".join(sorted(sets - {"None"}))
        raise UsageError(
            f"--data: no case of {suite} has the data set '{name}'{did_you_mean(name, sets)}; they have {known_}."
        )
    studies = grids([study for case in found if (study := study_of(case, known, told)) is not None])
    targets = [folder / f"{number:02}-{_name(study)}.toml" for number, study in enumerate(studies, start=1)]
    there = [target for target in targets if target.exists()]
    if there or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"--output: {(there or [folder])[0]} is there already; name another folder.")
    if studies:
        folder.mkdir(parents=True, exist_ok=True)
    for target, study in zip(targets, studies, strict=True):
        study_text.save(
            study, target, comment=f"From {Path(suite).name} of scikit-learn_bench, by `{PROGRAM} import-suite`."
        )
    _tell(told, len(found), targets)


def _tell(told: Told, count: int, targets: Sequence[Path]) -> None:
    for why, times in told.left_out.most_common():
        say(f"left out, {_of_cases(times)}: {why}")
    for what, times in told.changed.most_common():
        say(f"changed, {_of_cases(times)}: {what}")
    left = sum(told.left_out.values())
    say(
        f"{_of_cases(count)}: {count - left:,} in {len(targets)} stud{'y' if len(targets) == 1 else 'ies'}, {left:,} left out"
    )
    for target in targets:
        click.echo(f"{PROGRAM} compare --study {target}")


def _of_cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count:,} cases"


def study_of(case: Mapping[str, Any], data: Mapping[str, str], told: Told) -> dict[str, Any] | None:
    """Return the study of a case alone, as :func:`harness.cli.study_text.write` takes it; None: it is told why there is none."""
    algorithm, given, bench = (dict(case[name]) for name in ("algorithm", "data", "bench"))
    params = dict(algorithm.pop("estimator_params"))
    library, device, estimator = (str(algorithm.pop(name, "")) for name in ("library", "device", "estimator"))
    dataset = given.pop("dataset", None)
    kernel = str(params.pop("kernel", _USUAL["kernel"]))
    why = _why_not(library, device, estimator, kernel, dataset, given.get("source"), data)
    if why:
        told.left_out[why] += 1
        return None
    formulation, *names = _FORMULATIONS[estimator]
    study: dict[str, Any] = {"plugins": _SOLVERS[library], "datasets": data[str(dataset)], "formulation": formulation}
    study |= {name: params.pop(name, _USUAL[name]) for name in names}
    study["kernel"] = kernel
    study |= {name: params.pop(name, _USUAL[name]) for name in _OF_KERNELS}
    if study["gamma"] == "auto" and "gamma" in _KERNELS[kernel]:
        told.left_out["gamma 'auto', 1 / d, depends on the data; write a number into the suite's file"] += 1
        return None
    tol = params.pop("tol", _USUAL["tol"])
    if tol != _USUAL["tol"]:
        study["plugins"] += f"[tol={tol}]"
    study |= {ours: kept.pop(theirs) for kept, theirs, ours in _taken_over(params, bench) if theirs in kept}
    numbers = {name: value for name, value in {**study, "tol": tol}.items() if name not in _TEXTS and value != "scale"}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            told.left_out[f"{name} is {sklbench.shortened(value)}, which is no number"] += 1
            return None
    if "time_limit" in study:
        study["time_limit"] = str(study["time_limit"])
    _tell_changes(dataset, str(dataset) in _SETS and data[str(dataset)] == _SETS[str(dataset)], given, told)
    rest = {**_flat("algorithm", algorithm), **_flat("estimator_params", params), **_flat("bench", bench)}
    for name, value in rest.items():
        told.changed[f"{name} {sklbench.shortened(value)} is not taken over"] += 1
    return study


def _taken_over(params: dict[str, Any], bench: dict[str, Any]) -> list[tuple[dict[str, Any], str, str]]:
    """Return what has the same meaning in a study: where it is, its name there, its name here."""
    return [(params, "cache_size", "cache_mb"), (bench, "n_runs", "repeat"), (bench, "time_limit", "time_limit")]


def _why_not(
    library: str, device: str, estimator: str, kernel: str, dataset: Any, source: Any, data: Mapping[str, str]
) -> str:
    """Return why no study can have a case, in a sentence; empty: one can."""
    if estimator not in _FORMULATIONS:
        return f"the estimator {estimator or '(none)'}: {_WHY.get(estimator, 'it is no support vector machine that is known here')}"
    if library not in _SOLVERS:
        return f"the library {library or '(none)'}: {_WHY.get(library, 'it is no solver here')}"
    if device not in ("", "default", "cpu", "host", "none"):
        return f"the device {device}: the solvers here run on the CPU"
    if kernel not in _KERNELS:
        return f"the kernel {kernel}: {_WHY.get(kernel, 'it is none that is known here')}"
    if dataset is None:
        return f"data of {source or 'no source'}, which are not made here; write them to a file, and name the file in the suite"
    if str(dataset) not in data:
        return f"the data set {dataset} is not here; name a file of it: --data {dataset}=FILE"
    return ""


def _tell_changes(dataset: Any, ours: bool, given: dict[str, Any], told: Told) -> None:
    """Say where the data that are measured are not those of the suite."""
    if ours:
        of = " the digit 8 against the others," if dataset == "mnist" else ""
        told.changed[f"{dataset} is {_SETS[dataset]} as it is here:{of} its own split and scaling"] += 1
        for name in ("split_kwargs", "preprocessing_kwargs"):
            given.pop(name, None)
    for name, value in _flat("data", given).items():
        told.changed[f"{name} {sklbench.shortened(value)} is not taken over"] += 1


def _flat(name: str, value: Any) -> dict[str, Any]:
    """Return nested settings by their whole names: ``data:split_kwargs:train_size``."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: each for inner, own in value.items() for key, each in _flat(f"{name}:{inner}", own).items()}


def grids(studies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return fewer studies for the same cases: those that differ in solvers, then in kernels, then in data sets alone are one."""
    for name in ("plugins", "kernel", "datasets"):
        joined: dict[str, dict[str, Any]] = {}
        for study in studies:
            listed = study[name] if isinstance(study[name], list) else [study[name]]
            shared = sorted((key, value) for key, value in study.items() if key != name)
            first = joined.setdefault(repr(shared), {**study, name: []})
            first[name] = list(dict.fromkeys([*first[name], *listed]))
        studies = list(joined.values())
    return [_of_its_kernels(study) for study in studies]


def _of_its_kernels(study: dict[str, Any]) -> dict[str, Any]:
    """Return a study without the parameters that none of its kernels has."""
    taken = {name for kernel in study["kernel"] for name in _KERNELS[kernel]}
    own = {name: value for name, value in study.items() if name not in _OF_KERNELS or name in taken}
    return {**own, "kernel": ",".join(study["kernel"])}


def _name(study: Mapping[str, Any]) -> str:
    """Return what a study's file is called: ``c-svc-adult``; of a file of the user's the file's name."""
    sets = [Path(text.partition("[")[0]).name for text in study["datasets"]]
    text = f"{study['formulation']}-{sets[0] if len(sets) == 1 else f'{len(sets)}-data-sets'}"
    return re.sub(r"[^\w.-]+", "-", text)[:60]
