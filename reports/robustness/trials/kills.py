"""Trials of kill -9 and SIGSTOP: of the command, its workers, certifiers and runs, at random times, several at once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from harness.run import allowed
from reports.robustness.trials import judge, slow_plugin
from reports.robustness.trials.place import Pace, Place, Trial, Verdict

_ROLES = ("command", "driver", "worker", "worker", "certifier", "run", "run")
_LIMIT = 3.0  # seconds, the time limit of the runs
_GRACE = 2.0
_DRIVER_KILLED = 128 + signal.SIGKILL  # as a shell has it: what watches the driver ends like it
_RUN = 0.3  # seconds of a run and what is done for it


@dataclass(frozen=True)
class Event:
    """A signal to one process of a role, so many seconds after the commands began."""

    seconds: float
    role: str
    number: signal.Signals

    def __str__(self) -> str:
        return f"{self.number.name} to a {self.role} at {self.seconds:.1f} s"


def run(trial: Trial, place: Place, pace: Pace) -> Verdict:
    """Start the commands, send the signals, and repeat the command to its end."""
    rng = trial.rng()
    drivers, jobs, numbers = rng.choices((1, 2, 3), (4, 2, 1))[0], rng.choice((1, 1, 2)), range(rng.randint(4, 8))
    starting = pace.compare * place.load.factor * drivers
    events = drawn(rng, starting + _RUN * len(numbers))
    arguments = [
        "compare", "--plugin-path", slow_plugin.__file__, "--plugins", f"slow[number=[{','.join(map(str, numbers))}]]",
        "--formulation", "c-svc", "--datasets", "twonorm[n=60,n_test=20]", "--time-limit", f"{_LIMIT:g}",
        "--jobs", str(jobs), "--store", str(place.store), "--format", "json",
    ]  # fmt: skip
    (place.given / "command.txt").write_text("harness " + " ".join(arguments) + "\n", encoding="utf-8")
    verdict = Verdict(f"{drivers} at once, {jobs} jobs, {len(numbers)} runs; {'; '.join(map(str, events))}")
    processes = [place.start(arguments, f"command{number}") for number in range(drivers)]
    verdict.violations += _sent(events, place, rng, time.monotonic())
    killed = {process.pid for process in processes if process.poll() is not None and (process.poll() or 0) < 0}
    if len(killed) == drivers:
        verdict.violations += judge.nothing_left(place, groups=False)
    stops = sum(event.number is signal.SIGSTOP for event in events)
    quiet = pace.compare * (drivers + 0.6 * len(events)) + _RUN * len(numbers) * drivers
    phases = (stops + 1) * (_LIMIT + _GRACE)
    if any(event.number is signal.SIGSTOP and event.role != "run" for event in events):
        # perhaps where it starts or reads data, of which nothing is a plugin's
        phases += stops * max(allowed.starting(_LIMIT), allowed.reading(0.0, _LIMIT))
    began = time.monotonic()
    for number, process in enumerate(processes):
        done = place.wait(process, lambda: quiet * place.load.factor + phases + 60.0, f"command{number}")
        expected = {0, 1, -signal.SIGKILL, _DRIVER_KILLED} if events else {0}
        verdict.violations += judge.code(done, expected) + judge.words(done, quoted=True)
    verdict.seconds, verdict.limit = time.monotonic() - began, quiet * place.load.factor + phases
    if verdict.seconds > verdict.limit:
        verdict.violations.append(
            f"took {verdict.seconds:.1f} s after the last signal, allowed are {verdict.limit:.1f} s"
        )
    verdict.violations += judge.nothing_left(place, groups=not events)
    ended = any(event.role in ("command", "driver") for event in events)
    return _repeated(verdict, place, arguments, list(numbers), quiet + phases, ended=ended)


def drawn(rng: random.Random, until: float) -> list[Event]:
    """Return up to four events in their order; one that ends a command is the last, for afterwards there is little to hit."""
    found = []
    for _ in range(rng.choices((0, 1, 2, 3, 4), (1, 4, 3, 2, 1))[0]):
        role = rng.choice(_ROLES)
        stops = role in ("worker", "run", "certifier") and rng.random() < 0.35
        found.append((role, signal.SIGSTOP if stops else signal.SIGKILL))
    found.sort(key=lambda event: event[0] in ("command", "driver"))
    times = sorted(rng.uniform(0.2 * until, until) for _ in found)
    return [Event(seconds, *each) for seconds, each in zip(times, found, strict=True)]


def _sent(events: list[Event], place: Place, rng: random.Random, began: float) -> list[str]:
    """Send the signals when they are due; return what was left behind by a command that was killed when it was alone."""
    for event in events:
        while time.monotonic() - began < event.seconds:
            place.load.sample()
            if all(process.poll() is not None for process in place.started):
                return []
            time.sleep(min(0.1, max(0.0, event.seconds - (time.monotonic() - began))))
        found = processes(place.started).get(event.role, [])
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(sorted(found)), event.number)
    time.sleep(0.1)
    return []


def processes(commands: list[subprocess.Popen[bytes]]) -> dict[str, list[int]]:
    """Return the living processes of commands by their roles."""
    found: dict[str, list[int]] = {"command": [each.pid for each in commands if each.poll() is None]}
    for pid in found["command"]:
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    found.setdefault(_role(process), []).append(process.pid)
    found.setdefault("driver", found["command"])  # where the command itself is the driver
    return found


def _role(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    if "harness.run.certify" in line:
        return "certifier"
    if "harness.run.worker" in line:
        parent = process.parent()
        below = parent is not None and "harness.run.worker" in " ".join(parent.cmdline())
        return "run" if below else "worker"
    return "driver" if "harness.cli.main" in line else "other"


def _number(row: dict[str, Any]) -> int:
    return int(row["parameters"]["number"])


def _repeated(
    verdict: Verdict, place: Place, arguments: list[str], numbers: list[int], patience: float, *, ended: bool
) -> Verdict:
    """Repeat the command until its exit code says that nothing failed, and judge what is in the store."""
    for attempt in range(2):
        done = place.run(arguments, 2.0 * patience + 20.0, f"again{attempt}")
        found, wrong = judge.rows(done)
        verdict.violations += judge.code(done) + judge.words(done, quoted=True) + wrong
        if done.code == 0 or wrong:
            break
    asked = [(number,) for number in numbers]
    rows = [{"number": _number(row)} for row in found]
    verdict.violations += judge.one_row_each(rows, asked, ["number"])
    verdict.violations += judge.stored(Path(place.store), _number, numbers)
    # where nothing was left to run, no process was started whose group takes the place of those of a killed driver
    verdict.violations += judge.nothing_left(place, groups=not ended)
    return verdict
