"""Whole grids: LIBSVM's guide on five small sets, and TorchKM's task: python reports/peers/guide.py [--every 2] [--sets ...].

Our solver along a path, the same cells cold, and scikit-learn's SVC cold on each, in turns: a block is all C of one fold
and one gamma. CPU seconds of one thread (set OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1), compilation excluded; of ours all
that passes, the host's bookkeeping too. All models are certified by the host afterwards, and all have the same folds.

The guide (Hsu, Chang and Lin 2003): C 2^-5, 2^-3, ..., 2^15, gamma 2^-15, 2^-13, ..., 2^3, 5 folds, features in [-1, 1].
TorchKM's task: 10 folds, 50 values of C, n = 10,000, one gamma. Needs HARNESS_DATA for the guide's sets.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from harness import CSVC, RBF, Cell, Dataset, Grid, Limits, Problem, SolutionPath, drive, get_solver
from harness.measure.compilation import CompilationWatch
from harness.measure.path_drive import CellOutcome, drive_path
from harness.registry import load_registry
from harness.run.certifier import PathJudge
from harness.run.messages import Model, Point, Solved
from harness.run.plan import RunSpec

SETS = ("svmguide1", "german.numer", "australian", "banana", "satimage")
COSTS = [2.0**k for k in range(-5, 16, 2)]
WIDTHS = [2.0**k for k in range(-15, 4, 2)]
TOLERANCE = 1e-3  # of a violation, what SVC and smo-block stop at unless they are told otherwise
PEER = "svc"
CLOCK = CompilationWatch()  # stands still while numba compiles
Train = Callable[[Problem], tuple[Any, float]]


@dataclass
class Way:
    """One way to solve all cells: its CPU seconds, and what was certified of each cell.

    cells : (cell, CPU seconds, coefficients, intercept)
    """

    name: str
    seconds: float = 0.0
    cells: list[tuple[Cell, float, Any, float]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, float] = field(default_factory=dict)
    error: float = float("nan")
    test_error: float = float("nan")
    fold_errors: dict[tuple[float, ...], list[float]] = field(default_factory=dict)


def scaled(dataset: Dataset) -> Dataset:
    """Return the data with each feature of the training points in [-1, 1], the test points by the same map."""
    x, test = (np.asarray(each, dtype=np.float64) for each in (dataset.x_train, dataset.x_test))
    low, high = x.min(axis=0), x.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return replace(dataset, x_train=2.0 * (x - low) / width - 1.0, x_test=2.0 * (test - low) / width - 1.0)


def drawn(n: int, seed: int) -> Dataset:
    """Return TorchKM's kind of task: two mixtures of ten normals each in ten dimensions, as many points for testing."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, 10))
    kind = rng.integers(0, 20, 2 * n)
    x, y = centres[kind] + rng.normal(size=(2 * n, 10)), np.where(kind < 10, 1.0, -1.0)
    return Dataset("mixtures", x[:n], y[:n], x[n:], y[n:], sha256="")


def svc(problem: Problem) -> tuple[Any, float]:
    """Train scikit-learn's SVC."""
    from sklearn.svm import SVC

    kernel: Any = problem.kernel.kernel
    model = SVC(C=problem.parameters["C"], gamma=kernel.gamma, tol=TOLERANCE, cache_size=problem.kernel.cache_mb)
    model.fit(problem.kernel.points, problem.targets)
    coef = np.zeros(problem.n)
    coef[model.support_] = model.dual_coef_[0]
    return np.clip(coef, *_bounds(problem)), float(model.intercept_[0])


def _bounds(problem: Any) -> tuple[Any, Any]:
    return problem.lower_bounds, problem.upper_bounds


def ours(way: Way, solver: Any, path: SolutionPath, block: int) -> Iterator[None]:
    """Solve cell after cell; yield after each block of them."""
    found = drive_path(solver, path, path.seed, Limits(), clock=CLOCK.clock, cpu_clock=CLOCK.cpu_clock)
    while True:
        began, own = CLOCK.cpu_clock(), list[CellOutcome]()
        for each in itertools.islice(found, block):
            assert isinstance(each, CellOutcome)
            own.append(each)
        way.seconds += CLOCK.cpu_clock() - began
        if not own:
            return
        way.cells += [(o.cell, o.outcome.cpu_seconds, o.outcome.dual_coef, o.outcome.intercept) for o in own]
        yield


def theirs(way: Way, train: Train, path: SolutionPath, block: int) -> Iterator[None]:
    """Train cell after cell, each from nothing; yield after each block."""
    for number, cell in enumerate(path.cells, start=1):
        problem = path.problem(cell)
        began = CLOCK.cpu_clock()
        coef, intercept = train(problem)
        spent = CLOCK.cpu_clock() - began
        way.seconds += spent
        way.cells.append((cell, spent, coef, intercept))
        if number % block == 0:
            yield


