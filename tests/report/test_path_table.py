"""The table of paths, of fabricated records."""

from harness.report import formats, table
from tests.report.fabricated import path, record


def lines(*records, **settings):
    return table.render(list(records), **settings).splitlines()


def test_paths_and_single_runs_have_tables_of_their_own():
    shown = "\n".join(lines(path(), record("lasvm")))
    assert shown.index("path of 2 C") < shown.index("digits: 1198 x 64, rbf gamma=0.05")
    assert "lasvm" in shown
    text = formats.render("markdown", [path(), record("lasvm")])
    assert "| smo | 1.20 |" in text
    assert "| lasvm |" in text
    assert formats.render("markdown", [path()]).count("\n| smo") == 1


def test_an_edge_of_the_grid_is_one_of_several_values():
    grid = {"costs": {"C": [8.0]}, "best": {"C": 8.0, "gamma": 2.0}}
    notes = [len(table.sheets([path(path=changes)])[0].notes) for changes in ({}, grid)]
    assert notes == [2, 1]
