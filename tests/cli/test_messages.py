"""What the command and ``harness.compare`` print where nothing is measured: one file has every sentence, compared as a whole.

A line that begins with ``$`` is a command, with ``>>>`` a call, with ``@`` a file that is written before. All other lines are
what these print; ``HARNESS_GOLDEN=write`` writes them anew, see `tests.golden`.
"""

import os
import re
import shlex
from pathlib import Path

import harness
from harness import CSVC, RBF, Solver
from tests.cli.conftest import SLOW
from tests.golden import assert_same

FILE = Path(__file__).with_name("messages.txt")
X, Y = [[0.0, 1.0], [1.0, 0.0]] * 40, ["spam", "ham"] * 40
NAMES = {"harness": harness, "CSVC": CSVC, "RBF": RBF, "Solver": Solver, "X": X, "Y": Y}


def test_every_message_is_as_the_file_has_it(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    (tmp_path / "project").mkdir()
    (tmp_path / "project/pyproject.toml").touch()
    printed = []
    for line in FILE.read_text().splitlines():
        sign, _, rest = line.partition(" ")
        if sign in ("$", ">>>", "@", "#"):
            printed.append(line if not printed else f"\n{line}")
        if sign == "@":
            name, _, text = rest.partition(" ")
            (tmp_path / name).write_bytes(text.encode().decode("unicode_escape").encode("latin-1"))
        elif sign == "$":
            done = invoke(*shlex.split(rest.replace("SLOW", SLOW))[1:])
            printed += [done.stdout.rstrip(), done.stderr.rstrip(), f"[{done.exit_code}]"]
        elif sign == ">>>":
            printed.append(_raised(rest))
    text = "\n".join(part for part in printed if part) + "\n"
    text = re.sub(
        r"the results of [\d,]+ fit", "the results of N fit", text.replace(str(tmp_path), "TMP").replace(SLOW, "SLOW")
    )
    assert_same(FILE, text)


def _raised(call):
    try:
        return repr(eval(call, dict(NAMES)))
    except harness.HarnessError as error:
        return f"{type(error).__name__}: {error}"
