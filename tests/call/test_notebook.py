"""The README's Python call in a notebook, executed by a kernel of its own."""

import os
import re

import pytest

from tests.docs.blocks import blocks
from tests.test_readme import README

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # those of the kernel's client are not ours

IN_A_CELL = """\
import harness
from dataclasses import dataclass

import numpy as np
from harness import CSVCNoBias, Iterate, Solver

@dataclass(frozen=True)
class Nothing(Solver):
    "The model that is always zero."
    name = "nothing"
    solves = (CSVCNoBias,)
    shift: float = 0.0

    def iterates(self, problem, rng):
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)
"""
REFUSED = """\
try:
    harness.compare(Nothing(shift=1.5), {"mine": (X, y)}, quiet=True)
except harness.UsageError as error:
    print(error)
"""
IN_A_FILE = f"""\
%%writefile my_solver.py
{IN_A_CELL}
@harness.hookimpl
def harness_solvers():
    return [Nothing]
"""
OWN = """\
own = harness.compare("nothing[shift=1.5]", {"mine": (X, y)}, plugin_path="my_solver.py", quiet=True)
own.records[0]["status"], own.records[0]["label"]
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook after it was run: the README's call, a solver that a cell defines, and one that a cell writes to a file."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    folder = tmp_path_factory.mktemp("notebook")
    (call,) = [block for block in blocks(README, "python") if "harness.compare(" in block]
    cells = [call, "result.plot()", IN_A_CELL, REFUSED, IN_A_FILE, OWN]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    before = os.environ.get("HARNESS_STORE")
    os.environ["HARNESS_STORE"] = str(folder / "store.sqlite")
    try:
        nbclient.NotebookClient(
            notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        ).execute()
    finally:
        os.environ.pop("HARNESS_STORE") if before is None else os.environ.update(HARNESS_STORE=before)
    return folder, [cell["outputs"] for cell in notebook["cells"]]


def shown(outputs, kind):
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def test_the_result_shows_itself_as_a_table(executed):
    folder, (call, *_) = executed
    (page,) = shown(call, "text/markdown")
    assert (
        len([line for line in page.splitlines() if line.startswith("|")]) == 6
    )  # two solvers, two C, the head of two lines
    assert "mine: 300 x 5" in page
    assert "smo-block" in page
    progress, result = shown(call, "text/plain")
    runs = re.match(r"\[(\d+)/\1, elapsed ", progress)
    assert runs, "one line, which was overwritten"
    assert result == f"<{runs[1]} runs of smo-block, libsvm on mine>"
    lines = [line for output in call if output.get("name") == "stderr" for line in output["text"].splitlines()]
    assert not [line for line in lines if line.startswith("[")], "no line a run"
    assert (folder / "mine.html").read_text().startswith("<!")


def test_the_figure_is_shown_once(executed):
    (picture,) = shown(executed[1][1], "image/png")
    assert len(picture) > 10_000


def test_a_solver_that_a_cell_defines_is_refused_and_does_what_the_sentence_says(executed):
    (said,) = [output["text"] for output in executed[1][3]]
    assert "put %%writefile my_solver.py on the cell's first line" in said
    assert shown(executed[1][5], "text/plain") == ["('ok', 'nothing[shift=1.5]')"]
