"""Cases of a suite that others made, as studies: all are there or told, and a study measures what its cases say.

The files in ``suites/`` are made up in the schema of scikit-learn_bench (https://github.com/IntelPython/scikit-learn_bench,
configs/BENCH-CONFIG-SPEC.md, Apache-2.0): one as configs/weekly/svm.json with what it includes, one as before 2024.
"""

import contextlib
import itertools
import json
import re
import tomllib
from pathlib import Path

import pytest

from harness.cli import sklbench, study_text, suite
from harness.errors import UsageError

SUITES = Path(__file__).parent / "suites"
WEEKLY = SUITES / "weekly" / "svm.json"


def imported(invoke, folder, source=WEEKLY, *extra):
    result = invoke("import-suite", str(source), "--output", str(folder), *extra)
    assert result.exit_code == 0, result.stderr
    return result, [tomllib.loads(path.read_text()) for path in sorted(folder.iterdir())] if folder.exists() else []


def test_cases_are_what_the_suite_makes_of_its_file():
    found = sklbench.cases(WEEKLY)
    assert len(found) == 4 * (3 + 4) + 4 * 2 + 4 * 2  # implementations x data sets of svc, nusvr and svr
    first = found[0]
    assert first["algorithm"]["library"] == "sklearn"
    assert first["algorithm"]["estimator_params"] == {
        "kernel": "linear", "gamma": "scale", "tol": 1e-3, "cache_size": 512, "max_iter": 10000, "C": 10.0,
    }  # fmt: skip
    assert first["data"]["preprocessing_kwargs"] == {"normalize": "standard"}
    nusvr = [case for case in found if case["algorithm"]["estimator"] == "NuSVR"]
    assert all("cache_size" not in case["algorithm"]["estimator_params"] for case in nusvr)  # [REMOVE]


def test_a_study_has_its_cases_and_the_others_are_told(invoke, tmp_path):
    result, (study,) = imported(invoke, tmp_path / "studies")
    assert study == {
        "plugins": ["libsvm", "sklearnex"], "datasets": ["adult"], "formulation": "c-svc", "C": 10,
        "kernel": "linear,poly,rbf", "gamma": "scale", "degree": 3, "coef0": 0, "cache_mb": 512, "repeat": 3,
    }  # fmt: skip
    assert "the device gpu: the solvers here run on the CPU" in result.stderr
    assert "the library cuml: it runs on a GPU" in result.stderr
    assert "the estimator NuSVR: there is no formulation of regression with nu" in result.stderr
    assert "the data set fried is not here; name a file of it: --data fried=FILE" in result.stderr
    assert "data of make_regression, which are not made here" in result.stderr
    assert "the kernel sigmoid: it is not positive definite" in result.stderr
    assert "estimator_params:max_iter 10000 is not taken over" in result.stderr
    assert "a9a is adult as it is here: its own split and scaling" in result.stderr
    left = sum(int(count) for count in re.findall(r"^left out, (\d+) case", result.stderr, flags=re.MULTILINE))
    assert f"44 cases: {44 - left} in 1 study, {left} left out" in result.stderr
    assert result.stdout == f"harness compare --study {tmp_path}/studies/01-c-svc-adult.toml\n"


def test_a_file_of_the_users_stands_for_a_set_and_gammas_stay_apart(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skin.csv").write_text("a,b,label\n1,2,1\n3,4,-1\n")
    result, studies = imported(invoke, tmp_path / "studies", WEEKLY, "--data", "skin_segmentation=./skin.csv")
    assert [study["datasets"] for study in studies] == [["adult"], [f"{tmp_path}/skin.csv"]]
    assert studies[1]["gamma"] == 0.5
    assert "gamma 'auto', 1 / d, depends on the data" in result.stderr
    assert 'data:preprocessing_kwargs:normalize "standard" is not taken over' in result.stderr
    assert (tmp_path / "studies" / "02-c-svc-skin.csv.toml").exists()


def test_an_older_file(invoke, tmp_path):
    result, studies = imported(invoke, tmp_path / "studies", SUITES / "before_2024.json")
    assert [(study["formulation"], study["datasets"], study["kernel"]) for study in studies] == [
        ("nu-svc", ["adult"], "poly"), ("nu-svc", ["adult"], "poly"), ("c-svc", ["mnist"], "rbf")
    ]  # fmt: skip
    assert [study.get("nu") for study in studies] == [0.25, 0.5, None]
    assert "the estimator kmeans: it is no support vector machine" in result.stderr
    assert "mnist is mnist as it is here: the digit 8 against the others" in result.stderr


def _told(study, plugin, dataset, kernel):
    return plugin, dataset, study["C"], kernel, study["gamma"] if kernel == "rbf" else ""


def test_grids_stand_for_the_same_cases():
    """Whatever cases there are: the grids' products are exactly their cases."""
    names = ("plugins", "datasets", "C", "kernel", "gamma")
    choices = [("libsvm", "sklearnex"), ("adult", "mnist"), (1.0, 10.0), ("linear", "rbf"), ("scale", 0.5)]
    every = [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*choices)]
    for step in (1, 2, 3, 5, 7, 11):
        cases = [{**case, "degree": 3, "coef0": 0.0} for case in every[::step]]
        meant = {_told(case, case["plugins"], case["datasets"], case["kernel"]) for case in cases}
        made = {
            _told(grid, plugin, dataset, kernel)
            for grid in suite.grids(cases)
            for plugin in grid["plugins"]
            for dataset in grid["datasets"]
            for kernel in grid["kernel"].split(",")
        }
        assert made == meant


