"""A file larger than LASVM's memory, a chunk at a time: python reports/lasvm_2005/streaming.py [--n 2000000] [--format libsvm].

Writes checkerboard points to a file chunk by chunk, reads them back chunk by chunk (the first pass over the file is
part of the time), and prints the throughput, the memory at its peak and the error on fresh points on the way.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness_lasvm import LASVM, LASVMStream

from harness import RBF, ChunkedFile
from harness.datasets.generators import Checkerboard

DRAWN = 50_000  # points drawn at a time while the file is written


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
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2_000_000)
    parser.add_argument("--noise", type=float, default=0.0, help="share of flipped labels")
    parser.add_argument("--rows", type=int, default=10_000, help="examples of a chunk")
    parser.add_argument("--format", choices=["npy", "libsvm"], default="npy")
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--gamma", type=float, default=4.0)
    parser.add_argument("--cache-mb", type=float, default=256.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    path = options.folder / f"checkerboard-{options.n}-{options.noise:g}.{options.format}"
    if not path.exists():
        write(path, options.n, options.noise)
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB; peak memory before the first chunk {peak_mb():.0f} MB")
    test_x, test_y = next(points(DRAWN, 0.0, seed=10**9))
    warm = LASVMStream(RBF(gamma=options.gamma), options.C)
    for _ in range(2):
        warm.feed(test_x[:500], test_y[:500])
    warm.finish()

    stream = LASVMStream(RBF(gamma=options.gamma), options.C, options=LASVM(cache_mb=options.cache_mb))
    print("  examples  seconds  CPU s  examples/s    |S|  support  kernel values  error %  peak MB")
    watch, cpu = time.perf_counter(), time.process_time()
    aside = aside_cpu = 0.0

    def report() -> None:
        nonlocal aside, aside_cpu
        began, cpu_began = time.perf_counter(), time.process_time()
        seconds, cpu_seconds = began - watch - aside, cpu_began - cpu - aside_cpu
        error = 100.0 * float(np.mean(np.sign(stream.model().decision_function(test_x)) != test_y))
        print(
            f"{stream.seen:10d} {seconds:8.1f} {cpu_seconds:6.1f} {stream.seen / cpu_seconds:11.0f} {stream.members:6d} "
            f"{stream.support:8d} {stream.kernel_evaluations:14.3g} {error:8.2f} {peak_mb():8.0f}",
            flush=True,
        )
        aside += time.perf_counter() - began
        aside_cpu += time.process_time() - cpu_began

    every = max(1, options.n // (10 * options.rows))
    for position, (x, y) in enumerate(ChunkedFile(str(path), options.rows), start=1):
        stream.feed(x, y)
        if position % every == 0:
            report()
    stream.finish()
    print("finished:")
    report()


if __name__ == "__main__":
    main()
