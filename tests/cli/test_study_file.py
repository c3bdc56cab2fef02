"""``study.toml``: a file means what a command line means, goes round unchanged, and tells every mistake with its line."""

import json
import random
import string
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cli import compare, study_file, study_text
from harness.errors import UsageError
from harness.plain import plain
from harness.registry import load_registry
from harness.run.study import Study

pytestmark = pytest.mark.usefixtures("warm_sessions")
BASE = """\
# what the tests change
plugins = ["lasvm[epochs=[1,2]]", "smo"]
datasets = ["digits", "twonorm[n=200,noise=0.1]"]
formulation = "c-svc"
kernel = "rbf[gamma=[0.1,1]]"
C = [1, 10.5]
target_gap = 1e-3
time_limit = "5m"
memory-limit = '2G'
seeds = "0-4"
repeat = 3
threads = 1
cache_mb = 100.0
order = "shuffled"
metrics = ["g-means"]
cold = true
folds = 3

[path]
gamma = [0.1, 1]
"""


@pytest.fixture(scope="module")
def registry():
    return load_registry()


@pytest.fixture(autouse=True)
def one_registry(registry, monkeypatch):
    """The plugins are loaded once; a study that names others has them loaded."""
    from harness.cli import loading

    load = loading.registry
    monkeypatch.setattr(loading, "registry", lambda paths=(): load(paths) if paths else registry)


def meant(path, registry, line=()):
    """The study that a file means, and the context of its command."""
    context = compare.context_of([study_file.parsed(path)])
    return compare.study_of(context.params, registry), context


def asked(registry, *arguments):
    context = compare.command.make_context("compare", list(arguments))
    return compare.study_of(context.params, registry), context


def mistakes(tmp_path, text):
    """The sentences on a file, each with its line."""
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as told:
        compare.context_of([study_file.parsed(path)])
    first, *others = str(told.value).split("\n  ")
    assert str(path) in first
    if others:
        assert first.endswith(f"has {len(others)} mistakes:")
    return others or [first.removeprefix(f"{path}, ").removeprefix(f"{path}: ")]


# -- the same as a command line --------------------------------------------------------------------------


def test_a_file_means_what_the_options_mean(tmp_path, registry):
    path = tmp_path / "study.toml"
    path.write_text(BASE)
    said, _ = meant(path, registry)
    line, _ = asked(
        registry, "--plugins", "lasvm[epochs=[1,2]],smo", "--datasets", "digits", "--datasets", "twonorm[n=200,noise=0.1]",
        "--formulation", "c-svc", "--kernel", "rbf[gamma=[0.1,1]]", "--C", "1,10.5", "--target-gap", "0.001",
        "--time-limit", "300s", "--memory-limit", "2GiB", "--seeds", "0-4", "--repeat", "3", "--cache-mb", "100",
        "--order", "shuffled", "--metrics", "g-means", "--cold", "--folds", "3",
        "--path", "gamma=[0.1,1]",
    )  # fmt: skip
    assert said == line
    assert said.sha256 == line.sha256


@pytest.mark.parametrize(
    ("same", "arguments"),
    [
        (True, ("--time-limit", "600")),  # what is left as it comes is no part of the hash
        (True, ("--repeat", "1", "--seeds", "0", "--fresh", "--store", "elsewhere.sqlite", "--yes")),
        (True, ("--C", "1,10")),
        (True, ("--C", "1.0,10.0")),
        (False, ("--C", "10,1")),
        (False, ("--repeat", "2")),
        (False, ("--seeds", "1")),
        (False, ("--kernel", "linear")),
        (False, ("--datasets", "digits")),
        (False, ("--target-gap", "0.1")),
        (False, ("--threads", "2")),
        (False, ("--path", "C=[1,10]")),
    ],
)
def test_the_hash_is_of_what_is_asked(registry, same, arguments):
    base = ("--plugins", "lasvm,smo", *(("--C", "1,10") if "--C" in arguments else ()))
    assert (asked(registry, *base, *arguments)[0].sha256 == asked(registry, *base)[0].sha256) is same


def test_the_hash_does_not_depend_on_where_files_lie(tmp_path, registry, monkeypatch):
    found = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.csv").write_text("1,2,a\n3,4,b\n")
        (tmp_path / folder / "study.toml").write_text('plugins = "smo"\ndatasets = "d.csv[test=./d.csv]"\n')
        study, _ = meant(tmp_path / folder / "study.toml", registry)
        (source,) = study.datasets
        assert (source.path, source.test) == (str(tmp_path / folder / "d.csv"),) * 2
        found.add(study.sha256)
    assert len(found) == 1


