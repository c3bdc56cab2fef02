"""Our pages before a made-up store: what they say, what they keep in the address, and what they give away as files.

The site lies at a sub-path, as it does on a project's own page of a host.
"""

from __future__ import annotations

import csv
import functools
import http.server
import json
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.browser import Browser
from tests.browser.made import (
    CORE,
    CORE_SETS,
    CRASHED,
    DISTURBED,
    EPSILONS,
    FASTEST,
    GAPS,
    NOISE,
    NOT_OBSERVABLE,
    QUANTILES,
    SHAPES,
    SLOW,
    SOLVERS,
    STOPS_EARLY,
    SWEEP_C,
    SWEEP_SOLVERS,
    SWEPT,
    TWINS,
    Made,
    overlapping,
    problem,
    seconds,
    support,
)

pytest.importorskip("selenium", reason="the browser is driven by selenium: pip install selenium")
pytest.importorskip("asv", reason="the dashboard needs asv: pip install 'svm-harness[asv]'")

from harness_dashboard.traces import TARGETS
from selenium.webdriver.common.keys import Keys

SUB_PATH = "some/path"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def pages(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages, up to the name behind ``#/``."""
    root = tmp_path_factory.mktemp("host")
    (root / SUB_PATH).parent.mkdir(parents=True)
    (root / SUB_PATH).symlink_to(made.folder)
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{SUB_PATH}/#/"
        server.shutdown()


def drawn(browser: Browser, pages: str, page: str = "") -> None:
    """Open a page and wait until it is drawn, without an error."""
    browser.open(pages + page)
    settled(browser)


def settled(browser: Browser) -> None:
    browser.wait("return window.harnessDashboard && window.harnessDashboard.page")
    assert browser.ask("return window.harnessDashboard.errors") == []


def hash_of(browser: Browser) -> str:
    return str(browser.ask("return decodeURIComponent(location.hash.replaceAll('+', ' '))"))


def saved(browser: Browser, selector: str, folder: Path) -> Path:
    """Press a button of a download; return the file."""
    before = set(folder.iterdir())
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.find(selector)[0].click()
    for _ in range(100):
        found = [path for path in folder.iterdir() if path not in before and path.suffix != ".crdownload"]
        if found and found[0].stat().st_size:
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"nothing was saved: {browser.complaints()}")


def first_column(browser: Browser, within: str = "#figure") -> list[str]:
    return list(
        browser.ask(f"return [...document.querySelectorAll('{within} tbody tr')].map(r => r.cells[0].textContent)")
    )


# -- the address and the browser's history -------------------------------------------------------------


def test_the_skip_link_leads_to_the_content_and_leaves_the_view(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "pareto")
    browser.ask("document.querySelector('.skip').focus(); document.querySelector('.skip').click()")
    settled(browser)
    assert hash_of(browser) == "#/pareto"
    assert browser.ask("return document.activeElement.id") == "content"
    assert browser.ask("return window.harnessDashboard.page") == "pareto"


@pytest.mark.parametrize("name", ["constructor", "toString", "nowhere"])
def test_an_address_of_no_page_is_the_first_page(browser: Browser, pages: str, name: str) -> None:
    drawn(browser, pages, name)
    assert browser.find("nav a[aria-current]")


def test_back_undoes_a_filter(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "pareto")
    browser.find("#legend input[data-solver^='lasvm']")[0].click()
    settled(browser)
    assert browser.find("#figure .point[data-solver^='lasvm']") == []
    browser.driver.back()
    browser.wait("return document.querySelector('#figure .point[data-solver^=\"lasvm\"]')")
    assert hash_of(browser) == "#/pareto"


