"""The parts of a report's page: tables, the machine, what is missing, and text between markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness import Status, UsageError
from reports.kit.journal import Row
from reports.kit.results import Printed, Results, place

NOT_MEASURED = "Not measured yet."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, the first column to the left and the others to the right; a sentence where it has no rows."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    if not lines:
        return NOT_MEASURED
    marks = "|".join([":--"] + ["--:"] * (len(head) - 1))
    return "\n".join(["| " + " | ".join(head) + " |", f"|{marks}|", *lines])


def number(value: float | None, form: str = "") -> str:
    """Return a number as text, empty where there is none; without ``form`` to three digits, from 1,000 on to the unit."""
    if value is None:
        return ""
    return f"{value:{form or (',.0f' if abs(value) >= 999.5 else '.3g')}}"


def beside(ours: float | None, theirs: float | None, form: str = "") -> str:
    """Return our number with the published one in parentheses."""
    if isinstance(theirs, Printed):
        theirs.note(ours)
    return number(ours, form) + ("" if theirs is None else f" ({number(theirs, form)})")


def millions(value: float | None) -> float | None:
    """Return a count in millions."""
    return None if value is None else value / 1e6


def met(holds: bool) -> str:
    """Return whether a mark that we set is met, as a mark behind a number."""
    return "(met)" if holds else "(**missed**)"


def machine(results: Results, clock: str = "CPU") -> str:
    """Return where and when the rows were measured, each machine with its days; the last one's versions; the clock of times."""
    if not results.headers:
        return NOT_MEASURED
    last = results.headers[-1]
    places: dict[str, set[str]] = {}
    for row in results.runs:
        places.setdefault(row.get("machine") or place(last["machine"]), set()).add(row["measured_at"][:10])
    told = [f"{name}, {min(days)}{'' if len(days) == 1 else f' to {max(days)}'}" for name, days in places.items()]
    wanted = ("python", "numpy", "numba", "scikit-learn")
    versions = ", ".join(f"{name} {last['versions'][name]}" for name in wanted if name in last["versions"])
    return (
        f"{' and '.join(told) or place(last['machine'])}; one thread; {versions}. "
        f"Times are {clock} seconds inside the solver, without compilation.{_origins(results)}"
    )


_NAMED = 12  # sets that are named one by one


def _origins(results: Results) -> str:
    """Return a line for each machine, commit and cache: what was measured there, and when."""
    found: dict[tuple[str, str, float], list[Row]] = {}
    for row in results.runs:
        commit = (row.get("git_commit") or "not kept")[: 7 if row.get("git_commit") else None]
        found.setdefault((row.get("machine") or "", commit, row["cache_mb"]), []).append(row)
    lines = []
    several = len({machine for machine, *_ in found}) > 1
    for (machine, commit, cache), rows in found.items():
        sets, days = list(dict.fromkeys(row["set"] for row in rows)), sorted({row["measured_at"][:10] for row in rows})
        named = ", ".join(sets) if len(sets) <= _NAMED else f"{len(sets)} sets"
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        where = f"{machine}; " if several else ""
        runs = f"{len(rows):,} run{'s' if len(rows) > 1 else ''}"
        lines.append(f"* {where}commit {commit}, cache of {cache:g} MB, {when}, {runs}: {named}")
    return "".join(f"\n{line}" for line in ["", *lines]) if lines else ""


def missing(results: Results, expected: Callable[[Row], bool] = lambda row: False) -> str:
    """Return what could not be measured, and what was stopped, a line each.

    expected : whether a run ended as it was meant to, though it was not done
    """
    lines = []
    for row in results.missing:
        what = row.get("solver") or ", ".join(row.get("datasets") or [])
        measured = [run for run in results.runs if run["set"] == row["set"]]
        if not any(
            run["solver"] == row.get("solver") or run["dataset"] in (row.get("datasets") or []) for run in measured
        ):
            lines.append(f"* {row['set']}, {what}: {row['missing']}")
    stopped: dict[tuple[str, str, str], list[str]] = {}
    for row in results.runs:
        if row["status"] != Status.OK and not expected(row):
            key = (row["set"], row["solver"], row["reason"])
            stopped.setdefault(key, []).append(f"{row['dataset']}, seed {row['seed']}")
    for (name, solver, reason), runs in stopped.items():
        lines.append(f"* {name}, {solver}, {runs[0] if len(runs) == 1 else f'{len(runs)} runs'}: {reason}")
    return "\n".join(dict.fromkeys(lines)) or "Nothing."


SECTION_MARK = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)
NUMBER_MARK = re.compile(r"<!-- n (\S+) -->(.*?)<!-- /n -->")


def filled(page: str, sections: Mapping[str, str], numbers: Mapping[str, str] | None = None) -> str:
    """Return ``page`` with each section's text between its markers, and each number in its place in the prose.

    Raises
    ------
    UsageError : a section's markers are missing, or the prose asks for a number that there is not.
    """
    for name, text in sections.items():
        marker = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not marker.search(page):
            raise UsageError(
                f"README.md has no markers '<!-- begin {name} -->' and '<!-- end {name} -->'; put them where the "
                f"{name} table belongs."
            )
        page = marker.sub(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)
    if numbers is None:
        return page
    unknown = sorted({found[1] for found in NUMBER_MARK.finditer(page)} - set(numbers))
    if unknown:
        raise UsageError(
            f"README.md asks for the numbers {', '.join(unknown)}, which no code gives; there are {', '.join(numbers)}."
        )
    return NUMBER_MARK.sub(lambda found: f"<!-- n {found[1]} -->{numbers[found[1]]}<!-- /n -->", page)
