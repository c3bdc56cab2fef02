"""The map's page: heat map, means by level, where a peer is faster, the worst cells and what they spend time on, verdicts."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from reports.kit.markdown import filled
from reports.kit.page import ROOT
from reports.kit.pictures import save
from reports.peers import map_results as found
from reports.peers.cells import COSTS, EXTREME, FACTORS, WIDTHS, Cell, short
from reports.peers.map_results import CERTIFIED, JUDGED
from reports.peers.results import Results
from reports.peers.tables import NAMES, measured, table

if TYPE_CHECKING:
    import pandas as pd

FOLDER = ROOT / "map"
WORST = 10  # cells that are profiled
_SHOWN = 32.0  # ratios beyond have the last colour
_ROWS = 12  # of a table of pairs
_ENDS = (CERTIFIED, found.STOPPED, "")  # that are no news in the list of those without a certificate

INTRO = """Drawn problems that nobody tuned for (families.py), {cells} cells of {draws} draws, seed {seeds}. A cell is drawn
again alone by its name: `python reports/peers map --cell NAME`. gamma is `g` over the sum of the features' variances, `e` is the
noise in per cent, `s` seed and draw.

Times are CPU seconds of one thread, medians, until the harness certifies a KKT violation of 1.0e-3 and a relative gap of 1e-3;
every solver begins at its defaults and is tightened where it misses, the first run that is certified counts alone. `>`: the peer
was stopped, or ended without its certificate: a lower bound, from the CPU seconds that it had; where these were not kept there is
none. `<`: ours was, an upper bound. Both are in the geometric means at the bound, over so many cells as they say. "Default
stopping": every solver once more at its own tolerance of 1e-3, whatever gap that leaves."""


def write(results: Results, out: Path) -> list[found.Verdict]:
    """Write OUT/map.csv, and README.md and map.png of it; return the verdicts.

    Raises
    ------
    SystemExit : no cell was measured.
    """
    if not any(row["part"] == "peers" for row in results.rows):
        raise SystemExit(f"{out / 'results.jsonl'} holds no cell; run 'python reports/peers map --out {out}' first.")
    told = "".join(f"# {line}".rstrip() + "\n" for line in measured(results).splitlines())
    (out / "map.csv").write_text(told + found.frame(results).to_csv(index=False, float_format="%.6g"))
    told, cells = read(out)
    heat_map(cells, out / "map.png")
    text = (FOLDER / "README.md").read_text()
    (out / "README.md").write_text(filled(text, sections(told, cells)))
    return verdicts(cells)


def read(out: Path) -> tuple[str, pd.DataFrame]:
    """Return what OUT/map.csv says of the machine, and its cells."""
    import pandas as pd

    lines = (out / "map.csv").read_text().splitlines(keepends=True)
    told = [line[1:].strip("\n").removeprefix(" ") for line in lines if line.startswith("#")]
    texts = ("sign", "state", "phases", "longest", "family")
    head = next(line for line in lines if not line.startswith("#")).strip().split(",")
    given = io.StringIO("".join(line for line in lines if not line.startswith("#")))
    cells = pd.read_csv(given, dtype={name: str for name in head if name.endswith(texts)})
    return "\n".join(told), cells.fillna({name: "" for name in head if name.endswith(texts)})


def verdicts(cells: pd.DataFrame) -> list[found.Verdict]:
    """Return the verdicts on the cells of map.csv."""
    return found.verdicts(
        cells, NAMES, list(zip(cells["one thread"].dropna(), cells["two threads"].dropna(), strict=True))
    )


def sections(told: str, cells: pd.DataFrame) -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    seeds = ", ".join(map(str, sorted(set(cells["seed"]))))
    draws = len({Cell.named(name).data for name in cells["cell"]})
    return {
        "machine": told,
        "intro": INTRO.format(cells=len(cells), draws=draws, seeds=seeds),
        "means": means(cells),
        "faster": faster(cells),
        "worst": worst(cells),
        "pairs": pairs(cells),
        "threads": two_threads(cells),
        "uncertified": uncertified(cells),
        "verdicts": table(("target", "found", ""), [(each.target, each.found, each.word) for each in verdicts(cells)]),
    }


def _labels(cells: pd.DataFrame) -> list[str]:
    return [name.removesuffix(" ratio") for name in cells.columns if name.endswith(" ratio")]


