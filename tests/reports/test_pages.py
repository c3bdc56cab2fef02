"""Every page of reports is what its rows give; each fault that is planted in a small one is found."""

import json
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pytest

from reports.kit.check import violations
from reports.kit.clocks import MixedClocks, axis
from reports.kit.markdown import filled, met, number, table
from reports.kit.measured import quotient, ratio, watched
from reports.kit.page import PAGES, page_named, page_of
from reports.kit.pictures import save
from reports.kit.results import comparable
from reports.kit.study import Study
from tests.reports.fabricated import HEADER, row


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_what_stands_on_a_page_is_what_its_rows_give(name):
    assert violations(page_named(name)) == []


# -- planted faults ------------------------------------------------------------------------------------------

TEXT = """# A study

Section 4.1 of the paper: LASVM takes <!-- n times -->0.50<!-- /n --> times as long as SMO with C = 100 on 3 sets in 2005, in
`lasvm[epochs=12]`, and has 4.07 million kernel values of 1,234 examples.

<!-- begin verdict -->
| set | time / SMO's | kernel values, M |
|:--|--:|--:|
| a | 0.50 (met) | 4.07 |
<!-- end verdict -->
"""
LISTED = """before,number,source
in and has,4.07,verdict
kernel values of,"1,234","the paper's, section 4.1"
"""


def verdict(results):
    share = results.quotient("a", "lasvm", "smo", "cpu")
    cell = f"{share.told()} {met(share.value <= 0.5)}" if share.value is not None else share.told()
    return table(
        ["set", "time / SMO's", "kernel values, M"],
        [["a", cell, number(results.mean("a", "lasvm", "kernel_evaluations") / 1e6)]],
    )


def times(results, path):
    figure, axes = plt.subplots()
    for solver in ("lasvm", "smo"):
        axes.plot([1, 2], [results.mean("a", solver, "cpu")] * 2)
    return save(figure, path)


@dataclass(frozen=True)
class Here(Study):
    at: object = None
    folder = property(lambda self: self.at)


@pytest.fixture
def made(tmp_path):
    """Make the page of a small study: what is given differs from what is right."""

    def make(text=TEXT, listed=LISTED, sections=None, picture=times, commits=("one", "one"), numbers=None, **row_of):
        solvers = {"lasvm": {"cpu": 1.0, "kernel_evaluations": 4_070_000}, "smo": {"cpu": 2.0}}
        rows = [
            row("a", solver, git_commit=commit, **{"seconds": 3.0, **given, **row_of})
            for (solver, given), commit in zip(solvers.items(), commits, strict=True)
        ]
        (tmp_path / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (HEADER, *rows)))
        (tmp_path / "README.md").write_text(text)
        (tmp_path / "prose.csv").write_text(listed)
        study = Here(
            name="a-study", title="A study", plan=None, parts=lambda plan: {}, pictures={"times": picture}, at=tmp_path,
            sections=sections or (lambda results: {"verdict": verdict(results)}),
            numbers=lambda results: {"times": results.quotient("a", "lasvm", "smo", "cpu").told(), **(numbers or {})},
        )  # fmt: skip
        return violations(page_of(study))

    return make


def test_a_page_that_stands(made):
    assert made() == []


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("has 4.07 million", "has 4.08 million", "'4.08' behind '… in and has' is not listed"),
        ("has 4.07 million", "has 5 million", "prose.csv lists '4.07' behind '… in and has', which the text has not"),
        ("-->0.50<!--", "-->0.51<!--", "the rows give another text: a number in the text"),
        ("| 4.07 |", "| 4.17 |", "the rows give another text: verdict"),
        ("0.50 (met)", "0.50 (**missed**)", "the rows give another text: verdict"),
        ("examples.", "examples (met).", "the mark (met) is not computed"),
        ("examples.", "examples: **missed**.", "the mark **missed** is not computed"),
        ("1,234 examples", "1,235 examples", "'1,235' behind '… kernel values of' is not listed"),
        ("in 2005", "of 12 seeds", "'12' behind '… 3 sets of' is not listed"),
        (
            "# A study",
            "# A study\n<!-- begin old -->\n<!-- end old -->",
            "section old has markers, and no code makes it",
        ),
    ],
)
def test_a_text_that_the_rows_do_not_give_is_found(made, right, wrong, told):
    assert right in TEXT
    assert any(told in each for each in made(TEXT.replace(right, wrong)))


def test_a_row_from_another_commit_is_not_divided(made):
    found = made(commits=("one", "two"))
    assert "the rows give another text: verdict" in found, "it says now: not in turns"
    assert ratio(*(results_of_two("one", "two").mean("a", solver, "cpu") for solver in ("lasvm", "smo"))) is None


def results_of_two(first, second, **given):
    from reports.kit.results import Published, Results

    rows = [row("a", solver, git_commit=commit, **given) for solver, commit in (("lasvm", first), ("smo", second))]
    return Results([HEADER, *rows], Published({}))


def wall_for_cpu(results):
    return {"verdict": f"{results.mean('a', 'lasvm', 'cpu') / results.mean('a', 'lasvm', 'seconds'):.2f}"}


def wall_beside_cpu(results, path):
    figure, axes = plt.subplots()
    axes.plot([1], [results.mean("a", "lasvm", "cpu")])
    axes.bar([2], [results.mean("a", "smo", "seconds")])
    return save(figure, path)


def only_in_turns(results, path):
    """A picture that draws nothing where nothing may be compared; where it may, two clocks."""
    in_turns = comparable(*results.of("a", "lasvm"), *results.of("a", "smo"))
    return wall_beside_cpu(results, path) if in_turns else False


def test_wall_for_cpu_is_found(made):
    bare = TEXT.replace(TEXT[TEXT.index("| set") : TEXT.index("<!-- end")], "0.33\n")
    assert any("seconds of the CPU and the wall clock together" in each for each in made(bare, sections=wall_for_cpu))
    assert any("seconds of the CPU and the wall clock on one axis" in each for each in made(picture=wall_beside_cpu))
    assert any("on one axis" in each for each in made(picture=only_in_turns))
    both = results_of_two("one", "one").of("a", "smo")[0]
    assert axis([both["cpu"], 1.0]) == "CPU seconds"
    with pytest.raises(MixedClocks, match="the CPU and the wall clock in one figure"):
        axis([both["cpu"], both["seconds"]])
    with watched() as noted:
        assert quotient(both["seconds"], both["cpu"]).told() == "not of one clock"
        assert max(both["seconds"], both["cpu"]) == 1.0
    assert len(noted) == 2


def test_a_number_that_nobody_gives_is_refused():
    with pytest.raises(Exception, match="asks for the numbers gone, which no code gives; there are times"):
        filled("<!-- n gone -->1<!-- /n -->", {}, {"times": "2"})


# -- measured numbers ----------------------------------------------------------------------------------------
