"""LASVM's own program and the plugin `lasvm`, in turns: python benchmarks/original_lasvm/compare.py --source FOLDER.

The program is Bottou's LASVM 1.1 (https://leon.bottou.org/projects/lasvm); FOLDER holds its lasvm.c and kcache.c, which are
not part of this repository. driver.c gives it a kernel over contiguous float32 rows, several times faster than the sparse
one it comes with, and everything is compiled for this machine. Both make one epoch and the finishing step, in one thread with
the same C, gamma, tau and cache; their random orders differ. Medians of CPU seconds; compilation is not in them.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness_lasvm import LASVM

from harness import CSVC, RBF, KernelOracle
from harness.registry import load_registry
from harness.run.execute import warm_up

HERE = Path(__file__).resolve().parent
SETS = "twonorm[n=10000],ringnorm[n=10000],checkerboard[n=10000],adult,mnist[digit=8]"
COLUMNS = (
    "set",
    "n",
    "original_cpu",
    "cpu",
    "ratio",
    "original_kernel_values",
    "kernel_values",
    "members",
    "repetitions",
)


def compiled(source: Path, folder: Path) -> Path:
    """Compile the program with our driver; return where it lies."""
    parts = [source / name for name in ("lasvm.c", "kcache.c", "messages.c")]
    missing = [part.name for part in parts[:2] if not part.exists()]
    if missing:
        raise SystemExit(
            f"{source} has no {' and no '.join(missing)}; give the folder of LASVM's unpacked source to --source."
        )
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("there is no C compiler called cc on the PATH; install one, gcc or clang.")
    program = folder / "driver"
    files = [str(part) for part in (HERE / "driver.c", *parts) if part.exists()]
    flags = ["-O3", "-march=native", "-ffast-math", f"-I{source}"]
    subprocess.run([compiler, *flags, "-o", str(program), *files, "-lm"], check=True)
    return program


def written(data: Any, path: Path) -> None:
    """Write the training points as the driver reads them."""
    x = data.x_train if isinstance(data.x_train, np.ndarray) else data.x_train.toarray()
    with path.open("wb") as file:
        np.array(x.shape, dtype=np.int32).tofile(file)
        np.array([data.defaults["C"], data.defaults["gamma"]], dtype=np.float64).tofile(file)
        np.ascontiguousarray(x, dtype=np.float32).tofile(file)
        np.asarray(data.y_train, dtype=np.float32).tofile(file)


def theirs(program: Path, path: Path, cache_mb: float, tau: float, seed: int) -> tuple[float, int]:
    """Return CPU seconds and kernel values of a run of the program."""
    command = [str(program), str(path), str(cache_mb), str(tau), str(seed)]
    seconds, values, *_ = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), int(values)


def stated(data: Any, cache_mb: float) -> CSVC:
    """Return the problem of the training points with nothing counted yet."""
    kernel = KernelOracle(RBF(gamma=data.defaults["gamma"]), data.x_train, cache_mb=cache_mb)
    return CSVC.build(kernel, data.y_train, {"C": data.defaults["C"]})


def ours(problem: CSVC, tau: float, seed: int) -> tuple[float, int, int]:
    """Return CPU seconds, kernel values and members of a run of the plugin."""
    began = time.process_time()
    for last in LASVM(tau=tau).iterates(problem, np.random.default_rng(seed)):
        members = last.working_set
    return time.process_time() - began, problem.kernel.counter.evaluations, int(members or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True, help="folder of LASVM's unpacked source")
    parser.add_argument(
        "--sets", default=SETS, help="as harness compare takes them; features of sparse sets are made dense"
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--cache-mb", type=float, default=256.0)
    parser.add_argument("--tau", type=float, default=1e-3)
    parser.add_argument("--out", type=Path, help="a CSV that lines are added to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        program = compiled(options.source, Path(scratch))
        for source in load_registry().select_datasets(options.sets):
            data, path = source.load(), Path(scratch) / "points"
            written(data, path)
            warm_up(LASVM(tau=options.tau), stated(data, options.cache_mb))
            runs = [
                (
                    theirs(program, path, options.cache_mb, options.tau, k),
                    ours(stated(data, options.cache_mb), options.tau, k),
                )
                for k in range(options.repetitions)
            ]
            original, own = median(run[0][0] for run in runs), median(run[1][0] for run in runs)
            counts = [int(median(values)) for values in zip(*((t[1], o[1], o[2]) for t, o in runs), strict=True)]
            line = (source.label, len(data.y_train), original, own, original / own, *counts, options.repetitions)
            print(
                f"{line[0]:24} original {original:8.3f} s  ours {own:8.3f} s  ratio {original / own:6.2f}", flush=True
            )
            if options.out:
                new = not options.out.exists()
                with options.out.open("a", newline="") as file:
                    csv.writer(file).writerows([COLUMNS, line] if new else [line])


if __name__ == "__main__":
    main()
