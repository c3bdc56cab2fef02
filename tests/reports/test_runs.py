"""One key is one run: in the published rows of every study, and in each group that a number of a page is made from."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from reports.kit import rows
from reports.kit.measure import Measuring
from reports.kit.pictures import plt
from reports.kit.results import Results
from reports.kit.study import Study, study_named, study_names

ALSO = {
    ("lasvm-2005", "settings"): ["gamma"],
    ("randsvm", "ringnorm"): ["C", "gamma"],
    ("rgd-tree-2015", "table1"): ["kernel"],
    ("side-by-side", "divisions"): ["formulation"],
}
"""Part -> what belongs to the key of its runs beside set and solver."""
VARYING = {("peers", figure): ["formulation", "C", "gamma"] for figure in ("map", "limit")}
"""Part -> what differs between its data sets, each a problem of its own."""


def check_keys(study: Study, every: pd.DataFrame) -> None:
    """Raise ValueError unless set, solver, draw and seed are one run in each part of a study, all draws of one problem."""
    for figure, group in every.groupby("figure"):
        part = (study.name, str(figure))
        rows.grouped(group, ["set", "solver", *ALSO.get(part, [])], varying=VARYING.get(part, []))


@pytest.mark.parametrize("name", study_names())
def test_one_key_is_one_run(name: str) -> None:
    study = study_named(name)
    every = study.results().every
    check_keys(study, every)
    for changed in ({}, {"C": 1e9}, {"kernel": "another"}, {"formulation": "another", "seed": 99}):
        with pytest.raises(ValueError, match="expected one"):
            check_keys(study, pd.concat([every, every[~every["figure"].isin([part for _, part in (*ALSO, *VARYING)])]
                                         .iloc[[0]].assign(**changed)]))  # fmt: skip


def outcomes(study: Study, results: Results) -> Iterator[tuple[str, Any]]:
    """Yield what a page is made from, by name: a ValueError where making it raises one."""

    def picture(draw: Any) -> bytes:
        figure, file = draw(results), io.BytesIO()
        if figure is not None:
            figure.savefig(file, dpi=40)
            plt.close("all")
        return file.getvalue()

    makes = {
        **{f"table {name}": lambda make=make: make(results).to_csv() for name, make in study.tables.items()},
        **{f"picture {name}": lambda draw=draw: picture(draw) for name, draw in study.pictures.items()},
        "claims": lambda: [(claim.text, repr(claim.estimates)) for claim in study.claims(results)],
        "numbers": lambda: repr(study.numbers(results)),
        "coverage": lambda: results.coverage(study.derived(results)).to_csv(),
    }
    for name, make in makes.items():
        try:
            yield name, make()
        except ValueError as error:
            yield name, error


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_no_number_is_made_from_two_formulations(name: str) -> None:
    """Half of the parts have each run again, of another formulation, its values larger: a number is as before, or refused."""
    study = study_named(name)
    results = study.results()
    table, figures = results.table, sorted(results.table["figure"].unique())
    published = dict(outcomes(study, results))
    refused, silent = 0, [made for made, outcome in published.items() if isinstance(outcome, ValueError)]
    for chosen in (figures[::2], figures[1::2]):
        half = table[table["figure"].isin(chosen)]
        larger = half["value"].where(
            half["quantity"].str.startswith("n_"), 1.5 * half["value"]
        )  # n_train ... are of the data
        planted = half.assign(formulation="another", value=larger, run=half["run"] + table["run"].max() + 1)
        for made, outcome in outcomes(study, replace(results, table=pd.concat([table, planted], ignore_index=True))):
            if isinstance(outcome, ValueError):
                assert "expected one" in str(outcome), made
                refused += 1
            elif outcome != published[made]:
                silent.append(f"{made}, where {', '.join(chosen)} are of two formulations")
    assert not silent
    assert refused


RUN = dict.fromkeys(rows.OF_RUN, "x") | {
    "load": 0.0, "status": "ok", "C": 1.0, "gamma": 0.5, "cache_mb": 40.0, "dataset": "d", "seed": 0,
}  # fmt: skip


def runs(*changed: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**RUN, **each} for each in changed])


@pytest.mark.parametrize("column", sorted({*rows.IDENTITY} - {"set", "solver", *rows.REPETITION}))
def test_a_group_of_two_configurations_is_refused(column: str) -> None:
    other = 2.0 if column in ("C", "gamma", "cache_mb") else "y"
    alike, mixed = runs({}, {"seed": 1}), runs({}, {"seed": 1, column: other})
    assert rows.grouped(alike, ["set", "solver"]).size().tolist() == [2]
    with pytest.raises(ValueError, match=f"set = x, solver = x have several values of {column}"):
        rows.grouped(mixed, ["set", "solver"])
    assert rows.grouped(mixed, ["set", "solver", column]).size().tolist() == [1, 1]
    assert rows.grouped(mixed, "set", varying=[column]).size().tolist() == [2]
    with pytest.raises(ValueError, match="several runs of one dataset, seed"):
        rows.grouped(runs({}, {column: other}), ["set", "solver"])
    with pytest.raises(ValueError, match="several runs of one key"):
        rows.pivoted(alike, ["set"], "solver", "C")


def test_rounding_of_gamma_makes_no_second_configuration_and_another_kernel_does() -> None:
    assert len(rows.grouped(runs({}, {"seed": 1, "gamma": 0.5 * (1 + 1e-15)}), ["set", "solver"])) == 1
    old, new, linear = {"kernel": "rbf", "date": "1"}, {"kernel": "rbf", "date": "2"}, {"kernel": "linear", "date": "3"}
    assert rows.newest(runs(new, old, linear))["date"].tolist() == ["2", "3"]


@pytest.mark.parametrize("name", study_names())
def test_every_run_has_a_key(name: str) -> None:
    """A run that was measured through `harness.compare` has its formulation, kernel and C, or what replaces C."""
    every = study_named(name).results().every
    every = every[(every["status"] != "missing") & (every["formulation"] != "")]
    assert (every["kernel"] != "").all()
    assert not every.duplicated(rows.IDENTITY).any()


@pytest.mark.parametrize(("problem", "lacking"), [({}, 0), ({"C": 1.0}, 0), ({"C": 2.0}, 1), ({"kernel": "linear"}, 1)])
def test_a_run_of_another_problem_is_measured_though_results_are_kept(problem, lacking, tmp_path) -> None:
    block = {"figure": "x", "set": "x", "plugins": ["smo"], "datasets": ["d"], **problem}
    run = {**RUN, "solver": "smo", "kernel": "rbf"}
    rows.write(rows.tidy([(run, [("error", rows.END, 1.0)])]), tmp_path / "results.parquet")
    study = Study(name="first-comparison", title="")
    measuring = Measuring(study, tmp_path, store=tmp_path / "runs.sqlite", keep=True, quiet=True)
    assert [len(each) for each in measuring._missing_runs([block], ["smo"])] == [lacking, lacking]
