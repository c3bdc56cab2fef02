"""Nothing of a plugin, a file's name or a store reaches a terminal raw: no title, no clipboard, no colour, no bidi override."""

import io
import json
import re

import pytest

from harness import Record
from harness.report import progress
from harness.run.store import Store
from harness.support.printable import plain, plain_line
from tests.run.rows import rewrite

ESCAPES = "\x1b]0;title\x07\x1b]52;c;Y29weQ==\x07\x9b31m\u202eturned\x00\x08\x7f"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

SOLVER = f'''
from dataclasses import dataclass
from harness import CSVC, Iterate, Solver, hookimpl

@dataclass(frozen=True)
class Loud(Solver):
    """Loud."""

    name = "loud"
    solves = (CSVC,)
    word: str = "quiet"

    def iterates(self, problem, rng):
        raise ValueError({ESCAPES!a})

@hookimpl
def harness_solvers():
    return [Loud]
'''


@pytest.mark.usefixtures("warm_sessions")
def test_the_commands_output_has_no_control_characters(invoke, tmp_path, monkeypatch):
    """Of a comparison of plugins and data with escapes wherever text can be put."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loud\x1b[31m.py").write_text(SOLVER)
    (tmp_path / "unwell\x9b31m.py").write_text(f"raise BaseException({ESCAPES!a})\n")
    (tmp_path / "mine.csv").write_text("x,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    (tmp_path / "b\x07.csv").write_text("")
    paths = ["--plugin-path", "loud\x1b[31m.py", "--plugin-path", "unwell\x9b31m.py"]
    for code, words in (
        (1, ["compare", "--plugins", "loud[word=a\x9b31m\x07title],unwell\x9b31m", "--datasets", "./mine.csv"]),
        (2, ["compare", "--plugins", f"lo{ESCAPES[:-3]}ud"]),
        (2, ["compare", "--plugins", "loud", "--datasets", "./b\x07.csv"]),
        (0, ["list", "plugins"]),
    ):
        done = invoke(*words, *paths)
        assert done.exit_code == code, done.stderr
        assert UNSAFE.findall(done.stdout + done.stderr) == []
        assert "title" in done.stdout + done.stderr or "./b\x07.csv" in words, "the text itself is there"


@pytest.fixture
def store(tmp_path):
    """A store whose rows have text as it came, with the right checksum."""
    path = tmp_path / "old.sqlite"
    names = ("label", "reason", "dataset", "plugin", "solver", "output")
    with Store(path) as opened:
        opened.append(Record({"key": "k", "status": "error", "measured_at": "2026-01-01T00:00:00+00:00",
                              "info": {"RAW": "RAW"}, "faults": ["RAW"], **dict.fromkeys(names, "say RAW")}))  # fmt: skip
    rewrite(path, 1, lambda text: text.replace("RAW", json.dumps(ESCAPES)[1:-1]))
    return path


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_what_a_store_has_is_shown_clean_in_every_format(invoke, store, tmp_path, form):
    shown = invoke("results", "--store", str(store), "--format", form)
    assert shown.exit_code == 0
    assert "title" in shown.stdout
    assert UNSAFE.findall(shown.stdout + shown.stderr) == []
    invoke("results", "--store", str(store), "--format", form, "--output", str(tmp_path / "file"))
    assert UNSAFE.findall((tmp_path / "file").read_text()) == []


def test_progress_is_clean_in_lines_and_in_the_live_display(monkeypatch):
    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    record = Record({"label": ESCAPES, "dataset": ESCAPES, "reason": ESCAPES, "status": "error"})
    for reporter in (progress.Lines(), progress.Live()):
        with reporter:
            reporter.planned([], 0)
            reporter.finished(record, False)
            reporter.say(f"note: {ESCAPES}")
    assert said.getvalue().count("title") == 8
    assert UNSAFE.findall(said.getvalue()) == []


def test_text_that_is_plain_already_is_left_alone():
    text = "größer ≤ 1e-3 \N{GREEK SMALL LETTER ALPHA} 漢字 e\N{COMBINING ACUTE ACCENT}"
    assert plain(text) == plain_line(text) == text
    assert plain("two\nlines\tand\rmore") == "two\nlines\tand\N{REPLACEMENT CHARACTER}more"
    assert plain_line("two\nlines") == "two lines"
    assert plain("lone \udc80 surrogate") == "lone ? surrogate"
    assert plain_line("x" * 50, 10) == f"{'x' * 10} ... (50 characters)"
