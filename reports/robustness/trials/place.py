"""Where a trial happens: folders, an environment and a control group of its own, and how a command is run in it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from harness.run import groups

ROOT = Path(__file__).resolve().parents[3]
MARKER = "HARNESS_CAMPAIGN"
_BETWEEN = 0.1  # seconds between two looks at a command
_SUBREAPER = 36  # of prctl


@dataclass(frozen=True)
class Trial:
    """One trial: the same seed, kind and number make the same trial."""

    seed: int
    kind: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.seed}:{self.kind}:{self.number}"

    def rng(self) -> random.Random:
        return random.Random(self.name)


@dataclass
class Verdict:
    """What came of a trial: what was composed, the seconds it took and was allowed, and what is wrong, a sentence each."""

    composed: str
    seconds: float = 0.0
    limit: float = 0.0
    violations: list[str] = field(default_factory=list)


@dataclass
class Done:
    """A command that ended, or was ended: `code` is None then."""

    code: int | None
    out: str
    err: str
    seconds: float
    load: float  # of the machine meanwhile: processes that wanted a core, over the cores; at least 1
    raw: bytes = b""


@dataclass(frozen=True)
class Pace:
    """How long the same commands take without faults, on a machine that does nothing else.

    compare, results : seconds of ``harness compare`` of one good solver, and of ``harness results``
    """

    compare: float = 5.0
    results: float = 2.0


class Load:
    """How many processes want a core, over the cores: the mean of what was sampled, at least 1."""

    def __init__(self) -> None:
        self.samples: list[float] = []

    def sample(self) -> None:
        with open("/proc/loadavg", encoding="ascii") as file:
            running = int(file.read().split()[3].partition("/")[0])
        self.samples.append(running / (os.cpu_count() or 1))

    @property
    def factor(self) -> float:
        return max(1.0, statistics.fmean(self.samples)) if self.samples else 1.0


class Place:
    """The folders of one trial, and everything that is started in it."""

    def __init__(self, folder: Path, name: str, cache: Path) -> None:
        self.folder, self.name, self.cache = folder, name, cache
        self.cwd, self.tmp, self.home = folder / "cwd", folder / "tmp", folder / "home"
        self.given = folder / "given"  # what the trial gives to the commands
        for each in (self.cwd, self.tmp, self.home, self.given, cache):
            each.mkdir(parents=True, exist_ok=True)
        self.store = self.given / "store.sqlite"
        self.load = Load()
        self.started: list[subprocess.Popen[bytes]] = []
        own = groups.own()
        self.group = own.below(f"trial-{os.getpid()}") if own is not None else None
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # whatever is left of the commands becomes this process's child

    @property
    def token(self) -> str:
        """What tells its processes and the files they leave from those of every other trial, on the whole machine."""
        return f"{self.name.replace(':', '-')}-{os.getpid()}"

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS_", "PYTEST"))}
        return {
            **kept,
            MARKER: self.token,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "HARNESS_CACHE": str(self.cache),
            "HARNESS_STORE": str(self.given / "default.sqlite"),
            "HARNESS_DATA": os.environ.get("HARNESS_DATA", str(self.given / "no-data")),
        }

    def start(self, arguments: Sequence[str | bytes], name: str = "command", **extra: Any) -> subprocess.Popen[bytes]:
        """Start ``harness ARGUMENTS``; what it prints goes to files of that name."""
        return self.program([sys.executable, "-m", "harness.cli.main", *arguments], name, **extra)

    def program(self, command: Sequence[str | bytes], name: str, **extra: Any) -> subprocess.Popen[bytes]:
        given: dict[str, Any] = {"env": self.environment(), "cwd": self.cwd, "stdin": subprocess.DEVNULL, **extra}
        with open(self.folder / f"{name}.out", "wb") as out, open(self.folder / f"{name}.err", "wb") as err:
            process = subprocess.Popen(
                command,
                stdout=given.pop("stdout", out),
                stderr=err,
                start_new_session=True,
                preexec_fn=self._enter,  # noqa: PLW1509  a trial's process has one thread
                **given,
            )
        self.started.append(process)
        return process

    def _enter(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.group is not None:
            self.group.add()

    def wait(self, process: subprocess.Popen[bytes], patience: Callable[[], float], name: str = "command") -> Done:
        """Wait until it ends, at most as long as ``patience()`` says, which may grow with the load; then kill it."""
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < patience():
            self.load.sample()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_BETWEEN)
        seconds = time.monotonic() - began
        code = process.poll()
        if code is None:
            self.kill()
            process.wait()
        return self.done(code, seconds, name)

    def done(self, code: int | None, seconds: float, name: str = "command") -> Done:
        out, err = ((self.folder / f"{name}.{end}").read_bytes() for end in ("out", "err"))
        return Done(
            code, out.decode(errors="replace"), err.decode(errors="replace"), seconds, self.load.factor, out + err
        )

    def run(self, arguments: Sequence[str | bytes], patience: float, name: str = "command", **extra: Any) -> Done:
        """Run ``harness ARGUMENTS`` to its end, at most ``patience`` seconds on a quiet machine."""
        return self.wait(self.start(arguments, name, **extra), lambda: patience * self.load.factor, name)

    # -- what is left ----------------------------------------------------------------------------------------

    def processes(self) -> dict[int, str]:
        """Return the living processes that the commands left behind, and what each is."""
        _reap({process.pid for process in self.started})
        found = set(self._marked())
        with contextlib.suppress(psutil.Error):
            found |= {child.pid for child in psutil.Process().children(recursive=True)}
        if self.group is not None:
            for folder in (self.group.folder, *self._groups()):
                found |= set(groups.Group(folder).members())
        found -= {os.getpid(), *(process.pid for process in self.started if process.returncode is not None)}
        return {pid: shown for pid in sorted(found) if (shown := _described(pid))}

    def _marked(self) -> Iterator[int]:
        wanted = f"{MARKER}={self.token}".encode()
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) != os.getpid():
                with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        yield int(entry)

    def _groups(self) -> list[Path]:
        return [] if self.group is None else [path for path in self.group.folder.rglob("*") if path.is_dir()]

    def groups(self) -> list[str]:
        """Return the control groups that the commands left behind."""
        return [path.name for path in self._groups()]

    def files(self) -> list[Path]:
        """Return the files and folders left in the working folder, the folder of temporary files, the home and /dev/shm."""
        found = [path for folder in (self.cwd, self.tmp, self.home) for path in folder.rglob("*")]
        return found + [path for path in Path("/dev/shm").iterdir() if self.token in path.name]

    def kill(self) -> None:
        """End every process of the trial."""
        if self.group is not None:
            self.group.kill()
        for process in self.started:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        for _ in range(20):
            found = self.processes()
            if not found:
                return
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def close(self, *, keep: bool) -> None:
        """End what is left and, unless it is to be kept, empty the folders."""
        self.kill()
        if self.group is not None:
            self.group.remove()
        for path in self.files():
            if path.parent == Path("/dev/shm"):
                path.unlink(missing_ok=True)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _reap(known: set[int]) -> None:
    """Take note of the end of adopted processes; those that were started here are waited for elsewhere."""
    for child in psutil.Process().children():
        if child.pid not in known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)


def _described(pid: int) -> str:
    """Return the command of a living process; empty of one that has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        return f"{' '.join(process.cmdline())[-80:] or process.name()} ({process.status()})"
    except psutil.Error:
        return ""
