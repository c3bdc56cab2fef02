"""What selection strings mean among the solvers, data sets and kernels that are registered."""

import pytest

from harness import UsageError, get_solver
from harness.registry.discovery import load_registry
from tests.registry.good_plugin import GOOD, labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alpha", ["alpha"]),
        ("alpha/alpha-two", ["alpha-two"]),
        ("alpha*", ["alpha", "alpha-two"]),
        ("alpha/*", ["alpha", "alpha-two"]),
        ("*-two", ["alpha-two", "beta-two"]),
        ("????", ["beta"]),
        ("alpha,alpha", ["alpha"]),
        ("alpha[epochs=2]", ["alpha[epochs=2]"]),
        ("alpha[epochs=[1,2],tau=[0.1,1]]", [
            "alpha[tau=0.1]", "alpha[tau=1.0]", "alpha[epochs=2,tau=0.1]", "alpha[epochs=2,tau=1.0]",
        ]),
        ("alpha[epochs=2,C=[1,10]]", ["alpha[epochs=2,C=1]", "alpha[epochs=2,C=10]"]),
        ("alpha*[epochs=3]", ["alpha[epochs=3]", "alpha-two[epochs=3]"]),
    ],
)  # fmt: skip
def test_a_selection_means_these_solvers(plugin, text: str, expected: list[str]) -> None:
    assert labels(plugin(GOOD, GOOD).select_solvers(text)) == expected


def test_a_plugin_without_a_solver_of_its_name_means_all_it_has(plugin) -> None:
    assert labels(plugin(GOOD.replace('"{plugin}"', '"one"')).select_solvers("alpha")) == ["one", "alpha-two"]


def test_problem_parameters_stand_beside_the_solvers(plugin) -> None:
    registry = plugin(GOOD)
    (chosen,) = registry.select_solvers("alpha[C=10,gamma=0.25,epochs=2,class_weight=balanced]")
    assert chosen.problem_values == {"C": 10, "gamma": 0.25, "class_weight": "balanced"}
    assert type(chosen.problem_values["C"]) is int
    assert chosen.solver.epochs == 2
    assert chosen.plugin == "alpha"
    (own,) = registry.select_solvers("alpha-two[gamma=0.25]")
    assert own.problem_values == {}, "a parameter of the solver's own wins over the problem's"
    assert own.solver.gamma == 0.25


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpa", "did you mean 'alpha'"),
        ("alpha/alpha-tow", "did you mean 'alpha/alpha-two'"),
        ("zzz", "called 'zzz'; `harness list solvers`"),
        ("alpha[epoch=2]", r"no parameter 'epoch' \(did you mean 'epochs'"),
        ("alpha[epochs=0]", "epochs='0' is not valid"),
        ("alpha[tau=x]", r"expected float in \(0, inf\)"),
        ("", "no solver is selected"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(plugin, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plugin(GOOD).select_solvers(text)


def test_get_solver_serves_oracles_by_name() -> None:
    assert get_solver("smo", tau="1e-5").tau == 1e-5
    assert get_solver("libsvm[tol=1e-5]") == get_solver("libsvm", tol=1e-5)
    assert get_solver("smo/smo-block[tau=1e-5]", dtype="float64").label == "smo-block[tau=1e-05,dtype=float64]"
    for text, values, message in (
        ("smoo", {}, "called 'smoo' "),
        ("smo[tau=[1e-3,1e-4]]", {}, "is a grid of 2, and one"),
        ("smo,qp", {}, "names 2 things"),
        ("", {}, "names 0 things"),
        ("smo", {"tua": 1}, "no parameter 'tua'"),
    ):
        with pytest.raises(UsageError, match=message):
            get_solver(text, **values)


def test_a_certificate_needs_the_plugin_of_its_oracle_however_it_is_named() -> None:
    registry = load_registry()
    for oracle in ("smo-block", "smo/smo-block", "smo-block[tau=1e-6]"):
        assert registry.owners("c-svc", "rbf", "checkerboard", ["accuracy"], oracle) == ("harness", "smo")
    assert registry.owners("c-svc", "rbf", "checkerboard", [], "") == ("harness",)


# -- data sets and kernels -----------------------------------------------------------------------------


def test_a_path_is_a_data_set(tmp_path, monkeypatch) -> None:
    (tmp_path / "my_data.csv").write_text("a,b,label\n1,2,0\n3,4,1\n5,6,1\n2,2,0\n")
    monkeypatch.chdir(tmp_path)
    registry = load_registry()
    for text in ("my_data.csv", "./my_data.csv", str(tmp_path / "my_data.csv")):
        (source,) = registry.select_datasets(f"{text}[scale=standard]")
        assert source.scale == "standard"
        assert source.load().x_train.shape[1] == 2
    with pytest.raises(UsageError, match=r"did you mean 'scale'"):
        registry.select_datasets("my_data.csv[scal=standard]")