def test_every_record_says_the_study_and_reuse_does_not_ask_for_it(invoke, tmp_path, slow):
    given = ("compare", "--plugin-path", slow, "--plugins", "quick", "--datasets", "twonorm[n=200]", "--format", "json")
    path = tmp_path / "study.toml"
    first = invoke(*given, "--save-study", str(path))
    assert first.exit_code == 0, first.stderr
    (measured,) = json.loads(first.stdout)
    assert len(measured["study"]) == 64
    again = invoke("compare", "--study", str(path), "--format", "json")
    (reused,) = json.loads(again.stdout)
    assert (reused["study"], reused["reused"]) == (measured["study"], True)
    both = json.loads(invoke("compare", "--study", str(path), "--repeat", "2", "--format", "json").stdout)
    assert [record["reused"] for record in both] == [True, False]  # another study of which one run is known
    assert len({record["study"] for record in both}) == 1
    assert both[0]["study"] != measured["study"]


def test_options_beside_a_file_replace_what_it_says(invoke, tmp_path):
    path, saved = tmp_path / "study.toml", tmp_path / "saved.toml"
    path.write_text('plugins = ["smo", "lasvm"]\ndatasets = "twonorm[n=200]"\nC = [1, 10]\nrepeat = 5\n')
    done = invoke(
        "compare", "--study", str(path), "--plugins", "smo", "--C", "2", "--dry-run", "--save-study", str(saved)
    )
    assert done.exit_code == 0, done.stderr
    assert f"note: --plugins, --C of the command line replace what {path} says" in done.stderr
    assert "5 runs" in done.stdout
    assert tomllib.loads(saved.read_text()) == {
        "plugins": ["smo"], "datasets": ["twonorm[n=200]"], "C": 2, "repeat": 5
    }  # fmt: skip


def test_a_plugin_of_the_file_brings_its_solvers_and_options(invoke, tmp_path, slow):
    from shutil import copy

    copy(slow, tmp_path / "own.py")
    path = tmp_path / "study.toml"
    path.write_text('plugin_path = "own.py"\nplugins = "quick"\ndatasets = "twonorm[n=200]"\n')
    done = invoke("compare", "--study", str(path), "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert "quick: 1 run to carry out" in done.stdout


def test_a_saved_file_finds_its_data_from_where_it_lies(invoke, registry, tmp_path, monkeypatch):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "d.csv").write_text("1,2,a\n3,4,b\n")
    (tmp_path / "a,b.csv").write_text("1,2,a\n3,4,b\n")
    monkeypatch.chdir(tmp_path)
    done = invoke("compare", "--plugins", "smo", "--datasets", "study/d.csv[test_fraction=0]", "--datasets", "a,b.csv",
                  "--dry-run", "--save-study", "study/s.toml")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    said = tomllib.loads((tmp_path / "study" / "s.toml").read_text())["datasets"]
    assert said == ["./d.csv[test_fraction=0]", f'"{tmp_path / "a,b.csv"}"']
    monkeypatch.chdir("/")
    study, _ = meant(tmp_path / "study" / "s.toml", registry)
    assert [source.path for source in study.datasets] == [str(tmp_path / "study" / "d.csv"), str(tmp_path / "a,b.csv")]


# -- round trips -----------------------------------------------------------------------------------------

NUMBERS = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=3, unique=True)
STUDIES = st.fixed_dictionaries(
    {"plugins": st.lists(st.sampled_from(["smo", "lasvm[epochs=[1,2],C=3]", "fw/gilbert", "fw*"]), min_size=1)},
    optional={
        "datasets": st.lists(st.sampled_from(["digits", "twonorm[n=200]", "breast-cancer[noise=[0,0.1]]"]), min_size=1),
        "C": NUMBERS,
        "gamma": NUMBERS | st.just("scale"),
        "D_minus": st.floats(1e-6, 1.0),
        "budget": st.just("none") | st.integers(1, 100),
        "kernel": st.sampled_from(["linear", "rbf[gamma=[0.1,scale]]", "poly,linear"]),
        "path": st.dictionaries(st.sampled_from(["C", "gamma"]), NUMBERS, min_size=1),
        "seeds": st.integers(0, 2**70) | st.just("0-3") | st.lists(st.integers(0, 9), min_size=1),
        "repeat": st.integers(1, 9),
        "time_limit": st.sampled_from(["90s", "1h", 5, 0.25]),
        "memory_limit": st.sampled_from(["512M", 1000]),
        "cold": st.booleans(),
        "metrics": st.lists(st.sampled_from(["g-means", "roc-auc"]), min_size=1, unique=True),
        "order": st.sampled_from(["shuffled", "interleaved"]),
    },
)


