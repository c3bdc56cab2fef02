"""The perceptrons: against their naive twins, what they may cost, Novikoff's bound, and what must not matter."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from harness_perceptron import AveragedPerceptron, BudgetPerceptron, KernelPerceptron
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import (
    RBF,
    InvalidModel,
    KernelOracle,
    Linear,
    MistakeDriven,
    Precomputed,
    TracePlan,
    UsageError,
    drive,
)
from tests.plugins.naive_perceptron import averaged_perceptron, budget_perceptron, kernel_perceptron
from tests.plugins.points import overlapping

ALL = [KernelPerceptron, AveragedPerceptron, BudgetPerceptron]


class Orders:
    """Stands for a generator of random numbers: the epochs' orders are given."""

    def __init__(self, orders):
        self.orders = iter(orders)

    def permutation(self, n):
        return np.array(next(self.orders), dtype=np.int64)


def integers(seed, n, d=2, reach=2):
    """Kernel values that are small integers, positive semidefinite, of points many of which coincide; and labels."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-reach, reach + 1, size=(n, d)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return x @ x.T, y


def stated(K, y, **settings_):
    return MistakeDriven.build(KernelOracle(Precomputed(), K, **settings_), y)


def real(n=600, gamma=0.5, seed=0):
    x, y = overlapping(seed, n)
    return MistakeDriven.build(KernelOracle(RBF(gamma=gamma), x), y)


def iterates(solver, problem, rng=None):
    """The iterates with their arrays copied."""
    found = []
    for iterate in solver.iterates(problem, rng or np.random.default_rng(3)):
        iterate.dual_coef = iterate.dual_coef.copy()
        found.append(iterate)
    return found


def orders_of(seed, n, epochs):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(epochs)]


def twin_of(solver, K, y, order):
    if isinstance(solver, BudgetPerceptron):
        return budget_perceptron(K, y, order, solver.beta, solver.N)
    return (averaged_perceptron if isinstance(solver, AveragedPerceptron) else kernel_perceptron)(K, y, order)


def assert_follows_its_twin(solver, K, y, seed=0):
    orders = orders_of(seed, len(y), solver.epochs)
    rules = twin_of(solver, K, y, np.concatenate(orders))
    found = iterates(solver, stated(K, y), Orders(orders))
    for iterate in found:
        np.testing.assert_allclose(iterate.dual_coef, rules[iterate.step - 1], rtol=0, atol=1e-12)
        assert iterate.intercept == 0.0
        assert iterate.working_set == iterate.info["members"]
        assert iterate.info["members"] == np.count_nonzero(rules[iterate.step - 1])
    assert [iterate.done for iterate in found] == [False] * (len(found) - 1) + [True]
    last = found[-1]
    if last.step < len(rules):  # it ended early: the twin does not move any more
        np.testing.assert_array_equal(rules[-1], last.dual_coef)
    return found


@pytest.mark.parametrize("block", [1, 7, 256])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("own", [{}, {"N": 5}, {"N": 12, "beta": 3.0}, {"N": 1000, "beta": 1.0}])
def test_the_budget_perceptron_takes_the_printed_steps(block, dtype, own):
    K, y = integers(1, 150)
    found = assert_follows_its_twin(BudgetPerceptron(epochs=3, block=block, dtype=dtype, **own), K, y)
    assert max(np.count_nonzero(iterate.dual_coef) for iterate in found) == min(
        own.get("N", 500), found[-1].working_set
    )


@pytest.mark.parametrize("block", [1, 7, 256])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", [KernelPerceptron, AveragedPerceptron])
def test_the_perceptron_takes_the_printed_steps(solver, block, dtype):
    K, y = integers(2, 150)
    found = assert_follows_its_twin(solver(epochs=4, block=block, dtype=dtype), K, y)
    assert len(found) == 4 * -(-150 // min(block, 64))


def test_kernel_values_in_several_parts(monkeypatch):
    from harness_perceptron import mistakes

    monkeypatch.setattr(mistakes, "_VALUES", 300)  # a few columns at a time
    K, y = integers(3, 150)
    assert_follows_its_twin(KernelPerceptron(epochs=3, block=40), K, y)


drawn = st.tuples(st.integers(0, 10_000), st.integers(2, 40))
configured = st.one_of(
    st.builds(KernelPerceptron, epochs=st.integers(1, 4), block=st.integers(1, 20)),
    st.builds(AveragedPerceptron, epochs=st.integers(1, 4), block=st.integers(1, 20)),
    st.builds(
        BudgetPerceptron,
        epochs=st.integers(1, 4),
        block=st.integers(1, 20),
        N=st.integers(1, 20),
        beta=st.sampled_from([0.0, 1.0, 2.0, 10.0]),
    ),
)


@settings(max_examples=150)
@given(drawn, configured)
def test_drawn_problems_with_equal_points(problem, solver):
    seed, n = problem
    K, y = integers(seed, n)
    assert_follows_its_twin(solver, K, y, seed)


@settings(max_examples=60)
@given(drawn, configured)
def test_flipped_labels_negate_the_model(problem, solver):
    K, y = integers(*problem)
    model, flipped = (iterates(solver, stated(K, labels))[-1] for labels in (y, -y))
    np.testing.assert_array_equal(flipped.dual_coef, -model.dual_coef)


@settings(max_examples=60)
@given(drawn, configured)
def test_other_names_of_the_points_change_nothing(problem, solver):
    seed, n = problem
    K, y = integers(seed, n)
    orders = orders_of(seed, n, solver.epochs)
    names = np.random.default_rng(seed + 1).permutation(n)  # new name -> old name
    place = np.argsort(names)
    model = iterates(solver, stated(K, y), Orders(orders))[-1]
    renamed = iterates(solver, stated(K[np.ix_(names, names)], y[names]), Orders([place[each] for each in orders]))[-1]
    np.testing.assert_array_equal(renamed.dual_coef, model.dual_coef[names])


@settings(max_examples=60)
@given(drawn, configured)
def test_a_kernel_four_times_as_large_makes_the_same_mistakes(problem, solver):
    K, y = integers(*problem)
    larger = solver.replaced(beta=4.0 * solver.beta) if isinstance(solver, BudgetPerceptron) else solver
    model, other = iterates(solver, stated(K, y))[-1], iterates(larger, stated(4.0 * K, y))[-1]
    np.testing.assert_array_equal(other.dual_coef, model.dual_coef)
    assert other.info == model.info


def test_a_budget_for_everyone_is_no_budget():
    problem = real()
    free, bound = (
        iterates(solver, problem)[-1] for solver in (KernelPerceptron(epochs=2), BudgetPerceptron(epochs=2, N=600))
    )
    np.testing.assert_array_equal(bound.dual_coef, free.dual_coef)


def test_on_separable_data_it_ends_within_novikoffs_bound():
    """Mistakes <= (R / rho)^2, R the largest |x|, rho the margin of a hyperplane through the origin (Novikoff 1962)."""
    rng = np.random.default_rng(5)
    w = np.array([0.6, 0.8])
    x = rng.normal(size=(2000, 2))
    x = x[np.abs(x @ w) > 0.1]
    y = np.sign(x @ w)
    problem = MistakeDriven.build(KernelOracle(Linear(), x), y)
    bound = (np.linalg.norm(x, axis=1).max() / np.abs(x @ w).min()) ** 2
    found = iterates(KernelPerceptron(epochs=1000), problem)
    last = found[-1]
    assert last.done
    assert last.info["epoch"] < 1000
    assert 0 < last.info["mistakes"] <= bound
    assert (y * (x @ (x.T @ last.dual_coef)) > 0.0).all()


def test_the_average_is_more_accurate_than_the_last_rule_on_noisy_data():
    x, y = overlapping(0, 2000)
    train, test = np.arange(1000), np.arange(1000, 2000)
    problem = MistakeDriven.build(KernelOracle(RBF(gamma=0.5), x[train]), y[train])
    hits = {}
    for solver in (KernelPerceptron(), AveragedPerceptron()):
        scores = [
            problem.scores_new(iterates(solver, problem, np.random.default_rng(seed))[-1].dual_coef, 0.0, x[test])
            for seed in range(5)
        ]
        hits[solver.name] = np.mean([np.mean(np.where(f >= 0.0, 1.0, -1.0) == y[test]) for f in scores])
    assert hits["averaged-perceptron"] > hits["kernel-perceptron"] + 0.02


def test_kernel_values_are_those_against_the_members_once():
    problem = real(2000)
    counter = problem.kernel.counter
    iterate = iterates(KernelPerceptron(epochs=1, block=256), problem)[-1]
    members, spent = iterate.info["members"], counter.evaluations
    grown = 0.5 * members * problem.n  # |S| grows evenly
    assert 0.8 * grown <= spent <= 1.25 * grown + 64 * problem.n


def test_later_epochs_pay_for_new_mistakes_only():
    problem = real(2000)
    counter = problem.kernel.counter
    found = iterates(KernelPerceptron(epochs=6), problem)
    ends = [iterate.info["mistakes"] for iterate, after in zip(found, [*found[1:], None], strict=True)
            if after is None or after.info["epoch"] != iterate.info["epoch"]]  # fmt: skip
    since = [0, 0, *ends]  # when the epoch before began
    most = sum((end - start) * problem.n for start, end in zip(since, ends, strict=False))
    assert counter.evaluations <= 1.125 * most + 64 * problem.n * len(ends)
    assert counter.evaluations < 0.5 * sum(end * problem.n for end in ends)  # K against all mistakes in every epoch


def test_blocks_grow_with_the_mistakes_that_are_new_to_them():
    problem = real(4000)
    found = iterates(KernelPerceptron(epochs=3), problem)
    began = [0, 0, 0, 0]  # mistakes before epoch 0, 1, 2, 3
    before, mistakes, sizes = 0, 0, set()
    for iterate in found:
        epoch = iterate.info["epoch"]
        if before == (epoch - 1) * problem.n:
            began[epoch] = mistakes
        size = min(256, max(64, (mistakes - began[epoch - 1]) // 8))
        assert iterate.step == min(before + size, epoch * problem.n)
        before, mistakes = iterate.step, iterate.info["mistakes"]
        sizes.add(size)
    assert max(sizes) > 100


def test_epochs_without_mistakes_cost_hardly_a_kernel_value():
    K, y = integers(4, 200)
    y = np.ones(200)  # one class, no negative kernel value against the sum: one mistake at most a direction
    problem = stated(np.abs(K) + 1.0, y)
    found = iterates(AveragedPerceptron(epochs=20), problem)
    assert found[-1].info["mistakes"] == 1
    assert problem.kernel.counter.evaluations <= 64 * 64 + 2 * 200
    assert found[-1].dual_coef.sum() == pytest.approx(1.0)
    assert len(iterates(KernelPerceptron(epochs=20), stated(np.abs(K) + 1.0, y))) == 2 * -(-200 // 64)


def test_the_budget_bounds_the_kernel_values():
    problem = real(2000)
    found = iterates(BudgetPerceptron(epochs=3, N=50, beta=0.5), problem)
    assert max(iterate.info["members"] for iterate in found) == 50
    assert problem.kernel.counter.evaluations <= 3 * 2000 * (50 + 64)


def test_members_whose_values_do_not_fit_are_refused():
    K, y = integers(6, 600)
    small = stated(K, y, cache_mb=1.0)
    assert BudgetPerceptron(N=512).skip(small) is None
    said = BudgetPerceptron(N=560).skip(small)
    assert said == (
        "budget-perceptron keeps the kernel values between its N=560 members, 1 MB, and the run's cache has 1 MB; "
        "take a smaller N or a larger cache."
    )
    assert BudgetPerceptron(N=512, dtype="float64").skip(small) is not None
    assert BudgetPerceptron(N=10**9).skip(real()) is None  # as many members as there are points


def test_parameters_are_checked():
    with pytest.raises(UsageError, match=r"kernel-perceptron.*epochs=0"):
        KernelPerceptron(epochs=0)
    with pytest.raises(UsageError, match=r"averaged-perceptron.*block=0"):
        AveragedPerceptron(block=0)
    with pytest.raises(UsageError, match=r"budget-perceptron.*N=0"):
        BudgetPerceptron(N=0)
    with pytest.raises(UsageError, match=r"budget-perceptron.*beta=-1"):
        BudgetPerceptron(beta=-1.0)


@pytest.mark.parametrize("solver", ALL)
def test_the_warm_up_takes_every_path(solver, monkeypatch):
    from harness_perceptron import hot

    names = {"catch_up", "visit_with_budget" if solver is BudgetPerceptron else "visit"}
    seen = set()

    def noted(name, function):
        return lambda *given: (seen.add(name), function(*given))[1]

    for name in names:
        monkeypatch.setattr(hot, name, noted(name, getattr(hot, name)))
    (small,) = solver().warm_ups()
    iterates(small, real(32))
    assert seen == names
    assert type(small) is solver


def test_trace_points_have_accuracy_and_no_gap():
    x, y = overlapping(0, 1500)
    problem = MistakeDriven.build(KernelOracle(RBF(gamma=0.5), x), y)
    outcome = drive(
        KernelPerceptron(epochs=3), problem, np.random.default_rng(0), plan=TracePlan(), metric=lambda coef, b: 0.25
    )
    assert outcome.status == "ok"
    assert {point.test_accuracy for point in outcome.trace} == {0.25}
    assert {point.relative_gap for point in outcome.trace} == {None}


@pytest.mark.slow
def test_a_comparison_with_an_svm_shows_accuracy_and_no_gap(tmp_path):
    command = [sys.executable, "-m", "harness.cli.main", "compare", "--plugins", "perceptron,qp", "--quiet"]
    command += ["--datasets", "twonorm[n=300,n_test=300]", "--store", str(tmp_path / "store.sqlite"), "--format"]
    done = subprocess.run([*command, "json"], capture_output=True, text=True, check=True)
    records = {record["solver"]: record for record in json.loads(done.stdout)}
    assert list(records) == ["kernel-perceptron", "averaged-perceptron", "budget-perceptron", "qp"]
    for name, record in records.items():
        assert record["status"] == "ok", record
        assert record["test_accuracy"] > 0.85
        assert record["kernel_evaluations"] > 0
        assert (record["relative_gap"] is None) == (name != "qp")
    table = subprocess.run([*command, "markdown"], capture_output=True, text=True, check=True).stdout
    heading, *_ = (line for line in table.splitlines() if "gap" in line)
    row, *_ = (line for line in table.splitlines() if "averaged" in line)
    cells = dict(zip(heading.split("|"), row.split("|"), strict=True))
    assert [cell.strip() for title, cell in cells.items() if title.strip() == "rel gap"] == ["-"]


def test_importing_the_plugin_does_not_compile():
    code = "import sys, harness_perceptron; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- the formulation --------------------------------------------------------------------------------------------------


def test_a_coefficient_of_the_other_sign_is_refused():
    K, y = integers(7, 20)
    problem = stated(K, y)
    coef, intercept = problem.checked(3.0 * y, 0.5)
    np.testing.assert_array_equal(coef, 3.0 * y)
    assert intercept == 0.5
    assert problem.feasibility_violation(np.zeros(20)) == 0.0
    coef[4] *= -0.5
    assert problem.feasibility_violation(coef) == 0.5
    with pytest.raises(
        InvalidModel, match=r"violates the constraints of mistake-driven by 0\.5 .*y_i dual_coef_i >= 0"
    ):
        problem.checked(coef, 0.0)


def test_the_certificate_has_no_objective_and_costs_no_kernel_value(monkeypatch):
    problem = real(50)
    monkeypatch.setattr(KernelOracle, "expand", None)  # whoever asks for scores fails
    figures = problem.certify(problem.targets, 0.0).as_dict()
    assert (figures.pop("feasibility_violation"), figures.pop("undecidable")) == (0.0, "")
    assert set(figures.values()) == {None}


def test_a_restricted_problem_has_its_own_points():
    K, y = integers(8, 20)
    part = np.array([3, 1, 7, 19])
    restricted = stated(K, y).restrict(part)
    assert type(restricted) is MistakeDriven
    np.testing.assert_array_equal(restricted.targets, y[part])
    np.testing.assert_array_equal(restricted.kernel.block(np.arange(4)), K[np.ix_(part, part)])
    with pytest.raises(NotImplementedError, match="'mistake-driven' has no dual form"):
        restricted.dual_form()
