"""Compose faults at random for a given time, and check how the harness handles them.

    python -m reports.robustness.campaign --seconds 3600 --seed 7
    python -m reports.robustness.campaign --trial plugins:12 --seed 7       # one trial again; its files are kept

Kinds of trials: ``plugins`` (a solver of the tests' plugins, or of `reports.robustness.deeds`, that raises, hangs, crashes,
floods, leaves processes, yields nonsense), ``kills`` (signals to the command and its processes, then the command again),
``lines`` (odd command lines).

Every trial checks the same promises: the command ends in time with an exit code that the manual knows; no traceback and
no control character is printed; each run has one row, those of good solvers are ``ok`` and in the store; no process and no file
is left behind. The files of a trial that breaks one stay. The exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from harness import HarnessError, Status
from harness.run.store import read_results
from reports.robustness.deeds import DEEDS, PLACES
from tests.adversaries.plugins.cheats import AT_END, BEFORE, INSTEAD
from tests.run.plugins.faulty import FAULTS

ROOT = Path(__file__).resolve().parents[2]
HARNESS = [sys.executable, "-m", "harness"]
MARKER = "HARNESS_CAMPAIGN"  # in the environment of every process of a trial
DATA = "twonorm[n=60,n_test=20]"
PATIENCE = 60.0  # seconds that a command may take in addition to the limits of its runs, on an idle machine
SETTLING = 3.0  # seconds for what a command left to be gone
_SUBREAPER = 36  # of prctl
# the row of a solver that aborts ends with Python's message
_FAULTS = re.compile(
    r"Traceback \(most recent call last\)|internal error|Exception ignored in|^Fatal Python error", re.M
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


# -- the place of a trial --------------------------------------------------------------------------------------


@dataclass
class Done:
    """A command that ended, or was ended: then its ``code`` is None."""

    code: int | None
    out: str
    err: str
    seconds: float


@dataclass
class Place:
    """The folders of one trial, the processes started in it, and a sentence for each broken promise."""

    folder: Path
    cache: Path
    command: Sequence[str] = tuple(HARNESS)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("cwd", "tmp", "home", "given"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.given, self.store = self.folder / "given", self.folder / "given" / "store.sqlite"
        self.token = f"{self.folder.name}-{os.getpid()}"
        self.strangers = {process.pid for process in psutil.Process().children(recursive=True)}
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # what the commands leave becomes a child of this process

    def start(self, *arguments: str | bytes, name: str = "command") -> subprocess.Popen[bytes]:
        """Start ``harness ARGUMENTS``; what it prints goes to files of that name."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HARNESS_", "PYTEST"))}
        variables = {
            MARKER: self.token, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
            "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp"), "HARNESS_CACHE": str(self.cache),
            "HARNESS_STORE": str(self.store), "SLOW_STEPS_LOG": str(self.given / "log"),
        }  # fmt: skip
        with (self.folder / f"{name}.out").open("wb") as out, (self.folder / f"{name}.err").open("wb") as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            how = {**streams, "env": {**inherited, **variables}, "cwd": self.folder / "cwd", "start_new_session": True}
            process = subprocess.Popen([*self.command, *arguments], **how)
        self.started.append(process)
        return process

    def wait(self, process: subprocess.Popen[bytes], seconds: float, name: str = "command") -> Done:
        """Wait until it ends, at most so long, and longer on a busy machine; then kill it."""
        began, load = time.monotonic(), max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        try:
            code: int | None = process.wait((PATIENCE + seconds) * load)
        except subprocess.TimeoutExpired:
            code = None
            self.end_all()
            process.wait()
        texts = [(self.folder / f"{name}.{end}").read_bytes().decode(errors="replace") for end in ("out", "err")]
        return Done(code, texts[0], texts[1], time.monotonic() - began)

    def run(self, *arguments: str | bytes, seconds: float = 0.0, name: str = "command") -> Done:
        """Run ``harness ARGUMENTS`` to its end."""
        return self.wait(self.start(*arguments, name=name), seconds, name)

    def processes(self) -> dict[int, str]:
        """Return the living processes of the trial, by their environment and as adopted children, and what each is."""
        with contextlib.suppress(ChildProcessError):
            known = {process.pid for process in self.started} | self.strangers
            for child in psutil.Process().children():
                if child.pid not in known:
                    os.waitpid(child.pid, os.WNOHANG)
        children = {child.pid for child in psutil.Process().children(recursive=True)}
        adopted = children - _with_descendants(self.strangers)
        running = {}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.pid in adopted or process.environ().get(MARKER) == self.token
                if ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    running[process.pid] = " ".join(process.cmdline())[-80:] or process.name()
        return running

    def end_all(self) -> None:
        """End every process of the trial."""
        until = time.monotonic() + SETTLING
        while (running := self.processes()) and time.monotonic() < until:
            for pid in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def close(self, *, keep: bool) -> None:
        """End the remaining processes; remove the folder unless ``keep``."""
        self.end_all()
        for process in self.started:
            process.wait()
        ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _with_descendants(pids: set[int]) -> set[int]:
    """Return these processes and all below them."""
    tree = set(pids)
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            tree |= {child.pid for child in psutil.Process(pid).children(recursive=True)}
    return tree


