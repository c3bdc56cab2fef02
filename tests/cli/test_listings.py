import json
import re

import pytest

KINDS = ["solvers", "plugins", "datasets", "kernels", "formulations", "metrics"]


@pytest.mark.parametrize("kind", KINDS)
def test_list_fits_a_hundred_columns(invoke, kind):
    result = invoke("list", kind)
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_list_as_json(invoke, kind):
    entries = json.loads(invoke("list", kind, "--format", "json").stdout)
    assert all(entry["name"] and "description" in entry for entry in entries)


def test_solvers_are_the_default(invoke, slow):
    result = invoke("list", "--plugin-path", slow)
    assert "quick" in result.stdout
    assert "Return the zero model at once." in result.stdout


def test_describe_solver(invoke, slow):
    text = invoke("describe", "quick", "--plugin-path", slow).stdout
    assert text.startswith("solver quick (plugin slow_plugin)")
    assert "solves: c-svc" in text
    assert text.splitlines()[-2:] == ["    shift: float in [0, 1], default 0", "        does nothing"]


def test_describe_plugin_and_solver_of_one_name(invoke):
    text = invoke("describe", "fw").stdout
    assert "solver fw (plugin fw)" in text
    assert "\nplugin fw" in text


def test_describe_qualified_name(invoke):
    assert invoke("describe", "fw/gilbert").stdout.startswith("solver gilbert")


def test_describe_data_set_with_its_defaults(invoke):
    text = invoke("describe", "digits").stdout
    assert "size: 1198 x 64, 599 test points" in text
    assert "defaults: kernel=rbf gamma=0.05 C=10" in text
    assert "raw files: none needed" in text


def test_describe_data_set_whose_files_are_missing(invoke, monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    text = invoke("describe", "adult").stdout
    assert "a9a.gz" in text
    assert "set HARNESS_DATA" in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rbf", "gamma"),
        ("l2-svc", "chi"),
        ("c-svc", "class_weight"),
        ("f1", "Harmonic mean"),
        ("harness", "datasets: digits"),
    ],
)
def test_describe_other_kinds(invoke, name, said):
    result = invoke("describe", name)
    assert result.exit_code == 0, result.stderr
    assert said in result.stdout


def test_help_names_every_section(invoke):
    text = invoke("compare", "--help").stdout
    for section in ("What to compare", "The problem", "Limits of a run", "How to measure", "The result"):
        assert f"{section}:" in text
    assert "\n  harness compare --plugins lasvm,fw\n" in text


def test_describe_shows_names_without_markup(invoke):
    text = invoke("describe", "lasvm").stdout
    assert "LASVMStream" in text
    assert ":class:" not in text


@pytest.mark.parametrize("width", [60, 100])
def test_no_description_breaks_a_word_shows_markup_or_leaves_the_width(width, monkeypatch):
    from harness.cli import catalogue, describe
    from harness.parameters import parameters_of
    from harness.registry import load_registry

    monkeypatch.setattr(describe, "_files", lambda *_: {})
    monkeypatch.setattr(
        describe, "_dataset", lambda entry, _: [("description", entry.summary)]
    )  # no data are read for it
    registry = load_registry()
    entries = [entry for kind in catalogue.KINDS for entry in catalogue.entries(registry, kind)]
    for entry in entries:
        text = describe.described(entry, registry, width)
        assert "`" not in text, entry.name
        assert re.search(r":(mod|class|meth|func|data|py):", text) is None, entry.name
        whole = " ".join(catalogue.docstring(entry.subject).split())
        assert set(whole.split()) <= set(text.split()) or entry.kind in ("plugin", "command"), entry.name
        if entry.kind == "solver":
            told = " ".join(catalogue.unmarked(known.doc) for known in parameters_of(entry.subject))
            assert set(told.split()) <= set(text.split()), entry.name
            parameters = text[text.index("  parameters") if "  parameters" in text else len(text) :]
            assert max(map(len, parameters.splitlines()), default=0) <= width, entry.name


def test_roles_and_code_marks_are_left_out():
    from harness.cli.catalogue import unmarked

    text = "see :mod:`harness.path`, :py:class:`~x.Y`, ``code`` and `name`"
    assert unmarked(text) == "see harness.path, ~x.Y, code and name"


def test_names_with_hyphens_are_not_broken_in_a_list(invoke, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = invoke("list", "solvers").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.rstrip().endswith("-") for line in lines)
    assert any("polytope-distance" in line for line in lines)
