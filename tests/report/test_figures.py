import math

import pytest

from harness.report import figures
from harness.support import decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123, "0.0123"),
        (0.5, "0.500"),
        (12.0, "12.0"),
        (123.4, "123"),
        (1234.5, "1234"),
        (2.3e-5, "2.3e-5"),
        (0.0, "0.00"),
    ],
)
def test_seconds_have_three_digits(value, text):
    assert figures.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9999, "9999"), (9999.6, "10.0k"), (12_345, "12.3k"), (999_499, "999k"), (999_600, "1.00M"), (1.2e6, "1.20M"),
     (3.21e9, "3.21G"), (5e12, "5T")],
)  # fmt: skip
def test_counts_are_compact(value, text):
    assert figures.count(value) == text


def test_spread_is_half_the_range_over_the_median():
    assert figures.spread([1.0, 1.1, 1.2]) == " ±9%"
    assert figures.spread([1.0]) == ""
    assert figures.spread([0.0, 0.0]) == ""


@pytest.mark.parametrize("value", [None, True, "1", math.nan, math.inf])
def test_what_is_no_number(value):
    assert not figures.is_number(value)


def test_a_gap_above_a_limit_has_the_digits_that_show_it():
    assert [decimals.above(gap, 1e-3) for gap in (1.04e-3, 1.0000004e-3, 0.2)] == ["1.04e-3", "1.0000004e-3", "2.0e-1"]
