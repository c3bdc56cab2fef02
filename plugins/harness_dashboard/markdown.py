"""A check's report as Markdown, for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness_dashboard.check import COUNTS, HELP, MEMORY, OVERHEAD, TIME
from harness_dashboard.history import LEAST_GAP

if TYPE_CHECKING:
    from harness_dashboard.check import Change, Report

_HEADER = "| cell | metric | before | after | ratio | verdict |\n| --- | --- | ---: | ---: | ---: | --- |"


def markdown(report: Report) -> str:
    """Return the report: a line that says how many cells are worse, and a table of what changed, the worst first."""
    limits = report.thresholds
    changed = len(report.changes) - len(report.regressions)
    compared = _many(report.compared, "cell")
    lines = [
        f"### Solvers: `{report.base[:8]}` to `{report.head[:8]}`",
        "",
        f"**{_many(len(report.regressions), 'regression')}**, {_many(changed, 'other change')}; {compared} compared.",
    ]
    if report.changes:
        ordered = sorted(report.changes, key=lambda change: not change.regression)
        lines += ["", _HEADER, *map(_row, ordered)]
    told = (
        f"Counts are changed beyond {100.0 * limits.count:g} %, CPU times beyond a factor of {limits.time:g} in two "
        f"measurements that took turns, memory of a fit beyond a factor of {limits.memory:g}."
    )
    lines += ["", told]
    return "\n".join(lines) + "\n"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _row(change: Change) -> str:
    solver, dataset = change.cell
    cell = f"{solver} on {dataset}" if dataset else solver
    verdict = f"**{change.verdict}**" if change.regression else change.verdict
    if change.reason:
        verdict += f": {' '.join(change.reason.split())}".replace("|", "\\|")
    before, after = (_told(change.metric, value) for value in (change.before, change.after))
    return f"| {cell} | {change.metric} | {before} | {after} | {_ratio(change)} | {verdict} |"


def _told(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    if metric in (TIME, HELP):
        return f"{value:.3g} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"
    if metric == OVERHEAD:
        return f"{value:.3g} us"
    if metric == MEMORY:
        return f"{value / 1e6:.1f} MB"
    if metric == COUNTS["track_test_error_pct"]:
        return f"{value:.3g} %"
    if metric == COUNTS["track_relative_gap"]:
        return f"{LEAST_GAP * 10.0**value:.2g}"
    return f"{value:,.0f}"


def _ratio(change: Change) -> str:
    if change.before is None or change.after is None:
        return "-"
    if change.metric == COUNTS["track_relative_gap"]:
        return f"{10.0 ** (change.after - change.before):.3g}"
    return f"{change.after / change.before:.3g}" if change.before else "-"
