"""The made-up results that the browser tests of our pages share: what is planted in them is said here, in constants.

Solvers: `TWINS` differ by less than their noise on every data set, `STOPS_EARLY` is the first to end and never reaches a
gap of 1e-3, `STRANGER` is of no installed plugin and grows faster with n than the others (it is the fastest below
`CROSSING` points). Every cell has five runs, whose CPU seconds are log-normal quantiles around `seconds`: their median is
exactly that. Counts are the same in every run. The code was measured in two states, `OLD` and `NEW`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.browser import Browser
from benchmarks.dashboard_scale import MACHINE, VERSIONS, fill
from harness import Status

SHAPES = {
    "made-300": (300, 5), "made-600": (600, 10), "made-1000": (1000, 20), "made-3000": (3000, 50),
    "made-5000": (5000, 100), "made-8000": (8000, 40), "made-12000": (12000, 50), "made-20000": (20000, 200),
}  # fmt: skip
"""Data set -> training points, features."""
SPARSE = {"made-5000": 0.04, "made-20000": 0.01}
"""Data set -> share of the features that are not zero; 1 of all others."""

FASTEST, TWIN, STOPS_EARLY, SLOW, STRANGER, CORE = "smo-block", "libsvm", "lasvm", "smo", "newcomer", "fw"
TWINS = (FASTEST, TWIN)
SOLVERS = (FASTEST, TWIN, STOPS_EARLY, SLOW, STRANGER)
"""Those that were run on every data set, with c-svc C=10."""
PLUGINS = {FASTEST: "smo", TWIN: "peers", STOPS_EARLY: "lasvm", SLOW: "smo", STRANGER: "elsewhere", CORE: "fw"}
NOT_OBSERVABLE = TWIN
"""Its kernel values are not counted."""

FACTORS = {FASTEST: 1.0, TWIN: 1.01, STOPS_EARLY: 0.5, SLOW: 4.0}
"""Solver -> its CPU seconds over those of `FASTEST`; `TWIN` is as often slower as faster."""
CROSSING = 1700
"""n at which `STRANGER` is as fast as `FASTEST`; its seconds over those are sqrt(n / CROSSING)."""
NOISE = 0.05
"""Standard deviation of the logarithm of a run's seconds."""
QUANTILES = (-1.28155, -0.52440, 0.0, 0.52440, 1.28155)
"""Of the standard normal distribution: the noise of the five runs of a cell, in an order of its own in each."""
GAPS = {FASTEST: 1e-6, TWIN: 1e-6, STOPS_EARLY: 1e-2, SLOW: 1e-6, STRANGER: 1e-4, CORE: 1e-4}
"""Solver -> certified relative gap at its end; on the way it falls geometrically from 1/2, in even steps of time."""

SWEPT, SWEEP_C, SWEEP_SOLVERS = "made-3000", (1.0, 10.0, 100.0), (FASTEST, STOPS_EARLY)
"""Data set, values of C, solvers of a sweep over C (C=10 is the cell that every solver has)."""
CORE_SETS, EPSILONS = ("made-1000", "made-3000"), (0.1, 0.01, 0.001)
"""Data sets with l2-svc C=1 too: `CORE` at these epsilons (in its label), and `FASTEST`."""

DISTURBED, DISTURBANCE = (SLOW, "made-600"), 3.0
"""A cell whose wall seconds are this many times its CPU seconds; elsewhere they are 1.02 times those."""
TIMED_OUT, TIMEOUT_REASON = (SLOW, "made-20000"), "no model within 60 s"
CRASHED, CRASH_REASON = (STRANGER, "made-5000"), "the process ended by signal 11 (SIGSEGV)"
ONCE = (STOPS_EARLY, "made-8000")
"""A cell of one run."""

OLD, NEW = "1" * 40, "2" * 40
"""The commits that the runs name, a month apart."""
SLOWER, SLOWER_ON, SLOWDOWN = SLOW, ("made-1000", "made-3000"), 2.0
"""A solver that takes so many times as long at `NEW` on these sets; all else differs by 1 % from `OLD`."""

_POINTS = 12
_START = {OLD: datetime(2026, 1, 1, tzinfo=UTC), NEW: datetime(2026, 2, 1, tzinfo=UTC)}


def problem(dataset: str, formulation: str = "c-svc", C: float = 10.0) -> str:
    """Return a data set's name on the pages: with its problem and kernel."""
    return f"{dataset}, {formulation} C={C:g}, rbf gamma={gamma(dataset):g}"


