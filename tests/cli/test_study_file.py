"""``study.toml``: a file means what a command line means, goes round unchanged, and tells every mistake with its line."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import UsageError
from harness.call import request, study_file
from harness.call.settings import SETTINGS
from harness.cli import compare
from harness.plain import plain
from harness.registry import load_registry
from harness.run.plan import Study

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
    return request.study_of(study_file.read(study_file.parsed(path), registry), registry)


def asked(registry, *arguments):
    """The study that a command line means."""
    given = compare.command.make_context("compare", list(arguments)).params
    return request.study_of({name: given[name] for name in SETTINGS if given[name] not in (None, (), False)}, registry)


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
    assert said.sha256 == line.sha256


@pytest.mark.parametrize(
    ("same", "arguments"),
    [
        (True, ("--time-limit", "600")),  # what is left as it comes is no part of the hash
        (True, ("--repeat", "1", "--seeds", "0")),
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


def test_the_hash_is_not_of_where_it_is_kept_and_whether_it_is_measured_anew(registry):
    given = {"plugins": ["smo"]}
    elsewhere = request.study_of(given, registry, fresh=True, many=True, store=Path("elsewhere.sqlite"))
    assert elsewhere.sha256 == request.study_of(given, registry).sha256


def test_the_hash_does_not_depend_on_where_files_lie(tmp_path, registry):
    found = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.csv").write_text("1,2,a\n3,4,b\n")
        (tmp_path / folder / "study.toml").write_text('plugins = "smo"\ndatasets = "d.csv[test=./d.csv]"\n')
        study = meant(tmp_path / folder / "study.toml", registry)
        (source,) = study.datasets
        assert (source.path, source.test) == (str(tmp_path / folder / "d.csv"),) * 2
        found.add(study.sha256)
    assert len(found) == 1


def test_options_beside_a_file_replace_what_it_says(invoke, tmp_path):
    path, saved = tmp_path / "study.toml", tmp_path / "saved.toml"
    path.write_text('plugins = ["smo", "lasvm"]\ndatasets = "twonorm[n=200]"\nC = [1, 10]\nrepeat = 5\n')
    beside = ("--plugins", "smo", "--C", "2", "--dry-run", "--save-study", str(saved))
    done = invoke("compare", "--study", str(path), *beside)
    assert done.exit_code == 0, done.stderr
    assert f"note: --plugins, --C of the command line replace what {path} says" in done.stderr
    assert "5 runs" in done.stdout
    assert tomllib.loads(saved.read_text()) == {
        "plugins": ["smo"], "datasets": ["twonorm[n=200]"], "C": 2, "repeat": 5
    }  # fmt: skip


def test_a_saved_file_finds_its_plugins_and_data_from_where_it_lies(invoke, registry, tmp_path, monkeypatch, slow):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "own.py").write_text(Path(slow).read_text())
    for name in ("study/d.csv", "a,b.csv"):
        (tmp_path / name).write_text("1,2,a\n3,4,b\n")
    monkeypatch.chdir(tmp_path)
    done = invoke("compare", "--plugins", "quick", "--plugin-path", "study/own.py", "--datasets", "study/d.csv[test_fraction=0]",
                  "--datasets", "a,b.csv", "--dry-run", "--save-study", "study/s.toml")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    said = tomllib.loads((tmp_path / "study" / "s.toml").read_text())
    assert said["datasets"] == ["./d.csv[test_fraction=0]", f'"{tmp_path / "a,b.csv"}"']
    assert said["plugin_path"] == ["./own.py"]
    monkeypatch.chdir("/")
    file = study_file.parsed(tmp_path / "study" / "s.toml")
    assert study_file.read(file, load_registry(study_file.plugin_paths(file)))["plugin_path"] == [
        f"{tmp_path}/study/own.py"
    ]
    again = invoke("compare", "--study", f"{tmp_path}/study/s.toml", "--dry-run")
    assert again.stdout.startswith("2 runs: 2 data sets"), again.stderr


def test_the_studies_of_the_repository_are_taken(registry):
    found = sorted((Path(__file__).parents[2] / "reports").rglob("*.toml"))
    assert len(found) == 3
    assert all(meant(path, registry).solvers for path in found)


NUMBERS = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=3, unique=True)
STUDIES = st.fixed_dictionaries(
    {"plugins": st.lists(st.sampled_from(["smo", "lasvm[epochs=[1,2],C=3]", "fw/gilbert", "fw*"]), min_size=1)},
    optional={
        "datasets": st.lists(st.sampled_from(["digits", "twonorm[n=200]", "breast-cancer[noise=[0,0.1]]"]), min_size=1),
        "C": NUMBERS,
        "gamma": NUMBERS | st.just("scale"),
        "formulation": st.sampled_from(["c-svc", "pool-svc[budget=[none,3]],ramp-svc[s=-1]"]),
        "kernel": st.sampled_from(["linear", "rbf[gamma=[0.1,scale]]", "poly,linear"]),
        "path": st.dictionaries(st.sampled_from(["C", "gamma"]), NUMBERS, min_size=1),
        "seeds": st.integers(0, 2**70) | st.just("0-3") | st.lists(st.integers(0, 9), min_size=1),
        "time_limit": st.sampled_from(["90s", "1h", 5, 0.25]),
        "memory_limit": st.sampled_from(["512M", 1000]),
        "cold": st.booleans(),
        "metrics": st.lists(st.sampled_from(["g-means", "roc-auc"]), min_size=1, unique=True),
    },
)


@given(STUDIES)
@settings(max_examples=40)
def test_a_file_goes_round(tmp_path_factory, registry, options):
    path = tmp_path_factory.mktemp("round") / "study.toml"
    path.write_text(study_file.written(options, "a comment"))
    first = study_file.read(study_file.parsed(path), registry)
    study_file.save(study_file.kept(first, registry), path, registry)
    again = study_file.read(study_file.parsed(path), registry)
    assert {**again, "plugins": 0, "cold": 0} == {**first, "plugins": 0, "cold": 0}
    assert study_file.written(study_file.kept(again, registry)) == path.read_text()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_goes_round(text):
    said = {"a key": text, "b": [text, 1, 1e-30, True]}
    assert tomllib.loads(study_file.written(said)) == said


# -- mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("plugins = [\n'smo',\n'lasvn']", "line 3: plugins: there is no solver or plugin called 'lasvn' (did you mean"),
        ("\n\ndataset = 'digits'", "line 3: there is no option 'dataset' (did you mean 'datasets'?)"),
        ("outliers = 1", "line 1: there is no option 'outliers'; write --formulation 'outlier-margin[outliers=...]'"),
        ("C = [1,\n 2,\n 'x']", "line 3: C: 'x' is not a list of numbers > 0"),
        ("C = {a = 1}", "line 1: C: {'a': 1} is not a text, a number or a list of these"),
        ("repeat = 3\nrepeat = 4", "line 2: a key is given twice"),
        ("target-gap = 1\ntarget_gap = 1", "line 2: 'target_gap' is given twice"),
        ("cold = 1", "line 1: cold: 1 is not true or false"),
        ("output = 'x.csv'", "line 1: 'output' is no part of a study; give --output with the command"),
        ("[study]\nplugins = 'smo'", "line 1: [study] is a section; the keys of a study stand above any"),
        ("[path]\nC = 'x'", "line 1: path: 'C=x' is not a list of parameters with numbers"),
        ("plugins = 'smo[tau=0]'", "line 1: plugins: solver 'smo': parameter tau='0' is not valid"),
        (
            "formulation = 'pool-svc[budget=0]'",
            "formulation: formulation 'pool-svc': parameter budget='0' is not valid",
        ),
        ("C = [1", "line 1: unclosed array"),
        (b"C = '\xff'", "line 1: the byte 0xff is no UTF-8"),
        ("C = " + "[" * 5000, "cannot be read"),
        ("plugin_path = 'gone.py'", "line 1: plugin_path: plugin path"),
    ],
)
def test_a_mistake_is_a_sentence_with_its_line(invoke, tmp_path, text, sentence):
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = invoke("compare", "--study", str(path))
    assert done.exit_code == 2
    assert str(path) in done.stderr
    assert sentence in done.stderr


def test_all_mistakes_are_told(invoke, tmp_path):
    (tmp_path / "s.toml").write_text("plugins = 'smu'\nC = 'a'\nfoo = 1\nrepeat = 0\n")
    told = invoke("compare", "--study", f"{tmp_path}/s.toml").stderr.splitlines()
    assert told[0].endswith("has 4 mistakes:")
    assert [each.strip().partition(":")[0] for each in told[1:]] == [f"line {n}" for n in (1, 2, 3, 4)]


def test_files_that_cannot_be_read_or_written(invoke, tmp_path):
    (tmp_path / "large.toml").write_bytes(b"#" * 2_000_000)
    for path in (tmp_path, tmp_path / "nowhere.toml", tmp_path / "large.toml", "a\0b", "x" * 5000):
        done = invoke("compare", "--study", str(path))
        assert done.exit_code == 2
        assert done.stderr.startswith("harness: ")
        assert done.stderr.count("\n") == 1
    asked_for = ("compare", "--plugins", "smo", "--datasets", "digits", "--save-study", str(tmp_path / "no" / "s.toml"))
    done = invoke(*asked_for)
    assert (done.exit_code, "the study cannot be written" in done.stderr) == (2, True)
    assert not (tmp_path / "default.sqlite").exists(), "said before anything is measured"


PIECES = st.sampled_from(["C = ", "[path]\n", "plugins = ", "'smo'", "[1, 'x']", "{a = 1}", "= ", "\n", "nan", "'[[['", "'a[b=1'",
                          "1e400", "seeds = '0-99999999999'", "path = '1e-3..1e3/99999999'"]) | st.text(max_size=4)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join) | st.binary(max_size=30))
@settings(max_examples=300)
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
        assert len(sentence) < 2500
        assert sentence.endswith((".", ":"))
        assert plain(sentence) == sentence
