"""Areas under curves over labels, against sums that a person can do."""

import numpy as np
import pytest
from harness_active.learning_curve import areas
from hypothesis import given
from hypothesis import strategies as st


def point(labels, accuracy=None, reason="queried", **metrics):
    return {"queried": labels, "test_accuracy": accuracy, "reason": reason, "metrics": metrics}


def test_points_that_the_machines_speed_makes_due_are_none_of_the_curve():
    ladder = [point(2, 0.5), point(10, 0.9)]
    disturbed = [ladder[0], point(3, 0.1, reason="seconds"), point(9, 0.1, reason="kernel_evaluations"), ladder[1]]
    assert areas(disturbed) == areas(ladder)


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 1)), min_size=2, max_size=40, unique_by=lambda p: p[0]))
def test_the_area_is_that_of_numpy(points):
    points.sort()
    labels, values = map(np.array, zip(*points, strict=True))
    expected = float(np.sum(np.diff(labels) * (values[:-1] + values[1:]) / 2)) / (labels[-1] - labels[0])
    assert areas([point(int(n), float(v)) for n, v in points])["accuracy"] == pytest.approx(expected, abs=1e-12)
