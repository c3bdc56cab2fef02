"""From a study to its runs: formulations, precedence of parameters, grids, order, keys."""

import dataclasses
import re

import numpy as np
import pytest

from harness import Dataset, UsageError, content_sha256
from harness.parameters import values_of
from harness.registry import load_registry
from harness.run.messages import Run, packed
from harness.run.plan import Study, data_key, plan
from tests.adversaries.test_messages import read_all


@pytest.fixture(scope="module")
def registry():
    return load_registry()


def data(label="banana-like", **defaults):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), np.repeat([-1.0, 1.0], 10)
    return Dataset(
        label, x, y, x[:5], y[:5], content_sha256(x, y), defaults=defaults or {"kernel": "rbf", "gamma": 0.5, "C": 7.0}
    )


def specs(registry, selection, **options):
    sources = registry.select_datasets("banana-like")
    study = Study(registry.select_solvers(selection), sources, **options)
    return plan(study, registry, {data_key(source.name, values_of(source)): data() for source in sources})


def by_solver(found):
    return [(spec.solver, spec.formulation) for spec in found]


def test_a_solver_of_everything_joins_what_the_others_solve(registry):
    found = by_solver(specs(registry, "qp,lasvm,fw"))
    assert found == [("qp", "c-svc"), ("qp", "l2-svc"), ("lasvm", "c-svc"), ("fw", "l2-svc")]
    assert by_solver(specs(registry, "qp")) == [("qp", "c-svc")]


def test_a_formulation_asked_for_skips_solvers_that_do_not_solve_it(registry):
    found = specs(registry, "lasvm,fw", formulations=["l2-svc"])
    assert [spec.skip_reason != "" for spec in found] == [True, False]
    assert "lasvm solves c-svc" in found[0].skip_reason


def test_brackets_win_over_options_and_options_over_the_data(registry):
    def price(selection, **options):
        return specs(registry, selection, **options)[0].problem_parameters["C"]

    assert price("smo") == 7.0
    assert price("smo", problem_values={"C": [3.0]}) == 3.0
    assert price("smo[C=2]", problem_values={"C": [3.0]}) == 2.0


def test_lists_make_a_grid(registry):
    found = specs(registry, "smo", problem_values={"C": [1.0, 2.0]}, kernel_values={"gamma": [0.1, 0.2, 0.3]})
    assert {(s.problem_parameters["C"], s.kernel_parameters["gamma"]) for s in found} == {
        (c, g) for c in (1.0, 2.0) for g in (0.1, 0.2, 0.3)
    }


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("rbf[gama=1]", "kernel 'rbf' has no parameter 'gama' (did you mean 'gamma'?)"),
        ("rbf[gamma=[1,-2]]", "gamma"),
        ("linear,rfb", "no kernel called 'rfb' (did you mean 'rbf'?)"),
        ("linear[gamma=scale]", "kernel 'linear' has no parameter 'gamma'"),
        ("", "no kernel is selected"),
    ],
)
def test_a_bad_kernel_is_refused_before_data_are_read(registry, kernel, told):
    with pytest.raises(UsageError, match=re.escape(told)):
        registry.select_kernels(kernel)


def test_repetitions_are_outermost_and_solvers_innermost(registry):
    found = specs(registry, "smo,lasvm", repeat=2, seeds=[0, 1])
    assert [(s.repetition, s.seed, s.solver) for s in found[:4]] == [
        (0, 0, "smo"), (0, 0, "lasvm"), (0, 1, "smo"), (0, 1, "lasvm"),
    ]  # fmt: skip


def test_a_bad_parameter_value_names_value_and_range(registry):
    with pytest.raises(UsageError, match=r"C=-1.*expected float in \(0, inf\)"):
        specs(registry, "smo[C=-1]")


def test_spec_survives_the_wire_and_its_key_follows_every_dependency(registry):
    (spec,) = specs(registry, "smo")
    (sent,) = read_all(packed(Run(spec)), b"")
    assert sent.spec == spec
    key = spec.key({"data": "a", "plugin": "1"})
    assert key == sent.spec.key({"plugin": "1", "data": "a"})
    assert key != spec.key({"data": "b", "plugin": "1"})
    assert key != spec.key({"data": "a", "plugin": "2"})
    (other,) = specs(registry, "smo[C=6]")
    assert key != other.key({"data": "a", "plugin": "1"})


# -- how many runs ---------------------------------------------------------------------------------------------------


def test_more_than_a_million_runs_are_counted_and_refused_at_once(registry):
    sources = registry.select_datasets("banana-like")
    loaded = {data_key(source.name, values_of(source)): data() for source in sources}

    def refusal(**options):
        study = Study(registry.select_solvers("smo,lasvm"), sources, **options)
        with pytest.raises(UsageError) as caught:
            plan(study, registry, loaded)
        return str(caught.value)

    prices = [float(price) for price in range(1, 301)]
    assert refusal(problem_values={"C": prices}, seeds=range(10_000)) == (
        "2 solvers x 300 values of C x 10,000 seeds = 6,000,000 runs; above 1,000,000 they are only carried out with --yes."
    )


def regression_specs(registry, selection, **options):
    sources = registry.select_datasets("diabetes")
    study = Study(registry.select_solvers(selection), sources, **options)
    numbers = dataclasses.replace(data("diabetes"), task="regression")
    return plan(study, registry, {data_key(source.name, values_of(source)): numbers for source in sources})


def test_a_classification_formulation_on_regression_data_is_skipped_in_words(registry):
    (alone,) = regression_specs(registry, "lasvm")
    (asked,) = regression_specs(registry, "smo", formulations=["c-svc"])
    for spec in (alone, asked):
        assert spec.skip_reason == (
            "c-svc needs classification data; diabetes is for regression: take other data, or --formulation eps-svr or tube-svr"
        )
