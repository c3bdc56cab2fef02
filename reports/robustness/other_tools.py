"""Give the same faults to this harness, asv, benchopt and pytest-benchmark, and note what became of them.

    python3 -m venv venv && venv/bin/pip install -r reports/robustness/requirements.txt
    python reports/robustness/other_tools.py --programs venv/bin --jobs 4
    python reports/robustness/other_tools.py --tools harness
    python reports/robustness/page.py

Three benchmarks stand side by side, the second has the fault. Each trial has folders of its own and is ended from
outside after --patience seconds. Results go to reports/robustness/results.json at once, those of other tools and faults
stay there.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]

from harness.machine import machine, now  # noqa: E402
from reports.robustness.faults import FAULTS, GOOD, Fault  # noqa: E402
from reports.robustness.tools import NAMES, TOOLS, Tool  # noqa: E402

RESULTS = ROOT / "reports" / "robustness" / "results.json"
_LOOKED_AT = 2_000_000  # bytes of each end of what a command printed
_SETTLED = 2.0  # seconds after the command's end at which what it left is looked for


@dataclass
class Outcome:
    """What became of one fault in one tool.

    seconds, exits : of the command, or of the two commands
    ended : the command ended by itself within the patience
    rows : benchmark -> what its results say; None: the results cannot be read
    calls : benchmark -> how often it was run
    row_told, told : the faulty benchmark's row, what the commands printed, has what it should say
    traceback : a traceback was printed
    left_processes, left_files : after the command's end; files by the names that the fault gave them
    printed, kept : bytes of the commands' output and of the result files
    escapes : raw escape sequences of the fault's message were printed
    note : what else is to be said, for example why it could not be tried
    """

    tool: str
    fault: str
    seconds: float = 0.0
    exits: list[int | None] = field(default_factory=list)
    ended: bool = True
    rows: dict[str, list[str]] | None = None
    calls: dict[str, int] = field(default_factory=dict)
    row_told: bool = False
    told: bool = False
    traceback: bool = False
    left_processes: int = 0
    left_files: list[str] = field(default_factory=list)
    printed: int = 0
    kept: int = 0
    escapes: bool = False
    note: str = ""


class Trial:
    """A place for one fault and one tool: folders, an environment by which its processes are known, commands."""

    def __init__(self, tool: type[Tool], fault: Fault, base: Path, programs: Path, patience: float) -> None:
        self.fault, self.patience, self.mark = fault, patience, uuid.uuid4().hex
        self.folder = base / f"{tool.name.replace(' ', '')}-{fault.name}-{self.mark[:6]}"
        self.tool = tool(self.folder / "place", programs)
        self.calls, self.shared = self.folder / "calls", Path("/dev/shm") / f"left_shm_{self.mark}"
        self.outcome = Outcome(tool.name, fault.name)
        self.output = b""
        for name in ("place", "tmp", "home"):
            (self.folder / name).mkdir(parents=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HARNESS", "PYTHON"))},
            "ROBUSTNESS_MARK": self.mark, "ROBUSTNESS_CALLS": str(self.calls), "ROBUSTNESS_SHM": str(self.shared),
            "TMPDIR": str(self.folder / "tmp"), "HOME": str(self.folder / "home"), "NUMBA_CACHE_DIR": str(base / "numba"),
        }  # fmt: skip
        if tool.name == "harness":
            del self.environment["NUMBA_CACHE_DIR"]
            if "NUMBA_CACHE_DIR" in os.environ:  # where the user keeps machine code, which is kept by its source
                self.environment["NUMBA_CACHE_DIR"] = os.environ["NUMBA_CACHE_DIR"]
            self.environment |= {"HARNESS_CACHE": str(base / "cache"), "PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}"}

    def run(self) -> Outcome:
        try:
            faulty = self.fault if self.fault.way != "full" else GOOD
            sources = {name: (faulty if name == "b_fault" else GOOD).source() for name in NAMES}
            if self.fault.way == "pair":
                sources = dict.fromkeys(NAMES, self.fault.source())
            self.tool.prepare(sources)
            {"pair": self._pair, "kill": self._kill, "full": self._full, "damaged": self._damaged}.get(
                self.fault.way, self._once
            )()
            self._look()
        except Exception as error:  # of this program or of the tool's command line: told, the others go on
            self.outcome.note = f"could not be tried: {type(error).__name__}: {self._short(str(error))}"
        finally:
            self._end()
        return self.outcome

    # -- ways to use the command ---------------------------------------------------------------------

    def _once(self) -> None:
        self._finish([self._start(self.tool.command())])

    def _pair(self) -> None:
        self._finish([self._start(self.tool.command()) for _ in range(2)])

    def _kill(self) -> None:
        driver = self._start(self.tool.command())
        end = time.monotonic() + self.patience
        while "b_fault" not in self._called() and time.monotonic() < end and driver.poll() is None:
            time.sleep(0.05)
        driver.kill()
        driver.wait()
        time.sleep(_SETTLED + 2.0)
        left = len(self._alive())
        self._finish([self._start(self.tool.command())])
        self.outcome.left_processes = left

    def _full(self) -> None:
        results = self.tool.results
        saved = self.folder / "saved"
        shutil.copytree(results, saved)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(results)], check=True, capture_output=True
        )
        try:
            shutil.copytree(saved, results, dirs_exist_ok=True)
            try:
                with (results / "filler").open("wb", buffering=0) as filler:
                    while True:
                        filler.write(b"x" * 512)
            except OSError:
                pass
            self._once()
            self._read_rows()
        finally:
            subprocess.run(["umount", "-l", str(results)], check=False)

    def _damaged(self) -> None:
        self._once()
        file = max(self.tool.files(), key=lambda path: path.stat().st_size)
        content = bytearray(file.read_bytes())
        parts, length = self.fault.wounds
        for part in range(parts):
            middle = (2 * part + 1) * len(content) // (2 * parts)
            content[middle : middle + length] = b"\xff" * length
        file.write_bytes(content)
        self.outcome = Outcome(self.outcome.tool, self.outcome.fault)
        self.output = b""
        self._finish([self._start(self.tool.reading())])

    # -- processes -----------------------------------------------------------------------------------

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        self.began = time.monotonic()
        printed = (self.folder / f"out{len(list(self.folder.glob('out*')))}").open("wb")
        with printed:
            return subprocess.Popen(
                command,
                cwd=self.tool.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _finish(self, started: list[subprocess.Popen[bytes]]) -> None:
        for each in started:
            try:
                each.wait(max(0.1, self.began + self.patience - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.outcome.ended = False
            self.outcome.exits.append(each.returncode)
        self.outcome.seconds = round(time.monotonic() - self.began, 1)
        if self.outcome.ended:
            time.sleep(_SETTLED)
            self.outcome.left_processes = len(self._alive())
        else:
            for each in started:
                if each.poll() is None:
                    os.killpg(each.pid, signal.SIGKILL)
                    each.wait()

    def _alive(self) -> list[int]:
        mark, found = f"ROBUSTNESS_MARK={self.mark}".encode(), []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes():
                    found.append(int(path.name))
            except OSError:
                continue
        return found

    def _end(self) -> None:
        """Leave nothing of the trial: what respawns itself is killed until it is no more."""
        end = time.monotonic() + 100.0
        while (alive := self._alive()) and time.monotonic() < end:
            for pid in alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.shared.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what became of it ---------------------------------------------------------------------------

    def _called(self) -> str:
        return self.calls.read_text() if self.calls.exists() else ""

    def _read_rows(self) -> None:
        try:
            rows = self.tool.rows()
            says = self.fault.says
            self.outcome.row_told = bool(says) and any(re.search(says, said) for said in rows.get("b_fault", []))
            self.outcome.rows = {name: [self._short(said) for said in rows[name]] for name in sorted(rows)}
        except Exception as error:  # whatever a reader raises for a file that is none
            self.outcome.note = f"results cannot be read: {type(error).__name__}: {self._short(str(error))}"

    def _short(self, text: str) -> str:
        """Return the beginning of a text on one line, without this trial's folder."""
        return " ".join(text.replace(str(self.folder), "TRIAL").split())[:160]

    def _look(self) -> None:
        outcome = self.outcome
        for printed in sorted(self.folder.glob("out*")):
            size = printed.stat().st_size
            outcome.printed += size
            with printed.open("rb") as file:
                self.output += file.read(_LOOKED_AT)
                file.seek(max(file.tell(), size - _LOOKED_AT))
                self.output += file.read()
        text = self.output.decode(errors="replace")
        if self.fault.way != "full":
            self._read_rows()
        called = self._called()
        outcome.calls = {name: called.count(name) for name in NAMES}
        outcome.traceback = "Traceback (most recent call last)" in text
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        outcome.told = bool(self.fault.says) and re.search(self.fault.says, plain) is not None
        if self.fault.way == "full":
            outcome.told = re.search(r"space|disk|full", plain) is not None
        outcome.escapes = b"\x1b]0;title" in self.output
        outcome.kept = sum(file.stat().st_size for file in self.tool.files() if file.exists())
        outcome.left_files = sorted(
            {each.name[:8] for each in self.folder.rglob("left_*") if each.name.startswith(("left_cwd", "left_tmp"))}
        ) + (["left_shm"] if self.shared.exists() else [])
        tail = plain[-300:].strip().splitlines()
        outcome.note = outcome.note or self._short(tail[-1] if tail else "")