def compared(dataset: Dataset, grid: Grid, solver: Any, seed: int, *, cold: bool = True) -> list[Way]:
    """Solve all cells in every way, in turns, and judge them."""

    def path(*, cold: bool) -> SolutionPath:
        return SolutionPath(grid, CSVC, RBF, dataset.x_train, dataset.y_train, seed=seed, cold=cold)

    for small in (path(cold=False).small(64), path(cold=True).small(64)):  # compiles
        for each in solver.warm_ups():
            for _ in drive_path(each, small, seed, Limits()):
                continue
    ways = [Way("path"), *([Way("cold")] if cold else []), Way(PEER)]
    block = len(next(iter(grid.costs.values())))
    goers = [
        theirs(way, svc, path(cold=True), block)
        if way.name == PEER
        else ours(way, solver, path(cold=way.name == "cold"), block)
        for way in ways
    ]
    blocks = grid.size // block
    for turn in range(blocks + 1):  # once more: a generator ends after its last block
        for k in range(len(goers)):
            next(goers[(turn + k) % len(goers)], None)
    for way in ways:
        judged(way, dataset, path(cold=False), seed)
        chosen(way, dataset, svc if way.name == PEER else trained(solver, seed))
    return ways


def trained(solver: Any, seed: int) -> Train:
    """Return a solver as one that is trained on one problem."""

    def train(problem: Problem) -> tuple[Any, float]:
        outcome = drive(solver, problem, np.random.default_rng(seed))
        return outcome.dual_coef, outcome.intercept

    return train


def judged(way: Way, dataset: Dataset, path: SolutionPath, seed: int) -> None:
    """Certify all cells and note the error on the fold that each leaves out."""
    axes = {"costs": dict(path.grid.costs), "widths": dict(path.grid.widths), "folds": path.grid.folds, "start": "warm"}
    spec = RunSpec("guide", way.name, {}, dataset.name, dataset.name, {}, "c-svc", {}, "rbf", {}, seed, 0, path=axes)
    points = [Point({"cell": cell.index}, model=Model.of(coef, b).packed()) for cell, _, coef, b in way.cells]
    way.figures = PathJudge(spec, path, dataset).verdict(Solved(points=points))["cells"]
    for (cell, *_), figures in zip(way.cells, way.figures, strict=True):
        way.fold_errors.setdefault(tuple(cell.values[name] for name in path.grid.axes), []).append(
            figures["validation_error"]
        )


def chosen(way: Way, dataset: Dataset, train: Train) -> None:
    """Choose the cell of least mean error, of equals that of the smallest C and gamma, and test its refit."""
    C, gamma = min(way.fold_errors, key=lambda values: (fmean(way.fold_errors[values]), values))
    way.best, way.error = {"C": C, "gamma": gamma}, fmean(way.fold_errors[C, gamma])
    from harness import KernelOracle

    problem = CSVC.build(KernelOracle(RBF(gamma=gamma), dataset.x_train), dataset.y_train, {"C": C})
    coef, intercept = train(problem)
    if len(dataset.y_test):
        scores = problem.scores_new(coef, intercept, dataset.x_test)
        way.test_error = float(np.mean(np.where(scores >= 0.0, 1.0, -1.0) != dataset.y_test))


def agreement(one: Way, other: Way, n_test: int) -> str:
    """Say whether two choices are the same, or as good: the errors of both over the folds, and their test errors.

    As good: paired over the folds, by the other's models, the two differ by no more than twice the standard error of
    the difference, and the test errors by no more than twice theirs.
    """
    if one.best == other.best:
        return "same cell"
    first, second = (other.fold_errors[tuple(way.best.values())] for way in (one, other))
    apart = [a - b for a, b in zip(first, second, strict=True)]
    noise = stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    test = abs(one.test_error - other.test_error)
    room = 2.0 * (max(one.test_error, 1.0 / max(1, n_test)) / max(1, n_test)) ** 0.5
    within = abs(fmean(apart)) <= 2.0 * noise + 1e-12 and not test > room
    return "within noise" if within else "differs"


TITLES = [
    "set", "n", "d", "cells", "way", "CPU s", "SVC over it", "KKT <= 1e-3, %", "median gap", "C", "gamma", "CV error %",
    "+-", "test error %", "choice",
]  # fmt: skip


