"""The part `original`: LASVM's own program and the plugin `lasvm`, in turns.

    harness reproduce lasvm-2005 --full --part original --source FOLDER

The program is Bottou's LASVM 1.1 (https://leon.bottou.org/projects/lasvm); FOLDER holds its lasvm.c and kcache.c, which are
not part of this repository. driver.c gives it a kernel over contiguous float32 rows, several times faster than the sparse
one it comes with, and everything is compiled for this machine. Both make one epoch and the finishing step, in one thread with
the same C, gamma, tau and cache; their random orders differ. CPU seconds; compilation is not in them. Gaps are relative
duality gaps over all points, certified in float64.
"""

from __future__ import annotations

import gc
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from harness_lasvm import LASVM

from harness import CSVC, RBF, KernelOracle
from harness.machine import git_commit, now
from harness.registry import load_registry
from harness.report.output import say
from harness.run.child import warm_up
from reports.kit.grids import Options
from reports.kit.journal import Row
from reports.kit.markdown import met, number, table
from reports.kit.results import Results, comparable
from reports.lasvm_2005.original.drawn import draw

if TYPE_CHECKING:
    from harness.arrays import Vector

    Model = tuple[Vector, float]  # dual_coef, (n,), and intercept

HERE = Path(__file__).resolve().parent
CACHE_MB, TAU = 256.0, 1e-3
NAMED, DRAWN, BESIDE = (
    "named",
    "drawn",
    "beside",
)  # what a set was compared for: by name, drawn, of the catalogue beside those
TIMES = 3.0  # as fast as the program, at least; on the sets of more than 20,000 points
TIMES_LARGE = 8.0
LARGE = 20_000
ASKED = 10_000  # training points from which on our mark holds


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


def compared(label: str, data: Any, program: Path, path: Path, repetitions: int) -> Iterator[Row]:
    """Run both in turns on one set; yield a row for each pair, with the set's name and size."""
    written(data, path)
    warm_up(LASVM(tau=TAU), stated(data, CACHE_MB))
    certified = stated(data, CACHE_MB)
    for k in range(repetitions):
        original, model = theirs(program, path, CACHE_MB, TAU, k)
        own, our_model = ours(stated(data, CACHE_MB), TAU, k)
        yield {
            "derived": "original",
            "set": label,
            "solver": "lasvm",
            "seed": k,
            "n": len(data.y_train),
            "cpu": own.seconds,
            "original_cpu": original.seconds,
            "kernel_evaluations": own.values,
            "original_kernel_evaluations": original.values,
            "members": own.members,
            "original_members": original.members,
            "relative_gap": gap_of(certified, *our_model),
            "original_gap": gap_of(certified, *model),
            "git_commit": git_commit(),
            **now(),
        }


def chosen(options: Options) -> Iterator[tuple[str, str, Any, int]]:
    """Yield what each set of the plan is compared for, its name, the set and the number of pairs."""
    plan, registry = options.plan, load_registry()
    for group, selections in ((NAMED, plan.original), (BESIDE, dict.fromkeys(plan.named, plan.pairs))):
        for selection, pairs in selections.items():
            yield group, selection, registry.select_datasets(selection)[0].load(), options.repetitions or pairs
    for seed in plan.untuned:
        for one in draw(seed):
            yield f"{DRAWN} {seed}", one.label, one, options.repetitions or plan.pairs


def measured(options: Options) -> Iterator[Row]:
    """Yield the pairs of the plan; nothing, and a sentence, where there is no program."""
    if options.source is None:
        say("original: give the folder of LASVM's unpacked source to --source; nothing is measured.")
        return
    with tempfile.TemporaryDirectory() as scratch:
        program = compiled(options.source, Path(scratch))
        for group, label, data, pairs in chosen(options):
            for row in compared(label, data, program, Path(scratch) / "points", pairs):
                yield {**row, "group": group}


@dataclass(frozen=True)
class Compared:
    """The pairs on one set that were measured at one commit, on one machine."""

    group: str
    name: str
    pairs: list[Row]

    def median(self, quantity: str) -> float:
        """Return the median over the pairs."""
        return median(row[quantity] for row in self.pairs)

    def over(self, original: str, own: str) -> float:
        """Return the program's median over ours."""
        return self.median(original) / self.median(own)

    @property
    def faster(self) -> float:
        """How many times ours is as fast."""
        return self.over("original_cpu", "cpu")


def found(results: Results) -> list[Compared]:
    """Return the sets that were compared, each with its pairs of the newest measurement."""
    sets: dict[tuple[str, str], dict[int, Row]] = {}
    for row in results.derived:
        if row["derived"] == "original":
            pairs = sets.setdefault((row["group"], row["set"]), {})
            if not comparable(row, *pairs.values()):
                pairs.clear()
            pairs[row["seed"]] = row
    return [Compared(group, name, list(pairs.values())) for (group, name), pairs in sets.items()]


def section(results: Results) -> str:
    """The named sets, a line each, with what is asked."""
    lines = []
    for each in found(results):
        if each.group == NAMED:
            ratios = [row["original_cpu"] / row["cpu"] for row in each.pairs]
            n = each.pairs[0]["n"]
            limit = TIMES_LARGE if n > LARGE else TIMES
            mark = f" {met(each.faster >= limit)}" if n >= ASKED else ""
            lines.append(
                [
                    each.name,
                    number(each.median("original_cpu")),
                    number(each.median("cpu")),
                    f"{each.faster:.2f}{mark}",
                    f"{min(ratios):.2f} to {max(ratios):.2f}",
                    number(each.over("kernel_evaluations", "original_kernel_evaluations"), ".2f"),
                    str(len(ratios)),
                ]
            )
    head = [
        "set",
        "program's s",
        "ours, s",
        "program's / ours",
        "of single pairs",
        "kernel values: ours / program's",
        "pairs",
    ]
    return table(head, lines)


def untuned(results: Results) -> str:
    """The sets that nobody tuned for, a line a group."""
    groups: dict[str, list[Compared]] = {}
    for each in found(results):
        if each.group != NAMED:
            groups.setdefault("catalogue: " if each.group == BESIDE else each.group, []).append(each)
    lines = []
    for group, sets in groups.items():
        times = [each.faster for each in sets]
        values = [each.over("kernel_evaluations", "original_kernel_evaluations") for each in sets]
        gaps = [each.over("relative_gap", "original_gap") for each in sets]
        lines.append(
            [
                group + ", ".join(each.name for each in sets) if group.endswith(": ") else f"seed {group.split()[-1]}",
                str(len(sets)),
                f"{min(times):.2f} {met(min(times) >= TIMES)}",
                f"{geometric_mean(times):.2f}",
                f"{max(times):.2f}",
                f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})",
                f"{median(gaps):.2f} ({min(gaps):.2f} to {max(gaps):.2f})",
            ]
        )
    ours_over = "ours / program's, median (range)"
    head = ["sets", "number", "least", "geometric mean", "largest", f"kernel values: {ours_over}", f"gap: {ours_over}"]
    return table(head, lines)
