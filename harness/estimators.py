"""Solvers as estimators of scikit-learn: classification, regression, and a grid search that follows solution paths.

    SolverClassifier("smo-block", C=10, gamma=0.1).fit(X, y).predict(X_new)
    PathSearchCV(C=[0.1, 1, 10, 100], gamma=[0.01, 0.1, "scale"], cv=5).fit(X, y).best_params_

Any solver of any plugin works by its name. Nothing else in the harness imports this module.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import check_random_state, compute_class_weight, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from harness.kernels.engine import Engine
from harness.kernels.functions import GivenValues
from harness.kernels.points import as_points, joined, scale_gamma
from harness.measure.drive import Outcome, outcome_of
from harness.measure.outcome import Status
from harness.measure.scored import FreeModel
from harness.problems.problem import Certificate, Problem
from harness.registry.discovery import get_solver, shared_registry
from harness.solver.path import Grid, GridPoint, SolutionPath
from harness.solver.protocol import Iterate, Solver, with_arrays, with_target
from harness.support.errors import HarnessError, PluginError, UsageError
from harness.support.parameters import check_known, parameters_of

__all__ = ["PathSearchCV", "SolverClassifier", "SolverRegressor"]

_BLOCK_VALUES = 1 << 22  # kernel values that are in memory at a time when points are scored
_BELOW = 0.99  # fraction of its upper bound below which a coefficient is not at the bound, whatever the rounding


# -- problems, as folds of a path --------------------------------------------------------------------------


class _Fold(NamedTuple):
    """A problem over some of the points: a pair of classes, or all targets, of the training points of a split.

    members : (m,) indices of its points, ascending
    targets : (n,) of all points; those of other points are not read
    weights : (m,) factors of C; None if all are 1
    split, test : the split, and the points that it leaves out
    """

    members: Any
    targets: Any
    weights: Any = None
    split: int = 0
    test: Any = ()


@dataclass(frozen=True)
class _Cells(Grid):
    """A grid whose cells are given: not every fold has every gamma."""

    points: tuple[GridPoint, ...] = ()

    def cells(self) -> tuple[GridPoint, ...]:
        return self.points


class _Remaining(tuple[GridPoint, ...]):
    """Cells of a path; iteration leaves out those that are no longer in ``left``, index -> cell."""

    left: dict[int, GridPoint]

    def __iter__(self) -> Iterator[GridPoint]:
        return (cell for cell in super().__iter__() if cell.index in self.left)


class _Path(SolutionPath):
    """A path whose folds are given: splits that need be no partition, and pairs of classes."""

    given: Sequence[_Fold]
    solver: Solver

    def members(self, cell: GridPoint) -> Any:
        return self.given[cell.fold or 0].members

    def problem(self, cell: GridPoint) -> Problem:
        def make() -> Any:
            _, self.targets, weights, *_ = self.given[cell.fold or 0]
            problem: Any = super(_Path, self).problem(cell)
            if weights is None:
                return problem
            return type(problem)(problem.kernel, problem.targets, problem.settings, upper=problem.settings.C * weights)

        return cast("Problem", self._cached("weighted problem", cell.index, make))


def _path(
    estimator: Any, X: Any, folds: Sequence[_Fold], trains: Sequence[Any], Cs: Any, gammas: Any, *, cold: bool = False
) -> _Path:
    """Return the path of the problems of an estimator: every gamma, fold and C, in this order, C ascending.

    trains : training points of each split
    """
    named, task = estimator.solver, "classification" if is_classifier(estimator) else "regression"
    solver = with_target(get_solver(named) if isinstance(named, str) else named, estimator.target_gap)
    taken = {each.name: each for each in shared_registry().solved_by(type(solver)) if each.task == task}
    name = next(iter(taken), task) if estimator.formulation is None else estimator.formulation
    check_known(f"formulation of {task} that {solver.name} solves", name, taken)
    formulation, kernel = taken[name], shared_registry().kernel_class(estimator.kernel)
    known = {each.name for each in formulation.known_parameters()}
    of_kernel = {each.name for each in parameters_of(kernel)}
    # the cells have C and gamma, so that the same names among the parameters would be ignored
    further = sorted((known | of_kernel) - {"C", "gamma"})
    for parameter in estimator.parameters or {}:
        check_known("further parameter", parameter, further, "; C and gamma are arguments of the estimator itself.")
    if len(Cs) > 1 and "C" not in known:
        raise UsageError(f"formulation '{name}' has no C; give one value of C, or another formulation.")
    if any(fold.weights is not None for fold in folds) and "upper" not in formulation.per_point:
        raise UsageError(f"formulation '{name}' has no weights of points; give no class_weight or sample_weight.")
    given = {name: getattr(estimator, name) for name in ("C", "epsilon", "degree", "coef0") if hasattr(estimator, name)}
    given |= dict(estimator.parameters or {})
    cells, has_gamma = list[GridPoint](), "gamma" in of_kernel
    for gamma in gammas:
        widths = [{"gamma": _gamma(gamma, X[train])} if has_gamma else {} for train in trains]
        for f, fold in enumerate(folds):
            number = None if len(folds) == 1 and len(fold.members) == X.shape[0] else f  # None: no copy of the points
            for r, C in enumerate(sorted(Cs)):
                before = len(cells) - 1 if r else None
                cells.append(GridPoint(len(cells), {**widths[fold.split], "C": C}, number, before))
    axis = {"gamma": tuple({cell.values["gamma"] for cell in cells})} if has_gamma else {}
    path = _Path(
        _Cells({"C": tuple(Cs)}, axis, points=tuple(cells)), formulation, kernel, as_points(X), np.zeros(X.shape[0]), given,
        {name: value for name, value in given.items() if name in of_kernel}, cache_mb=estimator.cache_mb, cold=cold,
    )  # fmt: skip
    path.given, path.solver = folds, solver
    return path


def _gamma(gamma: Any, X: Any) -> float:
    if not isinstance(gamma, str):
        return float(gamma)
    check_known("gamma", gamma, ("scale", "auto"), ", and numbers.")
    return scale_gamma(X) if gamma == "scale" else 1.0 / float(X.shape[1])


def _solved(path: _Path, estimator: Any) -> Iterator[tuple[GridPoint, Outcome | Exception, float]]:
    """Yield each cell of the path when it has ended, with its outcome, or an error if there is no model, and its seconds.

    If a solver raises within a cell, its last model there is the outcome. The path continues with the next cell. A solution
    of c-svc whose coefficients are all below C solves the cells with a larger C too; they are not given to a solver that stops
    at a violation. One that stops at a gap solves them, as the gap grows with C.
    """
    solver, seed = path.solver, check_random_state(estimator.random_state).randint(2**31)
    if (refusal := solver.refusal(path.problem(path.cells[0]))) is not None:
        raise UsageError(refusal)

    def outcome(cell: GridPoint, iterate: Iterate) -> Outcome:
        problem, info = path.problem(cell), {key: iterate.info[key] for key in ("stopped",) if key in iterate.info}
        result = outcome_of(solver, problem, with_arrays(replace(iterate, info=info)), 0.0, 0.0, 1)
        if result.model is None:
            result.dual_coef, result.intercept = problem.checked(result.dual_coef, result.intercept)
        else:
            result.intercept = result.model.intercept
        return result

    rng, began = np.random.default_rng(seed), time.perf_counter()
    by_gap = estimator.target_gap is not None or getattr(solver, "gap", None) is not None
    reuses = "upper" in path.formulation.per_point and not by_gap
    while path.cells:
        left = {cell.index: cell for cell in path.cells}
        path.cells = remaining = _Remaining(path.cells)
        remaining.left = left
        ended: Outcome | Exception = PluginError(f"solver '{solver.name}' ended its path before the last cell.")
        last, cell = None, path.cells[0]
        try:
            # of a cold path every cell is solved as if it were alone
            models = Solver.solve_path(solver, path, rng) if path.cold else solver.solve_path(path, rng)
            for cell, last in models:
                if last.done or "stopped" in last.info:
                    result = outcome(cell, last)
                    yield left.pop(cell.index), result, time.perf_counter() - began
                    if reuses and result.status is Status.OK and result.dual_coef is not None:
                        problem: Any = path.problem(cell)
                        is_below = (np.abs(result.dual_coef) < _BELOW * problem.upper).all()
                        while is_below and cell.index + 1 in left and left[cell.index + 1].before == cell.index:
                            cell = left.pop(cell.index + 1)
                            yield cell, result, 0.0
                    last, began = None, time.perf_counter()
        except Exception as error:
            ended = error
            if last is not None:
                info = {"stopped": f"it raised {type(error).__name__}: {error}"}
                with contextlib.suppress(HarnessError):
                    ended = outcome(cell, replace(last, done=False, info=info))
        if left:
            failed = left.pop(min(left) if last is None else cell.index)
            yield failed, ended, time.perf_counter() - began
        path.cells = tuple(left.values())


def _coefficients(path: _Path, outcome: Outcome) -> Any:
    """Return the coefficients of f(x) = sum_i coef_i k(x_i, x) + intercept, (members,); None if the model is of another kind."""
    if isinstance(outcome.model, FreeModel) and outcome.model.own is None:
        return outcome.model.coef
    plain = outcome.model is None and path.formulation.scores_new is Problem.scores_new
    return outcome.dual_coef if plain else None


def _certificate(problem: Problem, outcome: Outcome) -> Certificate:
    if outcome.model is None:
        return problem.certify(outcome.dual_coef, outcome.intercept)
    return outcome.model.certificate(problem, outcome.model.scores(problem.kernel, problem.kernel.points))


def _blocks(engine: Engine, rows: Any, columns: Any) -> Iterator[tuple[slice, Any]]:
    """Yield parts of ``rows`` with their kernel values with ``columns``."""
    step = max(1, _BLOCK_VALUES // max(1, len(columns)))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        yield part, engine.block(rows[part], columns)


# -- estimators --------------------------------------------------------------------------------------------


def _validated(estimator: Any, X: Any, y: Any) -> Any:
    """Return X as float64, dense or CSR, and y, validated as scikit-learn does."""
    numeric = not is_classifier(estimator)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=numeric)
    if not numeric:
        check_classification_targets(y)
    return X, y


def _folds(
    estimator: Any, y: Any, members: Any, sample_weight: Any = None, split: int = 0, test: Any = ()
) -> list[_Fold]:
    """Return the problems of the training points ``members`` of a split: one for each pair of classes, or for real targets one."""
    if not is_classifier(estimator):
        return [_Fold(members, y.astype(np.float64), None, split, test)]
    weights, labels = None, np.unique(y[members])
    if sample_weight is not None or estimator.class_weight is not None:
        weights = _check_sample_weight(sample_weight, members, dtype=np.float64, ensure_non_negative=True)
        of_labels = compute_class_weight(estimator.class_weight, classes=labels, y=y[members])
        weights = weights * of_labels[np.searchsorted(labels, y[members])]
        members, weights = members[weights > 0.0], weights[weights > 0.0]
        weights = None if (weights == 1.0).all() else weights
    if (count := len(np.unique(y[members]))) < max(2, len(labels)):
        part = " in the training part of a split" if len(test) else ""
        raise ValueError(
            f"{count} of {len(labels)} classes have points of positive weight{part}; expected two or more, and all that are in y."
        )
    folds = list[_Fold]()
    for one, other in itertools.combinations(labels, 2):
        pair = np.isin(y[members], (one, other))
        signs = np.where(y == other, 1, -1).astype(np.int8)  # many pairs
        folds.append(_Fold(members[pair], signs, None if weights is None else weights[pair], split, test))
    return folds


def _voted(decisions: Any, k: int) -> tuple[Any, Any]:
    """Return the index of the class with the most votes, (points,), of equal ones the first, and the decision function.

    decisions : (points, k (k - 1) / 2) f(x) of the pairs (0, 1), (0, 2) .. (1, 2) ..; f >= 0 is a vote for the second class

    The decision function of k > 2 classes is that of SVC, (points, k): votes, and less than half a vote for the sum of f.
    """
    if k == 2:
        return (decisions[:, 0] >= 0.0).astype(np.intp), decisions[:, 0]
    votes, sums = np.zeros((2, len(decisions), k))
    for f, (i, j) in zip(decisions.T, itertools.combinations(range(k), 2), strict=True):
        votes[:, j] += f >= 0.0
        votes[:, i] += f < 0.0
        sums[:, j] += f
        sums[:, i] -= f
    return votes.argmax(axis=1), votes + sums / (3.0 * (np.abs(sums) + 1.0))


class _SolverEstimator(BaseEstimator):
    """Training and scores of classifier and regressor."""

    def _train(self, X: Any, folds: Sequence[_Fold]) -> Self:
        """Solve the problems over X and set the attributes of their models."""
        path = _path(self, X, folds, [slice(None)], [self.C], [self.gamma], cold=True)
        coefs, self.intercept_ = np.zeros((len(folds), path.n)), np.zeros(len(folds))
        self._models, gaps, unfinished = dict[int, Any](), list[float | None](), list[str]()
        for cell, outcome, _ in _solved(path, self):
            if isinstance(outcome, Exception):
                raise outcome
            k, problem, coef = cell.index, path.problem(cell), _coefficients(path, outcome)
            self.intercept_[k], self.kernel_ = outcome.intercept, problem.kernel.kernel
            if coef is not None:
                coefs[k, folds[k].members] = coef
            elif outcome.model is None:
                self._models[k] = partial(problem.scores_new, outcome.dual_coef, outcome.intercept)
            else:
                self._models[k] = partial(outcome.model.scores, problem.kernel)
            unfinished += [] if outcome.status is Status.OK else [outcome.reason]
            if self.certify:
                gaps.append(gap := _certificate(problem, outcome).relative_gap)
                if outcome.status is Status.OK and self.target_gap is not None and not (gap or 0.0) <= self.target_gap:
                    unfinished.append(f"its certified relative gap is above target_gap={self.target_gap:g}")
        self.support_ = np.flatnonzero(coefs.any(axis=0))
        self.support_vectors_ = X[:0] if isinstance(self.kernel_.form, GivenValues) else X[self.support_]
        self.dual_coef_ = coefs[:, self.support_]
        if self.certify:
            self.relative_gap_ = float(np.max(np.array(gaps, dtype=np.float64)))  # NaN if one is None
        if unfinished:
            count = f" on {len(unfinished)} of {len(folds)} pairs of classes" if len(folds) > 1 else ""
            of_last = (
                f" The certified relative gap of its last model is {self.relative_gap_:.2g}." if self.certify else ""
            )
            message = f"{path.solver.name} ended before it was done{count}: {unfinished[0]}.{of_last}"
            warnings.warn(f"{message} Scale the data, or take a smaller C.", ConvergenceWarning, stacklevel=3)
        return self

    def _decisions(self, X: Any) -> Any:
        """Return f(x) of every model, (points, models)."""
        check_is_fitted(self)
        X = as_points(validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=False))
        decisions, support = np.zeros((X.shape[0], len(self.intercept_))), np.arange(len(self.support_))
        if isinstance(self.kernel_.form, GivenValues):
            decisions += X[:, self.support_] @ self.dual_coef_.T
        elif len(support):
            engine = Engine(self.kernel_, joined(self.support_vectors_, X))
            for part, values in _blocks(engine, np.arange(len(support), engine.n), support):
                decisions[part] = values @ self.dual_coef_.T
        decisions += self.intercept_
        for k, scores in self._models.items():
            decisions[:, k] = scores(X)
        return decisions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class SolverClassifier(ClassifierMixin, _SolverEstimator):
    """A solver as a classifier of scikit-learn; k > 2 classes by a model for each pair of them, with the votes of SVC.

    Parameters
    ----------
    solver : a solver by name, with its parameters in brackets (``"lasvm[epochs=2]"``), or a `harness.Solver`
    C : price of a violation. What it multiplies depends on the formulation: the hinge loss of c-svc; half the squared violation
        of l2-svc (chi = C, as in ``LinearSVC(loss="squared_hinge")``); the error beyond the tube of eps-svr. A formulation
        without a C, such as hard-margin or nu-svc, ignores it
    kernel : a kernel by name: "rbf", "linear", "poly", "precomputed" (X is K, (n, n)), or one of a plugin
    gamma, degree, coef0 : parameters of the kernel, as in `sklearn.svm.SVC`: "scale" is 1 / (d var(X)), "auto" is 1 / d
    class_weight : "balanced" or a dict of class -> factor of C, as in SVC, if the formulation has a C of each point (c-svc)
    formulation : a formulation that the solver solves, by name; None: the first one of the task
    parameters : further parameters of the formulation and the kernel by name: ``{"nu": 0.2}``
    target_gap : relative gap to the optimum at which the solver stops, > 0; None: the solver's default
    certify : whether to compute ``relative_gap_``, at the cost of n kernel values for each support vector
    cache_mb : memory for kernel rows and distances, in MB
    random_state : seed of solvers that use random numbers

    Attributes
    ----------
    classes_ : (k,) labels
    support_, support_vectors_ : (s,) indices of the training points with a coefficient in any model; these points, (s, d)
    dual_coef_ : (models, s) signed coefficients; the models are those of the pairs (0, 1), (0, 2) .. (1, 2) .. of classes
    intercept_ : (models,); f > 0 predicts the second class of the pair
    coef_ : (models, d) of a linear kernel
    kernel_ : the `harness.Kernel` with its parameters
    relative_gap_ : largest certified relative gap of the models, with ``certify``; NaN if the kind of model has none

    A solver that ends before it is done, or that raises after its first model, gives a `ConvergenceWarning` of scikit-learn;
    its last model is used. A solver that raises before it has a model raises here.
    """

    def __init__(
        self, solver: Any = "smo-block", *, C: float = 1.0, kernel: str = "rbf", gamma: Any = "scale", degree: int = 3,
        coef0: float = 0.0, class_weight: Any = None, formulation: str | None = None,
        parameters: Mapping[str, Any] | None = None, target_gap: float | None = None, certify: bool = False,
        cache_mb: float = 1000.0, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.solver, self.C, self.kernel, self.gamma, self.degree, self.coef0 = solver, C, kernel, gamma, degree, coef0
        self.class_weight, self.formulation, self.parameters = class_weight, formulation, parameters
        self.target_gap, self.certify, self.cache_mb, self.random_state = target_gap, certify, cache_mb, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X, (n, d) dense or sparse, and labels y, (n,); ``sample_weight`` : (n,) factors of C."""
        X, y = _validated(self, X, y)
        self.classes_ = np.unique(y)
        return self._train(X, _folds(self, y, np.arange(len(y)), sample_weight))

    def decision_function(self, X: Any) -> Any:
        """Return f(x), (m,), positive for ``classes_[1]``; of k > 2 classes (m, k), the largest for the predicted class."""
        check_is_fitted(self)
        return _voted(self._decisions(X), len(self.classes_))[1]

    def predict(self, X: Any) -> Any:
        """Return the labels of points, (m,)."""
        check_is_fitted(self)
        return self.classes_[_voted(self._decisions(X), len(self.classes_))[0]]


