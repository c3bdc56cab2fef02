"""A plugin that does what it should not where it should not; a trial writes it with another `FAULTS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, hookimpl
from reports.robustness.trials.misdeeds import DEEDS, HOSTILE

FAULTS: tuple[tuple[str, str], ...] = ()  # (where, what)
PROCESS = os.getpid()  # of the import
_MOST_WARM = 40  # points


def _role() -> str:
    with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
        line = file.read()
    return "worker" if "harness.run.worker" in line else "certifier" if "harness.run.certify" in line else "command"


def at(where: str) -> Any:
    """Do what is to be done here; return what the last of it returned."""
    done = None
    for place, what in FAULTS:
        if place == where and what in DEEDS:
            done = DEEDS[what]()
    return done


def wrong(what: str) -> bool:
    """Whether the solver yields what is wrong in this way."""
    return ("yield", what) in FAULTS


at("import")
at(f"import-{_role()}")


def _iterate(problem: Problem, number: int, last: int) -> Any:
    coef: Any = np.zeros(problem.n)
    extra: dict[str, Any] = {}
    shapes: dict[str, Any] = {
        "nan": np.full(problem.n, np.nan),
        "short": coef[1:],
        "column": coef[:, None],
        "object": np.array([object()] * problem.n),
        "text": ["0"] * problem.n,
        "none-coef": None,
        "broadcast": np.broadcast_to(0.0, (10**12,)),
        "infeasible": -problem.targets * 1e9,
    }
    for name, value in shapes.items():
        if wrong(name):
            coef = value
    for name, field, value in (
        ("intercept-nan", "intercept", float("nan")), ("intercept-text", "intercept", "x"), ("step-text", "step", HOSTILE),
        ("step-huge", "step", 10**400), ("core-list", "core_set", [1, 2]), ("core-negative", "core_set", -5),
        ("info-text", "info", "abc"), ("info-hostile", "info", {HOSTILE: HOSTILE}),
    ):  # fmt: skip
        extra |= {field: value} if wrong(name) else {}
    if number == last:
        if wrong("info-keys"):
            extra["info"] = {f"k{key}": key for key in range(1_000_000)}
        if wrong("info-huge"):
            extra["info"] = {"a": "x" * 50_000_000}
        if wrong("info-self"):
            endless: list[Any] = []
            endless.append(endless)
            extra["info"] = {"a": endless}
    if wrong("dict"):
        return {"dual_coef": coef}
    return Iterate(dual_coef=coef, done=number == last and not wrong("not-done"), **extra)


@dataclass(frozen=True)
class Bad(Solver):
    """Does what it should not."""

    name = "bad"
    solves = (CSVC,)

    def __post_init__(self) -> None:
        super().__post_init__()
        at("post-init")

    @property
    def label(self) -> str:
        at("label")
        return "bad" + (HOSTILE if ("label", "text") in FAULTS else "")

    def skip(self, problem: Problem) -> str | None:
        at("skip")
        return HOSTILE if ("skip", "text") in FAULTS else None

    def warm_ups(self) -> tuple[Solver, ...]:
        at("warm-ups")
        if ("warm-ups", "many") in FAULTS:
            return (self,) * 1_000_000
        return (self,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Any]:
        measured = problem.n > _MOST_WARM
        if not measured:
            at("warm-up")
        elif os.getpid() != PROCESS:
            at("first")
        if os.getpid() == PROCESS and _role() == "worker":
            at("worker")
        if wrong("nothing"):
            return
        last = 2_000_000 if wrong("many") else 4
        try:
            for number in range(last + 1):
                if measured and number == last // 2:
                    at("middle")
                if measured and number == last:
                    at("end")
                yield _iterate(problem, number, last)
            if wrong("after-done"):
                while True:
                    yield Iterate(dual_coef=np.full(problem.n, np.nan))
        finally:
            if measured:
                at("close")


@dataclass(frozen=True)
class Good(Solver):
    """Does nothing wrong, in the file of one that does."""

    name = "good"
    solves = (CSVC,)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        yield Iterate(dual_coef=np.zeros(problem.n), done=True)


@hookimpl
def harness_solvers() -> Any:
    at("hook")
    if ("hook", "none") in FAULTS:
        return None
    if ("hook", "rubbish") in FAULTS:
        return [Bad, 7, "text", type]
    if ("hook", "twice") in FAULTS:
        return [Bad, Bad, Good]
    return [Bad, Good]


if ("main", "exit-handler") in FAULTS:
    import atexit

    atexit.register(at, "exit-handler")
sys.dont_write_bytecode = True
