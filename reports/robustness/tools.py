"""What each tool needs for three benchmarks, the second of them faulty: its files, its command, and what it kept.

Each tool is used with the documented options that serve it best here: its own time limit of 3 s and memory limit where
it has one, failures of a file not ending the others, results in a file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

NAMES = ("a_first", "b_fault", "c_last")
SECONDS = 3  # the time limit that each tool is given
MEASURED, FAILED = "measured", "failed"  # what a row says beside a reason


class Tool:
    """One tool; ``rows`` returns what its results say of each benchmark: MEASURED, FAILED or a reason."""

    name: ClassVar[str]
    scope: ClassVar[str]  # what it has no option for, a sentence
    no_option: ClassVar[tuple[str, ...]] = ("memory",)  # faults that it has no limit against

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs, self.results = folder, programs, folder / "results"

    def prepare(self, sources: Mapping[str, str]) -> None:
        """Write the files of the benchmarks: name -> the text that defines ``work()``."""
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def reading(self) -> list[str]:
        """Return the command that shows the kept results, which must read a damaged file."""
        raise NotImplementedError

    def rows(self) -> dict[str, list[str]]:
        """Return benchmark -> what each of its rows says."""
        raise NotImplementedError

    def files(self) -> list[Path]:
        """Return the files that hold the measurements."""
        raise NotImplementedError

    def version(self) -> str:
        raise NotImplementedError


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Harness(Tool):
    name, scope, no_option = "harness", "", ()
    _SOLVER = """

from dataclasses import dataclass
import numpy as np
import harness

@dataclass(frozen=True)
class Bench(harness.Solver):
    name = "{name}"
    solves = (harness.CSVC,)
    exact = False

    def iterates(self, problem, rng):
        if problem.n > 100:
            work()
        yield harness.Iterate(dual_coef=np.zeros(problem.n), done=True)

@harness.hookimpl
def harness_solvers():
    return [Bench]
"""

    def prepare(self, sources: Mapping[str, str]) -> None:
        self.results.mkdir()
        _write(self.folder, {f"{name}.py": text + self._SOLVER.format(name=name) for name, text in sources.items()})

    def _program(self) -> list[str]:
        return [sys.executable, "-m", "harness.cli.main"]

    def command(self) -> list[str]:
        paths = [word for name in NAMES for word in ("--plugin-path", str(self.folder / f"{name}.py"))]
        limits = ["--time-limit", str(SECONDS), "--memory-limit", "1G"]
        what = ["--plugins", ",".join(NAMES), "--datasets", "twonorm[n=200]"]
        return [*self._program(), "compare", *paths, *what, *limits, "--store", str(self.files()[0])]

    def reading(self) -> list[str]:
        return [*self._program(), "results", "--store", str(self.files()[0])]

    def rows(self) -> dict[str, list[str]]:
        from harness.run.record import Status

        command = [*self.reading(), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        found: dict[str, list[str]] = {}
        for record in json.loads(done.stdout) if done.returncode == 0 else []:
            said = MEASURED if record["status"] == Status.OK else f"{record['status']}: {record['reason']}"
            found.setdefault(record["solver"], []).append(said)
        return found

    def files(self) -> list[Path]:
        return [self.results / "store.sqlite"]

    def version(self) -> str:
        import harness

        return str(harness.__version__)


class Asv(Tool):
    name = "asv"
    scope = "It has no limit of memory; a benchmark that failed is kept as `null`, its message is shown only."
    _CONFIG = {
        "version": 1, "project": "robust", "repo": ".", "branches": ["HEAD"], "environment_type": "existing",
        "benchmark_dir": "benchmarks", "results_dir": "results", "html_dir": "html", "default_benchmark_timeout": SECONDS,
    }  # fmt: skip

    def prepare(self, sources: Mapping[str, str]) -> None:
        once = "number = 1\n{f}.repeat = 1\n{f}.rounds = 1\n{f}.warmup_time = 0\n{f}.timeout = " + str(SECONDS)
        texts = {
            f"benchmarks/{name}.py": f"{text}\n\ndef time_it():\n    work()\n\ntime_it.{once.format(f='time_it')}\n"
            for name, text in sources.items()
        }
        _write(self.folder, {**texts, "asv.conf.json": json.dumps(self._CONFIG), "benchmarks/__init__.py": ""})
        self.results.mkdir()
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for arguments in (["init", "-q"], ["add", "asv.conf.json", "benchmarks"], ["commit", "-qm", "x"]):
            subprocess.run([*git, *arguments], cwd=self.folder, check=True)
        _write(self.folder, {"results/m/machine.json": json.dumps({"machine": "m", "version": 1})})
        known = {"version": 1, "m": {"machine": "m", "arch": "", "cpu": "", "num_cpu": "", "os": "", "ram": ""}}
        _write(self.folder.parent, {"home/.asv-machine.json": json.dumps(known)})

    def command(self) -> list[str]:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.folder, capture_output=True, text=True, check=True)
        where = [
            "-E",
            f"existing:{self.programs / 'python'}",
            "--machine",
            "m",
            "--set-commit-hash",
            head.stdout.strip(),
        ]
        return [str(self.programs / "asv"), "run", *where, "--show-stderr", "--skip-existing-successful"]

    def reading(self) -> list[str]:
        return [str(self.programs / "asv"), "publish"]

    def rows(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in self.files():
            for name, columns in json.loads(file.read_text())["results"].items():
                value = columns[0] if columns else None
                said = MEASURED if isinstance(value, list) and value[0] is not None else FAILED
                found.setdefault(name.partition(".")[0], []).append(said)
        return found

    def files(self) -> list[Path]:
        return sorted(self.results.glob("m/*-existing-*.json"))

    def version(self) -> str:
        return _installed(self.programs, "asv")


class Benchopt(Tool):
    name = "benchopt"
    scope = "`--timeout` is looked at between two calls of a solver; there is no limit of memory."
    _OBJECTIVE = """
