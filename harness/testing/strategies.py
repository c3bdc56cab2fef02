"""Hypothesis strategies: small problems of every formulation, for the property tests of a plugin.

``hypothesis`` is imported here and nowhere else in the package::

    @given(cases(HardMargin))
    def test_my_solver(case):
        problem = case.problem()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from harness.kernels.functions import RBF, Kernel, Linear, Poly
from harness.problems.tube_svr import TubeSVR
from harness.testing.problems import Case, csr

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
    known = formulation.parameter_class.__dataclass_fields__  # type: ignore[attr-defined]
    widths = [0.1, 1.5, 5.0] if formulation is TubeSVR else [0.0, 0.1, 1.5]
    choices = {"C": [0.1, 1.0, 10.0], "epsilon": widths, "nu": [0.1, 0.5, 1.0]}
    drawn = {name: draw(st.sampled_from(each), label=name) for name, each in choices.items() if name in known}
    stored = csr(x) if draw(st.booleans(), label="csr") else x
    return Case("drawn", formulation, stored, y, kernel or draw(kernels(), label="kernel"), drawn)
