"""Example selection, early stopping and class weights of lasvm; the state before and after the finishing step."""

from __future__ import annotations

import numpy as np
import pytest
from harness_lasvm import LASVM, selection
from harness_lasvm.compiled.members import add_scores
from harness_lasvm.expansion import Expansion
from harness_lasvm.online import Online
from harness_lasvm.selection import Search, sample_size
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import CSVC, RBF, KernelOracle, UsageError, drive
from tests.plugins.lasvm_problems import EDGES, assert_feasible, edge, iterates, noisy, precomputed, problems, stated
from tests.plugins.naive_lasvm import NaiveLASVM
from tests.plugins.naive_selection import naive_sample, naive_scores

CRITERIA = ["gradient", "active", "autoactive"]


def choices(monkeypatch):
    """Return the list to which every chosen example is added."""
    chosen = []
    offer = Search._offered

    def listening(self, example):
        chosen.append(int(example[0]))
        return offer(self, example)

    monkeypatch.setattr(Search, "_offered", listening)
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("candidates", "together"), [(7, 512), (30, 60), (None, 100)])
def test_every_choice_is_the_best_of_its_sample(monkeypatch, criterion, candidates, together):
    monkeypatch.setattr(selection, "_TOGETHER", together)
    problem, K = precomputed(stated(*noisy(300, noise=1.0), C=5.0))
    y = problem.targets
    options = LASVM(selection=criterion, candidates=candidates, dtype="float64")
    rng = np.random.default_rng(3)
    expansion = Expansion(problem, cache_mb=10.0, block=256, dtype="float64")
    online = Online(expansion, options, rng)
    online.seed(rng.permutation(problem.n))
    search = Search(expansion, np.arange(problem.n), options, rng)
    size = sample_size(criterion, candidates, None)
    unseen = set(range(problem.n)) - {int(k) for k in expansion.examples()}
    looks, total = [], len(unseen)
    while True:
        drawn, used = search.drawn, search.used
        work = search.next_example()
        if work is None:
            break
        sequence = search.drawn[used if search.drawn is drawn else 0 :][:size]
        assert len(set(sequence)) == len(sequence) == min(size, len(unseen))
        assert set(sequence) <= unseen
        delta, intercept = expansion.delta, expansion.intercept
        looked = naive_sample(K, y, expansion.members.coef, intercept, delta, sequence, criterion, size)
        chosen = int(work.examples[0])
        position = list(sequence[: len(looked)]).index(chosen)
        assert looked[position] <= min(looked) + 1e-12
        assert search.used == (used if search.drawn is drawn else 0) + len(looked)
        looks.append(len(looked))
        unseen.discard(chosen)
        for _ in online._run(work):
            pass
    assert not unseen
    assert len(looks) == total
    if criterion == "autoactive" and candidates is None:
        assert 5 == min(looks[:-5]) < max(looks[:-5])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_step_is_one_the_paper_allows(monkeypatch, criterion):
    chosen = choices(monkeypatch)
    problem, values = precomputed(stated(*noisy(160, noise=1.0), C=5.0))
    twin = NaiveLASVM(values, problem.targets, problem.upper)
    order = [int(k) for k in np.random.default_rng(1).permutation(problem.n)]
    twin.seed(order)
    steps = LASVM(selection=criterion, candidates=9, dtype="float64").iterates(problem, np.random.default_rng(1))
    for count in range(1, problem.n - 9):
        iterate = next(steps)
        assert iterate.info["visited"] == len(chosen) == count
        outcomes = twin.visit(chosen[-1])
        misses = [np.abs(outcome.alpha - iterate.dual_coef).max() for outcome in outcomes]
        twin = outcomes[int(np.argmin(misses))]
        assert min(misses) <= 1e-8
        assert iterate.info["members"] == len(twin.S)
        assert_feasible(problem, iterate.dual_coef)
    assert len(set(chosen)) == problem.n - 10  # all but the seeds, once each
    *_, last = steps
    assert last.info["delta"] <= 1e-3


@pytest.mark.parametrize("criterion", CRITERIA)
def test_epochs_choose_again_and_approach_the_optimum(criterion):
    problem = stated(*noisy(800, d=3, noise=0.8), C=5.0, kernel=RBF(gamma=0.5))
    found = iterates(problem, selection=criterion, candidates=10, epochs=4)
    certificate = problem.certify(found[-1].dual_coef, found[-1].intercept)
    assert certificate.relative_gap <= 1e-2
    assert found[-1].info["visited"] > 2 * problem.n


