"""Checks of kernel values.

A certificate depends on values that are finite, of one function, symmetric, PSD: of any other matrix a dual solution
bounds nothing, and a gap of 0 says nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.engine import Engine, described
from harness.kernels.functions import RBF, GivenValues, Kernel, Linear, Poly
from harness.kernels.points import as_points
from harness.support.errors import DataError, InvalidKernel, UsageError

if TYPE_CHECKING:
    from harness.support.arrays import Vector

_ROWS = 16  # looked at for finite values
_SPECTRUM_POINTS = 400  # a principal submatrix of a PSD matrix is PSD
_PROVEN = (Linear, RBF, Poly)  # whatever their parameters may be; a subclass may compute what it likes
# Half the digits: d rounded terms cost about sqrt(d) last digits, and scales of features a few more
_UNSURE = float(np.sqrt(np.finfo(np.float64).eps))  # of the largest value
_OTHERWISE = float(np.sqrt(np.finfo(np.float32).eps))  # the same of values computed in another way: solvers use float32
_WRITTEN = 1e-6  # of given values: files have six digits


def check_finite(oracle: Engine) -> None:
    """Raise UsageError if a sample of rows or the diagonal holds values that are not finite.

    oracle : one of the host's own, that no solver gets: what is looked at here is counted and cached
    """
    sample = _spread(oracle.n)
    with np.errstate(all="ignore"):
        finite = bool(np.isfinite(oracle.diagonal()).all() and np.isfinite(oracle.block(sample)).all())
        finite = finite and not np.isnan(oracle.largest)  # known from here on, off a solver's clock
    if not finite:
        raise UsageError(
            f"{described(oracle.kernel)} gives values that are not finite on these data; scale the data or choose smaller parameters."
        )


def sample_values(kernels: Iterable[Kernel], x: Any) -> Vector:
    """Return the values of each kernel between 16 points spread over ``x``, (n, d), one kernel after another.

    Two processes must agree on them: a kernel that is drawn at import is another function in each. Of the kernels linear,
    rbf and poly nothing is computed.
    """
    points, values = _spread(x.shape[0]), [np.zeros(0)]
    for kernel in kernels:
        if type(kernel) not in _PROVEN:
            with np.errstate(all="ignore"):
                values.append(Engine(kernel, _part(kernel, x, points)).block(np.arange(len(points))).ravel())
    return np.concatenate(values)


def check_same_values(kernel: str, computed: Vector, solver: Vector | None) -> None:
    """Raise InvalidKernel unless a solver's process computed the same :func:`sample_values` as this one did."""
    same = solver is not None and computed.shape == solver.shape
    unsure = _UNSURE * np.abs(computed).max(initial=0.0)
    if not same or not np.allclose(computed, solver, rtol=0.0, atol=unsure, equal_nan=True):  # type: ignore[arg-type]
        raise InvalidKernel(
            f"the kernel '{kernel}' is not one function: between the same points its values in the solver's process are not "
            "those in the certifier's. Draw what is random from a seed that is a parameter."
        )


def _spread(n: int) -> Any:
    return np.unique(np.linspace(0, n - 1, min(_ROWS, n)).astype(np.intp))


def _part(kernel: Kernel, x: Any, points: Any) -> Any:
    return x[points][:, points] if isinstance(kernel.form, GivenValues) else x[points]


def check_kernel(kernel: Kernel, x: Any) -> None:
    """Raise InvalidKernel with the first of :func:`reasons_against`, if there is one."""
    for reason in reasons_against(kernel, x):
        raise InvalidKernel(f"{reason}.")