def test_the_order_and_the_columns_of_a_table_are_in_the_address(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "table")
    browser.find("#figure thead button")[0].click()
    browser.find("#figure thead button")[0].click()
    assert browser.ask("return document.activeElement.textContent") == "Solver"
    assert "sort=-Solver" in hash_of(browser)
    names = first_column(browser)
    assert [name for name in names if name.startswith(CORE)] == [f"{CORE}[epsilon={each:g}]" for each in EPSILONS]
    assert names.index(FASTEST) < names.index(STOPS_EARLY) < names.index(f"{CORE}[epsilon=0.01]")
    before = len(browser.find("#figure thead th"))
    browser.ask("document.querySelector('#figure .menu summary').click()")
    browser.find("#figure .menu input")[0].click()
    assert len(browser.find("#figure thead th")) == before - 1
    browser.driver.refresh()
    settled(browser)
    assert first_column(browser) == names
    assert browser.find("#figure thead th")[0].get_attribute("aria-sort") == "descending"
    assert len(browser.find("#figure thead th")) == before - 1
    browser.driver.back()
    browser.wait("return document.querySelectorAll('#figure thead th').length === arguments[0]", before)


# -- search and glossary -------------------------------------------------------------------------------


def found(browser: Browser) -> list[str]:
    return [each.text for each in browser.find("#found li")]


def test_the_search_finds_solvers_data_sets_pages_and_words_by_keyboard(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "pareto")
    browser.find("body")[0].send_keys("/")
    assert browser.ask("return document.activeElement.id") == "wanted"
    box = browser.find("#wanted")[0]
    for typed, kind, name in (("newc", "solver", "newcomer"), ("12000 svc", "data set", problem("made-12000")),
                              ("anytime", "page", "Anytime curves"), ("kkt", "word", "KKT violation")):  # fmt: skip
        box.clear()
        box.send_keys(typed)
        assert f"{name}\n{kind}" in found(browser)
    box.send_keys(Keys.ARROW_DOWN, Keys.ESCAPE)
    assert browser.ask("return document.activeElement.id") == "wanted"
    assert found(browser) == [] or not browser.find("#found")[0].is_displayed()
    box.send_keys(" ", Keys.ENTER)
    browser.wait("return window.harnessDashboard.page === 'glossary'")
    assert "term=kkt" in hash_of(browser)
    assert browser.ask("return document.activeElement.textContent") == "KKT violation"
    box.send_keys("no such thing")
    assert found(browser) == ["Nothing has this name."]


def test_titles_of_figures_lead_to_the_glossary(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "glossary")
    words = [each.text for each in browser.find("dt")]
    assert {"Epsilon", "Certified relative gap", "KKT violation", "Core set", "Kernel evaluations"} <= set(words)
    assert not browser.find("#controls select")
    for page in ("table", f"table?dataset={problem('made-300')}", "pareto", "anytime"):
        drawn(browser, pages, page)
        for link in browser.find("a.term"):
            drawn(browser, pages, link.get_attribute("href").partition("#/")[2])
            assert browser.find("dt.asked")
            break
        else:
            raise AssertionError(page)


# -- downloads -----------------------------------------------------------------------------------------


def test_a_table_is_saved_as_it_is_shown(browser: Browser, pages: str, tmp_path: Path) -> None:
    drawn(browser, pages, "table?sort=-Solver")
    file = saved(browser, "#figure [data-download=csv]", tmp_path)
    with file.open(newline="", encoding="utf-8") as opened:
        head, *lines = list(csv.reader(opened))
    assert (file.suffix, head[0]) == (".csv", "Solver")
    assert [line[0] for line in lines] == first_column(browser)
    rows = json.loads(saved(browser, "#figure [data-download=json]", tmp_path).read_bytes())
    assert len(rows) == len(lines)
    assert any(isinstance(value, float) for value in rows[0].values())