@pytest.mark.parametrize("parameters", [{}, {"cache_mb": 0.01}, {"delta_max": 0.5}])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_kernel_value_is_counted_and_few_are_computed_twice(monkeypatch, criterion, parameters):
    problem = stated(*noisy(700, noise=1.5), C=10.0)
    computed = []
    engine = type(problem.kernel.engine)
    for name in ("block", "fill"):
        plain = getattr(engine, name)

        def counting(self, rows, *args, plain=plain, name=name):
            done = plain(self, rows, *args)
            if name == "fill":
                columns = args[2] if len(args) > 2 else None
                computed.append(len(rows) * (self.n if columns is None else len(columns)))
            return done

        monkeypatch.setattr(engine, name, counting)
    looked = []
    sample = Search._sample

    def listening(self, entered, edge):
        rows, measure, late = sample(self, entered, edge)
        looked.append(len(measure) * self.expansion.size)
        return rows, measure, late

    monkeypatch.setattr(Search, "_sample", listening)
    iterates(problem, selection=criterion, finishing=False, **parameters)
    assert problem.kernel.counter.evaluations == sum(computed) + problem.n  # and the diagonal
    if not parameters:  # else members' rows are computed again, or S shrinks while a sample waits
        assert sum(looked) <= problem.kernel.counter.evaluations <= 1.15 * sum(looked) + 10 * problem.n


def test_selection_needs_fewer_examples_and_support_vectors_for_the_same_error():
    x, y = noisy(3000, d=2, noise=0.3, seed=8)
    test_x, test_y = noisy(2000, d=2, noise=0.3, seed=9)
    problem = stated(x, y, C=10.0, kernel=RBF(gamma=0.5))
    errors, support = {}, {}
    for name, parameters in {"random": {}, "active": {"selection": "active", "max_support": 150}}.items():
        last = iterates(problem, **parameters)[-1]
        scores = problem.scores_new(last.dual_coef, last.intercept, test_x)
        errors[name] = float(np.mean(np.sign(scores) != test_y))
        support[name] = np.count_nonzero(last.dual_coef)
    assert errors["active"] <= errors["random"] + 0.01
    assert support["active"] <= 0.6 * support["random"]


# -- early stopping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [7, 60])
@pytest.mark.parametrize("parameters", [{}, {"block": 1}, {"block": 11}, {"delta_max": 0.4}])
def test_max_support_stops_at_the_first_example_that_reaches_it(parameters, limit):
    problem, _ = precomputed(stated(*noisy(400, noise=1.0), C=2.0))
    common = {"dtype": "float64", "finishing": False, **parameters}
    single = iterates(problem, **{**common, "block": 1})
    place, first = next(
        (place, iterate) for place, iterate in enumerate(single, 1) if np.count_nonzero(iterate.dual_coef) >= limit
    )
    last = iterates(problem, max_support=limit, **common)[-1]
    np.testing.assert_array_equal(last.dual_coef, first.dual_coef)
    assert last.info["stopped_by"] == "max_support"
    assert last.info["visited"] == first.info["visited"] <= place


def test_a_limit_that_is_not_reached_changes_nothing():
    problem, _ = precomputed(stated(*noisy(300)))
    free, limited = (
        iterates(problem, epochs=2, dtype="float64"),
        iterates(problem, epochs=2, dtype="float64", max_support=300),
    )
    np.testing.assert_array_equal(free[-1].dual_coef, limited[-1].dual_coef)
    assert limited[-1].info["stopped_by"] == free[-1].info["stopped_by"] == ""
    assert free[-1].info["visited"] == 600


@pytest.mark.parametrize("criterion", CRITERIA)
def test_max_support_with_selection(criterion):
    problem = stated(*noisy(600, noise=1.0), C=2.0)
    found = iterates(problem, selection=criterion, max_support=50, epochs=3)
    before = [iterate for iterate in found if iterate.info["phase"] == "online"][-1]
    assert 50 <= np.count_nonzero(before.dual_coef) <= 53
    assert found[-1].info["stopped_by"] == "max_support"
    assert found[-1].info["epoch"] == 1


