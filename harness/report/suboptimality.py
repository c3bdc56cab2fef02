"""Suboptimality in reports: models that are no dual solution are compared by the best certified dual value of their problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.problems.certificate import UNKNOWN_ROUNDING
from harness.run.dual_bounds import DualBounds
from harness.run.record import Record
from harness.support.printable import is_number


def with_suboptimality(records: Sequence[Record]) -> list[Record]:
    """Return the records, those of problems with a model that has no gap of its own with their suboptimality.

    The best dual value is that of these records, and of those that their certificates used: it may be better than the one that a
    record was certified with. The points of traces have their suboptimality too. A model whose primal value contradicts the dual
    value has none, and a fault that says so.
    """
    every = list(records)
    wanted = {_rough(record) for record in every if _lacks_gap(record)}
    members = [index for index, record in enumerate(every) if _rough(record) in wanted] if wanted else []
    if not members:
        return every
    from harness.registry.discovery import shared_registry

    bounds = DualBounds(shared_registry())
    keys = {index: bounds.key(every[index], every[index].get("sources") or {}) for index in members}
    for index in members:
        bounds.note(every[index])
    lacking = {keys[index] for index in members if _lacks_gap(every[index])}
    for index in members:
        if keys[index] in lacking and keys[index] in bounds.known:
            every[index] = _compared(every[index], bounds, keys[index])
    return every


def lacks_dual(record: Record) -> bool:
    """Return whether a record has a primal value that only the dual of another run would compare with the optimum."""
    from harness.report.rows import formulation_of, is_path

    lacks = _lacks_gap(record) and record.get("best_dual") is None and not is_path(record)
    return lacks and bool(formulation_of(record.get("formulation")).bounded_from)


def _lacks_gap(record: Record) -> bool:
    """Return whether a record has a primal value, and no gap of its own or one that was compared with the dual of another run."""
    has_gap = record.get("relative_gap") is not None and record.get("best_dual") is None
    return not has_gap and record.measured and is_number(record.get("primal"))


def _rough(record: Record) -> tuple[Any, ...]:
    """Return what records of one problem have in common, among others."""
    return record.get("data_sha256"), record.get("formulation"), record.get("kernel"), record.get("fold")


def _compared(record: Record, bounds: DualBounds, key: str) -> Record:
    """Return a copy of a record with the suboptimality of its model and of the points of its trace."""
    formulation, bound = bounds.registry.formulations[str(record["formulation"])], bounds.known[key]

    def distance(point: Any) -> float | None:
        found = bound.suboptimality(formulation, point.get("primal"))
        return None if found is None or found < -UNKNOWN_ROUNDING else found

    facts: dict[str, Any] = {"suboptimality": distance(record), "best_dual": bound.value, "best_dual_of": bound.of}
    facts["trace"] = [{**point, "suboptimality": distance(point)} for point in record.get("trace") or ()]
    if record.measured and is_number(record.get("primal")) and facts["suboptimality"] is None:
        fault = (
            f"{record.get('label')}: its primal value contradicts the certified dual value of {bound.of}; no subopt."
        )
        facts["faults"] = [*(record.get("faults") or ()), fault]
    compared = Record({**record, **facts})
    compared.cells = record.cells
    return compared
