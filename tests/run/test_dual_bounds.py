"""Suboptimality: whose dual bounds which models, and what is refused as a bound."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import CSVC, RBF, Iterate, KernelOracle, Limits, Record, Status, StoppedBy, TracePlan, get_solver
from harness.kernels.engine import Engine
from harness.measure.outcome import DualBound
from harness.measure.scored import FreeModel
from harness.problems import L2SVC, CSVCNoBias, EpsSVR, HardMargin, ReducedHull
from harness.registry.discovery import load_registry
from harness.run.certifier import RunCertifier
from harness.run.driver import Driver
from harness.run.dual_bounds import DualBounds
from harness.run.messages import Model
from harness.run.plan import Study
from tests.measure.test_drive import Clock, run
from tests.run.test_certifier import data

N = 16
FORMULATIONS = [CSVC, CSVCNoBias, EpsSVR, L2SVC, ReducedHull, HardMargin]
FACTS = {
    "data_sha256": "d", "fold": None, "formulation": "l2-svc", "problem_parameters": {"C": 1.0, "chi": None}, "kernel": "rbf",
    "kernel_parameters": {"gamma": 0.5}, "status": "ok", "label": "qp", "measured_at": "2026-05-01T12:00:00+00:00",
    "primal": 0.9, "dual": 1.0, "relative_gap": 0.1, "gap_rounding": 0.0,
}  # fmt: skip
OTHER_PROBLEMS = {
    "Takes the dual of another C.": {"problem_parameters": {"C": 2.0, "chi": None}},
    "Takes the dual of another ridge, 1 / chi.": {"problem_parameters": {"C": 1.0, "chi": 2.0}},
    "Takes the dual over other training points.": {"data_sha256": "e"},
    "Takes the dual over the points of another fold.": {"fold": 1},
    "Takes the dual of another width of the kernel.": {"kernel_parameters": {"gamma": 0.6}},
    "Takes the dual of another kernel.": {"kernel": "laplacian"},
    "Takes the dual of another formulation.": {"formulation": "hard-margin"},
}
"""A planted fault -> the record that would be a bound with it."""
FALSE_DUALS = {
    "Takes a dual whose certificate has a gap below 0.": {"primal": 1.1, "relative_gap": -0.1},
    "Takes a dual value that does not belong to its gap.": {"dual": 0.95},
    "Takes a dual of a model that was refused.": {"status": "invalid"},
    "Takes a dual without a gap.": {"relative_gap": None},
    "Takes a dual that is not a number.": {"dual": float("nan")},
}


@functools.cache
def registry():
    return load_registry()


def stated(formulation, seed, separable=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 2))
    y = np.where(x[:, 0] + (0.0 if separable else rng.normal(size=N)) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    y = x.sum(axis=1) + rng.normal(size=N) if formulation.task == "regression" else y
    return formulation.build(Engine(RBF(gamma=2.0), x), y, {"C": 2.0})


@functools.cache
def solved(formulation, seed, gap):
    """Return a problem, the coefficients and intercept of a solution up to a gap, and its certificate."""
    problem = stated(formulation, seed)
    solution = get_solver("qp").with_target_gap(gap).solve(problem.counted())
    return problem, solution, problem.certify(solution.dual_coef, solution.intercept)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda cls: cls.name)
@given(
    seed=st.integers(0, 3),
    coefs=st.integers(0, 1000),
    scale=st.sampled_from([0.0, 0.01, 1.0, 30.0]),
    own=st.integers(0, 3),
)
def test_the_suboptimality_of_any_model_is_at_least_0_and_at_most_its_gap(formulation, seed, coefs, scale, own):
    """Of a free model, over training points and points of its own, and of a dual solution that another dual certifies better."""
    problem, best, certificate = solved(formulation, seed, 1e-6)
    rng = np.random.default_rng(coefs)
    near = best.dual_coef + scale * rng.normal(size=N)
    intercept = best.intercept + scale * rng.normal() if problem.has_bias else 0.0
    points = rng.normal(size=(own, 2)) if own else None
    model = FreeModel.checked(problem.kernel, np.r_[near, scale * rng.normal(size=own)], points, intercept)
    primal = model.primal(problem)
    distance = problem.suboptimality(primal, certificate.dual)
    assert distance is None or distance >= -1e-8
    loose = problem.certify(*rough(problem, rng))
    if loose.relative_gap is not None and loose.dual is not None:
        better = max if formulation.bounded_from == "below" else min
        distance = problem.suboptimality(loose.primal, better(loose.dual, certificate.dual))
        assert distance is None or -1e-8 <= distance <= loose.relative_gap + 1e-8


def rough(problem, rng):
    """Return a feasible dual point, somewhere between the bounds, and an intercept."""
    form = problem.dual_form()
    a = form.feasible(form.lower + (form.upper - form.lower) * rng.random(len(form.lower)))
    return form.coef(a), float(rng.normal()) if problem.has_bias else 0.0


def test_a_free_model_with_the_coefficients_of_a_dual_solution_has_its_primal_value():
    for formulation in FORMULATIONS:
        problem, best, certificate = solved(formulation, 1, 1e-6)
        primal = FreeModel.checked(problem.kernel, best.dual_coef, None, best.intercept).primal(problem)
        assert primal == pytest.approx(certificate.primal, rel=1e-5), formulation.name


# -- whose dual is a bound -----------------------------------------------------------------------------------------


def bounds_of(*records):
    bounds = DualBounds(registry())
    for record in records:
        bounds.note(Record({**FACTS, **record}))
    return bounds


def test_the_best_dual_of_the_same_problem_bounds():
    bounds = bounds_of({}, {"primal": 0.95, "dual": 0.98, "relative_gap": 1.0 - 0.95 / 0.98, "label": "fw"}, {})
    bound = bounds.of(Record({**FACTS, "dual": None}))
    assert (bound.value, bound.of) == (0.98, "fw, run of 2026-05-01")
    below = {"formulation": "c-svc", "problem_parameters": {"C": 1.0}}
    bounds = bounds_of(
        {**below, "dual": 0.8, "relative_gap": 1 / 9}, {**below, "dual": 0.85, "relative_gap": 0.05 / 0.9}
    )
    assert bounds.of(Record({**FACTS, **below})).value == 0.85
    rounded = bounds_of({"gap_rounding": 1e-3}).of(Record(FACTS))
    assert rounded.value == pytest.approx(1.001), "what rounding may have taken from an upper bound is added"


@pytest.mark.parametrize("fault", OTHER_PROBLEMS)
def test_a_dual_of_another_problem_is_no_bound(fault):
    assert bounds_of(OTHER_PROBLEMS[fault]).of(Record(FACTS)) is None


@pytest.mark.parametrize("fault", FALSE_DUALS)
def test_a_false_dual_is_no_bound(fault):
    assert bounds_of({}).known
    assert not bounds_of(FALSE_DUALS[fault]).known


def test_a_dual_of_a_formulation_of_other_code_is_no_bound():
    plugin = registry()
    formulation, owner = next((name, plugin.owner("formulation", name)) for name in plugin.formulations
                              if plugin.owner("formulation", name) != "harness")  # fmt: skip
    facts = {**FACTS, "formulation": formulation}
    own = {owner: plugin.plugins[owner].fingerprint}
    bounds = DualBounds(plugin)
    assert bounds.key(facts) == bounds.key(facts, own) != bounds.key(facts, {owner: "older"})


def test_a_bound_that_a_certificate_used_is_a_bound_if_it_fits():
    used = {
        "dual": None,
        "relative_gap": None,
        "best_dual": 1.0,
        "best_dual_of": "qp, run of 2026-04-01",
        "suboptimality": 0.1,
    }
    assert bounds_of(used).of(Record(FACTS)) == DualBound(1.0, "qp, run of 2026-04-01")
    assert not bounds_of({**used, "best_dual": 0.95}).known
    assert not bounds_of({**used, "primal": 1.1, "suboptimality": -0.1}).known


# -- targets -------------------------------------------------------------------------------------------------------


def descending(problem, best, clock, form="free_coef"):
    """Yield models that come nearer to a solution with each second."""

    def script(_):
        for step in range(1, 60):
            clock.now += 1.0
            share = 1.0 - 0.8**step
            yield Iterate(**{form: share * best.dual_coef}, intercept=best.intercept)

    return script


@pytest.mark.parametrize("formulation", [CSVC, L2SVC, EpsSVR], ids=lambda cls: cls.name)
def test_the_host_stops_a_free_model_at_the_target_by_the_dual_of_another_run(formulation):
    problem, best, certificate = solved(formulation, 2, 1e-6)
    bound, plan, limits = (
        DualBound(certificate.dual, "qp"),
        TracePlan(per_decade=10, first_seconds=1.0),
        Limits(target_gap=0.05),
    )
    copies = []
    for given_bound in (bound, None):
        clock = Clock()
        outcome = run(descending(problem, best, clock), limits, plan, stated=problem.counted(), plain=problem, clock=clock,
                      bound=given_bound, observer=lambda point, model: copies.append(model))  # fmt: skip
        if given_bound is None:
            assert outcome.stopped_by is StoppedBy.EXHAUSTED, "without a dual nothing is known of the optimum"
        else:
            assert (outcome.status, outcome.stopped_by) == (Status.OK, StoppedBy.TARGET)
            assert problem.suboptimality(copies[-1].primal(problem), bound.value) <= 0.05
            assert all(problem.suboptimality(model.primal(problem), bound.value) > 0.05 for model in copies[:-1])
            assert "a suboptimality of 5e-2, with the dual of qp" in outcome.reason


def test_a_dual_solution_is_stopped_by_its_own_gap_alone():
    problem, best, certificate = solved(CSVC, 2, 1e-6)
    clock, plan = Clock(), TracePlan(per_decade=10, first_seconds=1.0)
    target = Limits(target_gap=0.05)
    outcomes = [run(descending(problem, best, clock, "dual_coef"), target, plan, stated=problem.counted(), plain=problem,
                    clock=clock, bound=bound) for bound in (None, DualBound(certificate.dual, "qp"))]  # fmt: skip
    assert outcomes[0].yields == outcomes[1].yields


def test_a_trace_point_has_no_model_that_is_large_or_invalid():
    problem, best, _ = solved(CSVC, 2, 1e-6)
    points = np.ones((3, 2))
    models = {
        "small": {"free_coef": np.r_[best.dual_coef, 1.0, 0.0, 0.0], "extra_points": points},
        "large": {"free_coef": np.r_[best.dual_coef, np.ones(600_000)], "extra_points": np.ones((600_000, 2))},
        "invalid": {"free_coef": np.r_[best.dual_coef, np.nan, 0.0, 0.0], "extra_points": points},
        "too short": {"free_coef": np.ones(3)},
        "no vector": {"free_coef": np.array(1.0)},
        "weights of nothing": {"weights": np.array(1.0)},
        "over features": {"weights": np.ones(2), "features": object()},
    }
    copies, clock = [], Clock()

    def script(_):
        for model in models.values():
            clock.now *= 2.0
            yield Iterate(**model)
        yield Iterate(free_coef=np.zeros(N))

    run(script, None, TracePlan(per_decade=10, first_seconds=1.0), stated=problem.counted(), plain=problem, clock=clock,
        observer=lambda point, model: copies.append(model is not None))  # fmt: skip
    assert dict(zip(models, copies, strict=True)) == dict.fromkeys(models, False) | {"small": True}


def certified(problem, dataset, primal_of, bound, target=0.05):
    """Return the fields that a certifier computes of a free model."""
    from harness.run.messages import RunSpec

    spec = RunSpec("p", "s", {}, "d", "d", {}, problem.name, {}, "rbf", {}, limits=Limits(target_gap=target))
    certifier = RunCertifier(spec, dataset, registry(), bound)
    model = certifier.model(problem, Model.of(primal_of).packed())
    return certifier.certify(problem, model, dataset.x_train, dataset.y_train).fields


def test_the_certifier_judges_a_free_model_by_the_dual_that_it_was_given():
    dataset = data()
    problem = CSVC.build(KernelOracle(RBF(gamma=1.0), dataset.x_train), dataset.y_train, {"C": 1.0})
    best = get_solver("qp").solve(problem)
    dual = problem.certify(best.dual_coef, best.intercept).dual
    near = FreeModel.checked(problem.kernel, 0.99 * best.dual_coef, None, best.intercept)
    fields = certified(problem, dataset, near, DualBound(dual, "qp"))
    assert "status" not in fields
    assert fields["suboptimality"] == pytest.approx((fields["primal"] - dual) / fields["primal"])
    assert (fields["best_dual"], fields["best_dual_of"], fields["relative_gap"]) == (dual, "qp", None)
    far = FreeModel.checked(problem.kernel, 0.5 * best.dual_coef, None, best.intercept)
    fields = certified(problem, dataset, far, DualBound(dual, "qp"))
    assert fields["status"] is Status.MISSED
    assert fields["reason"].startswith("its suboptimality, with the dual of qp, is ")
    fields = certified(problem, dataset, near, None)
    assert (fields["status"], fields.get("best_dual")) == (Status.MISSED, None)
    assert fields["reason"].endswith("no dual bound of this problem is known")
    fields = certified(problem, dataset, near, DualBound(1.5 * dual, "a false one"))
    assert fields["status"] is Status.INVALID
    assert "contradicts the certified dual value" in fields["reason"]


# -- a comparison --------------------------------------------------------------------------------------------------

PLUGIN = '''
from dataclasses import dataclass

import numpy as np

from harness import CSVCNoBias, Iterate, Solver, hookimpl, parameter


@dataclass(frozen=True)
class Descent(Solver):
    """Functional gradient steps on the hinge loss: f <- (1 - t) f + t C sum_i y_i [y_i f_i < 1] k_i."""

    name = "descent"
    solves = (CSVCNoBias,)
    model_form = "free_coef"
    exact = False

    steps: int = parameter(100_000, "steps", ge=1)

    def iterates(self, problem, rng):
        values = problem.kernel.block(np.arange(problem.n))
        coef, scores = np.zeros(problem.n), np.zeros(problem.n)
        for step in range(1, self.steps + 1):
            short = np.where(problem.targets * scores < 1.0, problem.targets * problem.upper, 0.0)
            coef += (short - coef) / step
            scores = values @ coef
            yield Iterate(free_coef=coef, step=step, done=step == self.steps)


@hookimpl
def harness_solvers():
    return [Descent]
'''


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "descent.py"
    path.write_text(PLUGIN)
    return path


def compared(plugin, solvers, store, **options):
    loaded = load_registry([plugin])
    study = Study(loaded.select_solvers(solvers), loaded.select_datasets("twonorm[n=120,n_test=50]"), store=store,
                  plugin_paths=[str(plugin)], formulations=["c-svc-nobias"], kernel_values={"gamma": [0.05]}, **options)  # fmt: skip
    started = []
    records = Driver(study, loaded, on_started=lambda spec: started.append(spec.solver)).run()
    return {record["solver"]: record for record in records}, started


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"jobs": 2}, {"executor": "threads://local?workers=1"}], ids=str)
def test_runs_that_lack_a_dual_come_after_those_that_make_one_and_meet_the_target_by_it(plugin, tmp_path, options):
    limits = Limits(target_gap=1e-2, time_limit=60.0)
    records, started = compared(plugin, "descent,nystroem,qp", tmp_path / "s", limits=limits, **options)
    found = records["descent"]
    assert (found["status"], found["stopped_by"]) == ("ok", "target"), found["reason"]
    assert found["suboptimality"] <= 1e-2
    assert found["best_dual_of"].startswith("qp, run of ")
    assert found["best_dual"] == pytest.approx(records["qp"]["dual"], rel=1e-6)
    assert {point.get("primal") is not None for point in found["trace"]} == {True}
    assert records["nystroem"]["status"] == "missed"
    if not options:
        assert started == ["qp", "descent", "nystroem"]
    assert list(records) == ["descent", "nystroem", "qp"], "the order of a report is that of the selection"


@pytest.mark.slow
def test_a_dual_of_the_store_bounds_and_a_row_is_measured_again_only_where_it_lacked_one(plugin, tmp_path):
    limits = Limits(target_gap=1e-2, time_limit=60.0)
    alone, _ = compared(plugin, "descent[steps=3000]", tmp_path / "s", limits=limits)
    assert (alone["descent"]["status"], alone["descent"]["best_dual"]) == ("missed", None)
    again, _ = compared(plugin, "descent[steps=3000]", tmp_path / "s", limits=limits)
    assert again["descent"]["reused"], "no dual is known, and none will be"
    compared(plugin, "smo-block", tmp_path / "s")
    bounded, _ = compared(plugin, "descent[steps=3000]", tmp_path / "s", limits=limits)
    assert not bounded["descent"]["reused"]
    assert bounded["descent"]["best_dual_of"].startswith("smo-block, run of ")
    assert bounded["descent"]["status"] == "ok"
    better, _ = compared(plugin, "descent[steps=3000],qp", tmp_path / "s", limits=limits)
    assert better["descent"]["reused"], "a better dual disturbs no row"
    loose, _ = compared(plugin, "descent[steps=3000]", tmp_path / "s")
    assert loose["descent"]["suboptimality"] is not None, "without a target the record has it too"
