"""Classes of problems, and exponents of growth over the sizes of one data set."""

from __future__ import annotations

import pytest
from harness_dashboard import classes

from harness.report.timing import TARGETS


def table(costs, sets, **facts):
    """Return a table of cells: costs[solver][data set] are seconds to 1e-2, 1e-3 and so on; None never reached it."""
    number = len(sets)
    usual = {
        "formulation": ["c-svc"] * number,
        "n_train": [500] * number,
        "n_features": [10] * number,
        "density": [1.0] * number,
    }
    given = {**usual, **facts}
    cells = [(i, j, costs[i][j]) for i in range(len(costs)) for j in range(number)]
    columns = {
        "solver": [i for i, _, _ in cells], "dataset": [j for _, j, _ in cells], "target_gap": [None] * len(cells),
        "seconds_to": [None if value is None else [value] * len(TARGETS) for _, _, value in cells],
    }  # fmt: skip
    about = [{"set": name, **{fact: values[j] for fact, values in given.items()}} for j, name in enumerate(sets)]
    return {"dataset_facts": about, "columns": columns, "rows": len(cells)}


def test_problems_are_in_the_classes_of_their_size_dimension_and_density():
    found = classes.classes(
        table(
            [[1.0] * 4, [2.0] * 4], list("abcd"), formulation=["c-svc"] * 3 + ["nu-svc"], n_train=[1000, 1001, 50_000, 50_001],
            n_features=[10, 11, 100, 101], density=[0.25, 0.26, None, 1.0],
        )
    )  # fmt: skip
    kinds, problems = found["kinds"], found["problems"]
    assert found["place"] == [0, 1, 2, 3] * 2
    assert problems[kinds["|||"]] == (0, 1, 2, 3)
    assert problems[kinds["c-svc|0|0|sparse"]] == (0,)
    assert problems[kinds["c-svc|1|1|dense"]] == (1,)
    assert problems[kinds["c-svc|2|1|"]] == (2,)
    assert problems[kinds["|3|2|dense"]] == (3,)
    assert kinds["nu-svc|||"] == kinds["nu-svc|3|2|dense"]
    assert "c-svc|3||" not in kinds
    assert classes.classes({"dataset_facts": [], "columns": {}, "rows": 0})["kinds"] == {}


def test_a_data_set_in_three_sizes_has_a_line_and_problems_of_one_size_are_one_point():
    n = [100, 1000, 10_000, 10_000, 50, 60]
    costs = [[each**2 * 1e-6 for each in n], [1.0, 2.0, None, None, 1.0, 1.0]]
    costs[0][2], costs[0][3] = costs[0][2] * 4, costs[0][3] / 4  # a sweep over C
    made = table(costs, ["grown[n=1]", "grown[n=2]", "grown", "grown[noise=1]", "other", "another"], n_train=n)
    lines = classes.classes(made)["scaling"]
    assert {(line["solver"], line["family"], line["axis"], line["points"]) for line in lines} == {
        (0, "grown", "n_train", 3)
    }
    assert [line["target"] for line in lines] == list(range(len(TARGETS)))
    assert lines[0]["exponent"] == pytest.approx([2.0] * 3, abs=1e-6)
    assert lines[0]["sizes"] == [100, 10_000]
    made["columns"]["target_gap"] = [1e-3] * made["rows"]
    targets = [TARGETS[line["target"]] for line in classes.classes(made)["scaling"]]
    assert min(targets) == 1e-3, "the runs were not made for a smaller gap"
    costs[0][1] *= 2.0
    exponent, low, high = classes.classes(table(costs, ["grown"] * 4 + ["b", "c"], n_train=n))["scaling"][0]["exponent"]
    assert low < exponent < high
