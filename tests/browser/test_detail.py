"""Compare two, a page a solver, a page a data set: on the made-up site, whose planted figures they must show."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from benchmarks.browser import Browser
from harness import about_solver
from tests.browser import made as plan
from tests.browser.made import Made, drawn, foreign, overlapping, picture, redrawn, too_wide

END = plan.NOISE * max(plan.QUANTILES)
"""The logarithm of the slowest of five runs over their median."""
ALL = [*plan.SOLVERS, *(f"{plan.CORE}[epsilon={epsilon:g}]" for epsilon in plan.EPSILONS)]
PAIRS = {  # of each page: what its address says
    "two": {"a": plan.FASTEST, "b": plan.SLOW},
    "solver": {"name": plan.CORE},
    "dataset": {"name": plan.SWEPT},
}


def cells(made: Made, file: str = "0-latest.json") -> dict[tuple[str, str], dict[str, Any]]:
    """Return cells as the pages read them."""
    table = json.loads((made.folder / "solvers" / "data" / file).read_text())
    columns = table["columns"]
    rows = [{name: values[i] for name, values in columns.items()} for i in range(table["rows"])]
    return {(table["solvers"][row["solver"]], table["datasets"][row["dataset"]]): row for row in rows}


def compared(browser: Browser) -> dict[tuple[str, str], dict[str, str]]:
    """Return what the table says of each cell, by solver (none where two solvers are compared) and data set."""
    found = browser.ask(
        "return [...document.querySelectorAll('#below td[data-better]')].map(cell => ({...cell.dataset}))"
    )
    return {(each.get("solver", ""), each["dataset"]): each for each in found}


def words(browser: Browser, selector: str = "#content") -> str:
    return " ".join(str(browser.ask("return document.querySelector(arguments[0]).innerText", selector)).split())


# -- what is planted ----------------------------------------------------------------------------------------


def test_the_made_up_site_shows_what_is_planted(made: Made) -> None:
    found = cells(made)
    assert len(found) == 5 * 8 + 2 * 2 + 2 * 4
    for dataset in plan.SHAPES:
        for solver in plan.SOLVERS:
            row = found[solver, plan.problem(dataset)]
            if (solver, dataset) in (plan.TIMED_OUT, plan.CRASHED):
                assert row["failed"]
                assert row["time"] is None
            else:
                assert row["time"] == pytest.approx(plan.seconds(solver, dataset), rel=1e-4)
                assert row["runs"] == (1 if (solver, dataset) == plan.ONCE else plan.RUNS)
                assert (row["disturbed"] is not None) == ((solver, dataset) == plan.DISTURBED)
    index = json.loads((made.folder / "solvers" / "data" / "index.json").read_text())
    assert len(index["places"][0]["commits"]) == 2


@pytest.mark.parametrize("page", PAIRS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_each_page_draws_at_each_width_in_both_schemes(
    browser: Browser, made: Made, page: str, scheme: str, width: int
) -> None:
    browser.size(width, 900)
    browser.prefer(scheme)
    assert drawn(browser, made, page, **PAIRS[page]) > 0
    picture(browser, f"{page}-{width}-{scheme}")
    assert browser.ask("return document.documentElement.dataset.theme") == scheme
    assert too_wide(browser) == 0
    assert overlapping(browser, "#figure text.label, #figure text.name, #figure .axis text") == []
    assert browser.complaints() == []
    assert foreign(browser, made) == []


# -- two solvers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", ["time", "seconds_to"])
def test_two_that_differ_by_less_than_their_noise_are_told_apart_by_nothing(
    browser: Browser, made: Made, figure: str
) -> None:
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.TWIN, figure=figure)
    found = compared(browser)
    assert len(found) == len(plan.SHAPES)
    assert {each["better"] for each in found.values()} == {""}
    assert all(float(each["low"]) < 1 < float(each["high"]) for each in found.values())
    assert browser.ask("return document.querySelector('[data-verdict]').dataset.verdict") == "even"
    colours = "const style = getComputedStyle(point); return [style.fill, style.stroke].join();"
    marks = browser.ask(f"return [...document.querySelectorAll('#figure .point')].map(point => {{ {colours} }})")
    assert len(marks) == len(plan.SHAPES) + 1
    assert len(set(marks)) == 1
    assert "needs less" not in words(browser, "#below")


def test_a_ratio_and_its_interval_are_what_is_planted(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.SLOW, figure="time")
    found = compared(browser)
    failed = plan.problem(plan.TIMED_OUT[1])
    assert set(found) == {("", plan.problem(name)) for name in plan.SHAPES}
    for (_, dataset), each in found.items():
        assert each["better"] == "a"
        if dataset != failed:
            assert float(each["value"]) == pytest.approx(plan.FACTORS[plan.SLOW], rel=1e-3)
            assert math.log(float(each["high"]) / float(each["value"])) == pytest.approx(2 * END, rel=1e-2)
            assert math.log(float(each["value"]) / float(each["low"])) == pytest.approx(2 * END, rel=1e-2)
    assert "value" not in found["", failed]
    assert browser.ask("return document.querySelector('[data-verdict]').dataset.verdict") == "apart"
    said = words(browser, "#figure .answer")
    assert f"{plan.SLOW} needs 4.00\N{MULTIPLICATION SIGN} what {plan.FASTEST} needs" in said
    assert f"{plan.FASTEST} alone did what was asked on 1 of 8 cells." in said
    assert len(browser.find("#figure .point.even")) == 0
    (swap,) = browser.find("#controls .beside a")
    swap.click()
    redrawn(browser, "two")
    assert {each["better"] for each in compared(browser).values()} == {"b"}
    assert "needs 0.250\N{MULTIPLICATION SIGN} what" in words(browser, "#figure .answer")


def test_the_mean_over_data_sets_spreads_as_they_do(browser: Browser, made: Made) -> None:
    """`STRANGER` is the faster one on small sets, the slower one on large ones: the mean tells nothing apart."""
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.STRANGER, figure="time")
    found = compared(browser)
    ratios = {name: math.sqrt(n / plan.CROSSING) for name, (n, _) in plan.SHAPES.items() if name != plan.CRASHED[1]}
    for name, ratio in ratios.items():
        assert float(found["", plan.problem(name)]["value"]) == pytest.approx(ratio, rel=1e-3)
        assert found["", plan.problem(name)]["better"] == ("a" if ratio > 1 else "b")
    mean = browser.ask("return {...document.querySelector('#figure .point[data-dataset=mean]').dataset}")
    middle = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    assert float(mean["ratio"]) == pytest.approx(middle, rel=1e-3)
    assert float(mean["low"]) < 1 < float(mean["high"])
    assert browser.ask("return document.querySelector('[data-verdict]').dataset.verdict") == "even"


def test_other_sizes_and_problems_of_a_data_set_count_together(browser: Browser, made: Made) -> None:
    """As in the ranking: draws of one source are not independent."""
    drawn(browser, made, "two")
    found = browser.ask(
        "const of = (set, ratio) => ({ set, ratio, low: ratio / 2, high: ratio * 2 });"
        "const { geometricMean } = await import('./solvers/two.js');"
        "return geometricMean([of('a[n=1]', 2), of('a[n=2]', 8), of('a', 4), of('b', 1)]);"
    )
    assert found == {"ratio": pytest.approx(2), "low": pytest.approx(1), "high": pytest.approx(4), "sets": 2}


def test_who_never_reaches_the_target_has_no_ratio(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.STOPS_EARLY, figure="seconds_to", target=2)
    assert all("value" not in each and each["better"] == "a" for each in compared(browser).values())
    assert f"{plan.FASTEST} alone got there on 10 of 10 cells." in words(browser, "#figure .answer")


def test_who_was_asked_for_less_has_not_failed_to_reach_more(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two")
    found = browser.ask(
        """
        const { quotient } = await import('./solvers/two.js');
        const run = { ran: true, measured: true, runs: 3, clock: 'cpu', trace_clock: 'cpu' };
        const of = (seconds, target_gap) => ({ ...run, seconds_to: [1, seconds], target_gap });
        const reached = of(5, null);
        const pairs = [[reached, of(null, 0.01)], [reached, of(null, 0.001)], [reached, of(9, 0.01)], [of(null), of(null)]];
        const told = pairs.map(([a, b]) => quotient(a, b, 'seconds_to', 1, 0.001));
        return told.map(({ ratio, alone, neither }) => [ratio, alone, neither]);
        """
    )
    assert found == [[None, None, False], [None, "a", False], [None, None, False], [None, None, True]]


def test_what_is_not_observable_is_not_compared(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.NOT_OBSERVABLE)
    offered = browser.ask("return [...document.querySelector('[name=figure]').options].map(option => option.value)")
    assert offered == ["seconds_to", "time"]
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.SLOW, figure="kernel_evaluations")
    for (_, dataset), each in compared(browser).items():
        if dataset != plan.problem(plan.TIMED_OUT[1]):
            name = dataset.partition(",")[0]
            ratio = plan.evaluations(plan.SLOW, name) / plan.evaluations(plan.FASTEST, name)
            assert [float(each[end]) for end in ("low", "value", "high")] == pytest.approx([ratio] * 3)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"a": plan.TWIN, "b": f"{plan.CORE}[epsilon=0.1]"}, "share no data set with the same problem and kernel"),
        ({"a": plan.SLOW, "b": plan.SLOW}, "Both are smo: choose another solver."),
        ({"a": "nobody", "b": plan.SLOW}, "There is no solver called nobody here"),
        ({"old": "f" * 40, "new": "0" * 40}, "Of commit ffffffffffff no cells are kept here"),
        ({"of": "commits", "off": "\n".join(ALL)}, "Every solver that both commits have is switched off."),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_a_sentence(browser: Browser, made: Made, asked: dict[str, str], told: str) -> None:
    drawn(browser, made, "two", **asked)
    assert told in words(browser)


def test_each_row_leads_to_asvs_graph_of_its_cell(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two", a=plan.FASTEST, b=plan.SLOW)
    links = browser.ask(
        "return [...document.querySelectorAll('#below tbody a')].map(a => a.href).filter(a => a.includes('history.html'))"
    )
    assert len(links) == len(plan.SHAPES)
    browser.open(links[0])
    series = browser.wait(
        "const plot = window.jQuery && $('#main-graph').data('plot');"
        "const found = plot && plot.getData().filter(each => each.data.some(point => point[1] !== null));"
        "return found && found.length > 1 && found.map(each => each.data.filter(point => point[1] !== null).length);"
    )
    assert series[:2] == [2, 2]  # both solvers, at both commits
    assert browser.complaints() == []


def test_the_arrows_go_from_row_to_row(browser: Browser, made: Made) -> None:
    from selenium.webdriver.common.keys import Keys

    drawn(browser, made, "two", a=plan.FASTEST, b=plan.STRANGER, figure="time")
    browser.ask("document.querySelector('#figure .point[tabindex=\"0\"]').focus()")
    seen = []
    for _ in range(8):
        seen.append(browser.ask("return document.activeElement.dataset.dataset"))
        browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    there = [plan.problem(name) for name in plan.SHAPES if name != plan.CRASHED[1]]
    assert seen == [*there, "mean"]
    assert "told apart" in words(browser, "#tip")


# -- two commits --------------------------------------------------------------------------------------------


def test_of_two_commits_only_what_was_slowed_down_is_told_apart(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two", of="commits")
    found = compared(browser)
    slower = {(plan.SLOWER, plan.problem(name)) for name in plan.SLOWER_ON}
    assert len(found) == len(cells(made))
    assert {key for key, each in found.items() if each["better"]} == slower
    for key in slower:
        assert found[key]["better"] == "a"
        assert float(found[key]["value"]) == pytest.approx(plan.SLOWDOWN, rel=1e-3)
    assert "More now on 2, less on 0 of 50 cells" in words(browser, "#figure .answer")
    browser.find(f"#legend input[data-solver='{plan.SLOWER}']")[0].click()
    browser.wait("return window.harnessDashboard.page === 'two' && window.harnessDashboard.drawn < 52")
    assert {each["better"] for each in compared(browser).values()} == {""}


def test_the_choice_of_two_commits_is_in_the_address(browser: Browser, made: Made) -> None:
    drawn(browser, made, "two")
    browser.ask(
        "const box = document.querySelector('[name=of]'); box.value = 'commits'; box.dispatchEvent(new Event('change'))"
    )
    browser.wait("return window.harnessDashboard.page === 'two' && document.querySelector('[name=old]')")
    assert "of=commits" in browser.ask("return location.hash")
    assert browser.find("[name=commit]") == []


# -- a page a solver ----------------------------------------------------------------------------------------


def test_an_installed_solver_is_described_as_the_registry_does(browser: Browser, made: Made) -> None:
    drawn(browser, made, "solver", name=plan.CORE)
    known = about_solver(plan.CORE)
    assert known is not None
    rows = browser.ask(
        "return [...document.querySelectorAll('table.texts tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert rows == [list(each.values()) for each in known["parameters"]]
    said = words(browser, "#figure")
    assert "Kumar" in said
    assert "(2009)" in said
    assert "l2-svc, hard-margin, reduced-hull" in said


def test_a_solver_that_is_not_installed_has_what_the_records_say(browser: Browser, made: Made) -> None:
    drawn(browser, made, "solver", name=plan.STRANGER)
    assert "It is not installed where this site was made (plugin elsewhere)" in words(browser, "#figure")
    assert browser.find("table.texts") == []
    assert plan.CRASH_REASON in words(browser, "#below")
    assert len(browser.find("#below section:first-child tbody tr")) == len(plan.SHAPES)


def test_another_plugins_solver_of_the_same_name_is_not_described() -> None:
    from harness_dashboard.about import about

    facts = [{"base": name, "plugin": plugin} for name, plugin in ((plan.CORE, "elsewhere"), (plan.SLOW, "smo"))]
    found = about({"solver_facts": facts, "dataset_facts": [{"set": "twonorm[n=50]"}, {"set": "./x.csv"}]})
    assert list(found["solvers"]) == [plan.SLOW]
    assert list(found["datasets"]) == ["twonorm"]


@pytest.mark.parametrize(
    ("solver", "dataset", "formulation", "by", "sizes"),
    [
        (
            plan.CORE,
            plan.CORE_SETS[0],
            "l2-svc",
            "epsilon",
            [plan.support(plan.CORE_SETS[0], epsilon=e) for e in plan.EPSILONS],
        ),
        (plan.FASTEST, plan.SWEPT, "c-svc", "C", [plan.support(plan.SWEPT, C) for C in plan.SWEEP_C]),
    ],
)
def test_a_sweep_is_one_curve_of_size_against_error(
    browser: Browser, made: Made, solver: str, dataset: str, formulation: str, by: str, sizes: list[int]
) -> None:
    drawn(browser, made, "solver", name=solver, dataset=dataset)
    (curve,) = browser.find(f"#figure .curve[data-by='{by}']")
    assert curve.get_attribute("data-points") == "3"
    shown = browser.ask(
        "return [...document.querySelectorAll('#figure .point')].map(p => [p.dataset.dataset, Number(p.dataset.x)])"
    )
    assert sorted(x for name, x in shown if f", {formulation} " in name) == sorted(sizes)
    texts = browser.ask("return [...document.querySelectorAll('#figure text.label')].map(each => each.textContent)")
    swept = [f"C={C:g}" for C in plan.SWEEP_C] if solver == plan.FASTEST else [f"epsilon={e:g}" for e in plan.EPSILONS]
    assert all(any(value in text for text in texts) for value in swept), texts


def test_a_configuration_has_an_address_of_its_own(browser: Browser, made: Made) -> None:
    name = f"{plan.CORE}[epsilon=0.01]"
    drawn(browser, made, "solver", name=name)
    assert words(browser, "#figure h2") == name
    assert len(browser.find("#below section:first-child tbody tr")) == len(plan.CORE_SETS)
    drawn(browser, made, "solver", name="nobody")
    assert "There is no solver called nobody here." in words(browser, "#note")


# -- a page a data set --------------------------------------------------------------------------------------


def test_a_data_set_has_its_facts_and_all_results(browser: Browser, made: Made) -> None:
    name = plan.CRASHED[1]
    drawn(browser, made, "dataset", name=name)
    said = words(browser, "#figure")
    n, d = plan.SHAPES[name]
    assert f"Training points {n} Features {d} Not zero {100 * plan.SPARSE[name]:.2f} % of the features: sparse" in said
    assert f"Classes two, {100 * plan.POSITIVE:.2f} % of the training points are +1" in said
    assert [row.text for row in browser.find("#below section:first-child tbody th")] == sorted(plan.SOLVERS)
    assert plan.CRASH_REASON in words(browser, "#below")


def test_a_problem_of_a_data_set_has_an_address_of_its_own(browser: Browser, made: Made) -> None:
    drawn(browser, made, "dataset", name=plan.SWEPT)
    assert "4 problems" in words(browser, "#figure")
    drawn(browser, made, "dataset", name=plan.problem(plan.SWEPT, C=100.0))
    assert len(browser.find("#below section:first-child tbody tr")) == len(plan.SWEEP_SOLVERS)
    drawn(browser, made, "dataset", name="nothing")
    assert "There is no data set called nothing here." in words(browser, "#note")


@pytest.mark.parametrize("page", PAIRS)
def test_every_way_to_another_page_leads_to_one(browser: Browser, made: Made, page: str) -> None:
    drawn(browser, made, page, **PAIRS[page])
    ways = browser.ask(
        "return [...document.querySelectorAll('#content a[href^=\"#/\"]')].map(a => a.getAttribute('href'))"
    )
    assert {way.partition("?")[0] for way in ways} >= {
        "two": {"#/dataset"},
        "solver": {"#/dataset", "#/two"},
        "dataset": {"#/solver"},
    }[page]
    for way in sorted(set(ways))[:8]:
        browser.open(f"{made.address}{made.front}{way}")
        wanted = way.removeprefix("#/").partition("?")[0]
        browser.wait("return window.harnessDashboard && window.harnessDashboard.page === arguments[0]", wanted)
        assert browser.ask("return window.harnessDashboard.errors") == []
        assert browser.ask("return window.harnessDashboard.drawn") > 0