def test_a_chart_is_saved_with_its_colours_and_its_legend(browser: Browser, pages: str, tmp_path: Path) -> None:
    browser.prefer("dark")
    drawn(browser, pages, "pareto")
    text = saved(browser, "#figure [data-download=svg]", tmp_path).read_text()
    assert "var(" not in text
    assert "class=" not in text
    root, space = ElementTree.fromstring(text), "{http://www.w3.org/2000/svg}"
    back = root.find(f"{space}rect")
    assert back is not None
    assert back.get("fill") == browser.ask("return getComputedStyle(document.body).backgroundColor")
    colour = browser.ask("return getComputedStyle(document.querySelector('.point')).fill")
    assert colour.startswith("rgb(")
    assert colour in {each.get("fill") for each in root.iter(f"{space}path")}
    words = [each.text for each in root.iter(f"{space}text")]
    assert {FASTEST, STOPS_EARLY} <= set(words)
    assert len(browser.find("#figure svg text")) < len(words)  # the page's own chart has no legend left in it
    picture = saved(browser, "#figure [data-download=png]", tmp_path)
    assert (picture.suffix, picture.read_bytes()[:8]) == (".png", b"\x89PNG\r\n\x1a\n")
    assert browser.complaints() == []


# -- the table ----------------------------------------------------------------------------------------


def shaded(browser: Browser) -> dict[str, set[str]]:
    """Data set -> the solvers whose cells are shaded."""
    found: dict[str, set[str]] = {}
    for cell in browser.find("#figure td.best"):
        found.setdefault(cell.get_attribute("data-dataset"), set()).add(cell.get_attribute("data-solver"))
    return found


def test_the_table_asks_for_the_time_to_a_certified_gap(browser: Browser, pages: str) -> None:
    """Who stops early is not the fastest: it never reached 1e-3."""
    drawn(browser, pages, "table")
    assert browser.ask("return document.querySelector('[name=target]').selectedOptions[0].textContent") == "10⁻³"
    best = shaded(browser)
    assert not any(STOPS_EARLY in solvers for solvers in best.values())
    assert not any(len(set(TWINS) & solvers) == 1 for name, solvers in best.items() if "c-svc C=10," in name)
    assert best[problem("made-12000")] == set(TWINS)
    assert "newcomer" in best[problem("made-300")]
    (cell,) = browser.find(f"td[data-solver='{STOPS_EARLY}'][data-dataset='{problem('made-300')}']")
    assert cell.text.startswith("not reached")
    drawn(browser, pages, "table?target=1")
    (cell,) = browser.find(f"td[data-solver='{STOPS_EARLY}'][data-dataset='{problem('made-300')}']")
    assert float(cell.get_attribute("data-value")) > 0.0


def test_a_figure_has_its_interval_and_its_clock(browser: Browser, pages: str, tmp_path: Path) -> None:
    drawn(browser, pages, "table?figure=time")
    (cell,) = browser.find(f"td[data-solver='{FASTEST}'][data-dataset='{problem('made-3000')}']")
    low, high = (seconds(FASTEST, "made-3000") * math.exp(NOISE * QUANTILES[place]) for place in (0, -1))
    assert f"{low * 1e3:.0f} to {high * 1e3:.0f} ms" in cell.text
    note = browser.find("#note")[0].text
    assert "CPU time of one thread" in note
    assert "⚠ 1 cell: wall time more than 1.5 times CPU time" in note
    (marked,) = browser.find("#figure td .mark")
    disturbed = marked.find_element("xpath", "ancestor::td")
    assert (disturbed.get_attribute("data-solver"), disturbed.get_attribute("data-dataset")) == (
        DISTURBED[0],
        problem(DISTURBED[1]),
    )
    with saved(browser, "#figure [data-download=csv]", tmp_path).open(newline="", encoding="utf-8") as opened:
        head, *lines = list(csv.reader(opened))
    place = head.index(f"made-3000, {problem('made-3000').partition(', ')[2]} (s)")
    (line,) = [line for line in lines if line[0] == FASTEST]
    assert [float(value) for value in line[place : place + 3]] == pytest.approx(
        [seconds(FASTEST, "made-3000"), low, high], rel=1e-4
    )


