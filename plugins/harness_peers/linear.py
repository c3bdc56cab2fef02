"""Linear and approximate models of scikit-learn: LIBLINEAR, stochastic gradients, Nystroem and random Fourier features.

They are what is used where a kernel solver takes too long. LIBLINEAR penalises its bias, 1/2 (b / s)^2 with s =
``intercept_scaling``: c-svc-nobias is its own problem, and of the others the bias is penalised so little that it does not
show, where LIBLINEAR's Newton method stands it; its coordinate descent on the hinge does not, and s is 1 there.
"""

from __future__ import annotations

import ctypes
import importlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness import (
    CSVC,
    RBF,
    Conformance,
    CosineFeatures,
    CSVCNoBias,
    Iterate,
    Problem,
    ProblemSummary,
    Solver,
    parameter,
)
from harness.problems import L2SVC
from harness_peers.peer import class_cost, with_int32_indices

_SCALING = 100.0  # of the bias where Newton's method has it
_SEEDS = 2**31


@dataclass(frozen=True)
class Linear(Solver):
    """What all of them refuse: points of one class, and kernels that they have no words for."""

    observable = False
    exact = False
    package: ClassVar[str] = "sklearn.svm"
    needs_linear: ClassVar[bool] = True

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse one class, and other kernels."""
        if problem.one_class:
            return f"{self.name} needs points of both classes; all {problem.n} are of one."
        if self.needs_linear and not problem.is_linear:
            return f"{self.name} needs the linear kernel, not '{problem.kernel.name}'; take --kernel linear."
        importlib.import_module(self.package)  # off the clock
        return None


@dataclass(frozen=True)
class OfLibLinear(Linear):
    """What LIBLINEAR solves, and how its tolerance is set."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVCNoBias, L2SVC)
    exact = True
    model_form = "weights"

    tol: float = parameter(1e-4, "LIBLINEAR's stopping tolerance", gt=0)
    gap: float | None = parameter(None, "relative duality gap aimed at: tol is then no more than a tenth of it", gt=0)

    def tolerance(self) -> float:
        """Return the tolerance for the gap that is aimed at."""
        return self.tol if self.gap is None else min(self.tol, 0.1 * self.gap)


