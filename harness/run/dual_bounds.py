"""The best certified dual value known of each problem, with which models that have no dual are compared.

Any feasible dual point bounds the optimum of its problem, whoever found it. Two runs are of the same problem if they have the
same training points, formulation and kernel with all parameters, and the same code of both. A dual value counts only if the
certificate that it is part of is valid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.kernels.functions import Linear
from harness.measure.outcome import DualBound, Status
from harness.problems.certificate import UNKNOWN_ROUNDING
from harness.run.plan import Study, block_numbers
from harness.run.record import Record
from harness.support.printable import is_number

if TYPE_CHECKING:
    from harness.problems.problem import Problem
    from harness.registry.discovery import Registry
    from harness.run.messages import RunSpec

_PROBLEM = ("data_sha256", "fold", "formulation", "problem_parameters", "kernel", "kernel_parameters")


class DualBounds:
    """The best dual bound of each problem.

    known : by the key of the problem
    """

    def __init__(self, registry: Registry, known: Mapping[str, DualBound] | None = None) -> None:
        self.registry, self.known = registry, dict(known or {})

    def key(self, facts: Mapping[str, Any], sources: Mapping[str, str] | None = None) -> str:
        """Return the key of the problem of a record, or of a run by the fields that records have.

        sources : fingerprints of plugins; None: as they are loaded
        """
        owners = self.registry.owners(str(facts.get("formulation")), str(facts.get("kernel")), "", (), "")
        code = {
            name: self.registry.plugins[name].fingerprint if sources is None else sources.get(name)
            for name in owners
            if name != "harness"
        }
        return json.dumps([*map(facts.get, _PROBLEM), code], sort_keys=True, default=str)

    def of_run(self, spec: RunSpec) -> DualBound | None:
        """Return the bound of the problem of a run; None if none is known."""
        return None if spec.path is not None else self.known.get(self.key(spec.as_dict()))

    def of(self, record: Record) -> DualBound | None:
        """Return the bound of the problem of a record; None if none is known."""
        return self.known.get(self.key(record, record.get("sources") or {}))

    def note(self, record: Record) -> None:
        """Take in the dual value of a record, and the bound that its certificate used."""
        formulation = self.registry.formulations.get(str(record.get("formulation")))
        if formulation is None or not formulation.bounded_from:
            return
        for bound in (certified_dual(record, formulation), _used_dual(record, formulation)):
            if bound is not None:
                key = self.key(record, record.get("sources") or {})
                better = max if formulation.bounded_from == "below" else min
                self.known[key] = better(self.known.get(key, bound), bound, key=lambda each: each.value)

    def note_run(self, spec: RunSpec, record: Record) -> None:
        """Take in the dual value of a run that has just ended."""
        self.note(Record({**spec.as_dict(), **record}))


def certified_dual(record: Record, formulation: type[Problem]) -> DualBound | None:
    """Return the dual value of a record, less what rounding may have added; None if its certificate is no valid one.

    The gap must follow from the two values: a value that was changed, or is of another problem than its primal, has another gap.
    """
    primal, dual, gap = (record.get(name) for name in ("primal", "dual", "relative_gap"))
    if not (record.measured and is_number(primal) and is_number(dual) and is_number(gap)):
        return None
    known = record.get("gap_rounding")
    rounding = known if is_number(known) else 0.0
    tolerated = max(rounding, UNKNOWN_ROUNDING)
    expected = formulation.suboptimality(primal, dual)
    if gap < -tolerated or expected is None or not math.isclose(expected, gap, rel_tol=1e-6, abs_tol=tolerated):
        return None
    below = formulation.bounded_from == "below"
    value = dual - rounding * abs(primal) if below else dual * (1.0 + rounding)
    return DualBound(value, f"{record.get('label')}, run of {str(record.get('measured_at'))[:10]}")


def _used_dual(record: Record, formulation: type[Problem]) -> DualBound | None:
    """Return the dual value of another run that a record's certificate used; None if there is none, or it does not fit."""
    primal, dual, distance = (record.get(name) for name in ("primal", "best_dual", "suboptimality"))
    if not (record.measured and is_number(primal) and is_number(dual) and is_number(distance)):
        return None
    expected = formulation.suboptimality(primal, dual)
    fits = expected is not None and math.isclose(expected, distance, rel_tol=1e-6, abs_tol=UNKNOWN_ROUNDING)
    return DualBound(dual, str(record.get("best_dual_of"))) if fits and distance >= -UNKNOWN_ROUNDING else None


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


def solvers_with_dual(formulation: type[Problem], registry: Registry) -> list[str]:
    """Return the names of solvers that make a dual of a formulation, of those exact ones that the host uses itself."""
    classes = (cls for solvers in registry.solvers.values() for cls in solvers.values())
    return [cls.name for cls in classes if cls.serves and cls.model_form == "dual_coef" and cls.takes(formulation)]


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


def missed_for_want_of_dual(
    record: Record, bound: DualBound | None, formulation: type[Problem], *, expected: bool
) -> bool:
    """Return whether a stored run missed its target only because no dual, or a worse one, was known when it was certified.

    expected : a run of the same comparison makes a dual
    """
    if record.status is not Status.MISSED or record.get("relative_gap") is not None or record.get("primal") is None:
        return False
    if record.get("best_dual") is None:
        return expected or bound is not None
    distance = None if bound is None else bound.suboptimality(formulation, record.get("primal"))
    return distance is not None and distance <= (record.get("target_gap") or 0.0)
