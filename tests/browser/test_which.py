"""'Which solver?', profiles and scaling in a real browser: what is planted in the made-up site is what they say."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from benchmarks.browser import Browser, served
from tests.browser.made import (
    CRASHED,
    CROSSING,
    DISTURBANCE,
    DISTURBED,
    FASTEST,
    SHAPES,
    SLOW,
    STOPS_EARLY,
    STRANGER,
    SWEPT,
    TWIN,
    TWINS,
    Made,
    drawn,
    foreign,
    overlapping,
    picture,
    redrawn,
    too_wide,
)
from tests.dashboard.stored import page_data, record, store

pytestmark = pytest.mark.slow

PAGES = ("which", "profiles", "scaling")


def take(browser: Browser) -> str:
    return str(browser.find(".answer .take")[0].text)


def told(browser: Browser) -> str:
    return str(browser.find(".answer")[0].text)


def first(browser: Browser) -> str:
    return str(browser.find(".answer strong")[0].get_attribute("data-first"))


def order(browser: Browser) -> list[str]:
    return list(
        browser.ask("return [...document.querySelectorAll('#figure tbody th')].map(each => each.dataset.solver)")
    )


# -- the answer -------------------------------------------------------------------------------------------


def test_it_is_the_page_that_opens_and_names_the_fastest_and_its_twin(browser: Browser, made: Made) -> None:
    browser.open(f"{made.address}{made.front}")
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page === 'which'")
    assert first(browser) in TWINS
    assert take(browser).startswith("For c-svc, certified gap 10⁻³: take ")
    assert take(browser).endswith(": they cannot be told apart.")
    assert all(name in take(browser) for name in TWINS)
    assert "differ by less than their noise on all 8" in told(browser)
    assert order(browser)[-1] == STOPS_EARLY  # the first to end, and never at this gap
    assert browser.complaints() == []


def test_twins_share_their_wins_and_their_rank(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", n=10_000, d=50)
    cells = browser.ask(
        "return [...document.querySelectorAll('#figure tbody tr')].slice(0, 2)"
        ".map(row => [...row.cells].slice(1, 3).map(cell => cell.textContent))"
    )
    assert cells[0] == cells[1]
    assert [cell[1] for cell in cells] == ["1", "1"]
    assert browser.find("#figure td.best") == []


def test_a_reader_finds_out_which_solver_to_take_for_ten_thousand_points_in_fifty_dimensions(
    browser: Browser, made: Made
) -> None:
    """The walk: open the site, type 10000, type 50; the gap is 1e-3 already. Back undoes each."""
    browser.open(f"{made.address}{made.front}")
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page === 'which'")
    for name, value in (("n", "10000"), ("d", "50")):
        browser.find(f"#controls input[name={name}]")[0].send_keys(f"{value}\n")
        browser.wait(f"return document.querySelector('.answer').textContent.includes('{int(value):,} ')")
        browser.wait("return window.harnessDashboard.page === 'which'")
        assert f"{name}={value}" in browser.ask("return location.hash")
    assert "10,000 points (5,000 to 50,000), 50 dimensions (10 to 100), certified gap 10⁻³" in take(browser)
    here = [name for name, (n, d) in SHAPES.items() if 5000 < n <= 50_000 and 10 < d <= 100]
    assert len(here) == 2
    assert f"of {len(here)} data sets" in told(browser)
    assert all(name in take(browser) for name in TWINS)
    assert f"as fast as {STRANGER}" in told(browser)
    assert "How sure:" in told(browser)
    assert "2 data sets say little about others." in told(browser)
    assert browser.ask("return document.querySelector('select[name=size]').value") == "2"
    listed = browser.ask("return [...document.querySelectorAll('#below tbody th')].map(each => each.textContent)")
    assert sorted(name.partition(",")[0] for name in listed) == sorted(here)
    browser.driver.back()
    browser.wait("return !document.querySelector('.answer').textContent.includes('50 dimensions (')")
    assert "10,000 points" in take(browser)


def test_filters_change_the_answer(browser: Browser, made: Made) -> None:
    """Below `CROSSING` points the stranger is the fastest, above the twins are."""
    drawn(browser, made, "which", size=0)
    small = [name for name, (n, _) in SHAPES.items() if n <= 1000]
    assert all(SHAPES[name][0] < CROSSING for name in small)
    assert first(browser) == STRANGER
    browser.ask(
        "const select = document.querySelector('select[name=size]'); select.value = '2'; select.dispatchEvent(new Event('change'))"
    )
    browser.wait("return document.querySelector('.answer').textContent.includes('5,000 to 50,000 points')")
    redrawn(browser, "which")
    assert first(browser) in TWINS
    drawn(browser, made, "which", formulation="l2-svc")
    assert take(browser) == f"For l2-svc, certified gap 10⁻³: take {FASTEST}; on 2 data sets only."


def test_the_class_takes_the_place_of_a_typed_number(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", n=10_000)
    browser.ask(
        "const select = document.querySelector('select[name=size]'); select.value = '0'; select.dispatchEvent(new Event('change'))"
    )
    browser.wait("return location.hash.includes('size=0') && !location.hash.includes('n=')")
    redrawn(browser, "which")
    assert browser.ask("return document.querySelector('input[name=n]').value") == ""
    assert first(browser) == STRANGER


def test_one_data_set_is_said_to_be_one(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", size=1, density="sparse")
    assert "on the one data set" in told(browser)
    assert "One data set only: of others nothing is known." in told(browser)
    assert "on 1 data set only" in take(browser)
    assert "left out" not in told(browser)
    assert "p = " not in told(browser)
    assert browser.find("#figure .bar") == [] or first(browser) in TWINS


def test_the_headline_of_few_data_sets_has_their_number(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", n=10_000, d=50)
    assert take(browser).endswith(": they cannot be told apart; on 2 data sets only.")
    picture(browser, "which-few")
    assert "stays first in 2 of 2." in told(browser)
    assert "half of them" not in told(browser)
    drawn(browser, made, "which")  # of 8
    assert "only" not in take(browser)
    assert "with only half of them" in told(browser)


def test_where_no_test_could_tell_any_two_apart_no_line_joins_any(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", n=10_000, d=50)
    assert browser.find("#figure path.group") == []
    words = browser.find("#figure section.part p")[0].text
    assert "A line at the right" not in words
    assert "with 2 data sets and 5 solvers no test could tell any two apart, as its p is not below 1." in words
    drawn(browser, made, "which", gap=2, cost="kernel_evaluations")  # of 8, and four solvers: one's are not observable
    assert len(browser.find("#figure path.group")) > 0
    assert "A line at the right" in browser.find("#figure section.part p")[0].text


@pytest.mark.parametrize("page", ["profiles", "scaling"])
def test_profiles_and_scaling_say_the_clock_too(browser: Browser, made: Made, page: str) -> None:
    drawn(browser, made, page)
    assert "Time is CPU time of one thread." in browser.find("#note")[0].text


def test_its_times_say_their_clock_and_where_the_machine_did_other_work(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which")
    note = browser.find("#note")[0].text
    assert "Time is CPU time of one thread. ⚠ 1 cell: wall time more than 1.5 times CPU time" in note
    assert browser.ask("return document.querySelector('[name=cost]').selectedOptions[0].textContent") == "CPU time"
    heads = browser.ask(
        "return [...document.querySelectorAll('#content thead th button')].map(each => each.textContent)"
    )
    assert [head for head in heads if head.startswith("CPU time over the best")]
    assert "LeastCPU time" in heads
    assert "How the CPU time grows with n" in {each.text.rstrip("?") for each in browser.find("h2")}
    (mark,) = browser.find("#content td .mark")
    assert mark.find_element("xpath", "ancestor::tr/th").get_attribute("data-solver") == DISTURBED[0]
    assert mark.get_attribute("title").startswith(f"{DISTURBED[1]}, ")
    assert f"wall time {DISTURBANCE:.2f}\u00d7 CPU time" in mark.get_attribute("title")
    drawn(browser, made, "which", cost="kernel_evaluations")
    assert "Time is" not in browser.find("#note")[0].text
    assert browser.find("#content td .mark") == []


def test_a_kind_without_data_sets_says_so_and_leads_to_one_that_has(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", n=1_000_000)
    assert (
        take(browser)
        == "For c-svc, 1,000,000 points (over 50,000), certified gap 10⁻³: no answer. No data set of this kind was measured."
    )
    (way,) = browser.find(".answer li button")
    assert way.text == "any number of points"
    way.click()
    browser.wait("return document.querySelector('.answer strong') !== null")
    redrawn(browser, "which")
    assert first(browser) in TWINS


@pytest.mark.parametrize("value", ["-3", "0", "3.7", "many"])
def test_a_wrong_number_gets_a_sentence(browser: Browser, made: Made, value: str) -> None:
    drawn(browser, made, "which", n=value)
    assert "n must be a whole number above 0, as in 10000; without one all are taken." in browser.find("#note")[0].text
    assert first(browser) in TWINS


def test_what_was_not_solved_is_counted(browser: Browser, made: Made) -> None:
    """At 1e-6 the stranger, which stops at 1e-4, reached nothing; the slow one timed out once."""
    drawn(browser, made, "which", gap=2)
    rows = {row.find_element("css selector", "th").text: row.text for row in browser.find("#figure .view tbody tr")}
    assert "0 of 8" in rows[STRANGER]
    assert "7 of 8" in rows[SLOW]
    assert "8 of 8" in rows[FASTEST]


def test_the_ranking_does_not_depend_on_the_commit_that_other_pages_show(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which", commit="latest")
    assert browser.find("#controls select[name=commit]") == []
    assert "as it was measured last" in browser.find("#note")[0].text


def test_links_lead_to_the_two_side_by_side_and_to_a_page_of_each(browser: Browser, made: Made) -> None:
    drawn(browser, made, "which")
    (link,) = browser.find("#figure tbody tr:nth-child(3) td:last-child a")
    link.click()
    redrawn(browser, "two")
    assert STRANGER in browser.find("main")[0].text
    browser.driver.back()
    redrawn(browser, "which")
    browser.find("#figure tbody th a")[0].click()
    redrawn(browser, "solver")
    drawn(browser, made, "which")
    browser.find("#below tbody th a")[0].click()
    redrawn(browser, "dataset")


def test_its_words_are_explained(browser: Browser, made: Made) -> None:
    for page in PAGES:
        drawn(browser, made, page)
        wanted = {each.get_attribute("href").partition("term=")[2] for each in browser.find("main a.term")}
        assert wanted
        for term in sorted(wanted):
            drawn(browser, made, "glossary", term=term)
            assert browser.find("dt.asked"), term


@pytest.mark.parametrize("page", PAGES)
def test_an_address_with_nonsense_shows_what_is_usual(browser: Browser, made: Made, page: str) -> None:
    usual = drawn(browser, made, page)
    names = (
        "gap",
        "target",
        "cost",
        "size",
        "dimension",
        "density",
        "formulation",
        "problem",
        "axis",
        "family",
        "budget",
    )
    for nonsense in ("9", "1.5", "toString"):
        assert drawn(browser, made, page, **dict.fromkeys(names, nonsense)) == usual


# -- what is known, without a ranking ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(window: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Three machines, by their number.

    0 : made without statsmodels; c-svc has a clear answer, nu-svc none
    1 : nothing is certified
    2 : of eight data sets one solver brings all to the gap, one three, one none
    """
    pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")
    from harness_dashboard import configuration, export, site
    from harness_dashboard.data import compact
    from harness_dashboard.ranking import ranking

    folder = tmp_path_factory.mktemp("small")
    blind: dict[str, Any] = {
        "machine": {"processor": "Blind", "cores": 1, "memory_bytes": 2**30, "system": "Linux", "id": "0" * 16}
    }
    runs = [
        record(solver, f"set{i}", fit_seconds=seconds, cpu_seconds=seconds)
        for i in range(6)
        for solver, seconds in (("quick", 0.1), ("slow", 1.0))
    ]  # fmt: skip
    runs += [
        record(solver, f"set{i}", formulation="nu-svc", problem_parameters={"nu": 0.5}, fit_seconds=seconds, cpu_seconds=seconds)
        for i in range(6)
        for solver, seconds in (("even", 1.0 + 9.0 * (i % 2)), ("odd", 10.0 - 9.0 * (i % 2)))
    ]  # fmt: skip
    blind |= {"measured_at": "2025-01-01T00:00:00.000+00:00"}  # the machine that measured last is the first one
    runs += [record(solver, "set0", relative_gap=None, **blind) for solver in ("quick", "slow")]
    partly: dict[str, Any] = {
        "machine": blind["machine"] | {"processor": "Partly", "id": "1" * 16}, "measured_at": "2024-01-01T00:00:00.000+00:00"
    }  # fmt: skip
    runs += [
        record(solver, f"set{i}", relative_gap=1e-4 if i < reached else 0.5, **partly)
        for solver, reached in (("every", 8), ("some", 3), ("never", 0))
        for i in range(8)
    ]
    export.standalone([store(folder / "s.sqlite", *runs)], folder / "dashboard")
    built = Path(site.build(configuration.load(folder / "dashboard")).folder)
    data = built / "solvers" / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "statsmodels.stats.multitest", None)
        for number in (0, 1):
            latest = json.loads((data / f"{number}-latest.json").read_text())
            (data / f"{number}-ranking.json").write_text(compact(ranking(latest)))
    with served(folder / "dashboard") as address:
        yield Made(address, "", built, folder / "s.sqlite")


