"""Kernel functions k(x, z): linear, RBF, polynomial, precomputed, and the base classes for more.

A kernel is a frozen dataclass of parameters with two methods over blocks of points. Those that are a
function of the inner product <x, z> (and the norms) subclass :class:`DotProductKernel`: their blocks
come from one matrix product and one pass in place. What more is known of the function a kernel declares as its
``form``: the compiled roads are chosen by that, whoever wrote the kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness.kernels.points import Points, as_points, pieces, shape_of
from harness.support import parameters
from harness.support.arrays import Block
from harness.support.parameters import parameter


class Form:
    """Form of k(x, z); this base class is for kernels of which only ``block`` is known."""


class GivenValues(Form):
    """The data are the values: row i of the training data has those of point i with all training points."""


@dataclass(frozen=True)
class OfProducts(Form):
    """A function of <x, z>, |x|^2 and |z|^2, by the kernel's ``from_products``.

    centred : k(x, z) = k(x - c, z - c), so that data may be centred to lose less in float32
    """

    centred: bool = False


@dataclass(frozen=True)
class Exponential(OfProducts):
    """e^(-gamma |x - z|^2)."""

    centred: bool = True
    gamma: float = 1.0


@dataclass(frozen=True)
class Power(OfProducts):
    """(gamma <x, z> + coef0)^degree; ``Power()`` is <x, z> itself, and its kernel linear."""

    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semi-definite function of two points. Subclass as a frozen dataclass of its parameters."""

    name: ClassVar[str]  # how users call it

    def __post_init__(self) -> None:
        parameters.check(self, owner=f"kernel '{self.name}'")

    @property
    def form(self) -> Form:
        """The form of the function with its parameters: :class:`Exponential`, :class:`Power`, or a base class."""
        return Form()

    @abstractmethod
    def block(self, x: Points, z: Points) -> Block:
        """Return k(x_i, z_j), shape (len(x), len(z)), in the dtype of ``x``."""

    @abstractmethod
    def diagonal(self, x: Points) -> Block:
        """Return k(x_i, x_i), shape (len(x),), float64."""


@dataclass(frozen=True)
class DotProductKernel(Kernel):
    """A kernel computed from inner products and squared norms."""

    centred: ClassVar[bool] = False  # as in OfProducts

    def __init_subclass__(cls) -> None:
        """Reset the form of a subclass that overrides ``from_products`` without declaring a form."""
        if "from_products" in cls.__dict__ and "form" not in cls.__dict__:
            cls.form = DotProductKernel.form  # type: ignore[method-assign]

    @property
    def form(self) -> OfProducts:
        return OfProducts(self.centred)

    @abstractmethod
    def from_products(self, products: Block, sq_x: Block, sq_z: Block) -> None:
        """Turn <x_i, z_j> into k(x_i, z_j) in place.

        products : (q, m); changed in place
        sq_x, sq_z : (q,) and (m,), squared norms in the dtype of ``products``
        """

    def block(self, x: Points, z: Points) -> Block:
        x, z = as_points(x), as_points(z)
        products = x @ z.T
        if not isinstance(products, np.ndarray):
            products = products.toarray()
        self.from_products(products, squared_norms(x).astype(products.dtype), squared_norms(z).astype(products.dtype))
        return products


@dataclass(frozen=True)
class Linear(DotProductKernel):
    """k(x, z) = <x, z>."""

    name = "linear"

    @property
    def form(self) -> Power:
        return Power()

    def from_products(self, products: Block, sq_x: Block, sq_z: Block) -> None:
        return None

    def diagonal(self, x: Points) -> Block:
        return squared_norms(x)


