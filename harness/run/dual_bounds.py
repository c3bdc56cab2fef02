"""The best certified dual value known of each problem, with which models that have no dual are compared.

Any feasible dual point bounds the optimum of its problem, whichever solver computed it. Two runs are of the same problem if they
have the same training points, formulation and kernel with all parameters, and the same code of both. A dual value counts only if
the certificate that it is part of is valid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.measure.outcome import DualBound, Status
from harness.run.record import Record
from harness.support.decimals import UNKNOWN_ROUNDING
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

    def key_of(self, record: Record) -> str:
        """Return the key of the problem of a record, with the code that it was measured with."""
        return self.key(record, record.get("sources") or {})

    def of(self, record: Record) -> DualBound | None:
        """Return the bound of the problem of a record; None if none is known."""
        return self.known.get(self.key_of(record))

    def note(self, record: Record) -> None:
        """Take in the dual value of a record, and the bound that its certificate used."""
        formulation = self.registry.formulations.get(str(record.get("formulation")))
        if formulation is None or not formulation.bounded_from:
            return
        key, better = self.key_of(record), max if formulation.bounded_from == "below" else min
        for bound in certified_duals(record, formulation):
            self.known[key] = better(self.known.get(key, bound), bound, key=lambda each: each.value)

    def note_run(self, spec: RunSpec, record: Record) -> None:
        """Take in the dual value of a run's record, which has no fields of the request yet."""
        self.note(Record({**spec.as_dict(), **record}))

    def compared(self, record: Record) -> Record:
        """Return a copy of a record with the suboptimality of its model and of the points of its trace, by the best bound."""
        bound, formulation = self.of(record), self.registry.formulations.get(str(record.get("formulation")))
        if bound is None or formulation is None:
            return record
        trace: list[dict[str, Any]] = list(record.get("trace") or ())
        points = [dict(record), *trace]
        distances = [bound.suboptimality(formulation, point.get("primal")) for point in points]
        valid = [None if each is None or each < -UNKNOWN_ROUNDING else each for each in distances]
        facts: dict[str, Any] = {"suboptimality": valid[0], "best_dual": bound.value, "best_dual_of": bound.of}
        facts["trace"] = [{**point, "suboptimality": each} for point, each in zip(trace, valid[1:], strict=True)]
        if valid[0] is None and distances[0] is not None:
            fault = f"the primal value contradicts the certified dual value of {bound.of}; no subopt."
            facts["faults"] = [*(record.get("faults") or ()), fault]
        compared = Record({**record, **facts})
        compared.cells = record.cells
        return compared


def certified_duals(record: Record, formulation: type[Problem]) -> Iterator[DualBound]:
    """Yield the dual values of a record's certificate: its own, less what rounding may have added, and the one that it used."""
    known = record.get("gap_rounding")
    rounding = known if is_number(known) else 0.0
    if _is_consistent(record, formulation, "dual", "relative_gap", max(rounding, UNKNOWN_ROUNDING)):
        dual, below = record["dual"], formulation.bounded_from == "below"
        value = dual - rounding * abs(record["primal"]) if below else dual * (1.0 + rounding)
        yield DualBound(value, f"{record.get('label')}, run of {str(record.get('measured_at'))[:10]}")
    if _is_consistent(record, formulation, "best_dual", "suboptimality", UNKNOWN_ROUNDING):
        yield DualBound(record["best_dual"], str(record.get("best_dual_of")))


def _is_consistent(record: Record, formulation: type[Problem], dual: str, distance: str, tolerated: float) -> bool:
    """Return whether a distance follows from the primal and the dual value, so that no value was changed or is another problem's.

    dual, distance : names of the fields
    """
    values: list[Any] = [record.get(name) for name in ("primal", dual, distance)]
    if not (record.measured and all(map(is_number, values))):
        return False
    expected, given = formulation.suboptimality(values[0], values[1]), values[2]
    is_same = expected is not None and math.isclose(expected, given, rel_tol=1e-6, abs_tol=tolerated)
    return is_same and given >= -tolerated


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
    from harness.kernels.functions import Linear  # and numpy, which help and lists need not load

    form = _form(spec, registry)
    return form == "free_coef" or (form == "weights" and issubclass(registry.kernel_class(spec.kernel), Linear))


def solvers_with_dual(formulation: type[Problem], registry: Registry) -> list[str]:
    """Return the names of solvers that make a dual of a formulation, of those exact ones that the host uses itself.

    None if the duals of a formulation bound no other models.
    """
    classes = [cls for solvers in registry.solvers.values() for cls in solvers.values() if formulation.bounded_from]
    return [cls.name for cls in classes if cls.serves and cls.model_form == "dual_coef" and cls.takes(formulation)]


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


def with_suboptimality(records: Sequence[Record]) -> list[Record]:
    """Return the records, those of problems with a model that has no gap, with their suboptimality.

    The best dual value is that of these records, and of those that their certificates used: it may be better than the one that a
    record was certified with. The points of traces have their suboptimality too. A model whose primal value contradicts the dual
    value has none, and a fault instead.
    """
    if not any(map(lacks_gap, records)):
        return list(records)
    from harness.registry.discovery import shared_registry

    bounds = DualBounds(shared_registry())
    keys = [bounds.key_of(record) if record.measured else "" for record in records]
    lacking = {key for key, record in zip(keys, records, strict=True) if lacks_gap(record)}
    for key, record in zip(keys, records, strict=True):
        if key in lacking:
            bounds.note(record)
    return [bounds.compared(record) if key in lacking else record for key, record in zip(keys, records, strict=True)]


def lacks_gap(record: Record) -> bool:
    """Return whether a record has a primal value and no gap."""
    is_path = "cell" not in (record.get("path") or {"cell": 0})
    return record.measured and record.get("relative_gap") is None and not is_path and is_number(record.get("primal"))
