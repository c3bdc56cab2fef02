import click
import pytest

from harness.cli import values


def read(kind, text):
    return kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (values.DURATION, "90", 90.0), (values.DURATION, "90s", 90.0), (values.DURATION, "5m", 300.0),
        (values.DURATION, "1.5h", 5400.0), (values.DURATION, "1e-3", 1e-3),
        (values.MEMORY, "1024", 1024), (values.MEMORY, "512M", 512 * 2**20), (values.MEMORY, "2G", 2**31),
        (values.MEMORY, "2GiB", 2**31), (values.MEMORY, "2gb", 2**31), (values.MEMORY, "100B", 100),
        (values.SEEDS, "0,1,2", [0, 1, 2]), (values.SEEDS, "0-4", range(5)), (values.SEEDS, "5", range(5, 6)),
        (values.SEEDS, "0-999999999", range(10**9)),
        (values.SEEDS, "7,0-2,1", [7, 0, 1, 2]),
        (values.GAMMAS, "0.1,scale, 1e-2", [0.1, "scale", 0.01]),
        (values.DEGREES, "2,3", [2, 3]), (values.CONSTANTS, "0,1", [0.0, 1.0]),
        (values.COUNT, "1e6", 1_000_000), (values.COUNT, "12345678901234567891", 12345678901234567891),
        (values.LABELS, "lasvm[C=1,tau=2],fw*", ["lasvm[C=1,tau=2]", "fw*"]),
    ],
)  # fmt: skip
def test_accepted(kind, text, expected):
    assert read(kind, text) == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (values.DURATION, "10x"), (values.DURATION, "-1"), (values.DURATION, "0"), (values.DURATION, ""), (values.DURATION, "1e999"),
        (values.MEMORY, "5Q"), (values.MEMORY, "M"), (values.SEEDS, "4-1"), (values.SEEDS, "-1"), (values.SEEDS, "1,,2"),
        (values.SEEDS, "0-9999999999999999"), (values.SEEDS, "0-999999,5"),
        (values.SEEDS, "0.5"), (values.GAMMAS, "auto"), (values.GAMMAS, "nan"),
        (values.GAMMAS, "inf"), (values.GAMMAS, "0"), (values.DEGREES, "1.5"), (values.DEGREES, "0"),
        (values.CONSTANTS, "-1"), (values.COUNT, "0"), (values.COUNT, "x"), (values.NAMES, "a,,b"),
    ],
)  # fmt: skip
def test_refused_with_value_expectation_and_example(kind, text):
    with pytest.raises(click.BadParameter) as caught:
        read(kind, text)
    assert repr(text) in caught.value.message
    assert "for example" in caught.value.message
