"""The picture of reports/side_by_side."""

from __future__ import annotations

from pathlib import Path

from reports.kit.pictures import grid, save
from reports.kit.results import Results
from reports.side_by_side.tables import sets_of

COLOURS = dict(
    zip(
        ("today", "LASVM 2005", "LASVM-NC", "Frank-Wolfe 2009", "random sampling 2008", "RandSVM", "RGD-tree 2015"),
        ("#222222", "#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00"),
        strict=True,
    )
)
MARKS = "os^Dv"
_FAR = 2.0  # times the least error


def errors(results: Results, path: Path) -> bool:
    """Draw the test error of every solver over its CPU time, a panel a set, with the standard deviation of several runs.

    Runs that did not end are left out. What errs far more than the others stands at the upper edge, with its error.
    """
    names = sets_of(results)
    if not names:
        return False
    figure, panels = grid(len(names), 2.6, 0.9)
    handles = {}
    for axes, name in zip(panels.flat, names, strict=False):
        of_line: dict[str, int] = {}
        known = [results.mean(name, results.plan.solver(each, name), "error") for each in results.plan.entries]
        top = _FAR * min((error for error in known if error is not None), default=1.0)
        for each in results.plan.entries:
            solver = results.plan.solver(each, name)
            cpu, error = results.median(name, solver, "cpu"), results.mean(name, solver, "error")
            mark = MARKS[of_line.setdefault(each.line, 0)]
            of_line[each.line] += 1
            if cpu is None or error is None or results.stopped(name, solver):
                continue
            colour = COLOURS[each.line]
            if error > top:
                axes.annotate(f"{error:.2f} %", (cpu, 1.0), (0, -12), fontsize=7, color=colour, ha="center",
                              xycoords=axes.get_xaxis_transform(), textcoords="offset points")  # fmt: skip
                (handles[each.solver],) = axes.plot(
                    cpu, 1.0, mark, color=colour, markersize=6, transform=axes.get_xaxis_transform(), clip_on=False
                )
                continue
            sd = results.spread(name, solver, "error")
            found = axes.errorbar(
                cpu, error, sd, fmt=mark, color=colour, markersize=6, alpha=0.9, elinewidth=0.8, capsize=2
            )
            handles[each.solver] = found.lines[0]
        axes.set(xscale="log", xlabel="CPU seconds", ylabel="test error, %")
        axes.xaxis.set_minor_formatter("")  # in one decade or two they would overlap
        axes.set_title(name, fontsize=9)
        axes.grid(alpha=0.25)
    drawn = [each for each in results.plan.entries if each.solver in handles]
    lines, names_of = [handles[each.solver] for each in drawn], [each.name for each in drawn]
    figure.legend(lines, names_of, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return save(figure, path)


PICTURES = {"errors": errors}