def test_without_a_test_it_says_what_is_missing_and_answers_all_the_same(browser: Browser, small: Made) -> None:
    drawn(browser, small, "which")
    assert take(browser) == "For c-svc, certified gap 10⁻³: take quick."
    assert (
        "quick was the fastest on 6 of 6 data sets. quick was 10 times (10 to 10) as fast as slow, the next."
        in told(browser)
    )
    assert "statsmodels is missing where this page was made; pip install 'svm-harness[asv]'." in told(browser)
    assert "stays first in 6 of 6" in told(browser)


def test_two_that_win_in_turns_cannot_be_told_apart(browser: Browser, small: Made) -> None:
    drawn(browser, small, "which", formulation="nu-svc")
    assert take(browser) == "For nu-svc, certified gap 10⁻³: take even or odd: they cannot be told apart."
    assert "even was the fastest on 3 of 6 data sets." in told(browser)
    assert "Against odd, even was ahead by more than the noise on 3 of 6 data sets, behind on 3." in told(browser)


def test_a_machine_on_which_nothing_is_certified_says_so(browser: Browser, small: Made) -> None:
    drawn(browser, small, "which", place=1)
    assert "No run here has a certified gap, so nothing can be ranked" in browser.find("#figure")[0].text
    assert browser.find(".answer") == []


