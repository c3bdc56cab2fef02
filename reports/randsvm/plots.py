"""The pictures of reports/randsvm."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from harness.run.record import Status
from reports.kit.pictures import save
from reports.kit.results import Results
from reports.randsvm.parts import LIBSVM, OURS, REGRESSION, SETS
from reports.randsvm.tables import run_of

COLOURS = dict(zip((*OURS, LIBSVM), ("#0072B2", "#56B4E9", "#D55E00"), strict=True))
SHADES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#444444", "#E69F00", "#56B4E9", "#8B0000")


def seconds(results: Results, path: Path) -> bool:
    """Draw the CPU time of every solver on the sets of Table 1; a run that was stopped has its limit and an open bar."""
    names = [name for name in SETS if name in results.sets]
    if not names:
        return False
    figure, axes = plt.subplots(figsize=(9.0, 3.8), layout="constrained")
    for place, (solver, colour) in enumerate(COLOURS.items()):
        for at, name in enumerate(names):
            row = run_of(results, name, solver)
            if row is None:
                continue
            ended = row["status"] == Status.OK
            high = row["cpu"] if ended else SETS[name].limit
            axes.bar(
                at + 0.27 * (place - 1), high, 0.25, color=colour if ended else "none", edgecolor=colour,
                hatch=None if ended else "//", label=solver if ended else None,
            )  # fmt: skip
    axes.bar([0], [0], color="none", edgecolor="#444444", hatch="//", label="stopped at its limit")
    axes.set(yscale="log", ylabel="CPU seconds", xticks=range(len(names)))
    axes.set_xticklabels(names, rotation=20, ha="right")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(handles.values(), handles, frameon=False, fontsize=8)
    axes.grid(alpha=0.25, axis="y")
    return save(figure, path)


def violators(results: Results, path: Path) -> bool:
    """Draw the share of violators in each round of the runs that took more than one."""
    found = []
    for name in (*SETS, *REGRESSION):
        row = run_of(results, name, OURS[1])
        # a run that ended with k support vectors did not look for violators in its last round
        shares = [] if row is None else [each for each in row["info"].get("log_share", ()) if each is not None]
        if len(shares) > 1:
            found.append((name, shares))
    if not found:
        return False
    figure, axes = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
    for colour, (name, shares) in zip(SHADES * 2, found, strict=False):
        axes.plot(range(1, len(shares) + 1), [max(each, 1e-7) for each in shares], "o-", color=colour, label=name)
    axes.set(yscale="log", xlabel="round", ylabel="violators, share of the points")
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    return save(figure, path)


PICTURES = {"seconds": seconds, "violators": violators}
