"""The pages of studies: tables and pictures from results, prose from a template; Markdown is the last step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from harness import Status, UsageError
from reports.kit.estimates import CLOCKS, format_estimates
from reports.kit.results import Quantity, Results
from reports.kit.rows import REPETITION, grouped
from reports.kit.study import ROOT, Claim, Study, study_named, study_names

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(ROOT), undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True,
    lstrip_blocks=True, autoescape=False,
)  # fmt: skip
NOT_MEASURED = "Not measured yet."


def number(value: Any, form: str = "") -> str:
    """Return a number as text, empty where there is none; without ``form`` to three digits, from 1,000 on to the unit."""
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return ""
    return f"{value:{form or (',.0f' if abs(value) >= 999.5 else '.3g')}}"


def markdown(table: pd.DataFrame, forms: Mapping[str, str] | None = None) -> str:
    """Return a frame as a table of Markdown, its index first if it has a name; a sentence where it is empty.

    forms : column -> format of its numbers, where it is not that of :func:`number`
    """
    if table.empty:
        return NOT_MEASURED
    if any(table.index.names):
        table = table.reset_index()
    chosen = {**table.attrs.get("forms", {}), **(forms or {})}
    texts = {name: [number(value, chosen.get(str(name), "")) for value in table[name]] for name in table.columns}
    aligned = ["right" if pd.api.types.is_numeric_dtype(table[name]) else "left" for name in table.columns]
    return str(pd.DataFrame(texts).to_markdown(index=False, tablefmt="pipe", colalign=aligned, disable_numparse=True))


def with_published(
    runs: pd.DataFrame, published: pd.DataFrame, index: Sequence[str], quantities: Mapping[str, Quantity], *,
    spread: bool = False, over: Sequence[str] = REPETITION,
) -> pd.DataFrame:  # fmt: skip
    """Return our numbers, each with the published one in parentheses, a row for each value of ``index`` and their runs.

    published : the rows of a figure, its quantities as it calls them
    quantities : as published.csv calls one -> how it is printed; times are medians, the others means
    spread : tell the deviation of our runs, where there are several
    over : see `reports.kit.rows.grouped`
    """
    columns = dict.fromkeys([*runs.columns, *(quantity.ours for quantity in quantities.values())])
    groups = grouped(runs.reindex(columns=list(columns)), index, over, sort=False)
    printed = published.pivot_table(index=list(index), columns="quantity", values="value") if len(published) else {}
    table = {}
    for name, (title, column, factor, form, offset) in quantities.items():
        middle = groups[column].agg(pd.Series.median if column in CLOCKS else pd.Series.mean)
        ours = _texts(factor * middle + offset, form)
        if spread:
            deviation = _texts(abs(factor) * groups[column].std(), form)
            ours = ours.where(deviation == "", ours + " ± " + deviation)
        theirs = _texts(pd.Series(printed.get(name), ours.index, dtype=float), form)
        table[title] = ours.where(theirs == "", (ours + " (" + theirs + ")").str.strip())
    return pd.DataFrame({**table, "runs": groups.size()})


def _texts(values: pd.Series, form: str) -> pd.Series:
    return values.map(partial(number, form=form)).astype(object)


def described(claim: Claim) -> str:
    """Return a claim with its verdict, its criterion and its estimates, as entries of a list."""
    lines = [f"* **{claim.text}** {claim.verdict.capitalize()}.", f"  * Criterion ({claim.whose}): {claim.criterion}."]
    return "\n".join([*lines, *(f"  * {line}" for line in format_estimates(claim.intervals))])


def brief(claim: Claim) -> str:
    """Return a claim with its verdict and the ends of its estimates, in a line; the study's page has every set."""
    parts = []
    for aspect in dict.fromkeys(estimate.aspect for estimate in claim.intervals):
        of_aspect = [each for each in claim.intervals if each.aspect == aspect]
        estimates = sorted(of_aspect, key=lambda each: each.value)
        met = sum(estimate.is_met is True for estimate in estimates)
        ends = estimates[0].text() if len(estimates) == 1 else f"{estimates[0].text()} ... {estimates[-1].text()}"
        number = max(len(estimates), claim.sets)
        absent = f" ({number - len(estimates)} not measured)" if number > len(estimates) else ""
        parts.append(f"{aspect + ': ' if aspect else ''}{met} of {number}{absent}, {ends}")
    return f"* **{claim.verdict.capitalize()}.** {claim.text} {'; '.join(parts) or 'No estimate yet'}."


def provenance(results: Results) -> pd.DataFrame:
    """Where the runs come from: machine, commit, command, days, load, their number."""
    every = results.every
    if every.empty:
        return pd.DataFrame()
    every = every.assign(
        commit=every["commit"].str[:7] + every["commit"].str.extract(r"(\+)$")[0].fillna(""), day=every["date"].str[:10]
    )
    columns = {
        "from": ("day", "min"), "to": ("day", "max"), "load (median)": ("load", "median"), "runs": ("run", "size"),
    }  # fmt: skip
    return every.groupby(["machine", "commit", "command"], sort=False).agg(**columns).reset_index()


