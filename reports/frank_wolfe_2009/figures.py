"""What the rows of the ladder say: the levels a solver reached, the problem's geometry, and the bounds of the papers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from harness_fw import core_set_bound, iteration_bound

from harness import Status
from reports.kit.journal import Row
from reports.kit.results import Results

Level = dict[str, Any]
LINEAR = 2.0  # times as many iterations for a factor of ten: a linear rate has less, one of 1 / epsilon ten
MODERATE = 1e-3  # "for which a moderately small accuracy suffices"


def measured_sets(results: Results) -> list[str]:
    """Return the problems with runs on the ladder, in the study's order."""
    return [name for name in results.plan.sets if name in results.sets]


def course(results: Results, name: str, solver: str) -> Row | None:
    """Return the run that brought ``solver`` down the ladder as far as it came; None where there is none."""
    label = results.plan.ladder_of(solver, name)
    found = [row for row in results.runs if (row["set"], row["solver"]) == (name, label) and row["info"].get("levels")]
    return found[-1] if found else None


def finished(row: Row) -> bool:
    """Return whether a run came to the end of its ladder."""
    return row["status"] == Status.OK and "ended" not in row["info"]


def levels(results: Results, name: str, solver: str) -> list[Level]:
    """Return the accuracies that a solver reached and what each took, the largest epsilon first."""
    row = course(results, name, solver)
    return list(row["info"]["levels"]) if row else []


def at(results: Results, name: str, solver: str, epsilon: float) -> Level | None:
    """Return the level of this accuracy, None where it was not reached or not asked for."""
    for level in levels(results, name, solver):
        if math.isclose(level["epsilon"], epsilon, rel_tol=1e-6):
            return level
    return None


def last_factor(results: Results, name: str, solver: str) -> float | None:
    """Return the iterations to the smallest epsilon reached over those to ten times that; None for fewer levels."""
    reached = levels(results, name, solver)
    before = at(results, name, solver, 10.0 * reached[-1]["epsilon"]) if reached else None
    return reached[-1]["iterations"] / before["iterations"] if before and before["iterations"] else None


@dataclass(frozen=True)
class Geometry:
    """delta, (19), half the squared largest distance of two points of the hulls; Psi* lies in [psi_lower, psi_upper]."""

    delta: float
    psi_lower: float
    psi_upper: float

    @property
    def zeta(self) -> float:
        """The squared ratio of the largest to the least distance, delta / Psi*; no less than it is."""
        return self.delta / self.psi_lower

    @property
    def sigma(self) -> tuple[float, float]:
        """Bounds of Gaertner and Jaggi's measure: (sqrt(zeta) - 1)^2 and zeta - 1 (Kumar & Yildirim, section 1)."""
        return (math.sqrt(self.delta / self.psi_upper) - 1.0) ** 2, self.zeta - 1.0

    def lower_bound(self, epsilon: float) -> tuple[float, float]:
        """Return the range of sigma / (2 epsilon) + 2, the core set that some hulls of this measure need."""
        low, high = self.sigma
        return low / (2.0 * epsilon) + 2.0, high / (2.0 * epsilon) + 2.0

    def iteration_bound(self, epsilon: float) -> float:
        """Return the iterations that Theorem 3.1 allows, (29)."""
        return iteration_bound(self.delta, self.psi_lower, epsilon)

    def upper_bound(self, epsilon: float) -> float:
        """Return the core set that the proof of Theorem 3.3 allows: two points, and two more an iteration, (29)."""
        return core_set_bound(self.delta, self.psi_lower, epsilon)


def geometry(results: Results, name: str) -> Geometry | None:
    """Return the geometry of a problem, from the run with the smallest certified gap; None where none has one."""
    found = [
        row for row in results.runs
        if row["set"] == name and row["info"].get("delta") and row.get("primal") and row["relative_gap"] is not None
    ]  # fmt: skip
    if not found:
        return None
    best = min(found, key=lambda row: row["relative_gap"])
    # of the data, whoever found them: plain numbers
    return Geometry(float(best["info"]["delta"]), float(best["primal"]), float(best["dual"]))
