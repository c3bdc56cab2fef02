"""A plugin for the benchmark alone: ``time-shares``, where a solve spends its time, by phases of the solver.

cProfile sees a compiled function that is called from Python; what it inlines counts as its own. Time in libraries
(numpy, scipy) and builtins belongs to whoever called them. A phase is told by module and name of a function, so that
a solver whose functions move between its modules keeps its phases; what nobody names is ``rest``, and the functions
that take longest are told by name.
"""

from __future__ import annotations

import cProfile
import pstats
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import CSVC, Iterate, Problem, Solver, get_solver, hookimpl, parameter

# phase -> what "module:function" is searched for; the first that is found counts
PHASES = {
    "update": r":(add_rows|_?add_part|add|_update|compute_scores|expand\w*|\w*_update|scores?|_?refresh\w*)$",
    "newton": r"(newton|cholesky|active_set|krylov|conjugate|\bcg\b)",
    "gather": r":(gather\w*|block|_block|\w*_block)$",
    "descent": r":(\w*descent|\w*_steps?|pair_\w+|joint_\w+|single_\w+|solve_whole|\w*smo)$",
    "choice": r"(working_set:|:(directions|largest|choose|\w*_?kept|violation|free\w*|ends|gradient)$)",
    "kernel": r"^harness\.kernels\.",
    "certificate": r"(stopping:|^harness\.problems\.)",
}
REST = "rest"
_OURS = re.compile(r".*/(harness(?:_\w+)?/.*)\.py$")
_PASSES = 50  # of handing library time up: as deep as a chain of library calls may be
_NAMED = 8  # functions told by name

_Function = tuple[str, int, str]


def profiled(work: Callable[[], Any]) -> tuple[Any, dict[str, float], dict[str, float]]:
    """Return what ``work`` returns, the seconds of each phase, and those of the longest functions as ``module:name``."""
    profile = cProfile.Profile()
    found = profile.runcall(work)
    own = own_seconds(pstats.Stats(profile))
    phases = dict.fromkeys((*PHASES, REST), 0.0)
    for name, seconds in own.items():
        phases[phase(name)] += seconds
    longest = sorted(own, key=lambda name: -own[name])[:_NAMED]
    return found, phases, {name: own[name] for name in longest}


def phase(name: str) -> str:
    """Return the phase of a function ``module:name``."""
    return next((each for each, pattern in PHASES.items() if re.search(pattern, name)), REST)


def own_seconds(stats: pstats.Stats) -> dict[str, float]:
    """Return the seconds of each function of ours outside of all others of ours, by ``module:name``.

    A library's seconds go to its callers, in proportion to the time they spent in it.
    """
    entries: dict[_Function, Any] = stats.stats  # type: ignore[attr-defined]
    left = {function: entry[2] for function, entry in entries.items()}
    found: dict[str, float] = {}
    for _ in range(_PASSES):
        moved: dict[_Function, float] = {}
        for function, seconds in left.items():
            name = _name(function)
            callers = entries[function][4] if name is None else {}
            whole = sum(each[3] for each in callers.values())
            if name is not None or whole <= 0.0:
                found[name or REST] = found.get(name or REST, 0.0) + seconds
                continue
            for caller, each in callers.items():
                moved[caller] = moved.get(caller, 0.0) + seconds * each[3] / whole
        left = moved
        if not left:
            break
    found[REST] = found.get(REST, 0.0) + sum(left.values())
    return found


def _name(function: _Function) -> str | None:
    """Return ``module:name`` of a function of this project, None for others."""
    ours = _OURS.match(function[0])
    return f"{ours[1].replace('/', '.')}:{function[2]}" if ours else None


@dataclass(frozen=True)
class TimeShares(Solver):
    """Solves by ``oracle``, ``seconds`` long at most, under a profiler.

    info has the seconds of each phase, and of the functions that take longest.
    """

    name = "time-shares"
    solves = (CSVC,)
    solves_dual_forms = True
    oracle: str = parameter("smo", "the solver that is profiled")
    gap: float | None = parameter(None, "relative gap that it stops at; none: its own default", gt=0)
    seconds: float = parameter(60.0, "when it is stopped", gt=0)

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return the oracle's: compilation is no part of the profile."""
        return get_solver(self.oracle).warm_ups()

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        solver = get_solver(self.oracle)
        solver = solver if self.gap is None else solver.with_target_gap(self.gap)

        def last() -> Iterate:
            began = time.perf_counter()
            for iterate in solver.iterates(problem, rng):
                if iterate.done or time.perf_counter() - began > self.seconds:
                    break
            return iterate

        found, phases, longest = profiled(last)
        info = {**{f"phase {name}": seconds for name, seconds in phases.items()}, **longest}
        yield Iterate(found.dual_coef, found.intercept, done=True, info=info)


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    return [TimeShares]
