"""Plugins written to files, loaded, and forgotten after the test."""

import sys
import textwrap
from importlib.metadata import entry_points

import pytest

from harness.registry.discovery import Registry, load_registry


@pytest.fixture(autouse=True)
def _forget_modules():
    """Plugins of one test are unknown to the next."""
    yield
    for name in [known for known in sys.modules if known.partition(".")[0] in ("alpha", "beta", "gamma_plugin")]:
        del sys.modules[name]


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a plugin file and load it, the installed ones left out."""
    monkeypatch.setenv("HARNESS_DISABLE_PLUGINS", ",".join(found.name for found in entry_points(group="harness")))

    def load(*sources: str, names: tuple[str, ...] = ("alpha", "beta")) -> Registry:
        paths = []
        for name, source in zip(names, sources, strict=False):
            path = tmp_path / f"{name}.py"
            path.write_text(textwrap.dedent(source).replace("{plugin}", name))
            paths.append(path)
        return load_registry(paths)

    return load
