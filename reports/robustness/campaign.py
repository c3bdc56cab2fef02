"""Try everything that can go wrong, composed at random, for as long as asked, and judge what the harness makes of it.

    python reports/robustness/campaign.py --seconds 3600 --seed 7
    python reports/robustness/campaign.py --seconds 300 --seed 8 --only kills --jobs 2 --output campaign.jsonl
    python reports/robustness/campaign.py --trial 7:plugins:12            # one trial again; its files are kept

Kinds of trial, by their share of the time: plugins with composed faults, kill -9 and SIGSTOP of the command, its workers
and runs, mutated data files of every format, damaged stores, odd command lines, hostile values in the dashboard's pages.
What each is held to is in ``reports/robustness/trials/judge.py``: its time, a sentence instead of a traceback, every row once,
and nothing left behind. Each trial has a process, folders and a control group of its own; the files of one that fails
are kept. Limits of time grow with the load of the machine. Ends with 1 if anything was violated.

--output gets a line of JSON a trial: kind, seed, trial, composed, seconds, limit, verdict ("ok" or the violations).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import select
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

from reports.robustness.trials.place import Pace, Place, Trial, Verdict  # noqa: E402

KINDS = {"plugins": 0.45, "kills": 0.20, "lines": 0.13, "files": 0.10, "stores": 0.10, "pages": 0.02}
"""Their shares of the time."""
_LONGEST_TRIAL = 600.0  # seconds; every wait of a trial is bounded, this is for a fault of the campaign itself
_GOOD = [
    "compare", "--plugins", "smo", "--formulation", "c-svc", "--datasets", "twonorm[n=60,n_test=20]", "--format", "json",
]  # fmt: skip


@dataclass
class Tally:
    """What came of the trials of one kind."""

    trials: int = 0
    violated: int = 0
    seconds: float = 0.0
    excess: float = float("-inf")  # the most that one was beyond its limit


@dataclass
class Campaign:
    """The trials of one seed, in folders below ``folder``."""

    seed: int
    folder: Path
    cache: Path
    keep: bool = False
    pace: Pace = field(default_factory=Pace)
    tallies: dict[str, Tally] = field(default_factory=dict)

    def calibrate(self) -> None:
        """Measure how long commands without faults take here; the first one only fills the caches."""
        place = Place(self.folder / "pace", "pace", self.cache)
        place.run([*_GOOD, "--store", str(place.store)], 300.0)
        seconds: dict[str, list[float]] = {"compare": [], "results": []}
        for _ in range(3):
            for name, command in (("compare", [*_GOOD, "--fresh"]), ("results", ["results", "--format", "json"])):
                before = _cpu_seconds()
                done = place.run([*command, "--store", str(place.store)], 300.0)
                if done.code != 0:
                    raise SystemExit(f"harness {' '.join(command)} ended with {done.code}: {done.err}")
                seconds[name].append(max(_cpu_seconds() - before, done.seconds / done.load))
        place.close(keep=False)
        self.pace = Pace(**{name: statistics.median(found) for name, found in seconds.items()})

    def verdict(self, trial: Trial) -> Verdict:
        """Carry out a trial in this process, which is its own."""
        module = importlib.import_module(f"reports.robustness.trials.{trial.kind}")
        place = Place(self.folder / trial.name.replace(":", "-"), trial.name, self.cache)
        verdict = Verdict("")
        try:
            verdict = module.run(trial, place, self.pace)
        except Exception:  # a fault of the campaign: told like any other
            verdict = Verdict("?", violations=["the campaign itself failed: " + traceback.format_exc()])
        finally:
            place.close(keep=self.keep or bool(verdict.violations))
        return verdict

    def start(self, trial: Trial) -> Running:
        """Carry out a trial in a process of its own, which adopts whatever its commands leave."""
        ours, theirs = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            code = 1
            try:
                os.write(theirs, json.dumps(vars(self.verdict(trial))).encode()[:60_000])
                code = 0
            finally:
                os._exit(code)
        os.close(theirs)
        return Running(trial, pid, ours, time.monotonic())

    def next_kind(self, kinds: list[str], running: list[Running]) -> str:
        """Return the kind that has had the least of its share of the time."""

        def had(kind: str) -> float:
            spent = self.tallies.get(kind, Tally()).seconds
            now = time.monotonic()
            return (spent + sum(now - each.began for each in running if each.trial.kind == kind)) / KINDS[kind]

        return min(kinds, key=had)

    def note(self, running: Running, verdict: Verdict) -> dict[str, Any]:
        """Count a trial, and return its line."""
        seconds = time.monotonic() - running.began
        tally = self.tallies.setdefault(running.trial.kind, Tally())
        tally.trials += 1
        tally.violated += bool(verdict.violations)
        tally.seconds += seconds
        tally.excess = max(tally.excess, verdict.seconds - verdict.limit)
        return {
            "kind": running.trial.kind, "seed": running.trial.seed, "trial": running.trial.name,
            "composed": verdict.composed, "seconds": round(verdict.seconds, 3), "limit": round(verdict.limit, 3),
            "whole": round(seconds, 3), "verdict": verdict.violations or "ok",
        }  # fmt: skip


def _cpu_seconds() -> float:
    """Return the CPU time of the commands so far: what they would take at least on a machine that does nothing else."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class Running:
    """A trial that is under way in a process of its own."""

    trial: Trial
    pid: int
    pipe: int
    began: float

    def ended(self, wait: float) -> Verdict | None:
        """Return the verdict once there is one; a trial that hangs is ended."""
        if select.select([self.pipe], [], [], wait)[0]:
            said = b""
            while part := os.read(self.pipe, 1 << 16):
                said += part
            os.waitpid(self.pid, 0)
            os.close(self.pipe)
            try:
                return Verdict(**json.loads(said))
            except ValueError:
                return Verdict("?", violations=["the process of the trial ended without a verdict"])
        if time.monotonic() - self.began < _LONGEST_TRIAL:
            return None
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        return Verdict("?", violations=[f"the trial itself was still running after {_LONGEST_TRIAL:g} s"])


