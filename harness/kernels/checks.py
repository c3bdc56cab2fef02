"""Checks of kernel values.

A certificate is valid only if the kernel values are finite, of one function, symmetric and positive semi-definite.
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

_ROWS = 16  # number of rows that are checked for finite values
_SPECTRUM_POINTS = 400  # number of points of the principal submatrix whose spectrum is checked
_PROVEN = (Linear, RBF, Poly)  # kernels that are valid for all parameters; subclasses may not be
# tolerances of half the digits: d rounded terms lose about sqrt(d) last digits, and scales of features a few more
_UNSURE = float(np.sqrt(np.finfo(np.float64).eps))  # tolerance of float64 values, relative to the largest value
_OTHERWISE = float(np.sqrt(np.finfo(np.float32).eps))  # tolerance of values computed in another way, maybe in float32
_WRITTEN = 1e-6  # tolerance of given values, relative to the largest one: files have six digits


def check_finite(oracle: Engine) -> None:
    """Raise UsageError if a sample of rows or the diagonal has values that are not finite.

    oracle : an engine of the host, not that of a solver, as the values may be counted and cached
    """
    sample = _spread(oracle.n)
    with np.errstate(all="ignore"):
        finite = bool(np.isfinite(oracle.diagonal()).all() and np.isfinite(oracle.block(sample)).all())
        finite = finite and not np.isnan(oracle.largest)  # cached from here on, outside the clock of a solver
    if not finite:
        raise UsageError(
            f"{described(oracle.kernel)} gives values that are not finite on these data; scale the data or choose smaller parameters."
        )


def sample_values(kernels: Iterable[Kernel], x: Any) -> Vector:
    """Return the values of each kernel between 16 points spread over ``x``, (n, d), one kernel after another.

    Two processes must agree on them, as a kernel that is drawn at import differs between processes. The kernels linear, rbf
    and poly are skipped.
    """
    points, values = _spread(x.shape[0]), [np.zeros(0)]
    for kernel in kernels:
        if type(kernel) not in _PROVEN:
            with np.errstate(all="ignore"):
                values.append(Engine(kernel, _part(kernel, x, points)).block(np.arange(len(points))).ravel())
    return np.concatenate(values)


def check_same_values(kernel: str, computed: Vector, solver: Vector | None) -> None:
    """Raise InvalidKernel unless a solver's process computed the same :func:`sample_values` as this process."""
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
    """Return why certificates with this kernel are invalid on these points, a clause each; empty if no reason is known.

    Values between a few of the points are checked, in milliseconds and uncounted: whether they are finite, symmetric,
    positive semi-definite, and equal if computed for some points, for dense and CSR points if the kernel takes both, and by
    ``diagonal``. A thorough check takes more points and several seeds. The kernels linear, rbf and poly are skipped, as these
    properties are proved.

    Indefinite kernels are refused. SMO may end on one, but no gap tells its end point from an optimum, and its costs cannot
    be compared.

    Parameters
    ----------
    x : (n, d) points, or (n, n) values if the kernel's form is `GivenValues`
    points : largest number of points to check, drawn with ``seed``
    """
    if type(kernel) in _PROVEN:
        return []
    x, given, who = as_points(x), isinstance(kernel.form, GivenValues), described(kernel)
    sample = np.sort(np.random.default_rng(seed).choice(x.shape[0], min(points, x.shape[0]), replace=False))
    part = _part(kernel, x, sample)
    whole = np.empty((len(sample), len(sample)))
    with np.errstate(all="ignore"):
        variants = {} if given else _variants(kernel, part)
        for how, (values, place) in variants.items():
            if np.shape(values) != whole[place].shape:
                return [f"{who} gives an array of shape {np.shape(values)} {how}, and not {whole[place].shape}"]
        whole = Engine(kernel, part).block(np.arange(len(sample)))
        if not all(np.isfinite(values).all() for values in (whole, *(values for values, _ in variants.values()))):
            return [f"{who} gives values that are not finite; scale the data or choose other parameters"]
        scale = float(np.abs(whole).max(initial=0.0))
        faults = []
        for how, (values, place) in variants.items():
            error = np.abs(values - whole[place])
            if error.max() > _OTHERWISE * scale:
                worst = error.argmax()
                pair = f"{np.ravel(values)[worst]:.6g} {how}, and {whole[place].ravel()[worst]:.6g} in its row"
                faults.append(f"{who} is not one function: the same value is {pair}; block() and diagonal() must agree")
    return [*faults, *(f"{who} {reason}" for reason in _matrix_faults(whole, _WRITTEN if given else _UNSURE))]


def _variants(kernel: Kernel, part: Any) -> dict[str, tuple[Any, Any]]:
    """Return values computed in other ways, and their position in the matrix of all values."""
    import scipy.sparse

    n = part.shape[0]
    some = n // 2 + 1
    variants: dict[str, tuple[Any, Any]] = {
        f"in a block of {some} x {n} points": (kernel.block(part[:some], part), np.s_[:some]),
        "by diagonal()": (kernel.diagonal(part), np.diag_indices(n)),
    }
    dense = isinstance(part, np.ndarray)
    converted = scipy.sparse.csr_array(part) if dense else part.toarray()
    with contextlib.suppress(Exception):  # the kernel need not take both
        variants["of CSR points" if dense else "of dense points"] = kernel.block(converted, converted), np.s_[:]
    return variants


def _matrix_faults(values: Any, unsure: float) -> list[str]:
    """Return why a square matrix is not that of a kernel; empty if it may be.

    unsure : tolerance of a value, relative to the largest; that of an eigenvalue is n times as large (Weyl)
    """
    scale = float(np.abs(values).max(initial=0.0))
    skew = np.abs(values - values.T)
    if skew.max() > unsure * scale:
        i, j = np.unravel_index(skew.argmax(), skew.shape)
        return [f"is not symmetric: k(x, z) = {values[i, j]:.6g} where k(z, x) = {values[j, i]:.6g}"]
    spectrum = np.linalg.eigvalsh(0.5 * (values + values.T))
    if spectrum[0] >= -unsure * scale * len(values):
        return []
    spectrum_text = f"the matrix of {len(values)} points has eigenvalues from {spectrum[0]:.3g} to {spectrum[-1]:.3g}"
    advice = f"choose other parameters or another kernel, or add at least {-spectrum[0]:.3g} to the diagonal"
    return [f"is not positive semi-definite: {spectrum_text}, so that no certificate would be valid; {advice}"]


def check_precomputed(dataset: Any) -> None:
    """Raise DataError unless the data of a `harness.Dataset` are an (n, n) symmetric PSD matrix, test rows (m, n)."""
    values: Any = dataset.x_train
    n, tests = values.shape[0], dataset.x_test.shape
    if values.shape[1] != n or (tests[0] and tests[1] != n):
        raise DataError(
            f"data set '{dataset.name}' has {n} training rows of {values.shape[1]} values and {tests[0]} test rows of "
            f"{tests[1]}; the precomputed kernel needs those of each point with every training point, {n}: give the test rows "
            "in a separate file, or none with test_fraction=0."
        )
    step = max(1, n // _SPECTRUM_POINTS)
    sample = np.arange(0, n, step)
    part = values[np.ix_(sample, sample)] if isinstance(values, np.ndarray) else values[sample][:, sample].toarray()
    for reason in _matrix_faults(part.astype(np.float64), _WRITTEN):
        raise DataError(f"data set '{dataset.name}' {reason}.")