def test_no_line_joins_one_that_never_reached_the_gap_with_one_that_did(browser: Browser, small: Made) -> None:
    """The test does not tell 'some' and 'never' apart: on five of eight data sets neither reached it."""
    drawn(browser, small, "which", place=2)
    assert order(browser) == ["every", "some", "never"]
    p = browser.ask("return document.querySelectorAll('#figure tbody tr')[2].cells[6].textContent")
    assert p.startswith("0.02")  # three solvers and eight data sets: it could tell any two apart
    assert [path.get_attribute("data-group") for path in browser.find("#figure path.group")] == ["0-1"]


def test_labels_of_the_front_leave_out_what_tells_no_problems_of_a_formulation_apart(
    browser: Browser, small: Made
) -> None:
    """c-svc has one C and a class weight of 'none', nu-svc one nu: the formulation is enough."""
    drawn(browser, small, "pareto", dataset="set1")
    labels = set(browser.ask("return [...document.querySelectorAll('#figure .label')].map(each => each.textContent)"))
    assert labels == {"quick, c-svc", "slow, c-svc", "even, nu-svc", "odd, nu-svc"}
    tips = browser.ask(
        "return [...document.querySelectorAll('#figure .point')].map(each => each.getAttribute('aria-label'))"
    )
    assert all("c-svc C=10" in tip or "nu-svc nu=0.5" in tip for tip in tips)


