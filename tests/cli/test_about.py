"""What is known of what is installed, as data."""

import json

from harness import about_dataset, about_solver
from harness.registry import shared_registry


def test_everything_installed_is_told_as_strict_json():
    registry = shared_registry()
    told = [about_solver(name) for name in registry.solver_names()] + [
        about_dataset(name) for name in registry.datasets
    ]
    assert None not in told
    json.dumps(told, allow_nan=False)


def test_a_solver_is_told_with_its_parameters_and_what_it_solves():
    told = about_solver("lasvm")
    epochs = told["parameters"][0]
    assert epochs["name"] == "epochs"
    assert (epochs["type"], epochs["range"], epochs["default"]) == ("int", "[1, inf)", "1")
    assert "c-svc" in [name for name, _ in told["solves"]]
    assert (told["plugin"], told["counted"]) == ("lasvm", True)
    assert told["version"].startswith("svm-harness ")
    assert about_solver("nobody") is None


def test_a_data_set_is_told_without_its_data():
    told = about_dataset("adult")
    assert told["files"] == ["adult/a9a.gz", "adult/a9a.t.gz"]
    assert "Platt" in told["description"]
    assert about_dataset("twonorm")["parameters"][0]["name"] == "n"
