"""The tables of the anchor: areas beside the published ones, the sign of each comparison, seconds of an experiment."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean, median, stdev

from reports.border_2007.anchor import (
    ANCHORS,
    BENCHMARK,
    BENCHMARK_UNIFORM,
    FULL_SEARCH,
    RANDOM,
    RETRAINED,
    RETRAINED_UNIFORM,
    SMALL_POOL,
    UNCERTAIN,
    UNIFORM,
    Areas,
)
from reports.kit.markdown import met, number, table
from reports.kit.results import Published, Results

PUBLISHED = Path(__file__).with_name("published_aubc.csv")
FASTER = 10.0  # than an experiment of the benchmark
ENOUGH = 10  # draws from which on a mean is held against the published one; those have as many trials or more
SURE = 2.0  # standard errors of a difference from which on it has a sign

NAMES = {
    FULL_SEARCH: "active, full search",
    SMALL_POOL: "active, small pool of 59",
    RETRAINED: "trained anew, full search",
    BENCHMARK: "the benchmark's own, scikit-learn",
    RANDOM: "random",
    RETRAINED_UNIFORM: "random, trained anew",
    BENCHMARK_UNIFORM: "random, scikit-learn",
}
"""What tables call a strategy."""


def _error(values: list[float]) -> float:
    """Return the standard error of a mean, infinite for a single value."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def _spread(values: list[float]) -> str:
    return f"{mean(values):.4f}" + (f" ± {stdev(values):.4f}" if len(values) > 1 else "")


def aubc(areas: Areas, published: Published) -> str:
    """Our areas beside the published ones; our mark: within a standard deviation of the published trials."""
    rows = []
    for name, each in ANCHORS.items():
        for kind, solvers in (("uncertainty", UNCERTAIN), ("uniform", UNIFORM)):
            theirs, deviation, trials = (
                published.values["aubc", name, kind, quantity] for quantity in ("mean", "sd", "trials")
            )
            for solver in solvers:
                values = list(areas.by_draw(name, solver).values())
                if not values:
                    continue
                gap = mean(values) - theirs
                error = math.hypot(_error(values), deviation / math.sqrt(trials))
                asked = met(abs(gap) <= deviation) if len(values) >= ENOUGH else "few draws"
                asked = "other points" if each.generated else asked
                rows.append([f"{name}, {kind}", NAMES[solver], str(len(values)), _spread(values),
                             f"{theirs:.4f} ± {deviation:.4f}", f"{gap:+.4f} {asked}",
                             "" if math.isinf(error) else f"{gap / error:+.1f}"])  # fmt: skip
    head = ["set, published strategy", "ours", "draws", "AUBC", "published", "difference, within its spread",
            "in standard errors of both"]  # fmt: skip
    return table(head, rows)


def signs(areas: Areas, published: Published) -> str:
    """Uncertainty minus uniform sampling, draw by draw, and whether its sign is the published one."""
    rows = []
    for name in ANCHORS:
        one, other = (published.values["aubc", name, kind, "mean"] for kind in ("uncertainty", "uniform"))
        for active, passive in ((FULL_SEARCH, RANDOM), (SMALL_POOL, RANDOM), (RETRAINED, RETRAINED_UNIFORM),
                                (BENCHMARK, BENCHMARK_UNIFORM)):  # fmt: skip
            pairs = areas.paired(name, active, passive)
            gains = [first - second for first, second in zip(*pairs, strict=True)]
            if not gains:
                continue
            error = _error(gains)
            told = met(mean(gains) * (one - other) > 0.0) if len(gains) >= ENOUGH else "few draws"
            if len(gains) >= ENOUGH and abs(mean(gains)) < SURE * error:
                told += ", not told from 0"
            rows.append([name, NAMES[active], str(len(gains)), f"{mean(gains):+.4f}",
                         "" if math.isinf(error) else f"{error:.4f}", f"{sum(each > 0.0 for each in gains)}",
                         f"{one - other:+.4f}", told])  # fmt: skip
    head = ["set", "strategy", "draws", "AUBC minus random's", "standard error", "draws above random", "published",
            "sign as published"]  # fmt: skip
    return table(head, rows)


def trials(areas: Areas, published: Published) -> str:
    """Trial by trial, where the pool, the test points and the first labels of each are the benchmark's own."""
    rows = []
    for each in ANCHORS.values():
        for solver in (BENCHMARK, RETRAINED, FULL_SEARCH, SMALL_POOL) if each.same else ():
            ours = areas.by_draw(each.name, solver)
            gaps = [
                ours[draw] - theirs
                for k in range(each.draws)
                if (draw := each.draw(k)) in ours
                and (theirs := published.get("aubc", each.name, "uncertainty", f"trial {k}")) is not None
            ]
            if gaps:
                rows.append([each.name, NAMES[solver], str(len(gaps)), f"{mean(gaps):+.5f}",
                             "" if len(gaps) < 2 else f"{_error(gaps):.5f}", f"{max(map(abs, gaps)):.5f}"])  # fmt: skip
    head = ["set", "ours", "trials", "AUBC minus that of the published trial", "standard error", "largest"]
    return table(head, rows)


def seconds(areas: Areas, published: Published) -> str:
    """CPU seconds of an experiment, in turns on the same draws with what the benchmark itself runs."""
    rows = []
    for name in ANCHORS:
        printed = published.get("aubc", name, "uncertainty", "seconds")
        for solver in (*UNCERTAIN, *UNIFORM):
            spent = list(areas.by_draw(name, solver, "cpu").values())
            if not spent:
                continue
            own, theirs = areas.paired(name, solver, BENCHMARK, "cpu")
            ratio = median(b / a for a, b in zip(own, theirs, strict=True)) if own else None
            times = None if printed is None else printed / median(spent)
            asked = "" if times is None or solver not in UNCERTAIN else f" {met(times >= FASTER)}"
            rows.append([name, NAMES[solver], str(len(spent)), number(median(spent)), number(printed),
                         number(times) + asked, "" if solver == BENCHMARK else number(ratio)])  # fmt: skip
    head = ["set", "strategy", "draws", "CPU s, median", "published s", "times as fast as published",
            "times as fast as scikit-learn here"]  # fmt: skip
    return table(head, rows)


def sections(results: Results) -> dict[str, str]:
    """Return the sections of the anchor by the names of their markers."""
    areas, published = Areas.of(results), Published.read(PUBLISHED)
    return {
        "aubc": aubc(areas, published),
        "aubc-signs": signs(areas, published),
        "aubc-trials": trials(areas, published),
        "aubc-seconds": seconds(areas, published),
    }