def test_kernel_values_that_are_not_counted_are_not_missed(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "table?figure=kernel_evaluations_to")
    cells = browser.find(f"td[data-solver='{NOT_OBSERVABLE}'][data-status=ok]")
    assert len(cells) == len(SHAPES)
    assert {cell.text for cell in cells} == {"\N{EN DASH}"}


def test_the_sentence_below_counts_the_cells_above(browser: Browser, pages: str) -> None:
    drawn(browser, pages, f"table?dataset={problem('made-300')}")
    assert browser.find("#below")[0].text == f"All {len(SOLVERS)} cells that were run did what was asked."
    browser.find(f"#legend input[data-solver='{SLOW}']")[0].click()
    settled(browser)
    assert browser.find("#below")[0].text == f"All {len(SOLVERS) - 1} cells that were run did what was asked."
    drawn(browser, pages, "table")
    count = len(browser.find("#figure td[data-solver]"))
    assert browser.find("#below h2")[0].text == f"2 of {count} cells did not do what was asked"
    browser.ask("document.querySelector('#figure .menu summary').click()")
    (box,) = browser.find(f"#figure .menu input[name='{problem(CRASHED[1])}']")
    box.click()
    count = len(browser.find("#figure td[data-solver]"))
    assert browser.find("#below h2")[0].text == f"1 of {count} cells did not do what was asked"


# -- the Pareto front ----------------------------------------------------------------------------------

SWEPT_CURVES = """
const at = (path) => [...path.matchAll(/([-\\d.]+),([-\\d.]+)/g)].map(([, x, y]) => `${Math.round(x)},${Math.round(y)}`);
return [...document.querySelectorAll('#figure .curve')].map(curve => [curve.dataset.solver, at(curve.getAttribute('d'))]);
"""
PLACES = """
return [...document.querySelectorAll('#figure .point')].map(point => [point.dataset.solver, point.dataset.dataset,
  at(point.getAttribute('transform'))[0], point.getAttribute('aria-label')]);
""".replace("return", SWEPT_CURVES.partition("return")[0] + "return", 1)


def test_a_sweep_over_three_C_is_three_points_on_one_curve_with_their_C(browser: Browser, pages: str) -> None:
    drawn(browser, pages, f"pareto?dataset={SWEPT}")
    points = {(solver, dataset): (at, told) for solver, dataset, at, told in browser.ask(PLACES)}
    curves = browser.ask(SWEPT_CURVES)
    for solver in SWEEP_SOLVERS:
        (curve,) = [places for name, places in curves if name == solver]
        assert curve == [points[solver, problem(SWEPT, C=C)][0] for C in SWEEP_C]
        for C in SWEEP_C:
            assert f"C={C:g}," in points[solver, problem(SWEPT, C=C)][1]
    labels = browser.ask("return [...document.querySelectorAll('#figure .label')].map(each => each.textContent)")
    assert {"C=100", f"{STOPS_EARLY}, c-svc, C=1"} <= set(labels)
    browser.find("#below summary")[0].click()
    rows = browser.wait("const rows = [...document.querySelectorAll('#below tbody tr')].map(r => r.innerText);"
                        "return rows.length && rows;")  # fmt: skip
    for C in SWEEP_C:
        assert [row for row in rows if row.startswith(FASTEST) and f"c-svc C={C:g}\t" in row]


def test_a_sweep_over_epsilon_is_joined_by_its_base(browser: Browser, pages: str) -> None:
    drawn(browser, pages, f"pareto?dataset={CORE_SETS[0]}&x=support_vectors")
    points = {solver: at for solver, _, at, _ in browser.ask(PLACES)}
    (curve,) = [places for name, places in browser.ask(SWEPT_CURVES) if name.startswith(CORE)]
    assert curve == [points[f"{CORE}[epsilon={epsilon:g}]"] for epsilon in sorted(EPSILONS)]
    xs = browser.ask(f"return [...document.querySelectorAll('.point[data-solver^=\"{CORE}\"]')].map(p => +p.dataset.x)")
    assert sorted(xs) == sorted(support(CORE_SETS[0], epsilon=epsilon) for epsilon in EPSILONS)


