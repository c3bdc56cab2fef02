"""Importing the harness, and discovering plugins, is quick: heavy libraries wait until they are used."""

import subprocess
import sys

import pytest

import harness

HEAVY = ["numba", "cvxpy", "clarabel", "sklearn", "pandas", "matplotlib", "scipy", "pyarrow", "pydantic", "psutil"]


def loaded_after(code: str) -> set[str]:
    listing = f"{code}\nimport sys; print('\\n'.join(n for n in {HEAVY!r} + ['numpy'] if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_registry_loads_nothing_heavy() -> None:
    assert loaded_after("import harness.registry.discovery") == set()
    assert loaded_after("import harness.datasets; harness.datasets.builtin_sources()") == {"numpy"}


def test_discovering_the_installed_plugins_loads_no_solver_library() -> None:
    found = loaded_after("from harness.registry.discovery import load_registry; load_registry()")
    assert not found & {"numba", "cvxpy", "clarabel", "matplotlib"}


def test_every_public_name_loads_and_is_listed() -> None:
    for name in harness.__all__:
        assert getattr(harness, name) is not None
    assert set(harness.__all__) <= set(dir(harness))
    with pytest.raises(AttributeError, match="has no attribute 'Solvr'"):
        _ = harness.Solvr
