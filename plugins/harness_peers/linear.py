"""Solvers for linear and approximate models: LIBLINEAR, stochastic gradients, Nystroem and random Fourier features.

They are alternatives if a kernel solver takes too long. LIBLINEAR penalises the bias by 1/2 (b / s)^2 with s =
``intercept_scaling``. On c-svc-nobias there is no bias. On l2-svc, which LIBLINEAR solves by Newton's method, s is so large that
the penalty is negligible. Its coordinate descent on the hinge loss does not converge with a large s, so s is 1 there.
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

_SCALING = 100.0  # intercept_scaling of Newton's method
_SEEDS = 2**31  # number of seeds of the libraries' random generators


@dataclass(frozen=True)
class Linear(Solver):
    """Base class of the linear solvers, which need both classes and the linear kernel or an approximation."""

    observable = False
    exact = False
    package: ClassVar[str] = "sklearn.svm"
    needs_linear: ClassVar[bool] = True

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the solver cannot solve the problem, or None."""
        if problem.one_class:
            return f"{self.name} needs points of both classes; all {problem.n} are of one."
        if self.needs_linear and not problem.is_linear:
            return f"{self.name} needs the linear kernel, not '{problem.kernel.name}'; take --kernel linear."
        importlib.import_module(self.package)  # so that the run's time does not include the import
        return None


@dataclass(frozen=True)
class OfLibLinear(Linear):
    """Base class of the solvers that call LIBLINEAR."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVCNoBias, L2SVC)
    exact = True
    model_form = "weights"

    tol: float = parameter(1e-4, "LIBLINEAR's stopping tolerance", gt=0)
    gap: float | None = parameter(None, "relative target gap: tol is at most a tenth of it", gt=0)

    def tolerance(self) -> float:
        """Return the tolerance of the library for the target gap."""
        return self.tol if self.gap is None else min(self.tol, 0.1 * self.gap)


@dataclass(frozen=True)
class LinearSVC(OfLibLinear):
    """LIBLINEAR: dual coordinate descent on the hinge, Newton's method on its square (Fan et al. 2008).

    Use it for the linear kernel with many points or sparse features. Paper: Fan, Chang, Hsieh, Wang and
    Lin 2008.
    """

    name = "linearsvc"
    max_iter: int = parameter(10_000, "largest number of iterations", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model."""
        weights, intercept, fields = _train(problem, problem.kernel.points, self.tolerance(), self.max_iter, rng)
        yield Iterate(weights=weights, intercept=intercept, **fields)


def _train(
    problem: Problem, points: Any, tol: float, max_iter: int, rng: np.random.Generator
) -> tuple[Any, float, dict[str, Any]]:
    """Train LIBLINEAR on ``points``, (n, m), with the problem's labels; return weights, intercept, other fields of an iterate."""
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
        warnings.simplefilter("ignore")  # of a stop at max_iter, which n_iter_ shows too
        model.fit(with_int32_indices(points), problem.targets, sample_weight=costs)
    steps = int(np.max(model.n_iter_))
    stopped = {"stopped": f"the library stopped at max_iter={max_iter:,}"} if steps >= max_iter else {}
    fields = {"done": not stopped, "step": steps, "info": stopped}
    return model.coef_[0], float(np.ravel(model.intercept_)[0]), fields


@dataclass(frozen=True)
class LibLinear(OfLibLinear):
    """LIBLINEAR from its authors: the same two methods as ``linearsvc``, without scikit-learn (Fan et al. 2008).

    Use it to measure LIBLINEAR without scikit-learn. Paper: Fan, Chang, Hsieh, Wang and
    Lin 2008.
    """

    name = "liblinear"
    package = "liblinear.liblinear"
    requires: ClassVar[tuple[str, ...]] = ("liblinear-official>=2.40",)
    tol: float = parameter(1e-3, "LIBLINEAR's stopping tolerance", gt=0)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the library's model; it uses the random generator of the C library, which is seeded here."""
        import scipy.sparse

        ctypes.CDLL(None).srand(int(rng.integers(_SEEDS)))
        library, scale, costs = importlib.import_module(self.package), -1.0, (1.0, 1.0)
        if isinstance(problem, L2SVC):  # the library's C xi^2 is chi / 2 xi^2
            method, cost, scale = 2, 0.5 * problem.chi, _SCALING
        else:
            assert isinstance(problem, CSVC)
            method, cost = 3, problem.C
            costs = class_cost(problem, -1.0) / cost, class_cost(problem, 1.0) / cost
        # the package accepts sparse matrices, but not sparse arrays
        points = scipy.sparse.csr_matrix(with_int32_indices(problem.kernel.points))
        data = library.problem(problem.targets, points, scale)
        output: list[bytes] = []
        append_output = library.PRINT_STRING_FUN(output.append)
        options = f"-s {method} -c {cost!r} -e {self.tolerance()!r} -B {scale!r} -w-1 {costs[0]!r} -w1 {costs[1]!r}"
        parameters = library.parameter(options)
        library.liblinear.set_print_string_function(append_output)
        model = library.toPyModel(library.liblinear.train(data, parameters))
        library.liblinear.set_print_string_function(library.ctypes_print_null)  # append_output is freed with this call
        stopped = b"max number of iterations" in b"".join(output)  # the model does not have this
        info = {"stopped": "the library stopped at its largest number of iterations"} if stopped else {}
        weights, bias = model.get_decfun()  # of the class that comes first in the data
        sign = float(model.get_labels()[0])
        bias = sign * bias if scale > 0.0 else 0.0
        yield Iterate(weights=sign * np.array(weights), intercept=bias, done=not stopped, info=info)


