"""The pictures of reports/randsvm."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from reports.kit.clocks import Time, axis, cpu_time
from reports.kit.pictures import save
from reports.kit.results import Results
from reports.randsvm.plan import LIBSVM, OURS, plan_of
from reports.randsvm.tables import run_of

COLOURS = dict(zip((*OURS, LIBSVM), ("#0072B2", "#56B4E9", "#D55E00"), strict=True))
SHADES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#444444", "#E69F00", "#56B4E9", "#8B0000")


def seconds(results: Results, path: Path) -> bool:
    """Draw the CPU time of every solver on the sets of Table 1; a run that was stopped has an open bar if its time is known."""
    names = [each.name for each in plan_of(results).table1 if each.name in results.sets]
    if not names:
        return False
    figure, axes = plt.subplots(figsize=(9.0, 3.8), layout="constrained")
    drawn: list[Time] = []
    for place, (solver, colour) in enumerate(COLOURS.items()):
        for at, name in enumerate(names):
            row = run_of(results, name, solver)
            time = None if row is None else cpu_time(row)
            where = at + 0.27 * (place - 1)
            if time is None and row is not None:  # how long it had, nobody kept
                level = axes.get_xaxis_transform()
                axes.text(where, 0.02, "stopped", color=colour, transform=level, rotation=90, ha="center", fontsize=7)
            if time is None:
                continue
            drawn.append(time)
            ended = not time.at_least
            axes.bar(
                where, time.seconds, 0.25, color=colour if ended else "none", edgecolor=colour,
                hatch=None if ended else "//", label=solver if ended else None,
            )  # fmt: skip
    if any(time.at_least for time in drawn):
        axes.bar([0], [0], color="none", edgecolor="#444444", hatch="//", label="stopped, the time it had")
    axes.set(yscale="log", ylabel=axis(drawn), xticks=range(len(names)))
    axes.set_xticklabels(names, rotation=20, ha="right")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles, frameon=False, fontsize=8, loc="outside upper center", ncols=len(handles))
    axes.grid(alpha=0.25, axis="y")
    return save(figure, path)


def violators(results: Results, path: Path) -> bool:
    """Draw the share of violators in each round of the runs that took more than one."""
    found = []
    for each in (*plan_of(results).table1, *plan_of(results).table2):
        row = run_of(results, each.name, each.ours[1])
        # a run that ended with k support vectors did not look for violators in its last round
        shares = [] if row is None else [share for share in row["info"].get("log_share", ()) if share is not None]
        if len(shares) > 1:
            found.append((each.name, shares))
    if not found:
        return False
    figure, axes = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
    for colour, (name, shares) in zip(SHADES * 2, found, strict=False):
        axes.plot(range(1, len(shares) + 1), shares, "o-", color=colour, label=name)
    # a round without violators is at zero, below the least share that one violator would have
    least = min(share for _, shares in found for share in (*shares, 1.0) if share > 0.0)
    axes.set_yscale("symlog", linthresh=least)
    axes.set(xlabel="round", ylabel="violators, share of the points", ylim=(-0.3 * least, None))
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    figure.legend(frameon=False, fontsize=8, loc="outside right upper")
    return save(figure, path)


PICTURES = {"seconds": seconds, "violators": violators}
