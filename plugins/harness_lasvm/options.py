"""The parameters of LASVM, of its learner and of its streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from harness import CSVC, Conformance, Problem, Solver, parameter


@dataclass(frozen=True)
class LASVMOptions(Solver):
    """The parameters of LASVM; see :class:`harness_lasvm.solver.LASVM`."""

    name: ClassVar[str] = "lasvm"
    conformance: ClassVar[Conformance] = Conformance(
        {"epochs": 5, "tau": 1e-5},
        tuple({"epochs": 5, "tau": 1e-5, "selection": how} for how in ("gradient", "active", "autoactive")),
        gap=1e-3,
    )
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC,)
    exact: ClassVar[bool] = False  # examples dropped in the last epoch are not looked at again

    epochs: int = parameter(1, "passes over the examples, each in a fresh random order", ge=1)
    tau: float = parameter(1e-3, "a pair violates if its gradients differ by more; also ends the finishing step", gt=0)
    finishing: bool = parameter(True, "after the epochs, REPROCESS until delta <= tau")
    finisher: str | None = parameter(
        "smo-block",
        "exact solver, by name, that a long finishing step is handed to; none, and where it learns for others: REPROCESS",
    )
    shrinking: bool = parameter(True, "set members at their bounds aside during the finishing step")
    delta_max: float | None = parameter(None, "repeat REPROCESS until delta < delta_max; none: once per example", gt=0)
    second_order_from: int | None = parameter(
        1000,
        "members of S from which on pairs are chosen to second order online; none: never, nor in the finishing step",
        ge=0,
    )
    cache_mb: float | None = parameter(None, "memory for kernel rows, MB of 2^20 bytes; none: the problem's own", gt=0)
    selection: Literal["random", "gradient", "active", "autoactive"] = parameter(
        "random",
        "the next example: gradient, of smallest y f of 50 sampled ones; active, of smallest |f|; autoactive, the same of "
        "up to 100, until 5 have |f| < 1 + delta / 2",
    )
    max_support: int | None = parameter(None, "end the online iterations at so many support vectors; none: no", ge=1)
    block: int = parameter(192, "most candidates whose kernel values are computed together", ge=1)
    dtype: Literal["float32", "float64"] = parameter("float32", "of the kernel rows; gradients are float64")

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with tau at most ``gap``.

        Over S, delta <= tau leaves a gap of at most tau / 2 times the sum of |alpha|, and that sum is at most twice
        the primal value, so the relative gap over S is about tau. Over all examples it also depends on epochs.
        """
        return self.replace(tau=min(self.tau, gap))
