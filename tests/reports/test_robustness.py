"""reports/robustness: what the program notes of a fault, what the page makes of it, and that the page is made by it."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest

from reports.kit.markdown import NOT_MEASURED, filled
from reports.robustness import page as report
from reports.robustness.faults import FAULTS, Fault
from reports.robustness.other_tools import ROOT, Outcome, Trial
from reports.robustness.tools import MEASURED, NAMES, TOOLS

KNOWN = {fault.name: fault for fault in FAULTS}
FACTS = {"patience": 60.0, "no_option": ["memory"]}
WHOLE = {name: [MEASURED] for name in NAMES}


def judged(name, **changed):
    outcome = {**asdict(Outcome("harness", name, exits=[1])), "rows": WHOLE, **changed}
    return report.complaints(KNOWN[name], outcome, FACTS)


def test_the_page_is_what_the_program_makes():
    page = (report.FOLDER / "README.md").read_text()
    assert page == filled(page, report.sections(*report.read(report.FOLDER)))
    results, _ = report.read(report.FOLDER)
    assert {(each["tool"], each["fault"]) for each in results["outcomes"]} == {
        (tool, fault.name) for tool in TOOLS for fault in FAULTS
    }
    assert NOT_MEASURED not in report.sections(*report.read(report.FOLDER))["faults"]


@pytest.mark.parametrize(
    ("name", "changed", "wrong"),
    [
        ("raise", {"row_told": True}, []),
        ("raise", {"rows": {**WHOLE, "b_fault": ["failed"]}}, ["failed row, without the reason"]),
        ("raise", {"rows": {"c_last": [MEASURED]}, "told": True}, ["no row, told on the screen", "1 of the 2 others measured"]),
        ("hang", {"ended": False, "rows": None}, ["still running after 60 s", "no row, nothing said", "0 of the 2 others measured"]),
        ("memory", {"exits": [0]}, ["it has no such limit"]),
        ("segfault", {"exits": [0]}, ["measured as if nothing was", "exit code 0"]),
        ("pool", {"exits": [0], "left_processes": 2}, ["2 processes left"]),
        ("files", {"exits": [0], "left_files": ["left_cwd", "left_shm"]}, ["left in the working folder, /dev/shm"]),
        ("message", {"row_told": True, "printed": 10**8, "kept": 10**7}, ["100 MB printed", "10 MB kept"]),
        ("escapes", {"row_told": True, "escapes": True}, ["escapes reach the terminal"]),
        ("pair", {"exits": [0, 0], "calls": dict.fromkeys(NAMES, 1)}, []),
        ("pair", {"exits": [0, 0], "calls": dict.fromkeys(NAMES, 2)}, ["3 of 6 measurements kept", "6 runs for 3 benchmarks"]),
        ("kill",
         {"calls": {"a_first": 2}, "rows": {"a_first": [MEASURED]}}, ["2 of 3 missing in the end", "what was measured is lost"]),
        ("full", {"told": True}, []),
        ("full", {"traceback": True, "exits": [0]}, ["a traceback", "does not say why", "exit code 0"]),
        ("damaged", {"told": True, "rows": {"a_first": [MEASURED]}}, []),
        ("damaged", {"rows": None}, ["nothing said", "no other row is read"]),
        ("full", {"note": "could not be tried: no mount"}, ["could not be tried: no mount"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_outcome(name, changed, wrong):
    outcome = {"calls": {NAMES[0]: 1}} | changed
    assert judged(name, **outcome) == wrong


def test_a_campaign_is_summed_up_by_kind():
    line = {"kind": "files", "seed": 7, "trial": "7:files:1", "seconds": 3.0, "limit": 5.0, "verdict": "ok"}
    found = report.summed_up([
        line, {**line, "seconds": 4.5},
        {**line, "kind": "kills", "seconds": 9.0, "verdict": ["late", "a row is lost"], "trial": "7:kills:2"},
    ])  # fmt: skip
    assert found == {
        "seeds": [7],
        "kinds": {
            "files": {"trials": 2, "violated": 0, "slowest_beyond_limit": -0.5},
            "kills": {"trials": 1, "violated": 1, "slowest_beyond_limit": 4.0},
        },
        "violations": [{"trial": "7:kills:2", "verdict": "late; a row is lost"}],
    }
    text = report.sections({"tools": TOOLS_AS_FOUND, "outcomes": []}, found)["campaign"]
    assert "3 trials with seed 7, 1 of them with a violation." in text
    assert "| kills | 1 | 1 | +4.0 s |" in text
    assert "* 7:kills:2: late; a row is lost" in text


TOOLS_AS_FOUND = {
    "harness": {
        "version": "1", "scope": "", **FACTS, "measured_at": "2026-01-01T00:00",
        "machine": {"processor": "p", "cores": 2, "memory_bytes": 2**34, "system": "Linux", "python": "3"},
    }
}  # fmt: skip


def test_every_fault_is_a_program():
    for fault in FAULTS:
        assert "work" in compile(fault.source(), fault.name, "exec").co_names


class Script(TOOLS["harness"]):
    """A tool that only imports and calls the three files, so that what a trial notes can be told."""

    name = "script"

    def command(self):
        program = "import a_first, b_fault, c_last\nfor each in (a_first, b_fault, c_last): each.work()"
        return [sys.executable, "-c", program]

    def prepare(self, sources):
        self.results.mkdir()
        for name, text in sources.items():
            (self.folder / f"{name}.py").write_text(text)

    def rows(self):
        return {}


@pytest.mark.parametrize(
    ("work", "noted"),
    [
        ("pass", {}),
        ("raise RuntimeError('no luck \\x1b]0;title\\x07')", {"exits": [1], "told": True, "traceback": True, "escapes": True}),
        ("time.sleep(100)", {"ended": False, "exits": [None]}),
        ("if os.fork() == 0:\n    os.setsid()\n    time.sleep(100)", {"left_processes": 1}),
        ("open('left_cwd', 'w').close(); open(os.environ['ROBUSTNESS_SHM'], 'w').close()", {"left_files": ["left_cwd", "left_shm"]}),
        ("print('x' * 3_000_000)", {"printed": 3_000_001}),
    ],
)  # fmt: skip
def test_a_trial_notes_what_became_of_a_fault(tmp_path, monkeypatch, work, noted):
    monkeypatch.setattr("reports.robustness.other_tools._SETTLED", 0.1)
    patience = 1.5 if "ended" in noted else 60.0
    trial = Trial(Script, Fault("tried", "is tried", work, says="no luck"), tmp_path, ROOT, patience)
    found = asdict(trial.run())
    expected = {"ended": True, "exits": [0], "told": False, "traceback": False, "escapes": False, "left_processes": 0}
    assert {name: found[name] for name in (*expected, *noted)} == {**expected, **noted}
    if found["ended"]:
        assert found["calls"] == {name: int(name != "c_last" or found["exits"] == [0]) for name in NAMES}
    assert not trial.folder.exists()
    assert trial._alive() == []


@pytest.mark.slow
def test_the_program_tries_the_harness(tmp_path):
    target = tmp_path / "results.json"
    command = [sys.executable, "reports/robustness/other_tools.py", "--tools", "harness", "--faults", "raise"]
    subprocess.run([*command, "--output", str(target)], cwd=ROOT, check=True, timeout=280, capture_output=True)
    (found,) = json.loads(target.read_text())["outcomes"]
    assert report.complaints(KNOWN["raise"], found, FACTS) == []
    assert found["rows"]["a_first"] == [MEASURED]
