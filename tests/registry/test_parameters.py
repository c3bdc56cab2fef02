"""Typed parameters: read from text, checked for type and range, refused with value, expectation and remedy."""

import json
import pickle
import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import CSVC, Solver, UsageError, parameter
from harness.support.parameters import parameters_of, validated, values_of
from harness.support.selection import parse


class Mode(StrEnum):
    FAST, SLOW = "fast", "slow"


class Level(Enum):
    ONE, TWO = 1, 2


@dataclass(frozen=True)
class Example(Solver):
    """A solver with a parameter of every kind."""

    name = "example"
    solves = (CSVC,)
    epochs: int = parameter(1, "passes over the data", ge=1)
    tau: float = parameter(1e-3, "tolerance", gt=0, lt=1)
    cache: float | None = parameter(None, "megabytes; none: the run's", gt=0)
    selection: Literal["random", "active"] = parameter("random", "how the next example is chosen")
    shrinking: bool = parameter(True, "leave out bound coefficients")
    plain: int = 3
    layers: tuple[int, ...] = parameter((1, 2), "sizes", ge=1)
    words: tuple[str, ...] | None = None
    mode: Mode = Mode.FAST
    level: Level = Level.ONE
    log: Path = Path("run.log")
    times: Literal[1, 2] = 1

    def iterates(self, problem, rng):
        yield from ()


def test_fields_become_documented_parameters() -> None:
    known = {found.name: found for found in parameters_of(Example)}
    assert list(known)[:6] == ["epochs", "tau", "cache", "selection", "shrinking", "plain"]
    for name, type_name in {
        "epochs": "int", "cache": "float or none", "selection": "'random' or 'active'", "layers": "tuple of int",
        "words": "tuple of str or none", "mode": "'fast' or 'slow'", "level": "1 or 2", "log": "path",
    }.items():  # fmt: skip
        assert known[name].type_name == type_name
    assert (known["epochs"].range, known["epochs"].default) == ("[1, inf)", 1)
    assert (known["tau"].range, known["tau"].doc) == ("(0, 1)", "tolerance")
    assert (known["plain"].doc, known["plain"].range) == ("", "")


@pytest.mark.parametrize(
    ("name", "values", "expectation"),
    [
        ("epochs", ("0", "two", True, 1.5), "int in [1, inf)"),
        ("tau", ("1", "none", True, float("nan")), "float in (0, 1)"),
        ("cache", ("-1", "inf", "1e400"), "float or none in (0, inf)"),
        ("selection", ("activ",), "'random' or 'active'"),
        ("shrinking", ("perhaps", 2), "bool, written yes or no"),
        ("layers", ("(1,0)", "(1,x)"), "tuple of int in [1, inf), written (1,2)"),
        ("mode", ("quick",), "'fast' or 'slow'"),
        ("level", ("3", True), "1 or 2"),
        ("times", (True,), "1 or 2"),
        ("log", (3,), "path"),
    ],
)
def test_a_wrong_value_is_refused_with_value_and_expectation(name: str, values, expectation: str) -> None:
    for value in values:
        message = rf"^solver 'example': parameter {name}={re.escape(repr(value))} .*expected {re.escape(expectation)}"
        with pytest.raises(UsageError, match=message):
            validated(Example, {name: value}, owner="solver 'example'")
        with pytest.raises(UsageError, match=message.removeprefix("^")):
            Example(**{name: value})


def test_a_solver_is_a_value_with_a_label() -> None:
    solver = Example(epochs="2", tau=0.5)
    assert (solver.label, Example().label) == ("example[epochs=2,tau=0.5]", "example")
    assert solver == Example(epochs=2, tau=0.5) == pickle.loads(pickle.dumps(solver))
    assert hash(solver) == hash(Example(epochs=2, tau=0.5))
    assert values_of(solver)["epochs"] == solver.epochs == 2
    assert solver.replace(epochs=3).epochs == 3
    with pytest.raises(UsageError):
        solver.replace(epochs=0)
    with pytest.raises(AttributeError):
        solver.epochs = 3


@given(
    st.integers(1, 99), st.floats(1e-9, 0.999), st.one_of(st.none(), st.floats(0.001, 1e6)), st.booleans(),
    st.lists(st.integers(1, 9), max_size=3), st.lists(st.text("ab", min_size=1), min_size=1, max_size=2), st.sampled_from(Mode),
    st.sampled_from(Level), st.text("ab/.", min_size=1).map(Path),
)  # fmt: skip
def test_a_label_and_a_record_read_back_as_the_same_solver(
    epochs, tau, cache, shrinking, layers, words, mode, level, log
) -> None:
    new = {"layers": tuple(layers), "words": tuple(words), "mode": mode, "level": level, "log": log}
    solver = Example(epochs=epochs, tau=tau, cache=cache, shrinking=shrinking, **new)
    (item,) = parse(solver.label)
    (cell,) = item.grid()
    assert Example(**validated(Example, cell, owner="example")) == solver
    assert Example(**json.loads(json.dumps(values_of(solver)))) == solver


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epochs", "1e3", 1000), ("epochs", 2.0, 2), ("epochs", np.int64(3), 3), ("epochs", 10**30, 10**30),
        ("tau", np.float32(0.5), 0.5), ("tau", "1e-3", 1e-3), ("cache", "NONE", None), ("cache", 3, 3.0), ("cache", 10**30, 1e30),
        ("shrinking", "False", False), ("shrinking", "yes", True), ("shrinking", "No", False), ("shrinking", "on", True),
        ("shrinking", "off", False), ("shrinking", "true", True), ("shrinking", "0", False), ("shrinking", True, True),
        ("times", "2", 2), ("level", "2", Level.TWO), ("mode", "slow", Mode.SLOW),
        ("layers", "3", (3,)), ("layers", [1, 2], (1, 2)), ("layers", np.array([4, 5]), (4, 5)), ("words", "none", None),
        ("log", "a/b", Path("a/b")),
    ],
)  # fmt: skip
def test_text_numbers_and_arrays_are_read_as_the_type_of_the_parameter(name: str, value, expected) -> None:
    result = validated(Example, {name: value}, owner="solver 'example'")[name]
    assert (result, type(result)) == (expected, type(expected))


def test_tuples_make_a_grid() -> None:
    (item,) = parse("example[layers=[(1, 2),(3)],mode=[fast,slow]]")
    solvers = [Example(**validated(Example, cell, owner="example")) for cell in item.grid()]
    assert ";".join(each.label for each in solvers) == (
        "example;example[mode=slow];example[layers=(3)];example[layers=(3),mode=slow]"
    )
