"""The area under learning curves as 'Re-Benchmarking Pool-Based Active Learning' measures it: the runs, and the area.

Lu, Li, Lin 2023 (arXiv 2306.08954): accuracy on 40 % of a set after each label of the others, from 20 labels to all of
them; an RBF SVM with C = 1 and gamma = 1 / d on standardised features, trained anew after every label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.border_2007.plan import PLAN, AnchorSet, Plan
from reports.kit.grids import Grid, Options
from reports.kit.journal import Row
from reports.kit.results import Results

FIRST = 20  # labels that are known before a strategy chooses
LIMIT = 3600.0  # seconds of wall time, a run

SMALL_POOL, FULL_SEARCH, RANDOM = "active-small-pool", "active-full-search", "random-sampling"
RETRAINED = "retrain-active[oracle=smo-block]"
RETRAINED_UNIFORM = "retrain-active[oracle=smo-block,candidates=1]"
"""Of one candidate the nearest: at random, and trained anew."""
BENCHMARK, BENCHMARK_UNIFORM = "margin-sampling", "margin-sampling[uniform=true]"
"""What the benchmark itself runs, with scikit-learn's SVC; see anchor_plugin.py."""
UNCERTAIN = (FULL_SEARCH, SMALL_POOL, RETRAINED, BENCHMARK)
UNIFORM = (RANDOM, RETRAINED_UNIFORM, BENCHMARK_UNIFORM)
ONLINE = (SMALL_POOL, FULL_SEARCH, RANDOM)


ANCHORS = {each.name: each for each in PLAN.anchors}
"""The sets that are held against the published ones."""


def chosen(plan: Plan, options: Options) -> list[AnchorSet]:
    """Return the sets that the command line names, else all; those that it names for other parts are left out."""
    return [each for each in plan.anchors if options.sets is None or each.name in options.sets]


def aubc(plan: Plan, options: Options) -> list[Grid]:
    """Every strategy in turns on each draw; the slow ones on the first draws alone."""
    grids = []
    for each in chosen(plan, options):
        wanted = options.repetitions or each.draws
        counts = {
            **dict.fromkeys(ONLINE, wanted),
            **dict.fromkeys((RETRAINED, RETRAINED_UNIFORM), min(wanted, each.retrained)),
            **dict.fromkeys((BENCHMARK, BENCHMARK_UNIFORM), min(wanted, each.benchmark)),
        }
        ends = sorted(set(counts.values()) - {0})
        for begin, end in zip([0, *ends], ends, strict=False):
            solvers = tuple(solver for solver, count in counts.items() if count >= end)
            draws = tuple(each.draw(k) for k in range(begin, end))
            grids.append(options.adjusted(Grid(each.name, draws, solvers, formulations=("pool-svc",), limit=LIMIT)))
    return grids


# -- the area ---------------------------------------------------------------------------------------------

Curve = list[tuple[int, float]]
"""Labels and what was reached with them, with more and more labels."""


def curve(record: Row, quantity: str = "test_accuracy") -> Curve:
    """Return a run's learning curve: its trace points that were scored, and its end; of equal labels the later model."""
    found: dict[int, float] = {}
    for point in (*record["trace"], record):
        labels, value = point.get("labels_used"), point.get(quantity)
        if labels and value is not None:
            found[int(labels)] = float(value)
    return sorted(found.items())


def area(points: Sequence[tuple[int, float]], first: int = FIRST) -> float | None:
    """Return the benchmark's AUBC of a learning curve, None where it does not reach from the first labels to others.

    Its utils.py adds the trapezoids between the accuracies after each label that a strategy chose, the first of them
    included and the one before them not, and divides by the number of these labels, which is one more than there are
    trapezoids: a strategy that is always right has 1 - 1 / labels. Between the points of a trace the curve is a line.
    """
    known = [(labels, value) for labels, value in points if labels >= first]
    if len(known) < 2 or known[0][0] != first:
        return None
    labels, values = (np.array(each, dtype=np.float64) for each in zip(*known, strict=True))
    chosen = np.arange(first + 1, labels[-1] + 1)
    return float(np.trapezoid(np.interp(chosen, labels, values)) / len(chosen))


def areas_of(rows: Iterable[Row], options: Options) -> list[Row]:  # noqa: ARG001  a part's end is given both
    """Return a row for each run that a session measured: its curve and its area."""
    found = []
    for row in rows:
        points = curve(row["record"])
        value = area(points)
        if value is not None:
            kept = {name: row[name] for name in ("set", "dataset", "solver", "seed", "cpu", "error", "measured_at")}
            rounded = [[labels, round(accuracy, 5)] for labels, accuracy in points]
            found.append({"derived": "aubc", **kept, "aubc": value, "curve": rounded})
    return found


FINISH = {"aubc": areas_of}


@dataclass(frozen=True)
class Areas:
    """The areas that were measured, the newest of each draw."""

    rows: dict[tuple[str, str, str], Row]

    @classmethod
    def of(cls, results: Results) -> Areas:
        """Read the rows that :func:`areas_of` wrote."""
        wanted = [row for row in results.derived if row["derived"] == "aubc"]
        return cls({(row["set"], row["solver"], row["dataset"]): row for row in wanted})

    def by_draw(self, name: str, solver: str, quantity: str = "aubc") -> dict[str, float]:
        """Return a quantity of each draw of a set."""
        return {
            draw: float(row[quantity])
            for (set_, solver_, draw), row in self.rows.items()
            if (set_, solver_) == (name, solver)
        }

    def curves(self, name: str, solver: str) -> list[Curve]:
        """Return the learning curves."""
        found: list[Any] = [
            row["curve"] for (set_, solver_, _), row in self.rows.items() if (set_, solver_) == (name, solver)
        ]
        return found

    def paired(self, name: str, first: str, second: str, quantity: str = "aubc") -> tuple[list[float], list[float]]:
        """Return a quantity of two strategies on the draws that both were run on."""
        one, other = self.by_draw(name, first, quantity), self.by_draw(name, second, quantity)
        both = [draw for draw in one if draw in other]
        return [one[draw] for draw in both], [other[draw] for draw in both]