def gamma(dataset: str) -> float:
    return 1.0 / SHAPES[dataset][1]


def seconds(solver: str, dataset: str, commit: str = NEW, C: float = 10.0) -> float:
    """Return the planted CPU seconds of a cell: the median of its runs."""
    n, d = SHAPES[dataset]
    place = list(SHAPES).index(dataset)
    base = 1e-6 * n**1.5 * (d / 20) ** 0.5 * (C / 10.0) ** 0.25
    if solver == TWIN:
        base *= FACTORS[TWIN] if place % 2 else 1 / FACTORS[TWIN]
    elif solver == STRANGER:
        base *= (n / CROSSING) ** 0.5
    else:
        base *= FACTORS.get(solver, 1.0)
    if commit == OLD:
        slower = solver == SLOWER and dataset in SLOWER_ON
        base *= 1 / SLOWDOWN if slower else 1.01 if place % 2 else 1 / 1.01
    return float(base)


def evaluations(solver: str, dataset: str) -> int | None:
    """Return the planted kernel evaluations of a cell; the same in every run."""
    if solver == NOT_OBSERVABLE:
        return None
    return 20 * SHAPES[dataset][0] * (1 + SOLVERS.index(solver)) if solver in SOLVERS else 15 * SHAPES[dataset][0]


def error(dataset: str, solver: str, C: float = 10.0, epsilon: float = 0.0) -> float:
    """Return the planted test error, a share: least at C=10, less at a smaller epsilon."""
    early = 0.01 if solver == STOPS_EARLY else 0.0
    return 0.05 + 0.01 * list(SHAPES).index(dataset) + 0.005 * abs(np.log10(C / 10.0)) + early + 0.3 * epsilon


def support(dataset: str, C: float = 10.0, epsilon: float | None = None) -> int:
    """Return the planted number of support vectors: the fewer the larger C; of a core set 2 / epsilon, at most all."""
    n = SHAPES[dataset][0]
    return round(n / 4 * (10.0 / C) ** 0.2) if epsilon is None else min(n, round(2 / epsilon))