@given(STUDIES)
@settings(max_examples=60)
def test_a_file_goes_round(tmp_path_factory, registry, options):
    path = tmp_path_factory.mktemp("round") / "study.toml"
    path.write_text(study_text.write(options, "a comment"))
    context = compare.context_of([study_file.parsed(path)])
    again = path.with_name("again.toml")
    study_text.save(study_text.options_of(context, registry), again)
    other = compare.context_of([study_file.parsed(again)])
    assert {name: value for name, value in other.params.items() if name != "plugins"} == {
        name: value for name, value in context.params.items() if name != "plugins"
    }
    third = study_text.write(study_text.options_of(other, registry))
    assert third == again.read_text()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_goes_round(text):
    assert tomllib.loads(study_text.write({"a key": text, "b": [text, 1, 1e-30, True]})) == {
        "a key": text, "b": [text, 1, 1e-30, True]
    }  # fmt: skip


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(UsageError, match="no UTF-8 text"):
        study_text.write({"datasets": "\udcff.csv"})


# -- mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("plugins = [\n'smo',\n'lasvn']", "line 3: plugins: there is no solver or plugin called 'lasvn' (did you mean"),
        ("\n\ndataset = 'digits'", "line 3: there is no option 'dataset' (did you mean 'datasets'?)"),
        ("c = 1", "line 1: there is no option 'c' (did you mean 'C'"),
        ("C = [1,\n 2,\n 'x']", "line 3: C: 'x' is not a list of numbers in (0, inf)"),
        ("s = '''\n[C]\n'''\nC = -1", "line 4: C: '-1' is not a list"),
        ("C = true", "line 1: C: 'true' is not a list"),
        ("C = []", "line 1: C: '' is not a list"),
        ("C = {a = 1}", "line 1: C: {'a': 1} is not a text, a number or a list of these"),
        ("plugins = [['smo']]", "line 1: plugins: ['smo'] is not a text or a number"),
        ("repeat = 1.5", "line 1: repeat: '1.5' is not a whole number >= 1"),
        ("repeat = 3\nrepeat = 4", "line 2: a key is given twice"),
        ("target-gap = 1\ntarget_gap = 1", "line 2: 'target_gap' is given twice"),
        ("time_limit = 10:00:00", "line 1: time_limit: 10:00:00 is not a text"),
        ("cold = 1", "line 1: cold: 1 is not true or false"),
        ("output = 'x.csv'", "line 1: 'output' is no part of a study; give --output with the command"),
        ("fresh = true", "line 1: 'fresh' is no part of a study; give --fresh with the command"),
        ("help = true", "line 1: there is no option 'help'"),
        ("[study]\nplugins = 'smo'", "line 1: [study] is a section; the keys of a study stand above any"),
        ("[output]\nplugins = 'smo'", "line 1: [output] is a section"),
        ("[path]\nC = 'x'", "line 1: path: C=x is no number"),
        ("plugins = 'smo[tau=0]'", "line 1: plugins: solver 'smo': parameter tau='0' is not valid"),
        ("datasets = './nowhere.csv[sclae=standard]'", "line 1: datasets: data file"),
        ("C = [1", "line 1: unclosed array"),
        ("= 1", "line 1: invalid statement"),
        (b"C = '\xff'", "line 1: the byte 0xff is no UTF-8"),
        ("C = " + "[" * 5000, "nested too deep"),
        ("C = " + "9" * 5000, "a number has too many digits"),
    ],
)
def test_a_mistake_is_a_sentence_with_its_line(tmp_path, text, sentence):
    told = mistakes(tmp_path, text)
    assert any(each.startswith(sentence) or sentence in each for each in told), told


def test_all_mistakes_are_told(tmp_path):
    told = mistakes(tmp_path, "plugins = 'smu'\nC = 'a'\nfoo = 1\nrepeat = 0\n[path]\nx = 1")
    assert [each.partition(":")[0] for each in told] == [f"line {n}" for n in (1, 2, 3, 4)] + told[4:5]
    assert len(told) in (4, 5)