# -- profiles ---------------------------------------------------------------------------------------------


def cells_of(made: Made, formulation: str = "c-svc") -> dict[str, dict[str, dict[str, Any]]]:
    """Return problem -> solver -> cell."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (solver, dataset), cell in page_data(made.folder).items():
        if f", {formulation} " in dataset:
            found.setdefault(dataset, {})[solver] = cell
    return found


def points(browser: Browser, place: str) -> dict[str, list[tuple[float, float]]]:
    got = browser.ask(
        f"return [...document.querySelectorAll('{place} .point')]"
        ".map(each => [each.dataset.solver, +each.dataset.x, +each.dataset.y])"
    )
    found: dict[str, list[tuple[float, float]]] = {}
    for solver, x, y in got:
        found.setdefault(solver, []).append((x, y))
    return found


def corners(values: list[float]) -> list[tuple[float, float]]:
    """The slow profile: at each value, the share that is at most that."""
    return [
        (each, sum(other <= each for other in values) / len(values)) for each in sorted(set(values)) if each < math.inf
    ]


@pytest.mark.parametrize("target", [1, 2, 4])
def test_a_profile_is_that_of_the_slow_twin_and_starts_at_the_share_won(
    browser: Browser, made: Made, target: int
) -> None:
    drawn(browser, made, "profiles", target=target)
    shown = {STOPS_EARLY, TWIN, STRANGER, SLOW, FASTEST}
    problems = [of for of in cells_of(made).values() if shown <= set(of)]
    values: dict[str, list[float]] = {solver: [] for solver in shown}
    for of in problems:
        spent = {solver: (cell["seconds_to"] or [None] * 6)[target] for solver, cell in of.items()}
        known = {solver: each for solver, each in spent.items() if each is not None}
        if not known:
            continue
        best = min(known, key=lambda solver: known[solver])
        high = (of[best]["seconds_to_intervals"] or [None] * 6)[target]
        for solver in shown:
            low = (of[solver].get("seconds_to_intervals") or [None] * 6)[target]
            level = solver in known and (low[0] if low else known[solver] / 1.5) <= (
                high[1] if high else known[best] * 1.5
            )
            values[solver].append(math.inf if solver not in known else 1.0 if level else known[solver] / known[best])
    got = points(browser, "#figure")
    for solver, own in values.items():
        slow = corners(own) or [(1.0, 0.0)]
        assert [x for x, _ in got[solver]] == pytest.approx([x for x, _ in slow])
        assert [y for _, y in got[solver]] == pytest.approx([y for _, y in slow])
    starts = browser.ask(
        "const its = (kind, name) => document.querySelector(`#figure .${kind}[data-solver='${arguments[0]}']`).getAttribute(name);"
        "return [its('point', 'transform'), its('curve', 'd')].map(text => Number(/,([\\d.]+)/.exec(text)[1]))",
        FASTEST,
    )
    assert starts[0] == pytest.approx(starts[1], abs=0.01)


def test_the_table_of_a_profile_has_its_points_and_the_interval_of_resampled_data_sets(
    browser: Browser, made: Made
) -> None:
    """Resampling data sets, each with one problem, makes the share won binomial."""
    drawn(browser, made, "profiles", target=2)
    won = {solver: own[0][1] for solver, own in points(browser, "#figure").items()}
    browser.find("#below summary")[0].click()
    browser.wait("return document.querySelectorAll('#below tbody tr').length === 5")
    rows = {row.find_element("css selector", "th").text: row.text for row in browser.find("#below tbody tr")}
    low, high = binom.ppf([0.025, 0.975], 8, won[FASTEST]) / 8
    share = re.search(r"(\d+) % \((\d+) % to (\d+) %\)", rows[FASTEST])
    assert share
    assert [int(each) for each in share.groups()] == pytest.approx([100 * won[FASTEST], 100 * low, 100 * high], abs=0.5)
    assert f"1.00\u00d7: {100 * won[FASTEST]:.0f} %, " in rows[FASTEST]


def test_quality_profiles_need_no_target(browser: Browser, made: Made) -> None:
    drawn(browser, made, "profiles")
    shown = {STOPS_EARLY, TWIN, STRANGER, SLOW, FASTEST}
    problems = [of for of in cells_of(made).values() if shown <= set(of)]
    got = points(browser, "#below")
    for solver in shown:
        gaps = [of[solver].get("relative_gap") if of[solver]["measured"] else None for of in problems]
        slow = corners([math.inf if gap is None else gap for gap in gaps])
        assert got[solver] == [(pytest.approx(x), pytest.approx(y)) for x, y in slow]
    drawn(browser, made, "profiles", target=4)
    assert points(browser, "#below") == got
    drawn(browser, made, "profiles", budget=1)
    here = points(browser, "#below")
    assert max(y for _, y in here[SLOW]) < max(y for _, y in here[STRANGER]) < 1.0  # who needs longer has got less far
    assert max(y for _, y in here[FASTEST]) == 1.0


def test_up_to_four_solvers_have_bands(browser: Browser, made: Made) -> None:
    drawn(browser, made, "profiles")
    assert browser.find("#figure .band") == []
    drawn(browser, made, "profiles", off="\n".join([STOPS_EARLY, SLOW]))
    assert len(browser.find("#figure .band")) == 3
    assert "95 % of 200 resamples of the 8 data sets" in browser.find("#below")[0].text


# -- scaling ----------------------------------------------------------------------------------------------


def test_the_stranger_grows_faster_by_the_planted_exponent(browser: Browser, made: Made) -> None:
    drawn(browser, made, "scaling")
    exponents = {
        each.get_attribute("data-solver"): float(each.get_attribute("data-exponent"))
        for each in browser.find("#figure .curve")
    }
    assert exponents[STRANGER] - exponents[FASTEST] == pytest.approx(0.5, abs=0.05)
    assert exponents[FASTEST] == pytest.approx(exponents[TWIN], abs=0.02)
    assert STOPS_EARLY not in exponents  # never at this gap
    got = {(solver, x) for solver, own in points(browser, "#figure").items() for x, _ in own}
    assert (STRANGER, float(SHAPES[CRASHED[1]][0])) not in got
    assert (FASTEST, float(SHAPES[SWEPT][0])) in got
    assert browser.find(f"#figure .point[data-solver='{STRANGER}']")
    rows = {row.find_element("css selector", "th").text: row.text for row in browser.find("#below tbody tr")}
    assert list(rows)[-1] == STRANGER  # the steepest line
    assert f"{exponents[STRANGER]:.2f} (" in rows[STRANGER]
    assert f"{exponents[STRANGER]:.2f} (" in browser.find("#figure p.soft")[0].text


def test_scaling_by_dimension_and_a_point_that_says_what_it_is(browser: Browser, made: Made) -> None:
    drawn(browser, made, "scaling", axis="n_features")
    browser.ask("document.querySelector('#figure .point[tabindex=\"0\"]').focus()")
    tip = browser.find("#tip")[0].text
    assert "n = " in tip
    assert "d = " in tip
    assert "made-" in tip


def test_two_sizes_are_no_line(browser: Browser, made: Made) -> None:
    drawn(browser, made, "scaling", problem="l2-svc")
    assert browser.find("#figure .curve") == []
    assert "No line: fewer than three sizes" in browser.find("#figure")[0].text


# -- all of them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_each_fits_the_screen_and_asks_nobody(browser: Browser, made: Made, page: str, scheme: str, width: int) -> None:
    browser.size(width, 900)
    browser.prefer(scheme)
    assert drawn(browser, made, page) > 0
    assert too_wide(browser) == 0
    assert overlapping(browser) == []
    assert browser.complaints() == []
    assert foreign(browser, made) == []
    picture(browser, f"{page}-{width}-{scheme}")


@pytest.mark.parametrize("page", PAGES)
def test_behind_each_chart_there_is_a_table_and_every_point_has_a_name(browser: Browser, made: Made, page: str) -> None:
    drawn(browser, made, page)
    assert browser.ask(
        "return [...document.querySelectorAll('main .point')].every(each => each.getAttribute('aria-label'))"
    )
    assert browser.ask(
        "return [...document.querySelectorAll('main svg[role=group]')]"
        ".every(each => each.querySelectorAll('.point[tabindex=\"0\"]').length === 1)"
    )
    charts = browser.ask("return document.querySelectorAll('main svg[role=group]').length")
    assert browser.ask("return document.querySelectorAll('main table').length") >= charts


def test_the_file_of_the_ranking_is_strict_json_and_small(made: Made) -> None:
    text = (made.folder / "solvers" / "data" / "0-ranking.json").read_text()
    ranking = json.loads(text, parse_constant=pytest.fail)
    assert ranking["targets"] == [1e-2, 1e-3, 1e-6]
    assert len(text) < 100_000
