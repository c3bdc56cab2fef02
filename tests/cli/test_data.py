"""``harness data``: what it says of files, and how it ends; the fetching itself is tested beside its code."""

import gzip
import hashlib

import pytest

from harness.datasets import raw_files
from harness.datasets.raw_files import RawFile

NAMES = ("adult/a9a", "adult/a9a.t")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A folder with stand-ins for the two files of adult, and a registry that expects them."""
    folder = tmp_path / "mirror"
    (folder / "adult").mkdir(parents=True)
    known = dict(raw_files.registry())
    for name in NAMES:
        (folder / f"{name}.gz").write_bytes(gzip.compress(name.encode()))
        known[name] = RawFile(name, hashlib.sha256(name.encode()).hexdigest(), "free", ("http://127.0.0.1:9/a",))
    monkeypatch.setattr(raw_files, "registry", lambda: known)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HARNESS_DATA", raising=False)
    return folder


def test_files_are_missing_fetched_right_and_wrong(invoke, mirror, tmp_path):
    raw = tmp_path / "cache" / "raw"
    missing = invoke("data", "verify", "adult")
    assert (missing.exit_code, missing.stdout) == (1, "adult/a9a: missing\nadult/a9a.t: missing\n")
    failed = invoke("data", "fetch", "adult")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "harness: 'a9a.t' could not be fetched: http://127.0.0.1:9/a: " in failed.stderr
    fetched = invoke("data", "fetch", "adul*", "adult", "--from", str(mirror))
    assert (fetched.exit_code, fetched.stderr) == (0, "")
    assert fetched.stdout == "".join(f"{name}: {raw / name}\n" for name in NAMES)
    right = invoke("data", "verify", "adult")
    assert (right.exit_code, right.stdout) == (0, "".join(f"{name}: right, {raw / name}\n" for name in NAMES))
    assert "files there: 2 of 2; licence: free" in invoke("data", "list").stdout
    (raw / "adult" / "a9a").write_bytes(b"else")
    assert invoke("data", "verify", "adult").stdout.startswith(f"adult/a9a: wrong, {raw}/adult/a9a has SHA-256 ")
    wrong = invoke("data", "verify", "adult")
    assert (wrong.exit_code, wrong.stdout.count("\n")) == (1, 2)
    assert invoke("data", "verify").stdout.count(": missing\n") == len(raw_files.registry()) - 2
    assert invoke("data", "verify", "adult/a9a.t").stdout == f"adult/a9a.t: right, {raw}/adult/a9a.t\n"


def test_a_comparison_without_the_files_says_the_command_and_fetches_nothing(invoke, mirror, tmp_path):
    done = invoke("compare", "--plugins", "smo-block", "--datasets", "adult", "-q")
    assert done.exit_code == 2
    assert "needs the raw file 'adult/a9a', which is not under" in done.stderr
    assert "Fetch it: `harness data fetch adult`, or set HARNESS_DATA" in done.stderr
    assert not (tmp_path / "cache" / "raw").exists()


def test_a_study_may_name_an_address(mirror, tmp_path, invoke):
    (tmp_path / "study.toml").write_text(
        'plugins = "smo-block"\ndatasets = "http://127.0.0.1:9/a.csv[scale=standard],openml:x"\n'
    )
    done = invoke("compare", "--study", str(tmp_path / "study.toml"), "-q")
    assert done.exit_code == 2
    assert "'a.csv' could not be fetched: http://127.0.0.1:9/a.csv: " in done.stderr
    assert "Connection refused" in done.stderr