def reasons_against(kernel: Kernel, x: Any, *, points: int = 64, seed: int = 0) -> list[str]:
    """Return why no certificate holds with this kernel on these points, a clause each; empty if nothing was found.

    Looked at are the values between a few of the points, in milliseconds and uncounted: whether they are finite, symmetric,
    positive semi-definite, and of one function: asked of some points, of dense and CSR points where the kernel takes
    both, and by ``diagonal``. What is wrong between other points is not found; a thorough look takes more points and
    several seeds. Of the kernels linear, rbf and poly all that is proved, and nothing is computed.

    An indefinite kernel is refused like the others. SMO may end on one, but at a point that no gap tells from an
    optimum: its costs compare with nobody's.

    Parameters
    ----------
    x : (n, d) points, or (n, n) values where the kernel's form is `GivenValues`
    points : that are looked at, at most; drawn with ``seed``
    """
    if type(kernel) in _PROVEN:
        return []
    x, given, who = as_points(x), isinstance(kernel.form, GivenValues), described(kernel)
    sample = np.sort(np.random.default_rng(seed).choice(x.shape[0], min(points, x.shape[0]), replace=False))
    part = _part(kernel, x, sample)
    whole = np.empty((len(sample), len(sample)))
    with np.errstate(all="ignore"):
        ways = {} if given else _ways(kernel, part)
        for how, (values, place) in ways.items():
            if np.shape(values) != whole[place].shape:
                return [f"{who} gives an array of shape {np.shape(values)} {how}, and not {whole[place].shape}"]
        whole = Engine(kernel, part).block(np.arange(len(sample)))
        if not all(np.isfinite(values).all() for values in (whole, *(values for values, _ in ways.values()))):
            return [f"{who} gives values that are not finite; scale the data or choose other parameters"]
        scale = float(np.abs(whole).max(initial=0.0))
        found = []
        for how, (values, place) in ways.items():
            apart = np.abs(values - whole[place])
            if apart.max() > _OTHERWISE * scale:
                worst = apart.argmax()
                told = f"{np.ravel(values)[worst]:.6g} {how}, and {whole[place].ravel()[worst]:.6g} in its row"
                found.append(f"{who} is not one function: the same value is {told}; block() and diagonal() must agree")
    return [*found, *(f"{who} {reason}" for reason in _no_gram(whole, _WRITTEN if given else _UNSURE))]


def _ways(kernel: Kernel, part: Any) -> dict[str, tuple[Any, Any]]:
    """Return the values as they are asked for in other ways, and where in the matrix of all they belong."""
    import scipy.sparse

    n = part.shape[0]
    some = n // 2 + 1
    found: dict[str, tuple[Any, Any]] = {
        f"asked of {some} points and {n}": (kernel.block(part[:some], part), np.s_[:some]),
        "by diagonal()": (kernel.diagonal(part), np.diag_indices(n)),
    }
    dense = isinstance(part, np.ndarray)
    other = scipy.sparse.csr_array(part) if dense else part.toarray()
    with contextlib.suppress(Exception):  # it need not take both
        found["of CSR points" if dense else "of dense points"] = kernel.block(other, other), np.s_[:]
    return found


def _no_gram(values: Any, unsure: float) -> list[str]:
    """Return what keeps a square matrix from being one of a kernel.

    unsure : of the largest value, what rounding may have changed each one by: an eigenvalue by n times as much (Weyl)
    """
    scale = float(np.abs(values).max(initial=0.0))
    skew = np.abs(values - values.T)
    if skew.max() > unsure * scale:
        i, j = np.unravel_index(skew.argmax(), skew.shape)
        return [f"is not symmetric: k(x, z) = {values[i, j]:.6g} where k(z, x) = {values[j, i]:.6g}"]
    spectrum = np.linalg.eigvalsh(0.5 * (values + values.T))
    if spectrum[0] >= -unsure * scale * len(values):
        return []
    told = f"the matrix of {len(values)} points has eigenvalues from {spectrum[0]:.3g} to {spectrum[-1]:.3g}"
    advice = f"choose other parameters or another kernel, or add at least {-spectrum[0]:.3g} to the diagonal"
    return [f"is not positive semi-definite: {told}, so that no certificate would hold; {advice}"]


def check_precomputed(dataset: Any) -> None:
    """Raise DataError unless the data of a `harness.Dataset` are an (n, n) symmetric PSD matrix, test rows (m, n)."""
    values: Any = dataset.x_train
    n, tests = values.shape[0], dataset.x_test.shape
    if values.shape[1] != n or (tests[0] and tests[1] != n):
        raise DataError(
            f"data set '{dataset.name}' has {n} training rows of {values.shape[1]} values and {tests[0]} test rows of "
            f"{tests[1]}; the precomputed kernel needs those of each point with every training point, {n}: give the test rows "
            "in a file of their own, or none with test_fraction=0."
        )
    step = max(1, n // _SPECTRUM_POINTS)
    sample = np.arange(0, n, step)
    part = values[np.ix_(sample, sample)] if isinstance(values, np.ndarray) else values[sample][:, sample].toarray()
    for reason in _no_gram(part.astype(np.float64), _WRITTEN):
        raise DataError(f"data set '{dataset.name}' {reason}.")
