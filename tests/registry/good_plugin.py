"""A plugin with nothing wrong, for the tests to load, break and select from."""

from harness.registry.entries import BrokenPlugin, ConfiguredSolver

GOOD = """
    from dataclasses import dataclass
    from harness import CSVC, Iterate, Solver, hookimpl, parameter
    from harness.problems import HardMargin
    import numpy as np

    @dataclass(frozen=True)
    class First(Solver):
        "The first."
        name = "{plugin}"
        solves = (CSVC,)
        epochs: int = parameter(1, "passes", ge=1)
        tau: float = parameter(1e-3, "tolerance", gt=0)

        def iterates(self, problem, rng):
            yield Iterate(np.zeros(problem.n), 1.0, done=True)

    @dataclass(frozen=True)
    class Second(First):
        "The second."
        name = "{plugin}-two"
        gamma: float = parameter(0.5, "a solver's own gamma", gt=0)

    @hookimpl
    def harness_solvers():
        return [First, Second]
"""


def labels(chosen: list[ConfiguredSolver | BrokenPlugin]) -> list[str]:
    return [each.label if isinstance(each, ConfiguredSolver) else f"broken {each.plugin}" for each in chosen]
