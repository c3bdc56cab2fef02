"""Bundles: results that another machine verifies; what was changed is named, and nothing in a bundle ends the verification."""

import io
import itertools
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import harness
from harness import Record, StoreReader, UsageError
from harness.run import bundle as bundles
from harness.run.bundle import Bundle, write
from harness.run.channel import decode, encode
from harness.run.messages import Model, ToCertify
from harness.run.store import Store
from harness.run.verification import Outcome
from harness.support.files import sha256_of
from tests.run.rows import record
from tests.run.test_merging import FIELDS, NESTED

SETS = "twonorm[n=60],checkerboard[n=60,noise=0.1]"


def exported(store, target):
    """Write the bundle of a store, all rows in their order, and return its path."""
    with StoreReader(store) as reader, target.open("wb") as file:
        write(file, reader.records(), reader.content)
    return target


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content, target):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return target


def runs(folder, seeds):
    """A bundle of the runs of two solvers on two data sets with two values of C: 8 for each seed."""
    options = {"C": [1, 10], "seeds": seeds, "kernel": "rbf", "keep_models": True, "formulation": "c-svc"}
    harness.compare("smo,lasvm", SETS, store=folder / "runs.sqlite", quiet=True, **options)
    return exported(folder / "runs.sqlite", folder / "study.zip")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A bundle of 24 runs."""
    return runs(tmp_path_factory.mktemp("study"), "0-2")


@pytest.fixture
def one(study, tmp_path):
    """A function that makes a bundle of one row, changed by another function, and verifies it."""
    content = members(study)
    first = json.loads(content["records.jsonl"].splitlines()[0])

    def verified(change=lambda row: None, model=None, **options):
        row = json.loads(json.dumps(first))
        kept = {name: data for name, data in content.items() if not name.startswith("models/")}
        kept[f"models/{row['model_sha256']}"] = model or content[f"models/{row['model_sha256']}"]
        change(row)
        if model is not None and row["model_sha256"] == sha256_of(model):
            kept[f"models/{row['model_sha256']}"] = model
        path = packed(kept | {"records.jsonl": json.dumps(row).encode() + b"\n"}, tmp_path / "one.zip")
        return harness.verify(path, **options).rows[0]

    verified.row, verified.model = first, content[f"models/{first['model_sha256']}"]
    return verified


def changed_model(data, factor=1.001):
    """Return an encoded model whose first two coefficients, of points of different labels or not, are changed a little."""
    solved = decode(data, ToCertify)
    model = Model.unpacked(solved.model)
    coef = model.dual_coef.copy()
    at = [abs(coef).argmin()]
    coef[at] *= factor
    return encode(ToCertify(Model(model.intercept, model.support, coef).packed()))


# -- what agrees ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bundle_of_200_runs_is_verified_without_the_store_and_the_cache(tmp_path, tmp_path_factory):
    study = runs(tmp_path_factory.mktemp("study"), "0-24")
    surroundings = {
        **os.environ,
        "HARNESS_CACHE": str(tmp_path / "cache"),
        "HARNESS_STORE": str(tmp_path / "none.sqlite"),
    }
    command = [sys.executable, "-m", "harness.cli.main", "verify", str(study)]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "200 rows: 200 agree."
    assert len(set(lines[:-1])) == 200
    assert all(": agrees (12 figures)" in line or ": agrees (11 figures)" in line for line in lines[:-1])
    assert not (tmp_path / "none.sqlite").exists()


def test_the_same_runs_make_the_same_bytes(study, tmp_path):
    again = exported(study.parent / "runs.sqlite", tmp_path / "again.zip")
    assert again.read_bytes() == study.read_bytes()
    content = members(study)
    about = json.loads(content["bundle.json"])
    rows = [json.loads(line) for line in content["records.jsonl"].splitlines()]
    assert about["data"] == {row["dataset"]: [row["data_sha256"]] for row in rows}
    assert set(about["sources"]["smo"]) == {row["sources"]["smo"] for row in rows if row["solver"] == "smo"}
    (text,) = [data for name, data in content.items() if name.startswith("studies/")]
    assert sha256_of(text) == rows[0]["study"]
    assert json.loads(text)["solvers"][1][:2] == ["lasvm", "lasvm"]


@pytest.mark.parametrize(
    ("plugins", "datasets", "options", "figures"),
    [
        ("smo-block", "twonorm[n=60]", {"path": {"C": [1, 10], "gamma": [0.05, 0.1]}, "folds": 2}, 11),
        ("active-small-pool", "twonorm[n=60]", {"metrics": "g-means"}, 8),
        ("sgd", "twonorm[n=60]", {"kernel": "linear"}, 5),
        ("rff,nystroem", "twonorm[n=60]", {}, 2),
        ("smo,nystroem", "twonorm[n=60]", {"target_gap": 1e-2, "repeat": 1, "formulation": "c-svc"}, 6),
        ("smo-block", "friedman[n=60]", {"formulation": "eps-svr"}, 9),
        ("fw", "twonorm[n=60]", {"formulation": "l2-svc"}, 14),
    ],
)
def test_every_kind_of_model_is_verified(tmp_path, plugins, datasets, options, figures):
    store = tmp_path / "runs.sqlite"
    harness.compare(plugins, datasets, store=store, keep_models=True, quiet=True, **options)
    verification = harness.verify(exported(store, tmp_path / "study.zip"))
    rows = [row for row in verification.rows if row.record.get("model_sha256")]
    assert verification.agrees
    assert rows
    assert [row.reasons for row in rows] == [()] * len(rows)
    assert min(row.figures for row in rows) >= figures


def test_models_are_kept_only_if_asked_for_and_measured_again_only_then(tmp_path):
    def models(**options):
        result = harness.compare("smo", "twonorm[n=60]", store=tmp_path / "runs.sqlite", quiet=True, **options)
        return result.records[0]["model_sha256"], result.records[0]["reused"]

    assert models() == (None, False)
    sha256, reused = models(keep_models=True)
    assert not reused
    assert models(keep_models=True) == models() == (sha256, True)
    with Store(tmp_path / "merged.sqlite") as store, StoreReader(tmp_path / "runs.sqlite") as source:
        store.merge([source])
        assert sha256_of(store.content(sha256)) == sha256
        rows = list(store.rows())
        assert sha256_of(store.content(rows[0].record["study"])) == rows[0].record["study"]
        store.delete((row.number, row.content[0], row.content[2]) for row in rows if row.record["model_sha256"])
        assert store.content(sha256) is None, "no row refers to it"
        assert store.content(rows[0].record["study"]) is not None, "the other row does"


# -- what differs --------------------------------------------------------------------------------------------


def test_a_row_that_was_not_changed_agrees(one):
    row = one()
    assert (row.outcome, row.reasons, row.notes) == (Outcome.AGREES, (), ())


def test_a_changed_coefficient_is_told_by_its_hash_and_by_its_certificate(one):
    model = changed_model(one.model)
    row = one(model=model)
    assert row.outcome is Outcome.DIFFERS
    assert row.reasons[0] == f"the model has SHA-256 {sha256_of(model)[:12]}, recorded {one.row['model_sha256'][:12]}"
    assert len(row.reasons) > 1, "the certificate tells it too"
    row = one(lambda row: row.update(model_sha256=sha256_of(model)), model=model)
    assert row.outcome is Outcome.DIFFERS
    assert "SHA-256" not in " ".join(row.reasons)


FIGURES = ("primal", "dual", "gap", "relative_gap", "kkt_violation", "feasibility_violation", "support_vectors",
           "positive_support_vectors", "core_set_size", "train_accuracy", "test_accuracy")  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_changed_figure_is_told(one, name):
    changed = one.row[name] + 1 if isinstance(one.row[name], int) else 1.001 * one.row[name] + 1e-5
    changed = changed - 0.01 if name.endswith("accuracy") else changed
    row = one(lambda row: row.update({name: changed}))
    assert row.outcome is Outcome.DIFFERS
    (reason,) = row.reasons
    assert reason.startswith(name.replace("_", " ") + " ")
    assert ", recorded " in reason


def test_a_figure_that_rounding_moved_agrees(one):
    moved = one.row["primal"] * (1.0 + 0.5 * one.row["gap_rounding"])
    assert one(lambda row: row.update(primal=moved)).outcome is Outcome.AGREES


def test_a_forged_rounding_or_target_hides_nothing(one):
    assert one(lambda row: row.update(gap_rounding=1e9, dual=0.9 * row["dual"])).outcome is Outcome.DIFFERS
    row = one(lambda row: row.update(target_gap=1e-12))
    assert row.outcome is Outcome.DIFFERS
    assert row.reasons[0].startswith("status missed")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"solver": "lasvm"}, "solver smo/lasvm, which is not in its study"),
        ({"plugin": "lasvm"}, "plugin 'lasvm' with code"),
        ({"label": "lasvm"}, "label 'lasvm', which is not that of solver 'smo'"),
        ({"label": "smo[gap=1e-07]"}, "label 'smo[gap=1e-07]', which is not that of solver 'smo'"),
        ({"seed": 1}, "seed 1, and the model is of seed 0"),
        ({"time_limit": 1.5}, "time limit 1.5, and 600 in its study"),
        ({"target_gap": 0.5}, "target gap 0.5, and None in its study"),
        ({"status": "missed"}, "status missed, and it had no target"),
        ({"status": "missed", "target_gap": 0.5}, "status missed, and the model meets its target"),
    ],
)
def test_a_changed_solver_seed_limit_or_status_is_told(one, changes, reason):
    row = one(lambda row: row.update(changes))
    assert row.outcome is Outcome.DIFFERS
    assert reason in " | ".join(row.reasons)


def test_a_changed_study_is_told(one, study, tmp_path):
    content = members(study)
    path = packed(content | {f"studies/{one.row['study']}.json": b"{}"}, tmp_path / "changed.zip")
    reason = f"the study has SHA-256 {sha256_of(b'{}')[:12]}, recorded {one.row['study'][:12]}"
    assert {row.reasons for row in harness.verify(path).rows} == {(reason,)}


def test_a_dual_value_that_no_row_of_the_bundle_shows_is_told(tmp_path):
    store = tmp_path / "runs.sqlite"
    options = {"target_gap": 1e-2, "repeat": 1, "formulation": "c-svc", "keep_models": True, "quiet": True}
    harness.compare("smo,nystroem[n_components=10]", "twonorm[n=60]", store=store, **options)
    content = members(exported(store, tmp_path / "study.zip"))
    rows = {row["solver"]: row for row in map(json.loads, content["records.jsonl"].splitlines())}
    forged = {"best_dual": rows["nystroem"]["primal"] * (1.0 - 1e-4), "suboptimality": 1e-4}

    def verified(*rows):
        lines = b"\n".join(json.dumps(row).encode() for row in rows)
        return harness.verify(packed(content | {"records.jsonl": lines}, tmp_path / "changed.zip"))

    smo, nystroem = rows["smo"], rows["nystroem"]
    assert nystroem["suboptimality"] > 1e-2
    assert nystroem["status"] == "missed"
    ok, of = verified(nystroem, smo), nystroem["best_dual_of"]
    assert (ok.agrees, [row.unverified for row in ok.rows]) == (True, ["", ""])
    told = verified({**nystroem, **forged, "status": "ok"}, smo).rows[1]
    assert told.outcome is Outcome.DIFFERS
    assert told.reasons == (
        f"suboptimality {nystroem['suboptimality']:.6g}, recorded 0.0001, with the dual value of {of}",
    )
    alone = verified(nystroem)
    assert alone.agrees
    assert f"; the dual value of {of} is not verified)" in str(alone)
    assert verified({**smo, "dual": 2.0 * smo["dual"]}, nystroem).rows[1].unverified, "a row that differs shows nothing"


def test_other_versions_and_code_are_notes(one):
    row = one(lambda row: (row["versions"].update(numpy="1.0"), row["sources"].update(smo="0" * 64, other="1"),
                           row.update(code_sha256="0" * 64, data_plugin={"mine-too": "1"})))  # fmt: skip
    assert row.outcome is Outcome.AGREES
    notes = " | ".join(row.notes)
    assert ", recorded 1.0" in notes
    assert "code of plugin 'smo'" in notes
    assert "plugin 'other' is not installed" in notes
    assert "plugin 'mine-too' is not installed" in notes


def test_what_cannot_be_verified_says_why(one, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))  # no raw data
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))

    def why(**changes):
        row = one(lambda row: row.update(changes))
        assert row.outcome is Outcome.NOT_VERIFIABLE
        return row.reasons[0]

    assert why(model_sha256=None) == "no model was kept"
    assert why(model_sha256="0" * 64) == "its model is not in the bundle"
    assert why(status="timeout") == "the run has no certified model (status timeout)"
    remedy = "; --plugin-path FILE names the file of its plugin"
    unknown = "the {} 'mine' is unknown here"
    other, solvers = {"mine-too": "1"}, {"plugin": "avg2", "sources": {"avg2": "1"}}
    of_other = ": plugin 'mine-too' is not installed"
    assert why(formulation="mine", sources=other) == unknown.format("formulation") + of_other + remedy
    assert why(formulation="mine", sources={}) == unknown.format("formulation") + remedy
    assert (
        why(dataset="mine[n=60]", plugin="avg2", sources={"avg2": "1", **other})
        == unknown.format("data set") + of_other + remedy
    )
    assert why(dataset="mine", **{**solvers, "data_plugin": other}) == unknown.format("data set") + of_other + remedy
    assert why(dataset="mine", **solvers) == unknown.format("data set") + remedy, (
        "the solver's plugin is not what is missing"
    )
    assert "plugin" not in why(dataset="mine.csv", plugin="avg2", sources={"avg2": "1"})
    assert "harness data fetch usps" in why(dataset="usps")
    assert "--data FOLDER" in why(dataset="mine.csv")
    assert "--data FOLDER" in why(dataset="http://127.0.0.1:9/mine.csv"), "no address of a bundle is fetched"
    assert "is a grid of" in why(dataset="twonorm[n=[60,70]]")


def test_a_changed_row_of_the_data_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{i % 5},{'yes' if i % 7 + i % 5 > 5 else 'no'}" for i in range(60)]
    Path("points.csv").write_text("\n".join(["a,b,label", *rows]))
    harness.compare("smo", "./points.csv", store="runs.sqlite", keep_models=True, quiet=True)
    path = exported(Path("runs.sqlite"), Path("study.zip"))
    assert harness.verify(path).agrees
    (tmp_path / "elsewhere").mkdir()
    moved = Path("points.csv").rename(tmp_path / "elsewhere/points.csv")
    assert "--data FOLDER" in harness.verify(path).rows[0].reasons[0]
    assert harness.verify(path, data=moved.parent).agrees
    moved.write_text(moved.read_text().replace("3,3,yes", "3,4,yes", 1))
    verification = harness.verify(path, data=moved.parent)
    assert not verification.agrees
    assert verification.rows[0].outcome is Outcome.DIFFERS
    assert verification.rows[0].reasons[0].startswith("the data of 'points.csv' differ: SHA-256 ")


# -- whatever a bundle holds ---------------------------------------------------------------------------------


def checked(path):
    """Verify a bundle, which gives rows with a sentence each, or is refused with one."""
    try:
        verification = harness.verify(path)
    except UsageError as error:
        verification, sentence = None, str(error)
    assert str(verification) if verification else sentence.startswith(str(path))
    for row in verification.rows if verification else ():
        assert row.outcome is Outcome.AGREES or all(row.reasons)


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_and_missing_bytes_end_in_a_sentence(study, tmp_path, data):
    content = members(study)
    row = content["records.jsonl"].splitlines()[0] + b"\n"
    model = f"models/{json.loads(row)['model_sha256']}"
    small = {"records.jsonl": row, model: content[model], "bundle.json": content["bundle.json"]}
    inner = data.draw(st.sampled_from([None, *small]))
    whole = bytearray(small[inner] if inner else packed(small, tmp_path / "small.zip").read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=3)):
        whole[place] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.sampled_from([len(whole), data.draw(st.integers(0, len(whole)))]))])
    target = tmp_path / "changed.zip"
    if inner:
        packed(small | {inner: cut}, target)
    else:
        target.write_bytes(cut)
    checked(target)


CHANGED = st.sampled_from(list(FIELDS)).flatmap(lambda name: st.tuples(st.just(name), FIELDS[name] | NESTED))


@given(st.lists(CHANGED, max_size=4), st.sampled_from(["bundle.json", "records.jsonl"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_fields_of_any_kind_end_in_a_sentence(study, tmp_path, changes, where):
    content = members(study)
    content["records.jsonl"] = content["records.jsonl"].splitlines()[0]
    content[where] = json.dumps(json.loads(content[where]) | dict(changes)).encode()
    checked(packed(content, tmp_path / "changed.zip"))


@given(st.binary(max_size=300) | NESTED.map(encode))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_model_of_any_content_ends_in_a_sentence(one, content):
    row = one(lambda row: row.update(model_sha256=sha256_of(content)), model=content or b"x")
    assert row.outcome is not Outcome.AGREES
    row = one(lambda row: None, model=encode(ToCertify(content, queried=[10**9, -1])))
    assert row.outcome is Outcome.DIFFERS


def test_what_is_no_bundle_is_refused_and_nothing_is_written(study, tmp_path, monkeypatch):
    content = members(study)
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    evil = {"../../evil": b"x", "/tmp/evil-of-a-bundle": b"x", "models/../../evil": b"x"}
    row = json.loads(content["records.jsonl"].splitlines()[0]) | {"model_sha256": "../../evil"}
    path = packed(content | evil | {"records.jsonl": json.dumps(row).encode()}, tmp_path / "evil.zip")
    assert harness.verify(path).rows[0].outcome is Outcome.DIFFERS
    assert list(inside.iterdir()) == []
    assert not Path("/tmp/evil-of-a-bundle").exists()
    newer = packed(content | {"bundle.json": b'{"format": 2}'}, tmp_path / "newer.zip")
    empty = packed(content | {"records.jsonl": b""}, tmp_path / "empty.zip")
    refused = {newer: "update svm-harness", empty: "has no runs", tmp_path: "directory", tmp_path / "none": "No such"}
    for path, words in refused.items():
        with pytest.raises(UsageError, match=words):
            harness.verify(path)


def test_sizes_and_methods_of_members_are_limited(study, tmp_path, monkeypatch):
    content = members(study)
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(UsageError, match="compressed by method 14"):
        Bundle(tmp_path / "lzma.zip")
    monkeypatch.setattr(bundles, "_MOST_BYTES", len(content["bundle.json"]))
    with Bundle(study) as bundle, pytest.raises(UsageError, match="has more than"):
        list(bundle.records())


def test_rows_of_an_older_store_have_no_content(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.append(record(study="s", model_sha256="m"), contents=[b"a", b"a"])
        assert store.content("s") is None
        assert store.content(sha256_of(b"a")) == b"a"
        store._connection.execute("UPDATE contents SET data = x'00'")
        assert store.content(sha256_of(b"a")) is None
        store._connection.execute("DROP TABLE contents")
        assert store.content("m") is None
        assert store.damaged == {}
    file = io.BytesIO()
    with StoreReader(tmp_path / "runs.sqlite") as reader:
        assert write(file, itertools.chain(reader.records(), [Record(key="x")]), reader.content) == (2, 0)