def test_a_study_that_was_imported_is_carried_out(invoke, tmp_path, monkeypatch):
    config = {
        "PARAMETERS_SETS": {
            "all": {"algorithm": {"library": "sklearn", "estimator": "SVC", "estimator_params": {"C": [1, 10]}}}
        },
        "TEMPLATES": {"svc": {"SETS": ["all"], "data": {"dataset": "mine"}, "bench": {"time_limit": 60}}},
    }
    (tmp_path / "suite.json").write_text(json.dumps(config))
    _, studies = imported(
        invoke, tmp_path / "studies", tmp_path / "suite.json", "--data", "mine=twonorm[n=60,n_test=20]"
    )
    assert [study["time_limit"] for study in studies] == ["60", "60"]
    done = invoke("compare", "--study", f"{tmp_path}/studies/02-c-svc-twonorm.toml", "--format", "json")
    (record,) = json.loads(done.stdout)
    assert (record["solver"], record["status"], record["problem_parameters"]["C"]) == ("libsvm", "ok", 10.0)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is no JSON"),
        ("[]", "it is no mapping"),
        ("{}", "it has neither TEMPLATES nor cases"),
        ('{"TEMPLATES": {"a": 3}}', "the template 'a' is 3; it must be a mapping"),
        (
            '{"TEMPLATES": {"a": {"SETS": ["svcs"]}}, "PARAMETERS_SETS": {"svc": {}}}',
            "(did you mean 'svc'?)",
        ),
        ('{"INCLUDE": ["../common/x.json"], "TEMPLATES": {}}', "includes ../common/x.json, which is not at"),
        ('{"cases": 3}', "cases is 3; it must be a list of mappings"),
        (json.dumps({"TEMPLATES": {"a": {f"k{i}": list(range(10)) for i in range(9)}}}), "at most 10,000 are taken"),
    ],
)
def test_what_is_no_suite_is_a_sentence(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "given.json").write_text(content)
    with pytest.raises(UsageError) as caught:
        sklbench.cases(tmp_path / "given.json")
    assert sentence in str(caught.value)


PLACES = ["PARAMETERS_SETS", "INCLUDE", "SETS", "algorithm", "estimator_params", "data", "dataset", "C", "kernel"]
VALUES = [None, 3, "text", [], [1, "x"], {"a": [1, 2]}, {"": None}, [[["x"]]], True]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_any_value_in_any_place_is_taken_or_refused_with_a_sentence(tmp_path, place, value):
    config = json.loads(WEEKLY.read_text())
    config["INCLUDE"] = [str(SUITES / "common" / "svm.json")]

    def planted(given):
        if isinstance(given, dict):
            return {key: value if key == place else planted(each) for key, each in given.items()}
        return [planted(each) for each in given] if isinstance(given, list) else given

    (tmp_path / "given.json").write_text(json.dumps(planted(config)))
    told = suite.Told()
    with contextlib.suppress(UsageError):
        found = sklbench.cases(tmp_path / "given.json")
        studies = [suite.study_of(case, {"a9a": "adult", "text": "x", "3": "y"}, told) for case in found]
        assert len([study for study in studies if study is None]) == sum(told.left_out.values())
        grids = suite.grids([study for study in studies if study is not None])
        assert [tomllib.loads(study_text.write(grid)) for grid in grids] == grids


def test_nothing_is_written_over(invoke, tmp_path):
    imported(invoke, tmp_path / "studies")
    again = invoke("import-suite", str(WEEKLY), "--output", str(tmp_path / "studies"))
    assert again.exit_code == 2
    assert "01-c-svc-adult.toml is there already; name another folder" in again.stderr + str(again.exception)
    wrong = invoke("import-suite", str(WEEKLY), "--output", str(tmp_path / "other"), "--data", "a9=x.csv")
    assert "has the data set 'a9' (did you mean 'a9a'?)" in wrong.stderr + str(wrong.exception)
    assert not (tmp_path / "other").exists()
