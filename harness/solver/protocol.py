"""The solver protocol: a frozen dataclass of parameters whose one method yields its current model.

The host drives the generator: its clock runs only inside ``next()``, and at a yield it may copy the
model for the anytime trace, stop the run or go on. Every solver whose iterates end in ``done`` is an
oracle as well: :meth:`Solver.solve` drives it to the end for another solver.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from harness.support import parameters
from harness.support.clocks import fit_clock
from harness.support.errors import InvalidModel, PluginError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from harness.problems.problem import Problem
    from harness.problems.summary import ProblemSummary
    from harness.solver.path import GridPoint, SolutionPath
    from harness.support.arrays import Array


NOT_DONE = "its iterates ended without a done iterate"
DEFAULT_RELATIVE_GAP = 1e-3  # at which every solver of a hull formulation stops, unless it is told otherwise


@dataclass(slots=True)
class Iterate:
    """The model a solver has now: f(x) = sum_i dual_coef_i k(x_i, x) + intercept.

    dual_coef : (n,) signed coefficients, may be a view of the solver's own array: the host copies what it keeps
    intercept : b; for the hull formulations minus the threshold
    weights : (d,) instead of ``dual_coef`` for a linear solver without dual variables
    free_coef : (n + m,) instead of ``dual_coef`` for an expansion that is no dual solution of the stated problem: its
        coefficients are not feasible, or some belong to points of the solver's own. It is scored, and has no gap.
        f(x) = sum_i free_coef_i k(x_i, x) + sum_j free_coef_{n+j} k(z_j, x) + intercept; the training points come first
    extra_points : (m, d) the solver's own points z, dense or CSR; None where m = 0. The host keeps those that have a
        coefficient: it may be the same array at every iterate
    done : True at the last iterate: the solver's own stopping rule holds
    step : iterations so far as the algorithm's paper counts them; None: the host counts yields
    working_set : number of points this model was optimised over: LASVM's S, the last sample, the active set; None: the
        solver does not say. The support, the core set of a report, is counted by the host.
    info : the solver's own claims (its epsilon, its delta ...), stored beside the certificate, never instead; where
        the last iterate is not ``done``, ``info["stopped"]`` says why in words: the host shows it
    features : a `harness.CosineFeatures` of m features that ``weights``, (m,), are of, in place of the data's own d
    """

    dual_coef: Array | None = None
    intercept: float = 0.0
    weights: Array | None = None
    free_coef: Array | None = None
    extra_points: Any = None
    done: bool = False
    step: int | None = None
    working_set: int | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    features: Any = None


def with_arrays(iterate: Iterate) -> Iterate:
    """Return an iterate whose model is of NumPy arrays: what is none, a list or a tensor, is converted.

    Raises
    ------
    InvalidModel : it is converted to an array of Python objects.
    """
    import numpy as np

    converted = dict[str, Any]()
    for name in ("dual_coef", "intercept", "weights", "free_coef"):
        value = getattr(iterate, name)
        if value is None or type(value) in {float, int, np.float64}:
            continue
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise InvalidModel(
                f"{name} is {type(value).__name__}; expected numbers, in a NumPy array or what converts to one."
            )
        if array is not value:
            converted[name] = array
    return dataclasses.replace(iterate, **converted) if converted else iterate


@dataclass(frozen=True)
class Solution:
    """What an oracle returns: its last model and what it cost.

    done : False where the oracle's own stopping rule does not hold; ``info["stopped"]`` then says why
    """

    dual_coef: Array
    intercept: float
    done: bool
    kernel_evaluations: int
    steps: int
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Conformance:
    """How ``harness check`` configures a thing, and what the thing claims.

    values : parameters that it is checked with, those that differ from their defaults
    variants : further such parameters, each a suite of its own
    gap : relative gap that the solver reaches when it is the target; None: 1e-3 if the solver is ``exact``, else no claim
    excused : check -> the reason why it is allowed to fail; an excused check that passes is a fault
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = ()
    gap: float | None = None
    excused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Solver(ABC):
    """A configured solver; subclass as a frozen dataclass whose fields are the parameters.

    name : how users call it; the first solver of a plugin carries the plugin's name
    solves : the formulations it can solve, by name or as `Problem` classes, the preferred one first. A name needs no import, so
        a plugin can solve the formulation of another plugin that may not be installed
    solves_dual_forms : True if it works on ``problem.dual_form()`` and nothing else, and so solves every other formulation
        that has one too, whoever brings it, but for those that it ``leaves_out``
    leaves_out : formulations that have a dual form and that it does not solve, by name or as classes
    model_form : the field of :class:`Iterate` that holds its models. ``weights`` have a gap if the kernel is linear and the
        formulation ``bounds_weights``; ``free_coef`` and ``features`` have none. With a target gap the command says so first
    observable : False for a black box whose kernel evaluations the host cannot count (recorded as null)
    exact : True if the iterates converge to the optimum, so that the conformance suite may ask for a target gap
    requires : packages that it needs and the harness does not, as pip has them: ``("thundersvm-cpu>=0.3.3",)``. If they are
        not installed, the solver runs in an environment that ``harness peers install`` makes. Its module imports them in
        ``iterates``, not at its top. The record's versions have them
    serves : what the host uses it for if the user names no solver: ``reference``, to find the optima that the conformance
        suite compares with; ``certificate``, to solve convex problems within a certificate. Of several the first is used
    conformance : how it is checked, and what it is excused from
    """

    name: ClassVar[str]
    solves: ClassVar[tuple[str | type[Problem], ...]]
    solves_dual_forms: ClassVar[bool] = False
    leaves_out: ClassVar[tuple[str | type[Problem], ...]] = ()
    model_form: ClassVar[Literal["dual_coef", "weights", "free_coef", "features"]] = "dual_coef"
    observable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ()
    serves: ClassVar[tuple[Literal["reference", "certificate"], ...]] = ()
    conformance: ClassVar[Conformance] = Conformance()

    def __post_init__(self) -> None:
        parameters.check(self, owner=f"solver '{self.name}'")

    @abstractmethod
    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Work on ``problem``; yield the current model whenever that is cheap; end after a ``done`` iterate.

        Randomness comes from ``rng`` alone: the same seed gives the same iterates.
        """

    def solve_path(self, path: SolutionPath, rng: np.random.Generator) -> Iterator[tuple[GridPoint, Iterate]]:
        """Solve every cell of ``path``; yield ``(cell, model)`` as :meth:`iterates` yields models; each cell ends ``done``.

        A cell that is given up ends with an iterate whose ``info["stopped"]`` says why. The default goes through
        ``path.cells`` in their order: each starts from the solution before it where the solver declares a method
        ``iterates_from``, else from nothing. Override it to share more than the kernel values of ``path.problem(cell)``.
        """
        for cell in path.cells:
            yield from solve_cell(self, path, cell, rng)

    @classmethod
    def takes(cls, formulation: type[Problem]) -> bool:
        """Return whether it solves a formulation."""
        # by name, as the command has it: a formulation that inherits from another one is another one
        if formulation.name in formulation_names(cls.solves):
            return True
        left_out = formulation.name in formulation_names(cls.leaves_out)
        return cls.solves_dual_forms and formulation.has_dual_form() and not left_out

    @classmethod
    def solved(cls) -> str:
        """Return in words what it solves."""
        named = ", ".join(formulation_names(cls.solves))
        but = " and ".join(formulation_names(cls.leaves_out))
        others = " and whatever else has a dual form" + (f" but {but}" if but else "")
        return named + (others if cls.solves_dual_forms else "")

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why this solver cannot take ``problem`` (a sentence), or None if it can.

        It is given what is known before the problem is stated. The default refuses more points than the parameter
        ``max_points``, of a solver that has it.
        """
        most = getattr(self, "max_points", None)
        if most is None or problem.n <= most:
            return None
        return f"{self.name} takes at most max_points={most:,}, and there are {problem.n:,}: give fewer, or take another solver."

    def refusal(self, problem: Problem | ProblemSummary) -> str | None:
        """Return why this solver does not take ``problem``: another formulation, or what :meth:`skip` says; else None."""
        from harness.problems.summary import ProblemSummary

        summary = problem if isinstance(problem, ProblemSummary) else ProblemSummary.of(problem)
        if not self.takes(summary.formulation):
            return f"{self.name} does not solve {summary.formulation.name}; it solves {self.solved()}."
        return self.skip(summary)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with its own stopping parameter set for a relative gap; by default that is ``gap``, if it has it."""
        return self.replace(gap=min(gap, 0.5)) if "gap" in parameters.values_of(self) else self

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return what the host runs on a few points before the clock starts, so that no compilation is measured.

        The default is this solver; return variants of it too if few points do not take all of its code.
        """
        return (self,)

    def solve(self, problem: Problem, start: Array | None = None) -> Solution:
        """Drive the iterates to the end: this solver as an oracle for another.

        Parameters
        ----------
        start : (n,) feasible coefficients to start from; used by solvers that declare a method ``iterates_from``

        Kernel evaluations are counted to the run as a whole and noted as the oracle's.

        Raises
        ------
        UsageError : the problem is of a formulation that this solver does not solve, or its :meth:`skip` refuses it.
        PluginError : it ended without dual coefficients.
        """
        import numpy as np

        problem = problem.counted()
        refused = self.refusal(problem)
        if refused is not None:
            raise UsageError(f"'{self.name}' cannot serve as an oracle: {refused}")
        oracle, steps = Subsolver(self), 0
        last: Iterate | None = None
        for steps, last in enumerate(oracle.iterates(problem, start=start), start=1):  # noqa: B007  the last counts
            continue
        if last is None or last.dual_coef is None:
            raise PluginError(f"oracle '{self.name}' ended without dual coefficients; it cannot serve as an oracle.")
        coef = np.array(last.dual_coef, dtype=np.float64)
        return Solution(coef, float(last.intercept), last.done, oracle.evaluations, last.step or steps, dict(last.info))

    @property
    def label(self) -> str:
        """The name with the parameters that differ from their defaults: ``lasvm[epochs=2]``."""
        return parameters.label_of(self)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some parameters changed, validated as at construction."""
        return dataclasses.replace(self, **changes)


def solve_cell(
    solver: Solver, path: SolutionPath, cell: GridPoint, rng: np.random.Generator
) -> Iterator[tuple[GridPoint, Iterate]]:
    """Solve one cell of ``path``, from the solution of the one before it if the solver has a method ``iterates_from``."""
    warm: Any = getattr(solver, "iterates_from", None)
    problem = path.problem(cell)
    start = None if warm is None else path.start(cell)
    last: Iterate | None = None
    iterates = solver.iterates(problem, rng) if start is None else warm(problem, rng, start)
    for last in iterates:
        yield cell, last
        if last.done or "stopped" in last.info:
            break
    if last is None:
        raise PluginError(f"solver '{solver.name}' yielded no model of a cell of the path: {dict(cell.values)}.")
    if not last.done and "stopped" not in last.info:
        yield cell, dataclasses.replace(last, info={**last.info, "stopped": NOT_DONE})
    if warm is not None and last.dual_coef is not None:
        path.keep(cell, last.dual_coef)


def formulation_names(formulations: Iterable[str | type[Problem]]) -> list[str]:
    """Return the names of formulations that are given by name or as classes."""
    return [each if isinstance(each, str) else each.name for each in formulations]


def why_target_ignored(cls: type[Solver]) -> str:
    """Return why a target gap does not reach solvers of a class (a sentence); empty if it does."""
    told = "gap" in [known.name for known in parameters.parameters_of(cls)]
    told = told or cls.with_target_gap is not Solver.with_target_gap
    return "" if told else f"{cls.name} has no parameter gap and no with_target_gap: it is not told the target"


def with_target(solver: Solver, gap: float | None) -> Solver:
    """Return the solver with its own stopping parameter set for a relative gap; None: as it is configured.

    Raises
    ------
    PluginError : its ``with_target_gap`` returned something else than a solver, as one that forgets its ``return`` does.
    """
    told: Any = solver if gap is None else solver.with_target_gap(gap)
    if not isinstance(told, Solver):
        raise PluginError(
            f"solver '{solver.name}' returned {type(told).__name__} from with_target_gap; it must return a solver."
        )
    return told


class Subsolver:
    """A solver at work for another one, and what it cost.

    Attributes
    ----------
    calls, seconds, evaluations : how often it was asked, and what it took
    """

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.calls = self.evaluations = 0
        self.seconds = 0.0

    def iterates(
        self,
        problem: Problem,
        *,
        gap: float | None = None,
        start: Array | None = None,
        rng: np.random.Generator | None = None,
    ) -> Iterator[Iterate]:
        """Drive the solver on ``problem`` to its end; its kernel evaluations count to the run, and as the oracle's.

        Parameters
        ----------
        gap : relative gap it is asked for; None: as it is configured
        start : (n,) feasible coefficients, for solvers that declare a method ``iterates_from``
        rng : None: the same for every call
        """
        import numpy as np

        solver = with_target(self.solver, gap)
        rng, counter = np.random.default_rng(0) if rng is None else rng, problem.kernel.counter
        warm: Any = getattr(solver, "iterates_from", None)
        iterates = iter(solver.iterates(problem, rng) if start is None or warm is None else warm(problem, rng, start))
        self.calls += 1
        counter.oracle_calls += 1
        try:
            while True:
                began, before = fit_clock(), counter.evaluations
                try:
                    found = next(iterates, None)
                finally:
                    self.seconds += fit_clock() - began
                    spent = counter.evaluations - before
                    self.evaluations += spent
                    counter.oracle_evaluations += spent
                if found is None:
                    return
                yield found
                if found.done:
                    return
        finally:
            close = getattr(iterates, "close", None)
            if close is not None:
                close()
