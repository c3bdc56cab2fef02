"""Trials of odd command lines: odd options with odd values, output that cannot be written, text that is none."""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.run.record import Status
from reports.robustness.trials import bad_plugin, judge, slow_plugin
from reports.robustness.trials.misdeeds import HOSTILE
from reports.robustness.trials.place import Done, Pace, Place, Trial, Verdict

_LINES = 4  # of a trial
_SECONDS = 10.0  # beyond a comparison
Argument = str | bytes

_ODD: tuple[Argument, ...] = (
    "", " ", "-1", "0", "1e9", "1e999", "nan", "inf", "-inf", "0x10", "1_000", "9" * 40, "\u0661", "None", "null", "true", "[]", "[",
    "]", "[[", "a[b", "a[b=", "a[b=c]", "smo[tau=", "smo[tau=x]", "smo[tau=[]]", "smo[tau=1e-400]", "smo[=1]", "smo[tau=1,tau=2]",
    ",", ",,,", "*", "**", "?", "[*]", "../../..", "/", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", "/nowhere/at/all",
    "~", "$HOME", "`id`", "%s%n", "{0}", "\\", "'", '"', "\n", "\r", "\t", "\x1b[2J", "\x1b]0;owned\x07", "\u202e", "\ud83d",
    HOSTILE.replace("\x00", ""), "x" * 5000, "-", "--", "--help", "-h", "=", "smo=1", "1-", "-5-5", "5-1", "0-1000000000", "1,,2",
    b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80", "1m", "1h", "5x", "1e6h", "10000000000T", "-3G", "1G1G", "a" * 300 + "=1",
)  # fmt: skip
_SENSIBLE: dict[str, tuple[str, ...]] = {
    "--plugins": ("smo", "smo,qp", "smo[tau=1e-2]", "fw/*", "slow[seconds=0]", "nothing-like-it", "lasvm,nothing"),
    "--datasets": ("twonorm[n=60,n_test=20]", "twonorm[n=-1]", "twonorm[n=1e12]", "file[path=lost.csv]", "./lost.csv", "/dev/zero"),
    "--formulation": ("c-svc", "l2-svc", "eps-svr", "nothing"), "--kernel": ("rbf", "linear", "rbf[gamma=[1,2]]", "poly"),
    "--gamma": ("1", "scale", "1,2"), "--degree": ("2",), "--coef0": ("1",), "--C": ("1", "1e-300", "1e300", "0"),
    "--target-gap": ("1e-3", "1e-300", "2"), "--time-limit": ("1", "1s", "0.001"), "--memory-limit": ("1G", "1", "1K"),
    "--kernel-evaluation-limit": ("100",), "--iteration-limit": ("10",), "--seeds": ("0", "0-3", "0-100000000"),
    "--repeat": ("1", "2", "1e9", "1000000000", "99999999999999999999"), "--threads": ("1", "1000000"),
    "--jobs": ("1", "2", "1000000"), "--cache-mb": ("1", "1e-9", "1e30"), "--order": ("shuffled", "other"),
    "--metrics": ("g-means", "nothing"), "--core-set-oracle": ("smo", "nothing"), "--store": ("new.sqlite", "no/s.sqlite", "."),
    "--format": ("json", "table", "csv", "markdown", "parquet", "nothing"),
    "--output": ("out.json", "no/folder/out.json", "/dev/full", ".", "out.parquet"),
    "--plugin-path": (slow_plugin.__file__, bad_plugin.__file__, "lost.py", "/", "/dev/zero"), "--status": (str(Status.OK), "*"),
    "--limit": ("1", "0", "1e30"), "--config": ("lost.json", "/"), "--commit": ("HEAD", "--all"), "--standalone": ("page",),
    "--nothing": ("1",), "--yes": (), "--dry-run": (), "--fresh": (), "--quiet": (), "--resume": (), "--help": (),
}  # fmt: skip
_COMMANDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("compare",), (
        "--datasets", "--formulation", "--kernel", "--gamma", "--degree", "--coef0", "--C", "--target-gap", "--memory-limit",
        "--kernel-evaluation-limit", "--iteration-limit", "--seeds", "--repeat", "--threads", "--jobs", "--cache-mb", "--order",
        "--metrics", "--core-set-oracle", "--store", "--format", "--output", "--plugin-path", "--yes", "--fresh",
        "--quiet", "--help",
    )),
    (("results",), ("--store", "--plugins", "--datasets", "--status", "--limit", "--format", "--output")),
    (("list",), ("--format", "--plugin-path")),
    (("describe",), ("--plugin-path", "--help")),
    (("completion",), ("--help",)),
    (("dashboard", "export"), ("--store", "--config", "--commit", "--standalone")),
    (("dashboard", "build"), ("--config", "--help")),
    ((), ("--help", "--plugin-path")),
)  # fmt: skip
_KINDS_TO_LIST = ("solvers", "plugins", "datasets", "kernels", "formulations", "metrics", "commands")


