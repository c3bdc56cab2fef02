"""Every test reads raw files where they are and parses into a cache of its own session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE_THE_CHECKOUT = Path(__file__).parents[3] / "shared" / "data" / "raw"


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE", str(session_cache))
    return session_cache


@pytest.fixture(scope="session")
def raw_folder() -> Path:
    folder = Path(os.environ.get("HARNESS_DATA") or _BESIDE_THE_CHECKOUT)
    if not folder.is_dir():
        pytest.skip(f"the raw data files are not at {folder}; set HARNESS_DATA to test the real sets")
    return folder


@pytest.fixture
def raw_data(raw_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_DATA", str(raw_folder))
    return raw_folder
