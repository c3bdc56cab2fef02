"""A first comparison: four solvers on five sets, gap and test error against time; the picture of the project's README."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

from reports.kit.grids import Grid, Options, Part
from reports.kit.journal import Row
from reports.kit.markdown import machine, missing
from reports.kit.pictures import plt, save
from reports.kit.results import Results
from reports.kit.study import Study

HULLS, LIBSVM = "fw", "libsvm"
SOLVERS = {
    "lasvm": ("LASVM, one epoch", "#0072B2"),
    "lasvm[epochs=2]": ("LASVM, two epochs", "#56B4E9"),
    HULLS: ("Frank-Wolfe", "#D55E00"),
    LIBSVM: ("LIBSVM, its end", "#444444"),
}
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


@dataclass(frozen=True)
class Panel:
    """A set, as ``harness compare`` takes it; stands_for : in a quick plan, the set that needs a download."""

    name: str
    selection: str
    stands_for: str = ""


@dataclass(frozen=True)
class Plan:
    """What is measured; hulls_mb : memory of Frank-Wolfe, which keeps the rows of its whole core set."""

    panels: tuple[Panel, ...]
    hulls_mb: float = 6000.0
    limit: float = 600.0


PLAN = Plan(
    tuple(
        Panel(name, selection)
        for name, selection in (
            ("waveform", "waveform"),
            ("banana", "banana"),
            ("reuters", "reuters"),
            ("usps", "usps[split_seed=0]"),
            ("adult", "adult"),
        )
    )
)
QUICK = Plan(
    (
        Panel("waveform-breiman", "waveform-breiman[n=2000]", "waveform"),
        Panel("banana-like", "banana-like[n=1000]", "banana"),
        Panel("digits", "digits", "usps"),
    ),
    hulls_mb=1000.0,
)


def anytime(plan: Plan, options: Options) -> list[Grid]:
    """All solvers on each set, with their traces."""
    others = tuple(solver for solver in SOLVERS if solver != HULLS)
    shares = ((others, "c-svc", 256.0), ((HULLS,), "l2-svc", plan.hulls_mb))
    return [
        options.adjusted(
            Grid(
                each.name,
                (each.selection,),
                solvers,
                formulations=(formulation,),
                cache_mb=megabytes,
                limit=plan.limit,
                traced=True,
            )
        )
        for each in plan.panels
        if options.sets is None or each.name in options.sets
        for solvers, formulation, megabytes in shares
    ]


def parts(plan: Plan) -> Mapping[str, Part]:
    """Return the only part."""
    return {"anytime": lambda options: anytime(plan, options)}


def course(row: Row, quantity: str) -> list[tuple[float, float]]:
    """Return (wall seconds, value) of the trace points that have a quantity; the accuracy as an error in percent."""
    points = [(point["seconds"], point.get(quantity)) for point in row["trace"]]
    return [
        (seconds, 100.0 * (1.0 - value) if quantity == "test_accuracy" else value)
        for seconds, value in points
        if value is not None and seconds > 0.0
    ]


def _draw(axes: Any, row: Row, quantity: str) -> list[float]:
    label, colour = SOLVERS[row["solver"]]
    points = course(row, quantity)
    if not points:
        return []
    if row["solver"] == LIBSVM:  # a black box is seen at its end alone
        axes.axvline(points[-1][0], color=colour, linestyle="--", linewidth=1.0)
        axes.axhline(points[-1][1], color=colour, linestyle="--", linewidth=1.0, label=label)
    else:
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.4, label=label)
    axes.plot(*points[-1], marker="o", color=colour, markersize=4)
    return [value for _, value in points]


def picture(results: Results, path: Path) -> bool:
    """Draw relative gap and test error against wall time in the solver, a column a set."""
    names = [each.name for each in results.plan.panels if each.name in results.sets]
    if not names:
        return False
    figure, panels = plt.subplots(2, len(names), figsize=(2.9 * len(names), 5.6), layout="constrained", squeeze=False)
    handles: dict[str, Any] = {}
    for (above, below), name in zip(panels.T, names, strict=True):
        runs = [row for solver in SOLVERS for row in results.of(name, solver)[-1:]]
        for row in runs:
            _draw(above, row, "relative_gap")
        errors = [value for row in runs for value in _draw(below, row, "test_accuracy")]
        above.set(title=f"{name} ({runs[0]['n_train']:,} x {runs[0]['n_features']:,})", xscale="log", yscale="log")
        below.set(xscale="log", yscale="log", xlabel="wall seconds in the solver", xlim=above.get_xlim())
        below.set_yticks([tick for tick in TICKS if max(0.05, min(errors)) / 1.5 <= tick <= 1.5 * max(errors)])
        below.yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
        below.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        handles |= dict(zip(*reversed(above.get_legend_handles_labels()), strict=True))
    panels[0, 0].set_ylabel("relative gap, certified\n(each of its own formulation)")
    panels[1, 0].set_ylabel("test error, %")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=len(SOLVERS), frameon=False)
    return save(figure, path)


STUDY = Study(
    name="first-comparison",
    title="LASVM, Frank-Wolfe and LIBSVM on data of Bordes, Ertekin, Weston, Bottou (2005)",
    plan=PLAN,
    quick=QUICK,
    parts=parts,
    sections=lambda results: {"machine": machine(results, clock="wall"), "missing": missing(results)},
    pictures={"anytime": picture},
    sets=lambda plan: [each.name for each in plan.panels],
)