class Kept:
    """The results file: outcomes by tool and fault, written in one step after each."""

    def __init__(self, path: Path) -> None:
        self.path, self.tools = path, dict[str, dict[str, Any]]()

    def add(self, outcome: Outcome) -> None:
        with self._locked() as content:
            content["tools"] |= {outcome.tool: self.tools[outcome.tool]}
            content["tools"] = {name: content["tools"][name] for name in TOOLS if name in content["tools"]}
            same = (outcome.tool, outcome.fault)
            others = [each for each in content["outcomes"] if (each["tool"], each["fault"]) != same]
            order = {name: place for place, name in enumerate((*TOOLS, *(fault.name for fault in FAULTS)))}
            content["outcomes"] = sorted(
                [*others, asdict(outcome)], key=lambda each: (order[each["tool"]], order[each["fault"]])
            )

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Any]]:
        """Yield the content, which is written in one step afterwards; other programs wait that write to the same file."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self.path.exists()
            content = json.loads(self.path.read_text()) if known else {"tools": {}, "outcomes": []}
            yield content
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(content, indent=1) + "\n")
            new.replace(self.path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default=",".join(TOOLS), help="separated by commas")
    parser.add_argument("--faults", default=",".join(fault.name for fault in FAULTS), help="separated by commas")
    parser.add_argument(
        "--programs", type=Path, default=Path(sys.prefix) / "bin", help="folder of asv, benchopt, pytest"
    )
    parser.add_argument("--patience", type=float, default=60.0, help="seconds after which a command counts as hanging")
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    kept = Kept(given.output)
    tools = [TOOLS[name] for name in given.tools.split(",")]
    wanted = given.faults.split(",")
    with tempfile.TemporaryDirectory(prefix="robustness-", ignore_cleanup_errors=True) as base:
        for tool in tools:
            found = machine()
            measured = {
                "machine": {name: found[name] for name in ("processor", "cores", "memory_bytes", "system", "python")}
            }
            facts = {"version": tool(Path(base), given.programs).version(), "scope": tool.scope, **measured, **now()}
            kept.tools[tool.name] = {**facts, "no_option": list(tool.no_option), "patience": given.patience}
        trials = [(tool, fault) for fault in FAULTS if fault.name in wanted for tool in tools]
        for tool in tools:  # what each compiles or caches once is none of a trial's
            Trial(tool, GOOD, Path(base), given.programs, 300.0).run()
        with ThreadPoolExecutor(given.jobs) as pool:
            for outcome in pool.map(
                lambda each: Trial(*each, Path(base), given.programs, given.patience).run(), trials
            ):
                kept.add(outcome)
                print(
                    f"{outcome.fault:14} {outcome.tool:18} {outcome.seconds:6.1f} s  {outcome.exits}  {outcome.note[:80]}"
                )


if __name__ == "__main__":
    main()