def test_files_that_cannot_be_read(invoke, tmp_path):
    (tmp_path / "large.toml").write_bytes(b"#" * 2_000_000)
    for path in (tmp_path, tmp_path / "nowhere.toml", tmp_path / "large.toml", "a\0b", "x" * 5000):
        done = invoke("compare", "--study", str(path))
        assert done.exit_code == 2
        assert done.stderr.startswith("harness: ")
        assert done.stderr.count("\n") == 1


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(invoke, tmp_path):
    done = invoke(
        "compare", "--plugins", "smo", "--datasets", "digits", "--save-study", str(tmp_path / "no" / "s.toml")
    )
    assert done.exit_code == 2
    assert "the study cannot be written" in done.stderr
    assert not (tmp_path / "default.sqlite").exists()


# -- a thousand files that somebody, or something, has spoilt ----------------------------------------------

VALUES = [
    "0", "-1", "1e400", "-inf", "nan", "9" * 400, "0x" + "f" * 300, "true", "''", '"\\u0000"', '"\\U0001F600"', "[]",
    "[[]]", "[[[1]]]", "{}", "{a = {b = [1]}}", "1979-05-27", "07:32:00", "'[[[]]'", "'a[b=1'", '"\\""', "'*'", "'?,?'",
    "'fw/*[C=[1,2,3]]'", "'smo[tau=[1e-3,1e-4],C=[1,2]]'", "'" + "a" * 3000 + "'", "'" + "[" * 500 + "'", "'../..'",
    "'/etc/passwd'", "'2^2^2^2'", "'1e-3..1e3/99999999'", "'0-99999999999'", "'\u202e\u200b'", "[1, 'x', 2.5, false]",
    "'C=[1,2],C=[3]'", "['C', 'gamma']", "'C..1:2'", "'none'", "'scale'", "'1h'", "'512G'", '"""\n\n"""', "1_0",
]  # fmt: skip
KEYS = [
    "C",
    "gamma",
    "path",
    "plugins",
    "seed",
    "Datasets",
    "plugin_path",
    '""',
    '"a b"',
    "a.b.c",
    "path.C",
    "'\\'",
    "D-minus",
]


def spoilt(draw):
    """The base with some lines changed, doubled, cut, moved or filled with something else, or with other bytes."""
    lines = BASE.splitlines()
    for _ in range(draw.randint(1, 4)):
        index, what = draw.randrange(len(lines)), draw.randrange(9)
        key = lines[index].partition("=")[0].strip() or "C"
        if what == 0:
            lines[index] = f"{key} = {draw.choice(VALUES)}"
        elif what == 1:
            lines[index] = f"{draw.choice(KEYS)} = {draw.choice(VALUES)}"
        elif what == 2:
            lines.insert(draw.randrange(len(lines)), lines[index])
        elif what == 3:
            lines[index] = lines[index][: draw.randrange(len(lines[index]) + 1)]
        elif what == 4:
            place = draw.randrange(len(lines[index]) + 1)
            lines[index] = (
                lines[index][:place] + draw.choice(string.printable + "\u00e9\U0001f600") + lines[index][place:]
            )
        elif what == 5:
            lines[index] = f"{key} = {'[' * draw.choice((2, 50, 3000))}"
        elif what == 6:
            lines[index] = f"{''.join(draw.sample(key, len(key))) or 'x'} = 1"
        elif what == 7:
            lines[index] = f"[{key}]"
        else:
            del lines[index]
            lines = lines or [""]
    content = bytearray("\n".join(lines).encode())
    for _ in range(draw.choice((0, 0, 0, 1, 3)) if content else 0):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def test_a_thousand_spoilt_files_give_sentences(tmp_path, registry, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = 0
    for seed in range(1000):
        path = tmp_path / "study.toml"
        content = spoilt(random.Random(seed))
        path.write_bytes(content)
        try:
            study, _ = meant(path, registry)
        except UsageError as error:
            refused += 1
            for sentence in str(error).split("\n  "):
                assert sentence.strip(), content
                assert len(sentence) < 2500, content
                assert sentence.endswith((".", ":")), (content, sentence)
                assert plain(sentence) == sentence, content
        else:
            assert isinstance(study, Study)
    assert 500 < refused < 1000