@pytest.mark.parametrize("criterion", CRITERIA)
def test_an_exhausted_margin_stops(monkeypatch, criterion):
    x, y = noisy(1500, noise=0.0, seed=2)
    x[:, 0] += 0.3 * y
    problem, K = precomputed(stated(x, y, C=100.0))
    looked = []
    sample = Search._sample

    def listening(self, entered, edge):
        rows, measure, late = sample(self, entered, edge)
        looked.append((self.drawn[rows].copy(), edge))
        return rows, measure, late

    monkeypatch.setattr(Search, "_sample", listening)
    options = {"selection": criterion, "stop_at_margin": True, "dtype": "float64"}
    last = iterates(problem, finishing=False, **options)[-1]
    assert last.info["stopped_by"] == "margin"
    assert last.info["visited"] == len(looked) - 1 < 700
    samples, edge_ = looked[-1]
    f = K[samples] @ last.dual_coef + last.intercept
    sizes = problem.targets[samples] * f if criterion == "gradient" else np.abs(f)
    assert edge_ == pytest.approx(1.0 + last.info["delta"] / 2.0)
    assert sizes.min() >= edge_ - 1e-9
    # what is left is on the right side: the whole set is fitted
    finished = iterates(problem, **options)[-1]
    assert np.mean(problem.targets * (K @ finished.dual_coef + finished.intercept) > 0.5) > 0.98


# -- before and after the finishing step -------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["random", "active"])
def test_the_last_online_iterate_is_the_model_before_finishing(criterion):
    problem = stated(*noisy(500, noise=1.0), C=10.0)
    found = iterates(problem, selection=criterion)
    online = [iterate for iterate in found if iterate.info["phase"] == "online"]
    finishing = [iterate for iterate in found if iterate.info["phase"] == "finishing"]
    assert "online_support" in online[-1].info
    assert not any("online_support" in iterate.info for iterate in online[:-1])
    fresh = stated(*noisy(500, noise=1.0), C=10.0)  # with a counter of its own
    alone = iterates(fresh, selection=criterion, finishing=False)[-1]
    np.testing.assert_array_equal(online[-1].dual_coef, alone.dual_coef)
    assert online[-1].info == alone.info
    info = finishing[-1].info
    assert info["online_support"] == np.count_nonzero(alone.dual_coef)
    assert info["online_members"] == alone.info["members"]
    assert info["online_delta"] == alone.info["delta"] > info["delta"]
    assert info["online_steps"] == alone.step < finishing[-1].step
    assert not np.array_equal(finishing[-1].dual_coef, alone.dual_coef)
    before = problem.certify(alone.dual_coef, alone.intercept)
    after = problem.certify(finishing[-1].dual_coef, finishing[-1].intercept)
    assert after.dual > before.dual


# -- class weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["random", *CRITERIA])
def test_costs_of_the_classes_bound_the_coefficients(criterion):
    x, y = noisy(400, noise=1.0)
    y[np.arange(400) % 5 > 0] = -1.0
    problem = stated(x, y, C=0.5, class_weight="balanced")
    last = iterates(problem, epochs=6, selection=criterion, candidates=None if criterion == "random" else 5)[-1]
    assert_feasible(problem, last.dual_coef)
    assert set(np.unique(problem.upper)) <= set(np.abs(last.dual_coef))  # both bounds are met, exactly
    assert problem.certify(last.dual_coef, last.intercept).relative_gap <= 1e-2


def test_costs_of_single_points_bound_them():
    x, y = noisy(300, noise=1.0)
    upper = np.random.default_rng(5).uniform(0.1, 3.0, 300)
    plain = stated(x, y)
    problem = CSVC(KernelOracle(RBF(gamma=0.3), x), y, plain.settings, upper)
    last = iterates(problem, epochs=6)[-1]
    assert_feasible(problem, last.dual_coef)
    assert np.count_nonzero(np.abs(last.dual_coef) == upper) > 20
    assert problem.certify(last.dual_coef, last.intercept).relative_gap <= 1e-3


# -- edges and invariants ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_edges(name, criterion):
    problem = stated(*edge(name, *noisy(60)), C=2.0, kernel=RBF(gamma=0.5))
    found = iterates(problem, epochs=4, selection=criterion, candidates=6)
    for iterate in found:
        problem.checked(iterate.dual_coef, iterate.intercept, tolerance=1e-12)
        assert_feasible(problem, iterate.dual_coef)
    assert found[-1].done
    assert problem.certify(found[-1].dual_coef, found[-1].intercept).relative_gap <= 1e-2