def test_a_sweep_is_in_the_order_of_its_number_and_one_for_each_choice_of_the_others(
    browser: Browser, pages: str
) -> None:
    drawn(browser, pages, "glossary")
    found = browser.ask("""
        const { sweeps } = await import(new URL('solvers/sweep.js', location.href));
        const point = (C, gamma) => ({ row: { base: 'smo', formulation: 'c-svc', kernel: `rbf gamma=${gamma}`, parameters: {},
          settings: 'target 0.001', problem_parameters: { C }, kernel_parameters: { gamma } } });
        const points = [[100, 1], [1, 2], [1, 1], [100, 2], [10, 1], [10, 2]].map(([C, gamma]) => point(C, gamma));
        const asked = ({ row }) => [row.problem_parameters.C, row.kernel_parameters.gamma];
        return sweeps(points).map(({ by, points }) => [by, points.map(asked)]);
    """)
    assert found == [["C", [[C, gamma] for C in (1, 10, 100)]] for gamma in (1, 2)]


def test_a_parameter_is_told_where_it_differs_among_the_problems_of_a_formulation(browser: Browser, pages: str) -> None:
    drawn(browser, pages, "glossary")
    found = browser.ask("""
        const { tellers } = await import(new URL('solvers/sweep.js', location.href));
        const kernel = { kernel: 'rbf gamma=1', kernel_parameters: { gamma: 1 } };
        const row = (formulation, problem_parameters) => ({ formulation, problem_parameters, ...kernel });
        const rows = [row('c-svc', { C: 1, class_weight: 'none' }), row('c-svc', { C: 10, class_weight: null }),
          row('c-svc', { C: 10, class_weight: 'balanced' }), row('nu-svc', { nu: 0.5, class_weight: 'none' })];
        return rows.map(tellers(rows));
    """)
    assert found == [
        ["c-svc", "C=1"],
        ["c-svc", "C=10"],
        ["c-svc", "C=10", "class_weight=balanced"],
        ["nu-svc"],
    ]


def test_what_differs_by_less_than_its_noise_shares_the_front(browser: Browser, pages: str) -> None:
    for dataset in SHAPES:
        drawn(browser, pages, f"pareto?dataset={problem(dataset)}&problem={problem(dataset).partition(', ')[2]}")
        ringed = {each.get_attribute("data-solver") for each in browser.find("#figure .on-front")}
        assert set(TWINS) <= ringed or not set(TWINS) & ringed
        assert SLOW not in ringed
    assert len(browser.find("#figure .bar")) >= len(SOLVERS) - 1  # five runs each


# -- curves ----------------------------------------------------------------------------------------------


def test_core_sets_of_a_sweep_are_joined_by_its_base(browser: Browser, pages: str) -> None:
    drawn(browser, pages, f"coresets?dataset={problem(CORE_SETS[0], 'l2-svc', 1.0)}")
    points = browser.ask(PLACES)
    ends = {solver: at for solver, _, at, told in points if "on the way" not in told}
    assert len(ends) == len(EPSILONS)
    joined = [ends[f"{CORE}[epsilon={epsilon:g}]"] for epsilon in sorted(EPSILONS)]
    assert joined in [places for _, places in browser.ask(SWEPT_CURVES)]


def test_a_curve_has_a_bar_at_each_target_that_several_runs_reached(browser: Browser, pages: str) -> None:
    drawn(browser, pages, f"anytime?dataset={problem('made-3000')}")
    for solver in SOLVERS:
        reached = sum(target >= GAPS[solver] * (1 - 1e-9) for target in TARGETS)
        assert len(browser.find(f"#figure .bar[data-solver='{solver}']")) == reached
    assert browser.find("#figure .title")[0].text.startswith(("CPU time", "Wall time"))
    drawn(browser, pages, f"anytime?dataset={problem('made-3000')}&x=kernel_evaluations")
    assert browser.find("#figure .bar") == []  # a count is the same in every run