def stopped(study: Study, results: Results) -> pd.DataFrame:
    """Runs that did not end as planned, and what could not be measured."""
    every = results.every
    unplanned = every[~every["status"].isin([Status.OK, *study.expected])]
    alike = unplanned.groupby(["figure", "set", "solver", "formulation", "status"], sort=False)
    return alike.agg(runs=("run", "size"), reason=("reason", "first")).reset_index()


def covered(study: Study, results: Results) -> pd.DataFrame:
    """Printed numbers of each figure and table that have ours beside them, times left out."""
    numbers = results.coverage(study.derived(results))
    if numbers.empty:
        return pd.DataFrame()
    counts = pd.crosstab(numbers["figure"], numbers["state"])
    counts = counts.reindex(columns=["by protocol", "smaller", "missing"], fill_value=0)
    off = (numbers["ours"] - numbers["value"]).abs() / numbers["value"].abs()
    counts["median difference, %"] = (100 * off).groupby(numbers["figure"]).median()
    counts["what is smaller"] = numbers.groupby("figure")["protocol"].agg(
        lambda protocols: "; ".join(sorted({p for p in protocols.dropna() if p})[:3])
    )
    return counts


def write(study: Study, folder: Path | None = None) -> Path:
    """Write README.md, TABLES.md and the pictures of a study from the results of a folder; return the page's path.

    Raises
    ------
    UsageError : the folder holds no results.
    """
    folder = folder or study.folder
    results = study.results(folder)
    if results.table.empty:
        raise UsageError(f"{folder} holds no results; leave --page out to measure them, or name a folder with --out.")
    drawn = [name for name, draw in study.pictures.items() if _saved(draw, results, folder / f"{name}.png")]
    tables = {name: make(results) for name, make in study.tables.items()}
    claims = list(study.claims(results))
    known: dict[str, Any] = {
        "study": study, "claims": claims, "described": described, "numbers": dict(study.numbers(results)), "drawn": drawn,
        "tables": {name: markdown(table) for name, table in tables.items()},
        "titles": {name: (make.__doc__ or name).strip().partition("\n")[0].rstrip(".") for name, make in study.tables.items()},
        "provenance": markdown(provenance(results)), "stopped": stopped(study, results), "markdown": markdown,
        "covered": covered(study, results), "runs": results.table["run"].nunique(),
    }  # fmt: skip
    known["picture"] = lambda name, text: f"![{text}]({name}.png)" if name in drawn else f"*{text}: {NOT_MEASURED}*"
    page = folder / "README.md"
    for target, template in ((folder / "TABLES.md", "kit/tables.md.j2"), (page, f"{study.folder.name}/page.md.j2")):
        target.write_text(_ENVIRONMENT.get_template(template).render(known), encoding="utf-8")
    return page


def _saved(draw: Callable[[Results], Any], results: Results, path: Path) -> bool:
    figure = draw(results)
    if figure is None:
        path.unlink(missing_ok=True)
        return False
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return True


def overview() -> list[Path]:
    """Write reports/README.md and WHAT_WE_LEARNED.md from the results of all studies; return their paths."""
    results_of = {name: study_named(name).results() for name in study_names()}
    studies = [study_named(name) for name, results in results_of.items() if len(results.table)]
    claims = {study.name: list(study.claims(results_of[study.name])) for study in studies}
    counts = {study.name: _states(covered(study, results_of[study.name])) for study in studies}
    known = {
        "studies": studies, "claims": claims, "brief": brief, "counts": counts,
        "runs": {name: results.table["run"].nunique() for name, results in results_of.items() if len(results.table)},
        "numbers": {study.name: dict(study.numbers(results_of[study.name])) for study in studies},
        "lines": markdown(study_named("side-by-side").tables["lines"](results_of["side-by-side"])),
        "verdicts": pd.Series([c.verdict for study_claims in claims.values() for c in study_claims]).value_counts().to_dict(),
    }  # fmt: skip
    paths = [ROOT / "README.md", ROOT / "WHAT_WE_LEARNED.md"]
    for path in paths:
        template = "kit/" + ("overview" if path.name == "README.md" else "learned") + ".md.j2"
        path.write_text(_ENVIRONMENT.get_template(template).render(known), encoding="utf-8")
    return paths


def _states(counts: pd.DataFrame) -> dict[str, int]:
    """Return how many figures with printed numbers are whole, in part and missing, and how many numbers there are."""
    counts = counts.reindex(columns=["by protocol", "smaller", "missing"])
    every = counts.sum(axis=1)
    whole, none = counts["by protocol"] == every, counts["missing"] == every
    groups = {
        "whole": whole, "in part": ~whole & ~none, "missing": none, "numbers": every, "ours": every - counts["missing"],
        "by protocol": counts["by protocol"],
    }  # fmt: skip
    return {name: int(chosen.sum()) for name, chosen in groups.items()}