@dataclass(frozen=True)
class SGD(Linear):
    """Stochastic subgradients on the hinge, steps of 1 / (alpha t), alpha = 1 / (n C) (Pegasos, 2007; Bottou's svmsgd).

    Use it for a rough linear model of very many points. Paper: Shalev-Shwartz, Singer and Srebro 2007.
    """

    name = "sgd"
    package = "sklearn.linear_model"
    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, CSVCNoBias)
    model_form = "weights"

    epochs: int = parameter(20, "number of passes over the points, each followed by a model", ge=1)
    average: bool = parameter(False, "return the average of the models so far instead of the last one")

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield an iterate after each pass."""
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
    """Base class of solvers that apply LIBLINEAR to features which approximate the kernel."""

    solves: ClassVar[tuple[type[Problem], ...]] = (CSVC, CSVCNoBias, L2SVC)
    needs_linear = False

    n_components: int = parameter(100, "number of features", ge=1, le=100_000)
    tol: float = parameter(1e-4, "LIBLINEAR's stopping tolerance", gt=0)
    max_iter: int = parameter(10_000, "largest number of iterations of LIBLINEAR", ge=1)

    def iterates(self, problem: Problem, rng: np.random.Generator) -> Iterator[Iterate]:
        """Yield the model."""
        features, model = self.approximate(problem, rng)
        weights, intercept, fields = _train(problem, features, self.tol, self.max_iter, rng)
        yield Iterate(intercept=intercept, **model(weights), **fields)

    @abstractmethod
    def approximate(self, problem: Problem, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return features of the training points, (n, m), and a function from their weights to fields of an iterate."""


@dataclass(frozen=True)
class Nystroem(Approximation):
    """LIBLINEAR on the Nystroem features of training points drawn at random (Williams and Seeger 2001), for any kernel.

    Use it if a kernel solver takes too long, with any kernel. Paper: Williams and Seeger 2001.

    The model is an expansion over these points. It needs memory for n x ``n_components`` kernel values.
    """

    name = "nystroem"
    conformance = Conformance({"n_components": 20})
    observable = True
    model_form = "free_coef"

    def approximate(self, problem: Problem, rng: np.random.Generator) -> tuple[Any, Any]:
        from scipy.linalg import eigh

        landmarks = rng.choice(problem.n, min(self.n_components, problem.n), replace=False)
        values = problem.kernel.replace(ridge=0.0).block(landmarks)
        eigenvalues, vectors = eigh(values[:, landmarks])
        positive = eigenvalues > 1e-12 * max(1e-300, float(eigenvalues[-1]))
        root = vectors[:, positive] / np.sqrt(eigenvalues[positive])

        def model(weights: Any) -> dict[str, Any]:
            coef = np.zeros(problem.n)
            coef[landmarks] = root @ weights
            return {"free_coef": coef}

        return values.T @ root, model


@dataclass(frozen=True)
class RandomFeatures(Approximation):
    """LIBLINEAR on random Fourier features of an RBF kernel (Rahimi and Recht 2007).

    Use it if a kernel solver takes too long, with the RBF kernel. Paper: Rahimi and Recht 2007.

    The model is linear in the random features, so it is scored, but not certified.
    """

    name = "rff"
    conformance = Conformance({"n_components": 50})
    model_form = "features"

    def skip(self, problem: ProblemSummary) -> str | None:
        """Return why the problem has no random Fourier features, or None."""
        if not isinstance(problem.kernel, RBF):
            return f"{self.name} has features for the rbf kernel, not for '{problem.kernel.name}'; take nystroem."
        return super().skip(problem)

    def approximate(self, problem: Problem, rng: np.random.Generator) -> tuple[Any, Any]:
        kernel = problem.kernel.kernel
        assert isinstance(kernel, RBF)
        directions = rng.normal(scale=np.sqrt(2.0 * kernel.gamma), size=(problem.kernel.n_features, self.n_components))
        features = CosineFeatures(directions, rng.uniform(0.0, 2.0 * np.pi, self.n_components))
        return features.of(problem.kernel.points), lambda weights: {"weights": weights, "features": features}
