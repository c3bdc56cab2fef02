"""Which runs of a block go first: those that make a dual, before those whose models need one to meet a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harness.kernels.functions import Linear
from harness.run.plan import Study, block_numbers

if TYPE_CHECKING:
    from harness.registry.discovery import Registry
    from harness.run.messages import RunSpec


def _form(spec: RunSpec, registry: Registry) -> str:
    """Return what the models of a run are made of; empty if it is not run, or if its formulation compares no dual values."""
    if spec.skip_reason or spec.broken_reason or not spec.kernel or spec.path is not None:
        return ""
    is_bounded = registry.formulations[spec.formulation].bounded_from
    return registry.solver_class(f"{spec.plugin}/{spec.solver}").model_form if is_bounded else ""


def makes_dual(spec: RunSpec, registry: Registry) -> bool:
    """Return whether the models of a run are dual solutions, whose values bound the optimum for others."""
    return _form(spec, registry) == "dual_coef"


def lacks_dual(spec: RunSpec, registry: Registry) -> bool:
    """Return whether the models of a run are no dual solutions, but have a primal value, which compares with the duals of others."""
    form = _form(spec, registry)
    return form == "free_coef" or (form == "weights" and issubclass(registry.kernel_class(spec.kernel), Linear))


class Turns:
    """The order of runs where some lack a dual for their target gap: in a block, which is of one formulation here, they are last."""

    def __init__(self, specs: Sequence[RunSpec], study: Study, registry: Registry) -> None:
        self._lacking, self._makers, self._blocks = set[int](), set[int](), list[tuple[int, str]]()
        self._unmade = Counter[tuple[int, str]]()  # runs that make a dual and have not ended, by block
        if study.limits.target_gap is not None:
            self._lacking = {index for index, spec in enumerate(specs) if lacks_dual(spec, registry)}
        if self._lacking:
            self._makers = {index for index, spec in enumerate(specs) if makes_dual(spec, registry)}
            self._blocks = list(zip(block_numbers(specs, study), (spec.formulation for spec in specs), strict=True))
        self._with_dual = {self._blocks[index] for index in self._makers}

    def in_order(self, indices: Iterable[int]) -> list[int]:
        """Return runs in their order, but in each block those that lack a dual behind the others; blocks stay interleaved."""
        order, members = list(indices), dict[tuple[int, str], list[int]]()
        if not self._lacking:
            return order
        for index in sorted(order, key=lambda index: index in self._lacking):
            members.setdefault(self._blocks[index], []).append(index)
        return [members[self._blocks[index]].pop(0) for index in order]

    def begin(self, indices: Iterable[int]) -> None:
        """Take the runs that are to be carried out."""
        self._unmade = Counter(self._blocks[index] for index in indices if index in self._makers)

    def end(self, index: int) -> None:
        """Take note that a run has ended."""
        if index in self._makers:
            self._unmade[self._blocks[index]] -= 1

    def must_wait(self, index: int) -> bool:
        """Return whether a run lacks a dual, and another run of its block that makes one has not ended."""
        return index in self._lacking and self._unmade[self._blocks[index]] > 0

    def expects_dual(self, index: int) -> bool:
        """Return whether a run lacks a dual, and another run of its block makes one."""
        return index in self._lacking and self._blocks[index] in self._with_dual
