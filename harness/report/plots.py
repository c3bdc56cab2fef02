"""The kinds of pictures of a comparison, drawn by matplotlib: what `harness.Result.plot` returns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from statistics import fmean, geometric_mean, median
from typing import TYPE_CHECKING, Any

from harness.report import curves, figures, measures, noise, paths, pictures, scaling, timing
from harness.report.curves import SECONDS, STEPS, Curve, Panel, title
from harness.report.measures import ACCURACY, EVALUATIONS, FIT, LOSSES, SIZE, Measure
from harness.report.rows import Group, Row, grouped, is_cell, solver_names
from harness.report.verdict import Comparison, Place, able_in, contests
from harness.support.errors import UsageError
from harness.support.parameters import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.run.record import Record

_NAMED = 8  # rows without a value that a picture names
_PANELS = 24  # of a picture, at most
_NUMBERS = 12  # columns of a heat map up to which each cell has its error
_SIZES = 8  # columns and rows of a heat map up to which each cell has its number of support vectors
_LETTERS = 44  # letters that fit along the first axis of a heat map
_LINES = 16  # lines that fit along its second axis
_MARKED = 8  # marks of a curve, about
_USUAL = 2  # place among the targets of the gap that is drawn, if it was reached: 1e-3
_FAMILY = itemgetter("axis", "formulation", "family")
_CONTRAST = 0.4  # exponent of the colours, so that the low errors differ most
_FRAME = "#e60026"  # of a chosen cell
_FRONT = {"color": "#777777", "linestyle": ":", "zorder": 1, **STEPS}


def _paint(panel: Panel, area: Axes, styles: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw a panel."""
    places = {name: place for place, name in enumerate(panel.bars)}  # of the solvers that have bars
    for name, curve in panel.curves.items():
        xs, ys = zip(*((x, places.get(name, y)) for x, y in curve), strict=True)
        marked = [*range(0, len(xs) - 1, 1 + len(xs) // _MARKED), len(xs) - 1]
        area.plot(xs, ys, label=name, markevery=marked, **{**styles[name], **panel.style})
        if panel.bars and not panel.log:
            area.barh(ys, xs, color=styles[name]["color"], height=0.5, alpha=0.35)
    for name, curve in panel.strokes:
        xs, ys = zip(*((x, places.get(name, y)) for x, y in curve), strict=True)
        area.plot(xs, ys, linewidth=1.0, **({"color": styles[name]["color"], "alpha": 0.6} if name else _FRONT))
    area.set(xlabel=panel.x, ylabel=panel.y, **{f"{axis}scale": "log" for axis in panel.log})
    area.grid(alpha=0.25)
    if panel.bars:
        area.set_yticks(range(len(panel.bars)), [textwrap.fill(name, 30) for name in panel.bars])
        area.set_ylim(len(panel.bars) - 0.4, -0.6)


def _paint_path(panel: Panel, area: Axes, path: Mapping[str, Any]) -> None:
    """Draw the error of each cell, a frame around the chosen one, and a question mark where a fit is not certified."""
    from matplotlib.colors import PowerNorm
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    xs, ys, cells = paths.axes_of(path)
    errors = [[paths.error_of(path, cells.get((x, y))) for x in xs] for y in ys]
    norm = PowerNorm(_CONTRAST)
    image = area.imshow(errors, origin="lower", aspect="auto", cmap="viridis_r", norm=norm)
    area.set(xlabel=panel.x, ylabel=panel.y)
    for axis, values in ((area.xaxis, [(x,) for x in xs]), (area.yaxis, ys)):
        labels = list(map(paths.value_text, values))
        taken = sum(len(label) + 2 for label in labels) // _LETTERS if axis is area.xaxis else len(labels) // _LINES
        axis.set_ticks(range(0, len(labels), 1 + taken), labels[:: 1 + taken])
    for (x, y), cell in cells.items():
        at, up = xs.index(x), ys.index(y)
        text = paths.error_text(path, cell) if len(xs) <= _NUMBERS else ""
        text = text if cell["certified"] else f"{text} ?".strip()
        text += f"\n{figures.count(cell['size'])}" if cell["size"] is not None and _has_sizes(path) else ""
        red, green, blue, _ = image.to_rgba([errors[up][at]])[0]  # type: ignore[arg-type]
        colour = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"
        area.text(at, up, text, ha="center", va="center", fontsize=7, color=colour)
        if [x, *y] == path["best"]:
            area.add_patch(Rectangle((at - 0.46, up - 0.46), 0.92, 0.92, fill=False, edgecolor=_FRAME, linewidth=2.4))
    bar = area.figure.colorbar(image, ax=area, label=paths.error_title(path), ticks=MaxNLocator(5))
    bar.ax.tick_params(labelsize=8)


def figure(records: Sequence[Record], kind: str | None = None) -> Figure:
    """Return one kind of picture as a figure of matplotlib, which is not shown.

    records : of the comparison, each path followed by its cells

    Raises
    ------
    UsageError : matplotlib is not installed; an unknown kind; nothing to draw.
    """
    curves.check("matplotlib")
    import matplotlib.pyplot as plt

    kind = kind or ("heat" if any(map(is_cell, records)) else "anytime")
    if kind not in _KINDS:
        near, known = did_you_mean(kind, _KINDS), ", ".join(_KINDS)
        raise UsageError(f"kind={kind!r} is no kind of picture{near}; known: {known}.")
    panels_of, lacking, remedy = _KINDS[kind]
    groups = grouped([record for record in records if not is_cell(record)])
    every = list(panels_of(records if kind == "heat" else groups))
    panels = [panel for panel in every if panel.curves]
    if not panels:
        raise UsageError(f"result.plot({kind!r}) has nothing to draw: {lacking}. {remedy}")
    left, panels = panels[_PANELS:], panels[:_PANELS]
    names = sorted({name for panel in panels for name in panel.curves})
    rows = dict.fromkeys(row.label if kind == "heat" else row.name for group in groups for row in group.rows)
    looks = pictures.looks(rows)
    solvers = {name: name if name in looks else name.rpartition(" (")[0] for name in names}
    styles = {name: pictures.style(looks[solver]) for name, solver in solvers.items()}
    bars = panels[0].bars
    height = max(2.2, 0.9 + 0.24 * len(names)) if bars else 3.1
    drawn, areas = pictures.grid(len(panels), 4.2, height, columns=2 if bars else 3)
    for panel, area in zip(panels, areas, strict=True):
        if panel.path:
            _paint_path(panel, area, panel.path)
        else:
            _paint(panel, area, styles)
        area.set_title(textwrap.fill(panel.title, 46), fontsize=9)
        area.tick_params(labelleft=not bars or area in areas[::2], labelsize=8)
    found = [each for area in areas for each in zip(*area.get_legend_handles_labels(), strict=True)]
    handles = {name: handle for handle, name in sorted(found, key=lambda each: each[1]) if not bars}
    absent = [name for name in rows if name not in solvers.values()]
    absent += [f"{name} on {panel.title}" for panel in every for name in panel.missing if name in names]
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    notes = [*dict.fromkeys(panel.note for panel in panels if panel.note)]
    notes += [f"{len(left)} more panels are not drawn: compare fewer data sets to draw them."] if left else []
    notes += [f"Not shown: {', '.join(absent[:_NAMED])}{more} ({lacking})."] if absent else []
    pictures.legend(pictures.plain(drawn), handles, columns=6, title=" ".join(notes))
    drawn.draw_without_rendering()  # the layout is settled by the second drawing
    plt.close(drawn)  # pyplot would show it once more at the end of a notebook's cell
    return drawn


# -- the kinds ---------------------------------------------------------------------------------------------


def _profile(groups: Sequence[Group]) -> Iterator[Panel]:
    """Yield for each formulation the share of problems on which a solver is within a factor of the best (Dolan and Moré)."""
    for formulation, units in contests(groups).items():
        times = [{row.name: of for row, of in _times(unit)} for unit in units]
        names = dict.fromkeys(name for of in times for name in of)
        medians = [list(map(median, each[: _USUAL + 1])) for of in times for each in of.values()]
        target = max((at for each in medians for at, seconds in enumerate(each) if seconds < math.inf), default=0)
        found = profile([{name: of[name][target] for name in names} for of in times if of and len(of) == len(names)])
        end = 1.3 * max([2.0, *(ratio for ratios in found.values() for ratio in ratios if ratio < math.inf)])
        number = len(next(iter(found.values()), ()))
        gap = f"certified gap {figures.target(timing.TARGETS[target])}"
        title = f"{formulation}, {gap}, {number} problem{'s' * (number != 1)}"
        panel = Panel(title, "time as a multiple of the best", "share of problems", log="x", style=STEPS)
        for name, ratios in found.items():
            share = sum(ratio < end for ratio in ratios) / number
            panel.curves[name] = [(1.0, 0.0), *corners(ratios), (end, share)]
        yield panel


def profile(problems: Iterable[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """Return for each solver its ratio to the best on each problem that any solved, infinity where it did not.

    problems : for each the seconds of the runs of each solver, infinity if one did not get there
    """
    found: dict[str, list[float]] = {}
    for times in problems:
        best = min(map(median, times.values()))
        for name, seconds in times.items() if best < math.inf else ():
            found.setdefault(name, []).append(median(seconds) / max(best, 1e-12))
    return found


def corners(ratios: Sequence[float]) -> Curve:
    """Return the corners of a solver's step function: at each of its ratios the share of problems within it."""
    finite = sorted(ratio for ratio in set(ratios) if ratio < math.inf)
    return [(ratio, sum(each <= ratio for each in ratios) / len(ratios)) for ratio in finite]


def front(points: Iterable[tuple[float, float]]) -> Curve:
    """Return the points that no other is at least as good as in both figures, from the cheapest on."""
    best: Curve = []
    for x, y in sorted(points):
        best += [(x, y)] if not best or y < best[-1][1] else []
    return best


def _front(groups: Sequence[Group]) -> Iterator[Panel]:
    """Yield for each data set the error on its test points against time, a point a solver and problem, and the front."""
    names = solver_names(groups)
    for group in groups:
        time, (quality, label) = FIT.honest(group), _quality(group.rows)
        panel, rivals = Panel(title(group), _clock(time), label, log="x", style={"linewidth": 0.6}), []
        for row in sorted((row for row in group.rows if row.begun), key=lambda row: row.problem):
            name, times, values = names[row.name, row.formulation], time.values(row), quality.values(row)
            if times and values:
                x, y = point = median(times), _error(quality, median(values))
                panel.curves.setdefault(name, []).append(point)
                panel.strokes.append((name, [(end, y) for end in time.interval(times)]))
                panel.strokes.append((name, [(x, end) for end in _span(quality, group, row)]))
                rivals += [point] if row.complete else []
            else:
                panel.missing.append(name)
        best = front(rivals)
        if len(best) > 1:
            panel.strokes.append(("", best))
            panel.note = "Bottom left is best. Dotted: the front of those that did what was asked."
        yield panel


def _scaling(groups: Sequence[Group]) -> Iterator[Panel]:
    """Yield for each data set in three sizes or more the seconds to a certified gap against the size, and the fitted lines."""
    rows: list[tuple[dict[str, Any], Row, list[list[float]]]] = []
    for unit in (unit for group in groups for unit in group.units):
        facts = {axis: unit.known(axis) for axis in scaling.AXES}
        facts |= {"set": unit.known("dataset"), "formulation": unit.rows[0].formulation}
        rows += [(facts, row, times) for row, times in _times(unit)]
    medians = ((facts, row.name, row.first.get("target_gap"), list(map(median, of))) for facts, row, of in rows)
    for (axis, formulation, family), of_family in groupby(scaling.fits(medians), _FAMILY):
        fitted = list(of_family)
        target = max((line["target"] for line in fitted), key=lambda at: (at == _USUAL, at))
        label, seconds = scaling.AXES[axis], f"seconds to a certified gap of {figures.target(timing.TARGETS[target])}"
        panel = Panel(f"{family}, {formulation}", label, seconds, style={"linestyle": ""})
        for facts, row, of in rows:
            same = (scaling.family(facts["set"]), facts["formulation"]) == (family, formulation)
            size, middle = facts[axis], median(of[target])
            if same and size and middle < math.inf:
                low, high = noise.interval(of[target], noisy=True)
                panel.curves.setdefault(row.name, []).append((size, middle))
                panel.strokes.append((row.name, [(size, low), (size, high if high < math.inf else middle)]))
        found = [line for line in fitted if line["target"] == target]
        for line in found:
            ends = [(size, math.exp(line["intercept"]) * size ** line["exponent"][0]) for size in line["sizes"]]
            panel.strokes.append((line["solver"], ends))
        ends = sorted(line["exponent"][0] for line in found)
        each = ("{} {:.2f} ({:.2f} to {:.2f})".format(line["solver"], *line["exponent"]) for line in found)
        exponents = ", ".join(each) if len(found) <= _NAMED else f"{ends[0]:.2f} to {ends[-1]:.2f}"
        panel.note = f"Exponents on {family} in {label}, with 95 % intervals: {exponents}."
        yield panel


def _heat(records: Sequence[Record]) -> Iterator[Panel]:
    """Yield a panel a path."""
    for path in paths.grids(records):
        first, *others = path["axes"]
        below = " Below an error: the number of support vectors." * _has_sizes(path)
        note = f"Framed: the chosen cell. ?: not every fit is certified.{below}"
        yield Panel(paths.title(path), first, ", ".join(others), {path["solver"]: []}, note=note, log="", path=path)


def _has_sizes(path: Mapping[str, Any]) -> bool:
    """Return whether the cells of a path have room for their numbers of support vectors."""
    xs, ys, _ = paths.axes_of(path)
    return max(len(xs), len(ys)) <= _SIZES


def _bars(groups: Sequence[Group]) -> Iterator[Panel]:
    """Yield time, kernel evaluations, core set and test error: means over the problems of a formulation, the fastest first.

    Only solvers whose every run did what was asked have them; on one problem they have their intervals.
    """
    names, quality = solver_names(groups), _quality([row for group in groups for row in group.rows])
    found = {name: list(map(Place.of, units)) for name, units in contests(groups).items() if name}
    several = max(map(len, found.values()), default=0)
    note = f"Means over {several} problems: geometric, of errors arithmetic." if several > 1 else ""
    note += " Costs without a common target gap do not compare." if any(group.loose for group in groups) else ""
    order: list[str] = []
    costs = (FIT, ""), (EVALUATIONS, "kernel evaluations"), (SIZE, "core set (support vectors)")
    for measure, name in (*costs, quality):
        error, clocks = measure is quality[0], set()
        panel = Panel(name, "", "", log="" if error else "x", style={"linestyle": ""}, bars=order, note=note.strip())
        for formulation, places in found.items():
            able = able_in(places, dict.fromkeys(name for place in places for name in place.rows))
            compared = Comparison.of(measure, places, able)
            clocks |= set(map(_clock, compared.measures))
            for solver, of in compared.values.items():
                values = [_error(measure, median(each)) for each in of]
                key = names[solver, formulation]
                panel.curves[key] = [((fmean if error else geometric_mean)(values), 0.0)]
                if len(places) == 1:
                    ends = _span(measure, places[0].group, places[0].rows[solver])
                    panel.strokes.append((key, [(end, 0.0) for end in ends]))
        order += sorted((key for key in panel.curves if key not in order), key=lambda key: panel.curves[key])
        panel.title = name or " or ".join(sorted(clocks))
        panel.missing = [key for key in order if key not in panel.curves]
        yield panel


def _times(unit: Group) -> list[tuple[Row, list[list[float]]]]:
    """Return the rows with the seconds of their runs to each target, without those whose runs differ in their counts."""
    _, clock = timing.clocks([record for row in unit.rows for record in row.measured])
    rows = [row for row in unit.rows if row.begun and not row.differing]
    return [(row, timing.until(row.records, "seconds", clock)) for row in rows]


def _quality(rows: Sequence[Row]) -> tuple[Measure, str]:
    """Return the figure of the test points, and the title of its axis: the error, of a regression its loss."""
    losses = [each for each in measures.metrics(rows) if each.title in LOSSES]
    if losses and not any(row.values(ACCURACY.figure) for row in rows):
        return losses[0], f"test {losses[0].title}"
    return ACCURACY, "test error, %"


def _error(measure: Measure, value: float) -> float:
    return 100.0 * (1.0 - value) if measure.share else value


def _span(measure: Measure, group: Group, row: Row) -> list[float]:
    """Return the ends of a figure's interval as they are drawn."""
    honest = measure.honest(group)
    return sorted(_error(measure, end) for end in honest.interval(honest.values(row)))


def _clock(time: Measure) -> str:
    return SECONDS["cpu" if time.figure == "cpu_seconds" else "wall"]


_GAPS, _COSTS = "no run has a certified gap", "plot('bars') draws what runs cost."
_THREE = "datasets=['twonorm[n=500]', 'twonorm[n=1000]', 'twonorm[n=2000]'], target_gap=1e-3"
_KINDS: dict[str, tuple[Callable[[Any], Iterable[Panel]], str, str]] = {
    "anytime": (curves.panels, _GAPS, _COSTS),
    "profile": (_profile, _GAPS, _COSTS),
    "front": (_front, "no run has a time and test figures", _COSTS),
    "scaling": (_scaling, "no data set was brought to a certified gap in three sizes", f"Compare three: {_THREE}."),
    "heat": (_heat, "there is no path", "Compare a grid: path='C,gamma', folds=5."),
    "bars": (_bars, "not every run did what was asked, or the figure is not known", "result.failures has the reasons."),
}
"""For each kind what makes its panels, what a solver without a value lacks, and what to do if all do.

Panels are made of the groups of runs; those of ``heat`` of the records, the cells of paths among them.
"""
