"""The certificate is that of a feasible point, whatever the tolerance for coefficients lets pass; and none says two things."""

from fractions import Fraction

import numpy as np
import pytest

import harness
from harness import Certificate, KernelOracle, Linear, Precomputed, get_solver
from harness.registry.discovery import load_registry
from tests.problems.exact_certificates import falsehoods

TOLERATED = 0.9e-6
FAR = 1e6  # the last two points: a coefficient of a millionth there moves w as much as one of 1 elsewhere
LINE = [[1.0], [-1.0], [FAR], [-FAR]]
HULLS = [[0.0, 1.0], [1.0, 1.0], [0.0, -1.0], [-1.0, -1.0], [FAR, FAR], [-FAR, -FAR]]
TWO, SIX = [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0, 1.0, -1.0]
T, SIXTH, HALF = TOLERATED, 1.0 / 6.0, [0.5, -0.5, -0.5, 0.5]
CASES = {
    "c-svc": (LINE, TWO, {"C": 10.0}, [10.0, -10.0, 0.0, 0.0], [0.0, 0.0, -10.0 * T, 10.0 * T]),
    "c-svc-nobias": (LINE, TWO, {"C": 10.0}, [10.0, -10.0, 0.0, 0.0], [0.0, 0.0, -10.0 * T, 10.0 * T]),
    "hard-margin": (HULLS, SIX, {}, [0.0, 1.0, 0.0, -1.0, 0.0, 0.0], [0.0, T, 0.0, -T, -T, T]),
    "reduced-hull": (HULLS, SIX, {"D": 1.0}, [0.0, 1.0, 0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, -T, T]),
    "l2-svc": (HULLS, SIX, {"chi": 1e3}, [0.0, 1.0, 0.0, -1.0, 0.0, 0.0], [0.0, T, 0.0, -T, -T, T]),
    "nu-svc": (HULLS, SIX, {"nu": 1 / 3}, [0.0, SIXTH, 0.0, -SIXTH, 0.0, 0.0], np.array([0, 0, 0, 0, -T, T]) / 6),
    "one-class": ([[0.0, 1.0], [1.0, 1.0], [FAR, FAR]], [1.0] * 3, {"nu": 0.3}, [0.0, 1.0, 0.0], [0.0, T, -T]),
    "polytope-distance": ([[0.0, 1.0], [1.0, 1.0], [FAR, FAR]], [1.0] * 3, {}, [0.0, 1.0, 0.0], [0.0, 0.0, -T]),
    "eps-svr": (LINE, [3.0, -3.0, FAR, -FAR], {"C": 1.0}, [-1.0, 1.0, 1.0, -1.0], [0.0, 0.0, T, -T]),
    "tube-svr": (LINE, [1.0, -1.0, 2.0, -2.0], {"epsilon": 0.5, "D": 0.5}, HALF, np.array(TWO) * HALF * T),
}


def stated(name):
    points, targets, values, coef, outside = CASES[name]
    formulation = load_registry().formulation(name)
    problem = formulation.build(KernelOracle(Linear(), np.array(points)), np.array(targets), values)
    return problem, np.array(coef), np.asarray(outside)


def off_sums(problem, coef):
    """Return by how much the sums of the constraints are off, exactly."""
    form = problem.dual_form()
    groups = range(form.groups) if form.copies == 1 else range(min(form.groups, 1))
    total = sum(Fraction(v) for v in form.start) if form.copies > 1 else None
    found = Fraction(0)
    for k in groups:
        members = form.group[: form.n] == k if form.copies == 1 else np.ones(form.n, dtype=bool)
        wanted = total if total is not None else Fraction(float(form.start[members].sum()))
        found += abs(sum(Fraction(v) for v in coef[members]) - wanted)
    return found


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 10))])
@pytest.mark.parametrize("name", [name for name in CASES if name != "c-svc-nobias"])
def test_sums_are_exact_as_real_numbers(name, seed):
    values = {"D": 0.1, "nu": 0.3} if name in ("reduced-hull", "tube-svr", "nu-svc", "one-class") else {}
    rng, formulation = np.random.default_rng(seed), load_registry().formulation(name)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    targets = rng.normal(size=60) if formulation.task == "regression" else y
    problem = formulation.build(KernelOracle(Linear(), rng.normal(size=(60, 2))), targets, values)
    form = problem.dual_form()
    coef = form.coef(form.variables(rng.normal(size=60) * 10.0 ** rng.uniform(-9.0, 0.0, size=60)))
    found = problem.feasible(coef)
    assert (off_sums(problem, found), problem.feasible(found) is found) == (0, True)
    assert np.abs(found - coef).sum() <= 1e-15 * np.abs(coef).sum()


