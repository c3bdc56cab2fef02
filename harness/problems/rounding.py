"""Numbers with bounds of their rounding errors, which arithmetic propagates.

A :class:`Bounded` stands for an exact real number, or an array of them, that lies within ``error`` of ``value``. Every
operation returns a value with a bound of its error: the errors of the operands to all orders, the
rounding of the result, and the loss by underflow (Rump, "INTLAB", 1999; Higham, Accuracy and Stability of Numerical
Algorithms, 2002, chapters 3 and 4). The arithmetic is that of the arrays: float64, or numpy's longdouble, whose
precision is read from the platform. A value that is not finite has no bound, see :attr:`Bounded.finite`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

_UP = 1.0 + 2.0**-40  # factor for the rounding of a bound, a sum of a few terms of one sign
_PAIRWISE = 32  # additions per term in numpy's sums of 128 terms, beyond which sums are pairwise (log2(n) more)


@cache
def _figures(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return twice the unit roundoff, and the largest loss by underflow, of a floating-point type."""
    kind: type[Any] = dtype.type
    info = np.finfo(dtype)
    return kind(info.eps), kind(info.tiny) * kind(info.eps)


def unit_of(dtype: Any) -> float:
    """Return a bound of the relative error of one operation in ``dtype``: twice the unit roundoff."""
    return float(_figures(np.dtype(dtype))[0])


def underflow_of(dtype: Any) -> Any:
    """Return the smallest positive number of ``dtype``: the loss of a product by underflow."""
    return _figures(np.dtype(dtype))[1]


@dataclass(frozen=True, eq=False)
class Bounded:
    """A number, or an array of numbers, within ``error`` of ``value``; both of the same shape.

    In +, -, * and /, other numbers and arrays are exact.
    """

    value: Any
    error: Any

    __array_ufunc__ = None  # array * Bounded calls __rmul__

    @classmethod
    def exact(cls, value: Any) -> Bounded:
        """Return ``value`` as given, without an error."""
        value = np.asarray(value)[()]
        value = value if value.dtype.kind == "f" else value.astype(np.float64)
        return cls(value, np.zeros_like(value)[()])

    @property
    def finite(self) -> bool:
        """Whether all values and bounds are finite numbers."""
        return bool(np.isfinite(self.value).all() and np.isfinite(self.error).all())

    @property
    def is_zero(self) -> bool:
        """Whether this single number is exactly 0."""
        return bool(self.value == 0.0 and self.error == 0.0)

    @property
    def lower(self) -> Any:
        """A lower bound of the exact number."""
        return self.value - self.error * _UP - unit_of(self.value.dtype) * abs(self.value)

    @property
    def upper(self) -> Any:
        """An upper bound of the exact number."""
        return self.value + self.error * _UP + unit_of(self.value.dtype) * abs(self.value)

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __abs__(self) -> Bounded:
        return Bounded(abs(self.value), self.error)

    def __getitem__(self, which: Any) -> Bounded:
        return Bounded(self.value[which], self.error[which])

    def __add__(self, other: Any) -> Bounded:
        value, error = _parts(other)
        return _rounded(self.value + value, self.error + error)

    def __radd__(self, other: Any) -> Bounded:
        return self.__add__(other)

    def __sub__(self, other: Any) -> Bounded:
        value, error = _parts(other)
        return _rounded(self.value - value, self.error + error)

    def __rsub__(self, other: Any) -> Bounded:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Bounded:
        value, error = _parts(other)
        spread = abs(self.value) * error + (abs(value) + error) * self.error
        product = self.value * value
        return _rounded(product, spread + underflow_of(product.dtype))

    def __rmul__(self, other: Any) -> Bounded:
        return self.__mul__(other)

    def __truediv__(self, other: Any) -> Bounded:
        value, error = _parts(other)
        room = abs(value) - error * _UP
        quotient = self.value / value
        spread = np.where(room > 0.0, (self.error + abs(quotient) * error) / room, np.inf)[()]
        return _rounded(quotient, spread * _UP + underflow_of(quotient.dtype))

    def sum(self) -> Bounded:
        """Return the sum over a 1-D array."""
        depth = _PAIRWISE + len(self.value).bit_length()
        value, size = np.add.reduce(self.value), np.add.reduce(abs(self.value))
        return Bounded(value, (np.add.reduce(self.error) + depth * unit_of(value.dtype) * size) * _UP)

    def dot(self, other: Any) -> Bounded:
        """Return the inner product of two 1-D arrays."""
        return self.__mul__(other).sum()

    def sqrt(self) -> Bounded:
        """Return the square root of the number, clipped at 0."""
        value = np.sqrt(np.maximum(self.value, 0.0))
        low, high = np.sqrt(np.maximum(self.lower, 0.0)), np.sqrt(np.maximum(self.upper, 0.0))
        return _rounded(value, np.maximum(high - value, value - low) + unit_of(value.dtype) * high)

    def of_rising(self, function: Any) -> Bounded:
        """Return ``function`` of the values, which must be non-decreasing in every entry and exact."""
        value, low, high = (function(v) for v in (self.value, self.lower, self.upper))
        return Bounded(value, np.maximum(high - value, value - low) * _UP)

    def positive(self) -> Bounded:
        """Return max(0, x)."""
        return self.of_rising(lambda v: np.maximum(0.0, v))

    def at_least(self, floor: float) -> Bounded:
        """Return max(floor, x)."""
        return (self - floor).positive() + floor if self.lower < floor else self


def _parts(other: Any) -> tuple[Any, Any]:
    """Return the value and the error of an operand; an operand that is no Bounded is exact."""
    return (other.value, other.error) if isinstance(other, Bounded) else (other, 0.0)


def _rounded(value: Any, error: Any) -> Bounded:
    """Return the result of one operation, with its rounding added to ``error``."""
    return Bounded(value, (error + unit_of(value.dtype) * abs(value)) * _UP)