# -- the promises ----------------------------------------------------------------------------------------------


def judge_words(place: Place, done: Done, codes: Sequence[int] = (0, 1)) -> None:
    """Check that a command ended in time, its exit code and its output."""
    if done.code is None:
        place.broken.append(f"had not ended after {done.seconds:.0f} s and was killed")
    elif done.code not in codes:
        place.broken.append(f"ended with {done.code}, not with one of {list(codes)}: {done.err[-200:]!r}")
    elif done.code == 2 and not done.err.strip():
        place.broken.append("ended with 2 and said nothing")
    for name, text in (("output", done.out), ("standard error", done.err)):
        if name != "output" and (fault := _FAULTS.search(text)):
            place.broken.append(f"'{fault[0]}' on {name}: {text[-200:]!r}")
        if control := _CONTROL.search(text.replace("\r\n", "\n")):
            place.broken.append(f"the control character {control[0]!r} on {name}")


def judge_rows(place: Place, done: Done, planned: Sequence[tuple[str, Any]], good: Sequence[str]) -> None:
    """Check that a comparison prints and stores one row for each run, ``ok`` and certified for good solvers.

    planned : the solver and the first parameter, or else the seed, of each run
    """
    try:
        rows, frame = json.loads(done.out), read_results(place.store)
    except (ValueError, HarnessError) as error:
        place.broken.append(f"the rows cannot be read: {error}")
        return
    shown = Counter(map(_run_of, rows))
    stored = Counter(_run_of(row) for row in frame.to_dict("records") if row["sources"])
    place.broken += frame.attrs["damaged"]
    place.broken += [f"{shown[run]} rows shown of {run}" for run in planned if shown[run] != 1]
    place.broken += [f"no row stored of {run}" for run in planned if run[0] in good and not stored[run]]
    place.broken += [
        f"the good solver {row['solver']} is {row['status']}: {str(row.get('reason'))[:200]!r}"
        for row in rows
        if row["solver"] in good and (row["status"] != Status.OK or row.get("relative_gap") is None)
    ]


def _run_of(row: Mapping[str, Any]) -> tuple[str, Any]:
    parameters = row["parameters"] or {}
    parameter = {"bad": "deed", "faulty": "fault", "cheat": "way", "slow-steps": "number"}.get(row["solver"])
    return row["solver"], parameters.get(parameter, row["seed"])


def judge_leftovers(place: Place) -> None:
    """Check that no process and no file is left behind."""
    until = time.monotonic() + SETTLING
    while (alive := place.processes()) and time.monotonic() < until:
        time.sleep(0.05)
    place.broken += [f"left process {pid}, {what}" for pid, what in list(alive.items())[:5]]
    files = [path for name in ("cwd", "tmp", "home") for path in (place.folder / name).rglob("*")]
    if files:
        place.broken.append(f"left {len(files)} files: {', '.join(map(str, files[:3]))}")


# -- kinds of trials -------------------------------------------------------------------------------------------

PLUGINS = {
    "reports/robustness/deeds.py": ("bad", "c-svc", [f"deed={deed},where={place}" for deed in DEEDS for place in PLACES]),
    "tests/run/plugins/faulty.py": ("faulty", "c-svc", [f"fault={fault}" for fault in FAULTS]),
    "tests/adversaries/plugins/cheats.py": ("cheat", "c-svc-nobias", [f"way={way}" for way in (*BEFORE, *AT_END, *INSTEAD)]),
}  # fmt: skip


def plugins(place: Place, rng: random.Random) -> str:
    """Compare a bad solver and a good one."""
    path, (solver, formulation, ways) = rng.choice(list(PLUGINS.items()))
    way, limit = rng.choice(ways), rng.choice((1, 2, 3))
    done = place.run(
        "compare", "--plugin-path", str(ROOT / path), "--plugins", f"{solver}[{way}],smo", "--formulation", formulation,
        "--datasets", DATA, "--time-limit", str(limit), "--memory-limit", "1G", "--format", "json", seconds=8.0 * limit,
    )  # fmt: skip
    judge_words(place, done)
    judge_rows(place, done, [(solver, way.split("=")[1].split(",")[0]), ("smo", 0)], ["smo"])
    return f"{solver}[{way}]"


