"""A first comparison: LASVM, Frank-Wolfe and LIBSVM on five sets, gap and test error against time; the picture of the README."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from harness import Status
from reports.kit.page import with_published
from reports.kit.pictures import legend, plt
from reports.kit.results import QUANTITIES, Results
from reports.kit.rows import grouped
from reports.kit.settings import SETTINGS
from reports.kit.study import Block, Study

LIBSVM = "libsvm"
SOLVERS = {
    "lasvm": ("LASVM, one epoch", "#0072B2"), "lasvm[epochs=2]": ("LASVM, two epochs", "#56B4E9"),
    "fw": ("Frank-Wolfe", "#D55E00"), LIBSVM: ("LIBSVM, its end", "#444444"),
}  # fmt: skip
SETS = ("waveform", "banana", "reuters", "usps", "adult")
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def plan(quick: bool) -> list[Block]:
    """Return all solvers on each set, once; Frank-Wolfe keeps the rows of its whole core set."""
    settings = [SETTINGS[name] for name in SETS]
    chosen = [setting.small() for setting in settings if setting.quick] if quick else settings
    csvc = [name for name in SOLVERS if name != "fw"]
    how = {"traced": True, "time_limit": 600.0}
    blocks = []
    for setting in chosen:
        blocks += setting.blocks("anytime", csvc, 1, formulation="c-svc", **how)
        large = replace(setting, cache_mb=1000.0 if quick else 6000.0)
        blocks += large.blocks("anytime", ["fw"], 1, formulation="l2-svc", **how)
    return blocks


def ends(results: Results) -> pd.DataFrame:
    """What each run took and found."""
    names = ("error", "gap", "seconds", "support_vectors", "kernel_values_M")
    columns = {name: QUANTITIES[name] for name in names}
    columns["gap"] = columns["gap"]._replace(title="certified gap")
    return with_published(results.runs("anytime"), results.published, ["set", "solver"], columns)


def anytime(results: Results) -> Any:
    """Draw relative gap and test error against wall time in the solver, a column a set."""
    points = results.course(["seconds", "relative_gap", "error"], "anytime", status=Status.OK)
    grouped(points.drop_duplicates("run"), ["set", "solver"], over=())
    names = list(dict.fromkeys(points["set"]))
    if not names:
        return None
    figure, panels = plt.subplots(2, len(names), figsize=(2.9 * len(names), 5.6), layout="constrained", squeeze=False)
    handles: dict[str, Any] = {}
    for (above, below), name in zip(panels.T, names, strict=True):
        for axes, quantity in ((above, "relative_gap"), (below, "error")):
            for solver, (label, colour) in SOLVERS.items():
                trace = points[(points["set"] == name) & (points["solver"] == solver)].dropna(subset=[quantity])
                trace = trace[trace["seconds"] > 0.0]
                if trace.empty:
                    continue
                x, y = trace["seconds"].to_numpy(), trace[quantity].to_numpy()
                if solver == LIBSVM:  # a black box has no trace, only its end
                    axes.axvline(x[-1], color=colour, linestyle="--", linewidth=1.0)
                    handles[label] = axes.axhline(y[-1], color=colour, linestyle="--", linewidth=1.0)
                else:
                    (handles[label],) = axes.plot(x, y, color=colour, linewidth=1.4)
                axes.plot(x[-1], y[-1], marker="o", color=colour, markersize=4)
            axes.set(xscale="log", yscale="log")
        sizes = results.runs("anytime", set=name).iloc[0]
        above.set_title(f"{name} ({sizes['n_train']:,.0f} x {sizes['n_features']:,.0f})")
        errors = points.loc[points["set"] == name, "error"]
        below.set(xlabel="wall seconds in the solver", xlim=above.get_xlim())
        below.set_yticks([tick for tick in TICKS if max(0.05, errors.min()) / 1.5 <= tick <= 1.5 * errors.max()])
        below.yaxis.set_major_formatter("{x:g}")
        below.yaxis.set_minor_formatter("")
    panels[0, 0].set_ylabel("relative gap, certified\n(each of its own formulation)")
    panels[1, 0].set_ylabel("test error, %")
    legend(figure, handles)
    return figure


STUDY = Study(
    name="first-comparison", title="LASVM, Frank-Wolfe and LIBSVM on data of Bordes, Ertekin, Weston, Bottou (2005)", plan=plan,
    tables={"ends": ends}, pictures={"anytime": anytime},
)  # fmt: skip