def _run(
    rng: np.random.Generator, solver: str, dataset: str, commit: str, repetition: int, noise: float,
    formulation: str = "c-svc", C: float = 10.0, epsilon: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return one run as `harness compare` stores it."""
    n, d = SHAPES[dataset]
    place = list(SHAPES).index(dataset) * 10 + list(PLUGINS).index(solver)
    cell = (solver, dataset) if formulation == "c-svc" and C == 10.0 else None
    ended = {TIMED_OUT: (Status.TIMEOUT, TIMEOUT_REASON), CRASHED: (Status.CRASHED, CRASH_REASON)}
    status, reason = ended.get(cell, (Status.OK, "")) if cell else (Status.OK, "")
    parameters = {"epsilon": epsilon} if epsilon is not None else {}
    label = f"{solver}[epsilon={epsilon:g}]" if epsilon is not None else solver
    measured = _START[commit] + timedelta(hours=repetition, seconds=place, milliseconds=int(rng.integers(900)))
    made: dict[str, Any] = {
        "plugin": PLUGINS[solver], "solver": solver, "label": label, "parameters": parameters, "dataset": dataset,
        "formulation": formulation, "problem_parameters": {"C": C}, "kernel": "rbf",
        "kernel_parameters": {"gamma": gamma(dataset)}, "seed": 0, "repetition": repetition, "status": status,
        "reason": reason, "cache_mb": 256.0, "threads": 1, "time_limit": 60.0, "n_train": n, "n_features": d, "n_test": n // 2,
        "density": SPARSE.get(dataset, 1.0), "versions": VERSIONS,
        "measured_at": measured.isoformat(timespec="milliseconds"), "machine": MACHINE, "git_commit": commit, "code_sha256": commit,
        "data_sha256": f"{list(SHAPES).index(dataset):064d}",
        "key": f"{label}-{dataset}-{formulation}-{C}-{commit}-{repetition}",
    }  # fmt: skip
    if reason:
        return made
    cpu = seconds(solver, dataset, commit, C) * float(np.exp(NOISE * noise))
    if epsilon is not None:
        cpu *= 0.1 / epsilon / 10
    wall = cpu * (DISTURBANCE if cell == DISTURBED else 1.02)
    counted, size = evaluations(solver, dataset), support(dataset, C, epsilon)
    last = epsilon or GAPS[solver]
    trace = [
        {"seconds": wall * (i + 1) / _POINTS, "cpu_seconds": cpu * (i + 1) / _POINTS,
         "kernel_evaluations": counted and counted * (i + 1) // _POINTS, "iteration": i,
         "reason": "seconds", "support_vectors": max(2, size * (i + 1) // _POINTS), "relative_gap": float(gap),
         **({"epsilon": float(gap)} if epsilon else {}),
         "test_accuracy": 1 - error(dataset, solver, C, epsilon or 0.0) - 0.1 * float(gap - last)}
        for i, gap in enumerate(np.geomspace(0.5, last, _POINTS))
    ]  # fmt: skip
    return made | {
        "fit_seconds": wall, "cpu_seconds": cpu, "compile_seconds": 1.0, "peak_rss_bytes": int(1e8 + 8 * n * d),
        "kernel_evaluations": counted, "iterations": n, "support_vectors": size, "core_set_size": size,
        "relative_gap": last, "kkt_violation": last, "test_accuracy": 1 - error(dataset, solver, C, epsilon or 0.0),
        "metrics": {}, "trace": trace, **({"epsilon": epsilon} if epsilon else {}),
    }  # fmt: skip


def records() -> Iterator[dict[str, Any]]:
    """Return all runs of the store, the older state of the code first."""
    rng = np.random.default_rng(23)

    def cell(solver: str, dataset: str, commit: str, **asked: Any) -> Iterator[dict[str, Any]]:
        once = not asked and (solver, dataset) == ONCE
        noises = (0.0,) if once else rng.permutation(QUANTILES)
        for repetition, noise in enumerate(noises):
            yield _run(rng, solver, dataset, commit, repetition, float(noise), **asked)

    for commit in (OLD, NEW):
        for dataset in SHAPES:
            for solver in SOLVERS:
                yield from cell(solver, dataset, commit)
        for C in SWEEP_C:
            for solver in SWEEP_SOLVERS if C != 10.0 else ():
                yield from cell(solver, SWEPT, commit, C=C)
        for dataset in CORE_SETS:
            yield from cell(FASTEST, dataset, commit, formulation="l2-svc", C=1.0)
            for epsilon in EPSILONS:
                yield from cell(CORE, dataset, commit, formulation="l2-svc", C=1.0, epsilon=epsilon)


def made_page(folder: Path) -> str:
    """Make the store and its page in a folder, and return the page's address."""
    from harness_dashboard import page

    fill(folder / "made.sqlite", records())
    file = folder / "page.html"
    file.write_text(page.of_stores([folder / "made.sqlite"])[0], encoding="utf-8")
    return file.as_uri()


def drawn(browser: Browser, address: str, page: str = "", **values: Any) -> int:
    """Open a page with these values in its address, wait until it is drawn, return how many marks it has."""
    browser.open(f"{address}#/{page}?{urlencode(values)}")
    return redrawn(browser, page)


def redrawn(browser: Browser, page: str = "") -> int:
    """Wait until a page is drawn without an error, return how many marks it has."""
    browser.wait(
        "const { page } = window.harnessDashboard ?? {}; return page && (!arguments[0] || page === arguments[0])", page
    )
    assert browser.ask("return window.harnessDashboard.errors") == []
    return int(browser.ask("return window.harnessDashboard.drawn"))


def too_wide(browser: Browser) -> int:
    """Return by how many pixels the page is wider than the screen."""
    return int(browser.ask("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def overlapping(browser: Browser, selector: str = "#figure text.label") -> list[str]:
    """Return the pairs of texts that lie on each other."""
    return list(browser.ask(_OVERLAPS, selector))


def struck(browser: Browser) -> list[str]:
    """Return the labels through which the line of a bar goes."""
    return list(browser.ask(_STRUCK))


_STRUCK = """
const boxes = (selector) => [...document.querySelectorAll(selector)].map(each => [each.textContent, each.getBoundingClientRect()]);
const lines = boxes('#figure .bar').map(([, { left, right, top, bottom }]) => right - left > bottom - top
  ? [left, right, (top + bottom) / 2, (top + bottom) / 2] : [(left + right) / 2, (left + right) / 2, top, bottom]);
return boxes('#figure text.label').filter(([, box]) => lines.some(([left, right, top, bottom]) =>
  left < box.right - 1 && right > box.left + 1 && top < box.bottom - 2 && bottom > box.top + 2)).map(([name]) => name);
"""

_OVERLAPS = """
const boxes = [...document.querySelectorAll(arguments[0])].map(each => [each.textContent, each.getBoundingClientRect()]);
const found = [];
boxes.forEach(([name, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
  if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) found.push(`${name} / ${other}`);
}));
return found;
"""
