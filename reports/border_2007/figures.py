"""What the runs of a set say, a number a question: for the tables and for the verdict alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from scipy import stats

from reports.border_2007.parts import AL, METHODS, UNDER, ratio_of
from reports.kit.markdown import number
from reports.kit.results import Printed, Results


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a quantity over runs; None of one run."""

    mean: float
    deviation: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Return the spread of some values, None of none."""
        if not values:
            return None
        return cls(mean(values), stdev(values) if len(values) > 1 else None, len(values))


def told(spread: Spread | None, published: float | None = None, form: str = ".2f") -> str:
    """Return a mean with its deviation, and the published number in parentheses."""
    if isinstance(published, Printed):
        published.note(None if spread is None else spread.mean)
    if spread is None:
        return ""
    around = "" if spread.deviation is None else f" ± {number(spread.deviation, form)}"
    beside = "" if published is None else f" ({number(published, form)})"
    return f"{number(spread.mean, form)}{around}{beside}"


def label(results: Results, name: str, solver: str) -> str:
    """Return the solver's full name on a set: of undersampling the one that was measured last."""
    if solver != UNDER:
        return solver
    named = [row["solver"] for row in results.runs if row["set"] == name and row["solver"].startswith(UNDER)]
    return str(named[-1]) if named else solver


def percent(results: Results, name: str, solver: str, metric: str) -> Spread | None:
    """Return a metric of the test points at the end of the runs, in percent."""
    found = results.values(name, label(results, name, solver), f"metrics.{metric}")
    return Spread.of([100.0 * each for each in found])


def seconds(results: Results, name: str, solver: str) -> float | None:
    """Return the median of the CPU seconds inside the solver."""
    return results.median(name, label(results, name, solver), "cpu")


def support_ratio(results: Results, name: str, solver: str = AL) -> Spread | None:
    """Return SV- / SV+ at the end of the runs."""
    return Spread.of([ratio for row in results.of(name, solver) if (ratio := ratio_of(row)) is not None])


def efficiency(results: Results, name: str, solver: str = AL) -> Spread | None:
    """Return the percentage of the training points whose labels were bought."""
    runs = [row for row in results.of(name, solver) if row["labels_used"]]
    return Spread.of([100.0 * row["labels_used"] / row["n_train"] for row in runs])


def classes(results: Results, name: str) -> dict[str, Any] | None:
    """Return what is known of a set itself: features, positives and negatives of the training part, test points."""
    found = [row for row in results.derived if row["derived"] == "set" and row["set"] == name]
    return found[-1] if found else None


def imbalance(results: Results, name: str) -> float | None:
    """Return the negatives for each positive of the training part."""
    found = classes(results, name)
    return float(found["negatives"]) / float(found["positives"]) if found else None


def compared(results: Results) -> list[str]:
    """Return the sets of Table 1 on which all five methods were measured."""
    return [
        name for name in results.plan.sets if all(percent(results, name, each, "prbep") for each in METHODS.values())
    ]


def breakeven(results: Results, name: str) -> dict[str, float]:
    """Return the mean PRBEP of each method on a set of :func:`compared`, to a hundredth of a percent."""
    found = {method: percent(results, name, solver, "prbep") for method, solver in METHODS.items()}
    return {method: round(spread.mean, 2) for method, spread in found.items() if spread is not None}


def ranks(values: Sequence[float]) -> list[int]:
    """Return the rank of each value, the largest first; of equal ones all have the best, as Table 4 has it."""
    return [int(rank) for rank in stats.rankdata([-each for each in values], method="min")]


def average_ranks(results: Results, names: Iterable[str]) -> dict[str, float]:
    """Return the mean rank of each method in PRBEP over some sets."""
    found = [ranks(list(breakeven(results, name).values())) for name in names]
    return dict(zip(METHODS, (mean(column) for column in zip(*found, strict=True)), strict=True)) if found else {}


def published_prbep(results: Results, method: str, names: Iterable[str] | None = None) -> list[float]:
    """Return Table 3's PRBEP of a method on some sets; on all 18 where none are named."""
    sets = [key[1] for key in results.published.values if key[0] == "table3" and key[2:] == (method, "prbep")]
    found = [results.published.get("table3", name, method, "prbep") for name in (sets if names is None else names)]
    return [each for each in found if each is not None]
