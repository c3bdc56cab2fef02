"""Which options of a comparison do nothing: no planned run has the parameter they set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.run.study import RunSpec

_PROBLEM = ("C", "chi", "D", "epsilon", "nu", "s", "class_weight")
_KERNEL = ("gamma", "degree", "coef0")


def notes(given: Mapping[str, Any], specs: Iterable[RunSpec]) -> list[str]:
    """Return a sentence for each option that was given and that no run takes a parameter from."""
    formulated = [spec for spec in specs if spec.formulation and spec.kernel]
    if not formulated:
        return []  # plugins that could not be loaded, or solvers that solve nothing of what was asked: they say so
    of_problems = {name for spec in formulated for name in _used(spec.problem_parameters)}
    of_kernels = {name for spec in formulated for name in spec.kernel_parameters}
    found = []
    for name in _PROBLEM:
        if given[name] and name not in of_problems:
            why = f"none of the chosen solvers solves a formulation with {name}"
            if name == "C" and "chi" in of_problems:
                why = "chi is given, and C only stands for chi"
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


def _used(parameters: Mapping[str, Any]) -> list[str]:
    """Return the parameters that count: C only stands for chi where chi is not given."""
    replaced = parameters.get("chi") is not None
    return [name for name in parameters if not (name == "C" and replaced)]


def _note(name: str, why: str) -> str:
    return f"note: --{name.replace('_', '-')} has no effect: {why}"
