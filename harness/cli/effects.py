"""Which options of a comparison do nothing: no planned run has the parameter they set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.registry import Registry
    from harness.run.study import RunSpec

_KERNEL = ("gamma", "degree", "coef0")


def notes(given: Mapping[str, Any], specs: Iterable[RunSpec], registry: Registry) -> list[str]:
    """Return a sentence for each option that was given and that no run takes a parameter from."""
    formulated = [spec for spec in specs if spec.formulation and spec.kernel]
    if not formulated:
        return []  # plugins that could not be loaded, or solvers that solve nothing of what was asked: they say so
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
