"""Paths that need quotes, and files spoilt at random: read, or refused in a sentence."""

from __future__ import annotations

import random

import pytest

from harness import DataError, UsageError
from harness.datasets import FileSource, validate
from harness.registry import load_registry
from harness.selection import parse, quoted
from reports.robustness.campaign import spoilt, valid_files


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


# -- names in selections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a,b[1].csv", "]x[.csv", 'say "hi",.csv', " blank.csv", '"', "plain.csv"])
def test_a_path_with_brackets_or_commas_can_be_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("x,label\n1,0\n2,1\n3,0\n4,1\n")
    path = f"./{name}"
    (item,) = parse(f"{quoted(path)}[positive=1]")
    assert (item.name, item.values) == (path, {"positive": ["1"]})
    assert [each.name for each in parse(f"digits,{quoted(path)},lasvm[a=[1,2]]")] == ["digits", path, "lasvm"]
    registry = load_registry(only=())
    (whole,) = registry.select_datasets(path)
    (source,) = registry.select_datasets(f"{quoted(path)}[test_fraction=0]")
    assert (whole.path, source.path) == (path, path)
    assert registry.select_datasets(source.label) == [source]
    assert source.load().x_train.shape == (4, 1)


def test_a_path_with_brackets_that_is_not_there_says_how_it_is_written():
    for text in ("./my[1],data.csv", "./my[1.csv", "./my]1.csv"):
        with pytest.raises(UsageError, match="in double quotes"):
            parse(text, paths=True)
    with pytest.raises(UsageError, match="without its second"):
        parse('"./a.csv')


# -- mutants ---------------------------------------------------------------------------------------------


def test_a_mutant_of_each_format_is_read_or_refused_in_a_sentence(tmp_path):
    rng = random.Random(0)
    for path in valid_files(tmp_path):
        FileSource(path=str(path)).load()
        for number in range(12):
            mutant = tmp_path / f"mutant{number}{path.suffix}"
            mutant.write_bytes(spoilt(path.read_bytes(), rng))
            try:
                validate(FileSource(path=str(mutant)).load())
            except DataError as error:
                text = str(error)
                assert text.isprintable(), mutant
                assert len(text) < 1000, mutant
                assert mutant.name in text, text
                assert text.endswith((".", "?")), text
