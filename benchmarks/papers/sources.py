"""A plugin for the studies of papers alone: draws of data that only they use, and scores as a metric.

``adult-split``  both parts of adult together, divided anew
``mnist-noise``  MNIST with some of the training labels flipped
``admissions``   an online solver with a record of where on the ramp each example lay when its turn came
``test-scores``  the scores of the test points themselves, for what several classifiers decide together
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness import (
    CSVCNoBias,
    Dataset,
    DataSource,
    Iterate,
    Problem,
    Solver,
    UsageError,
    content_sha256,
    get_solver,
    hookimpl,
    parameter,
)
from harness.registry import load_registry


def _loaded(selection: str) -> Dataset:
    return load_registry().select_datasets(selection)[0].load()


@dataclass(frozen=True)
class AdultSplit(DataSource):
    """All 48,842 rows of adult, divided at random into as many for training and testing as the file has."""

    name = "adult-split"
    description = "Adult, both parts divided anew (Bordes et al. 2005, section 4.4: 65 random splits)."
    seed: int = parameter(0, "seed of the division", ge=0)
    n: int = parameter(32_561, "training rows; all others are for testing", ge=2, le=48_840)

    def load(self) -> Dataset:
        import scipy.sparse

        whole = _loaded("adult")
        x = scipy.sparse.csr_array(scipy.sparse.vstack([whole.x_train, whole.x_test]))
        y = np.concatenate([whole.y_train, whole.y_test])
        order = np.random.default_rng(self.seed).permutation(len(y))
        train, test = np.sort(order[: self.n]), np.sort(order[self.n :])
        parts = (x[train], y[train], x[test], y[test])
        return Dataset(self.label, *parts, content_sha256(*parts), defaults=whole.defaults)


@dataclass(frozen=True)
class MnistNoise(DataSource):
    """MNIST, one digit against the rest, with exactly ``noise`` of the training labels negated; clean test labels."""

    name = "mnist-noise"
    description = "MNIST with flipped training labels (Bordes et al. 2005, section 4.4, figures 14 and 15)."
    digit: int = parameter(8, "the digit that is +1", ge=0, le=9)
    n: int = parameter(60_000, "the first n training images", ge=2, le=60_000)
    noise: float = parameter(0.1, "share of the training labels that are flipped", ge=0, lt=0.5)
    noise_seed: int = parameter(0, "seed of the choice of flipped labels", ge=0)

    def load(self) -> Dataset:
        clean = _loaded(f"mnist[digit={self.digit}]" if self.n == 60_000 else f"mnist[digit={self.digit},n={self.n}]")
        y = np.array(clean.y_train)
        y[np.random.default_rng(self.noise_seed).permutation(len(y))[: round(self.noise * len(y))]] *= -1.0
        # the clean data's checksum stands for the images: they are most of the bytes, and the same
        sha256 = hashlib.sha256(f"{clean.sha256} {self.noise} {self.noise_seed}".encode()).hexdigest()
        return replace(clean, name=self.label, y_train=y, sha256=sha256)


class _Recording(np.random.Generator):
    """A generator that remembers the last permutation it gave."""

    def permutation(self, *arguments: Any, **options: Any) -> Any:
        self.order = super().permutation(*arguments, **options)
        return self.order


@dataclass(frozen=True)
class Admissions(Solver):
    """One epoch of ``oracle``, which is given the examples one by one, each scored just before (Ertekin et al., Table 1).

    info: ``admitted`` (examples), of these ``admitted_left`` (y f < bend at their turn) and ``admitted_right``
    (y f > 1); ``cleaned_left`` and ``cleaned_right``, those of them that are not in S at the end; ``support_vectors``
    and ``non_support``, the members of S with and without a coefficient. Kernel values of the record are not counted.
    """

    name = "admissions"
    solves = (CSVCNoBias,)
    exact = False
    oracle: str = parameter("lasvm-g", "an online solver whose info says how many examples it has visited")
    bend: float = parameter(-1.0, "s of the ramp loss", lt=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        recording = _Recording(rng.bit_generator)
        kernel, targets = problem.kernel, problem.targets
        z = np.zeros(problem.n)  # y f at the example's turn; before the first one f = 0
        scored = 0
        for last in get_solver(self.oracle, block=1).iterates(problem, recording):
            visited = last.info.get("visited")
            if visited is None:
                raise UsageError(
                    f"solver 'admissions': the info of {self.oracle} has no 'visited', the number of examples so far; "
                    "take an oracle that has it."
                )
            if scored < visited < problem.n:
                scored = visited
                k = recording.order[visited : visited + 1]
                support = np.flatnonzero(last.dual_coef)
                with kernel.uncounted():
                    z[k] = targets[k] * (kernel.block(k, support) @ last.dual_coef[support])
                yield Iterate(last.dual_coef, step=last.step)
        support = int(np.count_nonzero(last.dual_coef))
        whole = int(last.core_set) == problem.n  # nothing was removed
        gone = np.zeros(problem.n, bool) if whole else np.asarray(last.dual_coef) == 0.0
        left, right = z < self.bend, z > 1.0
        counts = {
            "support_vectors": support,
            "non_support": int(last.core_set) - support,
            "admitted": problem.n,
            "admitted_left": int(left.sum()),
            "admitted_right": int(right.sum()),
            "cleaned_left": int((left & gone).sum()),
            "cleaned_right": int((right & gone).sum()),
        }
        yield Iterate(last.dual_coef, last.intercept, done=True, step=last.step, core_set=last.core_set, info=counts)


def encoded(targets: Any, scores: Any) -> str:  # noqa: ARG001  a metric is given both
    """Return the scores of the test points as base64 of little-endian float32; a record holds no arrays."""
    return base64.b64encode(np.asarray(scores, dtype="<f4").tobytes()).decode()


def decoded(text: str) -> Any:
    """Return the (n_test,) scores that :func:`encoded` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


@hookimpl
def harness_solvers() -> list[type[Solver]]:
    """Return the solvers of the studies."""
    return [Admissions]


@hookimpl
def harness_datasets() -> list[type[DataSource]]:
    """Return the data sources of the studies."""
    return [AdultSplit, MnistNoise]


@hookimpl
def harness_metrics() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the scores as a metric."""
    return {"test-scores": encoded}
