"""From a study to its runs: formulations, precedence of parameters, grids, order, keys."""

import dataclasses

import numpy as np
import pytest

from harness import Dataset, content_sha256
from harness.registry.discovery import load_registry
from harness.run.channel import frame, unframe
from harness.run.messages import Run, ToProcess, data_key
from harness.run.plan import Study, plan
from harness.support.parameters import values_of


@pytest.fixture(scope="module")
def registry():
    return load_registry()


def data(label="banana-like", **defaults):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), np.repeat([-1.0, 1.0], 10)
    defaults = defaults or {"kernel": "rbf", "gamma": 0.5, "C": 7.0}
    return Dataset(label, x, y, x[:5], y[:5], content_sha256(x, y), defaults=defaults)


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


def test_the_plugins_of_solvers_that_a_parameter_names_are_part_of_a_run(registry):
    found = specs(registry, "lasvm,lasvm[finisher=qp],smo")
    assert [spec.helpers for spec in found] == [("smo",), ("qp",), ()]


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


def test_spec_survives_the_wire_and_its_key_follows_every_dependency(registry):
    (spec,) = specs(registry, "smo")
    sent = unframe(frame(Run(spec)), ToProcess)
    assert sent.spec == spec
    key = spec.key({"data": "a", "plugin": "1"})
    assert key == sent.spec.key({"plugin": "1", "data": "a"})
    assert key != spec.key({"data": "b", "plugin": "1"})
    assert key != spec.key({"data": "a", "plugin": "2"})
    (other,) = specs(registry, "smo[C=6]")
    assert key != other.key({"data": "a", "plugin": "1"})


def test_a_classification_formulation_on_regression_data_is_skipped_in_words(registry):
    (source,) = registry.select_datasets("diabetes")
    loaded = {data_key(source.name, values_of(source)): dataclasses.replace(data("diabetes"), task="regression")}
    for selection, options in (("lasvm", {}), ("smo", {"formulations": ["c-svc"]})):
        (spec,) = plan(Study(registry.select_solvers(selection), [source], **options), registry, loaded)
        assert spec.skip_reason.endswith("--formulation eps-svr or tube-svr")


# -- parts of a plan -----------------------------------------------------------------------------------


def block(spec):
    return spec.data_key, spec.kernel_parameters["gamma"], spec.problem_parameters["C"], spec.seed, spec.repetition


@pytest.mark.parametrize("parts", [2, 3, 4, 7, 24, 30])
def test_parts_are_disjoint_cover_all_runs_and_keep_blocks_whole(registry, parts):
    grid = {
        "problem_values": {"C": [1.0, 2.0]},
        "kernel_values": {"gamma": [0.1, 0.2]},
        "seeds": [3, 5, 8],
        "repeat": 2,
    }
    whole = specs(registry, "qp,lasvm,fw", **grid)
    found = [specs(registry, "qp,lasvm,fw", part=(i, parts), **grid) for i in range(1, parts + 1)]
    assert sorted((spec for part in found for spec in part), key=whole.index) == whole
    for part in found:
        assert [spec for spec in whole if spec in part] == part, "in the order of the plan"
    blocks = [{block(spec) for spec in part} for part in found]
    assert sum(map(len, blocks)) == len(set().union(*blocks)) == 24
    sizes = list(map(len, blocks))
    assert max(sizes) - min(sizes) <= 1
    assert len({size for part, size in zip(found, sizes, strict=True) if size and len(part) / size != 4}) == 0


def test_no_part_has_all_blocks_of_one_value_and_rows_without_a_problem_go_with_the_others(registry):
    grid = {"problem_values": {"C": [1.0, 2.0]}, "seeds": range(4)}
    found = specs(registry, "smo", part=(1, 2), **grid)
    assert {spec.problem_parameters["C"] for spec in found} == {1.0, 2.0}
    # fw solves no c-svc: a row that needs no machine, and no block of its own
    parts = [specs(registry, "smo,fw", formulations=["c-svc"], seeds=range(4), part=(i, 2)) for i in (1, 2)]
    assert [by_solver(part) for part in parts] == [[("smo", "c-svc"), ("fw", "c-svc")] * 2] * 2


def test_a_part_changes_no_key_and_is_the_same_study(registry):
    whole, part = specs(registry, "smo", seeds=range(4)), specs(registry, "smo", seeds=range(4), part=(2, 4))
    assert [spec.key({}) for spec in part] == [whole[1].key({})]
    assert Study([], [], part=(2, 4)).sha256 == Study([], []).sha256