def means(cells: pd.DataFrame) -> str:
    """Geometric means over each peer, by the levels of each factor; all but those of C are without C = 1e6."""
    labels, rows = _labels(cells), []
    usual = found.usual(cells)

    def line(text: str, part: pd.DataFrame) -> list[str]:
        counts = [found.mean(part, label, default=default) for label in labels for default in (False, True)]
        share = [f"{each} of {each.count}" if each.count else "-" for each in counts]
        return [text, str(len(part)), *share]

    rows.append(line("**all**", usual))
    rows.append(line(f"all, C = {short(EXTREME)} too", cells))
    for factor in (*FACTORS, "seed"):
        for level in sorted(set((cells if factor == "C" else usual)[factor])):
            of = cells if factor == "C" else usual
            rows.append(
                line(
                    f"{factor} = {level:,}" if factor == "n" else f"{factor} = {_text(level)}", of[of[factor] == level]
                )
            )
    size = [(n, d) for n in sorted(set(usual["n"])) for d in sorted(set(usual["d"]))]
    rows += [
        line(f"n = {n:,}, d = {d}", part) for n, d in size if len(part := usual[(usual["n"] == n) & (usual["d"] == d)])
    ]
    note = f"Time over ours; C = {short(EXTREME)} is in its own rows alone. `>=`: with lower bounds, `~`: with upper ones too."
    heads = [f"{NAMES[label]}{text}" for label in labels for text in ("", ", default stopping")]
    return note + "\n\n" + table(["", "cells", *heads], rows)


def _text(level: Any) -> str:
    return level if isinstance(level, str) else short(level)


def faster(cells: pd.DataFrame) -> str:
    """The shares of cells where a peer is faster, and which they are."""
    rows = []
    for label in _labels(cells):
        compared = sum(found.slowness(row, [label]) is not None for _, row in cells.iterrows())
        counts = [len(found.slower(cells, [label], factor)) for factor in (1.0, found.SLOWER)]
        rows.append(
            [NAMES[label], str(compared), *(f"{each} ({100 * each / max(1, compared):.0f} %)" for each in counts)]
        )
    judged = [label for label in JUDGED if label in _labels(cells)]
    losing = found.slower(cells, judged)
    shares = table(["peer", "compared", "it is faster", "by more than 10 %"], rows)
    if not len(losing):
        return f"{shares}\n\nIn no cell is {' or '.join(NAMES[label] for label in judged)} faster."
    head = ["cell", "ours, s", *(f"{NAMES[label]}, s" for label in judged), "ours over the faster"]
    listed = [
        [f"`{row['cell']}`", _time(row, "ours"), *(_time(row, label) for label in judged), _over(row)]
        for _, row in losing.iterrows()
    ]
    return f"{shares}\n\n{table(head, listed)}"


def _time(row: Any, label: str) -> str:
    """Return seconds as a table has them: those of a run that was not certified say so."""
    state, seconds = row[f"{label} state"], row[f"{label} seconds"]
    if state == CERTIFIED:
        return f"{seconds:.3g}"
    if state == found.STOPPED:  # killed at a limit of wall time: its CPU time may not be known
        return f"> {seconds:.3g}" if seconds == seconds and seconds is not None else str(state)
    return f"{state} ({seconds:.3g})" if seconds == seconds and seconds is not None else str(state)


def _over(row: Any) -> str:
    if row["slowness"] == float("inf"):
        return "not certified"
    return f"{'> ' if row['ours state'] == found.STOPPED else ''}{row['slowness']:.3g}"


def worst(cells: pd.DataFrame) -> str:
    """The cells with the least ratios, and the shares of their time."""
    from reports.peers.shares import PHASES, REST

    phases = [*PHASES, REST]
    labels = [label for label in JUDGED if label in _labels(cells)]
    head = ["cell", "ours, s", *(NAMES[label] for label in labels), "steps", *phases, "longest functions"]
    rows = []
    for _, row in found.worst(cells, WORST).iterrows():
        shares = row["phases"].split(", ") if row["phases"] else [""] * len(phases)
        steps = "" if row["steps"] != row["steps"] else f"{int(row['steps']):,}"
        ratios = [_ratio(row, label) for label in labels]
        rows.append([f"`{row['cell']}`", _time(row, "ours"), *ratios, steps, *shares, row["longest"]])
    note = (
        f"The {WORST} cells where ours is least ahead. Shares of a run of its own under a profiler (shares.py), by the same rule of "
        "stopping; a compiled function has what it inlines."
    )
    return f"{note}\n\n{table(head, rows)}"


def _ratio(row: Any, label: str) -> str:
    ratio = row[f"{label} ratio"]
    return (
        ""
        if ratio is None or ratio != ratio
        else f"{row[f'{label} sign']}{' ' if row[f'{label} sign'] else ''}{ratio:.3g}"
    )


def pairs(cells: pd.DataFrame) -> str:
    """The widest steps between neighbours, and what C = 1e6 costs."""

    def listed(these: Iterable[found.Pair]) -> str:
        rows = [
            [f"`{pair.cell.name}`", f"`{pair.other.name}`", f"{pair.sign} {pair.ratio:.3g}".strip()] for pair in these
        ]
        return table(["cell", "over", "times"], rows)

    return (
        f"Our time over that of a neighbour; times below {1e3 * found.LEAST_SECONDS:g} ms count as that. The widest:\n\n"
        f"{listed(found.steps(cells)[:_ROWS])}\n\n"
        f"C = 1e6 over C = 100 on the same data, both to the same certificate:\n\n{listed(found.cost_pairs(cells)[:_ROWS])}"
    )


