"""``harness results export`` and ``harness verify``: what they print, and their exit codes."""

import json

import pytest

from harness.run.store import Store
from harness.support.files import sha256_of
from tests.report.fabricated import failed, record
from tests.run.test_bundle import changed_model, members, packed


@pytest.fixture
def kept(tmp_path, monkeypatch, invoke):
    """A bundle of a run whose model was kept, and of one without a model."""
    monkeypatch.chdir(tmp_path)
    done = invoke("compare", "--plugins", "smo", "--datasets", "twonorm[n=60]", "--keep-models")
    assert done.exit_code == 0, done.stderr
    assert "note: the new models take 0.00 MB of the store" in " ".join(done.stderr.split())
    with Store(tmp_path / "default.sqlite") as store:
        store.append(failed("qp", "timeout", "late"))
    done = invoke("results", "export", "--bundle", "study.zip")
    assert done.exit_code == 0
    assert done.stderr.startswith("written to study.zip: 2 rows, 1 models, 0.0 MB")
    return tmp_path / "study.zip"


def test_all_that_could_be_verified_agree(kept, invoke):
    done = invoke("verify", str(kept))
    assert (done.exit_code, done.stderr) == (0, "")
    first, second, last = sorted(done.stdout.splitlines(), key=lambda line: "rows:" in line)
    assert sorted([first, second])[1].startswith("twonorm[n=60], smo, c-svc C=1, rbf gamma=0.05, seed 0: agrees (1")
    assert (
        "qp, c-svc C=10, rbf gamma=0.05, seed 0: not verifiable: the run has no certified model (status timeout)"
        in done.stdout
    )
    assert last == "2 rows: 1 agree, 1 could not be verified."
    quiet = invoke("verify", str(kept), "-q").stdout.splitlines()
    assert len(quiet) == 2


def test_what_differs_ends_with_1(kept, invoke):
    content = members(kept)
    (name,) = [name for name in content if name.startswith("models/")]
    packed(content | {name: changed_model(content[name])}, kept)
    done = invoke("verify", str(kept))
    assert done.exit_code == 1
    assert ": differs: the model has SHA-256 " in done.stdout
    hashes = [json.loads(line)["model_sha256"] for line in content["records.jsonl"].splitlines()]
    assert set(hashes) == {None, sha256_of(content[name])}
    assert f"recorded {sha256_of(content[name])[:12]}" in done.stdout


def test_nothing_verified_is_no_success(tmp_path, invoke):
    with Store(tmp_path / "default.sqlite") as store:
        store.append(record("smo"))
    done = invoke("results", "export", "--bundle", str(tmp_path / "study.zip"), "--plugins", "smo")
    assert "no model was kept" in " ".join(done.stderr.split())
    done = invoke("verify", str(tmp_path / "study.zip"))
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "1 row: 1 could not be verified."


def test_what_is_no_bundle_ends_with_2_and_a_sentence(tmp_path, invoke):
    (tmp_path / "none.zip").write_bytes(b"PK\x03\x04 cut")
    done = invoke("verify", str(tmp_path / "none.zip"))
    assert (done.exit_code, done.stdout) == (2, "")
    with Store(tmp_path / "default.sqlite") as store:
        store.append(record("smo"))
    done = invoke("results", "export", "--bundle", str(tmp_path / "study.zip"), "--plugins", "fw")
    assert done.exit_code == 2
    assert not (tmp_path / "study.zip").exists()
