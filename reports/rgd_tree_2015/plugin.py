"""A plugin for this study alone: its divisions of data, their errors, and how good a direction is for the ramp loss.

``noisy-split``    a set divided into training, validation and test points, labels of the first two flipped
``with-constant``  a set with a constant column, which is the bias of a kernel machine without one
``validation-error``, ``held-out-error``  of such a split's validation points, and of its test points, as metrics
``rescaled``       the hyperplane that a solver of another formulation finds, at the scale that the ramp loss likes best
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from harness_rgd.outlier_margin import OutlierMargin

from harness import Dataset, DataSource, Iterate, Problem, ProblemSummary, Solver, get_solver, hookimpl, parameter
from harness.datasets.dataset import flipped, is_csr
from harness.datasets.splitting import random_split, rescaled
from harness.measure.metrics import accuracy
from harness.problems import CSVCNoBias
from harness.support.errors import UsageError
from reports.kit.plugin_tools import all_rows, dataset, load, load_dense


@dataclass(frozen=True)
class NoisySplit(DataSource):
    """A set divided at random: 40 % for training, 30 % for validation, 30 % for testing; labels of the first two flipped.

    The parts of the set are joined first. Features are standardised by the training part, with a constant column
    last: of a kernel machine without a bias it is the bias, and it changes nothing where there is one. The split's test
    part has the validation points and then as many test points, for ``validation-error`` and ``held-out-error``: one
    run gives both, and the accuracy of the two together means nothing. ``planted`` are the flipped training labels.
    """

    name = "noisy-split"
    description = (
        "A set drawn anew as training, validation and test points, labels flipped (Ding & Xu 2015, section 4)."
    )
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")
    rows: Literal["all", "train"] = parameter("all", "the rows that are divided: all, or its training part's")
    drawn: int | None = parameter(None, "so many of these rows, drawn at random first; none: all of them", ge=10)
    noise: float = parameter(0.15, "share of the labels of training and validation part that are flipped", ge=0, lt=0.5)
    n: int | None = parameter(None, "training points that are kept; none: all of them", ge=2)
    seed: int = parameter(0, "seed of the division and of the flips", ge=0)

    def load(self) -> Dataset:
        whole = load(self.of)
        x, y = all_rows(whole) if self.rows == "all" else (whole.x_train, np.asarray(whole.y_train))
        if self.drawn is not None:
            some = random_split(len(y), self.drawn, self.seed)[0]
            x, y = x[some], y[some]
        x = x.toarray() if is_csr(x) else x
        size = int(0.3 * len(y))
        train, others = random_split(len(y), len(y) - 2 * size, self.seed)
        train, validation, test = train[: self.n], others[:size], others[size:]
        y_train, y_validation = (flipped(y[part], self.noise, self.seed) for part in (train, validation))
        scaled = rescaled(x[train], x[np.concatenate([validation, test])], "standard")
        x_train, x_others = (np.column_stack([part, np.ones(len(part))]) for part in scaled)
        y_others = np.concatenate([y_validation, y[test]])
        return dataset(self, x_train, y_train, x_others, y_others, planted=y_train != y[train])


@dataclass(frozen=True)
class WithConstant(DataSource):
    """A set of dense points with a column of ones behind the others.

    A linear machine without a bias has it there, and pays for it as for any weight; of one with a bias nothing changes.
    """

    name = "with-constant"
    description = "A set of dense points with a constant last column; +1 is as in that set."
    of: str = parameter("wdbc", "the set, as ``harness compare`` takes it")

    def load(self) -> Dataset:
        whole = load_dense(self, self.of)
        x_train, x_test = (np.column_stack([x, np.ones(len(x))]) for x in (whole.x_train, whole.x_test))
        return dataset(self, x_train, whole.y_train, x_test, whole.y_test, like=whole, planted=whole.planted)


def validation_error(targets: Any, scores: Any) -> float:
    """Return the percentage of wrong labels in the first half: of ``noisy-split`` the validation points."""
    half = len(targets) // 2
    return 100.0 * (1.0 - accuracy(targets[:half], scores[:half]))


def held_out_error(targets: Any, scores: Any) -> float:
    """Return the percentage of wrong labels in the second half: of ``noisy-split`` the test points."""
    half = len(targets) // 2
    return 100.0 * (1.0 - accuracy(targets[half:], scores[half:]))


@dataclass(frozen=True)
class Rescaled(Solver):
    """The direction that ``oracle`` finds, at the scale t >= 0 where J_s(t w) is least: how good is it for the ramp loss?

    The oracle solves ``outlier-margin`` with the share ``outliers``, or the hinge's c-svc-nobias with the problem's C.
    J_s(t w) is quadratic between the scales where a y f meets 1 or s, so the best t is found exactly. The points end in a
    constant column; an oracle with a bias b makes that column's weight b, which ramp-svc then charges for, as it does
    for every other weight.

    info : ``objective``, J_s at the best scale; ``scale``, t; ``given_up``, points beyond s; J_s(0) is an upper bound
    """

    name = "rescaled"
    solves = ("ramp-svc",)
    exact = False
    oracle: str = parameter("rgd-tree", "a solver of outlier-margin or of c-svc-nobias, parameters in brackets")
    outliers: float = parameter(0.15, "share that a solver of outlier-margin may give up", ge=0, lt=1)
    delta: float = parameter(0.5, "(1 + delta) times the share", ge=0, le=1)

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse other kernels."""
        return None if problem.is_linear else "rescaled needs a linear kernel: it works on weights."

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the weights, once."""
        oracle, x = get_solver(self.oracle), np.asarray(problem.kernel.points)
        if np.ptp(x[:, -1]) or x[0, -1] == 0.0:  # it takes the place of the bias
            raise UsageError("rescaled needs a constant last column of the points.")
        formulation = OutlierMargin if oracle.takes(OutlierMargin) else CSVCNoBias
        values = {"outliers": self.outliers, "delta": self.delta, "C": problem.settings.C}
        *_, last = oracle.iterates(formulation.build(problem.kernel, problem.targets, values), rng)
        weights = np.array(x.T @ last.dual_coef if last.weights is None else last.weights)
        weights[-1] += last.intercept / x[0, -1]
        scale, objective = best_scale(problem, problem.targets * (x @ weights), float(weights @ weights))
        given_up = int(np.sum(scale * problem.targets * (x @ weights) < problem.settings.s))
        info = {"objective": objective, "scale": scale, "given_up": given_up}
        yield Iterate(weights=scale * weights, done=True, info=info)


def best_scale(problem: Problem, z: Any, squared: float) -> tuple[float, float]:
    """Return t >= 0 and J_s(t w), the least of all t.

    z : (n,) y f of w; squared : |w|^2
    """
    upper, s = problem.upper, problem.settings.s
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.concatenate([1.0 / z, s / z])
    bends = np.unique(np.concatenate([[0.0], bends[np.isfinite(bends) & (bends > 0.0)]]))
    ends = np.append(bends[1:], bends[-1] + 1.0 + np.abs(upper @ z) / max(squared, np.finfo(float).tiny))
    middle = 0.5 * (bends + ends)
    sloping = (z[:, None] * middle < 1.0) & (z[:, None] * middle > s)  # where R_s falls with y f
    turning = (upper * z) @ sloping / max(squared, np.finfo(float).tiny)
    scales = np.concatenate([bends, np.clip(turning, bends, ends)])
    losses = upper @ np.clip(1.0 - z[:, None] * scales, 0.0, 1.0 - s)
    values = 0.5 * squared * scales**2 + losses
    best = int(np.argmin(values))
    return float(scales[best]), float(values[best])


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the study."""
    return [NoisySplit, WithConstant]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the errors of the halves of ``noisy-split``."""
    return {"validation-error": validation_error, "held-out-error": held_out_error}


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of the study."""
    return [Rescaled]
