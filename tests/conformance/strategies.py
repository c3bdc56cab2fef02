"""Hypothesis strategies: small problems of every formulation.

@given(cases(HardMargin))
def test_my_solver(case):
    problem = case.problem()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from harness.kernels.functions import RBF, Kernel, Linear, Poly
from harness.problems.cases import Case, csr
from harness.support.errors import UsageError

if TYPE_CHECKING:
    from harness.problems.problem import Problem


def kernels() -> st.SearchStrategy[Kernel]:
    """Return kernels of every kind, with widths that neither flatten nor isolate points of norm 1."""
    width = st.sampled_from([0.1, 0.5, 2.0])
    poly = st.builds(Poly, degree=st.integers(1, 3), gamma=width, coef0=st.sampled_from([0.0, 1.0]))
    return st.one_of(st.just(Linear()), st.builds(RBF, gamma=width), poly)


def points(n: int, d: int) -> st.SearchStrategy[Any]:
    """Return (n, d) points on a coarse grid: exact sums, and duplicates are likely."""
    row = st.lists(st.integers(-8, 8).map(lambda value: value / 4.0), min_size=d, max_size=d)
    return st.lists(row, min_size=n, max_size=n).map(np.array)


@st.composite
def cases(draw: st.DrawFn, formulation: type[Problem], kernel: Kernel | None = None, largest: int = 12) -> Case:
    """Return problems of 2 to ``largest`` points, dense or CSR, with both classes or with targets on a grid.

    Parameters
    ----------
    kernel : of every problem; None: any
    """
    n = draw(st.integers(2, largest), label="n")
    x = draw(points(n, draw(st.integers(1, 3), label="d")), label="x")
    values = st.sampled_from([-1.0, 1.0]) if formulation.task == "classification" else st.integers(-8, 8).map(float)
    tail = draw(st.lists(values, min_size=n - 2, max_size=n - 2), label="y")
    y = np.array([1.0, -1.0, *tail])
    choices = {"C": [0.1, 1.0, 10.0], "epsilon": [0.0, 0.1, 1.5, 5.0], "nu": [0.1, 0.5, 1.0]}
    drawn = {}
    for known in formulation.known_parameters():
        within = [value for value in choices.get(known.name, ()) if value > known.bounds.get("gt", -1.0)]
        if within:
            drawn[known.name] = draw(st.sampled_from(within), label=known.name)
    stored = csr(x) if draw(st.booleans(), label="csr") else x
    case = Case("drawn", formulation, stored, y, kernel or draw(kernels(), label="kernel"), drawn)
    try:
        case.problem()
    except UsageError:  # the parameters do not fit the number of points or the classes
        return case.changed(values={})
    return case
