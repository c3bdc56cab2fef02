"""The conformance suite that plugin authors run: a solver proves itself in five lines.

Put this beside your plugin as ``test_my_solver.py`` and run ``pytest``::

    from harness.testing import SolverConformance
    from my_solver import MySolver

    class TestMySolver(SolverConformance):
        solver = MySolver(epsilon=1e-4)
        gap = 1e-3  # the relative gap you claim; None if the iterates do not converge to the optimum

Every check is one ``test_`` method with one line that says what it asks; most of them look at each
problem of a small zoo, in every formulation that the solver solves: each has its own, a plugin's too (see
:meth:`harness.Problem.zoo`; ``harness.testing.problems`` has the usual data). The solver is driven once on each problem, and all
checks judge that drive. What cannot be asked of it is no test of its suite: no gap of a solver that claims none, no
problem that its ``skip`` refuses. Declare what else does not apply rather than editing a check:

* ``excused = {"test_scaling_the_points": "absolute tolerances, as the paper has them"}``
* ``cases = [...]`` replaces the zoo by your own :class:`Case` list

Without pytest, ``run_checks(TestMySolver)`` returns one :class:`Result` for each check and problem.
"""

from harness.problems import cases as problems
from harness.problems.cases import Case as Case
from harness.testing.checks import Result as Result
from harness.testing.checks import run_checks as run_checks
from harness.testing.conformance import SolverConformance as SolverConformance
from harness.testing.plugin import checks_of as checks_of
from harness.testing.suite import zoo as zoo

__all__ = ["Case", "Result", "SolverConformance", "checks_of", "problems", "run_checks", "zoo"]
