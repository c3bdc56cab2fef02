"""Every check of the harness on everything that this distribution's own plugins register.

How a solver is configured for it, and what it is excused from, its class says (``conformance``).
"""

import pytest

from harness.registry.discovery import load_registry
from harness.run.environments import lacking
from harness.testing import checks_of
from harness.testing.plugin import suite_of_thing
from harness.testing.suite import zoo_of

FIRST_PARTY = ("active", "fw", "lasvm", "peers", "perceptron", "primal", "qp", "rgd", "robust", "sampling", "smo")
# cases that a library is known to get wrong, and that its solver refuses in one sentence
REFUSED = {"sklearnex": ["c-svc:three-points", "eps-svr:inside-the-tube", "eps-svr:constant-target"]}

_registry = load_registry()
checks = checks_of(*FIRST_PARTY)


@pytest.mark.parametrize("plugin", FIRST_PARTY)
def test_the_plugin_loads_with_solvers(plugin: str) -> None:
    assert plugin not in _registry.broken, _registry.broken[plugin].reason
    assert _registry.solvers.get(plugin)


@pytest.mark.parametrize("name", [name for name in REFUSED if not lacking(_registry.solvers["peers"][name].requires)])
def test_what_a_library_gets_wrong_is_refused_and_nothing_else(name: str) -> None:
    solver = _registry.solvers["peers"][name]()
    refused = {str(case): solver.refusal(case.problem()) for case in zoo_of(solver)}
    assert {case for case, reason in refused.items() if reason and "points of both" not in reason} == set(REFUSED[name])


HOSTS = [
    name
    for name, cls in _registry.formulations.items()
    if cls.has_dual_form() and cls.__module__.startswith("harness.")
]


@pytest.mark.parametrize("name", HOSTS)
def test_the_certificates_of_the_hosts_formulations_bound_one_optimum(name: str) -> None:
    suite = suite_of_thing("formulation", name, _registry.formulations[name])
    checks = ["certifies_optima", "dual_value_is_that_of_the_dual_form", "primal_bounds_every_dual"]
    further = "primal_of_is_the_primal_of_the_certificate"
    for check in [*checks, *[further] * (getattr(suite, f"test_{further}") is not None)]:
        assert [(result.status, result.message) for result in suite.results(f"test_{check}")] == [("passed", "")]