@dataclass(frozen=True)
class LinearSVC(OfLibLinear):
    """LIBLINEAR: dual coordinate descent on the hinge, Newton's method on its square (Fan et al. 2008).

    Take it for the linear kernel: many points, sparse features. Paper: Fan et al. 2008.
    """

    name = "linearsvc"
    max_iter: int = parameter(10_000, "iterations, at most", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model, once."""
        weights, intercept, told = _trained(problem, problem.kernel.points, self.tolerance(), self.max_iter, rng)
        yield Iterate(weights=weights, intercept=intercept, **told)


def _trained(
    problem: Problem, points: Any, tol: float, max_iter: int, rng: np.random.Generator
) -> tuple[Any, float, dict[str, Any]]:
    """Return weights and intercept of LIBLINEAR's model of the problem over other points, (n, m), and how it ended."""
    from sklearn.svm import LinearSVC as Estimator

    values: dict[str, Any]
    if isinstance(problem, L2SVC):  # the library's C xi^2 is chi / 2 xi^2
        values = {"C": 0.5 * problem.chi, "dual": False, "intercept_scaling": _SCALING}
        costs = None
    else:
        assert isinstance(problem, CSVC)
        values = {"C": problem.C, "loss": "hinge", "fit_intercept": problem.has_bias}
        costs = problem.upper / problem.C
    model = Estimator(tol=tol, max_iter=max_iter, random_state=int(rng.integers(_SEEDS)), **values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it was stopped: told below
        model.fit(with_int32_indices(points), problem.targets, sample_weight=costs)
    steps = int(np.max(model.n_iter_))
    stopped = {"stopped": f"the library stopped at max_iter={max_iter:,}"} if steps >= max_iter else {}
    told = {"done": not stopped, "step": steps, "info": stopped}
    return model.coef_[0], float(np.ravel(model.intercept_)[0]), told


@dataclass(frozen=True)
class LibLinear(OfLibLinear):
    """LIBLINEAR from its authors: the same two methods as ``linearsvc``, without scikit-learn (Fan et al. 2008).

    Take it to measure LIBLINEAR without scikit-learn. Paper: Fan et al. 2008.
    """

    name = "liblinear"
    package = "liblinear.liblinear"
    requires: ClassVar[tuple[str, ...]] = ("liblinear-official>=2.40",)
    tol: float = parameter(1e-3, "LIBLINEAR's stopping tolerance", gt=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model, once; it draws by the C library's generator, which is seeded here."""
        import scipy.sparse

        ctypes.CDLL(None).srand(int(rng.integers(_SEEDS)))
        library, scale, costs = importlib.import_module(self.package), -1.0, (1.0, 1.0)
        if isinstance(problem, L2SVC):  # the library's C xi^2 is chi / 2 xi^2
            method, cost, scale = 2, 0.5 * problem.chi, _SCALING
        else:
            assert isinstance(problem, CSVC)
            method, cost = 3, problem.C
            costs = class_cost(problem, -1.0) / cost, class_cost(problem, 1.0) / cost
        # the package knows the older sparse matrices only, not sparse arrays
        points = scipy.sparse.csr_matrix(with_int32_indices(problem.kernel.points))
        handed = library.problem(problem.targets, points, scale)
        said: list[bytes] = []
        listen = library.PRINT_STRING_FUN(said.append)
        words = f"-s {method} -c {cost!r} -e {self.tolerance()!r} -B {scale!r} -w-1 {costs[0]!r} -w1 {costs[1]!r}"
        options = library.parameter(words)
        library.liblinear.set_print_string_function(listen)
        found = library.toPyModel(library.liblinear.train(handed, options))
        library.liblinear.set_print_string_function(library.ctypes_print_null)  # ours goes with this call
        late = b"max number of iterations" in b"".join(said)  # nothing else tells it
        told = {"stopped": "the library stopped at its largest number of iterations"} if late else {}
        weights, bias = found.get_decfun()  # of the class that came first in the data
        sign = float(found.get_labels()[0])
        bias = sign * bias if scale > 0.0 else 0.0
        yield Iterate(weights=sign * np.array(weights), intercept=bias, done=not late, info=told)


@dataclass(frozen=True)
class SGD(Linear):
    """Stochastic subgradients on the hinge, steps of 1 / (alpha t), alpha = 1 / (n C) (Pegasos, 2007; Bottou's svmsgd).

    Take it for a rough linear model of very many points. Paper: Shalev-Shwartz, Singer and Srebro 2007.
    """

    name = "sgd"
    package = "sklearn.linear_model"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, CSVCNoBias)
    model_form = "weights"

    epochs: int = parameter(20, "passes over the points; a model is yielded after each", ge=1)
    average: bool = parameter(False, "the average of all models of an epoch, not the last")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield a model after each pass."""
        from sklearn.linear_model import SGDClassifier

        assert isinstance(problem, CSVC)
        order = np.random.RandomState(int(rng.integers(_SEEDS)))
        alpha = 1.0 / (problem.n * problem.C)
        model = SGDClassifier(alpha=alpha, fit_intercept=problem.has_bias, average=self.average, random_state=order)
        points, costs = with_int32_indices(problem.kernel.points), problem.upper / problem.C
        for epoch in range(1, self.epochs + 1):
            model.partial_fit(points, problem.targets, classes=[-1.0, 1.0], sample_weight=costs)
            intercept = float(model.intercept_[0]) if problem.has_bias else 0.0
            yield Iterate(weights=model.coef_[0], intercept=intercept, done=epoch == self.epochs, step=epoch)


@dataclass(frozen=True)
class Approximation(Linear):
    """LIBLINEAR on features that stand for the kernel."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, CSVCNoBias, L2SVC)
    needs_linear = False

    n_components: int = parameter(100, "features", ge=1, le=100_000)
    tol: float = parameter(1e-4, "LIBLINEAR's stopping tolerance", gt=0)
    max_iter: int = parameter(10_000, "iterations of LIBLINEAR, at most", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the model, once."""
        features, model = self.mapped(problem, rng)
        weights, intercept, told = _trained(problem, features, self.tol, self.max_iter, rng)
        yield Iterate(intercept=intercept, **model(weights), **told)

    @abstractmethod
    def mapped(self, problem: Problem, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return features of the training points, (n, m), and what makes fields of an iterate of their weights."""


@dataclass(frozen=True)
class Nystroem(Approximation):
    """LIBLINEAR on the Nystroem features of training points drawn at random (Williams and Seeger 2001), for any kernel.

    Take it where a kernel solver takes too long, with any kernel. Paper: Williams and Seeger 2001.

    Its model is an expansion over these points. The n x ``n_components`` kernel values are held at once.
    """

    name = "nystroem"
    conformance = Conformance({"n_components": 20})
    observable = True
    model_form = "free_coef"

    def mapped(self, problem: Problem, rng: np.random.Generator) -> tuple[Any, Any]:
        from scipy.linalg import eigh

        marks = rng.choice(problem.n, min(self.n_components, problem.n), replace=False)
        values = problem.kernel.replace(ridge=0.0).block(marks)
        sizes, vectors = eigh(values[:, marks])
        kept = sizes > 1e-12 * max(1e-300, float(sizes[-1]))
        root = vectors[:, kept] / np.sqrt(sizes[kept])

        def model(weights: Any) -> dict[str, Any]:
            coef = np.zeros(problem.n)
            coef[marks] = root @ weights
            return {"free_coef": coef}

        return values.T @ root, model


@dataclass(frozen=True)
class RandomFeatures(Approximation):
    """LIBLINEAR on random Fourier features of an RBF kernel (Rahimi and Recht 2007).

    Take it where a kernel solver takes too long, with the RBF kernel; the model is scored, not certified. Paper:
    Rahimi and Recht 2007.

    Its model is over features of its own: it is scored, and nothing is certified of it.
    """

    name = "rff"
    conformance = Conformance({"n_components": 50})
    model_form = "features"

    def skip(self, problem: ProblemSummary) -> str | None:
        """Refuse all kernels but one."""
        if not isinstance(problem.kernel, RBF):
            return f"{self.name} has features for the rbf kernel, not for '{problem.kernel.name}'; take nystroem."
        return super().skip(problem)

    def mapped(self, problem: Problem, rng: np.random.Generator) -> tuple[Any, Any]:
        kernel = problem.kernel.kernel
        assert isinstance(kernel, RBF)
        directions = rng.normal(scale=np.sqrt(2.0 * kernel.gamma), size=(problem.kernel.n_features, self.n_components))
        features = CosineFeatures(directions, rng.uniform(0.0, 2.0 * np.pi, self.n_components))
        return features.of(problem.kernel.points), lambda weights: {"weights": weights, "features": features}