# -- how it looks --------------------------------------------------------------------------------------

ASIDE = """
return [...document.querySelectorAll('#figure thead th')].flatMap(head => {
  const [button, link] = [head.querySelector('button'), head.querySelector('a.term')];
  const words = document.createRange();
  words.selectNodeContents(button);
  const last = [...words.getClientRects()].filter(each => each.width).at(-1);
  const off = [button, link].filter(Boolean).map(each => Math.abs(each.getBoundingClientRect().bottom - last.bottom));
  if (link) off.push(6 + link.getBoundingClientRect().right - head.getBoundingClientRect().right);
  return off.some(each => each > 6) ? [[head.textContent, off]] : [];
});
"""
"""Heads of columns whose sort mark, or the way to the glossary, is not beside the last line of its words or outside of the head."""


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("page", ["which", "table", "dataset"])
def test_the_marks_of_a_head_stand_beside_its_last_line(browser: Browser, pages: str, page: str, width: int) -> None:
    browser.size(width, 900)
    drawn(browser, pages, f"table?dataset={problem('made-300')}" if page == "dataset" else page)
    assert len(browser.find("#figure thead th button small")) > 3
    assert browser.ask(ASIDE) == []


FAINT = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const over = ([r, g, b, a = 1], back) => [r, g, b].map((each, i) => each * a + back[i] * (1 - a));
const light = (rgb) => rgb.map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const back = (element) => {
  const chain = [];
  for (let each = element; each; each = each.parentElement) chain.unshift(parse(getComputedStyle(each).backgroundColor));
  return chain.reduce((under, colour) => over(colour, under), [255, 255, 255]);
};
const found = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || element.closest('.skip')) continue;
  if (!element.checkVisibility({ visibilityProperty: true })) continue;
  const style = getComputedStyle(element);
  const under = back(element);
  const colour = over(parse(element.closest('svg') ? style.fill : style.color), under);
  const [x, y] = [light(colour), light(under)].sort((a, b) => b - a);
  const ratio = (x + 0.05) / (y + 0.05);
  if (ratio < 4.5) found.add(`${element.tagName}.${element.className.baseVal ?? element.className} ${ratio.toFixed(2)}`);
}
return [...found];
"""
"""Texts whose contrast is below 4.5, which WCAG 2.1 asks for (level AA)."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("page", ["table", "pareto", "anytime", "coresets", "glossary"])
def test_a_page_fits_its_screen_and_can_be_read(
    browser: Browser, pages: str, page: str, width: int, scheme: str
) -> None:
    browser.size(width, 844 if width < 600 else 900)
    browser.prefer(scheme)
    drawn(browser, pages, page)
    assert overlapping(browser) == []
    browser.ask("document.querySelectorAll('details').forEach(each => each.open = true)")
    if page != "glossary":
        browser.wait("return document.querySelector('.menu input')")
        kinds = [each.get_attribute("data-download") for each in browser.find("[data-download]")]
        assert set(kinds) == ({"csv", "json"} if page == "table" else {"csv", "json", "svg", "png"})
    browser.ask("document.getElementById('menu').click()")
    assert browser.ask("return document.documentElement.scrollWidth") <= width
    assert browser.ask(FAINT) == []
    assert browser.complaints() == []


def test_on_a_phone_the_pages_wait_behind_a_button(browser: Browser, pages: str) -> None:
    browser.size(390, 844)
    drawn(browser, pages, "table")
    (link,) = browser.find("nav a[data-page=pareto]")
    assert not link.is_displayed()
    browser.find("#menu")[0].click()
    assert link.is_displayed()
    link.click()
    browser.wait("return window.harnessDashboard.page === 'pareto'")
    assert not browser.find("nav a[data-page=table]")[0].is_displayed()
