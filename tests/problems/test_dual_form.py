"""The common dual of every formulation: the same program as the formulation's own, and feasible starts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    CSVC,
    L2SVC,
    RBF,
    CSVCNoBias,
    EpsSVR,
    HardMargin,
    KernelOracle,
    OneClass,
    Problem,
    ReducedHull,
)
from harness.problems.dual import first_at_cap
from tests.problems.exact import box_dual

VALUES = [
    (CSVC, {"C": 2.0}),
    (CSVC, {"C": 2.0, "class_weight": "balanced"}),
    (CSVCNoBias, {"C": 2.0}),
    (HardMargin, {}),
    (L2SVC, {"chi": 3.0}),
    (ReducedHull, {"D": 0.3}),
    (ReducedHull, {"D": 1.0}),
    (EpsSVR, {"C": 2.0, "epsilon": 0.2}),
    (EpsSVR, {"C": 0.3, "epsilon": 0.0}),
    (OneClass, {"nu": 0.3}),
    (OneClass, {"nu": 0.01}),
    (OneClass, {"nu": 1.0}),
]
EACH = pytest.mark.parametrize(("formulation", "values"), VALUES, ids=lambda each: getattr(each, "name", str(each)))


def stated(formulation, values, seed=0, n=24):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    x = rng.normal(size=(n, 2)) + 0.7 * y[:, None]
    targets = np.sin(2.0 * x[:, 0]) + 0.1 * rng.normal(size=n) if formulation is EpsSVR else y
    return formulation.build(KernelOracle(RBF(0.5), x), targets, values)


@EACH
def test_its_optimum_is_certified_by_the_formulation(formulation, values):
    problem = stated(formulation, values)
    form = problem.dual_form()
    kernel = np.array(problem.kernel.block(np.arange(problem.n)))
    a = box_dual(kernel, form)
    coef = form.coef(a)
    ends = form.ends(a, form.gradient(kernel @ coef))
    intercept = form.intercept(form.levels(ends))
    assert form.violation(ends) < 1e-6
    problem.checked(coef, intercept)
    found = problem.certify(coef, intercept)
    assert abs(found.relative_gap) < 1e-4  # the hulls are 0.02 apart, near the absolute tolerance of the backend
    assert found.kkt_violation == pytest.approx(form.violation(ends), abs=1e-6)


@EACH
def test_its_parts_fit_together(formulation, values):
    problem = stated(formulation, values)
    form = problem.dual_form()
    variables = problem.n * form.copies
    for part in (form.linear, form.lower, form.upper, form.start):
        assert (part.shape, part.dtype) == ((variables,), np.float64)
        assert part.flags.c_contiguous
        assert part.flags.writeable, "compiled loops see one type of array"
    assert (form.group.shape, form.group.dtype) == ((variables,), np.int8)
    assert set(form.group) <= set(range(max(1, form.groups)))
    assert (form.lower <= 0.0).all()
    assert (form.upper >= 0.0).all()
    assert problem.feasibility_violation(form.coef(form.start)) < 1e-14
    scores = np.arange(problem.n, dtype=float)
    gradient = form.gradient(scores)
    assert form.scores(gradient) == pytest.approx(scores)
    assert [gradient[v] for v in range(variables)] == [form.linear[v] - scores[v % problem.n] for v in range(variables)]


@EACH
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 30.0]), share=st.sampled_from([0.1, 0.6, 1.0]))
@settings(max_examples=30)
def test_any_coefficients_become_feasible_variables(formulation, values, seed, scale, share):
    problem, rng = stated(formulation, values), np.random.default_rng(seed)
    form = problem.dual_form()
    coef = scale * rng.normal(size=problem.n) * (rng.random(problem.n) < share)
    a = form.variables(coef)
    assert (a >= form.lower).all()
    assert (a <= form.upper).all()
    for k in range(form.groups):
        member = form.group == k
        assert a[member].sum() == pytest.approx(form.start[member].sum(), abs=1e-12 * max(1.0, np.abs(a).sum()))


@EACH
def test_feasible_coefficients_are_kept(formulation, values):
    problem = stated(formulation, values)
    form, kernel = problem.dual_form(), np.array(problem.kernel.block(np.arange(problem.n)))
    coef = form.coef(box_dual(kernel, form))
    again = form.variables(coef)
    assert form.coef(again) == pytest.approx(coef, abs=1e-12)
    assert np.flatnonzero(form.coef(again)).tolist() == np.flatnonzero(coef).tolist()
    if form.copies == 2:
        assert (again[: problem.n] * again[problem.n :] == 0.0).all(), "one sign, one variable"


def test_a_surplus_goes_to_variables_in_use_first():
    form = stated(CSVC, {"C": 1.0}).dual_form()
    positive, negative = np.flatnonzero(form.upper > 0.0), np.flatnonzero(form.lower < 0.0)
    coef = np.zeros(form.n)
    coef[positive[:2]], coef[negative[:2]] = 0.5, (-0.5, -0.4)
    a = form.variables(coef)
    assert a.sum() == pytest.approx(0.0, abs=1e-15)
    assert np.count_nonzero(a) == 4
    coef[negative] = 0.0
    coef[positive[:2]] = 1.0, 1.0
    assert form.variables(coef).sum() == pytest.approx(0.0, abs=1e-15)


def test_levels_are_the_middle_and_the_finite_end():
    form = stated(HardMargin, {}).dual_form()
    assert form.levels([(1.0, 3.0), (-np.inf, 5.0)]) == [2.0, 5.0]
    assert form.intercept([2.0, 5.0]) == 3.5
    assert form.violation([(1.0, 3.0), (6.0, 5.0)]) == 1.0
    free = stated(CSVCNoBias, {}).dual_form()
    assert free.intercept(free.levels([(0.5, -0.7)])) == 0.0
    assert free.violation([(0.5, -0.7)]) == 0.7


def test_the_first_points_at_their_cap():
    assert first_at_cap(np.full(5, 0.4)) == pytest.approx([0.4, 0.4, 0.2, 0.0, 0.0])
    assert first_at_cap(np.full(3, 2.0)).tolist() == [1.0, 0.0, 0.0]


def test_a_formulation_without_one_says_so():
    class Other(CSVC):
        name = "other"
        dual_form = Problem.dual_form

    with pytest.raises(NotImplementedError, match="formulation 'other' has no dual form; override dual_form"):
        stated(Other, {}).dual_form()
