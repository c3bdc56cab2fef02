"""The solver protocol: a frozen dataclass of parameters with a method ``iterates`` that yields the current model.

The host drives the generator: its clock runs only inside ``next()``, and at a yield it may copy the
model for the anytime trace, stop the run or continue. Every solver whose iterates end in ``done`` can also
serve another solver: :meth:`Solver.solve` drives it to the end.
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
    from pathlib import Path

    import numpy as np

    from harness.problems.problem import Problem
    from harness.problems.summary import ProblemSummary
    from harness.solver.path import GridPoint, SolutionPath
    from harness.support.arrays import Array


NOT_DONE = "its iterates ended without a done iterate"
DEFAULT_RELATIVE_GAP = 1e-3  # default relative gap at which solvers of hull formulations stop


@dataclass(slots=True)
class Iterate:
    """The current model of a solver: f(x) = sum_i dual_coef_i k(x_i, x) + intercept.

    dual_coef : (n,) signed coefficients; may be a view of the solver's array, as the host copies them
    intercept : b; for the hull formulations minus the threshold
    weights : (d,) instead of ``dual_coef`` for a linear solver without dual variables
    free_coef : (n + m,) instead of ``dual_coef`` for an expansion that is no dual solution of the stated problem: its
        coefficients are infeasible, or some belong to ``extra_points``. The model is scored, and has no gap but a suboptimality.
        f(x) = sum_i free_coef_i k(x_i, x) + sum_j free_coef_{n+j} k(z_j, x) + intercept; the training points come first
    extra_points : (m, d) points z of the model that are no training points, dense or CSR, or a layout of extra points
        (see ``harness.kernels.loops``); None if m = 0. The host copies those with a nonzero coefficient, so that every
        iterate may have the same array
    done : True at the last iterate, where the solver's stopping rule is satisfied
    step : number of iterations as the algorithm's paper counts them; None to count yields
    working_set : number of points this model was optimised over (LASVM's S, the last sample, the active set); None if
        unknown. The host counts the support, which is the core set of a report
    info : claims of the solver (its epsilon, its delta ...), stored in addition to the certificate; if the last
        iterate is not ``done``, ``info["stopped"]`` is the reason that the host displays
    features : a `harness.CosineFeatures` of m features, to which ``weights``, (m,), belong in place of the d features of the data
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
    """Return an iterate whose model consists of NumPy arrays; lists, tensors and the like are converted.

    Raises
    ------
    InvalidModel : the conversion gives an array of Python objects.
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
                f"{name} is {type(value).__name__}; expected numbers in a NumPy array, or in an object that converts to one."
            )
        if array is not value:
            converted[name] = array
    return dataclasses.replace(iterate, **converted) if converted else iterate


@dataclass(frozen=True)
class Solution:
    """The last model of a sub-solver and its cost, as returned by :meth:`Solver.solve`.

    done : False if the solver's stopping rule is not satisfied; ``info["stopped"]`` is then the reason
    """

    dual_coef: Array
    intercept: float
    done: bool
    kernel_evaluations: int
    steps: int
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Conformance:
    """How ``harness check`` configures a solver, data source or kernel, and what that claims.

    values : parameters for the checks that differ from their defaults
    variants : further such parameters, each checked by a separate suite
    gap : relative gap that the solver reaches with it as the target; None: 1e-3 if the solver is ``exact``, else no claim
    excused : check -> why it may fail; an excused check that passes is a fault
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = ()
    gap: float | None = None
    excused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Solver(ABC):
    """A configured solver; subclass as a frozen dataclass whose fields are the parameters.

    name : the name for users; the first solver of a plugin has the plugin's name
    solves : the formulations that the solver solves, by name or as `Problem` classes, the preferred one first. A name needs no
        import, so a plugin can solve the formulation of another plugin that may not be installed
    solves_dual_forms : True if the solver uses only ``problem.dual_form()``, and so solves every formulation of any plugin
        that has a dual form, except for those in ``leaves_out``
    leaves_out : formulations with a dual form that the solver does not solve, by name or as classes
    model_form : the field of :class:`Iterate` with the solver's models. ``weights`` have a gap if the kernel is linear and the
        formulation ``bounds_weights``; ``free_coef`` and ``features`` have none. ``free_coef`` meets a target gap with the dual of
        another run of the problem; the command warns if there is none
    observable : False for a black box whose kernel evaluations the host cannot count (recorded as null)
    exact : True if the iterates converge to the optimum, so that the conformance suite may set a target gap
    requires : packages that the solver needs and the harness does not, as pip specifiers: ``("thundersvm-cpu>=0.3.3",)``. If
        they are not installed, the solver runs in an environment that ``harness peers install`` makes. The solver's module
        imports them in ``iterates``, not at its top. The record has their versions
    depends_on : programs and files of code that the solver runs or loads and that no package brings: names looked up on PATH, and
        paths, for example ``("svm-train", Path(__file__).parent / "fit.sh")``; a property where they are parameters. Their paths and
        contents are in the record, and a run is measured again when one has changed. ``"awk --version"`` says how a program prints
        its version; without arguments it is never run for it. If one is not there, the run is skipped
    serves : uses of the solver by the host when the user names none: ``reference``, to compute the optima that the conformance
        suite compares with; ``certificate``, to solve convex problems within a certificate. The first registered one is used
    conformance : configuration and excuses for ``harness check``
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

    @property
    def depends_on(self) -> tuple[str | Path, ...]:
        """Programs and files of code that the solver uses; a class attribute, or a property of the parameters."""
        return ()

    @abstractmethod
    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Solve ``problem``; yield the current model whenever that is cheap; end after a ``done`` iterate.

        Use random numbers of ``rng`` only, so that the same seed gives the same iterates.
        """

    def solve_path(self, path: SolutionPath, rng: np.random.Generator) -> Iterator[tuple[GridPoint, Iterate]]:
        """Solve every cell of ``path``; yield ``(cell, model)`` as :meth:`iterates` yields models; each cell ends ``done``.

        A cell that is given up ends with an iterate whose ``info["stopped"]`` is the reason. The default solves ``path.cells``
        in order, each from the solution of the cell before if the solver has a method ``iterates_from``.
        Override it to share more than the kernel values of ``path.problem(cell)``.
        """
        for cell in path.cells:
            yield from solve_cell(self, path, cell, rng)

    @classmethod
    def takes(cls, formulation: type[Problem]) -> bool:
        """Return whether the solver solves a formulation."""
        # compare names: a subclass of a formulation is another formulation
        if formulation.name in formulation_names(cls.solves):
            return True
        left_out = formulation.name in formulation_names(cls.leaves_out)
        return cls.solves_dual_forms and formulation.has_dual_form() and not left_out

    @classmethod
    def solved(cls) -> str:
        """Return the formulations that the solver solves, as text for messages."""
        names = ", ".join(formulation_names(cls.solves))
        exceptions = " and ".join(formulation_names(cls.leaves_out))
        others = " and all others with a dual form" + (f" but {exceptions}" if exceptions else "")
        return names + (others if cls.solves_dual_forms else "")

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why this solver cannot take ``problem`` (a sentence), or None if it can.

        The summary has what is known before the problem is built. The default refuses more points than the parameter
        ``max_points``, if the solver has one.
        """
        most = getattr(self, "max_points", None)
        if most is None or problem.n <= most:
            return None
        return f"{self.name} takes at most max_points={most:,}, and there are {problem.n:,}: give fewer, or take another solver."

    def refusal(self, problem: Problem | ProblemSummary) -> str | None:
        """Return why this solver does not take ``problem``: its formulation, or the reason of :meth:`skip`; else None."""
        from harness.problems.summary import ProblemSummary

        summary = problem if isinstance(problem, ProblemSummary) else ProblemSummary.of(problem)
        if not self.takes(summary.formulation):
            return f"{self.name} does not solve {summary.formulation.name}; it solves {self.solved()}."
        return self.skip(summary)

    def with_target_gap(self, gap: float) -> Self:
        """Return this solver with its stopping parameter set for a relative gap; by default the parameter ``gap``, if any."""
        return self.replace(gap=min(gap, 0.5)) if "gap" in parameters.values_of(self) else self

    def warm_ups(self) -> tuple[Solver, ...]:
        """Return the solvers that the host runs on a few points before the clock starts, so that no compilation is measured.

        The default is this solver; return variants too if a run on few points does not reach all compiled code.
        """
        return (self,)

    def solve(self, problem: Problem, start: Array | None = None) -> Solution:
        """Drive the iterates to the end, for another solver that uses this one as a sub-solver.

        Parameters
        ----------
        start : (n,) feasible coefficients to start from; used by solvers that declare a method ``iterates_from``

        Kernel evaluations count to the whole run, and also as those of sub-solvers.

        Raises
        ------
        UsageError : the solver does not solve the formulation, or its :meth:`skip` refuses the problem.
        PluginError : the solver ended without dual coefficients.
        """
        import numpy as np

        problem = problem.counted()
        refusal = self.refusal(problem)
        if refusal is not None:
            raise UsageError(f"'{self.name}' cannot serve as an oracle: {refusal}")
        worker, steps = Subsolver(self), 0
        last: Iterate | None = None
        for steps, last in enumerate(worker.iterates(problem, start=start), start=1):  # noqa: B007  the last iterate is used
            continue
        if last is None or last.dual_coef is None:
            raise PluginError(f"oracle '{self.name}' ended without dual coefficients; it cannot serve as an oracle.")
        coef = np.array(last.dual_coef, dtype=np.float64)
        return Solution(coef, float(last.intercept), last.done, worker.evaluations, last.step or steps, dict(last.info))

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
    """Return the names of formulations given by name or as classes."""
    return [each if isinstance(each, str) else each.name for each in formulations]


def why_target_ignored(cls: type[Solver]) -> str:
    """Return why solvers of a class ignore a target gap (a sentence); empty if they do not."""
    settable = "gap" in [parameter.name for parameter in parameters.parameters_of(cls)]
    settable = settable or cls.with_target_gap is not Solver.with_target_gap
    return "" if settable else f"{cls.name} has no parameter gap and no with_target_gap: it ignores the target"


def with_target(solver: Solver, gap: float | None) -> Solver:
    """Return the solver with its stopping parameter set for a relative gap; unchanged if ``gap`` is None.

    Raises
    ------
    PluginError : ``with_target_gap`` returned no solver, for example because of a missing ``return``.
    """
    targeted: Any = solver if gap is None else solver.with_target_gap(gap)
    if not isinstance(targeted, Solver):
        raise PluginError(
            f"solver '{solver.name}' returned {type(targeted).__name__} from with_target_gap; it must return a solver."
        )
    return targeted


class Subsolver:
    """A solver that works for another one, with its costs.

    Attributes
    ----------
    calls, seconds, evaluations : number of calls, and their seconds and kernel evaluations
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
        """Drive the solver on ``problem`` to its end; kernel evaluations count to the run, and as those of sub-solvers.

        Parameters
        ----------
        gap : target relative gap; None: as configured
        start : (n,) feasible coefficients, for solvers that declare a method ``iterates_from``
        rng : random numbers; None: the same seed for every call
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
                    iterate = next(iterates, None)
                finally:
                    self.seconds += fit_clock() - began
                    spent = counter.evaluations - before
                    self.evaluations += spent
                    counter.oracle_evaluations += spent
                if iterate is None:
                    return
                yield iterate
                if iterate.done:
                    return
        finally:
            close = getattr(iterates, "close", None)
            if close is not None:
                close()
