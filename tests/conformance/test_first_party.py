"""Every solver of this distribution's own plugins runs the suite that strangers run.

The solvers are found through the registry. Each is configured once below; one that is registered but not
listed here fails the first test, so that no solver goes without.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from harness.registry import load_registry
from harness.run.environments import lacking
from harness.testing import SolverConformance
from harness.testing.suite import zoo_of

FIRST_PARTY = ("active", "fw", "lasvm", "peers", "perceptron", "qp", "rgd", "robust", "sampling", "smo")
NAMED_OTHERWISE = (
    "active",
    "peers",
    "perceptron",
    "rgd",
    "robust",
    "sampling",
)  # no solver of theirs carries the plugin's name


@dataclass(frozen=True)
class Setting:
    """How a solver is configured, the gap it is told to reach and claims, and the checks that do not apply to it."""

    values: dict[str, Any] = field(default_factory=dict)
    gap: float | None = 1e-3
    exclude: dict[str, str] = field(default_factory=dict)


HULL = Setting(gap=1e-4)
SLOW = Setting(gap=2e-2)  # plain Frank-Wolfe: O(1/epsilon^2) iterations
ONLINE = Setting(gap=None)
FILTER = {
    "test_every_kernel_value_is_counted": "its detector looks at the points",
    "test_ends_by_itself": "where what it keeps cannot be separated its oracle says so, and is not done",
}
TREE = {
    "test_ends_by_itself": "with a delta of 0 a pool may hold outliers alone: no node separates then, and it says so"
}
SMOTE = {"test_every_kernel_value_is_counted": "its search for neighbours looks at the points"}
ACTIVE = Setting({"first": 2}, gap=None)  # what is certified holds for the points bought alone
SETTINGS = {
    "active-small-pool": ACTIVE,
    "active-full-search": ACTIVE,
    "random-sampling": ACTIVE,
    "retrain-active": ACTIVE,
    "qp": Setting(gap=1e-5),
    "smo": Setting(),
    "smo-block": Setting(),
    "lasvm": Setting({"epochs": 5, "tau": 1e-5}),
    "lasvm-g": Setting({"epochs": 5, "tau": 1e-5}),
    "lasvm-nc": ONLINE,
    "lasvm-i": ONLINE,
    "full-svm": Setting({"epochs": 5, "tau": 1e-5}),
    "kernel-perceptron": Setting({"epochs": 3}, gap=None),
    "averaged-perceptron": Setting({"epochs": 3}, gap=None),
    "budget-perceptron": Setting({"epochs": 3, "N": 10, "beta": 0.5}, gap=None),
    "batch": Setting({"oracle": "smo-block"}),
    "undersampling": Setting({"ratio": 1.0, "oracle": "smo-block"}, gap=None),
    "smote": Setting({"ratio": 0.5, "oracle": "smo-block"}, gap=None, exclude=SMOTE),
    "different-costs": Setting({"oracle": "smo-block"}, gap=None),
    "fw": HULL,
    "fw-pairwise": HULL,
    "mdm": HULL,
    "nearest-point": HULL,
    "fw-fully-corrective": HULL,
    "fw-newton": HULL,
    "cvm": HULL,
    "gilbert": SLOW,
    "optmargin": Setting({"r": 6}, gap=1e-4),
    "optsoftmargin": Setting({"r": 12}, gap=1e-4),
    "randsvm": Setting({"r": 12}),
    "randsvm-1": Setting({"k": 20, "c": 1.0}, gap=None),  # with k support vectors it may end anywhere
    "ramp-cccp": Setting(),
    "filtered": Setting(gap=None, exclude=FILTER),
    # without a share to give up a tree is one descent, Gilbert's, and some of the hulls are close to each other
    "rgd-tree": Setting({"height": 50}, gap=None, exclude=TREE),
    "rgd-boosted": Setting({"height": 20}, gap=None, exclude=TREE),
    "outlier-exact": Setting(gap=1e-6),
    "outlier-path": Setting(gap=1e-6),
    "ramp-exact": Setting(gap=1e-6),
    "libsvm": Setting(),
    "libsvm-svr": Setting(),
    "libsvm-official": Setting(),
    "liblinear": Setting(gap=None),
    "sklearnex": Setting(),
    "thundersvm": Setting(),
    "snapml": Setting(gap=None),
}

_registry = load_registry()
_classes = {
    name: cls
    for plugin in FIRST_PARTY
    for name, cls in _registry.solvers.get(plugin, {}).items()
    if not lacking(cls.requires)  # the suite runs in this process
}


# further ways of a solver, each with a suite of its own
VARIANTS = {
    "lasvm": [{"epochs": 5, "tau": 1e-5, "selection": chosen} for chosen in ("gradient", "active", "autoactive")],
    "outlier-path": [{"path": "s"}],
    "undersampling": [{"oracle": "smo-block"}],  # to the ratio it finds
}


# cases that a library is known to get wrong, and that its solver refuses in one sentence
REFUSED = {"sklearnex": ["c-svc:three-points", "eps-svr:inside-the-tube", "eps-svr:constant-target"]}


def _suite(name: str, variant: dict[str, Any] | None = None) -> type[SolverConformance]:
    setting = SETTINGS[name] if variant is None else replace(SETTINGS[name], values=variant)
    solver = _classes[name](**setting.values)
    if setting.gap is not None:
        solver = solver.with_target_gap(setting.gap)
    own = {"solver": solver, "gap": setting.gap, "exclude": setting.exclude}
    title = "".join(part.title() for part in name.split("-"))
    title += "" if variant is None else str(list(variant.values())[-1]).title()
    return type(f"Test{title}", (SolverConformance,), {**own, "__module__": __name__})


for _name in _classes:
    if _name in SETTINGS:
        for _variant in (None, *VARIANTS.get(_name, ())):
            _class = _suite(_name, _variant)
            globals()[_class.__name__] = _class


@pytest.mark.parametrize("plugin", FIRST_PARTY)
def test_the_plugin_loads_and_every_solver_is_configured_here(plugin: str) -> None:
    assert plugin not in _registry.broken, _registry.broken[plugin].reason
    solvers = _registry.solvers.get(plugin)
    if not solvers:
        pytest.skip(f"plugin '{plugin}' registers no solver yet")
    assert set(solvers) <= set(SETTINGS)
    assert next(iter(solvers)) == plugin or plugin in NAMED_OTHERWISE, "the first solver carries the plugin's name"


@pytest.mark.parametrize("name", [name for name in REFUSED if name in _classes])
def test_what_a_library_gets_wrong_is_refused_and_nothing_else(name: str) -> None:
    solver = _classes[name]()
    refused = {str(case): solver.skip(case.problem()) for case in zoo_of(solver)}
    assert {case for case, reason in refused.items() if reason and "points of both" not in reason} == set(REFUSED[name])