class SolverRegressor(RegressorMixin, _SolverEstimator):
    """A solver as a regressor of scikit-learn; parameters and attributes as in `SolverClassifier`, without those of classes.

    Parameters
    ----------
    epsilon : half the width of the tube within which an error is free, in units of y
    """

    def __init__(
        self, solver: Any = "smo-block", *, C: float = 1.0, epsilon: float = 0.1, kernel: str = "rbf",
        gamma: Any = "scale", degree: int = 3, coef0: float = 0.0, formulation: str | None = None,
        parameters: Mapping[str, Any] | None = None, target_gap: float | None = None, certify: bool = False,
        cache_mb: float = 1000.0, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.solver, self.C, self.epsilon, self.kernel, self.gamma = solver, C, epsilon, kernel, gamma
        self.degree, self.coef0, self.formulation, self.parameters = degree, coef0, formulation, parameters
        self.target_gap, self.certify, self.cache_mb, self.random_state = target_gap, certify, cache_mb, random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X, (n, d) dense or sparse, and targets y, (n,)."""
        X, y = _validated(self, X, y)
        return self._train(X, _folds(self, y, np.arange(len(y))))

    def predict(self, X: Any) -> Any:
        """Return f(x), (m,)."""
        return self._decisions(X)[:, 0]


# -- search ----------------------------------------------------------------------------------------------------


def _left_out(engine: Engine, folds: Sequence[_Fold], models: Mapping[tuple[int, int], Any], count: int) -> Any:
    """Return f(x) of the left-out points of a split, (C, points, folds of the split).

    models : (fold, index of C) -> coefficients, (members,), and intercept
    """
    of_split = sorted({f for f, _ in models})
    train = np.unique(np.concatenate([folds[f].members for f in of_split]))
    test, decisions = folds[of_split[0]].test, np.empty((count, len(folds[of_split[0]].test), len(of_split)))
    for part, values in _blocks(engine, test, train):
        for k, f in enumerate(of_split):
            members = folds[f].members
            columns = slice(None) if len(members) == len(train) else np.searchsorted(train, members)
            sums = values[:, columns] @ np.column_stack([models[f, c][0] for c in range(count)])
            decisions[:, part, k] = (sums + [models[f, c][1] for c in range(count)]).T
    return decisions


class PathSearchCV(GridSearchCV):
    """Cross-validated choice of C and gamma along solution paths: what ``GridSearchCV(SVC(), ...)`` chooses, in less time.

    A solver that follows paths starts from the solution at the previous C with the same kernel values; squared distances
    serve all gammas and folds; the models of all C of a fold are scored together.

    Parameters
    ----------
    estimator : a `SolverClassifier` or `SolverRegressor` with all parameters that are not searched; None: ``SolverClassifier()``
    C : values of C; None: that of the estimator
    gamma : values of gamma, numbers, "scale" or "auto"; None: that of the estimator. "scale" is that of the training points of
        each split, as in SVC
    scoring : a name or a callable, as in `GridSearchCV`; None: accuracy, or R^2 of a regressor
    refit : whether to fit ``best_estimator_`` to all points
    cv : number of folds, a splitter, or splits, as in `GridSearchCV`; None: 5

    Attributes
    ----------
    best_params_, best_score_, best_index_, best_estimator_, cv_results_, n_splits_, scorer_, refit_time_ : as in `GridSearchCV`.
        ``mean_fit_time`` of a cell is the time of its step along the path, to which the first one adds the kernel values; it is 0
        where the model of the C before, with all coefficients below it, is that of this C

    Of equal scores the first in the order of ``cv_results_`` is chosen, as in `GridSearchCV`: the first C, then the first gamma.
    ``fit`` takes no sample weights.
    """

    return_train_score = False  # models are not scored on their training points

    def __init__(
        self, estimator: Any = None, *, C: Any = None, gamma: Any = None, scoring: Any = None, refit: bool = True,
        cv: Any = None
    ) -> None:  # fmt: skip
        self.estimator, self.C, self.gamma, self.scoring = estimator, C, gamma, scoring
        self.refit, self.cv = refit, cv

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Choose by cross-validation over X, (n, d), and y, (n,), and refit; ``groups`` : (n,), for splitters of groups."""
        estimator = clone(self._estimator())
        if not isinstance(estimator, _SolverEstimator):
            raise UsageError(f"{estimator!r} is no solver's estimator; in a pipeline give the search as its last step.")
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise UsageError(f"scoring={self.scoring!r}; give one name or one callable, or take GridSearchCV.")
        self.scorer_, self.multimetric_ = check_scoring(estimator, self.scoring), False
        points, targets = _validated(estimator, X, y)
        splitter = check_cv(self.cv, targets, classifier=is_classifier(estimator)).split(points, targets, groups)
        every = np.arange(len(targets))  # a split may be a mask, or count from the end
        grid = {name: list(values) for name, values in (("C", self.C), ("gamma", self.gamma)) if values is not None}
        candidates, splits = list(ParameterGrid(grid)), [(every[train], every[test]) for train, test in splitter]
        ends, self.n_splits_ = self._cross_validated(estimator, points, targets, splits), len(splits)
        # the method of scikit-learn, for the same keys, means and ranks
        self.cv_results_ = self._format_results(candidates, len(splits), ends)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        if self.refit:
            began = time.perf_counter()
            self.best_estimator_ = clone(estimator).set_params(**self.best_params_).fit(X, y)
            self.refit_time_ = time.perf_counter() - began
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def _cross_validated(self, estimator: Any, X: Any, y: Any, splits: Sequence[Any]) -> list[dict[str, float]]:
        """Return score and seconds of each C, gamma and split, the last one varying fastest."""
        folds, sizes = list[_Fold](), list[int]()
        for k, (train, test) in enumerate(splits):
            folds += _folds(estimator, y, np.sort(train), None, k, test)
            sizes.append(len(folds) - sum(sizes))
        Cs = [estimator.C] if self.C is None else list(self.C)
        gammas = [estimator.gamma] if self.gamma is None else list(self.gamma)
        ascending = sorted(range(len(Cs)), key=lambda c: Cs[c])
        path = _path(estimator, X, folds, [train for train, _ in splits], Cs, gammas)
        scores, fit_seconds, score_seconds = np.zeros((3, len(Cs), len(gammas), len(splits)))
        unfinished = list[str]()
        models: dict[tuple[int, int], dict[tuple[int, int], Any]] = {}  # (gamma, split) -> (fold, C) -> model
        for cell, outcome, seconds in _solved(path, estimator):
            g, position = divmod(cell.index, len(folds) * len(Cs))
            f, rank = divmod(position, len(Cs))
            k, c = folds[f].split, ascending[rank]
            fit_seconds[c, g, k] += seconds
            if isinstance(outcome, Exception):
                model = np.zeros(len(folds[f].members)), np.nan
                unfinished.append(f"{type(outcome).__name__}: {outcome}")
            elif (coef := _coefficients(path, outcome)) is None:
                raise UsageError(f"a model of {path.solver.name} is no expansion in kernel values; take GridSearchCV.")
            else:
                model = coef, outcome.intercept
                unfinished += [] if outcome.status is Status.OK else [outcome.reason]
            models.setdefault((g, k), {})[f, c] = model
            if len(models[g, k]) == len(Cs) * sizes[k]:
                began = time.perf_counter()
                decisions = _left_out(path.engine(cell), folds, models.pop((g, k)), len(Cs))
                scores[:, g, k] = [self._score_of(estimator, X, y, splits[k], of_C) for of_C in decisions]
                score_seconds[:, g, k] = (time.perf_counter() - began) / len(Cs)
        if unfinished:
            message = f"{path.solver.name} failed or ended before it was done {len(unfinished)} times: {unfinished[0]}."
            warnings.warn(f"{message} The score without a model is NaN.", ConvergenceWarning, stacklevel=3)
        values = zip(scores.flat, fit_seconds.flat, score_seconds.flat, strict=True)
        return [{"test_scores": each[0], "fit_time": each[1], "score_time": each[2]} for each in values]

    def _score_of(self, estimator: Any, X: Any, y: Any, split: tuple[Any, Any], decisions: Any) -> float:
        """Return the score of the models of a split, one for each pair of classes, from their f(x) at the left-out points."""
        train, test = split
        if np.isnan(decisions).any():
            return np.nan
        fitted = copy.copy(estimator)
        if is_classifier(estimator):
            fitted.classes_ = np.unique(y[train])
            if self.scoring is None:  # the accuracy, without the validation of labels
                return float(np.mean(fitted.classes_[_voted(decisions, len(fitted.classes_))[0]] == y[test]))
        vars(fitted)["_decisions"] = lambda _: decisions  # in place of the method, which computes kernel values
        return float(self.scorer_(fitted, X[test], y[test]))

    def _estimator(self) -> Any:
        return SolverClassifier() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        return copy.copy(get_tags(self._estimator()))
