"""Rows as the studies of papers write them, made up."""

import re

from reports.kit.markdown import NOT_MEASURED

HEADER = {
    "part": "header",
    "machine": {"processor": "a processor", "cores": 2, "usable_cores": 2, "memory_bytes": 2**34},
    "versions": {"python": "3.11", "numpy": "2"},
    "measured_at": "2026-01-02T03:04:05",
}


def row(name, solver, **changed):
    """One finished run."""
    found = {
        "set": name,
        "solver": solver,
        "dataset": name,
        "seed": 0,
        "formulation": "c-svc",
        "cache_mb": 256.0,
        "C": 1.0,
        "gamma": 1.0,
        "status": "ok",
        "reason": "",
        "error": 1.0,
        "support_vectors": 100,
        "core_set_size": 100,
        "kernel_evaluations": 1e6,
        "cpu": 1.0,
        "seconds": 1.0,
        "dual": 1.0,
        "relative_gap": 1e-3,
        "metrics": {},
        "info": {},
        "trace": [],
        "n_train": 1000,
        "n_test": 1000,
        "measured_at": "2026-01-02",
        "git_commit": "a",
        "machine": "one",
    }
    return {**found, **changed}


def every_run(parts, options, **changed):
    """A row for each run that the parts of a study ask for, no two of the same time."""
    runs = [
        (grid, dataset, solver, seed)
        for part in parts.values()
        for grid in part(options)
        for dataset in grid.datasets
        for solver in grid.solvers
        for seed in grid.seeds
    ]
    return [
        row(grid.set, solver, dataset=dataset, seed=seed, cache_mb=grid.cache_mb, cpu=1.0 + 0.01 * count, **changed)
        for count, (grid, dataset, solver, seed) in enumerate(runs)
    ]


def cells(text):
    """The numbers of cells of the lines of a text's table; an escaped bar divides nothing."""
    return [len(re.split(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")]


def assert_whole(tables, plots, found, nothing, folder, scratch):
    """Every section of a whole study is measured and has its place in the page; every picture is drawn, of nothing none.

    nothing : results without a run
    """
    sections = tables.sections(found)
    page = (folder / "README.md").read_text()
    for name, text in sections.items():
        assert NOT_MEASURED not in text, name
        assert len(set(cells(text))) <= 1, f"{name}: a line with more or fewer cells than the head"
        assert f"<!-- begin {name} -->\n" in page
        assert f"<!-- end {name} -->" in page
    assert set(sections) == set(re.findall(r"<!-- begin (\S+) -->", page))
    for name, draw in plots.PICTURES.items():
        assert f"({name}.png)" in page
        assert draw(found, scratch / f"{name}.png"), name
        assert (scratch / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (scratch / f"{name}.png").stat().st_size > 10_000
        assert not draw(nothing, scratch / "nothing.png"), "nothing to draw"
