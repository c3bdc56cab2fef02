"""Which runs of a block go first: those that make a dual, before those whose models need one to meet a target."""

from __future__ import annotations

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
    """Which runs of a study go first: in a block those that make a dual, before those whose models need one for their target."""

    def __init__(self, specs: Sequence[RunSpec], study: Study, registry: Registry) -> None:
        self.lacking, self._makers, self._blocks = set[int](), set[int](), list[tuple[int, str]]()
        if study.limits.target_gap is not None:
            self.lacking = {index for index, spec in enumerate(specs) if lacks_dual(spec, registry)}
        if self.lacking:
            self._makers = {index for index, spec in enumerate(specs) if makes_dual(spec, registry)}
            self._blocks = list(zip(block_numbers(specs, study), (spec.formulation for spec in specs), strict=True))

    def in_order(self, indices: Iterable[int]) -> list[int]:
        """Return runs in their order, but in each block those that lack a dual behind the others; blocks stay interleaved."""
        order, members = list(indices), dict[tuple[int, str], list[int]]()
        if not self.lacking:
            return order
        for index in sorted(order, key=lambda index: index in self.lacking):
            members.setdefault(self._blocks[index], []).append(index)
        return [members[self._blocks[index]].pop(0) for index in order]

    def must_wait(self, index: int, others: Iterable[int]) -> bool:
        """Return whether a run that lacks a dual waits for one of the ``others``, which makes one in its block."""
        if index not in self.lacking:
            return False
        return any(other in self._makers and self._blocks[other] == self._blocks[index] for other in others)

    def expects_dual(self, index: int) -> bool:
        """Return whether another run in the block of a run makes a dual."""
        return self.must_wait(index, self._makers)
