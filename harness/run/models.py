"""What came of a solver's process as a model, looked at once more: the process may have sent anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.measure.scored import FreeExpansion, Scored, Weights
from harness.run.record import Status

if TYPE_CHECKING:
    from harness.problems.certificate import Certificate
    from harness.problems.problem import Problem
    from harness.run.messages import Model


def without_certificate(problem: Problem, model: Model) -> Scored:
    """Return a model that is no dual solution of its problem.

    Raises
    ------
    InvalidModel, BrokenStream : it is none.
    """
    kernel = problem.kernel
    if model.free_coef is None:
        return Weights.checked(kernel, model.weights, model.intercept)
    coef: Any = model.coefficients(problem.n)
    if model.own is None:
        return FreeExpansion.checked(kernel, coef, None, model.intercept)
    coef = np.concatenate([coef, model.own.coef])
    return FreeExpansion.checked(kernel, coef, model.own.points(kernel.n_features), model.intercept)


def missed(certificate: Certificate, target_gap: float | None) -> dict[str, Any]:
    """Return status and reason of a model whose certificate does not meet the gap that was asked for; nothing if it does."""
    if target_gap is None or certificate.meets(target_gap):
        return {}
    gap = certificate.relative_gap
    told = (
        "no gap can be certified" if gap is None else f"the certified relative gap is {gap:.2g}, above {target_gap:g}"
    )
    return {"status": Status.MISSED, "reason": certificate.undecidable or told}
