"""The part `stream`: a file larger than LASVM's memory, a chunk at a time, in a process of its own.

    python -m reports.lasvm_2005.streaming --n 2000000 --format libsvm

Writes checkerboard points to a file chunk by chunk, reads them back chunk by chunk (the first pass over the file is
part of the time), and prints lines of JSON: the throughput, the memory at its peak and the error on fresh points on the way.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness_lasvm import LASVM, LASVMStream

from harness import RBF, ChunkedFile
from harness.datasets.generators import Checkerboard
from harness.machine import git_commit, now, status_bytes
from reports.kit.grids import Options
from reports.kit.journal import Row
from reports.kit.markdown import met, number, table
from reports.kit.results import Results
from reports.lasvm_2005.plan import Stream

DRAWN = 50_000  # points drawn at a time while the file is written
PEAK_MB = 1000.0  # of memory, at most: our mark


def points(n: int, noise: float, seed: int) -> Iterator[tuple[Any, Any]]:
    for first in range(0, n, DRAWN):
        part = Checkerboard(n=min(DRAWN, n - first), n_test=0, noise=noise, seed=seed + first).load()
        yield part.x_train, part.y_train


def write(path: Path, n: int, noise: float) -> None:
    with path.open("wb") as file:
        if path.suffix == ".npy":
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (n, 3)})
        for x, y in points(n, noise, seed=1):
            if path.suffix == ".npy":
                file.write(np.column_stack([x, y]).tobytes())
            else:
                file.writelines(b"%+d 1:%.9g 2:%.9g\n" % (label, *row) for label, row in zip(y, x, strict=True))


def peak_mb() -> float:
    # the kernel hands ru_maxrss on from the process that started this one
    return (status_bytes("VmHWM") or 0) / 2**20


class Watch:
    """CPU and wall seconds, what goes on while it is stopped left out."""

    def __init__(self) -> None:
        self.spent = np.zeros(2)
        self.start()

    def start(self) -> None:
        self._since = self._now()

    def stop(self) -> None:
        self.spent += self._now() - self._since

    def _now(self) -> Any:
        return np.array([time.process_time(), time.perf_counter()])


def fed(path: Path, asked: Stream) -> Iterator[Row]:
    """Feed the file to a stream; yield its figures on the way, and after the finishing step."""
    before = peak_mb()
    test_x, test_y = next(points(DRAWN, 0.0, seed=10**9))
    warm = LASVMStream(RBF(gamma=asked.gamma), asked.C)
    for _ in range(2):
        warm.feed(test_x[:500], test_y[:500])
    warm.finish()
    stream = LASVMStream(RBF(gamma=asked.gamma), asked.C, options=LASVM(cache_mb=asked.cache_mb))
    watch = Watch()

    def told(finished: bool) -> Row:
        watch.stop()
        error = 100.0 * float(np.mean(np.sign(stream.model().decision_function(test_x)) != test_y))
        found = {
            "examples": stream.seen,
            "finished": finished,
            "cpu": float(watch.spent[0]),
            "seconds": float(watch.spent[1]),
            "members": stream.members,
            "support_vectors": stream.support,
            "kernel_evaluations": stream.kernel_evaluations,
            "error": error,
            "peak_mb": peak_mb(),
            "before_mb": before,
        }
        watch.start()
        return found

    every = max(1, asked.n // (asked.told * asked.rows))
    for position, (x, y) in enumerate(ChunkedFile(str(path), asked.rows), start=1):
        stream.feed(x, y)
        if position % every == 0:
            yield told(False)
    stream.finish()
    yield told(True)


def measured(options: Options) -> Iterator[Row]:
    """Yield what the stream of the plan gives, measured in a process of its own: its peak of memory is nobody else's."""
    asked: Stream = options.plan.stream
    given = [f"--{name.replace('_', '-')}={value}" for name, value in vars(asked).items()]
    command = [sys.executable, "-m", "reports.lasvm_2005.streaming", *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            named = {"derived": "stream", "set": f"checkerboard of {asked.n}", "solver": "LASVMStream", "seed": 0}
            yield {**named, **json.loads(line), "git_commit": git_commit(), **now()}
    if process.returncode:
        raise SystemExit(f"the stream ended with {process.returncode}; what it said is above.")


def section(results: Results) -> str:
    """The figures of the stream measured last, with what is asked of its memory."""
    every = [row for row in results.derived if row["derived"] == "stream"]
    ends = [position for position, row in enumerate(every) if row["finished"]]
    if not ends:
        return table([], [])
    rows = every[ends[-2] + 1 if len(ends) > 1 else 0 : ends[-1] + 1]
    last = rows[-1]
    lines = [
        [
            "finished" if row["finished"] else f"{row['examples']:,}",
            number(row["cpu"]),
            f"{row['examples'] / row['cpu']:,.0f}",
            f"{row['support_vectors']:,}",
            number(row["kernel_evaluations"] / 1e6),
            f"{row['error']:.2f}",
            f"{row['peak_mb']:.0f}",
        ]
        for row in rows
    ]
    head = ["examples", "CPU s", "examples / CPU s", "SV", "kernel values, M", "error %", "peak of memory, MB"]
    told = (
        f"Peak of memory: {last['peak_mb']:.0f} MB {met(last['peak_mb'] < PEAK_MB)}; {last['before_mb']:.0f} MB of it before the "
        f"first chunk. One run, {last['seconds']:.0f} s of wall time."
    )
    return f"{table(head, lines)}\n\n{told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in vars(Stream()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--format", choices=["npy", "libsvm"], default="npy")
    parser.add_argument("--folder", type=Path, help="where the file is kept; none: it is removed at the end")
    given = vars(parser.parse_args())
    folder, suffix = given.pop("folder"), given.pop("format")
    asked = Stream(**given)
    with tempfile.TemporaryDirectory() as scratch:
        path = (folder or Path(scratch)) / f"checkerboard-{asked.n}-{asked.noise:g}.{suffix}"
        if not path.exists():
            write(path, asked.n, asked.noise)
        for row in fed(path, asked):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