@dataclass(frozen=True)
class RBF(DotProductKernel):
    """k(x, z) = exp(-gamma |x - z|^2)."""

    name = "rbf"
    centred = True
    gamma: float = parameter(1.0, "width; k falls to 1/e at distance 1/sqrt(gamma)", gt=0)

    @property
    def form(self) -> Exponential:
        return Exponential(gamma=self.gamma)

    def from_products(self, products: Block, sq_x: Block, sq_z: Block) -> None:
        # -gamma (|x|^2 + |z|^2 - 2 <x, z>), at most 0: rounding must not give a kernel value above 1
        products *= 2.0 * self.gamma
        products -= (self.gamma * sq_x)[:, None]
        products -= (self.gamma * sq_z)[None, :]
        np.minimum(products, 0.0, out=products)
        np.exp(products, out=products)

    def diagonal(self, x: Points) -> Block:
        return np.ones(x.shape[0])


@dataclass(frozen=True)
class Poly(DotProductKernel):
    """k(x, z) = (gamma <x, z> + coef0)^degree."""

    name = "poly"
    degree: int = parameter(3, "degree of the polynomial", ge=1)
    gamma: float = parameter(1.0, "scale of the inner product", gt=0)
    coef0: float = parameter(1.0, "constant term; 0 gives the homogeneous kernel", ge=0)

    @property
    def form(self) -> Power:
        return Power(degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def from_products(self, products: Block, sq_x: Block, sq_z: Block) -> None:
        products *= self.gamma
        products += self.coef0
        if self.degree > 1:
            np.power(products, self.degree, out=products)

    def diagonal(self, x: Points) -> Block:
        return np.power(self.gamma * squared_norms(x) + self.coef0, self.degree)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The data are kernel values: row i of the training data has k(x_i, x_j) for all training points j.

    Reading a value counts as one kernel evaluation, so that counts compare with those of other kernels.
    """

    name = "precomputed"

    @property
    def form(self) -> GivenValues:
        return GivenValues()

    def block(self, x: Points, z: Points) -> Block:
        raise TypeError("precomputed kernel values are indexed by training point, not computed from two sets of points")

    def diagonal(self, x: Points) -> Block:
        raise TypeError("precomputed kernel values are indexed by training point, not computed from points")


def squared_norms(x: Points) -> Block:
    """Return |x_i|^2 in float64, shape (len(x),), in blocks of rows so that mapped files need no copy."""
    x = as_points(x)
    result = np.empty(x.shape[0])
    for part in pieces(len(result), x.shape[1]):
        rows: Any = x[part].astype(np.float64, copy=False)
        dense = isinstance(rows, np.ndarray)
        result[part] = np.einsum("ij,ij->i", rows, rows) if dense else rows.power(2).sum(axis=1)
    return result


def reason_against(points: Any, kernel: Kernel, n_features: int) -> str | None:
    """Return why no kernel values with these points can be computed, a sentence; None if they can.

    n_features : the number of features of a training point
    """
    if isinstance(kernel.form, GivenValues):
        return (
            f"extra points were given for kernel '{kernel.name}', whose values are those between "
            "the training points and no others; name a kernel that computes its values from features."
        )
    if (shape_of(points) or (0, -1))[1] != n_features:
        return (
            f"the extra points are a {type(points).__name__} of shape {np.shape(points)}; a training point has "
            f"{n_features} features: give an (m, {n_features}) numpy array or scipy.sparse.csr_array."
        )
    if points.dtype.kind not in "biuf":
        return f"the extra points are of type {points.dtype}; give real numbers."
    if not isinstance(points, np.ndarray):
        try:
            points.check_format(full_check=True)
        except ValueError as error:
            return f"the extra points are no CSR array: {error}; give one that scipy.sparse made."
    values = points if isinstance(points, np.ndarray) else points.data
    if not np.isfinite(values).all():
        wrong = np.asarray(values)[~np.isfinite(values)].flat[0]
        return f"the extra points contain {wrong}; give finite numbers."
    return None


def builtin_kernels() -> list[type[Kernel]]:
    """The kernels that come with the harness."""
    return [Linear, RBF, Poly, Precomputed]