from benchopt import BaseObjective

class Objective(BaseObjective):
    name = "robust"
    sampling_strategy = "run_once"

    def set_data(self, X):
        self.X = X

    def get_one_result(self):
        return dict(beta=0.0)

    def evaluate_result(self, beta):
        return dict(value=float(beta))

    def get_objective(self):
        return dict(X=self.X)
"""
    _DATASET = """
from benchopt import BaseDataset

class Dataset(BaseDataset):
    name = "d"

    def get_data(self):
        return dict(X=1.0)
"""
    _SOLVER = """

from benchopt import BaseSolver

class Solver(BaseSolver):
    name = "{name}"
    sampling_strategy = "run_once"

    def set_objective(self, X):
        self.X = X

    def run(self, _):
        work()

    def get_result(self):
        return dict(beta=1.0)
"""
    jobs = 1

    def prepare(self, sources: Mapping[str, str]) -> None:
        self.results = self.folder / "outputs"  # where its other commands look
        solvers = {f"solvers/{name}.py": text + self._SOLVER.format(name=name) for name, text in sources.items()}
        _write(self.folder, {"objective.py": self._OBJECTIVE, "datasets/d.py": self._DATASET, **solvers})
        self.results.mkdir()

    def command(self) -> list[str]:
        options = ["-l", "-n", "1", "-r", "1", "--timeout", str(SECONDS), "--no-plot", "-j", str(self.jobs)]
        return [str(self.programs / "benchopt"), "run", ".", *options, "--output", "runs"]

    def reading(self) -> list[str]:
        return [str(self.programs / "benchopt"), "plot", ".", "--no-display", "-f", "outputs/runs.parquet"]

    def rows(self) -> dict[str, list[str]]:
        import pandas as pd

        found: dict[str, list[str]] = {}
        for file in self.files():
            for name in pd.read_parquet(file)["solver_name"]:
                found.setdefault(str(name), []).append(MEASURED)
        return found

    def files(self) -> list[Path]:
        return sorted(self.results.glob("*.parquet"))

    def version(self) -> str:
        return _installed(self.programs, "benchopt")


class BenchoptWorkers(Benchopt):
    name, jobs = "benchopt -j 2", 2


class PytestBenchmark(Tool):
    name = "pytest-benchmark"
    scope = "It has no limit of time or memory (those of other plugins of pytest are not its own), and no resuming."

    def prepare(self, sources: Mapping[str, str]) -> None:
        test = "\n\ndef test_it(benchmark):\n    benchmark.pedantic(work, rounds=1, iterations=1)\n"
        _write(self.folder, {f"test_{name}.py": text + test for name, text in sources.items()})
        self.results.mkdir()

    def command(self) -> list[str]:
        kept = ["--benchmark-autosave", f"--benchmark-storage=file://{self.results}", f"--junitxml={self._junit()}"]
        return [str(self.programs / "pytest"), "-p", "no:cacheprovider", "--continue-on-collection-errors", *kept, "."]

    def _junit(self) -> Path:
        return self.results / "junit.xml"

    def reading(self) -> list[str]:
        return [str(self.programs / "pytest-benchmark"), f"--storage=file://{self.results}", "compare"]

    def rows(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file in self.files():
            for each in json.loads(file.read_text())["benchmarks"]:
                found.setdefault(_benchmark(each["fullname"]), []).append(MEASURED)
        if self._junit().exists() and self._junit().stat().st_size:
            for case in ElementTree.parse(self._junit()).iter("testcase"):
                for fault in [*case.iter("failure"), *case.iter("error")]:
                    name = _benchmark(f"{case.get('classname')} {case.get('name')}")
                    found.setdefault(name, []).append(f"{FAILED}: {fault.get('message')} {(fault.text or '')[:2000]}")
        return found

    def files(self) -> list[Path]:
        return sorted(self.results.glob("*/*.json"))

    def version(self) -> str:
        return _installed(self.programs, "pytest-benchmark")


def _benchmark(text: str) -> str:
    """Return the benchmark that a name of pytest's is about."""
    found = re.search("|".join(NAMES), text)
    return found[0] if found else text


def _installed(programs: Path, name: str) -> str:
    ask = f"import importlib.metadata as m; print(m.version({name!r}))"
    done = subprocess.run([str(programs / "python"), "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip()


TOOLS = {tool.name: tool for tool in (Harness, Asv, Benchopt, BenchoptWorkers, PytestBenchmark)}
