"""What is said of a comparison before it starts: options that do nothing, and cores that are not there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.registry import Registry
    from harness.run.study import RunSpec

_KERNEL = ("gamma", "degree", "coef0")


def notes(given: Mapping[str, Any], specs: Iterable[RunSpec], registry: Registry) -> list[str]:
    """Return a sentence for each option that was given and that no run takes a parameter from, and one on scarce cores."""
    formulated = [spec for spec in specs if spec.formulation and spec.kernel]
    if not formulated:
        return []  # plugins that could not be loaded, or solvers that solve nothing of what was asked: they say so
    return [
        *_without_effect(given, formulated, registry),
        *_scarce(given.get("threads", 1), min(given.get("jobs", 1), len(formulated))),
    ]


def _scarce(threads: int, jobs: int) -> list[str]:
    """Return what to expect of more threads than there are cores."""
    cores = len(os.sched_getaffinity(0))
    there = f"{cores} core{'' if cores == 1 else 's'}"
    if threads > cores:
        return [
            f"note: --threads {threads} is more than the {there} here: threads wait for each other, times say little"
        ]
    if threads * jobs > cores:
        each = "" if threads == 1 else f" of {threads} threads each"
        return [f"note: {jobs} runs at a time{each} share {there} here: they wait for each other, times say little"]
    return []


def _without_effect(given: Mapping[str, Any], formulated: Sequence[RunSpec], registry: Registry) -> list[str]:
    """Return a sentence for each option that was given and that no run takes a parameter from."""
    stated = [(registry.formulations[spec.formulation], spec.problem_parameters) for spec in formulated]
    of_problems = {name for formulation, values in stated for name in formulation.counting(values)}
    of_kernels = {name for spec in formulated for name in spec.kernel_parameters}
    found = []
    for name in registry.problem_parameters():
        if given.get(name) and name not in of_problems:
            why = f"none of the chosen solvers solves a formulation with {name}"
            for other in dict.fromkeys(
                formulation.stand_ins()[name] for formulation, values in stated if name in values
            ):
                why = f"{other} is given, and {name} only stands for {other}"
            found.append(_note(name, why))
    for name in _KERNEL:
        if given[name] and name not in of_kernels:
            kernels = ", ".join(dict.fromkeys(spec.kernel for spec in formulated))
            found.append(_note(name, f"the kernel {kernels} has no {name}"))
    recorded = {name for spec in formulated for name in spec.metrics}
    unused = [name for name in given["metrics"] or [] if name not in recorded]
    if unused:
        found.append(f"note: --metrics {','.join(unused)} has no effect: no run predicts labels")
    if given.get("core_set_oracle") and not any(spec.core_set_oracle for spec in formulated):
        solved = ", ".join(dict.fromkeys(spec.formulation for spec in formulated))
        found.append(_note("core_set_oracle", f"{solved} has no core set; hull formulations such as l2-svc have one"))
    return found


def _note(name: str, why: str) -> str:
    return f"note: --{name.replace('_', '-')} has no effect: {why}"
