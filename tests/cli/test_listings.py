import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import SLOW

KINDS = ["solvers", "plugins", "datasets", "kernels", "formulations", "metrics", "formats", "observers", "commands"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_listing_fits_and_leaves_room_for_descriptions(invoke, monkeypatch, kind):
    monkeypatch.setenv("COLUMNS", "80")
    result = invoke("list", kind)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines), default=0) <= 80
    assert "\x1b" not in result.stdout
    indents = [len(line) - len(line.lstrip()) for line in lines if line]
    assert max(indents, default=0) <= 26, "two thirds are left for descriptions"
    entries = json.loads(invoke("list", kind, "--format", "json").stdout)
    assert [line.split()[0] for line in lines if re.match(r"  \S", line)] == [entry["name"] for entry in entries]
    plugins = list(dict.fromkeys(entry["plugin"] for entry in entries)) if kind != "plugins" else []
    assert [line for line in lines if re.match(r"\S", line)] == plugins, "a heading each"


def test_a_plugin_that_cannot_be_loaded_is_named_beside_every_list_but_its_own(invoke, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise ValueError('no')\n")
    told = {kind: invoke("list", kind, "--plugin-path", str(broken)) for kind in ("solvers", "plugins")}
    assert "broken" in told["solvers"].stderr
    assert told["plugins"].stderr == ""
    assert "broken" in told["plugins"].stdout


def test_describe_solver(invoke, slow):
    text = invoke("describe", "quick", "--plugin-path", slow).stdout
    assert text.startswith("solver quick (plugin slow_plugin)")
    assert "solves: c-svc" in text
    assert text.splitlines()[-2:] == ["    shift: float in [0, 1], default 0", "        does nothing"]


def test_describe_shows_the_programs_that_a_solver_runs(invoke, tmp_path):
    text = Path(SLOW).read_text()
    (tmp_path / "runs.py").write_text(
        text.replace('    name = "quick"', '    name = "quick"\n    depends_on = ("svm-train",)')
    )
    assert "depends on: svm-train" in invoke("describe", "quick", "--plugin-path", str(tmp_path / "runs.py")).stdout


def test_describe_plugin_and_solver_of_one_name(invoke):
    text = invoke("describe", "fw").stdout
    assert "solver fw (plugin fw)" in text
    assert "\nplugin fw" in text


def test_describe_data_set_with_its_defaults(invoke):
    text = invoke("describe", "digits").stdout
    assert "size: 1198 x 64, 599 test points" in text
    assert "defaults: kernel=rbf gamma=0.05 C=10" in text
    assert "raw files: none needed" in text


@pytest.mark.parametrize("width", [60, 100])
def test_no_description_shows_markup_or_leaves_the_width(width, monkeypatch):
    from harness.cli import catalogue, describe
    from harness.registry.discovery import load_registry

    monkeypatch.setattr(
        describe, "_dataset", lambda entry, _: [("description", entry.summary)]
    )  # no data are read for it
    registry = load_registry()
    entries = [entry for kind in KINDS for entry in catalogue.entries(registry, kind)]
    for entry in entries:
        text = describe.described(entry, registry, width)
        assert "`" not in text, entry.name
        assert re.search(r":(mod|class|meth|func|data|py):", text) is None, entry.name
        if entry.kind == "solver":
            parameters = text[text.index("  parameters") if "  parameters" in text else len(text) :]
            assert max(map(len, parameters.splitlines()), default=0) <= width, entry.name