def two_threads(cells: pd.DataFrame) -> str:
    """Wall seconds of ours with one thread and with two."""
    both = cells[cells["two threads"].notna()]
    if not len(both):
        return "Not measured (`--two-threads`)."
    rows = [
        [
            f"`{row['cell']}`",
            f"{row['one thread']:.3g}",
            f"{row['two threads']:.3g}",
            f"{row['one thread'] / row['two threads']:.2f}",
        ]
        for _, row in both.iterrows()
    ]
    return table(["cell", "one thread, s", "two, s", "times"], rows)


def uncertified(cells: pd.DataFrame) -> str:
    """Who did not get to the certified quality, and where."""
    labels = ["ours", *_labels(cells)]
    rows = [
        [f"`{row['cell']}`", *(_state(row, label) for label in labels)]
        for _, row in cells.iterrows()
        if row["ours state"] != CERTIFIED or any(row[f"{label} state"] not in _ENDS for label in labels)
    ]
    stopped = ", ".join(
        f"{NAMES.get(label, label)} {int((cells[f'{label} state'] == found.STOPPED).sum())}" for label in labels
    )
    text = (
        f"Stopped at the limit of time, cells: {stopped}. Where ours was, or somebody ended without its certificate (KKT "
        "violation, relative gap):"
    )
    head = ["cell", *(NAMES.get(label, label) for label in labels)]
    return f"{text}\n\n{table(head, rows)}" if rows else f"{text} nobody."


def _state(row: Any, label: str) -> str:
    state = row[f"{label} state"]
    if state in (CERTIFIED, found.STOPPED):
        return str(state)
    return f"{state}: {row[f'{label} kkt']:.1e}, {row[f'{label} gap']:.1e}" if state == found.MISSED else str(state)


def heat_map(cells: pd.DataFrame, path: Path) -> None:
    """Draw the ratios, a row for each draw, a column for each C and gamma, a panel for each judged peer.

    Blue: ours is faster; red: the peer is, in a black frame where it was certified. ``>`` and ``<`` are bounds,
    a question mark is a cell where neither was certified.
    """
    labels = [label for label in JUDGED if f"{label} ratio" in cells] or _labels(cells)
    columns = [(cost, width) for cost in (*COSTS, EXTREME) for width in WIDTHS]
    columns += sorted({(row["C"], row["width"]) for _, row in cells.iterrows()} - set(columns))
    keys = sorted({Cell.named(name).data for name in cells["cell"]}, key=lambda key: (key[0], key[1], key[2], key[3:]))
    size = (2.6 + 0.52 * len(columns) * max(1, len(labels)), 1.7 + 0.27 * len(keys))
    figure, panels = plt.subplots(
        1, max(1, len(labels)), figsize=size, layout="constrained", squeeze=False, sharey=True
    )
    image = None
    for axes, label in zip(panels[0], labels, strict=False):
        image = _panel(axes, cells, label, keys, columns)
        axes.set_title(f"{NAMES[label]}: time over ours", fontsize=9)
    texts = [f"{family}  {n:,} x {d}, {100 * noise:g} %" for family, n, d, noise, *_ in keys]
    panels[0, 0].set_yticks(range(len(keys)), texts, fontsize=7)
    panels[0, 0].invert_yaxis()
    if image is not None:
        ticks = [1 / 16, 1 / 4, 1, 4, 16]
        bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.5, aspect=40, extend="both")
        bar.set_ticks(ticks, labels=["1/16", "1/4", "1", "4", "16"], fontsize=7)
        bar.ax.minorticks_off()
    save(figure, path)


def _panel(axes: Any, cells: pd.DataFrame, label: str, keys: list[Any], columns: list[Any]) -> Any:
    values = np.full((len(keys), len(columns)), np.nan)
    for _, row in cells.iterrows():
        ratio = row[f"{label} ratio"]
        i, j = keys.index(Cell.named(row["cell"]).data), columns.index((row["C"], row["width"]))
        if ratio is None or ratio != ratio:
            axes.text(j, i, "?", ha="center", va="center", fontsize=6)
            continue
        values[i, j] = ratio
        dark = not 1 / 8 < ratio < 8
        axes.text(j, i, _brief(ratio, row[f"{label} sign"]), ha="center", va="center", fontsize=6,
                  color="white" if dark else "black")  # fmt: skip
        if ratio < 1.0 and row[f"{label} sign"] != ">":
            axes.add_patch(
                mpl.patches.Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.3)
            )
    norm = mpl.colors.LogNorm(1.0 / _SHOWN, _SHOWN)
    image = axes.imshow(values, cmap="RdBu", norm=norm, aspect="auto", interpolation="none")
    for k in range(1, len(keys)):
        if keys[k][0] != keys[k - 1][0]:
            axes.axhline(k - 0.5, color="black", linewidth=0.8)
    axes.set_xticks(range(len(columns)), [f"C {short(cost)}\ng {width:g}" for cost, width in columns], fontsize=6)
    axes.set_facecolor("#eeeeee")
    axes.tick_params(length=0)
    return image


def _brief(ratio: float, sign: str) -> str:
    return f"{sign}{ratio:.2g}" if ratio < 9.95 else f"{sign}{ratio:.0f}"
