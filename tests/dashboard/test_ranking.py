"""The ranking against slow and obvious twins, what must not change it, and what it says of few data sets."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from harness_dashboard import contest, ranking, scaling
from harness_dashboard.contest import Contest
from harness_dashboard.tables import TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.report.noise import ONE_RUN

WITHIN = 1.2
"""Costs whose ratio is below the square of this are equal in these tests."""


def made(costs, unit=None):
    """Return a contest of costs, one row a solver; None was not run, inf did not reach the target."""
    costs = np.array([[math.nan if each is None else each for each in row] for row in costs], dtype=float)
    return Contest(costs, costs / WITHIN, costs * WITHIN, np.arange(costs.shape[1]) if unit is None else np.array(unit))


def table(costs, sets=None, **facts):
    """Return a table of cells: costs[solver][data set] are seconds to 1e-3, None was not run, inf never reached it.

    facts : of each data set, ``n_train=[...]``
    """
    solvers = [f"s{i}" for i in range(len(costs))]
    number = len(costs[0])
    sets = sets or [f"d{j:02d}" for j in range(number)]
    usual = {
        "formulation": ["c-svc"] * number,
        "n_train": [500] * number,
        "n_features": [10] * number,
        "density": [1.0] * number,
    }
    told = [{"set": sets[j], **{name: values[j] for name, values in {**usual, **facts}.items()}} for j in range(number)]
    columns = {name: [] for name in ("solver", "dataset", "ran", "measured", "runs", "at_least", "kernel_evaluations", "target_gap",
                                     "seconds_to", "seconds_to_intervals", "kernel_evaluations_to")}  # fmt: skip
    for (i, row), j in itertools.product(enumerate(costs), range(number)):
        spent = [None if row[j] is None or math.isinf(row[j]) else row[j] * (place + 1) / 3 for place in range(3)] + [
            None
        ] * 3
        cell = {
            "solver": i, "dataset": j, "ran": row[j] is not None, "measured": row[j] is not None, "runs": 5, "at_least": False,
            "kernel_evaluations": 10, "target_gap": None, "seconds_to": spent, "kernel_evaluations_to": spent,
            "seconds_to_intervals": [each and [each / WITHIN, each * WITHIN] for each in spent],
        }  # fmt: skip
        for name, value in cell.items():
            columns[name].append(value)
    return {"solvers": solvers, "datasets": [f"{name}, {i}" for i, name in enumerate(sets)], "dataset_facts": told,
            "columns": columns, "rows": len(solvers) * number}  # fmt: skip


def answer(found, kind="|||", target=1e-3, cost="seconds"):
    return found["ranked"][found["kinds"][kind]][cost][ranking.RANKED.index(target)]


# -- twins ------------------------------------------------------------------------------------------------

cost = st.one_of(st.none(), st.just(math.inf), st.integers(0, 12).map(lambda power: 1.3**power))


@st.composite
def contests(draw, least=2):
    solvers, sets = draw(st.integers(2, 5)), draw(st.integers(least, 6))
    unit = sorted([*range(sets), *draw(st.lists(st.integers(0, sets - 1), max_size=3))])
    costs = [[draw(cost) for _ in unit] for _ in range(solvers)]
    for column in range(len(unit)):  # a problem that nobody brought to the target is not in a contest
        costs[draw(st.integers(0, solvers - 1))][column] = draw(st.integers(0, 12).map(lambda power: 1.3**power))
    return costs, unit


def equal(a, b):
    """Whether two costs of the same problem are equal, written as one would say it."""
    if math.isinf(a) or math.isinf(b):
        return math.isinf(a) and math.isinf(b)
    return max(a, b) / WITHIN <= min(a, b) * WITHIN


def by_set(values, unit):
    """The mean over the problems of each data set, of what is known."""
    sets = [
        [value for value, of in zip(values, unit, strict=True) if of == each and value is not None]
        for each in sorted(set(unit))
    ]
    return [sum(each) / len(each) if each else math.nan for each in sets]


def naive_rank(costs, solver, problem):
    column = [row[problem] for row in costs]
    if column[solver] is None:
        return None
    others = [each for i, each in enumerate(column) if i != solver and each is not None]
    beaten = sum(0.5 if equal(column[solver], each) else float(column[solver] > each) for each in others)
    return 1 + beaten * (len(costs) - 1) / max(1, len(others))


def naive_win(costs, solver, problem):
    column = [row[problem] for row in costs]
    known = [each for each in column if each is not None]
    level = [
        i for i, each in enumerate(column) if each is not None and not math.isinf(each) and equal(each, min(known))
    ]
    return 1 / len(level) if solver in level else 0.0


def naive_ratio(costs, solver, problem):
    column = [row[problem] for row in costs]
    best = min(each for each in column if each is not None)
    return None if column[solver] is None or math.isinf(column[solver]) else math.log(column[solver] / best)


@given(contests())
def test_ranks_wins_and_ratios_are_those_of_the_slow_twin(drawn):
    costs, unit = drawn
    found = made(costs, unit)
    for values, naive in ((found.ranks, naive_rank), (found.wins, naive_win), (found.ratios, naive_ratio)):
        slow = [by_set([naive(costs, i, p) for p in range(len(unit))], unit) for i in range(len(costs))]
        np.testing.assert_allclose(values, slow, atol=1e-12)
    assert found.wins.sum() == pytest.approx(found.sets)


def test_the_test_is_wilcoxons_by_all_signs():
    """p is the share of the 2^d choices of signs whose smaller rank sum is at most that of the differences."""
    rng = np.random.default_rng(0)
    costs = np.exp(rng.normal(size=(3, 7))) * np.array([[1.0], [4.0], [2.0]]) ** 2
    of = Contest(costs, costs, costs, np.arange(7))
    found = contest.tests(of)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        differences = [math.log(a / b) for a, b in zip(costs[i], costs[j], strict=True)]
        ranks = [1 + sum(abs(other) < abs(each) for other in differences) for each in differences]
        total = sum(ranks)
        here = sum(rank for rank, each in zip(ranks, differences, strict=True) if each > 0)
        sums = [
            sum(r for r, on in zip(ranks, signs, strict=True) if on) for signs in itertools.product((0, 1), repeat=7)
        ]
        p = sum(min(each, total - each) <= min(here, total - here) for each in sums) / len(sums)
        assert found[i, j] == pytest.approx(p) == found[j, i]


def test_holm_by_hand():
    """The least p times the number of tests, the next times one fewer, and none below the one before."""
    p = np.ones((4, 4))
    pairs = dict(zip(itertools.combinations(range(4), 2), (0.01, 0.2, 0.03, 0.004, 0.03, 0.9), strict=True))
    for (i, j), value in pairs.items():
        p[i, j] = p[j, i] = value
    found, largest = contest.corrected(p), 0.0
    for place, ((i, j), value) in enumerate(sorted(pairs.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, value * (len(pairs) - place)))
        assert found[i, j] == pytest.approx(largest)


def test_groups_are_stretches_in_which_no_two_are_told_apart():
    p = np.ones((4, 4))
    p[0, 2] = p[2, 0] = p[0, 3] = p[3, 0] = p[1, 3] = p[3, 1] = 0.01
    assert contest.groups(p) == [(0, 1), (1, 2), (2, 3)]


def test_one_that_reached_the_target_nowhere_is_named_and_not_ranked():
    costs = [[1.0] * 8, [1.1] * 8, [math.inf] * 8]
    found = answer(ranking.ranking(table(costs)))
    assert (found["solver"], found["never"], found["groups"]) == ([0, 1], [2], [(0, 1)])
    assert len(found["rank"]) == 2


@pytest.mark.parametrize("sets", [2, 5, 6])
def test_below_six_data_sets_there_is_no_test(sets):
    found = answer(ranking.ranking(table([[1.0] * sets, [9.0] * sets])))
    assert (found["p"][1] is None) == (sets < 6)


@pytest.mark.parametrize(("sets", "joined"), [(2, []), (5, []), (6, [(0, 1)])])
def test_where_no_test_could_tell_any_two_apart_there_are_no_groups(sets, joined):
    """Two solvers: the least p of n data sets is 2 to the power 1 - n, above 0.05 up to n = 5."""
    found = answer(ranking.ranking(table([[1.0] * sets, [1.1] * sets])))
    assert found["least_p"] == 2.0 ** (1 - sets)
    assert found["groups"] == joined


# -- what changes nothing ---------------------------------------------------------------------------------


@settings(max_examples=25)  # the whole ranking each time
@given(contests(), st.randoms(use_true_random=False))
def test_the_order_of_the_data_sets_does_not_matter(drawn, chance):
    costs, unit = drawn
    places = list(range(len(unit)))
    chance.shuffle(places)
    one, other = (
        ranking.ranking(table([[row[p] for p in of] for row in costs], sets=[f"d{unit[p]}" for p in of]))
        for of in (range(len(unit)), places)
    )
    one, other = (answer(each) for each in (one, other))
    assert json.dumps(one) == json.dumps(other)


# -- what it says -----------------------------------------------------------------------------------------


def test_the_fastest_is_first_and_how_sure_that_is():
    rng = np.random.default_rng(3)
    base = np.exp(rng.normal(size=8))
    costs = [(base * factor).tolist() for factor in (2.0, 1.0, 6.0)]
    found = answer(ranking.ranking(table(costs)))
    assert found["solver"] == [1, 0, 2]
    assert found["wins"] == [8, 0, 0]
    assert found["rank"] == [1, 2, 3]
    assert found["p"][1] == pytest.approx(3 * 2 / 2**8, rel=1e-3)
    assert found["groups"] == []
    assert found["ahead"] == [0, 8, 8]


def test_a_sweep_over_c_is_one_data_set():
    costs = [[1.0, 1.0, 1.0, 9.0], [2.0, 2.0, 2.0, 1.0]]
    found = answer(ranking.ranking(table(costs, sets=["a", "a", "a[n=5]", "b"])))
    assert (found["sets"], found["wins"], found["rank"]) == (2, [1, 1], [1.5, 1.5])


def test_a_solver_that_ran_on_less_than_half_is_counted_and_left_out():
    costs = [[1.0] * 5, [2.0, 2.0, None, None, None], [3.0, 3.0, 3.0, None, None]]
    found = answer(ranking.ranking(table(costs)))
    assert (found["solver"], found["few"], found["ran"]) == ([0, 2], 1, [5, 3])


def test_a_run_that_was_asked_for_less_is_not_one_that_missed():
    cells = table([[1.0, 1.0], [2.0, 2.0]])
    cells["columns"]["target_gap"] = [1e-2, 1e-2, None, None]
    found = ranking.ranking(cells)
    assert answer(found)["solver"] == [1]
    assert answer(found, target=1e-2)["solver"] == [0, 1]


def test_intervals_are_those_of_the_table_a_factor_for_one_run_and_open_where_a_run_never_got_there():
    cells = table([[1.0, 1.0, 1.0, 1.0]])
    columns = cells["columns"]
    columns["seconds_to_intervals"] = [None, None, [[1.0, None]] * 6, [[0.5, 1.25]] * 6]
    columns["runs"][0] = 1
    of = ranking.read(cells)
    place = TARGETS.index(1e-3)
    low, high = of.low["seconds"][0, :, place], of.high["seconds"][0, :, place]
    assert low.tolist() == [1 / ONE_RUN, 1.0, 1.0, 0.5]
    assert high.tolist() == [ONE_RUN, 1.0, math.inf, 1.25]
    assert of.high["kernel_evaluations"][0, 0, place] == 1.0  # a count of one run is what it is


def test_kernel_evaluations_that_are_not_counted_do_not_compete():
    cells = table([[1.0, 1.0], [2.0, 2.0]])
    cells["columns"]["at_least"][0] = cells["columns"]["at_least"][1] = True
    assert answer(ranking.ranking(cells), cost="kernel_evaluations")["solver"] == [1]
    assert answer(ranking.ranking(cells))["solver"] == [0, 1]


def test_kinds_have_the_classes_of_size_dimension_and_density_and_share_rankings():
    found = ranking.ranking(
        table(
            [[1.0] * 4, [2.0] * 4], formulation=["c-svc"] * 3 + ["nu-svc"], n_train=[1000, 1001, 50_000, 50_001],
            n_features=[10, 11, 100, 101], density=[0.25, 0.26, None, 1.0],
        )
    )  # fmt: skip
    kinds = found["kinds"]
    assert found["problems"][kinds["|||"]] == (0, 1, 2, 3)
    assert found["problems"][kinds["c-svc|0|0|sparse"]] == (0,)
    assert found["problems"][kinds["c-svc|1|1|dense"]] == (1,)
    assert found["problems"][kinds["c-svc|2|1|"]] == (2,)
    assert found["problems"][kinds["|3|2|dense"]] == (3,)
    assert kinds["nu-svc|||"] == kinds["nu-svc|3|2|dense"]
    assert "c-svc|3||" not in kinds
    assert len(found["ranked"]) == len({tuple(each) for each in found["problems"]})


def test_a_table_of_nothing_certified_has_no_rank():
    found = ranking.ranking(table([[math.inf], [math.inf]]))
    assert found["ranked"][found["kinds"]["|||"]]["seconds"] == [None] * len(ranking.RANKED)
    empty = {"solvers": [], "datasets": [], "dataset_facts": [], "columns": {}, "rows": 0}
    assert ranking.ranking(empty)["kinds"] == {}


# -- scaling ----------------------------------------------------------------------------------------------


def test_a_planted_exponent_is_found_and_two_sizes_are_no_line():
    n = [100, 1000, 10_000, 1000]
    costs = np.full((2, 4, len(TARGETS)), np.inf)
    costs[0, :, 1] = [1e-6 * each**1.5 for each in n]
    rough = costs.copy()
    rough[0, 3, 1] *= 2.0
    costs[1, :2, 1] = 1.0
    facts = [{"formulation": "c-svc", "n_train": each, "n_features": 7} for each in n]
    (fit,) = scaling.fits(costs, facts, ["a"] * 4, [1])
    assert (fit["solver"], fit["points"], fit["family"], fit["axis"]) == (0, 3, "a", "n_train")
    np.testing.assert_allclose(fit["exponent"], 1.5, atol=1e-6)
    assert fit["sizes"] == [100, 10_000]
    exponent, low, high = scaling.fits(rough, facts, ["a"] * 4, [1])[0]["exponent"]
    assert low < exponent < high


def test_a_data_set_in_three_sizes_has_its_own_line_and_problems_of_one_size_are_one_point():
    n = [100, 1000, 10_000, 10_000, 50, 60]
    units = ["grown"] * 4 + ["other", "another"]
    costs = np.array([[[each**2 * 1e-6] for each in n]])
    costs[0, 2], costs[0, 3] = costs[0, 2] * 4, costs[0, 3] / 4  # a sweep over C
    found = scaling.fits(costs, [{"n_train": each} for each in n], units, [0])
    assert [each["family"] for each in found] == ["grown"], "other sets are easier or harder"
    assert found[0]["points"] == 3
    np.testing.assert_allclose(found[0]["exponent"], 2.0, atol=1e-6)
