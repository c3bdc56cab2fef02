"""Files spoilt at random: read, or refused in a sentence."""

from __future__ import annotations

import random

import pytest

from harness import DataError
from harness.datasets import FileSource, validate
from reports.robustness.campaign import spoilt, valid_files


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


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