@pytest.mark.parametrize("name", CASES)
def test_coefficients_outside_their_bounds_are_certified_as_if_they_were_inside(name):
    problem, coef, outside = stated(name)
    assert problem.feasible(coef) is coef
    given, intercept = problem.checked(coef + outside, 0.0)
    found, inside = problem.certify(given, intercept), problem.certify(coef, 0.0)
    assert 0.0 < found.feasibility_violation <= 1e-6, "what was handed in"
    assert problem.feasibility_violation(problem.feasible(given)) <= 1e-15
    assert off_sums(problem, problem.feasible(given)) == 0
    assert (found.dual, found.relative_gap) == pytest.approx((inside.dual, inside.relative_gap), rel=1e-5)
    assert (found.meets(0.5), found.contradicts_itself) == (False, False)


@pytest.mark.parametrize("name", CASES)
def test_scores_of_the_model_serve_for_the_feasible_point(name):
    points, targets, values, coef, outside = CASES[name]
    x = np.clip(points, -1e3, 1e3)  # so near that float64 decides
    formulation = load_registry().formulation(name)
    problem = formulation.build(KernelOracle(Precomputed(), x @ x.T), np.array(targets), values)
    given = np.array(coef) + outside
    found = problem.certify(given, 0.0, problem.kernel.expand(given))
    assert falsehoods(problem, problem.feasible(given), 0.0, found) == []
    assert found.relative_gap == pytest.approx(problem.certify(given, 0.0).relative_gap, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CASES)
def test_no_lower_bound_is_above_the_optimum(name, seed):
    problem, _, _ = stated(name)
    rng, form = np.random.default_rng(seed), problem.dual_form()
    solution = get_solver("qp").solve(problem)
    optimum = problem.certify(solution.dual_coef, solution.intercept)
    unit = float(np.min(form.upper - form.lower))
    for start in (solution.dual_coef, form.coef(form.start)):
        moved = start + rng.choice([-1.0, 0.0, 1.0], problem.n) * TOLERATED * rng.random() * min(1.0, unit)
        if problem.feasibility_violation(moved) > 1e-6:
            continue
        found = problem.certify(moved, solution.intercept)
        assert not found.contradicts_itself
        if found.undecidable == "" and found.margin_upper is not None:
            assert found.margin_upper >= optimum.margin_lower
        elif found.undecidable == "":
            room = (found.gap_rounding + 1e-12) * (found.gap / found.relative_gap if found.relative_gap else 1.0)
            assert found.dual <= optimum.primal + abs(room)


def test_a_small_bound_is_not_exceeded_by_what_a_large_one_tolerates():
    x, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    formulation = load_registry().formulation("c-svc-nobias")
    problem = formulation(KernelOracle(Linear(), x), y, formulation.settings_of({"C": 1.0}), np.array([1.0, 1.0, 1e-7]))
    coef = np.array([0.5, -0.5, 9e-7])  # nine times its bound, and 0.8e-6 of the largest one beyond it
    assert problem.feasible(problem.checked(coef, 0.0)[0]).tolist() == [0.5, -0.5, 1e-7]


CERTIFICATES = [  # relative gap, its rounding, lower and upper bound of a margin, whether they contradict each other
    (-1e-9, 1e-8, None, None, False), (-1e-7, 1e-8, None, None, True),
    (-1e-9, None, None, None, False), (-1e-3, None, None, None, True),  # of unknown rounding
    (None, None, 1.0, 1.0, False), (None, None, 1.41, 0.28, True), (1e-9, 1e-8, 1.0 + 1e-9, 1.0, False),
    (1e-3, 1e-8, 1.41, 0.28, True), (0.0, None, 2.0, 1.0, False),  # the last gives up more than the optimum may
]  # fmt: skip


@pytest.mark.parametrize(("gap", "rounding", "lower", "upper", "contradicts"), CERTIFICATES)
def test_a_gap_below_zero_and_bounds_that_cross_contradict_themselves(gap, rounding, lower, upper, contradicts):
    found = Certificate(relative_gap=gap, gap_rounding=rounding, margin_lower=lower, margin_upper=upper)
    assert found.contradicts_itself == contradicts
    assert not contradicts or not found.meets(1.0)
    assert not Certificate(undecidable="w may be 0.").contradicts_itself


STRANGER = '''
from harness import CSVCNoBias, Certificate, hookimpl


class Flattering(CSVCNoBias):
    """A dual that is larger than any primal."""

    name = "flattering"

    def certificate(self, dual_coef, intercept, scores):
        return Certificate.of_objectives(1.0, 2.0, kkt_violation=0.0, feasibility_violation=0.0)


@hookimpl
def harness_formulations():
    return [Flattering]
'''


def test_a_run_whose_certificate_contradicts_itself_is_invalid(tmp_path, monkeypatch):
    from harness.registry import discovery as registry

    monkeypatch.setattr(registry, "_shared_registry", registry._shared_registry)
    plugin = tmp_path / "flattering.py"
    plugin.write_text(STRANGER)
    x, y = np.array([[1.0], [-1.0], [2.0], [-2.0]]), [1, -1, 1, -1]
    options = {"plugin_path": plugin, "formulation": "flattering", "store": tmp_path / "s.sqlite", "quiet": True}
    result = harness.compare("smo", (x, y, x, y), C=1.0, **options)
    (record,) = result.records
    assert record["status"] == "invalid"
    assert "the certificate contradicts itself: a relative gap of -1" in record["reason"]
