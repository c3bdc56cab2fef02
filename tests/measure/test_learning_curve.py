"""Areas under curves over labels, against sums that a person can do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measure.learning_curve import areas, curves


def point(labels, accuracy=None, reason="labels", **metrics):
    return {"labels_used": labels, "test_accuracy": accuracy, "reason": reason, "metrics": metrics}


def test_trapezoids_over_the_range_of_labels():
    trace = [point(2, 0.5), point(4, 0.7), point(10, 0.9, reason="end")]
    assert areas(trace) == {"accuracy": pytest.approx((2 * 0.6 + 6 * 0.8) / 8)}


def test_each_figure_has_its_own_first_point():
    trace = [point(1, 0.5), point(2, 0.5, prbep=0.2), point(4, 0.5, prbep=0.4)]
    assert areas(trace) == {"accuracy": pytest.approx(0.5), "prbep": pytest.approx(0.3)}


def test_a_metric_that_is_no_number_has_no_curve():
    trace = [point(2, 0.5, rates=[0.1, 0.2], said="no"), point(4, 0.7, rates=[0.1, 0.3], said="no")]
    assert areas(trace) == {"accuracy": pytest.approx(0.6)}


def test_points_that_the_machines_speed_makes_due_are_none_of_the_curve():
    ladder = [point(2, 0.5), point(10, 0.9)]
    disturbed = [ladder[0], point(3, 0.1, reason="seconds"), point(9, 0.1, reason="kernel_evaluations"), ladder[1]]
    assert areas(disturbed) == areas(ladder)


@pytest.mark.parametrize("trace", [[], [point(3, 0.9)], [point(3, 0.9), point(3, 0.8)], [point(0, 0.5), point(4, 0.9)]])
def test_without_a_range_there_is_no_area(trace):
    assert areas(trace) is None


def test_points_without_labels_are_none_of_a_curve():
    assert curves([{"test_accuracy": 0.5, "reason": "end"}]) == {}


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 1)), min_size=2, max_size=40, unique_by=lambda p: p[0]))
def test_the_area_is_that_of_numpy(points):
    points.sort()
    labels, values = map(np.array, zip(*points, strict=True))
    expected = float(np.sum(np.diff(labels) * (values[:-1] + values[1:]) / 2)) / (labels[-1] - labels[0])
    assert areas([point(int(n), float(v)) for n, v in points])["accuracy"] == pytest.approx(expected, abs=1e-12)
