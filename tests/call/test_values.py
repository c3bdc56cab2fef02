"""What options accept: what is written is read again; what is not accepted is a sentence with the value and an example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import UsageError
from harness.call import values


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (values.DURATION, "90", 90.0), (values.DURATION, "1.5h", 5400.0), (values.DURATION, "5m", 300.0),
        (values.MEMORY, "512M", 512 * 2**20), (values.MEMORY, "2GiB", 2**31), (values.MEMORY, "2gb", 2**31),
        (values.SEEDS, "0-999999999", range(10**9)), (values.SEEDS, "7,0,7,1e3", [7, 0, 1000]),
        (values.GAMMAS, "0.1,scale, 1e-2", [0.1, "scale", 0.01]), (values.SHARES, "none,0.3", ["none", 0.3]),
        (values.COSTS, "1,1.0,2", [1.0, 2.0]), (values.WIDTHS, "0", [0.0]),
        (values.COUNT, "1e6", 1_000_000), (values.COUNT, "12345678901234567891", 12345678901234567891),
        (values.LABELS, "lasvm[C=1,tau=2],fw*", ["lasvm[C=1,tau=2]", "fw*"]),
        (values.PATH, "gamma, C", {"gamma": values.USUAL["gamma"], "C": values.USUAL["C"]}),
        (values.PATH, "C=[1,2^3..2^5:2]", {"C": [1.0, 8.0, 16.0, 32.0]}),
        (values.PATH, "epsilon=[0.1,0.2],C=1..999:10", {"epsilon": [0.1, 0.2], "C": [1.0, 10.0, 100.0]}),
        (values.PATH, "C=3..3:2", {"C": [3.0]}),
    ],
)  # fmt: skip
def test_accepted(read, text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("read", "texts"),
    [
        (values.DURATION, ["10x", "-1", "0", "", "1e999"]), (values.MEMORY, ["5Q", "M"]),
        (values.SEEDS, ["4-1", "-1", "1,,2", "0-9999999999999999", "0-999999,5", "0.5"]),
        (values.GAMMAS, ["auto", "nan", "inf", "0"]), (values.SHARES, ["2", "0"]), (values.COSTS, ["0", "nan"]),
        (values.WIDTHS, ["-1"]), (values.COUNT, ["0", "x"]), (values.NAMES, ["a,,b"]),
        (values.PATH, ["", "C,", "C=", "C=x", "C=10..1:2", "C=1..10:1", "C=0..10:2", "C=1..10", "C=nan", "C=0^-1"]),
    ],
)  # fmt: skip
def test_refused_with_the_value_and_an_example(read, texts):
    for text in texts:
        with pytest.raises(UsageError) as caught:
            read(text)
        assert repr(text) in str(caught.value)
        assert " write " in str(caught.value) or "for example" in str(caught.value)


@given(st.text(max_size=12) | st.from_regex(r"[C0-9^.:/=\[\],e-]{1,12}", fullmatch=True))
def test_any_text_is_read_or_refused_in_a_sentence(text):
    for read in (values.SEEDS, values.DURATION, values.MEMORY, values.GAMMAS, values.PATH, values.COUNT):
        said = ""
        try:
            found = read(text)
        except UsageError as error:
            found, said = None, str(error)
        assert (found is None) == said.endswith(".")
