"""``study.toml``: a file means what a command line means, and its mistakes are sentences."""

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import UsageError
from harness.call import request, study_file
from harness.call.settings import SETTINGS
from harness.cli import compare
from harness.cli.main import cli
from harness.registry.discovery import load_registry
from harness.run.plan import Study
from harness.support.printable import plain

BASE = """\
# what the tests change
plugins = ["lasvm[epochs=[1,2]]", "smo"]
datasets = ["digits", "twonorm[n=200,noise=0.1]"]
formulation = "c-svc[class_weight=[none,balanced]]"
kernel = "rbf[gamma=[0.1,1]],poly[degree=2]"
C = [1, 10.5]
target_gap = 1e-3
time_limit = "5m"
memory-limit = '2G'
seeds = "0-4"
repeat = 3
threads = 1
cache_mb = 100.0
metrics = ["g-means"]
cold = true
folds = 3

[path]
gamma = [0.1, 1]
"""


@pytest.fixture(scope="module")
def registry():
    return load_registry()


def meant(path, registry):
    """The study that a file means."""
    return request.build_study([study_file.parsed(path)], registry)


def asked(registry, *arguments):
    """The study that a command line means."""
    # click keeps the help option of the first context for good
    given = compare.command.make_context("compare", list(arguments), **cli.context_settings).params
    words = {name: given[name] for name in SETTINGS if given[name] not in (None, (), False)}
    words |= {name: list(value) for name, value in words.items() if isinstance(value, tuple)}
    return request.build_study([study_file.StudyFile("", None, words)], registry)


def test_a_file_means_what_the_options_mean(tmp_path, registry):
    path = tmp_path / "study.toml"
    path.write_text(BASE)
    line = asked(
        registry, "--plugins", "lasvm[epochs=[1,2]],smo", "--datasets", "digits", "--datasets", "twonorm[n=200,noise=0.1]",
        "--formulation", "c-svc[class_weight=[none,balanced]]", "--kernel", "rbf[gamma=[0.1,1]],poly[degree=2]", "--C", "1,10.5",
        "--target-gap", "0.001", "--time-limit", "300s", "--memory-limit", "2GiB", "--seeds", "0-4", "--repeat", "3",
        "--cache-mb", "100", "--metrics", "g-means", "--cold", "--folds", "3", "--path", "gamma=[0.1,1]",
    )  # fmt: skip
    said = meant(path, registry)
    assert said == line
    elsewhere = dataclasses.replace(said, fresh=True, store=Path("elsewhere.sqlite"))
    assert said.sha256 == line.sha256 == elsewhere.sha256


@pytest.mark.parametrize(
    ("same", "arguments"),
    [
        (True, ("--repeat", "1", "--seeds", "0")),  # defaults are no part of the hash
        (False, ("--time-limit", "600")),  # a budget, which the default is not
        (True, ("--C", "1.0,10.0")),
        (False, ("--C", "10,1")),
        (False, ("--kernel", "linear")),
        (False, ("--formulation", "c-svc[class_weight=balanced]")),
        (False, ("--path", "C=[1,10]")),
    ],
)
def test_the_hash_is_of_what_is_asked(registry, same, arguments):
    base = ("--plugins", "lasvm,smo", *(("--C", "1,10") if "--C" in arguments else ()))
    assert (asked(registry, *base, *arguments).sha256 == asked(registry, *base).sha256) is same


def test_the_hash_does_not_depend_on_where_files_lie(tmp_path, registry):
    found = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.csv").write_text("1,2,a\n3,4,b\n5,6,a\n")
        (tmp_path / folder / "study.toml").write_text('plugins = "smo"\ndatasets = "d.csv[test=./d.csv]"\n')
        study = meant(tmp_path / folder / "study.toml", registry)
        (source,) = study.datasets
        assert (source.path, source.test) == (str(tmp_path / folder / "d.csv"),) * 2
        found.add(study.sha256)
    assert len(found) == 1


def test_a_file_finds_its_plugins_and_data_from_where_it_lies_and_options_replace_what_it_says(invoke, tmp_path, slow):
    (tmp_path / "own.py").write_text(Path(slow).read_text())
    for name in ("d.csv", "a,b.csv"):
        (tmp_path / name).write_text("1,2,a\n3,4,b\n5,6,a\n")
    path = tmp_path / "s.toml"
    path.write_text("plugins = ['quick', 'skipper']\nplugin_path = './own.py'\ndatasets = ['d.csv[test_fraction=0]', 'a,b.csv']\n"
                    "C = [1, 10]\nrepeat = 5\n")  # fmt: skip
    done = invoke("compare", "--study", str(path), "--dry-run")
    assert done.stdout.startswith("40 runs: 2 solvers x 2 data sets x 2 values of C x 5 repetitions"), done.stderr
    done = invoke("compare", "--study", str(path), "--dry-run", "--plugins", "quick", "--C", "2")
    assert done.stdout.startswith("10 runs: 2 data sets x 5 repetitions"), done.stderr


def test_the_studies_of_the_repository_are_taken(registry):
    found = sorted((Path(__file__).parents[2] / "reports").rglob("*.toml"))
    assert found
    assert all(meant(path, registry).solvers for path in found)


# -- mistakes --------------------------------------------------------------------------------------------


PIECES = st.sampled_from(["C = ", "[path]\n", "plugins = ", "'smo'", "[1, 'x']", "{a = 1}", "= ", "\n", "nan", "'[[['", "'a[b=1'",
                          "1e400", "seeds = '0-99999999999'", "path = '1e-3..1e3/99999999'"]) | st.text(max_size=4)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join) | st.binary(max_size=30))
@settings(max_examples=100)
def test_any_file_is_a_study_or_sentences(tmp_path_factory, registry, text):
    path = tmp_path_factory.getbasetemp() / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(errors="replace"))
    try:
        assert isinstance(meant(path, registry), Study)
    except UsageError as error:
        told = str(error)
    else:
        return
    for sentence in told.split("\n  "):
        assert sentence.endswith((".", ":"))
        assert plain(sentence) == sentence
