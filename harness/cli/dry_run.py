"""``harness compare --dry-run``: how many runs there would be, how many the store holds, and how long the others take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.registry import Registry
    from harness.run.driver import Forecast
    from harness.run.plan import Study

_FORMATS = ("table", "json")
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def shown(study: Study, registry: Registry, form: str) -> str:
    """Return what a study would cost as text or JSON; nothing is carried out and nothing written.

    Raises
    ------
    UsageError : another format; the request makes no runs; the store cannot be read.
    """
    if form not in _FORMATS:
        raise UsageError(f"--format: --dry-run is shown as {' or '.join(_FORMATS)}, not {form}.")
    from harness.run.driver import forecast

    costs = forecast(study, registry)
    return _json(costs, study) if form == "json" else _text(costs, study, registry)


def _text(costs: Mapping[str, Forecast], study: Study, registry: Registry) -> str:
    from harness.run.plan import factors
    from harness.run.store import default_store

    every = _sum(costs)
    parts = [f"{count:,} {noun}" for count, noun in factors(study, registry) if count != 1]
    lines = [f"{_runs(every.runs)}{': ' if parts else ''}{' x '.join(parts)}; nothing is carried out"]
    lines.append(f"{every.held:,} of them in the store {study.store or default_store()}")
    if every.rows:
        lines.append(f"{every.rows:,} of them a row without a run: skipped, or of a broken plugin")
    jobs = f" with {study.jobs} jobs" if study.jobs > 1 else ""
    for name, cost in costs.items():
        lines.append(f"{name}: {_runs(cost.to_do)} to carry out{_time(cost, study.jobs)}")
    if len(costs) > 1 or jobs:
        lines.append(f"together: {_runs(every.to_do)}{_time(every, study.jobs)}{jobs}")
    if every.seconds or every.unknown < every.to_do:
        lines.append("by the median of what the store holds of the same solver and data set, inside the solvers")
    return "\n".join(lines) + "\n"


def _sum(costs: Mapping[str, Forecast]) -> Forecast:
    from harness.run.driver import Forecast

    every = costs.values()
    most = [cost.most for cost in every]
    return Forecast(
        sum(cost.runs for cost in every),
        sum(cost.held for cost in every),
        sum(cost.rows for cost in every),
        sum(cost.seconds for cost in every),
        sum(cost.unknown for cost in every),
        None if None in most else sum(each or 0.0 for each in most),
    )


def _time(cost: Forecast, jobs: int) -> str:
    """Return ``, about 12 min``, ``, 10 of them unknown, at most 1.7 h``, or both."""
    known, text = cost.to_do - cost.unknown, ""
    if known:
        text += f", about {_duration(cost.seconds / jobs)}"
    if cost.unknown:
        most = "without a limit" if cost.most is None else f"at most {_duration(cost.most / jobs)}"
        text += f", {'and ' if known else ''}{cost.unknown:,} of unknown time, {most}"
    return text


def _json(costs: Mapping[str, Forecast], study: Study) -> str:
    def facts(cost: Forecast) -> dict[str, object]:
        most = None if cost.most is None else cost.most / study.jobs
        return {
            "runs": cost.runs, "in_store": cost.held, "rows_without_a_run": cost.rows, "to_carry_out": cost.to_do,
            "seconds": cost.seconds / study.jobs, "of_unknown_time": cost.unknown, "these_at_most_seconds": most,
        }  # fmt: skip

    return json.dumps({**facts(_sum(costs)), "solvers": {name: facts(cost) for name, cost in costs.items()}}) + "\n"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _duration(seconds: float) -> str:
    """Return ``3.2 s``, ``12 min``, ``1.5 h`` or ``4.1 d``."""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} s"
