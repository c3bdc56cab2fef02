"""Trials of mutated data files: a reader in a process of its own reads many, under a limit of memory; now and then the command."""

from __future__ import annotations

import json
import random
import resource
import select
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from reports.robustness.trials import judge
from reports.robustness.trials.mutated_files import SLOWEST, fault_of, mutated, valid_files
from reports.robustness.trials.place import Pace, Place, Trial, Verdict

_MUTANTS = 150  # of a trial
_ADDRESS_SPACE = 6 << 30  # bytes of the reader's process: what it reserves, which is far more than it uses
_START = 60.0  # seconds until the first is read
_COMMAND_EVERY = 50


def run(trial: Trial, place: Place, pace: Pace) -> Verdict:
    """Read mutants of all formats; keep those of which something was wrong."""
    rng = trial.rng()
    seed = rng.randrange(1 << 32)
    verdict = Verdict(f"{_MUTANTS} mutants of seed {seed}", limit=SLOWEST)
    command = [sys.executable, "-m", "reports.robustness.trials.files", str(place.given), str(seed), str(_MUTANTS)]
    process = place.program(command, "reader", stdin=None)
    lines = Path(place.folder / "reader.out")
    read, last, waited = 0, time.monotonic(), _START
    while process.poll() is None:
        place.load.sample()
        select.select([], [], [], 0.1)
        found = lines.read_text(encoding="utf-8").count("\n")
        if found > read:
            read, last, waited = found, time.monotonic(), 2.0 * SLOWEST
        if time.monotonic() - last > waited * place.load.factor:
            verdict.violations.append(f"mutant {read} was still read after {time.monotonic() - last:.0f} s")
            place.kill()
    process.wait()
    for line in lines.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        verdict.seconds = max(verdict.seconds, told["seconds"])
        if told["fault"] and not _of_the_load(told, place.load.factor):
            verdict.violations.append(f"{told['path']}: {told['fault'][:300]}")
    if read < _MUTANTS and not verdict.violations:
        verdict.violations.append(f"the reader ended with {process.returncode} after {read} mutants")
    if not verdict.violations:
        verdict.violations += _commands(place, rng, pace)
    return verdict


def _of_the_load(told: dict[str, Any], load: float) -> bool:
    """Whether a read was slow because the machine was busy, and nothing else is wrong."""
    return told["fault"].startswith("took") and told["fault"].endswith(" s. ") and told["seconds"] < SLOWEST * load


def _commands(place: Place, rng: random.Random, pace: Pace) -> list[str]:
    """Compare on one or two of the mutants."""
    wrong = []
    for path in rng.sample(sorted(place.given.glob("mutant*")), 2):
        selection = f"file[path={path}]"
        arguments = [
            "compare",
            "--plugins",
            "smo",
            "--datasets",
            selection,
            "--store",
            str(place.store),
            "--time-limit",
            "2",
        ]
        done = place.run(arguments, 2.0 * pace.compare + 2.0 * SLOWEST)
        found = judge.code(done, {0, 1, 2}) + judge.words(done) + judge.escapes(done) + judge.sentence(done)
        wrong += [f"compare on {path.name}: {each}" for each in found]
    return wrong + judge.nothing_left(place)


def main() -> None:
    """Read mutants in this process, and print a line of JSON after each."""
    folder, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    rng = np.random.default_rng(seed)
    good = [(kind, path.read_bytes()) for kind, path in valid_files(folder).items()]
    for number in range(count):
        kind, content = good[number % len(good)]
        path = folder / f"mutant{number}.{kind}"
        path.write_bytes(mutated(content, rng))
        print(json.dumps({"reads": str(path)}), file=sys.stderr, flush=True)
        began = time.monotonic()
        fault = fault_of(path)
        told = {"path": str(path), "fault": fault, "seconds": time.monotonic() - began}
        print(json.dumps(told), flush=True)
        if not fault and number % _COMMAND_EVERY:
            path.unlink()


if __name__ == "__main__":
    main()
