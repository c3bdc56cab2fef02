"""What enters a record and a store: validated once, read whatever became of the file."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness import HarnessError, validate_record
from harness.run.record import COLUMNS
from harness.run.store import Store, read_results
from harness.support.printable import clean
from tests.run.rows import filled, record, rewrite

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=20,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(COLUMNS), anything))
@example({"core_set_size": [1, 2], "working_set_size": 2.5, "iterations": -3, "kernel_evaluations": 10**400, "seed": 4})
@example({"fit_seconds": "fast", "claimed_done": 1, "info": [1], "trace": {"a": 1}, "reason": 7, "cpu_seconds": True})
def test_what_is_validated_can_be_written_and_read(given_):
    valid = validate_record({**given_, "key": "k"})
    text = valid.text()
    text.encode("utf-8")
    assert validate_record(json.loads(text)) == {name: value for name, value in valid.items() if value is not None}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("iterations", -3, None), ("iterations", 2.0, 2), ("iterations", 2.5, None), ("seed", 2**63, None),
        ("seed", True, None), ("cpu_seconds", True, None), ("cpu_seconds", -1.0, None), ("cpu_seconds", 3, 3.0),
        ("fit_seconds", "fast", None), ("relative_gap", float("nan"), None), ("primal", float("inf"), None),
        ("claimed_done", 1, None), ("info", [1], None), ("trace", {"a": 1}, []), ("trace", [{"seconds": 1.0}, 3], []),
        ("reason", 7, None), ("reason", "a\x1b[2J", "a\N{REPLACEMENT CHARACTER}[2J"), ("metrics", {"f1": float("nan")}, {"f1": None}),
        ("test_accuracy", 1.5, None), ("faults", ["a", 3], ["a", "3"]),
    ],
)  # fmt: skip
def test_a_figure_that_its_field_cannot_have_is_left_out(name, value, expected):
    assert validate_record({name: value}).get(name) == expected


def test_sizes_are_bounded():
    assert len(clean("x" * 10**6)) < 5000
    assert len(clean(list(range(10**6)))) == 100_001
    deep = []
    for _ in range(10_000):
        deep = [deep]
    assert len(json.dumps(clean(deep))) < 5000
    assert clean(np.arange(3)) == [0, 1, 2]


def changed(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def test_a_row_of_an_older_harness_that_holds_what_it_should_not_is_read(tmp_path):
    path = filled(tmp_path / "s.sqlite")
    rewrite(path, 2, lambda _: '{"core_set_size": [1], "iterations": "epoch 3"}')
    frame = read_results(path)
    assert len(frame) == 3
    assert frame.core_set_size.isna().all()
    assert frame.iterations.isna().all()


def test_a_row_that_cannot_be_read_is_named_and_the_others_are_shown(tmp_path):
    spoil = "UPDATE records SET record = replace(record, '1.0', '9.0') WHERE id = 2"
    path = changed(filled(tmp_path / "s.sqlite", 4), spoil)
    rewrite(path, 3, lambda text: text[:5])
    frame = read_results(path)
    assert list(frame.fit_seconds) == [0.0, 3.0]
    first, second = frame.attrs["damaged"]
    assert (first[:9], "checksum" in first, second[:9]) == ("row 2 of ", True, "row 3 of ")


def test_whatever_becomes_of_the_file_rows_are_read_or_a_sentence_says_why_not(tmp_path):
    path = changed(filled(tmp_path / "s.sqlite", 12), "PRAGMA wal_checkpoint(TRUNCATE)")
    whole, rng, outcomes = path.read_bytes(), np.random.default_rng(1), []
    for turn in range(60):
        damaged = np.frombuffer(whole, np.uint8).copy()
        places = rng.integers(0, len(whole), 20 if turn % 2 else 1)
        damaged[places] ^= rng.integers(1, 256, len(places)).astype(np.uint8)
        if turn % 3 == 0:
            damaged[places[0] : places[0] + 300] = 0
        broken = tmp_path / f"{turn}.sqlite"
        broken.write_bytes(damaged[: places[0]].tobytes() if turn % 5 == 0 else damaged.tobytes())
        try:
            with Store(broken) as store:
                outcomes.append(len(list(store.records())))
                list(store.of("3"))
                store.append(record("new"))
        except HarnessError as error:
            outcomes.append(str(error))
    assert any(isinstance(each, int) and each >= 8 for each in outcomes)
    assert all(str(tmp_path) in each for each in outcomes if isinstance(each, str))
