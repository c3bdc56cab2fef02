"""LASVM's own program and the plugin `lasvm`, in turns: python reports/lasvm_2005/original/compare.py --source FOLDER.

The program is Bottou's LASVM 1.1 (https://leon.bottou.org/projects/lasvm); FOLDER holds its lasvm.c and kcache.c, which are
not part of this repository. driver.c gives it a kernel over contiguous float32 rows, several times faster than the sparse
one it comes with, and everything is compiled for this machine. Both make one epoch and the finishing step, in one thread with
the same C, gamma, tau and cache; their random orders differ. Medians of CPU seconds; compilation is not in them. Gaps are
relative duality gaps over all points, certified in float64, medians too.

``--seeds 1 2 3`` draws ten sets of 2,000 to 10,000 points from each seed; ``--sets`` names others.
"""

from __future__ import annotations

import argparse
import csv
import gc
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from harness_lasvm import LASVM

HERE = Path(__file__).resolve().parent
if str(HERE.parents[2]) not in sys.path:
    sys.path.insert(0, str(HERE.parents[2]))

from harness import CSVC, RBF, KernelOracle  # noqa: E402
from harness.registry import load_registry  # noqa: E402
from harness.run.execute import warm_up  # noqa: E402
from reports.lasvm_2005.original.drawn import draw  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.arrays import Vector

    Model = tuple[Vector, float]  # dual_coef, (n,), and intercept

SETS = "twonorm[n=10000],ringnorm[n=10000],checkerboard[n=10000],adult,mnist[digit=8]"


class Run(NamedTuple):
    """CPU seconds, kernel values computed, members of S at the end."""

    seconds: float
    values: int
    members: int


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


def theirs(program: Path, path: Path, cache_mb: float, tau: float, seed: int) -> tuple[Run, Model]:
    """Carry out a run of the program."""
    command = [str(program), str(path), str(cache_mb), str(tau), str(seed), f"{path}.model"]
    seconds, values, members, _ = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    *coef, intercept = np.fromfile(f"{path}.model")
    return Run(float(seconds), int(values), int(members)), (np.array(coef), intercept)


def stated(data: Any, cache_mb: float) -> CSVC:
    """Return the problem of the training points with nothing counted yet."""
    kernel = KernelOracle(RBF(gamma=data.defaults["gamma"]), data.x_train, cache_mb=cache_mb)
    return CSVC.build(kernel, data.y_train, {"C": data.defaults["C"]})


def ours(problem: CSVC, tau: float, seed: int) -> tuple[Run, Model]:
    """Carry out a run of the plugin."""
    gc.collect()
    gc.freeze()  # as in the harness's own runs: the collector has nothing to do with what was there before
    began = time.process_time()
    *_, last = LASVM(tau=tau).iterates(problem, np.random.default_rng(seed))
    seconds = time.process_time() - began
    gc.unfreeze()
    run = Run(seconds, problem.kernel.counter.evaluations, int(last.working_set or 0))
    assert last.dual_coef is not None
    return run, (last.dual_coef.copy(), last.intercept)


def gap_of(problem: CSVC, dual_coef: Vector, intercept: float) -> float:
    """Return the relative duality gap of a model over all points."""
    gap = problem.certify(dual_coef, intercept).relative_gap
    assert gap is not None
    return gap


def compared(label: str, data: Any, program: Path, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run both in turns on one set; return a line of the table, by its columns."""
    written(data, path)
    warm_up(LASVM(tau=options.tau), stated(data, options.cache_mb))
    pairs = [
        (
            theirs(program, path, options.cache_mb, options.tau, k),
            ours(stated(data, options.cache_mb), options.tau, k),
        )
        for k in range(options.repetitions)
    ]
    problem = stated(data, options.cache_mb)
    gaps = [median(gap_of(problem, *pair[side][1]) for pair in pairs) for side in (0, 1)]
    original, own = ([pair[side][0] for pair in pairs] for side in (0, 1))
    seconds = [median(run.seconds for run in runs) for runs in (original, own)]
    return {
        "set": label,
        "n": len(data.y_train),
        "original_cpu": seconds[0],
        "cpu": seconds[1],
        "ratio": seconds[0] / seconds[1],
        "original_kernel_values": int(median(run.values for run in original)),
        "kernel_values": int(median(run.values for run in own)),
        "original_members": int(median(run.members for run in original)),
        "members": int(median(run.members for run in own)),
        "original_gap": gaps[0],
        "gap": gaps[1],
        "repetitions": options.repetitions,
    }


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Yield the names of the sets asked for and the sets."""
    for seed in options.seeds:
        for one in draw(seed):
            yield f"[{seed}] {one.label}", one
    sets = SETS if options.sets is None and not options.seeds else options.sets
    for source in load_registry().select_datasets(sets) if sets else []:
        yield source.label, source.load()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True, help="folder of LASVM's unpacked source")
    parser.add_argument("--sets", help=f"as harness compare takes them, made dense; {SETS} if nothing is asked for")
    parser.add_argument("--seeds", type=int, nargs="*", default=[], help="ten sets drawn from each, see drawn.py")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--cache-mb", type=float, default=256.0)
    parser.add_argument("--tau", type=float, default=1e-3)
    parser.add_argument("--out", type=Path, help="a CSV that lines are added to")
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        program = compiled(options.source, Path(scratch))
        for label, data in chosen(options):
            line = compared(label, data, program, Path(scratch) / "points", options)
            lines.append(line)
            print(
                f"{label:64} original {line['original_cpu']:8.4f} s  ours {line['cpu']:8.4f} s  ratio {line['ratio']:6.2f}"
                f"  values {line['original_kernel_values'] / 1e6:6.2f} M {line['kernel_values'] / 1e6:6.2f} M"
                f"  gap {line['original_gap']:.1e} {line['gap']:.1e}",
                flush=True,
            )
            if options.out:
                new = not options.out.exists()
                with options.out.open("a", newline="") as file:
                    csv.writer(file).writerows([line.keys(), line.values()] if new else [line.values()])
    ratios = sorted(line["ratio"] for line in lines)
    better = sum(line["gap"] <= line["original_gap"] for line in lines)
    mean = geometric_mean(ratios)
    print(
        f"{len(ratios)} sets, ours the smaller gap on {better}: least ratio {ratios[0]:.2f}, geometric mean {mean:.2f}"
    )


if __name__ == "__main__":
    main()
