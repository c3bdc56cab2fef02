"""The conformance suite that plugin authors run: a solver proves itself in five lines.

Save this next to your plugin as ``test_my_solver.py`` and run ``pytest``::

    from harness.testing import SolverConformance
    from my_solver import MySolver

    class TestMySolver(SolverConformance):
        solver = MySolver(epsilon=1e-4)
        gap = 1e-3  # the relative gap you claim; None if the iterates do not converge to the optimum

Every check is one ``test_`` method with a line of documentation. Most checks run on small test problems of
every formulation that the solver solves, those of plugins too (see :meth:`harness.Problem.zoo`; ``harness.testing.problems``
has the usual data). The solver is driven once on each problem, and all checks share that drive. A suite has only the checks
that apply: no gap of a solver that claims none, no problem that ``skip`` refuses. Declare other exceptions rather than
editing a check:

* ``excused = {"test_scaling_the_points": "absolute tolerances, as the paper has them"}``
* ``cases = [...]`` replaces the test problems by a list of :class:`Case`

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