def trials(campaign: Campaign, kinds: list[str], seconds: float, jobs: int) -> Iterator[tuple[Running, Verdict]]:
    """Carry out trials until the time is over, and yield each with its verdict."""
    until = time.monotonic() + seconds
    numbers = dict.fromkeys(kinds, 0)
    running: list[Running] = []
    while running or time.monotonic() < until:
        while len(running) < jobs and time.monotonic() < until:
            kind = campaign.next_kind(kinds, running)
            running.append(campaign.start(Trial(campaign.seed, kind, numbers[kind])))
            numbers[kind] += 1
        for each in list(running):
            verdict = each.ended(0.2 / len(running))
            if verdict is not None:
                running.remove(each)
                yield each, verdict


def table(tallies: dict[str, Tally]) -> str:
    """Return what came of a campaign as a Markdown table."""
    lines = ["| kind | trials | violations | slowest, beyond its limit |", "|---|---:|---:|---:|"]
    for kind in KINDS:
        if kind in tallies:
            tally = tallies[kind]
            lines.append(f"| {kind} | {tally.trials:,} | {tally.violated:,} | {tally.excess:+.1f} s |")
    return "\n".join(lines)


def say(trial: Trial, verdict: Verdict) -> None:
    print(f"{trial.name}: {verdict.composed[:600]}: {verdict.seconds:.1f} of {verdict.limit:.1f} s", end="")
    print(": ok" if not verdict.violations else "".join(f"\n    {each}" for each in verdict.violations), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time")
    parser.add_argument("--only", choices=list(KINDS), help="one kind")
    parser.add_argument("--trial", metavar="SEED:KIND:NUMBER", help="this trial alone; its files are kept")
    parser.add_argument("--output", type=Path, metavar="FILE.jsonl")
    parser.add_argument("--folder", type=Path, help="where trials happen and are kept  [default: a new one]")
    parser.add_argument("--quiet", action="store_true", help="show violations only")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="harness-campaign-"))
    campaign = Campaign(given.seed, folder, folder / "cache", keep=given.trial is not None)
    campaign.calibrate()
    print(
        f"a good comparison takes {campaign.pace.compare:.1f} s, showing it {campaign.pace.results:.1f} s; in {folder}"
    )
    if given.trial is not None:
        seed, kind, number = given.trial.split(":")
        running = campaign.start(Trial(int(seed), kind, int(number)))
        while (verdict := running.ended(1.0)) is None:
            continue
        say(running.trial, verdict)
        return int(bool(verdict.violations))
    lines: TextIO | None = given.output.open("a", encoding="utf-8") if given.output else None
    for running, verdict in trials(campaign, [given.only] if given.only else list(KINDS), given.seconds, given.jobs):
        line = campaign.note(running, verdict)
        if lines is not None:
            lines.write(json.dumps(line) + "\n")
            lines.flush()
        if verdict.violations or not given.quiet:
            say(running.trial, verdict)
    print(table(campaign.tallies))
    failed = any(tally.violated for tally in campaign.tallies.values())
    if lines is not None:
        lines.close()
    if not failed and given.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
