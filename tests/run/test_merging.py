"""Stores of several machines in one: equal to their union, run by run, whatever they hold."""

import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import Record, Status, StoreReader, UsageError, validate_record
from harness.run.record import TYPES
from harness.run.store import Store
from tests.run import rows
from tests.run.rows import record

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats() | st.integers(-(10**18), 10**18)
NESTED = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
OF = {
    int: st.integers(0, 2**63 - 1), float: st.floats(), bool: st.booleans(), str: TEXTS, list: st.lists(TEXTS, max_size=3),
    dict: st.dictionaries(TEXTS, NESTED, max_size=3),
}  # fmt: skip
POINT = st.fixed_dictionaries(
    {"seconds": st.floats(), "reason": TEXTS},
    optional={"relative_gap": st.floats(), "metrics": OF[dict], "stray": NESTED},
)
FIXED = {
    "key": st.sampled_from("abcdef"),
    "status": st.sampled_from([str(each) for each in Status]),
    "measured_at": st.sampled_from(["2026-01-01T00:00:00", "2026-01-02T00:00:00", "2026-01-03T00:00:00"]),
    "trace": st.lists(POINT, max_size=3),
}
FIELDS = {name: FIXED.get(name, OF[kind]) for name, kind in TYPES.items()}
NEEDED = ("key", "status", "measured_at")
ANY = st.sampled_from([name for name in FIELDS if name not in NEEDED]).flatmap(
    lambda name: st.tuples(st.just(name), FIELDS[name])
)
RUNS = st.builds(
    lambda needed, further: {**dict(further), **needed},
    st.fixed_dictionaries({name: FIELDS[name] for name in NEEDED}),
    st.lists(ANY, max_size=4),
)
PATHS = st.fixed_dictionaries({"run": RUNS, "cells": st.lists(RUNS, max_size=2)})


def filled(path, runs):
    with Store(path) as store:
        for run in runs:
            made = validate_record(run["run"])
            made.cells = tuple(
                Record({**validate_record(cell), "key": f"{made['key']}/{number}", "measured_at": made["measured_at"]})
                for number, cell in enumerate(run["cells"])
            )
            store.append(made)
    return path


def texts(path):
    """Return every row of a store as one text: key, status, time and all figures."""
    with StoreReader(path) as found:
        lines = ["\n".join((*row.content[:3], row.record.text())) for row in found.rows()]
        assert found.damaged == {}
    return lines


def merged(into, *sources):
    with Store(into) as store:
        opened = [StoreReader(each) for each in sources]
        result = store.merge(opened)
        for each in opened:
            each.close()
    return result


@given(st.lists(PATHS, max_size=4), st.lists(PATHS, max_size=4), st.lists(PATHS, max_size=2))
@settings(max_examples=15)
def test_a_merge_is_the_union_run_by_run(first, second, shared):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        a = filled(folder / "a.sqlite", [*first, *shared])
        b = filled(folder / "b.sqlite", [*shared, *second])
        before = a.read_bytes(), b.read_bytes()
        merged(folder / "c.sqlite", a, b)
        assert Counter(texts(folder / "c.sqlite")) == Counter({*texts(a), *texts(b)})
        assert (a.read_bytes(), b.read_bytes()) == before
        again = merged(folder / "c.sqlite", a, b)
        assert (again.added, again.remeasured) == ([0, 0], set())
        with StoreReader(folder / "c.sqlite") as store:
            for key in {row.content[0] for row in store.rows()}:
                times = [found["measured_at"] for found in store.of(key)]
                assert times == sorted(times, reverse=True)
            times = [found["measured_at"] for found in store.records()]
            assert times == sorted(times)


def test_the_newest_stands_for_a_run_that_all_have_and_it_is_counted_once(tmp_path):
    for name, when, seconds in (("a", "2026-01-02", 1.0), ("b", "2026-01-03", 2.0), ("c", "2026-01-01", 3.0)):
        with Store(tmp_path / name) as store:
            store.append(record(measured_at=f"{when}T00:00:00", fit_seconds=seconds))
    result = merged(tmp_path / "b", tmp_path / "a", tmp_path / "c")  # both are older than what is there
    assert (result.read, result.added, result.remeasured) == ([1, 1], [1, 1], {"k"})
    with StoreReader(tmp_path / "b") as store:
        assert [found["fit_seconds"] for found in store.of("k")] == [2.0, 1.0, 3.0]


KILLED = """
import os, signal, sys
from harness.run.store import Store, StoreReader

class Dying(StoreReader):
    def rows(self):
        for number, row in enumerate(super().rows()):
            if number == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            yield row

with Dying(sys.argv[1]) as source, Store(sys.argv[2]) as into:
    into.merge([source])
"""


def test_a_merge_that_is_killed_leaves_the_store_as_it_was(tmp_path):
    rows.filled(tmp_path / "a", 6)
    with Store(tmp_path / "c") as store:
        store.append(record("mine"))
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a", tmp_path / "c"], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert [each.split("\n")[0] for each in texts(tmp_path / "c")] == ["mine"]
    merged(tmp_path / "c", tmp_path / "a")
    assert len(texts(tmp_path / "c")) == 7


@pytest.mark.parametrize("content", [b"plugin,solver,label\n", b"PAR1" * 400, None])
def test_what_is_no_store_is_refused_with_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "given").write_bytes(content)
    with pytest.raises(UsageError, match=r"no result store|name the store that they"):
        StoreReader(tmp_path / "given")