def kills(place: Place, rng: random.Random) -> str:
    """Send signals to processes of a comparison at random times, then repeat the command."""
    numbers = range(rng.randint(4, 8))
    arguments = [
        "compare", "--plugin-path", str(ROOT / "tests/run/plugins/steps.py"), "--plugins",
        f"slow-steps[number=[{','.join(map(str, numbers))}]]", "--formulation", "c-svc", "--datasets", DATA, "--time-limit", "3",
        "--jobs", str(rng.choice((1, 2))), "--format", "json",
    ]  # fmt: skip
    process = place.start(*arguments)
    signals = []
    for _ in range(rng.randint(1, 3)):
        time.sleep(rng.uniform(0.2, 3.0))
        with contextlib.suppress(psutil.Error):
            below = psutil.Process(process.pid).children(recursive=True)
            hit = rng.choice(below) if below and rng.random() < 0.7 else psutil.Process(process.pid)
            whole = hit.pid == process.pid
            sent = signal.SIGSTOP if not whole and rng.random() < 0.35 else signal.SIGKILL
            hit.send_signal(sent)
            signals.append(f"{sent.name} to {'the command' if whole else 'a process'}")
    judge_words(place, place.wait(process, 30.0), (0, 1, -signal.SIGKILL))
    for attempt in range(2):
        done = place.run(*arguments, seconds=30.0, name=f"again{attempt}")
        judge_words(place, done)
        if done.code == 0:
            break
    judge_rows(place, done, [("slow-steps", number) for number in numbers], ["slow-steps"])
    return f"{len(numbers)} runs; {', '.join(signals)}"


ODD = (
    "", " ", "-1", "0", "1e9", "1e999", "nan", "-inf", "1_000", "9" * 40, "None", "[]", "[[", "a[b=", "a[b=c]", "smo[tau=x]",
    "smo[tau=[]]", "smo[=1]", "smo[tau=1,tau=2]", ",,,", "*", "[*]", "../../..", "/dev/null", "/dev/full", "/nowhere/at/all", "~",
    "%s%n", "{0}", "\\", "'", "\n", "\x1b[2J", "\u202e", "\ud83d", "x" * 5000, "-", "--", "5-1", "0-1000000000", "1,,2",
)  # fmt: skip
WORDS = {"compare": ["--plugins", "smo", "--time-limit", "1"], "results": [], "list": ["solvers"], "describe": ["smo"]}
OPTIONS = {
    "compare": (
        "--datasets", "--formulation", "--kernel", "--gamma", "--C", "--target-gap", "--memory-limit", "--seeds", "--repeat",
        "--threads", "--jobs", "--metrics", "--store", "--format", "--output", "--plugin-path",
    ),
    "results": ("--store", "--where", "--limit", "--format", "--output"),
    "list": ("--format", "--plugin-path"),
    "describe": ("--plugin-path",),
}  # fmt: skip


def lines(place: Place, rng: random.Random) -> str:
    """Run an odd command line."""
    command = rng.choice(sorted(OPTIONS))
    arguments = list(WORDS[command])
    for name in rng.sample(OPTIONS[command], min(rng.randint(1, 2), len(OPTIONS[command]))):
        arguments += [name, rng.choice(ODD)]
    done = place.run(*(os.fsencode(each.encode(errors="replace")) for each in [command, *arguments]), seconds=30.0)
    judge_words(place, done, (0, 1, 2, 3))
    for path in (place.folder / "cwd").iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)  # a file that an option names is no leftover
    return ascii(" ".join([command, *arguments]))[:300]


KINDS: dict[str, Callable[[Place, random.Random], str]] = {"plugins": plugins, "kills": kills, "lines": lines}


def trial(kind: str, number: int, seed: int, folder: Path, command: Sequence[str] = HARNESS) -> list[str]:
    """Carry out one trial, say what came of it, and return the promises that were broken."""
    name = f"{kind}-{number}"
    place = Place(folder / name, folder / "cache", command)
    began, composed = time.monotonic(), "?"
    try:
        composed = KINDS[kind](place, random.Random(f"{seed}:{kind}:{number}"))
        judge_leftovers(place)
    finally:
        place.close(keep=bool(place.broken) or composed == "?")
    print(
        f"{kind}:{number}: {composed}: {time.monotonic() - began:.1f} s",
        *place.broken or ["ok"],
        sep="\n    ",
        flush=True,
    )
    return place.broken


def main() -> int:
    """Run trials until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS), help="one kind")
    parser.add_argument("--trial", metavar="KIND:NUMBER", help="this trial alone")
    parser.add_argument("--folder", type=Path, help="where trials happen and are kept  [default: a new one]")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="harness-campaign-"))
    if given.trial:
        kind, _, number = given.trial.partition(":")
        return int(bool(trial(kind, int(number), given.seed, folder)))
    until, counts, broken = time.monotonic() + given.seconds, Counter[str](), Counter[str]()
    while time.monotonic() < until:
        kind = given.only or min(KINDS, key=lambda each: counts[each])
        broken[kind] += bool(trial(kind, counts[kind], given.seed, folder))
        counts[kind] += 1
    for kind, count in counts.items():
        print(f"{kind}: {count} trials, {broken[kind]} with a broken promise")
    if not broken.total():
        shutil.rmtree(folder, ignore_errors=True)
    return int(broken.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