@settings(deadline=None, max_examples=30)
@given(problems, st.sampled_from(CRITERIA), st.integers(1, 12), st.booleans())
def test_flipped_labels_negate_the_model(drawn, criterion, candidates, stops):
    x, y, C = drawn
    options = {"selection": criterion, "candidates": candidates, "stop_at_margin": stops, "shrinking": False}
    model, flipped = (
        iterates(stated(x, labels, C=C, kernel=RBF(gamma=1.0)), epochs=2, **options)[-1] for labels in (y, -y)
    )
    np.testing.assert_array_equal(flipped.dual_coef, -model.dual_coef)
    assert flipped.intercept == -model.intercept
    assert flipped.info["visited"] == model.info["visited"]


@settings(deadline=None, max_examples=30)
@given(problems, st.sampled_from(CRITERIA), st.integers(1, 12))
def test_scaling_the_kernel_and_dividing_C_scale_the_coefficients_alone(drawn, criterion, candidates):
    x, y, C = drawn
    _, K = precomputed(stated(x, y, kernel=RBF(gamma=1.0)))
    from harness import Precomputed

    found = []
    for factor in (1.0, 4.0):  # a power of two: nothing is rounded
        problem = CSVC.build(KernelOracle(Precomputed(), factor * K), y, {"C": C / factor})
        found.append(iterates(problem, selection=criterion, candidates=candidates, dtype="float64")[-1])
    if K.shape[0] > 1:
        np.testing.assert_allclose(4.0 * found[1].dual_coef, found[0].dual_coef, rtol=1e-9, atol=1e-9 * C)
        assert found[1].intercept == pytest.approx(found[0].intercept, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(0, 30), st.integers(0, 70), st.sampled_from([np.float32, np.float64]))
def test_scores_are_those_of_the_slow_twin(seed, rows, columns, dtype):
    rng = np.random.default_rng(seed)
    values, coef = rng.normal(size=(rows, columns)).astype(dtype), rng.normal(size=columns)
    scores = np.full(rows, 0.25)
    add_scores(values, coef, scores)
    np.testing.assert_allclose(scores, 0.25 + np.array(naive_scores(values, coef)), rtol=1e-12, atol=1e-12)


def test_the_same_seed_gives_the_same_choices(monkeypatch):
    chosen = choices(monkeypatch)
    problem = stated(*noisy(400), C=10.0)
    for seed in (1, 1, 2):
        iterates(problem, seed=seed, selection="active")
    first, second, other = np.array(chosen).reshape(3, -1)
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_the_quantile_gives_the_sample_size():
    assert sample_size("active", None, 0.05) == 59  # section 4.3
    assert sample_size("active", None, None) == sample_size("gradient", None, None) == 50
    assert sample_size("autoactive", None, None) == 100
    assert sample_size("active", 7, None) == 7
    for quantile in (0.01, 0.2, 0.96, 0.999999):
        size = sample_size("active", None, quantile)
        assert 1.0 - (1.0 - quantile) ** size >= 0.95
        assert size == 1 or 1.0 - (1.0 - quantile) ** (size - 1) < 0.95


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"selection": "active", "candidates": 0}, "candidates=0 is not valid"),
        ({"selection": "active", "quantile": 1.0}, "quantile=1.0 is not valid"),
        ({"selection": "active", "quantile": 0.05, "candidates": 50}, "give one of them"),
        ({"candidates": 50}, "candidates=50 has no meaning with selection=random"),
        ({"stop_at_margin": True}, "stop_at_margin=True has no meaning with selection=random"),
        ({"quantile": 0.05}, "quantile=0.05 has no meaning with selection=random"),
        ({"selection": "greedy"}, "selection='greedy' is not valid"),
        ({"max_support": 0}, "max_support=0 is not valid"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(parameters, sentence):
    with pytest.raises(UsageError, match=sentence):
        LASVM(**parameters)


@pytest.mark.parametrize("C", [0.0, -1.0, float("nan")])
def test_a_price_that_is_not_positive_is_refused(C):
    with pytest.raises(UsageError, match=r"parameter C=.* is not valid"):
        stated(*noisy(20), C=C)


def test_the_host_drives_it_and_its_trace_says_the_phase():
    problem = stated(*noisy(300))
    outcome = drive(LASVM(selection="active"), problem, np.random.default_rng(0))
    assert outcome.status == "ok"
    assert outcome.info["visited"] == 290
    assert outcome.info["phase"] == "finishing"