def run(trial: Trial, place: Place, pace: Pace) -> Verdict:
    """Run some odd command lines, one after another."""
    rng = trial.rng()
    verdict = Verdict("")
    told = []
    for number in range(_LINES):
        arguments, measures = line(rng)
        where = rng.choices(("file", "closed", "full", "no folder"), (12, 1, 1, 1))[0]
        shown = ascii(shlex.join(os.fsdecode(each) for each in arguments))[1:-1]
        told.append(f"{shown[:200]} to {where}")
        with (place.given / "commands.txt").open("a", encoding="utf-8") as file:
            file.write(f"harness {shown}  # to {where}\n")
        patience = 2.0 * pace.compare + _SECONDS + measures
        done = _run(place, arguments, where, 2.0 * patience, f"line{number}")
        limit = patience * done.load
        wrong = judge.code(done, {0, 1, 2, 3, 130}) + judge.words(done) + judge.escapes(done) + judge.sentence(done)
        wrong += judge.in_time(done, limit)
        if not number or done.seconds - limit > verdict.seconds - verdict.limit:
            verdict.seconds, verdict.limit = done.seconds, limit
        verdict.violations += [f"{told[-1]}: {each}" for each in wrong]
        _tidied(place)
    verdict.composed = "; ".join(told)
    for store in (place.given / "default.sqlite", place.store):
        store.unlink(missing_ok=True)
    return verdict


def line(rng: random.Random) -> tuple[list[Argument], float]:
    """Return a command line, and the seconds that what it measures may take."""
    command, options = rng.choices(_COMMANDS, (10, 4, 2, 2, 1, 1, 1, 1))[0]
    arguments: list[Argument] = list(command)
    measures = 0.0
    if command == ("compare",):
        sensible = rng.random() < 0.8
        arguments += ["--plugins", rng.choice(_SENSIBLE["--plugins"]) if sensible else rng.choice(_ODD)]
        arguments += ["--datasets", "twonorm[n=60,n_test=20]", "--time-limit", "1"]
        arguments += ["--plugin-path", slow_plugin.__file__] if rng.random() < 0.3 else []
        measures = 40.0  # a dozen solvers that compile for the first time
    if command == ("list",):
        arguments.append(rng.choice((*_KINDS_TO_LIST, rng.choice(_ODD))))
    if command in (("describe",), ("completion",)):
        arguments.append(rng.choice(("smo", "bash", "twonorm", "rbf", rng.choice(_ODD))))
    for name in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 3, 5)))):
        values = _SENSIBLE[name]
        arguments.append(name)
        if values:
            arguments.append(rng.choice(values) if rng.random() < 0.7 else rng.choice(_ODD))
    if rng.random() < 0.04:
        arguments += ["--nothing", "1"]
    if rng.random() < 0.08:
        arguments.insert(rng.randrange(len(arguments) + 1), rng.choice(_ODD))
    return [each.encode(errors="surrogatepass") if isinstance(each, str) else each for each in arguments], measures


def _run(place: Place, arguments: list[Argument], where: str, patience: float, name: str) -> Done:
    extra: dict[str, Any] = {}
    opened: Callable[[], None] = lambda: None  # noqa: E731
    if where == "closed":
        ours, theirs = os.pipe()
        os.close(ours)
        extra, opened = {"stdout": theirs}, lambda: os.close(theirs)
    elif where == "full":
        full = os.open("/dev/full", os.O_WRONLY)
        extra, opened = {"stdout": full}, lambda: os.close(full)
    elif where == "no folder":
        gone = place.folder / f"gone-{name}"
        gone.mkdir()
        extra = {"cwd": gone}
    try:
        process: subprocess.Popen[bytes] = place.start(arguments, name, **extra)
    finally:
        opened()
    if where == "no folder":
        Path(extra["cwd"]).rmdir()
    return place.wait(process, lambda: patience * place.load.factor, name)


def _tidied(place: Place) -> None:
    """End what a line left, and empty its folder: a file that was asked for is no leftover."""
    place.kill()
    for path in sorted(place.cwd.rglob("*"), reverse=True):
        path.unlink() if path.is_file() or path.is_symlink() else path.rmdir()