def lines(dataset: Dataset, ways: list[Way]) -> list[list[str]]:
    """Return a line of the table for each way."""
    peer = next(way for way in ways if way.name == PEER)
    found = []
    for way in ways:
        violations = np.array([each.get("kkt_violation", np.nan) for each in way.figures], dtype=float)
        gaps = [each["relative_gap"] for each in way.figures if each.get("relative_gap") is not None]
        errors = way.fold_errors[tuple(way.best.values())]
        noise = stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else 0.0
        n, d = dataset.x_train.shape
        found.append(
            [
                dataset.name, str(n), str(d), str(len(way.cells)), way.name, f"{way.seconds:.2f}",
                f"{peer.seconds / way.seconds:.2f}", f"{100.0 * float(np.mean(violations <= 1.01 * TOLERANCE)):.1f}",
                f"{np.median(gaps):.1e}", f"{way.best['C']:g}", f"{way.best['gamma']:.3g}", f"{100.0 * way.error:.2f}",
                f"{100.0 * noise:.2f}", f"{100.0 * way.test_error:.2f}", agreement(way, peer, len(dataset.y_test)),
            ]
        )  # fmt: skip
    return found


def markdown(rows: list[list[str]]) -> str:
    """Return the lines as a table, and under it geometric means of SVC's time over each way's."""
    text = ["| " + " | ".join(TITLES) + " |", "|" + " --- |" * len(TITLES)]
    text += ["| " + " | ".join(row) + " |" for row in rows]
    way, ratio = TITLES.index("way"), TITLES.index("SVC over it")
    for name in dict.fromkeys(row[way] for row in rows):
        if name != PEER:
            own = [float(row[ratio]) for row in rows if row[way] == name]
            text += [
                "",
                f"SVC over {name}: {np.exp(np.mean(np.log(own))):.2f} in the geometric mean, {min(own):.2f} at least",
            ]
    return "\n".join(text) + "\n"


def cell_rows(dataset: Dataset, ways: list[Way]) -> Iterator[list[Any]]:
    """Yield what is known of each cell."""
    for way in ways:
        for (cell, seconds, coef, _), figures in zip(way.cells, way.figures, strict=True):
            known = [figures.get(name) for name in ("kkt_violation", "relative_gap", "validation_error")]
            place = [cell.values["C"], cell.values["gamma"], cell.fold]
            yield [dataset.name, way.name, *place, seconds, int(np.count_nonzero(coef)), *known]


def main() -> None:
    """Measure and print; with --output FOLDER write guide.md, guide.csv and cells.csv there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=["guide", "torchkm"], default="guide")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--every", type=int, default=1, help="each K-th value of C and of gamma alone")
    parser.add_argument("--folds", type=int, help="5 of the guide, 10 of torchkm")
    parser.add_argument("--values", type=int, default=50, help="of C, in torchkm's task")
    parser.add_argument("--n", type=int, default=10_000, help="training points of torchkm's task")
    parser.add_argument("--solver", default="smo-block", help="ours, a selection: 'smo-block[tau=1e-4]'")
    parser.add_argument("--seed", type=int, default=0, help="of the folds, and of what is drawn")
    parser.add_argument("--no-cold", action="store_true", help="leave our own cold cells out")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    CLOCK.install()
    if given.task == "guide":
        registry = load_registry()
        sets = [scaled(registry.source_class(name)().load()) for name in given.sets.split(",")]
        grid = Grid({"C": tuple(COSTS[:: given.every])}, {"gamma": tuple(WIDTHS[:: given.every])}, given.folds or 5)
    else:
        sets = [drawn(given.n, given.seed)]
        width = 1.0 / (sets[0].x_train.shape[1] * float(np.var(sets[0].x_train)))
        grid = Grid({"C": tuple(np.geomspace(1e-3, 1e3, given.values))}, {"gamma": (width,)}, given.folds or 10)
    table, cells = list[list[str]](), list[list[Any]]()
    for dataset in sets:
        ways = compared(dataset, grid, get_solver(given.solver), given.seed, cold=not given.no_cold)
        table += (own := lines(dataset, ways))
        cells += cell_rows(dataset, ways)
        print(markdown(own), flush=True)
    print(markdown(table))
    if given.output:
        given.output.mkdir(parents=True, exist_ok=True)
        (given.output / "guide.md").write_text(markdown(table))
        titles = [
            "set",
            "way",
            "C",
            "gamma",
            "fold",
            "cpu_seconds",
            "support",
            "kkt_violation",
            "relative_gap",
            "error",
        ]
        for name, heads, rows in (("guide.csv", TITLES, table), ("cells.csv", titles, cells)):
            stream = io.StringIO()
            csv.writer(stream, lineterminator="\n").writerows([heads, *rows])
            (given.output / name).write_text(stream.getvalue())


if __name__ == "__main__":
    main()
